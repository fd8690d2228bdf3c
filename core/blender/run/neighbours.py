"""The scene's other bodies during a run's warm-up: they wait for the first frame as if the world were made only then.

They are disabled until then and on no collision layer: as kinematic bodies they would be woken and follow their keys.
"""

from ..physics import collision
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
    fields = _fields(run, scene)
    run.in_fields = bool(fields)
    for own in fields:
        own.field.apply_to_location = False


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
    for own in _fields(run, scene):
        own.field.apply_to_location = own.original.field.apply_to_location
    collision.widen_evaluated(run, scene)


def _fields(run: Run, scene) -> list:
    """The scene's force fields as they are evaluated; what is excluded from the view layer is not."""
    found = [o.evaluated_get(run.graph) for o in scene.objects if o.field is not None and o.field.type != "NONE"]
    return [own for own in found if own.is_evaluated]
