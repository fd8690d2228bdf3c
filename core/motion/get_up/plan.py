"""A way up from where one lies.

Prone one draws the hands in, presses up to all fours, sets a foot forward, kneels and rises; supine one sits up over a
hand and comes to kneel from there; whoever lies on the side rolls to the nearer one of both. The rear foot then goes
where the animation has it, the front foot follows, and the animation goes on from there. A quadruped rolls to its
chest, rises with its front legs, then with its hind legs, and steps crosswise to where the animation has its feet.
"""

from dataclasses import dataclass, replace

import numpy as np

from ... import pose as pose_space
from ... import quaternion as q
from ...anatomy.masses import GRAVITY
from ...errors import RagdollError
from ...ragdoll.recovery.states import HEIGHT
from ...ragdoll.recovery.transitions import STEP, Reroot, Trunk, heading, smooth_step
from ..biped import Biped, Posture, X, Y, Z, dot, stacked, unit
from ..stack import LocalPose
from .course import PLANTED, REACH, Course, mean_around, reached_over
from .keys import Author, Clearances, Floor, Key, Surface

PRONE, SUPINE, CHEST = "PRONE", "SUPINE", "CHEST"
AUTOMATIC, LEFT, RIGHT = "AUTOMATIC", "LEFT", "RIGHT"
STEEPEST = np.radians(25.0)  # of a floor that one gets up from
_STEEP = 0.6  # upright share of a trunk from which on it sits rather than lies
# In shares of the height, and besides turned, where else and which way round one gets up where there is no room
_AROUND = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]) * 0.3
_TURNS = np.radians([0.0, 60.0, -60.0, 120.0, -120.0, 180.0])
_WAY, _TURN = 0.25, 0.08  # what that costs by parts of the height and by the radian, in those that a body is deep
_STUCK, _NO_ROOM = 0.1, 10.0  # of the height, deeper counts no more; what a head in a roof costs
_DRAWS_FOUR = 5.0  # what it costs by what a planted leg of a quadruped is too short, which draws all of its trunk down
_UNEVEN = 0.02  # of the height: among things by more than that the animation stands higher or lower than its own floor
TALL = 0.8  # of the height is the least room to stand up in
_LOW, _SEATED = 0.15, 0.32  # of the height: an end below it stands on something; hips below it are over the knees
_DOWN, _UP = 0.2, 0.25  # of the height: that far a limb is planted lower or higher than the ground at the hips
_RAISED = 0.25  # of the height: by what trunk, feet and hands are kept off the floor
_FOLDED = 0.5  # of the leg: nearer to its hip no foot is raised
_LEAST = 0.1  # [s] between two keys that are moved by hand
SHORTEST = 3.0  # [s] from lying to standing
HOLD, RESTS = 0.35, ("half kneel", "sit", "front")  # [s] for which one who is hurt rests, and where


class NoRoom(RagdollError):
    """Something is over whoever would get up."""


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
class Moved:
    """A key posture that was changed by hand."""

    key: int  # which, the pose that one lies in being 0
    part: int  # what of it is elsewhere: 0 the hips, 1 to 4 the limbs' ends in the order of `LEGS` and `ARMS`
    offset: tuple  # by how much [3], [m], plan frame
    seconds: float  # by how much later it comes


@dataclass(frozen=True)
class Manner:
    """How one gets up."""

    pace: float = 1.0  # times that of an ordinary one: 0.6 brisk, 1.6 hurt
    side: str = AUTOMATIC  # of the foot that comes forward first
    seed: int = 0  # of variations in rhythm and side; 0: none
    held: tuple = ()  # arms (2 left, 3 right) whose hand holds something and is not laid on the floor
    moved: tuple = ()  # by hand (`Moved`)


def plan(own: Biped, surface, lying, floor, animated, world, *, fps, gravity, manner=Manner(), ranges=None) -> Plan:
    """A way up from a pose.

    Args:
        surface: of its bodies (`Surface`). lying: matrices in armature space [n, 4, 4], level order.
        floor: under the character, in the plan frame (`Floor`).
        animated: function of the time from now [s] -> matrices [n, 4, 4] of the animation then, in the armature's space
            of now.
        world: the armature object's matrix now [4, 4].
        gravity: [m/s^2]. ranges: of the joints (`Ranges`); None: they allow anything.
    Raises:
        NoRoom: something is in the way wherever it would get up.
        RagdollError: the floor is too steep, or the animation does not stand when the character does.
    """
    steep = float(np.arctan(np.hypot(*floor.slope)))
    if steep > STEEPEST:
        raise RagdollError(f"the floor is too steep to get up from: {np.degrees(steep):.0f} degrees")
    lain = own.extract(*own.straightened(*own.placed(lying)))
    trunk = _trunk_of(lain)
    upright, face = float(trunk.along[2]), float(trunk.forward[2])
    sitting = upright > _STEEP and face > -0.3
    strategy = SUPINE if sitting or (abs(upright) <= _STEEP and face > 0.0) else PRONE
    room, rng = Clearances.of(own, surface), np.random.default_rng(manner.seed)
    right = _starts_right(lain, strategy, manner, rng)
    tempo = float(np.sqrt(own.height / HEIGHT * GRAVITY / (abs(gravity) or GRAVITY)))
    author = Author(own, room)
    if own.four:
        left = q.rotate(lain.trunk[1], Y)[2]
        strategy, written = CHEST, author.four(np.degrees(np.arctan2(-left if right else left, upright)))
    else:
        written = author.prone() if strategy == PRONE else author.supine(sitting)
    if manner.pace > 1.2:
        at = next(i for i, key in enumerate(written) if key.name in RESTS)
        written.insert(at + 1, Key("rest", HOLD, written[at].posture))
    rhythm = manner.pace * (1.0 + (0.13 if manner.seed else 0.0) * rng.uniform(-1.0, 1.0, len(written) + 2))
    written = [_mirrored(key) if right else key for key in written]
    standing = _standing(own, surface, animated(tempo * (rhythm @ [*(key.seconds for key in written), 0.65, 0.55])))
    ahead = trunk.forward if own.four else heading(trunk)
    written, *place = _chosen(own, surface, room, written, lain.hip, ahead, floor, standing, manner.held, right)
    origin, local, turn = place
    written = _by_hand(written, manner.moved, q.conjugate(turn))

    def course(standing, times=None):
        stance, shift, way = _stance(own, room, standing, written[-1].posture.ends[int(right)], *place)
        risen, stance = (p.mirrored() if right else p for p in (written[-1].posture, stance))
        last = [author.stand(risen, stance), Key("step", 0.55, stance)]
        keys = [Key("lie", 0.0, _seen(lain, turn, origin)), *written, *(map(_mirrored, last) if right else last)]
        if times is None:
            times = np.cumsum([0.0, *(tempo * rhythm * [key.seconds for key in keys[1:]])])
        return Course(own, surface, room, local, keys, times, tempo, manner.held, ranges), keys, shift, way

    first = q.multiply(q.conjugate(turn), own.placed(lying)[0])
    times = course(standing)[0].stretched(first).times
    if any(way.seconds for way in manner.moved):  # later than the bounds ask for, or sooner and stretched by them
        late = np.array([sum(way.seconds for way in manner.moved if way.key == key) for key in range(1, len(times))])
        asked = np.append(0.0, np.cumsum(np.maximum(np.diff(times) + late, _LEAST)))
        steps = np.diff(course(standing, asked)[0].stretched(first).times)
        times = np.append(0.0, np.cumsum(np.where(late, steps, np.diff(times))))
    frames = int(np.ceil(max(times[-1], SHORTEST * tempo) * fps - 1e-6))
    times = times * (frames / fps / times[-1])
    found, keys, shift, way = course(_standing(own, surface, animated(frames / fps)), times)
    seconds = np.arange(frames + 1) / fps
    share = smooth_step((seconds - times[-2]) / (times[-1] - times[-2]))
    gently = 0.18 if local.relief is not None or any(local.slope) else 0.12  # [s]
    lift = _raised(own, surface, found, local, seconds, max(1, round(gently * tempo * fps)), share[:, None])
    deltas, places = found.at(seconds, lift)
    if own.four and ranges is not None:
        ranges.check(own, deltas)
    deltas, places = q.multiply(turn, deltas), q.rotate(turn, places) + origin
    move = _move_in_world(own, world, way, shift)
    there = np.linalg.solve(world, move.matrix() @ world) @ animated(frames / fps)
    poses = local_poses(own, deltas, places, there, share)
    return Plan(strategy, tuple(key.name for key in keys), times, poses, move, found.planted, tempo)


def _by_hand(written: list, moved: tuple, turn) -> list:
    """Keys with what was moved by hand, by a turn [4] from the plan frame; limbs that stand wherever they stand so."""
    found = list(written)
    for own in (own for own in moved if 0 < own.key <= len(written)):
        i, way, limb = own.key - 1, q.rotate(turn, np.array(own.offset, dtype=float)), own.part - 1
        for j, key in enumerate(found):
            at, posture = written[j].posture.ends[limb] - written[i].posture.ends[limb], key.posture
            if limb < 0 and i == j:
                found[j] = replace(key, posture=replace(posture, hip=posture.hip + way))
            elif limb >= 0 and np.linalg.norm(at) < PLANTED:
                ends = posture.ends + way * (np.arange(4) == limb)[:, None]
                found[j] = replace(key, posture=replace(posture, ends=ends))
    return found


def _raised(own: Biped, surface: Surface, found: Course, floor: Floor, seconds, reach: int, share) -> np.ndarray:
    """How far trunk and limbs [f, 5] are raised off the floor at some times [f], without edges in `reach` frames.

    By a share [f, 1] it is what they just need, and in the end they are where the animation has them."""
    lift, least, need, uneven = np.zeros((len(seconds), 5)), None, 0.0, floor.relief is not None
    stiff = not np.isin(own.limbs[:2, 2:], surface.rows).any()
    for _ in range(5 if stiff else 3 if uneven else 1 + own.four):  # raised, stiff feet come to point down more
        deltas, places = found.at(seconds, lift)
        deep, knees = np.split(surface.depths(own, deltas, places, floor), [5], axis=1)
        hips = places[:, own.limbs[:2, 0]].mean(axis=1)
        high = (hips[:, 2] - lift[:, 0] - floor.plane(hips) - floor.over(hips))[:, None] / own.height
        # Legs of one who lies rise alone on what is there, and behind knees that bear him shanks do.
        deep[:, 0] = np.maximum(deep[:, 0], np.where(uneven & (high < _LOW), -np.inf, knees).max(axis=1))
        deep[:, 1:3] = np.maximum(deep[:, 1:3], np.where(uneven | (high < _LOW), knees, -np.inf))
        # What they just need, whatever they are raised by for others' sake; nobody is raised over a wall.
        need = np.clip(np.where(np.isinf(deep), 0.0, lift + deep), need, _RAISED * own.height)
        ways = places[:, own.limbs[:, 2]] - places[:, own.limbs[:, 0]] - (lift[:, 1:] - lift[:, :1])[..., None] * Z
        spare, lift = np.linalg.norm(ways[:, :2], axis=-1) - _FOLDED * own.leg, reached_over(need, reach)
        # He rises with one that would come too near to its hip, and with both but where he sits or kneels.
        near = (lift[:, 1:3] - np.maximum(spare, 0.0)).max(axis=1)
        both = np.where(uneven & (high[:, 0] < _SEATED), 0.0, need[:, 1:3].min(axis=1))
        need[:, 0] = np.maximum.reduce([need[:, 0], both, near])
        if least is None:
            least = np.maximum(need - need[-1], 0.0)
        lift[:, :1] = reached_over(need[:, :1], reach)
        # What a limb is too short for it rises with the trunk, which it would draw down into things again.
        far = (REACH * (own.upper + own.lower)) ** 2 - np.sum(ways[..., :2] ** 2, axis=-1)
        rises = uneven * lift[:, :1] - np.maximum(ways[..., 2] + np.sqrt(np.maximum(far, 0.0)), 0.0)
        lift[:, 1:] = reached_over(np.maximum(lift[:, 1:], rises), 1)
    return lift * (1.0 - share) + share * mean_around(least, 1) * (share < 1.0)


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


def _standing(own: Biped, surface: Surface, matrices) -> tuple:
    """The animation's posture where it goes on, the turn [4] from its heading, and how high what it stands on is."""
    deltas, places = own.placed(matrices)
    posture = own.extract(deltas, places)
    trunk = _trunk_of(posture)
    if trunk.along[2] < _STEEP or posture.hip[2] - posture.ends[:2, 2].min() < 0.55 * own.leg:
        raise RagdollError("its animation does not stand when it would have got up")
    high = own.height - surface.depths(own, deltas, places, Floor(own.height))[1:3].max(initial=0.0)
    return posture, q.conjugate(_turn_to(heading(trunk))), high


def _stance(own: Biped, room, standing: tuple, foot, origin, floor: Floor, turn) -> tuple:
    """A posture as `_standing` has it, seen from where one gets up, and its way there: shift [3], turn [4]."""
    posture, back, high = standing
    way = q.multiply(turn, back)
    wanted = q.rotate(turn, np.array([foot[0], foot[1] - np.sign(foot[1]) * room.apart * 1.1, 0.0])) + origin
    shift = wanted - q.rotate(way, posture.ends[:2].mean(axis=0))
    shift[2] = 0.0  # on a floor as high as the animation's own it keeps its own heights
    seen = _seen(posture.moved(way, shift), turn, origin)
    rise = origin[2] + (floor.plane(seen.ends[:2]) + _step(own, floor, seen.ends[:2])).max() - high
    if any(floor.slope) or abs(rise) > (STEP if floor.relief is None else _UNEVEN) * own.height:
        shift[2] = rise
        seen = _seen(posture.moved(way, shift), turn, origin)
    return seen, shift, way


def _chosen(own, surface, room, written: list, hip, ahead, floor: Floor, standing, held, right: bool) -> tuple:
    """The keys, laid where one gets up best from a hip's place, and that place: origin, floor and turn."""
    best, low = (np.inf,), np.maximum(_LOW * own.height, np.array([room.tuck] * 2 + [room.palm] * 2) * 1.1)
    for cost, turn, origin in _spots(own, hip, ahead, floor):
        if cost >= best[0]:
            break
        local = floor.seen_from(turn, origin)
        laid = [_laid(own, key, local, list(held), low) for key in written]
        if floor.relief is not None:
            cost += _unplanted(own, written, laid, local, low)
        if floor.relief is not None and cost <= best[0]:
            stance = _stance(own, room, standing, laid[-1].posture.ends[int(right)], origin, local, turn)[0]
            cost += _trouble(own, surface, laid, stance, local)
        if cost < best[0]:
            best = cost, laid, origin, local, turn
    if best[0] >= _NO_ROOM:
        raise NoRoom(f"there is no room to stand up, with {floor.relief.roofs.min():.2f} m over the floor")
    return best[1:]


def _spots(own: Biped, hip, ahead, floor: Floor) -> list:
    """Where and which way round to get up, the best first: what it costs, turn [4], and origin [3] on what is there."""
    found, usual = [], floor.over(hip)
    for way in _AROUND if floor.relief is not None else _AROUND[:1]:
        origin = hip + own.height * np.append(way, 0.0)
        rise = float(floor.over(origin, "ground"))
        tall = float(floor.over(origin, "roofs")) - rise
        if np.isfinite(rise) and abs(rise - usual) < _UP * own.height and tall > TALL * own.height:
            origin[2] = floor.plane(origin) + rise
            for angle in _TURNS if floor.relief is not None else _TURNS[:1]:
                turn = q.multiply(q.from_axis_angle(Z, angle), _turn_to(ahead))
                found.append((_WAY * np.hypot(*way) + _TURN * abs(angle), turn, origin))
    return sorted(found, key=lambda spot: spot[0])


def _unplanted(own: Biped, written: list, laid: list, floor: Floor, low) -> float:
    """How far limbs that are to stand are from what is there, or too short for it."""
    posture, high = stacked([key.posture for key in laid]), np.array([key.posture.ends[:, 2] for key in written])
    missed = np.abs(posture.ends[..., 2] - high - floor.plane(posture.ends) - floor.over(posture.ends))[high < low]
    short = np.linalg.norm(own.lasts(posture) - own.firsts(posture), axis=-1) - REACH * (own.upper + own.lower)
    short = (_DRAWS_FOUR if own.four else 1.0) * np.maximum(short, 0.0)[high < low].sum()
    return float(np.minimum(missed, _STUCK * own.height).sum() + short) / own.height


def _trouble(own: Biped, surface: Surface, laid: list, stance: Posture, floor: Floor) -> float:
    """How badly a way up fits what is there: parts of the body in it, heads in a roof."""
    posture = stacked([*(key.posture for key in laid), stance])
    arrays = [q.ensure_continuity(a) if a.shape[-1] == 4 else a for a in posture.arrays()]
    between = [np.concatenate([a, (a[1:] + a[:-1]) / 2.0]) for a in arrays]
    deltas, places = own.solve(Posture(*(a if i in (0, 2) else unit(a) for i, a in enumerate(between))))
    grounds, most = (replace(floor, relief=None), floor), _STUCK * own.height
    flat, deep = (np.clip(surface.depths(own, deltas, places, ground), 0.0, most) for ground in grounds)
    deep = np.maximum(deep - flat, 0.0).max(axis=1).sum()
    head = places[: len(laid) + 1, own.head]
    return float(deep / own.height + _NO_ROOM * (head[:, 2] > floor.plane(head) + floor.over(head, "roofs")).sum())


def _step(own: Biped, floor: Floor, points) -> np.ndarray:
    """How much higher than its plane a floor is at points [.., 3], as far as limbs are planted there [..]."""
    return np.clip(floor.over(points, "ground"), -_DOWN * own.height, _UP * own.height)


def _mirrored(key: Key) -> Key:
    return replace(key, posture=key.posture.mirrored())


def _laid(own: Biped, key: Key, floor: Floor, held: list, low) -> Key:
    """On what is there: contacts on it, on a slope hips and trunk over them along its normal as far as they lie."""
    p = replace(key.posture, ends=key.posture.ends.copy())
    p.ends[held, 2] = np.maximum(p.ends[held, 2], 0.1 * own.height)  # what holds something is kept off the floor
    stand, lies = p.ends[:, 2] < low, p.hip[2] < _SEATED * own.height
    if any(floor.slope):
        p = _tilted(own, p, floor, stand)
    if floor.relief is not None:
        steps = _step(own, floor, p.ends)
        rise = _step(own, floor, p.hip) if lies or not stand[:2].any() else steps[:2][stand[:2]].mean()
        p = replace(p, hip=p.hip + rise * Z, ends=p.ends + np.where(stand, steps, rise)[:, None] * Z)
    return replace(key, posture=p)


def _tilted(own: Biped, p: Posture, floor: Floor, low) -> Posture:
    lying = 1.0 if own.four else np.clip(1.0 - q.rotate(p.trunk[:2], Z)[:, 2].mean(), 0.0, 1.0)
    normal = q.rotate(floor.tilt, Z)
    over = unit((1.0 - lying) * Z + lying * normal)

    def along(points, ways):
        return q.rotate(floor.tilt, points * (1.0, 1.0, 0.0)) + ways * points[..., 2:]

    ends = along(p.ends, np.where(low[:, None], normal, over))
    turns = q.multiply(q.power(floor.tilt, np.where(low, 1.0, lying)), p.turns)
    trunk = q.multiply(q.power(floor.tilt, lying), p.trunk)
    return replace(p, hip=along(p.hip, over), trunk=trunk, ends=ends, turns=turns)


def _move_in_world(own: Biped, world, way, shift) -> Reroot:
    """A turn and shift of the plan frame as one of the world."""
    into = np.asarray(world)[:3, :3] @ q.to_matrix(q.conjugate(own.frame)) / own.scale
    rotation = into @ q.to_matrix(way) @ into.T
    place = np.asarray(world)[:3, 3]
    return Reroot(q.from_matrix(rotation), into @ shift + place - rotation @ place)


def local_poses(own: Biped, deltas, places, there, share) -> LocalPose:
    """Poses [f, n] relative to the parents. Bones that a biped does not move are as in a pose `there` [n, 4, 4].

    What a posture leaves of that pose, such as twists, comes in by the share [f], so that the last is exact."""
    skeleton = own.rig.skeleton
    last = LocalPose(*pose_space.decompose_matrices(pose_space.model_to_local_matrices(skeleton, there)))
    positions, rotations, sizes = last.model(skeleton)
    base = LocalPose(*(np.repeat(array[None], len(deltas), axis=0) for array in vars(last).values()))
    positions, rotations = (np.repeat(array[None], len(deltas), axis=0) for array in (positions, rotations))
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
    turns = q.multiply(q.power(missing, share[:, None]), base.rotations)
    return LocalPose(base.positions + share[:, None, None] * (last.positions - base.positions[-1]), turns, base.scales)
