"""Hits and explosions: how much momentum each body gains in a span of time, and the arrows that show it.

A hit gives an impulse J [N s] at a point r from the body's centre: ``v += J / m``, ``w += I^-1 (r x J)``. It begins at
a moment and lasts for a duration over which the force is constant; a duration of 0 is a blow, which comes whole in the
span that holds its moment. Spans are half open, [begin, end): the hit of frame F is seen from frame F + 1 on. Shares of
consecutive spans add up to 1 whatever the frame rate.

Hits also loosen a character: factors on the weights of its bodies drop with a hit and regain. The factor of a body
obeys ``df/dt = rate - f s P / (m c)``: P the force of a hit [N], s how much of it the body feels (1 where it is hit,
less the further away), m the character's mass and c the speed sqrt(gravity * height) times a number, so that
characters of any size loosen alike. A blow J thus leaves ``f exp(-s J / (m c))``, and two blows of half the size the
same. Between hits the factor regains evenly up to 1. All is solved exactly, so that any frame rate gives the same.

A hit that hurts takes all strength of the limb that it strikes, its muscles' tone too, and gives it back over a time.
Meanwhile a hand may be held to the place, see `recovery.tone.Hand`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .. import quaternion
from ..anatomy.masses import froude
from ..anatomy.roles import ARM, FINGER, HEAD, LEG, NECK, TAIL, THUMB, WING
from ..errors import RagdollError
from . import overlay, weight_spread
from .recovery.transitions import smooth_step

WORLD, LOCAL, TOWARDS = "WORLD", "LOCAL", "TOWARDS"
FASTEST = 25.0  # a body is never made faster than this many times sqrt(gravity * height): 105 m/s for a man
BLOW = 1e-6  # [s] what is shorter comes whole: its ends could not be told apart


@dataclass(frozen=True)
class Hit:
    """One hit."""

    frame: float  # where it begins
    bone: str  # name of the bone whose body is hit
    impulse: float  # [N s], over the whole duration
    direction: tuple = (0.0, 1.0, 0.0)  # [3] of any length; in LOCAL in the body's axes, unused with TOWARDS
    point: tuple = (0.0, 0.0, 0.0)  # where on the body, from its centre, in the body's axes [3], [m]
    space: str = WORLD  # WORLD, LOCAL (turns with the body) or TOWARDS (from the point to `target`)
    duration: float = 0.0  # [s]
    hurts: float = 0.0  # until the limb has its strength again [s]
    hold: bool = False  # meanwhile who falls lays a hand on the place
    target: tuple = (0.0, 0.0, 0.0)  # [3] world, for TOWARDS; where the object stands now
    number: int = 1  # its place in the user's list, for messages

    @property
    def title(self) -> str:
        return f"Hit {self.number} on bone '{self.bone}'"


@dataclass(frozen=True)
class Explosion:
    """A blast that pushes every body away from its origin, through the bodies' centres."""

    frame: float  # where it begins
    origin: tuple  # [3] world, [m]
    radius: float  # beyond it nothing is felt [m]
    impulse: float  # on a body at the origin [N s]
    falloff: float = 1.0  # exponent of ``1 - distance / radius``; 0 is the same everywhere within the radius
    duration: float = 0.0  # [s]
    number: int = 1  # as a hit's

    @property
    def title(self) -> str:
        return f"Explosion {self.number}"


@dataclass(frozen=True)
class Bodies:
    """The m bodies of a character as they are now."""

    names: Sequence[str]  # of their bones [m]
    masses: np.ndarray  # [kg], [m]
    inertia: np.ndarray  # about the body's own axes, as Blender has it (a capsule's is its box's) [m, 3], [kg m^2]
    centers: np.ndarray  # world [m, 3], [m]
    rotations: np.ndarray  # unit quaternions (w, x, y, z) [m, 4]
    size: float = 1.8  # height of the character [m]
    gravity: float = 9.81  # of the scene [m/s^2]

    @property
    def fastest(self) -> float:
        """Largest speed [m/s] that one hit gives."""
        return FASTEST * froude(self.size, self.gravity)


def checked(hit: Hit | Explosion, names: Sequence[str], first: float, last: float) -> list:
    """Notes for the user: that a hit will not be felt in a shot from frame `first` to `last`.

    `names` are those of the bones that have bodies.
    Raises RagdollError: a bone without body, a value that is no number, a direction without length, a radius that is
    not positive, a negative falloff or time; names the hit by its place in the list, its bone and the value.
    """
    if isinstance(hit, Hit) and hit.bone not in names:
        raise RagdollError(f"{hit.title}: the bone has no body")
    for name, value in vars(hit).items():
        if not isinstance(value, str) and not np.isfinite(np.asarray(value, dtype=float)).all():
            raise RagdollError(f"{hit.title}: the {name} is not a number: {value}")
        if name in ("falloff", "duration", "hurts") and value < 0.0:
            raise RagdollError(f"{hit.title}: the {name} must not be negative, got {value:g}")
    if isinstance(hit, Explosion) and hit.radius <= 0.0:
        raise RagdollError(f"{hit.title}: the radius must be positive, got {hit.radius:g} m")
    if isinstance(hit, Hit) and hit.space != TOWARDS and not np.any(hit.direction):
        raise RagdollError(f"{hit.title}: the direction has no length")
    if first <= hit.frame < last:
        return []
    return [f"{hit.title}: frame {hit.frame:g} is outside the shot ({first:g} to {last:g}), nothing will be felt"]


def share(begins: float, duration: float, begin: float, end: float) -> float:
    """The part of a hit that falls into the span [begin, end), all in seconds."""
    if duration < BLOW:
        return float(begin <= begins < end)
    return max(min(end, begins + duration) - max(begin, begins), 0.0) / duration


@dataclass(frozen=True)
class Push:
    """What one hit does to one body in a span."""

    row: int  # of the body
    impulse: np.ndarray  # in the span [3], [N s], world
    hit: Hit | Explosion
    whole: float  # size of the impulse over the whole duration, after it was cut down [N s]
    warning: str  # where its span begins and it was cut down, else ""


def pushes(hit: Hit | Explosion, bodies: Bodies, begin: float, end: float, fps) -> list[Push]:
    """What a hit does to every body from time `begin` to `end` [s], from where the bodies are now.

    A hit that would make its body faster than `Bodies.fastest`, or turn it as fast by its radius of gyration, is cut
    down as a whole. The time of frame F is F / fps. Raises RagdollError: a motion that is no number.
    """
    part = share(hit.frame / fps, hit.duration, begin, end)
    if part <= 0.0:
        return []
    title, starts = f"{hit.title} at frame {hit.frame:g}", begin <= hit.frame / fps
    if isinstance(hit, Hit):
        row = bodies.names.index(hit.bone)
        arm = quaternion.rotate(bodies.rotations[row], np.asarray(hit.point, dtype=float))
        return [_push(hit, bodies, row, part, hit.impulse, _direction(hit, bodies, row, arm), arm, title, starts)]
    way = bodies.centers - np.asarray(hit.origin, dtype=float)
    distance = np.linalg.norm(way, axis=1)
    there = distance <= 1e-9 * hit.radius  # what stands in its origin goes up
    away = np.where(there[:, None], (0.0, 0.0, 1.0), way / np.where(there, 1.0, distance)[:, None])
    left = np.maximum(1.0 - distance / hit.radius, 0.0)
    impulses = np.where(left > 0.0, hit.impulse * left**hit.falloff, 0.0).tolist()
    return [
        _push(hit, bodies, row, part, impulse, away[row], np.zeros(3), f"{title}, bone '{bodies.names[row]}'", starts)
        for row, impulse in enumerate(impulses)
        if impulse != 0.0
    ]


def _direction(hit: Hit, bodies: Bodies, row: int, arm) -> np.ndarray:
    """Unit vector [3], world; none where a target is reached."""
    way = np.asarray(hit.direction, dtype=float)
    if hit.space == TOWARDS:
        way = np.asarray(hit.target, dtype=float) - bodies.centers[row] - arm
    elif hit.space == LOCAL:
        way = quaternion.rotate(bodies.rotations[row], way)
    way = way / max(float(np.abs(way).max()), 1e-300)  # lengths near the ends of the range square badly
    return way / max(float(np.linalg.norm(way)), 1e-12)


def _push(hit, bodies: Bodies, row: int, part, impulse: float, direction, arm, title: str, starts) -> Push:
    """A part of a hit whose whole impulse is given."""
    mass, inertia = bodies.masses[row], bodies.inertia[row]
    # Of 1 N s, in the body's axes.
    spin = quaternion.rotate(quaternion.conjugate(bodies.rotations[row]), np.cross(arm, direction)) / inertia
    rim = float(np.sqrt(np.max(inertia) / mass))
    speed = max(float(np.linalg.norm(direction / mass)), float(np.linalg.norm(spin)) * rim)
    if not (np.isfinite(speed) and np.isfinite(impulse)):
        raise RagdollError(f"{title}: the body's motion would not be a number")
    most = bodies.fastest / speed if speed > 0.0 else np.inf
    kept = float(np.clip(impulse, -most, most))
    cut = f"{title}: {abs(impulse):g} N s cut down to {most:g}, {bodies.fastest:.0f} m/s at most"
    whole = abs(kept) * float(np.linalg.norm(direction))
    return Push(row, part * kept * direction, hit, whole, cut if starts and abs(impulse) > most else "")


def speeds_felt(bodies, wanted, masses, before: dict | None, seconds: float, gravity) -> dict:
    """Speed of the whole, and the largest speed that something other than gravity and the animation gave a body.

    Args:
        bodies, wanted: centres of the bodies, and where the animation has them [m, 3], world. masses: [m] [kg].
        before: what this gave one frame ago; None at the first frame.
        seconds: from frame to frame. gravity: acceleration [3].
    Returns:
        `speed`: of the centre of mass [m/s]; `hit` [m/s]; and `bodies`, `wanted`, `away`: what the next frame needs.
        A body that its animation drives changes its speed with it, so only the speed against the animation counts; of
        its change, a fall's share is no hit.
    """
    bodies, wanted, masses = np.asarray(bodies), np.asarray(wanted), np.asarray(masses, dtype=float)
    result = {"bodies": bodies, "wanted": wanted, "away": None, "speed": 0.0, "hit": 0.0}
    if before is None or not seconds > 0.0:
        return result
    moved = (bodies - before["bodies"]) / seconds
    result["speed"] = float(np.linalg.norm(masses @ moved / masses.sum()))
    result["away"] = away = moved - (wanted - before["wanted"]) / seconds
    if before["away"] is not None:
        change = np.linalg.norm(away - before["away"], axis=-1)
        result["hit"] = float(max(np.max(change) - np.linalg.norm(gravity) * seconds, 0.0))
    return result


# ---- how hits loosen a character ------------------------------------------------------------------------------------
# Of sqrt(gravity * height): 30 N s leave 37 % on a man of 70 kg hit at 0.42 m/s of his whole mass.
LOOSENING_SPEED = 0.1


@dataclass(frozen=True)
class Loosening:
    """Settings."""

    sensitivity: float = 1.0  # times the standard one; 0 loosens nothing
    parents: float = 0.5  # what one bone further up feels, 0..1
    children: float = 0.7  # what one further down feels, 0..1
    others: float = 0.1  # what all other bones feel at most, 0..1
    regain: float = 1.0  # [1/s]


@dataclass(frozen=True)
class Blow:
    """An impulse [N s] on a body (row), from a moment [s] on over a duration [s]."""

    begins: float
    body: int
    impulse: float
    duration: float = 0.0


def checked_loosening(settings: Loosening) -> None:
    """Refuse settings out of range. Raises RagdollError, which names the setting and the value."""
    for name, value in vars(settings).items():
        if name in ("sensitivity", "regain") and not (np.isfinite(value) and value >= 0.0):
            raise RagdollError(f"Loosening: {name} must be a number that is not negative, got {value:g}")
        if name in ("parents", "children", "others") and not 0.0 <= value <= 1.0:
            raise RagdollError(f"Loosening: {name} must be 0 to 1, got {value:g}")


def loosened(settings: Loosening, factors, blows, parents, begin, end, mass, size=1.8, gravity=9.81) -> np.ndarray:
    """The factors [m] at time `end` from those at `begin`, all times in seconds.

    Raises RagdollError: an impulse that is no number; names the body's row and the moment.

    Args:
        factors: [m] within 0..1; all 1 at the shot's first frame. parents: of the bodies, -1 at roots [m].
        blows: all of the shot, or those that touch the span [begin, end).
        mass: of the character [kg]. size: its height [m]. gravity: [m/s^2].
    """
    factors = np.array(factors, dtype=float)
    scale = settings.sensitivity / (mass * LOOSENING_SPEED * froude(size, gravity))
    moments = {begin, end}
    blows = [blow for blow in blows if not (blow.begins >= end or blow.begins + blow.duration < begin)]
    for blow in blows:
        if not np.isfinite(blow.impulse):
            raise RagdollError(f"The impulse on body {blow.body} at {blow.begins:g} s is not a number: {blow.impulse}")
        moments.update(t for t in (blow.begins, blow.begins + blow.duration) if begin < t < end)
    shares = {}  # of a hit on a body: a factor for each joint up and down the tree, at least `others`
    for body in {blow.body for blow in blows}:
        up, down = weight_spread.distances(parents, body)
        reached = np.isfinite(up)
        way = np.where(reached, settings.parents ** np.where(reached, up, 0.0), 0.0)
        shares[body] = scale * np.maximum(way * settings.children ** np.where(reached, down, 0.0), settings.others)
    for start, stop in pairwise(sorted(moments)):
        pull = np.zeros(len(factors))
        for blow in blows:
            if blow.duration < BLOW:
                if blow.begins == start:
                    factors = factors * np.exp(-shares[blow.body] * abs(blow.impulse))
            elif blow.begins <= start and stop <= blow.begins + blow.duration:
                pull += shares[blow.body] * abs(blow.impulse) / blow.duration
        # The solution of ``df/dt = rate - pull f``, kept to 1 where it gets there.
        course = pull * (stop - start)
        # (1 - exp(-x)) / x, by its series where the quotient would be of two vanishing numbers
        safe = np.where(course > 1e-6, course, 1.0)
        mean = np.where(course > 1e-6, -np.expm1(-course) / safe, 1.0 - 0.5 * course)
        factors = np.minimum(factors * np.exp(-course) + settings.regain * (stop - start) * mean, 1.0)
    return factors


# ---- where hits hurt ------------------------------------------------------------------------------------------------
LIMBS = (*ARM, THUMB, FINGER), LEG, (NECK, HEAD), (TAIL,), (WING,)  # by roles


def limb_of(row: int, roles: Sequence[str], parents) -> np.ndarray:
    """Mask of the limb of a body [m], from where it leaves the trunk; of what belongs to none that body alone."""
    own = next((limb for limb in LIMBS if roles[row] in limb), ())
    while parents[row] >= 0 and roles[parents[row]] in own:
        row = parents[row]
    return weight_spread.distances(parents, row)[0] == 0.0 if own else np.arange(len(parents)) == row


def strength_left(hurts: float, since: float) -> float:
    """Share of its strength that a limb has so long after a hit that hurts for a time, both in seconds."""
    return float(smooth_step(since / hurts)) if 0.0 < since < hurts else 1.0


# ---- placing hits by hand and showing them --------------------------------------------------------------------------
# An arrow's length is to the character's height as the impulse is to its mass times a fixed share of
# sqrt(gravity * height): 1 m for about 100 N s on a man of 70 kg, and characters of any size are handled alike.
ARROW_SPEED = 0.6  # of sqrt(gravity * height): what an arrow as long as the character gives its whole mass
TIP, TIP_WIDTH = 0.2, 0.07  # of an arrow's length
LONGEST, SHORTEST = 2.0, 0.02  # heights: arrows are shown no longer and no shorter
CIRCLE = 48  # segments


def box_met(origin, direction, matrices, halves) -> tuple[int, float]:
    """The first box that a ray [3], [3] meets and the distance to it, in lengths of `direction`; (-1, inf) if none.

    Boxes have rigid matrices [m, 4, 4] and half sizes [m, 3]."""
    turned = np.asarray(matrices)[:, :3, :3].transpose(0, 2, 1)
    start = np.einsum("mij,mj->mi", turned, np.asarray(origin, dtype=float) - matrices[:, :3, 3])
    way = np.einsum("mij,j->mi", turned, np.asarray(direction, dtype=float))
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    first, last = (-halves - start) / way, (halves - start) / way
    enters, leaves = np.minimum(first, last).max(axis=1), np.maximum(first, last).min(axis=1)
    distance = np.where((leaves >= enters) & (leaves >= 0.0), np.maximum(enters, 0.0), np.inf)
    row = int(np.argmin(distance)) if len(distance) else -1
    return (row, float(distance[row])) if row >= 0 and np.isfinite(distance[row]) else (-1, np.inf)


def nearest_box(point, matrices, halves) -> int:
    """The box nearest to a point [3]; of those that hold it, the one in whose middle it is most."""
    matrices = np.asarray(matrices)
    local = np.einsum("mji,mj->mi", matrices[:, :3, :3], np.asarray(point, dtype=float) - matrices[:, :3, 3])
    outside = np.linalg.norm(np.maximum(np.abs(local) - halves, 0.0), axis=1)
    depth = np.max(np.abs(local) / np.maximum(halves, 1e-12), axis=1)
    return int(np.argmin(np.where(depth <= 1.0, depth - 2.0, outside)))


def arrow_lines(start, drawn, size: float) -> np.ndarray:
    """Segments [5, 2, 3] of an arrow from a point [3] along a vector [3], [m]; none for no vector."""
    length = float(np.linalg.norm(drawn))
    if not np.isfinite(length) or length == 0.0:
        return np.empty((0, 2, 3))
    way = np.asarray(drawn, dtype=float) / length
    length = float(np.clip(length, SHORTEST * size, LONGEST * size))
    start = np.asarray(start, dtype=float)
    end = start + length * way
    side = np.cross(way, np.eye(3)[int(np.argmin(np.abs(way)))])
    side /= np.linalg.norm(side)
    other = np.cross(way, side)
    neck = end - TIP * length * way
    tips = [neck + TIP_WIDTH * length * s for s in (side, -side, other, -other)]
    return np.array([(start, end), *((tip, end) for tip in tips)])


def blast_lines(origin, radius: float) -> np.ndarray:
    """Segments [k, 2, 3] of three circles about an origin [3] and a cross in it."""
    x, y, z = np.eye(3)
    rings = [overlay.arc_lines(1.0, 0.0, 2.0 * np.pi, CIRCLE, u, v) for u, v in ((y, z), (z, x), (x, y))]
    crosses = np.stack([-0.1 * np.eye(3), 0.1 * np.eye(3)], axis=1)
    return np.asarray(origin, dtype=float) + radius * np.concatenate([*rings, crosses])
