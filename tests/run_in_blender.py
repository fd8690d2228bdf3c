"""Runs pytest inside a Blender program.

    blender --background --python-exit-code 1 --python tests/run_in_blender.py -- tests/blender/test_x.py

Uses the pytest of Blender's Python, else the one in the folder that ACTIVE_RAGDOLL_PYTEST names. Without
either it says so and exits with NO_PYTEST.
"""

import importlib.util
import os
import sys
import traceback

NO_PYTEST = 77


def main() -> int:
    """The exit code of pytest."""
    arguments = sys.argv[sys.argv.index("--") + 1 :]
    folder = os.environ.get("ACTIVE_RAGDOLL_PYTEST")
    if importlib.util.find_spec("pytest") is None and folder:
        # Last, so that nothing of Blender's own is hidden by it.
        sys.path.append(folder)
    if importlib.util.find_spec("pytest") is None:
        print(f"SKIPPED: the Python of this Blender ({sys.executable}) has no pytest", file=sys.stderr)
        return NO_PYTEST
    sys.dont_write_bytecode = True
    import pytest

    return int(pytest.main(arguments))


if __name__ == "__main__":
    try:
        code = main()
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
