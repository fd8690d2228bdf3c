"""Characters as plain skeletons for other programs: in the scene, and through files that Blender reads again."""

from unittest.mock import Mock

import bpy
import numpy as np
import pytest

import own_characters
import rigs
from active_ragdoll.core.blender import interface
from active_ragdoll.core.blender.bake import plain
from active_ragdoll.core.blender.physics import build
from active_ragdoll.operators.shot import ACTIVE_RAGDOLL_OT_export_ready
from demo.character import generate_rigify
from test_bake_controls import _controlled, _deforming

pytestmark = pytest.mark.blender_version
LAST = 10
READERS = {".glb": bpy.ops.import_scene.gltf, ".fbx": bpy.ops.import_scene.fbx, ".usdc": bpy.ops.wm.usd_import}
UNWRITABLE = (
    ({"to": ".fbx"}, "Say which file"),
    ({"filepath": "x.gltf"}, "x.gltf: unknown kind"),
    ({"filepath": "/nowhere/x.glb"}, "/nowhere/x.glb: there is no folder"),
    ({"filepath": "/proc/x.fbx"}, "/proc/x.fbx: Blender could not write it"),
)


def _simulated(scene, obj, bones):
    build.build(obj, scene, bones)
    rigs.set_weights(obj, 0.0)
    bpy.ops.active_ragdoll.simulate()
    bpy.context.view_layer.objects.active = obj
    return scene, obj, list(plain.plain_parents(obj))


@pytest.fixture
def shot(scene):
    """A limp human below controls, scaled and turned, one arm stretched, with a skin of triangles and a hat on."""
    obj = _controlled(scene)
    obj.pose.bones["hips"]["fk"] = 1.0  # the finger goes with the arm
    obj.pose.bones["arm.R"].scale = (0.9, 1.15, 1.0 / (0.9 * 1.15))
    obj.scale, obj.rotation_euler, obj.location = (0.5,) * 3, (0.0, 0.0, 0.7), (1.0, 2.0, 0.5)
    for bone in obj.data.bones:
        bone.use_deform = bone.name.startswith("DEF-")
    own_characters.skin(obj)
    hat = rigs.added(scene, "Hat", rigs.box_mesh("Hat", (0.2, 0.2, 0.2)))
    hat.parent, hat.parent_type, hat.parent_bone = obj, "BONE", "DEF-head"
    rigs.set_range(scene, 1, LAST)
    return _simulated(scene, obj, _deforming(obj))


def _rigify(scene):
    obj = generate_rigify(rigs.metarig(scene, "human"))
    rigs.set_range(scene, 1, LAST)
    own_characters.skin(obj)
    return _simulated(scene, obj, "MAIN")


def _mixamo(_scene):
    rig = rigs.load(*own_characters.or_own("mh_mixamo.blend", own=("own mixamo",)), LAST - 1)
    return _simulated(rig.scene, rig.obj, "MAIN")


def _unsized(matrix):
    """A matrix [4, 4] whose axes are of length 1 and at right angles, with its own direction of y."""
    result, (axes, sizes) = matrix.copy(), np.linalg.qr(matrix[:3, [1, 0, 2]])
    result[:3, :3] = (axes * np.sign(np.diag(sizes)))[:, [1, 0, 2]]
    return result


def _motion(scene, obj, names):
    """World matrices of bones without their sizes, as moved from where they are in bind pose [f, n, 4, 4]."""
    found, ours = [], obj.active_ragdoll.is_ragdoll
    # Importers begin at a frame of their own.
    first = scene.frame_start if ours else round(obj.animation_data.action.frame_range[0])
    for frame in range(first, first + LAST):
        scene.frame_set(frame)
        posed = obj.evaluated_get(bpy.context.view_layer.depsgraph)
        world = np.array(posed.matrix_world)
        rest = [np.array(obj.data.bones[name].matrix_local) for name in names]
        shown = (_unsized(world @ np.array(posed.pose.bones[name].matrix)) for name in names)
        found.append([now @ np.linalg.inv(_unsized(world @ r)) @ world for now, r in zip(shown, rest, strict=True)])
    return np.array(found), np.array([obj.data.bones[name].head_local for name in names])


def _same(now, before, heads, own=None):
    """The joints within 0.1 mm, the turns within 0.1 deg; `own` takes heads of ours to those of an importer's rig."""
    place = lambda motion, at: (motion @ np.append(at, np.ones((len(at), 1)), axis=1)[:, :, None])[..., :3, 0]  # noqa: E731
    assert np.abs(place(now, own if own is not None else heads) - place(before, heads)).max() < 1e-4
    turned = now[..., :3, :3] @ np.linalg.inv(before[..., :3, :3])
    turned /= np.cbrt(np.linalg.det(turned))[..., None, None]
    first = turned[:1, :1] if own is not None else np.eye(3)  # the axes of the file's own space
    angles = np.degrees(np.linalg.norm(turned @ np.swapaxes(first, -1, -2) - np.eye(3), axis=(-1, -2)) / np.sqrt(2.0))
    assert angles.max() < 0.1


def test_a_plain_copy_in_the_scene_has_the_deforming_bones_in_one_tree_and_the_motion(shot):
    scene, obj, deforming = shot
    before, heads = _motion(scene, obj, deforming)
    things = rigs.counts()
    bpy.ops.active_ragdoll.export_ready()
    new = bpy.context.view_layer.objects.active
    assert sorted(bone.name for bone in new.data.bones) == sorted(deforming)
    for name, (_head, _tail, parent) in rigs.HUMAN.items():
        above = new.data.bones[f"DEF-{name}"].parent
        assert (above.name if above else None) == (parent and f"DEF-{parent}")
    _same(_motion(scene, new, deforming)[0], before, heads)
    skin, hat = (bpy.data.objects[name] for name in ("Skin.001", "Hat.001"))
    assert skin.modifiers[0].object == new and (hat.parent, hat.parent_bone) == (new, "DEF-head")
    assert not any(bone.constraints for bone in new.pose.bones)
    more = {name: n - things[name] for name, n in rigs.counts().items() if n != things[name]}
    assert more == {"objects": 3, "armatures": 1, "actions": 1}
    bpy.context.view_layer.objects.active = obj
    bpy.ops.active_ragdoll.remove()
    _same(_motion(scene, new, deforming)[0], before, heads)


@pytest.mark.parametrize("make", (_mixamo, "shot", _rigify))
def test_files_read_again_have_the_motion_with_meshes_or_without(fresh_scene, tmp_path, request, make):
    scene, obj, deforming = request.getfixturevalue(make) if make == "shot" else make(fresh_scene)
    before, heads = _motion(scene, obj, deforming)
    rigs.select(obj, deforming[0])
    shown = scene.frame_start, scene.frame_end, scene.frame_current
    written = [suffix for suffix in plain.EXPORTERS if suffix != ".usdc" or "usd_export" in dir(bpy.ops.wm)]
    if make == _rigify and bpy.app.version < (4, 3):
        written.remove(".glb")  # whose exporter crashes 4.2 now and then after large scenes that were simulated
    for kind in ("meshes", "bones"):
        for suffix in written:
            things, file = rigs.counts(), tmp_path / f"{kind}{suffix}"
            bpy.ops.active_ragdoll.export_ready(to=suffix, filepath=str(file))
            assert rigs.counts() == things and bpy.context.mode == "POSE" and bpy.context.object == obj
            assert (scene.frame_start, scene.frame_end, scene.frame_current) == shown
        bpy.data.batch_remove([mesh for mesh in scene.objects if mesh.type == "MESH" and mesh.rigid_body is None])
    for file in tmp_path.iterdir():
        fresh = rigs.empty_file()
        READERS[file.suffix](filepath=str(file))
        new = next(o for o in fresh.objects if o.type == "ARMATURE")
        plain_name = str.maketrans("-.:", "___") if file.suffix == ".usdc" else {}  # USD knows letters, digits and _
        now, own = _motion(fresh, new, [name.translate(plain_name) for name in deforming])
        _same(now, before, heads, own)


@pytest.mark.parametrize("choice, said", UNWRITABLE)
def test_a_file_that_cannot_be_written_is_told_and_nothing_is_left(shot, choice, said):
    things = rigs.counts()
    with pytest.raises(RuntimeError, match=said):
        bpy.ops.active_ragdoll.export_ready(**choice)
    assert rigs.counts() == things and bpy.context.object.name == "Rig" and shot[0].frame_current == LAST


def test_a_file_that_this_blender_cannot_write_is_refused_before_its_name_is_asked_for(shot, monkeypatch):
    monkeypatch.setitem(plain.EXPORTERS, ".usdc", ("wm.none", "", {}))
    operator = Mock(to=".usdc", filepath="", subject=interface.active_armature)
    ACTIVE_RAGDOLL_OT_export_ready.invoke(operator, bpy.context, None)
    assert "Rig.usdc: this Blender has no exporter" in str(operator.cancelled.call_args)
