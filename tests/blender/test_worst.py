"""The worst that happened in a run, in the report: where, when, and how much."""

import json
from pathlib import Path

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.tools.measure import Worst

LAST = 20
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"


def _summary(obj, scene) -> dict:
    found = Worst(obj, scene)
    for _frame in simulate.frames(scene):
        found.after_frame()
    return found.summary()


def test_a_character_that_follows_in_the_air_has_nothing_to_tell(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST)
    found = _summary(obj, fresh_scene)
    assert found["joint_gap_m"]["value"] < 1e-3 * obj.active_ragdoll.height
    assert found["limit_excess_deg"]["value"] < 1.0
    assert found["penetration_m"] == {"value": 0.0, "bone": None, "frame": None, "object": None}
    assert found["capped_frames"] == found["rescued_frames"] == 0


def test_a_block_that_is_entered_and_drives_that_fall_behind_are_told(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST)
    obj.pose.bones["shin.L"].active_ragdoll.body_mode = "KINEMATIC"
    obj.pose.bones["shin.R"].active_ragdoll.body_mode = "KINEMATIC"
    fresh_scene.frame_set(1)
    shins = [rigs.part(obj, f"shin.{side}").body for side in "LR"]
    lowest = min((body.matrix_world @ vertex.co).z for body in shins for vertex in body.data.vertices)
    rigs.box(fresh_scene, "Block", (4.0, 4.0, 1.0), (0.0, 0.0, lowest - 0.47), passive=True)
    rigs.set_weights(obj, 0.3)
    rigs.changed(obj.active_ragdoll.hits.add(), bone="head", frame=5, impulse=(0.0, 60.0, 0.0))
    summary = _summary(obj, fresh_scene)
    found = summary["penetration_m"]
    assert found["object"] == "Block" and found["value"] >= 0.025, "kinematic shins are not pushed out"
    assert 0 < summary["capped_frames"] < LAST, "while its drives are far behind"


def test_a_joint_beyond_its_limits_is_told_by_bone(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST)
    own = obj.pose.bones["forearm.L"].active_ragdoll
    own.body_mode = obj.pose.bones["arm.L"].active_ragdoll.body_mode = "KINEMATIC"
    own.joint, own.limit_min, own.limit_max = "CONE", (-0.01,) * 3, (0.01,) * 3
    found = _summary(obj, fresh_scene)["limit_excess_deg"]
    assert found["bone"] == "forearm.L" and 15.0 < found["value"] < 40.0, "it swings by 25 degrees, held by no joint"


@pytest.mark.parametrize("command", ("bake", "info", "farm-report"))
def test_reports_have_the_form_that_the_schema_describes(call, tmp_path, command):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    shot, report = tmp_path / "shot.blend", tmp_path / "out" / "shot.json"
    report.parent.mkdir()
    rigs.ragdoll(rigs.empty_file(), LAST, weight=0.5)
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    output = ["--output", tmp_path / "out" / "shot.blend"] if command != "info" else []
    assert call("farm-shot" if command == "farm-report" else command, shot, *output, "--report", report)[0] == 0
    if command == "farm-report":
        assert call(command, report.parent, "--report", tmp_path / "all.json")[0] == 0
        report = tmp_path / "all.json"
    found = json.loads(report.read_text())
    jsonschema.validate(found, schema)
    found["schema"] = "another"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, schema)


def test_equal_runs_have_equal_hashes(call, tmp_path):
    rigs.ragdoll(rigs.empty_file(), LAST, weight=0.5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    found = []
    for rotation in ("0.5", "0.5", "0.4"):
        report = tmp_path / f"{len(found)}.json"
        assert call("bake", tmp_path / "shot.blend", "--rotation", rotation, "--report", report)[0] == 0
        found.append(json.loads(report.read_text())["poses_sha256"])
    assert found[0] == found[1] != found[2] and {len(each) for each in found} == {64}
