"""The self-check on real ragdolls: it finds what is wrong, its buttons mend it, and it leaves nothing behind."""

import json

import bpy
import pytest
from mathutils import Vector

import rigs
from active_ragdoll.core.blender.physics import build, built
from active_ragdoll.core.blender.tools import diagnose, health
from active_ragdoll.core.ragdoll import diagnosis
from own_characters import SWEPT, or_own

pytestmark = pytest.mark.blender_version
BENT = (0.5, 0.0, 0.0, 0.8660254)  # of a forearm, beyond its limits


@pytest.fixture
def human(fresh_scene):
    """A human built with masses and a world in which nothing is to be found."""
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    assert kinds(obj) == []
    return obj


def kinds(obj) -> list:
    return [finding.kind for finding in diagnose.diagnose(obj, obj.active_ragdoll.scene)]


def find(obj, kind):
    return next(f for f in diagnose.diagnose(obj, obj.active_ragdoll.scene) if f.kind == kind)


def press(finding) -> None:
    """The finding's button."""
    assert getattr(bpy.ops.active_ragdoll, finding.operator)(**finding.arguments) == {"FINISHED"}


@pytest.mark.parametrize("name", or_own("01_01.bvh", "Knight.glb", "animals_pack_Horse.glb", own=SWEPT))
def test_every_rig_is_judged_and_nothing_is_left_behind(name):
    rig, _made = rigs.built(name)
    counts, frame = rigs.counts(), rig.scene.frame_current
    found = diagnose.diagnose(rig.obj, rig.scene)
    assert rigs.counts() == counts and rig.scene.frame_current == frame
    bodies = {part.bone for part in rig.obj.active_ragdoll.parts}
    for finding in found:
        assert finding.kind in diagnosis.KINDS and set(finding.bones) <= bodies
        assert finding.text and finding.remedy and json.dumps(finding.arguments)
        assert not finding.operator or hasattr(bpy.ops.active_ragdoll, finding.operator)
    # A build that is sound by its own account: no overlap, all limits wide enough, enough steps.
    unexpected = "JOINT_MOVED MASS_RATIO OUTSIDE REFUSED DISABLED OVERLAP FIRST_POSE SUBSTEPS EXCLUDED OUTDATED"
    assert not {getattr(diagnosis, kind) for kind in unexpected.split()} & {finding.kind for finding in found}


def _excluded(obj, _scene):
    bpy.context.view_layer.layer_collection.children[obj.active_ragdoll.collection.name].exclude = True


def _tiny(obj, scene):
    for vertex in rigs.part(obj, "foot.L").body.data.vertices:
        vertex.co *= 0.02


def _overlapping(obj, scene):
    """The left shin moved into the right one, as by hand."""
    left, right = (rigs.part(obj, name).body for name in ("shin.L", "shin.R"))
    left.matrix_basis.translation = right.matrix_basis.translation


def _joint_moved(obj, _scene):
    joint = next(o for o in built.helpers(obj.active_ragdoll.collection, built.JOINT) if o[built.BONE] == "forearm.L")
    joint.location.x += 0.05


def _other_joints(_obj, scene):
    """Another collection as the world's, which is in the scene."""
    scene.rigidbody_world.constraints = bpy.data.collections.new("Another")
    scene.collection.children.link(scene.rigidbody_world.constraints)


BROKEN = {
    f"{diagnosis.JOINT_MOVED} bone": lambda obj, _: rigs.edit(obj, lambda bs: setattr(bs["foot.L"].head, "x", 0.15)),
    diagnosis.REMAPPED: lambda _obj, scene: setattr(scene.render, "frame_map_new", 200),
    diagnosis.UNEVEN_SCALE: lambda obj, _scene: setattr(obj, "scale", (1.5, 1.0, 1.0)),
    f"{diagnosis.REFUSED} scale": lambda obj, _scene: setattr(obj, "scale", (2.0, 2.0, 2.0)),
    f"{diagnosis.REFUSED} joints": _other_joints,
    f"{diagnosis.REFUSED} no joints": lambda _obj, scene: setattr(scene.rigidbody_world, "constraints", None),
    diagnosis.WORLD_DISABLED: lambda _obj, scene: setattr(scene.rigidbody_world, "enabled", False),
    diagnosis.TIME_SCALE: lambda _obj, scene: setattr(scene.rigidbody_world, "time_scale", 0.25),
    diagnosis.SUBSTEPS: lambda _obj, scene: setattr(scene.rigidbody_world, "substeps_per_frame", 4),
    diagnosis.ITERATIONS: lambda _obj, scene: setattr(scene.rigidbody_world, "solver_iterations", 4),
    diagnosis.EXCLUDED: _excluded,
    diagnosis.OUTDATED: lambda obj, _scene: setattr(obj.pose.bones["head"].active_ragdoll, "friction", 0.9),
    diagnosis.FIRST_POSE: lambda obj, _scene: setattr(obj.pose.bones["forearm.L"], "rotation_quaternion", BENT),
    diagnosis.OVERLAP: _overlapping,
    diagnosis.MASS_RATIO: lambda obj, _scene: setattr(rigs.part(obj, "foot.L").body.rigid_body, "mass", 300.0),
    diagnosis.TINY: _tiny,
    diagnosis.JOINT_MOVED: _joint_moved,
    diagnosis.REFUSED: lambda obj, scene: scene.rigidbody_world.collection.objects.unlink(rigs.part(obj, "head").body),
    diagnosis.DISABLED: lambda obj, _scene: setattr(obj, "hide_viewport", True),
    diagnosis.GRAVITY_WEIGHT: lambda _obj, scene: setattr(scene.rigidbody_world.effector_weights, "gravity", 0.0),
    diagnosis.DROPS_FRAMES: lambda _obj, scene: setattr(scene, "sync_mode", "FRAME_DROP"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_remedy_removes_the_finding(human, name):
    scene, kind = human.active_ragdoll.scene, name.split()[0]
    before = {part.bone for part in human.active_ragdoll.parts}
    BROKEN[name](human, scene)
    bpy.context.view_layer.update()
    assert kind in kinds(human)
    press(find(human, kind))
    assert kind not in [finding.kind for finding in health.notices(human, scene)] + kinds(human)
    rode = before - {part.bone for part in human.active_ragdoll.parts}  # what is tiny, on its parent
    assert rode == ({"foot.L"} if kind == diagnosis.TINY else set())
    scene.frame_start, scene.frame_end = 1, 6
    rigs.play(scene, 1, 6)  # it still runs


def test_a_body_outside_its_mesh_is_found_and_fitted_anew():
    """Also where the character was moved since, and where a build has taken the edit over."""
    rig, _made = rigs.built("Knight.glb")
    obj = rig.obj
    rigs.part(obj, "head").body.matrix_basis.translation += Vector((0.0, 3.0 * obj.active_ragdoll.height, 0.0))
    build.rebuild(obj, rig.scene)
    obj.location.x += 100.0
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = obj
    found = find(obj, diagnosis.OUTSIDE)
    assert found.bones == ("head",)
    press(found)
    assert diagnosis.OUTSIDE not in kinds(obj)


def _uneven_parent(obj, scene):
    obj.parent = rigs.empty(scene, "Parent")
    obj.parent.scale = 1.0, 2.0, 1.0
    bpy.context.view_layer.update()


def _users_cache(_obj, scene):
    scene.rigidbody_world.point_cache.frame_end = 3
    with bpy.context.temp_override(scene=scene, point_cache=scene.rigidbody_world.point_cache):
        bpy.ops.ptcache.bake(bake=True)


FOR_THE_USER = {
    diagnosis.UNEVEN_PARENT: (_uneven_parent, "Parent"),
    diagnosis.USER_CACHE: (_users_cache, "bake"),
    diagnosis.ANIMATED_SCALE: (
        lambda obj, _scene: rigs.key(obj, "scale", {1: (1.0,) * 3, 20: (1.5,) * 3}),
        "from 1 to 1.5",
    ),
}


@pytest.mark.parametrize("kind", FOR_THE_USER)
def test_what_only_the_user_can_mend_has_no_button(human, kind):
    spoil, said = FOR_THE_USER[kind]
    spoil(human, human.active_ragdoll.scene)
    found = find(human, kind)
    assert not found.operator and said in found.text


def test_a_ragdoll_of_another_scene_is_built_where_it_is_shown(human):
    bpy.ops.scene.new(type="LINK_COPY")
    assert kinds(human) == [diagnosis.ELSEWHERE]
    press(find(human, diagnosis.ELSEWHERE))
    assert human.active_ragdoll.scene == bpy.context.scene
    assert diagnosis.ELSEWHERE not in kinds(human)


def test_diagnosis_in_mid_shot_disturbs_nothing(human):
    """The same run with and without a look in the middle: bit for bit."""
    scene = human.active_ragdoll.scene
    rigs.swing(human, 1, 12)
    scene.frame_start, scene.frame_end = 1, 12
    build.rebuild(human, scene)
    results = []
    for looking in (False, True):
        rigs.play(scene, 1, 6)
        if looking:
            assert bpy.ops.active_ragdoll.diagnose() == {"FINISHED"}
        rigs.play(scene, 7, 12)
        results.append(rigs.bodies(human).tobytes())
    assert results[0] == results[1]
