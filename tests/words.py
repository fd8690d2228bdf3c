"""All texts of the extension that a user can see, as the catalogues of languages/ have them.

Inside a Blender: `words()` reads labels, tooltips and choices from the registered classes, and sentences from the
source. `python words.py` brings the catalogues in line: what is gone goes, what is new stands there with ""."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import bpy

ROOT = Path(__file__).resolve().parents[1]
NOT_SHOWN = ("operators/command_line.py", "operators/farm.py", "operators/reports.py", "core/anatomy/names.py")
CONSOLE = {"print", "findall", "ValueError", "TypeError", "NotImplementedError", "UsageError", "compile", "TypeVar"}
CONSOLE |= {"namedtuple"}
SHOWN = {"text", "zero"}  # arguments whose texts are shown, whatever they look like
LABEL = re.compile(r"[A-Z][a-z]+(-[a-z]+)?")  # one word, as fields and buttons are named
SENTENCE = re.compile(r"(?=.*[A-Za-z]{3})[^.].* .*", re.DOTALL)  # a name of data out of sight begins with a dot
LETTER = re.compile(r"[^\W\d_]")


@cache
def words(package) -> set[str]:
    """All of them: see above."""
    return {text for text in (*registered(package), *stated()) if LETTER.search(text)}


def registered(package) -> Iterator[str]:
    """Labels and descriptions of classes, properties and choices."""
    for cls in sys.modules[f"{package.__name__}.registration"]._classes:
        rna = cls.bl_rna
        if issubclass(cls, bpy.types.Operator):
            rna = getattr(bpy.ops.active_ragdoll, cls.bl_idname.partition(".")[2]).get_rna_type()
            yield from (rna.name, rna.description)
        yield from (getattr(cls, "bl_label", ""), getattr(cls, "bl_category", ""))
        for p in rna.properties:
            if p.is_runtime and not p.is_hidden and p.name != p.identifier:
                yield from (p.name, p.description)
                for item in getattr(p, "enum_items_static", ()):
                    yield from (item.name, item.description)


def stated() -> Iterator[str]:
    """Sentences and single words of the source that look as if they were shown."""
    for room in ("core", "operators", "panels"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if path.relative_to(ROOT).as_posix() not in NOT_SHOWN:
                yield from _of(ast.parse(path.read_text(encoding="utf-8")))


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        children = [*getattr(node, "keywords", ()), *node.body]
        children = [c for c in children if not (isinstance(c, ast.Expr) and isinstance(c.value, ast.Constant))]
    elif isinstance(node, ast.keyword) and node.arg in SHOWN and isinstance(node.value, ast.Constant):
        children = []
        if isinstance(node.value.value, str):
            yield node.value.value
    elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in CONSOLE:
        return
    else:
        text = template(node)
        if SENTENCE.fullmatch(text) or LABEL.fullmatch(text):
            yield text
        # The pieces of an f-string are part of its template; what is put in may have texts of its own.
        is_piece = isinstance(node, ast.JoinedStr)
        children = [c for c in ast.iter_child_nodes(node) if not (is_piece and isinstance(c, ast.Constant))]
    for child in children:
        yield from _of(child)


def template(node: ast.AST) -> str:
    """A literal with {0}, {1} ... for what is put in; "" for any other node."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    count = iter(range(len(node.values)))
    return "".join(v.value if isinstance(v, ast.Constant) else f"{{{next(count)}}}" for v in node.values)


def bring_in_line(package) -> dict[str, int]:
    """Put missing texts into the catalogues and take unused ones out; how many are untranslated, by language."""
    known, missing = words(package), {}
    for path in sorted((ROOT / "languages").glob("*.json")):
        old = json.loads(path.read_text(encoding="utf-8"))
        new = {text: old.get(text, "") for text in sorted(known)}
        path.write_text(json.dumps(new, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        missing[path.stem] = sum(not text for text in new.values())
    return missing


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests" / "blender"))
    import harness

    for locale, count in bring_in_line(harness.load_extension()[0]).items():
        print(f"{locale}: {count} texts without a translation")
    harness.exit_now(0)
