"""The scene's rigid body world and its point cache."""

import bpy

from ..errors import RagdollError

CONSTRAINTS_GO_FIRST = (4, 4, 0)  # measured: not 4.2, but 4.5 and 5.0
WARM_UP = 3  # frames before the shot: two in bind pose, one in the animation


def shot_range(scene) -> tuple[int, int]:
    """First and last frame of the shot that runs simulate."""
    own = scene.active_ragdoll
    if own.use_range:
        return own.frame_start, own.frame_end
    return scene.frame_start, scene.frame_end


def ensure(scene) -> list[str]:
    """Give the scene a rigid body world with collections; returns what had to be made, in words.

    Raises:
        RagdollError: the world holds a cache that the user has baked.
    """
    made = []
    own = scene.active_ragdoll
    if scene.rigidbody_world is None:
        with bpy.context.temp_override(scene=scene):
            bpy.ops.rigidbody.world_add()
        own.world_created = True
        fps = scene.render.fps / scene.render.fps_base
        world = scene.rigidbody_world
        world.substeps_per_frame = max(10, round(240.0 / fps))
        made.append("a rigid body world")
    world = scene.rigidbody_world
    refuse_user_bake(scene)
    created = []
    for attribute, name in (("collection", "RigidBodyWorld"), ("constraints", "RigidBodyConstraints")):
        if getattr(world, attribute) is None:
            setattr(world, attribute, bpy.data.collections.new(name))
            created.append(attribute)
    if created:
        own.collections_created = ",".join(created)
    # Only collections of the scene are copied for evaluation; with others Bullet reads the originals, which a run
    # must not write.
    linked = []
    for attribute in ("collection", "constraints"):
        if getattr(world, attribute) not in set(scene.collection.children_recursive):
            scene.collection.children.link(getattr(world, attribute))
            linked.append(attribute)
    if linked:
        own.collections_linked = ",".join(linked)
    if not own.cache_saved:
        own.cache_start, own.cache_end = world.point_cache.frame_start, world.point_cache.frame_end
        own.cache_saved = True
    return made


def refuse_user_bake(scene) -> None:
    """A rigid body cache that the user has baked is never dropped without asking."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked and not scene.active_ragdoll.cache_is_ours:
        raise RagdollError(
            f"The rigid body cache of scene '{scene.name}' is baked: delete the bake first "
            "(Scene properties > Rigid Body World > Cache)"
        )


def set_range(scene) -> None:
    """Let the cache cover the warm-up and the shot; called before the world comes alive."""
    first, last = shot_range(scene)
    cache = scene.rigidbody_world.point_cache
    if cache.frame_start != first - WARM_UP:
        cache.frame_start = first - WARM_UP
    if cache.frame_end != last:
        cache.frame_end = last


def bake_cache(scene) -> None:
    """Keep what is in the cache as a bake: every jump reads right, also without the extension."""
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake_from_cache()
    scene.active_ragdoll.cache_is_ours = True


def free_cache(scene) -> None:
    """Drop a bake that a run has made."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked:
        refuse_user_bake(scene)
        with bpy.context.temp_override(scene=scene, point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    scene.active_ragdoll.cache_is_ours = False


def renew(scene) -> None:
    """Put a new world with the same settings in place of the scene's, so that Bullet forgets every body and joint.

    Deleting a body frees it at once; its constraints go later, with their evaluated copies, and since Blender 4.4 look
    at the freed body then: a crash. So this comes before anything is deleted: the copies of all constraints are
    renewed, which frees Bullet's while the bodies are alive, and the world goes before it can step with them. In
    older versions it is the body that looks at its constraints, so they must not go first. The cache is lost.
    """
    if bpy.app.version < CONSTRAINTS_GO_FIRST:
        return
    old = scene.rigidbody_world
    for constraint in old.constraints.all_objects if old.constraints else ():
        constraint.update_tag()
    for layer in scene.view_layers:
        if layer.depsgraph is not None:
            layer.update()
    kept = {name: _values(group) for name, group in _groups(old).items()}
    old.collection = old.constraints = None  # else the rigid body settings of all objects go with the world
    with bpy.context.temp_override(scene=scene):
        bpy.ops.rigidbody.world_remove()
        bpy.ops.rigidbody.world_add()
    for name, group in _groups(scene.rigidbody_world).items():
        for key, value in kept[name].items():
            setattr(group, key, value)


def _groups(world) -> dict:
    return {"world": world, "weights": world.effector_weights, "cache": world.point_cache}


def _values(group) -> dict:
    if isinstance(group, bpy.types.PointCache):
        # Only its range: writing its file settings looks for files of a world that has no name yet, and crashes.
        return {name: getattr(group, name) for name in ("frame_start", "frame_end")}
    properties = (p for p in group.bl_rna.properties if not p.is_readonly and p.identifier != "rna_type")
    return {p.identifier: getattr(group, p.identifier) for p in properties}


def restore(scene) -> None:
    """Put the world back as it was before the first ragdoll of the scene."""
    own = scene.active_ragdoll
    world = scene.rigidbody_world
    if world is None:
        own.cache_saved = own.world_created = False
        return
    if own.cache_saved:
        world.point_cache.frame_start, world.point_cache.frame_end = own.cache_start, own.cache_end
    for attribute in filter(None, own.collections_linked.split(",")):
        collection = getattr(world, attribute)
        if collection is not None and collection.name in scene.collection.children:
            scene.collection.children.unlink(collection)
    for attribute in filter(None, own.collections_created.split(",")):
        collection = getattr(world, attribute)
        if collection is not None and not collection.objects and not own.world_created:
            setattr(world, attribute, None)
            bpy.data.collections.remove(collection)
    if own.world_created:
        collections = [c for c in (world.collection, world.constraints) if c is not None]
        if not any(c.objects for c in collections):
            with bpy.context.temp_override(scene=scene):
                bpy.ops.rigidbody.world_remove()
            for collection in collections:
                bpy.data.collections.remove(collection)
    for name in (
        "world_created",
        "collections_created",
        "collections_linked",
        "cache_saved",
        "cache_start",
        "cache_end",
        "cache_is_ours",
    ):
        own.property_unset(name)
