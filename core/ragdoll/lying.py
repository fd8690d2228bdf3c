"""Where a character lies, seen from its bones, and the move that takes its animation there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import quaternion
from . import reroot
from .reroot import FACE_DOWN, FACE_UP, Reroot, Trunk

STEP = 0.1  # of the height: less is a pose lower or higher than the other one, not another floor


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Bones that tell how a character lies, as rows of its poses.

    Attributes:
        pelvis: its row.
        trunk: rows of the upper trunk, and of one bone on the left and one on the right; None where the anatomy is
            not known.
        lowest: rows of the bones of which the lowest one tells where the floor is.
        height: of the character [m].
    """

    pelvis: int
    trunk: tuple | None
    lowest: np.ndarray
    height: float

    def trunk_of(self, matrices: np.ndarray) -> Trunk | None:
        """The trunk in a pose [n, 4, 4], world; None where the anatomy is not known."""
        if self.trunk is None:
            return None
        points = matrices[[self.pelvis, *self.trunk], :3, 3]
        return reroot.trunk(*points)

    def face(self, matrices: np.ndarray) -> str:
        """FACE_UP or FACE_DOWN in a pose [n, 4, 4], world; FACE_UP where the anatomy is not known."""
        trunk = self.trunk_of(matrices)
        return FACE_UP if trunk is None else str(reroot.faces(trunk))

    def action(self, matrices: np.ndarray, face_up: str, face_down: str) -> str:
        """Of two get-up actions the one for how the character lies; where one is missing ("") the other."""
        chosen, other = (face_down, face_up) if self.face(matrices) == FACE_DOWN else (face_up, face_down)
        return chosen or other

    def move(self, rest: np.ndarray, animated: np.ndarray) -> Reroot:
        """The move that takes an animation to where a body lies.

        Args:
            rest: the pose as it lies [n, 4, 4], world. animated: of the animation at the frame it goes on from.
        """
        rise = float(rest[self.lowest, 2, 3].min() - animated[self.lowest, 2, 3].min())
        rise = rise if abs(rise) > STEP * self.height else 0.0
        trunks = self.trunk_of(rest), self.trunk_of(animated)
        if trunks[0] is not None:
            return reroot.rerooted(*trunks, rise)
        turn = quaternion.from_matrix(_axes(rest[self.pelvis]) @ _axes(animated[self.pelvis]).T)
        _swing, twist = quaternion.swing_twist(turn, reroot.UP)
        shift = rest[self.pelvis, :3, 3] - quaternion.rotate(twist, animated[self.pelvis, :3, 3])
        shift[2] = rise
        return Reroot(twist, shift)


def _axes(matrix: np.ndarray) -> np.ndarray:
    """The unit axes [3, 3] of a bone."""
    return matrix[:3, :3] / np.linalg.norm(matrix[:3, :3], axis=0)
