"""The graph of states on a real character: from speed, from keys, from the ragdoll; scrubbing; its bad input."""

import bpy
import numpy as np
import pytest

import layered
import looking
import rigs
import third_party
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import pose_stack, stack_edits, stack_setup
from active_ragdoll.core.blender.stack.entries import state_graph


def _add(rig, what: str, items, **values):
    stack_edits.edit_graph(rig.obj, what, "ADD")
    item = items[len(items) - 1]
    for name, value in values.items():
        setattr(item, name, value)
    return item


def graph_of(rig, states, parameters, transitions):
    """A graph: states (name, action), parameters (name, read or kind), transitions (from, to, blend, conditions)."""
    stack_setup.ensure(rig.obj, rig.scene)
    graph = rig.obj.active_ragdoll.graph
    for name, action in states:
        state = _add(rig, "STATE", graph.states, name=name)
        if action in bpy.data.actions:
            stack_edits.choose(state, bpy.data.actions[action])
        else:
            state.source, state.blend_space = "BLEND_SPACE", action
    for name, read in parameters:
        values = {"kind": read} if read == "BOOL" else {"read": read}
        _add(rig, "PARAMETER", graph.parameters, name=name, **values)
    for origin, target, blend, conditions in transitions:
        made = _add(rig, "TRANSITION", graph.transitions, origin=origin, target=target, blend_time=blend)
        for parameter, compare, value in conditions:
            _add(rig, "CONDITION", made.conditions, parameter=parameter, compare=compare, value=value)
    graph.enabled = True
    stack_edits.changed(rig.obj)
    return graph


def jumping(data_dir, last=60):
    """Idle, jump and back by a key, over idle-walk-run in a blend space."""
    rig = layered.knight(data_dir, 1, last)
    layered.space(rig, (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0)))
    graph_of(
        rig,
        (("Move", "Locomotion"), ("Jump", "Jump_Full_Short")),
        (("jump", "BOOL"), ("speed", "VALUE")),
        (
            ("Move", "Jump", 0.1, (("jump", ">", 0.5),)),
            ("Jump", "Move", 0.2, (("phase", ">=", 1.0),)),
        ),
    )
    rig.obj.active_ragdoll.graph.states[1].playback = "ONCE"
    obj = rig.obj
    obj.animation_data.action = obj.animation_data.action.copy()
    rigs.key(obj, "active_ragdoll.graph.parameters[0].on", {1: False, 15: True, 17: False})
    return rig


def states_at(rig, frame: int) -> dict:
    rig.scene.frame_set(frame)
    return dict(state_graph.shown_states(rig.obj, frame))


def test_a_keyed_bool_starts_a_jump_which_ends_by_itself(data_dir):
    rig = jumping(data_dir)
    assert states_at(rig, 14) == {"Move": 1.0}
    blending = states_at(rig, 16)
    assert set(blending) == {"Move", "Jump"} and np.isclose(sum(blending.values()), 1.0)
    assert states_at(rig, 20) == {"Jump": 1.0}
    length = bpy.data.actions["Jump_Full_Short"].frame_range[1]
    assert states_at(rig, int(15 + length + 8)) == {"Move": 1.0}
    assert pose_stack.of(rig.obj).messages == {}


@pytest.mark.blender_version
def test_playing_scrubbing_and_the_bake_show_the_same(data_dir):
    rig = jumping(data_dir)
    played = layered.shown(rig, range(1, 61))
    looking.scrubs_as_played(rig.scene, rig.obj, played, (55, 16, 60, 2, 21))
    list(bake.frames(rig.obj, rig.scene))
    assert layered.difference(layered.shown(rig, range(1, 61)), played)[1] < 1e-4


def test_states_follow_the_measured_speed_with_a_layer_on_top(data_dir):
    rig = layered.knight(data_dir, 1, 72)
    graph_of(
        rig,
        (("Idle", "Idle"), ("Walk", "Walking_A"), ("Run", "Running_A")),
        (("speed", "SPEED"),),
        (
            ("Idle", "Walk", 0.2, (("speed", ">", 0.5),)),
            ("Walk", "Run", 0.2, (("speed", ">", 2.5),)),
            ("Walk", "Idle", 0.2, (("speed", "<", 0.4),)),
            ("Run", "Walk", 0.2, (("speed", "<", 2.2),)),
        ),
    )
    rig.obj.animation_data.action = rig.obj.animation_data.action.copy()
    rigs.key_locations(rig.obj, {1: (0, 0, 0), 24: (0, 0, 0), 48: (0, -1.5, 0), 72: (0, -5.5, 0)})
    found = [max(states_at(rig, frame).items(), key=lambda item: item[1])[0] for frame in (12, 40, 65)]
    assert found == ["Idle", "Walk", "Run"]
    without = layered.shown(rig, (40,))[40]
    made = layered.layer(rig, "Cheer")
    stack_edits.mask_bones(made, ["chest"])
    with_layer = layered.shown(rig, (40,))[40]
    rows = [rig.obj.data.bones.find(n) for n in ("upperarm.l", "upperleg.l")]
    turned = rigs.angles(with_layer[rows], without[rows])
    assert turned[0] > 10.0 and turned[1] < 0.01


@pytest.mark.blender_version
def test_a_hit_on_the_ragdoll_starts_a_reaction_and_is_found_again(data_dir, tmp_path):
    third_party.data("Knight.glb")  # whose clips and size it is about
    rig = layered.knight(data_dir, 1, 40)
    obj = rig.obj
    graph_of(
        rig,
        (("Idle", "Idle"), ("Hit", "Hit_A")),
        (("hit", "RAGDOLL_HIT"), ("fast", "RAGDOLL_SPEED"), ("touched", "RAGDOLL_CONTACT"), ("state", "RAGDOLL_STATE")),
        (("Idle", "Hit", 0.1, (("hit", ">", 0.5),)), ("Hit", "Idle", 0.3, (("phase", ">=", 1.0),))),
    )
    build.build(obj, rig.scene)
    rigs.set_weights(obj, 0.5)
    ball = rigs.box(rig.scene, "Ball", (0.5, 0.5, 0.5), (0.0, -2.5, 1.0), mass=20.0)
    ball.rigid_body.collision_shape = "SPHERE"
    rig.scene.gravity = (0.0, 0.0, 0.0)
    rigs.key_locations(ball, {1: (0, -2.5, 1.0), 12: (0, 0.0, 1.0)})
    ball.rigid_body.kinematic = True
    read = {}
    for frame in simulate.frames(rig.scene):
        read[frame] = pose_stack.of(obj).states[frame][0].values
    assert all(read[f]["hit"] < 0.5 for f in range(1, 5))
    hits = [f for f in read if read[f]["hit"] > 0.5]
    assert hits and 6 <= hits[0] <= 13, hits
    assert any(read[f]["touched"] == 1.0 for f in range(hits[0], hits[0] + 4))
    assert read[3]["touched"] == 0.0 and read[3]["state"] == 1.0
    assert max(read[f]["fast"] for f in read) > 0.2
    kept = {}
    for frame in range(1, 41):
        rig.scene.frame_set(frame)
        kept[frame] = pose_stack.of(obj).states[frame][0].graph
    assert "Hit" in states_at(rig, hits[0] + 3)
    # What the file keeps is enough to find it again.
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hit.blend"))
    name = obj.name
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "hit.blend"))
    for frame in (hits[0] + 3, 30, 2):
        bpy.context.scene.frame_set(frame)
        assert pose_stack.of(bpy.data.objects[name]).states[frame][0].graph == kept[frame]


def test_states_without_what_they_need_say_so_and_show_the_pose_below(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    plain = layered.plays(rig, "Idle", (5,))[5]
    graph = graph_of(rig, (("One", "Cheer"),), (), ())
    bpy.data.actions.remove(bpy.data.actions["Cheer"])
    found = layered.shown(rig, (5,))[5]
    assert rigs.angles(found, plain).max() < 0.05
    assert "Cheer" in pose_stack.of(rig.obj).messages['State "One"']
    graph.states[0].source, graph.states[0].blend_space = "BLEND_SPACE", "Nowhere"
    rig.scene.frame_set(6)
    assert "Nowhere" in pose_stack.of(rig.obj).messages['State "One"']


@pytest.mark.parametrize(
    "transitions, words",
    (
        ((("One", "Three", 0.1, ()),), ("Three", "missing")),
        ((("One", "Two", 0.1, ()), ("Two", "One", 0.1, ())), ("cyclic",)),
        ((("One", "Two", 0.1, (("nothing", ">", 1.0),)),), ("nothing", "missing")),
    ),
)
def test_a_wrong_graph_names_what_is_wrong_and_the_rest_goes_on(data_dir, transitions, words):
    rig = layered.knight(data_dir, 1, 20)
    graph_of(rig, (("One", "Idle"), ("Two", "Cheer")), (), transitions)
    layered.layer(rig, "Running_A")
    found = layered.shown(rig, (5,))[5]
    text = pose_stack.of(rig.obj).messages["Graph"]
    assert all(word in text for word in words)
    rig.obj.active_ragdoll.layers[0].enabled = False
    assert rigs.angles(layered.shown(rig, (5,))[5], found).max() > 5.0
