"""How exactly bodies and final poses follow their animation, on real rigs, against stated aims.

    python dev.py bench tracking [--only NAME ...] [--frames N] [--json FILE]

24 frames per second, 240 steps per second, gravity on, without and with self-collision. Angles and positions are
means over all bodies and all frames after the first half second, positions as if the character were 1.8 m tall.

    1/1     weights 1/1, nothing to touch: errors of the bodies, and of the final pose as the bones show it
    1/0     rotation alone: the character falls freely and keeps the animation's orientations
    limp    60 frames limp above a floor, then 1/1: frames until the mean error is within 0.5 deg for good; the
            worst body 24 frames after is printed without an aim, since it swings with the animation's own speed
    repeat  the same run twice: every body's matrix equal to the last bit
    scene   moved, turned, scaled together with gravity (1/1, without self-collision): largest relative change of
            the error figures. Changes below 0.01 deg and 0.05 mm count as none: a tenth of the aims and less is
            the rounding of single precision in the solver
"""

from math import radians

import _characters
import bpy
import numpy as np
from mathutils import Euler

import rigs
from active_ragdoll.core.blender.physics import build as builder
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import measure

SMALLEST = {"deg": 0.01, "mm": 0.05}  # changes that do not count
LIMP_FRAMES, BACK_FRAMES, BACK_DEG = 60, 24, 0.5
FALL_FRAMES = 48  # a free fall of 2 s
AIMS = {
    "1/1 bodies deg": 0.15,
    "1/1 bodies mm": 1.0,
    "1/1 pose deg": 0.15,
    "1/1 pose mm": 1.0,
    "1/1 joints mm": 0.5,
    "1/1 joints worst mm": 15.0,
    "1/0 bodies deg": 2.0,
    "1/0 joints mm": 2.0,
    "1/0 joints worst mm": 15.0,
    "limp: frames until back": float(BACK_FRAMES),
    "repeat: largest difference": 0.0,
    "scene: largest change %": 10.0,
}
# name, location [m], rotation [deg], scale
SCENES = (
    ("moved", (12.0, -7.0, 3.0), (0.0, 0.0, 0.0), 1.0),
    ("turned", (0.0, 0.0, 0.0), (110.0, 35.0, -70.0), 1.0),
    ("ten times", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 10.0),
    ("a tenth", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1),
)


def set_weights(subject: _characters.Subject, rotation: float, translation: float) -> None:
    """Weights of the whole character."""
    settings = subject.armature.active_ragdoll
    settings.rotation_weight, settings.translation_weight = rotation, translation


def measured(subject: _characters.Subject, last: int, skip_seconds: float = 0.5) -> tuple[dict, np.ndarray]:
    """Meter figures of one run, and all body matrices [frames, bodies, 4, 4]."""
    meter = measure.Meter(subject.scene)

    def read() -> np.ndarray:
        meter.after_frame()
        return rigs.bodies(subject.armature)

    record = rigs.play(subject.scene, subject.frame_start, last, read)
    return meter.summary(skip_seconds), np.array(record)


def recovery(subject: _characters.Subject) -> tuple[float, float]:
    """After 60 limp frames: frames at 1/1 until the mean is within 0.5 deg for good, and the worst body after 24."""
    first = subject.frame_start
    set_weights(subject, 0.0, 0.0)
    rigs.play(subject.scene, first, first + LIMP_FRAMES - 1)
    errors = []
    for frame in range(first + LIMP_FRAMES, first + LIMP_FRAMES + 2 * BACK_FRAMES + 1):
        subject.scene.frame_set(frame)
        if frame == first + LIMP_FRAMES:
            set_weights(subject, 1.0, 1.0)
            continue
        meter = measure.Meter(subject.scene)
        meter.after_frame()
        errors.append(meter.summary(skip_seconds=-1e9)["orientation_error_deg"])
    outside = np.flatnonzero(np.array([error["mean"] for error in errors]) > BACK_DEG)
    frames = float(outside[-1] + 2) if len(outside) else 1.0
    return frames, errors[BACK_FRAMES - 1]["max"]


def own_separation(subject: _characters.Subject) -> float:
    """How far [mm of 1.8 m] the animation itself takes joints apart at most, in the frame shown."""
    wanted = STATE.runs[subject.scene.name].wanted
    parts = subject.armature.active_ragdoll.parts
    index = {part.bone: i for i, part in enumerate(parts)}
    bind = np.array([part.bind for part in parts]).reshape(-1, 4, 4)
    head = (bind @ np.linalg.inv(np.array([part.offset for part in parts]).reshape(-1, 4, 4)))[:, :, 3:]
    carried = wanted @ np.linalg.inv(bind)
    gaps = [carried[i] @ head[i] - carried[index[p.parent]] @ head[i] for i, p in enumerate(parts) if p.parent]
    return 1800.0 * max(float(np.linalg.norm(gap)) for gap in gaps) / subject.armature.active_ragdoll.height


def build(subject: _characters.Subject, self_collision: bool) -> None:
    """A fresh ragdoll with 240 steps a second."""
    _characters.ensure_world(subject.scene)
    subject.scene.rigidbody_world.substeps_per_frame = 10
    subject.armature.active_ragdoll.self_collision = self_collision
    builder.build(subject.armature, subject.scene)


def figures(name: str, self_collision: bool, frames: int) -> dict:
    """All figures of one character but its scene's."""
    subject = _characters.load(name)
    # The shot may be longer than the clip: the character then stands still at its end.
    needed = subject.frame_start + max(frames, LIMP_FRAMES + 2 * BACK_FRAMES)
    last = min(subject.frame_start + frames, max(subject.frame_end, subject.frame_start + FALL_FRAMES))
    subject.scene.frame_end = max(needed, subject.frame_end)
    build(subject, self_collision)

    set_weights(subject, 1.0, 1.0)
    exact, one = measured(subject, last)
    _again, two = measured(subject, last)
    result = {
        "1/1 bodies deg": exact["orientation_error_deg"]["mean"],
        "1/1 bodies mm": exact["position_error_mm"]["mean"],
        "1/1 pose deg": exact["pose_orientation_error_deg"]["mean"],
        "1/1 pose mm": exact["pose_position_error_mm"]["mean"],
        "1/1 joints mm": exact["joint_separation_mm"]["mean"],
        "1/1 joints worst mm": exact["joint_separation_mm"]["max"],
    }
    own = rigs.play(subject.scene, subject.frame_start, last, lambda: own_separation(subject))
    result["clip's own joints worst mm"] = max(own)
    set_weights(subject, 1.0, 0.0)
    falling, _record = measured(subject, subject.frame_start + FALL_FRAMES)
    result |= {
        "1/0 bodies deg": falling["orientation_error_deg"]["mean"],
        "1/0 joints mm": falling["joint_separation_mm"]["mean"],
        "1/0 joints worst mm": falling["joint_separation_mm"]["max"],
    }
    height = subject.armature.active_ragdoll.height
    lowest = float(np.min(one[:, :, 2, 3]))
    subject.scene.frame_set(subject.frame_start)
    _characters.add_floor(subject.scene, lowest - 0.2 * height, 60.0 * height, height)
    result["limp: frames until back"], result["limp: worst deg then"] = recovery(subject)
    result["repeat: largest difference"] = float(np.max(np.abs(one - two)))
    result["bodies"] = len(subject.armature.active_ragdoll.parts)
    result["worst bone"] = exact["worst_bone"]["bone"]
    return result


def scene_change(name: str, frames: int) -> dict:
    """Error figures at 1/1 without self-collision in scenes moved, turned and scaled with their gravity."""
    found = {}
    for title, location, turn, scale in (("as it is", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 1.0), *SCENES):
        subject = _characters.load(name)
        top = subject.armature
        while top.parent is not None:
            top = top.parent
        root = bpy.data.objects.new("Root", None)
        root.location, root.scale = location, (scale,) * 3
        root.rotation_euler = Euler([radians(angle) for angle in turn])
        subject.scene.collection.objects.link(root)
        top.parent = root
        gravity = root.rotation_euler.to_matrix() @ subject.scene.gravity
        subject.scene.gravity = gravity * scale
        subject.scene.frame_end = max(subject.frame_end, subject.frame_start + FALL_FRAMES)
        last = min(subject.frame_start + frames, subject.scene.frame_end)
        build(subject, False)
        set_weights(subject, 1.0, 1.0)
        summary, _record = measured(subject, last)
        found[title] = {
            "deg": summary["orientation_error_deg"]["mean"],
            "mm": summary["position_error_mm"]["mean"],
        }
    base = found["as it is"]
    changes = {
        title: {key: _change(base[key], other[key], SMALLEST[key]) for key in base}
        for title, other in found.items()
        if title != "as it is"
    }
    return {"figures": found, "changes_percent": changes}


def _change(before: float, after: float, smallest: float) -> float:
    """Relative change in percent."""
    return 0.0 if abs(after - before) < smallest else 100.0 * abs(after / before - 1.0)


def run(only: list[str], frames: int) -> tuple[dict, bool]:
    """Print the tables."""
    report, names, missed = {"aims": AIMS, "without": {}, "with": {}, "scenes": {}}, [], 0
    for name in only:
        try:
            _characters.load(name)
            names.append(name)
        except _characters.Missing as error:
            print(f"skipped {name}: {error}")
    for kind in ("without", "with"):
        found = report[kind] = {name: figures(name, kind == "with", frames) for name in names}
        if kind == "without":
            for name in names:
                report["scenes"][name] = scenes = scene_change(name, frames)
                changes = [value for one in scenes["changes_percent"].values() for value in one.values()]
                found[name]["scene: largest change %"] = max(changes)
        rows = []
        for figure, aim in AIMS.items():
            values = [found[name].get(figure) for name in names]
            missed += sum(value is not None and value > aim for value in values)
            said = ["-" if v is None else f"{v:.3f} {_characters.verdict(v <= aim)}" for v in values]
            rows.append([figure, f"{aim:g}", *said])
        for figure in ("limp: worst deg then", "clip's own joints worst mm", "bodies", "worst bone"):
            rows.append([figure, "", *(found[name][figure] for name in names)])
        _characters.print_table(f"{kind} self-collision", ("figure", "aim", *names), rows)
    rows = []
    for name in names:
        changes = report["scenes"][name]["changes_percent"]
        rows.append([name, *(f"{changes[s[0]]['deg']:.1f} / {changes[s[0]]['mm']:.1f}" for s in SCENES)])
    _characters.print_table("scene: change of deg / mm, %", ("", *(s[0] for s in SCENES)), rows)
    return report | {"missed": missed}, not missed


if __name__ == "__main__":
    _characters.bench(run, __doc__, only=list(_characters.SUBJECTS), frames=150)
