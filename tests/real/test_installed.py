"""The built zip in a real Blender: installs, enables, disables, enables again, and has its command line.

The environment names everything: BLENDER, BLENDER_USER_RESOURCES (an empty profile), ACTIVE_RAGDOLL_ZIP.
"""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent.parent
BLENDER = os.environ.get("BLENDER", "")
ZIP = os.environ.get("ACTIVE_RAGDOLL_ZIP", "")
SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted((REPO / "operators").rglob("*.py")))
OPERATORS = set(re.findall(r"^class ACTIVE_RAGDOLL_OT_(\w+)", SOURCES, re.MULTILINE))

pytestmark = pytest.mark.skipif(
    not (BLENDER and ZIP and "BLENDER_USER_RESOURCES" in os.environ), reason="run by dev.py test with BLENDER set"
)


def blender(*arguments: str) -> subprocess.CompletedProcess:
    """Run Blender to its own end, errors and output together."""
    return subprocess.run(
        [*shlex.split(BLENDER), *arguments],
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=300,
    )


@pytest.fixture(scope="module")
def installed() -> str:
    """What Blender printed while it installed and enabled the zip."""
    done = blender("--command", "extension", "install-file", "-r", "user_default", "-e", ZIP)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def states(installed) -> dict:
    """What a second start of Blender sees: see report_states.py."""
    script = str(REPO / "tests" / "real" / "report_states.py")
    done = blender("--background", "--python-exit-code", "1", "--python", script)
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    line = next(line for line in done.stdout.splitlines() if line.startswith("STATES "))
    return json.loads(line.removeprefix("STATES "))


def test_blender_validates_the_zip():
    done = blender("--command", "extension", "validate", ZIP)
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


def test_command_line_info(installed):
    done = blender("--command", "active_ragdoll", "info", str(REPO / "tests" / "real" / "missing.blend"))
    assert done.returncode not in (0, None), done.stdout
    assert "missing.blend" in done.stdout and "Traceback" not in done.stdout, done.stdout


def test_command_line_info_of_a_rig(installed, data_dir):
    done = blender("--command", "active_ragdoll", "info", str(data_dir / "mh_mixamo.blend"))
    assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout
    assert "mh_mixamo" in done.stdout, done.stdout
