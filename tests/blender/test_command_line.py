"""The command line: exit codes, one line on stderr, the files it writes; and cli.py in a process of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import bpy
import pytest

import rigs
import third_party

REPO = Path(__file__).resolve().parents[2]
IS_WHEEL = not bpy.app.binary_path
WRONG = [
    ([], "required"),
    (["dance"], "invalid choice: 'dance'"),
    (["bake"], "FILE"),
    (["bake", "x.blend", "--frames", "1"], "--frames"),
    (["bake", "x.blend", "--frames", "9", "9"], "--frames 9 9: the first must come before the last"),
    (["bake", "x.blend", "--frames", "1", "99999999999"], "99999999999"),
    (["bake", "x.blend", "--frames", "-99999999999", "1"], "99999999999"),
    (["bake", "x.blend", "--frames", "1", "2.5"], "a whole number"),
    (["bake", "x.blend", "--rotation", "1.5"], "a weight is a number from 0 to 1, not '1.5'"),
    (["bake", "x.blend", "--translation", "nan"], "not 'nan'"),
    (["bake", "x.blend", "--bones", "SOME"], "invalid choice: 'SOME'"),
    (["bake", "x.blend", "--output", "out.fbx"], "'out.fbx' does not end in .blend"),
    (["bake", "x.blend", "--report", "out.txt"], "'out.txt' does not end in .json"),
    (["info", "x.blend", "--frames", "1", "2"], "unrecognized arguments"),
]


def data(name: str) -> str:
    return str(third_party.data(name))


def kept(name: str) -> str:
    """The same, imported before."""
    rigs.load(name)
    return str(rigs.KEPT / f"{name}.blend")


@pytest.fixture
def two_armatures(fresh_scene, tmp_path) -> Path:
    """A .blend with two armatures of one bone and a mesh."""
    for name in ("First", "Second"):
        rigs.armature(fresh_scene, {"bone": ((0, 0, 0), (0, 0, 1), None)}, name)
    rigs.added(fresh_scene, "Prop", bpy.data.meshes.new("Prop"))
    path = tmp_path / "two.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_options_are_two(call, arguments, message):
    code, _out, errors = call(*arguments)
    assert code == 2
    assert len(errors) == 1 and message in errors[0], errors


def test_trouble_with_files_is_one(call, tmp_path):
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "broken.blend").write_text("nothing\n")
    wrong = {"none.blend": "no such file", "text.txt": "unknown kind", "broken.blend": "could not read"}
    for name, message in wrong.items():
        code, _out, errors = call("info", tmp_path / name)
        assert code == 1
        assert len(errors) == 1 and message in errors[0] and name in errors[0], errors


def test_character_is_chosen_by_name(call, two_armatures):
    for wrong, message in (
        ((), "several armatures, choose one with --armature: 'First', 'Second'"),
        (("--armature", "Third"), "no armature 'Third'"),
        (("--armature", "Prop"), "'Prop' is a mesh, not an armature"),
    ):
        code, _out, errors = call("build", two_armatures, *wrong)
        assert code == 1 and message in errors[0]
    code, out, errors = call("build", two_armatures, "--armature", "Second")
    assert code == 0 and not errors
    assert "built 'Second': 1 bodies, 0 joints" in out and "not saved: no --output" in out


@pytest.mark.blender_version
def test_build_then_info_then_bake_what_is_there(call, tmp_path):
    out_path = tmp_path / "knight.blend"
    code, out, errors = call("build", kept("Knight.glb"), "--output", out_path)
    assert code == 0 and not errors, errors
    assert out_path.is_file() and "bodies" in out
    code, out, _errors = call("info", out_path)
    assert code == 0 and "ragdoll READY" in out and out.count("armature '") == 1
    baked = tmp_path / "baked.blend"
    code, out, errors = call("bake", out_path, "--frames", 3, 12, "--rotation", 0.5, "--output", baked)
    assert code == 0 and not errors, errors
    assert "has a ragdoll" in out and "built" not in out and "baked frames 3 to 12" in out
    code, out, _errors = call("info", baked)
    assert "ragdoll BAKED" in out and "weights 0.5/1" in out
    assert re.search(r"frames \S+ to 12 at", out), "what was simulated begins where the shot does"
    code, _out, errors = call("bake", baked)
    assert code == 1 and len(errors) == 1 and "is baked: revert the bake first" in errors[0]


def test_bake_writes_scene_and_report(call, tmp_path):
    output, report = tmp_path / "out.blend", tmp_path / "out.json"
    for old in (output, report):
        old.write_text("what stood before")
    code, out, errors = call("bake", data("Knight.glb"), "--frames", 1, 30, "--output", output, "--report", report)
    assert code == 0 and not errors, errors
    lines = [line for line in out.splitlines() if line.startswith("baking: frame")]
    assert {path.name for path in tmp_path.iterdir()} == {"out.blend", "out.json"}, "and no temporary file"
    assert 8 <= len(lines) <= 10 and lines[-1].endswith("100%")
    figures = json.loads(report.read_text())
    assert figures["frames"] == [1, 30]
    assert figures["blender"] == bpy.app.version_string and figures["active_ragdoll"]
    assert figures["joints"] <= figures["bodies"] <= figures["bones"]
    assert figures["measured_frames"] == 30 - 12  # later than half a second, 12 frames at 24 fps
    assert figures["orientation_error_deg"]["mean"] <= 0.15  # the figures at weights 1/1
    assert figures["position_error_mm"]["mean"] <= 1.0
    assert figures["joint_separation_mm"]["mean"] <= 0.5
    assert figures["bake_deviation"] <= 1e-4
    assert figures["seconds_per_frame"]["own"] < figures["seconds_per_frame"]["total"]
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert bpy.context.scene.objects[figures["character"]].animation_data.action.name == figures["action"]
    assert figures["old_action"] in bpy.data.actions


@pytest.mark.blender_version
@pytest.mark.skipif(not IS_WHEEL, reason="cli.py is for the bpy wheel")
def test_cli_without_a_blender_program(two_armatures, tmp_path):
    def run(*arguments):
        program = [sys.executable, str(REPO / "cli.py"), *map(str, arguments)]
        return subprocess.run(program, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    done = run("info", "nothing.blend")
    assert done.returncode == 1 and "no such file" in done.stderr and "Traceback" not in done.stderr
    output = tmp_path / "built.blend"
    done = run("build", two_armatures, "--armature", "First", "--output", output)
    assert done.returncode == 0 and output.is_file(), done.stderr
