"""How the command line ends: signals, results that cannot be written, several view layers. Old results stay."""

import os
import signal

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.run import pipeline

LAST = 12
OLD = b"what stood before"
pytestmark = pytest.mark.blender_version
SENSELESS = (
    (("--profile", ""), "Unknown preset ''"),
    (("--drive", "SPRING", "--frequency", "1000"), "1000"),
    (("--drive", "SPRING", "--frequency", "nan"), "nan"),
    (("--drive", "SPRING", "--damping", "4"), "4"),
)


def _saved(path):
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


@pytest.fixture
def file(fresh_scene, tmp_path):
    """A .blend of a character with a soft ragdoll."""
    rigs.ragdoll(fresh_scene, LAST, 0.3)
    return _saved(tmp_path / "shot.blend")


@pytest.fixture
def old_output(tmp_path):
    path = tmp_path / "out.blend"
    path.write_bytes(OLD)
    return path


def _left_over(folder) -> list:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("number", "code"), ((signal.SIGINT, 130), (signal.SIGTERM, 143)))
@pytest.mark.parametrize("where", ("step", "observe"))
def test_a_signal_within_a_handler(call, file, old_output, monkeypatch, number, code, where):
    inner = getattr(pipeline, where)

    def signalled(run, *given):
        if run.frame == 5:
            os.kill(os.getpid(), number)
        return inner(run, *given)

    monkeypatch.setattr(pipeline, where, signalled)
    before = signal.getsignal(number) or signal.SIG_DFL  # None: not set from Python, so Python cannot put it back
    assert call("bake", file, "--output", old_output)[::2] == (code, ["active_ragdoll: interrupted"])
    assert old_output.read_bytes() == OLD and not _left_over(old_output.parent)
    assert signal.getsignal(number) == before


def test_a_signal_in_another_s_handler(call, file, old_output):
    """Which Blender swallows, and our own handlers do not see."""

    def handler(scene, _graph=None):
        if scene.frame_current == 5:
            os.kill(os.getpid(), signal.SIGINT)

    handler._bpy_persistent = None
    bpy.app.handlers.frame_change_post.append(handler)
    try:
        assert call("bake", file, "--output", old_output)[0] == 130
    finally:
        bpy.app.handlers.frame_change_post.remove(handler)
    assert old_output.read_bytes() == OLD


def test_a_shot_that_cannot_be_simulated(call, file, old_output, tmp_path):
    bpy.context.scene.rigidbody_world.enabled = False
    code, _out, errors = call("bake", _saved(file), "--output", old_output, "--report", tmp_path / "report.json")
    assert code == 1 and len(errors) == 1 and "switched off" in errors[0] and old_output.read_bytes() == OLD
    assert not (tmp_path / "report.json").exists()


def test_a_report_that_cannot_be_written_costs_nothing(call, file, tmp_path):
    report, output = tmp_path / "report.json", tmp_path / "out.blend"
    report.mkdir()
    code, out, errors = call("bake", file, "--output", output, "--report", report)
    assert code == 1 and len(errors) == 1 and "report.json" in errors[0]
    assert "saved" in out and rigs.opened(output)[1].active_ragdoll.state == "BAKED"
    assert not _left_over(tmp_path)


@pytest.mark.parametrize(("options", "message"), SENSELESS)
def test_options_that_make_no_sense(call, file, options, message):
    code, _out, errors = call("bake", file, *options)
    assert code == 1 and len(errors) == 1 and message in errors[0], errors


def test_a_drive_that_is_stated_wins_over_the_profile_s(call, file, tmp_path):
    profile = tmp_path / "profile.json"
    assert bpy.ops.active_ragdoll.export_profile(filepath=str(profile)) == {"FINISHED"}
    assert '"drive": "VELOCITY"' in profile.read_text()
    assert call("bake", file, "--profile", profile, "--drive", "SPRING")[0] == 0
    assert bpy.data.objects["Human"].active_ragdoll.drive == "SPRING"


def test_several_view_layers_bake_the_same(call, file, tmp_path):
    found = []
    for more in ((), ("Second", "Third")):
        scene = bpy.context.scene
        bpy.context.window.view_layer = [scene.view_layers[0], *map(scene.view_layers.new, more)][-1]
        assert call("bake", _saved(file), "--output", tmp_path / "baked.blend")[0] == 0
        found.append(rigs.baked_keys())
        bpy.ops.wm.open_mainfile(filepath=str(file))
    assert found[0] == found[1] != {}
