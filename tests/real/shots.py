"""Inside a real Blender that has the extension: what the tests of farms and of renders begin and end with.

    blender --background --python shots.py -- farm | controls | compare | renders FOLDER [OPTION ...]

farm: four shots in `shots`, their bakes by this very process in `local`; controls: one of a generated Rigify human,
with options of the bake. compare: these bakes with those in `out`, bit for bit. renders: `shot` has a live ragdoll that
falls, in 20 frames; `broken` is the same and cannot be simulated."""

import sys
from pathlib import Path

import bpy

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / place) for place in (".", "tests/blender")]

import harness  # noqa: E402

harness.load_extension()

import renders as rendered  # noqa: E402
import rigs  # noqa: E402
from active_ragdoll.core.blender.physics import build  # noqa: E402
from active_ragdoll.operators import command_line  # noqa: E402
from demo.character import generate_rigify  # noqa: E402

SHOTS = {"a": (1.0, 10), "b/a": (0.5, 12), "c": (0.2, 14), "d": (0.0, 16)}  # name: (weight, last frame)


def _baked(folder: Path, name: str, obj, weight: float, bone: str, *chosen: str) -> None:
    """Build a character that is hit, save it as a shot, and bake that."""
    shot, local = (folder / kind / f"{name}.blend" for kind in ("shots", "local"))
    for path in (shot, local):
        path.parent.mkdir(parents=True, exist_ok=True)
    rigs.set_weights(obj, weight)
    build.build(obj, bpy.context.scene, "MAIN" if chosen else "DEFORM")
    rigs.changed(obj.active_ragdoll.hits.add(), bone=bone, frame=4, impulse=(0.0, 30.0, 5.0))
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    assert command_line.run(["bake", str(shot), "--output", str(local), *chosen]) == 0


def farm(folder: Path) -> None:
    for name, (weight, last) in SHOTS.items():
        _baked(folder, name, rigs.swinging_human(rigs.empty_file(), 1, last), weight, "spine")


def controls(folder: Path, *chosen: str) -> None:
    scene = rigs.empty_file()
    metarig = rigs.metarig(scene, "human")
    obj = generate_rigify(metarig)
    bpy.data.objects.remove(metarig)
    rigs.set_range(scene, 1, 8)
    _baked(folder, "rigify", obj, 0.5, "DEF-spine.003", *chosen)


def compare(folder: Path) -> None:
    for local in (folder / "local").rglob("*.blend"):
        found, own = (rigs.baked_keys(folder / kind / local.relative_to(folder / "local")) for kind in ("out", "local"))
        assert found == own != {}, local


def renders(folder: Path) -> None:
    scene = rigs.empty_file()
    obj = rigs.ragdoll(scene, 20, 0.0)
    for bone in obj.data.bones:  # something to see
        box = rigs.added(scene, bone.name, rigs.box_mesh(bone.name, (0.12, bone.length, 0.12)))
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
    verb, place, *options = sys.argv[sys.argv.index("--") + 1 :]
    {"farm": farm, "controls": controls, "compare": compare, "renders": renders}[verb](Path(place), *options)
