"""Transitions of a look-at's weight are a function of time and events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import RagdollError
from core.motion.look_at.weight import WeightEvent, weight_at

times = st.floats(0, 10)


def set_weight(events, seconds, value):
    return (*events, WeightEvent(seconds, value))


def enable(events, seconds, duration, cancel_current_transition=True, end=1.0):
    return (*events, WeightEvent(seconds, end, duration, cancel_current_transition))


def disable(*call):
    return enable(*call, end=0.0)


def weight(seconds, events, initial=1.0):
    return weight_at(seconds, events, initial)[0]


def time_to_finish(seconds, events):
    return weight_at(seconds, events)[1]


def is_in_transition(seconds, events):
    return time_to_finish(seconds, events) > 0.0


def test_idle():
    assert weight(3.0, ()) == 1.0
    assert weight(3.0, (), initial=0.25) == 0.25
    assert not is_in_transition(3.0, ())
    assert time_to_finish(3.0, ()) == 0.0


def test_disable_and_enable_go_evenly():
    events = disable((), 1.0, 2.0)
    assert [weight(t, events) for t in (0.5, 1.0, 1.5, 2.0, 3.0, 9.0)] == [1.0, 1.0, 0.75, 0.5, 0.0, 0.0]
    assert [is_in_transition(t, events) for t in (0.9, 1.0, 2.9, 3.0)] == [False, True, True, False]
    assert [time_to_finish(t, events) for t in (0.5, 1.0, 2.5, 4.0)] == [0.0, 2.0, 0.5, 0.0]
    events = enable(events, 4.0, 1.0)
    assert [weight(t, events) for t in (3.5, 4.5, 5.0)] == [0.0, 0.5, 1.0]


def test_a_new_transition_starts_where_the_old_one_is():
    events = enable(disable((), 0.0, 2.0), 1.0, 1.0)
    assert weight(1.0, events) == 0.5
    assert weight(1.5, events) == 0.75
    assert weight(2.0, events) == 1.0


def test_without_cancelling_a_call_during_a_transition_is_ignored():
    events = enable(disable((), 0.0, 2.0), 1.0, 1.0, cancel_current_transition=False)
    assert [weight(t, events) for t in (1.0, 1.5, 2.0, 5.0)] == [0.5, 0.25, 0.0, 0.0]
    # After it the same call counts.
    events = enable(disable((), 0.0, 2.0), 2.0, 1.0, cancel_current_transition=False)
    assert [weight(t, events) for t in (2.0, 2.5, 3.0)] == [0.0, 0.5, 1.0]


def test_setting_cancels_a_transition():
    events = set_weight(disable((), 0.0, 2.0), 1.0, 0.9)
    assert weight(0.99, events) == pytest.approx(0.505)
    assert weight(1.0, events) == weight(5.0, events) == 0.9
    assert not is_in_transition(1.5, events)
    assert time_to_finish(1.5, events) == 0.0


@given(st.lists(st.tuples(times, st.booleans(), st.floats(0, 3), st.booleans()), max_size=6), times)
def test_order_of_calls_does_not_matter_and_weights_stay_in_range(calls, now):
    calls = list({call[0]: call for call in calls}.values())
    forward, backward = (), ()
    for made, order in ((0, calls), (1, calls[::-1])):
        events = ()
        for time, on, duration, cancel in order:
            events = (enable if on else disable)(events, time, duration, cancel)
        if made:
            backward = events
        else:
            forward = events
    value = weight(now, forward)
    assert weight(now, backward) == value
    assert 0.0 <= value <= 1.0
    assert time_to_finish(now, backward) == time_to_finish(now, forward) >= 0.0
    # Later events change nothing before them.
    assert weight(now, set_weight(forward, now + 0.1, 0.5)) == value


@given(st.lists(st.tuples(times, st.booleans(), st.floats(0.1, 3), st.booleans()), max_size=6), times)
def test_weight_never_jumps_by_transitions(calls, now):
    events = ()
    for time, on, duration, cancel in calls:
        events = (enable if on else disable)(events, time, duration, cancel)
    assert abs(weight(now + 1e-6, events) - weight(now, events)) <= 1e-6 / 0.1 + 1e-9


def test_refusals():
    for call in (
        lambda: set_weight((), 0.0, 1.5),
        lambda: enable((), 0.0, -1.0),
        lambda: disable((), float("nan"), 1.0),
    ):
        with pytest.raises(RagdollError):
            call()
