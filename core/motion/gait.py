"""What the feet of an animation do: which stand, when the others land and where."""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from .balance import Body, Stride, dot

# Slower than the first speed, or than the second one and lower than so many ankles' heights, a foot stands; higher
# than so much of the leg over the lower one it never does.
SLOW, LOW_AND_SLOW, LOW, HIGH = 0.35, 0.8, 1.35, 0.4
LEVEL = 0.22  # [m/s] at 1.8 m: a foot is in the air whose ball, and an ankle that is low, go up or down faster
WINDOW, AHEAD, SMOOTH = 0.6, 2.0, 0.08  # [s] at 1.8 m: of the ground and of treadmills, looked ahead, of the pressure
MOST = 200  # frames of each of these, also where slow motion all but stops the time
TREADMILL = 0.3  # [m/s] at 1.8 m: a lowest foot that goes faster, under a hip that does not, is carried


class Sample(NamedTuple):
    """Hip and feet at a frame, left foot first; places on the ground are complex."""

    hip: complex
    heading: complex
    ankles: tuple
    heights: tuple  # of the ankles [m]
    tall: float  # height of the hip joints over the lower ankle [m]
    balls: tuple = ()  # heights of the balls of the feet [m], if both have toes


class Gait:
    """Strides of an animation, of which `sample` gives any whole frame."""

    def __init__(self, body: Body, seconds: float, sample: Callable[[int], Sample]) -> None:
        """seconds: from frame to frame."""
        self._body, self._seconds, self.sample = body, seconds, cache(sample)
        self.stands, self._pressure, self._low = cache(self._contacts), cache(self._borne), cache(self._lower)
        frames = (max(1, round(min(time * body.time / seconds, MOST))) for time in (WINDOW, AHEAD, SMOOTH))
        self._window, self._ahead, self._smooth = frames

    def stride(self, frame: float) -> Stride:
        """What the animation does at a frame, which need not be whole."""
        first = math.floor(frame)
        share, near = frame - first, math.floor(frame + 0.5)
        a, b = self.sample(first), self.sample(first + 1)
        stands = self.stands(near)
        changes = [self._change(k, first + 1, stands[k]) for k in (0, 1)]
        then = [self.sample(change) for change in changes]
        heading = _mixed(a.heading, b.heading, share)
        return Stride(
            _mixed(a.hip, b.hip, share),
            heading / abs(heading),
            tuple(_mixed(p, q, share) for p, q in zip(a.ankles, b.ankles, strict=True)),
            _mixed(self._pressure(first), self._pressure(first + 1), share),
            stands,
            tuple((change - frame) * self._seconds for change in changes),
            tuple(sample.ankles[k] for k, sample in enumerate(then)),
            tuple(sample.hip for sample in then),
            a.tall + share * (b.tall - a.tall),
            _mixed(a.tall + min(a.heights), b.tall + min(b.heights), share),
        )

    def _contacts(self, frame: int) -> tuple:
        """Which feet stand at a whole frame."""
        body = self._body
        speed = math.sqrt(body.size * body.gravity / 9.81)
        heights, ways = zip(*map(self._low, range(frame - self._window, frame + self._window + 1)), strict=True)
        low, carried = min(heights), self._treadmill(frame, sum(ways[:-1])) * speed
        before, now, after = map(self.sample, range(frame - 1, frame + 2))
        places, climbs = ((getattr(before, name), getattr(after, name)) for name in ("ankles", "heights"))
        rates, climbs = ([(b - a) / (2.0 * self._seconds) for a, b in zip(*each)] for each in (places, climbs))
        if carried:  # the ground of many a walk in its place goes unevenly, always with the foot that stands
            carried = max(rates, key=lambda rate: dot(rate, carried))
        balls = [abs(b - a) / (2.0 * self._seconds) for a, b in zip(before.balls, after.balls)] or (0.0, 0.0)
        result = []
        for k in (0, 1):
            rate = math.hypot(abs(rates[k] - carried), climbs[k]) / speed
            up = now.heights[k] - low
            level = balls[k] if up > body.ankle else min(abs(climbs[k]), balls[k])
            slow = rate < SLOW and up < HIGH * body.leg and level < LEVEL * speed
            result.append(bool(slow or (rate < LOW_AND_SLOW and up < (LOW - 1.0) * body.ankle)))
        return tuple(result)

    def _lower(self, frame: int) -> tuple:
        """Height of the lower ankle at a whole frame, and the way that the lower foot goes until the next one."""
        a, b = self.sample(frame), self.sample(frame + 1)
        k = 0 if a.heights[0] + b.heights[0] <= a.heights[1] + b.heights[1] else 1
        return min(a.heights), b.ankles[k] - a.ankles[k]

    def _treadmill(self, frame: int, moved: complex) -> complex:
        """Velocity of the ground under a walk in its place, by the lower feet's way, in parts of its speed; else 0."""
        unit = self._seconds * math.sqrt(self._body.size * self._body.gravity / 9.81)
        way = self.sample(frame + self._window).hip - self.sample(frame - self._window).hip
        carried, gone = moved / (2 * self._window) / unit, way / (2 * self._window) / unit
        return carried if abs(carried) > TREADMILL and abs(gone) < 0.5 * abs(carried) else 0j

    def _change(self, k: int, frame: int, stands: bool) -> int:
        """The next frame at which a foot stands that does not now, or the other way round."""
        coming = range(frame, frame + self._ahead)
        return next((near for near in coming if self.stands(near)[k] != stands), frame + self._ahead)

    def _borne(self, frame: int) -> complex:
        """Where the standing feet bear the body, smoothed, as weight goes over from one to the other."""
        total = 0j
        for near in range(frame - self._smooth, frame + self._smooth + 1):
            ankles, stands = self.sample(near).ankles, self.stands(near)
            total += ankles[stands.index(True)] if sum(stands) == 1 else 0.5 * (ankles[0] + ankles[1])
        return total / (2 * self._smooth + 1)


def _mixed(a, b, share: float):
    return a + share * (b - a)


def moved(stride: Stride, turn: complex, shift: complex) -> Stride:
    """A stride elsewhere: turned about the vertical by a unit number, then shifted."""
    points = {name: turn * getattr(stride, name) + shift for name in ("hip", "pressure")}
    points |= {name: tuple(turn * p + shift for p in getattr(stride, name)) for name in ("ankles", "places", "hips")}
    return stride._replace(heading=turn * stride.heading, **points)
