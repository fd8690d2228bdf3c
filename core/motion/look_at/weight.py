"""Weights that go over to 0 or 1 in a given time, told by events on the timeline.

Nothing is counted: the weight at a time is a function of the events up to that time, so that it is the same in any
order of playing. The calls have the meaning they have in P. Massoudi's article "The Perfect Look At System".
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import RagdollError


@dataclass(frozen=True)
class WeightEvent:
    """A call at a time. Raises RagdollError: a time that is no number, a weight outside 0..1, a duration below 0."""

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
    """The weight at a time, and what is left of the transition under way [s], 0 when there is none.

    Args:
        events: in any order; of events at the same time the one stored later is the later one.
        initial: the weight until the first event.
    """
    # The transition under way: from a time on the weight goes evenly from `start` to `end` within `duration`.
    begun, start, end, duration = -math.inf, initial, initial, 0.0

    def at(time: float) -> tuple[float, float]:
        left = max(0.0, begun + duration - time)
        return (end if left <= 0.0 else start + (time - begun) / duration * (end - start)), left

    for event in sorted(events, key=lambda event: event.seconds):
        if event.seconds > seconds:
            break
        weight, left = at(event.seconds)
        if event.duration is None:
            begun, start, end, duration = event.seconds, event.weight, event.weight, 0.0
        elif event.cancel_current_transition or left <= 0.0:
            # Where the weight is already there is nothing to wait for.
            duration = event.duration if weight != event.weight else 0.0
            begun, start, end = event.seconds, weight, event.weight
    return at(seconds)
