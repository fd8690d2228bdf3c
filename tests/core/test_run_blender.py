"""The runner of the Blender tests takes nothing for a pass that is none."""

import sys
import time

import pytest

from run_blender import NO_PYTEST, batches, run_files, run_pytest, wheel_command


def counts(result) -> tuple[int, int, int]:
    """(passed, failed, skipped)."""
    return result.passed, result.failed, result.skipped


WRITE = "import os, sys; open(sys.argv[-1].partition('=')[2], 'w').write('<a><testcase/></a>'); os._exit(9)"


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("import os; os._exit(3)", (0, 1, 0), ""),
        ("import os; os.abort()", (0, 1, 0), ""),
        ("pass", (0, 1, 0), ""),  # a clean exit without a report; an old one does not count
        (WRITE, (1, 1, 0), ""),  # a crash after a pass
        ("import time; time.sleep(60)", (0, 1, 0), "killed after"),
        (f"import sys; print('SKIPPED: no pytest'); sys.exit({NO_PYTEST})", (0, 0, 1), "SKIPPED: no pytest"),
    ],
)
def test_what_is_no_pass_counts_as_none(tmp_path, code, expected, said):
    (tmp_path / "report.xml").write_text("<testsuites><testcase/></testsuites>")
    start, timeout = time.monotonic(), 0.5 if "sleep" in code else 60.0
    result = run_pytest([sys.executable, "-c", code], tmp_path / "report.xml", timeout)
    assert counts(result) == expected and said in result.output + "".join(result.skips)
    assert time.monotonic() - start < 30.0


def planted(tmp_path, **sources: str) -> list:
    """Test files by name."""
    for name, text in sources.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    return [tmp_path / f"test_{name}.py" for name in sources]


def test_files_share_processes_but_those_that_are_to_be_alone(tmp_path):
    own = "import pytest\npytestmark = pytest.mark.own_process\n"
    a, b, c, d, e, f = planted(tmp_path, a="", b=own, c="", d="", e="", f="")
    assert batches([a, b, c, d, e, f], 3) == [[b], [a, d, f], [c, e]]
    assert batches([b], 3) == [[b]] and batches([], 3) == []


def test_a_crash_fails_all_files_of_its_process_and_no_others(tmp_path, capsys):
    passing = "def test_passes():\n    pass\n"
    files = planted(tmp_path, a=passing, b=passing, c="import os\ndef test_dies():\n    os.abort()\n", d=passing)
    result = run_files(files, wheel_command(sys.executable), tmp_path / "reports", size=2, jobs=1)
    assert counts(result) == (2, 2, 0)
    assert "FAIL  a, c" in capsys.readouterr().out


def test_a_marker_leaves_out_files_without_it(tmp_path, capsys):
    marked = "import pytest\n\n@pytest.mark.blender_version\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n"
    files = planted(tmp_path, a=marked, b="raise ImportError('never read')")
    result = run_files(files, wheel_command(sys.executable), tmp_path / "reports", marker="blender_version")
    assert counts(result) == (1, 0, 0)
