"""The runner of the Blender tests takes nothing for a pass that is none."""

import sys
import time

import pytest

from run_blender import NO_PYTEST, run_pytest

ONE_OF_EACH = """
import pytest

def test_passes():
    pass

def test_fails():
    raise AssertionError("planted")

@pytest.mark.skip(reason="planted reason")
def test_skipped():
    pass

@pytest.fixture
def broken():
    raise RuntimeError("planted")

def test_with_a_broken_fixture(broken):
    pass
"""


def run_python(tmp_path, code: str, timeout: float = 60.0):
    """Run a line of Python in the place of pytest; the report's name goes to sys.argv."""
    return run_pytest([sys.executable, "-c", code], tmp_path / "report.xml", timeout)


def counts(result) -> tuple[int, int, int]:
    """(passed, failed, skipped)."""
    return result.passed, result.failed, result.skipped


def test_counts_every_outcome(tmp_path):
    path = tmp_path / "test_planted.py"
    path.write_text(ONE_OF_EACH)
    # A root of its own, or this project's settings would apply.
    command = [sys.executable, "-m", "pytest", f"--rootdir={tmp_path}", "-p", "no:cacheprovider", str(path)]
    result = run_pytest(command, tmp_path / "report.xml", timeout=60.0)
    assert counts(result) == (1, 2, 1)
    assert result.skips == {"planted reason": 1}
    assert "planted" in result.output


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "import os; os.abort()"])
def test_a_crash_is_a_failure(tmp_path, code):
    assert counts(run_python(tmp_path, code)) == (0, 1, 0)


def test_a_clean_exit_without_a_report_is_a_failure(tmp_path):
    assert counts(run_python(tmp_path, "pass")) == (0, 1, 0)


def test_an_old_report_does_not_count(tmp_path):
    (tmp_path / "report.xml").write_text("<testsuites><testcase/></testsuites>")
    assert counts(run_python(tmp_path, "pass")) == (0, 1, 0)


def test_a_crash_after_passes_is_a_failure(tmp_path):
    write = "import os, sys; open(sys.argv[-1].partition('=')[2], 'w').write('<a><testcase/></a>'); os._exit(9)"
    assert counts(run_python(tmp_path, write)) == (1, 1, 0)


def test_a_hanging_file_is_killed_and_is_a_failure(tmp_path):
    start = time.monotonic()
    result = run_python(tmp_path, "import time; time.sleep(60)", timeout=0.5)
    assert counts(result) == (0, 1, 0)
    assert "killed after" in result.output
    assert time.monotonic() - start < 30.0


def test_a_blender_without_pytest_is_a_skip_with_its_reason(tmp_path):
    result = run_python(tmp_path, f"import sys; print('SKIPPED: no pytest'); sys.exit({NO_PYTEST})")
    assert counts(result) == (0, 0, 1)
    assert result.skips == {"SKIPPED: no pytest": 1}
