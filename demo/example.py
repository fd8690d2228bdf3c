"""Runs one example of demo/examples: `python3.11 dev.py example NAME [--out DIR]`."""

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402

import harness  # noqa: E402

harness.load_extension()

from active_ragdoll.core.errors import RagdollError  # noqa: E402
from demo import DemoError, contact_sheet  # noqa: E402
from demo.examples import EXAMPLES  # noqa: E402


def main(arguments: list[str]) -> int:
    """Run it; 0 on success, 1 with one line on stderr otherwise."""
    parser = argparse.ArgumentParser(prog="dev.py example", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(EXAMPLES), metavar="NAME")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--clip", action="store_true", help="a film of it as well (MP4)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        importlib.import_module(f"demo.examples.{options.name}").main(options.out)
        if options.clip:
            print(
                f"clip            {contact_sheet.render_clip(bpy.context.scene, options.out / f'{options.name}.mp4')}"
            )
    except (DemoError, RagdollError) as error:
        print(f"{options.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    code = 1
    try:
        code = main(given)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except Exception:
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # a wheel hangs at exit once a rigid body world was used
