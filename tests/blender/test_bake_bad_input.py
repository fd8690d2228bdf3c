"""Bakes to controls of rigs that are not as they should be: what is wrong is named, all comes back."""

from types import SimpleNamespace
from unittest.mock import Mock

import bpy
import numpy as np
import pytest

import control_rigs
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError
from animated import animation_settings, curves

LAST = 5
TURN = "rotation_quaternion", {1: (1, 0, 0, 0), LAST: (1.0, 0.2, 0.1, 0.05)}
SWITCH = 'pose.bones["hips"]["ik_hand.L"]'


def _lock(bone, channel):
    return lambda obj: setattr(obj.pose.bones[bone], f"lock_{channel}", (True, True, True))


def _second_rig(obj):
    mesh = rigs.box(bpy.context.scene, "Skin", (0.2, 0.2, 0.2), (0.0, 0.0, 1.0))
    for other in (obj, rigs.chain(bpy.context.scene)):
        mesh.modifiers.new("Armature", "ARMATURE").object = other
    bpy.context.view_layer.objects.active = obj


def _drive(obj, axes: int = 3):
    obj.pose.bones["head"].rotation_mode = "XYZ"
    for axis in range(axes):
        obj.pose.bones["head"].driver_add("rotation_euler", axis).driver.expression = "0.1 * frame"


def _hide(obj):
    collection = obj.data.collections.new("Hidden")
    list(map(collection.assign, obj.data.bones))
    collection.is_visible = False


def _without_w(obj):
    for frame, x in ((1, 0.0), (LAST, 0.3)):
        obj.pose.bones["head"].rotation_quaternion = (1.0, x, 0.0, 0.0)
        for index in (1, 2, 3):
            obj.pose.bones["head"].keyframe_insert("rotation_quaternion", index=index, frame=frame)


def _unkeyed(obj):
    """Controls that move nothing, and what the head's control moves; a bone that is keyed, but not to move."""

    def add(bones):
        for name in ("idle", "twin", "space"):
            bone = bones.new(name)
            bone.head, bone.tail, bone.parent = bones["head"].head, bones["head"].tail, bones["spine"]
        bones["head"].parent = bones["twin"]

    rigs.edit(obj, add)
    for name, keys in {"idle": TURN, "twin": TURN, "space": ("bbone_easein", {1: 0.5})}.items():
        rigs.key(obj.pose.bones[name], *keys)


def _switch(obj, *values):
    obj.pose.bones["IK-hand.L"].location.y = -0.1  # towards the shoulder, where the arm reaches it
    for frame, obj.pose.bones["hips"]["ik_hand.L"] in zip((1, 3), values):
        obj.keyframe_insert(SWITCH, frame=frame)
    rigs.interpolate(obj, "CONSTANT", SWITCH)


def _without_scripts(obj):
    """As a file is opened whose scripts may not run, such as the one that draws the rig's panel."""
    bpy.data.texts.new("rig_ui.py").from_string("raise RuntimeError")
    bpy.data.texts["rig_ui.py"].use_module = True
    bpy.ops.wm.save_as_mainfile(filepath=str(rigs.KEPT / "scripts.blend"))
    bpy.ops.wm.open_mainfile(filepath=bpy.data.filepath, use_scripts=False)
    return bpy.data.objects["Layered"]


def _override(obj, data: bool = False):
    obj = rigs.linked(rigs.KEPT / "library.blend", obj.name).override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = obj
    if data:
        obj.data.override_create(remap_local_usages=True)
    return obj


BAD = {
    "override": (_override, ""),
    "override of its data": (lambda obj: _override(obj, True), ""),
    "scripts off": (_without_scripts, ""),
    "locked": (_lock("head", "rotation"), "The rotation of 'head' is locked"),
    "locked root": (_lock("hips", "location"), "The controls 'hips' cannot be moved"),
    "two rigs on one mesh": (_second_rig, "'Skin' is deformed by 'Chain' too"),
    "driven": (_drive, "The rotation of 'head' is driven"),
    "one driven axis": (lambda obj: _drive(obj, 1), "The rotation of 'head' is driven: that stays"),
    "hidden": (_hide, "Hidden controls have keys: show 'Hidden'"),
    "missing": (
        lambda obj: rigs.edit(obj, lambda bones: bones.remove(bones["head"])),
        "The bone 'head' is gone that 'Copy Transforms' of 'DEF-head' follows",
    ),
    "without w": (_without_w, ""),
    "no keys": (_unkeyed, "'idle'\nActive Ragdoll: Controls get no keys where others move the same: 'twin' ('head')"),
    "keyed below": (lambda obj: rigs.key(obj.pose.bones["DEF-head"], *TURN), "have stay as they are: 'DEF-head'"),
    "switched on": (lambda obj: _switch(obj, 0.0, 1.0), "'ik_hand.L' is keyed within the frames: it is held as at"),
    "switched off": (lambda obj: _switch(obj, 1.0, 0.0), "'ik_hand.L' is keyed within the frames: it is held as at"),
}
CASES = [(kind, "AS_KEYED") for kind in BAD] + [("switched on", "IK"), ("switched off", "FK")]
REFUSED = (
    ({"destination": "CURRENT", "to": "CONTROLS"}, "has no action to bake into"),
    ({"frame_start": 3, "frame_end": 3}, "3 to 3 has no frame"),
    ({"root_motion": "ROOT", "to": "CONTROLS"}, "no bone to carry"),
    ({"to": "CONTROLS"}, "No bone of 'Layered' controls"),
    ({"to": "CONTROLS"}, "no room"),
    ({"to": "CONTROLS", "bones": "SELECTED"}, "No selected bone of 'Layered' is a control"),
    ({"to": "DEFORM", "bones": "SELECTED"}, "No selected bone of 'Layered' moves"),
    ({"frames": "ACTIVE"}, "nothing to bake"),
)


def test_a_script_is_told_which_value_is_none(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 12)
    for first, last in ((10, 10), (8, 3), (2.5, 7), ("a", 4), (float("nan"), 4)):
        with pytest.raises(RagdollError, match=f"Frames {first} to {last}: a range has two whole frames or more"):
            list(bake.bake_frames(obj, fresh_scene, first, last))
    wrong = {"to": "CONTROL", "bones": None, "frames": "range", "destination": "", "root_motion": "BONE"}
    for name, value in (wrong | {"limbs": 1, "loop": -1}).items():
        with pytest.raises(RagdollError, match=f"{name} is {value!r}"):
            bake.Choice(**{name: value})


@pytest.mark.parametrize("kind, limbs", CASES)
def test_the_rest_is_baked_and_what_is_wrong_is_named(fresh_scene, kind, limbs, capfd):
    damage, said = BAD[kind]
    obj = damage(obj := control_rigs.layered(fresh_scene)) or obj
    scene = bpy.context.scene
    rigs.key(obj.pose.bones["spine"], *TURN)
    rigs.set_range(scene, 1, LAST)
    build.build(obj, scene, np.array([bone.name.startswith("DEF-") for bone in obj.data.bones]))
    bpy.ops.active_ragdoll.simulate()
    names = [part.bone for part in obj.active_ragdoll.parts]
    before = control_rigs.places(scene, obj, names, LAST)
    held, settings, things = curves(obj.animation_data.action, obj), animation_settings(obj), rigs.counts()
    bpy.ops.active_ragdoll.bake(to="CONTROLS", limbs=limbs)
    assert said in capfd.readouterr().out
    assert animation_settings(obj)["drivers"] == settings["drivers"]  # they go on outside of the frames
    now = control_rigs.places(scene, obj, names, LAST)
    carried = [bool(bake.controls_of(obj)[name]["control"]) for name in names]
    assert np.abs(now - before)[:, carried, :3, 3].max() < 5e-3
    assert rigs.angles(now[:, carried], before[:, carried]).max() < 1.0
    bpy.ops.active_ragdoll.revert_bake()
    assert curves(obj.animation_data.action, obj) == held and animation_settings(obj) == settings
    assert not STATE.warnings.get(obj.name)
    assert rigs.counts() == things | {"actions": things["actions"] + 1}


@pytest.mark.parametrize("choice, said", REFUSED)
def test_a_refused_bake_leaves_rig_and_animation_as_they_were(fresh_scene, monkeypatch, choice, said):
    if said == "no room":  # after the bones have their keys
        monkeypatch.setattr(bake.actions, "write_properties", Mock(side_effect=RagdollError(said)))
    obj = control_rigs.layered(fresh_scene)
    for bone in obj.pose.bones:
        bone.lock_rotation = [said.startswith("No bone")] * 3
    rigs.set_range(fresh_scene, 1, LAST)
    build.build(obj, fresh_scene, np.array([bone.name.startswith("DEF-") for bone in obj.data.bones]))
    bpy.ops.active_ragdoll.simulate()

    def state():
        muted = [constraint.mute for bone in obj.pose.bones for constraint in bone.constraints]
        return muted, animation_settings(obj), obj.path_resolve(SWITCH), rigs.counts(), obj.active_ragdoll.muted

    before = state()
    with pytest.raises(RuntimeError, match=said):
        bpy.ops.active_ragdoll.bake(**choice)
    assert state() == before


def test_controls_without_keys_are_told_from_those_that_move_the_same():
    moved = {"hips": [1] * 6, "head": [0] * 5 + [1], "tweak": [1, 1] + [0] * 4, "idle": [0] * 6}
    effects = {name: np.tile(np.reshape(some, (1, 6, 1)), (2, 1, 3)) for name, some in moved.items()}
    carried = SimpleNamespace(shaped=moved.keys(), bones={}, keyed={"hips": 1, "head": 1}, effects=effects, height=1.0)
    bake._tell_unkeyed(SimpleNamespace(name="It"), carried, {"tweak", "idle"})
    idle, twin = STATE.warnings.pop("It")
    assert idle.endswith("no keys: 'idle'") and twin.endswith("move the same: 'tweak' ('hips')")
