"""The built zip in a real Blender: installs, enables, disables, enables again, and has its command line."""

import json
import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((REPO / "operators").rglob("*.py")))
OPERATORS = set(re.findall(r"^class ACTIVE_RAGDOLL_OT_(\w+)", SOURCES, re.MULTILINE))


def test_install_enables_without_errors(installed):
    assert "Traceback" not in installed and "Error" not in installed, installed


def test_next_start_has_everything_disabling_leaves_nothing_and_enabling_again_is_as_before(script):
    line = next(line for line in script("report_states.py").splitlines() if line.startswith("STATES "))
    states = json.loads(line.removeprefix("STATES "))
    start = states["start"]
    assert set(start["operators"]) == OPERATORS and all(start.values()), start
    assert not any(states["disabled"].values()), states["disabled"]
    assert states["enabled_again"] == start


def test_command_line_info(installed, blender):
    done = blender("--command", "active_ragdoll", "info", REPO / "tests" / "real" / "missing.blend")
    assert done.returncode not in (0, None), done.stdout
    assert "missing.blend" in done.stdout and "Traceback" not in done.stdout, done.stdout
