"""The operators as scripts call them, and what the sidebar draws in each state."""

from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from active_ragdoll.core.blender import importing, pipeline
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.panels import ragdoll as panels

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
OPERATORS = bpy.ops.active_ragdoll
ARM = "upper arm.L"


def make_arm(scene, frames: int = 30):
    """Three bones of 0.5 m in a row that swing about the X axis; skinned to nothing."""
    data = bpy.data.armatures.new("Arm")
    obj = bpy.data.objects.new("Arm", data)
    scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, name in enumerate(("shoulder", ARM, "hand")):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = (0.0, 0.5 * i, 2.0), (0.0, 0.5 * i + 0.5, 2.0)
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in obj.pose.bones:
        bone.rotation_mode = "XYZ"
        for frame, angle in ((1, 0.0), (frames, 0.4)):
            bone.rotation_euler.x = angle
            bone.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return obj


@pytest.fixture
def arm(fresh_scene):
    return make_arm(fresh_scene)


@pytest.fixture
def scene(arm):
    return arm.users_scene[0]


def heads(obj, scene) -> np.ndarray:
    """Joints [n, 3] as shown, armature space."""
    evaluated = obj.evaluated_get(pipeline.depsgraph_of(scene))
    return np.array([bone.head for bone in evaluated.pose.bones])


def played(obj, scene) -> np.ndarray:
    """Joints [frames, n, 3] over the scene's range."""
    result = []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        result.append(heads(obj, scene))
    return np.array(result)


def test_build_needs_an_armature(fresh_scene):
    assert not OPERATORS.build.poll()
    with pytest.raises(RuntimeError, match="Select the character's armature"):
        OPERATORS.build()


def test_other_operators_need_a_ragdoll(arm):
    for operator in (OPERATORS.remove, OPERATORS.bake, OPERATORS.revert_bake):
        with pytest.raises(RuntimeError, match="Build the ragdoll first"):
            operator()
    with pytest.raises(RuntimeError, match="Build a ragdoll first"):
        OPERATORS.simulate()
    with pytest.raises(RuntimeError, match="Nothing is simulated"):
        OPERATORS.free_cache()


def test_all_operators_are_undoable(arm):
    for name in ("build", "remove", "simulate", "free_cache", "bake", "revert_bake"):
        identifier = getattr(OPERATORS, name).idname()
        operator = getattr(bpy.types, identifier)
        assert operator.bl_options == {"REGISTER", "UNDO"}, name


def test_build_and_remove(arm, scene):
    before = {kind: len(getattr(bpy.data, kind)) for kind in ("objects", "meshes", "collections", "scenes", "actions")}
    assert OPERATORS.build() == {"FINISHED"}
    assert [part.bone for part in arm.active_ragdoll.parts] == ["shoulder", ARM, "hand"]
    assert arm.active_ragdoll.state == "READY"
    assert OPERATORS.remove() == {"FINISHED"}
    assert arm.active_ragdoll.state == "NONE"
    after = {kind: len(getattr(bpy.data, kind)) for kind in before}
    assert after == before
    assert not any(bone.constraints for bone in arm.pose.bones)


def test_build_of_selected_bones(arm):
    bpy.ops.object.mode_set(mode="POSE")
    bones = arm.pose.bones if "select" in bpy.types.PoseBone.bl_rna.properties else arm.data.bones
    for bone in bones:
        bone.select = bone.name != "hand"
    assert OPERATORS.build(bones="SELECTED") == {"FINISHED"}
    assert arm.mode == "POSE"
    assert [part.bone for part in arm.active_ragdoll.parts] == ["shoulder", ARM]


def test_build_as_chosen_brings_an_edited_mass_into_the_body(arm):
    OPERATORS.build()
    arm.pose.bones[ARM].active_ragdoll.mass = 7.5
    arm.pose.bones["hand"].active_ragdoll.simulate = False
    assert arm.active_ragdoll.layout_changed
    assert OPERATORS.build(bones="KEEP") == {"FINISHED"}
    assert not arm.active_ragdoll.layout_changed
    assert {part.bone: part.body.rigid_body.mass for part in arm.active_ragdoll.parts}[ARM] == 7.5
    assert [part.bone for part in arm.active_ragdoll.parts] == ["shoulder", ARM]


def test_trouble_is_reported_and_nothing_is_left(arm):
    arm.scale = (1.0, 2.0, 1.0)
    objects = len(bpy.data.objects)
    with pytest.raises(RuntimeError, match="'Arm' has the non-uniform scale 1 x 2 x 1"):
        OPERATORS.build()
    assert arm.active_ragdoll.state == "NONE" and len(bpy.data.objects) == objects


def test_simulate_keeps_a_cache_that_can_be_scrubbed(arm, scene, capfd):
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.3
    assert OPERATORS.simulate() == {"FINISHED"}
    assert arm.active_ragdoll.state == "CACHED"
    forth = played(arm, scene)
    for frame in (20, 3, 11):
        scene.frame_set(frame)
        np.testing.assert_array_equal(heads(arm, scene), forth[frame - 1])
    out = capfd.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("Simulating: frame")]
    assert len(lines) == 10 and lines[-1].endswith("100%")


def test_simulate_another_range_and_back(arm, scene):
    OPERATORS.build()
    OPERATORS.simulate(frame_start=5, frame_end=12)
    own = scene.active_ragdoll
    assert own.use_range and (own.frame_start, own.frame_end) == (5, 12)
    assert scene.rigidbody_world.point_cache.frame_end == 12
    OPERATORS.simulate(frame_start=1, frame_end=30)
    assert not own.use_range
    assert (scene.frame_start, scene.frame_end) == (1, 30)
    with pytest.raises(RuntimeError, match="The frame range 9 to 9 has no frame"):
        OPERATORS.simulate(frame_start=9, frame_end=9)


def test_the_next_simulation_does_not_remember_the_last_ones_frames(arm, scene):
    OPERATORS.build()
    OPERATORS.simulate(frame_start=5, frame_end=12)
    scene.active_ragdoll.use_range = False
    OPERATORS.simulate()
    assert scene.rigidbody_world.point_cache.frame_end == 30


def test_free_cache_returns_to_live_play(arm, scene):
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.3
    OPERATORS.simulate()
    simulated = played(arm, scene)
    assert OPERATORS.free_cache() == {"FINISHED"}
    assert arm.active_ragdoll.state == "READY"
    # The same to single precision: the cache stores places and rotations, a live step shows matrices.
    np.testing.assert_allclose(played(arm, scene), simulated, rtol=0.0, atol=1e-6)
    assert arm.active_ragdoll.state == "LIVE"


def test_bake_and_revert(arm, scene):
    old = arm.animation_data.action
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.3
    OPERATORS.simulate()
    simulated = played(arm, scene)
    assert OPERATORS.bake() == {"FINISHED"}
    assert arm.active_ragdoll.state == "BAKED"
    assert arm.animation_data.action != old and old.name in bpy.data.actions
    np.testing.assert_allclose(played(arm, scene), simulated, atol=1e-4 * 1.5)  # 1e-4 of the arm's height
    with pytest.raises(RuntimeError, match="revert the bake first"):
        OPERATORS.bake()
    for operator in (OPERATORS.build, OPERATORS.simulate):
        with pytest.raises(RuntimeError, match="revert the bake first"):
            operator()
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert arm.animation_data.action == old
    with pytest.raises(RuntimeError, match="Nothing is baked"):
        OPERATORS.revert_bake()


def test_bake_of_a_part_of_the_shot_shows_the_motion_of_the_whole_shot(arm, scene):
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.0
    OPERATORS.simulate()
    simulated = played(arm, scene)
    OPERATORS.bake(frame_start=10, frame_end=20)
    assert not scene.active_ragdoll.use_range
    np.testing.assert_allclose(played(arm, scene)[9:20], simulated[9:20], atol=1e-4 * 1.5)


def test_bake_after_a_shorter_simulation_simulates_the_rest(arm, scene):
    """A cache of 1 to 10 must not pass for one of 1 to 30, whose last frames it would show frozen."""
    OPERATORS.build()
    arm.active_ragdoll.rotation_weight = 0.0
    OPERATORS.simulate()
    simulated = played(arm, scene)
    OPERATORS.simulate(frame_start=1, frame_end=10)
    OPERATORS.bake(frame_start=1, frame_end=30)
    np.testing.assert_allclose(played(arm, scene), simulated, atol=1e-4 * 1.5)


def test_pointer_and_cursor_are_free_after_trouble(arm, scene):
    """A body deleted by hand: the operator reports it, says what to do, and can be called again."""
    OPERATORS.build()
    part = arm.active_ragdoll.parts[1]
    bpy.data.objects.remove(part.body)
    for _again in range(2):
        with pytest.raises(RuntimeError, match=f"body of bone '{ARM}' of 'Arm' was deleted: build the ragdoll anew"):
            OPERATORS.simulate()
    assert OPERATORS.build() == {"FINISHED"}
    assert OPERATORS.simulate() == {"FINISHED"}


# ---- the sidebar ----------------------------------------------------------------------------------------------------


class Layout:
    """Stands for a UILayout: notes what is drawn, and refuses what Blender would refuse."""

    bl_types = bpy.types.UILayout.bl_rna

    def __init__(self, drawn: list, enabled=None) -> None:
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "parent", enabled)
        object.__setattr__(self, "enabled", True)

    def __setattr__(self, name, value):
        assert name in self.bl_types.properties, f"a layout has no {name}"
        object.__setattr__(self, name, value)

    @property
    def live(self) -> bool:
        return self.enabled and (self.parent is None or self.parent.live)

    def _inner(self, **_options):
        return Layout(self.drawn, self)

    row = column = box = split = _inner

    def _icon(self, icon):
        assert icon in bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items, icon

    def label(self, text="", icon="NONE"):
        self._icon(icon)
        self.drawn.append(("label", text, self))

    def prop(self, data, name, **_options):
        assert name in data.bl_rna.properties, f"{data.bl_rna.identifier} has no {name}"
        getattr(data, name)
        self.drawn.append(("prop", name, self))

    def operator(self, name, text="", icon="NONE"):
        self._icon(icon)
        getattr(OPERATORS, name.removeprefix("active_ragdoll.")).get_rna_type()
        self.drawn.append(("operator", name, self))
        return SimpleNamespace()

    def operator_menu_enum(self, name, _property, **_options):
        self.drawn.append(("menu", name, self))


def draw() -> dict:
    """What all panels draw now: by panel, (kind, name or text) -> whether it can be used."""
    context = SimpleNamespace(
        object=bpy.context.object,
        scene=bpy.context.scene,
        region=SimpleNamespace(width=280),
        # Without a window the interface has no scale.
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),
    )
    result = {}
    for panel in panels.CLASSES:
        if hasattr(panel, "poll") and not panel.poll(context):
            continue
        drawn = []
        # Blender makes panels only while it draws: a stand-in has the panel's own methods.
        mine = [cls for cls in reversed(panel.__mro__) if cls.__module__ == panels.__name__]
        methods = {name: value for cls in mine for name, value in vars(cls).items() if callable(value)}
        own = type("Drawn", (), methods)()
        own.layout = Layout(drawn)
        own.draw(context)
        result[panel.__name__.removeprefix("ACTIVE_RAGDOLL_PT_")] = {
            (kind, name): layout.live for kind, name, layout in drawn
        }
    return result


def text_of(panel: dict) -> str:
    return " ".join(name for kind, name in panel if kind == "label")


def test_sidebar_without_an_armature_says_what_to_select(fresh_scene):
    drawn = draw()
    assert set(drawn) >= {"main", "weights", "drive", "simulate", "bone"}
    for name in ("main", "weights", "bone"):
        assert "Select the character's armature" in text_of(drawn[name])


def test_sidebar_before_the_build_greys_out_what_needs_a_ragdoll(arm):
    drawn = draw()
    assert "Build the ragdoll first" in text_of(drawn["weights"])
    assert drawn["weights"]["prop", "rotation_weight"] is False
    assert drawn["drive"]["prop", "density"] is True


def test_sidebar_of_a_ragdoll(arm, scene):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    drawn = draw()
    assert "3 bodies, 2 joints" in text_of(drawn["main"]) and "Ready" in text_of(drawn["main"])
    for name in ("rotation_weight", "translation_weight", "physics_blend"):
        assert drawn["weights"]["prop", name] is True
    assert text_of(drawn["bone"]) == ARM
    assert drawn["bone"]["prop", "simulate"] and drawn["joint"]["prop", "limit_min"]
    assert "Swing X" in text_of(drawn["joint"]) and "Twist Y" in text_of(drawn["joint"])
    arm.pose.bones[ARM].active_ragdoll.mass = 2.0
    assert "wait for Rebuild" in " ".join(text_of(draw()["main"]).split())


def test_sidebar_says_when_the_cache_is_out_of_date(arm, scene):
    OPERATORS.build()
    OPERATORS.simulate()
    assert "out of date" not in text_of(draw()["simulate"])
    arm.active_ragdoll.rotation_weight = 0.5
    assert "out of date" in text_of(draw()["simulate"])
    OPERATORS.simulate()
    scene.frame_end = 40
    assert "out of date" in text_of(draw()["simulate"])


def test_sidebar_of_a_baked_character_is_greyed_out(arm, scene):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    OPERATORS.bake()
    drawn = draw()
    assert "Baked" in text_of(drawn["main"])
    assert "revert the bake" in text_of(drawn["weights"])
    assert not drawn["weights"]["prop", "rotation_weight"] and not drawn["bone"]["prop", "simulate"]


def test_sidebar_shows_trouble(arm, scene):
    OPERATORS.build()
    STATE.messages["Arm"] = STATE.messages[scene.name] = "Something long enough to need more than one line"
    text = text_of(draw()["main"])
    assert text.count("Something") == 1 and "more than one line" in " ".join(text.split())


def test_sidebar_in_edit_mode(arm):
    arm.data.bones.active = arm.data.bones[ARM]
    OPERATORS.build()
    bpy.ops.object.mode_set(mode="EDIT")
    drawn = draw()
    assert "Leave Edit Mode" in text_of(drawn["bone"]) and "joint" not in drawn


@pytest.mark.parametrize("name", ["Knight.glb", "01_01.bvh"])
def test_operators_on_characters_of_others(fresh_scene, name):
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is missing")
    obj = importing.import_character(DATA / name).armature
    scene = bpy.context.scene
    scene.frame_end = min(scene.frame_end, scene.frame_start + 30)
    assert OPERATORS.build() == {"FINISHED"}
    assert OPERATORS.bake() == {"FINISHED"}
    assert obj.active_ragdoll.state == "BAKED"
    assert OPERATORS.revert_bake() == {"FINISHED"}
    assert OPERATORS.remove() == {"FINISHED"}


def test_edited_masses_of_a_loaded_file_are_built_before_the_bake(arm, scene, tmp_path):
    OPERATORS.build()
    OPERATORS.simulate()
    path = str(tmp_path / "cached.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    obj = bpy.data.objects["Arm"]
    assert obj.active_ragdoll.state == "CACHED"
    obj.pose.bones[ARM].active_ragdoll.mass = 7.5
    assert OPERATORS.bake() == {"FINISHED"}
    assert {part.bone: part.body.rigid_body.mass for part in obj.active_ragdoll.parts}[ARM] == 7.5


# ---- several characters at once ------------------------------------------------------------------------------------


def three_arms(scene) -> list:
    """The arm of `make_arm` and two copies of it beside each other, all selected."""
    first = scene.objects["Arm"]
    found = [first]
    for i in (1, 2):
        other = first.copy()
        other.data, other.animation_data.action = first.data.copy(), first.animation_data.action.copy()
        other.location.x = 2.0 * i
        scene.collection.objects.link(other)
        found.append(other)
    bpy.context.view_layer.update()
    for obj in found:
        obj.select_set(True)
    return found


def test_build_and_remove_take_all_selected_armatures(arm, scene):
    arms = three_arms(scene)
    before = len(bpy.data.objects)
    assert OPERATORS.build(bones="ALL") == {"FINISHED"}
    assert all(obj.active_ragdoll.is_ragdoll for obj in arms)
    for frame in range(1, 6):
        scene.frame_set(frame)
    assert [len(run.characters) for run in STATE.runs.values()] == [3]
    arms[2].select_set(False)
    assert OPERATORS.remove() == {"FINISHED"}
    assert [obj.active_ragdoll.is_ragdoll for obj in arms] == [False, False, True]
    for frame in range(6, 9):  # plays on: Bullet must not step with the joints that are gone
        scene.frame_set(frame)
    for frame in range(1, 6):
        scene.frame_set(frame)
    assert [len(run.characters) for run in STATE.runs.values()] == [1]
    bpy.context.view_layer.objects.active = arms[2]
    assert OPERATORS.remove() == {"FINISHED"}
    assert len(bpy.data.objects) == before and scene.rigidbody_world is None


def test_one_that_cannot_be_built_does_not_take_the_others_with_it(arm, scene):
    arms = three_arms(scene)
    arms[1].scale = (1.0, 2.0, 1.0)
    bpy.context.view_layer.update()
    with pytest.raises(RuntimeError, match=r"Arm\.001"):
        OPERATORS.build(bones="ALL")
    assert [obj.active_ragdoll.is_ragdoll for obj in arms] == [True, False, True]


def test_a_rebuild_keeps_the_settings_of_the_world(arm, scene):
    OPERATORS.build(bones="ALL")
    scene.rigidbody_world.substeps_per_frame, scene.rigidbody_world.solver_iterations = 37, 41
    for frame in range(1, 4):
        scene.frame_set(frame)
    OPERATORS.build(bones="KEEP")
    world = scene.rigidbody_world
    assert (world.substeps_per_frame, world.solver_iterations) == (37, 41)
    OPERATORS.remove()
    assert scene.rigidbody_world is None
