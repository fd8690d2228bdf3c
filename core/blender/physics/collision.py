"""The scene's other bodies: their collision layers, where characters have self-collision switched off, and their wait
for a shot's first frame."""

import numpy as np

from ...ragdoll.bodies import overlap
from .built import is_ours, parents_of, ragdolls

SAVED = "active_ragdoll_layers"  # on the user's objects: the layers that they had


def pairs_to_ignore(plan) -> list:
    """Pairs of bodies, of a character without self-collision, that only a constraint keeps from colliding."""
    plan.no_collide = []
    of = overlap.groups(plan.parents)
    first, second = plan.strangers()
    same = of[first] == of[second]
    return [(int(i), int(k)) for i, k in zip(first[same], second[same], strict=True)]


def assign_layers(scene) -> list[str]:
    """Give the bodies of all characters and of the scene the collision layers by which they touch what they should.

    Must not be called while the world is alive.
    Returns notes on characters that only some bodies of another one touch.
    """
    characters = ragdolls(scene)
    without = [obj for obj in characters if not obj.active_ragdoll.self_collision]
    normal = np.arange(overlap.LAYERS) == 0
    wide = normal | overlap.meeting_all()
    before, after = (normal, wide) if without else (wide, normal)
    notes = []
    for obj in characters:
        parts = obj.active_ragdoll.parts
        if obj not in without:
            for part in parts:
                if _layers(part.body) == before.tolist():  # other layers are the user's choice
                    part.body.rigid_body.collision_collections = after.tolist()
            continue
        slot = without.index(obj)
        own = overlap.layers(slot)
        of = overlap.groups(parents_of(parts))
        for part, group in zip(parts, of, strict=True):
            if _layers(part.body) not in (None, own[group].tolist()):  # writing would outdate a cache
                part.body.rigid_body.collision_collections = own[group].tolist()
        if slot >= overlap.CHARACTERS:
            most = overlap.CHARACTERS
            notes.append(
                f"'{obj.name}' and '{without[slot - most].name}' meet only with some of their bodies: "
                f"Blender's layers let {most} characters without self-collision meet in full"
            )
    if without:
        _widen_others(scene, characters, wide)
    return notes


def _widen_others(scene, characters, wide: np.ndarray) -> None:
    """Make the scene's bodies that touch ordinary characters also touch those without self-collision."""
    for other, layers in _others(scene, characters, wide):
        if SAVED not in other:
            other[SAVED] = [int(flag) for flag in layers]
        other.rigid_body.collision_collections = (layers | wide).tolist()


def _widen_evaluated(run, scene) -> None:
    """Do the same on evaluated bodies, for objects that were added since the build."""
    characters = ragdolls(scene)
    if all(obj.active_ragdoll.self_collision for obj in characters):
        return
    wide = overlap.meeting_all()
    for other, layers in _others(scene, characters, wide):
        other.evaluated_get(run.graph).rigid_body.collision_collections = (layers | wide).tolist()


def _others(scene, characters, wide: np.ndarray):
    """The scene's bodies that touch ordinary characters only, with their layers [20]."""
    ours = {o for c in characters if c.active_ragdoll.collection for o in c.active_ragdoll.collection.all_objects}
    for other in scene.rigidbody_world.collection.objects:
        if other in ours or other.rigid_body is None:
            continue
        layers = np.array(other.rigid_body.collision_collections, dtype=bool)
        if layers[0] and not layers[wide].all():
            yield other, layers


def restore_layers(scene) -> None:
    """Give the scene's other bodies the collision layers back that they had before the first ragdoll."""
    for other in scene.objects:
        if SAVED not in other:
            continue
        flags = other[SAVED].to_list() if hasattr(other[SAVED], "to_list") else []
        if len(flags) != overlap.LAYERS:
            print(f"Active Ragdoll: the noted collision layers of '{other.name}' are damaged: set them anew")
        elif other.rigid_body is not None:
            other.rigid_body.collision_collections = [bool(flag) for flag in flags]
        del other[SAVED]


def _layers(body) -> list | None:
    if body is None or body.rigid_body is None:
        return None
    return list(body.rigid_body.collision_collections)


# ---- warm-up --------------------------------------------------------------------------------------------------------

# During a run's warm-up the other bodies wait for the first frame as if the world were made only then. They are
# disabled until then and on no collision layer: as kinematic bodies they would be woken and follow their keys.


def hold_others(run, scene) -> None:
    """Hold the other bodies, and the force fields; called before Bullet makes its world."""
    collections = [character.obj.active_ragdoll.collection for character in run.characters]
    ours = {helper for collection in collections for helper in collection.all_objects if is_ours(helper)}
    for other in scene.rigidbody_world.collection.all_objects:
        own = other.evaluated_get(run.graph)
        if other in ours or other.rigid_body is None or not own.is_evaluated:
            continue
        own.rigid_body.collision_collections = [False] * 20
        if own.rigid_body.type == "ACTIVE" and not own.rigid_body.kinematic:
            own.rigid_body.enabled = False
        run.held.append(other.name)
    fields = _fields(run, scene)
    run.in_fields = bool(fields)
    for own in fields:
        own.field.apply_to_location = False


def release_others(run, scene) -> None:
    """After the first frame is shown, let the other bodies go: all of them, so that Bullet has them in their order."""
    for name in run.held:
        other = scene.objects.get(name)
        if other is None or other.rigid_body is None:
            continue
        was, own = other.rigid_body, other.evaluated_get(run.graph).rigid_body
        own.collision_collections = was.collision_collections
        if own.enabled is not was.enabled:
            own.enabled = was.enabled
            if not was.use_start_deactivated:
                own.use_deactivation = was.use_deactivation  # wakes it: what is static Bullet puts to sleep
        if own.use_deform:
            own.mesh_source = was.mesh_source  # has Blender make the shape anew
    run.held = []
    for own in _fields(run, scene):
        own.field.apply_to_location = own.original.field.apply_to_location
    _widen_evaluated(run, scene)


def _fields(run, scene) -> list:
    """The scene's force fields as they are evaluated; what is excluded from the view layer is not."""
    found = [o.evaluated_get(run.graph) for o in scene.objects if o.field is not None and o.field.type != "NONE"]
    return [own for own in found if own.is_evaluated]
