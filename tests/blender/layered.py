"""Characters with actions, layers and blend spaces for the tests."""

import tempfile
from pathlib import Path

import bpy
import numpy as np

import own_characters
import rigs
from active_ragdoll.core.blender.rig import action_channels, clips
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from active_ragdoll.core.motion.stack import LocalPose
from active_ragdoll.core.pose import compose_matrices, decompose_matrices, model_to_local_matrices

_FOLDER = Path(tempfile.mkdtemp(prefix="layered"))
WALK = (("Idle", 0.0), ("Walking_A", 2.0), ("Running_A", 4.0))  # samples of a space by speed


def knight(data_dir, first: int = 1, last: int = 60):
    """Knight.glb, which comes with 76 actions and plays "Idle"; imported once, which takes more than a second."""
    kept = _FOLDER / "knight.blend"
    if not kept.exists():
        rig = rigs.load("Knight.glb") if data_dir.is_dir() else own_characters.knight()
        for action in bpy.data.actions:  # Blender 4.2 adds the object's name
            action.name = action.name.removesuffix(f"_{rig.obj.name}")
            action.use_fake_user = True
        play(rig.obj, "Idle")
        rig.obj["armature"] = True
        bpy.ops.wm.save_as_mainfile(filepath=str(kept), compress=False)
    bpy.ops.wm.open_mainfile(filepath=str(kept), load_ui=False)
    obj = next(o for o in bpy.context.scene.objects if "armature" in o)
    del obj["armature"]
    rig = rigs.Rig(obj, bpy.context.scene, first, last)
    rigs.set_range(rig.scene, first, last)
    return rig


def play(obj, name: str) -> None:
    """Assign an action."""
    action = bpy.data.actions[name]
    action_channels.assign(obj, action, action_channels.slot_of(action, obj))


def plays(rig, name: str, frames) -> dict:
    """World matrices by frame while the character plays an action, as Blender alone shows it."""
    before = action_channels.current(rig.obj)
    play(rig.obj, name)
    for bone in rig.obj.pose.bones:  # what an action has no keys for stands in bind pose
        bone.matrix_basis.identity()
    found = shown(rig, frames)
    action_channels.assign(rig.obj, *before)
    return found


def shown(rig, frames) -> dict:
    """World matrices [n, 4, 4] by frame, as the scene shows them."""
    return rigs.shown(rig.scene, rig.obj, frames)


def layer(rig, action: str, source: str = "CLIP", **settings):
    """A layer of an action on top."""
    return rigs.changed(stack_edits.add_layer(rig.obj, rig.scene, source, "", bpy.data.actions[action]), **settings)


def space(rig, samples, kind: str = "SPEED", **settings):
    """A blend space; samples are (action, x) or (action, x, y)."""
    made = stack_edits.add_blend_space(rig.obj, kind)
    for action, *place in samples:
        sample = made.samples.add()
        stack_edits.choose(sample, bpy.data.actions[action])
        sample.x = place[0]
        sample.y = place[1] if len(place) > 1 else 0.0
    return rigs.changed(made, **settings)


def space_layer(rig, name: str, source: str = "BLEND_SPACE", **settings):
    """A layer of a blend space."""
    made = stack_edits.add_layer(rig.obj, rig.scene, source, name)
    made.blend_space = name
    return rigs.changed(made, **settings)


def local(obj, world: np.ndarray) -> LocalPose:
    """World matrices [n, 4, 4] in Blender's order as a pose in local space, level order."""
    skeleton = clips.RigRest(obj).skeleton
    matrices = np.linalg.inv(np.array(obj.matrix_world)) @ world
    return LocalPose(*decompose_matrices(model_to_local_matrices(skeleton, matrices[skeleton.to_level])))


def world(obj, pose: LocalPose) -> np.ndarray:
    """The way back from `local`."""
    skeleton = clips.RigRest(obj).skeleton
    return np.array(obj.matrix_world) @ compose_matrices(*pose.model(skeleton))[skeleton.from_level]


def messages(rig) -> dict:
    """Messages of the stack at the frame that was shown last."""
    rig.scene.frame_set(rig.scene.frame_current)
    return pose_stack.of(rig.obj).messages


def size(poses: dict) -> float:
    """Largest extent of the first pose."""
    return float(np.ptp(next(iter(poses.values()))[:, :3, 3], axis=0).max())


def difference(a: dict, b: dict) -> tuple[float, float]:
    """Largest angle [deg] and largest distance as a share of the character's size between poses by frame."""
    angle = max(rigs.angles(a[frame], b[frame]).max() for frame in a)
    return float(angle), float(max(np.abs(a[frame] - b[frame])[:, :3, 3].max() for frame in a) / size(a))
