"""Declaring settings: what Blender has to know of a stored property, and what the rest of the extension asks about it.

A property is a SETTING of the user's, part of the INTERFACE (which row a list shows), a RECORD of what was made, or
DERIVED from others and not stored. A declaration says so once; profiles, copies of characters, `remove` and the reading
of keyed settings go by it. Angles are in radians.

A linked character with a library override keeps of its settings only those that may be overridden, so all may, and
lists may grow.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import bpy

from .. import runtime

SETTING, INTERFACE, RECORD, DERIVED = "SETTING", "INTERFACE", "RECORD", "DERIVED"
ACTS, PLAYED = "ACTS", "PLAYED"  # groups of lists: what the motion stack's steps are made from, and what these play
RAGDOLL, STACK_RECORD, SHOT, FILE = "RAGDOLL", "STACK_RECORD", "SHOT", "FILE"  # what a record belongs to
CHOSEN = "CHOSEN"  # records of what a setting points at: they tell what it was, when it is deleted
SHARE = {"subtype": "FACTOR", "min": 0.0, "max": 1.0}
FLOATS = "FLOATS"
_KINDS = {
    bool: "BoolProperty",
    int: "IntProperty",
    float: "FloatProperty",
    str: "StringProperty",
    FLOATS: "FloatVectorProperty",
}


@dataclass(frozen=True)
class Need:
    """What an edit entails.

    Attributes:
        update: the property's callback.
        build: only a new build brings it about.
    """

    update: Callable
    build: bool = False


@dataclass(frozen=True)
class Declared:
    """What a declaration says beside Blender's own part of it.

    Attributes:
        kind: SETTING, INTERFACE, RECORD or DERIVED.
        keyed: it may be animated.
        needs: what an edit entails, None where that is nothing.
        group: settings of one group are copied together; of a RECORD what it belongs to.
        found: a build finds a value where the user has set none.
        holds: the property group of a group or a list.
        is_list: a list of such groups.
        points: it points at a data-block.
        index: of a list the property that tells its active row.
    """

    kind: str = SETTING
    keyed: bool = False
    needs: Need | None = None
    group: str = ""
    found: bool = False
    holds: type | None = None
    is_list: bool = False
    points: bool = False
    index: str = ""


# ---- what edits entail ----------------------------------------------------------------------------------------------

show_stack_later: Callable = lambda: None  # noqa: E731  set by the registration: the stack stands above its settings


def _read(self, _context) -> None:
    runtime.settings_changed(self.id_data)


def _rebuild(self, _context) -> None:
    runtime.settings_changed(self.id_data, layout=True)


def _stack(self, _context) -> None:
    runtime.settings_changed(self.id_data)
    show_stack_later()


def _stack_value(self, _context) -> None:
    runtime.settings_changed(self.id_data, stack=False)
    show_stack_later()


def _poses(self, _context) -> None:
    runtime.settings_changed(self.id_data, layout=True)
    show_stack_later()


READ = Need(_read)  # a run reads it again
REBUILD = Need(_rebuild, build=True)  # bodies and joints are made of it
STACK = Need(_stack)  # entries of the motion stack are made of it: they are made anew, and the frame is shown anew
STACK_VALUE = Need(_stack_value)  # the motion stack reads it on every frame and it leaves no trace in those to come
POSES = Need(_poses, build=True)  # as STACK, and it decides which poses come: a build widens the limits to those


# ---- declarations ---------------------------------------------------------------------------------------------------

_declared: dict = {}  # by the identity of Blender's part of a declaration, which is kept with it


def _declare(maker: str, name, description, declared: dict, override=("LIBRARY_OVERRIDABLE",), **more):
    """A property of Blender's; what is None is left to Blender."""
    said = Declared(**declared)
    arguments = {"options": {"ANIMATABLE"} if said.keyed else set(), "override": set(override)}
    if said.needs is not None:
        arguments["update"] = said.needs.update
    arguments |= {"name": name, "description": description, **more}
    made = {key: value for key, value in arguments.items() if value is not None}
    result = getattr(bpy.props, maker)(**made)
    _declared[id(result)] = result, said
    return result


def _parted(more: dict) -> dict:
    """What of the arguments of a declaration is not for Blender."""
    return {key: more.pop(key) for key in ("kind", "keyed", "needs", "group", "found") if key in more}


def number(name, description=None, default: float = 0.0, **more):
    """A number."""
    return _declare("FloatProperty", name, description, _parted(more), default=default, **more)


def share(name, description=None, default: float = 1.0, **more):
    """A number of 0 to 1."""
    return number(name, description, default, **SHARE, **more)


def vector(name, description=None, default: tuple = (0.0, 0.0, 0.0), subtype: str = "XYZ", **more):
    """Several numbers: a place, a direction, a rotation."""
    more |= {"default": default, "size": len(default), "subtype": subtype}
    return _declare("FloatVectorProperty", name, description, _parted(more), **more)


def whole(name, description=None, default: int = 0, **more):
    """A whole number."""
    return _declare("IntProperty", name, description, _parted(more), default=default, **more)


def wholes(name, description, size: int, **more):
    """Several whole numbers."""
    return _declare("IntVectorProperty", name, description, _parted(more), size=size, **more)


def flag(name, description=None, default: bool = False, **more):
    """On or off."""
    return _declare("BoolProperty", name, description, _parted(more), default=default, **more)


def choice(name, items, default=None, description=None, **more):
    """One of several."""
    return _declare("EnumProperty", name, description, _parted(more), items=items, default=default, **more)


def text(name, description=None, default: str = "", **more):
    """A name or another text."""
    return _declare("StringProperty", name, description, _parted(more), default=default, **more)


def block(name, description=None, kind: type = bpy.types.Object, **more):
    """A data-block of the file."""
    declared = _parted(more) | {"points": True}
    return _declare("PointerProperty", name, description, declared, type=kind, **more)


def settings(holds: type, name=None, **more):
    """A group of settings."""
    return _declare("PointerProperty", name, None, _parted(more) | {"holds": holds}, type=holds, **more)


def items(holds: type, index: str = "", **more):
    """A list of groups of settings.

    Args:
        index: the property that tells its active row.
    """
    declared = _parted(more) | {"holds": holds, "is_list": True, "index": index}
    override = ("LIBRARY_OVERRIDABLE", "USE_INSERTION")
    return _declare("CollectionProperty", None, None, declared, override, type=holds, **more)


def row():
    """Which row a list shows."""
    return whole(None, kind=INTERFACE)


def record(what, description=None, of: str = RAGDOLL, name=None, **more):
    """Something that was made or found, to be used and taken away again.

    Args:
        what: bool, int, float, str, FLOATS, or the type of a data-block.
        of: what it belongs to.
    """
    said = {"kind": RECORD, "group": of}
    if what in _KINDS:
        return _declare(_KINDS[what], name, description, said, **more)
    return _declare("PointerProperty", name, description, said | {"points": True}, type=what, **more)


def records(what: type, of: str = RAGDOLL):
    """A list of records."""
    return items(what, kind=RECORD, group=of)


def declare_in(part: type, made: dict) -> None:
    """Let a part of a property group, a base class of its own, hold declarations that a registry gives, by name."""
    part.__annotations__ = made
    declarations.cache_clear()
    names.cache_clear()


# ---- asking ---------------------------------------------------------------------------------------------------------


@cache
def declarations(kind: type, /) -> dict[str, Declared]:
    """What the declarations of a property group say, by name, those of its bases first.

    Args:
        kind: its class, such as `type(obj.active_ragdoll)`.
    """
    found = {}
    for base in reversed(kind.__mro__):
        for name, made in inspect.get_annotations(base).items():
            if id(made) in _declared:
                found[name] = _declared[id(made)][1]
    return found


@cache
def names(kind: type, /, **wanted) -> tuple[str, ...]:
    """Names of the properties of a group whose declarations say what is wanted, as in `kind=RECORD`."""
    return tuple(
        name
        for name, said in declarations(kind).items()
        if all(getattr(said, key) == value for key, value in wanted.items())
    )


def walk(group) -> Iterator[tuple]:
    """(group, name, declaration) of all properties of a group, and of the groups and lists in it."""
    for name, said in declarations(type(group)).items():
        yield group, name, said
        if said.holds is not None:
            inner = getattr(group, name)
            for one in inner if said.is_list else (inner,):
                yield from walk(one)


def classes_of(*modules) -> tuple:
    """What Blender has to register of some modules, in the order in which it stands there."""
    return tuple(
        cls
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, type) and cls.__module__ == module.__name__ and issubclass(cls, bpy.types.bpy_struct)
    )
