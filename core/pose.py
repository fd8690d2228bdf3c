"""Poses as arrays in a skeleton's level order, and the way between local and model space.

Local space (`_ls`) is relative to the parent bone, for a root to the armature; model space (`_ms`) is the armature's.
Leading axes (`...`) are characters, frames or both. All work is done level by level for all bones of a level and the
whole batch at once.

Scale. Transforms as position, rotation and scale cannot express the shear that a non-uniform scale followed by a
rotation makes. As in game engines the model scale is the componentwise product along the chain:

    position_ms = parent.position_ms + parent.rotation_ms * (parent.scale_ms . position_ls)
    rotation_ms = parent.rotation_ms * rotation_ls
    scale_ms    = parent.scale_ms . scale_ls

Rotations never depend on scales here. This equals the product of the 4x4 matrices exactly wherever every scale that has
rotations below it is uniform (negative too), or commutes with these rotations (such as a turn about the only axis whose
scale differs). Otherwise use the `_matrices` functions, which are exact for every affine transform.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import quaternion
from .errors import RagdollError
from .skeleton import Skeleton


def local_to_model(skeleton: Skeleton, positions_ls, rotations_ls, scales_ls) -> tuple[np.ndarray, ...]:
    """Model-space positions, rotations and scales of whole poses; see the module's text on scale.

    Positions are [..., n, 3] in level order, rotations [..., n, 4] unit quaternions (w, x, y, z), scales [..., n, 3].
    """
    positions = np.asarray(positions_ls, dtype=float).copy()
    rotations = local_to_model_rotations(skeleton, rotations_ls)
    scales = np.asarray(scales_ls, dtype=float).copy()
    for above, level, parents in skeleton.level_steps:
        place, turn, size = (values[..., above, :].take(parents, -2) for values in (positions, rotations, scales))
        positions[..., level, :] = place + quaternion.rotate(turn, size * positions[..., level, :])
        scales[..., level, :] *= size
    return positions, rotations, scales


def local_to_model_rotations(skeleton: Skeleton, rotations_ls: ArrayLike) -> np.ndarray:
    """Model-space rotations [..., n, 4] of local ones."""
    model = np.array(rotations_ls, dtype=float)
    if model.ndim == 2:  # a single pose: two numpy calls a level
        factors, columns = quaternion.right_factors(model), model[:, :, None]
        for above, level, parents in skeleton.level_steps:
            np.matmul(factors[level], columns[above].take(parents, 0), out=columns[level])
        return model
    for above, level, parents in skeleton.level_steps:
        pair = model[..., above, :].take(parents, -2), model[..., level, :]
        product = quaternion.multiply_components(*(np.moveaxis(values, -1, 0) for values in pair))
        model[..., level, :] = quaternion.joined(product)
    return model


def model_to_local_rotations(skeleton: Skeleton, rotations_ms: ArrayLike) -> np.ndarray:
    """Local rotations [..., n, 4] of model-space ones."""
    rotations, roots = np.array(rotations_ms, dtype=float), skeleton.root_count
    parents = rotations.take(skeleton.parents[roots:], axis=-2)
    rotations[..., roots:, :] = quaternion.multiply(quaternion.conjugate(parents), rotations[..., roots:, :])
    return rotations


def local_to_model_matrices(skeleton: Skeleton, matrices_ls: ArrayLike) -> np.ndarray:
    """Model-space matrices [..., n, 4, 4] of local ones (column vectors, translation in the last column).

    Exact for every transform, sheared ones too."""
    matrices_ls = np.asarray(matrices_ls, dtype=float)
    matrices_ms = np.empty_like(matrices_ls, order="C")
    roots = slice(0, skeleton.root_count)
    matrices_ms[..., roots, :, :] = matrices_ls[..., roots, :, :]
    for above, level, parents in skeleton.level_steps:
        above_ms = matrices_ms[..., above, :, :].take(parents, -3)
        np.matmul(above_ms, matrices_ls[..., level, :, :], out=matrices_ms[..., level, :, :])
    return matrices_ms


def model_to_local_matrices(skeleton: Skeleton, matrices_ms: ArrayLike) -> np.ndarray:
    """Local matrices [..., n, 4, 4] of model-space ones: the inverse of `local_to_model_matrices`. Raises RagdollError:
    the matrix of a bone with children has no inverse; names the bone."""
    matrices_ms = np.asarray(matrices_ms, dtype=float)
    matrices_ls = matrices_ms.copy()
    roots = skeleton.root_count
    parents = skeleton.parents[roots:]
    inverses, determinants = inverted(matrices_ms)
    if not determinants[..., parents].all():
        least = np.abs(determinants[..., parents]).reshape(-1, len(parents)).min(axis=0)
        name = skeleton.names[parents[np.argmin(least)]]
        raise RagdollError(f'The matrix of bone "{name}" has no inverse: its children have no local transform')
    np.matmul(inverses[..., parents, :, :], matrices_ms[..., roots:, :, :], out=matrices_ls[..., roots:, :, :])
    return matrices_ls


def affine(linear, positions=0.0) -> np.ndarray:
    """Matrices [..., 4, 4] of linear parts [..., 3, 3] and positions [..., 3]."""
    result = np.zeros((*np.broadcast_shapes(np.shape(linear)[:-2], np.shape(positions)[:-1]), 4, 4))
    result[..., :3, :3], result[..., :3, 3], result[..., 3, 3] = linear, positions, 1.0
    return result


def moved(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Points [..., 3] moved by a matrix [4, 4]."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def compose_matrices(positions: ArrayLike, rotations: ArrayLike, scales: ArrayLike | None = None) -> np.ndarray:
    """Matrices [..., 4, 4] = translation * rotation * scale from [..., 3], [..., 4] and [..., 3] or None."""
    linear = quaternion.to_matrix(rotations)
    return affine(linear if scales is None else linear * np.asarray(scales)[..., None, :], positions)


def decompose_matrices(matrices: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions [..., 3], rotations [..., 4] and scales [..., 3] of affine matrices [..., 4, 4].

    A mirrored matrix gets three negative scales, as `mathutils.Matrix.decompose` does. The columns of the
    linear part must be perpendicular, since shear has no place in the result; the rotation is that of the
    first two columns otherwise. A column of length 0 is replaced by the perpendicular of the two others.
    """
    matrices = np.asarray(matrices, dtype=float)
    # Components apart, [3 rows, 3 columns, ...]: many short sums along the last axis take longer.
    columns = matrices[..., :3, :3].transpose(-2, -1, *range(matrices.ndim - 2)).copy()
    lengths = np.sqrt(dot_first(columns, columns))
    x, y, z = columns.swapaxes(0, 1)
    signs = np.where(dot_first(x, _cross_first(y, z)) < 0, -1.0, 1.0)
    scales = quaternion.joined(lengths * signs)
    x, y, z = (columns * (signs / np.where(lengths == 0, 1, lengths))).swapaxes(0, 1)
    flat = not scales.all()
    if flat:
        x = np.where(lengths[0] == 0, _cross_first(y, z), x)
    y = y - x * dot_first(x, y)
    size = np.sqrt(dot_first(y, y))
    y = y / np.where(size == 0, 1, size)
    if flat:
        y = np.where(lengths[1] == 0, _cross_first(z, x), y)
    columns = np.array([x, y, _cross_first(x, y)])  # [column, row, ...]
    turns = quaternion.from_matrix(columns.transpose(*range(2, matrices.ndim), 1, 0))
    return matrices[..., :3, 3].copy(), turns, scales


def between(a: ArrayLike, b: ArrayLike, t: float) -> np.ndarray:
    """Affine matrices [..., 4, 4] at the fraction t of the way from a to b: a at t = 0, b at t = 1.

    Rotations go by the shortest arc; positions, scales and shear go evenly."""
    both = a, b = np.stack([a, b])
    if np.array_equal(a, b):
        return a
    turns = decompose_matrices(both)[1]
    stretched = np.swapaxes(quaternion.to_matrix(turns), -1, -2) @ both[..., :3, :3]
    result = (1.0 - t) * a + t * b
    turned = quaternion.to_matrix(quaternion.slerp(*turns, t))
    result[..., :3, :3] = turned @ ((1.0 - t) * stretched[0] + t * stretched[1])
    return result


def dot_first(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Dot products of vectors with their components along the first axis."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross_first(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


# The entries of a 3 x 3 matrix whose products make up its cofactors, column after column: first times second less
# third times fourth.
_COLUMN, _ROW = np.divmod(np.arange(9), 3)
_MINORS = [3 * ((_ROW + i) % 3) + (_COLUMN + j) % 3 for i, j in ((1, 1), (2, 2), (2, 1), (1, 2))]


def inverted(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverses of affine matrices [..., 4, 4] and the determinants of their linear parts [...]; 0: no inverse. By
    cofactors: for so small matrices ten times as quick as a general solver, and as exact unless they are nearly flat.
    """
    entries = matrices[..., :3, :3].reshape(*matrices.shape[:-2], 9)
    a, b, c, d = (entries.take(places, -1) for places in _MINORS)
    cofactors = (a * b - c * d).reshape(*matrices.shape[:-2], 3, 3)
    determinants = np.add.reduce(matrices[..., :3, 0] * cofactors[..., 0, :], axis=-1)
    linear = cofactors / np.where(determinants == 0, 1, determinants)[..., None, None]
    return affine(linear, -np.matmul(linear, matrices[..., :3, 3, None])[..., 0]), determinants
