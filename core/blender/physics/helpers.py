"""Making the objects and constraints that a ragdoll consists of, and hiding them in the 3D views."""

import bpy
import numpy as np
from mathutils import Matrix

from ..rig.armature import with_ragdoll
from . import built, source, world


def helper(name, data, collection, kind: str, bone="", number=None, *, place, size: float = 0.0, aside: bool = True):
    """Make a helper object, which cannot be selected and is not rendered.

    Helpers are never hidden one by one: Blender stops evaluating a hidden constraint as soon as nothing visible needs
    it (the character is deleted, the bodies are hidden). In mid-shot that crashes.

    Args:
        kind, bone, number: see `built.tag`.
        place: its matrix [4, 4]. size: of an Empty as it is shown [m].
        aside: False where many are made; then call `keep_aside` once all of the collection are made.
    """
    made = bpy.data.objects.new(name, data)
    built.tag(made, kind, bone, number)
    if aside:
        made.hide_render = made.hide_select = True
    if data is None:
        made.empty_display_size = size
    made.rotation_mode = "QUATERNION"
    made.matrix_basis = Matrix(np.asarray(place).tolist())
    collection.objects.link(made)
    return made


def used_again(scene, free: dict, wanted: list, make) -> list:
    """A helper for each key of `wanted`: one of those that are `free`, lists by their keys, else a new one."""
    if any(len(free.get(key, ())) < wanted.count(key) for key in wanted):
        world.clear_old(scene)
    return [free[key].pop(0) if free.get(key) else make(key) for key in wanted]


def make_kinematic(scene, made):
    """Give a helper a body in the scene's world that is moved by us alone and collides with nothing; returns it."""
    made.display_type = "BOUNDS"
    scene.rigidbody_world.collection.objects.link(made)
    body = made.rigid_body
    body.type = "PASSIVE"
    body.kinematic = True
    body.collision_shape = "BOX"
    body.collision_collections = [False] * 20
    return made


def join(scene, obj, kind: str, first, second):
    """Give a helper a constraint of a kind between two bodies, which then do not collide."""
    scene.rigidbody_world.constraints.objects.link(obj)
    constraint = obj.rigid_body_constraint
    constraint.type = kind
    constraint.object1, constraint.object2 = first, second
    constraint.disable_collisions = True
    return constraint


def limit(constraint, axis: str, bounds) -> None:
    """Set the range (lowest, highest) of an axis of a constraint, such as "lin_x" or "ang_z"; None frees it."""
    setattr(constraint, f"use_limit_{axis}", bounds is not None)
    for end, value in zip(("lower", "upper"), bounds or ()):
        setattr(constraint, f"limit_{axis}_{end}", value)


def add_spring(scene, obj, body, other, kind: str = "SPRING1"):
    """Give a helper a six-axis spring constraint between two bodies, with no stiffness."""
    constraint = join(scene, obj, "GENERIC_SPRING", body, other)
    constraint.spring_type = kind
    for axis in "xyz":
        for part in ("", "ang_"):
            setattr(constraint, f"spring_stiffness_{part}{axis}", 0.0)
    return constraint


def keep_aside(collection) -> None:
    """Make all objects of a new collection unselectable, and keep them out of renders.

    It is done for all at once, because each such change makes Blender look through all objects of all view layers."""
    objects = collection.objects
    if len(objects):
        for name in ("hide_render", "hide_select"):
            objects.foreach_set(name, [True] * len(objects))
        objects[0].hide_select = True  # foreach_set triggers no update, this does


def constrain(bone, kind: str, name: str, like=None):
    """Add a constraint to a pose bone: a new one, or a copy of one that has the name already.

    Naming a constraint makes Blender look through the animation of the whole file. Once it has a target, setting any
    other property looks for that target among all objects: set the target last.
    """
    if like is not None:
        return bone.constraints.copy(like)
    made = bone.constraints.new(kind)
    made.name = name
    return made


def copy_locally(owner, names, target, constraint_name: str, within=None) -> None:
    """Make bones copy the bones of the same names in another armature, relative to their parents.

    Our own constraint, on the character, gets the physics blend as influence. `within` one of both armatures places
    count from bones of that {bone: the other}, and in the other armature from the world.
    """
    copy = None
    for name in names:
        library = owner.pose.bones[name].constraints.get(constraint_name)
        if library is not None:  # of an override, which cannot be removed
            library.mute, library.target, library.subtarget = False, target, name
            continue
        first = copy is None
        copy = constrain(owner.pose.bones[name], "COPY_TRANSFORMS", constraint_name, copy)
        copy.subtarget = name
        if within is not None:
            setattr(copy, "owner_space" if within == owner else "target_space", "CUSTOM")
            copy.space_object, copy.space_subtarget = within, names[name]
        elif first:
            copy.owner_space = copy.target_space = "LOCAL"
        if first:
            if constraint_name == source.CONSTRAINT_NAME:
                copy.influence = owner.active_ragdoll.physics_blend
            copy.target = target


def show_helpers(scene) -> None:
    """Show or hide the helpers of a scene's ragdolls in all its view layers, as the scene's setting says.

    Bodies without a cache stand at the world's origin and joints where they are in bind pose: they are not worth
    seeing, and the overlay draws the ragdoll instead. They are hidden by the eye of their collections in the view
    layers, because Blender goes on evaluating them then.
    """
    hidden = not scene.active_ragdoll.show_helpers
    wanted = {obj.active_ragdoll.collection for obj in with_ragdoll(scene.objects)}
    if scene.rigidbody_world is not None:  # its collections that a build linked: others have the user's objects, too
        names = world.noted(scene.active_ragdoll.collections_linked)
        wanted |= {getattr(scene.rigidbody_world, name) for name in names}
    waiting = [layer.layer_collection for layer in scene.view_layers]
    while waiting:
        inner = list(waiting.pop().children)
        waiting += inner
        for found in inner:
            if found.collection in wanted and found.hide_viewport != hidden:
                found.hide_viewport = hidden
