"""What the bones of a rig hang on, and the properties that switch its constraints."""

import re

import bpy


def sources(obj) -> dict:
    """{bone: the bones that it hangs on by its parent, constraints and drivers}."""
    found = {}
    for bone in obj.pose.bones:
        around = (bone.parent, bone.bone.bbone_custom_handle_start, bone.bone.bbone_custom_handle_end)
        found[bone.name] = {other.name for other in around if other}
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            targets = [(getattr(constraint, "target", None), getattr(constraint, "subtarget", ""))]
            targets.append((getattr(constraint, "pole_target", None), getattr(constraint, "pole_subtarget", "")))
            targets += [(each.target, each.subtarget) for each in getattr(constraint, "targets", ())]
            names = {name for target, name in targets if target == obj and name in found}
            found[bone.name] |= names
            if constraint.type == "IK":
                for member in [bone, *bone.parent_recursive][: constraint.chain_count or None]:
                    found[member.name] |= names | {bone.name}
    drivers = [d for data in (obj, obj.data) if data.animation_data for d in data.animation_data.drivers]
    for driver in drivers:
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
            waiting.extend(sources[name])
    return found


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
        for variable in driver.driver.variables:
            target = variable.targets[0]
            if (
                variable.type == "SINGLE_PROP"
                and target.id == obj
                and isinstance(_value(obj, target.data_path), bool | int | float)
            ):
                found.setdefault(target.data_path, set()).add(bone)
    return found


def _value(obj, path: str):
    try:
        return obj.path_resolve(path)
    except ValueError:
        return None


def switch(obj, path: str, value) -> None:
    """Set a custom property by its path."""
    owner, _, name = path.rpartition('["')
    holder, name = obj.path_resolve(owner) if owner else obj, name.removesuffix('"]')
    holder[name] = type(holder[name])(value)
    obj.update_tag()
