"""Graphs: stepped from the first frame, the same however a frame is reached, and refused where they cannot work."""

from itertools import pairwise

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import quaternion
from core.errors import RagdollError
from core.motion.blend_space import Axis, BlendSpace1D
from core.motion.graph import ANY, Condition, Graph, GraphState, Playing, State, Transition, graph_without_faults
from core.motion.sources import BlendSpaceSource, ClipSource, PoseSource
from core.motion.sync import SyncGroup

SKELETON = human()
RNG = np.random.default_rng(0)
IDLE, JUMP = PoseSource(random_pose(RNG, (len(SKELETON),))), random_clip(RNG, SKELETON, 13, name="jump")
WALK, RUN = (random_clip(RNG, SKELETON, count, name=name) for count, name in ((25, "walk"), (17, "run")))
HIT = PoseSource(random_pose(RNG, (len(SKELETON),)))


def locomotion(**changes):
    """Idle, walk to run by speed, a jump that ends by itself, a reaction to a hit from anywhere."""
    moving = BlendSpaceSource(BlendSpace1D(Axis("speed", 1.0, 4.0), ["walk", "run"], [1.0, 4.0]),
                              SyncGroup([WALK, RUN]), ("speed",))  # fmt: skip
    settings = {
        "name": "Body",
        "parameters": {"speed": 0.0, "jump": False, "hit": False},
        "states": [State("idle", IDLE), State("move", moving), State("jump", ClipSource(JUMP, mode="ONCE")),
                   State("hit", HIT)],
        "transitions": [
            Transition(ANY, "hit", (Condition("hit"),), 0.0),
            Transition("hit", "idle", (Condition("time_in_state", ">=", 0.5), Condition("hit", "<")), 0.25),
            Transition("idle", "move", (Condition("speed", ">", 0.5),), 0.5),
            Transition("move", "idle", (Condition("speed", "<", 0.3),), 0.5),
            Transition("move", "jump", (Condition("jump"),), 0.25),
            Transition("jump", "move", (Condition("phase", ">=", 1.0),), 0.25),
        ],
    }  # fmt: skip
    return Graph(**{**settings, **changes})


def shot(frames=185):
    """Speeds that rise and fall, a jump and a hit."""
    return [
        {"speed": max(0.0, 3 * np.sin(frame / 30)), "jump": frame in (60, 61), "hit": 140 <= frame < 145}
        for frame in range(frames)
    ]


def test_the_shot_visits_every_state_and_conditions_decide():
    graph, inputs = locomotion(), shot()
    states = graph.run(inputs)
    visited = [s.current for s in states]
    order = [name for i, name in enumerate(visited) if i == 0 or visited[i - 1] != name]
    assert order == ["idle", "move", "jump", "move", "idle", "hit", "idle"]
    for before, after, values in zip(states, states[1:], inputs[1:], strict=False):
        if (before.current, after.current) == ("idle", "move"):
            assert values["speed"] > 0.5
        if (before.current, after.current) == ("move", "idle"):
            assert values["speed"] < 0.3
    jumps = [i for i, name in enumerate(visited) if name == "jump"]
    assert len(jumps) == JUMP.frame_count - 1 and jumps[0] == 60


def test_a_frame_is_the_same_however_it_is_reached():
    graph, inputs = locomotion(), shot()
    played = graph.run(inputs)
    assert graph.run(inputs) == played
    # From any recorded frame on, as after scrubbing back.
    for start in (3, 58, 66, 143):
        state = played[start]
        for frame in range(start + 1, start + 30):
            state = graph.step(state, inputs[frame])
            assert state == played[frame]
    again = GraphState(played[66].frame, tuple(Playing(**vars(p)) for p in played[66].playing))
    assert_same_bits(graph.pose(again, IDLE.held, inputs[66]), graph.pose(played[66], IDLE.held, inputs[66]))


def test_a_shot_that_begins_elsewhere_is_the_same_shot():
    graph, inputs = locomotion(), shot(100)
    for a, b in zip(graph.run(inputs), graph.run(inputs, first_frame=-1000), strict=True):
        assert graph.weights(a) == graph.weights(b) and b.frame == a.frame - 1000


def test_blends_take_their_time_and_weights_sum_to_1():
    graph, inputs = locomotion(), shot()
    for state in graph.run(inputs):
        weights = graph.weights(state)
        assert sum(w for _, w in weights) == pytest.approx(1)
        assert weights[-1][0] == state.current
    two = Graph("Two", {"go": 0}, [State("a", IDLE), State("b", HIT)], [Transition("a", "b", (Condition("go"),), 0.5)])
    states = two.run([{"go": f >= 5} for f in range(30)])
    shares = [dict(two.weights(s)).get("b", 0.0) for s in states]
    np.testing.assert_allclose(shares, np.clip((np.arange(30) - 5) / 12, 0, 1))
    assert_same_bits(two.pose(states[5], IDLE.held), IDLE.held)
    assert_same_bits(two.pose(states[17], IDLE.held), HIT.held)
    half = two.pose(states[11], IDLE.held)
    whole = quaternion.angle_between(IDLE.held.rotations, HIT.held.rotations)
    np.testing.assert_allclose(quaternion.angle_between(half.rotations, IDLE.held.rotations), whole / 2, atol=1e-9)


def test_an_interrupted_blend_goes_on_from_where_it_is():
    rng = np.random.default_rng(5)
    near, other = (PoseSource(near_pose(rng, IDLE.held, 0.3)) for _ in range(2))
    graph = Graph(
        "Three",
        {"x": 0},
        [State("a", IDLE), State("b", near), State("c", other)],
        [
            Transition("a", "b", (Condition("x", "==", 1),), 0.5),
            Transition("b", "c", (Condition("x", "==", 2),), 0.5),
            Transition("c", "a", (Condition("x", "==", 3),), 0.5),
        ],
    )
    xs = [0] * 3 + [1] * 4 + [2] * 4 + [3] * 5 + [0] * 30
    states = graph.run([{"x": x} for x in xs])
    poses = [graph.pose(s, IDLE.held) for s in states]
    assert max(len(s.playing) for s in states) == 4
    ends = [source.held.rotations for source in (IDLE, near, other)]
    widest = max(quaternion.angle_between(x, y).max() for x in ends for y in ends)
    assert widest < np.pi / 2
    # Each of up to three blends over 12 frames moves a bone by a twelfth of the widest angle, where they overlap.
    for a, b in pairwise(poses):
        assert quaternion.angle_between(a.rotations, b.rotations).max() < 3 * widest / 12
    assert len(states[-1].playing) == 1
    assert_close(poses[-1], IDLE.held, 1e-12)


def test_the_blend_space_s_phase_is_that_of_the_time_spent_in_it():
    graph = locomotion()
    inputs = [{"speed": 4.0}] * 60
    states = graph.run(inputs)
    assert states[1].current == "move" and states[1].playing[-1].phase == 0
    assert states[49].playing[-1].phase == pytest.approx(48 / 24 / RUN.length)
    phase = states[49].playing[-1].phase
    assert_close(graph.pose(states[49], IDLE.held, inputs[0]), RUN.at_phase(phase), 1e-9)


def test_a_clip_played_backwards_begins_at_its_end():
    for mode in ("ONCE", "LOOP"):
        source = ClipSource(JUMP, -1.0, mode)
        assert source.rate({}) == pytest.approx(-2.0)
        assert_same_bits(source.pose(-0.25, {}), JUMP.pose(9))
    assert_same_bits(ClipSource(JUMP, -1.0, "ONCE").pose(0.0, {}), JUMP.pose(12))


def test_states_without_a_source_show_the_pose_below():
    graph = Graph("Pass", {}, [State("below")])
    below = random_pose(np.random.default_rng(6), (len(SKELETON),))
    assert_same_bits(graph.pose(graph.start(), below), below)


def test_graphs_that_cannot_work_are_refused_by_name():
    a, b, c = State("a"), State("b"), State("c")
    cases = [
        (([],), '"G" has no states'),
        (([a, State("a")],), 'more than one state "a"'),
        (([a], [Transition("a", "walk")]), '"a" > "walk" of graph "G" needs a state "walk", which is missing'),
        (([a, b], [Transition("gone", "b")]), 'needs a state "gone", which is missing'),
        (([a, b], [Transition("a", "*")]), r'needs a state "\*"'),
        (([a, b], [Transition("a", "b", (Condition("fast"),))]), 'parameter "fast", which is missing'),
        (([a, b], [Transition("a", "b", (Condition("x", "~"),))]), 'compares by "~"'),
        (([a, b], [Transition("a", "b", (Condition("x", ">", np.nan),))]), '"x" with what is not a number'),
        (([a, b], [Transition("a", "b", (), -1.0)]), '"a" > "b" of graph "G" must blend for 0 s or more, got -1'),
        (([a, b], [Transition("a", "b"), Transition("b", "a")]), 'states "a" > "b" > "a" of graph "G" are cyclic'),
        (
            (
                [a, b, c],
                [
                    Transition("b", "c", (Condition("x", ">", 1),)),
                    Transition("c", "b", (Condition("x", "<", 2),)),
                ],
            ),
            '"b" > "c" > "b" of graph "G" are cyclic',
        ),
        (([a, b, c], [Transition("a", "b"), Transition("b", "c"), Transition("c", "a")]), '"a" > "b" > "c" > "a"'),
    ]
    for arguments, message in cases:
        with pytest.raises(RagdollError, match=message):
            Graph("G", {"x": 0.0}, *arguments)
    with pytest.raises(RagdollError, match='parameter "phase"'):
        Graph("G", {"phase": 0.0}, [a])


def test_a_graph_goes_on_without_its_faults_and_names_them():
    a, b, c = State("a"), State("b"), State("c")
    right = Transition("a", "b", (Condition("x", ">", 1),))
    wrong = [
        Transition("a", "gone"),
        Transition("b", "c", (Condition("y"),)),
        Transition("b", "c", (Condition("x", "~"),)),
        Transition("b", "c", (), -1.0),
    ]
    graph, faults = graph_without_faults("G", {"x": 0.0}, [a, b, c, State("b")], [wrong[0], right, *wrong[1:]], 24.0)
    assert list(graph.transitions) == [right] and [state.name for state in graph.states] == ["a", "b", "c"]
    assert len(faults) == 5
    for text, words in zip(faults, ('"b"', '"gone"', '"y"', '"~"', "-1"), strict=True):
        assert words in text and "left out" in text
    assert graph.step(graph.start(), {"x": 2.0}).current == "b"
    with pytest.raises(RagdollError, match="no states"):
        graph_without_faults("G", {}, [], [], 24.0)


def test_of_each_circle_the_transition_that_comes_last_is_left_out():
    a, b, c = State("a"), State("b"), State("c")
    ways = [Transition("b", "a"), Transition("a", "b"), Transition("b", "c"), Transition("c", "b")]
    graph, faults = graph_without_faults("G", {}, [a, b, c], ways, 24.0)
    assert list(graph.transitions) == [ways[0], ways[2]] and len(faults) == 2
    assert all("cyclic" in text and "is left out" in text for text in faults)
    same = Transition("a", "b")
    graph, _faults = graph_without_faults("G", {}, [a, b], [same, Transition("b", "a"), Transition("a", "b")], 24.0)
    assert graph.transitions[0] is same and {(t.source, t.target) for t in graph.transitions} == {("a", "b")}


def test_circles_that_something_stops_are_fine():
    a, b = State("a"), State("b")
    for back in (Condition("x", "<=", 1), Condition("time_in_state", ">", 0.2), Condition("phase", ">=", 1)):
        there_and_back = [Transition("a", "b", (Condition("x", ">", 1),)), Transition("b", "a", (back,))]
        graph = Graph("G", {"x": 0.0}, [a, b], there_and_back)
        state = graph.start()
        assert state.current == "a" and graph.step(state, {"x": 2.0}).current == "b"


def test_bad_input_is_named_and_the_state_before_is_still_there():
    graph = locomotion()
    state = graph.run(shot(20))[-1]
    with pytest.raises(RagdollError, match='Parameter "speed" of graph "Body" is not a number'):
        graph.step(state, {"speed": np.nan})
    with pytest.raises(RagdollError, match='"Body" has no parameter "sped"'):
        graph.step(state, {"sped": 1.0})
    assert graph.step(state, {"speed": 1.0}).frame == 20
    with pytest.raises(RagdollError, match='no state "gone"'):
        graph.step(GraphState(0, (Playing("gone", 0),)), {})
