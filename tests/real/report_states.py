"""Reports, from inside a real Blender that has the extension, what is registered at the start, after
disabling it and after enabling it again: one line of JSON after the word STATES."""

import json
import sys
from pathlib import Path

import addon_utils
import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "blender"))

import harness


def state() -> dict:
    """What of the extension Blender knows now."""
    operators = [name for name in dir(bpy.ops.active_ragdoll) if is_registered(name)]
    panels = [cls for cls in bpy.types.Panel.__subclasses__() if getattr(cls, "bl_category", "") == "Ragdoll"]
    return {
        "operators": sorted(operators),
        "object_settings": hasattr(bpy.types.Object, harness.NAME),
        "bone_settings": hasattr(bpy.types.PoseBone, harness.NAME),
        "handlers": sorted(map(list, harness.own_handlers())),
        "panels": sorted(cls.__name__ for cls in panels if cls.is_registered),
    }


def is_registered(name: str) -> bool:
    """Whether an operator of ours really exists: bpy.ops answers to any name."""
    try:
        getattr(bpy.ops.active_ragdoll, name).get_rna_type()
    except (KeyError, AttributeError):
        return False
    return True


module = harness.installed_name()
if not module:
    sys.exit("the extension is not enabled after its installation")
states = {"start": state()}
addon_utils.disable(module)
states["disabled"] = state()
addon_utils.enable(module)
states["enabled_again"] = state()
print("STATES " + json.dumps(states))
