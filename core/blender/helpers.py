"""The objects that a ragdoll consists of."""

import bpy


def helper(name, data, collection):
    """A helper object. None is hidden one by one: Blender drops hidden constraints from evaluation as soon as nothing
    shown needs them (the character is deleted, the bodies are hidden), in mid-shot, and crashes."""
    helper = bpy.data.objects.new(name, data)
    helper.hide_render = True
    helper.hide_select = True
    helper.rotation_mode = "QUATERNION"
    collection.objects.link(helper)
    return helper
