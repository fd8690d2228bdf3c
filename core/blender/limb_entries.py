"""Two-bone IKs and bone transforms of a character as entries of its motion stack."""

from collections.abc import Callable, Iterator

from mathutils import Euler

from ..motion import stack
from ..motion.rig import Inputs, Rig
from ..motion.transform_bone import IGNORE, TransformBone
from ..motion.two_bone_ik import BONE, WORLD, TwoBoneIK
from . import motion_places
from .entry_values import Values


def two_bone_iks(obj, rig: Rig) -> Iterator[tuple[str, Callable]]:
    """(name, make) of each two-bone IK that is switched on."""
    for i, item in enumerate(obj.active_ragdoll.two_bone_ik):
        if item.enabled:
            yield f"Two-bone IK {i + 1}", lambda i=i: _two_bone_ik(obj, rig, i)


def _two_bone_ik(obj, rig: Rig, i: int) -> stack.Entry:
    item = obj.active_ragdoll.two_bone_ik[i]
    name = f"Two-bone IK {i + 1}"
    for other in (item.effector, item.pole):
        if other is not None:
            motion_places.follow(obj, other)
    held = _held_of_limb(obj, rig, name, item) if item.allow_stretching else []
    has_effector, has_pole = item.effector is not None, item.pole is not None
    pole_space = WORLD if has_pole else item.pole_space
    solver = TwoBoneIK(
        rig,
        rig.bone(name, item.end_bone),
        name,
        allow_stretching=item.allow_stretching and not held,
        start_stretch_ratio=item.start_stretch_ratio,
        max_stretch_scale=item.max_stretch_scale,
        effector_space=WORLD if has_effector else item.effector_space,
        effector_bone=_frame(rig, name, item.effector_space, item.effector_bone) if not has_effector else -1,
        pole_space=pole_space,
        pole_bone=_frame(rig, name, pole_space, item.pole_bone),
        keep_end_rotation=item.keep_end_rotation,
    )
    values = Values(obj, "two_bone_ik", i)

    def read(places, _pose) -> Inputs | None:
        now = obj.active_ragdoll.two_bone_ik[i]
        weight = values.read(places, "weight")
        if weight <= 0.0:
            return None
        if has_effector:
            effector = places.point(f"{name}, effector", now.effector, now.effector_target_bone)
        else:
            effector = values.read(places, "effector_location")[:]
        if has_pole:
            pole = places.point(f"{name}, pole", now.pole, now.pole_target_bone)
        else:
            pole = values.read(places, "pole_location")[:]
        return Inputs(weight=weight, world=places.world, target=effector, pole=pole)

    note = _note(name, "stretch", held)
    return stack.Entry(name, stack.TWO_BONE_IK, solver, read, item.marks_reference, note=note)


def _held_of_limb(obj, rig: Rig, name: str, item) -> list[str]:
    """Names of the limb's bones that Blender keeps at their parents' tails."""
    end = rig.bone(name, item.end_bone)
    return [rig.name(bone) for bone in (rig.parents[end], end) if bone >= 0 and is_held(obj, rig.name(bone))]


def is_held(obj, bone: str) -> bool:
    """Whether Blender keeps a bone at its parent's tail, whatever its location says."""
    found = obj.data.bones[bone]
    return found.use_connect and found.parent is not None


def _note(name: str, what: str, held: list) -> str:
    if not held:
        return ""
    names = " and ".join(f'"{bone}"' for bone in held)
    are = "is" if len(held) == 1 else "are"
    return f"{name}: it cannot {what}, as {names} {are} connected to the parent (Bone > Relations > Connected)"


def _frame(rig: Rig, name: str, space: str, bone: str) -> int:
    return rig.bone(name, bone) if space == BONE else -1


def bone_transforms(obj, rig: Rig) -> Iterator[tuple[str, Callable]]:
    """(name, make) of each bone transform that is switched on."""
    for i, item in enumerate(obj.active_ragdoll.bone_transforms):
        if item.enabled:
            yield f"Transform bone {i + 1}", lambda i=i: _bone_transform(obj, rig, i)


def _bone_transform(obj, rig: Rig, i: int) -> stack.Entry:
    item = obj.active_ragdoll.bone_transforms[i]
    name = f"Transform bone {i + 1}"
    bone = rig.bone(name, item.bone)
    held = [item.bone] if item.translation_mode != IGNORE and is_held(obj, item.bone) else []
    solver = TransformBone(
        rig,
        bone,
        name,
        translation_mode=IGNORE if held else item.translation_mode,
        rotation_mode=item.rotation_mode,
        scale_mode=item.scale_mode,
        translation_space=item.translation_space,
        rotation_space=item.rotation_space,
        scale_space=item.scale_space,
    )
    values = Values(obj, "bone_transforms", i)

    def read(places, _pose) -> Inputs | None:
        weight = values.read(places, "weight")
        if weight <= 0.0:
            return None
        solver.translation = values.read(places, "translation")[:]
        solver.rotation = Euler(values.read(places, "rotation")).to_quaternion()[:]
        solver.scale = values.read(places, "scale")[:]
        return Inputs(weight=weight, world=places.world)

    return stack.Entry(name, stack.BONE_TRANSFORMS, solver, read, item.marks_reference, note=_note(name, "move", held))
