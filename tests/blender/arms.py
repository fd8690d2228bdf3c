"""An arm that swings, for tests that need no more."""

import bpy

import rigs

ARM = "upper arm.L"


def make_arm(scene, frames: int = 30):
    """Three bones of 0.5 m in a row that swing about the X axis; skinned to nothing."""
    data = bpy.data.armatures.new("Arm")
    obj = bpy.data.objects.new("Arm", data)
    scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, name in enumerate(("shoulder", ARM, "hand")):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = (0.0, 0.5 * i, 2.0), (0.0, 0.5 * i + 0.5, 2.0)
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in obj.pose.bones:
        bone.rotation_mode = "XYZ"
        rigs.key(bone, "rotation_euler", {1: (0.0, 0.0, 0.0), frames: (0.4, 0.0, 0.0)})
    scene.frame_start, scene.frame_end = 1, frames
    scene.frame_set(1)
    return obj
