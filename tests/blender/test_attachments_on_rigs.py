"""Attachments on real rigs: a prop in a hand, hanging on an object, a held tail, hands held, scaled objects."""

import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.armature import anatomy_of, rigid
from active_ragdoll.core.blender.runtime import STATE
from holding import HAND, attach, bone_matrix, empty, tip

FRAMES = 30


def shot(name, frames=FRAMES):
    """A character with a ragdoll of its main bodies, for some frames; its left hand, or the forearm if it has none."""
    rig = rigs.load(name)
    rig.last = rig.first + frames - 1
    rigs.set_range(rig.scene, rig.first, rig.last)
    rig.scene.frame_set(rig.first)
    build.build(rig.obj, rig.scene, "MAIN")
    rig.scene.frame_set(rig.first)
    anatomy = anatomy_of(rig.obj)
    bodies = {part.bone for part in rig.obj.active_ragdoll.parts}
    bones = list(zip(rig.obj.data.bones.keys(), anatomy.roles, anatomy.sides, strict=True))
    left = [(bone, role) for bone, role, side in bones if side == roles.LEFT and bone in bodies]
    return rig, next(bone for wanted in (roles.HAND, roles.FOREARM) for bone, role in left if role == wanted)


def played(rig, read):
    return np.array(rigs.play(rig.scene, rig.first, rig.last, read))


def test_a_knight_holds_a_prop_in_its_hand():
    """A staff across its hand: it keeps the place in which it was gripped; without the grip it falls."""
    rig, hand = shot("Knight.glb")
    obj = rig.obj
    length = 2.0 * np.array(rigs.part(obj, hand).offset).reshape(4, 4)[1, 3]
    place = bone_matrix(obj, hand) @ np.array(Matrix.Translation((0.0, length, 0.0)))
    prop = rigs.box(rig.scene, "Prop", (0.8, 0.04, 0.04), (0.0, 0.0, 0.0), mass=0.5)
    prop.matrix_world = Matrix(rigid(place).tolist())
    attach(obj, prop, bone=hand, kind="FIXED")
    kept = played(rig, lambda: np.linalg.inv(bone_matrix(obj, hand)) @ rigs.matrices([prop])[0])
    assert np.linalg.norm(kept[2:, :3, 3] - kept[1, :3, 3], axis=1).max() < 0.01 * obj.active_ragdoll.height
    assert rigs.angles(kept[2:], np.broadcast_to(kept[1], kept[2:].shape)).max() < 2.0
    assert not STATE.warnings.get(obj.name)
    obj.active_ragdoll.attachments[0].enabled = False
    heights = played(rig, lambda: rigs.matrices([prop])[0, 2, 3])
    assert heights[0] - heights[-1] > 1.0


@pytest.mark.blender_version
@pytest.mark.parametrize(("kind", "rope"), (("POINT", 0.0), ("DISTANCE", 0.2), ("DISTANCE", 0.05)))
def test_a_character_hangs_limp_on_a_moving_object(kind, rope):
    """By its hand, also on a rope so short that the arm whips round within a frame."""
    rig, hand = shot("mh_mixamo.blend", 48)
    obj = rig.obj
    rigs.set_weights(obj)
    height = obj.active_ragdoll.height
    start = bone_matrix(obj, hand)[:3, 3] + rope * height * np.array((0.0, 0.0, 1.0))
    hook = empty(rig.scene, {rig.first: start, rig.last: start + height * np.array((0.2, 0.0, 0.1))}, "Hook")
    attach(obj, hook, bone=hand, kind=kind)
    ways = played(rig, lambda: np.stack([tip(obj, hand, (0, 0, 0)), rigs.matrices([hook])[0, :3, 3]]))
    away = np.linalg.norm(ways[1:, 0] - ways[1:, 1], axis=1)
    assert away.max() < (rope + 0.02) * height
    assert away[8:].mean() < (rope + 0.003) * height
    assert np.median(rigs.bodies(obj)[:, 2, 3]) < ways[-1, 1, 2] - 0.2 * height, "the rest hangs below"
    assert rigs.mass_center(obj)[2] > start[2] - 1.5 * height, "it does not fall"
    assert not STATE.warnings.get(obj.name)


@pytest.mark.parametrize("kind", ("FIXED", "DISTANCE"))
def test_the_objects_scale_changes_nothing(kind):
    """Bones a hundred times as large or small in an object scaled by the inverse: a limp character hangs as well.

    (How it dangles is another matter: what the last bits differ by grows, also without attachments.)
    """
    found = {}
    for scale in (1.0, 0.01, 100.0):
        scene = rigs.empty_file()
        rigs.set_range(scene, 1, FRAMES)
        table = {
            name: (np.array(head) / scale, np.array(tail) / scale, parent)
            for name, (head, tail, parent) in rigs.HUMAN.items()
        }
        obj = rigs.armature(scene, table, "Human")
        obj.matrix_world = Matrix.Scale(scale, 4)
        rigs.swing(obj, 1, FRAMES)
        target = empty(scene, {1: (0.64, -0.1, 1.62), FRAMES: (0.9, -0.2, 1.8)})
        build.build(obj, scene)
        rigs.set_weights(obj)
        attach(obj, target, kind=kind, point=(0.0, 0.2, 0.0))

        def read(obj=obj, target=target):
            place = rigs.matrices([target])[0]
            return np.linalg.inv(place) @ bone_matrix(obj, HAND), tip(obj, point=(0.0, 0.2, 0.0)) - place[:3, 3]

        bones, ways = (np.array(each) for each in zip(*rigs.play(scene, 1, FRAMES, read), strict=True))
        if kind == "DISTANCE":
            length = np.linalg.norm(ways, axis=1)
            assert length.max() < length[0] + 0.02 * obj.active_ragdoll.height
        else:
            assert np.linalg.norm(ways - ways[0], axis=1).max() < 4e-3
            assert rigs.angles(bones, np.broadcast_to(bones[0], bones.shape)).max() < 2.0
        found[scale] = ways
        assert not STATE.warnings.get(obj.name)
    for scale in (0.01, 100.0):
        same = slice(None) if kind != "DISTANCE" else slice(8)
        assert np.abs(found[scale][same] - found[1.0][same]).max() < 3e-3, scale
