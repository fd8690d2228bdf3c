"""A run writes no original object of the physics, and another handler's writes do no harm."""

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate

pytestmark = pytest.mark.blender_version

# What the simulation itself gives back, or what follows from the rest.
DERIVED = {"rna_type", "matrix_world", "matrix_local", "bound_box", "dimensions", "is_evaluated", "users"}


def _helpers(obj) -> list:
    settings = obj.active_ragdoll
    found = {*settings.collection.all_objects, *settings.bodies.objects, *settings.targets.objects}
    return sorted(found, key=lambda o: o.name)


def _plain(value):
    """A value with its vectors and matrices as tuples."""
    is_array = hasattr(value, "__len__") and not isinstance(value, str | set | bpy.types.bpy_struct)
    return tuple(map(_plain, value)) if is_array else value


def _values(group) -> dict:
    kept = (p.identifier for p in group.bl_rna.properties if p.type != "COLLECTION")
    return {name: _plain(getattr(group, name)) for name in kept if name not in DERIVED}


def _snapshot(obj) -> dict:
    """Every stored property of every helper, of its rigid body and of its constraint."""
    result = {}
    for helper in _helpers(obj):
        result[helper.name] = {
            "object": _values(helper),
            "body": _values(helper.rigid_body) if helper.rigid_body else None,
            "constraint": _values(helper.rigid_body_constraint) if helper.rigid_body_constraint else None,
        }
        for bone in helper.pose.bones if helper.pose else ():
            for constraint in bone.constraints:
                result[f"{helper.name} {bone.name} {constraint.name}"] = _values(constraint)
    return result


@pytest.mark.parametrize("keyed", (False, True))
def test_originals_stay_as_they_are_bit_for_bit(scene, keyed):
    obj = rigs.swinging_human(scene, 1, 40)
    if keyed:
        rigs.key_weights(obj, {1: 1.0, 10: 0.3, 20: 0.0, 30: 1.0})
    build.build(obj, scene)
    rigs.set_weights(obj, 0.3)
    before = _snapshot(obj)
    assert len(before) > 60
    for frame in range(1, 41):
        scene.frame_set(frame)
        if frame in (1, 2, 3, 11, 21, 31, 40):
            assert _snapshot(obj) == before, f"frame {frame}"
        if frame == 5:
            # The watch sees what it should: the run did write, but to the evaluated copies.
            target = obj.active_ragdoll.parts[0].target
            evaluated = target.evaluated_get(scene.view_layers[0].depsgraph)
            assert target.rigid_body_constraint.spring_stiffness_x == 0.0
            assert evaluated.rigid_body_constraint.spring_stiffness_x > 0.0
    for frame in (20, 3, 60, 1, 2):
        scene.frame_set(frame)
        assert _snapshot(obj) == before, f"jump to {frame}"


def test_edits_in_mid_shot_reach_the_run_without_the_originals(scene):
    """Weights, limits of force and modes of bones, changed while the world is alive."""
    obj = rigs.ragdoll(scene, 40)
    before = _snapshot(obj)
    bone = obj.pose.bones["arm.L"].active_ragdoll
    edits = {
        5: lambda: setattr(obj.active_ragdoll, "rotation_weight", 0.2),
        8: lambda: setattr(obj.active_ragdoll, "translation_weight", 0.0),
        11: lambda: setattr(bone, "max_torque", 3.0),
        14: lambda: setattr(bone, "body_mode", "KINEMATIC"),
        17: lambda: setattr(bone, "body_mode", "LIMP"),
        20: lambda: setattr(bone, "mass", 3.0),
        23: lambda: setattr(bone, "limit_max", (0.5, 0.5, 0.5)),
        26: lambda: setattr(bone, "friction", 0.9),
    }
    for frame in range(1, 41):
        if frame in edits:
            edits[frame]()
        scene.frame_set(frame)
        assert _snapshot(obj) == before, f"frame {frame}"
        body = obj.active_ragdoll.parts[[p.bone for p in obj.active_ragdoll.parts].index("arm.L")].body
        evaluated = body.evaluated_get(scene.view_layers[0].depsgraph)
        assert evaluated.rigid_body.kinematic == (14 <= frame < 17), f"frame {frame}"


def test_a_simulation_leaves_the_physics_objects_as_built(scene):
    obj = rigs.ragdoll(scene, 12)
    physics = obj.active_ragdoll.physics_armature.name
    before = _snapshot(obj)
    list(simulate.frames(scene))
    # The physics armature is no physics object: with the baked cache its constraints act for good.
    after = _snapshot(obj)
    assert [name for name in before | after if before.get(name) != after.get(name) and physics not in name] == []
