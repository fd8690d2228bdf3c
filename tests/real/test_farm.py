"""A farm's job, run by openjd-cli with a real Blender: killed half-way, started again, with one broken shot."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OPENJD = Path(sys.executable).with_name("openjd")
NAMES = ("a", "b/a", "c", "d")


class Job:
    """A job in a folder, and the command that runs it."""

    def __init__(self, folder: Path, blender, *chosen: str) -> None:
        self.output = folder / "out"
        shots = sorted((folder / "shots").rglob("*.blend"))
        done = blender("--background", "--command", "active_ragdoll", "farm", *shots, "--output", self.output, *chosen)
        assert done.returncode == 0, done.stdout
        # The specification takes one program as a command.
        program = folder / "blender"
        program.write_text(f'#!/bin/sh\nexec {os.environ["BLENDER"]} "$@"\n')
        program.chmod(0o755)
        self.template = self.output / "active_ragdoll.template.json"
        values = f"file://{self.output / 'active_ragdoll.parameters.json'}"
        self.command = [OPENJD, "run", self.template, "-p", values, "-p", f"Blender={program}"]

    def start(self, step: str) -> subprocess.Popen:
        """Start a step of the job in a group of processes of its own."""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen([*self.command, "--step", step], text=True, start_new_session=True, **streams)

    def finish(self, step: str) -> tuple[int, str]:
        """Run it to its end."""
        process = self.start(step)
        said, _none = process.communicate(timeout=600)
        return process.returncode, said


@pytest.fixture(scope="module")
def job(tmp_path_factory, script, blender) -> Job:
    """Four shots and a broken one."""
    folder = tmp_path_factory.mktemp("farm")
    script("shots.py", "farm", folder)
    (folder / "shots" / "wrong.blend").write_text("no file of Blender's")
    return Job(folder, blender)


def test_the_template_is_valid(job, run):
    done = run(OPENJD, "check", job.template)
    assert "passes validation checks" in done.stdout, done.stdout


def test_killed_half_way_and_started_again_it_finishes_what_is_missing(job, script):
    process = job.start("Simulate")
    until = time.monotonic() + 300
    while not (job.output / "a.json").is_file() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert (job.output / "a.json").is_file() and not (job.output / "d.json").is_file()
    before = (job.output / "a.blend").stat().st_mtime_ns
    code, said = job.finish("Simulate")
    assert code != 0, "one shot is broken"
    assert re.findall(r"openjd_fail: (\S+?\.blend)", said) == ["wrong.blend"]
    assert "openjd_status: a.blend is done already" in said and "openjd_progress: 100" in said
    assert (job.output / "a.blend").stat().st_mtime_ns == before
    script("shots.py", "compare", job.output.parent)


def test_the_report_step_tells_of_all(job):
    code, said = job.finish("Report")
    assert code == 0, said
    assert set(json.loads((job.output / "report.json").read_text())["shots"]) == set(NAMES)


def test_a_generated_rig_is_baked_to_its_controls_in_a_layer(tmp_path, script, blender):
    chosen = ["--to", "controls", "--limbs", "ik", "--keyed-bones", "simulated", "--destination", "layer"]
    script("shots.py", "controls", tmp_path, *chosen)
    job = Job(tmp_path, blender, *chosen)
    code, said = job.finish("Simulate")
    assert code == 0, said
    script("shots.py", "compare", tmp_path)
    (figures,) = json.loads((job.output / "rigify.json").read_text())["characters"].values()
    assert figures["bake_deviation"] < 0.02 and figures["controls"]["DEF-forearm.L"]["control"] == "hand_ik.L"
