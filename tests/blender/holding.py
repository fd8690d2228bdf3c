"""What the tests of attachments share."""

import bpy
import numpy as np

import rigs
from active_ragdoll.core.blender.runtime import STATE

HAND = "forearm.L"
TIP = (0.0, 0.28, 0.0)  # of the human's forearm


def attach(obj, target, bone=HAND, **values):
    item = obj.active_ragdoll.attachments.add()
    item.name, item.bone, item.target = values.pop("name", "Grip"), bone, target
    for name, value in values.items():
        setattr(item, name, value)
    return item


def key_enabled(obj, keys, number=0):
    item = obj.active_ragdoll.attachments[number]
    for frame, value in keys.items():
        item.enabled = value
        obj.keyframe_insert(f"active_ragdoll.attachments[{number}].enabled", frame=frame)


def empty(scene, keys, name="Target"):
    obj = bpy.data.objects.new(name, None)
    scene.collection.objects.link(obj)
    rigs.key_locations(obj, keys)
    return obj


def loosen_arm(obj, side="L"):
    """Let an arm go where it is led, as far as it is long; before the build."""
    for bone in (f"arm.{side}", f"forearm.{side}", f"finger.{side}"):
        settings = obj.pose.bones[bone].active_ragdoll
        settings.joint, settings.translation_weight, settings.rotation_weight = "FREE", 0.0, 0.2


def row_of(obj, bone):
    return [part.bone for part in obj.active_ragdoll.parts].index(bone)


def bone_matrix(obj, bone):
    """World matrix [4, 4] of a bone as its body has it."""
    row = row_of(obj, bone)
    offset = np.array(obj.active_ragdoll.parts[row].offset).reshape(4, 4)
    return rigs.bodies(obj)[row] @ np.linalg.inv(offset)


def tip(obj, bone=HAND, point=TIP):
    return (bone_matrix(obj, bone) @ [*point, 1.0])[:3]


def in_target(target, point):
    return (np.linalg.inv(rigs.matrices([target])[0]) @ [*point, 1.0])[:3]


def limp(obj):
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0


def momentum_reader(obj, prop):
    """Reads masses' centre, and spin about it by finite differences of two frames."""
    run = STATE.runs[bpy.context.scene.name]
    masses = np.array([*run.masses, prop.rigid_body.mass])
    places = np.concatenate([rigs.bodies(obj), rigs.matrices([prop])])
    return masses, places
