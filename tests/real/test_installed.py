"""The built zip in a real Blender: installs, enables, disables, enables again, and has its command line."""

import json
import os
import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((REPO / "operators").rglob("*.py")))
OPERATORS = set(re.findall(r"^class ACTIVE_RAGDOLL_OT_(\w+)", SOURCES, re.MULTILINE))


@pytest.fixture(scope="module")
def states(script) -> dict:
    """What a second start of Blender sees: see report_states.py."""
    line = next(line for line in script("report_states.py").splitlines() if line.startswith("STATES "))
    return json.loads(line.removeprefix("STATES "))


def test_blender_validates_the_zip(blender):
    done = blender("--command", "extension", "validate", os.environ["ACTIVE_RAGDOLL_ZIP"])
    assert done.returncode == 0, done.stdout


def test_install_enables_without_errors(installed):
    assert "Traceback" not in installed and "Error" not in installed, installed


def test_next_start_has_everything(states):
    start = states["start"]
    assert set(start["operators"]) == OPERATORS
    assert start["object_settings"] and start["bone_settings"]
    assert start["handlers"], "an active ragdoll without frame handlers does nothing"
    assert start["panels"], "no panel in the sidebar's tab Ragdoll"


def test_disabling_leaves_nothing_and_enabling_again_is_as_before(states):
    assert not any(states["disabled"].values()), states["disabled"]
    assert states["enabled_again"] == states["start"]


def test_command_line_info(installed, blender):
    done = blender("--command", "active_ragdoll", "info", REPO / "tests" / "real" / "missing.blend")
    assert done.returncode not in (0, None), done.stdout
    assert "missing.blend" in done.stdout and "Traceback" not in done.stdout, done.stdout
