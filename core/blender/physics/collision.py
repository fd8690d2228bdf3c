"""The scene's other bodies: their collision layers, where characters have self-collision switched off, and their wait
for a shot's first frame."""

import numpy as np
from mathutils import Matrix

from ...ragdoll.bodies import overlap
from ..runtime import STATE
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
    Must not be called while the world is alive. Returns notes on characters that only some bodies of another one touch.
    """
    characters = ragdolls(scene)
    without = [obj for obj in characters if not obj.active_ragdoll.self_collision]
    normal = np.arange(overlap.LAYERS) == 0
    wide = normal | overlap.meeting_all()
    before, after = (normal, wide) if without else (wide, normal)
    notes = []
    for obj in characters:
        parts, slot = obj.active_ragdoll.parts, without.index(obj) if obj in without else -1
        own = overlap.layers(slot)[overlap.groups(parents_of(parts))] if slot >= 0 else [after] * len(parts)
        for body, wanted in ((part.body and part.body.rigid_body, wanted.tolist()) for part, wanted in zip(parts, own)):
            layers = list(body.collision_collections) if body else wanted
            # Writing would outdate a cache; other layers are the user's choice.
            if layers != wanted and (slot >= 0 or layers == before.tolist()):
                body.collision_collections = wanted
        if slot >= overlap.CHARACTERS:
            most = overlap.CHARACTERS
            text = f"'{obj.name}' and '{without[slot - most].name}' meet only with some of their bodies"
            notes.append(f"{text}: Blender's layers let {most} characters without self-collision meet in full")
    for other, layers in _others(scene, characters, wide) if without else ():
        if SAVED not in other:
            other[SAVED] = [int(flag) for flag in layers]
        other.rigid_body.collision_collections = (layers | wide).tolist()
    return notes


def _others(scene, characters, wide: np.ndarray):
    """The scene's bodies that touch ordinary characters only, with their layers [20]; they are to touch `wide`, too."""
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
        run.held[other.name] = _animated_place(own)
    fields = _fields(run, scene)
    run.in_fields = [own.name for own in fields]
    for own in fields:
        own.field.apply_to_location = False


def _animated_place(own) -> np.ndarray:
    """Where the animation has an object that physics moves [4, 4]."""
    above = own.parent.matrix_world if own.parent is not None else Matrix()
    return np.array(above @ own.matrix_parent_inverse @ own.matrix_basis)


def release_others(run, scene) -> None:
    """After the first frame is shown, let the other bodies go: all of them, so that Bullet has them in their order."""
    for name, place in run.held.items():
        other = scene.objects.get(name)
        if other is None or other.rigid_body is None:
            continue
        was, own = other.rigid_body, other.evaluated_get(run.graph).rigid_body
        own.collision_collections = was.collision_collections
        if own.enabled is not was.enabled:
            if not np.allclose(_animated_place(other.evaluated_get(run.graph)), place, atol=1e-5):
                text = f"'{name}' is animated, which Blender does not show of a body that is not *Animated*: it starts"
                STATE.warn(run.characters[0].name, f"{text} where its keys have it before the first frame")
            own.enabled = was.enabled
            if not was.use_start_deactivated:
                own.use_deactivation = was.use_deactivation  # wakes it: what is static Bullet puts to sleep
        if own.use_deform:
            own.mesh_source = was.mesh_source  # has Blender make the shape anew
    run.held = {}
    for own in _fields(run, scene):
        own.field.apply_to_location = own.original.field.apply_to_location
    characters, wide = [character.obj for character in run.characters], overlap.meeting_all()
    if not all(obj.active_ragdoll.self_collision for obj in characters):  # objects that were added since the build
        for other, layers in _others(scene, characters, wide):
            other.evaluated_get(run.graph).rigid_body.collision_collections = (layers | wide).tolist()


def in_field(run, rows) -> bool:
    """Whether a force field may act on bodies: only a *Max Distance* around a point, or the world, keeps it away."""
    for own in acting_fields(run):
        field, place = own.field, np.array(own.matrix_world.translation)
        ends = field.use_max_distance and (field.shape, field.falloff_type) == ("POINT", "SPHERE")
        far = ends and np.linalg.norm(run.body[rows, :3, 3] - place, axis=1).min() > field.distance_max
        if not far:
            return True
    return False


def acting_fields(run) -> list:
    """The force fields of a run as they are evaluated, but for those that the world leaves out."""
    scene = run.graph.scene
    weights = scene.rigidbody_world.effector_weights
    found = filter(None, map(scene.objects.get, run.in_fields if weights.all else ()))
    found = (own for own in found if weights.collection is None or own.name in weights.collection.all_objects)
    return [own for own in (own.evaluated_get(run.graph) for own in found) if own.field.apply_to_location]


def is_wind(field) -> bool:
    """Whether `wind` knows how a force field acts."""
    return field.type == "WIND" and field.falloff_type == "SPHERE" and field.noise == field.flow == 0.0


def wind(run, rows) -> np.ndarray:
    """Force [3] [N] of the scene's winds on bodies: Blender takes the strength by the frame rate, on each alike."""
    if not run.in_fields:
        return np.zeros(3)
    scene, force = run.graph.scene, np.zeros(3)
    for own in (own for own in acting_fields(run) if is_wind(own.field)):
        field, place = own.field, np.array(own.matrix_world)
        ways = run.body[rows, :3, 3] - place[:3, 3]
        far, along = np.linalg.norm(ways, axis=1), place[:3, 2] / max(np.linalg.norm(place[:3, 2]), 1e-12)
        near = field.distance_min if field.use_min_distance else 0.0
        share = np.maximum(1.0 + far - near, 1.0) ** -field.falloff_power
        share[far > (field.distance_max if field.use_max_distance else np.inf)] = 0.0
        share[ways @ along * {"POSITIVE": 1.0, "NEGATIVE": -1.0}.get(field.z_direction, 0.0) < 0.0] = 0.0
        force += share.sum() * field.strength * along
    weights = scene.rigidbody_world.effector_weights
    return force * weights.wind * weights.all / (scene.render.fps / scene.render.fps_base)


def _fields(run, scene) -> list:
    """The scene's force fields as they are evaluated; what is excluded from the view layer is not."""
    found = [o.evaluated_get(run.graph) for o in scene.objects if o.field is not None and o.field.type != "NONE"]
    return [own for own in found if own.is_evaluated]
