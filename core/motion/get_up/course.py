"""The motion through key postures, and its time.

Each component is a monotone cubic (Fritsch and Carlson 1980, Monotone piecewise cubic interpolation): what is equal at
two keys stays equal between them, so that planted limbs do not move, and nothing overshoots into the floor. Limbs that
bear nothing are interpolated at their joints, so that no elbow flips. Intervals are stretched until nothing is faster
than people are who get up; speeds of other sizes and under another gravity by Froude's number.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import quaternion as q
from ...ragdoll.recovery.states import HEIGHT
from ...ragdoll.recovery.transitions import smooth_step
from ..biped import ARMS, LEGS, SIGNS, Biped, Posture, X, Z, dot, stacked, unit
from .keys import Surface

_RATE = 24.0  # samples a second at which the speeds are looked at
_JOINT, _PELVIS = np.radians(430.0), np.radians(200.0)  # largest speeds [rad/s]
_HIP, _SINK, _HAND, _FOOT = 1.1, 0.6, 2.2, 2.8  # [m/s]
_LONGEST = 3.0  # an interval is stretched to so many times its length at most
REACH = 0.985  # of a planted limb's length: farther away it draws the hip
_LIFTS = np.array([0.16, 0.16, 0.2, 0.2])  # of a swinging limb's way, above it
SETTLED = 0.8  # [s] in which what a plan misses of the pose that one lies in dies away
_EDGE = 0.09  # [s] over which it is drawn gently
_SOFT = 0.08  # of a pole's height: how gently knees and elbows are kept off the floor
_OUT = 0.3  # of the way out to the side that arms take which lie overhead: so far all others go, too
_RAISES = 1.0, 0.65  # of what legs of bipeds, of quadrupeds lack that are below the trunk: by less, they fold too far
_ASTRIDE = 3.0  # times what a shank needs over the floor: legs that are nearer, seen from above, lie over each other
_DRAGGED = 2.2  # times slower than their bounds limbs are drawn in, which slide over the floor and over each other
_QUICK = 2.4, 4.0  # by 1 over that share of an interval loose limbs of bipeds, of quadrupeds come to stand
_HALF_TURN, _WORTH = 0.5, np.radians(20.0)  # cosine of half the angle, [rad]: when one is drawn in the other way round
PLANTED = 1e-6  # [m] a limb that moves by less from key to key stands


def slopes(times, values) -> np.ndarray:
    """Derivatives [k, c] of the monotone cubic through values [k, c] at times [k]; at rest at both ends."""
    steps = np.diff(times)[:, None]
    rises = np.diff(values, axis=0) / steps
    result = np.zeros_like(values)
    a, b = rises[:-1], rises[1:]
    one, two = 2.0 * steps[1:] + steps[:-1], steps[1:] + 2.0 * steps[:-1]
    same = a * b > 0.0
    a, b = np.where(same, a, 1.0), np.where(same, b, 1.0)
    result[1:-1] = np.where(same, (one + two) / (one / a + two / b), 0.0)
    return result


def _joints_of(own: Biped, deltas) -> np.ndarray:
    """Deltas [.., m, 4] against the bones that they hang on; the first one's as it is."""
    local = q.multiply(q.conjugate(deltas[..., own.above, :]), deltas)
    local[..., 0, :] = deltas[..., 0, :]
    return local


def mean_around(values, reach: int) -> np.ndarray:
    """Values [f, ..], each as the mean of those up to `reach` frames before and after, done twice."""
    for _ in range(2):
        padded = np.pad(values, [(reach, reach)] + [(0, 0)] * (values.ndim - 1), mode="edge")
        values = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1, axis=0).mean(axis=-1)
    return values


def reached_over(values, reach: int) -> np.ndarray:
    """Values [f, ..] raised so that they rise and fall without edges, in some frames, and are nowhere less."""
    padded = np.pad(values, [(2 * reach, 2 * reach), (0, 0)], mode="edge")
    return mean_around(np.lib.stride_tricks.sliding_window_view(padded, 4 * reach + 1, axis=0).max(axis=-1), reach)


class Course:
    """The motion through keys, of which the first is the pose that one lies in."""

    def __init__(self, own: Biped, surface, room, floor, keys, times, tempo, held=(), ranges=None) -> None:
        """times: of the keys [k], [s]. tempo: how much longer everything takes than for a man of 1.8 m on the Earth.

        held: arms that are not to bear anything. ranges: of its joints (`Ranges`), where they are known."""
        self.tempo = tempo
        self.own, self.room, self.floor, self.times = own, room, floor, np.asarray(times, dtype=float)
        postures = stacked([key.posture for key in keys])
        moved = np.linalg.norm(np.diff(postures.ends, axis=0), axis=-1)
        self.planted = moved < PLANTED
        self.planted[:, list(held)] = False
        self.loose = ~self.planted
        # Legs swing by their ends: a quadruped's from where it has rolled to its chest.
        self.loose[(self.planted.any(axis=1).argmax() if own.four else 1) :, : 4 if own.four else 2] = False
        self._stood, self._stands = np.zeros_like(self.loose), np.zeros_like(self.loose)
        self._stood[1:], self._stands[:-1] = ~self.loose[:-1], ~self.loose[1:]
        self.ways = np.where(moved > 0.02 * own.height, moved, 0.0)
        at_keys = np.zeros((len(keys), 4), dtype=bool)
        at_keys[1:] |= self.planted
        at_keys[:-1] |= self.planted
        at_keys[0] = False
        postures = self._drawn(postures, at_keys)
        self._nearest = 0.0 if ranges is None else ranges.nearest(own)[:, 0]
        if not own.four:
            self._keep_out(surface, postures, ~at_keys[1:-1, 2:, None])
        if ranges is not None:
            eased = ranges.eased(own, postures)  # the first and the last are as they are
            postures.poles[1:-1], postures.turns[1:-1] = eased.poles[1:-1], eased.turns[1:-1]
        deltas, places = own.solve(postures)
        # As those of limbs that hang: else elbows and knees jump where these begin to stand.
        hang = slice(0 if own.four else 2, 4)
        postures.poles[1:-1, hang] = own.extract(deltas[1:-1], places[1:-1]).poles[:, hang]
        flexion = own.flexion(postures, deltas)
        # Arms that lie overhead are drawn in along the floor, by a way out to the side, not in front of the face;
        # others by a part of that way, as behind the back a shoulder lets none pass.
        up = q.rotate(flexion[0, :, 0], own.ways[:, 0])[:, 2] > 0.2
        self._aside = np.where(np.isin(np.arange(4), ARMS), np.where(up, 1.0, 0.0 if own.four else _OUT), 0.0)
        arrays = [*postures.arrays(), flexion]
        # Chest and head against what is below them: by themselves they might turn over the other way round.
        below, above = postures.trunk[..., :2, :], postures.trunk[..., 1:, :]
        arrays[1] = np.concatenate([below[..., :1, :], q.multiply(q.conjugate(below), above)], axis=-2)
        self._shapes = [array.shape[1:] for array in arrays]
        arrays = [q.ensure_continuity(a) if a.shape[-1] == 4 else a for a in arrays]
        self._values = np.concatenate([array.reshape(len(keys), -1) for array in arrays], axis=1)
        if ranges is not None:
            self._turn_back(ranges)

    def _turn_back(self, ranges) -> None:
        """Draw in limbs the other way round that would turn by almost half a turn to where no joint lets them."""
        flexion = self._shapes[-1]  # which comes last of the values
        upper, way = (self._values[i, -np.prod(flexion) :].reshape(flexion)[:, 0] for i in (0, 1))
        far, found = np.abs(dot(upper, way)[:, 0]) < _HALF_TURN, []
        for _ in range(2):  # the other way round, and back
            upper[far] *= -1.0
            beyond = ranges.excess(self.at(self.times[1] * np.array([0.3, 0.5, 0.7]))[0]).max(axis=0)
            found.append([beyond[ranges.rows == row].sum() for row in self.own.limbs[:, 0]])
        upper[far & (np.subtract(*found[::-1]) > _WORTH)] *= -1.0

    def _keep_out(self, surface: Surface, postures: Posture, free) -> None:
        """Bring arms that are free [k - 2, 2, 1] out of the trunk at all keys but the first and the last."""
        own = self.own
        rows, ways = own.limbs[2:, 1], own.ways[2:, 1]
        # A forearm with its hand, where this has no body of its own.
        far = [max(own.lower[i], surface.extent(row, 0.0, way)) for i, row, way in zip(ARMS, rows, ways, strict=True)]
        line = np.linspace(0.0, 1.0, 6)[:, None, None] * ways * np.array(far)[:, None]
        for _ in range(3):
            deltas, places = (a[1:-1] for a in own.solve(postures))
            points = places[:, None, rows] + q.rotate(deltas[:, None, rows], line)
            found = surface.ways_out(own, deltas, places, points.reshape(-1, 12, 3)).reshape(-1, 2, 3, 2, 3)
            longest = dot(found, found).argmax(axis=2, keepdims=True)
            outs = np.take_along_axis(found, longest, axis=2)[:, :, 0].swapaxes(0, 1) * free  # of elbows and wrists
            postures.poles[1:-1, 2:] = unit(postures.poles[1:-1, 2:] + outs[0] / own.upper[2:, None])
            postures.ends[1:-1, 2:] += outs[1]
            first = own.firsts(postures)[1:-1, 2:]
            way = postures.ends[1:-1, 2:] - first
            far = np.linalg.norm(way, axis=-1, keepdims=True) / (own.upper + own.lower)[2:, None] / REACH
            postures.ends[1:-1, 2:] = first + way / np.maximum(far, 1.0)

    def _sampled(self, t) -> tuple[Posture, np.ndarray, np.ndarray, np.ndarray]:
        """Postures [f], flexion [f, 4, 3, 4], interval [f] and share of it [f] at times [f]."""
        times, values = self.times, self._values
        i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        length = (times[i + 1] - times[i])[:, None]
        u = np.clip((t[:, None] - times[i][:, None]) / length, 0.0, 1.0)
        m = slopes(times, values)
        mixed = (1 + 2 * u) * (1 - u) ** 2 * values[i] + u * (1 - u) ** 2 * length * m[i]
        mixed += u * u * (3 - 2 * u) * values[i + 1] + u * u * (u - 1) * length * m[i + 1]
        parts = np.split(mixed, np.cumsum([int(np.prod(shape)) for shape in self._shapes[:-1]]), axis=1)
        arrays = [part.reshape(-1, *shape) for part, shape in zip(parts, self._shapes, strict=True)]
        arrays = [q.normalize(array) if array.shape[-1] == 4 else array for array in arrays]
        arrays[3] = unit(arrays[3])
        for part in (1, 2):
            arrays[1][:, part] = q.multiply(arrays[1][:, part - 1], arrays[1][:, part])
        return Posture(*arrays[:-1]), arrays[-1], i, u[:, 0]

    def at(self, t, lift=None) -> tuple[np.ndarray, np.ndarray]:
        """Deltas [f, m, 4] and places [f, m, 3] at times [f], with trunk and limbs' ends raised by `lift` [f, 5]."""
        own, room = self.own, self.room
        posture, flexion, i, u = self._sampled(np.asarray(t, dtype=float))
        planted, loose = self.planted[i], self.loose[i]
        ends = posture.ends.copy()
        ends[..., 2] += _LIFTS * self.ways[i] * np.sin(np.pi * u)[:, None] ** 2
        least = np.array([0.6 * room.sole] * 2 + [0.7 * room.palm] * 2)
        reach = round(_EDGE * self.tempo * (len(t) - 1) / max(t[-1] - t[0], 1e-9))
        moves = (smooth_step(4.0 * u) * smooth_step(4.0 - 4.0 * u))[:, None] * ~planted
        ends[..., 2] += self._lacking(ends, least, moves, reach)
        lift = np.zeros((len(ends), 5)) if lift is None else lift
        hip = posture.hip + lift[:, :1] * Z
        drawn = self._drawn(replace(posture, hip=hip, ends=ends + lift[:, 1:, None] * Z), planted).hip
        # Limbs that become straight stop the hip within a frame: what is left of their reach takes the edge off.
        hip = hip + mean_around(drawn - hip, reach)
        posture = replace(posture, hip=hip, ends=ends)
        # A loose limb comes to stand, and begins to hang, at rest where the key has it, however the trunk moves.
        fast = _QUICK[int(own.four)]
        share = self._stood[i] * smooth_step(1.0 - fast * u[:, None])
        share += self._stands[i] * smooth_step(1.0 - fast * (1.0 - u[:, None]))
        hung, poles, turns = own.hung(posture, self._aside_of(flexion, i, u), own.firsts(posture))
        begun = np.where(i == 0, smooth_step(4.0 * u), 1.0)  # the pose that he lies in is as it is
        # Legs that are drawn ahead below the trunk raise it; a biped's where it rolls over them, on an even floor.
        faces_down = smooth_step(-2.0 * q.rotate(posture.trunk[:, 0], X)[:, 2]) * (self.floor.relief is None)
        rolls = begun if own.four else begun * faces_down
        low = self._lacking(hung - lift[:, :1, None] * Z, least, moves, reach) * loose
        low = rolls * low[:, : 4 if own.four else 2].max(axis=1)
        rise = _RAISES[int(own.four)] * mean_around(low[:, None], reach)
        posture, hung = replace(posture, hip=hip + rise * Z), hung + rise[:, None] * Z
        hangs = begun[:, None] * loose * (1.0 - share)
        across = 0.0 if own.four else self._across(replace(posture, ends=hung, poles=poles), hangs)
        hung += share[..., None] * (ends - hung)
        # What hangs is raised with the trunk, but where it lies on the floor.
        drop = loose * (1.0 - share) * lift[:, :1]
        low, alone = (self._lacking(hung - way[..., None] * Z, least, moves, reach) for way in (0.0 * drop, drop))
        lift = lift[:, 1:] - np.clip(drop - alone + low, 0.0, lift[:, 1:])
        low, lift = (self._with_other(array, across) for array in (low, lift))
        hung[..., 2] += low
        both = (hung, ends), (poles, posture.poles), (turns, posture.turns)
        ends, poles, turns = (np.where(loose[..., None], *pair) for pair in both)
        ends = self._clear_toes(ends + lift[..., None] * Z, turns, moves[:, :2], reach)
        posture = replace(posture, ends=ends, poles=poles, turns=turns)
        # A foot that swings by its hip keeps as far off as its knee bends.
        way = own.lasts(posture) - own.firsts(posture)
        near = np.linalg.norm(way, axis=-1)
        over = reached_over(np.maximum(self._nearest - near, 0.0), reach) * moves * ~loose
        posture = replace(posture, ends=ends + way * (over / np.maximum(near, 1e-9))[..., None])
        if not own.four:
            posture = self._clear_knees(posture, begun[:, None] * (loose | [True, True, False, False]))
        return own.solve(posture)

    def _aside_of(self, flexion, i, u) -> np.ndarray:
        """Flexion with the way of arms that were overhead led out to the side."""
        share = (np.sin(np.pi * u) ** 2 * (i == 0))[:, None] * self._aside
        flexion = flexion.copy()
        upper = flexion[..., 0, :]
        way = q.rotate(upper, self.own.ways[:, 0])
        # Across the trunk is along the floor, for one who lies.
        aside = unit(np.stack([np.zeros(way.shape[:2]), SIGNS + 0.0 * way[..., 1], 0.3 * way[..., 2]], axis=-1))
        share = share * smooth_step(1.0 + dot(way, aside))[..., 0]  # none on the far side, where it would flip
        flexion[..., 0, :] = q.multiply(q.power(q.shortest_arc(way, aside), share), upper)
        return flexion

    def _across(self, posture: Posture, share) -> np.ndarray:
        """By what share [f, 1] of shares [f, 4] one shank lies over the other one and has to be raised with it."""
        own, line = self.own, np.linspace(0.0, 1.0, 4)[:, None]
        ends = own.solve(posture)[1][:, own.limbs[:2, 1:3], :2]
        left, right = np.moveaxis(ends[:, :, :1] + line * (ends[:, :, 1:] - ends[:, :, :1]), 1, 0)
        off = np.linalg.norm(left[:, :, None] - right[:, None], axis=-1).min(axis=(1, 2))
        return (smooth_step(2.0 - off / (_ASTRIDE * self.room.knee)) * share[:, :2].min(axis=1))[:, None]

    def _with_other(self, raised, share) -> np.ndarray:
        """What limbs are raised by [f, 4], legs by a share [f, 1] of what the other one is."""
        both = raised.copy()
        both[:, :2] = np.maximum(both[:, :2], share * both[:, 1::-1])
        return both

    def _lacking(self, points, least, moves, reach: int) -> np.ndarray:
        """How much points [f, k, 3] are too low for so much over the floor; by a share [f, k] gently over its edges."""
        low = np.maximum(self.floor.under(points) + least - points[..., 2], 0.0)
        return low if self.floor.relief is None else low + moves * (reached_over(low, 2 * reach) - low)

    def _clear_toes(self, ends, turns, moves, reach: int) -> np.ndarray:
        """Ankles raised by what toes are below the floor."""
        own, ends = self.own, ends.copy()
        for i in LEGS:
            foot, toe = own.limbs[i, 2:]
            if toe >= 0:
                tip = ends[:, i] + q.rotate(turns[:, i], own.joints[toe] - own.joints[foot] - own.tips[i])
                ends[:, i, 2] += self._lacking(tip[:, None], 0.008 * own.height, moves[:, i : i + 1], reach)[:, 0]
        return ends

    def _clear_knees(self, posture: Posture, share) -> Posture:
        """Poles turned outwards by a share [f, 4] as far as knees and elbows would be in the floor.

        Not those that point inwards: turned, they would flip. There the trunk is raised."""
        own, floor = self.own, self.floor
        first, knees = own.firsts(posture), own.solve(posture)[1][:, own.limbs[:, 1]]
        forward = unit(own.lasts(posture) - first)
        middle = first + forward * dot(knees - first, forward)
        bend, up = knees - middle, Z - forward * forward[..., 2:]
        radius, steep = (np.linalg.norm(v, axis=-1, keepdims=True) for v in (bend, up))
        pole, up = bend / np.maximum(radius, 1e-9), up / np.maximum(steep, 1e-9)
        out = q.cross(forward, up) * np.array([1.0, -1.0, -1.0, 1.0])[:, None]
        low = floor.under(middle) + np.repeat((self.room.knee, self.room.elbow), 2) - middle[..., 2]
        least = np.clip(low[..., None] / np.maximum(radius * steep, 1e-9), -2.0, 0.95)
        over = least - dot(pole, up)
        height = np.minimum(least + 0.5 * (np.hypot(over, _SOFT) - over), 1.0)
        turned = height * up + np.sqrt(1.0 - height**2) * out
        bent = smooth_step(radius / (0.1 * (own.upper + own.lower)[:, None])) * smooth_step(steep / 0.3)
        bent = bent * smooth_step(0.5 + dot(pole, out)) * share[..., None]
        # By a turn: on a straight way from down to up it would flip.
        angle = np.arctan2(dot(forward, q.cross(pole, turned)), dot(pole, turned))
        return replace(posture, poles=q.rotate(q.from_axis_angle(forward, (bent * angle)[..., 0]), pole))

    def _drawn(self, posture: Posture, planted) -> Posture:
        """What stands on the floor draws the hip, and with it the trunk, into its reach."""
        own = self.own
        lengths = (own.upper + own.lower)[:, None] * REACH
        offsets, hip, lasts = own.firsts(posture) - posture.hip[:, None], posture.hip.copy(), own.lasts(posture)
        for _ in range(10):
            moved = False
            for k in range(4):
                way = lasts[:, k] - offsets[:, k] - hip
                far = np.linalg.norm(way, axis=-1, keepdims=True)
                over = np.maximum(far - lengths[k], 0.0) * planted[:, k : k + 1]
                hip += way / np.maximum(far, 1e-9) * over * 0.7
                moved |= bool(over.max() > 1e-3 * own.height)
            if not moved:
                break
        return replace(posture, hip=hip)

    def stretched(self, deltas) -> Course:
        """Retime: intervals stretched until no joint, trunk, hip, hand or foot is faster than its bound.

        `deltas` [m, 4] of the pose that one lies in: what the first key misses of them comes on top as it dies away."""
        own, tempo = self.own, self.tempo
        missed = q.angle_between(*(_joints_of(own, d) for d in (deltas, self.at(np.zeros(1))[0][0])))
        size = own.height / HEIGHT
        limit = np.array([_HIP, *[_FOOT] * 2, *[_HAND] * 2]) * size / tempo
        first = np.diff(self.times)
        for _pass in range(5):
            t = np.arange(0.0, self.times[-1] + tempo / _RATE, tempo / _RATE)
            deltas, places = self.at(t)
            local = _joints_of(own, deltas)
            rows = [0, own.chest, *own.limbs[:, 0], *own.limbs[:, 1]]
            spins = q.angle_between(local[:-1, rows], local[1:, rows]) * _RATE
            spins += np.diff(smooth_step(t / (SETTLED * tempo)))[:, None] * _RATE * missed[rows]
            moves = np.linalg.norm(np.diff(places[:, [0, *own.limbs[:, 2]]], axis=0), axis=-1) * _RATE / tempo
            sinks = -np.diff(places[:, 0, 2]) * _RATE / tempo
            i = np.clip(np.searchsorted(self.times, (t[1:] + t[:-1]) / 2, side="right") - 1, 0, len(first) - 1)
            moves[i == 0] *= _DRAGGED
            fastest = (spins / ([_PELVIS] + [_JOINT] * 9)).max(axis=1), (moves / limit).max(axis=1)
            over = np.maximum.reduce([*fastest, sinks / (_SINK * size / tempo)])
            grow = np.ones(len(first))
            np.maximum.at(grow, i, over)
            if grow.max() < 1.03:
                break
            steps = np.minimum(np.diff(self.times) * np.clip(grow, 1.0, 1.5), _LONGEST * first)
            self.times = np.concatenate([[0.0], np.cumsum(steps)])
        return self
