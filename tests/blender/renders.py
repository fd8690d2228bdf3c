"""Final renders in a few pixels, and what they show."""

from contextlib import contextmanager

import bpy

import rigs


def prepare(scene, path) -> None:
    """A camera, and small images written to a path."""
    scene.camera = rigs.added(scene, "Camera", bpy.data.cameras.new("Camera"))
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = str(path)


@contextmanager
def reading(scene, obj):
    """Context that gives what renders in it evaluate: world matrices [n, 4, 4] of a character's bones by frame.

    A render has its own depsgraph. Sub-frames are among them, as fractions."""
    seen = {}

    def read(_scene, graph=None):
        if graph is not None and graph.mode == "RENDER":
            seen[scene.frame_current + scene.frame_subframe] = rigs.pose(obj, graph)

    bpy.app.handlers.frame_change_post.append(read)
    try:
        yield seen
    finally:
        bpy.app.handlers.frame_change_post.remove(read)


def poses(scene, obj, frames) -> dict:
    """World matrices [n, 4, 4] of a character's bones in the render of each frame."""
    with reading(scene, obj) as seen:
        for frame in frames:
            scene.frame_start = scene.frame_end = frame
            bpy.ops.render.render(animation=True)
    assert set(seen) == set(frames)
    return seen
