"""Blend spaces over time, layers and graphs as entries of the stack, measured speeds, readings, the picture."""

import numpy as np
import pytest

from core import quaternion
from core.errors import RagdollError
from core.motion import measured, space_picture, stack
from core.motion.additive import MESH, additive_clip
from core.motion.blend_space import GRID, Axis, BlendSpace1D, BlendSpace2D
from core.motion.clip import Clip
from core.motion.graph import Condition, Graph, State, Transition
from core.motion.graph_player import GraphInputs, GraphPlayer, SpaceSource
from core.motion.layer_stack import LayerInputs, LayerStack
from core.motion.layers import Layer
from core.motion.local_pose import LocalPose
from core.motion.rig import Rig
from core.motion.space_player import SpacePlayer
from core.ragdoll import readings
from core.skeleton import Skeleton

SKELETON = Skeleton.from_parents(["root", "spine", "arm"], [-1, 0, 1])
BIND = LocalPose(np.zeros((3, 3)), quaternion.identity((3,)), np.ones((3, 3)))
RIG = Rig(SKELETON, BIND)
FPS = 24.0


def clip(name: str, frames: int, turn: float = 0.5) -> Clip:
    """A motion of all bones about X, whose last frame is its first again."""
    angle = turn * np.sin(np.linspace(0.0, 2.0 * np.pi, frames))[:, None] * np.ones(3)
    rotations = quaternion.from_rotation_vector(np.stack([angle, 0 * angle, 0 * angle], axis=-1))
    return Clip(name, SKELETON.names, FPS, LocalPose(np.zeros((frames, 3, 3)), rotations, np.ones((frames, 3, 3))))


def player(smoothing: float = 0.0, ends: str = "CLAMP", **more) -> SpacePlayer:
    space = BlendSpace1D(Axis("speed", 0.0, 4.0, ends), ["walk", "run"], [0.0, 2.0 if ends == "WRAP" else 4.0])
    return SpacePlayer("S", space, [clip("walk", 25), clip("run", 13)], smoothing=(smoothing,), **more)


def stepped(player: SpacePlayer, inputs, fps: float = FPS):
    state = None
    for i, value in enumerate(inputs):
        state = player.step(state, (value,), i / fps)
    return state


def test_the_phase_is_the_integral_of_the_rate():
    state = stepped(player(), [0.0] * 25)
    assert np.isclose(state.phase, 1.0)  # a second of the walk, which takes one
    assert np.isclose(stepped(player(), [4.0] * 25).phase, 2.0)  # the run takes half a second
    rising = stepped(player(), np.linspace(0.0, 4.0, 25))
    assert np.isclose(rising.phase, 1.5, atol=1e-3)


def test_another_frame_rate_gives_the_same_point_and_phase():
    ramp = [stepped(player(0.3), np.linspace(0.0, 4.0, n * 24 + 1), n * FPS) for n in (1, 4)]
    assert np.isclose(ramp[0].at[0], ramp[1].at[0], atol=1e-9)
    assert np.isclose(ramp[0].phase, ramp[1].phase, atol=2e-3)


def test_a_direction_goes_the_short_way_over_its_ends():
    space = BlendSpace1D(Axis("direction", -180.0, 180.0, "WRAP"), ["a", "b"], [0.0, 90.0])
    turning = SpacePlayer("D", space, [clip("a", 25), clip("b", 25)], smoothing=(0.2,))
    state = turning.step(None, (170.0,), 0.0)
    for i in range(1, 60):
        state = turning.step(state, (-170.0,), i / FPS)
        assert 169.0 < state.at[0] < 190.1
    assert np.isclose(state.at[0], 190.0, atol=0.1)


def test_samples_must_be_alike_and_smoothing_not_negative():
    space = BlendSpace1D(Axis("x", 0.0, 1.0), ["whole", "lean"], [0.0, 1.0])
    lean = additive_clip(SKELETON, clip("lean", 25), BIND)
    with pytest.raises(RagdollError, match=r"lean.*whole"):
        SpacePlayer("S", space, [clip("whole", 25), lean])
    with pytest.raises(RagdollError, match=r"x.*-1"):
        SpacePlayer("S", space, [clip("a", 25), clip("b", 25)], smoothing=(-1.0,))


def test_an_aim_offset_keeps_no_state_without_smoothing():
    poses = [additive_clip(SKELETON, clip(name, 1), BIND, MESH) for name in "ab"]
    space = BlendSpace1D(Axis("yaw", -1.0, 1.0), ["a", "b"], [-1.0, 1.0])
    assert not SpacePlayer("A", space, poses, aim=True).keeps_state
    assert SpacePlayer("A", space, poses, aim=True, smoothing=(0.1,)).keeps_state
    assert player().keeps_state


def entry_of(layers, players) -> stack.Entry:
    return stack.Entry("Layers", stack.LAYERS, LayerStack(layers, players), lambda context, _pose: context)


def test_a_layer_that_fails_is_told_and_the_others_act():
    moving = player()
    turned = BIND.copy()
    turned.rotations[1] = quaternion.from_rotation_vector(np.array([0.3, 0.0, 0.0]))
    layers = [
        Layer("Space", lambda frame: moving.pose(frame.space("S"))),
        Layer("Pose", lambda frame: turned, weight=1.0, mask=np.array([0.0, 1.0, 0.0])),
    ]
    entry = entry_of(layers, {"S": moving})
    good = LayerInputs([1.0, 1.0], {"S": (1.0,)})
    pose, states, messages = stack.run([entry], RIG, BIND, good, None, 0.0)
    assert messages == {} and np.array_equal(pose.rotations[1], turned.rotations[1])
    bad = LayerInputs([1.0, 1.0], {"S": (float("nan"),)})
    pose, states, messages = stack.run([entry], RIG, BIND, bad, states, 1.0 / FPS)
    assert "not a number" in messages['Layer "Space"'] and 'Layer "Pose"' not in messages
    assert np.array_equal(pose.rotations[1], turned.rotations[1]) and np.array_equal(
        pose.rotations[2], BIND.rotations[2]
    )
    # It goes on from where it was.
    _pose, states, messages = stack.run([entry], RIG, BIND, good, states, 2.0 / FPS)
    assert messages == {} and np.isclose(states[0]["S"].phase, 2.0 / FPS * moving.group.rate(moving.weights((1.0,))))


def test_a_graph_steps_once_a_frame_and_forgives_a_value_that_is_none():
    moving = player()
    source = SpaceSource(moving)
    graph = Graph(
        "G",
        {"go": 0.0},
        [State("Still"), State("Move", source)],
        [Transition("Still", "Move", (Condition("go", ">", 0.5),), 0.0)],
        FPS,
    )
    entry = stack.Entry("Graph", stack.GRAPH, GraphPlayer(graph, {"S": source}), lambda context, _pose: context)
    states, seen = None, []
    for frame, go in enumerate((0.0, float("nan"), 1.0, 0.0)):
        given = GraphInputs(frame, {"go": go}, {"S": (4.0,)})
        _pose, states, messages = stack.run([entry], RIG, BIND, given, states, frame / FPS)
        seen.append((states[0].graph.current, bool(messages)))
    assert seen == [("Still", False), ("Still", True), ("Move", False), ("Move", False)]
    assert np.isclose(states[0].graph.playing[-1].phase, 2.0 / FPS)


def test_speed_and_direction():
    moved = measured.velocity((0, 0, 0), (1.0, -1.0, 5.0), 0.5)
    assert np.isclose(measured.ground_speed(moved), np.sqrt(8.0))
    assert np.isclose(np.degrees(measured.direction(moved, (0, -1, 0))), 45.0)  # +X is the left of who faces -Y
    assert measured.direction((0, 0, 1.0), (0, -1, 0)) is None
    with pytest.raises(RagdollError, match="time"):
        measured.velocity((0, 0, 0), (1, 0, 0), 0.0)
    with pytest.raises(RagdollError, match="number"):
        measured.velocity((0, 0, 0), (np.nan, 0, 0), 1.0)


def test_a_hit_is_what_neither_gravity_nor_the_animation_explains():
    gravity, step = np.array([0.0, 0.0, -9.81]), 1.0 / FPS
    bodies, wanted = np.zeros((2, 3)), np.zeros((2, 3))
    state, velocity = None, np.zeros((2, 3))
    hits = []
    for frame in range(12):
        if frame == 8:
            velocity[0] += (2.0, 0.0, 0.0)
        velocity = velocity + gravity * step
        bodies = bodies + velocity * step
        wanted = wanted + np.array([1.0, 0.0, 0.0])
        bodies_here = bodies + wanted
        state = readings.measure(bodies_here, wanted, [1.0, 1.0], state, step, gravity)
        hits.append(state["hit"])
    assert np.argmax(hits) == 8 and 1.5 < hits[8] < 2.1
    assert max(hits[:8] + hits[9:]) < 1e-6


@pytest.mark.parametrize("method", ("TRIANGLES", GRID))
def test_the_picture_marks_every_sample_and_the_point(method):
    places = [(x, y) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 1.0)]
    space = BlendSpace2D((Axis("x", -1.0, 1.0), Axis("y", -1.0, 1.0)), [str(i) for i in range(6)], places, method)
    pixels = space_picture.picture(space, (0.5, -0.5), size=200)
    assert pixels.shape == (200, 200, 4) and pixels.min() >= 0.0 and pixels.max() <= 1.0

    def at(x, y):
        low, side = 200 * space_picture.MARGIN, 200 * (1.0 - 2.0 * space_picture.MARGIN)
        return pixels[int(200 - low - side * (y + 1) / 2), int(low + side * (x + 1) / 2)]

    empty = at(-0.55, 0.4)
    assert all(at(*place)[:3].sum() > empty[:3].sum() + 0.5 for place in places)
    orange = at(0.5, -0.5)
    assert orange[0] > 0.9 and orange[2] < 0.3
    assert np.array_equal(
        space_picture.picture(space, (0.5, -0.5), size=200, drawn=space_picture.ground(space, 200)), pixels
    )


def test_the_picture_of_a_line_shows_its_weights():
    space = BlendSpace1D(Axis("speed", 0.0, 4.0), ["a", "b"], [0.0, 4.0])
    pixels = space_picture.ground(space, 100)
    # The curves of both samples cross in the middle.
    blue, red = (pixels[..., 2] > pixels[..., 0] + 0.2), (pixels[..., 0] > pixels[..., 2] + 0.2)
    assert blue[:, 15].argmax() < red[:, 15].argmax() and blue[:, 85].argmax() > red[:, 85].argmax()
