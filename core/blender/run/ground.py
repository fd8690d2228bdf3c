"""How far it is from bodies to what is below them in the rigid body world, at the frame that is shown."""

import numpy as np

from ..physics import built
from ..rig.armature import array_of

FAR = 5.0  # heights of a character: what is further below does not count


def clearances(run, scene, character, rows: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Ways [k] [m] that bodies of a character, by their rows, have to what is below; inf where nothing is.

    Below is along a unit vector [3]. Bodies of characters do not count; those of props do.
    """
    result = np.full(len(rows), np.inf)
    begin, far = character.rows.start, FAR * character.height
    others = [o for o in scene.rigidbody_world.collection.objects if o.type == "MESH" and not built.is_ours(o)]
    places = [run.body[row] for row in rows]
    lowest = []
    for row, place in zip(rows, places, strict=True):
        box = np.array(character.bodies.objects[row - begin].bound_box)
        lowest.append(float(((box @ place[:3, :3].T) @ down).max()))
    for other in others:
        own = other.evaluated_get(run.graph)
        matrix = array_of(own.matrix_world)
        box = np.array(own.bound_box) @ matrix[:3, :3].T + matrix[:3, 3]
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:  # scaled to nothing
            continue
        for i, place in enumerate(places):
            ends = np.stack([place[:3, 3], place[:3, 3] + far * down])
            if (ends.min(axis=0) > box.max(axis=0)).any() or (ends.max(axis=0) < box.min(axis=0)).any():
                continue
            start, end = ends @ inverse[:3, :3].T + inverse[:3, 3]
            found, point, _normal, _face = own.ray_cast(start.tolist(), (end - start).tolist())
            if found:
                way = matrix[:3, :3] @ np.array(point) + matrix[:3, 3] - place[:3, 3]
                result[i] = min(result[i], float(way @ down) - lowest[i])
    return result
