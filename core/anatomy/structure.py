"""The bones that may have a body, as one tree, and what their joints alone say: the mirror plane, legs that reach the
ground, arms, spine, head, tail.

Nothing here reads a name. Lengths are taken relative to the rig's own size, so that units do not matter, and the only
direction that is given is up.
"""

from dataclasses import dataclass, field
from functools import reduce
from itertools import takewhile

import numpy as np

from .. import mirror, skeleton
from . import roles

# A leaf's tail is believed when its bone is at least this share of its parent's length: importers that know no tails
# (glTF) make stubs.
STUB = 0.15
ROUNDING = 1e-4  # joints this near to each other, as a share of the rig's size, are in one place
FAR = 0.35  # a detached part that is further from the rest than this share of the rig's size stays a root


class Tree:
    """Bones of a mask, each under its nearest ancestor in the mask, or under the bone it stands next to.

    A control rig hangs its deforming bones on controls, a rig with inverse kinematics its feet on the floor, a
    MikuMikuDance model its upper body beside the lower; the joints' places tell what belongs together. `core` is a
    bone whose part the others are attached to, where there is one that is known for it.

    `rows` has the bones in the mask [m], parents first; all else is by bone [n]. `parent` is -1 at roots, `attached`
    where it was found by place. `ends` [n, 3] are where bones lead to: the main child's head, a leaf's tail where it
    is `believed`, or a guess. `reach` is the longest path down the tree from the bone's head, `count` the bones of its
    subtree, `height` that above the lowest joint, `tall` the largest one, `size` the largest extent of the joints.
    """

    def __init__(self, parents, heads, tails, up, mask, core: int = -1) -> None:
        self.heads, self.tails = np.asarray(heads, float), np.asarray(tails, float)
        count = len(self.heads)
        self.parent = skeleton.nearest_ancestors(parents, mask)
        self.attached = np.zeros(count, dtype=bool)
        chosen = np.flatnonzero(mask)
        self.size = float(np.ptp(self.heads[chosen], axis=0).max()) if len(chosen) else 0.0
        self.walk(chosen)
        if sum(self.parent[i] < 0 for i in self.rows) > 1:
            self._attach(core)
            self.walk(chosen)
        self.up = np.asarray(up, float)
        along = self.heads @ self.up
        self.ground = float(along.min()) if count else 0.0
        if len(chosen):  # A tail may stick out below the sole, but not by much.
            low = float((self.ends[chosen] @ self.up).min())
            self.ground = min(self.ground, max(low, self.ground - 0.05 * self.size))
        self.height = along - self.ground
        self.tall = float(self.height[chosen].max()) if len(chosen) else 0.0

    def walk(self, chosen) -> None:
        """Order, children, ends and reaches of the chosen rows for the present parents."""
        count = len(self.heads)
        self.children: list = [[] for _i in range(count)]
        wanted = {int(row) for row in chosen}
        self.rows = [row for row in skeleton.from_the_roots(self.parent) if row in wanted]
        for row in self.rows:
            if self.parent[row] >= 0:
                self.children[self.parent[row]].append(row)
        step = self.heads - self.heads[np.maximum(self.parent, 0)]
        step[self.parent < 0] = 0.0
        lengths = np.sqrt(np.einsum("ij,ij->i", step, step))
        own = self.tails - self.heads
        own_lengths = np.sqrt(np.einsum("ij,ij->i", own, own))
        self.ends = self.heads.copy()
        self.reach = np.zeros(count)
        self.believed = np.zeros(count, dtype=bool)
        self.count = np.ones(count, dtype=int)
        for row in reversed(self.rows):
            if below := self.children[row]:
                main = max(below, key=lambda child: lengths[child] + self.reach[child])
                self.ends[row] = self.heads[main]
                self.reach[row] = lengths[main] + self.reach[main]
                self.count[row] += sum(self.count[child] for child in below)
                continue
            base, own = lengths[row], own_lengths[row]
            self.believed[row] = STUB * base <= own <= 2.0 * base if base > 0.0 else own > 0.0
            self.ends[row] = self.tails[row] if self.believed[row] else self.heads[row] + step[row]
            self.reach[row] = own if self.believed[row] else 0.0

    def _attach(self, core: int) -> None:
        """Give all roots but that of the core's part, or else of the greatest, a parent by place, nearest first."""
        roots = [row for row in self.rows if self.parent[row] < 0]
        parts = np.array([self.ancestors(row)[-1] for row in self.rows])
        its = self.ancestors(core)[-1] if core >= 0 else -1
        greatest = max(roots, key=lambda row: (row == its, self.count[row], self.reach[row]))
        others = [row for row in roots if row != greatest]
        distance = self._distances(self.heads[others])
        joined = parts == greatest
        waiting = list(range(len(others)))
        while waiting:
            reachable = np.where(joined, distance[waiting], np.inf)
            which, bone = np.unravel_index(self._first_least(reachable.ravel()), reachable.shape)
            if reachable[which, bone] > FAR * self.size:
                break
            row = others[waiting.pop(which)]
            self.parent[row] = self.rows[bone]
            self.attached[row] = True
            joined |= parts == row

    def _distances(self, points: np.ndarray) -> np.ndarray:
        """Distances [k, m] of points from the bones of `rows`, each a line from its head to its end."""
        start, line = self.heads[self.rows], self.ends[self.rows] - self.heads[self.rows]
        square = np.maximum(np.einsum("ij,ij->i", line, line), 1e-30)
        to = points[:, None] - start
        gap = to - np.clip(np.einsum("rij,ij->ri", to, line) / square, 0.0, 1.0)[..., None] * line
        return np.sqrt(np.einsum("rij,rij->ri", gap, gap))

    def beside(self, points: np.ndarray) -> np.ndarray:
        """The bone nearest to each point [k], -1 where it is far."""
        distance = self._distances(points)
        nearest = [self._first_least(row) for row in distance]
        return np.where(distance.min(axis=1) <= FAR * self.size, np.array(self.rows)[nearest], -1)

    def _first_least(self, distances: np.ndarray) -> int:
        """Index of the least distance, the first of those that rounding makes differ."""
        return int(np.argmax(distances <= distances.min() + ROUNDING * self.size))

    def ancestors(self, row: int) -> list:
        """The bone and all above it, upwards."""
        return skeleton.path_to_root(self.parent, row)

    def subtree(self, row: int) -> list:
        """The bone and all below it, parents first."""
        result = [row]
        for item in result:
            result.extend(self.children[item])
        return result

    def meeting(self, a: int, b: int) -> int:
        """The lowest bone above both, or -1."""
        above = set(self.ancestors(a))
        return next((row for row in self.ancestors(b) if row in above), -1)

    def lowest(self, row: int) -> float:
        """The least height of a subtree's joints and ends."""
        rows = self.subtree(row)
        return float(min(self.height[rows].min(), (self.ends[rows] @ self.up).min() - self.ground))


# ---- what the joints say --------------------------------------------------------------------------------------------
GROUND = 0.12  # a leg comes this near to the ground, as a share of the rig's height
RAISED = 0.3  # and the other one of the pair at least this near
HAND_LENGTH = 0.35  # a hand with its fingers is shorter than that share of its arm
HEAD_LENGTH = 0.085  # longer than a neck bone, shorter than a head, as a share of the rig's size
MIDDLE = 0.05  # a joint this near to the mirror plane is in the middle, as a share of the rig's size


@dataclass
class Structure:
    """What was found; rows of bones, -1 or empty where nothing was."""

    roles: list  # role or None [n]
    sides: list  # side or None [n]
    kind: str = roles.CREATURE  # HUMAN, QUADRUPED or CREATURE
    pelvis: int = -1
    chest: int = -1
    head: int = -1
    trunk: list = field(default_factory=list)  # from above the pelvis to the chest
    neck: list = field(default_factory=list)  # between chest and head
    lateral: np.ndarray | None = None  # unit vector across the mirror plane, towards the left when `facing`, or None
    centre: float = 0.0  # where the mirror plane is along it
    facing: bool = False  # whether the joints tell what is in front, and so which side is left


def examine(tree: Tree) -> Structure:
    """Roles and sides of a tree's bones from its joints; None where they do not say."""
    count = len(tree.heads)
    found = Structure([None] * count, [None] * count)
    if len(tree.rows) < 2 or tree.size <= 0.0:
        return found
    found.lateral, found.centre = mirror.plane_of_limbs(tree)
    if found.lateral is None:
        return found
    pairs = mirror.limb_pairs(tree, found.lateral, found.centre)
    paired = {row for pair in pairs for row in pair}
    legs = _legs(tree, pairs)
    arms = _arms(tree, pairs, legs[0]) if len(legs) == 1 else []
    forward = np.cross(found.lateral, tree.up)
    if len(legs) == 2:
        _body(tree, found, *sorted(legs, key=lambda pair: _depth(tree, pair)), paired, on_fours=True)
        ahead = tree.heads[found.chest] - tree.heads[found.pelvis]
        found.facing = True
    elif len(legs) == 1:
        _body(tree, found, legs[0], arms[0] if arms else (), paired, on_fours=False)
        ahead, found.facing = _forward_of_legs(tree, found, legs[0])
    else:
        starts, ahead = [row for pair in legs for row in pair], np.zeros(3)
        if starts:
            found.pelvis = reduce(tree.meeting, starts)
            found.roles[found.pelvis] = roles.PELVIS
        for start in starts:  # each leg of a spider or beetle has a knee for every bone but the first and the last two
            chain = limb(tree, start, down=True)
            _give(tree, found, chain, [roles.THIGH, *([roles.SHANK] * max(len(chain) - 3, 1)), roles.FOOT], roles.TOE)
    if (ahead @ forward if found.facing else -forward[1]) < 0.0:
        found.lateral, found.centre = -found.lateral, -found.centre
    _sides(tree, found, [*legs, *arms])
    return found


# ---- legs, arms, spine --------------------------------------------------------------------------------------------
def _legs(tree: Tree, pairs: list) -> list:
    legs = []
    for pair in pairs:
        if any(set(pair) & set(tree.subtree(row)) for leg in legs for row in leg):
            continue
        low = [tree.lowest(row) for row in pair]
        start = min(tree.height[row] for row in pair)
        # In a running bind pose one foot is off the ground.
        down = min(low) <= GROUND * tree.tall and max(low) <= RAISED * tree.tall
        if down and start - max(low) >= 0.35 * start and start > 0.15 * tree.tall:
            legs.append(pair)
    return legs


def _arms(tree: Tree, pairs: list, leg: tuple) -> list:
    taken = {*tree.subtree(leg[0]), *tree.subtree(leg[1]), *tree.ancestors(leg[0])}
    hips = tree.height[[*leg]].min()
    above = [pair for pair in pairs if tree.height[[*pair]].min() > 0.9 * hips and not taken & {*pair}]
    return [pair for pair in above if tree.reach[pair[0]] > 0.15 * tree.size][:1]


def raised(tree: Tree, row: int) -> int:
    """The topmost bone that still belongs to the hips, above the one that carries the legs."""
    while tree.parent[row] >= 0:
        above = int(tree.parent[row])
        gap = np.linalg.norm(tree.heads[above] - tree.heads[row])
        if not 0.01 * tree.size < gap < 0.3 * tree.height[row] or tree.height[above] < 0.7 * tree.height[row]:
            break
        row = above
    return row


def _forward_of_legs(tree: Tree, found: Structure, leg: tuple) -> tuple[np.ndarray, bool]:
    """Where the feet point, else where the knees do; and whether either says anything."""
    forward = np.cross(found.lateral, tree.up)
    feet, knees = np.zeros(3), np.zeros(3)
    for start in leg:
        chain = limb(tree, start, down=True)
        own = [found.roles[row] for row in chain]
        if roles.FOOT in own:
            ankle = chain[own.index(roles.FOOT)]
            if below := [row for row in tree.subtree(ankle) if tree.children[row] or tree.believed[row]]:
                points = tree.ends[below] - tree.heads[ankle]
                feet += points[np.argmax(np.abs(points @ forward))]
        if roles.THIGH in own and roles.SHANK in own:
            hip, knee = chain[own.index(roles.THIGH)], chain[own.index(roles.SHANK)]
            line = tree.ends[knee] - tree.heads[hip]
            bend = tree.heads[knee] - tree.heads[hip]
            knees += bend - line * (bend @ line / max(line @ line, 1e-30))
    telling = (ahead for ahead in (feet, knees) if abs(ahead @ forward) > 0.01 * tree.size)
    return next(((ahead, True) for ahead in telling), (feet, False))


def _depth(tree: Tree, pair: tuple) -> tuple:
    """Sorts hind legs, nearer to the root of the tree, before front legs; of equals, those below a higher end last."""
    meeting = tree.meeting(*pair)
    rest = [row for row in tree.children[meeting] if row not in pair] if meeting >= 0 else []
    return len(tree.ancestors(meeting)), max((tree.height[tree.subtree(row)].max() for row in rest), default=0.0)


def _body(tree: Tree, found: Structure, leg: tuple, arm: tuple, paired: set, on_fours: bool) -> None:
    found.pelvis = found.chest = raised(tree, tree.meeting(*leg))
    if arm:
        found.chest = tree.meeting(*arm)
    if on_fours:
        found.kind = roles.QUADRUPED
    elif arm:
        low = np.mean([tree.height[row] for row in arm]) < tree.height[found.chest] - 0.01 * tree.tall
        if low and tree.parent[found.chest] >= 0 and found.chest != found.pelvis:
            # Arms that begin below the bone that carries them: some rigs hang them on the neck.
            found.chest = int(tree.parent[found.chest])
        rise = tree.heads[found.chest] - tree.heads[found.pelvis]
        if rise @ tree.up > 0.5 * np.linalg.norm(rise):
            found.kind = roles.HUMAN
    _spine(tree, found, {*leg, *arm}, paired, tree.meeting(*leg))
    _give_legs(tree, found, leg, human=not on_fours)
    for start in arm:
        _give_arm(tree, found, start, is_leg=on_fours)
    _tail(tree, found, {*leg, *arm})


def _spine(tree: Tree, found: Structure, limbs: set, paired: set, carrier: int) -> None:
    """Trunk from above the pelvis to the chest, then neck and head along the middle."""
    above = tree.ancestors(found.pelvis)
    found.trunk = list(takewhile(lambda row: row not in above, tree.ancestors(found.chest)))[::-1]
    aside = {*limbs, *above, *paired, *found.trunk}
    chain, row = [], found.chest
    while not (chain and (paired - limbs) & set(tree.children[row])):  # eyes or ears: this is the head
        rest = [c for c in tree.children[row] if c not in aside and not _is_beside(tree, found, c)]
        if not rest:
            break
        following = max(rest, key=lambda child: tree.reach[child] + tree.height[tree.subtree(child)].max())
        if chain and np.linalg.norm(tree.heads[following] - tree.heads[row]) < 0.01 * tree.size:
            break
        chain.append(following)
        row = following
    last = np.linalg.norm(tree.heads[chain[-1]] - tree.heads[chain[-2]]) if len(chain) >= 2 else 0.0
    if found.kind == roles.HUMAN and last > HEAD_LENGTH * tree.size and not tree.children[chain[-1]]:
        found.roles[chain.pop()] = roles.HELPER  # as long a way as a head leads to a marker at its top
    found.roles[found.pelvis] = roles.PELVIS
    for row in takewhile(lambda row: row != found.pelvis, tree.ancestors(carrier)):
        found.roles[row] = roles.PELVIS  # carries the legs beside the spine; on the spine's way it is of the spine
    if chain:
        found.head, found.neck = chain[-1], chain[:-1]
    parts = (found.trunk, roles.SPINE), (found.trunk[-1:], roles.CHEST), (found.neck, roles.NECK)
    for rows, role in (*parts, (chain[-1:], roles.HEAD)):
        for row in rows:
            found.roles[row] = role


def _is_beside(tree: Tree, found: Structure, row: int) -> bool:
    """Whether a subtree lies beside the mirror plane."""
    return abs(tree.heads[row] @ found.lateral - found.centre) > MIDDLE * tree.size


def _tail(tree: Tree, found: Structure, limbs: set) -> None:
    """A chain in the middle that hangs on the hips or on what is above them."""
    for row in [found.pelvis, *found.trunk[:1], *tree.ancestors(found.pelvis)[1:]]:
        for child in tree.children[row]:
            taken = found.roles[child] is not None or set(tree.subtree(child)) & {found.pelvis, found.chest, *limbs}
            if taken or _is_beside(tree, found, child):
                continue
            if tree.count[child] >= 2 and tree.reach[child] > 0.1 * tree.size:
                for item in tree.subtree(child):
                    if not _is_beside(tree, found, item):
                        found.roles[item] = roles.TAIL


# ---- the bones of a limb ------------------------------------------------------------------------------------------
def limb(tree: Tree, start: int, down: bool = False) -> list:
    """The main chain of a limb: always into the longest branch; for a leg into one that reaches lowest."""
    chain = [start]
    while rest := tree.children[chain[-1]]:
        if down:
            least = min(map(tree.lowest, rest))
            rest = [row for row in rest if tree.lowest(row) < least + GROUND * tree.tall]
        start = tree.heads[chain[-1]]
        chain.append(max(rest, key=lambda row: np.linalg.norm(tree.heads[row] - start) + tree.reach[row]))
    return chain


def _lengths(tree: Tree, chain: list) -> np.ndarray:
    """Length of each of a chain's bones, to the next one's head and at last to the end."""
    return np.linalg.norm(np.diff(np.concatenate([tree.heads[chain], tree.ends[chain[-1:]]]), axis=0), axis=1)


def _give_legs(tree: Tree, found: Structure, legs: tuple, human: bool) -> None:
    chains = [_without_hip_helpers(tree, found, limb(tree, start, down=True)) for start in legs]
    names = [roles.THIGH, roles.SHANK, roles.FOOT]
    # The leg that stands tells how many bones are above the ankle; the other one may be in the air.
    chain = min(chains, key=lambda chain: tree.lowest(chain[0]))
    if human:
        ankle = [i for i, row in enumerate(chain) if tree.height[row] < 0.35 * tree.height[chain[0]]]
        long = ankle[0] if ankle else len(chain)
        if long == 4:
            names = [roles.THIGH, roles.TWIST, roles.SHANK, roles.TWIST, roles.FOOT]
        elif long == 3:
            # The bone beyond the joint at which the leg bends less is the second part of one.
            steps = np.diff(tree.heads[chain], axis=0)
            steps = steps / np.maximum(np.linalg.norm(steps, axis=1), 1e-30)[:, None]
            straight = len(steps) < 3 or steps[0] @ steps[1] >= steps[1] @ steps[2]
            names.insert(1 if straight else 2, roles.TWIST)
    for chain in chains:
        _give(tree, found, chain, names, roles.TOE)


def _without_hip_helpers(tree: Tree, found: Structure, chain: list) -> list:
    """Leave out what leads from the middle of the pelvis to the hip, such as CMU's "LHipJoint"."""
    across = np.abs(tree.heads[chain] @ found.lateral - found.centre)
    while len(chain) > 2:
        length = _lengths(tree, chain)
        short = length[0] < 0.1 * length.sum()
        from_middle = across[0] < 0.35 * across[1] and length[0] < 0.75 * length[1]
        if not short and not from_middle:
            break
        found.roles[chain[0]] = roles.HELPER
        chain, across = chain[1:], across[1:]
    return chain


def _give_arm(tree: Tree, found: Structure, start: int, is_leg: bool) -> None:
    chain = limb(tree, start, down=is_leg)
    length, own = _lengths(tree, chain), list(roles.ARM[1:])
    if is_leg:
        # Shoulder, elbow and wrist are above a third of the leg; with a shoulder blade there is one joint more.
        high = sum(tree.height[row] > 0.35 * tree.height[start] for row in chain)
        has_clavicle = high >= 3 or length[0] < 0.05 * length.sum()
    else:
        across = np.abs(tree.heads[chain] @ found.lateral - found.centre)
        wrist = int(np.argmax(length[::-1].cumsum()[::-1] < HAND_LENGTH * length.sum()))
        has_clavicle = len(chain) >= 3 and length[0] < 0.85 * length[1] and across[0] < 0.7 * across[1]
        has_clavicle |= wrist > 3 and across[0] < 0.4 * across[1]  # before a part of the upper arm, no longer than it
        first, wrist = (1, wrist - 1) if has_clavicle else (0, wrist)
        if wrist > 2:  # upper arm and forearm have more parts, and are about as long
            parts = length[first : first + wrist]
            elbow = min(range(1, wrist), key=lambda i: abs(parts[:i].sum() - parts[i:].sum()))
            own[1:1] = [roles.TWIST] * (elbow - 1)
            own[-1:-1] = [roles.TWIST] * (wrist - elbow - 1)
    _give(tree, found, chain, [*roles.ARM[:1], *own] if has_clavicle else own, roles.FINGER)


def _give(tree: Tree, found: Structure, chain: list, names: list, rest: str) -> None:
    """Roles along a limb; `rest` for all beyond, TWIST for leaves that stand inside a bone of the limb."""
    for i, row in enumerate(chain):
        found.roles[row] = names[i] if i < len(names) else rest
    if len(chain) >= len(names):
        for row in tree.subtree(chain[len(names) - 1])[1:]:
            found.roles[row] = rest
    for row in chain[: len(names) - 1]:
        line = tree.ends[row] - tree.heads[row]
        for child in tree.children[row]:
            if child in chain or tree.children[child]:
                continue
            share = (tree.heads[child] - tree.heads[row]) @ line / max(line @ line, 1e-30)
            aside = np.linalg.norm(tree.heads[child] - tree.heads[row] - share * line)
            if -0.05 <= share <= 1.05 and aside < 0.1 * np.linalg.norm(line):
                found.roles[child] = roles.TWIST


def _sides(tree: Tree, found: Structure, limbs: list) -> None:
    """Sides from the place; a limb's bones all have the limb's."""
    across = tree.heads @ found.lateral - found.centre
    for row in tree.rows:
        side = roles.LEFT if across[row] > 0.0 else roles.RIGHT
        found.sides[row] = roles.CENTER if abs(across[row]) < 0.02 * tree.size else side
    for rows in (tree.subtree(row) for pair in limbs for row in pair):
        side = roles.LEFT if np.mean(across[rows]) > 0.0 else roles.RIGHT
        for row in rows:
            found.sides[row] = side
    for row in [found.pelvis, *found.trunk, *found.neck, found.head]:
        if row >= 0:
            found.sides[row] = roles.CENTER
