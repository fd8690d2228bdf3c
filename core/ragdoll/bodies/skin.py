"""Which vertices belong to which bone or body: skin weights as flat arrays."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Skin:
    """Vertices in bind pose and their weights; one element is one bone's hold on one vertex."""

    points: np.ndarray  # vertices [v, 3] [m]
    # vertex, bone: index of the vertex and the bone of each element [e]
    vertex: np.ndarray
    bone: np.ndarray
    weight: np.ndarray  # of each element [e], not negative; those of a vertex need not sum to 1
    bone_count: int  # number of bones n
    # pairs of vertices that an edge of a mesh joins [d, 2]
    edges: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=int))

    def dominated(self, owner: np.ndarray, count: int) -> tuple[list, np.ndarray, np.ndarray]:
        """Vertices of each owner: those on which its bones together have more hold than any other's.

        For each owner (points [k, 3], share of each one's weights that is the owner's [k]) or None, and `holders`.
        """
        holder, share = self.holders(owner, count)
        rows = [np.flatnonzero(holder == i) for i in range(count)]
        return [(self.points[own], share[own]) if len(own) else None for own in rows], holder, share

    def of_bones(self) -> list:
        """The vertices [k, 3] on which each bone has more hold than any other, or None [n]."""
        found, _holder, _share = self.dominated(np.arange(self.bone_count), self.bone_count)
        return [None if own is None else own[0] for own in found]

    def holders(self, owner: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The owner of each vertex, -1 for none, and the share [v] of its weights that this owner's bones have."""
        mask = owner[self.bone] >= 0
        vertex, body, weight = self.vertex[mask], owner[self.bone][mask], self.weight[mask]
        key = vertex.astype(np.int64) * max(count, 1) + body
        pairs, place = np.unique(key, return_inverse=True)
        held = np.bincount(place.ravel(), weight, len(pairs))
        vertex, body = pairs // max(count, 1), pairs % max(count, 1)
        order = np.lexsort((body, -held, vertex))
        first = np.ones(len(order), dtype=bool)
        first[1:] = vertex[order][1:] != vertex[order][:-1]
        best = order[first]
        best = best[held[best] > 0.0]
        holder, share = np.full(len(self.points), -1), np.zeros(len(self.points))
        holder[vertex[best]] = body[best]
        total = np.bincount(self.vertex, self.weight, len(self.points))
        share[vertex[best]] = held[best] / total[vertex[best]]
        return holder, share

    def strongest(self, owner: np.ndarray, holder: np.ndarray) -> np.ndarray:
        """The bone that holds each vertex most among those of its holder, -1 for none [v]; see `holders`."""
        mask = (holder[self.vertex] >= 0) & (owner[self.bone] == holder[self.vertex])
        vertex, bone, weight = self.vertex[mask], self.bone[mask], self.weight[mask]
        order = np.lexsort((-bone, weight, vertex))  # the last of a vertex is the one wanted
        result = np.full(len(self.points), -1)
        result[vertex[order]] = bone[order]
        return result

    def between(self, holder, share, joints, ends, joined) -> list:
        """Points on edges from one body's vertices to another's, where the one body ends.

        Coarse meshes have vertices at the joints only, so that those of a body may be no more than a ring. Its part of
        an edge to a body that it is joined to goes as far as its own limb does, at least to the middle.
        Returns for each body (points [k, 3], weights [k]).

        Args:
            holder, share: see `holders`. joints, ends: where each body's limb begins and ends [m, 3].
            joined: whether bodies are joined [m, m].
        """
        edges = self.edges[np.all(holder[self.edges] >= 0, axis=1)] if len(self.edges) else self.edges
        edges = edges[holder[edges[:, 0]] != holder[edges[:, 1]]]
        edges = np.concatenate([edges, edges[:, ::-1]])
        here, there = self.points[edges[:, 0]], self.points[edges[:, 1]]
        body = holder[edges[:, 0]]
        limb = (ends - joints)[body]
        length = np.linalg.norm(limb, axis=1)
        limb = limb / np.maximum(length, 1e-12)[:, None]
        near = np.einsum("ei,ei->e", here - joints[body], limb)
        far = np.einsum("ei,ei->e", there - joints[body], limb)
        step = np.where(np.abs(far - near) > 1e-12, far - near, 1e-12)
        stop = np.where(far > length, (length - near) / step, np.where(far < 0.0, -near / step, 1.0))
        stop = np.where(joined[body, holder[edges[:, 1]]] & (length > 1e-12), np.clip(stop, 0.5, 1.0), 0.5)
        points = here + stop[:, None] * (there - here)
        return [(points[body == i], share[edges[:, 0]][body == i]) for i in range(len(joints))]
