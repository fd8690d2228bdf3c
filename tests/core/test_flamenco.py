"""The job type for Flamenco, compiled by node with a stand-in for Flamenco's own objects."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "presets" / "farm" / "flamenco.js"
STAND_IN = """
const author = {
    Task: (name, type) => ({ name, type, commands: [], after: [],
        addCommand(command) { this.commands.push(command); },
        addDependency(other) { this.after.push(other.name); } }),
    Command: (name, parameters) => ({ name, ...parameters }),
};
function frameChunker(frames, size) {
    const [first, last] = frames.split("-").map(Number);
    const chunks = [];
    for (let at = first; at <= last; at += size) chunks.push(`${at}-${Math.min(at + size - 1, last)}`);
    return chunks;
}
const tasks = [];
const given = Object.fromEntries(JOB_TYPE.settings.filter(s => "default" in s).map(s => [s.key, s.default]));
compileJob({ settings: { ...given, ...SETTINGS }, addTask: task => tasks.push(task) });
console.log(JSON.stringify(tasks));
"""
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def compiled(**settings) -> list[dict]:
    """The tasks that the job type makes of a shot."""
    settings = {"blendfile": "/shots/fall.blend", "result": "/out/", "frames": "1-25", **settings}
    source = SCRIPT.read_text() + STAND_IN.replace("SETTINGS }", json.dumps(settings) + "}")
    done = subprocess.run(["node", "-e", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_shot_is_simulated_by_the_extensions_command():
    (task,) = compiled(render=False)
    arguments = ["farm-shot", "/shots/fall.blend", "--output", "/out/fall.blend", "--report", "/out/fall.json"]
    assert task["commands"][0]["args"] == ["--background", "--command", "active_ragdoll", *arguments]
    assert compiled(render=False, kind="cache")[0]["commands"][0]["args"][-1] == "--cache"


def test_the_result_is_rendered_when_it_is_there():
    simulate, *renders = compiled(render_output="/frames/####")
    assert [task["after"] for task in renders] == [[simulate["name"]]] * 3
    assert [task["commands"][0]["args"][-1] for task in renders] == ["1..10", "11..20", "21..25"]
    assert {task["commands"][0]["blendfile"] for task in renders} == {"/out/fall.blend"}
