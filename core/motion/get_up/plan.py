"""A way up from where one lies.

Prone one draws the hands in, presses up to all fours, sets a foot forward, kneels and rises; supine one sits up over a
hand and comes to kneel from there; whoever lies on the side rolls to the nearer one of both. The rear foot then goes
where the animation has it, the front foot follows, and the animation goes on from there. A quadruped rolls to its
chest, rises with its front legs, then with its hind legs, and steps crosswise to where the animation has its feet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ... import pose as pose_space
from ... import quaternion as q
from ...anatomy.masses import GRAVITY
from ...errors import RagdollError
from ...ragdoll.recovery.transitions import STEP, Reroot, Trunk, heading, smooth_step
from ..biped import Biped, Posture, X, Y, Z, dot, unit
from ..stack import LocalPose
from .course import Course, mean_around
from .keys import HEIGHT, Author, Clearances, Floor, Key, Surface

PRONE, SUPINE, CHEST = "PRONE", "SUPINE", "CHEST"
AUTOMATIC, LEFT, RIGHT = "AUTOMATIC", "LEFT", "RIGHT"
STEEPEST = np.radians(25.0)  # of a floor that one gets up from
_STEEP = 0.6  # upright share of a trunk from which on it sits rather than lies
_RAISED = np.array([0.1, 0.06, 0.06, 0.15, 0.15])  # of the height: by what trunk, feet and hands are kept off the floor
SHORTEST = 3.0  # [s] from lying to standing
HOLD, RESTS = 0.35, ("half kneel", "sit", "front")  # [s] for which one who is hurt rests, and where


@dataclass(frozen=True, eq=False)
class Plan:
    """A way up, one pose a frame."""

    strategy: str  # PRONE or SUPINE; CHEST of a quadruped
    names: tuple  # of the keys [k], the pose that one lies in first
    times: np.ndarray  # of the keys [k], [s]
    poses: LocalPose  # [f, n], in the armature's space at the first frame
    move: Reroot  # where the animation goes on after the last pose, world
    planted: np.ndarray  # which limbs stand from each key to the next [k - 1, 4]
    tempo: float  # how much longer everything takes than for a man of 1.8 m


@dataclass(frozen=True)
class Manner:
    """How one gets up."""

    pace: float = 1.0  # times that of an ordinary one: 0.6 brisk, 1.6 hurt
    side: str = AUTOMATIC  # of the foot that comes forward first
    seed: int = 0  # of variations in rhythm and side; 0: none
    held: tuple = ()  # arms (2 left, 3 right) whose hand holds something and is not laid on the floor


def plan(
    own: Biped, surface: Surface, lying, floor: Floor, animated, world, *, fps, gravity, manner=Manner(), ranges=None
) -> Plan:
    """A way up from a pose.

    Args:
        lying: matrices in armature space [n, 4, 4], level order.
        floor: under the character, in the plan frame.
        animated: function of the time from now [s] -> matrices [n, 4, 4] of the animation then, in the armature's space
            of now.
        world: the armature object's matrix now [4, 4].
        gravity: [m/s^2]. ranges: of the joints (`Ranges`); None: they allow anything.
    Raises:
        RagdollError: the floor is too steep, or the animation does not stand when the character does.
    """
    steep = float(np.arctan(np.hypot(*floor.slope)))
    if steep > STEEPEST:
        raise RagdollError(f"the floor is too steep to get up from: {np.degrees(steep):.0f} degrees")
    lain = own.extract(*own.placed(lying))
    trunk = _trunk_of(lain)
    upright, face = float(trunk.along[2]), float(trunk.forward[2])
    sitting = upright > _STEEP and face > -0.3
    strategy = SUPINE if sitting or (abs(upright) <= _STEEP and face > 0.0) else PRONE
    turn = _turn_to(heading(trunk))
    origin = lain.hip - Z * (lain.hip[2] - floor.under(lain.hip))
    local = floor.seen_from(turn)
    room, rng = Clearances.of(own, surface), np.random.default_rng(manner.seed)
    right = _starts_right(lain.moved(q.conjugate(turn), np.zeros(3)), strategy, manner, rng)
    tempo = float(np.sqrt(own.height / HEIGHT * GRAVITY / (abs(gravity) or GRAVITY)))
    author = Author(own, room)
    if own.four:
        strategy, written = CHEST, author.four(upright < -_STEEP)
    else:
        written = author.prone() if strategy == PRONE else author.supine(sitting)
    if manner.pace > 1.2:
        at = next(i for i, key in enumerate(written) if key.name in RESTS)
        written.insert(at + 1, Key("rest", HOLD, written[at].posture))
    rhythm = manner.pace * (1.0 + (0.13 if manner.seed else 0.0) * rng.uniform(-1.0, 1.0, len(written) + 2))

    written = [_laid(own, _mirrored(key) if right else key, local, list(manner.held)) for key in written]
    risen = _mirrored(written[-1]) if right else written[-1]

    def course(seconds, times=None):
        stance, shift, way = _stance(own, room, animated(seconds), risen.posture, origin, local, turn, right)
        last = [author.stand(risen.posture, stance), Key("step", 0.55, stance)]
        last = [_mirrored(key) for key in last] if right else last
        keys = [Key("lie", 0.0, _seen(lain, turn, origin)), *written, *last]
        if times is None:
            times = np.cumsum([0.0, *(tempo * rhythm * [key.seconds for key in keys[1:]])])
        return Course(own, room, local, keys, times, tempo, manner.held, ranges), keys, shift, way

    found, keys, _shift, _way = course(tempo * float(rhythm @ [*(key.seconds for key in written), 0.65, 0.55]))
    times = found.stretched(own.placed(lying)[0]).times
    frames = int(np.ceil(max(times[-1], SHORTEST * tempo) * fps - 1e-6))
    times = times * (frames / fps / times[-1])
    found, keys, shift, way = course(frames / fps, times)
    seconds = np.arange(frames + 1) / fps
    deep = surface.depths(own, *found.at(seconds), local)
    deep[:, 0] = np.maximum(deep[:, 0], deep[:, 1:3].min(axis=1))  # he rises with both feet
    reach = max(1, round(0.12 * tempo * fps))  # raised without edges in time, and not less than so
    padded = np.pad(np.minimum(deep, _RAISED * own.height), [(2 * reach, 2 * reach), (0, 0)], mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 4 * reach + 1, axis=0)
    lift = mean_around(windows.max(axis=-1), reach)
    share = smooth_step((seconds - times[-2]) / (times[-1] - times[-2]))
    deltas, places = found.at(seconds, lift * (1.0 - share)[:, None])
    deltas, places = q.multiply(turn, deltas), q.rotate(turn, places) + origin
    move = _move_in_world(own, world, way, shift)
    poses = _local_poses(own, deltas, places, animated(frames / fps), move, world, share)
    return Plan(strategy, tuple(key.name for key in keys), times, poses, move, found.planted, tempo)


def _trunk_of(posture: Posture) -> Trunk:
    along, forward = (unit(q.rotate(posture.trunk[..., :2, :], axis).sum(axis=-2)) for axis in (Z, X))
    return Trunk(posture.hip, along, unit(forward - along * dot(forward, along)))


def _turn_to(direction) -> np.ndarray:
    """The turn about the vertical [4] from x to a direction."""
    return q.from_axis_angle(Z, np.arctan2(direction[1], direction[0]))


def _seen(posture: Posture, turn, origin) -> Posture:
    """From a frame that stands turned at an origin."""
    back = q.conjugate(turn)
    return posture.moved(back, -q.rotate(back, origin))


def _starts_right(lain: Posture, strategy: str, manner: Manner, rng) -> bool:
    """Whether the right foot comes forward first: over a free hand, and on the side that he lies on."""
    by_chance = bool(rng.random() < 0.5)
    if manner.side != AUTOMATIC:
        return manner.side == RIGHT
    if len(manner.held) == 1:
        return manner.held[0] == 3
    roll = float(q.rotate(lain.trunk[1], Y)[2])
    if abs(roll) > 0.3:
        return (roll > 0.0) != (strategy == SUPINE)
    return by_chance if manner.seed else False


def _stance(
    own: Biped, room: Clearances, matrices, risen: Posture, origin, floor: Floor, turn, right: bool
) -> tuple[Posture, np.ndarray, np.ndarray]:
    """The animation's posture where it goes on, and its way there: shift [3], turn [4].

    It is seen from the plan's place, mirrored for who starts with the right foot.
    """
    posture = own.extract(*own.placed(matrices))
    trunk = _trunk_of(posture)
    low = posture.ends[:2, 2].min()
    if trunk.along[2] < _STEEP or posture.hip[2] - low < 0.55 * own.leg:
        raise RagdollError("its animation does not stand when it would have got up")
    way = q.multiply(turn, q.conjugate(_turn_to(heading(trunk))))
    foot = risen.ends[0] * (1.0, -1.0 if right else 1.0, 1.0)
    wanted = q.rotate(turn, np.array([foot[0], foot[1] - np.sign(foot[1]) * own.hips * 1.1, 0.0])) + origin
    shift = wanted - q.rotate(way, posture.ends[:2].mean(axis=0))
    # On a floor as high as the animation's own it keeps its own heights.
    shift[2] = 0.0
    rise = origin[2] + floor.under(np.array([foot[0], 0.0, 0.0])) - (low - room.sole)
    if any(floor.slope) or abs(rise) > STEP * own.height:
        shift[2] = rise
    seen = _seen(posture.moved(way, shift), turn, origin)
    return seen.mirrored() if right else seen, shift, way


def _mirrored(key: Key) -> Key:
    return replace(key, posture=key.posture.mirrored())


def _laid(own: Biped, key: Key, floor: Floor, held: list) -> Key:
    """On a slope: contacts on it, hips and trunk over them along its normal as far as they lie, else upright."""
    p = replace(key.posture, ends=key.posture.ends.copy())
    p.ends[held, 2] = np.maximum(p.ends[held, 2], 0.1 * own.height)  # what holds something is kept off the floor
    if not any(floor.slope):
        return replace(key, posture=p)
    lying = 1.0 if own.four else np.clip(1.0 - q.rotate(p.trunk[:2], Z)[:, 2].mean(), 0.0, 1.0)
    normal = q.rotate(floor.tilt, Z)
    over = unit((1.0 - lying) * Z + lying * normal)
    low = p.ends[:, 2] < 0.15 * own.height

    def along(points, ways):
        return q.rotate(floor.tilt, points * (1.0, 1.0, 0.0)) + ways * points[..., 2:]

    ends = along(p.ends, np.where(low[:, None], normal, over))
    turns = q.multiply(q.power(floor.tilt, np.where(low, 1.0, lying)), p.turns)
    trunk = q.multiply(q.power(floor.tilt, lying), p.trunk)
    return replace(key, posture=replace(p, hip=along(p.hip, over), trunk=trunk, ends=ends, turns=turns))


def _move_in_world(own: Biped, world, way, shift) -> Reroot:
    """A turn and shift of the plan frame as one of the world."""
    into = np.asarray(world)[:3, :3] @ q.to_matrix(q.conjugate(own.frame)) / own.scale
    rotation = into @ q.to_matrix(way) @ into.T
    place = np.asarray(world)[:3, 3]
    return Reroot(q.from_matrix(rotation), into @ shift + place - rotation @ place)


def _local_poses(own: Biped, deltas, places, animated, move: Reroot, world, share) -> LocalPose:
    """Poses [f, n] relative to the parents. Bones that the plan does not move are where the animation will have them.

    What a posture leaves of the animation's pose, such as twists, comes in by the share [f], so that the last is exact.
    """
    skeleton = own.rig.skeleton
    there = np.linalg.solve(world, move.matrix() @ world) @ animated
    base = LocalPose(*pose_space.decompose_matrices(pose_space.model_to_local_matrices(skeleton, there)))
    positions, rotations, sizes = base.model(skeleton)
    count = len(deltas)
    last = base
    base = LocalPose(*(np.repeat(array[None], count, axis=0) for array in vars(base).values()))
    positions, rotations = (np.repeat(array[None], count, axis=0) for array in (positions, rotations))
    positions[:, own.rows], rotations[:, own.rows] = own.model(deltas, places)
    moved = set(own.rows.tolist())
    for row, parent in enumerate(own.rig.parents):
        if parent < 0:
            if row in moved:
                base.positions[:, row], base.rotations[:, row] = positions[:, row], rotations[:, row]
            continue
        back = q.conjugate(rotations[:, parent])
        if row in moved:
            base.rotations[:, row] = q.multiply(back, rotations[:, row])
            base.positions[:, row] = q.rotate(back, positions[:, row] - positions[:, parent]) / sizes[parent]
        else:
            rotations[:, row] = q.multiply(rotations[:, parent], base.rotations[:, row])
            local = sizes[parent] * base.positions[:, row]
            positions[:, row] = positions[:, parent] + q.rotate(rotations[:, parent], local)
    missing = q.multiply(last.rotations, q.conjugate(base.rotations[-1]))
    return LocalPose(
        base.positions + share[:, None, None] * (last.positions - base.positions[-1]),
        q.multiply(q.power(missing, share[:, None]), base.rotations),
        base.scales,
    )
