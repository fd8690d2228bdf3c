"""The command line: `blender --command active_ragdoll bake shot.blend ...`, and cli.py with the bpy wheel.

Exit codes: 0 done; 1 something is in the way; 2 wrong options; 130 interrupted, 143 told to end. Trouble is one line
on stderr. What is written is written whole or not at all.
"""

import argparse
import contextlib
import signal
import sys
import time
import traceback
from pathlib import Path

import bpy

from ..core.blender import bake, runtime
from ..core.blender.physics import build, world
from ..core.blender.rig import importing
from ..core.blender.run import simulate
from ..core.blender.settings import at_frame, effects
from ..core.blender.tools import diagnose, profiles
from ..core.errors import RagdollError
from ..core.ragdoll import drives
from . import farm, reports
from .shot import Progress, choose_range

PROGRAM = "active_ragdoll"
BONES = build.BONE_CHOICES
LAST_FRAME = 1048574  # Blender's own
WEIGHT = farm.number(float, 0.0, 1.0, "a weight is a number from 0 to 1")
FRAME = farm.number(int, -LAST_FRAME, LAST_FRAME, f"a frame is a whole number from -{LAST_FRAME} to {LAST_FRAME}")


class UsageError(Exception):
    """Options that cannot be understood; the text is one line."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that leaves the process alone: Blender has its own end."""

    def error(self, message):
        raise UsageError(f"{message} (see {self.prog} --help)")


def run(argv: list[str]) -> int:
    """Do what the arguments say and return the exit code; never raises and never exits."""
    signals = _Signals()
    try:
        options = _parser().parse_args(argv)
        _check_outputs(options)
        with signals:
            options.call(options)
        return 0
    except SystemExit:  # the parser's, once --help is printed
        return 0
    except UsageError as error:
        return _complain(error, 2)
    except (RagdollError, OSError, RuntimeError) as error:
        return _complain(error, 1)
    except KeyboardInterrupt:
        return _complain("interrupted", signals.code)
    except Exception:  # a fault of ours: the whole story helps to mend it
        traceback.print_exc()
        return 1


class _Signals:
    """While it lasts, SIGINT and SIGTERM raise KeyboardInterrupt; Blender's handlers swallow it, so it is noted too."""

    code = 128 + signal.SIGINT  # the exit code that tells of the last signal

    def __enter__(self):
        runtime.STATE.interrupted = False
        self._before = {}
        with contextlib.suppress(ValueError):  # not in the main thread: they are another's business
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_trouble):
        for number, before in self._before.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)

    def _note(self, number, _frame):
        self.code = 128 + number
        runtime.STATE.interrupted = True
        raise KeyboardInterrupt


def _complain(trouble, code: int) -> int:
    text = " ".join(str(trouble).split()) or type(trouble).__name__
    sys.stdout.flush()
    print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)
    return code


def _parser() -> _Parser:
    parser = _Parser(prog=PROGRAM, description="Gives animated characters a physical body.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for name, call, text, report in (
        ("bake", _bake, "simulate a character and write the result to keyframes", "the figures of the run"),
        ("build", _build, "give a character its ragdoll", "its figures and a diagnosis"),
        ("info", _info, "the armatures of a file, their ragdolls and the frame range", "the diagnosis of its ragdolls"),
    ):
        sub = commands.add_parser(name, help=text)
        sub.set_defaults(call=call)
        add = sub.add_argument
        add("file", metavar="FILE", help="a .blend, .glb, .gltf, .fbx or .bvh")
        if call is not _info:
            add("--armature", metavar="NAME", help="the character; not needed where there is only one armature")
            shown = ", ".join(preset[1] for preset in profiles.PRESETS)
            add("--profile", metavar="FILE_OR_PRESET", help=f"settings from a .json, or of a preset: {shown}")
            add("--bones", choices=BONES, help="which bones get a body (DEFORM); a ragdoll is then built anew")
            add("--output", type=Path, metavar="OUT.blend", help="save the file there; without it nothing is saved")
        if call is _bake:
            text = "what is baked (the shot); the simulation begins where the shot does"
            add("--frames", nargs=2, type=FRAME, metavar=("A", "B"), help=text)
            farm.add_choice(sub)
            add("--rotation", type=WEIGHT, metavar="W", help="rotation weight, 0 to 1")
            add("--translation", type=WEIGHT, metavar="W", help="translation weight, 0 to 1")
            add("--drive", choices=[law.identifier for law in drives.LAWS], help="what leads the bodies")
            add("--space", choices=("WORLD", "JOINT"), help="led in the world, or each against its parent")
            for parameter in drives.parameters():
                name, shown, text = parameter.option
                add(f"--{name}", type=float, metavar=shown, help=text, dest=parameter.setting)
            text = "an impulse [N s] on the middle of a bone's body at a frame; may be given more than once"
            add("--hit", nargs=5, action="append", default=[], metavar=("BONE", "FRAME", "X", "Y", "Z"), help=text)
        add("--report", type=Path, metavar="OUT.json", help=f"write {report} there")
    farm.add_commands(commands)
    return parser


# ---- the commands ---------------------------------------------------------------------------------------------------
def _build(options) -> None:
    scene, obj = _open(options)
    built = _ragdoll_of(obj, scene, options)
    diagnosis = _diagnosis(obj, scene)
    figures = reports.figures_of(obj, scene, built)
    reports.save(options.output)
    _report(options, {**figures, "diagnosis": diagnosis})


def _bake(options) -> None:
    if options.frames and options.frames[0] >= options.frames[1]:
        raise UsageError(f"--frames {options.frames[0]} {options.frames[1]}: the first must come before the last")
    scene, obj = _open(options)
    shot = world.shot_range(scene)
    first, last = options.frames or shot
    # Before building, which looks at the animation of the shot.
    choose_range(scene, min(shot[0], first), max(shot[1], last))
    given = {"drive": options.drive, "drive_space": options.space}
    given |= {"rotation_weight": options.rotation, "translation_weight": options.translation}
    for parameter in drives.parameters():
        value = given[parameter.setting] = getattr(options, parameter.setting)
        if value is not None:
            parameter.check(f"'{obj.name}'", value)
    built = _ragdoll_of(obj, scene, options, given)
    choose_range(scene, min(shot[0], first), last)  # a piece of a shot begins where the shot does
    for note in effects.add_given_hits(obj, scene, options.hit):
        print(f"warning: {note}")
    diagnosis = _diagnosis(obj, scene)
    if options.report:
        simulate.forget(scene)  # figures come from a run, not from what is kept of an earlier one
    report = _bake_and_measure(obj, scene, (first, last), farm.choice_of(options), bool(options.report))
    carried = bake.controls_of(obj)
    for text in [*runtime.STATE.warnings.get(obj.name, ()), *(bake.notes_on(carried) if carried else ())]:
        print(f"warning: {text}")
    print(f"baked frames {first} to {last} of '{obj.name}' to the action '{obj.active_ragdoll.baked_action.name}'")
    figures = reports.figures_of(obj, scene, built) | {"frames": [first, last]} | report
    reports.save(options.output)
    _report(options, figures | {"diagnosis": diagnosis})


def _set(obj, name: str, value) -> None:
    """Give the character a setting that an option states; one that is keyed would win over it."""
    if value is None:
        return
    if at_frame.is_keyed(obj, name):
        what = f"The {name.replace('_', ' ')} of '{obj.name}'"
        raise RagdollError(f"{what} is keyed or driven: the option would do nothing")
    setattr(obj.active_ragdoll, name, value)


def _bake_and_measure(obj, scene, wanted: tuple[int, int], choice: bake.Choice, measuring: bool) -> dict:
    """Bake frames of a character; figures of the run and of the bake when asked for."""
    progress = Progress("baking", *world.shot_range(scene))
    recorder = reports.Recorder(scene, [obj]) if measuring else None
    began = time.perf_counter()
    try:
        for frame in bake.bake_frames(obj, scene, *wanted, choice):
            if recorder:
                recorder.after_frame(frame)
            progress.show(frame)
    finally:
        progress.end()
    if not recorder:
        return {}
    seconds = time.perf_counter() - began
    messages = [text for text in (runtime.STATE.messages.get(name) for name in (obj.name, scene.name)) if text]
    return {"bake_seconds": seconds, **recorder.figures(obj), "messages": messages}


def _info(options) -> None:
    path = importing.open_file(options.file)
    scene = bpy.context.scene
    first, last = world.shot_range(scene)
    fps = scene.render.fps / scene.render.fps_base
    print(f"{path.name}: scene '{scene.name}', frames {first} to {last} at {fps:.6g} fps")
    armatures, found = _armatures(scene), {}
    if not armatures:
        print("no armature")
    for obj in armatures:
        action, settings = obj.animation_data.action if obj.animation_data else None, obj.active_ragdoll
        motion, ragdoll = "no action", "no ragdoll"
        if action is not None:
            motion = "action '{}', frames {:.6g} to {:.6g}".format(action.name, *action.frame_range)
        if settings.is_ragdoll:
            weights = f"weights {settings.rotation_weight:.3g}/{settings.translation_weight:.3g}"
            counts = f"{len(settings.parts)} bodies, {sum(bool(part.parent) for part in settings.parts)} joints"
            ragdoll = f"ragdoll {settings.state}, {counts}, {weights}"
        print(f"armature '{obj.name}': {len(obj.data.bones)} bones, {motion}, {ragdoll}")
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
    other = scene.objects.get(name)
    if other in armatures:
        return other
    if other is not None and other.type != "ARMATURE":
        raise RagdollError(f"{file}: '{name}' is a {other.type.lower()}, not an armature; there is {listed}")
    raise RagdollError(f"{file}: no armature '{name}' in scene '{scene.name}'; there is {listed}")


def _ragdoll_of(obj, scene, options, given=None):
    """Build the character's ragdoll: `build.Built`; None where it has one and no option asks for another.

    The settings that are given win over those of a profile."""
    settings, bones = obj.active_ragdoll, options.bones
    if options.profile is not None:
        read = profiles.read if options.profile.lower().endswith(".json") else profiles.preset
        applied = profiles.apply(obj, read(options.profile))
        print("; ".join([f"profile {options.profile} on '{obj.name}': {applied.text()}", *applied.notes]))
        if any(bone.active_ragdoll.simulate for bone in obj.pose.bones):
            bones = bones or "KEEP"
    for name, value in (given or {}).items():  # before building, which makes what the drive needs
        _set(obj, name, value)
    if settings.is_ragdoll and not bones:
        print(f"'{obj.name}' has a ragdoll: {len(settings.parts)} bodies")
        return None
    built = build.build(obj, scene, bones or "DEFORM")
    print(f"built '{obj.name}': {built.text()}")
    return built


def _check_outputs(options) -> None:
    """Refuse outputs that could not be written, before any work is done; a farm's tasks make their folders."""
    if options.command.startswith("farm"):
        return
    for name, suffix in (("output", ".blend"), ("report", ".json")):
        path = getattr(options, name, None)
        if path is not None and path.suffix.lower() != suffix:
            raise UsageError(f"'{path}' does not end in {suffix}")
        if path is not None and not path.resolve().parent.is_dir():
            raise RagdollError(f"{path}: there is no folder {path.resolve().parent}")


def _diagnosis(obj, scene) -> list[dict]:
    """Print what would make the ragdoll unstable; the findings for the report."""
    found = diagnose.diagnose(obj, scene)
    for finding in found:
        print(f"{finding.severity.lower()}: {finding.text}. {finding.remedy}")
    keys = "kind", "severity", "bones", "text", "remedy", "operator"
    return [{key: getattr(finding, key) for key in keys} for finding in found]


def _report(options, figures: dict) -> None:
    if options.report:
        written = {"output_sha256": reports.sha256_of(options.output)} if getattr(options, "output", None) else {}
        reports.write(options.report, options.file, written | figures)
