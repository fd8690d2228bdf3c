"""What only Blender before 4.3 needs: there a body that is freed looks at its joints, later a joint at its bodies.

So joints must not go before their bodies, neither with a world that is made anew nor with a file that is closed.
"""

import bpy

from ..runtime import STATE
from . import view_layers

IS_IT = bpy.app.version < (4, 3, 0)


def halt(scene) -> None:
    """Keep a world from stepping: its cache ends where it begins, until the next first frame sets its range."""
    scene.rigidbody_world.point_cache.frame_end = scene.rigidbody_world.point_cache.frame_start
    STATE.halted_worlds.add(scene.name)
    STATE.live_worlds.discard(scene.name)


def clear(scene) -> None:
    """Free all of Bullet's joints in a world that is about to be freed as a whole.

    A body that is freed looks at its joints, and a file that is loaded over a simulated scene frees
    those first, which crashes. Made anew without bodies to join, the world drops its joints in the right order.
    """
    if scene.rigidbody_world.constraints is None:
        return
    view_layers.remake_world(scene, lambda: _part(scene))
    for joint in scene.rigidbody_world.constraints.all_objects:
        joint.show_in_front = joint.show_in_front  # the copies are made anew: the scene may yet go on


def _part(scene) -> None:
    """Take the bodies from the joints' evaluated copies."""
    graph = view_layers.depsgraph_of(scene)
    for joint in scene.rigidbody_world.constraints.all_objects:
        copy = joint.evaluated_get(graph)
        if copy.rigid_body_constraint is not None:
            copy.rigid_body_constraint.object1 = None


def clear_old(scene) -> None:
    """Free a world's joints before it is made anew with others: it would look at those that are gone, and crash."""
    if not IS_IT or scene.name not in STATE.worlds_with_joints:
        return
    with STATE.occupied():
        clear(scene)


def clear_changed(scene) -> None:
    """`clear_old` where the scene has other joints than when its world was last made."""
    if not IS_IT:
        return
    names = _joint_names(scene)
    if STATE.joints_made_with.get(scene.name, names) != names:
        clear_old(scene)


def note_joints(scene) -> None:
    """Note the joints that the scene's world is made with."""
    if IS_IT:
        STATE.joints_made_with[scene.name] = _joint_names(scene)


def _joint_names(scene) -> frozenset:
    constraints = scene.rigidbody_world.constraints
    return frozenset() if constraints is None else frozenset(constraints.all_objects.keys())
