"""Inside a real Blender that has the extension: makes shots in a folder for renders by the command line.

    blender --background --python render_shots.py -- FOLDER

`shot` has a live ragdoll that falls, in 20 frames; `broken` is the same and cannot be simulated.
"""

import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "blender"))

import harness

harness.load_extension()

import renders  # noqa: E402
import rigs  # noqa: E402

LAST = 20


def make(folder: Path) -> None:
    scene = rigs.empty_file()
    obj = rigs.ragdoll(scene, LAST, 0.0)
    for bone in obj.data.bones:  # something to see
        box = bpy.data.objects.new(bone.name, rigs.box_mesh(bone.name, (0.12, bone.length, 0.12)))
        scene.collection.objects.link(box)
        box.parent, box.parent_type, box.parent_bone = obj, "BONE", bone.name
    renders.prepare(scene, "//unset")
    scene.camera.location, scene.camera.rotation_euler = (0.0, -5.0, 0.5), (1.5708, 0.0, 0.0)
    scene.world = bpy.data.worlds.new("Light")
    render = scene.render
    render.engine = "CYCLES"
    render.film_transparent = True
    scene.cycles.samples = 1
    render.resolution_x = render.resolution_y = 48
    render.image_settings.file_format = "BMP"  # nothing but pixels
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    scene.rigidbody_world.enabled = False
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "broken.blend"))


if __name__ == "__main__":
    make(Path(sys.argv[-1]))
