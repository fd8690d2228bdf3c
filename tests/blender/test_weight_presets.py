"""Presets of weights on real rigs: two legs and four, and rigs of which nothing is recognised."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.tools import bone_tools
from active_ragdoll.core.errors import RagdollError
from active_ragdoll.core.ragdoll import weight_spread as spread
from own_characters import or_own

REAL = or_own(
    "01_01.bvh", "Knight.glb", "cesium_man.gltf", "run.fbx", "mh_mixamo.blend", "Fox.glb", "animals_pack_Horse.glb"
)


def _rows(anatomy, *wanted, side=None):
    pairs = zip(anatomy.roles, anatomy.sides, strict=True)
    return [i for i, (role, its) in enumerate(pairs) if role in wanted and side in (None, its)]


def _weights(obj):
    return tuple(bone_tools.read_weights(obj, kind) for kind in bone_tools.WEIGHTS)


@pytest.mark.parametrize("name", REAL)
def test_on_real_rigs(data_dir, name):
    obj = rigs.load(data_dir / name).obj
    anatomy = anatomy_of(obj)
    four = anatomy.kind == roles.QUADRUPED
    arms = {side: _rows(anatomy, roles.UPPER_ARM, roles.FOREARM, side=side) for side in (roles.LEFT, roles.RIGHT)}
    legs, head = _rows(anatomy, roles.THIGH, roles.SHANK), _rows(anatomy, roles.HEAD, roles.NECK)
    both = arms[roles.LEFT] + arms[roles.RIGHT]
    assert arms[roles.LEFT] and arms[roles.RIGHT] and legs and head

    bone_tools.apply_weight_preset(obj, spread.UPPER_BODY_LOOSE)
    rotation, translation = _weights(obj)
    assert (rotation[legs] == 1.0).all() and (translation[legs] == 1.0).all()
    assert (rotation[head] < 0.5).all() and not translation[head].any()
    assert (rotation[both] == 1.0).all() if four else (rotation[both] < 0.3).all()

    bone_tools.apply_weight_preset(obj, spread.DRUNK)
    rotation, _translation = _weights(obj)
    assert (rotation <= 0.6 + 1e-6).all() and rotation[legs].min() > rotation[head].max()

    for side, other in ((roles.LEFT, roles.RIGHT), (roles.RIGHT, roles.LEFT)):
        bone_tools.apply_weight_preset(obj, spread.RIGID)
        assert all((values == 1.0).all() for values in _weights(obj))
        changed = bone_tools.apply_weight_preset(obj, spread.ONE_ARM_LIMP, side)
        rotation, translation = _weights(obj)
        assert not rotation[arms[side]].any() and not translation[arms[side]].any()
        for rest in (arms[other], legs, head):
            assert (rotation[rest] == 1.0).all() and (translation[rest] == 1.0).all()
        assert len(changed) == np.count_nonzero((rotation < 1.0) | (translation < 1.0))


def test_messages_name_the_character_and_nothing_is_set(fresh_scene):
    obj = rigs.human(fresh_scene)
    obj.pose.bones["head"].active_ragdoll.rotation_weight = 0.7
    before = _weights(obj)
    for arguments, word in (((spread.ONE_ARM_LIMP, "L"), "side 'L'"), (("FLOPPY",), "'FLOPPY'")):
        with pytest.raises(RagdollError, match=word) as caught:
            bone_tools.apply_weight_preset(obj, *arguments)
        assert "'Human'" in str(caught.value)
    single = rigs.armature(fresh_scene, {"A": ((0, 0, 0), (0, 0, 1), None)}, "Post")
    with pytest.raises(RagdollError, match="'Post': No limb"):
        bone_tools.apply_weight_preset(single, spread.ONE_ARM_LIMP)
    bpy.context.view_layer.objects.active = single
    with pytest.raises(RuntimeError, match="No limb"):
        bpy.ops.active_ragdoll.weight_preset(preset="ONE_ARM_LIMP", side="RIGHT")
    assert all(np.array_equal(a, b) for a, b in zip(_weights(obj), before, strict=True))


def test_a_rig_that_nobody_knows_falls_off_towards_its_tip(fresh_scene):
    obj = rigs.chain(fresh_scene, 5)
    for name in (spread.UPPER_BODY_LOOSE, spread.DRUNK):
        bone_tools.apply_weight_preset(obj, name)
        assert (np.diff(_weights(obj)[0]) < 0.0).all()
    bone_tools.apply_weight_preset(obj, spread.RIGID)
    bone_tools.apply_weight_preset(obj, spread.ONE_ARM_LIMP, roles.RIGHT)
    rotation = _weights(obj)[0]
    assert rotation[0] == 1.0 and rotation[-1] == 0.0
