"""Loads the extension into the Blender that runs the tests, and leaves that Blender cleanly.

The extension is the one installed and enabled, where there is one; otherwise it is loaded from the
repository. Either way tests import it as `active_ragdoll`, and `core` is the same module as
`active_ragdoll.core`: two copies of one module would have two run-time states and register twice."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

REPO = Path(__file__).resolve().parent.parent.parent
NAME = "active_ragdoll"
MUST_BE_INSTALLED = "ACTIVE_RAGDOLL_INSTALLED"


class AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports `alias` and `alias.x` as the very modules `real` and `real.x`."""

    def __init__(self, alias: str, real: str) -> None:
        self.alias, self.real = alias, real
        self._specs = {}

    def find_spec(self, fullname, path=None, target=None):
        """See `importlib.abc.MetaPathFinder`."""
        if fullname != self.alias and not fullname.startswith(self.alias + "."):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec) -> ModuleType:
        """The real module, whose own spec is put back by `exec_module`."""
        module = importlib.import_module(self.real + spec.name[len(self.alias) :])
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module) -> None:
        """Nothing to execute: the real module is complete."""
        module.__spec__ = self._specs[module.__spec__.name]


def installed_name() -> str:
    """The module name of the installed and enabled extension, "" where there is none."""
    import bpy

    modules = [addon.module for addon in bpy.context.preferences.addons]
    names = [name for name in modules if name.rpartition(".")[2] == NAME]
    return names[0] if names else ""


def load_extension() -> tuple[ModuleType, bool]:
    """Make `import active_ragdoll` work, registered: the package, and whether it is to be unregistered here too.
    Raises RuntimeError: the environment asks for the installed extension and none is enabled."""
    if real := installed_name():
        sys.meta_path[:0] = [AliasFinder(NAME, real), AliasFinder("core", real + ".core")]
        return importlib.import_module(NAME), False
    if os.environ.get(MUST_BE_INSTALLED):
        raise RuntimeError(f"{MUST_BE_INSTALLED} is set, but no extension {NAME} is installed and enabled")
    spec = importlib.util.spec_from_file_location(NAME, REPO / "__init__.py", submodule_search_locations=[str(REPO)])
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    sys.meta_path.insert(0, AliasFinder("core", NAME + ".core"))
    package.register()
    return package, True


def own_handlers() -> set[tuple[str, str]]:
    """(list, function) of every entry that the extension has in bpy.app.handlers."""
    import bpy

    found = set()
    for name in dir(bpy.app.handlers):
        functions = getattr(bpy.app.handlers, name)
        if isinstance(functions, list):
            found |= {(name, f.__qualname__) for f in functions if NAME in getattr(f, "__module__", "").split(".")}
    return found


def exit_now(status: int) -> None:
    """Leave without the interpreter's clean-up.

    A bpy wheel that has simulated a rigid body world hangs there, or prints thousands of lines."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
