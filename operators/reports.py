"""What the command line writes: .blend files and reports, each whole or not at all."""

import contextlib
import hashlib
import json
import os
from pathlib import Path

import bpy
import numpy as np

from ..core.blender import bake, preferences, runtime
from ..core.blender.physics import world
from ..core.blender.tools import measure

SCHEMA = 1  # version of the reports' form, described in docs/report.schema.json
DIGITS = 6  # significant digits of a report's figures


def save(path: Path | None) -> None:
    if runtime.STATE.interrupted:  # noted where Blender swallowed it
        raise KeyboardInterrupt
    if path is None:
        print("not saved: no --output")
        return
    with whole(path.resolve()) as unfinished:
        bpy.ops.wm.save_as_mainfile(filepath=str(unfinished), check_existing=False, copy=True)
    print(f"saved {path.resolve()}")


@contextlib.contextmanager
def whole(path: Path):
    """A file to write beside the one that is meant, whose place it takes when it is whole."""
    unfinished = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def versions() -> dict:
    own = preferences.manifest()["version"]
    return {"active_ragdoll": own, "blender": bpy.app.version_string, "numpy": np.__version__}


def write(path: Path, file, figures: dict) -> None:
    saved_by = {} if Path(file).is_dir() else {"file_version": ".".join(map(str, bpy.data.version))}
    report = {"schema": SCHEMA, **versions(), "file": str(file), **saved_by, **figures}
    with whole(path.resolve()) as unfinished:
        unfinished.write_text(json.dumps(_rounded(report), indent=2) + "\n", encoding="utf-8")
    print(f"report {path.resolve()}")


class Recorder:
    """Figures of a run of several characters: how well they follow, the worst that happened, what is shown."""

    def __init__(self, scene, characters) -> None:
        self.scene, self._at = scene, None
        self._meter = measure.Meter(scene)
        self._worst = {obj.name: measure.Worst(obj, scene) for obj in characters}
        self._poses = {obj.name: {} for obj in characters}

    def after_frame(self, frame: int) -> None:
        """To be called after every frame; nothing is read while the scene stands still, as when controls are solved."""
        if self.scene.frame_current == self._at:
            return
        self._at = self.scene.frame_current
        self._meter.after_frame()
        for name, of_one in self._worst.items():
            of_one.after_frame()
            self._poses[name][frame] = bake.shown_pose(of_one.obj, self.scene)

    def figures(self, obj) -> dict:
        """For the report; with the deviation of the bake, and of its controls, where the character is baked."""
        poses = self._poses[obj.name]
        seen = b"".join(poses[frame].astype("<f4").tobytes() for frame in sorted(poses))  # as precise as Blender's
        baked = {"bake_deviation": bake.deviation(obj, self.scene, poses)} if obj.active_ragdoll.muted else {}
        baked |= {"controls": carried} if (carried := bake.controls_of(obj)) else {}
        found = {"poses_sha256": hashlib.sha256(seen).hexdigest()} | baked | self._meter.summary(character=obj.name)
        warnings = list(runtime.STATE.warnings.get(obj.name, ()))
        return found | {"worst": self._worst[obj.name].summary(), "warnings": warnings}


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def figures_of(obj, scene, built) -> dict:
    """What a character and its shot are."""
    settings = obj.active_ragdoll
    parts, fps = settings.parts, scene.render.fps / scene.render.fps_base
    joints, mass = sum(bool(part.parent) for part in parts), sum(part.body.rigid_body.mass for part in parts)
    found = {"scene": scene.name, "character": obj.name, "bones": len(obj.data.bones), "bodies": len(parts)}
    found |= {"joints": joints, "mass_kg": mass, "height_m": settings.height}
    found |= {"frames": list(world.shot_range(scene)), "fps": fps}
    found |= {"steps_per_second": scene.rigidbody_world.substeps_per_frame * fps}
    found |= {name: getattr(settings, name) for name in ("rotation_weight", "translation_weight")}
    actions = {"action": settings.baked_action, "old_action": settings.old_action}
    found |= {key: action.name if action else None for key, action in actions.items()}
    return found | {"notes": list(built.notes) if built else []}


def _rounded(value):
    """Floats of a report without the noise of single precision."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
