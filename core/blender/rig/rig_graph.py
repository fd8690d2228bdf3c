"""What the bones of a rig hang on, and the properties that switch its constraints."""

import re
from contextlib import suppress

import bpy

from .action_channels import curves_of, playing, property_at

COPYING = {"COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION", "ARMATURE"}  # constraints


def sources(obj, bent: bool = True) -> dict:
    """{bone: the bones that it hangs on by its parent, constraints and drivers, and where `bent` by what bends it}."""
    found = {}
    for bone in obj.pose.bones:
        handles = [bone.bone.bbone_custom_handle_start, bone.bone.bbone_custom_handle_end] if bent else []
        found[bone.name] = {other.name for other in (bone.parent, *handles) if other}
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            names = targets(constraint)
            found[bone.name] |= names
            if constraint.type == "IK":
                for member in [bone, *bone.parent_recursive][: constraint.chain_count or None]:
                    found[member.name] |= names | {bone.name}
    for driver in (d for data in (obj, obj.data) if data.animation_data for d in data.animation_data.drivers):
        read = [t for v in driver.driver.variables for t in v.targets if t.id in (obj, obj.data)]
        names = {name for t in read for name in (t.bone_target, *bones_in(t.data_path))} & found.keys()
        for driven in found.keys() & bones_in(driver.data_path):
            found[driven] |= names
    return found


def leading(sources: dict, names) -> dict:
    """The bones that those of some names hang on, themselves included: an ordered set."""
    found, waiting = {}, list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = True
            waiting.extend(sorted(sources[name]))  # a set has another order in every session
    return found


def hung(obj, simulated: list) -> dict:
    """{bone: the one that it has to move with}: where branches of deforming bones meet those that lead simulated ones.

    Such a branch, as a face, hangs on a bone that a simulated one, or one below it, copies; none of these hangs on it.
    """
    bones, of, copied = obj.pose.bones, sources(obj, bent=False), {name: name for name in simulated}
    for bone in bones:  # a child comes after its parent
        if bone.parent and bone.parent.name in copied:
            copied[bone.name] = bone.name
    led, nearest = leading(of, copied), {}
    while copied:  # step by step from all of them at once: a bone belongs to the nearest
        nearest |= copied
        found = [(own, targets(c)) for n, own in copied.items() for c in bones[n].constraints if c.type in COPYING]
        copied = {next(iter(aims)): own for own, aims in found if len(aims) == 1 and aims.isdisjoint(nearest)}
    found, deforming = {}, [bone.name for bone in bones if bone.bone.use_deform]
    others = (c for bone in bones for c in bone.constraints if "LOCAL" not in getattr(c, "target_space", ""))
    moving = {*deforming, *(bone.name for bone in bones if bone.children)}.union(*map(targets, others)) - led.keys()
    for bone in (bones[name] for name in leading(of, deforming) if name in moving):  # copied locally, it turns twice
        around = [bone.parent, *(bones[name] for c in bone.constraints for name in sorted(targets(c)))]
        above = [each for first in around if first and first.name in led for each in (first, *first.parent_recursive)]
        if own := next((nearest[each.name] for each in above if each.name in nearest), None):
            found[bone.name] = own
    return found


def targets(constraint) -> set:
    """The bones of its own armature at which a constraint aims."""
    own = [(constraint, "pole_"), *((each, "") for each in (constraint, *getattr(constraint, "targets", ())))]
    aims = [getattr(c, f"{of}subtarget", "") for c, of in own if getattr(c, f"{of}target", None) == constraint.id_data]
    return {name for name in aims if name in constraint.id_data.pose.bones}


def bones_in(path: str) -> list[str]:
    """Names of the bones in a data path."""
    return [bpy.utils.unescape_identifier(name) for name in re.findall(r'bones\["((?:[^"\\]|\\.)*)"\]', path)]


def switch_paths(obj, candidates: dict) -> dict:
    """{data path of a property that switches constraints: the bones with these} among some bones."""
    found = {}
    for driver in obj.animation_data.drivers if obj.animation_data else ():
        bone = next(iter(bones_in(driver.data_path)), None)
        if bone not in candidates or not re.search(r"\.constraints\[.*\]\.(influence|mute)$", driver.data_path):
            continue
        read = (variable.targets[0] for variable in driver.driver.variables if variable.type == "SINGLE_PROP")
        for path in (target.data_path for target in read if target.id == obj):
            with suppress(ValueError):  # a path that leads nowhere
                if isinstance(obj.path_resolve(path), bool | int | float):
                    found.setdefault(path, set()).add(bone)
    return found


def switched_with(obj, simulated: list) -> list[str]:
    """Deforming bones below simulated ones that what switches these leads as well: hands, feet without bodies."""
    of, bones, found = sources(obj), obj.data.bones, []
    led = leading(of, simulated)
    limbs = (names for names in switch_paths(obj, of).values() if len(names) > 1 and names & led.keys())
    heads = {name: bones[name].head_local for names in limbs for name in names}
    for bone in (bone for bone in bones if bone.use_deform and bone.name not in simulated):
        near = {name for name, head in heads.items() if (head - bone.head_local).length < 1e-2 * bone.length}
        if near & leading(of, [bone.name]).keys() and any(above.name in simulated for above in bone.parent_recursive):
            found.append(bone.name)
    return found


def cut_idle(obj, now, fixed) -> None:
    """Remove constraints that are off or overridden for good, drivers of constraints that never change, and curves.

    They never change where all that they read is fixed (paths of properties) or not animated; `now` is the object as it
    is evaluated. Curves of bones that no constraint looks at are for the skin alone, and cost a third of an evaluation.
    """
    drivers = list(obj.animation_data.drivers) if obj.animation_data else []
    animated = {curve.data_path for action, slot, _ in playing(obj) for curve in curves_of(action, slot)}
    animated |= {curve.data_path for curve in drivers}
    for curve in drivers:
        driver, (owner, _, name) = curve.driver, curve.data_path.rpartition(".")
        read = {(variable.type, t.id, t.data_path) for variable in driver.variables for t in variable.targets}
        paths = (path for *_, path in read if path in fixed or (path.endswith('"]') and path not in animated))
        still = read and read == {("SINGLE_PROP", obj, path) for path in paths} and "frame" not in driver.expression
        if still and ".constraints[" in owner:
            setattr(obj.path_resolve(owner), name, getattr(now.path_resolve(owner), name))
            animated.discard(curve.data_path)
            obj.animation_data.drivers.remove(curve)
    for bone in obj.pose.bones:
        overridden = False  # by a copy of all transforms
        for own in reversed(list(bone.constraints)):
            if any(path.startswith(f"{own.path_from_id()}.") for path in animated):
                continue
            if own.mute or own.influence == 0.0 or (overridden and own.type != "IK"):
                bone.constraints.remove(own)
            elif own.type == "COPY_TRANSFORMS" and own.influence == 1.0 and targets(own):
                overridden |= (own.mix_mode, own.owner_space, own.target_space) == ("REPLACE", "WORLD", "WORLD")
    aims = set().union(*(targets(constraint) for bone in obj.pose.bones for constraint in bone.constraints))
    for bone in (bone for bone in obj.data.bones if bone.name not in aims):
        bone.bbone_segments = 1


def prune(obj, scene, kept) -> None:
    """Remove an armature's bones but some from it, in a scene of its own: the face of a human is half of its cost."""
    for animation in filter(None, (obj.animation_data, obj.data.animation_data)):
        for driver in list(animation.drivers):
            if not kept.keys() >= set(bones_in(driver.data_path)):
                animation.drivers.remove(driver)
    layer = scene.view_layers[0]
    layer.objects.active = obj
    with bpy.context.temp_override(scene=scene, view_layer=layer, active_object=obj, object=obj):
        bpy.ops.object.mode_set(mode="EDIT")
        for bone in list(obj.data.edit_bones):
            if bone.name not in kept:
                obj.data.edit_bones.remove(bone)
        bpy.ops.object.mode_set(mode="OBJECT")
    for bone in obj.pose.bones:
        bone.custom_shape = None


def switch(obj, path: str, value) -> None:
    """Set a custom property by its path."""
    holder, name, _custom = property_at(obj, path)
    holder[name] = type(holder[name])(value)
    obj.update_tag()
