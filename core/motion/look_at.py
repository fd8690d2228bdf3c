"""Look-at: an entry of the motion stack that turns a chain of bones until the first of them looks at a point.

The solver is in `look_at_solver`. Everything is measured in the pose that comes in, bone scales and mirroring
included.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np

from ..errors import RagdollError
from ..quaternion import slerp
from . import components as c
from .local_pose import LocalPose
from .look_at_smoothing import follow
from .look_at_solver import Chain, facing, solve
from .model_view import ModelView, aligned, views, with_own_rotations
from .rig import Inputs, Rig, batch_of, vector_to_model, weights_of
from .uneven_scale import aimed_anew, carried, is_uneven

BIND, PARENT = "BIND", "PARENT"  # what a limit is measured from
_AT_EYE = 1e-6  # of the character's size: a target this near to the first bone's joint has no direction
_REACHED = np.radians(0.05)


@dataclass
class LinkedBone:
    """A bone, such as the other eye, that takes its entry's own turn on top of its own pose.

    Attributes:
        bone: level index.
        reset_to_default: start from its bind pose instead.
    """

    bone: int
    reset_to_default: bool = False


@dataclass
class LookAtEntry:
    """One bone of a chain.

    Attributes:
        bone: level index.
        limit: largest angle of its forward from bind pose or from its parent's forward [rad]; at 0 it never turns. A
            pose that comes in beyond it is not pulled back, only not turned further.
        forward_axis: unit vector in the bone's own frame.
        parent_forward_axis: unit vector in the parent's frame, for `limit_from` PARENT.
        up_weight: 0: turns by the shortest way, 1: about up alone.
        limit_from: BIND or PARENT.
        reset_to_default: start from the bind pose; for bones that the action does not key.
        linked: bones that turn with it.
    """

    bone: int
    limit: float
    forward_axis: tuple
    parent_forward_axis: tuple = (0.0, 1.0, 0.0)
    up_weight: float = 0.0
    limit_from: str = BIND
    reset_to_default: bool = False
    linked: list = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class LookAtState:
    """What a look-at keeps from one frame to the next; a run records one per frame.

    Attributes:
        seconds: time of the frame.
        side: 1 left, -1 right, 0 not known: the way round by which a target behind is looked at [...].
        followed, smoothed: local rotations of the turned bones [..., k, 4], without and with smoothing; None without
            a blend speed.
    """

    seconds: float
    side: np.ndarray
    followed: np.ndarray | None
    smoothed: np.ndarray | None


@dataclass
class LookAt:
    """A chain of entries, from the eye or head down to the spine or pelvis.

    Attributes:
        rig: the character, to check the bones against.
        entries: first to last, each an ancestor of the one before it.
        name: of the chain, for messages.
        up: in world space [3].
        blend_speed: of the smoothing [1/s]; 0: none.
        comfort: share of all limits that is used up before any entry goes to its own.
        behind_margin: half the width of the zone straight behind in which the side is kept [rad].

    Raises:
        RagdollError: no entries; a bone that is not there, twice in the chain, linked and an entry, or not an
            ancestor of the one before; a limit, weight or axis out of its range. Names the chain and the bones.
    """

    rig: InitVar[Rig]
    entries: list
    name: str = "Look-at"
    up: tuple = (0.0, 0.0, 1.0)
    blend_speed: float = 0.0
    comfort: float = 1.0
    behind_margin: float = float(np.radians(15.0))
    turned: tuple = field(init=False)
    """Bones whose local rotations it changes: the entries', then the linked ones."""

    def __post_init__(self, rig: Rig) -> None:
        _check(self, rig)
        self._active = [e for e in self.entries if e.limit > 0.0]
        linked = [link for entry in self.entries for link in entry.linked]
        self.turned = tuple(int(x.bone) for x in [*self.entries, *linked])
        self._closure = rig.with_ancestors(self.turned)
        reset = [x.bone for x in [*self.entries, *linked] if x.reset_to_default]
        self._replaced = {bone: tuple(rig.bind.rotations[bone].tolist()) for bone in reset}
        self._axes = [_unit(e.forward_axis) for e in self.entries]
        self._parent_axes = [_unit(e.parent_forward_axis) for e in self.entries]
        self._bind_locals = [tuple(rig.bind.rotations[e.bone].tolist()) for e in self.entries]
        # Where nothing is scaled, what limits are measured from is the same in the parent's frame at every frame.
        self._measured = [
            parent if e.limit_from == PARENT else c.rotate(bind, axis)
            for e, axis, parent, bind in zip(
                self.entries, self._axes, self._parent_axes, self._bind_locals, strict=True
            )
        ]
        first, last = self.entries[0].bone, self.entries[-1].bone
        view = ModelView(rig, rig.bind, rig.with_ancestors([first]), 0)
        # The character's own forward, carried by the last entry's bone.
        self._facing = c.rotate(c.conjugate(view.rotations[last]), view.axis(first, self._axes[0]))
        self._size, self._up = rig.size, vector_to_model(self.up, None)

    def apply(
        self, rig: Rig, pose: LocalPose, inputs: Inputs, state: LookAtState | None = None, seconds: float = 0.0
    ) -> tuple[LocalPose, LookAtState]:
        """The pose with the chain turned, and the state for the next frame.

        Args:
            pose: leading axes are characters; at 8 or more of them they are solved as arrays.
            inputs: `target` in model space, `world`, `weight`.
            state: of the frame before; None, or one of a later time: the look starts settled.
            seconds: time of this frame.

        Raises:
            RagdollError: a target, weight or world matrix that is missing or not a number; names the chain.
        """
        pose = aligned(pose)
        lead = pose.rotations.shape[:-2]
        weights = weights_of(inputs.weight, lead, self.name)
        targets = batch_of(inputs.target, lead, 3, self.name, "target")
        up = self._up if inputs.world is None else vector_to_model(self.up, inputs.world)
        ups = batch_of(up, lead, 3, self.name, "up vector")
        if state is not None and (state.seconds > seconds or state.side.shape != lead):
            state = None
        sides = np.zeros(len(weights)) if state is None else np.array(state.side, dtype=float).reshape(-1)
        result = with_own_rotations(pose)
        for view in views(rig, pose, self._closure, self._replaced):
            rotations, side = self._aimed(view, view.vectors(targets), view.vectors(ups), view.number(sides))
            view.write_rotations(result, rotations)
            sides[view.rows] = side
        return self._blended(pose, result, weights.reshape(lead), state, sides.reshape(lead), float(seconds))

    def _blended(self, pose, result, weight, state, side, seconds) -> tuple[LocalPose, LookAtState]:
        turned = list(self.turned)
        followed = smoothed = None
        if self.blend_speed > 0.0:
            followed = smoothed = result.rotations[..., turned, :]
            if state is not None and state.followed is not None:
                passed = seconds - state.seconds
                smoothed = follow(state.followed, followed, state.smoothed, self.blend_speed, passed)
                result.rotations[..., turned, :] = smoothed
        if weight.min(initial=1.0) < 1.0:
            looked = result.rotations[..., turned, :]
            result.rotations[..., turned, :] = slerp(pose.rotations[..., turned, :], looked, weight[..., None])
        return result, LookAtState(seconds, side.astype(np.int8), followed, smoothed)

    def _aimed(self, view: ModelView, target: tuple, up: tuple, last_side) -> tuple[dict, object]:
        """Local rotations of the turned bones, and the side; what uneven scales lead astray is aimed anew."""
        first = self.entries[0].bone
        rotations, side, error = self._solve(view, target, up, last_side)
        if self._active and is_uneven(view, first):

            def solve_for(point: tuple) -> dict:
                return self._solve(view, point, up, last_side)[0]

            rotations = aimed_anew(view, first, self._axes[0], target, rotations, error < _REACHED, solve_for)
        return rotations, side

    def _solve(self, view: ModelView, target: tuple, up: tuple, last_side) -> tuple[dict, object, object]:
        """Local rotations of the turned bones, the side, and the angle left [rad] by rotations and scales alone."""
        m = view.m
        chain = self.chain(view, up)
        eye, sight = chain.positions[0], chain.forwards[0]
        to_target = c.sub(target, eye)
        # Inside the first bone's joint there is nothing to turn to: it looks on as it does.
        apart = c.length(m, to_target) > _AT_EYE * self._size
        if not m.all(apart):
            to_target = c.choose(m, apart, to_target, c.mul(self._size, sight))
        ahead = c.rotate(view.rotations[self.entries[-1].bone], self._facing)
        side, behind, at_edge = facing(m, ahead, up, to_target, last_side, self.behind_margin)
        if self._active:
            aim = c.choose(m, behind, at_edge, to_target) if m.any(behind) else to_target
            turns, error = solve(m, chain, c.add(eye, aim), self.comfort)
            # What reaches so far round has no need of the detour; from there it is the short way to the target.
            further = behind & (error < _REACHED)
            if m.any(further):
                turns = self._further(m, chain, turns, c.add(eye, to_target), further)
        else:
            turns, error = [], 0.0
        return self._locals(view, turns), side, error

    def chain(self, view: ModelView, up: tuple) -> Chain:
        """The solver's view of the entries that may turn, in a pose."""
        m, positions, forwards, references, limits, weights = view.m, [], [], [], [], []
        for i, entry in enumerate(self.entries):
            if i and entry.limit <= 0.0:
                continue
            bone, above = entry.bone, view.parent_rotation(entry.bone)
            axis, measured = self._axes[i], self._measured[i]
            if view.scales is not None:
                axis = _times(view.scales[bone], axis)
                measured = self._measured_scaled(view, i, axis)
            forward = c.unit(m, c.rotate(view.rotations[bone], axis), up)
            reference = c.unit(m, c.rotate(above, measured), up)
            now = m.atan2(c.length(m, c.cross(forward, reference)), c.dot(forward, reference))
            positions.append(view.positions[bone])
            forwards.append(forward)
            references.append(reference)
            limits.append(m.maximum(now, entry.limit))
            weights.append(float(entry.up_weight) if entry.limit > 0.0 else None)
        return Chain(positions, forwards, references, limits, tuple(weights), up)

    def _measured_scaled(self, view: ModelView, i: int, axis: tuple) -> tuple:
        """What a limit is measured from, in the frame of the parent's rotation, where bones have scales."""
        entry = self.entries[i]
        if entry.limit_from != PARENT:
            return c.rotate(self._bind_locals[i], axis)
        parent = view.rig.parents[entry.bone]
        return _times(view.scales[parent], self._parent_axes[i]) if parent >= 0 else self._parent_axes[i]

    def _further(self, m, chain: Chain, turns: list, target: tuple, mask) -> list:
        """Go on from turns that reached the edge of the zone behind, where that leads to the target."""
        onward = _turned(chain, turns)
        if m is c.FLOATS:
            more, error = solve(m, onward, target)
            return [c.multiply(b, a) for a, b in zip(turns, more, strict=True)] if error < _REACHED else turns
        size = len(mask)
        some = [_picked(v, mask, size) for v in (onward.positions, onward.forwards, onward.references)]
        up, target = _picked([onward.up, target], mask, size)
        limits = [np.broadcast_to(x, size)[mask] for x in onward.limits]
        more, error = solve(m, Chain(*some, limits, onward.up_weights, up), target)
        good = np.flatnonzero(mask)[error < _REACHED]
        result = []
        for before, turn in zip(turns, more, strict=True):
            further = c.multiply(tuple(x[error < _REACHED] for x in turn), tuple(x[good] for x in before))
            whole = [np.array(x) for x in before]
            for component, value in zip(whole, further, strict=True):
                component[good] = value
            result.append(tuple(whole))
        return result

    def _locals(self, view: ModelView, turns: list) -> dict:
        """Local rotations from the turns in model space."""
        result = dict(self._replaced)
        carried = c.IDENTITY
        which = [i for i, e in enumerate(self.entries) if i == 0 or e.limit > 0.0] if turns else []
        carries: list = []  # (bone, what it and everything below it has been turned by), last entry first
        own: list = []
        for i, turn in zip(reversed(which), reversed(turns), strict=True):
            bone = self.entries[i].bone
            if turn is c.IDENTITY and carried is c.IDENTITY:
                continue
            above = c.multiply(carried, view.parent_rotation(bone))
            result[bone] = c.multiply(c.conjugate(above), c.multiply(turn, view.rotations[bone]))
            own.append((i, c.multiply(turn, c.conjugate(carried))))
            carries.insert(0, (bone, turn))
            carried = turn
        for i, turn in own:
            for link in self.entries[i].linked:
                before = next((t for b, t in carries if view.rig.is_ancestor(b, link.bone)), c.IDENTITY)
                above = c.multiply(before, view.parent_rotation(link.bone))
                turned = c.multiply(turn, c.multiply(before, view.rotations[link.bone]))
                result[link.bone] = c.multiply(c.conjugate(above), turned)
        return result

    def aim_error(self, rig: Rig, pose: LocalPose, target) -> np.ndarray:
        """Angle [rad] between the first bone's forward and the direction to a point in model space [...]."""
        pose = aligned(pose)
        lead = pose.rotations.shape[:-2]
        targets = batch_of(target, lead, 3, self.name, "target")
        errors = np.zeros(len(targets))
        first = self.entries[0].bone
        for view in views(rig, pose, rig.with_ancestors([first])):
            m = view.m
            eye, sight = view.positions[first], c.unit(m, view.axis(first, self._axes[0]), (0.0, 0.0, 1.0))
            if is_uneven(view, first):
                eye, sight = carried(view, first, self._axes[0], {})
            wanted = c.unit(m, c.sub(view.vectors(targets), eye), sight)
            errors[view.rows] = m.atan2(c.length(m, c.cross(sight, wanted)), c.dot(sight, wanted))
        return errors.reshape(lead)


def _picked(vectors: list, mask: np.ndarray, size: int) -> list:
    return [tuple(np.broadcast_to(x, size)[mask] for x in v) for v in vectors]


def _turned(chain: Chain, turns: list) -> Chain:
    positions, references = list(chain.positions), list(chain.references)
    for i in range(len(turns) - 2, -1, -1):
        offset = c.sub(chain.positions[i], chain.positions[i + 1])
        positions[i] = c.add(positions[i + 1], c.rotate(turns[i + 1], offset))
        references[i] = c.rotate(turns[i + 1], chain.references[i])
    forwards = [c.rotate(q, v) for q, v in zip(turns, chain.forwards, strict=True)]
    return Chain(positions, forwards, references, chain.limits, chain.up_weights, chain.up)


def _times(a, b) -> tuple:
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


def _unit(vector) -> tuple:
    array = np.asarray(vector, dtype=float)
    return tuple((array / np.linalg.norm(array)).tolist())


def _check(chain: LookAt, rig: Rig) -> None:
    if not chain.entries:
        raise RagdollError(f"{chain.name}: there are no entries")
    margin = np.degrees(chain.behind_margin)
    for what, value, high in (
        ("blend speed", chain.blend_speed, 1e6),
        ("comfort", chain.comfort, 1.0),
        ("margin behind", margin, 90.0),
    ):
        if not 0.0 <= value <= high:
            raise RagdollError(f"{chain.name}: the {what} must be in 0..{high:g}, got {value:g}")
    vector_to_model(chain.up, None)
    seen: dict = {}
    for entry in chain.entries:
        entry.bone = rig.check(chain.name, entry.bone)
        title = f'{chain.name}, entry "{rig.name(entry.bone)}"'
        if entry.bone in seen:
            raise RagdollError(f"{title}: the bone is in the chain twice")
        seen[entry.bone] = title
        if not 0.0 <= entry.limit <= np.pi:
            raise RagdollError(f"{title}: the limit must be in 0..180 deg, got {np.degrees(entry.limit):g}")
        if not 0.0 <= entry.up_weight <= 1.0:
            raise RagdollError(f"{title}: the weight about up must be in 0..1, got {entry.up_weight:g}")
        if entry.limit_from not in (BIND, PARENT):
            raise RagdollError(f"{title}: a limit is measured from {BIND} or {PARENT}, not {entry.limit_from!r}")
        for axis in (entry.forward_axis, entry.parent_forward_axis):
            array = np.asarray(axis, dtype=float)
            if array.shape != (3,) or not np.isfinite(array).all() or not np.any(array):
                raise RagdollError(f"{title}: {axis!r} is no forward axis")
    for below, above in zip(chain.entries, chain.entries[1:], strict=False):
        if not rig.is_ancestor(above.bone, below.bone):
            names = rig.name(above.bone), rig.name(below.bone)
            raise RagdollError(f'{chain.name}: "{names[0]}" is not an ancestor of "{names[1]}", the entry before it')
    links: set = set()
    for entry in chain.entries:
        for link in entry.linked:
            link.bone = rig.check(chain.name, link.bone)
            title = f'{chain.name}, entry "{rig.name(entry.bone)}", linked bone "{rig.name(link.bone)}"'
            if link.bone in seen:
                raise RagdollError(f"{title}: it is an entry of the chain itself")
            if link.bone in links:
                raise RagdollError(f"{title}: it is linked twice")
            for other in (entry.bone, *links):
                if rig.is_ancestor(link.bone, other) or rig.is_ancestor(other, link.bone):
                    raise RagdollError(f'{title}: it must be beside "{rig.name(other)}", not above or below it')
            links.add(link.bone)
