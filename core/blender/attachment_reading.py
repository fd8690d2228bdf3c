"""The attachments of a run: read from the settings, checked, and where what they join stands."""

from dataclasses import dataclass, field

import bpy
import numpy as np

from .. import quaternion
from ..errors import RagdollError
from ..ragdoll import attachment
from ..ragdoll.attachment import FIXED, POINT, STATED
from . import motion, source
from .armature import array_of, rigid
from .motion_places import Places


@dataclass
class Attached:
    """An attachment of a run.

    Attributes:
        number: its index in the character's list.
        row: of its body in the run; other_row: of the body that it is held by, -1 where that is none of a character.
        kind, stated, offset, reach: as the settings had them when the run began.
        point: where it is held, in the body's frame [3], [m].
        part: from the bone's to the body's frame [4, 4].
        below: rows of its body and of all that hang on it.
        other: object with the body that holds it: another character's, a prop's or the holder.
        joints: two constraint objects; live: which of them is joined, None where none is.
        since: frames since it was switched on, None while it is off.
        place: where the target stands [4, 4]; before: the other body in the last frame but one [4, 4].
        base: the target in the other body's frame when it was switched on [4, 4].
        length: of the rope when it was switched on [m]; capped: its force has a limit.
        grip: the body, or for POINT its point with the other's orientation, in the other's frame then [4, 4].
        trouble: why it does not act any more.
    """

    character: object
    number: int
    name: str
    row: int
    kind: str
    stated: bool
    offset: np.ndarray
    reach: float
    point: np.ndarray
    part: np.ndarray
    below: np.ndarray
    body: bpy.types.Object
    target: bpy.types.Object
    target_bone: str
    other: bpy.types.Object | None
    other_row: int = -1
    joints: tuple = ()
    holder: bpy.types.Object | None = None
    live: int | None = None
    since: int | None = None
    place: np.ndarray | None = None
    command: np.ndarray | None = None
    before: np.ndarray | None = None
    base: np.ndarray | None = None
    grip: np.ndarray | None = None
    length: float = 0.0
    capped: bool = False
    trouble: str = ""
    memory: dict = field(default_factory=dict)

    @property
    def item(self):
        """The settings, those of the character itself."""
        return self.character.obj.active_ragdoll.attachments[self.number]


# ---- settings -------------------------------------------------------------------------------------------------------


def read(character, number: int, item, scene, rows: dict) -> Attached:
    obj, name = character.obj, f"Attachment '{item.name}'"
    settings = obj.active_ragdoll
    part = next((part for part in settings.parts if part.bone == item.bone), None)
    if part is None:
        what = f"bone '{item.bone}' of '{obj.name}' has no body" if item.bone else "it has no bone"
        raise RagdollError(f"{name}: {what}")
    target = item.target
    if target is None:
        raise RagdollError(f"{name}: its target is missing")
    if target.name not in scene.objects:
        raise RagdollError(f"{name}: its target '{target.name}' is not in the scene")
    bone = item.target_bone if target.type == "ARMATURE" else ""
    if bone and bone not in target.data.bones:
        raise RagdollError(f"{name}: '{target.name}' has no bone '{bone}'")
    other = body_of(target, bone)
    if other == part.body or (target == obj and not bone):
        raise RagdollError(f"{name}: '{item.bone}' of '{obj.name}' cannot be attached to itself")
    values = [*item.point, *item.offset_location, *item.offset_rotation]
    if not np.isfinite(values).all():
        raise RagdollError(f"{name}: its point or its offset is not a number")
    bind = np.array(part.offset, dtype=float).reshape(4, 4)
    turn = quaternion.normalize(np.array(item.offset_rotation, dtype=float))
    return Attached(
        character,
        number,
        name,
        rows[part.body.name],
        item.kind,
        item.offset == STATED,
        attachment.placed(item.offset_location, turn),
        item.reach_seconds,
        (np.linalg.inv(bind) @ [*item.point, 1.0])[:3],
        bind,
        _below(settings.parts, part.bone, rows),
        part.body,
        target,
        bone,
        other,
        rows.get(other.name, -1) if other is not None else -1,
    )


def _below(parts, bone: str, rows: dict) -> np.ndarray:
    """Rows of a bone's body and of the bodies that hang on it; parts come after their parents."""
    found, names = [], {bone}
    for part in parts:
        if part.bone == bone or part.parent in names:
            names.add(part.bone)
            found.append(rows[part.body.name])
    return np.array(found)


def body_of(target, bone: str):
    """The object whose rigid body moves a target by physics, None where nothing of the kind does."""
    parts = {part.bone: part.body for part in target.active_ragdoll.parts} if bone else {}
    if target.active_ragdoll.is_ragdoll and bone:
        above = target.data.bones[bone]
        while above is not None:
            if above.name in parts:
                return parts[above.name]
            above = above.parent
        return None
    while target is not None:
        body = target.rigid_body
        if body is not None and body.type == "ACTIVE" and not body.kinematic:
            return target
        target = target.parent if target.parent_type == "OBJECT" else None
    return None


# ---- where things stand ---------------------------------------------------------------------------------------------


def begin(run, own: Attached, scene, body, now) -> None:
    """What is remembered of the moment at which an attachment is switched on."""
    own.since = 0
    if own.holder is not None or own.target == own.other:
        own.base = np.eye(4)
    elif own.other_row >= 0:
        own.base = _base_of_bone(run, own, now)
    else:
        own.base = np.linalg.inv(now) @ rigid(array_of(own.target.evaluated_get(run.graph).matrix_world))
    anchor = (now @ own.base @ (own.offset if own.stated else np.eye(4)))[:3, 3]
    own.length = float(np.linalg.norm(point_of(own, body) - anchor))


def _base_of_bone(run, own: Attached, now) -> np.ndarray:
    """The target bone in its body's frame, or in that of the body that carries it."""
    for character in run.characters:
        if character.rows.start <= own.other_row < character.rows.stop:
            index = own.other_row - character.rows.start
            if character.bone_names[index] == own.target_bone:
                return np.linalg.inv(character.offsets[index])
    posed = own.target.evaluated_get(run.graph)
    bone = rigid(array_of(posed.matrix_world) @ array_of(posed.pose.bones[own.target_bone].matrix))
    return np.linalg.inv(now) @ bone


def stated(own: Attached, place, body) -> np.ndarray:
    """Where the body should be [4, 4]; of a POINT the place of its point, with the target's orientation."""
    if own.kind == FIXED:
        return place @ own.offset @ own.part
    result = np.array(place, dtype=float)
    result[:3, 3] = (place @ own.offset)[:3, 3]
    return result


def error_of(own: Attached, body, now) -> tuple[float, float]:
    """How far the body is from where its constraint has it [m], [rad]."""
    if own.grip is None or own.live is None:
        return 0.0, 0.0
    wanted = now @ own.grip
    if own.kind == POINT:
        return float(np.linalg.norm(point_of(own, body) - wanted[:3, 3])), 0.0
    turns = quaternion.from_matrix(np.stack([body[:3, :3], wanted[:3, :3]]))
    error = float(np.linalg.norm(body[:3, 3] - wanted[:3, 3]))
    return error, float(quaternion.angle_between(turns[0], turns[1]))


def point_of(own: Attached, body) -> np.ndarray:
    return body[:3, 3] + body[:3, :3] @ own.point


def other_now(run, own: Attached) -> np.ndarray:
    """Where the body that holds stands after the last step [4, 4]."""
    if own.holder is not None:
        return own.command
    if own.other_row >= 0:
        return run.body[own.other_row]
    _check_target(own)
    return rigid(array_of(own.other.evaluated_get(run.graph).matrix_world))


def _check_target(own: Attached) -> None:
    attachments = own.character.obj.active_ragdoll.attachments
    if own.number >= len(attachments):
        raise RagdollError(f"{own.name} was removed: what else was set in mid-shot acts from the next start on")
    if attachments[own.number].target is None:
        raise RagdollError(f"{own.name}: its target was deleted")


def settings_of(run, own: Attached):
    """Its settings, keyed ones as the source has them, which stands at the frame to come."""
    _check_target(own)
    character = own.character
    owner = character.source.evaluated_get(run.source_graph) if character.keyed else character.obj
    items = owner.active_ragdoll.attachments
    return items[own.number] if own.number < len(items) else own.item


def place_of(run, own: Attached, scene, frame: int) -> np.ndarray:
    """Where the target stands at a frame, the hidden scene standing there: a rigid matrix [4, 4]."""
    _check_target(own)
    character = own.character
    now = character.source.evaluated_get(run.source_graph)
    now.pose.bones.foreach_get("matrix", character.buffer)
    matrices = character.buffer.reshape(-1, 4, 4).transpose(0, 2, 1)

    def posed(obj):
        found, world = motion.of(obj), array_of(source.evaluated(obj).matrix_world)
        return world, found.pose(scene, frame, record=False)[0]

    places = Places(scene, character.obj, now, matrices, frame, own.memory, True, posed)
    place = rigid(places.matrix(own.name, own.item.target, own.target_bone))
    if not np.isfinite(place).all():
        raise RagdollError(f"{own.name}: the place of its target '{own.target.name}' is not a number")
    return place
