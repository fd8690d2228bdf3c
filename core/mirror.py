"""Mirror images: of points and directions, the plane of a rig and its pairs, names, joints, places of bodies.

A reflection F = 1 - 2 n n' turns a rotation by the vector r into one by -F r. With J a joint's frame, the frame
F J diag(-1, 1, 1) is a rotation again, and in it the mirrored vector has the components (x, -y, -z): a range of X is
kept, those of Y and Z change ends. Stored relative to the counterpart's own bone, whatever roll it has, such a frame
does not depend on the two bones being drawn as mirror images. Where they are, as Blender's Symmetrize makes them, a
quaternion changes the signs of its y and z and nothing else.
"""

import re
from itertools import combinations

import numpy as np

from . import quaternion, skeleton

TOLERANCE = 5e-3  # of the character's extent: how far a mirrored joint may be from its counterpart
LEAST = 0.7  # of the bodies must have a counterpart, or the rig has no symmetry
LIKE = 1.35  # two limbs are a pair when the longer is at most this much longer
JOINTS = 64  # that the plane of limbs is tried on
TRIED_PLANES = 8
SAME = 1e-4  # the frame of a joint or a body this close [rad] to the bone's is the bone's
ACROSS = np.diag([-1.0, 1.0, 1.0])


def reflection(normal) -> np.ndarray:
    """The reflection [3, 3] of directions across a plane with this normal [3], of any length."""
    normal = np.asarray(normal, dtype=float)
    normal = normal / np.linalg.norm(normal)
    return np.eye(3) - 2.0 * np.outer(normal, normal)


def reflect(points: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """Points [.., 3] mirrored across the plane normal . p = offset with a unit normal [3]."""
    return points - 2.0 * ((points @ normal) - offset)[..., None] * normal


def plane_of_joints(heads: np.ndarray, parents: np.ndarray, size: float):
    """The plane across which a skeleton is its own mirror image.

    Returns the unit normal [3], the offset [m] (points on the plane have normal . p = offset) and the counterpart of
    every body [m]: itself in the plane, -1 where there is none. Without symmetry the normal is None. Heads are the
    joints of the m bodies [m, 3] [m], along the armature's own axes, of which the normal is one, parents those of the
    bodies, -1 at roots [m], the size is the character's extent [m].
    """
    count = len(heads)
    none = None, 0.0, np.full(count, -1)
    if count < 3 or size <= 0.0:
        return none
    # A body's joint, and the mean joint of all that hangs on it [m, 2, 3]: twins at one place differ in the second.
    features = np.stack([heads, skeleton.subtree_means(heads, parents)], axis=1)
    best, most, rows = none, 0, np.arange(count)
    for normal in np.eye(3):
        along = heads @ normal
        # The plane goes through the joints of the trunk, or half-way between the outermost ones.
        middles = (float(np.median(along)), float(along.min() + along.max()) / 2.0, float(along[0]))
        for offset in dict.fromkeys(middles):
            distance = np.linalg.norm(features[:, None] - reflect(features, normal, offset)[None], axis=3)
            # What hangs on a joint may differ by a prop on one side; the joint itself may not.
            nearest = np.argmin(distance[..., 0] + 0.1 * distance[..., 1], axis=1)
            near = distance[rows, nearest, 0] <= TOLERANCE * size
            near &= distance[nearest, rows, 0] <= TOLERANCE * size
            twins = np.where((nearest[nearest] == rows) & near, nearest, -1)
            matched = np.flatnonzero(twins >= 0)
            pairs = np.count_nonzero(twins[matched] != matched)
            if len(matched) >= LEAST * count and pairs > most:
                own = matched[twins[matched] == matched]
                middle = (along[matched] + along[twins[matched]]) / 2.0
                exact = float(np.median(along[own])) if len(own) else float(middle.mean())
                best, most = (normal, exact, twins), pairs
    return best


def plane_of_limbs(tree) -> tuple[np.ndarray | None, float]:
    """Unit normal (level) and offset of the plane that mirrors the joints of an `anatomy.structure.Tree` best.

    (None, 0) without any pair. Candidates come from siblings with alike subtrees; each is judged by how far the
    mirrored joints are from joints.
    """
    means = _means(tree)
    found = []
    for a, b in _alike(tree):
        across = means[a] - means[b]
        across = across - (across @ tree.up) * tree.up
        width = np.linalg.norm(across)
        if width > 0.02 * tree.size:
            found.append((tree.reach[a] + tree.reach[b], across / width, 0.5 * (means[a] + means[b])))
    found.sort(key=lambda item: -item[0])
    rows = sorted(tree.rows, key=lambda row: -tree.reach[row])[:JOINTS]
    joints = tree.heads[rows]
    weights = tree.reach[rows] + 1e-6 * tree.size
    best, result = np.inf, (None, 0.0)
    for rank, (_reach, normal, middle) in enumerate(found[:TRIED_PLANES]):
        offset = float(middle @ normal)
        gaps = np.linalg.norm(reflect(joints, normal, offset)[:, None] - joints, axis=2).min(axis=1)
        # A rig in which everything is in one plane mirrors at any plane across it; longer limbs come first.
        error = float(weights @ gaps / weights.sum()) / tree.size + 0.002 * rank
        if error < best:
            best, result = error, (normal, offset)
    return result


def _means(tree) -> np.ndarray:
    """Mean of the joints of each subtree [n, 3]."""
    parents = np.full(len(tree.heads), -1)
    parents[tree.rows] = tree.parent[tree.rows]
    return skeleton.subtree_means(tree.heads, parents)


def _alike(tree):
    """Pairs of siblings of about the same reach and about as many bones."""
    for a, b in (pair for row in tree.rows for pair in combinations(tree.children[row], 2)):
        low, high = sorted((tree.reach[a], tree.reach[b]))
        few, many = sorted((tree.count[a], tree.count[b]))
        if high > 0.0 and high <= LIKE * low and many <= 1 + LIKE * few:
            yield a, b


def limb_pairs(tree, normal: np.ndarray, offset: float) -> list:
    """Mirrored limbs (row on the side of `normal`, row on the other) of a plane, longest first."""
    means, result = _means(tree), []
    lateral, mirrored = means @ normal - offset, reflect(means, normal, offset)
    for a, b in _alike(tree):
        apart = abs(lateral[a] - lateral[b])
        if lateral[a] * lateral[b] < 0.0 and abs(lateral[a] + lateral[b]) < 0.4 * apart + 0.05 * tree.size:
            result.append((a, b) if lateral[a] > 0.0 else (b, a))

    def order(pair: tuple) -> tuple:
        """Of legs that are as long as each other, those that mirror each other best come first."""
        reach = tree.reach[[*pair]].sum() / max(tree.size, 1e-30)
        return -round(float(reach), 4), float(np.linalg.norm(mirrored[pair[0]] - means[pair[1]]))

    return sorted(result, key=order)


_WORDS = {"left": "right", "right": "left", "l": "r", "r": "l"}
# A whole word, or a single letter set off by separators; "Left" may also stand against the next capital.
_SIDE = re.compile(r"(?<![A-Za-z])(left|right|Left|Right|LEFT|RIGHT)(?![a-z])|(?<![A-Za-z0-9])([lrLR])(?![A-Za-z0-9])")


def flipped_name(name: str) -> str:
    """The name of the bone on the other side; the same where the name tells no side."""
    found = list(_SIDE.finditer(name))
    if not found:
        return name
    last = found[-1]
    word = last.group()
    other = _WORDS[word.lower()]
    other = other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
    return name[: last.start()] + other + name[last.end() :]


def mirrored_rotation(rotation) -> list:
    """A quaternion (w, x, y, z) in a bone's frame as it is in the mirrored bone's."""
    w, x, y, z = rotation
    return [w, x, -y, -z]


def carried_over(bone, counterpart, normal) -> np.ndarray:
    """What takes components in a bone's frame to the mirrored ones in its counterpart's [3, 3], an improper rotation.

    Where the counterpart does not lie as the mirrored bone would (a bind pose that is not symmetric), the shortest
    turn between the two is added: limits and bodies count from the bone. Of the rotations of both in bind pose [3, 3],
    Y along the bone, and the mirror plane's normal [3], in the same space.
    """
    mirrored = reflection(normal) @ np.asarray(bone, dtype=float)
    turn = quaternion.to_matrix(quaternion.shortest_arc(mirrored[:, 1], np.asarray(counterpart, dtype=float)[:, 1]))
    return np.asarray(counterpart, dtype=float).T @ turn @ mirrored


def mirrored_settings(settings: dict, carry: np.ndarray | None) -> dict:
    """Settings of a bone, by their names, as the bone on the other side has them.

    `carry` is the reflection [3, 3] from the one bone's frame to the other's, see `carried_over`; None where they are
    mirror images. A body's own X is reversed, so that its frame stays a rotation: its corners follow.
    """
    result = dict(settings)
    if "limit_min" in result:
        low, high = result["limit_min"], result["limit_max"]
        result["limit_min"] = [low[0], 0.0 - high[1], 0.0 - high[2]]
        result["limit_max"] = [high[0], 0.0 - low[1], 0.0 - low[2]]
    for key in result.keys() & {"joint_rotation", "body_rotation"}:
        if carry is None:
            result[key] = mirrored_rotation(result[key])
            continue
        frame = quaternion.to_matrix(quaternion.normalize(np.asarray(result[key], dtype=float)))
        turned = quaternion.from_matrix(carry @ frame @ ACROSS)
        same = np.linalg.norm(quaternion.to_rotation_vector(turned)) < SAME
        result[key] = (quaternion.identity() if same else turned).tolist()
    if "body_location" in result:
        x, y, z = result["body_location"]
        result["body_location"] = [-x, y, z] if carry is None else (carry @ (x, y, z)).tolist()
    if "body_points" in result:  # in the body's own frame, which is mirrored as the bone's is
        result["body_points"] = [[-x, y, z] for x, y, z in result["body_points"]]
    return result
