"""A farm's job: what the template says, and its tasks, which give what a local bake gives, once."""

import json

import bpy
import numpy as np
import pytest

import control_rigs
import renders
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.operators import farm

LAST = 14
REFUSED = [
    (["missing.blend"], "missing.blend: there is no such file"),
    (["rig.fbx"], "rig.fbx: a shot is a .blend file"),
    (["one.blend", "--project", "elsewhere"], "is not in the project's folder"),
    (["one.blend", "one.blend"], "two shots of this name"),
    (["one.blend", "--chunk", "5"], "it needs --render"),
    (["one.blend", "--chunk", "0", "--render"], "a number of frames is 1 or more"),
    (["one.blend", "--bake", "--cache"], "not allowed with"),
]


def _shot(path, characters: int = 1, last: int = LAST):
    """A file with swinging humans with ragdolls that give way."""
    scene = rigs.empty_file()
    for number in range(characters):
        obj = rigs.swinging_human(scene, 1, last)
        obj.name = f"Human {number}"
        obj.location.x = 3.0 * number
        obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.5
        build.build(obj, scene)
    path.parent.mkdir(exist_ok=True)
    renders.prepare(scene, path.with_suffix(""))
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def _task(call, shot, folder, *more):
    out = folder / shot.stem
    return call("farm-shot", shot, "--output", f"{out}.blend", "--report", f"{out}.json", *more)


def test_a_task_writes_what_a_local_bake_writes_and_not_again_until_its_shot_changes(call, tmp_path):
    shot = _shot(tmp_path / "shots" / "one.blend")
    assert call("bake", shot, "--output", tmp_path / "local.blend")[0] == 0
    code, out, _errors = _task(call, shot, tmp_path / "farm")
    assert code == 0
    shares = [float(line.split()[1]) for line in out.splitlines() if line.startswith("openjd_progress:")]
    assert shares == sorted(shares) and shares[-1] == 100.0
    assert rigs.baked_keys(tmp_path / "farm" / "one.blend") == rigs.baked_keys(tmp_path / "local.blend") != {}
    result = tmp_path / "farm" / "one.blend"
    before = result.stat().st_mtime_ns
    assert "is done already" in _task(call, shot, tmp_path / "farm")[1]
    assert result.stat().st_mtime_ns == before
    assert "is done already" not in _task(call, shot, tmp_path / "farm", "--cache")[1], "another kind of result"
    result.write_bytes(result.read_bytes()[:-7])
    assert "is done already" not in _task(call, shot, tmp_path / "farm")[1], "half a file"
    _shot(shot, last=LAST - 1)
    assert "is done already" not in _task(call, shot, tmp_path / "farm")[1], "another shot"


def test_a_task_bakes_to_controls_and_measures_what_is_simulated(call, tmp_path):
    scene, shot = rigs.empty_file(), tmp_path / "rig.blend"
    obj = control_rigs.layered(scene)
    rigs.key(obj.pose.bones["spine"], "rotation_quaternion", {1: (1, 0, 0, 0), LAST: (1.0, 0.2, 0.1, 0.05)})
    rigs.set_range(scene, 1, LAST)
    build.build(obj, scene, np.array([bone.name.startswith("DEF-") for bone in obj.data.bones]))
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    chosen = ["--to", "controls", "--limbs", "ik", "--keyed-bones", "simulated", "--destination", "layer"]
    local, report = tmp_path / "local.blend", tmp_path / "local.json"
    assert call("bake", shot, "--output", local, "--report", report, *chosen)[0] == 0
    assert _task(call, shot, tmp_path / "farm", *chosen)[0] == 0
    assert rigs.baked_keys(tmp_path / "farm" / "rig.blend") == rigs.baked_keys(local) != {}
    of_task = json.loads((tmp_path / "farm" / "rig.json").read_text())["characters"]["Layered"]
    for figures in (json.loads(report.read_text()), of_task):
        assert figures["measured_frames"] == LAST - 13 and figures["bake_deviation"] < 5e-3
        assert figures["controls"]["DEF-hand.L"]["control"] == "IK-hand.L"


def test_all_characters_of_a_shot_are_simulated_together(call, tmp_path):
    shot = _shot(tmp_path / "shots" / "two.blend", characters=2)
    assert _task(call, shot, tmp_path)[0] == 0
    report = json.loads((tmp_path / "two.json").read_text())
    assert {name for name, _path, _index in rigs.baked_keys(tmp_path / "two.blend")} == {"Human 0", "Human 1"}
    for figures in report["characters"].values():
        assert figures["bake_deviation"] < 1e-5 and figures["measured_frames"] > 0
    assert call("farm-shot", shot, "--output", tmp_path / "c.blend", "--report", tmp_path / "c.json", "--cache")[0] == 0
    cached = json.loads((tmp_path / "c.json").read_text())["characters"]
    for name, figures in report["characters"].items():
        assert cached[name]["poses_sha256"] == figures["poses_sha256"], "cache or keys: the same motion"
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "c.blend"))
    assert bpy.context.scene.rigidbody_world.point_cache.is_baked


def test_a_broken_shot_fails_by_name_and_leaves_nothing(call, tmp_path):
    broken = tmp_path / "broken.blend"
    broken.write_bytes(b"not a blend file")
    code, out, errors = _task(call, broken, tmp_path / "farm")
    assert code == 1 and "broken.blend" in errors[0]
    assert [line for line in out.splitlines() if line.startswith("openjd_fail: broken.blend: ")]
    assert not list((tmp_path / "farm").glob("*"))
    rigs.empty_file()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "empty.blend"))
    code, _out, errors = _task(call, tmp_path / "empty.blend", tmp_path / "farm")
    assert code == 1 and "no ragdoll" in errors[0]


def test_the_report_has_every_shot(call, tmp_path):
    for name in ("one", "two"):
        assert _task(call, _shot(tmp_path / "shots" / f"{name}.blend"), tmp_path / "farm")[0] == 0
    assert call("farm-report", tmp_path / "farm", "--report", tmp_path / "farm" / "report.json")[0] == 0
    assert set(json.loads((tmp_path / "farm" / "report.json").read_text())["shots"]) == {"one", "two"}
    assert call("farm-report", tmp_path / "shots", "--report", tmp_path / "r.json")[0] == 1, "no results there"


def test_the_job_names_shots_by_their_place_in_the_project(call, tmp_path):
    shots = [_shot(tmp_path / "shots" / "one.blend"), _shot(tmp_path / "shots" / "b" / "one.blend")]
    chosen = ["--limbs", "ik", "--exact-joints", "--root-motion", "object", "--loop", "6"]
    code, out, _errors = call("farm", *shots, "--output", tmp_path / "out", "--render", "--chunk", "5", *chosen)
    assert code == 0 and "openjd run" in out
    job = json.loads((tmp_path / "out" / farm.TEMPLATE).read_text())
    steps = {step["name"]: step for step in job["steps"]}
    assert sorted(steps["Simulate"]["script"]["actions"]["onRun"]["args"][-7:]) == sorted(chosen)
    space = {p["name"]: p["range"] for p in steps["Simulate"]["parameterSpace"]["taskParameterDefinitions"]}
    places = ["{{RawParam.Project}}/one.blend", "{{RawParam.Project}}/b/one.blend"]
    assert space == {"Shot": places, "Name": ["one", "b/one"]}
    chunks = [p["range"] for p in steps["Render"]["parameterSpace"]["taskParameterDefinitions"]]
    pieces = [(name, *piece) for name in ("one", "b/one") for piece in ((1, 5), (6, 10), (11, LAST))]
    assert list(zip(*chunks, strict=True)) == pieces
    assert [each["dependsOn"] for each in steps["Report"]["dependencies"]] == ["Simulate", "Render"]
    archives = list((tmp_path / "out").glob("active_ragdoll-*.zip"))
    paths = {p["name"]: p for p in job["parameterDefinitions"] if p["type"] == "PATH"}
    assert paths["Extension"]["default"] == archives[0].name and paths["Extension"]["dataFlow"] == "IN"
    assert paths["Output"]["dataFlow"] == "OUT" and paths["Project"]["objectType"] == "DIRECTORY"
    values = json.loads((tmp_path / "out" / farm.PARAMETERS).read_text())
    assert values == {"Project": str(tmp_path / "shots"), "Output": str(tmp_path / "out")}
    assert (tmp_path / "out" / "flamenco.js").is_file()


def test_the_pieces_of_a_render_have_the_frames_of_the_whole(call, tmp_path):
    shot = _shot(tmp_path / "one.blend")
    bpy.context.scene.frame_step = 3
    bpy.ops.wm.save_mainfile()
    pieces = farm._frames([shot], 5)
    assert [f for _shot, first, last in pieces for f in range(first, last + 1, 3)] == list(range(1, LAST + 1, 3))
    assert len(pieces) == 3


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_a_job_that_cannot_be_written_is_refused(call, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.blend").write_bytes(b"")
    code, _out, errors = call("farm", *arguments, "--output", "out")
    assert code in (1, 2) and message in errors[0]
    assert not (tmp_path / "out").exists()
