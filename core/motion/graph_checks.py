"""Refuses graphs whose states lead round in a circle at once: nothing would stop them from changing every frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import RagdollError

if TYPE_CHECKING:
    from .graph import Condition, Transition

# What has just been entered: no time has passed and nothing was played.
_ON_ENTRY = {"time_in_state": 0.0, "phase": 0.0}


def check_cycles(graph: str, states: Sequence[str], transitions: Sequence[Transition]) -> None:
    """Refuse circles of transitions whose conditions can all hold together on entry of each state.

    Idle to walk above a speed and back below it is a circle too, but no value is on both sides. Where the ranges
    overlap, the values in between would change the state on every frame.

    Raises:
        RagdollError: naming the states of the circle.
    """
    path = circle_of(states, transitions)
    if path:
        raise RagdollError(describe_circle(graph, path))


def describe_circle(graph: str, path: Sequence[Transition]) -> str:
    """What is wrong with a circle that `circle_of` found."""
    ends = [t.target for t in path]
    names = " > ".join(f'"{name}"' for name in [ends[-1], *ends])
    return (
        f'The states {names} of graph "{graph}" are cyclic: their conditions can all hold at once, so that it would '
        "change on every frame"
    )


def circle_of(states: Sequence[str], transitions: Sequence[Transition]) -> list[Transition]:
    """The transitions of a circle that `check_cycles` would refuse, in the order in which they are gone through; empty
    where there is none."""
    leaving = {
        name: [t for t in transitions if t.source in (name, "*") and t.target != name and _possible(t.conditions)]
        for name in states
    }
    for start in states:
        path = _circle(start, start, leaving, [], {start}, states.index)
        if path:
            return path
    return []


def _circle(start, here, leaving, path, seen, place) -> list[Transition] | None:
    """A way back to `start` through states that come after it, all of whose conditions can hold together."""
    for transition in leaving[here]:
        way = [*path, transition]
        if not _possible([condition for t in way for condition in t.conditions]):
            continue
        if transition.target == start:
            return way
        if transition.target in seen or place(transition.target) < place(start):
            continue
        found = _circle(start, transition.target, leaving, way, seen | {transition.target}, place)
        if found:
            return found
    return None


def _possible(conditions: Sequence[Condition]) -> bool:
    """Whether one value of each parameter meets all conditions."""
    by_parameter: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_parameter.setdefault(condition.parameter, []).append(condition)
    return all(_has_value(name, own) for name, own in by_parameter.items())


def _has_value(parameter: str, conditions: Sequence[Condition]) -> bool:
    low, high, open_low, open_high = -math.inf, math.inf, False, False
    if parameter in _ON_ENTRY:
        low = high = _ON_ENTRY[parameter]
    excluded = set()
    for condition in conditions:
        value = condition.value
        if condition.compare in (">", ">=", "=="):
            strict = condition.compare == ">"
            if value > low or (value == low and strict):
                low, open_low = value, strict
        if condition.compare in ("<", "<=", "=="):
            strict = condition.compare == "<"
            if value < high or (value == high and strict):
                high, open_high = value, strict
        if condition.compare == "!=":
            excluded.add(value)
    if low < high:
        return True
    return low == high and not open_low and not open_high and low not in excluded
