"""Runs one of the examples: `python3.11 dev.py example NAME --out DIR`."""

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

# Name -> what it shows; the module of the same name in demo/examples has `main(out)`.
EXAMPLES = {
    "look_at": "three characters look at a moving ball, their feet planted",
    "look_at_compare": "one character and a circling target: ours beside Damped Track and Blender's IK",
}


def main(arguments: list[str]) -> int:
    """Parse and run; 0 on success, 1 with one line on stderr otherwise."""
    listed = "\n".join(f"  {name:18}{text}" for name, text in EXAMPLES.items())
    parser = argparse.ArgumentParser(
        prog="dev.py example", epilog=f"examples:\n{listed}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=EXAMPLES)
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for the results")
    options = parser.parse_args(arguments)
    import harness

    harness.load_extension()
    from active_ragdoll.core.errors import RagdollError
    from demo import DemoError

    options.out.mkdir(parents=True, exist_ok=True)
    try:
        importlib.import_module(f"demo.examples.{options.name}").main(options.out.resolve())
    except (DemoError, RagdollError) as error:
        print(f"example {options.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    code = 1
    try:
        code = main(given)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)  # a wheel may hang at the interpreter's end
