"""The virtual environments in .venv/ that the developers' commands run in, made on first use."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venv"
PYTEST = "pytest>=8,<10"
JSONSCHEMA = "jsonschema>=4,<5"
# The formatter's style changes between versions: exactly one.
TOOLS = (PYTEST, "hypothesis>=6,<7", JSONSCHEMA, "numpy>=1.26,<3", "openjd-cli>=0.8,<1", "ruff==0.17.6")
# The manual; the theme brings what builds it.
DOCS = ("mkdocs>=1.6,<2", "mkdocs-material>=9.5,<10")
WITHOUT_BPY = {"tools": TOOLS, "docs": DOCS}
# Blender 4.2 comes with this numpy; its wheel would take any.
BPY_EXTRA = {"4.2": ("numpy==1.24.*",)}


class DevError(Exception):
    """What stops a command, worded for whoever typed it."""


def python_311() -> str:
    """A Python 3.11, which the bpy wheels are made for: this one or one on the PATH."""
    for candidate in (sys.executable, shutil.which("python3.11"), shutil.which("python3")):
        probe = [candidate, "-c", "import sys; sys.exit(sys.version_info[:2] != (3, 11))"]
        if candidate and subprocess.run(probe, capture_output=True).returncode == 0:
            return candidate
    raise DevError("Python 3.11 is needed (the bpy packages are made for it) and was not found")


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fault_of(command: list[str | Path]) -> str:
    """Run a command: its output if it fails, or nothing."""
    merged = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, cwd=ROOT, text=True, errors="replace", **merged)
    return "" if done.returncode == 0 else f"{done.stdout}exit code {done.returncode}"


def quietly(command: list[str | Path], what: str) -> None:
    """Run a command and show its output only if it fails. Raises DevError: it failed."""
    if fault := fault_of(command):
        raise DevError(f"{what} failed:\n{fault}")


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Keep other commands from making the same environment: they wait. A lock of a command that died is free again."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    with (ENVIRONMENTS / f"{name}.lock").open("a") as file:
        with contextlib.suppress(ImportError):  # Windows has none
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment(name: str) -> Path:
    """The interpreter of an environment, of WITHOUT_BPY or for a bpy version, made when missing or out of date."""
    with locked(name):
        return _environment(name)


def _environment(name: str) -> Path:
    folder = ENVIRONMENTS / name
    requirements = WITHOUT_BPY.get(name) or (f"bpy=={name}.*", PYTEST, JSONSCHEMA, *BPY_EXTRA.get(name, ()))
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest and python_of(folder).exists():
        return python_of(folder)
    start = time.monotonic()
    say(f"making {folder.relative_to(ROOT)} with {', '.join(requirements)} ...")
    shutil.rmtree(folder, ignore_errors=True)
    quietly([python_311(), "-m", "venv", folder], "making a virtual environment")
    install = [python_of(folder), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    quietly([*install, *requirements], f"installing {', '.join(requirements)}")
    if name not in WITHOUT_BPY:
        probe = "import bpy, os, sys; sys.stdout.flush(); os._exit(0)"
        quietly([python_of(folder), "-c", probe], f"importing bpy {name} (does a system library lack?)")
    stamp.write_text(digest)
    say(f"made {folder.relative_to(ROOT)} in {time.monotonic() - start:.0f} s")
    return python_of(folder)


def pytest_folder() -> Path:
    """A folder with pytest alone, for a Blender whose Python has none."""
    folder = ENVIRONMENTS / "pytest"
    install = [environment("tools"), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    with locked("pytest"):
        if not (folder / "pytest").is_dir():
            quietly([*install, "--target", folder, PYTEST], f"installing {PYTEST}")
    return folder


def say(text: str) -> None:
    """Print at once, so that a log shows where a run stands."""
    print(text, flush=True)
