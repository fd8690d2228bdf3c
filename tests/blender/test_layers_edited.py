"""What is edited, deleted or wrong while layers, blend spaces and the graph play: it is named, and the rest goes on."""

import bpy
import numpy as np
import pytest

import layered
import rigs
from active_ragdoll.core.blender.rig import action_channels
from active_ragdoll.core.blender.stack import pose_stack, stack_edits


@pytest.fixture
def knight(data_dir):
    return layered.knight(data_dir, 1, 20)


WALK = (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0))


def locomotion(rig, **settings):
    """The active layer plays this space."""
    layered.space_layer(rig, layered.space(rig, WALK, **settings).name)
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


@pytest.mark.blender_version
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


def test_a_sample_whose_action_is_deleted_is_named_and_the_space_goes_on(data_dir):
    rig = layered.knight(data_dir, 1, 40)
    space = locomotion(rig)
    space.x.value = 4.0
    rig.scene.frame_set(3)
    expected = layered.shown(rig, (9,))[9]
    bpy.data.actions.remove(bpy.data.actions["Walking_A"])
    found = layered.shown(rig, (9,))[9]
    assert "Walking_A" in pose_stack.of(rig.obj).messages['Blend space "Locomotion"']
    assert rigs.angles(found, expected).max() < 0.01
    for name in ("Idle", "Running_A"):
        bpy.data.actions.remove(bpy.data.actions[name])
    rig.scene.frame_set(10)
    assert all(name in pose_stack.of(rig.obj).messages['Layer "Locomotion"'] for name, _x in WALK)


@pytest.mark.parametrize("kind", ("SPEED", "YAW"))
def test_an_object_that_an_input_is_read_of_is_named_when_it_is_deleted(knight, kind):
    space = locomotion(knight)
    other = rigs.empty(knight.scene, "Beacon", (1.0, -3.0, 1.0))
    made = layered.layer(knight, "Cheer")
    stack_edits.mask_bones(made, ["chest"])
    space.x.minimum, space.x.maximum = -90.0, 90.0
    space.measured_object = space.target = other
    space.x.input = kind
    knight.scene.frame_set(4)
    assert pose_stack.of(knight.obj).messages == {}
    bpy.data.objects.remove(other)
    found = layered.shown(knight, (6,))[6]
    texts = pose_stack.of(knight.obj).messages
    assert set(texts) == {'Layer "Locomotion"'} and "Beacon" in texts['Layer "Locomotion"']
    knight.obj.active_ragdoll.layers[1].enabled = False
    assert rigs.angles(layered.shown(knight, (6,))[6], found).max() > 5.0


def test_what_is_renamed_is_still_found(knight):
    settings = knight.obj.active_ragdoll
    locomotion(knight).x.value = 4.0
    clip = layered.layer(knight, "Cheer")
    stack_edits.mask_bones(clip, ["chest"])
    clip.sync_with = "Locomotion"
    bpy.ops.active_ragdoll.enable_graph()
    for what in ("STATE", "STATE", "PARAMETER", "TRANSITION", "CONDITION"):
        stack_edits.edit_graph(knight.obj, what, "ADD")
    graph = settings.graph
    graph.states[0].source, graph.states[0].blend_space = "BLEND_SPACE", "Locomotion"
    graph.states[1].source = "NONE"
    graph.parameters[0].value, graph.transitions[0].blend_time = 1.0, 0.0
    expected = layered.shown(knight, (5,))[5]
    assert pose_stack.of(knight.obj).messages == {}
    settings.blend_spaces[0].name, graph.parameters[0].name = "Moves", "velocity"
    graph.states[0].name, graph.states[1].name = "Moving", "Still"
    assert np.array_equal(layered.shown(knight, (5,))[5], expected) and pose_stack.of(knight.obj).messages == {}
    layers = settings.layers
    assert layers[0].blend_space == layers[1].sync_with == graph.states[0].blend_space == "Moves"
    transition = graph.transitions[0]
    assert (transition.origin, transition.target, transition.conditions[0].parameter) == ("Moving", "Still", "velocity")


def weights(rig, frame: int) -> dict:
    rig.scene.frame_set(frame)
    return {layer.name: round(layer.weight, 4) for layer in rig.obj.active_ragdoll.layers}


@pytest.mark.blender_version
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
            continue
        for frame, value in ((1, float(i)), (21, 1.0 - i)):
            settings.layers[i].weight = value
            obj.keyframe_insert(path, frame=frame)
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


@pytest.mark.blender_version
def test_a_duplicate_has_layers_of_its_own(knight):
    obj, scene = knight.obj, knight.scene
    plain = layered.plays(knight, "Idle", (8,))[8]
    layered.layer(knight, "Cheer", only_keyed=False)
    scene.frame_set(5)
    copy = rigs.duplicate(obj)
    shown = layered.shown(knight, (8,))[8]
    assert rigs.angles(rigs.pose(copy), shown).max() < 0.01
    copy.active_ragdoll.layers[0].weight = 0.0
    scene.frame_set(8)
    assert rigs.angles(rigs.pose(copy), plain).max() < 0.01 and rigs.angles(rigs.pose(obj), shown).max() < 0.01
    assert copy.active_ragdoll.target_armature != obj.active_ragdoll.target_armature
    assert copy.active_ragdoll.source != obj.active_ragdoll.source
    bpy.data.objects.remove(obj)
    copy.active_ragdoll.layers[0].weight = 1.0
    scene.frame_set(8)
    assert rigs.angles(rigs.pose(copy), shown).max() < 0.01 and pose_stack.of(copy).messages == {}


@pytest.fixture
def rig(knight):
    """The knight with one good layer, "Cheer" on the chest, below which the others are put."""
    stack_edits.mask_bones(layered.layer(knight, "Cheer"), ["chest"])
    return knight


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
    for name, value in values.items():
        setattr(space.x, name, value)
    return space


def _additive_beside_whole(rig):
    spaced(rig, MOVES).samples[1].additive = "LOCAL"


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
    "whole samples beside additive ones": (_additive_beside_whole, "Locomotion", "Running_A", "Idle"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_and_the_rest_goes_on(rig, what):
    spoil, layer, *words = WRONG[what]
    spoil(rig)
    goes_on(rig, f'Layer "{layer}"', *words)


def test_operators_refuse_in_words(data_dir):
    rig = rigs.load(data_dir / "arnaud.fbx")  # plays no action
    with pytest.raises(RuntimeError, match="plays no action"):
        bpy.ops.active_ragdoll.add_layer(source="ACTION")
    with pytest.raises(RuntimeError, match="blend space first"):
        bpy.ops.active_ragdoll.add_layer(source="BLEND_SPACE")
    with pytest.raises(RuntimeError, match="Nowhere"):
        bpy.ops.active_ragdoll.add_layer(source="POSE_ASSET", action="Nowhere")
    assert rig.obj.active_ragdoll.target_armature is None and not len(rig.obj.active_ragdoll.layers)


@pytest.mark.blender_version
def test_a_new_users_way_through_the_operators(data_dir):
    """From the sidebar's buttons: layers of an action and a pose, a space with samples, additive, and all removed."""
    rig = layered.knight(data_dir, 1, 20)
    obj, settings = rig.obj, rig.obj.active_ragdoll
    ops = bpy.ops.active_ragdoll
    bpy.context.view_layer.objects.active = obj
    layered.play(obj, "Cheer")
    assert ops.add_layer(source="ACTION") == {"FINISHED"}
    layered.play(obj, "Idle")
    assert ops.add_layer(source="CURRENT_POSE") == {"FINISHED"}
    assert ops.add_layer(source="POSE_ASSET", action="Sit_Floor_Pose") == {"FINISHED"}
    assert [layer.source for layer in settings.layers] == ["CLIP", "POSE", "POSE"]
    assert ops.move_layer(step=-1) == {"FINISHED"} and settings.layers[1].action.name == "Sit_Floor_Pose"
    assert ops.make_additive(what="LAYER", space="MESH", base="BIND") == {"FINISHED"}
    assert settings.layers[1].mode == "ADDITIVE_MESH"
    rigs.select(obj, "chest")
    assert ops.mask_from_selected() == {"FINISHED"} and settings.layers[1].mask_bones[0].bone == "chest"
    assert ops.add_blend_space(kind="SPEED") == {"FINISHED"}
    for name in ("Idle", "Walking_A", "Running_A"):
        layered.play(obj, name)
        assert ops.add_sample() == {"FINISHED"}
    layered.play(obj, "Idle")
    assert [sample.x for sample in settings.blend_spaces[0].samples] == [0.0, 1.0, 2.0]
    assert ops.add_layer(source="BLEND_SPACE") == {"FINISHED"}
    rig.scene.frame_set(9)
    assert pose_stack.of(obj).messages == {}
    assert ops.remove_sample() == {"FINISHED"} and len(settings.blend_spaces[0].samples) == 2
    assert ops.enable_graph() == {"FINISHED"} and settings.graph.enabled
    for what in ("STATE", "PARAMETER", "STATE", "TRANSITION", "CONDITION"):
        assert ops.edit_graph(what=what, do="ADD") == {"FINISHED"}
    assert ops.enable_graph() == {"FINISHED"} and not settings.graph.enabled
    assert ops.bake(frame_start=0, frame_end=0) == {"FINISHED"} and settings.muted
    assert ops.revert_bake() == {"FINISHED"}
    for _ in range(4):
        settings.layer_index = 0
        assert ops.remove_layer() == {"FINISHED"}
    assert settings.target_armature is None
    assert not [c for bone in obj.pose.bones for c in bone.constraints]
    assert np.isfinite(rigs.pose(obj)).all()


@pytest.mark.blender_version
def test_undo_and_redo_of_layers(knight):
    """Back to a smaller weight, forth, and back to no layer."""
    name = knight.obj.name

    def pose():
        bpy.context.scene.frame_set(5)
        return rigs.pose(bpy.data.objects[name])

    bpy.context.view_layer.objects.active = knight.obj
    shown = [pose()]
    bpy.ops.ed.undo_push(message="start")
    assert bpy.ops.active_ragdoll.add_layer(source="POSE_ASSET", action="Sit_Floor_Pose") == {"FINISHED"}
    for weight in (0.5, 1.0):
        knight.obj.active_ragdoll.layers[0].weight = weight
        bpy.ops.ed.undo_push(message=f"{weight}")
        shown.append(pose())
    assert rigs.angles(shown[2], shown[1]).max() > 5.0
    for step, expected in ((bpy.ops.ed.undo, 1), (bpy.ops.ed.redo, 2), (bpy.ops.ed.undo, 1)):
        step()
        assert rigs.angles(pose(), shown[expected]).max() < 0.01
    while len(bpy.data.objects[name].active_ragdoll.layers):
        bpy.ops.ed.undo()
    assert rigs.angles(pose(), shown[0]).max() < 0.01


@pytest.mark.blender_version
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
