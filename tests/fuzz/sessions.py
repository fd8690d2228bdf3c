"""Runs random sessions in Blender processes; of a failing one prints the seed and the fewest steps that still fail.

`dev.py fuzz` starts it. A session is fully told by its seed, and its steps do not depend on each other: the failing one
is shortened by leaving out steps for as long as the same failure comes."""

import itertools
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from environments import say
from run_blender import JOBS, Result, ended

SESSION = Path(__file__).resolve().parent / "session.py"
STEPS = 12  # of a session
TIMEOUT = 180.0  # [s] of a session
SHRINK = 240.0  # [s] for shortening


@dataclass
class Ended:
    """How a session ended."""

    fault: str  # empty where all held
    log: str  # what it did
    seconds: float

    @property
    def kind(self) -> str:
        """What two faults have in common that are the same: the last line without names and numbers."""
        return re.sub(r"'[^']*'|\d[\d.e+-]*", "", self.fault.strip().splitlines()[-1])[:80] if self.fault else ""


def play(command: list, env: dict, seed: int, only: list[int] | None = None) -> Ended:
    """One session, of all its steps or some of them."""
    chosen = [] if only is None else ["--only", *map(str, only)]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        own = ["--seed", seed, "--steps", STEPS, "--folder", folder, *chosen]
        code, seconds = ended([*command, *own], folder / "log", TIMEOUT, env)
        text, _, fault = (folder / "log").read_text(errors="replace").partition("FAULT\n")
        if code is None:
            fault = f"no end after {TIMEOUT:.0f} s"
        elif code not in (0, 1) or (code == 1 and not fault):
            errors = folder / "stderr"
            told = errors.read_text(errors="replace")[-2000:] if errors.exists() else ""
            fault = f"{told}\ncrash: exit code {code}"
    return Ended(fault, text, seconds)


def shrink(command: list, env: dict, seed: int, found: Ended) -> tuple[list[int], Ended]:
    """The fewest steps found within the time that end with the same fault, and how they end."""
    until = time.monotonic() + SHRINK
    kept, size = list(range(STEPS)), STEPS // 2
    while size and kept:
        shorter = False
        for start in range(len(kept) - size, -1, -size):
            rest = kept[:start] + kept[start + size :]
            if time.monotonic() > until:
                return kept, found
            tried = play(command, env, seed, rest)
            if tried.kind == found.kind:
                kept, found, shorter = rest, tried, True
        size = min(size, len(kept)) if shorter and size > 1 else size // 2
    return kept, found


def fuzz(command: list, env: dict, title: str, seconds: float, seed: int, count: int | None = None) -> Result:
    """Run sessions for so long, or so many of them; the first failure ends it. The command runs session.py, as it takes
    options at its end, the title is the Blender's, the seed that of the first session; the others count on."""
    until, total = time.monotonic() + seconds, Result()
    seeds = itertools.count(seed) if count is None else iter(range(seed, seed + count))

    def worker() -> None:
        for own in seeds:
            if total.failed or time.monotonic() > until:
                return
            found = play(command, env, own)
            total.add(Result(passed=not found.fault, failed=bool(found.fault), seconds=found.seconds))
            if found.fault:
                say(f"  FAIL  session {own} on {title}: {found.kind}")
                failures.append((own, found))

    failures = []
    with ThreadPoolExecutor(JOBS) as pool:
        for job in [pool.submit(worker) for _ in range(JOBS)]:
            job.result()
    for own, found in failures[:1]:
        kept, found = shrink(command, env, own, found)
        lines = [line for line in found.log.splitlines() if re.match(r"\d+ |    |end", line)]
        say("\n".join([*lines, found.fault.rstrip()]))
        say(f"again: dev.py fuzz --bpy {title} --seed {own} --only {' '.join(map(str, kept))}")
    say(f"  {total.passed + total.failed} sessions from seed {seed}")
    return total
