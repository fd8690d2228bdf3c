"""Declaring settings: what Blender has to know of a stored property, and what the rest of the extension asks about it.

A property is a SETTING of the user's, part of the INTERFACE (which row a list shows), a RECORD of what was made, or
DERIVED from others and not stored. A declaration says so once; profiles, copies of characters, `remove` and the reading
of keyed settings go by it. Angles are in radians. Declarations are read as tables, which no formatter touches.

A linked character with a library override keeps of its settings only those that may be overridden, so all may, and
lists may grow.
"""

import inspect
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, partial

import bpy
from mathutils import Euler

from .. import runtime
from ..languages import CONTEXT

SETTING, INTERFACE, RECORD, DERIVED = "SETTING", "INTERFACE", "RECORD", "DERIVED"
ACTS = "ACTS"  # group of lists: what the motion stack's steps are made from, and what these play
RAGDOLL, STACK_RECORD, SHOT, FILE = "RAGDOLL", "STACK_RECORD", "SHOT", "FILE"  # what a record belongs to
CHOSEN = "CHOSEN"  # records of what a setting points at: they tell what it was, when it is deleted
Need = namedtuple("Need", ("update", "build"))  # what an edit entails: the callback, and whether only a build does it


@dataclass(frozen=True)
class Declared:
    """What a declaration says beside Blender's own part of it."""

    label: str = ""
    kind: str = SETTING  # SETTING, INTERFACE, RECORD or DERIVED
    keyed: bool = False  # it may be animated
    needs: Need | None = None  # what an edit entails, None where that is nothing
    group: str = ""  # settings of one group are copied together; of a RECORD what it belongs to
    found: bool = False  # a build finds a value where the user has set none
    holds: type | None = None  # the property group of a group or a list
    is_list: bool = False  # a list of such groups
    points: bool = False  # it points at a data-block
    own_units: bool = False  # lengths in the armature's own units: they scale along when its scale is applied
    index: str = ""  # of a list the property that tells its active row
    refers: str = ""  # it holds the name of an item of that list, by its path in a character's settings
    zero: str = ""  # what 0 means, where it is no number among others; `use_` and its name then is a switch of it
    ticked: float = 1.0  # what that switch sets where the default is 0


# ---- what edits entail ----------------------------------------------------------------------------------------------
show_stack_later: Callable = lambda obj: None  # noqa: E731  set by the registration: the stack stands above its settings


def _need(*, build: bool = False, stack: bool = True, shows: bool = False) -> Need:
    """A `Need`: see `runtime.settings_changed` for `stack`; `shows` lets the motion stack be shown anew."""

    def update(self, _context) -> None:
        runtime.settings_changed(self.id_data, layout=build, stack=stack)
        if shows:
            show_stack_later(self.id_data)

    return Need(update, build)


READ = _need()  # a run reads it again
REBUILD = _need(build=True)  # bodies and joints are made of it
STACK = _need(shows=True)  # entries of the motion stack are made of it: they are made anew, and the frame is shown anew
STACK_VALUE = _need(stack=False, shows=True)  # the stack reads it on every frame; it leaves no trace in those to come
POSES = _need(build=True, shows=True)  # as STACK, and it decides which poses come: a build widens the limits to those


def by_user(name: str, value, need: Need = REBUILD):
    """The callback of a setting whose edits by the user are noted in another one."""

    def edited(self, context) -> None:
        if not runtime.STATE.building:
            setattr(self, name, value)
        need.update(self, context)

    return edited


# ---- declarations ---------------------------------------------------------------------------------------------------
_declared: dict = {}  # by the identity of Blender's part of a declaration, which is kept with it


def _declare(maker: str, name=None, description=None, default=None, override=("LIBRARY_OVERRIDABLE",), **more):
    """A property of Blender's; `more`: fields of `Declared` and Blender's arguments. None is left to Blender."""
    ours = {field.name: more.pop(field.name) for field in fields(Declared) if field.name in more}
    said = Declared(name or "", **ours)
    arguments = {"name": name, "description": description, "default": default, "override": set(override)}
    options = {"ANIMATABLE"} if said.keyed else {"SKIP_SAVE"} if said.kind == DERIVED else set()
    arguments |= {"options": options, "update": said.needs and said.needs.update, "translation_context": CONTEXT}
    made = {key: value for key, value in (arguments | more).items() if value is not None}
    result = getattr(bpy.props, maker)(**made)
    _declared[id(result)] = result, said
    return result


# Each takes a name, a description and a default, in this order.
number = partial(_declare, "FloatProperty")
whole = partial(_declare, "IntProperty")
flag = partial(_declare, "BoolProperty")
text = partial(_declare, "StringProperty")
wholes = partial(_declare, "IntVectorProperty")  # several numbers: `size`
block = partial(_declare, "PointerProperty", type=bpy.types.Object, points=True)  # a data-block of the file


def share(name, description=None, default: float = 1.0, **more):
    """A number of 0 to 1."""
    return number(name, description, default, subtype="FACTOR", min=0.0, max=1.0, **more)


def vector(name, description=None, default: tuple | None = (0.0, 0.0, 0.0), subtype: str = "XYZ", **more):
    """Several numbers: a place, a direction, a rotation."""
    size = {"size": len(default)} if default is not None else {}
    return _declare("FloatVectorProperty", name, description, default, subtype=subtype, **size, **more)


def angles(name, of: str, description=None):
    """A rotation that is stored as quaternion `of`, as three angles, which people can read."""

    def get(self):
        return getattr(self, of).to_euler()

    def put(self, value) -> None:
        before = get(self)  # Blender sets what is overridden when it loads a file, which is no edit
        if max(abs(a - b) for a, b in zip(value, before, strict=True)) > 1e-6:
            setattr(self, of, Euler(value).to_quaternion())

    return vector(name, description, None, "EULER", size=3, kind=DERIVED, get=get, set=put)


def choice(name, items, default=None, description=None, **more):
    """One of several (identifier, name, description), with an icon or without."""
    if not callable(items):
        items = [(*item, i) if isinstance(item[-1], str) and len(item) == 4 else item for i, item in enumerate(items)]
    return _declare("EnumProperty", name, description, default, items=items, **more)


_menus: dict = {}  # Blender does not keep the texts of menus that are made when they are opened


def menu(listed: Callable) -> Callable:
    """The items of a choice among what a function of the owner lists when the menu is opened."""

    def opened(self=None, _context=None) -> tuple:
        found = tuple(listed(self))
        return _menus.setdefault(found, found)

    return opened


def settings(holds: type, name=None, **more):
    return _declare("PointerProperty", name, type=holds, holds=holds, **more)


def items(holds: type, index: str = "", **more):
    """A list of groups of settings; `index` names the property with its active row. `lists` does what it needs."""
    more |= {"override": ("LIBRARY_OVERRIDABLE", "USE_INSERTION"), "update": None}  # Blender has no callback for lists
    return _declare("CollectionProperty", type=holds, holds=holds, is_list=True, index=index, **more)


def record(what, description=None, of: str = RAGDOLL):
    """A value or data-block, by its type, that was made or found for `of`, to be used and taken away again."""
    declare = {bool: flag, int: whole, float: number, str: text}.get(what) or partial(block, type=what)
    return declare(None, description, kind=RECORD, group=of)


def complete(part: type) -> None:
    """Give a property group a switch for each number whose 0 is none, and for each list the row that it shows."""
    known = declarations(part)
    part.__annotations__ |= {f"use_{name}": _switch(name, said) for name, said in known.items() if said.zero}
    part.__annotations__ |= {said.index: whole(kind=INTERFACE) for said in known.values() if said.index}
    declarations.cache_clear()


def _switch(of: str, said: Declared):
    def put(self, on: bool) -> None:
        number = type(getattr(self, of))
        setattr(self, of, number(self.bl_rna.properties[of].default or said.ticked) if on else number(0))

    words = "Whether there is one; without it the words beside it say what holds"
    return flag(said.label, words, None, kind=DERIVED, get=lambda self: getattr(self, of) != 0.0, set=put)


def declare_in(part: type, made: dict) -> None:
    """Give a base class of a property group the declarations that a registry makes, by name."""
    part.__annotations__ = made
    declarations.cache_clear()
    names.cache_clear()


# ---- asking ---------------------------------------------------------------------------------------------------------
@cache
def declarations(kind: type, /) -> dict[str, Declared]:
    """What the declarations of a property group say, given its class, by name, those of its bases first."""
    made = (pair for base in reversed(kind.__mro__) for pair in inspect.get_annotations(base).items())
    return {name: _declared[id(own)][1] for name, own in made if id(own) in _declared}


@cache
def names(kind: type, /, **wanted) -> tuple[str, ...]:
    """Names of the properties of a group whose declarations say what is wanted, as in `kind=RECORD`."""
    return tuple(name for name, said in declarations(kind).items() if wanted.items() <= vars(said).items())


def walk(group) -> Iterator[tuple]:
    """(group, name, declaration) of all properties of a group, and of the groups and lists in it."""
    for name, said in declarations(type(group)).items():
        yield group, name, said
        if said.holds is not None:
            inner = getattr(group, name)
            for one in inner if said.is_list else (inner,):
                yield from walk(one)


def classes_of(*modules) -> tuple:
    """The classes of some modules that Blender has to register, in the modules' order."""
    found = ((cls, module.__name__) for module in modules for cls in vars(module).values() if isinstance(cls, type))
    return tuple(cls for cls, own in found if cls.__module__ == own and issubclass(cls, bpy.types.bpy_struct))
