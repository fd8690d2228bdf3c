"""Runs test files in a few processes at a time, several files in each.

Many processes, because a bpy wheel does not exit cleanly after a simulation, because a crash of Blender then fails the
files of one process only, and because they run in parallel. (pytest-xdist cannot: a Blender program has to start
its own Python.)"""

import contextlib
import os
import shlex
import signal
import subprocess
import textwrap
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parent
NO_TESTS_COLLECTED = 5
JOBS = os.cpu_count() or 1
SLOTS = threading.Semaphore(JOBS)  # of processes at a time, shared by all stages
# Those that an interrupted run has to take with it: they are in sessions of their own.
_running: set[subprocess.Popen] = set()
_stopped = threading.Event()


@dataclass
class Result:
    """What one test file, or several together, came to; the seconds of all their processes."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    output: str = ""
    skips: Counter = field(default_factory=Counter)

    def add(self, other: "Result") -> None:
        """Add the counts of another result."""
        for name in ("passed", "failed", "skipped", "seconds", "skips"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> str:
        """The counts as pytest words them."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_junit(path: Path) -> Result:
    """The counts and the reasons of skips in pytest's junit file; none where there is no complete report."""
    result = Result()
    with contextlib.suppress(OSError, ElementTree.ParseError):
        for case in ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                result.failed += 1
            elif (skip := case.find("skipped")) is not None:
                result.skipped += 1
                result.skips[skip.get("message", "")] += 1
            else:
                result.passed += 1
    return result


def ended(command: list, log: Path, timeout: float, env: dict[str, str] | None = None) -> tuple[int | None, float]:
    """Run a command in a free slot, its output in a file; its exit code, None if it was killed, and its seconds."""
    with SLOTS, log.open("wb") as stream:
        if _stopped.is_set():
            return None, 0.0
        start = time.monotonic()
        streams = {"stdout": stream, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        own = os.environ | (env or {})
        process = subprocess.Popen([*map(str, command)], cwd=TESTS.parent, env=own, start_new_session=True, **streams)
        _running.add(process)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            kill_group(process)
            _running.discard(process)
        return code, time.monotonic() - start


def stop() -> None:
    """Kill what runs, and start nothing more."""
    _stopped.set()
    for process in tuple(_running):
        kill_group(process)


def kill_group(process: subprocess.Popen) -> None:
    """Kill the process, and the children a wrapper script has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
    process.wait()


def run_pytest(command: list, junit: Path, timeout: float, env: dict[str, str] | None = None, files: int = 1) -> Result:
    """Run a command that writes a junit file (the option is added at its end), and count.

    After `timeout` seconds the command and its children are killed, which counts as a failure. `files` is how many a
    crash counts as: nobody knows what they would have come to. `env` is added to the environment."""
    junit.parent.mkdir(parents=True, exist_ok=True)
    junit.unlink(missing_ok=True)
    log = junit.with_suffix(".log")
    code, seconds = ended([*command, f"--junitxml={junit}"], log, timeout, env)
    result, output = read_junit(junit), log.read_text(errors="replace")
    if code not in (0, NO_TESTS_COLLECTED) and result.failed == 0:
        # A crash, a time-out, or an error before the first test.
        result.failed += files
        reason = f"killed after {seconds:.0f} s" if code is None else f"exit code {code}"
        output += f"\n{reason}; the report says: {result.counts()}\n"
    elif code == 0 and not junit.exists():
        result.failed += 1
        output += "\nexit code 0, but no report was written\n"
    result.seconds, result.output = seconds, output
    return result


def wheel_command(python: str | Path) -> list[str]:
    """The command that tests files in a bpy wheel, or without Blender; the files are to be added."""
    return [str(python), "-m", "pytest", "--continue-on-collection-errors"]


def program_command(blender: str) -> list[str]:
    """The command that tests files in a Blender program with its own profile; the files are to be added."""
    script = ["--python-exit-code", "1", "--python", str(TESTS / "run_in_blender.py"), "--"]
    return [*shlex.split(blender), "--background", *script, "--continue-on-collection-errors"]


def batches(files: list[Path], size: int) -> list[list[Path]]:
    """Files by the process that runs them: alone with the marker `own_process`, else several together.

    Neighbours in the alphabet are often alike, and long: they are spread over the processes."""
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
    size: int = 6,
) -> Result:
    """Run test files in parallel processes, print one line for each and the whole output of those that failed.

    The command is from `wheel_command` or `program_command`, `results` the folder of the reports, named as the stage.
    `env` is added to the environment. The pattern is pytest's -k; files without the marker are not even started. Of
    the files, `size` share a process."""
    select = (["-k", pattern] if pattern else []) + (["-m", marker] if marker else [])
    if marker:
        files = [path for path in files if f"pytest.mark.{marker}" in path.read_text(encoding="utf-8")]
    # What is made once for all files of one Blender, such as imported characters, is kept here.
    results = results.resolve()
    (results / "kept").mkdir(parents=True, exist_ok=True)
    env = {"ACTIVE_RAGDOLL_KEPT": str(results / "kept"), **(env or {})}

    def run(batch: list[Path]) -> Result:
        result = run_pytest([*command, *batch, *select], results / f"{batch[0].stem}.xml", 900.0, env, len(batch))
        state = "FAIL" if result.failed else "ok" if result.passed else "skip" if result.skipped else "none"
        names = ", ".join(path.stem.removeprefix("test_") for path in batch)
        line = f"  {state:<4}  {results.name:<4}  {names}: {result.counts()}  {result.seconds:.1f} s"
        print(line + ("\n" + textwrap.indent(result.output, "      | ") if result.failed else ""), flush=True)
        return result

    total = Result()
    with ThreadPoolExecutor(JOBS) as pool:
        for result in pool.map(run, batches(files, size)):
            total.add(result)
    return total
