"""The real Blender of BLENDER with a profile of its own, BLENDER_USER_RESOURCES, into which ACTIVE_RAGDOLL_ZIP goes."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
NEEDED = ("BLENDER", "BLENDER_USER_RESOURCES", "ACTIVE_RAGDOLL_ZIP")


@pytest.fixture(scope="session")
def run():
    """Call it with a program, or a command that starts one, and arguments: it runs to its end, errors in its output."""

    def ended(program, *arguments, timeout=300, **more) -> subprocess.CompletedProcess:
        command = [*shlex.split(str(program)), *map(str, arguments)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        return subprocess.run(command, cwd=REPO, text=True, errors="replace", timeout=timeout, **streams, **more)

    return ended


@pytest.fixture(scope="session")
def blender(run):
    """Call it with arguments: the same with Blender, without a window."""
    if not all(os.environ.get(name) for name in NEEDED):
        pytest.skip("run by dev.py test with BLENDER set")
    return lambda *arguments: run(os.environ["BLENDER"], *arguments)


@pytest.fixture(scope="session")
def installed(blender) -> str:
    """What Blender printed while it installed and enabled the zip; nothing where that is done already."""
    if os.environ.get("ACTIVE_RAGDOLL_INSTALLED"):
        return ""
    done = blender("--command", "extension", "install-file", "-r", "user_default", "-e", os.environ[NEEDED[2]])
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def script(installed, blender):
    """Call it with a script of this folder and arguments: what it prints in the Blender that has the extension."""

    def said(name: str, *arguments) -> str:
        path = REPO / "tests" / "real" / name
        done = blender("--background", "--python-exit-code", "1", "--python", path, "--", *arguments)
        assert done.returncode == 0 and "Traceback" not in done.stdout, done.stdout
        return done.stdout

    return said
