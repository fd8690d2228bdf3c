"""Attachments on real rigs: a prop in a hand, hanging on an object, a held tail, hands held, scaled objects."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender import build, recognition
from active_ragdoll.core.blender.armature import rigid
from active_ragdoll.core.blender.runtime import STATE
from holding import HAND, attach, bone_matrix, empty, key_enabled, limp, tip

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
    anatomy = recognition.anatomy_of(obj)
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


def test_a_foxs_tail_is_held_while_the_rest_rides_the_animation(data_dir):
    """A kinematic root with dynamic limbs, one of which an object draws aside."""
    rig = shot(rigs.load(data_dir / "Fox.glb"))
    obj, scene = rig.obj, rig.scene
    build.build(obj, scene)
    tail = [part.bone for part in obj.active_ragdoll.parts if "tail" in part.bone.lower()]
    assert len(tail) >= 2
    for part in obj.active_ragdoll.parts:
        settings = obj.pose.bones[part.bone].active_ragdoll
        settings.body_mode = "LIMP" if part.bone in tail else "KINEMATIC"
    others = [i for i, part in enumerate(obj.active_ragdoll.parts) if part.bone not in tail]
    height, end = obj.active_ragdoll.height, tail[-1]
    plain = played(rig, lambda: rigs.bodies(obj))
    target = empty(scene, {rig.first: plain[0, [p.bone for p in obj.active_ragdoll.parts].index(end), :3, 3]}, "Peg")
    attach(obj, target, bone=end, kind="POINT", point=tuple((np.array(part_of(obj, end).offset).reshape(4, 4))[:3, 3]))
    found = played(rig, lambda: rigs.bodies(obj))
    row = [part.bone for part in obj.active_ragdoll.parts].index(end)
    peg = np.array(target.location)
    assert np.linalg.norm(found[2:, row, :3, 3] - peg, axis=1).max() < 0.03 * height
    assert np.linalg.norm(plain[2:, row, :3, 3] - peg, axis=1).max() > 0.05 * height, "else it would not be there"
    assert np.abs(found[:, others] - plain[:, others]).max() < 1e-4 * height
    assert quiet(obj)


def part_of(obj, bone):
    return next(part for part in obj.active_ragdoll.parts if part.bone == bone)


@pytest.mark.parametrize("kind", ("POINT", "DISTANCE"))
def test_two_characters_of_different_rigs_hold_hands(data_dir, kind):
    """From the middle of the shot on, as one walks away: the hands stay together, and each feels the other."""
    rig = rigs.load(data_dir / "mh_mixamo.blend")
    scene, other = rig.scene, rig.obj
    before = set(bpy.data.objects)
    bpy.ops.import_scene.gltf(filepath=str(data_dir / "Knight.glb"))
    (knight,) = [o for o in set(bpy.data.objects) - before if o.type == "ARMATURE"]
    scene.render.fps, scene.render.fps_base = rigs.FPS, 1.0
    shot(rig, 36)
    for obj in (knight, other):
        obj.animation_data_clear()
        build.build(obj, scene, "MAIN")
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.7
    hands = bone_of(knight, roles.HAND), bone_of(other, roles.HAND, roles.RIGHT)
    shift = standing(rig, knight, hands[0]) - standing(rig, other, hands[1])
    top = other.parent if other.parent is not None else other
    way = np.array((0.6, 0.0, 0.0))  # the left of the one, the right of the other
    place = np.array(top.location) + shift + 0.2 * way
    rigs.key_locations(top, {rig.first - 3: place, rig.first + 12: place, rig.last: place + way})
    scene.frame_set(rig.first)
    for obj in (knight, other):
        build.rebuild(obj, scene)
    height = knight.active_ragdoll.height

    def read():
        return np.stack([tip(knight, hands[0], (0, 0, 0)), tip(other, hands[1], (0, 0, 0))])

    plain = played(rig, read)
    item = attach(knight, other, bone=hands[0], kind=kind)
    item.target_bone = hands[1]
    key_enabled(knight, {rig.first: False, rig.first + 10: True})
    found = played(rig, read)
    away = np.linalg.norm(found[:, 0] - found[:, 1], axis=1)
    assert away[10:].max() < away[9] + 0.02 * height
    free = np.linalg.norm(plain[:, 0] - plain[:, 1], axis=1)
    assert free.max() > away[10:].max() + 0.1 * height, "else nothing held them"
    assert (np.linalg.norm(found[-1] - plain[-1], axis=1) > 0.03 * height).all(), "each is drawn by the other"
    assert quiet(knight, other)


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


@pytest.mark.parametrize("kind", ("POINT", "FIXED", "DISTANCE"))
def test_the_objects_scale_changes_nothing(kind):
    """Bones a hundred times as large or small in an object scaled by the inverse: a limp character hangs as well.

    (How it dangles is another matter: what the last bits differ by grows, also without attachments.)
    """
    found = {}
    for scale in (1.0, 0.01, 100.0):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scene = bpy.context.scene
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
