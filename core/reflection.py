"""Mirror images across a plane: points and directions."""

import numpy as np


def reflection(normal) -> np.ndarray:
    """The reflection [3, 3] of directions across a plane with this normal [3], of any length."""
    normal = np.asarray(normal, dtype=float)
    normal = normal / np.linalg.norm(normal)
    return np.eye(3) - 2.0 * np.outer(normal, normal)


def reflect(points: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """Points [.., 3] mirrored across the plane normal . p = offset with a unit normal [3]."""
    return points - 2.0 * ((points @ normal) - offset)[..., None] * normal
