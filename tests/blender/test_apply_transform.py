"""Apply Transform: the character plays as before with everything that was set; what cannot be applied is named."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import own_characters
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools.apply_transform import apply_transform
from refusals import refuses

pytestmark = pytest.mark.blender_version
FRAMES = range(1, 11)


def _placed(scene, size: float) -> bpy.types.Object:
    """The human in motion, turned and moved, 1.75 m tall by its scale; its hips move by keys."""
    obj = rigs.swinging_human(scene, 1, 10)
    obj.data.transform(Matrix.Scale(1.0 / size, 4))
    obj.scale, obj.rotation_euler, obj.location = (size,) * 3, (0.2, -0.3, 1.0), (1.0, -2.0, 0.5)
    rigs.key(obj.pose.bones["hips"], "location", {1: (0.0, 0.0, 0.0), 10: (0.1 / size, 0.2 / size, -0.15 / size)})
    return obj


def _child(scene, obj, name: str, bone: str = "") -> bpy.types.Object:
    child = rigs.empty(scene, name)
    rigs.changed(child, parent=obj, rotation_euler=(0.4, 0.5, 0.6), location=np.array((0.1, 0.2, 0.3)) / obj.scale.x)
    if bone:
        child.parent_type, child.parent_bone = "BONE", bone
    return child


def _simulated(scene, obj, also=()) -> np.ndarray:
    """Places of the bones and of other objects over the shot."""
    list(simulate.frames(scene))
    read = lambda: np.concatenate([rigs.pose(obj)[:, :3, 3], rigs.matrices([obj, *also])[1:, :3, 3]])  # noqa: E731
    return np.array(rigs.step(scene, FRAMES, read))


@pytest.mark.parametrize("size", (0.01, 100.0))
def test_it_plays_as_before(fresh_scene, size):
    obj = _placed(fresh_scene, size)
    children = [_child(fresh_scene, obj, "Prop"), _child(fresh_scene, obj, "Held", "forearm.L")]
    own_characters.skin(obj, size).parent = obj
    bpy.context.view_layer.update()
    build.build(obj, fresh_scene)
    fresh_scene.frame_set(10)
    before, plan = _simulated(fresh_scene, obj, children), rigs.plan_of(obj)
    assert apply_transform(obj, fresh_scene) == []
    assert obj.matrix_basis == Matrix() and obj.active_ragdoll.is_ragdoll
    longest = rigs.plan_of(obj)["half"].max(axis=1)
    assert longest == pytest.approx(plan["half"].max(axis=1), rel=0.1), "as the mesh is, but for its tilt"
    assert np.ptp(before[:, 0], axis=0).max() > 0.1, "the root moves"
    assert np.abs(_simulated(fresh_scene, obj, children) - before).max() < 1e-4 * 1.75


def test_settings_and_the_motion_stack_stay(fresh_scene):
    """Bodies edited by hand and entries of the stack are scaled along, all else is kept."""
    obj = _placed(fresh_scene, 0.01)
    obj.rotation_euler = obj.location = (0.0, 0.0, 0.0)
    own = obj.active_ragdoll
    rigs.changed(own.bone_transforms.add(), bone="hips", translation_mode="ADD")
    rigs.key(obj, "active_ragdoll.bone_transforms[0].translation", {1: (0.0, 0.0, 0.0), 8: (20.0, 0.0, 5.0)})
    stack_edits.ensure(obj, fresh_scene)
    build.build(obj, fresh_scene, np.array([bone.name not in ("foot.L", "foot.R") for bone in obj.pose.bones]))
    rigs.part(obj, "head").body.scale *= 1.5
    hit, held = own.hits.add(), own.attachments.add()
    hit.bone, held.bone, held.enabled, own.stabilize_masses = "spine", "forearm.R", False, True
    obj.pose.bones["spine"].active_ragdoll.rotation_weight = 0.5
    build.rebuild(obj, fresh_scene)
    before, plan = _simulated(fresh_scene, obj), rigs.plan_of(obj)
    assert apply_transform(obj, fresh_scene) == []
    after = rigs.plan_of(obj)
    assert after["bones"] == plan["bones"] and "foot.L" not in after["bones"]
    assert np.allclose(after["half"], plan["half"], rtol=1e-3) and np.allclose(after["mass"], plan["mass"], rtol=1e-3)
    assert obj.pose.bones["head"].active_ragdoll.shape_by_user
    assert (own.hits[0].bone, own.attachments[0].bone, own.stabilize_masses) == ("spine", "forearm.R", True)
    assert obj.pose.bones["spine"].active_ragdoll.rotation_weight == 0.5
    assert np.abs(_simulated(fresh_scene, obj) - before).max() < 1e-3, "one bone follows at half its weight"


def test_keys_on_the_object(fresh_scene):
    """What the object's own keys move stays; keys that only hold a value, as importers write them, follow."""
    obj = _placed(fresh_scene, 0.01)
    rigs.key(obj, "location", {1: (0.0, 0.0, 0.0), 10: (1.0, 0.0, 0.0)})
    rigs.key(obj, "scale", {1: obj.scale[:], 10: obj.scale[:]})
    build.build(obj, fresh_scene)
    before = _simulated(fresh_scene, obj)
    assert apply_transform(obj, fresh_scene) == ["its location is animated: location is not applied"]
    assert np.abs(_simulated(fresh_scene, obj) - before).max() < 1e-4 * 1.75
    assert tuple(obj.scale) == (1.0, 1.0, 1.0)


LIMITS = {"limits_from": "USER", "limit_min": (0.5,) * 3, "limit_max": (0.2,) * 3}  # refused by the build that follows
SPOILED = {
    "'head'": lambda _scene, obj: rigs.changed(obj.pose.bones["head"].active_ragdoll, **LIMITS),
    "Twin": lambda scene, obj: scene.collection.objects.link(bpy.data.objects.new("Twin", obj.data)),
    "Other": lambda scene, obj: setattr(
        rigs.human(scene, "Other").animation_data_create(), "action", obj.animation_data.action
    ),
    "scale is animated": lambda _scene, obj: rigs.key(obj, "scale", {1: (0.01,) * 3, 10: (0.02,) * 3}),
    "mirrored": lambda _scene, obj: setattr(obj.scale, "x", -0.01),
    "Mine": lambda _scene, obj: setattr(obj.constraints.new("LIMIT_LOCATION"), "name", "Mine"),
}


@pytest.mark.parametrize("word", SPOILED)
def test_refused_by_name(fresh_scene, word):
    """Nothing is changed then: the ragdoll is the same."""
    obj = _placed(fresh_scene, 0.01)
    build.build(obj, fresh_scene)
    SPOILED[word](fresh_scene, obj)
    matrix, collection = obj.matrix_basis.copy(), obj.active_ragdoll.collection
    refuses(word, apply_transform, obj, fresh_scene)
    assert obj.matrix_basis == matrix and obj.active_ragdoll.collection == collection
