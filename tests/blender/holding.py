"""What the tests of attachments share."""

import numpy as np

import rigs
from active_ragdoll.core.blender.physics import build

HAND = "forearm.L"
TIP = (0.0, 0.28, 0.0)  # of the human's forearm


def attach(obj, target, bone=HAND, **values):
    item = obj.active_ragdoll.attachments.add()
    item.name, item.bone, item.target = values.pop("name", "Grip"), bone, target
    return rigs.changed(item, **values)


def key_enabled(obj, keys, number=0):
    rigs.key(obj, f"active_ragdoll.attachments[{number}].enabled", keys)


def empty(scene, keys, name="Target"):
    obj = rigs.empty(scene, name)
    rigs.key_locations(obj, keys)
    return obj


def loosen_arm(obj, side="L"):
    """Let an arm go where it is led, as far as it is long; before the build."""
    for bone in (f"arm.{side}", f"forearm.{side}", f"finger.{side}"):
        settings = obj.pose.bones[bone].active_ragdoll
        settings.joint, settings.translation_weight, settings.rotation_weight = "FREE", 0.0, 0.2


def reaching_human(scene, keys, last=48):
    """A swinging human with a ragdoll whose left arm goes where it is led, and a keyed Empty to lead it."""
    obj = rigs.swinging_human(scene, 1, last)
    loosen_arm(obj)
    build.build(obj, scene)
    return obj, empty(scene, keys)


def bone_matrix(obj, bone):
    """World matrix [4, 4] of a bone as its body has it."""
    (row,) = rigs.rows(obj, [bone])
    return rigs.bodies(obj)[row] @ np.linalg.inv(obj.active_ragdoll.parts[row].offset)


def tip(obj, bone=HAND, point=TIP):
    return (bone_matrix(obj, bone) @ [*point, 1.0])[:3]


def in_target(target, point):
    return (np.linalg.inv(rigs.matrices([target])[0]) @ [*point, 1.0])[:3]
