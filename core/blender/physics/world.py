"""The scene's rigid body world and its point cache."""

import bpy

from ...errors import RagdollError
from ...ragdoll import diagnosis
from .. import preferences
from ..rig.clips import scene_fps
from ..runtime import STATE
from . import built, view_layers

IS_42 = bpy.app.version < (4, 3, 0)  # what only that needs is at the end
COLLECTIONS = {"collection": "RigidBodyWorld", "constraints": "RigidBodyConstraints"}  # names of those that are made
WARM_UP = 3  # frames before the shot: two in bind pose, one in the animation


def shot_range(scene) -> tuple[int, int]:
    """First and last frame of the shot that runs simulate."""
    of = scene.active_ragdoll if scene.active_ragdoll.use_range else scene
    return of.frame_start, of.frame_end


def first_frame(scene) -> int:
    """The first frame of the shot that is shown: a baked cache of ours keeps it when the scene shows a part of it."""
    if scene.active_ragdoll.cache_is_ours and scene.rigidbody_world is not None:
        return scene.rigidbody_world.point_cache.frame_start + WARM_UP
    return (whole_shot(scene, shot_range(scene)) if STATE.rendering else shot_range(scene))[0]


def whole_shot(scene, wanted: tuple[int, int]) -> tuple[int, int]:
    """The frames to step for a render of some: a farm's pieces of a shot all begin at the shot's own start."""
    start, end = STATE.ranges.get(scene.name, wanted)
    is_piece = bpy.app.background and start <= wanted[0] <= wanted[1] <= end
    return (start, max(wanted[1], start + 1)) if is_piece else wanted


def seconds_per_frame(scene) -> float:
    """Of the simulation: where it runs slower, a frame is shorter in it [s]."""
    world = scene.rigidbody_world
    return max((world.time_scale if world is not None else 1.0) / scene_fps(scene), 1e-9)


def gravity(scene) -> tuple[float, float, float]:
    """Gravity that acts on the scene's rigid bodies [m/s^2]."""
    if not scene.use_gravity:
        return 0.0, 0.0, 0.0
    weights = scene.rigidbody_world.effector_weights
    share = weights.gravity * weights.all
    x, y, z = scene.gravity[:]
    return share * x, share * y, share * z


def pull(scene) -> float:
    """Gravity of a scene [m/s^2]; 0 where it is switched off."""
    return scene.gravity.length if scene.use_gravity else 0.0


def ensure(scene) -> list[str]:
    """Give the scene a rigid body world with collections. Returns notes on what had to be made."""
    world, own, made = scene.rigidbody_world, scene.active_ragdoll, []
    if world is None:
        with bpy.context.temp_override(scene=scene):
            bpy.ops.rigidbody.world_add()
        STATE.unstepped[scene.name] = STATE.released[scene.name] = scene.frame_current
        own.world_created = True
        world = scene.rigidbody_world
        world.substeps_per_frame, world.solver_iterations = preferences.new_world(scene_fps(scene))
        made.append("a rigid body world")
    elif not own.cache_saved:  # told once, with the scene's first ragdoll
        needed = diagnosis.needed_substeps(scene_fps(scene), world.time_scale)
        if world.substeps_per_frame < needed or world.solver_iterations < diagnosis.FEWEST_ITERATIONS:
            made += ["the rigid body world has few steps or iterations: Diagnose can raise them, so that limits hold"]
    created = [attribute for attribute in COLLECTIONS if getattr(world, attribute) is None]
    for attribute in created:
        setattr(world, attribute, bpy.data.collections.new(COLLECTIONS[attribute]))
    if created:
        own.collections_created = ",".join(created)
    # Only collections of the scene are copied for evaluation; with others Bullet reads the originals, which a run
    # must not write.
    linked = []
    for attribute in COLLECTIONS:
        if getattr(world, attribute) not in set(scene.collection.children_recursive):
            if attribute == "constraints":
                _let_originals_go(scene)
            scene.collection.children.link(getattr(world, attribute))
            linked.append(attribute)
    if linked:
        own.collections_linked = ",".join(linked)
    if not own.cache_saved:
        own.cache_start, own.cache_end = world.point_cache.frame_start, world.point_cache.frame_end
        own.cache_saved = True
    return made


def _let_originals_go(scene) -> None:
    """Have Bullet forget the user's joints, whose collection is about to be linked to the scene.

    So far it held on to the original joints, from now on it holds on to their evaluated copies. The originals would
    keep Bullet's old joints until the collection is unlinked again, and Blender would look at bodies that are gone.
    """
    joints = [o.rigid_body_constraint for o in scene.rigidbody_world.constraints.all_objects if o.rigid_body_constraint]
    firsts = [joint.object1 for joint in joints]
    if any(firsts):
        with STATE.occupied():
            view_layers.remake_world(scene, lambda: [setattr(joint, "object1", None) for joint in joints])
        for joint, first in zip(joints, firsts, strict=True):
            joint.object1 = first


def refuse_user_bake(scene) -> None:
    """Raise RagdollError if the user has baked the rigid body cache: it is never dropped without asking."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked and not scene.active_ragdoll.cache_is_ours:
        what = f"The rigid body cache of scene '{scene.name}' is baked"
        raise RagdollError(f"{what}: delete the bake first (Scene properties > Rigid Body World > Cache)")


def check_steps(scene) -> None:
    """Raises RagdollError where the scene's rigid body world would stand still, or run at another pace."""
    world = scene.rigidbody_world
    if world is None:
        raise RagdollError(f"The rigid body world of scene '{scene.name}' has been removed: build the ragdoll anew")
    if not world.enabled:
        raise RagdollError(f"The rigid body world of scene '{scene.name}' is switched off")
    if world.time_scale <= 0.0:
        raise RagdollError(f"The speed of the rigid body world of scene '{scene.name}' is 0: nothing would move")
    refuse_remapped(scene)


def refuse_remapped(scene) -> None:
    """Raises RagdollError where frames are not at their own times: bodies stand still, keys are read elsewhere."""
    render = scene.render
    if render.frame_map_old != render.frame_map_new:
        raise RagdollError(
            f"Scene '{scene.name}' remaps time from {render.frame_map_old} to {render.frame_map_new}, with which "
            "rigid bodies do not move: set both to the same (Output properties > Frame Range > Time Stretching)"
        )


def set_range(scene) -> None:
    """Make the cache cover the warm-up and the shot; called before the world comes alive.

    A halted world is left as it is until a first frame takes the halt back."""
    if scene.name in STATE.halted_worlds:
        return
    first, last = shot_range(scene)
    cache = scene.rigidbody_world.point_cache
    for name, frame in (("frame_start", first - WARM_UP), ("frame_end", last)):
        if getattr(cache, name) != frame:
            setattr(cache, name, frame)


def cache_covers_shot(scene) -> bool:
    """Whether there is a baked cache that a run made for the shot's present range."""
    world = scene.rigidbody_world
    if world is None or not world.point_cache.is_baked or not scene.active_ragdoll.cache_is_ours:
        return False
    return (first_frame(scene), world.point_cache.frame_end) == shot_range(scene)


def last_good(scene) -> int:
    """The last frame of the baked cache that was simulated to its end."""
    own = scene.active_ragdoll
    last = shot_range(scene)[1]
    return min(last, own.cache_good) if own.is_property_set("cache_good") else last


def bake_cache(scene, last: int) -> None:
    """Bake the cache, good up to a last frame, so that every jump shows the right one, also without the extension."""
    with bpy.context.temp_override(scene=scene, point_cache=scene.rigidbody_world.point_cache):
        bpy.ops.ptcache.bake_from_cache()
    drain(scene)
    scene.active_ragdoll.cache_is_ours = True
    scene.active_ragdoll.cache_good = last


def drain(scene) -> None:
    """Empty Bullet's world, which a baked cache does not need.

    A body that goes takes itself out of the worlds of all scenes that Blender finds: out of one that an undo has set
    aside it does not, and out of one that never had it goes another body. Both crash later.
    """
    if IS_42:
        return
    world, now = scene.rigidbody_world, scene.frame_current
    kept, nothing = (world.collection, world.constraints), bpy.data.collections.new("Empty")
    with STATE.occupied():
        release(scene)
        world.collection, world.constraints = nothing, None
        view_layers.remake_world(scene, lambda: None)
        world.collection, world.constraints = kept
        bpy.data.collections.remove(nothing)
        view_layers.evaluate(scene, now)
    STATE.live_worlds.discard(scene.name)
    STATE.worlds_with_joints.discard(scene.name)


def free_cache(scene) -> None:
    """Free a baked cache that a run has made."""
    world = scene.rigidbody_world
    if world is not None and world.point_cache.is_baked:
        refuse_user_bake(scene)
        with bpy.context.temp_override(scene=scene, point_cache=world.point_cache):
            bpy.ops.ptcache.free_bake()
    if world is not None and scene.active_ragdoll.cache_is_ours and not IS_42:
        halt(scene)  # see `drain`: at the next frame Blender would give it joints without bodies
    scene.active_ragdoll.cache_is_ours = False
    scene.active_ragdoll.property_unset("cache_good")


def replace(scene) -> None:
    """Replace the scene's world by a new one with the same settings, so that Bullet cannot step with freed joints.

    Bullet makes the remaining bodies and joints again at the next first frame. The cache is lost."""
    old = scene.rigidbody_world
    kept = [[(name, getattr(group, name)) for name in names] for group, names in _settings(old)]
    old.collection = old.constraints = None  # else removing the world deletes the settings of all bodies
    with bpy.context.temp_override(scene=scene):
        bpy.ops.rigidbody.world_remove()
        bpy.ops.rigidbody.world_add()
    for (group, _names), values in zip(_settings(scene.rigidbody_world), kept, strict=True):
        for name, value in values:
            setattr(group, name, value)
    STATE.unstepped[scene.name] = scene.frame_current


def note_frame(scene) -> None:
    """Take note of an evaluation of the scene: at another frame its world may have stepped."""
    for frames in (STATE.unstepped, STATE.released):
        if frames and frames.get(scene.name) != scene.frame_current:
            frames.pop(scene.name, None)


def halt(scene) -> None:
    """Keep Bullet's world from stepping until it is made anew at a first frame: it may hold joints that were deleted.

    Replacing it renews the copies of some joints, which must not go before their bodies in versions before 4.3."""
    STATE.live_worlds.discard(scene.name)
    if STATE.unstepped.get(scene.name) == scene.frame_current:
        return
    if not IS_42 or not any(o.active_ragdoll.is_ragdoll for o in scene.objects):
        replace(scene)
    else:  # its cache ends where it begins, until the next first frame sets its range
        scene.rigidbody_world.point_cache.frame_end = scene.rigidbody_world.point_cache.frame_start
        STATE.halted_worlds.add(scene.name)


def has_lost_members(scene) -> bool:
    """Whether bodies or joints have gone, or joints were renamed; those that have come are noted."""
    now, before = members(scene), STATE.members.get(scene.name, (0, ()))
    if now != before and (now[0] < before[0] or not set(now[1]) >= set(before[1])):
        return True
    STATE.members[scene.name] = now
    return False


def members(scene) -> tuple[int, tuple]:
    """How many bodies and which joints, in their order, the scene's world has now."""
    bodies, joints = scene.rigidbody_world.collection, scene.rigidbody_world.constraints
    return len(bodies.all_objects) if bodies else 0, tuple(joints.all_objects.keys() if joints else ())


def release(scene) -> None:
    """Let Bullet forget all joints before bodies are deleted; afterwards its world must be halted.

    Also those between bodies that stay: whatever is deleted next needs no release until the world steps again.

    Since Blender 4.3 a joint that is freed takes itself off its bodies' lists: too late when they are gone, as after a
    deletion, and wrong when two threads do it to one body. So the copies of the joints are renewed here, while the
    bodies live, never two of a body at a time. Before, joints must not go first, see the end.
    """
    if IS_42 or STATE.released.get(scene.name) == scene.frame_current:
        return
    constraints = scene.rigidbody_world.constraints  # which a script may have taken away
    joints = dict.fromkeys((*scene.objects, *(constraints.all_objects if constraints else ())))
    enabled, scene.rigidbody_world.enabled = scene.rigidbody_world.enabled, False  # else it steps in a new frame
    pending = [(joint, {own.object1, own.object2} - {None}) for joint in joints if (own := joint.rigid_body_constraint)]
    while pending:
        taken, later = set(), []
        for joint, ends in pending:
            if taken & ends:
                later.append((joint, ends))
            else:
                taken |= ends
                joint.show_in_front = joint.show_in_front  # tags the copy and next to nothing else
        with STATE.occupied():
            view_layers.update_joints(scene)
        pending = later
    scene.rigidbody_world.enabled = enabled
    STATE.released[scene.name] = scene.frame_current


def _settings(world) -> list[tuple]:
    """A world, its weights and its cache, each with the names of the properties that a new world takes over."""
    groups = world, world.effector_weights
    found = [(group, [p.identifier for p in group.bl_rna.properties if not p.is_readonly]) for group in groups]
    # Only the cache's range: writing its file settings looks for files of a world that has no name yet, and crashes.
    return [*found, (world.point_cache, ("frame_start", "frame_end"))]


def noted(names: str) -> list[str]:
    """Which of the world's collections `ensure` has noted; a damaged file may name anything."""
    return [name for name in COLLECTIONS if name in names.split(",")]


def restore(scene) -> None:
    """Put the world back as it was before the first ragdoll of the scene."""
    own = scene.active_ragdoll
    world = scene.rigidbody_world
    if world is None:
        own.cache_saved = own.world_created = False
        return
    if own.cache_saved:
        world.point_cache.frame_start, world.point_cache.frame_end = own.cache_start, own.cache_end
    for attribute in noted(own.collections_linked):
        collection = getattr(world, attribute)
        if collection is not None and collection.name in scene.collection.children:
            scene.collection.children.unlink(collection)
    for attribute in noted(own.collections_created):
        collection = getattr(world, attribute)
        if collection is not None and not collection.objects and not own.world_created:
            setattr(world, attribute, None)
            bpy.data.collections.remove(collection)
    if own.world_created:
        collections = [c for c in (world.collection, world.constraints) if c is not None]
        # A linked copy of the scene has a world with the same collections, in which a ragdoll of its own may be.
        if all(built.is_ours(obj) for c in collections for obj in c.objects):
            world.collection = world.constraints = None
            with bpy.context.temp_override(scene=scene):
                bpy.ops.rigidbody.world_remove()
            for collection in collections:
                if not collection.objects:
                    bpy.data.collections.remove(collection)
    for declared in own.bl_rna.properties:
        if declared.identifier.startswith(("world_", "collections_", "cache_")):
            own.property_unset(declared.identifier)


# ---- before Blender 4.3 ---------------------------------------------------------------------------------------------
# There a body that is freed looks at its joints, later a joint at its bodies. So joints must not go before their
# bodies, neither with a world that is made anew nor with a file that is closed.
def clear(scene) -> None:
    """Free all of Bullet's joints in a world that is about to be freed as a whole, where bodies may look at them later.

    Made anew without bodies to join, the world drops its joints in the right order."""
    if scene.rigidbody_world.constraints is None:
        return

    def part() -> None:
        graph = view_layers.depsgraph_of(scene)
        for joint in scene.rigidbody_world.constraints.all_objects:
            copy = joint.evaluated_get(graph)
            if copy.rigid_body_constraint is not None:
                copy.rigid_body_constraint.object1 = None

    view_layers.remake_world(scene, part)
    for joint in scene.rigidbody_world.constraints.all_objects:
        joint.show_in_front = joint.show_in_front  # the copies are made anew: the scene may yet go on


def clear_old(scene) -> None:
    """Free a world's joints before it is made anew with others: it would look at those that are gone, and crash."""
    if IS_42 and scene.name in STATE.worlds_with_joints:
        with STATE.occupied():
            clear(scene)


def clear_changed(scene) -> None:
    """`clear_old` where the scene has other joints than when its world was last made."""
    now = members(scene)
    if set(STATE.made_with.get(scene.name, now)[1]) != set(now[1]):
        clear_old(scene)
