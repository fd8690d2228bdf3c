"""Pose layers and the graph of states on real characters: modes, masks, order, keys, speed, hits; saved and undone."""

import bpy
import numpy as np
import pytest

import layered
import looking
import rigs
import third_party
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.clips import RigRest
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from active_ragdoll.core.blender.stack.entries import state_graph
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.motion.clip import interpolate

FRAMES = (1, 7, 18)


@pytest.fixture
def rig(data_dir):
    """The knight, who plays "Idle"."""
    return layered.knight(data_dir)


@pytest.mark.blender_version
@pytest.mark.parametrize("playback, limits", (("ONCE", (1e-3, 1e-5)), ("LOOP", (0.02, 1e-4))))
def test_a_clip_layer_at_weight_one_shows_what_blender_plays(data_dir, playback, limits):
    """Looped, a clip that ends between two frames is sampled to its exact end, and interpolated by ourselves."""
    if playback == "LOOP":
        third_party.data("Knight.glb")  # whose motion the limits are for
    rig = layered.knight(data_dir)
    expected = layered.plays(rig, "Running_A", FRAMES)
    start = bpy.data.actions["Running_A"].frame_range[0]
    layered.layer(rig, "Running_A", start=start, only_keyed=False, playback=playback)
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < limits[0] and way < limits[1]


@pytest.mark.parametrize("by", ("BONES", "COLLECTION", "ROLES"))
def test_a_mask_keeps_the_layer_to_some_bones(rig, by):
    obj = rig.obj
    below, above = layered.plays(rig, "Idle", FRAMES), layered.plays(rig, "Cheer", FRAMES)
    arm = next(b for b in obj.data.bones if b.name.lower().startswith("upperarm"))
    names = {arm.name, *(b.name for b in arm.children_recursive)}
    made = layered.layer(rig, "Cheer", start=bpy.data.actions["Cheer"].frame_range[0])
    stack_edits.mask_bones(made, [arm.name])
    collection = obj.data.collections.new("Arm")
    for name in names:
        collection.assign(obj.data.bones[name])
    made.mask, made.mask_collection = by, "Arm"
    made.mask_roles, made.mask_side = {"UPPER_ARM", "FOREARM", "HAND"}, "LEFT"
    found, bones = layered.shown(rig, FRAMES), np.array(RigRest(obj).skeleton.names)
    for frame in FRAMES:
        pose, a, b = (layered.local(obj, poses[frame]).rotations for poses in (found, below, above))
        to_below, to_above = (np.degrees(quaternion.angle_between(pose, other)) for other in (a, b))
        inside = to_below > 0.05 if by == "ROLES" else np.isin(bones, list(names))
        assert to_above[inside].max() < 0.05 and to_below[~inside].max() < 0.05
        assert 0 < inside.sum() < len(bones) / 2
        assert by != "ROLES" or all(name.endswith(".l") or ".L" in name for name in bones[inside])


@pytest.mark.parametrize("space", ("LOCAL", "MESH"))
def test_make_additive_then_apply_on_its_base_gives_the_clip_back(rig, space):
    obj = rig.obj
    expected = layered.plays(rig, "Cheer", FRAMES)
    base = layered.layer(rig, "Cheer", source="POSE")
    base.frame = bpy.data.actions["Cheer"].frame_range[0]
    base.only_keyed = False
    layered.layer(rig, "Cheer", start=base.frame, only_keyed=False)
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.active_ragdoll.make_additive(what="LAYER", space=space, base="FIRST") == {"FINISHED"}
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < 0.05 and way < 1e-5


@pytest.mark.blender_version
def test_the_current_pose_becomes_a_layer_that_shows_it(data_dir):
    for name in ("Knight.glb", "run.fbx", "01_01.bvh"):
        rig = rigs.load(data_dir / name)
        rigs.set_range(rig.scene, rig.first, rig.last)
        middle = (rig.first + rig.last) // 2

        def in_armature(frame, rig=rig):
            rig.scene.frame_set(frame)
            return np.linalg.inv(np.array(rig.obj.matrix_world)) @ rigs.pose(rig.obj)

        kept = in_armature(middle)
        made = stack_edits.add_pose_layer(rig.obj, rig.scene, stack_edits.pose_action(rig.obj, "Kept"))
        assert made.source == "POSE"
        for frame in (rig.first, middle):
            assert rigs.angles(in_armature(frame), kept).max() < 0.1, name


@pytest.mark.blender_version
def test_a_keyed_weight_is_read_at_its_own_frame(data_dir):
    rig = layered.knight(data_dir, 1, 30)
    obj = rig.obj
    # Keys of settings go to a copy, so that the imported action stays as it is.
    obj.animation_data.action = obj.animation_data.action.copy()
    below, above = layered.plays(rig, "Idle", range(1, 31)), layered.plays(rig, "Running_A", range(1, 31))
    start = bpy.data.actions["Running_A"].frame_range[0]
    layered.layer(rig, "Running_A", start=start, only_keyed=False, playback="ONCE")
    rigs.key(obj, "active_ragdoll.layers[0].weight", {1: 0.0, 20: 1.0})
    rigs.interpolate(obj, "LINEAR", "active_ragdoll")
    played = layered.shown(rig, range(1, 31))
    for frame in (1, 5, 10, 20, 25):
        share = min((frame - 1) / 19, 1.0)
        a, b = layered.local(obj, below[frame]), layered.local(obj, above[frame])
        expected = layered.world(obj, interpolate(a, b, share))
        assert rigs.angles(played[frame], expected).max() < 0.1, frame
    looking.scrubs_as_played(rig.scene, obj, played, (25, 3, 17, 30, 1))


@pytest.mark.blender_version
def test_a_pose_asset_of_another_file_is_a_layer(rig, data_dir, tmp_path):
    expected = layered.plays(rig, "Sit_Floor_Pose", FRAMES)
    asset = bpy.data.actions["Sit_Floor_Pose"]
    asset.asset_mark()
    bpy.data.libraries.write(str(tmp_path / "poses.blend"), {asset}, fake_user=True)
    rig = layered.knight(data_dir)
    bpy.data.actions.remove(bpy.data.actions["Sit_Floor_Pose"])
    action = stack_edits.appended_action(str(tmp_path / "poses.blend"), "Sit_Floor_Pose")
    assert action.library is None and action.asset_data is not None
    made = stack_edits.add_pose_layer(rig.obj, rig.scene, action)
    made.only_keyed = False
    stack_edits.changed(rig.obj)
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < 1e-3 and way < 1e-5


@pytest.mark.blender_version
def test_a_pose_asset_that_is_not_there_is_named(tmp_path, fresh_scene):
    path = str(tmp_path / "poses.blend")
    with pytest.raises(RagdollError, match="' of the pose asset 'Sit' cannot be read"):
        stack_edits.appended_action(path, "Sit")
    bpy.data.libraries.write(path, {fresh_scene})
    with pytest.raises(RagdollError, match="has no action 'Sit'"):
        stack_edits.appended_action(path, "Sit")
    assert not bpy.data.actions and len(bpy.data.scenes) == 1


def _add(rig, what: str, items, **values):
    stack_edits.edit_graph(rig.obj, what, "ADD")
    item = items[len(items) - 1]
    for name, value in values.items():
        setattr(item, name, value)
    return item


def graph_of(rig, states, parameters, transitions):
    """A graph: states (name, action), parameters (name, read or kind), transitions (from, to, blend, conditions)."""
    stack_edits.ensure(rig.obj, rig.scene)
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
    list(bake.bake_frames(rig.obj, rig.scene))
    assert layered.difference(layered.shown(rig, range(1, 61)), played)[1] < 1e-4


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
    stack_edits.edit_graph(rig.obj, "TRANSITION", "ADD")
    graph.transitions[0].origin, graph.transitions[0].target = "One", "Three"
    rig.scene.frame_set(7)
    assert '"Three"' in pose_stack.of(rig.obj).messages["Graph"]
