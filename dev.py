"""Everything a developer needs, on a machine with only Python 3.11 and git.

    python3.11 dev.py demo [--out DIR] [--input FILE] ...   the main job, from character to baked keyframes
    python3.11 dev.py example NAME | all [--out DIR] [--clip]  a short shot of demo/examples; --list names them
    python3.11 dev.py test [--bpy 4.2 4.5 5.0 | all] ...    all tests; outside 4.5 and a real Blender only those
                                                            marked blender_version, unless --nightly
    python3.11 dev.py bench NAME ...                        a benchmark of tests/benchmarks
    python3.11 dev.py fuzz [--seconds N] [--seed S] [--bpy V]  random sessions; a failing one is printed in as few
                                                            steps as bring it about; `test` runs twenty fixed
                                                            ones, with --nightly new ones for ten minutes
    python3.11 dev.py golden [COMMIT] [--bpy 4.2 ... | all] bodies and poses of golden shots, equal to a commit's?
    python3.11 dev.py build | lint [--strict] | format
    python3.11 dev.py docs                                  the manual as a site, in site/; a broken link is a failure
    python3.11 dev.py pictures                              the manual's pictures of panels, in BLENDER_WINDOW, under X
    python3.11 dev.py languages                             what is said, brought into the catalogues; what lacks

Virtual environments are made in .venv/ on first use. BLENDER=/path/to/blender (or a command that starts one)
adds the tests in a real Blender and runs the demo there. BLENDER_SETUP is a command that makes that Blender
available: `test` runs it beside the other stages, and goes on without a real Blender where it fails. All stages run
at once, in as many processes as there are processors.
"""

import argparse
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "fuzz")]

import sessions  # noqa: E402

import check_architecture  # noqa: E402
import figures  # noqa: E402
import run_blender  # noqa: E402
from environments import ROOT, DevError, environment, fault_of, pytest_folder, quietly, say  # noqa: E402
from run_blender import Result, program_command, run_files, wheel_command  # noqa: E402

RESULTS = ROOT / ".test-results"
DIST = ROOT / "dist"
GOLDEN = TESTS / "golden"
BLENDER_TESTS = sorted((TESTS / "blender").glob("test_*.py"))
BPY_VERSIONS = ("4.2", "4.5", "5.0")
DEFAULT_BPY = "4.5"
INSTALLED = "installed"  # the Blender of BLENDER, where a bpy version is asked for
STAGES = ("lint", "core", "blender", "fuzz", "docs", "build", "real")
FUZZ_SEED = 1000  # one whose first sessions pass: a test has to say the same each time
FUZZ_SESSIONS, FUZZ_NIGHT = 20, 600.0  # about a minute; at night so many seconds
SETUP_TIMEOUT = 900.0


class Background:
    """A job beside the others, whose result or error is fetched by `wait`."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._value, self._error = None, None
        self._job = job
        # A daemon: an interrupted run does not wait for a download.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._value = self._job()
        except Exception as error:
            self._error = error

    def wait(self) -> object:
        """The job's value; raises what the job raised."""
        self._thread.join()
        if self._error:
            raise self._error
        return self._value


# Steps: each is one check that passes or fails


def step(title: str, command: list[str | Path]) -> Result:
    """Run a command as one test; its output is shown when it fails."""
    return outcome(title, fault_of(command))


def outcome(title: str, fault: str) -> Result:
    """One test with a message that is empty when it passed."""
    say(f"  {'FAIL' if fault else 'ok':<4}  {title}" + (f"\n{fault.rstrip()}" if fault else ""))
    return Result(failed=1) if fault else Result(passed=1)


def lint(strict: bool = False) -> Result:
    """Ruff's rules, its formatting, who may import what; the figures are bounds only where `strict`."""
    python = environment("tools")
    total = Result()
    total.add(step("ruff check", [python, "-m", "ruff", "check", "--no-cache", "--quiet", "."]))
    total.add(step("ruff format --check", [python, "-m", "ruff", "format", "--check", "--quiet", "."]))
    total.add(outcome("architecture", "\n".join(check_architecture.violations(ROOT))))
    total.add(outcome("figures", "over a bound" if figures.main(strict) else ""))
    return total


def reformat() -> Result:
    """Ruff's safe fixes and its formatting, applied."""
    python = environment("tools")
    total = step("ruff check --fix", [python, "-m", "ruff", "check", "--fix", "--quiet", "."])
    total.add(step("ruff format", [python, "-m", "ruff", "format", "--quiet", "."]))
    return total


def core(pattern: str | None) -> Result:
    """The tests that need no Blender."""
    files = sorted((TESTS / "core").glob("test_*.py"))
    return run_files(files, wheel_command(environment("tools")), RESULTS / "core", pattern=pattern, size=14)


def blender(version: str, python: Path, pattern: str | None, every: bool) -> Result:
    """The tests inside a bpy wheel; unless `every` one is wanted, on most versions those marked `blender_version`."""
    marker = None if every or version == DEFAULT_BPY else "blender_version"
    command = wheel_command(python)
    folder = RESULTS / version
    return run_files(BLENDER_TESTS, command, folder, env=perturbed(version), pattern=pattern, marker=marker)


def perturbed(version: str) -> dict[str, str]:
    """Variables with which freed memory is overwritten, so that use after free shows.
    Blender 4.2 uses some itself when it loads a file.
    """
    return {} if version == "4.2" else {"MALLOC_PERTURB_": "85"}


def extension_tool(python: Path) -> list[str | Path]:
    """Blender's own program that validates and builds extensions, as it stands in a bpy wheel."""
    found = sorted(python.parent.parent.rglob("bl_pkg/cli/blender_ext.py"))
    if not found:
        raise DevError(f"the bpy package of {python} has no bl_pkg/cli/blender_ext.py")
    return [python, found[0]]


def build(python: Path) -> Result:
    """Validate the manifest, build dist/*.zip, validate that, and look what is in it."""
    tool = extension_tool(python)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    total = step("validate the source", [*tool, "validate", ROOT])
    total.add(step("build the zip", [*tool, "build", "--source-dir", ROOT, "--output-dir", DIST]))
    archives = sorted(DIST.glob("*.zip"))
    if len(archives) == 1:
        total.add(step("validate the zip", [*tool, "validate", archives[0]]))
        total.add(outcome("contents of the zip", "\n".join(zip_faults(archives[0]))))
        say(f"  {archives[0].relative_to(ROOT)}: {archives[0].stat().st_size / 1024:.0f} KiB")
    else:
        total.add(outcome("one zip in dist/", f"found {[p.name for p in archives]}"))
    return total


def docs() -> Result:
    """Build the manual strictly, from docs/, the changelog and the reference that a bpy wheel writes."""
    pages = RESULTS / "manual"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    shutil.copy(ROOT / "CHANGELOG.md", pages / "changelog.md")
    total = step("reference", [environment(DEFAULT_BPY), TESTS / "reference.py", pages / "reference.md"])
    os.environ["MANUAL"] = str(pages)
    command = [environment("docs"), "-m", "mkdocs", "build", "--strict", "--site-dir", ROOT / "site"]
    total.add(step("mkdocs build --strict", command))
    return total


def zip_faults(archive: Path) -> list[str]:
    """What is in the zip and should not be, or is missing."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    known = set(listed.stdout.split("\0"))
    names = {name for name in zipfile.ZipFile(archive).namelist() if not name.endswith("/")}
    development = ("tests/", "demo/", "docs/", ".ci/", "dev.py", "pyproject.toml", "mkdocs.yml")
    faults = [f"{name}: is ignored by git" for name in sorted(names - known)]
    faults += [f"{name}: is for developers" for name in sorted(names) if name.startswith(development)]
    source = {n for n in known if n.endswith(".py") and n.startswith(("core/", "operators/", "panels/"))}
    wanted = {"blender_manifest.toml", "__init__.py", "LICENSE"} | {n for n in source if (ROOT / n).is_file()}
    wanted |= {name for name in known if name.startswith(("presets/", "languages/"))}
    return faults + [f"{name}: is missing" for name in sorted(wanted - names)]


def real(command: str, pattern: str | None) -> Result:
    """Install the zip into a profile of its own in a real Blender, and test it there."""
    program = shlex.split(command)[0]
    if not shutil.which(program):
        return outcome("BLENDER", f"{program} is not a program")
    python = str(environment("tools"))
    archives = sorted(DIST.glob("*.zip"))
    if len(archives) != 1:
        return outcome("the zip to install", f"dist/ has {[p.name for p in archives]}")
    profile = RESULTS / "real-profile"
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir(parents=True)
    env = {
        "BLENDER": command,
        "BLENDER_USER_RESOURCES": str(profile),
        "ACTIVE_RAGDOLL_ZIP": str(archives[0]),
        "ACTIVE_RAGDOLL_PYTEST": str(pytest_folder()),
    }
    # Installing is itself one of these tests, so -k would leave nothing to test.
    first, *others = sorted((TESTS / "real").glob("test_*.py"), key=lambda path: path.stem != "test_installed")
    total = run_files([first], wheel_command(python), RESULTS / "installed", env=env)
    env["ACTIVE_RAGDOLL_INSTALLED"] = "1"
    beside = Background(lambda: run_files(others, wheel_command(python), RESULTS / "installed", env=env, size=1))
    total.add(run_files(BLENDER_TESTS, program_command(command), RESULTS / "real", env=env, pattern=pattern))
    total.add(beside.wait())
    return total


# Commands


def test(options: argparse.Namespace) -> int:
    """All stages at once, a table of them, and the closing line."""
    start, versions, chosen = time.monotonic(), versions_of(options.bpy), options.only or STAGES
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir()
    builder = DEFAULT_BPY if DEFAULT_BPY in versions else versions[0]
    setup = Background(prepare_blender) if "real" in chosen else None
    # The zip comes first, since the tests in a real Blender begin with it and take longest.
    zipped = Background(lambda: build(environment(builder))) if {"build", "real"} & set(chosen) else None
    jobs = {"build": zipped.wait} if zipped else {}
    jobs |= {"real": lambda: real_or_skip(setup, zipped, options.k)} if setup else {}
    jobs |= {
        name: job
        for name, job in (
            ("lint", lint),
            ("core", lambda: core(options.k)),
            ("fuzz", lambda: fuzz_stage(options.nightly)),
            ("docs", docs),
        )
        if name in chosen
    }
    for version in versions if "blender" in chosen else ():
        jobs[version] = lambda v=version: blender(v, environment(v), options.k, options.nightly)
    stages = {title: Background(job) for title, job in jobs.items()}
    rows = []
    for title, stage in stages.items():
        try:
            rows.append((title, stage.wait()))
        except DevError as error:
            rows.append((title, outcome(title, str(error))))
    return summary(rows, time.monotonic() - start)


def prepare_blender() -> str:
    """Run BLENDER_SETUP; the message of its failure, or nothing."""
    command, log = shlex.split(os.environ.get("BLENDER_SETUP", "")), RESULTS / "blender_setup.log"
    try:
        with log.open("wb") as stream:
            outputs = {"stdout": stream, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
            if command:
                subprocess.run(command, cwd=ROOT, timeout=SETUP_TIMEOUT, check=True, **outputs)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error}\n{log.read_text(errors='replace')}"
    return ""


def fuzz_stage(night: bool) -> Result:
    """Sessions of fixed seeds; at night new ones each time, for longer."""
    command = script_command(DEFAULT_BPY, sessions.SESSION, [])
    seeds = (int(time.time()),) if night else (FUZZ_SEED, FUZZ_SESSIONS)
    seconds = FUZZ_NIGHT if night else math.inf  # it waits for free cores
    return sessions.fuzz(command, perturbed(DEFAULT_BPY), DEFAULT_BPY, seconds, *seeds)


def fuzz(options: argparse.Namespace) -> int:
    """Random sessions for some time, or one of them with some of its steps."""
    command = script_command(options.bpy, sessions.SESSION, [])
    env = perturbed(options.bpy)
    if options.only is not None:
        ended = sessions.play(command, env, options.seed, options.only)
        say(f"{ended.log}{ended.fault}")
        return 1 if ended.fault else 0
    return 1 if sessions.fuzz(command, env, options.bpy, options.seconds, options.seed).failed else 0


def real_or_skip(setup: Background, zipped: Background, pattern: str | None) -> Result:
    """The tests in a real Blender, where there is one."""
    command, fault = os.environ.get("BLENDER", ""), setup.wait()
    zipped.wait()
    if command and not fault:
        return real(command, pattern)
    why = f"The real Blender could not be set up: {fault}" if fault else "BLENDER is not set."
    say(f"\n{'!' * 100}\n!!! {why}\n!!! The tests in a real Blender are skipped.\n{'!' * 100}\n")
    return Result(skipped=1)


def summary(rows: list[tuple[str, Result]], seconds: float) -> int:
    """Print the table, what was skipped and why, and the closing line; 1 if anything failed."""
    total = Result()
    say(f"\n{'stage':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds of its processes':>26}")
    for title, result in rows:
        total.add(result)
        say(f"{title:<14}{result.passed:>8}{result.failed:>8}{result.skipped:>9}{result.seconds:>26.1f}")
    say("".join(f"\n  skipped {count}: {reason}" for reason, count in total.skips.items()))
    say(f"{total.counts()} in {seconds:.1f} s")
    return 1 if total.failed else 0


def demo(options: argparse.Namespace) -> int:
    """The main job on the bundled human, or on the user's own file."""
    arguments = ["--out", str(Path(options.out).resolve())]
    if options.input:
        arguments += ["--input", str(Path(options.input).resolve())]
    return in_blender(options.bpy, ROOT / "demo" / "run.py", [*arguments, *options.rest])


def in_blender(version: str, script: Path, arguments: list[str]) -> int:
    """Run a script in the Blender of BLENDER, else in a bpy wheel; its exit code."""
    version = INSTALLED if os.environ.get("BLENDER") else version
    return subprocess.run(script_command(version, script, arguments), cwd=ROOT).returncode


def script_command(version: str, script: Path, arguments: list[str | Path]) -> list[str | Path]:
    """The command that runs a script in a bpy wheel, or in the Blender of BLENDER."""
    if version != INSTALLED:
        return [environment(version), script, *arguments]
    command = os.environ.get("BLENDER")
    if not command:
        raise DevError("BLENDER is not set: it is the program, or a command that starts one")
    program = [*shlex.split(command), "--background", "--factory-startup", "--python-exit-code", "1"]
    return [*program, "--python", script, "--", *arguments]


def pictures() -> int:
    """The manual's pictures of the panels, in the Blender of BLENDER_WINDOW; its exit code."""
    command = shlex.split(os.environ.get("BLENDER_WINDOW", ""))
    if not command:
        raise DevError("BLENDER_WINDOW is not set: it is a command that starts a Blender with a window")
    script = [ROOT / "demo" / "pictures.py", "--", ROOT / "docs" / "panels"]
    return subprocess.run([*command, "--factory-startup", "--python", *script], cwd=ROOT).returncode


def example(options: argparse.Namespace) -> int:
    """One example, or each of them in a folder of its own; without a name, the list of them."""
    from demo.examples import EXAMPLES

    if options.list or not options.name:
        say("\n".join(f"{name:<16}{text}" for name, text in sorted(EXAMPLES.items())))
        return 0
    if options.name != "all" and options.name not in EXAMPLES:
        raise DevError(f"which example? {', '.join(sorted(EXAMPLES))}, or all")
    out = Path(options.out).resolve()
    jobs = {name: out / name for name in sorted(EXAMPLES)} if options.name == "all" else {options.name: out}
    failed = [
        name
        for name, folder in jobs.items()
        if in_blender(
            options.bpy, ROOT / "demo" / "example.py", [name, "--out", str(folder), *["--clip"] * options.clip]
        )
    ]
    return 1 if failed else 0


def bench(options: argparse.Namespace) -> int:
    """One benchmark; without a name, the list of them."""
    folder = TESTS / "benchmarks"
    script = folder / f"{options.name}.py"
    if not options.name or not script.is_file():
        names = sorted(p.stem for p in folder.glob("*.py") if not p.name.startswith("_"))
        raise DevError(f"which benchmark? {', '.join(names) or 'there are none'}")
    return subprocess.run([environment(options.bpy), script, *options.rest], cwd=ROOT).returncode


def golden(options: argparse.Namespace) -> int:
    """Play the golden shots with a commit's extension and with the one that stands here, and compare them."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        tree, failed = Path(folder) / "tree", 0
        quietly(["git", "worktree", "add", "--detach", tree, options.commit], f"checking out {options.commit}")
        try:
            for version in versions_of(options.bpy):
                say(f"\n== {version}: {options.commit} and the working tree")
                failed |= golden_in(version, {Path(folder) / "before.npz": tree, Path(folder) / "after.npz": ROOT})
        finally:
            quietly(["git", "worktree", "remove", "--force", tree], "removing the worktree")
    return failed


def golden_in(version: str, trees: dict[Path, Path]) -> int:
    """Play the golden shots in one Blender, all trees at once, and compare: 1 if they differ or cannot be played.

    Args:
        version: of bpy, or INSTALLED.
        trees: file to write -> source tree of the extension; the first is what the second is compared with.
    """
    commands = [script_command(version, GOLDEN / "shots.py", [tree, path]) for path, tree in trees.items()]
    jobs = [Background(lambda c=command: fault_of(c)) for command in commands]
    faults = {tree: job.wait() for tree, job in zip(trees.values(), jobs, strict=True)}
    for tree, fault in faults.items():
        if fault:
            say(f"  {'the working tree' if tree == ROOT else 'the commit'}:\n{fault.rstrip()}")
    if not all(path.exists() for path in trees):
        return 1
    command = [environment("tools"), GOLDEN / "compare.py", *trees]
    return 1 if subprocess.run(command, cwd=ROOT).returncode or any(faults.values()) else 0


def versions_of(chosen: list[str]) -> tuple[str, ...]:
    """The bpy versions that --bpy means, each once."""
    return BPY_VERSIONS if "all" in chosen else tuple(dict.fromkeys(chosen))


def main() -> int:
    """Read the command line and run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, run: Callable, text: str, *bpy: str, many: bool = False, out: bool = False, **named):
        sub = commands.add_parser(name, help=text)
        sub.set_defaults(run=run)
        if bpy:
            default, count = ([DEFAULT_BPY], {"nargs": "+"}) if many else (DEFAULT_BPY, {})
            sub.add_argument("--bpy", default=default, choices=bpy, **count)
        if out:
            sub.add_argument("--out", default="demo-out", metavar="DIR", help="folder of the results (demo-out)")
        if named:
            sub.add_argument("name", nargs="?", metavar="NAME", **named)
        return sub

    sub = command("test", test, "run all tests", *BPY_VERSIONS, "all", many=True)
    sub.add_argument("--only", nargs="+", choices=STAGES, help="these stages; real builds first")
    sub.add_argument("-k", metavar="PATTERN", help="pytest's -k for core, blender and real")
    sub.add_argument("--nightly", action="store_true", help="every test in every version")
    sub = command("demo", demo, "run the main job; further options go to demo/run.py", *BPY_VERSIONS, out=True)
    sub.add_argument("--input", metavar="FILE", help="a character with an action: blend, glb, gltf, fbx, bvh")
    sub = command("example", example, "make an example shot", *BPY_VERSIONS, out=True, help="of an example, or all")
    sub.add_argument("--list", action="store_true", help="what there is")
    sub.add_argument("--clip", action="store_true", help="a film of it as well (MP4)")
    command("bench", bench, "run a benchmark; further options go to it", *BPY_VERSIONS, help="of the benchmark")
    known = (*BPY_VERSIONS, INSTALLED)
    sub = command("golden", golden, "compare golden shots with a commit's, bit for bit", *known, "all", many=True)
    sub.add_argument("commit", nargs="?", default="HEAD", metavar="COMMIT", help="to compare with (HEAD)")
    sub = command("fuzz", fuzz, "random sessions against what must always hold", *known)
    sub.add_argument("--seconds", type=float, default=60.0, metavar="N", help="for so long (60)")
    sub.add_argument("--seed", type=int, default=FUZZ_SEED, metavar="S", help="of the first session; others count on")
    sub.add_argument("--only", type=int, nargs="*", metavar="I", help="that one session with these steps only")
    command("build", lambda _o: build(environment(DEFAULT_BPY)).failed, "validate and build dist/*.zip")
    sub = command("lint", lambda o: lint(o.strict).failed, "check rules, formatting and imports, print figures")
    sub.add_argument("--strict", action="store_true", help="figures over their bounds are a failure")
    command("docs", lambda _o: docs().failed, "build the manual's site")
    command("pictures", lambda _o: pictures(), "make the manual's pictures of the panels")
    words = lambda _o: in_blender(DEFAULT_BPY, TESTS / "words.py", [])  # noqa: E731
    command("languages", words, "bring the catalogues of languages/ in line with what is said")
    command("format", lambda _o: reformat().failed, "apply ruff's fixes and formatting")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options, options.rest = parser.parse_known_args()
    if options.rest and options.command not in {"demo", "bench"}:
        parser.error(f"unknown options: {' '.join(options.rest)}")
    try:
        return min(1, options.run(options))
    except DevError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        run_blender.stop()
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
