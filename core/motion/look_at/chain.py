"""Look-at: an entry of the motion stack that turns a chain of bones until the first of them looks at a point.

Everything is measured in the pose that comes in, bone scales, shear and mirroring included. Its weight goes over to 0
or 1 in a given time, told by events on the timeline: nothing is counted, the weight at a time is a function of the
events up to it, the same in any order of playing.
"""

import math
from collections.abc import Iterable
from dataclasses import InitVar, dataclass, field

import numpy as np

from ... import quaternion, skeleton
from ...anatomy import roles
from ...anatomy.axes import character_axes, many_legged, unit
from ...anatomy.roles import Anatomy, of_role
from ...errors import RagdollError
from .. import blend_space, limbs
from .. import components as c
from ..components import ModelView, transformed, write_rotations
from ..stack import Inputs, LocalPose, Rig, vector_of, vector_to_model, weight_of
from .solver import AIMED, Aim, Entry, facing

BIND, PARENT = "BIND", "PARENT"  # what a limit is measured from
_AT_EYE = 1e-6  # of the character's size: a target this near to the first bone's joint has no direction
_GIVES_UP = np.radians(10.0)  # an edge of the zone behind that is missed by so much is not looked beyond


@dataclass
class LinkedBone:
    """A bone, such as the other eye, that takes its entry's own turn on top of its own pose."""

    bone: int  # level index
    reset_to_default: bool = False  # start from its bind pose instead


@dataclass
class LookAtEntry:
    """One bone of a chain."""

    bone: int  # level index
    # Largest angle of its forward from bind pose or from its parent's forward [rad]; at 0 it never turns. A pose
    # that comes in beyond it is not pulled back, only not turned further.
    limit: float
    forward_axis: tuple  # unit vector in the bone's own frame
    parent_forward_axis: tuple = (0.0, 1.0, 0.0)  # unit vector in the parent's frame, for `limit_from` PARENT
    up_weight: float = 0.0  # 0: turns by the shortest way, 1: about up alone; between them about an axis between
    limit_from: str = BIND  # BIND or PARENT
    reset_to_default: bool = False  # start from the bind pose; for bones that the action does not key
    linked: list = field(default_factory=list)  # bones that turn with it


@dataclass(frozen=True, eq=False)
class LookAtState:
    """What a look-at keeps from one frame to the next; a run records one per frame."""

    seconds: float  # time of the frame
    side: int  # 1 left, -1 right, 0 not known: the way round by which a target behind is looked at
    # followed, smoothed: local rotations of the turned bones [k, 4], without and with smoothing; None without a
    # blend speed
    followed: np.ndarray | None
    smoothed: np.ndarray | None


@dataclass
class LookAt:
    """A chain of entries, from the eye or head down to the spine or pelvis.

    Raises RagdollError: no entries; a bone that is twice in the chain, linked and an entry, or not an ancestor of the
    one before; an axis of no length. Names the chain and the bones.
    """

    rig: InitVar[Rig]  # the character, to check the bones against
    entries: list  # first to last, each an ancestor of the one before it
    name: str = "Look-at"  # of the chain, for messages
    up: tuple = (0.0, 0.0, 1.0)  # in world space [3]
    blend_speed: float = 0.0  # of the smoothing [1/s]; 0: none
    comfort: float = 1.0  # share of all limits that is used up before any entry goes to its own
    # Half the width of the zone straight behind the first bone in which the side is kept [rad]
    behind_margin: float = float(np.radians(15.0))
    turned: tuple = field(init=False)
    """Bones whose local rotations it changes: the entries', then the linked ones."""

    def __post_init__(self, rig: Rig) -> None:
        _check(self, rig)
        # The first bone has the line of sight, whether it turns or not.
        self._active = [i for i, e in enumerate(self.entries) if i == 0 or e.limit > 0.0]
        self._turns = any(e.limit > 0.0 for e in self.entries)
        linked = [link for entry in self.entries for link in entry.linked]
        self.turned = tuple(int(x.bone) for x in [*self.entries, *linked])
        self._closure = rig.with_ancestors(self.turned)
        reset = [x.bone for x in [*self.entries, *linked] if x.reset_to_default]
        self._replaced = {bone: tuple(rig.bind.rotations[bone].tolist()) for bone in reset}
        self._axes = [tuple(unit(e.forward_axis).tolist()) for e in self.entries]
        self._parent_axes = [tuple(unit(e.parent_forward_axis).tolist()) for e in self.entries]
        self._bind_locals = [tuple(rig.bind.rotations[e.bone].tolist()) for e in self.entries]
        self._size, self._world, self._up = rig.size, None, ()

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state: LookAtState | None = None, seconds=0.0) -> tuple:
        """The pose with the chain turned, and the state for the next frame.

        Args:
            inputs: `target` in model space, `world`, `weight`.
            state: of the frame before; None, or one of a later time: the look starts settled.
            seconds: time of this frame.

        Raises RagdollError: a target or weight that is not a number, a world matrix of no extent; names the chain.
        """
        weight = weight_of(inputs.weight, self.name)
        target = vector_of(inputs.target, self.name, "target")
        world = b"" if inputs.world is None else np.asarray(inputs.world).tobytes()
        if world != self._world:  # up changes only as the armature turns
            self._world, self._up = world, tuple(vector_to_model(self.up, inputs.world).tolist())
        if state is not None and state.seconds > seconds:
            state = None
        view = ModelView(rig, pose, self._closure, self._replaced)
        rotations, side = self._solved(view, target, self._up, 0 if state is None else state.side)
        result, turned = write_rotations(pose, rotations), list(self.turned)
        followed = smoothed = None
        if self.blend_speed > 0.0:
            followed = smoothed = result.rotations[turned]
            if state is not None and state.followed is not None:
                smoothed = state.smoothed
                if seconds > state.seconds:  # rotation vectors as seen from what is followed now: it is at 0
                    inverse = quaternion.conjugate(followed)
                    vectors = (quaternion.multiply(inverse, q) for q in (state.smoothed, state.followed))
                    now, before = map(quaternion.to_rotation_vector, vectors)
                    offset = blend_space.lagged(now, before, 0.0, 1.0 / self.blend_speed, seconds - state.seconds)
                    smoothed = quaternion.multiply(followed, quaternion.from_rotation_vector(offset))
                    smoothed = quaternion.normalize(smoothed)
                result.rotations[turned] = smoothed
        if weight < 1.0:
            result.rotations[turned] = quaternion.slerp(pose.rotations[turned], result.rotations[turned], weight)
        return result, LookAtState(float(seconds), int(side), followed, smoothed)

    def _solved(self, view: ModelView, target: tuple, up: tuple, last_side: int) -> tuple[dict, int]:
        """Local rotations of the turned bones, and the side."""
        entries = self._entries(view, up)
        aim = Aim(entries)
        eye, sight = aim.sight()
        to_target = c.sub(target, eye)
        if c.length(to_target) <= _AT_EYE * self._size:  # inside its joint there is nothing to turn to: it looks on
            to_target = c.mul(self._size, sight)
        side, at_edge = facing(sight, up, to_target, last_side, self.behind_margin)
        if not self._turns:
            return dict(self._replaced), side
        if at_edge is None:
            aim.turn_to(c.add(eye, to_target), self.comfort)
        else:
            self._look_behind(aim, c.add(eye, at_edge), c.add(eye, to_target), up)
        return self._locals(view, entries), side

    def _entries(self, view: ModelView, up: tuple) -> list:
        """The solver's view of the bones that may turn, in a pose."""
        result = []
        for i in self._active:
            entry = self.entries[i]
            bone, above = entry.bone, view.parent_rotation(entry.bone)
            frame = view.frame(bone)
            axis, measured, up_here = self._axes[i], self._parent_axes[i], up
            if view.scales is not None:
                # The frame has the scales of what is above in itself, but for the sides that even ones mirror.
                even = frame.columns is None
                axis = c.times((view.scales if even else view.local_scales)[bone], axis)
                if even:
                    measured = c.times(view.scales[view.rig.parents[bone]], measured)
                else:
                    up_here = c.unit(transformed(frame.inverse(), up), up)
            forward = c.unit(c.rotate(view.rotations[bone], axis), up_here)
            if entry.limit_from != PARENT:
                measured = c.rotate(self._bind_locals[i], axis)
            reference = c.unit(c.rotate(above, measured), up_here)
            result.append(Entry(frame, forward, reference, entry.limit, float(entry.up_weight), up_here))
        return result

    def _look_behind(self, aim: Aim, edge: tuple, target: tuple, up: tuple) -> None:
        """Look to the edge of the zone behind, and on from there as far as the edge has been reached."""
        aim.turn_to(edge, self.comfort)
        share = 1.0 - (aim.error - AIMED) / _GIVES_UP
        if share <= 0.0:
            return
        eye, sight = aim.sight()
        to_target = c.sub(target, eye)
        way = c.arc(c.unit(c.sub(edge, eye), sight), c.unit(to_target, sight), up)
        if share < 1.0:
            way = c.part(way, share)
        aim.turn_to(c.along(eye, c.length(to_target), c.rotate(way, sight)))

    def _locals(self, view: ModelView, entries: list) -> dict:
        """Local rotations of the turned bones from the entries' own turns."""
        result = dict(self._replaced)
        carried, carries = c.IDENTITY, []  # (bone, turn of all that hangs on it, its own included), from the last entry
        for i, entry in zip(reversed(self._active), reversed(entries), strict=True):
            bone, own = self.entries[i].bone, entry.own
            if own is not c.IDENTITY:
                result[bone] = view.turned(bone, own)
            for link in self.entries[i].linked if own is not c.IDENTITY else ():
                # The same turn in model space, on top of what carries the linked bone.
                before = next((turn for b, turn in reversed(carries) if view.rig.is_ancestor(b, link.bone)), c.IDENTITY)
                turn = c.multiply(carried, c.multiply(own, c.conjugate(carried)))
                turn = c.multiply(c.conjugate(before), c.multiply(turn, before))
                result[link.bone] = view.turned(link.bone, turn)
            carried = c.multiply(carried, own)
            carries.append((bone, carried))
        return result


def _check(chain: LookAt, rig: Rig) -> None:
    if not chain.entries:
        raise RagdollError(f"{chain.name}: there are no entries")
    vector_to_model(chain.up, None)
    seen: set = set()
    for entry in chain.entries:
        title = f'{chain.name}, entry "{rig.name(entry.bone)}"'
        if entry.bone in seen:
            raise RagdollError(f"{title}: the bone is in the chain twice")
        seen.add(entry.bone)
        for axis in (entry.forward_axis, entry.parent_forward_axis):
            if not np.isfinite(axis).all() or not np.any(axis):
                raise RagdollError(f"{title}: {axis!r} is no forward axis")
    for below, above in zip(chain.entries, chain.entries[1:], strict=False):
        if not rig.is_ancestor(above.bone, below.bone):
            names = rig.name(above.bone), rig.name(below.bone)
            raise RagdollError(f'{chain.name}: "{names[0]}" is not an ancestor of "{names[1]}", the entry before it')
    links: set = set()
    for entry in chain.entries:
        for link in entry.linked:
            title = f'{chain.name}, entry "{rig.name(entry.bone)}", linked bone "{rig.name(link.bone)}"'
            if link.bone in seen:
                raise RagdollError(f"{title}: it is an entry of the chain itself")
            if link.bone in links:
                raise RagdollError(f"{title}: it is linked twice")
            for other in (entry.bone, *links):
                if rig.are_in_line(link.bone, other):
                    raise RagdollError(f'{title}: it must be beside "{rig.name(other)}", not above or below it')
            links.add(link.bone)


# ---- weights by events ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class WeightEvent:
    """A call at a time, with the meaning that it has in P. Massoudi's article "The Perfect Look At System". Raises
    RagdollError: a time that is no number, a weight outside 0..1, a duration below 0."""

    seconds: float
    weight: float  # what is set, or where the transition ends: 1 for enable, 0 for disable
    duration: float | None = None  # of the transition [s]; None: the weight is set at once
    # Whether a transition under way gives way to this one, from where it is; else this call is as if it had not been
    # made. Setting always cancels.
    cancel_current_transition: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.weight <= 1.0:
            raise RagdollError(f"A look-at weight must be in 0..1, got {self.weight:g}")
        if not math.isfinite(self.seconds):
            raise RagdollError(f"A look-at event needs a time, got {self.seconds}")
        if self.duration is not None and not 0.0 <= self.duration < math.inf:
            raise RagdollError(f"A look-at transition lasts 0 s or longer, got {self.duration}")


def weight_at(seconds: float, events: Iterable[WeightEvent], initial: float = 1.0) -> tuple[float, float]:
    """The weight at a time, and what is left of the transition under way [s], 0 when there is none. Events come in any
    order, of those at the same time the later stored one is later; until the first the weight is `initial`."""
    # The transition under way: from a time on the weight goes evenly from `start` to `end` within `duration`.
    begun, start, end, duration = -math.inf, initial, initial, 0.0

    def at(time: float) -> tuple[float, float]:
        left = max(0.0, begun + duration - time)
        return (end if left <= 0.0 else start + (time - begun) / duration * (end - start)), left

    for event in sorted(events, key=lambda event: event.seconds):
        if event.seconds > seconds:
            break
        weight, left = (event.weight, 0.0) if event.duration is None else at(event.seconds)  # without one: at once
        if event.cancel_current_transition or left <= 0.0:
            # Where the weight is already there is nothing to wait for.
            duration = event.duration if weight != event.weight else 0.0
            begun, start, end = event.seconds, weight, event.weight
    return at(seconds)


# ---- set-up from roles ----------------------------------------------------------------------------------------------
# Weights about up of the last bones of the trunk, from the top; bones further out turn by the shortest way.
UP_WEIGHTS = (0.1, 0.2, 0.7)
# Limits [deg]: of an eye, the head, the whole neck (its bones share it), each of the trunk's bones from the top. Eyes
# and necks go about half as far as they can, as people do before the next part of the body comes in.
LIMITS = {
    roles.HUMAN: (25.0, 40.0, 30.0, (15.0, 15.0, 20.0)),
    roles.QUADRUPED: (15.0, 40.0, 80.0, (8.0, 8.0, 10.0)),
    roles.CREATURE: (20.0, 40.0, 60.0, (10.0, 10.0, 15.0)),
}
_NEAR_AXIS = np.cos(np.radians(25.0))


@dataclass
class LookAtSetup:
    """What can be made of a character."""

    entries: list  # of the chain, first to last; bones are level indices
    legs: list  # (foot bone, bones count) of each leg below the chain
    notes: list = field(default_factory=list)  # what a user should know, in words


def from_roles(rig: Rig, anatomy: Anatomy) -> LookAtSetup:
    """The chain from eyes or head down the neck and trunk, and the legs; the anatomy is of the bones in input order.
    Raises RagdollError: neither head nor neck was recognised."""
    notes: list = []
    level = rig.skeleton.from_level
    role = {int(level[i]): name for i, name in enumerate(anatomy.roles)}
    forward, _up = upright_axes(rig, anatomy)
    if forward is None:
        notes.append("Where the character faces is not known: every bone looks along itself")
    heads = of_role(anatomy, roles.HEAD) or of_role(anatomy, roles.NECK)[-1:]
    if not heads:
        raise RagdollError("No bone was recognised as a head or neck: choose roles, or add the entries by hand")
    head = int(level[heads[0]])
    eye, head_limit, neck_limit, trunk_limits = LIMITS[anatomy.kind]
    eyes = _eyes(rig, anatomy, head)
    above = skeleton.path_to_root(rig.parents, head)[1:]
    necks = [bone for bone in above if role.get(bone) == roles.NECK]
    trunk = [bone for bone in above if role.get(bone) in (roles.SPINE, roles.CHEST)]
    trunk = trunk if len(trunk) <= 3 else [trunk[0], trunk[len(trunk) // 2], trunk[-1]]
    chain = [*((bone, eye, 0.0) for bone in eyes[:1]), (head, head_limit, 0.0)]
    chain += [(bone, neck_limit / len(necks), 0.0) for bone in necks]
    chain += zip(trunk, trunk_limits[3 - len(trunk) :], UP_WEIGHTS[3 - len(trunk) :], strict=True)
    entries = [LookAtEntry(b, math.radians(limit), *forward_axes(rig, b, forward), up) for b, limit, up in chain]
    entries[0].linked.extend(map(LinkedBone, eyes[1:]))
    if not trunk:
        notes.append(f'No spine was recognised above "{rig.name(head)}": head and neck look alone')
    return LookAtSetup(entries, _legs(rig, anatomy, role, entries, notes), notes)


def _eyes(rig: Rig, anatomy: Anatomy, head: int) -> list:
    """One eye of each side that hangs on the head, and on no other of them."""
    found: list = []
    for side in (roles.LEFT, roles.RIGHT, roles.CENTER):
        bones = (int(rig.skeleton.from_level[i]) for i in of_role(anatomy, roles.EYE, side))
        own = [bone for bone in bones if rig.is_ancestor(head, bone)][:1]
        found += [bone for bone in own if not any(rig.are_in_line(bone, other) for other in found)]
    return found


def _legs(rig: Rig, anatomy: Anatomy, role: dict, entries: list, notes: list) -> list:
    """Both legs of a human, all four of a quadruped, with their toes, all of a spider."""
    turned = {entry.bone for entry in entries}
    wanted = [((roles.THIGH, roles.FOOT, roles.TOE), None)]
    if anatomy.kind == roles.QUADRUPED:
        # Hooves often hang on nothing but a control: then the forearm is kept in place as a whole by what is above.
        wanted.append(((roles.UPPER_ARM, roles.HAND, roles.FINGER), (roles.CLAVICLE, roles.FOREARM, None)))
    result = []
    for parts, instead in wanted:
        for side in (roles.LEFT, roles.RIGHT):
            ends = [row for row in of_role(anatomy, parts[1], side) if anatomy.order[row] == 0]
            for number in range(len(ends) if many_legged(anatomy) else 1):
                foot, count = _leg(rig, anatomy, role, side, number, *parts)
                if not count and instead is not None:
                    other, count = _leg(rig, anatomy, role, side, number, *instead)
                    foot = other if count or foot < 0 else foot
                above = skeleton.path_to_root(rig.parents, foot)[1:]
                # A foot that hangs on a control is one by itself where a bone that looks carries it along.
                if not count and turned & {*above} and parts[0] not in map(role.get, above):
                    count = 1
                if count:
                    result.append((foot, count))
                elif turned & {*above}:
                    notes.append(f'The leg of "{rig.name(foot)}" does not lead up to a hip: it has no stabiliser')
    return result


def _leg(rig: Rig, anatomy: Anatomy, role: dict, side: str, number: int, top: str, end: str, toe: str | None) -> tuple:
    """(foot, bones count) of a leg; a count of 0 where it does not lead up to its top, a foot of -1 for none."""
    level = rig.skeleton.from_level
    ends = of_role(anatomy, end, side)
    if not ends:
        return -1, 0
    foot = int(level[ends[number]])
    if anatomy.kind == roles.QUADRUPED and toe is not None:
        # An animal stands on its toes: the part that the human's foot is goes with the leg.
        toes = [int(level[i]) for i in of_role(anatomy, toe, side)]
        toes = [bone for bone in toes if role.get(rig.parents[bone]) == end and rig.is_ancestor(foot, bone)]
        foot = toes[0] if len(toes) == 1 else foot
    chain = skeleton.path_to_root(rig.parents, foot)
    count = 1 + max((i for i, bone in enumerate(chain) if role.get(bone) == top), default=-1)
    return foot, count if (2 < count <= limbs.LONGEST and rig.parents[chain[count - 1]] >= 0) else 0


def upright_axes(rig: Rig, anatomy: Anatomy) -> tuple:
    """Where a character faces in bind pose, and its up: unit vectors [3] in armature space; None where nothing tells.

    Left and right are well told by joints, up only to some degrees (13 for Rigify's wolf), since nobody's feet stand
    exactly below their hips; rigs are made upright in their space. So up is the nearest of its axes, where one is near.
    The anatomy is of the bones in input order.
    """
    order = rig.skeleton.from_level
    directions = quaternion.rotate(rig.bind_rotations[order], (0.0, 1.0, 0.0))
    axes = character_axes(anatomy, rig.bind_positions[order], directions)
    if axes is None:
        return None, None
    nearest = int(np.argmax(np.abs(axes.up)))
    if abs(axes.up[nearest]) < _NEAR_AXIS:
        return axes.forward, axes.up
    up = np.eye(3)[nearest] * np.sign(axes.up[nearest])
    return unit(np.cross(axes.left, up)), up


def in_bone(rig: Rig, bone: int, direction) -> tuple:
    """A direction of the armature's space in a bone's own frame in bind pose, as a unit vector.

    For a bone of -1, above a root, it is the direction itself."""
    vector = np.asarray(direction, dtype=float)
    if bone >= 0:
        vector = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[bone]), vector) / rig.bind_scales[bone]
    return tuple(unit(vector).tolist())


def forward_axes(rig: Rig, bone: int, forward=None) -> tuple[tuple, tuple]:
    """A bone's forward axis and its parent's, each in their own frame.

    `forward` is where the character faces in bind pose, in armature space; None: along the bone itself, its own Y."""
    if forward is None:
        forward = quaternion.rotate(rig.bind_rotations[bone], rig.bind_scales[bone] * np.array([0.0, 1.0, 0.0]))
    return in_bone(rig, bone, forward), in_bone(rig, rig.parents[bone], forward)
