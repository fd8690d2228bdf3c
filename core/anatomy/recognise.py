"""What each bone of a skeleton is: names and joints together.

Names win where the joints do not contradict them; the joints fill in what names do not tell, and tell everything where
the names tell nothing.
"""

from itertools import takewhile

import numpy as np

from ..errors import RagdollError, named
from ..skeleton import nearest_ancestors, path_to_root
from . import names as naming
from . import roles as r
from .names import TRUNK
from .structure import GROUND, RAISED, Tree, examine

AGREED, NAMED, SHOWN = 1.0, 0.7, 0.5  # certainty: both say so, the name alone, the joints alone
TELLING = 6  # names tell something when they name this many of the main bones
GENERATED = 8  # so many bones with "DEF-" make a generated Rigify rig
_MAIN = (r.PELVIS, r.HEAD, r.THIGH, r.SHANK, r.FOOT, r.UPPER_ARM, r.FOREARM, r.HAND)
_FRONT = (r.UPPER_ARM, r.FOREARM, r.HAND, naming.ARM, naming.ELBOW, naming.WRIST)  # words for front legs alone
_BEFORE = dict(zip((*r.ARM[2:], *r.LEG[1:]), (*r.ARM[1:3], *r.LEG[:3]), strict=True))
_BEFORE |= {r.FINGER: r.HAND, r.THUMB: r.HAND}


def recognise(names, parents, heads, tails, up=(0.0, 0.0, 1.0), deform=None, ends=()) -> r.Anatomy:
    """The anatomy of a skeleton of n bones in bind pose.

    Raises RagdollError: a joint that is not a number; names the bone.

    Args:
        names: [n]. parents: index of each bone's parent, -1 at roots, in any order [n].
        heads, tails: joints in any unit and any place [n, 3].
        up: unit vector against gravity as the character stands; legs that are named decide where it does not.
        deform: which bones deform a mesh [n]; None when that is not known.
        ends: of each chain of inverse kinematics its last bone, the bone that it reaches for, and whether a mesh hangs
            on that.
    """
    names, parents = list(names), np.asarray(parents, dtype=int)
    heads, tails = np.asarray(heads, dtype=float).reshape(-1, 3), np.asarray(tails, dtype=float).reshape(-1, 3)
    bad = ~(np.isfinite(heads).all(axis=1) & np.isfinite(tails).all(axis=1))
    if bad.any():
        raise RagdollError(f"bone '{names[int(np.argmax(bad))]}' stands nowhere: its joints are not numbers")
    read = naming.read(names)
    notes: list = []
    # What may carry a part of the mesh: by the bones' flags, in a generated rig by their names too.
    own = np.array(np.ones(len(read)) if deform is None else deform, dtype=bool)
    generated = sum(name.deform for name in read) >= GENERATED
    if generated:
        own &= np.array([name.deform for name in read], dtype=bool)
    body = _body(names, parents, read, own if generated else deform, generated)
    led = _led(parents, read, body, ends)
    core = next((i for i, name in enumerate(read) if body[i] and name.meaning == r.PELVIS), -1)
    up = _upright(read, heads, np.asarray(up, dtype=float), body)
    tree = Tree(_by_twins(names, parents, body, led), heads, tails, up, body, core)
    found = examine(tree)
    read = _front_legs(tree, read, found)
    # Whether names say what the bones are: of enough main bones, or of enough of a body without limbs.
    of_body, along = [read[i] for i in tree.rows], (TRUNK, *naming.MIDDLE, r.TAIL, r.JAW)
    telling = len({(name.meaning, name.side) for name in of_body if _main(name)}) >= TELLING
    telling |= found.kind == r.CREATURE and sum(name.meaning in along for name in of_body) >= TELLING
    sides = _sides(tree, names, read, found, telling, notes)
    roles, certainty = _roles(tree, names, read, sides, found, telling, notes)
    for i, name in enumerate(read):
        if not body[i]:
            roles[i] = name.meaning if name.meaning in (r.TWIST, r.GENERIC) and own[i] else r.HELPER
            certainty[i] = NAMED if roles[i] != r.GENERIC else 0.0
            above = (sides[row] for row in path_to_root(parents, i)[1:] if sides[row] in (r.LEFT, r.RIGHT))
            sides[i] = name.side or next(above, None) or found.sides[i] or r.CENTER
    kind = _kind(tree, roles, sides, found, telling)
    attached = _attach_ends(tree, roles, sides)
    order, above = _order(tree, roles, sides), _parents(tree, parents, own)
    if attached:
        beside = named((names[row] for row in attached), 6)
        notes.append(f"Not below the body in the hierarchy, taken with the bone they stand next to: {beside}")
    if generic := [name for name, role in zip(names, roles, strict=True) if role == r.GENERIC]:
        notes.append(f"{len(generic)} of {len(names)} bones stay generic: {named(generic, 6)}")
    if kind == r.CREATURE:
        notes.append("Neither two legs and two arms on an upright trunk nor four legs: treated as a creature")
    grounded = _ground_roots(tree, parents, read, roles)
    return r.Anatomy(tuple(roles), tuple(sides), order, kind, certainty, notes, above, grounded, tuple(led))


# ---- which bones may have a body ----------------------------------------------------------------------------------
def _body(names: list, parents, read: list, deform, generated: bool) -> np.ndarray:
    """Which bones [n] are neither controls nor helpers nor twist bones by their names and flags."""
    meanings = [name.meaning for name in read]
    mask = np.array([meaning not in (r.HELPER, r.TWIST, r.GENERIC) for meaning in meanings], dtype=bool)
    if generated:
        return mask & deform
    if deform is not None and np.any(deform):
        deform = np.asarray(deform, dtype=bool)
        taken = {(name.meaning, name.side) for name, flag in zip(read, deform, strict=True) if flag}
        # A root or pelvis without weights still is one, where no bone with weights has its place.
        named = [name.meaning in _MAIN and (name.meaning, name.side) not in taken for name in read]
        mask &= deform | np.array(named, dtype=bool)
    # The plain leg bones of a MikuMikuDance model go where they have "D" twins with the weights.
    row = {name: i for i, name in enumerate(names)}
    plain = (row.get(naming.followed(names[i])) for i in np.flatnonzero(mask))
    mask[[i for i in plain if i is not None]] = False
    # What hangs on a control and has no name of its own belongs to it.
    nearest = nearest_ancestors(parents, mask)
    below = np.zeros(len(names), dtype=bool)
    for i in np.flatnonzero(mask):
        if meanings[i] is not None:
            below[path_to_root(parents, i)] = True
    on_control = np.array([parent >= 0 and meanings[parent] == r.HELPER for parent in parents], dtype=bool)
    return mask & (below | ~on_control | (nearest >= 0))


def _upright(read: list, heads: np.ndarray, up: np.ndarray, body: np.ndarray) -> np.ndarray:
    """The given up, unless named legs point elsewhere than down: the object lies or stands on its head."""
    tops = np.array([name.meaning in (r.THIGH, naming.LEG) for name in read], dtype=bool) & body
    bottoms = np.array([name.meaning in (r.FOOT, naming.ANKLE) for name in read], dtype=bool) & body
    if tops.sum() < 2 or bottoms.sum() < 2:
        return up
    down = heads[bottoms].mean(axis=0) - heads[tops].mean(axis=0)
    length = float(np.linalg.norm(down))
    return -down / length if length > 0.0 and down @ up > -0.3 * length else up


def _led(parents, read: list, body: np.ndarray, ends) -> dict:
    """The limb's last bone by the row of what inverse kinematics leads to its place, for limbs without an end.

    A control that a mesh hangs on is an end, too, and gets into `body`; its name is forgotten."""
    found = {}
    for last, goal, meshed in ends:
        ended = any(body[row] and last in path_to_root(parents, row)[1:] for row in range(len(body)))
        if not body[last] or ended or last in path_to_root(parents, goal) or goal in path_to_root(parents, last):
            continue
        if meshed and not body[goal]:
            body[goal], read[goal] = True, read[goal]._replace(meaning=None)
        for row in np.flatnonzero(body):
            path = path_to_root(parents, row)
            if goal in path and not body[path[1 : path.index(goal) + 1]].any():
                found[int(row)] = last
    return found


def _by_twins(names: list, parents, body: np.ndarray, led: dict) -> np.ndarray:
    """Parents [n] in a generated Rigify rig: a "DEF-" bone below "ORG-spine" hangs on "DEF-spine"; what is led too."""
    row = {name: i for i, name in enumerate(names)}
    result = np.array([led.get(i, parent) for i, parent in enumerate(parents)], dtype=int)
    for i in np.flatnonzero(body):
        above = path_to_root(parents, i)[1:] if names[i].startswith("DEF-") else ()
        for control in takewhile(lambda bone: not body[bone], above):
            twin = row.get(f"DEF-{names[control][4:]}") if names[control].startswith("ORG-") else None
            if twin is not None and twin != i and body[twin]:
                result[i] = twin
                break
    return result


def _main(name) -> bool:
    strong = naming.STRONG.get(name.meaning, name.meaning)
    return strong in _MAIN and (name.side in (r.LEFT, r.RIGHT) or strong in (r.PELVIS, r.HEAD))


# ---- sides and roles ----------------------------------------------------------------------------------------------
def _front_legs(tree, read: list, found) -> list:
    """The names, with an animal's front legs, the pair nearer to the head, known for such where all four are hind."""
    own = [read[row] for row in tree.rows]
    head = next((row for row in tree.rows if read[row].meaning == r.HEAD), -1)
    if found.kind != r.QUADRUPED or head < 0 or any(name.front is not None or name.meaning in _FRONT for name in own):
        return read

    def way(role: str) -> float:
        tops = [row for row in tree.rows if found.roles[row] == role]
        return float(np.linalg.norm(tree.heads[tops] - tree.heads[head], axis=1).min()) if tops else np.inf

    front = (*r.ARM, r.FINGER) if way(r.UPPER_ARM) < way(r.THIGH) else r.LEG
    return [
        name._replace(front=True) if role in front and name.meaning in naming.FRONT_OF else name
        for name, role in zip(read, found.roles, strict=True)
    ]


def _sides(tree, names, read, found, telling: bool, notes: list) -> list:
    """Sides of all bones: the name's, but a limb is on one side all along; what is not named by where it stands."""
    pairs = [(read[i].side, found.sides[i]) for i in tree.rows if read[i].side in (r.LEFT, r.RIGHT)]
    pairs = [pair for pair in pairs if pair[1] in (r.LEFT, r.RIGHT)]
    crossed = sum(a != b for a, b in pairs)
    shown = found.sides
    if telling and crossed > 0.5 * len(pairs):
        shown = [r.OPPOSITE.get(side, side) for side in shown]
        if found.facing:
            notes.append("The bones named left stand on the right of where the rig faces; the names are followed")
    sides = [None] * len(names)
    strange = []
    for row in tree.rows:
        own = read[row].side
        parent = tree.parent[row]
        above = sides[parent] if parent >= 0 and read[parent].meaning not in (None, *naming.MIDDLE) else None
        if own in (r.LEFT, r.RIGHT) and above in (r.LEFT, r.RIGHT) and own != above and shown[row] == above:
            strange.append(names[row])
            own = above
        sides[row] = own or (above if above in (r.LEFT, r.RIGHT) and telling else None) or shown[row] or r.CENTER
    if strange:
        notes.append(f"Named for the other side than the limb they hang on, which is followed: {named(strange, 6)}")
    return sides


def _roles(tree, names, read, sides, found, telling: bool, notes: list) -> tuple[list, np.ndarray]:
    roles: list = [None] * len(names)
    certainty = np.zeros(len(names))
    if telling:
        sided = [name._replace(side=side) for name, side in zip(read, sides, strict=True)]
        of_limbs, shifted = naming.settle_limbs(tree, sided)
        notes += [
            f"'{names[row]}' stands where the thigh is: the leg below it is taken one bone further" for row in shifted
        ]
        along = naming.settle_trunk(tree, [name.meaning for name in read], sides, of_limbs, found)
    given = {**of_limbs, **along} if telling else {}
    for row in tree.rows:
        own = {r.TAIL: r.TAIL, r.EAR: r.EAR, r.EYE: r.EYE, r.JAW: r.JAW}.get(read[row].meaning)
        if row in given or own is not None:
            roles[row] = given.get(row, own)
            certainty[row] = AGREED if roles[row] == found.roles[row] else NAMED
    taken = {(roles[row], sides[row]) for row in tree.rows if roles[row] is not None}
    for row in tree.rows:
        if roles[row] is not None:
            continue
        parent = roles[tree.parent[row]] if tree.parent[row] >= 0 else None
        shown = found.roles[row]
        if telling and (shown, sides[row]) in taken and shown not in (r.TWIST, r.TAIL):
            shown = None
        if telling and shown is None and parent in (r.HAND, r.FINGER, r.THUMB, r.FOOT, r.TOE):
            shown = {r.HAND: r.FINGER, r.FOOT: r.TOE}.get(parent, parent)
        roles[row] = shown or r.GENERIC
        certainty[row] = SHOWN if shown else 0.0
    pelvis = next((row for row in tree.rows if roles[row] == r.PELVIS), -1)
    for row in tree.ancestors(pelvis)[1:] if telling else ():
        if roles[row] == r.GENERIC:  # what is unknown above the pelvis carries the whole body: a control
            roles[row], certainty[row] = r.HELPER, SHOWN
    assert all(roles[row] in r.ROLES for row in tree.rows)
    return roles, certainty


def _kind(tree, roles: list, sides: list, found, telling: bool) -> str:
    """HUMAN with two legs and two arms on an upright trunk, QUADRUPED where the arms reach the ground too."""
    if not telling:
        return found.kind
    have = {(roles[row], sides[row]): row for row in reversed(tree.rows)}
    legs = [have.get((r.THIGH, side)) for side in (r.LEFT, r.RIGHT)]
    arms = [have.get((r.UPPER_ARM, side)) for side in (r.LEFT, r.RIGHT)]
    if None in legs or None in arms:
        return r.CREATURE
    rise = np.mean(tree.heads[arms], axis=0) - np.mean(tree.heads[legs], axis=0)
    if rise @ tree.up > 0.5 * np.linalg.norm(rise):
        return r.HUMAN
    low = max(tree.lowest(row) for row in arms)
    return r.QUADRUPED if low < 0.5 * min(tree.height[row] for row in arms) else r.CREATURE


def _attach_ends(tree, roles: list, sides: list) -> list:
    """Give a limb's bone that hangs on no part of the body the bone before it as parent; rows that are elsewhere."""
    limb, moved = {(roles[row], sides[row]): row for row in reversed(tree.rows)}, False
    for row in tree.rows:
        before = limb.get((_BEFORE.get(roles[row]), sides[row]), -1)
        loose = all(roles[item] in (r.HELPER, r.GENERIC) for item in tree.ancestors(row)[1:])
        if before >= 0 and loose and row not in tree.ancestors(before):
            tree.parent[row], tree.attached[row], moved = before, True, True
    if moved:
        tree.walk(tree.rows)
    return [row for row in tree.rows if tree.attached[row] and roles[row] not in (r.HELPER, r.GENERIC)]


def _parents(tree, parents, own: np.ndarray) -> np.ndarray:
    """The bone of the body that each bone hangs on [n]; a helper of its own (`own` [n]) goes to what it is next to."""
    body = np.zeros(len(parents), dtype=bool)
    body[tree.rows] = True
    result = np.where(body, tree.parent, nearest_ancestors(parents, body))
    loose = np.flatnonzero(~body & (result < 0) & own)
    if len(loose) and tree.rows:
        result[loose] = tree.beside(tree.heads[loose])
    return result


def _ground_roots(tree, parents, read: list, roles: list) -> tuple:
    """Rows of the pelvis and of what is above it that stand at the ground, far below where the hips begin."""
    hips = [row for row in tree.rows if roles[row] in (r.PELVIS, r.THIGH)]
    pelvis = next((row for row in hips if roles[row] == r.PELVIS), -1)
    if pelvis < 0:
        return ()
    begin = max(tree.height[row] for row in hips)

    def grounded(row: int) -> bool:
        if tree.height[row] <= GROUND * tree.tall and begin > RAISED * tree.tall:
            return True
        # Where the bind pose does not tell, as with all limbs along one axis, a root's name does.
        far = np.linalg.norm(tree.heads[row] - tree.heads[pelvis]) > RAISED * tree.size
        return far and read[row].meaning in (naming.ROOT, r.HELPER)

    return tuple(row for row in path_to_root(parents, pelvis) if grounded(row))


def _order(tree, roles: list, sides: list) -> np.ndarray:
    """The how-manieth of its role each bone is in its chain."""
    order = np.zeros(len(roles), dtype=int)
    last: dict = {}
    for row in tree.rows:
        above = last.get(int(tree.parent[row]), {})
        key = roles[row], sides[row]
        if key[0] not in (r.HELPER, r.GENERIC, r.TWIST):
            order[row] = above.get(key, -1) + 1
            above = {**above, key: int(order[row])}
        last[row] = above
    return order
