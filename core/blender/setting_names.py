"""Names by which settings refer to each other: each once in its list, and references follow when one is changed."""

from . import clip_properties
from .setting_options import FIXED, StringProperty


def unique(items, name: str) -> str:
    """A name that no item has yet."""
    names = {item.name for item in items}
    result, count = name, 1
    while result in names:
        count += 1
        result = f"{name} {count}"
    return result


def named(description: str, default: str, items_of, references=lambda _settings: ()):
    """A name for `Named` items.

    Args:
        description, default: of the property.
        items_of: the list that the item is in, of a character's settings.
        references: pairs of group and property that may hold the name, of a character's settings.
    """

    def renamed(self, context) -> None:
        settings = self.id_data.active_ragdoll
        own = unique([item for item in items_of(settings) if item != self], self.name)
        if own != self.name:
            self.name = own  # comes back here
            return
        before, self.known_name = self.known_name, own
        if before and before != own:
            for group, prop in references(settings):
                if getattr(group, prop) == before:
                    setattr(group, prop, own)
        clip_properties.set_up(self, context)

    return StringProperty(name="Name", description=description, default=default, options=FIXED, update=renamed)


class Named:
    """An item with a name; the one that it had last tells what refers to it."""

    known_name: StringProperty(options=FIXED)


def uses_of_space(settings):
    """Where the names of blend spaces are."""
    for layer in settings.layers:
        yield layer, "blend_space"
        yield layer, "sync_with"
    for state in settings.graph.states:
        yield state, "blend_space"


def uses_of_state(settings):
    """Where the names of states are."""
    for transition in settings.graph.transitions:
        yield transition, "origin"
        yield transition, "target"


def uses_of_parameter(settings):
    """Where the names of parameters are."""
    for transition in settings.graph.transitions:
        for condition in transition.conditions:
            yield condition, "parameter"
