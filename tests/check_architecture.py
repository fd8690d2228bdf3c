"""Checks who may import what: core/ knows no Blender outside core/blender, and nothing above itself."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

BLENDER_MODULES = {
    "aud", "bgl", "bl_math", "bl_operators", "bl_ui", "blf", "bmesh", "bpy", "bpy_extras", "freestyle", "gpu",
    "gpu_extras", "idprop", "imbuf", "mathutils", "rna_prop_ui",
}  # fmt: skip
CORE_MAY_IMPORT = sys.stdlib_module_names | {"numpy"}


def imports(tree: ast.AST) -> Iterator[tuple[int, int, str]]:
    """(line, level, dotted name) of every import in a module, wherever it stands; level 0 is absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, 0, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.lineno, node.level, node.module
            else:
                for alias in node.names:
                    yield node.lineno, node.level, alias.name
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in {"__import__", "import_module"} and isinstance(node.args[0].value, str):
                yield node.lineno, 0, node.args[0].value


def module_violations(parts: tuple[str, ...], source: str) -> list[tuple[int, str]]:
    """The forbidden imports of one module's source, (line, message) of each; `parts` is the file's path inside the
    repository, for example ("core", "motion", "stack.py")."""
    found = []
    room = parts[0]
    inside_blender = parts[:2] == ("core", "blender")
    for line, level, name in imports(ast.parse(source)):
        top = name.partition(".")[0]
        if level == 0:
            if room == "core" and not inside_blender:
                if top in BLENDER_MODULES:
                    found.append((line, f"imports {name}; only core/blender may"))
                elif top not in CORE_MAY_IMPORT:
                    found.append((line, f"imports {name}; core stands on numpy and the standard library alone"))
            elif top in {"core", "operators", "panels", "active_ragdoll"}:
                found.append((line, f"imports {name} by an absolute name; an installed extension has another"))
            continue
        # The package that the dots lead to; () is the extension's own.
        package = parts[:-level]
        if level > len(parts):
            found.append((line, f"{'.' * level}{name} leads out of the extension"))
            continue
        target = (*package, *name.split("."))
        if room == "core" and target[0] != "core":
            found.append((line, f"imports {'.'.join(target)}; core knows nothing above itself"))
        elif room == "core" and not inside_blender and target[:2] == ("core", "blender"):
            found.append((line, f"imports {'.'.join(target)}; core works without Blender"))
        elif room == "panels" and target[0] == "operators":
            found.append((line, f"imports {'.'.join(target)}; panels draw, they name operators by their id"))
    return found


def violations(repo: Path) -> list[str]:
    """All forbidden imports of the extension, as "path:line: message"."""
    found = []
    for room in ("core", "operators", "panels"):
        for path in sorted((repo / room).rglob("*.py")):
            parts = path.relative_to(repo).parts
            for line, message in module_violations(parts, path.read_text(encoding="utf-8")):
                found.append(f"{'/'.join(parts)}:{line}: {message}")
    return found
