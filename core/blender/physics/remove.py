"""Removing a ragdoll, so that the character and the scene are as they were before."""

from collections import Counter

import bpy

from ..rig.armature import armatures, with_ragdoll
from ..runtime import STATE
from ..settings import declare, saved
from . import body_objects, built, collision, source, world


def remove(obj, scene=None) -> None:
    """Remove the ragdoll of a character, complete or half-built. The settings of its bones stay for the next build."""
    remove_all([obj], scene)


def remove_all(objects, scene=None, *, keep_world: bool = False) -> None:
    """Remove the ragdolls of several characters of one scene, which costs little more than removing one.

    Args:
        keep_world: leave the scene's rigid body world and its settings as they are, for the next build.
    """
    saved.bring_up(obj for obj in objects if saved.is_old(obj))
    scene = next(filter(None, (built.scene_of(obj) for obj in objects)), scene)
    if scene is not None and scene.library is not None:
        scene = None
    others = [obj for obj in with_ragdoll(bpy.data.objects) if scene is not None and obj.active_ragdoll.scene == scene]
    objects = list(dict.fromkeys([*objects, *built.gone(others)]))
    live = {other for other in bpy.data.scenes if other.name in STATE.live_worlds}
    for other in (live | {obj.active_ragdoll.scene for obj in objects}) - {scene, None}:
        _end_first(other)
    with STATE.writing():
        shared = {obj for obj in built.duplicates().intersection(objects) if obj.active_ragdoll.is_ragdoll}
        for obj in objects:
            if obj not in shared:  # a duplicate's bodies belong to another character, and so do their edits
                body_objects.collect_edits(obj)
                body_objects.end_editing(obj)
            source.remove_constraints(obj, source.CONSTRAINT_NAME, source.FOLLOWER_NAME)
            for bone in obj.pose.bones if obj.pose else ():
                bone.active_ragdoll.simulate = False
        outer = [obj.active_ragdoll.collection for obj in objects if obj not in shared]
        outer += built.orphans(scene) if scene is not None else []
        # One that is linked, or that no build made, stays as it is.
        outer = [c for c in outer if c and c.library is None and (c.active_ragdoll.owner or c.active_ragdoll.record)]
        strays, inner = built.strays(scene) if scene is not None else ([], [])
        inner += [collection for each in outer for collection in (*filter(built.is_ours, each.children), each)]
        collections = list(dict.fromkeys(inner))
        helpers = {o for collection in collections for o in collection.objects if built.is_ours(o)}
        helpers = {o for o in helpers.union(strays) | _unused_sources(objects, scene) if o.library is None}
        if scene is not None and scene.rigidbody_world is not None:
            if scene.active_ragdoll.cache_is_ours:
                world.free_cache(scene)
            world.release(scene)
        remove_collections(collections, scene, helpers)
        for obj in objects:
            settings = obj.active_ragdoll
            own_source = settings.source
            kept = "source_name" if settings.target_armature is not None and obj not in shared else ""
            for name in declare.names(type(settings), kind=declare.RECORD, group=declare.RAGDOLL):
                if name != kept:
                    settings.property_unset(name)
            if obj in shared:
                source.drop(own_source)
            settings.recovery.property_unset("record")
            STATE.messages.pop(obj.name, None)
        for obj in {*objects, *others}:
            if not obj.active_ragdoll.muted:  # else it was a bake that warned, not the run that ends here
                STATE.warnings.pop(obj.name, None)
        if scene is None:
            return
        if scene.rigidbody_world is not None:
            world.halt(scene)
        interrupt(scene)
        left = any(scene in (o.active_ragdoll.scene, built.scene_of(o)) for o in with_ragdoll(scene.objects))
        if not (keep_world or left):  # one in a full copy of a scene points at the first one
            collision.restore_layers(scene)
            world.restore(scene)
        if not keep_world:
            drop_source_scenes()


def _end_first(scene) -> None:
    """End the run of another scene than the one whose bodies are removed: each goes out of that one's world, too.

    A world with a baked cache is empty; see `world.drain`. Before 4.3 it is not, and the cache goes."""
    own = scene.rigidbody_world
    if scene.library is not None or own is None or (own.point_cache.is_baked and not world.IS_42):
        return
    if scene.active_ragdoll.cache_is_ours:
        world.free_cache(scene)
    world.halt(scene)
    interrupt(scene)


def interrupt(scene) -> None:
    """End the scene's run, if there is one. Its characters show their animation until the shot begins again."""
    run = STATE.runs.pop(scene.name, None)
    others = built.ragdolls(scene)
    if all(obj.active_ragdoll.muted for obj in others):
        STATE.broken.discard(scene.name)
    elif run is not None and run.reached > run.first:
        STATE.broken.add(scene.name)
    if scene.name not in STATE.at_rest:  # copying them all takes a fifth of the update that follows
        for physics in filter(None, (obj.active_ragdoll.physics_armature for obj in others)):
            physics.update_tag()  # copied again from the original, which shows the animation
        STATE.at_rest.add(scene.name)


def _unused_sources(objects, scene) -> set:
    """The sources of some ragdolls, and those whose character was deleted."""
    hidden = scene.active_ragdoll.source if scene is not None else None
    left = (o for o in armatures(bpy.data.objects) if o not in objects or o.active_ragdoll.target_armature is not None)
    unused = {obj.active_ragdoll.source for obj in objects}.union(hidden.collection.objects if hidden else ())
    unused -= {None, *(obj.active_ragdoll.source for obj in left)}
    return {copy for copy in armatures(unused) if source.STAND_IN_FOR not in copy and source.is_source(copy)}


def remove_collections(collections, scene, helpers=frozenset()) -> None:
    """Remove collections of ours, with a set of helpers; what a user has put into them stays in the scene."""
    objects = {obj for collection in collections for obj in collection.objects} - helpers
    inner = {child for collection in collections for child in collection.children} - set(collections)
    meshes = Counter(obj.data for obj in helpers if obj.type == "MESH")
    unshared = [mesh for mesh, count in meshes.items() if mesh.users == count]
    outer = scene.collection if scene is not None else bpy.context.scene.collection
    for obj in objects:  # before they go from there: what is active, selected or hidden stays so
        if set(collections).issuperset(obj.users_collection):
            outer.objects.link(obj)
    kept = {outer, *outer.children_recursive} - set(collections)
    for child in inner.difference(*(collection.children for collection in kept)):
        outer.children.link(child)
    if scene is not None:
        _unlink(collections, scene, helpers)
    bpy.data.batch_remove([*helpers, *unshared, *collections])  # at once: each time Blender looks through the file


def _unlink(collections, scene, helpers) -> None:
    """Take what is about to be removed out of a scene.

    A scene that something goes from while it is in there has Blender place all its bodies anew at the next update, and
    with them evaluate each character whose bones copy them.
    """
    world = scene.rigidbody_world
    for held in (world.constraints, world.collection) if world is not None else ():  # joints before their bodies
        for obj in helpers.intersection(held.objects if held is not None else ()):
            held.objects.unlink(obj)
    for collection in set(collections).intersection(scene.collection.children):
        scene.collection.children.unlink(collection)
    for layer in scene.view_layers:
        _active = layer.objects.active  # who asks has Blender look which objects are left


def drop_source_scenes() -> None:
    """Remove the hidden scenes that no character of their scene needs any more; a copy of a scene may share its one."""
    for scene in (scene for scene in bpy.data.scenes if scene.library is None and scene.active_ragdoll.source):
        settings = [obj.active_ragdoll for obj in armatures(scene.objects) if obj.library is None]
        if not any(own.is_ragdoll or own.target_armature for own in settings):
            scene.active_ragdoll.property_unset("source")
    needed = {scene.active_ragdoll.source for scene in bpy.data.scenes} | {bpy.context.scene}  # perhaps the last one
    hidden = [scene for scene in bpy.data.scenes if scene.active_ragdoll.is_source and scene.library is None]
    for unused in [scene for scene in hidden if scene not in needed]:
        held = [o for o in unused.collection.objects if source.STAND_IN_FOR in o or source.is_source(o)]
        bpy.data.batch_remove(held)
        bpy.data.scenes.remove(unused)
