"""Runs one example: `example.py NAME FOLDER`. Use `python3.11 dev.py example NAME --out FOLDER`."""

import contextlib
import importlib
import os
import sys
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402, F401  (first of all, so that what it brings is found)

import harness  # noqa: E402

PACKAGE, _registered = harness.load_extension()

from active_ragdoll.core.errors import RagdollError  # noqa: E402
from demo import DemoError  # noqa: E402


def main(name: str, folder: str) -> int:
    """Make the example; 0 on success, 1 with one line on stderr otherwise."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    try:
        importlib.import_module(f"demo.examples.{name}").main(out)
    except (DemoError, RagdollError) as error:
        print(f"example {name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = 1
    try:
        code = main(*sys.argv[1:3])
    except Exception:
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # a wheel hangs at exit once a rigid body world was used
