"""The command line without a Blender program: Python 3.11 with the `bpy` package runs it.

    python cli.py bake shot.blend --armature Hero --frames 1 250 --output out.blend --report out.json

Works from a checkout and from the unpacked extension. Preferences are Blender's factory settings.
"""

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

NAME = "active_ragdoll"


def main(argv: list[str]) -> int:
    """Load and register the extension, run the command line, return its exit code."""
    try:
        import bpy
    except ImportError as error:
        print(f"{NAME}: the Python package bpy is missing ({error})", file=sys.stderr)
        return 1
    bpy.ops.wm.read_factory_settings(use_empty=True)
    here = Path(__file__).resolve().parent
    # The folder may have any name; inside, every import is relative.
    spec = importlib.util.spec_from_file_location(NAME, here / "__init__.py", submodule_search_locations=[str(here)])
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    package.register()
    return importlib.import_module(f"{NAME}.operators.command_line").run(argv)


if __name__ == "__main__":
    code = 1
    try:
        code = main(sys.argv[1:])
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)  # a wheel hangs at the interpreter's end once a rigid body world was used
