"""What `build` makes of real characters, that it does not depend on where they stand, and that `remove` undoes it."""

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.anatomy import masses as mass_rules
from active_ragdoll.core.blender.physics import build, remove, source
from active_ragdoll.core.blender.rig import armature, skinning
from active_ragdoll.core.blender.rig.armature import anatomy_of, prop_bones
from own_characters import SWEPT, make


@pytest.mark.parametrize("name", SWEPT)
def test_bodies_are_of_sensible_size_and_hang_in_one_tree_by_joints_at_their_bones(name):
    rig, result = rigs.built(name)
    obj, height, world = rig.obj, rig.obj.active_ragdoll.height, np.array(rig.obj.matrix_world)
    skin = skinning.read_skin(obj, armature.BindPose(obj, world), world, prop_bones(obj, anatomy_of(obj)))
    size = max(height, 0.0 if skin is None else np.ptp(skin.points[:, 2]))  # a helmet rises above all joints
    parents = {part.bone: part.parent for part in obj.active_ragdoll.parts}
    assert height > 0.0 and 8 <= result.bodies == len(parents) <= 70
    assert list(parents.values()).count("") == 1 and result.joints == len(parents) - 1
    owner = {part.body: part.bone for part in obj.active_ragdoll.parts}
    joints = [each for each in obj.active_ragdoll.collection.objects if each.rigid_body_constraint is not None]
    assert len(joints) == result.constraints
    pairs = {}
    for joint in joints:
        own = joint.rigid_body_constraint
        assert own.disable_collisions
        pairs.setdefault(frozenset((owner[own.object1], owner[own.object2])), []).append(joint)
    for part in obj.active_ragdoll.parts:
        half = rigs.half_extents(part)
        # A body of the trunk may be wide, but nothing is thicker than a third of the character or longer than it.
        assert np.all(half > 1e-3 * height) and half[:2].max() <= size / 3.0 and half[2] <= height / 2.0, part.bone
        if part.body.rigid_body.collision_shape == "CAPSULE":
            assert half[0] == pytest.approx(half[1], rel=1e-4) and half[0] <= half[2] * 1.0001, part.bone
        turn = part.bind[:3, :3]
        assert np.allclose(turn @ turn.T, np.eye(3), atol=1e-5) and np.linalg.det(turn) > 0.0
        assert 0.0 < part.body.rigid_body.mass < math.inf
        above = [bone.name for bone in obj.data.bones[part.bone].parent_recursive if bone.name in parents]
        assert not above or part.parent == above[0]
        head = obj.matrix_world @ obj.data.bones[part.bone].head_local
        for joint in pairs[frozenset((part.bone, part.parent))] if part.parent else ():
            assert (joint.matrix_world.translation - head).length <= 1e-5 * max(1.0, *map(abs, head)), part.bone


def test_a_head_that_is_drawn_as_a_stub_on_a_short_neck_has_a_body(scene):
    table = {bone: row for bone, row in rigs.HUMAN.items() if bone != "head"}
    table |= {"neck": ((0, 0, 1.5), (0, 0, 1.53), "spine"), "head": ((0, 0, 1.53), (0, 0, 1.57), "neck")}
    obj = rigs.armature(scene, table)
    build.build(obj, scene)
    assert "head" in {part.bone for part in obj.active_ragdoll.parts}


def _place(obj, scene, matrices) -> None:
    """The object gets the first matrix, parents of it the others."""
    obj.matrix_basis, child = matrices[0], obj
    for i, matrix in enumerate(matrices[1:]):
        child.parent = parent = rigs.empty(scene, f"Parent {i}")
        parent.matrix_basis, child = matrix, parent
    bpy.context.view_layer.update()


def _sleep_thresholds(obj) -> tuple[float, float]:
    body = obj.active_ragdoll.parts[0].body.rigid_body
    return body.deactivate_linear_velocity, body.deactivate_angular_velocity


_TURN = Matrix.Rotation(0.8, 4, (1, 2, 3))
PLACES = {
    "scale 0.01": [Matrix.Scale(0.01, 4)],
    "scale 100": [Matrix.Scale(100.0, 4)],
    "mirrored, turned and scaled": [_TURN @ Matrix.Diagonal((2.0, -2.0, 2.0, 1.0))],
    "inside out": [Matrix.Scale(-1.0, 4)],
    "under scaled empties": [
        Matrix.Scale(100.0, 4),
        _TURN @ Matrix.Scale(0.01, 4),
        Matrix.Translation((3, 2, 1)) @ Matrix.Scale(2.0, 4),
    ],
}


@pytest.mark.parametrize("place", PLACES)
def test_the_ragdoll_is_the_same_up_to_the_transform(scene, place):
    """Bodies move with the object's transform M: places M p, sizes |M| s, the limb's direction M z, mass |M|^3 m.

    Masses of giants (core.anatomy.masses.GIANT) and dwarfs (DWARF) stop changing; a mirrored body is a rotation, so its
    other axes may be flipped. Bodies sleep by the speeds of falling: a giant does not freeze in mid-fall, a dwarf not
    tremble for ever."""
    obj = rigs.human(scene)
    build.build(obj, scene)
    before, (speed, turn) = rigs.plan_of(obj), _sleep_thresholds(obj)
    remove.remove(obj)
    _place(obj, scene, PLACES[place])
    total = np.array(obj.matrix_world, dtype=float)
    scale = float(np.cbrt(abs(np.linalg.det(total[:3, :3]))))
    build.build(obj, scene)
    after = rigs.plan_of(obj)
    assert after["bones"] == before["bones"] and after["parents"] == before["parents"]
    assert after["height"] == pytest.approx(before["height"] * scale, rel=1e-4)
    heavy = (np.clip(after["height"], mass_rules.DWARF, mass_rules.GIANT) / after["height"]) ** 3
    assert np.allclose(after["half"], before["half"] * scale, rtol=1e-3)
    assert np.allclose(after["mass"], before["mass"] * scale**3 * heavy, rtol=1e-3)
    expected = np.einsum("ij,mjk->mik", total, before["bind"])
    assert np.allclose(after["bind"][:, :3, 3], expected[:, :3, 3], atol=1e-4 * before["height"] * scale)
    z = np.einsum("mi,mi->m", after["bind"][:, :3, 2], expected[:, :3, 2]) / scale
    for kind, along in zip(before["kind"], z, strict=True):
        assert (along if kind == "CAPSULE" else abs(along)) > 0.9999
    assert np.all(np.abs(np.einsum("mi,mi->m", after["bind"][:, :3, 0], expected[:, :3, 0]) / scale) > 0.9999)
    assert after["limits"] == pytest.approx(before["limits"], abs=1e-4)
    for part in obj.active_ragdoll.parts:
        assert np.allclose(np.array(part.body.scale), 1.0), "bodies are unscaled"
    assert _sleep_thresholds(obj) == pytest.approx((speed * math.sqrt(scale), turn / math.sqrt(scale)), rel=1e-4)


@pytest.mark.blender_version
def test_a_source_is_evaluated_with_the_characters_scene_only_where_its_rig_has_constraints(monkeypatch, capfd):
    """They may lead from the bones between simulated ones back to these. What is shown is the same."""
    (obj, scene, *_frames), shown = vars(make("own mixamo")).values(), []
    build.build(obj, scene)
    for leads in (False, True):
        monkeypatch.setattr(source, "followed", (lambda obj: obj.active_ragdoll.source) if leads else source.followed)
        source.refresh(obj)
        shown.append(rigs.play(scene, 1, 20, lambda: rigs.pose(obj)))
        assert leads == obj.active_ragdoll.source.evaluated_get(scene.view_layers[0].depsgraph).is_evaluated
    assert np.ptp(shown[0], axis=0).max() > 0.1 and np.abs(np.subtract(*shown)).max() < 1e-5
    monkeypatch.undo()
    obj.pose.bones[0].constraints.new("LIMIT_SCALE")
    assert source.followed(obj) != obj and "cycle" not in "".join(capfd.readouterr())
