"""Undo and redo in a real window: see undo_in_window.py, which runs inside it.

BLENDER_WINDOW is the command of a Blender that can open a window (on a desktop the same as BLENDER).
"""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent.parent
WINDOW = os.environ.get("BLENDER_WINDOW", "")
CYCLES = 30


@pytest.mark.skipif(not WINDOW, reason="BLENDER_WINDOW is not set: no Blender that can open a window")
def test_undo_and_redo_hold_in_a_window(tmp_path):
    script = str(REPO / "tests" / "real" / "undo_in_window.py")
    environment = {**os.environ, "PROFILE": str(tmp_path), "TMO": "600"}
    environment.pop("BLENDER_USER_RESOURCES", None)
    done = subprocess.run(
        [*shlex.split(WINDOW), "--factory-startup", "--python", script, "--", str(CYCLES)],
        cwd=REPO,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=620,
    )
    assert f"{CYCLES} passed, 0 failed" in done.stdout, done.stdout[-4000:]
