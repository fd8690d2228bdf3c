"""A character's look-at chain and leg stabilisers from its bones' roles."""

from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Vector

from ...errors import RagdollError
from ...motion.look_at import setup as look_at_setup
from .. import runtime
from ..rig import armature, recognition
from ..runtime import STATE
from . import stack_setup
from .entries.look_at import rig_of, write_axes

NAME = "Look-at"
AHEAD = 1.5  # of the character's height: how far in front of it a new target stands


@dataclass
class Made:
    """What was set up: the chain's place in the list, its number of entries, the feet, and notes for the user."""

    index: int
    entries: int
    feet: list
    target: bpy.types.Object
    notes: list = field(default_factory=list)


def setup(obj, scene, target=None) -> Made:
    """Make the chain from eyes or head to the spine, and a stabiliser for each leg; those made before are replaced.

    Args:
        target: what to look at; None keeps that of the chain made before, else makes an Empty in front of the eyes.

    Raises:
        RagdollError: no head or neck is recognised, or the character cannot have a motion stack.
    """
    armature.check_armature(obj)
    if target == obj:
        raise RagdollError(f"'{obj.name}' cannot look at itself: choose another object")
    if target is not None and target.name not in scene.objects:
        raise RagdollError(f"'{target.name}' is not in the scene '{scene.name}'")
    rig = rig_of(obj)
    anatomy = recognition.anatomy_of(obj)
    found = look_at_setup.from_roles(rig, anatomy, armature.bind_tails(obj.data))
    stack_setup.ensure(obj, scene)
    settings = obj.active_ragdoll
    with STATE.writing():
        recognition.store_roles(obj, anatomy)
        index = settings.look_at.find(NAME)
        chain = settings.look_at[index] if index >= 0 else settings.look_at.add()
        chain.name = NAME
        settings.active_look_at = index if index >= 0 else len(settings.look_at) - 1
        _fill(chain, rig, found.entries)
        _set_legs(settings, rig, found.legs)
        if target is not None:
            chain.target_type, chain.target = "OBJECT", target
        if chain.target_type == "OBJECT" and (chain.target is None or chain.target.name not in scene.objects):
            chain.target = _new_target(obj, scene, rig, found.entries[0])
    runtime.settings_changed(obj)
    feet = [rig.name(foot) for foot, _count in found.legs]
    return Made(settings.active_look_at, len(chain.entries), feet, chain.target, found.notes)


def _fill(chain, rig, entries) -> None:
    chain.entries.clear()
    for entry in entries:
        item = chain.entries.add()
        item.bone = rig.name(entry.bone)
        item.limit = entry.limit
        item.rotate_around_up_weight = entry.up_weight
        write_axes(item, entry.forward_axis, entry.parent_forward_axis)
        for link in entry.linked:
            item.linked_bones.add().bone = rig.name(link.bone)


def _set_legs(settings, rig, legs) -> None:
    known = {item.foot_bone: item for item in settings.leg_stabilizers}
    for foot, count in legs:
        item = known.get(rig.name(foot)) or settings.leg_stabilizers.add()
        item.foot_bone, item.bones_count = rig.name(foot), count


def _new_target(obj, scene, rig, entry):
    """An Empty in front of the first bone's eyes as the character stands now."""
    world = np.array(obj.matrix_world, dtype=float)
    bone = obj.evaluated_get(bpy.context.view_layer.depsgraph).pose.bones[rig.name(entry.bone)]
    pose = world @ np.array(bone.matrix, dtype=float)
    ahead = pose[:3, :3] @ np.array(entry.forward_axis)
    size = rig.size * float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
    target = bpy.data.objects.new(f"{obj.name} Look Target", None)
    target.empty_display_type, target.empty_display_size = "SPHERE", 0.05 * size
    target.location = Vector(pose[:3, 3] + AHEAD * size * ahead / max(np.linalg.norm(ahead), 1e-12))
    scene.collection.objects.link(target)
    return target
