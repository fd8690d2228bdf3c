"""Two-bone IK: an end bone brought to a point by its parent and its parent's parent, in closed form.

What it does where the triangle has no answer follows Unreal's node of that name; `solve` lists the cases.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np

from ...errors import RagdollError
from .. import components as c
from ..model_view import ModelView, write_rotations
from ..rig import Inputs, LocalPose, Rig, points_to_model, vector_of, weight_of
from .limb import bend_direction, bind_bend, triangle

WORLD, OBJECT, BONE, BEND = "WORLD", "OBJECT", "BONE", "BEND"
SPACES = (WORLD, OBJECT, BONE)
_NEAR = 1e-9  # of both lengths together: an effector this near to the root has no direction
_AT_ROOT = (1.0, 0.0, 0.0)


def solve(root, joint, end, effector, pole, stretch: tuple | None = None) -> tuple:
    """Joint and end of a limb whose end goes to an effector,.

    With a = |joint - root|, b = |end - joint| and d the way from root to effector, the joint lies a cos x along d and
    a sin x beside it, cos x = (a^2 + d^2 - b^2) / (2 a d): behind the root where the cosine is negative.

    - Effector at the root: the direction is (1, 0, 0).
    - Pole on the line, or at the root: some perpendicular of the line, which depends on the line alone.
    - Beyond reach: both in line, at their own lengths. Nearer than |a - b|: in line, folded.
    - A limb of no length: joint and end stay at the root.

    Args:
        root, joint, end, effector, pole: points.
        stretch: (start ratio, largest scale), or None. From the start ratio of the reach on both lengths grow, up
            to the largest scale, which is reached where the effector is that many times the reach away.

    Returns:
        (joint, end): points.
    """
    upper, lower = c.length(c.sub(joint, root)), c.length(c.sub(end, joint))
    span = c.sub(effector, root)
    distance = c.length(span)
    total = upper + lower
    forward = c.unit(span, _AT_ROOT) if distance > _NEAR * total else _AT_ROOT
    side = c.perpendicular(forward, c.sub(pole, root))
    if stretch is not None:
        start, largest = stretch
        ratio = distance / (total if total > 0.0 else 1.0)
        # A range of no width is a step: nothing before it, all behind it.
        width = largest - start
        share = c.clamped((ratio - start) / width, 0.0, 1.0) if width > 0.0 else 0.0
        factor = 1.0 + (largest - 1.0) * share
        upper, lower = factor * upper, factor * lower
    knee, foot = triangle(upper, lower, distance, forward, side)
    return c.add(root, knee), c.add(root, foot)


@dataclass
class TwoBoneIK:
    """An entry of the motion stack; the end bone keeps its rotation in model space unless told otherwise.

    Attributes:
        rig: the character, to check the bones against.
        end_bone: level index; its parent is the lower limb, its grandparent the upper.
        name: for messages.
        allow_stretching, start_stretch_ratio, max_stretch_scale: see `solve`.
        effector_space, pole_space: WORLD, OBJECT (the armature's) or BONE. The pole's may be BEND: the limb keeps the
            plane that it bends in, which goes with the line from root to effector.
        effector_bone, pole_bone: level indices, for BONE; positions in their own frame.
        keep_end_rotation: hold the end bone's rotation in model space; else it follows the lower limb.

    Raises:
        RagdollError: a bone that is not there or has no grandparent, a space without its bone, a bone below the
            upper limb as a frame, a ratio or scale that is not positive. Names entry and bones.
    """

    rig: InitVar[Rig]
    end_bone: int
    name: str = "Two-bone IK"
    allow_stretching: bool = False
    start_stretch_ratio: float = 1.0
    max_stretch_scale: float = 1.2
    effector_space: str = WORLD
    effector_bone: int = -1
    pole_space: str = WORLD
    pole_bone: int = -1
    keep_end_rotation: bool = True
    lower_bone: int = field(init=False)
    upper_bone: int = field(init=False)

    def __post_init__(self, rig: Rig) -> None:
        self.end_bone = rig.check(self.name, self.end_bone)
        title = f'{self.name}, "{rig.name(self.end_bone)}"'
        self.lower_bone = rig.parents[self.end_bone]
        if self.lower_bone < 0:
            raise RagdollError(f"{title}: it has no parent to be the lower limb")
        self.upper_bone = rig.parents[self.lower_bone]
        if self.upper_bone < 0:
            raise RagdollError(f'{title}: its parent "{rig.name(self.lower_bone)}" has no parent to be the upper limb')
        frames = []
        for what, space, bone in (
            ("effector", self.effector_space, self.effector_bone),
            ("pole", self.pole_space, self.pole_bone),
        ):
            known = SPACES if what == "effector" else (*SPACES, BEND)
            if space not in known:
                raise RagdollError(f"{title}: the {what}'s space must be one of {', '.join(known)}, got {space!r}")
            if space == BONE:
                bone = rig.check(f"{title}, {what}", bone)
                if bone == self.upper_bone or rig.is_ancestor(self.upper_bone, bone):
                    raise RagdollError(f'{title}: the {what}\'s bone "{rig.name(bone)}" hangs on the limb itself')
                frames.append(bone)
        if not self.start_stretch_ratio > 0.0 or not self.max_stretch_scale >= 1.0:
            values = f"{self.start_stretch_ratio:g} and {self.max_stretch_scale:g}"
            raise RagdollError(f"{title}: the stretch must start above 0 and go to at least 1, got {values}")
        self._closure = rig.with_ancestors([self.end_bone, *frames])
        bones = (self.upper_bone, self.lower_bone, self.end_bone)
        self._bend = bind_bend(rig, bones) if self.pole_space == BEND else None

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state=None, seconds: float = 0.0) -> tuple:
        """(pose, None): the pose with the limb brought to `inputs.target`, bending to `inputs.pole`.

        Raises:
            RagdollError: effector, pole or weight that are missing or not numbers; names the entry.
        """
        weight = weight_of(inputs.weight, self.name)
        if weight == 0.0:
            return pose, None
        view = ModelView(rig, pose, self._closure)
        effector = self._point(view, inputs.target, inputs.world, "effector")
        if self.pole_space != BEND:
            pole = self._point(view, inputs.pole, inputs.world, "pole")
        else:
            pole = self._bend_point(view, effector)
        return self._solved(view, pose, effector, pole, weight), None

    def _point(self, view: ModelView, values, world, what: str) -> tuple:
        """Effector or pole in model space."""
        space, bone = getattr(self, f"{what}_space"), getattr(self, f"{what}_bone")
        point = vector_of(values, 3, self.name, what)
        if space == BONE:
            return c.add(view.positions[bone], view.axis(bone, point))
        return tuple(points_to_model(point, world).tolist()) if space == WORLD else point

    def _bend_point(self, view: ModelView, effector) -> tuple:
        """A point beside the line from root to effector, to where the limb bends."""
        bones = (self.upper_bone, self.lower_bone, self.end_bone)
        joints = [view.positions[bone] for bone in bones]
        size = c.length(c.sub(joints[1], joints[0])) + c.length(c.sub(joints[2], joints[1]))
        line = c.unit(c.sub(joints[2], joints[0]), (0.0, 0.0, -1.0))
        bend = bend_direction(joints, line, size, c.rotate(view.rotations[self.upper_bone], self._bend))
        goal = c.unit(c.sub(effector, joints[0]), line)
        return c.along(joints[0], size, c.rotate(c.arc(line, goal, bend), bend))

    def _solved(self, view: ModelView, pose: LocalPose, effector, pole, weight: float) -> LocalPose:
        """The pose with the limb brought to the effector."""
        bones = (self.upper_bone, self.lower_bone, self.end_bone)
        root, joint, end = (view.positions[bone] for bone in bones)
        upper, lower, last = (view.rotations[bone] for bone in bones)
        stretch = (self.start_stretch_ratio, self.max_stretch_scale) if self.allow_stretching else None
        new_joint, new_end = solve(root, joint, end, effector, pole, stretch)
        # Each bone turns by the smallest angle that its segment needs, which keeps its twist.
        turns = []
        for a, b, new_a, new_b in ((root, joint, root, new_joint), (joint, end, new_joint, new_end)):
            before = c.unit(c.sub(b, a), (0.0, 0.0, 1.0))
            after = c.unit(c.sub(new_b, new_a), before)
            turns.append(c.arc(before, after, c.sub(pole, root)))
        new_upper, new_lower = c.multiply(turns[0], upper), c.multiply(turns[1], lower)
        above = view.parent_rotation(self.upper_bone)
        solved = {
            self.upper_bone: c.multiply(c.conjugate(above), new_upper),
            self.lower_bone: c.multiply(c.conjugate(new_upper), new_lower),
        }
        if self.keep_end_rotation:
            solved[self.end_bone] = c.multiply(c.conjugate(new_lower), last)
        before = view.local_rotations
        result = write_rotations(pose, {b: c.between(before[b], q, weight) for b, q in solved.items()})
        if self.allow_stretching:
            result.positions = np.array(pose.positions, order="C")
            grown = c.length(c.sub(new_joint, root)), c.length(c.sub(new_end, new_joint))
            plain = c.length(c.sub(joint, root)), c.length(c.sub(end, joint))
            for bone, new, old in zip((self.lower_bone, self.end_bone), grown, plain, strict=True):
                ratio = new / (old if old > 0.0 else 1.0)
                result.positions[bone] = c.mul(1.0 + weight * (ratio - 1.0), view.local_positions[bone])
        return result
