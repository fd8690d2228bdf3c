"""How well bodies fill the mesh, in bind pose, on every rig of the test data and the Rigify human.

python dev.py bench shapes [--only NAME ...] [--json FILE]

bodies     number of bodies, and how many of them are hulls
coverage   share of the skinned vertices inside a shape or within 1 % of the character's height of one; the mean
           over the bodies of the same share of their own vertices is printed beside it, without an aim
volume     volume of the union of the shapes / volume of the mesh, both by counting the same grid of points; only
           for characters whose meshes are closed for the most part (LEAST_CLOSED)
overlap    deepest overlap of two bodies that can touch each other, % of height; and how many pairs that are not
           joined are kept from touching, with the deepest of those
mirror     largest distance of a point of a body from the mirror image of its counterpart, % of height
"""

import _characters
import bpy
import numpy as np

import rigs
from active_ragdoll.core import mirror
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig import armature, recognition, skinning
from active_ragdoll.core.ragdoll.bodies import compound

NEAR = 0.01  # of the height
GRID = 90  # points along the height
LEAST_CLOSED = 0.98  # of the edges have two faces
AIMS = {"coverage %": (90.0, None), "volume": (0.75, 1.4), "overlap %": (None, 0.0), "mirror %": (None, 1e-3)}
RIGIFY = "Rigify human"


def load(name: str):
    """The armature of a file, or of the bundled human."""
    if name == RIGIFY:
        return _characters.make_rigify_human(_characters.empty_scene())[0]
    return rigs.load(_characters.DATA / name).obj


def told_apart(obj) -> set:
    """Pairs of bodies between which a constraint forbids collisions, as indices."""
    row = {part.body: i for i, part in enumerate(obj.active_ragdoll.parts)}
    pairs = set()
    for other in obj.active_ragdoll.collection.objects:
        constraint = other.rigid_body_constraint
        if constraint is not None and constraint.disable_collisions:
            i, j = row.get(constraint.object1), row.get(constraint.object2)
            if i is not None and j is not None:
                pairs.add((min(i, j), max(i, j)))
    return pairs


def mesh_triangles(obj, world) -> tuple[np.ndarray, float]:
    """All triangles [t, 3, 3] of the skinned and worn meshes in bind pose, and the share of edges between two faces."""
    triangles, closed, edges = [], 0, 0
    inverse = np.linalg.inv(np.array(obj.matrix_world))
    placed = [(mesh, world @ inverse @ np.array(mesh.matrix_world)) for mesh in skinning.skinned_meshes(obj)]
    pose, props = armature.BindPose(obj.data, world), recognition.props(obj, recognition.anatomy_of(obj))
    placed += [(mesh, place) for mesh, _bone, place in skinning.carried_meshes(obj, pose, world, props)]
    for mesh, matrix in placed:
        data = mesh.data
        flat = np.empty(3 * len(data.vertices), dtype=np.float32)
        data.vertices.foreach_get("co", flat)
        points = flat.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
        data.calc_loop_triangles()
        rows = np.empty(3 * len(data.loop_triangles), dtype=np.int32)
        data.loop_triangles.foreach_get("vertices", rows)
        rows = rows.reshape(-1, 3)
        triangles.append(points[rows])
        # Importers split vertices along seams: the same place counts as the same vertex.
        size = np.ptp(points, axis=0).max()
        rounded = np.round((points - points.min(axis=0)) / (1e-6 * size))
        place = np.unique(rounded, axis=0, return_inverse=True)[1].ravel()
        pairs = np.sort(place[rows][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        _unique, number = np.unique(pairs, axis=0, return_counts=True)
        closed, edges = closed + np.count_nonzero(number % 2 == 0), edges + len(number)
    return np.concatenate(triangles), closed / max(edges, 1)


def inside_mesh(triangles, axes) -> np.ndarray:
    """Which points of a grid [len(x), len(y), len(z)] the triangles enclose, by the vote of lines along x, y and z.

    Parts that stand in each other count once: a point is inside where the winding number is not 0. A hole in the mesh
    misleads the lines through it in one direction, hence the vote.
    """
    votes = np.zeros([len(axis) for axis in axes], dtype=int)
    for turn in range(3):
        order = [(turn + i) % 3 for i in range(3)]
        found = _inside_along(triangles[:, :, order], *(axes[i] for i in order))
        votes += found.transpose(np.argsort(order))
    return votes >= 2


def _inside_along(triangles, x, y, z):
    depth = np.zeros((len(x), len(y), len(z) + 1), dtype=np.int32)
    a, b, c = triangles.transpose(1, 0, 2)
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    for n in np.flatnonzero(np.abs(area) > 1e-18):
        corner = triangles[n]
        low, high = corner.min(axis=0), corner.max(axis=0)
        i = np.arange(*np.searchsorted(x, (low[0], high[0])))
        j = np.arange(*np.searchsorted(y, (low[1], high[1])))
        if not len(i) or not len(j):
            continue
        px, py = np.meshgrid(x[i], y[j], indexing="ij")
        u = ((px - a[n, 0]) * (c[n, 1] - a[n, 1]) - (py - a[n, 1]) * (c[n, 0] - a[n, 0])) / area[n]
        v = ((b[n, 0] - a[n, 0]) * (py - a[n, 1]) - (b[n, 1] - a[n, 1]) * (px - a[n, 0])) / area[n]
        hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0)
        height = a[n, 2] + u * (b[n, 2] - a[n, 2]) + v * (c[n, 2] - a[n, 2])
        ii, jj = np.meshgrid(i, j, indexing="ij")
        k = np.searchsorted(z, height[hit])
        np.add.at(depth, (ii[hit], jj[hit], k), 1 if area[n] < 0.0 else -1)
    return np.cumsum(depth, axis=2)[:, :, :-1] != 0


def volume_ratio(shapes, triangles, height) -> float:
    """Volume of the union of the shapes / volume of the mesh."""
    corners = np.concatenate([triangles.reshape(-1, 3), *(shape.core()[0] for shape in shapes)])
    step = height / GRID
    # An offset that is no round number: mesh planes lie between the grid's.
    axes = [np.arange(lo - 2.37 * step, hi + 2.0 * step, step) for lo, hi in zip(corners.min(0), corners.max(0))]
    mesh = inside_mesh(triangles, axes)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    union = np.zeros(len(points), dtype=bool)
    for shape in shapes:
        core, radius = shape.core()
        near = np.all((points >= core.min(0) - radius) & (points <= core.max(0) + radius), axis=1)
        union[near] |= shape.distance(points[near]) <= 0.0
    return float(np.count_nonzero(union) / np.count_nonzero(mesh))


def measure(obj, bones: str) -> dict:
    """All figures of one character, which is built here."""
    build.build(obj, bpy.context.scene, bones)
    settings = obj.active_ragdoll
    height = settings.height
    parts = list(settings.parts)
    shapes = [rigs.solid(part) for part in parts]
    names = [part.bone for part in parts]
    row = {name: i for i, name in enumerate(names)}
    parents = np.array([row.get(part.parent, -1) for part in parts])
    world = np.array(obj.matrix_world)
    pose = armature.BindPose(obj.data, world)
    result = {"bodies": len(parts), "hulls": sum(shape.points is not None for shape in shapes)}
    result["compounds"] = sum(bool(shape.pieces) for shape in shapes)

    skin = skinning.read_skin(obj, pose, world, recognition.props(obj, recognition.anatomy_of(obj)))
    if skin is not None:
        held = np.unique(skin.vertex)
        nearest = np.min([shape.distance(skin.points[held]) for shape in shapes], axis=0)
        result["coverage %"] = 100.0 * float(np.mean(nearest <= NEAR * height))
        owner = np.full(len(pose.names), -1)
        for bone in range(len(pose.names)):
            parent = pose.parents[bone]
            owner[bone] = row.get(pose.names[bone], owner[parent] if parent >= 0 else -1)
        shares = [
            np.mean(np.min([shape.distance(own[0]) for shape in shapes], axis=0) <= NEAR * height)
            for own in skin.dominated(owner, len(parts))
            if own is not None
        ]
        result["coverage of bodies %"] = 100.0 * float(np.mean(shares))
        triangles, closed = mesh_triangles(obj, world)
        result["closed %"] = 100.0 * closed
        ratio = volume_ratio(shapes, triangles, height)
        result["volume" if closed >= LEAST_CLOSED else "volume, open mesh"] = ratio

    first, second = np.triu_indices(len(parts), 1)
    joined = (parents[first] == second) | (parents[second] == first)
    pairs = told_apart(obj)
    apart = np.array([(i, j) in pairs for i, j in zip(first.tolist(), second.tolist())], dtype=bool)
    depth = 100.0 * compound.depths(shapes, first, second) / height
    touching, kept = ~joined & ~apart, ~joined & apart
    result["overlap %"] = max(0.0, float(depth[touching].max(initial=0.0)))
    result["kept apart"] = int(np.count_nonzero(kept))
    result["their overlap %"] = max(0.0, float(depth[kept].max(initial=0.0)))
    if np.any(touching):
        worst = np.flatnonzero(touching)[np.argmax(depth[touching])]
        result["worst pair"] = f"{names[first[worst]]} - {names[second[worst]]}"

    heads = pose.heads[[pose.row[name] for name in names]]
    normal, offset, twins = mirror.plane_of_joints(heads, parents, pose.axes, height)
    result["pairs"] = int(np.count_nonzero(twins > np.arange(len(twins))))
    error = 0.0
    for i, twin in enumerate(twins):
        if twin > i:
            image = mirror.reflect(shapes[twin].core()[0], normal, offset)
            own, radius = shapes[i].core()
            gaps = np.linalg.norm(own[:, None] - image[None], axis=2).min(axis=1)
            error = max(error, float(gaps.max()), abs(radius - shapes[twin].core()[1]))
    result["mirror %"] = 100.0 * error / height
    return result


def run(only: list[str], bones: str) -> tuple[dict, bool]:
    """Print the table."""
    report, rows, missed = {}, [], 0
    for name in only:
        with _characters.silence():
            report[name] = found = measure(load(name), bones)
        row = [name[:26], f"{found['bodies']} ({found['hulls']}, {found['compounds']})"]
        for figure, (low, high) in AIMS.items():
            value = found.get(figure)
            if value is None:
                other = found.get(f"{figure}, open mesh")
                row.append("-" if other is None else f"({other:.2f})")
                continue
            good = (low is None or value >= low) and (high is None or value <= high)
            missed += not good
            row.append(f"{value:.3g} {_characters.verdict(good)}")
        row += [found.get("coverage of bodies %", "-"), f"{found['kept apart']}: {found['their overlap %']:.1f}"]
        rows.append([*row, found["pairs"], found.get("worst pair", "")[:34] if found["overlap %"] > 0 else ""])
    head = ("", "bodies (hulls, compounds)", *AIMS, "of bodies %", "kept apart: %", "pairs", "deepest")
    _characters.print_table("bodies in bind pose", head, rows)
    return {"aims": AIMS, "rigs": report, "missed": missed}, not missed


if __name__ == "__main__":
    _characters.bench(run, __doc__, only=[*rigs.FILES, RIGIFY], bones="DEFORM")
