"""Inside a real Blender that has the extension: what the tests of farms and of renders begin and end with.

    blender --background --python shots.py -- farm | compare | renders FOLDER

farm: four shots in `shots`, their bakes by this very process in `local`. compare: these bakes with those in `out`, bit
for bit. renders: `shot` has a live ragdoll that falls, in 20 frames; `broken` is the same and cannot be simulated.
"""

import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "blender"))

import harness

harness.load_extension()

import renders as rendered  # noqa: E402
import rigs  # noqa: E402
from active_ragdoll.core.blender.physics import build  # noqa: E402
from active_ragdoll.operators import command_line  # noqa: E402

SHOTS = {"a": (1.0, 10), "b/a": (0.5, 12), "c": (0.2, 14), "d": (0.0, 16)}  # name: (weight, last frame)


def farm(folder: Path) -> None:
    for name, (weight, last) in SHOTS.items():
        shot, local = (folder / kind / f"{name}.blend" for kind in ("shots", "local"))
        for path in (shot, local):
            path.parent.mkdir(parents=True, exist_ok=True)
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scene = bpy.context.scene
        obj = rigs.swinging_human(scene, 1, last)
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = weight
        build.build(obj, scene)
        hit = obj.active_ragdoll.hits.add()
        hit.bone, hit.frame, hit.impulse = "spine", 4, (0.0, 30.0, 5.0)
        bpy.ops.wm.save_as_mainfile(filepath=str(shot))
        assert command_line.run(["bake", str(shot), "--output", str(local)]) == 0


def compare(folder: Path) -> None:
    for name in SHOTS:
        found, local = (rigs.baked_keys(folder / kind / f"{name}.blend") for kind in ("out", "local"))
        assert found == local != {}, name


def renders(folder: Path) -> None:
    scene = rigs.empty_file()
    obj = rigs.ragdoll(scene, 20, 0.0)
    for bone in obj.data.bones:  # something to see
        box = bpy.data.objects.new(bone.name, rigs.box_mesh(bone.name, (0.12, bone.length, 0.12)))
        scene.collection.objects.link(box)
        box.parent, box.parent_type, box.parent_bone = obj, "BONE", bone.name
    rendered.prepare(scene, "//unset")
    scene.camera.location, scene.camera.rotation_euler = (0.0, -5.0, 0.5), (1.5708, 0.0, 0.0)
    scene.world = bpy.data.worlds.new("Light")
    render = scene.render
    render.engine, render.film_transparent, scene.cycles.samples = "CYCLES", True, 1
    render.resolution_x = render.resolution_y = 48
    render.image_settings.file_format = "BMP"  # nothing but pixels
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "shot.blend"))
    scene.rigidbody_world.enabled = False
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "broken.blend"))


if __name__ == "__main__":
    verb, place = sys.argv[sys.argv.index("--") + 1 :]
    {"farm": farm, "compare": compare, "renders": renders}[verb](Path(place))
