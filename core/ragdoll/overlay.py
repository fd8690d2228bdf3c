"""What the overlay shows of a ragdoll, as coloured line segments: bodies, joints and limits. Nothing is drawn here.

Everything that is drawn stands still in the frame of some body, so the lines are made once (`wires`) and only carried
by the bodies' matrices from then on (`lines`). A joint's limits are drawn in its parent's frame and the current angle
in the child's own, so that the one is seen inside the other:

- a cone: the rim is where the bone's direction would be at the swing's limit, with spokes from the joint; a line
  along the child's Y is the current direction. A smaller arc about the bone, which swings with it, is the range of
  the twist, and a tick the current twist.
- a hinge: an arc over the range of its angle, and a line at the current one.

Conventions of limits and angles are those of `joints`.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from . import wireframes
from .joints import hinge_axis

BODY, CONNECTION, SEPARATION, SWING, TWIST, SWING_MARK, TWIST_MARK = range(7)  # kinds of lines
INSIDE, NEAR, BEYOND = range(3)  # how an angle stands to its limits

NEAR_SHARE = 0.1  # of a bound's own angle: closer to it is near
NARROW = math.radians(1.0)  # a bound at bind pose, such as a straight knee's, has nothing near it
BEYOND_MIN = math.radians(0.5)  # a joint that rests against its bound is not beyond it
APART = 0.003  # of the height: joints that separate by more than that are marked
GAUGE = (0.03, 0.1)  # of the height: smallest and largest radius of a cone or an arc

COLORS = {
    BODY: (0.30, 0.75, 1.0, 0.6),
    CONNECTION: (0.85, 0.85, 0.85, 0.6),
    SEPARATION: (1.0, 0.1, 0.9, 1.0),
}
LIMIT_COLORS = {INSIDE: (0.35, 0.9, 0.35, 0.9), NEAR: (1.0, 0.7, 0.1, 1.0), BEYOND: (1.0, 0.15, 0.1, 1.0)}
MARK_COLOR = (1.0, 1.0, 1.0, 1.0)  # of a current angle inside its limits
DIM = 0.3  # share of the opacity of what is not selected, while something is

KINDS = 7


# ---- what stays the same -------------------------------------------------------------------------------------------


@dataclass
class Figure:
    """A ragdoll of m bodies as it was built.

    Attributes:
        edges: wire of every body in its own frame, m arrays [k, 2, 3] [m].
        lengths: length of every body along its longest side [m], [m].
        parents: index of the parent body, -1 at roots [m].
        child_frames, parent_frames: frame of the joint to the parent, in the body's own and in its parent's frame
            [m, 4, 4]; whatever at roots.
        types: joint types [m].
        limit_min, limit_max: limits [rad], [m, 3].
        height: of the character [m].
    """

    edges: list
    lengths: np.ndarray
    parents: np.ndarray
    child_frames: np.ndarray
    parent_frames: np.ndarray
    types: list
    limit_min: np.ndarray
    limit_max: np.ndarray
    height: float


class Wires:
    """The lines of a figure, each end fixed to a body or to the swung frame of a joint.

    Attributes:
        local: ends [k, 2, 3] in the frame that carries them.
        owner: that frame [k, 2]: i is body i, m + i the swung frame of the joint of body i. Lines are in this order;
            those between two bodies come last.
        group: what a line tells and of whom [k]: body * KINDS + kind.
    """

    def __init__(self, figure: Figure) -> None:
        count = len(figure.parents)
        self.figure, self.count = figure, count
        self.joined = np.flatnonzero(figure.parents >= 0)
        self._parents = figure.parents[self.joined]
        self._child, self._parent = figure.child_frames[self.joined], figure.parent_frames[self.joined]
        types = np.array([figure.types[i] for i in self.joined], dtype=object)
        low, high = figure.limit_min[self.joined].astype(float), figure.limit_max[self.joined].astype(float)
        self._cone, self._hinge = types == "CONE", types == "HINGE"
        self._half = np.clip([high[:, 0], -low[:, 0], high[:, 2], -low[:, 2]], 1e-12, math.pi)
        self._axis = np.array([hinge_axis(a, b) for a, b in zip(low, high)], dtype=int)
        rows = np.arange(len(self.joined))
        shown = np.where(self._hinge, self._axis, 1)
        self._low, self._high = low[rows, shown], high[rows, shown]
        self._local, self._owner, self._group = [], [], []
        for i in range(count):
            self._add(figure.edges[i], i, i, i, BODY)
        for row, i in enumerate(self.joined):
            self._add_joint(figure, row, int(i))
        owner = np.concatenate(self._owner)
        order = np.lexsort((owner[:, 0], owner[:, 0] != owner[:, 1]))
        self.local, self.owner = np.concatenate(self._local)[order], owner[order]
        self.group = np.concatenate(self._group)[order]
        self._kept = None
        del self._local, self._owner, self._group

    def _add(self, edges, first, last, body, kind) -> None:
        if len(edges):
            self._local.append(edges)
            self._owner.append(np.tile([first, last], (len(edges), 1)))
            self._group.append(np.full(len(edges), body * KINDS + kind))

    def _add_joint(self, figure, row, i) -> None:
        parent = int(self._parents[row])
        child_frame, parent_frame = self._child[row], self._parent[row]
        own, its = child_frame[:3, 3], parent_frame[:3, 3]
        origin = np.zeros(3)
        self._add(np.array([[origin, own]]), i, i, i, CONNECTION)
        self._add(np.array([[origin, its]]), parent, parent, i, CONNECTION)
        self._add(np.array([[its, own]]), parent, i, i, SEPARATION)
        low, high = figure.limit_min[i], figure.limit_max[i]
        radius = float(np.clip(0.5 * figure.lengths[i], *(share * figure.height for share in GAUGE)))
        if self._cone[row]:
            self._add(_carried(parent_frame, wireframes.cone_edges(low, high, radius)), parent, parent, i, SWING)
            self._add(_carried(child_frame, np.array([[origin, radius * wireframes.BONE]])), i, i, i, SWING_MARK)
            if high[1] - low[1] < 2.0 * math.pi - 1e-3:
                self._add(wireframes.twist_edges(low[1], high[1], radius), self.count + i, self.count + i, i, TWIST)
                self._add(_carried(child_frame, wireframes.twist_tick(radius)), i, i, i, TWIST_MARK)
        elif self._hinge[row]:
            shown, _quarter = wireframes.hinge_axes(int(self._axis[row]))
            self._add(_carried(parent_frame, wireframes.hinge_edges(low, high, radius)), parent, parent, i, SWING)
            self._add(_carried(child_frame, np.array([[origin, radius * shown]])), i, i, i, SWING_MARK)

    # ---- every frame ----------------------------------------------------------------------------------------------

    def joint_frames(self, matrices) -> tuple[np.ndarray, np.ndarray]:
        """World frames [j, 4, 4] of the joints as their parents and as their children have them."""
        return matrices[self._parents] @ self._parent, matrices[self.joined] @ self._child

    def read(self, matrices) -> "Reading":
        """Angles, their standing and separations of the j joints, for body matrices [m, 4, 4]."""
        parent, child = self.joint_frames(np.asarray(matrices, dtype=float))
        r = _unscaled(parent).transpose(0, 2, 1) @ _unscaled(child)
        # The bone's direction gives the swing; turned back by it, the rest is the twist.
        angle = np.arctan2(np.hypot(r[:, 0, 1], r[:, 2, 1]), r[:, 1, 1])
        direction = np.arctan2(-r[:, 0, 1], r[:, 2, 1])
        swing = _swing_matrices(direction, angle)
        twist = np.einsum("jki,jkl->jil", swing, r)
        twist_angle = np.arctan2(twist[:, 0, 2] - twist[:, 2, 0], twist[:, 0, 0] + twist[:, 2, 2])
        rows = np.arange(len(r))
        a, b = (self._axis + 1) % 3, (self._axis + 2) % 3
        hinge_angle = 2.0 * np.arctan2(r[rows, b, a] - r[rows, a, b], 1.0 + np.trace(r, axis1=1, axis2=2))
        aside = np.arccos(np.clip(r[rows, self._axis, self._axis], -1.0, 1.0))

        shown = np.where(self._hinge, hinge_angle, twist_angle)
        middle = 0.5 * (self._low + self._high)
        shown = middle + np.mod(shown - middle + math.pi, 2.0 * math.pi) - math.pi
        ranged = _standing(shown, self._low, self._high)
        x, z = np.cos(direction), np.sin(direction)
        h = self._half
        allowed = 1.0 / np.hypot(x / np.where(x >= 0.0, h[0], h[1]), z / np.where(z >= 0.0, h[2], h[3]))
        near = (angle > allowed * (1.0 - NEAR_SHARE)) & (allowed > NARROW)
        swung_far = np.where(near, NEAR, INSIDE)
        swung_far = np.where(angle > allowed + BEYOND_MIN, BEYOND, swung_far)
        turned = np.where(aside > BEYOND_MIN, BEYOND, ranged)
        apart = child[:, :3, 3] - parent[:, :3, 3]
        frames = parent.copy()
        frames[:, :3, :3] = parent[:, :3, :3] @ swing
        return Reading(
            angle=angle,
            direction=direction,
            turn=shown,
            allowed=allowed,
            swing_standing=np.where(self._cone, swung_far, np.where(self._hinge, turned, INSIDE)),
            twist_standing=np.where(self._cone, ranged, INSIDE),
            separation=np.sqrt(np.einsum("ji,ji->j", apart, apart)),
            swung_frames=frames,
        )

    def ends(self, matrices, reading: "Reading", kept: "Kept") -> np.ndarray:
        """World ends [k, 2, 3] of the lines that are kept."""
        frames = np.zeros((2 * self.count, 4, 3), dtype=np.float32)
        frames[: self.count] = np.asarray(matrices)[:, :3].transpose(0, 2, 1)
        frames[self.count + self.joined] = reading.swung_frames[:, :3].transpose(0, 2, 1)
        result = np.empty((len(kept.local), 3), dtype=np.float32)
        for owner, begin, end in kept.runs:
            np.matmul(kept.local[begin:end], frames[owner], out=result[begin:end])
        return result.reshape(-1, 2, 3)

    def colors(self, reading: "Reading", selected) -> np.ndarray:
        """Colour [m * KINDS, 4] of every group of lines; `selected` [m] stands out while anything is selected."""
        table = np.zeros((self.count, KINDS, 4), dtype=np.float32)
        for kind, color in COLORS.items():
            table[:, kind] = color
        limits = np.array([LIMIT_COLORS[i] for i in range(3)], dtype=np.float32)
        marks = np.array([MARK_COLOR, *limits[1:]])
        for kind, standing in ((SWING, reading.swing_standing), (TWIST, reading.twist_standing)):
            table[self.joined, kind] = limits[standing]
            table[self.joined, kind + SWING_MARK - SWING] = marks[standing]
        if selected.any():
            table[~selected, :, 3] *= DIM
            table[selected, :, 3] = 1.0
        return table.reshape(-1, 4)

    def shown(self, reading: "Reading", selected, show: "Show") -> np.ndarray:
        """Which groups [m * KINDS] are shown."""
        mask = np.zeros((self.count, KINDS), dtype=bool)
        mask[:, BODY] = show.bodies
        mask[:, CONNECTION] = show.joints
        mask[self.joined, SEPARATION] = show.joints & (reading.separation > APART * self.figure.height)
        mask[:, SWING:] = show.limits
        if show.only_selected:
            mask[~selected] = False
        return mask.ravel()

    def lines(self, matrices, selected, show: "Show | None" = None) -> "Lines":
        """The lines of a frame.

        Args:
            matrices: world matrices of the bodies [m, 4, 4].
            selected: mask [m].
            show: what is wanted; everything when not given.
        """
        show = show or Show()
        selected = np.asarray(selected, dtype=bool)
        reading = self.read(matrices)
        shown = self.shown(reading, selected, show)
        if self._kept is None or self._kept.key != shown.tobytes():
            self._kept = Kept(self, shown)
        kept = self._kept
        standing = reading.swing_standing.tobytes(), reading.twist_standing.tobytes(), selected.tobytes()
        if kept.standing != standing:
            kept.standing = standing
            kept.colors = self.colors(reading, selected).take(kept.group, axis=0)
            kept.emphasised = selected[kept.group // KINDS]
        return Lines(self.ends(matrices, reading, kept), kept.colors, kept.emphasised)


class Kept:
    """The lines of some groups, ready to be carried by their frames.

    Attributes:
        key: tells which groups they are.
        group: see `Wires` [k].
        local: ends in homogeneous coordinates [2 k, 4].
        runs: (frame, begin, end) of ends that one frame carries.
        standing: of the joints when `colors` [k, 4] and `emphasised` [k] were looked up.
    """

    def __init__(self, wires: Wires, shown) -> None:
        lines = np.flatnonzero(shown[wires.group])
        self.key, self.standing = shown.tobytes(), None
        self.group = wires.group[lines]
        self.local = np.ones((2 * len(lines), 4), dtype=np.float32)
        self.local[:, :3] = wires.local[lines].reshape(-1, 3)
        owner = wires.owner[lines].ravel()
        bounds = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
        self.runs = [(int(owner[a]), a, b) for a, b in pairwise(bounds) if b > a]


@dataclass
class Reading:
    """The j joints at one frame.

    Attributes:
        angle, direction: the swing and the direction of its axis from X towards Z [rad], [j].
        turn: a hinge's angle, else the twist [rad], [j].
        allowed: a cone's largest swing in that direction [rad], [j].
        swing_standing, twist_standing: INSIDE, NEAR or BEYOND [j]; a hinge's is its swing's.
        separation: how far apart the joint is [m], [j].
        swung_frames: the parent's joint frame turned by the swing alone [j, 4, 4].
    """

    angle: np.ndarray
    direction: np.ndarray
    turn: np.ndarray
    allowed: np.ndarray
    swing_standing: np.ndarray
    twist_standing: np.ndarray
    separation: np.ndarray
    swung_frames: np.ndarray


@dataclass
class Show:
    """What is wanted: bodies, joints (connections and separations), limits; of all bones or of the selected ones."""

    bodies: bool = True
    joints: bool = True
    limits: bool = True
    only_selected: bool = False


@dataclass
class Lines:
    """What to draw: ends [k, 2, 3] in the world, colours [k, 4] (r, g, b, opacity), which stand out [k]."""

    ends: np.ndarray
    colors: np.ndarray
    emphasised: np.ndarray


def _carried(frame, edges) -> np.ndarray:
    return edges @ frame[:3, :3].T + frame[:3, 3]


def _unscaled(matrices) -> np.ndarray:
    axes = matrices[:, :3, :3]
    return axes / np.sqrt(np.einsum("jik,jik->jk", axes, axes))[:, None, :]


def _swing_matrices(direction, angle) -> np.ndarray:
    """Rotations [j, 3, 3] by `angle` about (cos direction, 0, sin direction): Rodrigues' formula."""
    x, z, s, c = np.cos(direction), np.sin(direction), np.sin(angle), np.cos(angle)
    rest = 1.0 - c
    result = np.empty((len(x), 3, 3))
    result[:, 0, 0], result[:, 0, 1], result[:, 0, 2] = c + rest * x * x, -z * s, rest * x * z
    result[:, 1, 0], result[:, 1, 1], result[:, 1, 2] = z * s, c, -x * s
    result[:, 2, 0], result[:, 2, 1], result[:, 2, 2] = rest * x * z, x * s, c + rest * z * z
    return result


def _standing(angle, low, high) -> np.ndarray:
    """INSIDE, NEAR (within 10 % of a bound's own angle from bind pose) or BEYOND a range, element by element."""
    to_high, to_low = NEAR_SHARE * np.abs(high), NEAR_SHARE * np.abs(low)
    near = (angle > high - to_high) & (np.abs(high) > NARROW) | (angle < low + to_low) & (np.abs(low) > NARROW)
    beyond = (angle > high + BEYOND_MIN) | (angle < low - BEYOND_MIN)
    return np.where(beyond, BEYOND, np.where(near, NEAR, INSIDE))
