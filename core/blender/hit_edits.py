"""Adding and taking away hits and explosions, by values or by a ray in the viewport; and what the overlay shows."""

import bpy
import numpy as np
from mathutils import Vector

from ..errors import RagdollError
from ..ragdoll import hit_placing, overlay
from ..ragdoll import hits as core_hits
from . import overlay_data, runtime, world

COLOR, BLAST_COLOR = (1.0, 0.45, 0.1), (1.0, 0.8, 0.2)
DIM, BRIGHT = 0.45, 1.0  # opacity away from its frame, and at it


def add(
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
        Notes: it will not be felt, for instance.
    Raises:
        RagdollError: no ragdoll, no such body, a value that is no number; nothing is added then.
    """
    settings = obj.active_ragdoll
    if not settings.is_ragdoll:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build it first")
    strength = float(np.linalg.norm(np.asarray(impulse, dtype=float)))
    wanted = core_hits.Hit(
        float(frame),
        bone,
        strength,
        tuple(impulse),
        tuple(point),
        space,
        duration,
        number=len(settings.hits) + 1,
    )
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


def add_given(obj, scene, given) -> list[str]:
    """Add hits given as text: bone, frame and the three components of the impulse [N s] each; the notes on them.

    Raises:
        RagdollError: as `add`, or something is no number; those before it are added.
    """
    notes = []
    for bone, *values in given:
        try:
            frame, impulse = int(values[0]), [float(value) for value in values[1:]]
        except ValueError:
            raise RagdollError(f"Hit on bone '{bone}': {' '.join(values)} is not a frame and three numbers") from None
        notes += add(obj, scene, bone, frame, impulse)
    return notes


def remove(obj, index: int, name: str = "hits") -> None:
    """Take away an entry of `hits` or `explosions`, also in mid-shot."""
    settings = obj.active_ragdoll
    getattr(settings, name).remove(index)
    active = "active_hit" if name == "hits" else "active_explosion"
    setattr(settings, active, min(getattr(settings, active), max(len(getattr(settings, name)) - 1, 0)))
    runtime.settings_changed(obj)


def mass(obj) -> float:
    """Of the whole character [kg]."""
    return sum(part.body.rigid_body.mass for part in obj.active_ragdoll.parts if part.body is not None)


def gravity(scene) -> float:
    """Of a scene [m/s^2]; 0 when it is switched off."""
    return scene.gravity.length if scene.use_gravity else 0.0


# ---- the viewport ---------------------------------------------------------------------------------------------------


def picked(obj, scene, depsgraph, origin, direction) -> tuple[str, np.ndarray] | None:
    """The bone whose body a ray in the viewport means, and the point [3], world; None where it meets nothing.

    The mesh counts first, then the bodies themselves, so that an armature without mesh can be hit too.

    Args:
        origin, direction: of the ray [3], world; the direction a unit vector.
    """
    cached = overlay_data.current(obj, scene)
    if cached is None:
        return None
    matrices = np.array(overlay_data.body_matrices(obj, depsgraph, cached), dtype=float)
    parts = obj.active_ragdoll.parts
    halves = np.array([0.5 * np.ptp(np.array(part.body.bound_box, dtype=float), axis=0) for part in parts])
    row, distance = hit_placing.met(origin, direction, matrices, halves)
    place = _on_mesh(obj, scene, depsgraph, origin, direction)
    if place is not None:
        row = hit_placing.nearest(place, matrices, halves)
    elif row >= 0:
        place = np.asarray(origin, dtype=float) + distance * np.asarray(direction, dtype=float)
    return (parts[row].bone, place) if row >= 0 else None


def _on_mesh(obj, scene, depsgraph, origin, direction) -> np.ndarray | None:
    """Where a ray first meets a mesh of the character [3], world; what stands in front is looked through."""
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
    cached = overlay_data.current(obj, scene)
    names = [part.bone for part in obj.active_ragdoll.parts]
    if cached is None or bone not in names:
        raise RagdollError(f"Bone '{bone}' of '{obj.name}' has no body")
    row = names.index(bone)
    return row, np.array(overlay_data.body_matrices(obj, depsgraph, cached), dtype=float)[row]


def impulse_by_drag(obj, scene, origin, direction, place, normal) -> np.ndarray | None:
    """The impulse [3], [N s], of an arrow dragged from a place to where a ray meets the plane that faces the view."""
    drawn = hit_placing.dragged(origin, direction, place, normal)
    if drawn is None:
        return None
    return hit_placing.impulse(drawn, mass(obj), obj.active_ragdoll.height, gravity(scene))


# ---- the overlay ----------------------------------------------------------------------------------------------------


def lines(obj, scene, depsgraph) -> overlay.Lines | None:
    """Arrows of a character's hits and circles of its explosions, bright at their frames; None where there are none."""
    settings = obj.active_ragdoll
    if not settings.is_ragdoll or not (len(settings.hits) or len(settings.explosions)):
        return None
    cached = overlay_data.current(obj, scene)
    if cached is None:
        return None
    matrices = np.array(overlay_data.body_matrices(obj, depsgraph, cached), dtype=float)
    names = {part.bone: i for i, part in enumerate(settings.parts)}
    weight, pull = max(mass(obj), 1e-12), gravity(scene)
    ends, colors, bold = [], [], []

    def show(segments, color, entry, chosen):
        now = _acts(entry, scene)
        ends.append(segments)
        colors.append(np.tile((*color, BRIGHT if now or chosen else DIM), (len(segments), 1)))
        bold.append(np.full(len(segments), now))

    for i, hit in enumerate(settings.hits):
        if hit.enabled and hit.bone in names:
            row = names[hit.bone]
            point, way = _shown(settings.parts[row], matrices[row], hit, depsgraph)
            drawn = hit_placing.arrow(way, weight, settings.height, pull)
            show(hit_placing.arrow_lines(point, drawn, settings.height), COLOR, hit, i == settings.active_hit)
    for i, blast in enumerate(settings.explosions):
        if blast.enabled:
            origin = blast.origin
            if blast.target is not None:
                origin = blast.target.evaluated_get(depsgraph).matrix_world.translation
            circles = hit_placing.blast_lines(origin, blast.radius)
            show(circles, BLAST_COLOR, blast, i == settings.active_explosion)
    if not ends:
        return None
    return overlay.Lines(
        np.concatenate(ends).astype(np.float32), np.concatenate(colors).astype(np.float32), np.concatenate(bold)
    )


def _shown(part, matrix, hit, depsgraph) -> tuple[np.ndarray, np.ndarray]:
    """Where a hit acts and which way it goes now, as long as its impulse [3], world."""
    turn = matrix[:3, :3] @ np.array(part.offset, dtype=float).reshape(4, 4)[:3, :3].T
    point = matrix[:3, 3] + turn @ np.array(hit.point)
    way = np.array(hit.impulse, dtype=float)
    if hit.space == core_hits.LOCAL:
        way = turn @ way
    elif hit.space == core_hits.TOWARDS and hit.target is not None:
        there = np.array(hit.target.evaluated_get(depsgraph).matrix_world.translation) - point
        way = there / max(float(np.linalg.norm(there)), 1e-12) * float(np.linalg.norm(way))
    return point, way


def _acts(entry, scene: bpy.types.Scene) -> bool:
    frames = entry.duration * scene.render.fps / scene.render.fps_base
    return entry.frame <= scene.frame_current <= entry.frame + max(frames, 1.0)
