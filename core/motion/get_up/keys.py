"""The key postures of getting up, in lengths of the character's own limbs, and what they are written from: the floor,
the body's surface and the ranges of its joints.

All are seen from the floor below the hips of one who lies there: x ahead, y left, z up. Angles are in degrees, times
those of a man of 1.8 m under the Earth's gravity. He rises over his left foot; the plan mirrors what is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from ... import quaternion as q
from ...errors import RagdollError
from ...ragdoll.joints import constraints, limits
from ...ragdoll.recovery.states import HEIGHT
from ..biped import LEGS, SIGNS, Biped, Posture, X, Y, Z, dot, unit

_EDGE = 3  # cells: so near to a step down limbs are not kept over the step
_SWIVEL = 10.0  # [deg] from one trial of where a knee points to the next
_TORN = np.radians(45.0)  # beyond its range a joint is on the way: drives that pull there against its limits tear it
_ROLLED = 40.0  # [deg] farther a quadruped lies on its side, or on its back
_KEPT = 0.1  # of an angle that a knee is turned by: what it costs, against as much beyond a range


@dataclass(frozen=True, eq=False)
class Relief:
    """What stands on a floor, and what is over it, as square grids in the plan frame, x first."""

    heights: np.ndarray  # over the floor's plane [k, k] [m]; inf: a wall, -inf: there is no floor
    roofs: np.ndarray  # of the lowest thing above, likewise; inf: nothing
    corner: np.ndarray  # x and y of the first cell's middle [2] [m]
    cell: float  # size of a cell [m]
    ground: np.ndarray  # the heights without other characters, on whom nothing is planted [k, k] [m]

    @cached_property
    def lows(self) -> np.ndarray:
        """The lowest heights near each cell [k, k]."""
        padded = np.pad(self.heights, _EDGE, mode="edge")
        return np.lib.stride_tricks.sliding_window_view(padded, [2 * _EDGE + 1] * 2).min(axis=(2, 3))

    def at(self, grid: np.ndarray, points) -> np.ndarray:
        """Values [..] of a grid under points [.., 3]; beyond its edge those there."""
        cells = np.clip(np.rint((points[..., :2] - self.corner) / self.cell).astype(int), 0, len(grid) - 1)
        return grid[cells[..., 0], cells[..., 1]]


@dataclass(frozen=True, eq=False)
class Floor:
    """A plane with what stands on it, in the plan frame or in one that stands elsewhere."""

    height: float  # at the origin [m]
    slope: tuple = (0.0, 0.0)  # rise along x and y
    relief: Relief | None = None
    place: tuple = (q.identity(), np.zeros(3))  # turn [4] and origin [3] of the frame, as the relief's own has it
    base: float = 0.0  # what of the relief's heights its plane goes through [m]

    def plane(self, points) -> np.ndarray:
        """Its plane's height under points [.., 3]."""
        return self.height + points[..., 0] * self.slope[0] + points[..., 1] * self.slope[1]

    def over(self, points, what: str = "heights") -> np.ndarray:
        """How much higher than the plane are the relief's heights (roofs, lows, ground) at points [.., 3]."""
        if self.relief is None:
            return np.full(points.shape[:-1], np.inf if what == "roofs" else 0.0)
        turn, origin = self.place
        return self.relief.at(getattr(self.relief, what), q.rotate(turn, points) + origin) - self.base

    def under(self, points) -> np.ndarray:
        """The height under points [.., 3] that all is kept above: of the plane, or of what is lower near there."""
        return self.plane(points) + np.minimum(self.over(points, "lows"), 0.0)

    def seen_from(self, turn, origin) -> Floor:
        """From a frame that stands turned [4] about the vertical at a point [3] of what stands there."""
        slope = q.rotate(q.conjugate(turn), np.array([*self.slope, 0.0]))
        base = float(origin[2] - self.plane(origin))
        return Floor(0.0, (float(slope[0]), float(slope[1])), self.relief, (turn, origin), base)

    @property
    def tilt(self) -> np.ndarray:
        """The rotation [4] from level to along the floor."""
        return q.shortest_arc(Z, unit(np.array([-self.slope[0], -self.slope[1], 1.0])))


@dataclass(frozen=True, eq=False)
class Surface:
    """Points of a body's surface."""

    rows: np.ndarray  # index of the biped's bone that each is fixed to [p]
    offsets: np.ndarray  # from that bone's joint in bind pose, in the character's axes [p, 3], [m]
    radii: np.ndarray  # of balls around them [p], [m]

    def extent(self, row, joint, direction) -> float:
        """How far a bone's points reach in a direction, with its joint there; minus infinity where there are none."""
        own = self.rows == row
        return float(((self.offsets[own] + joint) @ direction + self.radii[own]).max()) if own.any() else -np.inf

    def depths(self, own: Biped, deltas, places, floor: Floor) -> np.ndarray:
        """How deep [.., 7] [m] trunk, limbs and a biped's knees are in the floor in poses [.., m, 4], [.., m, 3].

        Less than 0 above it, minus infinity without points. A limb is what moves with its end: hands and feet, which
        may have no bodies of their own, too."""
        points = places[..., self.rows, :] + q.rotate(deltas[..., self.rows, :], self.offsets)
        found = self.radii + floor.plane(points) + floor.over(points) - points[..., 2]
        of = np.zeros(len(self.rows), dtype=int)
        for i, (_upper, lower, end, toe) in enumerate(own.limbs.tolist()):
            on, far = self.rows == lower, self.offsets @ own.ways[i, 1] > 0.5 * own.lower[i]
            of[on & (i in LEGS and not own.four)] = i + 5
            of[(on & far) | (self.rows == end) | ((self.rows == toe) & (i in LEGS))] = i + 1
        parts = [found[..., of == i] for i in range(7)]
        return np.stack([np.max(part, axis=-1, initial=-np.inf) for part in parts], axis=-1)

    def ways_out(self, own: Biped, deltas, places, points) -> np.ndarray:
        """What brings forearms' points [f, p, 3] out of columns of trunk, head and legs in poses [f, m, ..]."""
        result, thin = np.zeros_like(points), self.offsets[self.rows == own.limbs[2, 1]]
        thick = np.linalg.norm(np.cross(thin, own.ways[2, 1]), axis=-1).mean() if len(thin) else 0.0
        for row in {0, *own.spine, own.head, *own.limbs[:2, :2].ravel()} & set(self.rows.tolist()):
            on, turn = self.rows == row, deltas[:, row, None]
            low, high = (self.offsets - self.radii[:, None])[on], (self.offsets + self.radii[:, None])[on]
            low, high = low.min(axis=0) - thick, high.max(axis=0) + thick
            seen, half = q.rotate(q.conjugate(turn), points - places[:, row, None]) - (low + high) / 2, (high - low) / 2
            size = np.linalg.norm(seen[..., :2] / half[:2], axis=-1, keepdims=True)
            inside = np.maximum(1.0 / np.maximum(size, 0.1) - 1.0, 0.0) * (np.abs(seen[..., 2:]) < half[2])
            way = q.rotate(turn, seen * inside * (1.0, 1.0, 0.0))
            result = np.where(dot(way, way) > dot(result, result), way, result)
        return result


def joint_balls(own: Biped) -> Surface:
    """A surface where no bodies are known: balls at joints, in shares of the height."""
    knees, hands, toes = own.limbs[:, 1], own.limbs[2:, 2], [toe for toe in own.limbs[:2, 3] if toe >= 0]
    rows = np.array([0, own.chest, own.head, *knees, *hands, *toes])
    radii = own.height * np.array([0.05, 0.05, 0.045, *[0.025] * 4, *[0.012] * 2, *[0.006] * len(toes)])
    return Surface(rows, np.zeros((len(rows), 3)), radii)


@dataclass(frozen=True, eq=False)
class Ranges:
    """What a body's joints allow."""

    rows: np.ndarray  # index of the biped's bone that each moves [k]
    above: np.ndarray  # and of that which it hangs on [k]
    frames: np.ndarray  # the joints' own in bind pose, in the character's axes [k, 4]
    bounds: tuple  # type, least and largest angles of each, as in `limits.excess` [k]

    def excess(self, deltas) -> np.ndarray:
        """How far poses [.., m, 4] are beyond it, or of what of it physics grants [.., k] [rad]."""
        turned = q.multiply(q.conjugate(deltas[..., self.above, :]), deltas[..., self.rows, :])
        turned = q.multiply(q.conjugate(self.frames), q.multiply(turned, self.frames))
        found = np.zeros(turned.shape[:-1])
        for i, bounds in enumerate(self.bounds):
            held = constraints.excess(constraints.plan(*bounds), turned[..., i, :]).reshape(found.shape[:-1])
            found[..., i] = np.maximum(limits.excess(*bounds, turned[..., i, :]), np.minimum(held, _TORN))
        return found

    def check(self, own: Biped, deltas) -> None:
        """Raises RagdollError: poses [f, m, 4] go far beyond it, farther than the first one is; names the bone."""
        excess = self.excess(deltas)
        for row, first, beyond in zip(self.rows, excess[0], excess.max(axis=0), strict=True):
            if beyond - first > _TORN:
                bone, angle = own.rig.name(own.rows[row]), np.degrees(beyond)
                raise RagdollError(f'bone "{bone}" would be {angle:.0f} degrees beyond its joint\'s range')

    def hinges(self, own: Biped) -> np.ndarray:
        """The axes [4, 2, 3] that limbs bend about: those of hinges at knees and elbows, else the biped's own."""
        found = own.hinges.copy()
        for row, frame, (joint, low, high) in zip(self.rows, self.frames, self.bounds, strict=True):
            for limb in np.flatnonzero((own.limbs[:, 1] == row) & (joint == "HINGE")):
                axis = q.rotate(frame, np.eye(3)[limits.hinge_axis(low, high)])
                found[limb] = axis * np.sign(axis @ found[limb, 1])
        return found

    def nearest(self, own: Biped) -> np.ndarray:
        """How near [4, 1] ankles and wrists come to hips and shoulders by how far knees and elbows bend."""
        a, b, bends = own.upper, own.lower, np.full(4, np.pi)
        for row, (_joint, low, high) in zip(self.rows, self.bounds, strict=True):
            bends[own.limbs[:, 1] == row] = np.abs([low, high]).max()
        bends += np.arccos(dot(own.ways[:, 0], own.ways[:, 1])[:, 0].clip(-1.0, 1.0))  # of the bind pose
        return np.sqrt(a * a + b * b + 2.0 * a * b * np.cos(np.minimum(bends, np.pi)))[:, None]

    def eased(self, own: Biped, postures: Posture) -> Posture:
        """Postures [f] with knees turned about the lines between limbs' ends, and paws about the axis across.

        By as much as the joints ask for: that leaves what stands where it stands."""
        postures = self._least(own, postures, "poles", unit(own.lasts(postures) - own.firsts(postures)))
        across = q.rotate(postures.trunk[..., :1, :], Y) + 0.0 * postures.ends
        return self._least(own, postures, "turns", across) if own.four else postures

    def _least(self, own: Biped, postures: Posture, name: str, axes) -> Posture:
        """Postures [f] with their poles or turns turned about axes [f, 4, 3] to where joints are the least beyond."""
        angles = np.radians(np.arange(-180.0, 180.0, _SWIVEL))
        by = q.from_axis_angle(axes, np.broadcast_to(angles[:, None, None], (len(angles), *axes.shape[:-1])))
        tried = (q.rotate if name == "poles" else q.multiply)(by, getattr(postures, name))
        spread = Posture(*(np.broadcast_to(array, (len(angles), *array.shape)) for array in postures.arrays()))
        beyond = self.excess(own.solve(replace(spread, **{name: tried}))[0])
        cost = np.stack([beyond[..., np.isin(self.rows, limb)].sum(axis=-1) for limb in own.limbs], axis=-1)
        if name == "turns":  # no ankle comes nearer to the floor
            high = -q.rotate(tried, unit(own.tips))[..., 2]
            cost += 10.0 * (high < np.minimum(high[len(angles) // 2], 0.9) - 1e-6)
        best = np.argmin(cost + _KEPT * np.abs(angles)[:, None, None], axis=0)
        return replace(postures, **{name: np.take_along_axis(tried, best[None, ..., None], axis=0)[0]})


@dataclass(frozen=True, eq=False)
class Clearances:
    """Heights of joints over the floor that the body's surface leaves, and its lengths, for writing key postures."""

    front: float  # hip joints of one who lies on his face, or of a quadruped on its chest
    back: float  # on his back, or of a quadruped on its side
    knee: float
    palm: float  # wrist of a flat hand
    sole: float  # ankle of a flat foot
    tuck: float  # ankle of a foot on its tucked toes
    apart: float  # half of how far feet are from each other at least, so that thighs do not meet

    @staticmethod
    def of(own: Biped, surface: Surface) -> Clearances:
        """Of a character. What its surface does not tell are shares of its height."""
        h, trunk = own.height, [0, *own.spine]
        foot, toe = own.limbs[0, 2:]
        length = np.linalg.norm(own.joints[toe] - own.joints[foot]) if toe >= 0 else 0.09 * h

        def reach(rows, start, direction, usual):
            """How far bones reach beyond a joint: not much less than usual, and not more than a costume does."""
            found = [surface.extent(row, own.joints[row] - start, direction) for row in rows]
            return float(np.clip(max(found), 0.5 * usual, usual + 0.13 * h)) if max(found) > 0.0 else usual

        if own.four:
            shoulder, tips = own.joints[own.limbs[2, 0]] - own.hip0, own.joints[own.limbs[:, 2]] + own.tips
            belly = max(reach(trunk, own.hip0, -Z, 0.13 * h), 0.03 * h - shoulder[2])
            side = max(reach(trunk, own.hip0, Y, 0.1 * h), 0.06 * h + max(own.hips, own.shoulder))
            rows = ([row for row in own.limbs[0, 2:] if row >= 0], own.limbs[2, 2:3])
            sole, palm = (reach(rows[i], tips[2 * i], -Z, own.sole) for i in range(2))
            return Clearances(belly, side, 0.035 * h, palm, sole, sole, own.hips)
        sole = reach([row for row in own.limbs[0, 1:] if row >= 0], own.joints[foot], -Z, own.sole)

        def stiff(limb, direction, usual):
            """How far a limb goes on beyond a wrist or an ankle, where hand or foot have no bodies of their own."""
            _first, middle, end, _extra = own.limbs[limb]
            far = surface.extent(middle, own.joints[middle] - own.joints[end], direction)
            return usual if end in surface.rows else float(np.clip(far, usual, 0.2 * h))

        def aside(leg):
            """Where a foot is, whose knee is aside as in bind pose, or less as far as its thigh leaves room."""
            (first, knee), side = own.joints[own.limbs[leg, :2], 1] * SIGNS[leg], (1.0, SIGNS[leg], 1.0)
            points = surface.offsets[surface.rows == own.limbs[leg, 0]] * side
            low = points[points[:, 2] < -0.2 * own.upper[leg]]
            room = np.clip((first + low[:, 1]) / -low[:, 2], 0.0, None).min(initial=1.0) * own.upper[leg]
            return 2.0 * (knee - room) - own.hips

        return Clearances(
            front=reach(trunk, own.hip0, X, 0.065 * h), back=reach(trunk, own.hip0, -X, 0.065 * h), sole=sole,
            knee=float(np.clip(surface.extent(own.limbs[0, 1], np.zeros(3), X), 0.035 * h, 0.06 * h)),
            palm=stiff(2, own.ways[2, 1], 0.025 * h), tuck=stiff(0, X, max(0.8 * length, 0.5 * sole) + 0.01 * h),
            apart=float(max(own.hips, *(aside(leg) / 1.2 for leg in LEGS))),
        )  # fmt: skip


def turned(yaw=0.0, pitch=0.0, roll=0.0) -> np.ndarray:
    """A delta [4] of angles in degrees: rolled about x, pitched (ahead positive) about y, turned about z."""
    parts = (q.from_axis_angle(axis, np.radians(angle)) for axis, angle in ((X, roll), (Y, pitch), (Z, yaw)))
    return reduce(lambda turn, part: q.multiply(part, turn), parts)


@dataclass(frozen=True, eq=False)
class Key:
    """A posture to go through."""

    name: str
    seconds: float  # from the key before
    posture: Posture


class Author:
    """Writes the key postures of a character that gets up, a biped over its left foot; see the module's text."""

    def __init__(self, own: Biped, room: Clearances) -> None:
        self.own, self.room = own, room
        self.unit = own.height / HEIGHT
        self.fat = np.clip(10.0 * room.front / own.height - 1.0, 0.0, 1.0)  # whose thighs have less room

    def key(self, name, seconds, hip, trunk, legs, arms) -> Key:
        """A key of a hip's place, pitches or deltas of the trunk, and (end, pole, delta) of the limbs, left first."""
        deltas = [part if np.ndim(part) else turned(0.0, part) for part in trunk]
        ends, poles, turns = zip(*legs, *arms, strict=True)
        ends, poles = np.array(ends, float), unit(np.array(poles, float))
        posture = Posture(np.array(hip, float), np.stack(deltas), ends, poles, np.stack(turns), q.identity((4,)))
        return Key(name, seconds, posture)

    def pair(self, end, pole, delta) -> list:
        """The same for both sides: the y of places and poles counts outwards, `delta` is a function of the sign."""
        return [((end[0], s * end[1], end[2]), (pole[0], s * pole[1], pole[2]), delta(s)) for s in (1.0, -1.0)]

    def palm(self, s, yaw=0.0) -> np.ndarray:
        """A hand laid flat, fingers ahead."""
        return q.multiply(turned(yaw - 90.0 * s), q.shortest_arc(self.own.ways[2 if s > 0 else 3, 1], s * Y))

    def hanging(self, s, *angles) -> np.ndarray:
        """A hand that goes on in the line of a hanging forearm, turned by angles as in `turned`."""
        return q.multiply(turned(*angles), q.shortest_arc(self.own.ways[2 if s > 0 else 3, 1], -Z))

    def prone(self) -> list:
        """From lying on the face to half kneeling."""
        own, room = self.own, self.room
        thigh, shank, trunk, arm = own.upper[:2].mean(), own.lower[:2].mean(), own.trunk, own.arm
        x, y, tuck, beside = 0.9 * trunk, own.shoulder + 0.45 * arm, room.tuck, (own.hips + room.apart) / 2.0
        legs = self.pair((-0.96 * own.leg, room.apart * 1.2, tuck), (0, 0.2, -1), lambda s: turned(0, 85))
        arms = self.pair((x, y, room.palm), (-0.6, 0.6, 0.8), self.palm)
        keys = [self.key("palms", 0.9, (0, 0, room.front), (90, 84, 62), legs, arms)]
        z = thigh * 0.98 + room.knee
        pitch = np.degrees(np.arccos(np.clip((0.75 * arm + room.palm - z) / trunk, -0.35, 0.75)))
        hip = x - 0.02 * arm - trunk * np.sin(np.radians(pitch))
        legs = self.pair((hip - shank * 0.97, room.apart * 1.15, tuck), (1, 0, -1), lambda s: turned(0, 80))
        keys.append(self.key("all fours", 0.9, (hip, 0, z), (pitch - 4, pitch + 2, pitch - 32), legs, arms))
        # No thigh folds far enough to bring a foot between the hands.
        arms = self.pair((hip + 0.3 * arm, beside + 0.1 * arm, z), (-1, 0.6, 0), lambda s: self.palm(s, -10 * s))
        keys.append(self.key("kneel", 0.75, (hip, 0, z), (10, 24, 12), legs, arms))
        return [*keys, *self.kneel(hip + 0.05 * thigh, hip + 0.68 * thigh, legs[1])]

    def supine(self, sitting: bool) -> list:
        """From lying on the back, or sitting, to half kneeling."""
        own, room, fat = self.own, self.room, self.fat
        trunk, arm, leg, wide = own.trunk, own.arm, own.leg, own.shoulder
        foot = 0.6 * leg  # nearer, hips fold to where their joints end
        legs = self.pair((foot, room.apart * 1.2, room.sole), (0, 0.2, 1), lambda s: turned(6 * s))
        arms = self.pair((0.8 * arm - trunk, wide + 0.3 * arm, room.palm), (-0.4, 1, 0.3), lambda s: self.palm(s, 180))
        keys = [] if sitting else [self.key("knees up", 0.9, (0, 0, room.back), (-88, -80, -52), legs, arms)]
        lean = np.degrees(np.arccos(np.clip((0.7 * arm + room.palm - room.back) / trunk, 0.45, 0.9)))
        hand = (-trunk * np.sin(np.radians(lean)) - 0.06 * arm, -wide - 0.35 * arm, room.palm)
        up = ((0.3 * leg, wide + 0.3 * arm, 0.8 * arm + room.palm - 0.09 * trunk), (-0.3, 1, -0.5))
        arms = [(*up, self.hanging(1, 0, -70)), (hand, (-0.5, -1, 0.2), self.palm(-1, 150))]
        trunks = (-0.9 * lean, turned(-15, -0.75 * lean, 10), turned(8, -5))
        keys.append(self.key("sit", 0.9, (0, 0, room.back * 1.05), trunks, legs, arms))
        # Both feet stay where they are: no hip turns far enough to bring a leg under a body that a hand bears.
        hands = (foot + 0.2 * arm, wide + 0.35 * arm, 0.6 * leg)
        arms = self.pair(hands, (-0.6, 1, -0.3), lambda s: self.hanging(s, 0, -60))
        # The hand that bore goes ahead low, beside the foot: on its way to the other one's height it would swing out.
        low = (foot - 0.05 * arm, -wide - 0.3 * arm, 0.36 * leg)
        arms[1] = (low, (-1, -0.5, 0.2), self.hanging(-1, 0, -25))
        legs = [(end, (1, 0.3 * s, 0.4), delta) for (end, _pole, delta), s in zip(legs, (1, -1), strict=True)]
        hip = (foot - (0.3 - 0.25 * fat) * leg, 0, (0.6 + 0.3 * fat) * leg)
        keys.append(self.key("squat", 0.85, hip, (19 * fat - 16, 46 - 36 * fat, 14), legs, arms))
        z = 0.74 * leg + room.sole
        arms = self.pair((foot, wide + 0.25 * arm, z), (-1, 0.5, 0), lambda s: self.hanging(s, 0, -35))
        keys.append(self.key("rise", 0.6, (foot - 0.13 * leg, 0, z), (28, 46, 22), legs, arms))
        return keys

    def four(self, roll: float) -> list:
        """A quadruped's, from lying to standing over paws that stay: to the chest, the front up, then the rear.

        Rolled [deg] over farther it draws in its legs on its side first: below it they would raise it on the way."""
        own, room, size = self.own, self.room, np.linalg.norm(self.own.tips, axis=1)[:, None]
        first, paw = (own.joints[own.limbs[:, 0]] - own.hip0, own.joints[own.limbs[:, 2]] - own.hip0 + own.tips)
        toes = np.linalg.norm(own.joints[own.limbs[:, 3]] - own.hip0 - paw, axis=1, keepdims=True)
        hind = np.arange(4)[:, None] < 2
        ahead = unit(X - np.where(hind, 0.2, 0.06) * Z)
        level = hind & (toes < 1e-6 * own.height)  # toes that stand, however the foot does
        poles = unit(np.where(hind, X, -X) + 0.6 * Z)
        floor = np.array([room.sole, room.sole, room.palm, room.palm])
        high, least = room.sole - paw[:2, 2].mean(), 0.04 * own.height

        def key(name, seconds, hip, pitch, ends, ways):
            turns = np.where(size > 0.0, q.shortest_arc(unit(own.tips), ways), q.identity((4,)))
            ties = np.where(level, q.conjugate(turns), q.identity((4,)))
            trunk = np.stack([turned(0, share * pitch) for share in (-0.9, -1.0, -0.4)])
            return Key(name, seconds, Posture(np.array(hip), trunk, ends, poles, turns, ties))

        # Folded as far as hips and shoulders allow, from bind pose.
        folded = own.upper[:, None] * q.rotate(np.where(hind, turned(0, -50), turned(0, 8)), own.ways[:, 0])
        low = max(room.front, 0.48 * high, least - folded[0, 2])
        pitch = np.degrees(np.arcsin(np.clip((least - folded[2, 2] - first[2, 2] - low) / own.trunk, 0.0, 0.4)))
        chest = key("chest", 1.4, (0.0, 0.0, low), pitch, first, ahead)
        knees = own.firsts(chest.posture) + folded
        drop = np.clip(knees[:, 2] - floor + ahead[:, 2] * size[:, 0], 0.0, own.lower)
        ends = knees + np.where(hind, -X, X) * np.sqrt(own.lower**2 - drop**2)[:, None] + ahead * size
        ends[:, 2] = floor
        keys = [replace(chest, posture=replace(chest.posture, ends=ends))]
        rise = 0.95 * (room.palm - paw[2, 2]) - 1.2 * low + 0.05 * first[2, 2]  # of the shoulders
        pitch = np.degrees(np.arcsin(np.clip(rise / own.trunk, 0.1, 0.7)))
        x = ends[0, 0] - paw[0, 0]
        front = ("front", 0.9, (0.25 * x, 0.0, 1.2 * low), pitch, ahead)  # lower, hocks would go beyond their joints
        for name, seconds, hip, pitch, feet in (front, ("rear", 0.8, (x, 0.0, 0.85 * high), -4.0, unit(own.tips))):
            legs = unit(ends - own.firsts(key(name, seconds, hip, pitch, ends, ahead).posture))
            keys.append(key(name, seconds, hip, pitch, ends, np.where(hind, feet, legs)))
        if abs(roll) > _ROLLED:
            turn = turned(roll=np.clip(roll, -90.0, 90.0))
            keys.insert(0, Key("side", 1.0, keys[0].posture.moved(turn, room.back * Z - q.rotate(turn, low * Z))))
        return keys

    def kneel(self, hip, foot, rear) -> list:
        """Half kneeling on the right leg where it is, and rising from there, with the left foot at `foot`."""
        own, room = self.own, self.room
        thigh, shank, arm, fat = own.upper[0], own.lower[0], own.arm, self.fat
        knee, aside = room.sole + shank * 0.98, (own.hips + room.apart) / 2.0
        z = thigh * 0.98 + room.knee + 0.4 * fat * own.leg  # thick, a shank on the floor has no room below its thigh
        front = ((foot, room.apart * 1.2, room.sole), (1, 0.15, 0.3), turned(6))
        on_knee = (foot - 0.05 * shank - 0.1 * arm, aside + 0.02 * self.unit, knee + room.knee + 0.12 * arm)
        beside = (hip + 0.35 * arm, -own.shoulder - 0.12 * arm, z + 0.05 * own.trunk)
        arms = [(on_knee, (-0.5, 1, 0.2), self.palm(1, -10)), (beside, (-1, -0.6, 0), self.hanging(-1, 0, -45))]
        keys = [self.key("half kneel", 0.75, (hip, 0, z), (11 - 16 * fat, 29 - 29 * fat, 9), [front, rear], arms)]
        end = (0.55 * rear[0][0] + 0.45 * foot, -room.apart * 1.1, room.tuck + 0.03 * own.leg)
        swing = (end, (1, -0.1, 0.1), turned(0, 45))
        hip = (foot - 0.38 * thigh, 0.25 * own.hips, 0.66 * own.leg + room.sole)
        # Near the knee and over the thigh: farther back the hip's rise would leave the hand within the thigh.
        on_knee = (foot + 0.02 * self.unit - 0.02 * arm, 1.05 * aside, knee - 0.03 * shank + room.knee + 0.34 * arm)
        beside = (hip[0] + 0.3 * arm, -own.shoulder - 0.15 * arm, hip[2] + 0.02 * own.trunk)
        arms = [(on_knee, (-0.5, 1, 0.1), self.palm(1)), (beside, (-1, -0.4, 0), self.hanging(-1, 0, -30))]
        keys.append(self.key("rise", 0.55, hip, (28 - 14 * fat, 46 - 32 * fat, 22), [front, swing], arms))
        return keys

    def stand(self, risen: Posture, stance: Posture) -> Key:
        """Upright, the left foot where it is and the right one where the animation wants it.

        Of a quadruped crosswise the front feet too."""
        own = self.own
        if own.four:
            stay, pairs = [[True], [False], [False], [True]], zip(risen.arrays()[2:], stance.arrays()[2:], strict=True)
            limbs = (np.where(stay, before, after) for before, after in pairs)
            return Key("stand", 0.65, Posture((risen.hip + stance.hip) / 2.0, stance.trunk, *limbs))
        front, rear = ((p.ends[i], p.poles[i], p.turns[i]) for p, i in ((risen, 0), (stance, 1)))
        # A foot that the animation has in the air bears nothing.
        bears = np.clip(1.0 - (rear[0][2] - front[0][2]) / (0.3 * own.leg), 0.0, 1.0)
        middle = front[0] + 0.5 * bears * (rear[0] - front[0])
        apart = np.linalg.norm((np.asarray(front[0]) - rear[0])[:2]) / 2.0
        z = min(front[0][2], rear[0][2]) + np.sqrt(max((0.955 * own.leg) ** 2 - apart**2, (0.6 * own.leg) ** 2))
        hand = (middle[0] + 0.12 * own.arm, own.shoulder + 0.2 * own.arm, z + own.trunk - 0.95 * own.arm)
        arms = self.pair(hand, (-1, 0.4, 0), lambda s: self.hanging(s, 0, -15, 8 * s))
        arms = [((end[0], end[1] + middle[1], end[2]), *more) for end, *more in arms]
        return self.key("stand", 0.65, (middle[0], middle[1], z), (6, 12, 10), [front, rear], arms)
