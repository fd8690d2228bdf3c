"""Renders of a live ragdoll by Blender's own options: pieces of a shot are those of the whole, or there are none."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent.parent
BLENDER = os.environ.get("BLENDER", "")
ZIP = os.environ.get("ACTIVE_RAGDOLL_ZIP", "")
LAST = 20  # as in render_shots.py

pytestmark = pytest.mark.skipif(
    not (BLENDER and ZIP and "BLENDER_USER_RESOURCES" in os.environ), reason="run by dev.py test with BLENDER set"
)


def blender(*arguments) -> subprocess.CompletedProcess:
    """Run Blender without a window, errors and output together."""
    return subprocess.run(
        [*shlex.split(BLENDER), *map(str, arguments)],
        cwd=REPO,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=300,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Has the shots."""
    made = tmp_path_factory.mktemp("renders")
    script = REPO / "tests" / "real" / "render_shots.py"
    for arguments in (
        ("--command", "extension", "install-file", "-r", "user_default", "-e", ZIP),
        ("--background", "--python-exit-code", "1", "--python", script, "--", made),
    ):
        done = blender(*arguments)
        assert done.returncode == 0, done.stdout
    return made


def pictures(folder: Path, name: str, *options) -> tuple[int, dict]:
    """Blender's exit code and the pictures, by frame, of a render with options."""
    output = folder / "_".join(map(str, (name, *options)))
    done = blender("--background", folder / f"{name}.blend", "-o", output / "####", *options)
    return done.returncode, {int(path.stem): path.read_bytes() for path in output.glob("*.bmp")}


def test_pieces_of_a_shot_are_those_of_the_whole(folder):
    code, whole = pictures(folder, "shot", "-a")
    assert code == 0 and sorted(whole) == list(range(1, LAST + 1))
    assert len(set(whole.values())) == LAST, "it moves"
    for options, frames in ((("-s", 11, "-e", 20, "-a"), range(11, 21)), (("-f", 15), (15,))):
        code, piece = pictures(folder, "shot", *options)
        assert code == 0
        assert piece == {frame: whole[frame] for frame in frames}, options


@pytest.mark.parametrize("options", (("-a",), ("-s", 11, "-e", 20, "-a"), ("-f", 15)))
def test_what_cannot_be_simulated_is_not_rendered(folder, options):
    assert pictures(folder, "broken", *options) == (1, {})
