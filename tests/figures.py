"""Counts what keeps the code readable, each with its bound: lines, modules, folders, import cycles, functions."""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from statistics import mean

from check_architecture import imports

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("core", "operators", "panels")  # beside the modules of the extension's own folder
NOT_SHIPPED = ("dev.py",)


def product_files(root: Path) -> list[Path]:
    """The modules of the extension, without the demo."""
    own = [path for path in root.glob("*.py") if path.name not in NOT_SHIPPED]
    return sorted(own + [path for room in ROOMS for path in (root / room).rglob("*.py")])


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(name, lines) of every function and method, without decorators and docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield node.name, lines


def import_graph(trees: dict[tuple[str, ...], ast.AST]) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Which modules each module imports, also inside functions and for types alone; each is a tuple, its dotted name,
    a package named as its folder."""
    graph = {}
    packages = {name[:i] for name in trees for i in range(len(name))}
    for name, tree in trees.items():
        # The dots of an import count from the folder that the module is in.
        folder = name if name in packages else name[:-1]
        graph[name] = set()
        for _line, level, target in imports(tree):
            if level:
                wanted = (*folder[: len(folder) - level + 1], *target.split("."))
                found = next((wanted[:i] for i in range(len(wanted), 0, -1) if wanted[:i] in trees), None)
                if found and found != name:
                    graph[name].add(found)
    return graph


def circle(graph: dict) -> list:
    """Modules of which each imports the next and the last the first; none where there is no such circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def module_name(path: Path, root: Path) -> tuple[str, ...]:
    """Its dotted name inside the extension, as a tuple."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def figures(root: Path) -> list[tuple]:
    """Of a source tree: name of a figure, its value, the largest one allowed, what is behind it."""
    files = product_files(root)
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    folder, size = Counter(path.parent for path in files).most_common(1)[0]
    ring = circle(import_graph({module_name(path, root): tree for path, tree in trees.items()}))
    lengths = [
        (lines, f"{path.relative_to(root)}: {name}") for path, tree in trees.items() for name, lines in functions(tree)
    ]
    longest, where = max(lengths)
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (root / "tests").rglob("*.py"))
    return [
        ("lines of the product", sum(len(text.splitlines()) for text in texts.values()), 36_000, ""),
        ("modules", len(files), 165, ""),
        ("files in the largest folder", size, 26, folder.relative_to(root)),
        ("modules in an import cycle", len(ring), 0, " ".join(".".join(module) for module in ring)),
        ("mean lines of a function", round(mean(lines for lines, _name in lengths), 2), 10, ""),
        ("lines of the longest one", longest, 60, where),
        ("lines of tests", tests, 24_000, ""),
    ]


def main(strict: bool) -> int:
    """Print the figures beside their bounds; 1 if `strict` and one is over its bound."""
    found = figures(ROOT)
    print(f"  {'':<28}{'is':>10}{'at most':>10}")
    for name, value, bound, where in found:
        print(f"  {name:<28}{value:>10,.6g}{bound:>10,.6g}  {'over' if value > bound else '':<6}{where}")
    return int(strict and any(value > bound for _name, value, bound, _where in found))
