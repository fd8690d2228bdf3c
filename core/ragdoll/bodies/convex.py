"""Convex hulls of a few points, in numpy: faces, volume, how far a point is outside.

Every triple of points is tried, which is quick up to the 32 points that a body's hull may have and has no cases to go
wrong: coplanar points simply share their face.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from ... import quaternion
from ...errors import RagdollError

MOST_POINTS = 32
FLAT = 1e-7  # of the hull's size: points nearer to a plane lie on it
HAIR = 1e-5  # of the size
SLIVER = 1e-6  # of the size squared: triples with less area do not say where their plane lies


@dataclass(frozen=True)
class Hull:
    """A convex polyhedron."""

    points: np.ndarray  # corners [k, 3], none of them inside
    normals: np.ndarray  # outward unit normals of the faces [f, 3]
    offsets: np.ndarray  # distances of the faces' planes from the origin along the normals [f]
    faces: tuple  # corners of each face in order, counter-clockwise seen from outside

    @property
    def center(self) -> np.ndarray:
        """The mean of the corners [3], which is inside."""
        return self.points.mean(axis=0)

    def volume(self) -> float:
        """Volume [m^3]: the tetrahedra from the middle to the triangles of the faces."""
        fans = [(face[0], face[i], face[i + 1]) for face in self.faces for i in range(1, len(face) - 1)]
        a, b, c = (self.points[np.array(fans)] - self.center).transpose(1, 0, 2)
        return float(np.einsum("ti,ti->", a, quaternion.cross(b, c)) / 6.0)

    def gauge(self, points: np.ndarray) -> np.ndarray:
        """By what factor [n] the hull must be scaled about its middle to reach each point [n, 3]."""
        middle = self.center
        return np.max(((points - middle) @ self.normals.T) / (self.offsets - self.normals @ middle), axis=1)

    def moved(self, shift: np.ndarray) -> "Hull":
        return _remembered(Hull(self.points + shift, self.normals, self.offsets + self.normals @ shift, self.faces))

    def mirrored(self) -> "Hull":
        """The hull with x reversed."""
        flip = np.array([-1.0, 1.0, 1.0])
        faces = tuple(face[::-1] for face in self.faces)
        return _remembered(Hull(self.points * flip, self.normals * flip, self.offsets, faces))

    def scaled(self, factor: float) -> "Hull":
        """The hull scaled about its middle."""
        middle = self.center
        points = middle + factor * (self.points - middle)
        offsets = self.normals @ middle + factor * (self.offsets - self.normals @ middle)
        return Hull(points, self.normals, offsets, self.faces)


_MEMORY: dict[bytes, Hull] = {}  # hulls are made once and asked for several times: volumes, masses, meshes
_MEMORY_SIZE = 512


def _remembered(solid: Hull) -> Hull:
    if len(_MEMORY) >= _MEMORY_SIZE:
        _MEMORY.clear()
    _MEMORY[solid.points.tobytes()] = solid
    return solid


@cache
def _triples(count: int) -> np.ndarray:
    return np.array(list(combinations(range(count), 3)))


def hull(points: np.ndarray) -> Hull:
    """The convex hull of at most `MOST_POINTS` points [k, 3]. Raises RagdollError: there are too many points, or they
    lie in one plane."""
    points = np.ascontiguousarray(points, dtype=float)
    if points.tobytes() in _MEMORY:
        return _MEMORY[points.tobytes()]
    if not 4 <= len(points) <= MOST_POINTS:
        raise RagdollError(f"A convex hull needs 4 to {MOST_POINTS} points, got {len(points)}")
    origin = points.mean(axis=0)
    size = float(np.abs(points - origin).max())
    local = (points - origin) / max(size, 1e-300)
    faces, planes = _faces(local, FLAT, SLIVER)
    if not _is_closed(faces):
        # Corners are just so far from a plane that triples disagree: moved by a hair, each face is one triple.
        local = local + HAIR * np.sin(np.arange(1.0, 1.0 + points.size) ** 2).reshape(-1, 3)
        points = origin + size * local
        faces, planes = _faces(local, 1e-10, 1e-9)
        if not _is_closed(faces):
            raise RagdollError("The points of a convex hull lie too close to one plane")
    used = sorted({corner for face in faces for corner in face})
    place = {corner: i for i, corner in enumerate(used)}
    faces = tuple(tuple(place[corner] for corner in face) for face in faces)
    corners = points[used]
    return Hull(corners, planes, np.einsum("fi,fi->f", planes, corners[[face[0] for face in faces]]), faces)


def _faces(local, flat_within, sliver):
    """Faces of points [k, 3] of size 1, and their outward normals."""
    a, b, c = local[_triples(len(local))].transpose(1, 0, 2)
    normals = quaternion.cross(b - a, c - a)
    lengths = np.sqrt(np.einsum("ti,ti->t", normals, normals))
    clear = lengths > sliver
    normals, a = normals[clear] / lengths[clear, None], a[clear]
    distance = normals @ local.T
    distance -= np.einsum("ti,ti->t", normals, a)[:, None]
    below, above = distance.max(axis=1) < flat_within, distance.min(axis=1) > -flat_within
    flat = np.abs(np.concatenate([distance[below], distance[above]])) < flat_within
    normals = np.concatenate([normals[below], -normals[above]])
    if len(normals) == 0 or np.any(np.all(flat, axis=1)):
        raise RagdollError("The points of a convex hull lie in one plane")
    # Of the triples [t, 3] and the corners that lie in the plane of each [t, k], those of one plane are one face.
    number = np.count_nonzero(flat, axis=1)
    faces, kept = [], []
    wide = np.flatnonzero(number > 3)
    _unique, first = np.unique(np.packbits(flat[wide], axis=1), axis=0, return_index=True)
    wide = wide[np.sort(first)]
    for row in wide[np.argsort(-number[wide], kind="stable")]:
        # Where a corner is only just in the plane, some triples see it and some do not.
        if not any(bool(np.all(flat[other][flat[row]])) for other in kept):
            faces.append(_ring(local, np.flatnonzero(flat[row]), normals[row]))
            kept.append(row)
    single = np.flatnonzero(number == 3)
    if len(kept) and len(single):
        single = single[(flat[single].astype(int) @ (~flat[kept]).T.astype(int)).min(axis=1) > 0]
    corners = np.nonzero(flat[single])[1].reshape(-1, 3)
    a, b, c = local[corners].transpose(1, 0, 2)
    back = np.einsum("fi,fi->f", quaternion.cross(b - a, c - a), normals[single]) < 0.0
    corners[back] = corners[back][:, ::-1]
    faces += [tuple(row) for row in corners.tolist()]
    kept += list(single)
    return faces, normals[kept]


def _is_closed(faces) -> bool:
    """Whether each edge has a face on both sides."""
    edges = [pair for face in faces for pair in zip(face, face[1:] + face[:1], strict=True)]
    both = set(edges)
    return len(both) == len(edges) and all((b, a) in both for a, b in edges)


def _ring(points, corners, normal):
    """Corners of a face in order around it; those inside an edge or the face are left out."""
    x, y, z = normal
    # An orthonormal basis without branches or loss (Duff et al. 2017).
    sign = 1.0 if z >= 0.0 else -1.0
    k = -1.0 / (sign + z)
    u, v = (1.0 + sign * x * x * k, sign * x * y * k, -sign * x), (x * y * k, sign + y * y * k, -y)
    # Rounded, or corners above each other would be ordered by the last bit.
    flat = np.round(points[corners] @ np.array([u, v]).T, 9)
    order = np.lexsort((flat[:, 1], flat[:, 0]))
    places, ring = flat.tolist(), []
    for way in (order.tolist(), order[::-1].tolist()):  # Andrew's monotone chain
        chain = []
        for i in way:
            while len(chain) > 1 and _turn(places[chain[-2]], places[chain[-1]], places[i]) <= 1e-9:
                chain.pop()
            chain.append(i)
        ring += chain[:-1]
    return tuple(corners[ring].tolist())


def _turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
