"""Undo, redo and edits in a real window: see the scripts that run inside it.

BLENDER_WINDOW is the command of a Blender that can open a window (on a desktop the same as BLENDER)."""

import os

import pytest

WINDOW = os.environ.get("BLENDER_WINDOW", "")


@pytest.mark.skipif(not WINDOW, reason="BLENDER_WINDOW is not set: no Blender that can open a window")
@pytest.mark.parametrize(
    ("script", "cycles"), [("undo_in_window.py", 18), ("playing_in_window.py", 93), ("first_minutes_in_window.py", 10)]
)
def test_undo_redo_and_edits_hold_in_a_window(tmp_path, run, script, cycles):
    environment = {**os.environ, "PROFILE": str(tmp_path), "TMO": "600", "GEOM": "1200x900"}
    for name in ("BLENDER_USER_RESOURCES", "ACTIVE_RAGDOLL_INSTALLED"):
        environment.pop(name, None)
    options = ["--factory-startup", "--enable-event-simulate", "--python", f"tests/real/{script}", "--", cycles]
    done = run(WINDOW, *options, timeout=620, env=environment)
    assert f"{cycles} passed, 0 failed" in done.stdout and "Traceback" not in done.stdout, done.stdout[-4000:]
