"""The scene's other bodies during a run's warm-up: they wait for the first frame as if the world were made only then.

They are disabled until then and on no collision layer: as kinematic bodies they would be woken and follow their keys.
"""

from ..physics import blender_42, collision
from ..physics.built import is_ours
from .shot_run import Run

NOWHERE = [False] * 20


def hold(run: Run, scene) -> None:
    """Hold the other bodies, and the force fields; called before Bullet makes its world."""
    collections = [character.obj.active_ragdoll.collection for character in run.characters]
    ours = {helper for collection in collections for helper in collection.all_objects if is_ours(helper)}
    for other in scene.rigidbody_world.collection.all_objects:
        own = other.evaluated_get(run.graph)
        if other in ours or other.rigid_body is None or not own.is_evaluated:
            continue
        own.rigid_body.collision_collections = NOWHERE
        if own.rigid_body.type == "ACTIVE" and not own.rigid_body.kinematic:
            own.rigid_body.enabled = False
        run.held.append(other.name)
    for field in _fields(scene):
        field.evaluated_get(run.graph).field.apply_to_location = False


def release(run: Run, scene) -> None:
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
    _let_fields_act(run, scene)
    collision.widen_evaluated(run, scene)


def release_fields(run: Run, scene) -> None:
    """Before the first frame is evaluated, let the force fields act again.

    A new world's first step has their force twice in plain Blender, which adds it once more as it makes the bodies.
    Here the first frame adds it, as Bullet keeps the force on a body that cannot move. Before 4.3 it is added once.
    """
    if not blender_42.IS_IT:
        _let_fields_act(run, scene)


def _let_fields_act(run: Run, scene) -> None:
    for field in _fields(scene):
        field.evaluated_get(run.graph).field.apply_to_location = field.field.apply_to_location


def _fields(scene) -> list:
    return [obj for obj in scene.objects if obj.field is not None and obj.field.type != "NONE"]
