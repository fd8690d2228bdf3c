"""Settings of the motion stack's entries that are read on every frame, animated or not."""

import re

from . import action_channels

_PATH = re.compile(r"active_ragdoll\.(\w+)\[(\d+)\]\.(\w+)")
# Lists tell nobody when they get longer or shorter.
LISTS = ("look_at", "leg_stabilizers", "two_bone_ik", "bone_transforms", "layers", "blend_spaces")


class Values:
    """Reads the settings of one item of a list of a character.

    What is keyed or driven is read from the source, which stands at the frame already; all else from the character.
    """

    def __init__(self, obj, name: str, i: int) -> None:
        self._obj, self._list, self._i = obj, name, i
        self._animated = {prop for other, row, prop in animated(obj) if (other, row) == (name, i)}
        if self._animated:
            _lengthen(obj, name)

    def read(self, places, prop: str):
        """A setting at the frame that `places` stand at."""
        owner = places.source if prop in self._animated else self._obj
        return getattr(getattr(owner.active_ragdoll, self._list)[self._i], prop)


def animated(obj) -> set[tuple[str, int, str]]:
    """(list, index, property) of every setting of a character's lists that is keyed or driven."""
    data = obj.animation_data
    if data is None:
        return set()
    paths = {driver.data_path for driver in data.drivers}
    for action in action_channels.played(data):
        paths.update(curve.data_path for curve in action_channels.all_fcurves(action))
    found = (_PATH.fullmatch(path) for path in paths)
    return {(match[1], int(match[2]), match[3]) for match in found if match}


def stamp(obj) -> tuple:
    """Changes when a character gets or loses bones, entries, keyed or driven settings, or another source; cheap enough
    for every frame."""
    settings = obj.active_ragdoll
    data, copy = obj.animation_data, settings.source
    made = copy.name if copy is not None else "", len(obj.data.bones), *lengths(obj)
    if data is None:
        return made
    action = data.action
    count = len(action_channels.fcurves_of(action, obj)) if action is not None else 0
    return *made, action.name if action is not None else "", count, len(data.drivers), len(data.nla_tracks)


def lengths(obj) -> tuple:
    """How many entries each list of a character has."""
    settings = obj.active_ragdoll
    return tuple([len(getattr(settings, name)) for name in LISTS])


def _lengthen(obj, name: str) -> None:
    """Let the source have as many items as the character: keys find theirs by its index."""
    copy = obj.active_ragdoll.source
    items = getattr(copy.active_ragdoll, name)
    missing = len(getattr(obj.active_ragdoll, name)) - len(items)
    for _ in range(missing):
        items.add()
    if missing > 0:
        copy.update_tag()
