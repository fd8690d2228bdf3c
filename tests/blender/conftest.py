"""Test files here run inside a Blender, several in a process: see ../run_blender.py."""

import importlib.util

import pytest

HAS_BPY = importlib.util.find_spec("bpy") is not None

if not HAS_BPY:
    collect_ignore_glob = ["test_*.py"]
else:
    import bpy

    import harness

    # Before the test modules are collected, since they import from it.
    _package, _registered_here = harness.load_extension()

    import arms

_status = 0


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus) -> None:
    """Remember how the run went."""
    global _status
    _status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config) -> None:
    """Leave once every report is written."""
    if HAS_BPY:
        harness.exit_now(_status)


@pytest.fixture(scope="session")
def extension():
    """The extension's package."""
    return _package


@pytest.fixture(scope="session", autouse=True)
def _unregister():
    yield
    if _registered_here:
        _package.unregister()
        left = harness.own_handlers()
        assert not left, f"unregister() left handlers behind: {sorted(left)}"


@pytest.fixture
def fresh_scene():
    """An empty file: one scene without objects. Preferences, and so the enabled extension, stay."""
    before = harness.own_handlers()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    lost = before - harness.own_handlers()
    assert not lost, f"loading a file removed handlers, they lack @persistent: {sorted(lost)}"
    return bpy.context.scene


@pytest.fixture
def scene(fresh_scene):
    """The same under a shorter name."""
    return fresh_scene


@pytest.fixture
def arm(fresh_scene):
    """An arm of three bones that swings: see arms.py."""
    return arms.make_arm(fresh_scene)


@pytest.fixture
def call(fresh_scene, capfd):
    """Run the command line: (exit code, stdout, its lines on stderr)."""
    from active_ragdoll.operators import command_line

    def run(*arguments: str):
        capfd.readouterr()
        code = command_line.run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, [line for line in err.splitlines() if line.startswith("active_ragdoll:")]

    return run
