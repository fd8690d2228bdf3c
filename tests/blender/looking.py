"""Characters that look at a moving target with planted feet, and how well they do, for the tests of the look-at."""

import bpy
import numpy as np

import rigs
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

REAL = {  # rigs, and how many of their feet are held
    "Knight.glb": 2, "mh_mixamo.blend": 2, "01_01.bvh": 2,
    "Fox.glb": 4, "animals_pack_Horse.glb": 4, "metarig Animals.wolf": 4,
}  # fmt: skip


def character(name: str, data_dir, frames: int = 24) -> rigs.Rig:
    """One of REAL, its shot cut to some frames; "metarig NAME" is made by Rigify and stands still."""
    if name.startswith("metarig "):
        rig = rigs.Rig(rigs.metarig(rigs.empty_file(), name.removeprefix("metarig ")), bpy.context.scene, 1, 24)
    else:
        rig = rigs.load(data_dir / name)
    last = min(rig.last, rig.first + frames - 1) if rig.last > rig.first else rig.first + frames - 1
    rigs.set_range(rig.scene, rig.first, last)
    rig.last = last
    rig.scene.frame_set(rig.first)
    return rig


def to_its_side(scene, obj):
    """A character that looks at an Empty to its side, "Target", at the first frame."""
    stack_edits.set_up_look_at(obj, scene, rigs.empty(scene, location=(1.5, -2.0, 1.6)))
    scene.frame_set(1)
    return obj


def size_of(obj) -> float:
    """Largest extent of the joints in the world."""
    return float(np.ptp(rigs.pose(obj)[:, :3, 3], axis=0).max())


def moving_target(rig: rigs.Rig, sweep: float = np.radians(50.0), distance: float = 1.5):
    """A keyed Empty that swings to both sides in front of the character's eyes, up and down; needs a set-up chain."""
    obj, scene = rig.obj, rig.scene
    chain = obj.active_ragdoll.look_at[0]
    eye, ahead = sight(obj, chain)
    size = size_of(obj)
    up = np.array((0.0, 0.0, 1.0))
    ahead = ahead - up * (ahead @ up)
    ahead /= np.linalg.norm(ahead)
    side = np.cross(up, ahead)
    target = rigs.empty(scene)
    for frame in range(rig.first, rig.last + 1):
        turn = 2.0 * np.pi * (frame - rig.first) / (rig.last - rig.first)
        angle = sweep * np.sin(turn)
        direction = np.cos(angle) * ahead + np.sin(angle) * side + 0.15 * np.sin(2.0 * turn) * up
        target.location = eye + distance * size * direction
        target.keyframe_insert("location", frame=frame)
    chain.target = target
    return target


def set_up(name: str, data_dir, frames: int = 24):
    """A character of REAL that looks at a moving target: (rig, target, its plain poses by frame)."""
    rig = character(name, data_dir, frames)
    plain = rigs.animation(rig.obj, range(rig.first, rig.last + 1))
    bpy.data.objects.remove(stack_edits.set_up_look_at(rig.obj, rig.scene)[0].target)
    rig.scene.frame_set(rig.first)
    return rig, moving_target(rig), plain


def sight(obj, chain) -> tuple[np.ndarray, np.ndarray]:
    """Place and forward [3] of a chain's first bone in the world, as shown."""
    entry = chain.entries[0]
    pose = rigs.pose(obj)[obj.data.bones.find(entry.bone)]
    ahead = pose[:3, :3] @ np.array(entry.forward_axis)
    return pose[:3, 3], ahead / np.linalg.norm(ahead)


def aim_error(obj, target, chain=None) -> float:
    """Angle [deg] between the first bone's forward and the direction to an object, as shown."""
    return off(obj, rigs.matrices([target])[0][:3, 3], chain)


def off(obj, place, chain=None) -> float:
    """The same to a place [3]."""
    eye, ahead = sight(obj, chain if chain is not None else obj.active_ragdoll.look_at[0])
    wanted = (place - eye) / np.linalg.norm(place - eye)
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(ahead, wanted)), ahead @ wanted)))


def foot_errors(obj, pose: np.ndarray, plain: np.ndarray) -> tuple[float, float]:
    """How far the stabilised feet are from where they were: in leg lengths, and their turn [deg]."""
    moved, turned = 0.0, 0.0
    for leg in obj.active_ragdoll.leg_stabilizers:
        row, length = obj.data.bones.find(leg.foot_bone), 0.0
        above = row
        for _ in range(leg.bones_count - 1):
            parent = obj.data.bones.find(obj.data.bones[above].parent.name)
            length += float(np.linalg.norm(plain[above][:3, 3] - plain[parent][:3, 3]))
            above = parent
        moved = max(moved, float(np.linalg.norm(pose[row][:3, 3] - plain[row][:3, 3])) / length)
        turned = max(turned, float(rigs.angles(pose[row], plain[row])))
    return moved, turned


def scrubs_as_played(scene, obj, played: dict, frames, tolerance: float = 0.0) -> None:
    """Check that jumps show what playing did, without what the stack recorded then."""
    pose_stack.forget()
    rigs.check_shown(scene, obj, played, frames, tolerance)
