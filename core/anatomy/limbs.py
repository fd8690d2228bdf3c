"""The bones of arms and legs from their names: words that mean different bones in different conventions are settled
by the bones above and below them."""

from .names import (
    ANKLE,
    ARM,
    ELBOW,
    FRONT_OF,
    HIND_OF,
    HIP,
    KNEE,
    LEG,
    PALM,
    PAW,
    SHOULDER,
    WRIST,
)
from .roles import (
    CLAVICLE,
    FINGER,
    FOOT,
    FOREARM,
    HAND,
    HELPER,
    SHANK,
    THIGH,
    THUMB,
    TOE,
    TWIST,
    UPPER_ARM,
    WING,
)

LEGS = (HIP, THIGH, LEG, SHANK, KNEE, FOOT, ANKLE, TOE)
ARMS = (SHOULDER, CLAVICLE, UPPER_ARM, ARM, FOREARM, ELBOW, HAND, WRIST, FINGER, THUMB, WING)
STRONG = {KNEE: SHANK, ELBOW: FOREARM, WRIST: HAND, ANKLE: FOOT, LEG: THIGH, ARM: UPPER_ARM, PALM: HAND, HIP: THIGH}
_JOINT = {KNEE: SHANK, ELBOW: FOREARM, WRIST: HAND, ANKLE: FOOT}
_ONCE = (UPPER_ARM, FOREARM, THIGH, SHANK)
_NEXT = {None: 0, THIGH: 1, SHANK: 2, UPPER_ARM: 1, FOREARM: 2}
_OF_LEG, _OF_ARM = (THIGH, SHANK, FOOT), (UPPER_ARM, FOREARM, HAND)


def settle(tree, read: list, notes: list, names: list) -> dict:
    """Role by row for the bones of limbs, HELPER or TWIST for what only belongs to them.

    Args:
        tree: a `Tree`. read: a `names.Name` by row. notes: what a user should know is appended.
    """
    words = {row: _word(read[row]) for row in tree.rows}
    below = _below(tree, words)
    strong = {(words[row], read[row].side) for row in tree.rows if words[row] not in _JOINT}
    roles: dict = {}
    leg_of: dict = {}  # the nearest role of a leg or arm above each row, itself included
    shifted: set = set()
    for row in tree.rows:
        parent = tree.parent[row]
        above = leg_of.get(parent)
        word = words[row]
        role = _role(word, above, below[row], (_JOINT.get(word), read[row].side) in strong, tree.children[row])
        if word == LEG and role == THIGH and THIGH in below[row]:
            # A "leg" above an "upper leg": where it is long it is the thigh, and the names are one bone off.
            role = _first_of_leg(tree, row, words)
            if role == THIGH:
                shifted.add(row)
                notes.append(f"'{names[row]}' stands where the thigh is: the leg below it is taken one bone further")
        elif parent in shifted or (parent in leg_of and _under(tree, row, shifted)):
            role = {THIGH: SHANK, SHANK: FOOT, FOOT: TOE}.get(role, role)
        elif role in _ONCE and role == above:
            role = TWIST  # the second half of a bone in two parts
        elif role == FOOT and above == FOOT and TOE not in below[row]:
            role = TOE
        if role is not None:
            roles[row] = role
        leg_of[row] = role if role in _OF_LEG + _OF_ARM or role in (CLAVICLE, TOE, FINGER, THUMB, WING) else above
    return roles


def _word(name) -> str | None:
    """The meaning of a name, turned to the homologous bone where it speaks of a front or hind leg."""
    if name.front is True:
        return FRONT_OF.get(name.meaning, name.meaning)
    if name.front is False:
        return HIND_OF.get(name.meaning, name.meaning)
    return name.meaning


def _below(tree, words: dict) -> dict:
    """The words below each row."""
    result: dict = {row: set() for row in tree.rows}
    for row in reversed(tree.rows):
        parent = tree.parent[row]
        if parent >= 0:
            result[parent] |= result[row]
            result[parent].add(words[row])
    return result


def _under(tree, row: int, rows: set) -> bool:
    return bool(rows) and any(item in rows for item in tree.ancestors(row))


def _role(word, above, below: set, taken: bool, children: list) -> str | None:
    """One bone's role from its word, the limb role above it, the words below it."""
    if word is None:
        return None
    if word in _JOINT:
        role = _JOINT[word]
        # "elbow" beside a forearm is a helper at the joint; above it, or without one, it is the bone.
        return role if not taken or role in below else HELPER
    if word == HIP:
        return HELPER if below & {HIP, THIGH, LEG} or not below & {KNEE, SHANK, FOOT, ANKLE} else THIGH
    if word == LEG:
        return _OF_LEG[_NEXT.get(above, 0)]
    if word == ARM:
        return _OF_ARM[_NEXT.get(above, 0)]
    if word == SHOULDER and above in _OF_ARM:
        return HELPER
    if word == SHOULDER:
        if below & {UPPER_ARM, ARM, WING}:
            return HELPER if above == CLAVICLE else CLAVICLE
        return UPPER_ARM if above == CLAVICLE or below & {ELBOW, FOREARM} else None
    if word == PALM:
        return HAND if above in (UPPER_ARM, FOREARM) else HELPER
    if word == PAW:
        return HAND if above in (CLAVICLE, UPPER_ARM, FOREARM) else FOOT
    if word in (FINGER, THUMB):
        return TOE if above in (THIGH, SHANK, FOOT, TOE) else word
    if word == CLAVICLE:
        return CLAVICLE if below & set(ARMS) else HELPER
    if word == TOE and above in (CLAVICLE, UPPER_ARM, FOREARM, HAND, FINGER):
        return FINGER
    return word if word in _OF_LEG + _OF_ARM or word in (TOE, WING) else None


def _first_of_leg(tree, row: int, words: dict) -> str:
    """THIGH where a bone above the one named so is long enough to be it, else HELPER."""
    named = next(item for item in tree.subtree(row)[1:] if words[item] == THIGH)
    own, other = tree.ends[row] - tree.heads[row], tree.ends[named] - tree.heads[named]
    return THIGH if own @ own > 0.25 * (other @ other) else HELPER
