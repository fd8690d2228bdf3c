"""What the sidebar draws in each state, of what is selected and of what the character does."""

import random
import re
from types import SimpleNamespace

import bpy
import pytest
from mathutils import Euler

import rigs
from active_ragdoll import panels
from active_ragdoll.core.blender import interface, languages
from active_ragdoll.core.blender.physics import built, remove
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import declare
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools import health
from arms import ARM
from drawing import Layout, drawn, reached

pytestmark = pytest.mark.blender_version
OPERATORS = bpy.ops.active_ragdoll
PANELS = {cls.__name__.partition("_PT_")[2]: cls for cls in panels.classes() if issubclass(cls, bpy.types.Panel)}
TOP = ["main", "act", "simulate", "motion", "setup"]


def draw() -> dict:
    """What the panels draw now: by panel, (kind, name or text) -> whether it can be used."""
    return {
        name: {(kind, what): layout.live for kind, what, layout in items}
        for name, panel in PANELS.items()
        if (items := drawn(panel, bpy.context.object)) is not None
    }


def said(obj) -> str:
    return " ".join(finding.text for finding in health.notices(obj, bpy.context.scene))


def text_of(panel: dict) -> str:
    return " ".join(name for kind, name in panel if kind == "label")


def test_five_panels_and_all_else_closed_inside_them():
    assert [name for name, panel in PANELS.items() if not hasattr(panel, "bl_parent_id")] == TOP
    names = {panel.__name__ for panel in PANELS.values()}
    for name, panel in PANELS.items():
        if name not in TOP:
            assert panel.bl_parent_id in names and "DEFAULT_CLOSED" in panel.bl_options


@pytest.fixture(params=["en_US", *(path.stem for path in sorted(languages.FOLDER.glob("*.json")))])
def locale(request, monkeypatch):
    """The language of the interface; wheels have none but English."""
    view = SimpleNamespace(use_translate_interface=True)
    stand_in = SimpleNamespace(
        app=SimpleNamespace(translations=SimpleNamespace(locale=request.param)),
        context=SimpleNamespace(preferences=SimpleNamespace(view=view)),
    )
    monkeypatch.setattr(languages, "bpy", stand_in)
    return request.param


def states(arm, scene):
    """The states that a character goes through, one after the other."""
    bpy.context.view_layer.objects.active = None
    arm.select_set(False)
    shown = draw()
    assert set(shown) == {"main"} and text_of(shown["main"])
    bpy.context.view_layer.objects.active = arm
    shown = draw()
    assert {name for name in shown if name in TOP} == {"main", "motion"}
    assert ("operator", "active_ragdoll.build") in shown["main"]
    yield "bare"
    OPERATORS.build()
    yield "built"
    scene.frame_set(1)
    scene.frame_set(2)
    yield "live"
    OPERATORS.setup_recovery()
    yield "edited"
    OPERATORS.simulate()
    yield "cached"
    arm.active_ragdoll.rotation_weight = 0.5
    yield "outdated"
    STATE.messages[arm.name] = "Something long enough to need more than one line, and more than two of these lines"
    yield "trouble"
    STATE.messages.clear()
    OPERATORS.bake()
    yield "baked"


def test_nothing_jumps_from_state_to_state(arm, scene, locale):
    """The first panels have the same rows in every state of a ragdoll; all panels draw in each, in every mode and
    language."""
    rows = {}
    for state in states(arm, scene):
        for mode in ("OBJECT", "POSE", "EDIT") if state in ("bare", "built", "baked") else ("OBJECT",):
            bpy.ops.object.mode_set(mode=mode)
            draw()
        bpy.ops.object.mode_set(mode="OBJECT")
        if state != "bare":
            kinds = {name: [kind for kind, *_rest in drawn(PANELS[name], arm)] for name in ("main", "act", "simulate")}
            kinds["main"] = len(kinds["main"])  # a label in the place of a button that there is none of
            rows[state] = kinds
            shown = draw()
            assert shown["main"]["label", languages.in_language("3 bodies, 2 joints", locale)]
            weights = ("rotation_weight", "translation_weight", "physics_blend")
            assert all(shown["act"]["prop", name] == (state != "baked") for name in weights)
    assert len(rows) == 7 and all(found == rows["built"] for found in rows.values())


def test_what_waits_has_its_button(arm, scene):
    OPERATORS.build()
    arm.pose.bones[ARM].active_ragdoll.mass = 2.0
    assert "wait for Rebuild" in said(arm) and ("operator", "active_ragdoll.build") in draw()["health"]
    OPERATORS.simulate()
    assert "wait for Rebuild" not in said(arm) and "out of date" not in said(arm)
    scene.frame_end = 40
    assert "out of date" in said(arm) and "or bake" not in said(arm)
    scene.rigidbody_world.substeps_per_frame = 1
    worst = next(finding for finding in health.notices(arm, scene) if finding.kind == "SUBSTEPS")
    assert OPERATORS.remedy(**worst.arguments) == {"FINISHED"} and "steps a second" not in said(arm)
    OPERATORS.setup_recovery()
    for _again in range(2):
        (blends,) = (finding for finding in health.notices(arm, scene) if "by a blend" in finding.text)
        STATE.warn("Arm", blends.text)  # as a run does
    assert OPERATORS.remedy(**blends.arguments) == {"FINISHED"} and "by a blend" not in said(arm)
    assert arm.active_ragdoll.recovery.get_up == "BLEND"


def test_trouble_comes_first_and_once(arm, scene):
    OPERATORS.build()
    STATE.messages["Arm"] = STATE.messages[scene.name] = "Something long enough to need more than one line"
    text = text_of(draw()["main"])
    assert text.count("Something") == 1 and "more than one line" in " ".join(text.split())
    arm.active_ragdoll.parts[0].body.rigid_body.type = "PASSIVE"
    bpy.data.objects.remove(arm.active_ragdoll.parts[1].body)
    assert "is gone" in said(arm)
    draw()


def test_whatever_of_a_character_is_active_stands_for_it(fresh_scene):
    """Its mesh, what hangs on a bone, a body; several selected are built together."""
    first, second = rigs.human(fresh_scene, "First"), rigs.human(fresh_scene, "Second")
    prop = rigs.empty(fresh_scene, "Prop")
    prop.parent, prop.parent_type, prop.parent_bone = first, "BONE", "hand.L"
    mesh = rigs.added(fresh_scene, "Mesh", rigs.box_mesh("Mesh", (1.0, 1.0, 1.0)))
    mesh.modifiers.new("Armature", "ARMATURE").object = second
    bpy.ops.object.select_all(action="DESELECT")
    layer = bpy.context.view_layer
    layer.objects.active = prop
    for obj in (prop, mesh):
        obj.select_set(True)
    assert interface.characters(bpy.context) == [first, second]
    assert OPERATORS.build() == {"FINISHED"}
    assert first.active_ragdoll.is_ragdoll and second.active_ragdoll.is_ragdoll
    first.active_ragdoll.rotation_weight = 0.5
    assert OPERATORS.copy_weights() == {"FINISHED"} and second.active_ragdoll.rotation_weight == 0.5
    layer.objects.active = mesh
    for mode in ("WEIGHT_PAINT", "SCULPT", "EDIT", "OBJECT"):
        bpy.ops.object.mode_set(mode=mode)
        assert "Second" in text_of(draw()["main"])
    layer.objects.active = built.part_of(second, "head").body
    assert interface.active_armature(bpy.context) == second and "Second" in text_of(draw()["main"])
    layer.objects.active = rigs.empty(fresh_scene)
    assert interface.active_armature(bpy.context) is None, "two are selected"
    prop.select_set(False)
    assert interface.active_armature(bpy.context) == second, "as after an import that activates what it made last"


def test_the_motion_stack_is_drawn_and_what_is_wrong_with_it_said(fresh_scene):
    human = rigs.swinging_human(fresh_scene)
    stack_edits.set_up_look_at(human, fresh_scene)
    for kind, bone in (("linked_bones", "arm.L"), ("two_bone_ik", "finger.L"), ("bone_transforms", "head")):
        stack_edits.add(human, fresh_scene, kind, bone)
    OPERATORS.disable_look_at(time=0.5)
    fresh_scene.frame_set(3)
    shown = draw()
    assert all(len(shown[name]) > 2 for name, panel in PANELS.items() if panel in panels.motion.classes())
    limb = human.active_ragdoll.two_bone_ik[0]
    limb.allow_stretching, limb.effector_space, limb.pole_space = True, "BONE", "BONE"
    human.active_ragdoll.look_at[0].target_type = "POINT"
    human.active_ragdoll.look_at[0].entries[0].limit_from = "PARENT"
    human.active_ragdoll.leg_stabilizers[0].bones_count = 4
    human.active_ragdoll.look_at[0].entries[1].bone = "arm.R"
    fresh_scene.frame_set(4)
    assert "ancestor" in said(human) and "hangs on nothing" in said(human)
    draw()


def stir(group, dice, values) -> None:
    """Give every switch, choice, small number and pointer of a group a value by chance, most lists an item."""
    for name, said in declare.declarations(type(group)).items():
        prop, now = group.bl_rna.properties[name], getattr(group, name)
        if said.is_list:
            now.clear()
            if dice.random() < 0.8:
                now.add()
        if said.holds is not None:
            for one in now if said.is_list else (now,):
                stir(one, dice, values)
        elif said.kind == declare.SETTING and prop.type == "BOOLEAN":
            setattr(group, name, dice.random() < 0.7)
        elif said.kind == declare.SETTING and prop.type == "ENUM":
            chosen = dice.choice(prop.enum_items.keys())
            setattr(group, name, {chosen} if prop.is_enum_flag else chosen)
        elif said.kind == declare.SETTING and prop.type == "INT" and not prop.is_array:
            setattr(group, name, dice.randint(0, 5))
        elif said.kind == declare.SETTING and said.points:
            setattr(group, name, dice.choice((None, *values[prop.fixed_type.identifier])))


def test_every_setting_with_a_label_is_in_the_sidebar_whatever_the_others_are(fresh_scene):
    """What has no label is set by operators and in the viewport; what is derived stands for its source by its label."""
    obj = rigs.swinging_human(fresh_scene)
    OPERATORS.build()
    rigs.select(obj, "forearm.L")
    action, has_slots = obj.animation_data.action, hasattr(obj.animation_data, "action_slot")
    if has_slots:
        action.slots.new("OBJECT", "Other")
    values = {"Object": (obj, rigs.empty(fresh_scene)), "Action": (action,)}
    dice, wanted = random.Random(3), set()
    for _round in range(120):
        for start in (obj.active_ragdoll, obj.pose.bones["forearm.L"].active_ragdoll, fresh_scene.active_ragdoll):
            stir(start, dice, values)
            for group, name, said in declare.walk(start):
                prop = group.bl_rna.properties[name]
                label, means = prop.name, re.search(r"\b0 (is|never|takes|keeps)\b(?!.*, 1 )|0: none", prop.description)
                assert bool(means) == bool(said.zero), f"{name}: a 0 that is none has a word for it"
                if said.zero:
                    setattr(group, f"use_{name}", on := dice.random() < 0.5)
                    assert (getattr(group, name) > 0) == on
                if said.kind == declare.SETTING and said.holds is None and label != name:
                    wanted.add((type(group), label))
        draw()
    missing = sorted((kind.__name__, label) for kind, label in wanted - reached)
    assert [both for both in missing if has_slots or "Slot" not in both[1]] == []


def test_of_linked_characters(tmp_path):
    """With a ragdoll and a stack in their own file, themselves and overridden."""
    stack_edits.set_up_look_at(rigs.ragdoll(rigs.empty_file(), 4), bpy.context.scene)
    OPERATORS.add_layer(source="CURRENT_POSE")
    obj = rigs.linked(tmp_path / "Library.blend")
    for overridden in (False, True):
        obj = obj.override_create(remap_local_usages=True) if overridden else obj
        bpy.context.view_layer.objects.active = obj
        assert obj.name in text_of(draw()["main"]) and said(obj)
    assert OPERATORS.build() == {"FINISHED"}
    assert "15 bodies" in text_of(draw()["main"])


def test_sidebar_of_layers_blend_spaces_and_a_graph(arm, scene):
    arm.keyframe_insert("location", frame=1)
    arm.pose.bones[0].keyframe_insert("location", frame=1)
    assert OPERATORS.add_layer(source="ACTION") == OPERATORS.add_blend_space(kind="SPEED") == {"FINISHED"}
    settings = arm.active_ragdoll
    assert "no samples" in text_of(draw()["blend_spaces"])
    for place in (0.0, 4.0):
        settings.blend_spaces[0].x.value = place
        assert OPERATORS.add_sample() == {"FINISHED"}
    settings.blend_spaces[0].x.value = 1.0
    OPERATORS.enable_graph()
    for what in ("STATE", "PARAMETER", "TRANSITION", "CONDITION"):
        assert OPERATORS.edit_graph(what=what, do="ADD") == {"FINISHED"}
    shown, name = draw(), arm.animation_data.action.name
    bars = [text for kind, text in shown["blend_spaces"] if kind == "bar"]
    assert bars == ["Speed 1.00", f"{name} 75%", f"{name} (2) 25%"]
    assert ("prop", "mask") in shown["layer_mask"] and ("prop", "smoothing") in shown["blend_axes"]
    assert {("prop", "weight"), ("prop", "source"), ("prop", "blend_time")} <= set(shown["graph"])
    settings.blend_spaces[0].x.minimum = 9.0
    assert "minimum" in text_of(draw()["blend_spaces"])


@pytest.mark.parametrize("prefix", ("mixamorig:", "b_", "DEF-", "ValveBiped.Bip01_", "Bip01 "))
def test_bones_are_listed_without_what_most_names_begin_with(fresh_scene, prefix):
    listed = ["Hips", "Spine", "L Neck", "Head.L", "Arm_1", "root"]
    names = [name if name == "root" else prefix + name for name in listed]
    obj = rigs.armature(fresh_scene, {name: ((0, 0, i), (0, 0, i + 1), None) for i, name in enumerate(names)})
    assert [interface.short(obj, bone.name) for bone in obj.data.bones] == listed
    obj.data.bones[0].name = f"{prefix}7"  # a number alone says nothing
    assert interface.short(obj, f"{prefix}7") == f"{prefix}7"


def test_angles_turn_the_joint_and_a_zero_says_what_it_means(arm):
    own = arm.pose.bones[ARM].active_ragdoll
    own.joint_angles = (0.3, -0.2, 0.1)
    assert own.joint_rotation[:] == pytest.approx(Euler((0.3, -0.2, 0.1)).to_quaternion()[:], abs=1e-6)
    assert own.joint_angles[:] == pytest.approx((0.3, -0.2, 0.1), abs=1e-6) and own.limits_from == "USER"
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    assert "no limit" in text_of(draw()["bone"])
    own.max_torque = own.max_force = 5.0
    assert "no limit" not in text_of(draw()["bone"])


def test_what_has_no_effect_on_a_fall_or_getting_up_is_not_offered(arm):
    OPERATORS.build()
    OPERATORS.setup_recovery()
    group, seen = arm.active_ragdoll.recovery, []
    for group.get_up in ("AUTOMATIC", "ACTIONS", "BLEND", "STAY_DOWN"):
        names = {name for _kind, name in draw()["get_up"]}
        seen.append([name in names for name in ("get_up_side", "get_up_face_up", "get_up_pace", "method")])
    assert [sum(each) for each in seen] == [4, 3, 2, 0] and seen == [sorted(each) for each in seen]
    group.tone = 0.0
    assert not next(row.active for _kind, name, row in drawn(PANELS["recovery"], arm) if name == "reflexes")
    group.get_up, group.get_up_face_up = "AUTOMATIC", bpy.data.actions.new("Rise")  # which it gets up by
    assert not any(name.startswith("get_up_s") for _kind, name in draw()["get_up"])


def _world_button(scene) -> tuple[bool, bool]:
    """Whether Blender's button that removes the world can be pressed, and whether a line says why not."""
    items = []
    panel = SimpleNamespace(layout=Layout(items))
    for draw in bpy.types.SCENE_PT_rigid_body_world.draw._draw_funcs[:-1]:  # the last one is Blender's own
        draw(panel, SimpleNamespace(scene=scene))
    return panel.layout.live, any("Remove the scene's ragdolls" in text for _kind, text, _layout in items)


def test_the_world_cannot_be_removed_while_bullet_holds_joints(fresh_scene):
    """That would crash Blender: from the first run until the ragdoll is gone."""
    obj = rigs.ragdoll(fresh_scene, 6)
    assert _world_button(fresh_scene) == (True, False)
    rigs.play(fresh_scene, 1, 4)
    assert _world_button(fresh_scene) == (False, True)
    remove.remove(obj, fresh_scene)
    assert _world_button(fresh_scene) == (True, False)
