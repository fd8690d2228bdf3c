"""Taking a ragdoll away: the character and the scene are as they were before."""

import bpy

from . import body_edits, source, world
from .runtime import STATE


def remove(obj, scene=None) -> None:
    """Remove the ragdoll of a character, whole or half-built; its settings on bones stay for the next build."""
    remove_all([obj], scene)


def remove_all(objects, scene=None, *, keep_world: bool = False) -> None:
    """`remove` for several characters of one scene, which costs little more than for one.

    Args:
        keep_world: leave the scene's rigid body world as it is, with its settings, for the ragdoll to come.
    """
    scene = next((o.active_ragdoll.scene for o in objects if o.active_ragdoll.scene), scene)
    was_building, STATE.building = STATE.building, True
    try:
        shared = {obj for obj in objects if is_duplicate(obj)}
        for obj in objects:
            if obj not in shared:  # else the bodies are another's, and so are the edits of them
                body_edits.before_removal(obj)
            for bone in obj.pose.bones:
                for constraint in [c for c in bone.constraints if c.name == source.CONSTRAINT_NAME]:
                    bone.constraints.remove(constraint)
                bone.active_ragdoll.simulate = False
        helpers = set().union(*(_helpers(obj.active_ragdoll) for obj in objects if obj not in shared))
        if scene is not None and scene.rigidbody_world is not None:
            cache = scene.rigidbody_world.point_cache
            if cache.is_baked and scene.active_ragdoll.cache_is_ours:
                world.free_cache(scene)
            world.release(scene, _joints_of(scene, helpers))
        meshes = {o.data for o in helpers if o.type == "MESH"}
        bpy.data.batch_remove(list(helpers) + [mesh for mesh in meshes if mesh.users <= len(helpers)])
        for obj in objects:
            settings = obj.active_ragdoll
            for collection in _collections(settings) if obj not in shared else ():
                bpy.data.collections.remove(collection)
            own_source = settings.source
            for name in _STORED:
                if name != "source" or settings.target_armature is None or obj in shared:
                    settings.property_unset(name)
            if obj in shared:
                source.drop(own_source)
            settings.parts.clear()
            settings.hitters.clear()
            settings.attachment_parts.clear()
            settings.recovery.property_unset("record")
            STATE.messages.pop(obj.name, None)
            STATE.warnings.pop(obj.name, None)
        if scene is not None and scene.rigidbody_world is not None:
            world.halt(scene)
        if scene is not None:
            interrupt(scene)
            if not keep_world:
                if not ragdolls(scene):
                    _restore_scene(scene)
                drop_source_scene(scene)
    finally:
        STATE.building = was_building


def interrupt(scene) -> None:
    """End the scene's run, if there is one: its characters play their animation until the shot begins anew."""
    run = STATE.runs.pop(scene.name, None)
    others = [obj for obj in ragdolls(scene) if not obj.active_ragdoll.muted]
    if not others:
        STATE.broken.discard(scene.name)
    elif run is not None and run.reached > run.first:
        STATE.broken.add(scene.name)
    for obj in others:
        physics = obj.active_ragdoll.physics_armature
        if physics is not None:
            physics.update_tag()  # evaluated anew from the original, which plays the animation


def _joints_of(scene, helpers) -> list:
    constraints = scene.rigidbody_world.constraints
    found = []
    for joint in () if constraints is None else constraints.all_objects:
        ends = joint.rigid_body_constraint
        if joint in helpers or (ends is not None and {ends.object1, ends.object2} & helpers):
            found.append(joint)
    return found


_STORED = (
    "is_ragdoll",
    "built_for",
    "muted",
    "layout_changed",
    "cache_outdated",
    "collection",
    "bodies",
    "targets",
    "scene",
    "physics_armature",
    "source",
    "followers",
    "height",
    "built_scale",
    "baked_action",
    "old_action",
    "bake_record",
)


def ragdolls(scene) -> list:
    """The characters of a scene that have a ragdoll of their own."""
    others = duplicates(_with_ragdoll(bpy.data.objects))
    return [obj for obj in _with_ragdoll(scene.objects) if obj not in others]


def duplicates(objects) -> set:
    """Of characters with a ragdoll those that were made by duplicating one, and share its helpers.

    Whose the helpers are is told by the name that they were built for. Where a character of that name is not among
    those that share them, it was renamed before it was duplicated: the name of a duplicate is a longer one.
    """
    sharing: dict = {}
    for obj in objects:
        sharing.setdefault(obj.active_ragdoll.collection, []).append(obj)
    found = set()
    for collection, alike in sharing.items():
        named = [obj for obj in alike if obj.active_ragdoll.built_for in ("", obj.name)]
        if collection is not None and not named:
            named = [min(alike, key=lambda obj: (len(obj.name), obj.name))]
        # Without a collection the helpers are gone, with the one that they were built for or by hand.
        found.update(set(alike) - set(named[:1] if collection is not None else named))
    return found


def is_duplicate(obj) -> bool:
    """Whether a character's helpers are another's; see `duplicates`."""
    return obj.active_ragdoll.is_ragdoll and obj in duplicates(_with_ragdoll(bpy.data.objects))


def _with_ragdoll(objects) -> list:
    return [o for o in objects if o.type == "ARMATURE" and o.active_ragdoll.is_ragdoll]


def _collections(settings) -> list:
    return [c for c in (settings.bodies, settings.targets, settings.collection) if c is not None]


def _helpers(settings) -> set:
    objects = {o for collection in _collections(settings) for o in collection.objects}
    objects |= {o for part in settings.parts for o in (part.body, part.target, part.anchor) if o is not None}
    own = (settings.physics_armature, settings.source if settings.target_armature is None else None)
    return objects | {o for o in own if o is not None}


def _restore_scene(scene) -> None:
    _restore_layers(scene)
    world.restore(scene)


def drop_source_scene(scene) -> None:
    """Remove the hidden scene when no character needs it any more."""
    if any(o.active_ragdoll.is_ragdoll or o.active_ragdoll.target_armature for o in scene.objects):
        return
    hidden = scene.active_ragdoll.source
    if hidden is not None:
        source.drop_stand_ins(hidden)
        bpy.data.scenes.remove(hidden)
    scene.active_ragdoll.property_unset("source")


def _restore_layers(scene):
    for other in scene.objects:
        saved = other.get("active_ragdoll_layers")
        if saved is not None:
            if other.rigid_body is not None:
                other.rigid_body.collision_collections = [bool(flag) for flag in saved]
            del other["active_ragdoll_layers"]
