"""A run writes no original object of the physics, and another handler's writes do no harm."""

import bpy
import numpy as np
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
    if isinstance(value, bpy.types.ID) or value is None or isinstance(value, (str, bool, int, float)):
        return value
    try:
        return tuple(_plain(v) for v in value)
    except TypeError:
        return None


def _values(group) -> dict:
    return {
        p.identifier: _plain(getattr(group, p.identifier))
        for p in group.bl_rna.properties
        if p.identifier not in DERIVED and p.type in {"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM", "POINTER"}
    }


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


def _differences(a: dict, b: dict) -> list:
    found = []
    for name in sorted(set(a) | set(b)):
        if a.get(name) != b.get(name):
            found.append(name)
    return found


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
            assert _differences(before, _snapshot(obj)) == [], f"frame {frame}"
        if frame == 5:
            # The watch sees what it should: the run did write, but to the evaluated copies.
            target = obj.active_ragdoll.parts[0].target
            evaluated = target.evaluated_get(scene.view_layers[0].depsgraph)
            assert target.rigid_body_constraint.spring_stiffness_x == 0.0
            assert evaluated.rigid_body_constraint.spring_stiffness_x > 0.0
    for frame in (20, 3, 60, 1, 2):
        scene.frame_set(frame)
        assert _differences(before, _snapshot(obj)) == [], f"jump to {frame}"


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
        assert _differences(before, _snapshot(obj)) == [], f"frame {frame}"
        body = obj.active_ragdoll.parts[[p.bone for p in obj.active_ragdoll.parts].index("arm.L")].body
        evaluated = body.evaluated_get(scene.view_layers[0].depsgraph)
        assert evaluated.rigid_body.kinematic == (14 <= frame < 17), f"frame {frame}"


def test_a_simulation_leaves_the_physics_objects_as_built(scene):
    obj = rigs.ragdoll(scene, 12)
    physics = obj.active_ragdoll.physics_armature.name
    before = _snapshot(obj)
    list(simulate.frames(scene))
    # The physics armature is no physics object: with the baked cache its constraints act for good.
    changed = _differences(before, _snapshot(obj))
    assert [name for name in changed if not name.startswith(physics)] == []


@pytest.mark.parametrize("what", ("free", "parent"))
def test_a_foreign_handler_that_moves_an_object_changes_nothing(what):
    def run(foreign):
        scene = rigs.empty_file()
        obj = rigs.swinging_human(scene, 1, 48)
        other, child = (bpy.data.objects.new(name, None) for name in ("Other", "Child"))
        scene.collection.objects.link(other)
        scene.collection.objects.link(child)
        child.parent = other if what == "parent" else None
        build.build(obj, scene)

        def move(moved_scene, _graph=None):
            if moved_scene == scene:
                other.location.x = 0.1 * moved_scene.frame_current

        handlers = bpy.app.handlers.frame_change_pre
        if foreign:
            handlers.append(move)
        try:
            places = np.array(rigs.play(scene, 1, 48, lambda: rigs.bodies(obj)))
        finally:
            if foreign:
                handlers.remove(move)
        assert other.location.x == pytest.approx(4.8 if foreign else 0.0)
        return places

    assert np.abs(run(True) - run(False)).max() < 1e-6
