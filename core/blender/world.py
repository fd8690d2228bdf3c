"""The scene's rigid body world and its point cache."""

import bpy

from ..errors import RagdollError
from ..ragdoll import diagnosis
from .runtime import STATE

JOINTS_LEAVE_BODIES = (4, 3, 0)  # from this version on a joint that is freed looks at its bodies
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
        world.substeps_per_frame = max(10, diagnosis.needed_substeps(fps))
        world.solver_iterations = diagnosis.FEWEST_ITERATIONS
        made.append("a rigid body world")
    elif not own.cache_saved and _is_coarse(scene):  # told once, with the scene's first ragdoll
        made.append("the rigid body world has few steps or iterations: Diagnose can raise them, so that limits hold")
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


def _is_coarse(scene) -> bool:
    world, fps = scene.rigidbody_world, scene.render.fps / scene.render.fps_base
    steps = diagnosis.needed_substeps(fps, world.time_scale)
    return world.substeps_per_frame < steps or world.solver_iterations < diagnosis.FEWEST_ITERATIONS


def refuse_user_bake(scene) -> None:
    """A rigid body cache that the user has baked is never dropped without asking."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked and not scene.active_ragdoll.cache_is_ours:
        raise RagdollError(
            f"The rigid body cache of scene '{scene.name}' is baked: delete the bake first "
            "(Scene properties > Rigid Body World > Cache)"
        )


def set_range(scene) -> None:
    """Let the cache cover the warm-up and the shot; called before the world comes alive.

    Not while it is halted: whoever lets it come alive again takes that back.
    """
    if scene.name in STATE.halted:
        return
    first, last = shot_range(scene)
    cache = scene.rigidbody_world.point_cache
    if cache.frame_start != first - WARM_UP:
        cache.frame_start = first - WARM_UP
    if cache.frame_end != last:
        cache.frame_end = last


def stand_at(scene, frame: int) -> None:
    """Set the frame about to be shown; by default the property does not go below 0, which `frame_set` does."""
    preferences = bpy.context.preferences.edit
    before = preferences.use_negative_frames
    if frame < 0 and not before:
        preferences.use_negative_frames = True
    scene.frame_current = frame
    if preferences.use_negative_frames != before:
        preferences.use_negative_frames = before


def cache_covers_shot(scene) -> bool:
    """Whether there is a baked cache, made by a run for the shot's range as it is now."""
    world = scene.rigidbody_world
    if world is None or not world.point_cache.is_baked or not scene.active_ragdoll.cache_is_ours:
        return False
    first, last = shot_range(scene)
    return (world.point_cache.frame_start, world.point_cache.frame_end) == (first - WARM_UP, last)


def last_good(scene) -> int:
    """Last frame of the baked cache that a run has finished."""
    own = scene.active_ragdoll
    last = shot_range(scene)[1]
    return min(last, own.cache_good) if own.is_property_set("cache_good") else last


def bake_cache(scene, last: int) -> None:
    """Keep what is in the cache as a bake: every jump reads right, also without the extension.

    Args:
        last: frame up to which it is good.
    """
    cache = scene.rigidbody_world.point_cache
    with bpy.context.temp_override(scene=scene, point_cache=cache):
        bpy.ops.ptcache.bake_from_cache()
    scene.active_ragdoll.cache_is_ours = True
    scene.active_ragdoll.cache_good = last


def free_cache(scene) -> None:
    """Drop a bake that a run has made."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked:
        refuse_user_bake(scene)
        with bpy.context.temp_override(scene=scene, point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    scene.active_ragdoll.cache_is_ours = False
    scene.active_ragdoll.property_unset("cache_good")


def replace(scene) -> None:
    """Put a new world with the same settings in place of the scene's: Bullet's goes, and cannot step with joints that
    are no more. Bodies and joints that stay are made anew at the next first frame. The cache is lost.
    """
    old = scene.rigidbody_world
    kept = {name: _values(group) for name, group in _groups(old).items()}
    old.collection = old.constraints = None  # else the rigid body settings of all objects go with the world
    with bpy.context.temp_override(scene=scene):
        bpy.ops.rigidbody.world_remove()
        bpy.ops.rigidbody.world_add()
    for name, group in _groups(scene.rigidbody_world).items():
        for key, value in kept[name].items():
            setattr(group, key, value)
    STATE.alive.discard(scene.name)


def halt(scene) -> None:
    """Let Bullet's world, which may hold joints that are no more, not step before it is made anew at a first frame.

    Replacing it renews the copies of some joints, which must not go before their bodies in versions before 4.3; there
    the cache is told to end where it begins, until the next first frame states its range.
    """
    if bpy.app.version >= JOINTS_LEAVE_BODIES or not any(o.active_ragdoll.is_ragdoll for o in scene.objects):
        replace(scene)
    else:
        scene.rigidbody_world.point_cache.frame_end = scene.rigidbody_world.point_cache.frame_start
        STATE.halted.add(scene.name)
        STATE.alive.discard(scene.name)


def clear(scene) -> None:
    """Free all of Bullet's joints in a world that is about to be freed as a whole.

    Before Blender 4.3 a body that is freed looks at its joints, and a file that is loaded over a simulated scene frees
    those first, which crashes. Made anew without bodies to join, the world drops its joints in the right order.
    """
    if scene.rigidbody_world.constraints is None:
        return
    start, now = scene.rigidbody_world.point_cache.frame_start, scene.frame_current
    for frame in (start - 1, start):  # one of them is another frame than now
        scene.frame_set(frame)
    graph = scene.view_layers[0].depsgraph
    for joint in scene.rigidbody_world.constraints.all_objects:
        copy = joint.evaluated_get(graph)
        if copy.rigid_body_constraint is not None:
            copy.rigid_body_constraint.object1 = None
    world = scene.rigidbody_world
    world.substeps_per_frame = world.substeps_per_frame  # the cache is out of date: the world is made anew
    scene.frame_set(start + 1)
    scene.frame_set(now)
    for joint in scene.rigidbody_world.constraints.all_objects:
        joint.show_in_front = joint.show_in_front  # the copies are made anew: the scene may yet go on


def clear_old(scene) -> None:
    """Before Blender 4.3 a world that is made anew with other joints looks at joints that are gone, and crashes."""
    if bpy.app.version >= JOINTS_LEAVE_BODIES or scene.name not in STATE.joined:
        return
    was_busy, STATE.busy = STATE.busy, True
    try:
        clear(scene)
    finally:
        STATE.busy = was_busy


def clear_changed(scene) -> None:
    """`clear_old` where the scene has other joints than when its world was last made."""
    names = _joint_names(scene)
    if STATE.made_with.get(scene.name, names) != names:
        clear_old(scene)


def note_joints(scene) -> None:
    """The world is made with the joints that the scene has now."""
    if bpy.app.version < JOINTS_LEAVE_BODIES:
        STATE.made_with[scene.name] = _joint_names(scene)


def _joint_names(scene) -> frozenset:
    constraints = scene.rigidbody_world.constraints
    return frozenset() if constraints is None else frozenset(constraints.all_objects.keys())


def release(scene, constraints) -> None:
    """Let Bullet forget joints whose bodies are about to be deleted; afterwards its world must be halted.

    A deleted body is freed at once, its joints later, with their evaluated copies, in several threads. Since Blender
    4.3 a joint that is freed takes itself off its bodies' lists: too late when they are gone, and wrong when two
    threads do it to one body. So the copies are renewed here, while the bodies live, never two of a body at a time.
    Before, it is the body that takes itself off its joints, which must not go first.
    """
    if bpy.app.version < JOINTS_LEAVE_BODIES:
        return
    pending = [(joint, _ends(joint)) for joint in constraints if joint.rigid_body_constraint is not None]
    while pending:
        taken, later = set(), []
        for joint, ends in pending:
            if taken & ends:
                later.append((joint, ends))
            else:
                taken |= ends
                joint.show_in_front = joint.show_in_front  # tags the copy and next to nothing else
        for layer in scene.view_layers:
            if layer.depsgraph is not None:
                layer.update()
        pending = later


def _ends(joint) -> set:
    return {end for end in (joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2) if end}


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
        "cache_good",
    ):
        own.property_unset(name)
