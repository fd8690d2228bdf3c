"""An arm that swings, for tests that need no more."""

import rigs

ARM = "upper arm.L"


def make_arm(scene, frames: int = 30):
    """Three bones of 0.5 m in a row that swing about the X axis; skinned to nothing."""
    names = ("shoulder", ARM, "hand")
    places = [(0.0, 0.5 * i, 2.0) for i in range(4)]
    obj = rigs.armature(scene, dict(zip(names, zip(places[:3], places[1:], (None, *names[:2])))), "Arm")
    for bone in obj.pose.bones:
        bone.rotation_mode = "XYZ"
        rigs.key(bone, "rotation_euler", {1: (0.0, 0.0, 0.0), frames: (0.4, 0.0, 0.0)})
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return obj
