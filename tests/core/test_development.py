"""What checks the project itself: figures of the code, imports, golden records, names and links in documents."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from check_architecture import module_violations
from figures import cycles, functions, import_graph
from golden import compare


def test_a_function_is_counted_without_decorators_and_docstring():
    text = '@decorated\ndef f(a):\n    """One\n\n    two."""\n    def g():\n        pass\n    return g\n'
    assert sorted(functions(ast.parse(text))) == [("f", 4), ("g", 2)]


def test_imports_lead_to_modules_and_packages_wherever_they_stand():
    sources = {
        ("core",): "",
        ("core", "a"): "from .sub import f\nimport numpy",
        ("core", "sub"): "from . import deep",
        ("core", "sub", "deep"): "def f():\n    from ..b import g",
        ("core", "b"): "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import T",
    }
    graph = import_graph({name: ast.parse(text) for name, text in sources.items()})
    assert graph == {
        ("core",): set(),
        ("core", "a"): {("core", "sub")},
        ("core", "sub"): {("core", "sub", "deep")},
        ("core", "sub", "deep"): {("core", "b")},
        ("core", "b"): {("core", "a")},
    }
    assert cycles(graph) == [[("core", "a"), ("core", "b"), ("core", "sub"), ("core", "sub", "deep")]]


def test_circles_are_told_apart_and_a_tree_without_them_has_none():
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c", "a"}}) == [["a", "b"], ["c", "d"]]


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


def test_the_smallest_difference_is_named_with_its_first_frame():
    before = np.zeros((5, 2, 4, 4), dtype=np.float32)
    assert compare.difference(before, before.copy()) == "" and compare.digest(before) == compare.digest(before.copy())
    assert compare.difference(before, -before), "minus zero is a difference"
    assert compare.difference(None, before) == "could not be played before"
    assert compare.difference(before, None) == "could not be played after"
    after = before.copy()
    after[3, 1, 0, 3] = np.nextafter(np.float32(0.0), np.float32(1.0))
    after[4, 0, 0, 0] = 0.25
    assert compare.difference(before, after) == "from frame 4 on 2 frames, by up to 0.25"
    assert compare.digest(before) != compare.digest(after)


def test_main_returns_1_only_on_a_difference(tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("a.npz", "b.npz", "c.npz")]
    for path, value in zip(paths, (1.0, 1.0, 2.0), strict=True):
        np.savez(path, **{"fall bodies": np.full((2, 1, 4, 4), value)})
    assert compare.main(*paths[:2]) == 0
    assert compare.main(paths[0], paths[2]) == 1
    assert "DIFFERENT from frame 1 on 2 frames, by up to 1" in capsys.readouterr().out


ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PLACES = ("", "core", "core/ragdoll", "core/blender", "tests/blender")  # that names are relative to


def _quoted(path: Path) -> list[str]:
    """What stands in backticks, and at the ends of lines of drawings."""
    text = path.read_text(encoding="utf-8")
    drawings = "\n".join(re.findall(r"(?s)```(.*?)```", text))
    return re.findall(r"`([^`\n]+)`", text.replace("```", "")) + re.findall(r"[\w/]+\.?\w*$", drawings, re.MULTILINE)


def _exists(name: str) -> bool:
    return any((ROOT / place / name).exists() or (ROOT / place / f"{name}.py").exists() for place in PLACES)


def _has(module: str, name: str) -> bool:
    """Whether a module of the extension of that name has a function, a class or a constant of that name."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "core").rglob(f"{module}.py")]
    return any(re.search(rf"(?m)^((def|class) )?{name}\b", text) for text in texts)


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_what_is_named_exists(path):
    modules = {file.stem for file in (ROOT / "core").rglob("*.py")}
    missing = []
    for name in _quoted(path):
        place, _dot, inside = name.partition(".")
        module = place.rpartition("/")[2]
        if (re.fullmatch(r"test_\w+|[\w]+(/\w+)*/(\w+(\.py)?)?|\w+(/\w+)+\.py", name) and not _exists(name)) or (
            re.fullmatch(r"[\w/]+\.\w+", name) and inside != "py" and module in modules and not _has(module, inside)
        ):
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("path", (ROOT / "README.md", *DOCS), ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (path.parent / link).exists()]
