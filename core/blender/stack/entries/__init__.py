"""The kinds of entries of the motion stack: every module of this package is one, its `KIND`.

A kind says what settings it has, how steps of the stack are made from them, and how its panel draws them. Lists,
operators, panels, profiles and the reading of keyed settings go by what the kinds say.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator

from ....errors import RagdollError
from ....motion.stack import Rig, Step
from ...settings import declare
from ...settings.declare import ACTS

_kinds: list = []


class Kind:
    """A kind of entry."""

    # identifier, label, icon: of the kind, for its place in the order and in the sidebar
    identifier = label = ""
    icon = "DOT"
    place = 0  # where it acts unless the user has chosen: the smaller, the earlier
    movable = True  # users may choose where it acts; else before the first of those that come after it by default
    lists: tuple = ()  # what operators can add to; see `ItemList`
    step: type  # class of its steps

    @property
    def classes(self) -> tuple:
        """Its property groups, inner ones first: those of its module."""
        return declare.classes_of(sys.modules[type(self).__module__])

    def declared(self) -> dict:
        """Declarations of the character's settings, by name."""
        return {}

    def acts(self, obj) -> bool:
        """Whether a character needs a motion stack because of it."""
        raise NotImplementedError

    def steps(self, obj, rig: Rig) -> Iterator[tuple[str, Callable[[], Step]]]:
        """(name, make) of each step that a character has, `make` giving the step or raising RagdollError."""
        if self.acts(obj):
            yield self.label, lambda: self.step(obj, rig)

    def joined(self, steps: list) -> list:
        """The steps as they are run."""
        return steps


class ItemList:
    """A list of settings that operators add to, remove from and move in."""

    items = ""  # its name, also for the operators
    title = description = ""  # of an item
    group: type  # property group of its items
    shown = ("bone", "weight")  # settings that a row shows as name and as number
    icon = "BONE_DATA"  # of a row

    def owner(self, obj):
        """The group of settings that the list is in; None where there is none."""
        return obj.active_ragdoll

    def fill(self, obj, items, item, bone: str) -> None:
        """Set up an item that was added last, for a bone, which may be empty."""
        setattr(item, self.shown[0], bone)

    def added(self, obj, item) -> None:
        """What follows once its settings act."""


class ListKind(Kind, ItemList):
    """A kind with a list of items on the character, each of which makes a step."""

    active = ""  # setting beside the list that says which row is shown
    panel_place = 100  # of its panel among those of the other kinds

    def __init__(self) -> None:
        self.lists = (self, *self.lists)

    def declared(self) -> dict:
        return {self.items: declare.items(self.group, self.active, group=ACTS, needs=declare.READ)}

    def acts(self, obj) -> bool:
        return len(getattr(obj.active_ragdoll, self.items)) > 0

    def steps(self, obj, rig: Rig) -> Iterator[tuple]:
        items = getattr(obj.active_ragdoll, self.items)
        for i, name in enumerate(self.names(items)):
            if items[i].enabled:
                yield name, lambda i=i, name=name: self.step(self, obj, rig, i, name)

    def names(self, items) -> list[str]:
        """A name for each item, each once, for messages."""
        return [f"{self.title} {i + 1}" for i in range(len(items))]

    def draw_head(self, layout) -> None:
        """What the panel shows above the list."""

    def draw(self, layout, obj, item) -> None:
        """The settings of the active item."""
        raise NotImplementedError


class ItemStep(Step):
    """A step made from an item of a list."""

    def __init__(self, kind: ListKind, obj, rig: Rig, index: int, name: str) -> None:
        self.obj, self.name, self.items, self.index = obj, name, kind.items, index
        self.marks_reference = getattr(self.item, "marks_reference", False)
        self.make(rig, self.item)

    def make(self, rig: Rig, item) -> None:
        """Set `solver`, by the item as it is set. Raises RagdollError where there can be none."""
        raise NotImplementedError

    @property
    def item(self):
        """The item as it is set, for what it points at."""
        return getattr(self.obj.active_ragdoll, self.items)[self.index]

    def now(self, reader):
        """The item with its values at the frame."""
        return getattr(reader.settings, self.items)[self.index]


def kinds() -> list[Kind]:
    """All kinds, in the order in which they act unless the user has chosen."""
    if not _kinds:
        names = [module.name for module in pkgutil.iter_modules(__path__)]
        _kinds.extend(importlib.import_module(f"{__name__}.{name}").KIND for name in names)
    return sorted(_kinds, key=lambda kind: kind.place)


def movable() -> list[str]:
    """Identifiers of the kinds whose place users choose, in the default order."""
    return [kind.identifier for kind in kinds() if kind.movable]


def lists() -> dict[str, ItemList]:
    """What operators can add to, by name."""
    return {own.items: own for kind in kinds() for own in kind.lists}


def of(obj, rig: Rig) -> tuple[list[Step], dict]:
    """Steps in the character's own order, and messages by the name of those that cannot be made."""
    steps, messages, known = [], {}, {kind.identifier: kind for kind in kinds()}
    order = [known[identifier] for identifier in order_of(obj)]
    for fixed in (kind for kind in known.values() if not kind.movable):
        order.insert(next(i for i, kind in enumerate(order) if kind.place > fixed.place), fixed)
    for kind in order:
        made = []
        for name, make in kind.steps(obj, rig):
            try:
                made.append(make())
            except RagdollError as error:
                messages[name] = str(error)
        steps += kind.joined(made)
    return steps, messages


def order_of(obj) -> list[str]:
    """The kinds whose place can be chosen in the character's own order."""
    known = movable()
    own = [item.kind for item in obj.active_ragdoll.motion_order if item.kind in known]
    return [*dict.fromkeys(own), *(kind for kind in known if kind not in own)]
