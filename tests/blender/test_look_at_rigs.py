"""Real rigs look where they are told with their feet planted, set up from roles alone."""

import importlib

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core import pose as pose_space
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender import recognition
from active_ragdoll.core.motion.auto_axes import character_forward
from active_ragdoll.core.motion.leg_stabilizer import LegStabilizer, stabilize
from active_ragdoll.core.motion.local_pose import LocalPose
from active_ragdoll.core.motion.look_at import LookAt, LookAtEntry
from active_ragdoll.core.motion.look_at_setup import from_roles
from active_ragdoll.core.motion.rig import Inputs, Rig, points_to_model, vector_to_model
from active_ragdoll.core.skeleton import Skeleton
from demo import character

METARIGS = ("metarig human", "metarig Animals.wolf")
# Feet that must have a stabiliser, by file.
LEGS = {
    "Knight.glb": 2,
    "mh_mixamo.blend": 2,
    "mh_game_engine.blend": 2,
    "Fox.glb": 4,
    "animals_pack_Horse.glb": 4,
    "cesium_man.gltf": 2,
    "01_01.bvh": 2,
    "arnaud.fbx": 2,
    "metarig human": 2,
    "metarig Animals.wolf": 4,
}


@pytest.fixture(scope="module", params=LEGS)
def found(request, data_dir):
    """(name, object, rig, anatomy, tails) of one rig."""
    name = request.param
    obj = _metarig(name) if name in METARIGS else rigs.load(data_dir / name).obj
    bones = obj.data.bones
    names = [bone.name for bone in bones]
    skeleton = Skeleton.from_parents(names, [bone.parent.name if bone.parent else None for bone in bones])
    matrices = np.array([np.array(bone.matrix_local) for bone in bones])[skeleton.to_level]
    places, rotations, scales = pose_space.decompose_matrices(matrices)
    rig = Rig(skeleton, LocalPose.from_model(skeleton, places, rotations, np.round(scales, 5)))
    return name, obj, rig, recognition.anatomy_of(obj), np.array([bone.tail_local for bone in bones])


def _metarig(name: str) -> bpy.types.Object:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    character.enable_rigify()
    module = importlib.import_module(f"rigify.metarigs.{name.removeprefix('metarig ')}")
    obj = rigs.armature(bpy.context.scene, {})
    bpy.ops.object.mode_set(mode="EDIT")
    module.create(obj)
    bpy.ops.object.mode_set(mode="OBJECT")
    return obj


def test_looks_and_stands(found):
    name, obj, rig, anatomy, tails = found
    setup = from_roles(rig, anatomy, tails)
    chain = [rig.name(e.bone) for e in setup.entries]
    assert len(chain) >= 3, chain
    assert len(setup.legs) == LEGS[name], setup.notes
    world = np.array(obj.matrix_world, dtype=float)
    # One more entry, so that the legs have something to make good: what carries the trunk turns too.
    last = setup.entries[-1]
    above = rig.parents[last.bone]
    while above >= 0 and not all(rig.is_ancestor(above, foot) for foot, _ in setup.legs):
        above = rig.parents[above]
    entries = [*setup.entries]
    if above >= 0 and rig.parents[above] >= 0:
        entries.append(LookAtEntry(above, np.radians(10), last.forward_axis, up_weight=0.7))
    look = LookAt(rig, entries)
    legs = [LegStabilizer(rig, foot, count) for foot, count in setup.legs]
    forward = character_forward(rig, anatomy, tails)
    up = vector_to_model((0, 0, 1), world)
    assert forward is not None
    assert abs(forward @ up) < 0.2
    eye, size = rig.bind_positions[setup.entries[0].bone], rig.size
    for azimuth, elevation in ((0, 0), (30, 10), (-60, -10), (75, 20), (-75, 0)):
        a, e = np.radians([azimuth, elevation])
        side = quaternion.rotate(quaternion.from_axis_angle(up, a), forward - up * (forward @ up))
        target_ws = world[:3, :3] @ (eye + 2 * size * (np.cos(e) * side + np.sin(e) * up)) + world[:3, 3]
        inputs = Inputs(target=points_to_model(target_ws, world), world=world)
        pose, _ = look.apply(rig, rig.bind, inputs)
        assert np.degrees(look.aim_error(rig, pose, inputs.target)) < 0.05, (azimuth, elevation, chain)
        pose = stabilize(legs, rig, pose, Inputs(reference=rig.bind))
        places, rotations, _ = pose.model(rig.skeleton)
        for leg in legs:
            joints = rig.bind_positions[list(leg.bones)]
            length = np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
            reach = np.linalg.norm(joints[-1] - places[leg.bones[0]])
            miss = np.linalg.norm(places[leg.foot_bone] - joints[-1])
            assert miss <= max(1e-4 * length, reach - length + 1e-6 * length), (
                rig.name(leg.foot_bone),
                miss,
                reach,
                length,
            )
            turned = quaternion.angle_between(rotations[leg.foot_bone], rig.bind_rotations[leg.foot_bone])
            assert turned < 1e-5
