"""The frame of the benchmarks: the command line, tables and aims, the extension.

A benchmark is a function that measures, prints its tables and returns its figures; `bench` does the rest."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO))
sys.path[:0] = [str(REPO / "tests" / folder) for folder in ("", "blender", "core")]

import bpy  # noqa: E402

import harness  # noqa: E402

harness.load_extension()


def bench(run: Callable[..., tuple[dict, bool]], description: str, **options: object) -> None:
    """Measure with the options of the command line, write the figures where asked, and end the process.

    `run` takes the options by name and returns its figures and whether all aims are met. `options` has a default for
    each: a list takes several values, False is a switch. The description is the text of --help."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in options.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(default, list):
            parser.add_argument(f"--{name}", type=type(default[0]), nargs="+", default=default)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    chosen = vars(parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else None))
    path = chosen.pop("json")
    figures, met = run(**chosen)
    print(f"\nbpy {bpy.app.version_string}: {'all aims met' if met else 'an aim is MISSED'}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        report = {"bpy": bpy.app.version_string, **figures, "met": bool(met)}
        path.write_text(json.dumps(report, indent=2, default=float) + "\n", encoding="utf-8")
        print(f"\nfigures: {path}")
    harness.exit_now(0 if met else 1)  # a bpy wheel may hang in its own clean-up


def verdict(good: bool) -> str:
    """Whether an aim is met, for a table."""
    return "PASS" if good else "MISS"


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table with a left-aligned first column."""
    cells = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, *cells]:
        line = "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths)))
        print(f"  {line}", flush=True)
