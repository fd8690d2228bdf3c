"""Renders of a live ragdoll by Blender's own options: pieces of a shot are those of the whole, or there are none."""

import pytest

LAST = 20  # as in shots.py


@pytest.fixture(scope="module")
def render(tmp_path_factory, script, blender):
    """Call it with the name of a shot and options: Blender's exit code and the pictures, by frame."""
    folder = tmp_path_factory.mktemp("renders")
    script("shots.py", "renders", folder)

    def pictures(name: str, *options) -> tuple[int, dict]:
        output = folder / "_".join(map(str, (name, *options)))
        done = blender("--background", folder / f"{name}.blend", "-o", output / "####", *options)
        return done.returncode, {int(path.stem): path.read_bytes() for path in output.glob("*.bmp")}

    return pictures


def test_pieces_of_a_shot_are_those_of_the_whole(render):
    code, whole = render("shot", "-a")
    assert code == 0 and sorted(whole) == list(range(1, LAST + 1))
    assert len(set(whole.values())) == LAST, "it moves"
    for options, frames in ((("-s", 11, "-e", 20, "-a"), range(11, 21)), (("-f", 15), (15,))):
        code, piece = render("shot", *options)
        assert code == 0
        assert piece == {frame: whole[frame] for frame in frames}, options


@pytest.mark.parametrize("options", (("-a",), ("-f", 15)))
def test_what_cannot_be_simulated_is_not_rendered(render, options):
    assert render("broken", *options) == (1, {})
