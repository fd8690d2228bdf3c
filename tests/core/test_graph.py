"""Graphs: stepped from the first frame, the same however a frame is reached, and refused where they cannot work."""

from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

import numpy as np
import pytest
from pose_samples import assert_close, assert_same_bits, human, near_pose, random_clip, random_pose

from core import quaternion
from core.motion import stack
from core.motion.blend_space import Axis, BlendSpace1D, SpacePlayer
from core.motion.graph import ClipSource, Condition, Graph, GraphInputs, GraphPlayer, SpaceSource, State, Transition
from refusals import refuses

SKELETON = human()


@dataclass
class PoseSource:
    """A single pose."""

    held: stack.LocalPose

    def rate(self):
        return 0.0

    def pose(self, _phase):
        return self.held


RNG = np.random.default_rng(0)
IDLE, JUMP = PoseSource(random_pose(RNG, (len(SKELETON),))), random_clip(RNG, SKELETON, 13, name="jump")
WALK, RUN = (random_clip(RNG, SKELETON, count, name=name) for count, name in ((25, "walk"), (17, "run")))
HIT = PoseSource(random_pose(RNG, (len(SKELETON),)))


def locomotion(**changes):
    """Idle, walk to run by speed, a jump that ends by itself, a reaction to a hit from anywhere."""
    space = BlendSpace1D(Axis("speed", 1.0, 4.0), ["walk", "run"], [1.0, 4.0])
    moving = SpaceSource(SpacePlayer("move", space, [WALK, RUN]))
    moving.weights = space.weights(4.0)
    settings = {
        "name": "Body",
        "parameters": {"speed": 0.0, "jump": False, "hit": False},
        "states": [State("idle", IDLE), State("move", moving), State("jump", ClipSource(JUMP, mode="ONCE")),
                   State("hit", HIT)],
        "transitions": [
            Transition("*", "hit", (Condition("hit"),), 0.0),
            Transition("hit", "idle", (Condition("time_in_state", ">=", 0.5), Condition("hit", "<")), 0.25),
            Transition("idle", "move", (Condition("speed", ">", 0.5),), 0.5),
            Transition("move", "idle", (Condition("speed", "<", 0.3),), 0.5),
            Transition("move", "jump", (Condition("jump"),), 0.25),
            Transition("jump", "move", (Condition("phase", ">=", 1.0),), 0.25),
        ],
    }  # fmt: skip
    return Graph(**{**settings, **changes})


def run(graph, inputs):
    """The states at all frames of a shot; the parameters of its first frame decide nothing yet."""
    return [*accumulate(inputs[1:], graph.step, initial=graph.start())]


def shot(frames=185):
    """Speeds that rise and fall, a jump and a hit."""
    return [
        {"speed": max(0.0, 3 * np.sin(frame / 30)), "jump": frame in (60, 61), "hit": 140 <= frame < 145}
        for frame in range(frames)
    ]


def test_the_shot_visits_every_state_and_conditions_decide():
    graph, inputs = locomotion(), shot()
    states = run(graph, inputs)
    visited = [s.current for s in states]
    assert [name for name, _ in groupby(visited)] == ["idle", "move", "jump", "move", "idle", "hit", "idle"]
    for before, after, values in zip(states, states[1:], inputs[1:], strict=False):
        if (before.current, after.current) == ("idle", "move"):
            assert values["speed"] > 0.5
        if (before.current, after.current) == ("move", "idle"):
            assert values["speed"] < 0.3
    jumps = [i for i, name in enumerate(visited) if name == "jump"]
    assert len(jumps) == JUMP.frame_count - 1 and jumps[0] == 60


def test_blends_take_their_time_and_weights_sum_to_1():
    graph, inputs = locomotion(), shot()
    for state in run(graph, inputs):
        weights = graph.weights(state)
        assert sum(w for _, w in weights) == pytest.approx(1)
        assert weights[-1][0] == state.current
    two = Graph("Two", {"go": 0}, [State("a", IDLE), State("b", HIT)], [Transition("a", "b", (Condition("go"),), 0.5)])
    states = run(two, [{"go": f >= 5} for f in range(30)])
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
    three = [State("a", IDLE), State("b", near), State("c", other)]
    graph = Graph("Three", {"x": 0}, three, [Transition(*names, (Condition("x", "==", i),), 0.5)
                                             for i, names in enumerate(("ab", "bc", "ca"), 1)])  # fmt: skip
    states = run(graph, [{"x": x} for x in [0] * 3 + [1] * 4 + [2] * 4 + [3] * 5 + [0] * 30])
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


FAULTS = [
    (["a", "a"], [], 'More than one state is called "a": the others are left out'),
    (["a"], [Transition("a", "walk")], '"a" > "walk" of graph "G" needs a state "walk", which is missing'),
    (["a", "b"], [Transition("a", "*")], 'needs a state "*"'),
    (["a", "b"], [Transition("a", "b", (Condition("fast"),))], 'parameter "fast", which is missing'),
    (["a", "b"], [Transition("a", "b", (Condition("x", ">", np.nan),))], '"x" with what is not a number'),
    (["a", "b"], [Transition("a", "b"), Transition("b", "a")], 'states "a" > "b" > "a" of graph "G" are cyclic'),
    (["a", "b", "c"],
     [Transition("b", "c", (Condition("x", ">", 1),)), Transition("c", "b", (Condition("x", "<", 2),))],
     '"b" > "c" > "b" of graph "G" are cyclic'),
]  # fmt: skip


@pytest.mark.parametrize(("names", "transitions", "words"), FAULTS)
def test_a_graph_goes_on_without_a_fault_and_names_it(names, transitions, words):
    graph = Graph("G", {"x": 0.0}, [State(name) for name in names], transitions)
    assert len(graph.faults) == 1 and words in graph.faults[0] and "left out" in graph.faults[0]
    assert list(graph.states) == sorted(set(names))
    assert len(graph.transitions) == max(len(transitions) - 1, 0)
    assert graph.step(graph.start(), {"x": 0.0}).frame == 1


def test_graphs_that_cannot_work_are_refused_by_name():
    refuses('"G" has no states', Graph, "G", {}, [])
    refuses('parameter "phase"', Graph, "G", {"phase": 0.0}, [State("a")])


def test_a_graph_steps_once_a_frame_and_forgives_a_value_that_is_none():
    space = BlendSpace1D(Axis("speed", 0.0, 4.0), ["walk", "run"], [0.0, 4.0])
    source = SpaceSource(SpacePlayer("S", space, [WALK, RUN]))
    going = Transition("Still", "Move", (Condition("go", ">", 0.5),), 0.0)
    graph = Graph("G", {"go": 0.0}, [State("Still"), State("Move", source)], [going])
    rig = stack.Rig(SKELETON, random_pose(RNG, (len(SKELETON),), scaled=False))
    step = GraphPlayer(graph, {"S": source})
    step.read = lambda context, _pose: context
    states, seen = None, []
    for frame, go in enumerate((0.0, float("nan"), 1.0, 0.0)):
        given = GraphInputs(frame, {"go": go}, {"S": (4.0,)})
        _pose, states, messages = stack.run([step], rig, rig.bind, given, states, frame / 24)
        seen.append((states[0].graph.current, bool(messages)))
    assert seen == [("Still", False), ("Still", True), ("Move", False), ("Move", False)]
    assert np.isclose(states[0].graph.playing[-1].phase, 1 / 24 / RUN.length)
