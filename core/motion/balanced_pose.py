"""The pose of a character that keeps its balance: hip and feet moved, legs by inverse kinematics, trunk and arms."""

import itertools
from copy import copy
from dataclasses import dataclass
from math import atan2, cos, radians, sin

import numpy as np

from .. import pose as pose_space
from .. import quaternion as q
from . import components as c
from . import gait, getting_up, limbs
from .balance import STRETCHED, Body, State
from .components import ModelView, write_rotations
from .stack import Inputs, LocalPose, Rig

TOES = 0.089  # of the height, from ankle to the ball of a foot without toes, about which a heel comes up
STEEPEST, MOST_LEAN = radians(95.0), 0.6  # of the line from the ball to the heel, over the ground; of the trunk
SPREAD, FORWARD = radians(38.0), radians(22.0)  # of the arms
_UP = (0.0, 0.0, 1.0)


@dataclass(eq=False)
class Figure:
    """The bones of a biped that balance moves; level indices."""

    rig: Rig
    legs: tuple  # two `LegStabilizer`, left first
    trunk: tuple  # (bone, share of the trunk's lean) from the pelvis to the head; shares add up
    arms: tuple  # (upper arm, a bone at its end, 1 left or -1 right)
    toes: tuple = (None, None)  # the legs', or None

    def __post_init__(self) -> None:
        self._feet = [leg.bones[-1] for leg in self.legs]
        self._tops = [leg.bones[0] for leg in self.legs]
        self.joints = [*self._tops, *self._feet, *(self.toes if None not in self.toes else ())]
        self._legs = self.rig.with_ancestors(self._feet)
        moved = [bone for bone, *_more in (*self.trunk, *self.arms)]
        self._all = self.rig.with_ancestors([*self._feet, *moved, *(toe for toe in self.toes if toe is not None)])
        self._seen = self._sampled = None, None, None  # a pose and its view; with a world its sample

    def body(self, scale: float, height: float, gravity: float) -> Body:
        """Its measures, in a world in which the armature has a scale."""
        view = ModelView(self.rig, self.rig.bind, self._legs)
        joints = [[view.positions[bone] for bone in leg.bones] for leg in self.legs]
        lengths = [sum(c.length(c.sub(b, a)) for a, b in itertools.pairwise(leg)) for leg in joints]
        hips = 0.5 * c.length(c.sub(joints[0][0], joints[1][0]))
        return Body(height, scale * sum(lengths) / 2.0, scale * hips, gravity)

    def sample(self, places: np.ndarray) -> gait.Sample:
        """Hip and feet from world positions of its joints: hips, ankles and, of feet with toes, balls [4 or 6, 3]."""
        flat = [complex(x, y) for x, y, _z in places.tolist()]
        across = flat[0] - flat[1]
        heading = -1j * across / abs(across) if abs(across) > 0.0 else 1 + 0j
        high = tuple(places[:, 2].tolist())
        tall = 0.5 * (high[0] + high[1]) - min(high[2:4])
        return gait.Sample(0.5 * (flat[0] + flat[1]), heading, tuple(flat[2:4]), high[2:4], tall, high[4:])

    def sampled(self, pose: LocalPose, world: np.ndarray) -> gait.Sample:
        """Hip and feet of a pose."""
        if self._sampled[0] is not pose or self._sampled[1] is not world:
            places = self.view(pose).positions
            joints = np.array([places[bone] for bone in self.joints])
            self._sampled = pose, world, self.sample(pose_space.moved(joints, world))
        return self._sampled[2]

    def view(self, pose: LocalPose) -> ModelView:
        """Its bones in a pose; asked again of the same one, they are known."""
        if self._seen[0] is not pose:
            self._seen = pose, ModelView(self.rig, pose, self._all)
        return self._seen[1]

    def turned(self, pose: LocalPose, world: np.ndarray, state: State, since: float = 0.0) -> LocalPose:
        """The pose turned as the state has it, less what it was turned by before [rad]."""
        angle = state.turn[0] - since
        if angle == 0.0:
            return pose
        turn = q.to_matrix(q.from_axis_angle(_UP, angle))
        pivot = np.array((state.pivot.real, state.pivot.imag, 0.0))
        return getting_up.moved_pose(self.rig, pose, pose_space.affine(turn, pivot - turn @ pivot) @ world, world)

    def posed(self, body: Body, pose: LocalPose, world: np.ndarray, state: State) -> LocalPose:
        """The pose as the state has it; world: of the armature, without shear."""
        now = _Posing(self, body, pose, world, state)
        positions, hip = np.array(pose.positions, order="C"), state.shown_hip(body)
        way = c.add((hip.real, hip.imag, state.rise[0] - state.drop[0]), state.carried)
        positions[: self.rig.skeleton.root_count] += c.transformed(now.inverse, way)
        result = write_rotations(LocalPose(positions, pose.rotations, pose.scales), now.turns())
        after = ModelView(self.rig, result, self._legs)
        return limbs.stabilize(list(self.legs), self.rig, result, Inputs(), after, now.planted(after))


class _Posing:
    """One pose under way."""

    def __init__(self, figure: Figure, body: Body, pose: LocalPose, world: np.ndarray, state: State) -> None:
        self.figure, self.body, self.pose, self.state = figure, body, pose, state
        *axes, origin = world[:3].T.tolist()
        self.world = c.Affine(origin, axes)
        volume = c.dot(axes[0], c.cross(*axes[1:]))  # one without any is refused by name after the stack
        self.inverse, self.sense = self.world.inverse() if volume else None, 1.0 if volume > 0.0 else -1.0
        self.view, self.heading = figure.view(pose), figure.sampled(pose, world).heading
        self.ahead, self.left = self._axis(self.heading), self._axis(1j * self.heading)

    def _axis(self, way: complex, up: float = 0.0) -> tuple:
        """A direction of the world in armature space, to turn about: the other way where that is mirrored."""
        return c.mul(self.sense, c.unit(c.transformed(self.inverse, (way.real, way.imag, up)), _UP))

    def turns(self) -> dict:
        """Local rotations of trunk and arms."""
        lean, arms, found = self.state.lean[0], self.state.arms[0], {}
        angle = min(abs(lean), MOST_LEAN)
        if angle > 1e-6:
            axis = self._axis(1j * lean)
            for bone, share in self.figure.trunk:
                found[bone] = self.view.turned(bone, c.axis_angle(axis, share * angle))
        if abs(arms) > 1e-6:
            for bone, elbow, side in self.figure.arms:
                # The less, the less it hangs.
                along = c.unit(self.world.vector(self.view.axis(bone, self.pose.positions[elbow].tolist())), _UP)
                share = arms * max(-along[2], 0.0)
                out, ahead = c.axis_angle(self.ahead, side * SPREAD * share), c.axis_angle(self.left, -FORWARD * share)
                found[bone] = self.view.turned(bone, c.multiply(out, ahead))
        return found

    def planted(self, after: ModelView) -> ModelView:
        """Its view with the feet where the state has them, heels up where legs are too short after the rest moved."""
        figure, view, places, turned = self.figure, self.view, {}, {}
        for top, foot, toe, moved in zip(figure._tops, figure._feet, figure.toes, self.state.feet, strict=True):
            ankle, hip = self.world.point(view.positions[foot]), self.world.point(after.positions[top])
            way = moved.offset.real, moved.offset.imag, moved.height + moved.lift
            vector = c.add(way, self.state.carried)
            limit = max(STRETCHED * self.body.leg, c.length(c.sub(ankle, self.world.point(view.positions[top]))))
            angle, raised = self._heel(c.add(ankle, vector), hip, limit, self._ball(ankle, toe))
            if angle > 0.0 or moved.turn:
                turn = c.multiply(c.axis_angle(self._axis(0j, 1.0), moved.turn), c.axis_angle(self.left, angle))
                turned[foot] = c.multiply(turn, view.rotations[foot])
            places[foot] = c.add(view.frame(foot).origin, c.transformed(self.inverse, c.sub(raised, ankle)))
        then = copy(view)  # of which only the feet count; their places are those that are shown
        then.positions, then.rotations, then.shearing = view.positions | places, view.rotations | turned, set()
        return then

    def _ball(self, ankle: tuple, toe: int | None) -> complex:
        """The ball of a foot from its ankle in the pose: ahead, and up as its imaginary part."""
        if toe is None:
            return complex(TOES * self.body.height, -self.body.ankle)
        x, y, z = c.sub(self.world.point(self.view.positions[toe]), ankle)
        return complex(x * self.heading.real + y * self.heading.imag, z)

    def _heel(self, ankle: tuple, hip: tuple, limit: float, ball: complex) -> tuple:
        """(angle, place of the ankle) of a foot whose heel is up as far as the leg is too short, less if ahead."""
        ahead = self.heading

        def raised(angle: float) -> tuple:
            # Turned about the ball of the foot.
            turned = ball - ball * complex(cos(angle), -sin(angle))
            way = turned.real * ahead
            return c.add(ankle, (way.real, way.imag, turned.imag))

        behind = (hip[0] - ankle[0]) * ahead.real + (hip[1] - ankle[1]) * ahead.imag
        if c.length(c.sub(hip, ankle)) <= limit:
            return 0.0, ankle
        most = c.clamped(1.0 + behind / max(abs(ball), 1e-12), 0.0, 1.0)
        low, high = 0.0, most * max(STEEPEST - atan2(-ball.imag, ball.real), 0.0)
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if c.length(c.sub(hip, raised(middle))) > limit else (low, middle)
        return high, raised(high)
