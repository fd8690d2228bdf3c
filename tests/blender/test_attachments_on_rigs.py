"""Attachments on real rigs: a prop in a hand, hanging on an object, a held tail, hands held, scaled objects."""

import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.armature import anatomy_of, rigid
from active_ragdoll.core.blender.runtime import STATE
from holding import HAND, attach, bone_matrix, empty, limp, tip

FRAMES = 30


def shot(rig, frames=FRAMES):
    rig.last = rig.first + frames - 1
    rigs.set_range(rig.scene, rig.first, rig.last)
    rig.scene.frame_set(rig.first)
    return rig


def standing(rig, obj, bone):
    """Where a bone's body stands at the first frame [3]; before a run it is in bind pose."""
    rig.scene.frame_set(rig.first)
    return bone_matrix(obj, bone)[:3, 3]


def bone_of(obj, role, side=roles.LEFT):
    """The bone with a body that has a role; that of the forearm where a hand has none."""
    anatomy = anatomy_of(obj)
    bodies = {part.bone for part in obj.active_ragdoll.parts}
    for wanted in (role, roles.FOREARM, roles.SHANK):
        for bone, its, at in zip(obj.data.bones, anatomy.roles, anatomy.sides, strict=True):
            if its == wanted and at == side and bone.name in bodies:
                return bone.name
    raise LookupError(role)


def in_frame(of, matrix):
    return np.linalg.inv(of) @ matrix


def played(rig, read):
    return np.array(rigs.play(rig.scene, rig.first, rig.last, read))


def quiet(*objects):
    return not any(STATE.warnings.get(obj.name) for obj in objects)


@pytest.mark.parametrize("size", ((0.1, 0.1, 0.1), (0.8, 0.04, 0.04)))
def test_a_knight_holds_a_prop_in_its_hand(data_dir, size):
    """A cup, or a staff across its hand: it keeps the place in which it was gripped; without the grip it falls."""
    rig = shot(rigs.load(data_dir / "Knight.glb"))
    obj, scene = rig.obj, rig.scene
    build.build(obj, scene, "MAIN")
    hand = bone_of(obj, roles.HAND)
    height = obj.active_ragdoll.height
    rig.scene.frame_set(rig.first)
    length = 2.0 * np.array(part_of(obj, hand).offset).reshape(4, 4)[1, 3]
    place = bone_matrix(obj, hand) @ np.array(Matrix.Translation((0.0, length, 0.0)))
    prop = rigs.box(scene, "Prop", size, (0.0, 0.0, 0.0), mass=0.5)
    prop.matrix_world = Matrix(rigid(place).tolist())
    attach(obj, prop, bone=hand, kind="FIXED")
    kept = played(rig, lambda: in_frame(bone_matrix(obj, hand), rigs.matrices([prop])[0]))
    assert np.linalg.norm(kept[2:, :3, 3] - kept[1, :3, 3], axis=1).max() < 0.01 * height
    assert rigs.angles(kept[2:], np.broadcast_to(kept[1], kept[2:].shape)).max() < 2.0
    assert quiet(obj)
    obj.active_ragdoll.attachments[0].enabled = False
    heights = played(rig, lambda: rigs.matrices([prop])[0, 2, 3])
    assert heights[0] - heights[-1] > 1.0


@pytest.mark.blender_version
@pytest.mark.parametrize(("kind", "rope"), (("POINT", 0.0), ("DISTANCE", 0.2), ("DISTANCE", 0.05)))
def test_a_character_hangs_limp_on_a_moving_object(data_dir, kind, rope):
    """By its hand, also on a rope so short that the arm whips round within a frame."""
    rig = shot(rigs.load(data_dir / "mh_mixamo.blend"), 48)
    obj, scene = rig.obj, rig.scene
    build.build(obj, scene, "MAIN")
    limp(obj)
    hand = bone_of(obj, roles.HAND)
    height = obj.active_ragdoll.height
    start = standing(rig, obj, hand) + rope * height * np.array((0.0, 0.0, 1.0))
    hook = empty(scene, {rig.first: start, rig.last: start + height * np.array((0.2, 0.0, 0.1))}, "Hook")
    attach(obj, hook, bone=hand, kind=kind)
    ways = played(rig, lambda: np.stack([tip(obj, hand, (0, 0, 0)), rigs.matrices([hook])[0, :3, 3]]))
    away = np.linalg.norm(ways[1:, 0] - ways[1:, 1], axis=1)
    assert away.max() < (rope + 0.02) * height
    assert away[8:].mean() < (rope + 0.003) * height
    others = rigs.bodies(obj)[:, 2, 3]
    assert np.median(others) < ways[-1, 1, 2] - 0.2 * height, "the rest hangs below"
    masses = np.array([part.body.rigid_body.mass for part in obj.active_ragdoll.parts])
    middle = masses @ rigs.bodies(obj)[:, :3, 3] / masses.sum()
    assert middle[2] > start[2] - 1.5 * height, "it does not fall"
    assert quiet(obj)


def part_of(obj, bone):
    return next(part for part in obj.active_ragdoll.parts if part.bone == bone)


def scaled_human(scene, scale):
    """The same human in the world, whose object has a scale."""
    table = {
        name: (tuple(np.array(head) / scale), tuple(np.array(tail) / scale), parent)
        for name, (head, tail, parent) in rigs.HUMAN.items()
    }
    obj = rigs.armature(scene, table, "Human")
    obj.matrix_world = Matrix.Scale(scale, 4)
    rigs.swing(obj, 1, FRAMES)
    return obj


@pytest.mark.parametrize("kind", ("FIXED", "DISTANCE"))
def test_the_objects_scale_changes_nothing(kind):
    """Bones a hundred times as large or small in an object scaled by the inverse: a limp character hangs as well.

    (How it dangles is another matter: what the last bits differ by grows, also without attachments.)
    """
    found = {}
    for scale in (1.0, 0.01, 100.0):
        scene = rigs.empty_file()
        scene.render.fps = rigs.FPS
        rigs.set_range(scene, 1, FRAMES)
        obj = scaled_human(scene, scale)
        target = empty(scene, {1: (0.64, -0.1, 1.62), FRAMES: (0.9, -0.2, 1.8)})
        build.build(obj, scene)
        limp(obj)
        attach(obj, target, kind=kind, point=(0.0, 0.2, 0.0))

        def read(obj=obj, target=target):
            place = rigs.matrices([target])[0]
            return in_frame(place, bone_matrix(obj, HAND)), tip(obj, point=(0.0, 0.2, 0.0)) - place[:3, 3]

        bones, ways = zip(*rigs.play(scene, 1, FRAMES, read), strict=True)
        bones, ways = np.array(bones), np.array(ways)
        if kind == "DISTANCE":
            length = np.linalg.norm(ways, axis=1)
            assert length.max() < length[0] + 0.02 * obj.active_ragdoll.height
        else:
            assert np.linalg.norm(ways - ways[0], axis=1).max() < 4e-3
        if kind == "FIXED":
            assert rigs.angles(bones, np.broadcast_to(bones[0], bones.shape)).max() < 2.0
        found[scale] = ways
        assert quiet(obj)
    for scale in (0.01, 100.0):
        same = slice(None) if kind != "DISTANCE" else slice(8)
        assert np.abs(found[scale][same] - found[1.0][same]).max() < 3e-3, scale
