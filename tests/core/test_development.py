"""What checks the project itself: the runner of tests, imports, names and links in documents."""

import re
import sys
import time
from pathlib import Path

import pytest

from check_architecture import module_violations
from run_blender import batches, run_files, run_pytest, wheel_command


@pytest.mark.parametrize(
    ("path", "source", "message"),
    [
        ("core/pose.py", "import bpy", "only core/blender may"),
        ("core/motion/look_at.py", "def f():\n    __import__('bmesh')", "only core/blender may"),
        ("core/pose.py", "import scipy", "numpy and the standard library"),
        ("core/pose.py", "from .blender import armature", "works without Blender"),
        ("core/blender/run.py", "from ...operators import build", "nothing above itself"),
        ("core/blender/run.py", "import core.skeleton", "absolute name"),
        ("panels/main.py", "from ..operators.build import BuildOperator", "panels draw"),
    ],
)
def test_forbidden_imports_are_found(path, source, message):
    found = module_violations(tuple(path.split("/")), source)
    assert len(found) == 1 and message in found[0][1]


ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PLACES = ("", "core", "core/ragdoll", "core/blender", "tests/blender")  # that names are relative to


def _quoted(path: Path) -> list[str]:
    """What stands in backticks, and at the ends of lines of drawings."""
    text = path.read_text(encoding="utf-8")
    drawings = "\n".join(re.findall(r"(?s)```(.*?)```", text))
    return re.findall(r"`([^`\n]+)`", text.replace("```", "")) + re.findall(r"[\w/]+\.?\w*$", drawings, re.MULTILINE)


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
        if (
            re.fullmatch(r"test_\w+|[\w]+(/\w+)*/(\w+(\.py)?)?|\w+(/\w+)+\.py", name)
            and not any((ROOT / place / f"{name}{end}").exists() for place in PLACES for end in ("", ".py"))
        ) or (re.fullmatch(r"[\w/]+\.\w+", name) and inside != "py" and module in modules and not _has(module, inside)):
            missing.append(name)
    assert not missing


def test_links_lead_somewhere():
    """Those within the manual are checked where it is built."""
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10 and not [link for link in links if not (ROOT / link).exists()]


WRITE = "import os, sys; open(sys.argv[-1].partition('=')[2], 'w').write('<a><testcase/></a>'); os._exit(9)"


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("import os; os.abort()", (0, 1), ""),
        ("pass", (0, 1), ""),  # a clean exit without a report; an old one does not count
        (WRITE, (1, 1), ""),  # a crash after a pass
        ("import time; time.sleep(60)", (0, 1), "killed after"),
    ],
)
def test_what_is_no_pass_counts_as_none(tmp_path, code, expected, said):
    (tmp_path / "report.xml").write_text("<testsuites><testcase/></testsuites>")
    start, timeout = time.monotonic(), 0.5 if "sleep" in code else 60.0
    result = run_pytest([sys.executable, "-c", code], tmp_path / "report.xml", timeout)
    assert (result.passed, result.failed) == expected and said in result.output
    assert time.monotonic() - start < 30.0


def test_a_crash_fails_all_files_of_its_process_and_no_others(tmp_path, capsys):
    passing = "def test_passes():\n    pass\n"
    alone = f"import pytest\npytestmark = pytest.mark.own_process\n{passing}"
    dying = "import os\ndef test_dies():\n    os.abort()\n"
    files = [tmp_path / f"test_{letter}.py" for letter in "abcde"]
    for path, text in zip(files, (passing, alone, passing, dying, passing), strict=True):
        path.write_text(text)
    a, b, c, d, e = files
    assert batches(files, 2) == [[b], [a, d], [c, e]] and batches([], 3) == []
    result = run_files(files, wheel_command(sys.executable), tmp_path / "reports", size=2)
    assert (result.passed, result.failed) == (3, 2)
    assert "FAIL  reports  a, d" in capsys.readouterr().out
