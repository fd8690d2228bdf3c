"""Applying a character's location, rotation and scale to its bones: it plays as before, its ragdoll is built anew.

Blender's own Apply refuses armatures that our copies share, leaves keyed locations of bones as they are, so that they
count for more or less than before, and moves what is parented to posed bones.
"""

import json

import bpy
import numpy as np
from mathutils import Matrix

from ...errors import RagdollError
from ..physics import build, built, remove, source, world
from ..rig import action_channels
from ..rig.armature import check_scale, values_of
from ..runtime import STATE
from ..settings import declare
from ..stack import stack_edits

PARTS = ("scale", "rotation", "location")  # innermost first: nothing is applied that stands outside of what moves
_WITH_LENGTHS = ("LIMIT_LOCATION", "LIMIT_DISTANCE", "STRETCH_TO", "TRANSFORM")  # constraints of bones
_OF_ARMATURE = ("COMPONENT", "OBJECT")  # spaces of settings that turn and move with the armature's own axes


def apply_transform(obj, scene, parts=PARTS) -> list[str]:
    """Apply parts of a character's transform. Its settings, and keyed locations of its bones, scale along. Returns what
    stays as it is, and why. Raises RagdollError: with the reason; nothing is changed then."""
    _check(obj, scene)
    parts, notes = _applicable(obj, parts)
    rest, applied = _split(obj, parts)
    above = obj.parent.matrix_world @ obj.matrix_parent_inverse if obj.parent is not None else Matrix()
    check_scale(obj, np.array(above @ rest, dtype=float))
    if applied.determinant() <= 0.0:
        raise RagdollError(f"'{obj.name}' is mirrored or flat: its scale cannot be applied to bones that are posed")
    linear = np.array(applied.to_3x3(), dtype=float)
    size = float(np.cbrt(np.linalg.det(linear)))  # how much lengths in the character's own units change
    grown = np.linalg.norm(linear @ values_of(obj.data.bones, "matrix_local", 4, 4)[:, :3, :3], axis=1)  # by axis
    by_path = {action_channels.bone_path(bone.name, "location"): own for bone, own in zip(obj.data.bones, grown)}
    keyed = [(group, name) for group, name, said in _lengths(obj) if said.keyed]
    by_path |= {group.path_from_id(name): np.full(3, size) for group, name in keyed}
    curves = _curves(obj, by_path)
    if abs(size - 1.0) > 1e-6:
        notes += _left_alone(obj, curves)
    settings = obj.active_ragdoll
    with STATE.writing():
        is_ragdoll, has_stack = settings.is_ragdoll, settings.target_armature is not None
        chosen = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
        if is_ragdoll:
            build.plan_of(obj, scene, chosen, uneven=True)  # which may be refused
            remove.remove_all([obj], keep_world=settings.scene == scene)
        if has_stack:
            stack_edits.drop(obj)
        _apply(obj, parts, rest, applied)
        for bone in obj.pose.bones:
            bone.location = np.array(bone.location) * by_path[action_channels.bone_path(bone.name, "location")]
        for owner in (obj, *obj.pose.bones):
            for group, name, _said in _lengths(owner):
                setattr(group, name, _scaled(getattr(group, name), size))
        for curve, factor in curves:
            _change(curve, factor)
        scene.view_layers[0].update()  # a build reads meshes by where they stand
        if has_stack:
            stack_edits.ensure(obj, scene)
        if is_ragdoll:
            build.build(obj, scene, chosen)
    return notes


def _check(obj, scene) -> None:
    source.check_free(obj, scene)
    world.refuse_user_bake(scene)
    if obj.override_library is not None or obj.data.library is not None or obj.data.override_library is not None:
        raise RagdollError(f"'{obj.name}' is from a library: apply its transform there")
    if obj.mode == "EDIT":
        raise RagdollError(f"'{obj.name}' is in Edit Mode: leave it first")
    if moving := [constraint.name for constraint in obj.constraints if not constraint.mute]:
        raise RagdollError(f"'{obj.name}' is moved by its constraint '{moving[0]}': apply or disable that first")
    others = [o for o in bpy.data.objects if o.data == obj.data and o != obj and not built.is_ours(o)]
    others = [o for o in others if not any(s.active_ragdoll.is_source for s in o.users_scene)]  # nor copies of ours
    if others:
        raise RagdollError(f"'{obj.name}' shares its armature with '{others[0].name}': make it single-user first")


def _applicable(obj, wanted) -> tuple[list[str], list[str]]:
    """The wanted parts up to the first one that must stay, and why that must."""
    pieces, found = _pieces(obj), []
    wanted = [part for part in PARTS if part in wanted and not np.allclose(pieces[part], np.eye(4), atol=1e-7)]
    if not wanted:
        raise RagdollError(f"'{obj.name}' has no transform of its own to apply")
    for part in PARTS:
        if reason := _reason_to_stay(obj, part):
            break
        found.append(part)
    staying = [part for part in wanted if part not in found]
    if staying == wanted:
        raise RagdollError(f"The transform of '{obj.name}' cannot be applied: {reason}")
    notes = [f"{reason}: {' and '.join(staying)} {'is' if len(staying) == 1 else 'are'} not applied"] if staying else []
    return [part for part in wanted if part in found], notes


def _reason_to_stay(obj, part: str) -> str:
    data = obj.animation_data
    for curve in _object_curves(obj, part):
        now, values = getattr(obj, curve.data_path)[curve.array_index], values_of(curve.keyframe_points, "co", 2)[:, 1]
        # One that holds its value, as importers key it, is none.
        if not len(values) or curve.modifiers or np.abs(values - now).max() > 1e-6 * max(abs(now), 1e-3):
            return f"its {part} is animated"
    if data is not None and any(_moves(curve, part) for curve in data.drivers):
        return f"its {part} is driven"
    for group, name, said in declare.walk(obj.active_ragdoll) if part != "scale" else ():
        spaces = [other for other in declare.names(type(group)) if other.endswith("_space")]
        acting = [o for o in spaces if getattr(group, o.replace("_space", "_mode"), "") != "IGNORE"]
        if said.own_units and any(getattr(group, other) in _OF_ARMATURE for other in acting):
            return f"'{name}' of an entry counts in the armature's space"
    return ""


def _moves(curve, part: str) -> bool:
    return curve.data_path.removeprefix("delta_").startswith(part)


def _object_curves(obj, part: str) -> list:
    playing = {playing[:2] for playing in action_channels.playing(obj)}
    return [curve for of in playing for curve in action_channels.curves_of(*of) if _moves(curve, part)]


def _pieces(obj) -> dict[str, Matrix]:
    """The parts of an object's transform without its parents."""
    place, turn, size = obj.matrix_basis.decompose()
    turned, sized = turn.to_matrix().to_4x4(), Matrix.Diagonal((*size, 1.0))
    return {"scale": sized, "rotation": turned, "location": Matrix.Translation(place)}


def _split(obj, parts) -> tuple[Matrix, Matrix]:
    """What stays on the object, and what goes to its bones: the transform is their product."""
    rest = Matrix()
    for part, piece in reversed(_pieces(obj).items()):
        if part not in parts:
            rest = rest @ piece
    return rest, rest.inverted_safe() @ obj.matrix_basis


def _apply(obj, parts, rest, applied) -> None:
    """Move the transform from the object to its bones; children stay where they are in every pose."""
    flat = [curve for part in parts for curve in _object_curves(obj, part)]
    children = [child for child in bpy.data.objects if child.parent == obj and child.library is None]
    before = [_seat(obj, child) for child in children]
    obj.data.transform(applied)
    for child, seat in zip(children, before, strict=True):
        child.matrix_parent_inverse = _seat(obj, child).inverted() @ applied @ seat @ child.matrix_parent_inverse
    for part in parts:
        for name in (f"delta_{part}",) if part != "rotation" else ("delta_rotation_euler", "delta_rotation_quaternion"):
            obj.property_unset(name)
    obj.matrix_basis = rest
    for curve in flat:
        _change(curve, 0.0, getattr(obj, curve.data_path)[curve.array_index])


def _seat(obj, child) -> Matrix:
    """Where a child sits in the armature in bind pose: the tail of its bone, else the origin."""
    bone = obj.data.bones.get(child.parent_bone) if child.parent_type == "BONE" else None
    if bone is None or bone.use_relative_parent:
        return Matrix()
    return bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))


def _lengths(owner) -> list[tuple]:
    """Settings that are lengths in the armature's own units, of a character or a bone, as `declare.walk` has them.

    Their space is stated beside them; that of a bone where none is."""
    lengths = (one for one in declare.walk(owner.active_ragdoll) if one[2].own_units)
    return [one for one in lengths if getattr(one[0], f"{one[1].partition('_')[0]}_space", "BONE") != "WORLD"]


def _left_alone(obj, curves) -> list[str]:
    """A note on bones whose drivers, F-curve modifiers or constraints state lengths: nobody knows how these scale."""
    found = {curve.data_path for curve, _factor in curves if any(m.type != "CYCLES" for m in curve.modifiers)}
    found |= {curve.data_path for curve in obj.animation_data.drivers} if obj.animation_data is not None else set()
    names = {bone.name for bone in obj.pose.bones if action_channels.bone_path(bone.name, "location") in found}
    for bone in obj.pose.bones:
        names |= {bone.name for c in bone.constraints if c.type in _WITH_LENGTHS and not c.mute}
    text = "check what drivers, F-curve modifiers and constraints say of lengths, which do not scale along, of "
    return [text + ", ".join(sorted(names))] if names else []


def _curves(obj, by_path: dict) -> list[tuple]:
    """The curves that scale along, of all actions that a character or its motion stack plays, each with its factor."""
    playing = {(action, slot) for action, slot, _strip in action_channels.playing(obj)}
    played = action_channels.played(obj.animation_data) if obj.animation_data is not None else set()
    pointed = {getattr(group, name) for group, name, said in declare.walk(obj.active_ragdoll) if said.points}
    played |= {action for action in pointed if isinstance(action, bpy.types.Action)}
    played -= {action for action, _slot in playing}
    playing |= {(action, action_channels.slot_of(action, obj)) for action in played}
    found, changed = [], set()
    for action, slot in playing:
        for curve in action_channels.curves_of(action, slot):
            factor = by_path.get(curve.data_path, np.ones(3))[min(curve.array_index, 2)]
            if abs(factor - 1.0) > 1e-6:
                found.append((curve, factor))
                changed.add(action)
    for action, users in bpy.data.user_map(subset=changed).items() if changed else ():
        others = [o for o in users if isinstance(o, bpy.types.Object) and o.type == "ARMATURE" and o.data != obj.data]
        if action.library is not None or others:
            whose = "is linked" if action.library is not None else f"also moves '{others[0].name}'"
            raise RagdollError(f"The action '{action.name}' of '{obj.name}' {whose}: make it single-user first")
    return found


def _scaled(value, factor: float):
    """A length, several, or corners as JSON."""
    if isinstance(value, str):
        return json.dumps((np.array(json.loads(value)) * factor).round(7).tolist()) if value else ""
    return np.array(value) * factor if hasattr(value, "__len__") else value * factor


def _change(curve, factor: float, offset: float = 0.0) -> None:
    """Scale and move the values of a curve's keys."""
    keyed = [(curve.keyframe_points, name) for name in ("co", "handle_left", "handle_right")]
    for points, name in (*keyed, (curve.sampled_points, "co")):
        values = values_of(points, name, 2)
        values[:, 1] = values[:, 1] * factor + offset
        points.foreach_set(name, values.ravel())
    curve.update()
