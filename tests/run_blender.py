"""Runs test files in a few processes at a time, several files in each.

Many processes, because a bpy wheel does not exit cleanly after a simulation, because a crash of Blender then fails the
files of one process only, and because they run in parallel. (pytest-xdist cannot: a Blender program has to start
its own Python.)
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from run_in_blender import NO_PYTEST

TESTS = Path(__file__).resolve().parent
REPO = TESTS.parent
NO_TESTS_COLLECTED = 5

# Those that an interrupted run has to take with it: they are in sessions of their own.
_running: set[subprocess.Popen] = set()


@dataclass
class Result:
    """What one test file, or several together, came to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    output: str = ""
    skips: Counter = field(default_factory=Counter)

    def add(self, other: "Result") -> None:
        """Add the counts of another result."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.skips += other.skips

    def counts(self) -> str:
        """The counts as pytest words them."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_junit(path: Path) -> Result:
    """The counts and the reasons of skips in pytest's junit file.

    Raises:
        OSError, ElementTree.ParseError: there is no complete report.
    """
    result = Result()
    for case in ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif (skip := case.find("skipped")) is not None:
            result.skipped += 1
            result.skips[skip.get("message", "")] += 1
        else:
            result.passed += 1
    return result


def run_pytest(
    command: list[str], junit: Path, timeout: float, env: dict[str, str] | None = None, files: int = 1
) -> Result:
    """Run a command that writes a junit file, and count.

    Args:
        command: the whole command but the junit option, which is added at the end.
        junit: where the report is to be written.
        timeout: seconds after which the command and its children are killed, which counts as a failure.
        env: variables added to the environment.
        files: how many failures a crash counts as: nobody knows what the files would have come to.
    """
    junit.parent.mkdir(parents=True, exist_ok=True)
    junit.unlink(missing_ok=True)
    start = time.monotonic()
    log = junit.with_suffix(".log")
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, f"--junitxml={junit}"],
            cwd=REPO,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=os.environ | (env or {}),
            start_new_session=True,
        )
        _running.add(process)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            code = None
        except BaseException:
            kill_group(process)
            raise
        finally:
            _running.discard(process)
    output = log.read_text(errors="replace")
    if code == NO_PYTEST:
        result = Result(skipped=1, skips=Counter({output.strip().splitlines()[-1]: 1}))
    elif code == NO_TESTS_COLLECTED:
        result = Result()
    else:
        try:
            result = read_junit(junit)
        except (OSError, ElementTree.ParseError):
            result = Result()
        if code != 0 and result.failed == 0:
            # A crash, a time-out, or an error before the first test.
            result.failed += files
            reason = f"killed after {timeout:.0f} s" if code is None else f"exit code {code}"
            output += f"\n{reason}; the report says: {result.counts()}\n"
        elif code == 0 and not junit.exists():
            result.failed += 1
            output += "\nexit code 0, but no report was written\n"
    result.seconds = time.monotonic() - start
    result.output = output
    return result


def kill_group(process: subprocess.Popen) -> None:
    """Kill the process, and the children a wrapper script has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def wheel_command(python: str | Path) -> list[str]:
    """The command that tests files in a bpy wheel, or without Blender; the files are to be added."""
    return [str(python), "-m", "pytest", "--continue-on-collection-errors"]


def program_command(blender: str, installed: bool) -> list[str]:
    """The command that tests files in a Blender program; the files are to be added."""
    # Factory settings would leave out the installed extension.
    factory = [] if installed else ["--factory-startup"]
    script = ["--python-exit-code", "1", "--python", str(TESTS / "run_in_blender.py"), "--"]
    return [*shlex.split(blender), "--background", *factory, *script, "--continue-on-collection-errors"]


def batches(files: list[Path], size: int) -> list[list[Path]]:
    """Files by the process that runs them: alone with the marker `own_process`, else several together.

    Neighbours in the alphabet are often alike, and long: they are spread over the processes.
    """
    alone = [path for path in files if "pytest.mark.own_process" in path.read_text(encoding="utf-8")]
    others = [path for path in files if path not in alone]
    count = -(-len(others) // size)
    return [[path] for path in alone] + [others[i::count] for i in range(count)]


def run_files(
    files: list[Path],
    command: list[str],
    results: Path,
    *,
    env: dict[str, str] | None = None,
    pattern: str | None = None,
    marker: str | None = None,
    timeout: float = 900.0,
    jobs: int = os.cpu_count() or 1,
    size: int = 6,
) -> Result:
    """Run test files in parallel processes, print one line for each and the whole output of those that failed.

    Args:
        files: the test files.
        command: what runs them, from `wheel_command` or `program_command`.
        results: folder of the reports.
        env: variables added to the environment.
        pattern: pytest's -k.
        marker: only tests with this marker; files without it are not even started.
        timeout: seconds for one process.
        jobs: processes at the same time.
        size: files that share a process.
    """
    select = (["-k", pattern] if pattern else []) + (["-m", marker] if marker else [])
    if marker:
        files = [path for path in files if f"pytest.mark.{marker}" in path.read_text(encoding="utf-8")]
    # What is made once for all files of one Blender, such as imported characters, is kept here.
    results = results.resolve()
    (results / "kept").mkdir(parents=True, exist_ok=True)
    env = {"ACTIVE_RAGDOLL_KEPT": str(results / "kept"), **(env or {})}

    def run(batch: list[Path]) -> Result:
        junit = results / f"{batch[0].stem}.xml"
        result = run_pytest([*command, *map(str, batch), *select], junit, timeout, env, len(batch))
        state = "FAIL" if result.failed else "ok" if result.passed else "skip" if result.skipped else "none"
        names = ", ".join(path.stem.removeprefix("test_") for path in batch)
        line = f"  {state:<4}  {names}: {result.counts()}  {result.seconds:.1f} s"
        print(line + ("\n" + indent(result.output) if result.failed else ""), flush=True)
        return result

    total = Result()
    if not files:
        print("  there are no test files")
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        try:
            for result in pool.map(run, batches(files, size)):
                total.add(result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(_running):
                kill_group(process)
            raise
    return total


def indent(text: str) -> str:
    """The text set off from the lines around it."""
    return "".join(f"      | {line}\n" for line in text.splitlines())


def print_skips(result: Result) -> None:
    """Say what was skipped and why."""
    for reason, count in result.skips.items():
        print(f"  skipped {count}: {reason}")
