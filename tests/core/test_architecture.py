"""The check of imports finds what it forbids and lets the rest pass."""

import pytest

from check_architecture import module_violations


@pytest.mark.parametrize(
    ("path", "source", "message"),
    [
        ("core/pose.py", "import bpy", "only core/blender may"),
        ("core/pose.py", "def f():\n    from mathutils import Vector", "only core/blender may"),
        ("core/motion/look_at.py", "__import__('bmesh')", "only core/blender may"),
        ("core/pose.py", "import scipy", "numpy and the standard library"),
        ("core/pose.py", "from .blender import armature", "works without Blender"),
        ("core/blender/run.py", "from ...operators import build", "nothing above itself"),
        ("core/pose.py", "from ... import x", "leads out"),
        ("core/blender/run.py", "import core.skeleton", "absolute name"),
        ("panels/main.py", "from ..operators.build import BuildOperator", "panels draw"),
    ],
)
def test_forbidden_imports_are_found(path, source, message):
    found = module_violations(tuple(path.split("/")), source)
    assert len(found) == 1 and message in found[0][1]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/motion/stack.py", "import json\nimport numpy\nfrom ..skeleton import Skeleton\nfrom . import layers"),
        ("core/blender/run.py", "import bpy\nfrom mathutils import Matrix\nfrom ..motion.stack import step"),
        ("panels/main.py", "import bpy\nfrom ..core.blender import state"),
    ],
)
def test_allowed_imports_pass(path, source):
    assert module_violations(tuple(path.split("/")), source) == []
