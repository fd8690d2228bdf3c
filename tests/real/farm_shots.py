"""Inside a real Blender that has the extension: makes four shots in a folder and bakes them in this very process, or
compares these bakes with those of a farm.

    blender --background --python farm_shots.py -- make FOLDER
    blender --background --python farm_shots.py -- compare FOLDER
"""

import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "blender"))

import harness

harness.load_extension()

import rigs  # noqa: E402
from active_ragdoll.core.blender.physics import build  # noqa: E402
from active_ragdoll.operators import command_line  # noqa: E402

SHOTS = {"a": (1.0, 10), "b/a": (0.5, 12), "c": (0.2, 14), "d": (0.0, 16)}  # name: (weight, last frame)


def make(folder: Path) -> None:
    """Shots in `shots`, their bakes in `local`."""
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
    """What the farm wrote in `out` holds the same keys, bit for bit, as what was baked here."""
    for name in SHOTS:
        farm, local = (rigs.baked_keys(folder / kind / f"{name}.blend") for kind in ("out", "local"))
        assert farm == local != {}, name


if __name__ == "__main__":
    verb, folder = sys.argv[sys.argv.index("--") + 1 :]
    {"make": make, "compare": compare}[verb](Path(folder))
