"""Removing a ragdoll, so that the character and the scene are as they were before."""

import bpy

from ..runtime import STATE
from ..settings import declare, saved
from . import body_edits, built, collision, source, world


def remove(obj, scene=None) -> None:
    """Remove the ragdoll of a character, complete or half-built. The settings of its bones stay for the next build."""
    remove_all([obj], scene)


def remove_all(objects, scene=None, *, keep_world: bool = False) -> None:
    """Remove the ragdolls of several characters of one scene, which costs little more than removing one.

    Args:
        keep_world: leave the scene's rigid body world and its settings as they are, for the next build.
    """
    saved.bring_up(obj for obj in objects if saved.is_old(obj))
    scene = next((o.active_ragdoll.scene for o in objects if o.active_ragdoll.scene), scene)
    with STATE.writing():
        shared = {obj for obj in objects if built.is_duplicate(obj)}
        for obj in objects:
            if obj not in shared:  # a duplicate's bodies belong to another character, and so do their edits
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
            world.release(scene)
        meshes = {o.data for o in helpers if o.type == "MESH"}
        bpy.data.batch_remove(list(helpers) + [mesh for mesh in meshes if mesh.users <= len(helpers)])
        for obj in objects:
            settings = obj.active_ragdoll
            for collection in _collections(settings) if obj not in shared else ():
                bpy.data.collections.remove(collection)
            own_source = settings.source
            kept = "source" if settings.target_armature is not None and obj not in shared else ""
            for name in declare.names(type(settings), kind=declare.RECORD, group=declare.RAGDOLL):
                if name != kept:
                    settings.property_unset(name)
            if obj in shared:
                source.drop(own_source)
            settings.recovery.property_unset("record")
            STATE.messages.pop(obj.name, None)
            STATE.warnings.pop(obj.name, None)
        if scene is not None and scene.rigidbody_world is not None:
            world.halt(scene)
        if scene is not None:
            interrupt(scene)
            if not keep_world:
                if not built.ragdolls(scene):
                    collision.restore_layers(scene)
                    world.restore(scene)
                drop_source_scene(scene)


def interrupt(scene) -> None:
    """End the scene's run, if there is one. Its characters show their animation until the shot begins again."""
    run = STATE.runs.pop(scene.name, None)
    others = [obj for obj in built.ragdolls(scene) if not obj.active_ragdoll.muted]
    if not others:
        STATE.broken.discard(scene.name)
    elif run is not None and run.reached > run.first:
        STATE.broken.add(scene.name)
    for obj in others:
        physics = obj.active_ragdoll.physics_armature
        if physics is not None:
            physics.update_tag()  # copied again from the original, which shows the animation


def _collections(settings) -> list:
    outer = settings.collection
    return [*(c for c in outer.children if built.is_ours(c)), outer] if outer is not None else []


def _helpers(settings) -> set:
    objects = {o for collection in _collections(settings) for o in collection.objects}
    if settings.source is not None and settings.target_armature is None:
        objects.add(settings.source)
    return objects


def drop_source_scene(scene) -> None:
    """Remove the hidden scene if no character of the scene needs it any more."""
    if any(o.active_ragdoll.is_ragdoll or o.active_ragdoll.target_armature for o in scene.objects):
        return
    hidden = scene.active_ragdoll.source
    if hidden is not None:
        source.drop_stand_ins(hidden)
        bpy.data.scenes.remove(hidden)
    scene.active_ragdoll.property_unset("source")
