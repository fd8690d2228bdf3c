"""Many shots on a farm: an Open Job Description job in which each shot is a task, and what its tasks do.

The template (specification 2023-09) runs with `openjd run` and on farms that take such jobs. Progress and trouble are
told in the lines that the specification reads from a task's output: `openjd_progress`, `openjd_status`, `openjd_fail`.
"""

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import bpy

from ..core.blender import bake
from ..core.blender.physics import world
from ..core.blender.rig import importing
from ..core.blender.run import shot_run, simulate
from ..core.errors import RagdollError
from . import reports

TEMPLATE = "active_ragdoll.template.json"
PARAMETERS = "active_ragdoll.parameters.json"  # a template cannot name a folder outside its own
TASKS = 1024  # the specification's bound on the values of a task parameter
COMMAND = ["--background", "--command", "active_ragdoll"]
RESULT = "{{Param.Output}}/{{Task.Param.Name}}"
# Frames that are there are not rendered again.
RENDER = ["--background", f"{RESULT}.blend", "--python-exit-code", "1", "--python-expr"]
RENDER += ["import bpy; bpy.context.scene.render.use_overwrite = False", "--render-output", f"{RESULT}/####"]
RENDER += ["--frame-start", "{{Task.Param.First}}", "--frame-end", "{{Task.Param.Last}}", "--render-anim"]
ROOT = Path(__file__).resolve().parents[1]
FARM = ROOT / "presets" / "farm"


def add_commands(commands) -> None:
    sub = commands.add_parser("farm", help="write a job for a render farm in which each shot is a task")
    sub.add_argument("shots", nargs="+", type=Path, metavar="SHOT.blend", help="files with built ragdolls")
    sub.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of the job and of its results")
    sub.add_argument("--project", type=Path, metavar="DIR", help="folder of the shots and what they link to")
    kind = sub.add_mutually_exclusive_group()
    kind.add_argument("--bake", dest="kind", action="store_const", const="bake", help="to keyframes (the default)")
    kind.add_argument("--cache", dest="kind", action="store_const", const="cache", help="keep it as Blender's cache")
    sub.add_argument("--render", action="store_true", help="render the results, too")
    sub.add_argument("--chunk", type=COUNT, metavar="N", help="frames that one task renders; all without it")
    add_choice(sub)
    sub.set_defaults(call=write_job, kind="bake", refuse=sub.error)
    sub = commands.add_parser("farm-shot", help="a task of such a job: simulate one shot")
    sub.add_argument("file", type=Path, metavar="SHOT.blend")
    sub.add_argument("--output", type=Path, required=True, metavar="OUT.blend")
    sub.add_argument("--report", type=Path, required=True, metavar="OUT.json")
    sub.add_argument("--cache", action="store_true", help="keep Blender's cache in place of keyframes")
    add_choice(sub)
    sub.set_defaults(call=do_shot)
    sub = commands.add_parser("farm-report", help="the last task of such a job: one report of all shots")
    sub.add_argument("folder", type=Path, metavar="DIR")
    sub.add_argument("--report", type=Path, required=True, metavar="OUT.json")
    sub.set_defaults(call=write_report)


def number(kind: type, low: float, high: float, what: str):
    """What reads the number of an option; `what` says between which bounds it has to be."""

    def read(text: str):
        with contextlib.suppress(ValueError):
            if low <= (value := kind(text)) <= high:
                return value
        raise argparse.ArgumentTypeError(f"{what}, not '{text}'")

    return read


COUNT = number(int, 1, math.inf, "a number of frames is 1 or more")

# Options of what a bake writes: name, values with the default first, text. Without values it is a switch.
CHOICE = (
    ("keyed-bones", ("all", "simulated", "selected"), "which get keys: all that moves (all), ..."),
    ("to", ("auto", "deform", "controls"), "what gets keys: bones, or controls; controls where a rig has them (auto)"),
    ("limbs", ("fk", "ik", "as_keyed"), "how controls lead limbs with switches (fk)"),
    ("exact-joints", (), "keep limbs from stretching, so that knees and elbows of IK are exact"),
    ("active-frames", (), "only frames in which physics changes the animation"),
    ("root-motion", ("stay", "object", "root"), "what carries the way over the ground: the body (stay), ..."),
    (
        "destination",
        ("new", "current", "layer", "combined-layer"),
        "where keys go: a new action (new), the current one, an NLA strip over it, one that adds to it",
    ),
)


def add_choice(sub) -> None:
    for name, values, text in CHOICE:
        how = {"choices": values, "default": values[0]} if values else {"action": "store_true"}
        sub.add_argument(f"--{name}", help=text, **how)
    sub.add_argument("--loop", type=COUNT, default=0, metavar="N", help="a cycle, closed over its last N frames")


def choice_of(options) -> bake.Choice:
    return bake.Choice(
        bones=options.keyed_bones.upper(),
        frames=bake.ACTIVE if options.active_frames else bake.RANGE,
        destination=options.destination.removeprefix("combined-").upper(),
        combined=options.destination.startswith("combined"),
        to=options.to.upper(), root_motion=options.root_motion.upper(), limbs=options.limbs.upper(),
        exact_joints=options.exact_joints, loop=options.loop,
    )  # fmt: skip


def _chosen(options) -> list[str]:
    """The options that are not as by default, as a command line has them."""
    given = {name: getattr(options, name.replace("-", "_")) for name in (*(name for name, *_rest in CHOICE), "loop")}
    defaults = {name: values[0] if values else False for name, values, _text in CHOICE} | {"loop": 0}
    named = [(f"--{name}", value) for name, value in given.items() if value != defaults[name]]
    return [word for name, value in named for word in ((name,) if value is True else (name, str(value)))]


def write_job(options) -> None:
    """`farm`: write the extension's zip, the template and Flamenco's job type into the output folder."""
    if options.chunk and not options.render:
        options.refuse("--chunk divides what is rendered: it needs --render")
    shots, project = _shots(options.shots, options.project)
    names = [shot.relative_to(project).with_suffix("").as_posix() for shot in shots]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RagdollError(f"{project / twice}: two shots of this name would be written to one file")
    frames = _frames(shots, options.chunk) if options.render else []
    folder = options.output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    archive = _zip(folder)
    job = template(names, [shot.suffix for shot in shots], archive.name, options.kind, frames, _chosen(options))
    path = folder / TEMPLATE
    path.write_text(json.dumps(job, indent=2) + "\n", encoding="utf-8")
    values = folder / PARAMETERS
    values.write_text(json.dumps({"Project": str(project), "Output": str(folder)}, indent=2) + "\n", encoding="utf-8")
    (folder / "flamenco.js").write_bytes((FARM / "flamenco.js").read_bytes())
    print(f"{len(shots)} shots: {path}")
    print(f"run it here: openjd run {path} --step Report --run-dependencies -p file://{values}")


def _shots(given: list, folder: Path | None) -> tuple[list[Path], Path]:
    """The shots, and the folder of the project, that holds all of them and what they link to."""
    shots = [path.resolve() for path in given]
    for path in shots:
        if path.suffix.lower() != ".blend":
            raise RagdollError(f"{path}: a shot is a .blend file in which a ragdoll is built")
        if not path.is_file():
            raise RagdollError(f"{path}: there is no such file")
    if len(shots) > TASKS:
        raise RagdollError(f"{len(shots)} shots are too many for one job, which takes {TASKS}: write several jobs")
    try:
        project = folder.resolve() if folder else Path(os.path.commonpath([shot.parent for shot in shots]))
    except ValueError:
        raise RagdollError("The shots are on several drives: write a job for each") from None
    for shot in shots:
        if not shot.is_relative_to(project):
            raise RagdollError(f"{shot}: is not in the project's folder {project}")
    return shots, project


def _zip(folder: Path) -> Path:
    """The extension as it runs here, built by Blender's own tool."""
    tool = next(Path(bpy.utils.system_resource("SCRIPTS")).rglob("bl_pkg/cli/blender_ext.py"), None)
    if tool is None:
        raise RagdollError("This Blender has no tool to build extensions: its add-on 'bl_pkg' is missing")
    command = [sys.executable, tool, "build", "--source-dir", ROOT, "--output-dir", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    built = sorted(folder.glob("active_ragdoll-*.zip"), key=lambda path: path.stat().st_mtime)
    if done.returncode or not built:
        raise RagdollError(f"The extension could not be packed: {(done.stderr or done.stdout).strip()}")
    return built[-1]


def _frames(shots: list[Path], chunk: int | None) -> list[tuple[int, int, int]]:
    """What the render's tasks do: (number of the shot, first frame, last frame)."""
    result = []
    for number, shot in enumerate(shots):
        importing.open_file(str(shot))
        scene = bpy.context.scene
        if not any(shown.camera for shown in simulate.shown_scenes(scene)):
            raise RagdollError(f"{shot}: scene '{scene.name}' has no camera to render with")
        size = chunk or scene.frame_end - scene.frame_start + 1
        size = math.ceil(size / scene.frame_step) * scene.frame_step  # so that each begins at a frame of the whole
        firsts = range(scene.frame_start, scene.frame_end + 1, size)
        result += [(number, first, min(first + size - 1, scene.frame_end)) for first in firsts]
    if len(result) > TASKS:
        raise RagdollError(f"{len(result)} pieces to render are too many for one job, which takes {TASKS}: use --chunk")
    return result


def template(names: list, suffixes: list, archive: str, kind: str, frames: list, choice=()) -> dict:
    """The job template.

    Args:
        names: of the shots, relative to the project's folder and without suffix; the outputs have them too.
        suffixes: of the shots' files. archive: the extension's zip, beside the template. kind: "bake" or "cache".
        frames: what is rendered, as from `_frames`; no render without. choice: options of the bake.
    """
    shots = [f"{{{{RawParam.Project}}}}/{name}{suffix}" for name, suffix in zip(names, suffixes, strict=True)]
    simulate_one = ["farm-shot", "{{Task.Param.Shot}}", "--output", f"{RESULT}.blend", "--report", f"{RESULT}.json"]
    simulate_one += ["--cache"] * (kind == "cache") + [*choice]
    steps = [_step("Simulate", [*COMMAND, *simulate_one], Shot=("PATH", shots), Name=("STRING", names))]
    if frames:
        numbers, first, last = (list(values) for values in zip(*frames, strict=True))
        pieces = {"Name": ("STRING", [names[i] for i in numbers]), "First": ("INT", first), "Last": ("INT", last)}
        steps.append(_step("Render", RENDER, ["Simulate"], **pieces))
    report = ["farm-report", "{{Param.Output}}", "--report", "{{Param.Output}}/report.json"]
    steps.append(_step("Report", [*COMMAND, *report], [step["name"] for step in steps]))
    job = json.loads((FARM / "openjd.json").read_text(encoding="utf-8"))
    next(each for each in job["parameterDefinitions"] if each["name"] == "Extension")["default"] = archive
    return job | {"name": f"Active Ragdoll {kind}", "steps": steps}


def _step(name: str, arguments: list[str], after=(), **parameters) -> dict:
    """A step that runs Blender, after others. parameters: of its tasks, by name their type and values."""
    end = {"mode": "NOTIFY_THEN_TERMINATE", "notifyPeriodInSeconds": 30}
    action = {"command": "{{Param.Blender}}", "args": arguments, "cancelation": end}
    step = {"name": name, "script": {"actions": {"onRun": action}}}
    if after:
        step["dependencies"] = [{"dependsOn": other} for other in after]
    if parameters:
        definitions = [{"name": n, "type": kind, "range": values} for n, (kind, values) in parameters.items()]
        step["parameterSpace"] = {"taskParameterDefinitions": definitions, "combination": f"({', '.join(parameters)})"}
    return step


def do_shot(options) -> None:
    """`farm-shot`: simulate one shot and bake all its characters, or keep the simulation as the cache."""
    try:
        if not options.file.is_file():
            raise RagdollError(f"{options.file}: there is no such file")
        given = {  # another shot, extension or option makes a result out of date
            "shot_sha256": reports.sha256_of(options.file),
            "kind": "cache" if options.cache else "bake",
            "options": _chosen(options),
            "active_ragdoll": reports.versions()["active_ragdoll"],
            "blender": bpy.app.version_string,
        }
        if _is_done(options, given):
            print(f"openjd_status: {options.file.name} is done already", flush=True)
            return
        for path in (options.output, options.report):
            path.parent.mkdir(parents=True, exist_ok=True)
        _simulate_and_write(options, given)
    except (RagdollError, OSError, RuntimeError) as error:
        print(f"openjd_fail: {options.file.name}: {' '.join(str(error).split())}", flush=True)
        raise


def _is_done(options, given: dict) -> bool:
    """Whether both results are there, whole, and made from what is given now."""
    try:
        report = json.loads(options.report.read_text(encoding="utf-8"))
        return report["given"] == given and report["output_sha256"] == reports.sha256_of(options.output)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _simulate_and_write(options, given: dict) -> None:
    path = importing.open_file(options.file)
    scene = bpy.context.scene
    characters = shot_run.active_ragdolls(scene)
    if not characters:
        raise RagdollError(f"no ragdoll to simulate in scene '{scene.name}': build one and save the file")
    simulate.forget(scene)
    recorder = reports.Recorder(scene, characters)
    # The first bake is simulated, which gives the same keys as a local one; the others read its cache.
    choice = choice_of(options)
    frames = simulate.frames(scene) if options.cache else bake.bake_frames(characters[0], scene, choice=choice)
    (first, last), said = world.shot_range(scene), 0
    print(f"openjd_status: {path.name}, frames {first} to {last}", flush=True)
    for frame in frames:
        recorder.after_frame(frame)
        share = 20 * (frame - first + 1) // (last - first + 1)
        if share > said:
            said = share
            print(f"openjd_progress: {5 * share}", flush=True)
    for obj in () if options.cache else characters[1:]:
        list(bake.bake_frames(obj, scene, choice=choice))
    figures = {obj.name: recorder.figures(obj) for obj in characters}
    reports.save(options.output)
    result = {"given": given, "output_sha256": reports.sha256_of(options.output), "characters": figures}
    result |= {"scene": scene.name, "frames": [first, last]}
    reports.write(options.report, options.file, result)


def write_report(options) -> None:
    """`farm-report`: the reports of all shots in one, the worst figures first."""
    folder = options.folder.resolve()
    found = [path for path in sorted(folder.rglob("*.json")) if path.with_suffix(".blend").is_file()]
    if not found:
        raise RagdollError(f"{folder}: no shot has been simulated there")
    shots = {path.relative_to(folder).with_suffix("").as_posix(): json.loads(path.read_text("utf-8")) for path in found}
    reports.write(options.report, folder, {"shots": shots})
