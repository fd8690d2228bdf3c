"""What the overlay shows of a ragdoll, as coloured line segments: bodies, joints and limits. Nothing is drawn here.

Everything that is drawn stands still in the frame of some body, so the lines are made once (`wires`) and only carried
by the bodies' matrices from then on (`lines`). A joint's limits are drawn in its parent's frame and the current angle
in the child's own, so that the one is seen inside the other:

- a cone: the rim is where the bone's direction would be at the swing's limit, with spokes from the joint; a line
  along the child's Y is the current direction. A smaller arc about the bone, which swings with it, is the range of
  the twist, and a tick the current twist.
- a hinge: an arc over the range of its angle, and a line at the current one.

Conventions of limits and angles are those of `joints.limits`.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from .. import pose, quaternion
from .joints.limits import ellipse_radius, half_axes_of, hinge_axis

KINDS = 7  # of lines
BODY, CONNECTION, SEPARATION, SWING, TWIST, SWING_MARK, TWIST_MARK = range(KINDS)
INSIDE, NEAR, BEYOND = range(3)  # how an angle stands to its limits
NEAR_SHARE = 0.1  # of a bound's own angle: closer to it is near
NARROW = math.radians(1.0)  # a bound at bind pose, such as a straight knee's, has nothing near it
BEYOND_MIN = math.radians(0.5)  # a joint that rests against its bound is not beyond it
APART = 0.003  # of the height: joints that separate by more than that are marked
GAUGE = (0.03, 0.1)  # of the height: smallest and largest radius of a cone or an arc
COLORS = {BODY: (0.30, 0.75, 1.0, 0.6), CONNECTION: (0.85, 0.85, 0.85, 0.35), SEPARATION: (1.0, 0.1, 0.9, 1.0)}
LIMIT_COLORS = {INSIDE: (0.35, 0.9, 0.35, 0.45), NEAR: (1.0, 0.7, 0.1, 1.0), BEYOND: (1.0, 0.15, 0.1, 1.0)}
MARK_COLOR = (1.0, 1.0, 1.0, 1.0)  # of a current angle inside its limits
DIM = 0.3  # share of the opacity of what is not selected, while something is
CIRCLE = 24  # segments of a full turn
BONE = np.array([0.0, 1.0, 0.0])  # the bone's direction in a joint's frame
_X, _Y, _Z = np.eye(3)
_DIRECTIONS = np.arange(2 * CIRCLE) * (2.0 * math.pi / (2 * CIRCLE))


# ---- wires of shapes ------------------------------------------------------------------------------------------------
def polyline(points) -> np.ndarray:
    """The segments [k - 1, 2, 3] that join points [k, 3] one after the other."""
    points = np.asarray(points, dtype=float)
    return np.stack([points[:-1], points[1:]], axis=1)


def arc_lines(radius, first, last, count, u, v, center=(0.0, 0.0, 0.0)) -> np.ndarray:
    """Segments of a circle's arc: ``center + radius (u cos t + v sin t)``."""
    t = np.linspace(first, last, count + 1)[:, None]
    return polyline(np.asarray(center) + radius * (np.asarray(u) * np.cos(t) + np.asarray(v) * np.sin(t)))


# ---- limits ---------------------------------------------------------------------------------------------------------
def swung(direction, angle) -> np.ndarray:
    """Direction [..., 3] of the bone in the joint's frame after a swing by `angle` about (cos d, 0, sin d)."""
    direction, angle = np.asarray(direction, dtype=float), np.asarray(angle, dtype=float)
    sine = np.sin(angle)
    return np.stack([-np.sin(direction) * sine, np.cos(angle), np.cos(direction) * sine], axis=-1)


def cone_edges(limit_min, limit_max, radius: float) -> np.ndarray:
    """Rim and spokes [k, 2, 3] of a cone's swing limit, in the parent's joint frame.

    The rim's points are spread on the ellipse and not in angle: a flat one keeps its tips."""
    x, z = np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)
    half = half_axes_of(limit_min, limit_max)
    x, z = x * np.where(x >= 0.0, half[0], half[1]), z * np.where(z >= 0.0, half[2], half[3])
    rim = radius * swung(np.arctan2(z, x), np.hypot(x, z))
    spokes = rim[:: len(rim) // 8]
    loop = polyline(np.concatenate([rim, rim[:1]]))
    return np.concatenate([loop, np.stack([np.zeros_like(spokes), spokes], axis=1)])


def hinge_axes(axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The direction that shows a hinge's angle at zero, and that at a quarter turn: the bone's own unless it is Y."""
    shown = _Z if axis == 1 else _Y
    return shown, np.cross(np.eye(3)[axis], shown)


def hinge_edges(limit_min, limit_max, radius: float) -> np.ndarray:
    """The sector [k, 2, 3] over which a hinge turns, in the parent's joint frame."""
    axis = hinge_axis(limit_min, limit_max)
    u, v = hinge_axes(axis)
    low, high = float(limit_min[axis]), float(limit_max[axis])
    arc = arc_lines(radius, low, high, max(2, math.ceil((high - low) / (2.0 * math.pi) * 2 * CIRCLE)), u, v)
    ends = np.stack([arc[0, 0], arc[-1, 1]])
    return np.concatenate([arc, np.stack([np.zeros_like(ends), ends], axis=1)])


def twist_edges(low: float, high: float, radius: float) -> np.ndarray:
    """The arc [k, 2, 3] of a cone's twist about Y, in the frame that swings with the bone; empty when it is locked."""
    if high - low < 1e-4:
        return np.zeros((0, 2, 3))
    count = max(2, math.ceil((high - low) / (2.0 * math.pi) * CIRCLE))
    center = (0.0, 0.6 * radius, 0.0)
    arc = arc_lines(0.3 * radius, low, high, count, _Z, _X, center)
    ends = np.stack([arc[0, 0], arc[-1, 1]])
    return np.concatenate([arc, np.stack([np.asarray(center) + (ends - center) * 0.7, ends], axis=1)])


# ---- what stays the same --------------------------------------------------------------------------------------------
@dataclass
class Figure:
    """A ragdoll of m bodies as it was built."""

    edges: list  # of every body's mesh in its own frame, m arrays [k, 2, 3] [m]
    sides: list  # normals of the two faces at each edge, m arrays [k, 2, 3]; zero at edges that are always seen
    lengths: np.ndarray  # length of every body along its longest side [m], [m]
    parents: np.ndarray  # index of the parent body, -1 at roots [m]
    child_frames: np.ndarray  # of the joint to the parent, in the body's own frame [m, 4, 4]; whatever at roots
    parent_frames: np.ndarray  # the same in the parent's frame [m, 4, 4]
    types: list  # joint types [m]
    limit_min: np.ndarray  # [rad], [m, 3]
    limit_max: np.ndarray  # [rad], [m, 3]
    height: float  # of the character [m]


class Wires:
    """The lines of a figure, each end fixed to a body or to the swung frame of a joint.

    `points` are where lines end [p, 3], in the frame that carries the point, `owner` that frame [p], in rising order:
    i is body i, m + i the swung frame of the joint of body i. A line ends at two points, `ends_at` [k, 2]; `group` is
    what it tells and of whom [k]: body * KINDS + kind.
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
        # The axis whose angle is told as a turn: a hinge's own, else the twist's.
        self._axis = np.where(self._hinge, [hinge_axis(a, b) for a, b in zip(low, high)], 1).astype(int)
        rows = np.arange(len(self.joined))
        self._low, self._high = low[rows, self._axis], high[rows, self._axis]
        # Near the end of a range is what is within a share of the bound's own angle.
        least, most = np.abs(self._low), np.abs(self._high)
        near_low = np.where(least > NARROW, self._low + NEAR_SHARE * least, -np.inf)
        self._near = near_low, np.where(most > NARROW, self._high - NEAR_SHARE * most, np.inf)
        self._others = (self._axis + 1) % 3, (self._axis + 2) % 3
        self._rows, self._middle = rows, 0.5 * (self._low + self._high)
        self._ends_of = np.concatenate([self._parents, self.joined])
        self._frames = np.concatenate([self._parent, self._child])
        self._local, self._owner, self._group = [], [], []
        # Normals of the faces at each body's edges, and how far their planes lie from its origin, for `outlined`.
        self._sides, edges = (np.concatenate(each, dtype=float) for each in (figure.sides, figure.edges))
        self._planes = np.einsum("kij,kj->ki", self._sides, edges[:, 0])
        for i in range(count):
            self._add(figure.edges[i], i, i, i, BODY)
        for row, i in enumerate(self.joined):
            self._add_joint(figure, row, int(i))
        # Lines share most of their ends: each place is carried once.
        ends, owner = np.concatenate(self._local).reshape(-1, 3), np.concatenate(self._owner).reshape(-1, 1)
        places, at = np.unique(np.concatenate([owner, ends], axis=1), axis=0, return_inverse=True)
        self.points, self.owner = places[:, 1:], places[:, 0].astype(int)
        self.ends_at = at.reshape(-1, 2)
        self.group = np.concatenate(self._group)
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
            self._add(pose.moved(cone_edges(low, high, radius), parent_frame), parent, parent, i, SWING)
            self._add(pose.moved(np.array([[origin, radius * BONE]]), child_frame), i, i, i, SWING_MARK)
            if high[1] - low[1] < 2.0 * math.pi - 1e-3:
                self._add(twist_edges(low[1], high[1], radius), self.count + i, self.count + i, i, TWIST)
                tick = radius * np.array([[(0.0, 0.6, 0.0), (0.0, 0.6, 0.36)]])
                self._add(pose.moved(tick, child_frame), i, i, i, TWIST_MARK)
        elif self._hinge[row]:
            shown, _quarter = hinge_axes(int(self._axis[row]))
            self._add(pose.moved(hinge_edges(low, high, radius), parent_frame), parent, parent, i, SWING)
            self._add(pose.moved(np.array([[origin, radius * shown]]), child_frame), i, i, i, SWING_MARK)

    # ---- every frame ----------------------------------------------------------------------------------------------
    def read(self, matrices) -> "Reading":
        """Angles, their standing and separations of the j joints, for body matrices [m, 4, 4]."""
        count = len(self.joined)
        # The joints' frames, first as all parents have them.
        both = np.matmul(np.asarray(matrices, dtype=float).take(self._ends_of, axis=0), self._frames)
        parent, child = both[:count], both[count:]
        axes = both[:, :3, :3]
        axes = axes / np.sqrt(np.einsum("jik,jik->jk", axes, axes))[:, None, :]
        r = np.matmul(axes[:count].transpose(0, 2, 1), axes[count:])
        angle = np.arctan2(np.hypot(r[:, 0, 1], r[:, 2, 1]), r[:, 1, 1])  # the bone's direction gives the swing
        direction = np.arctan2(-r[:, 0, 1], r[:, 2, 1])
        x, z = np.cos(direction), np.sin(direction)
        # What is left of the rotation about an axis when the swing of that axis is taken away: the angle of the
        # quaternion (w, that component alone), whose tangent is the quotient of the two.
        rows, middle, (a, b) = self._rows, self._middle, self._others
        turn = 2.0 * np.arctan2(r[rows, b, a] - r[rows, a, b], 1.0 + np.einsum("jii->j", r))
        shown = middle + np.mod(turn - middle + math.pi, 2.0 * math.pi) - math.pi
        ranged = INSIDE + ((shown < self._near[0]) | (shown > self._near[1]))
        ranged[(shown < self._low - BEYOND_MIN) | (shown > self._high + BEYOND_MIN)] = BEYOND
        allowed = ellipse_radius(self._half, direction)
        swung_far = INSIDE + ((angle > allowed * (1.0 - NEAR_SHARE)) & (allowed > NARROW))
        swung_far[angle > allowed + BEYOND_MIN] = BEYOND
        turned = np.where(r[rows, self._axis, self._axis] < math.cos(BEYOND_MIN), BEYOND, ranged)
        apart = child[:, :3, 3] - parent[:, :3, 3]
        frames = parent.copy()
        swing = quaternion.from_axis_angle(quaternion.joined((x, np.zeros_like(x), z)), angle)
        frames[:, :3, :3] = np.matmul(parent[:, :3, :3], quaternion.to_matrix(swing))
        of_swing = np.where(self._cone, swung_far, np.where(self._hinge, turned, INSIDE))
        of_twist = np.where(self._cone, ranged, INSIDE)
        return Reading(shown, of_swing, of_twist, np.sqrt(np.einsum("ji,ji->j", apart, apart)), frames)

    def ends(self, matrices, reading: "Reading", kept: "Kept") -> np.ndarray:
        """World ends [k, 2, 3] of the lines that are kept."""
        frames = np.zeros((2 * self.count, 4, 3), dtype=np.float32)
        frames[: self.count] = np.asarray(matrices)[:, :3].transpose(0, 2, 1)
        frames[self.count + self.joined] = reading.swung_frames[:, :3].transpose(0, 2, 1)
        carried = np.einsum("pi,pij->pj", kept.points, frames.take(kept.owners, axis=0))
        return carried.take(kept.places, axis=0).reshape(-1, 2, 3)

    def outlined(self, matrices, eye, kept: "Kept") -> np.ndarray:
        """Which of the lines that are kept are seen [k]: of a body those at which its surface turns out of sight. `eye`
        is the homogeneous place of the viewer [4], or with 0 at the end the direction to him."""
        seen = np.ones(len(kept.group), dtype=bool)
        rows = np.flatnonzero(kept.group % KINDS == BODY)
        place = np.linalg.solve(np.asarray(matrices, dtype=float), np.asarray(eye, dtype=float))[kept.body[rows]]
        faces = np.einsum("kij,kj->ki", self._sides[kept.outlines], place[:, :3])
        faces -= self._planes[kept.outlines] * place[:, 3:]
        seen[rows] = faces[:, 0] * faces[:, 1] <= 0.0
        return seen

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
            table[selected, BODY, 3] = 1.0
        return table.reshape(-1, 4)

    def shown(self, reading: "Reading", selected, show: "Show") -> np.ndarray:
        """Which groups [m * KINDS] are shown."""
        mask = np.zeros((self.count, KINDS), dtype=bool)
        mask[:, BODY] = show.bodies
        chosen = selected | (not show.calm)
        mask[:, CONNECTION] = show.joints & chosen
        mask[self.joined, SEPARATION] = show.joints & (reading.separation > APART * self.figure.height)
        chosen[self.joined] |= np.maximum(reading.swing_standing, reading.twist_standing) > INSIDE
        mask[:, SWING:] = (show.limits & chosen)[:, None]
        return mask.ravel()

    def lines(self, matrices, selected, show: "Show | None" = None, eye=None) -> "Lines":
        """The lines of a frame, for world matrices of the bodies [m, 4, 4] and which of them are selected [m]. `eye`:
        see `outlined`; without one all edges of the bodies are seen."""
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
            kept.emphasised = selected[kept.body]
            kept.split = []
        ends = self.ends(matrices, reading, kept)
        if eye is None:
            return Lines(ends, kept.colors, kept.emphasised, kept.split)
        seen = self.outlined(matrices, eye, kept)
        return Lines(ends[seen], kept.colors[seen], kept.emphasised[seen])


class Kept:
    """The lines of some groups, which `key` tells, ready to be carried by their frames.

    `points` are the ends in homogeneous coordinates [p, 4], each once, `owners` their frames [p], `places` the rows of
    the lines' ends [2 k]. `standing` is that of the joints when `colors` [k, 4] and `emphasised` [k] were looked up and
    `split` (see `Lines`) was begun anew.
    """

    def __init__(self, wires: Wires, shown) -> None:
        lines = np.flatnonzero(shown[wires.group])
        self.key, self.standing, self.split = shown.tobytes(), None, []
        self.group = wires.group[lines]
        self.body = self.group // KINDS
        self.outlines = np.cumsum(wires.group % KINDS == BODY)[lines[self.group % KINDS == BODY]] - 1
        used, self.places = np.unique(wires.ends_at[lines].ravel(), return_inverse=True)
        self.owners = wires.owner[used]
        self.points = np.append(wires.points[used], np.ones((len(used), 1)), axis=1).astype(np.float32)


@dataclass
class Reading:
    """The j joints at one frame."""

    turn: np.ndarray  # a hinge's angle, else the twist [rad], [j]
    swing_standing: np.ndarray  # INSIDE, NEAR or BEYOND [j]; a hinge's is here
    twist_standing: np.ndarray  # INSIDE, NEAR or BEYOND [j]
    separation: np.ndarray  # how far apart the joint is [m], [j]
    swung_frames: np.ndarray  # the parent's joint frame turned by the swing alone [j, 4, 4]


@dataclass
class Show:
    """What is wanted: bodies, joints (connections and separations), limits.

    `calm`: joints and limits of the selected bones only, and of those near the end of their range."""

    bodies: bool = True
    joints: bool = True
    limits: bool = True
    calm: bool = False


@dataclass
class Lines:
    """What to draw: ends [k, 2, 3] in the world, colours [k, 4] (r, g, b, opacity), which stand out [k]."""

    ends: np.ndarray
    colors: np.ndarray
    emphasised: np.ndarray
    _split: list = field(default_factory=list, repr=False)  # kept from frame to frame while colours stay

    def split(self) -> list:
        """Vertices [2 r, 3] and their colours [2 r, 4] of the lines that do not and of those that do stand out."""
        if not self._split:
            for chosen in (~self.emphasised, self.emphasised):
                rows = np.flatnonzero(chosen)
                self._split.append((rows, self.colors.take(rows, axis=0).repeat(2, axis=0)))
        return [(self.ends.take(rows, axis=0).reshape(-1, 3), colors) for rows, colors in self._split]


# ---- a chain that looks at something --------------------------------------------------------------------------------
TARGET = (0.95, 0.15, 0.12, 1.0)
FORWARD = (0.25, 0.9, 0.3, 1.0)
CONE = (0.25, 0.75, 0.9, 0.55)
CONE_AT_LIMIT = (1.0, 0.55, 0.1, 0.8)
_AT_LIMIT = np.radians(0.1)


def look_at_lines(positions, forwards, references, limits, target, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends [k, 2, 3] and colours [k, 4] of a chain's drawing, in the space of its arguments.

    Args:
        positions: joints of the k entries [k, 3], the first one's first.
        forwards: where their bones look, unit vectors [k, 3].
        references: what their limits are measured from, unit vectors [k, 3].
        limits: largest angles between the two [k] in radians; an entry of 0 has no cone.
        target: point [3] to which each joint has a line, None: there is none.
        length: of the forward vectors; cones have half of it.
    """
    positions, forwards = np.asarray(positions, dtype=float), np.asarray(forwards, dtype=float)
    references, limits = np.asarray(references, dtype=float), np.asarray(limits, dtype=float)
    ends = [np.stack([positions, positions + length * forwards], axis=1)]
    colors = [np.tile(FORWARD, (len(positions), 1))]
    if target is not None:
        ends.append(np.stack([positions, np.broadcast_to(target, positions.shape)], axis=1))
        colors.append(np.tile(TARGET, (len(positions), 1)))
    for position, forward, reference, limit in zip(positions, forwards, references, limits, strict=True):
        if limit > 0.0:
            turn = quaternion.shortest_arc(BONE, reference)
            ends.append(position + quaternion.rotate(turn, cone_edges([-limit] * 3, [limit] * 3, 0.5 * length)))
            angle = np.arctan2(np.linalg.norm(np.cross(forward, reference)), forward @ reference)
            colors.append(np.tile(CONE if angle < limit - _AT_LIMIT else CONE_AT_LIMIT, (len(ends[-1]), 1)))
    return np.concatenate(ends), np.concatenate(colors)
