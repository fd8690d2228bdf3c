"""The command line: `blender --command active_ragdoll bake shot.blend ...`, and cli.py with the bpy wheel.

Exit codes: 0 done; 1 something is in the way; 2 wrong options. Trouble is one line on stderr.
"""

import argparse
import json
import sys
import time
import tomllib
import traceback
from pathlib import Path

import bpy
import numpy as np

from ..core.blender import (
    action_channels,
    bake,
    build,
    diagnose,
    hit_edits,
    importing,
    measure,
    pipeline,
    profiles,
    showing,
    world,
)
from ..core.errors import RagdollError
from ..core.ragdoll import springs
from .stepping import Progress, choose_range

PROGRAM = "active_ragdoll"
BONES = build.BONE_CHOICES
DIGITS = 6  # significant digits of a report's figures


class UsageError(Exception):
    """Options that cannot be understood; the text is one line."""


class _Finished(Exception):
    """--help was printed."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that leaves the process alone: Blender has its own end."""

    def error(self, message):
        raise UsageError(f"{message} (see {self.prog} --help)")

    def exit(self, status=0, message=None):
        raise _Finished


def run(argv: list[str]) -> int:
    """Do what the arguments say and return the exit code; never raises and never exits."""
    try:
        options = _parser().parse_args(argv)
        options.call(options)
        return 0
    except _Finished:
        return 0
    except UsageError as error:
        return _complain(error, 2)
    except (RagdollError, OSError, RuntimeError) as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except Exception:  # a fault of ours: the whole story helps to mend it
        traceback.print_exc()
        return 1


def _complain(trouble, code: int) -> int:
    text = " ".join(str(trouble).split()) or type(trouble).__name__
    sys.stdout.flush()
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)
    return code


def _parser() -> _Parser:
    parser = _Parser(prog=PROGRAM, description="Gives animated characters a physical body.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    file_help = "a .blend, .glb, .gltf, .fbx or .bvh"

    sub = commands.add_parser("bake", help="simulate a character and write the result to keyframes")
    _common(sub, file_help)
    sub.add_argument("--frames", nargs=2, type=int, metavar=("A", "B"), help="first and last frame (the scene's)")
    sub.add_argument("--rotation", type=_weight, metavar="W", help="rotation weight, 0 to 1")
    sub.add_argument("--translation", type=_weight, metavar="W", help="translation weight, 0 to 1")
    sub.add_argument("--drive", choices=("VELOCITY", "SPRING"), help="what leads the bodies")
    sub.add_argument("--space", choices=("WORLD", "JOINT"), help="led in the world, or each against its parent")
    sub.add_argument("--frequency", type=float, metavar="HZ", help="of the springs")
    sub.add_argument("--damping", type=float, metavar="RATIO", help="damping ratio of the springs")
    sub.add_argument(
        "--hit",
        nargs=5,
        action="append",
        default=[],
        metavar=("BONE", "FRAME", "X", "Y", "Z"),
        help="an impulse [N s] on the middle of a bone's body at a frame; may be given more than once",
    )
    sub.add_argument("--report", type=Path, metavar="OUT.json", help="write the figures of the run there")
    sub.set_defaults(call=_bake)

    sub = commands.add_parser("build", help="give a character its ragdoll")
    _common(sub, file_help)
    sub.add_argument("--report", type=Path, metavar="OUT.json", help="write its figures and a diagnosis there")
    sub.set_defaults(call=_build)

    sub = commands.add_parser("info", help="the armatures of a file, their ragdolls and the frame range")
    sub.add_argument("file", metavar="FILE", help=file_help)
    sub.add_argument("--report", type=Path, metavar="OUT.json", help="write the diagnosis of its ragdolls there")
    sub.set_defaults(call=_info)
    return parser


def _common(sub, file_help) -> None:
    sub.add_argument("file", metavar="FILE", help=file_help)
    sub.add_argument("--armature", metavar="NAME", help="the character; not needed where there is only one armature")
    sub.add_argument(
        "--profile",
        metavar="FILE_OR_PRESET",
        help="settings from a .json, or of a preset: " + ", ".join(shown for _id, shown, _text in profiles.PRESETS),
    )
    sub.add_argument("--bones", choices=BONES, help="which bones get a body (DEFORM); a ragdoll is then built anew")
    sub.add_argument(
        "--output", type=Path, metavar="OUT.blend", help="save the file there; without it nothing is saved"
    )


def _weight(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"a weight is a number from 0 to 1, not '{text}'")
    return value


# ---- the commands ---------------------------------------------------------------------------------------------------


def _build(options) -> None:
    _check_outputs(options.output, ".blend")
    _check_outputs(options.report, ".json")
    scene, obj = _open(options)
    made, line = _ragdoll_of(obj, scene, options)
    print(line)
    diagnosis = _diagnosis(obj, scene)
    _report(options, {**_figures_of(obj, scene, made), "diagnosis": diagnosis})
    _save(options.output)


def _bake(options) -> None:
    if options.frames and options.frames[0] >= options.frames[1]:
        raise UsageError(f"--frames {options.frames[0]} {options.frames[1]}: the first must come before the last")
    _check_outputs(options.output, ".blend")
    _check_outputs(options.report, ".json")
    scene, obj = _open(options)
    if options.frames:
        choose_range(scene, *options.frames)  # before building, which looks at the animation of the shot
    _choose_drive(obj, options)
    made, line = _ragdoll_of(obj, scene, options)
    print(line)
    settings = obj.active_ragdoll
    for name in ("rotation", "translation"):
        value = getattr(options, name)
        if value is not None:
            _refuse_keyed(obj, f"{name}_weight")
            setattr(settings, f"{name}_weight", value)
    choose_range(scene, 0, 0)
    for note in hit_edits.add_given(obj, scene, options.hit):
        print(f"warning: {note}")
    diagnosis = _diagnosis(obj, scene)
    if options.report:
        world.free_cache(scene)  # figures come from a run, not from what is kept of an earlier one
        showing.stop_showing(scene)
    report = _bake_and_measure(obj, scene, bool(options.report))
    first, last = world.shot_range(scene)
    for text in pipeline.STATE.warnings.get(obj.name, ()):
        print(f"warning: {text}")
    print(f"baked frames {first} to {last} of '{obj.name}' to the action '{settings.baked_action.name}'")
    _report(options, {**_figures_of(obj, scene, made), **report, "diagnosis": diagnosis})
    _save(options.output)


def _choose_drive(obj, options) -> None:
    """Before building, which makes what the drive needs."""
    settings = obj.active_ragdoll
    if options.drive:
        settings.drive = options.drive
    if options.space:
        settings.drive_space = options.space
    if options.frequency is not None or options.damping is not None:
        frequency = settings.spring_frequency if options.frequency is None else options.frequency
        ratio = settings.spring_damping_ratio if options.damping is None else options.damping
        springs.checked(f"'{obj.name}'", frequency, ratio)
        for name, option in (("spring_frequency", options.frequency), ("spring_damping_ratio", options.damping)):
            if option is not None:
                _refuse_keyed(obj, name)
                setattr(settings, name, option)


def _bake_and_measure(obj, scene, measuring: bool) -> dict:
    """Bake a character; figures of the run and of the bake when asked for."""
    first, last = world.shot_range(scene)
    progress = Progress("baking", first, last)
    meter = measure.Meter(scene) if measuring else None
    recorded = {}
    began = time.perf_counter()
    try:
        for frame in bake.frames(obj, scene):
            if meter:
                meter.after_frame()
                recorded[frame] = _pose(obj, scene)
            progress.show(frame)
    finally:
        progress.end()
    if not meter:
        return {}
    seconds = time.perf_counter() - began
    return {
        "bake_seconds": seconds,
        "bake_deviation": bake.deviation(obj, scene, recorded),
        **meter.summary(character=obj.name),
        "messages": [text for text in (pipeline.STATE.messages.get(name) for name in (obj.name, scene.name)) if text],
    }


def _info(options) -> None:
    _check_outputs(options.report, ".json")
    path = importing.open_file(options.file)
    scene = bpy.context.scene
    first, last = world.shot_range(scene)
    fps = scene.render.fps / scene.render.fps_base
    print(f"{path.name}: scene '{scene.name}', frames {first} to {last} at {fps:.6g} fps")
    armatures = _armatures(scene)
    if not armatures:
        print("no armature")
    found = {}
    for obj in armatures:
        data = obj.animation_data
        action = data.action if data else None
        motion = "no action"
        if action is not None:
            motion = "action '{}', frames {:.6g} to {:.6g}".format(action.name, *action.frame_range)
        settings = obj.active_ragdoll
        state = "no ragdoll"
        if settings.is_ragdoll:
            joints = sum(1 for part in settings.parts if part.parent)
            weights = f"weights {settings.rotation_weight:.3g}/{settings.translation_weight:.3g}"
            state = f"ragdoll {settings.state}, {len(settings.parts)} bodies, {joints} joints, {weights}"
        print(f"armature '{obj.name}': {len(obj.data.bones)} bones, {motion}, {state}")
        if settings.is_ragdoll:
            found[obj.name] = _diagnosis(obj, settings.scene or scene)
    _report(options, {"diagnosis": found})


# ---- files and characters -------------------------------------------------------------------------------------------


def _open(options):
    """Open or import the file; the scene and the character."""
    path = importing.open_file(options.file)
    scene = bpy.context.scene
    obj = _find_armature(scene, path.name, options.armature)
    if path.suffix.lower() != ".blend":
        importing.use_action(obj, scene)
    importing.make_active(obj)
    scene.frame_set(world.shot_range(scene)[0])
    return scene, obj


def _armatures(scene) -> list:
    """The scene's armatures without the helpers of ragdolls."""
    settings = [obj.active_ragdoll for obj in scene.objects if obj.type == "ARMATURE"]
    helpers = {helper for own in settings for helper in (own.physics_armature, own.target_armature)}
    return [obj for obj in scene.objects if obj.type == "ARMATURE" and obj not in helpers]


def _find_armature(scene, file: str, name: str | None):
    armatures = _armatures(scene)
    listed = ", ".join(f"'{obj.name}'" for obj in armatures[:8]) + (" and others" if len(armatures) > 8 else "")
    if not armatures:
        raise RagdollError(f"{file}: no armature in scene '{scene.name}'")
    if name is None:
        if len(armatures) > 1:
            raise RagdollError(f"{file}: several armatures, choose one with --armature: {listed}")
        return armatures[0]
    for obj in armatures:
        if obj.name == name:
            return obj
    other = scene.objects.get(name)
    if other is not None and other.type != "ARMATURE":
        raise RagdollError(f"{file}: '{name}' is a {other.type.lower()}, not an armature; there is {listed}")
    raise RagdollError(f"{file}: no armature '{name}' in scene '{scene.name}'; there is {listed}")


def _ragdoll_of(obj, scene, options):
    """The ragdoll that is there, or a new one: (build.Built or None, a line about it)."""
    settings = obj.active_ragdoll
    kept = _apply_profile(obj, options.profile) if options.profile else None
    bones = options.bones or kept
    if settings.is_ragdoll and not bones:
        return None, f"'{obj.name}' has a ragdoll: {len(settings.parts)} bodies"
    built = build.build(obj, scene, bones or "DEFORM")
    notes = "".join(f"; {note}" for note in built.notes)
    return built, f"built '{obj.name}': {built.bodies} bodies, {built.joints} joints, {built.mass:.4g} kg{notes}"


def _apply_profile(obj, text: str) -> str | None:
    """Put a file's or preset's settings on a character; the choice of bones when it says which are simulated."""
    applied = profiles.apply(obj, profiles.read_or_preset(text))
    notes = "".join(f"; {note}" for note in applied.notes)
    print(f"profile {text} on '{obj.name}': {applied.bones} bones, {applied.changed} settings changed{notes}")
    return "KEEP" if any(bone.active_ragdoll.simulate for bone in obj.pose.bones) else None


def _refuse_keyed(obj, name: str) -> None:
    """A value that is keyed would win over the one given."""
    path = f"active_ragdoll.{name}"
    data = obj.animation_data
    keyed = data is not None and any(driver.data_path == path for driver in data.drivers)
    if data is not None:
        keyed = keyed or any(curve.data_path == path for curve in action_channels.fcurves_of(data.action, obj))
    if keyed:
        raise RagdollError(
            f"The {name.replace('_', ' ')} of '{obj.name}' is keyed or driven: the option would do nothing"
        )


def _check_outputs(path: Path | None, suffix: str) -> None:
    """Before any work is done: could a result be written there?"""
    if path is None:
        return
    if path.suffix.lower() != suffix:
        raise UsageError(f"'{path}' does not end in {suffix}")
    if not path.resolve().parent.is_dir():
        raise RagdollError(f"{path}: there is no folder {path.resolve().parent}")


def _save(path: Path | None) -> None:
    if path is None:
        print("not saved: no --output")
        return
    bpy.ops.wm.save_as_mainfile(filepath=str(path.resolve()), check_existing=False)
    print(f"saved {path.resolve()}")


def _diagnosis(obj, scene) -> list[dict]:
    """Print what would make the ragdoll unstable; the findings for the report."""
    found = diagnose.diagnose(obj, scene)
    for finding in found:
        print(f"{finding.severity.lower()}: {finding.text}. {finding.remedy}")
    return [
        {key: getattr(f, key) for key in ("kind", "severity", "bones", "text", "remedy", "operator")} for f in found
    ]


# ---- the report -----------------------------------------------------------------------------------------------------


def _report(options, figures: dict) -> None:
    if options.report:
        report = {**_versions(), "file": str(options.file), **figures}
        options.report.write_text(json.dumps(_rounded(report), indent=2) + "\n", encoding="utf-8")
        print(f"report {options.report.resolve()}")


def _versions() -> dict:
    manifest = Path(__file__).resolve().parents[1] / "blender_manifest.toml"
    with manifest.open("rb") as stream:
        own = tomllib.load(stream)["version"]
    return {"active_ragdoll": own, "blender": bpy.app.version_string, "numpy": np.__version__}


def _figures_of(obj, scene, built) -> dict:
    settings = obj.active_ragdoll
    parts = settings.parts
    fps = scene.render.fps / scene.render.fps_base
    return {
        "scene": scene.name,
        "character": obj.name,
        "bones": len(obj.data.bones),
        "bodies": len(parts),
        "joints": sum(1 for part in parts if part.parent),
        "mass_kg": sum(part.body.rigid_body.mass for part in parts),
        "height_m": settings.height,
        "frames": list(world.shot_range(scene)),
        "fps": fps,
        "steps_per_second": scene.rigidbody_world.substeps_per_frame * fps,
        "rotation_weight": settings.rotation_weight,
        "translation_weight": settings.translation_weight,
        "action": settings.baked_action.name if settings.baked_action else None,
        "old_action": settings.old_action.name if settings.old_action else None,
        "notes": list(built.notes) if built else [],
    }


def _pose(obj, scene) -> np.ndarray:
    bones = obj.evaluated_get(pipeline.depsgraph_of(scene)).pose.bones
    pose = np.empty((len(bones), 4, 4), dtype=np.float32)
    bones.foreach_get("matrix", pose.reshape(-1))
    return pose


def _rounded(value):
    """Floats of a report without the noise of single precision."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value
