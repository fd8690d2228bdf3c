"""Which view layer of a scene steps its rigid body world.

Blender evaluates each view layer by itself, with its own copies of all joints, but the layers share one Bullet world.
The layer that comes first at a frame steps the world, with its own joints; the others read that frame from the cache.
If another layer came first at some frame, Bullet would get all joints twice, half of them without drives. So one layer
steps the world for as long as it exists, and it is evaluated before the others.
"""

import bpy

from ...errors import RagdollError
from ..runtime import STATE


def shown_layer(scene):
    """The first view layer of the scene that a window shows; without one, the first view layer."""
    return next(iter(_in_windows(scene)), scene.view_layers[0])


def stepping_layer(scene):
    """The view layer that steps the scene's world; before a run has filled the world, the one that is shown."""
    name = STATE.stepped.get(scene.name, "") if scene.name in STATE.live_worlds else ""
    return scene.view_layers.get(name) or shown_layer(scene)


def depsgraph_of(scene):
    """The dependency graph that steps the scene. It alone has the simulated transforms unrounded."""
    return stepping_layer(scene).depsgraph


def graphs(scene) -> list:
    """The dependency graphs of all view layers that have been evaluated."""
    return [layer.depsgraph for layer in scene.view_layers if frame_of(layer.depsgraph) is not None]


def frame_of(graph) -> int | None:
    """The frame that a dependency graph was evaluated at; None where it was not yet, as after a copy of a scene.

    Its scene is then no scene yet, or missing."""
    return getattr(graph and graph.scene_eval, "frame_current", None)


def evaluates(scene, obj) -> bool:
    """Whether the view layer that steps has an object's pose: it has none of what is disabled in viewports or excluded.

    One that is only hidden, by its eye or its collection's, is evaluated."""

    def has(layer) -> bool:
        if layer.collection.hide_viewport:
            return False
        return (not layer.exclude and obj.name in layer.collection.objects) or any(map(has, layer.children))

    return not obj.hide_viewport and has(stepping_layer(scene).layer_collection)


def choose(scene, first: int) -> None:
    """Choose the view layer that is to step the scene. It stays the same while Bullet may hold its joints. Raises
    RagdollError: another view layer would step the world too, as Blender cannot read frame 0 from a cache."""
    if STATE.stepped.get(scene.name, "") not in scene.view_layers:
        STATE.stepped[scene.name] = shown_layer(scene).name
    STATE.live_worlds.add(scene.name)
    layer = stepping_layer(scene)
    if (scene.name, layer.name) not in STATE.can_step:
        with STATE.occupied():
            layer.update()  # otherwise Blender would not let it step the world
        STATE.can_step.add((scene.name, layer.name))
    others = sorted(name for at, name in STATE.can_step if at == scene.name and name != layer.name)
    if first <= 0 and any(name in scene.view_layers for name in others):
        raise RagdollError(
            f"Scene '{scene.name}' has been shown with the view layers '{layer.name}' and '{others[0]}', with which it "
            "cannot be simulated at frame 0: let the shot begin after it, or open the file anew and show one of them"
        )


def update_joints(scene) -> None:
    """Evaluate the view layers whose copies of the joints Bullet may hold: those that have stepped.

    The others are left alone, because a view layer that is updated may step the world from then on."""
    names = {STATE.stepped.get(scene.name, ""), shown_layer(scene).name}
    for layer in scene.view_layers:
        if layer.name in names and layer.depsgraph is not None:
            layer.update()


def renew() -> None:
    """Evaluate all view layers that have been: an undo does the shown one, others hold a hidden scene that has gone."""
    with STATE.occupied():
        for layer in (layer for scene in bpy.data.scenes if len(graphs(scene)) > 1 for layer in scene.view_layers):
            if frame_of(layer.depsgraph) is not None:
                layer.update()


def stand_at(scene, frame: int) -> None:
    """Set the scene's frame, also below 0, which the property does not take by default, and without telling windows.

    A window that is told shows the frame once more as soon as it can: a run would begin twice."""
    preferences = bpy.context.preferences.edit
    before = preferences.use_negative_frames
    frames = [frame if each == scene else each.frame_current for each in bpy.data.scenes]
    if min(frames) < 0 and not before:
        preferences.use_negative_frames = True
    bpy.data.scenes.foreach_set("frame_current", frames)
    if preferences.use_negative_frames != before:
        preferences.use_negative_frames = before


def evaluate(scene, frame: int) -> None:
    """Evaluate the scene at a frame in the view layer that steps it."""
    if len(scene.view_layers) == 1:
        scene.frame_set(frame)  # calls the frame handlers of other extensions, too
        return
    stand_at(scene, frame)
    stepping_layer(scene).update()


def evaluate_new_world(scene, frame: int) -> None:
    """Evaluate a frame at which Blender makes Bullet's world anew, its meshes first.

    At once, Blender would read meshes that move while another thread replaces them, and crash now and then."""
    scene.rigidbody_world.enabled = False
    try:
        evaluate(scene, frame)
    finally:
        scene.rigidbody_world.enabled = True
    scene.update_tag()  # without a new frame meshes stay as they are
    stepping_layer(scene).update()


def remake_world(scene, change) -> None:
    """Call `change`, have Blender make Bullet's world anew, and stand where the scene stood."""
    world, now = scene.rigidbody_world, scene.frame_current
    start, enabled = world.point_cache.frame_start, world.enabled
    if not enabled:
        world.enabled = True
    for frame in (start - 1, start):  # one of them is another frame than now
        evaluate(scene, frame)
    change()
    world.substeps_per_frame = world.substeps_per_frame  # the cache is out of date: the world is made anew
    evaluate_new_world(scene, start + 1)
    scene.frame_set(now)
    if not enabled:
        world.enabled = False


def lead(scene) -> None:
    """Evaluate the view layer that steps the scene now, if Blender might evaluate another one before it."""
    if len(scene.view_layers) == 1 or scene.name not in STATE.live_worlds:
        return
    layer = stepping_layer(scene)
    # `frame_set` evaluates the view layers in their order; playback and arrow keys those that windows show.
    if layer != scene.view_layers[0] or any(shown != layer for shown in _in_windows(scene)):
        with STATE.occupied():
            layer.update()


def _in_windows(scene) -> list:
    manager = bpy.context.window_manager
    layers = [window.view_layer for window in (manager.windows if manager else ()) if window.scene == scene]
    return [layer for layer in layers if layer.depsgraph is not None]
