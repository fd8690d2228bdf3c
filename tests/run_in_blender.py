"""Runs pytest inside a Blender: blender --background --python tests/run_in_blender.py -- tests/blender/test_x.py

It is the pytest of Blender's Python, else the one in the folder that ACTIVE_RAGDOLL_PYTEST names."""

import os
import sys
import traceback

code = 1
try:
    # Last, so that nothing of Blender's own is hidden by it.
    sys.path.append(os.environ.get("ACTIVE_RAGDOLL_PYTEST", ""))
    sys.dont_write_bytecode = True
    import pytest

    code = int(pytest.main(sys.argv[sys.argv.index("--") + 1 :]))
except BaseException:
    traceback.print_exc()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
