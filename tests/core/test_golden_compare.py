"""How the golden command words a difference."""

import numpy as np

from golden import compare


def test_the_smallest_difference_is_named_with_its_first_frame():
    before = np.zeros((5, 2, 4, 4), dtype=np.float32)
    assert compare.difference(before, before.copy()) == "" and compare.digest(before) == compare.digest(before.copy())
    assert compare.difference(before, -before), "minus zero is a difference"
    assert compare.difference(None, before) == "could not be played before"
    assert compare.difference(before, None) == "could not be played after"
    after = before.copy()
    after[3, 1, 0, 3] = np.nextafter(np.float32(0.0), np.float32(1.0))
    after[4, 0, 0, 0] = 0.25
    assert compare.difference(before, after) == "from frame 4 on 2 frames, by up to 0.25"
    assert compare.digest(before) != compare.digest(after)


def test_main_returns_1_only_on_a_difference(tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("a.npz", "b.npz", "c.npz")]
    for path, value in zip(paths, (1.0, 1.0, 2.0), strict=True):
        np.savez(path, **{"fall bodies": np.full((2, 1, 4, 4), value)})
    assert compare.main(*paths[:2]) == 0
    assert compare.main(paths[0], paths[2]) == 1
    assert "DIFFERENT from frame 1 on 2 frames, by up to 1" in capsys.readouterr().out
