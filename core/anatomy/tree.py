"""The bones that may have a body, as one tree: controls left out, detached parts attached where they stand."""

import numpy as np

from .order import from_the_roots

# A leaf's tail is believed when its bone is at least this share of its parent's length: importers that know no tails
# (glTF) make stubs.
STUB = 0.15
ROUNDING = 1e-4  # joints this near to each other, as a share of the rig's size, are in one place
FAR = 0.35  # a detached part that is further from the rest than this share of the rig's size stays a root


class Tree:
    """Bones of a mask, each under its nearest ancestor in the mask, or under the bone it stands next to.

    A control rig hangs its deforming bones on controls, a rig with inverse kinematics its feet on the floor, a
    MikuMikuDance model its upper body beside the lower; the joints' places tell what belongs together.

    `core` is a bone whose part the others are attached to, where there is one that is known for it.

    Attributes:
        rows: indices of the bones in the mask [m], parents first; everything below is by bone [n].
        parent: tree parent or -1. children: lists. attached: whether the parent was found by place.
        heads [n, 3]; ends [n, 3]: where the bone leads to: its main child's head, a leaf's tail, or a guess.
        believed: whether a leaf's tail says where it ends [n].
        reach: longest path down the tree from the bone's head. count: bones of its subtree.
        size: largest extent of the joints. height: above the lowest joint [n]. tall: largest height.
    """

    def __init__(self, parents, heads, tails, up, mask, core: int = -1) -> None:
        self.heads, self.tails = np.asarray(heads, float), np.asarray(tails, float)
        count = len(self.heads)
        self.parent = nearest_in(parents, mask)
        self.attached = np.zeros(count, dtype=bool)
        chosen = np.flatnonzero(mask)
        self.size = float(np.ptp(self.heads[chosen], axis=0).max()) if len(chosen) else 0.0
        self._walk(chosen)
        if sum(self.parent[i] < 0 for i in self.rows) > 1:
            self._attach(core)
            self._walk(chosen)
        self.up = np.asarray(up, float)
        along = self.heads @ self.up
        low = np.concatenate([along[chosen], self.ends[chosen] @ self.up]) if len(chosen) else np.zeros(1)
        self.ground = float(along.min()) if count else 0.0
        # A tail may stick out below the sole, but not by much.
        if len(chosen):
            self.ground = min(self.ground, max(float(low.min()), self.ground - 0.05 * self.size))
        self.height = along - self.ground
        self.tall = float(self.height[chosen].max()) if len(chosen) else 0.0

    def _walk(self, chosen) -> None:
        """Order, children, ends and reaches for the present parents."""
        count = len(self.heads)
        self.children: list = [[] for _i in range(count)]
        place = {int(row): k for k, row in enumerate(chosen)}
        local = [place.get(int(self.parent[row]), -1) for row in chosen]
        self.rows = [int(chosen[k]) for k in from_the_roots(local)]
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
            below = self.children[row]
            if below:
                main = max(below, key=lambda child: lengths[child] + self.reach[child])
                self.ends[row] = self.heads[main]
                self.reach[row] = lengths[main] + self.reach[main]
                self.count[row] += sum(self.count[child] for child in below)
                continue
            base = lengths[row]
            self.believed[row] = believed = (
                STUB * base <= own_lengths[row] <= 2.0 * base if base > 0.0 else own_lengths[row] > 0.0
            )
            self.ends[row] = self.tails[row] if believed else self.heads[row] + step[row]
            self.reach[row] = own_lengths[row] if believed else 0.0

    def _attach(self, core: int) -> None:
        """Give all roots but that of the core's part, or else of the greatest, a parent by place, nearest first."""
        roots = [row for row in self.rows if self.parent[row] < 0]
        part = {}
        for row in self.rows:
            part[row] = row if self.parent[row] < 0 else part[self.parent[row]]
        rows = np.array(self.rows)
        parts = np.array([part[row] for row in self.rows])
        greatest = max(roots, key=lambda row: (row == part.get(core), self.count[row], self.reach[row]))
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
            self.parent[row] = rows[bone]
            self.attached[row] = True
            joined |= parts == row

    def _distances(self, points: np.ndarray) -> np.ndarray:
        """Distances [k, m] of points from the bones of `rows`, each a line from its head to its end."""
        start, line = self.heads[self.rows], self.ends[self.rows] - self.heads[self.rows]
        square = np.maximum(np.einsum("ij,ij->i", line, line), 1e-30)
        to = points[:, None] - start
        share = np.clip(np.einsum("rij,ij->ri", to, line) / square, 0.0, 1.0)
        gap = to - share[..., None] * line
        return np.sqrt(np.einsum("rij,rij->ri", gap, gap))

    def beside(self, points: np.ndarray) -> np.ndarray:
        """The bone nearest to each point [k], -1 where it is far."""
        distance = self._distances(points)
        nearest = [self._first_least(row) for row in distance]
        return np.where(distance.min(axis=1) <= FAR * self.size, np.array(self.rows)[nearest], -1)

    def _first_least(self, distances: np.ndarray) -> int:
        """Index of the least distance, the first of those that rounding makes differ."""
        return int(np.argmax(distances <= distances.min() + ROUNDING * self.size))

    def sort(self) -> None:
        """Bring `rows` and everything else in line with parents that were changed."""
        self._walk(np.sort(self.rows))

    def ancestors(self, row: int) -> list:
        """The bone and all above it, upwards."""
        result = []
        while row >= 0:
            result.append(int(row))
            row = self.parent[row]
        return result

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


def nearest_in(parents, mask) -> np.ndarray:
    """For each bone its nearest proper ancestor in the mask, -1 where there is none [n]; parents in any order."""
    result = np.full(len(parents), -1)
    for row in from_the_roots(parents):
        parent = parents[row]
        if parent >= 0:
            result[row] = parent if mask[parent] else result[parent]
    return result
