"""Adding hits, by values or by a ray in the viewport, and attachments."""

import numpy as np
from mathutils import Vector

from ...errors import RagdollError
from ...ragdoll import hits as core_hits
from .. import runtime
from ..physics import built, world
from ..rig.armature import check_ragdoll
from ..settings.lists import unique
from . import overlay_data


def add_hit(
    obj,
    scene,
    bone: str,
    frame: int,
    impulse,
    point=(0.0, 0.0, 0.0),
    *,
    space: str = core_hits.WORLD,
    duration: float = 0.0,
    target=None,
) -> list[str]:
    """Add a hit to a character's list.

    Args:
        impulse: [N s], [3]. point: from the middle of the body, along the bone's axes [3], [m].
    Returns:
        Notes, for example that it will not be felt.
    Raises:
        RagdollError: no ragdoll, no such body, a value that is no number; nothing is added then.
    """
    check_ragdoll(obj)
    settings = obj.active_ragdoll
    strength = float(np.linalg.norm(np.asarray(impulse, dtype=float)))
    what, number = (tuple(impulse), tuple(point), space, duration), len(settings.hits) + 1
    wanted = core_hits.Hit(float(frame), bone, strength, *what, number=number)
    names = [part.bone for part in settings.parts]
    try:
        if space == core_hits.TOWARDS and target is None:
            raise RagdollError(f"{wanted.title(0)}: it has no target object to go towards")
        notes = core_hits.checked_hits([wanted], names, *world.shot_range(scene))
    except RagdollError as error:
        raise RagdollError(f"'{obj.name}': {error}") from error
    hit = settings.hits.add()
    hit.bone, hit.frame, hit.impulse, hit.point = bone, int(frame), impulse, point
    hit.space, hit.duration, hit.target = space, duration, target
    settings.active_hit = len(settings.hits) - 1
    return notes


def add_given_hits(obj, scene, given) -> list[str]:
    """Add hits given as text: bone, frame and three components of the impulse [N s]. Returns notes on them.

    Raises:
        RagdollError: as `add_hit`, or something is no number; those before it are added.
    """
    notes = []
    for bone, *values in given:
        try:
            frame, impulse = int(values[0]), [float(value) for value in values[1:]]
        except ValueError:
            raise RagdollError(f"Hit on bone '{bone}': {' '.join(values)} is not a frame and three numbers") from None
        notes += add_hit(obj, scene, bone, frame, impulse)
    return notes


def attach(obj, bone: str, target=None):
    """Attach a bone at its tail to an object. Returns the attachment's settings, for the caller to change.

    Raises:
        RagdollError: no ragdoll, or the bone has no body; nothing is added then.
    """
    check_ragdoll(obj)
    settings = obj.active_ragdoll
    if built.part_of(obj, bone) is None:
        what = f"Bone '{bone}' of '{obj.name}' has no body" if bone else "No active bone: click one in Pose Mode"
        raise RagdollError(what)
    if target == obj:
        raise RagdollError(f"'{obj.name}' cannot be attached to itself")
    name = unique(settings.attachments, f"Attachment {len(settings.attachments) + 1}")
    item = settings.attachments.add()
    item.name, item.bone, item.target = name, bone, target
    item.point = (0.0, obj.data.bones[bone].length * settings.built_scale, 0.0)
    settings.active_attachment = len(settings.attachments) - 1
    runtime.settings_changed(obj)
    return item


# ---- the viewport ---------------------------------------------------------------------------------------------------


def picked(obj, scene, depsgraph, origin, direction) -> tuple[str, np.ndarray] | None:
    """The bone that a ray in the viewport hits, and the point [3] in the world; None if it hits nothing.

    The mesh counts first, then the bodies themselves, so that an armature without mesh can be hit too.

    Args:
        origin, direction: of the ray [3], world; the direction a unit vector.
    """
    _cached, matrices = overlay_data.shown_bodies(obj, scene, depsgraph)
    if matrices is None:
        return None
    parts = obj.active_ragdoll.parts
    halves = np.array([0.5 * np.ptp(np.array(part.body.bound_box, dtype=float), axis=0) for part in parts])
    row, distance = core_hits.box_met(origin, direction, matrices, halves)
    place = _on_mesh(obj, scene, depsgraph, origin, direction)
    if place is not None:
        row = core_hits.nearest_box(place, matrices, halves)
    elif row >= 0:
        place = np.asarray(origin, dtype=float) + distance * np.asarray(direction, dtype=float)
    return (parts[row].bone, place) if row >= 0 else None


def _on_mesh(obj, scene, depsgraph, origin, direction) -> np.ndarray | None:
    """Where a ray first meets a mesh of the character [3], world; other objects in front are ignored."""
    start, way = Vector(origin), Vector(direction)
    for _surface in range(20):
        found, place, _normal, _face, other, _matrix = scene.ray_cast(depsgraph, start, way)
        if not found:
            return None
        if _belongs(other.original, obj):
            return np.array(place, dtype=float)
        start = place + way * 1e-4 * max(obj.active_ragdoll.height, 1e-6)
    return None


def _belongs(mesh, obj) -> bool:
    if any(modifier.type == "ARMATURE" and modifier.object == obj for modifier in mesh.modifiers):
        return True
    return mesh.parent == obj and mesh.parent_type in ("ARMATURE", "BONE", "OBJECT")


def point_on(obj, scene, depsgraph, bone: str, place) -> np.ndarray:
    """A point in the world [3] as a hit's `point`: from the middle of the bone's body, along the bone's axes."""
    row, matrix = _body(obj, scene, depsgraph, bone)
    offset = np.array(obj.active_ragdoll.parts[row].offset, dtype=float).reshape(4, 4)
    return offset[:3, :3] @ matrix[:3, :3].T @ (np.asarray(place, dtype=float) - matrix[:3, 3])


def _body(obj, scene, depsgraph, bone: str):
    _cached, matrices = overlay_data.shown_bodies(obj, scene, depsgraph)
    names = [part.bone for part in obj.active_ragdoll.parts]
    if matrices is None or bone not in names:
        raise RagdollError(f"Bone '{bone}' of '{obj.name}' has no body")
    row = names.index(bone)
    return row, matrices[row]


def impulse_by_drag(obj, scene, origin, direction, place, normal) -> np.ndarray | None:
    """The impulse [3], [N s], of an arrow dragged from a place to where a ray meets the plane that faces the view."""
    drawn = core_hits.dragged(origin, direction, place, normal)
    if drawn is None:
        return None
    mass, height = overlay_data.mass(obj), obj.active_ragdoll.height
    return core_hits.impulse_of_arrow(drawn, mass, height, overlay_data.gravity(scene))
