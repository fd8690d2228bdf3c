"""Weights that go over to 0 or 1 in a given time, told by events on the timeline.

Nothing is counted: the weight at a time is a function of the events up to that time, so that it is the same in any
order of playing. The calls have the meaning they have in P. Massoudi's article "The Perfect Look At System".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import RagdollError


@dataclass(frozen=True)
class WeightEvent:
    """A call at a time.

    Attributes:
        seconds: when.
        weight: what is set, or where the transition ends: 1 for enable, 0 for disable.
        duration: of the transition [s]; None: the weight is set at once.
        cancel_current_transition: whether a transition under way gives way to this one, from where it is; else this
            call is as if it had not been made. Setting always cancels.
    """

    seconds: float
    weight: float
    duration: float | None = None
    cancel_current_transition: bool = True


@dataclass(frozen=True)
class _Segment:
    """From a time on: the weight goes evenly from `start` to `end` within `duration`."""

    seconds: float
    start: float
    end: float
    duration: float

    def weight(self, seconds: float) -> float:
        if self.duration <= 0.0 or seconds >= self.seconds + self.duration:
            return self.end
        share = (seconds - self.seconds) / self.duration
        return self.start + share * (self.end - self.start)

    def remaining(self, seconds: float) -> float:
        return max(0.0, self.seconds + self.duration - seconds)


def set_weight(events: tuple, seconds: float, weight: float) -> tuple:
    """Events with one more: the weight is set, and a transition under way is cancelled.

    Raises:
        RagdollError: a weight outside 0..1, or a time that is no number.
    """
    if not 0.0 <= weight <= 1.0:
        raise RagdollError(f"A look-at weight must be in 0..1, got {weight:g}")
    return _with(events, WeightEvent(_time(seconds), float(weight)))


def enable(events: tuple, seconds: float, duration: float, cancel_current_transition: bool = True) -> tuple:
    """Events with one more: the weight goes to 1 within `duration` [s] from what it is at `seconds`.

    Raises:
        RagdollError: a duration below 0, or a time that is no number.
    """
    return _with(events, WeightEvent(_time(seconds), 1.0, _duration(duration), bool(cancel_current_transition)))


def disable(events: tuple, seconds: float, duration: float, cancel_current_transition: bool = True) -> tuple:
    """Likewise, to 0."""
    return _with(events, WeightEvent(_time(seconds), 0.0, _duration(duration), bool(cancel_current_transition)))


def weight(seconds: float, events: tuple, initial: float = 1.0) -> float:
    """The weight at a time; `initial` until the first event."""
    return _at(seconds, events, initial).weight(seconds)


def is_in_transition(seconds: float, events: tuple, initial: float = 1.0) -> bool:
    """Whether a transition is under way at a time; not at its very end."""
    return _at(seconds, events, initial).remaining(seconds) > 0.0


def time_to_finish(seconds: float, events: tuple, initial: float = 1.0) -> float:
    """What is left of the transition under way [s]; 0 when there is none."""
    return _at(seconds, events, initial).remaining(seconds)


def _at(seconds: float, events: tuple, initial: float) -> _Segment:
    """What goes on at a time. Of events at the same time the one stored later is the later one."""
    current = _Segment(-math.inf, initial, initial, 0.0)
    for event in sorted(events, key=lambda e: e.seconds):
        if event.seconds > seconds:
            break
        if event.duration is None:
            current = _Segment(event.seconds, event.weight, event.weight, 0.0)
        elif event.cancel_current_transition or current.remaining(event.seconds) <= 0.0:
            start = current.weight(event.seconds)
            # Where the weight is already there is nothing to wait for.
            duration = event.duration if start != event.weight else 0.0
            current = _Segment(event.seconds, start, event.weight, duration)
    return current


def _with(events: tuple, event: WeightEvent) -> tuple:
    return tuple(sorted([*events, event], key=lambda e: e.seconds))


def _time(seconds: float) -> float:
    if not math.isfinite(seconds):
        raise RagdollError(f"A look-at event needs a time, got {seconds}")
    return float(seconds)


def _duration(duration: float) -> float:
    if not 0.0 <= duration < math.inf:
        raise RagdollError(f"A look-at transition lasts 0 s or longer, got {duration}")
    return float(duration)
