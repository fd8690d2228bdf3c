"""Pose layers and the graph of states on real characters: masks, keys, hits; edits, and what is wrong with them."""

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
from active_ragdoll.core.blender.rig import action_channels, clips
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from active_ragdoll.core.blender.stack.entries import state_graph
from active_ragdoll.core.motion.clip import interpolate
from refusals import refuses

pytestmark = pytest.mark.blender_version
FRAMES = (1, 7, 18)


@pytest.fixture
def rig(data_dir):
    """The rig, who plays "Idle"."""
    return layered.knight(data_dir, 1, 20)


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
    rigs.select(obj, arm.name)
    assert bpy.ops.active_ragdoll.mask_from_selected() == {"FINISHED"}
    collection = obj.data.collections.new("Arm")
    for name in names:
        collection.assign(obj.data.bones[name])
    rigs.changed(made, mask=by, mask_collection="Arm", mask_roles={"UPPER_ARM", "FOREARM", "HAND"}, mask_side="LEFT")
    found, bones = layered.shown(rig, FRAMES), np.array(clips.RigRest(obj).skeleton.names)
    for frame in FRAMES:
        pose, a, b = (layered.local(obj, poses[frame]).rotations for poses in (found, below, above))
        to_below, to_above = (np.degrees(quaternion.angle_between(pose, other)) for other in (a, b))
        inside = to_below > 0.05 if by == "ROLES" else np.isin(bones, list(names))
        assert to_above[inside].max() < 0.05 and to_below[~inside].max() < 0.05
        assert 0 < inside.sum() < len(bones) / 2
        assert by != "ROLES" or all(name.endswith(".l") or ".L" in name for name in bones[inside])


@pytest.mark.parametrize("space", ("LOCAL", "MESH"))
def test_make_additive_then_apply_on_its_base_gives_the_clip_back(rig, space):
    expected = layered.plays(rig, "Cheer", FRAMES)
    base = layered.layer(rig, "Cheer", source="POSE", only_keyed=False)
    layered.layer(rig, "Cheer", start=base.frame, only_keyed=False)
    bpy.context.view_layer.objects.active = rig.obj
    assert bpy.ops.active_ragdoll.make_additive(what="LAYER", space=space, base="FIRST") == {"FINISHED"}
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < 0.05 and way < 1e-5


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
        assert rigs.angles(played[frame], layered.world(obj, interpolate(a, b, share))).max() < 0.1, frame
    looking.scrubs_as_played(rig.scene, obj, played, (25, 3, 17, 30, 1))


def test_a_pose_asset_of_another_file_is_a_layer(rig, data_dir, tmp_path):
    expected = layered.plays(rig, "Sit_Floor_Pose", FRAMES)
    asset = bpy.data.actions["Sit_Floor_Pose"]
    asset.asset_mark()
    bpy.data.libraries.write(str(tmp_path / "poses.blend"), {asset}, fake_user=True)
    rig = layered.knight(data_dir)
    bpy.data.actions.remove(bpy.data.actions["Sit_Floor_Pose"])
    action = stack_edits.appended_action(str(tmp_path / "poses.blend"), "Sit_Floor_Pose")
    assert action.library is None and action.asset_data is not None
    stack_edits.add_layer(rig.obj, rig.scene, "POSE", "", action).only_keyed = False
    angle, way = layered.difference(layered.shown(rig, FRAMES), expected)
    assert angle < 1e-3 and way < 1e-5


def test_a_pose_asset_that_is_not_there_is_named(tmp_path, fresh_scene):
    path = str(tmp_path / "poses.blend")
    refuses("' of the pose asset 'Sit' cannot be read", stack_edits.appended_action, path, "Sit")
    bpy.data.libraries.write(path, {fresh_scene})
    refuses("has no action 'Sit'", stack_edits.appended_action, path, "Sit")
    assert not bpy.data.actions and len(bpy.data.scenes) == 1


def _add(rig, what: str, items, **values):
    stack_edits.edit_graph(rig.obj, what, "ADD")
    return rigs.changed(items[len(items) - 1], **values)


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
        _add(rig, "PARAMETER", graph.parameters, name=name, **{"kind" if read == "BOOL" else "read": read})
    for origin, target, blend, conditions in transitions:
        made = _add(rig, "TRANSITION", graph.transitions, origin=origin, target=target, blend_time=blend)
        for parameter, compare, value in conditions:
            _add(rig, "CONDITION", made.conditions, parameter=parameter, compare=compare, value=value)
    graph.enabled = True
    return graph


def states_at(rig, frame: int) -> dict:
    rig.scene.frame_set(frame)
    return dict(state_graph.shown_states(rig.obj, frame))


def test_a_keyed_bool_starts_a_jump_which_ends_by_itself_played_scrubbed_and_baked(data_dir):
    """Idle, jump and back, over idle-walk-run in a blend space."""
    rig = layered.knight(data_dir, 1, 60)
    layered.space(rig, layered.WALK)
    graph_of(
        rig,
        (("Move", "Locomotion"), ("Jump", "Jump_Full_Short")),
        (("jump", "BOOL"), ("speed", "VALUE")),
        (("Move", "Jump", 0.1, (("jump", ">", 0.5),)), ("Jump", "Move", 0.2, (("phase", ">=", 1.0),))),
    )
    rig.obj.active_ragdoll.graph.states[1].playback = "ONCE"
    obj = rig.obj
    obj.animation_data.action = obj.animation_data.action.copy()
    rigs.key(obj, "active_ragdoll.graph.parameters[0].on", {1: False, 15: True, 17: False})
    assert states_at(rig, 14) == {"Move": 1.0}
    blending = states_at(rig, 16)
    assert set(blending) == {"Move", "Jump"} and np.isclose(sum(blending.values()), 1.0)
    assert states_at(rig, 20) == {"Jump": 1.0}
    assert states_at(rig, int(15 + bpy.data.actions["Jump_Full_Short"].frame_range[1] + 8)) == {"Move": 1.0}
    assert pose_stack.of(rig.obj).messages == {}
    played = layered.shown(rig, range(1, 61))
    looking.scrubs_as_played(rig.scene, rig.obj, played, (55, 16, 60, 2, 21))
    list(bake.bake_frames(rig.obj, rig.scene))
    assert layered.difference(layered.shown(rig, range(1, 61)), played)[1] < 1e-4


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
    read = {frame: pose_stack.of(obj).states[frame][0].values for frame in simulate.frames(rig.scene)}
    assert all(read[f]["hit"] < 0.5 for f in range(1, 5))
    hits = [f for f in read if read[f]["hit"] > 0.5]
    assert hits and 6 <= hits[0] <= 13, hits
    assert any(read[f]["touched"] == 1.0 for f in range(hits[0], hits[0] + 4))
    assert read[3]["touched"] == 0.0 and read[3]["state"] == 1.0
    assert max(read[f]["fast"] for f in read) > 0.2
    rigs.step(rig.scene, range(1, 41))
    kept = {frame: states[0].graph for frame, states in pose_stack.of(obj).states.items()}
    assert "Hit" in states_at(rig, hits[0] + 3)
    scene, obj = rigs.reopened(tmp_path / "hit.blend", obj.name)  # what the file keeps is enough to find it again
    for frame in (hits[0] + 3, 30, 2):
        scene.frame_set(frame)
        assert pose_stack.of(obj).states[frame][0].graph == kept[frame]


def test_states_without_what_they_need_say_so_and_show_the_pose_below(data_dir):
    rig = layered.knight(data_dir, 1, 20)
    plain = layered.plays(rig, "Idle", (5,))[5]
    graph = graph_of(rig, (("One", "Cheer"),), (), ())
    bpy.data.actions.remove(bpy.data.actions["Cheer"])
    assert rigs.angles(layered.shown(rig, (5,))[5], plain).max() < 0.05
    assert "Cheer" in pose_stack.of(rig.obj).messages['State "One"']
    graph.states[0].source, graph.states[0].blend_space = "BLEND_SPACE", "Nowhere"
    rig.scene.frame_set(6)
    assert "Nowhere" in pose_stack.of(rig.obj).messages['State "One"']
    stack_edits.edit_graph(rig.obj, "TRANSITION", "ADD")
    graph.transitions[0].origin, graph.transitions[0].target = "One", "Three"
    rig.scene.frame_set(7)
    assert '"Three"' in pose_stack.of(rig.obj).messages["Graph"]


def locomotion(rig, **settings):
    """The active layer plays this space."""
    layered.space_layer(rig, layered.space(rig, layered.WALK, **settings).name)
    return rig.obj.active_ragdoll.blend_spaces[0]


def stretch(action, factor: float) -> None:
    """Make an action slower."""
    for curve in rigs.curves_of(action):
        for point in curve.keyframe_points:
            for co in (point.co, point.handle_left, point.handle_right):
                co[0] *= factor
        curve.update()


def phase(rig, frame: int) -> float:
    rig.scene.frame_set(frame)
    return pose_stack.of(rig.obj).states[frame][0]["Locomotion"].phase


@pytest.mark.parametrize("edit, slower", (("action", 2.0), ("frame rate", 1.0)))
def test_scrubbing_after_an_edit_in_mid_shot_finds_what_playing_gives(data_dir, edit, slower):
    """Clips are frames: another frame rate leaves the phase of each frame as it was."""
    rig = layered.knight(data_dir, 1, 60)
    locomotion(rig).x.value = 2.0
    before = phase(rig, 40)
    if edit == "action":
        stretch(bpy.data.actions["Walking_A"], 2.0)
        bpy.context.view_layer.update()  # as after an operator: handlers see the edits
    else:
        rig.scene.render.fps *= 2
    scrubbed = [phase(rig, frame) for frame in (41, 30)]
    pose_stack.forget()
    assert scrubbed == [phase(rig, frame) for frame in (41, 30)]
    assert np.isclose(scrubbed[0], before * 40 / 39 / slower, rtol=1e-5)


def test_what_is_renamed_is_still_found(rig):
    settings = rig.obj.active_ragdoll
    locomotion(rig).x.value = 4.0
    clip = layered.layer(rig, "Cheer")
    stack_edits.mask_bones(clip, ["chest"])
    clip.sync_with = "Locomotion"
    bpy.ops.active_ragdoll.enable_graph()
    for what in ("STATE", "STATE", "PARAMETER", "TRANSITION", "CONDITION"):
        stack_edits.edit_graph(rig.obj, what, "ADD")
    graph = settings.graph
    graph.states[0].source, graph.states[0].blend_space = "BLEND_SPACE", "Locomotion"
    graph.states[1].source = "NONE"
    graph.parameters[0].value, graph.transitions[0].blend_time = 1.0, 0.0
    expected = layered.shown(rig, (5,))[5]
    assert pose_stack.of(rig.obj).messages == {}
    settings.blend_spaces[0].name, graph.parameters[0].name = "Moves", "velocity"
    graph.states[0].name, graph.states[1].name = "Moving", "Still"
    assert np.array_equal(layered.shown(rig, (5,))[5], expected) and pose_stack.of(rig.obj).messages == {}
    layers = settings.layers
    assert layers[0].blend_space == layers[1].sync_with == graph.states[0].blend_space == "Moves"
    transition = graph.transitions[0]
    assert (transition.origin, transition.target, transition.conditions[0].parameter) == ("Moving", "Still", "velocity")


def weights(rig, frame: int) -> dict:
    rig.scene.frame_set(frame)
    return {layer.name: round(layer.weight, 4) for layer in rig.obj.active_ragdoll.layers}


@pytest.mark.parametrize("how", ("keys", "driver"))
def test_keyed_and_driven_weights_go_with_their_layers(data_dir, how):
    """Cheer and Running_A have weights of their own; layers are moved, added before them and removed."""
    rig = layered.knight(data_dir, 1, 21)
    obj, settings = rig.obj, rig.obj.active_ragdoll
    obj.animation_data.action = obj.animation_data.action.copy()
    for i, name in enumerate(("Cheer", "Running_A")):
        layered.layer(rig, name)
        path = f"active_ragdoll.layers[{i}].weight"
        if how == "driver":
            obj.driver_add(path).driver.expression = ("(frame - 1) / 20", "(21 - frame) / 20")[i]
        else:
            rigs.key(obj, path, {1: float(i), 21: 1.0 - i})
    rigs.interpolate(obj, "LINEAR", "active_ragdoll")
    expected = {"Cheer": 0.25, "Running_A": 0.75}
    assert weights(rig, 6) == expected
    shown = layered.shown(rig, (6,))[6]
    settings.layer_index = 1
    assert bpy.ops.active_ragdoll.move_layer(step=-1) == {"FINISHED"}
    assert [layer.name for layer in settings.layers] == ["Running_A", "Cheer"] and weights(rig, 6) == expected
    assert bpy.ops.active_ragdoll.move_layer(step=1) == {"FINISHED"}
    assert rigs.angles(layered.shown(rig, (6,))[6], shown).max() < 0.01
    settings.layer_index = 0
    layered.layer(rig, "Walking_A", weight=0.0)
    assert weights(rig, 6) == expected | {"Walking_A": 0.0}
    assert rigs.angles(layered.shown(rig, (6,))[6], shown).max() < 0.01
    settings.layer_index = 0
    assert bpy.ops.active_ragdoll.remove_layer() == {"FINISHED"}
    assert weights(rig, 6) == {"Walking_A": 0.0, "Running_A": 0.75}
    curves = [*rigs.curves_of(obj.animation_data.action), *obj.animation_data.drivers]
    assert [c.data_path for c in curves if "layers" in c.data_path] == ["active_ragdoll.layers[1].weight"]


def goes_on(rig, name: str, *words) -> None:
    """Check that the good layer still acts and that a message names what is wrong."""
    found = layered.shown(rig, (7,))[7]
    texts = pose_stack.of(rig.obj).messages
    assert name in texts, texts
    assert all(word in texts[name] for word in words), texts[name]
    for layer in rig.obj.active_ragdoll.layers:
        layer.enabled = layer.name == "Cheer"
    alone = layered.shown(rig, (7,))[7]
    assert rigs.angles(found, alone).max() < 0.01
    rig.obj.active_ragdoll.layers[0].enabled = False
    assert rigs.angles(layered.shown(rig, (7,))[7], alone).max() > 5.0


def chosen(rig, name: str, bone: str = "") -> None:
    """A layer of an action of that name, without keys or with some of a bone."""
    action, slot = action_channels.new_action_for(rig.obj, name)
    if bone:
        curves = action_channels.channels_of(action, slot, ensure=True).fcurves
        curve = curves.new(f'pose.bones["{bone}"].location', index=0)
        for frame in (1.0, 10.0):
            curve.keyframe_points.insert(frame, 0.1 * frame)
    stack_edits.choose(stack_edits.add_layer(rig.obj, rig.scene, "CLIP", name), action)


def masked(rig, mask: str) -> None:
    layered.layer(rig, "Running_A", mask=mask, mask_collection="Nowhere", mask_roles={"WING"})


def spaced(rig, samples, kind="SPEED", **values):
    """A layer of a blend space; the values are of its first axis."""
    layered.space_layer(rig, layered.space(rig, samples, kind).name)
    space = rig.obj.active_ragdoll.blend_spaces[0]
    rigs.changed(space.x, **values)
    return space


SAME = (("Idle", 1.0), ("Running_A", 1.0))
MOVES = (("Idle", 0.0), ("Running_A", 4.0))
LINE = (("Idle", -20.0, 0.0), ("Running_A", 0.0, 0.0), ("Walking_A", 20.0, 0.0))
PLANE = (("Idle", 0.0, 0.0), ("Running_A", 20.0, 0.0), ("Walking_A", 0.0, 20.0))
NAN = float("nan")
WRONG = {
    "another skeleton": (lambda rig: chosen(rig, "Alien", "tentacle"), "Alien", "Alien", "tentacle"),
    "an empty action": (lambda rig: chosen(rig, "Nothing"), "Nothing", "Nothing"),
    "no action": (lambda rig: stack_edits.add_layer(rig.obj, rig.scene, "CLIP", "Open"), "Open", "no action"),
    "no space": (lambda rig: stack_edits.add_layer(rig.obj, rig.scene, "BLEND_SPACE", "X"), "X", "no blend space"),
    "a weight that is none": (lambda rig: layered.layer(rig, "Running_A", weight=NAN), "Running_A", "weight", "nan"),
    "a mask of no bones": (lambda rig: layered.layer(rig, "Running_A", mask="BONES"), "Running_A", "no bones"),
    "a mask of no collection": (lambda rig: masked(rig, mask="COLLECTION"), "Running_A", "Nowhere"),
    "a mask of no roles": (lambda rig: masked(rig, mask="ROLES"), "Running_A", "WING"),
    "a start that is no number": (lambda rig: layered.layer(rig, "Running_A", start=NAN), "Running_A", "not a number"),
    "no samples": (lambda rig: spaced(rig, ()), "Locomotion", "Locomotion", "no samples"),
    "two at one place": (lambda rig: spaced(rig, SAME), "Locomotion", "Idle", "Running_A", "one place"),
    "samples on one line of a plane": (lambda rig: spaced(rig, LINE, "AIM"), "Aim", "Running_A", "one line"),
    "minimum above maximum": (lambda rig: spaced(rig, MOVES, minimum=5.0), "Locomotion", "minimum", "Speed"),
    "an input that is no number": (lambda rig: spaced(rig, MOVES, value=NAN), "Locomotion", "not a number"),
    "no target": (lambda rig: spaced(rig, PLANE, "AIM", input="YAW"), "Aim", "target"),
    "whole samples beside additive ones": (
        lambda rig: setattr(spaced(rig, MOVES).samples[1], "additive", "LOCAL"),
        "Locomotion",
        "Running_A",
        "Idle",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_and_the_rest_goes_on(rig, what):
    """Below a good layer, "Cheer" on the chest."""
    stack_edits.mask_bones(layered.layer(rig, "Cheer"), ["chest"])
    spoil, layer, *words = WRONG[what]
    spoil(rig)
    goes_on(rig, f'Layer "{layer}"', *words)


def test_clips_of_other_files_are_played_by_bone_names(data_dir):
    """Their rest pose is their first frame: what a bone does relative to its parent is what must be the same."""
    rig = rigs.load(data_dir / "arnaud.fbx")
    obj = rig.obj
    rigs.set_range(rig.scene, 1, 20)
    bpy.ops.import_scene.fbx(filepath=str(data_dir / "run.fbx"))
    other = next(o for o in bpy.context.selected_objects if o.type == "ARMATURE")
    made = stack_edits.add_layer(obj, rig.scene, "CLIP", "Run")
    stack_edits.choose(made, other.animation_data.action)
    made.start, made.only_keyed = other.animation_data.action.frame_range[0], False
    common = [bone.name for bone in obj.data.bones if bone.name in other.data.bones]
    assert made.armature == other and made.object_motion and len(common) == 53
    for frame in (1, 8, 15):
        rig.scene.frame_set(frame)
        assert not [name for name in pose_stack.of(obj).messages if name.startswith("Layer")]
        mine, its = (rigs.pose(o)[[o.data.bones.find(name) for name in common]] for o in (obj, other))
        assert rigs.angles(mine, its).max() < 0.1 and np.abs(mine - its)[:, :3, 3].max() < 0.02, frame
