"""The hits of one character: read from its settings into the bodies' own axes, checked, and what acts for them."""

from dataclasses import dataclass, field

import numpy as np

from ..errors import RagdollError
from ..ragdoll import hits as core_hits
from ..ragdoll import loosening
from . import hitters, world
from .runtime import STATE

FARTHEST = 10.0  # heights from its body that a hit may act at


@dataclass
class Hitter:
    """A helper and what it does.

    Attributes:
        row: of its body in the run.
        point: where it acts, in the body's frame [3], [m].
        kind: what it is for; see `kind_of`.
        place: where it stands [3].
        acting: its spring is on.
    """

    obj: object
    bone: str
    row: int
    point: np.ndarray
    kind: int
    place: np.ndarray | None = None
    acting: bool = False


@dataclass
class CharacterHits:
    """The hits of one character.

    Attributes:
        hits, explosions: those that are enabled, in the bodies' own axes.
        targets: objects that they refer to, by their number: ("Hit", 1).
        lengths: of the user's lists when they were read.
        factors: of its weights [m].
        notes: what was wrong with them when they were read.
    """

    character: object
    parents: np.ndarray
    inertia: np.ndarray
    factors: np.ndarray
    hits: list = field(default_factory=list)
    explosions: list = field(default_factory=list)
    targets: dict = field(default_factory=dict)
    lengths: tuple = (0, 0)
    loose: loosening.Loosening = field(default_factory=loosening.Loosening)
    hitters: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def own_inertia(body) -> np.ndarray:
    """Moments of inertia [3] of a body about its own axes [kg m^2], as Blender has them: mostly those of its box."""
    size = np.ptp(np.array(body.bound_box, dtype=float), axis=0)
    mass = body.rigid_body.mass
    if body.rigid_body.collision_shape == "SPHERE":
        return np.full(3, 0.4 * mass * (0.5 * size.max()) ** 2)
    squares = size**2
    return mass / 12.0 * (squares.sum() - squares)


def read(own: CharacterHits, scene, *, leave_out: bool = False) -> None:
    """The settings as core takes them; numbers are places in the user's lists.

    Args:
        leave_out: do without what makes no sense and say so in the warnings, as in mid-shot.

    Raises:
        RagdollError: a hit, an explosion or the loosening makes no sense; names it and the character.
    """
    obj, notes = own.character.obj, []
    settings = obj.active_ragdoll
    own.hits, own.explosions, own.targets = [], [], {}
    own.lengths = lengths_of(settings)
    for kind, entries, take in (("Hit", settings.hits, _take_hit), ("Explosion", settings.explosions, _take_explosion)):
        for number, entry in enumerate(entries, 1):
            if not entry.enabled:
                continue
            try:
                notes += take(own, entry, number, *world.shot_range(scene))
            except RagdollError as error:
                if not leave_out:
                    raise RagdollError(f"'{obj.name}': {error}") from error
                notes.append(f"'{obj.name}': {error}; it is left out")
                continue
            if entry.target is not None and getattr(entry, "space", core_hits.TOWARDS) == core_hits.TOWARDS:
                own.targets[kind, number] = entry.target
    loose = _loosening(settings)
    try:
        loosening.checked(loose)
        own.loose = loose
    except RagdollError as error:
        if not leave_out:
            raise RagdollError(f"'{obj.name}': {error}") from error
        notes.append(f"'{obj.name}': {error}; the last good setting stays")
    known = STATE.warnings.setdefault(obj.name, [])
    known[:] = [text for text in known if text not in own.notes] + notes
    own.notes = notes


def lengths_of(settings) -> tuple[int, int]:
    return len(settings.hits), len(settings.explosions)


def _take_hit(own: CharacterHits, entry, number: int, first: int, last: int) -> list:
    """Add a hit that makes sense; notes on it."""
    names = own.character.bone_names
    turn = own.character.offsets[names.index(entry.bone), :3, :3].T if entry.bone in names else np.eye(3)
    hit = _hit(entry, number, turn)
    if entry.space == core_hits.TOWARDS and entry.target is None:
        raise RagdollError(f"{hit.title(0)}: it has no target object to go towards")
    notes = core_hits.checked_hits([hit], names, first, last)
    away = max(abs(component) for component in hit.point)
    if away > FARTHEST * own.character.height:
        raise RagdollError(f"{hit.title(0)}: the point is {away:.3g} m from the body, too far to push there")
    own.hits.append(hit)
    return notes


def _take_explosion(own: CharacterHits, entry, number: int, first: int, last: int) -> list:
    frame, origin, strength = float(entry.frame), tuple(entry.origin), entry.impulse
    blast = core_hits.Explosion(frame, origin, entry.radius, strength, entry.falloff, entry.duration, number)
    notes = core_hits.checked_explosions([blast], first, last)
    own.explosions.append(blast)
    return notes


def _loosening(settings) -> loosening.Loosening:
    return loosening.Loosening(
        sensitivity=settings.loosening,
        parents=settings.loosening_parents,
        children=settings.loosening_children,
        others=settings.loosening_others,
        regain=settings.loosening_regain,
    )


def _hit(entry, number: int, turn) -> core_hits.Hit:
    """A hit in its body's axes; turn [3, 3] leads there from the bone's."""
    impulse = np.array(entry.impulse, dtype=float)
    strength = float(np.linalg.norm(impulse))
    way = impulse / strength if strength > 0.0 else np.array((0.0, 0.0, 1.0))
    if not np.isfinite(strength):
        way = np.array((0.0, 0.0, 1.0))  # the strength itself is what gets named
    elif entry.space == core_hits.LOCAL:
        way = turn @ way
    return core_hits.Hit(
        float(entry.frame),
        entry.bone,
        strength,
        tuple(way),
        tuple(turn @ np.array(entry.point, dtype=float)),
        entry.space,
        entry.duration,
        number=number,
    )


def acting_points(own: CharacterHits):
    for hit in own.hits:
        yield hit.bone, np.array(hit.point), kind_of(hit)
    for blast in own.explosions:
        for bone in own.character.bone_names:
            yield bone, np.zeros(3), kind_of(blast)


def kind_of(hit) -> int:
    """0 for a push; 1 and 2 for blows at odd and even frames: after a blow its hitter needs a frame to come back."""
    return 0 if hit.duration >= core_hits.BLOW else 1 + int(hit.frame) % 2


def hitter_of(own: CharacterHits, bone: str, point, kind: int) -> Hitter | None:
    for helper in own.hitters:
        if (helper.bone, helper.kind) == (bone, kind) and hitters.is_same(helper.point, point, own.character.height):
            return helper
    return None
