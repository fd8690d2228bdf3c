"""What the documents for developers name exists: files, and functions of modules."""

import re
from pathlib import Path

import pytest

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
