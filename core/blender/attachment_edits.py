"""Adding and taking away attachments, and what the overlay shows of them."""

import numpy as np

from ..errors import RagdollError
from ..ragdoll import overlay
from . import keyed_lists, overlay_data, runtime
from .armature import array_of

HELD, LOOSE = (0.95, 0.35, 0.85, 1.0), (0.95, 0.35, 0.85, 0.35)  # colours of what is switched on and off


def add(obj, bone: str, target=None):
    """Attach a bone, at its tail, to an object; returns the attachment, whose settings are there to be changed.

    Raises:
        RagdollError: no ragdoll, or the bone has no body; nothing is added then.
    """
    settings = obj.active_ragdoll
    if not settings.is_ragdoll:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build it first")
    if not any(part.bone == bone for part in settings.parts):
        what = f"Bone '{bone}' of '{obj.name}' has no body" if bone else "No active bone: click one in Pose Mode"
        raise RagdollError(what)
    if target == obj:
        raise RagdollError(f"'{obj.name}' cannot be attached to itself")
    names = {item.name for item in settings.attachments}
    item = settings.attachments.add()
    number = len(settings.attachments)
    while f"Attachment {number}" in names:
        number += 1
    item.name, item.bone, item.target = f"Attachment {number}", bone, target
    item.point = (0.0, obj.data.bones[bone].length * settings.built_scale, 0.0)
    settings.active_attachment = len(settings.attachments) - 1
    runtime.settings_changed(obj)
    return item


def remove(obj, number: int) -> None:
    """Take an attachment away; those after it move up with their keys."""
    settings = obj.active_ragdoll
    keyed_lists.remove(obj, "attachments", settings.attachments, number)
    settings.active_attachment = max(min(settings.active_attachment, len(settings.attachments) - 1), 0)
    runtime.settings_changed(obj)


def lines(obj, scene, depsgraph) -> overlay.Lines | None:
    """A line from each attachment's point to its target; None where there is none."""
    settings = obj.active_ragdoll
    if not settings.is_ragdoll or settings.muted or not len(settings.attachments):
        return None
    cached = overlay_data.current(obj, scene)
    if cached is None:
        return None
    bodies = overlay_data.body_matrices(obj, depsgraph, cached)
    rows = {part.bone: i for i, part in enumerate(settings.parts)}
    ends, colors = [], []
    for item in settings.attachments:
        row, target = rows.get(item.bone), item.target
        if row is None or target is None:
            continue
        bone = bodies[row] @ np.linalg.inv(cached.offsets[row])
        posed = target.evaluated_get(depsgraph)
        place = array_of(posed.matrix_world)
        if target.type == "ARMATURE" and item.target_bone in posed.pose.bones:
            place = place @ array_of(posed.pose.bones[item.target_bone].matrix)
        ends.append(((bone @ [*item.point, 1.0])[:3], place[:3, 3]))
        colors.append(HELD if item.enabled else LOOSE)
    if not ends or not np.isfinite(ends).all():
        return None
    thick = np.array([color is HELD for color in colors])
    return overlay.Lines(np.array(ends, dtype=np.float32), np.array(colors, dtype=np.float32), thick)
