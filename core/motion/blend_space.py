"""Blend spaces: samples placed on a line or in a plane, their weights at any point of it, and their play over time.

Weights are not negative, sum to 1, are 1 at a sample's own place, and change continuously everywhere. What a space
remembers from frame to frame (`SpaceState`) follows from the frame before and the inputs, so it is stepped from the
shot's first frame and recorded per frame.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..anatomy.axes import across, unit
from ..errors import RagdollError
from .clip import MESH, NORMALIZED, AdditivePose, Clip, SyncGroup, stack, take, weighted_sum
from .stack import LocalPose

CLAMP, WRAP = "CLAMP", "WRAP"
TRIANGLES, GRID = "TRIANGLES", "GRID"

# Of an axis' length. Triangles are found in single precision, which has to tell two samples apart.
_SAME_PLACE, _SAME_LINE = 1e-6, 1e-9
_NO_WEIGHT = 1e-12  # what rounding leaves at a sample's place
_STILL = 1e-6  # [m/s] slower things have no direction
_INSIDE = -1e-12  # barycentric coordinates down to this count as inside: rounding at shared edges
_LEAST_AREA = 1e-6  # of a triangle in shares of the axes: a smaller one is what rounding makes of points on one line


@dataclass(frozen=True)
class Axis:
    """One input."""

    name: str  # for messages and the editor
    # minimum, maximum: ends, in the input's unit
    minimum: float
    maximum: float
    ends: str = CLAMP  # CLAMP: inputs beyond an end are held there. WRAP: the ends are one place, as of a direction
    grid: int = 4  # number of divisions that samples can be snapped to

    def __post_init__(self) -> None:
        low, high = self.minimum, self.maximum
        if not -math.inf < low < high < math.inf:
            raise RagdollError(f'The minimum of axis "{self.name}" must be below its maximum, got {low:g} and {high:g}')

    def share(self, value: float) -> float:
        """A value as 0..1 from minimum to maximum; clamped, or wrapped into 0 <= x < 1. Raises RagdollError: a value
        that is not a number."""
        if math.isnan(value) or (self.ends == WRAP and not math.isfinite(value)):
            raise RagdollError(f'The input of axis "{self.name}" is not a number')
        if self.ends == CLAMP:
            value = min(max(value, self.minimum), self.maximum)
        share = (value - self.minimum) / (self.maximum - self.minimum)
        return share if self.ends == CLAMP else share - math.floor(share)

    def snapped(self, value: float) -> float:
        """The nearest division to a value."""
        step = (self.maximum - self.minimum) / self.grid
        return self.minimum + round((value - self.minimum) / step) * step


class BlendSpace1D:
    """Samples on a line, linear between neighbours: `axes` has its one input, `names` are those of the samples [k]."""

    def __init__(self, axis: Axis, names: Sequence[str], positions: ArrayLike) -> None:
        """Raises RagdollError: no samples, one outside the axis or not a number, or two at one place."""
        self.axes, self.names = (axis,), tuple(names)
        shares = _checked_samples(self.axes, self.names, np.asarray(positions, dtype=np.float64).reshape(-1, 1))[:, 0]
        order = np.argsort(shares, kind="stable").tolist()
        places = shares[order].tolist()
        if axis.ends == WRAP or len(order) == 1:  # each end once more beyond the other
            order, places = [order[-1], *order, order[0]], [places[-1] - 1.0, *places, places[0] + 1.0]
        self._order, self._places = order, places

    def weights(self, value: float) -> NDArray:
        """Weights of the samples [k] at an input. Raises RagdollError: it is not a number."""
        result = np.zeros(len(self.names))
        before, part = _between(self._places, self.axes[0].share(value))
        result[self._order[before]] += 1.0 - part
        result[self._order[before + 1]] += part
        return result


class BlendSpace2D:
    """Samples in a plane: barycentric in Delaunay triangles, or bilinear in the cells of a regular grid.

    Outside all triangles the nearest point of the nearest edge counts. One or two samples are allowed: a single pose,
    or a line between two. `axes` are its two inputs, `names` those of the samples [k].
    """

    def __init__(self, axes: tuple, names: Sequence[str], positions, method: str = TRIANGLES, triangulate=None) -> None:
        """Prepare the space.

        Raises RagdollError: no samples, one outside the axes or not a number, two at one place, three or more on one
        line, or, for a grid, a corner without a sample.

        Args:
            axes, names, positions: Inputs; names and places [k, 2] of the samples. method: TRIANGLES or GRID.
            triangulate: Gives the Delaunay triangles [t, 3] of points [k, 2]; of four or more points on one circle the
                same ones wherever these are shifted to. Needed for three and more samples in triangles.
        """
        self.axes, self.names = tuple(axes), tuple(names)
        positions = np.asarray(positions, dtype=np.float64).reshape(-1, 2)
        shares = _checked_samples(self.axes, self.names, positions)
        if method == GRID:
            columns, rows, cells = _grid(self.axes, self.names, shares)
            self._lines, self._cells = (columns.tolist(), rows.tolist()), cells.tolist()
            self._corners_at = self._in_grid
            return
        # With copies of the samples up to two rounds away on wrapped axes: one is not enough, the triangles at the far
        # side of the copies are not those of endless repetition.
        shifts = [(0.0, -1.0, 1.0, -2.0, 2.0) if axis.ends == WRAP else (0.0,) for axis in self.axes]
        points = np.concatenate([shares + np.array([dx, dy]) for dx in shifts[0] for dy in shifts[1]])
        self._points, self._owners = points, np.tile(np.arange(len(shares)), len(points) // len(shares)).tolist()
        self._corners_at = self._on_edges
        if len(points) < 3:
            self._edges = np.array([[0, len(points) - 1]])
            return
        triangles = np.asarray(triangulate(points), dtype=np.intp).reshape(-1, 3)
        sides = points[triangles[:, 1:]] - points[triangles[:, :1]]
        areas = 0.5 * np.abs(sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0])
        triangles = triangles[areas > _LEAST_AREA]
        if not len(triangles):
            listed = ", ".join(f'"{name}"' for name in self.names)
            raise RagdollError(f"The samples {listed} are on one line: a plane needs one beside it")
        self._triangles = triangles.tolist()
        # What belongs to one triangle only is the hull's.
        edges = [tuple(sorted(edge)) for a, b, c in self._triangles for edge in ((a, b), (b, c), (c, a))]
        self._edges = np.array(sorted(edge for edge in set(edges) if edges.count(edge) == 1), dtype=np.intp)
        corners = np.concatenate([points[triangles], np.ones((*triangles.shape, 1))], axis=-1)  # [t, corner, (x, y, 1)]
        self._coefficients = np.swapaxes(np.linalg.inv(corners), -1, -2)
        self._corners_at = self._in_triangles

    def weights(self, x: float, y: float) -> NDArray:
        """Weights of the samples [k] at inputs. Raises RagdollError: an input that is not a number."""
        found = self._corners_at(self.axes[0].share(x), self.axes[1].share(y))
        kept = [(sample, weight) for sample, weight in found if weight >= _NO_WEIGHT]
        total = sum(weight for _sample, weight in kept)
        result = np.zeros(len(self.names))
        for sample, weight in kept:
            result[sample] += weight / total
        return result

    def _in_grid(self, x: float, y: float) -> list[tuple[int, float]]:
        """Samples around a place, in shares of the axes, with their weights."""
        (column, across), (row, up) = map(_between, self._lines, (x, y))
        columns, rows = self._cells[column : column + 2], ((row, 1.0 - up), (row + 1, up))
        shares = zip(columns, (1.0 - across, across), strict=True)
        return [(cells[at], beside * above) for cells, beside in shares for at, above in rows]

    def _in_triangles(self, x: float, y: float) -> list[tuple[int, float]]:
        """As `_in_grid`."""
        weights = self._coefficients.dot(np.array((x, y, 1.0)))  # [t, 3]
        least = weights.min(axis=-1)
        best = int(least.argmax())
        if least[best] < _INSIDE:
            return self._on_edges(x, y)
        corners = self._triangles[best]
        return [(self._owners[corner], weight) for corner, weight in zip(corners, weights[best].tolist(), strict=True)]

    def _on_edges(self, x: float, y: float) -> list[tuple[int, float]]:
        """As `_in_grid`, at the nearest point of the nearest edge."""
        a = self._points[self._edges[:, 0]]
        along = self._points[self._edges[:, 1]] - a
        to = np.array((x, y)) - a
        lengths = np.maximum(np.sum(along * along, axis=-1), 1e-300)  # of a single sample none
        share = np.clip(np.sum(to * along, axis=-1) / lengths, 0.0, 1.0)
        best = int(np.argmin(np.sum((share[:, None] * along - to) ** 2, axis=-1)))
        first, second = (self._owners[corner] for corner in self._edges[best].tolist())
        return [(first, 1.0 - share[best]), (second, share[best])]


def _between(lines: Sequence[float], share: float) -> tuple[int, float]:
    """The line below a place, and how far it is to the next, 0..1."""
    below = min(max(bisect_right(lines, share) - 1, 0), len(lines) - 2)
    return below, min(max((share - lines[below]) / (lines[below + 1] - lines[below]), 0.0), 1.0)


def _checked_samples(axes: Sequence[Axis], names: Sequence[str], positions: NDArray) -> NDArray:
    """Places [k, axes] as shares of the axes."""
    label = " x ".join(f'"{axis.name}"' for axis in axes)
    if len(names) == 0:
        raise RagdollError(f"The blend space {label} has no samples")
    shares = np.empty_like(positions)
    for i, axis in enumerate(axes):
        for row, (name, value) in enumerate(zip(names, positions[:, i].tolist(), strict=True)):
            if not axis.minimum <= value <= axis.maximum:
                at, low, high = axis.name, axis.minimum, axis.maximum
                text = f'Sample "{name}" is at {value:g} on axis "{at}", which goes from {low:g} to {high:g}'
                raise RagdollError(text)
            shares[row, i] = axis.share(value)
    for i in range(len(names)):
        gap = np.abs(shares[i + 1 :] - shares[i])
        for column, axis in enumerate(axes):
            if axis.ends == WRAP:
                gap[:, column] = np.minimum(gap[:, column], 1.0 - gap[:, column])
        same = np.flatnonzero((gap < _SAME_PLACE).all(axis=-1))
        if len(same):
            raise RagdollError(f'Samples "{names[i]}" and "{names[i + 1 + int(same[0])]}" are at one place')
    return shares


def _grid(axes: Sequence[Axis], names: Sequence[str], shares: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Columns, rows and the sample at each crossing [columns, rows] of a regular grid; wrapped axes close on
    themselves."""
    lines, places = [], []
    for i in range(2):
        values = np.unique(np.round(shares[:, i] / _SAME_LINE) * _SAME_LINE)
        lines.append(values)
        places.append(np.argmin(np.abs(shares[:, i][:, None] - values), axis=-1))
    cells = np.full((len(lines[0]), len(lines[1])), -1, dtype=np.intp)
    cells[places[0], places[1]] = np.arange(len(names))
    empty = np.argwhere(cells < 0)
    if len(empty):
        shares = (float(values[i]) for values, i in zip(lines, empty[0].tolist(), strict=True))
        at = (axis.minimum + share * (axis.maximum - axis.minimum) for axis, share in zip(axes, shares, strict=True))
        (one, a), (other, b) = zip((axis.name for axis in axes), at, strict=True)
        raise RagdollError(f'The grid has no sample where "{one}" is {a:g} and "{other}" is {b:g}')
    for i, axis in enumerate(axes):
        if axis.ends == WRAP:
            first, last = cells.take([0], axis=i), cells.take([-1], axis=i)
            cells = np.concatenate([last, cells, first], axis=i)
            lines[i] = np.concatenate([[lines[i][-1] - 1.0], lines[i], [lines[i][0] + 1.0]])
        elif len(lines[i]) == 1:
            cells = np.concatenate([cells, cells], axis=i)
            lines[i] = np.concatenate([lines[i], lines[i] + 1.0])
    return lines[0], lines[1], cells


@dataclass(frozen=True)
class SpaceState:
    """What a space remembers from frame to frame."""

    given: tuple  # inputs of the axes as they were read; on wrapped axes without jumps
    at: tuple  # the inputs after smoothing: the current point
    phase: float  # of the samples, in cycles
    seconds: float  # time of the frame
    weights: np.ndarray = field(compare=False, repr=False)  # of the samples at the current point [k]


class SpacePlayer:
    """A space with its samples.

    Attributes:
        name: for messages. space: places of the samples. group: the samples' clips in phase, None for an aim offset.
        smoothing: time constant of each axis [s]. keeps_state: whether a frame depends on those before it.

    An aim offset is a space of yaw, or of yaw and pitch, whose samples are additive in mesh space: those keep the
    direction that is aimed at whatever the body below does, as Unreal Engine's aim offsets do.
    """

    def __init__(self, name, space, clips, *, aim=False, speeds=None, sync=NORMALIZED, smoothing=(0.0, 0.0)) -> None:
        """Samples in the order of the space's names. Those of an aim offset are such as `check_aim` lets through; their
        first frames count. Raises RagdollError: additive samples beside whole ones, or what `SyncGroup` refuses."""
        self.name, self.space = name, space
        self.smoothing = tuple(float(value) for value in smoothing)[: len(space.axes)]
        if not aim:
            _check_kinds(space.names, clips)
        self.group = None if aim else SyncGroup(clips, speeds, sync)
        self._aims = stack([clip.pose(0) for clip in clips]) if aim else None
        self.keeps_state = any(self.smoothing) or (not aim and bool(np.any(self.group.lengths > 0.0)))

    def step(self, state: SpaceState | None, given: Sequence[float], seconds: float) -> SpaceState:
        """The state at the next frame, `seconds` being its time; without a state, that at the shot's first frame. The
        phase advances by the mean of both frames' rates. Raises RagdollError: an input that is not a number."""
        if state is None:
            given = tuple(float(value) for value in given)
            return SpaceState(given, given, 0.0, seconds, self.space.weights(*given))
        passed = seconds - state.seconds
        given = tuple(map(_unwrapped, self.space.axes, state.given, map(float, given)))
        at = given
        if any(self.smoothing) and passed > 0.0:
            steps = zip(state.at, state.given, given, self.smoothing, strict=True)
            at = tuple(lagged(x, old, new, time, passed) for x, old, new, time in steps)
        weights = state.weights if at == state.at else self.space.weights(*at)
        phase = state.phase
        if self.group is not None:
            phase += 0.5 * (self.group.rate(state.weights) + self.group.rate(weights)) * passed
        return SpaceState(given, at, phase, seconds, weights)

    def pose(self, state: SpaceState) -> LocalPose | AdditivePose:
        """The blended pose [n] at a state."""
        if self.group is not None:
            return self.group.pose(state.phase, state.weights)
        used = state.weights.nonzero()[0]
        return weighted_sum(take(self._aims, used), state.weights[used])


def lagged(state, before, after, seconds: float, step: float):
    """An input that follows with a lag: the exact answer of x' = (u - x) / seconds while u goes evenly from one value
    to another. Twice the frames of the same input give the same at the common ones.

    Args:
        state: x before; the result is x after. before, after: u, before and after. Numbers, or arrays of them.
        seconds: Time constant: after it, 63 % of a step are done; 0: no smoothing. step: Seconds from frame to frame.
    """
    if seconds == 0.0:
        return after
    left = math.exp(-step / seconds)
    # On a ramp x stays behind by its slope times the time constant, and comes there exponentially.
    behind = (after - before) * (seconds / step)
    return after - behind + (state - before + behind) * left


def step_all(players: Mapping, states: Mapping, inputs: Mapping, seconds: float) -> tuple[dict, dict]:
    """States of all spaces one frame on, and messages by the names of those whose inputs are wrong.

    A space whose input is wrong for a while stays where it was and goes on from there. All mappings are by the spaces'
    names; of a space whose inputs cannot be read, `inputs` has the error. `seconds` is the time of the frame.
    """
    after, messages = {}, {}
    for name, player in players.items():
        try:
            given = inputs[name]
            if isinstance(given, RagdollError):
                raise given
            after[name] = player.step(states.get(name), given, seconds)
        except RagdollError as error:
            messages[name] = str(error)
            if name in states:
                after[name] = states[name]
    return after, messages


def _unwrapped(axis, old: float, new: float) -> float:
    if axis.ends != WRAP or not math.isfinite(new):
        return new
    size = axis.maximum - axis.minimum
    return old + (new - old + 0.5 * size) % size - 0.5 * size


def _check_kinds(names: Sequence[str], clips: Sequence[Clip]) -> None:
    poses = (clip.poses for clip in clips)
    kinds = [f"additive in {p.space.lower()} space" if isinstance(p, AdditivePose) else "not additive" for p in poses]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            text = f'Sample "{name}" is {kind}, sample "{names[0]}" is {kinds[0]}: samples of one space must be alike'
            raise RagdollError(text)


def check_aim(name: str, sample: Clip) -> None:
    """Refuse a sample of an aim offset that is not additive in mesh space. Raises RagdollError naming it."""
    if not isinstance(sample.poses, AdditivePose):
        raise RagdollError(f'The sample "{name}" of the aim offset is not additive: it must be, in mesh space')
    if sample.poses.space != MESH:
        raise RagdollError(f'The sample "{name}" of the aim offset is additive in local, not in mesh space')


def ground_direction(velocity_ws: ArrayLike, forward_ws: ArrayLike) -> float | None:
    """Angle [rad] about Z from where a character faces to where it moves, -pi..pi, positive to its left.

    None where it stands still or faces along Z."""
    (x, y), (ahead_x, ahead_y) = (np.asarray(vector, dtype=float)[:2].tolist() for vector in (velocity_ws, forward_ws))
    if math.hypot(x, y) < _STILL or math.hypot(ahead_x, ahead_y) < 1e-9:
        return None
    return math.atan2(ahead_x * y - ahead_y * x, ahead_x * x + ahead_y * y)


def yaw_pitch(direction: ArrayLike, forward=(0.0, -1.0, 0.0), up=(0.0, 0.0, 1.0)) -> tuple[float, float]:
    """Yaw and pitch [rad] of the direction [3] to a target, in model space and of any length but 0.

    Yaw is -pi..pi, positive counter-clockwise seen from above (to the character's left), 0 straight up or down. Pitch
    is -pi/2..pi/2, positive upwards. Both are 0 along `forward`, whose part along `up` does not count.
    """
    direction, up = unit(direction), unit(up)
    forward = unit(across(np.asarray(forward, dtype=np.float64), up))
    ahead, aside, above = direction @ forward, direction @ np.cross(up, forward), direction @ up
    level = math.hypot(ahead, aside)
    return (math.atan2(aside, ahead) if level >= 1e-9 else 0.0), math.atan2(above, level)
