"""Skeletons for the tests of recognition: the bone lists of `conventions` on a human's joints, and a dog."""

from dataclasses import dataclass, replace

import anatomies
import conventions
import numpy as np

from core.anatomy.recognise import recognise
from core.anatomy.roles import CENTER, LEFT, RIGHT

UP = np.array((0.0, 0.0, 1.0))

# Where the joints of a human of 1.75 m are in T-pose, facing -Y [m]: place of the first bone of a role on the left,
# and the step to the next one in its chain.
_PLACES = {
    "PELVIS": ((0, 0, 1.0), (0, 0, 0.02)), "SPINE": ((0, 0, 1.08), (0, 0, 0.06)),
    "CHEST": ((0, 0, 1.36), (0, 0, 0.05)), "NECK": ((0, 0, 1.48), (0, 0, 0.04)), "HEAD": ((0, 0, 1.6), (0, 0, 0)),
    "CLAVICLE": ((0.03, 0, 1.45), (0, 0, 0)), "UPPER_ARM": ((0.18, 0, 1.45), (0, 0, 0)),
    "FOREARM": ((0.46, 0.01, 1.45), (0, 0, 0)), "HAND": ((0.72, 0, 1.45), (0.03, 0, 0)),
    "THUMB": ((0.75, -0.03, 1.44), (0.03, -0.01, 0)), "FINGER": ((0.81, 0, 1.45), (0.03, 0, 0)),
    "THIGH": ((0.1, 0, 0.95), (0, 0, 0)), "SHANK": ((0.1, -0.01, 0.52), (0, 0, 0)),
    "FOOT": ((0.1, 0.01, 0.08), (0, 0, 0)), "TOE": ((0.1, -0.12, 0.02), (0, -0.03, 0)),
    "EYE": ((0.03, -0.09, 1.68), (0, 0, 0)), "JAW": ((0, -0.02, 1.62), (0, 0, 0)),
}  # fmt: skip
_CENTRAL = ("PELVIS", "SPINE", "CHEST", "NECK", "HEAD", "JAW")
BODY = (*_CENTRAL[:5], "CLAVICLE", "UPPER_ARM", "FOREARM", "HAND", "THIGH", "SHANK", "FOOT")


@dataclass
class Rig:
    """Bones and what they are."""

    names: list
    parents: list
    heads: np.ndarray
    tails: np.ndarray
    roles: list
    sides: list

    def nameless(self) -> "Rig":
        """The same bones with names that say nothing."""
        return replace(self, names=[f"joint{i}" for i in range(len(self.names))])

    def recognise(self, **changes):
        arguments = {"names": self.names, "parents": self.parents, "heads": self.heads, "tails": self.tails, **changes}
        return recognise(**arguments)


def rig_of(convention: str) -> Rig:
    """A convention's bones on both sides, standing where a human's joints are."""
    pairs, text = conventions.ALL[convention]
    role_of, children = _read(text)
    names, parents, found, sides = [], [], [], []

    def add(name: str, parent: int, side: str) -> None:
        here = len(names)
        names.append(_turned(name, pairs) if side == RIGHT else name)
        parents.append(parent), found.append(role_of[name]), sides.append(side)
        for child in children[name]:
            for its in (LEFT, RIGHT) if side == CENTER and _turned(child, pairs) != child else (side,):
                add(child, here, its)

    for root in children[None]:
        add(root, -1, CENTER)
    heads = np.zeros((len(names), 3))
    for i, role in enumerate(found):
        if role in _PLACES:
            first, step = (np.array(v, dtype=float) for v in _PLACES[role])
            heads[i] = first + step * place_in_chain(found, parents, i) + _spread(role, names[i])
            heads[i, 0] *= {LEFT: 1.0, RIGHT: -1.0, CENTER: 0.0}[sides[i]]
        elif parents[i] >= 0:
            heads[i] = heads[parents[i]] + np.array((0.0, 0.03, 0.0 if role == "HELPER" else 0.01))
    for i, role in enumerate(found):
        if role == "TWIST":  # inside the bone it belongs to
            limb = next(j for j in anatomies.ancestors(parents, i) if found[j] in BODY)
            following = next(j for j in range(len(names)) if found[j] == _NEXT[found[limb]] and sides[j] == sides[i])
            heads[i] = 0.5 * (heads[limb] + heads[following])
    tails = heads + np.array((0.0, 0.0, 0.05))
    for i, parent in enumerate(parents):
        if parent >= 0 and found[i] in BODY:
            tails[parent] = heads[i]
    for i in range(len(names)):
        if np.allclose(tails[i], heads[i]):
            tails[i] = heads[i] + (0.0, 0.0, 0.02)
    return Rig(names, parents, heads, tails, found, sides)


def _read(text: str) -> tuple[dict, dict]:
    """Roles of a list's bones by name, and what hangs on each of them."""
    roles, children = {}, {None: []}
    for line in text.strip("\n").split("\n"):
        above = None
        for link in line.split(" > "):
            names, _bar, role = link.partition(" | ")
            for name in names.split(", "):
                if role:
                    children[above].append(name)
                    roles[name], children[name] = role, []
                above = name
    return roles, children


_NEXT = {"UPPER_ARM": "FOREARM", "FOREARM": "HAND", "THIGH": "SHANK", "SHANK": "FOOT"}


def _turned(name: str, pairs: tuple) -> str:
    for left, right in pairs:
        name = name.replace(left, right)
    return name


def place_in_chain(found, parents, i) -> int:
    return sum(found[j] == found[i] for j in anatomies.ancestors(parents, i))


def _spread(role: str, name: str) -> np.ndarray:
    places = {"ndex": -0.03, "inger1": -0.03, "inky": 0.03, "ittle": 0.03, "小": 0.03, "e5": 0.03}
    aside = next((y for word, y in places.items() if word in name), 0.0)
    return np.array((0.0, aside, 0.0) if role == "FINGER" else (aside, 0.0, 0.0) if role == "TOE" else (0.0, 0.0, 0.0))


def dog() -> Rig:
    """A dog of plain bones facing -Y."""
    body = anatomies.dog()
    return Rig(body.names, [*body.parents], body.heads, body.tails, [*body.anatomy.roles], [*body.anatomy.sides])


def spider(named: str = "leg{pair}_{part}.{letter}", parts: int = 4) -> Rig:
    """A spider facing -Y: a body and its rear, and eight legs that rise to the knee and come down to the ground.

    Legs have three bones, four or six; those of three have no toes, those of six three knees."""
    table = [("body", None, (0, -0.1, 0.2), "PELVIS", CENTER), ("rear", "body", (0, 0.12, 0.22), "GENERIC", CENTER)]
    reach = ((0.0, 0.2), (0.2, 0.42), (0.42, 0.15), (0.5, 0.02))  # from the body, height
    found = ("THIGH", "SHANK", "FOOT", "TOE")
    if parts != 4:
        reach = reach[:3] if parts == 3 else (*reach[:2], (0.28, 0.38), (0.36, 0.25), *reach[2:])
        found = found[:3] if parts == 3 else ("THIGH", "SHANK", "SHANK", "SHANK", "FOOT", "TOE")
    for pair, ahead in enumerate((25, 60, 100, 150)):
        for letter, sign, side in (("L", 1.0, LEFT), ("R", -1.0, RIGHT)):
            parent, angle = "body", np.radians(ahead)
            way = np.array((sign * np.sin(angle), -np.cos(angle), 0.0))
            for part, role in enumerate(found):
                name = named.format(pair=pair + 1, part=part + 1, letter=letter)
                out, up = reach[part]
                head = np.array((0.06 * sign, 0.06 * pair - 0.19, 0.0)) + out * way + up * UP
                table.append((name, parent, head, role, side))
                parent = name
    own = [row[0] for row in table]
    parents = [own.index(row[1]) if row[1] else -1 for row in table]
    heads = np.array([row[2] for row in table], dtype=float)
    tails = heads + np.array((0.0, 0.0, -0.02))
    tails[0], tails[1] = (0.0, 0.1, 0.2), (0.0, 0.4, 0.25)
    for i, parent in enumerate(parents):
        if parent > 1:
            tails[parent] = heads[i]
    return Rig(own, parents, heads, tails, [row[3] for row in table], [row[4] for row in table])
