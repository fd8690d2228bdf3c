"""What a law of drives states and computes: how a body is moved towards its target, in the world or at its joint."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...errors import RagdollError


@dataclass(frozen=True)
class Factor:
    """A setting of each bone that multiplies the character's parameter."""

    setting: str
    title: str
    description: str
    lowest: float = 0.0
    highest: float = 100.0


@dataclass(frozen=True)
class Parameter:
    """A number that a law has: a setting of the character and a factor for each bone, both may be keyed."""

    name: str  # what the law calls it, one word of any other's
    setting: str  # of the character, with what the sidebar shows of it: title, description, default, lowest, highest
    title: str
    description: str
    default: float
    lowest: float
    highest: float
    factor: Factor  # of each bone
    called: str  # in messages
    option: tuple  # name, placeholder and help of the command line's option
    unit: str = ""
    within: tuple | None = None  # where the product of both is kept, if anywhere

    def values(self, character, bones) -> np.ndarray:
        """The value of each body [m], of a character's settings and those of its bodies' bones."""
        values = np.array([getattr(bone, self.factor.setting) for bone in bones], dtype=float)
        values *= getattr(character, self.setting)
        return values if self.within is None else np.clip(values, *self.within)

    def check(self, owner: str, value: float) -> None:
        """Raises RagdollError, naming the owner and the value, where a value is out of range or not a number."""
        if not self.lowest <= value <= self.highest:  # NaN too
            low, high, unit = self.lowest, self.highest, f" {self.unit}" if self.unit else ""
            raise RagdollError(f"{owner}: the {self.called} must be {low:g} to {high:g}{unit}, got {value:g}")


@dataclass(frozen=True)
class Frame:
    """The frame to come."""

    seconds: float  # duration [s]
    substeps: int  # of the rigid body world
    iterations: int = 0  # of its solver
    is_first: bool = False  # bodies are released in it


@dataclass(frozen=True)
class Side:
    """Positions or rotations of all bodies of a run, driven in the world."""

    weight: np.ndarray  # in [0, 1] [m]
    inertia: np.ndarray  # mass [kg] or mean moment of inertia [kg m^2] [m]
    inertias: np.ndarray  # the same about each of the body's axes [m, k]; k is 1 for masses
    cap: tuple | None  # what `servo.capped` takes; None where no force or torque has a limit
    parameters: dict  # values of each body [m], by the names of the laws' parameters


@dataclass(frozen=True)
class Joints:
    """Joints with motors, at the beginning of a frame."""

    relative: np.ndarray  # rotations of the joints now [k, 4]
    start: np.ndarray  # those of their targets now [k, 4]
    end: np.ndarray  # and at the frame's end [k, 4]
    weight: np.ndarray  # in [0, 1] [k]
    inertia: np.ndarray  # mean moment of all that the joint carries [kg m^2] [k]
    tensors: Callable[[], np.ndarray]  # call it for the same as tensors in the parent's joint frame [k, 3, 3]
    fall: np.ndarray  # how far the carried turns under gravity in the frame, on average [rad] [k]
    parameters: dict  # as of `Side` [k]
    frame: Frame  # the frame to come
    memory: dict = field(default_factory=dict)  # what the law keeps from frame to frame


class Law:
    """A kind of drive."""

    identifier = label = description = ""  # of the choice
    constraint = "SPRING2"  # SPRING1 or SPRING2, the kind of Blender's spring between a body and its target
    parameters: tuple[Parameter, ...] = ()
    first_frame_differs = False  # the gains of the first frame are not those of the next

    def reach(self, weight, seconds: float):
        """How far a target may be turned ahead of its body [rad] [m], for rotation weights [m]."""
        raise NotImplementedError

    def gains(self, side: Side, frame: Frame) -> tuple:
        """Stiffness and Blender's damping value of the constraint in world space, [m, 1] or [m, k] each."""
        raise NotImplementedError

    def drag(self, weight):
        """Damping of a body's motion that comes with a weight [1/s] [m]."""
        return np.zeros_like(weight)

    def joint_command(self, joints: Joints) -> tuple:
        """Angular velocity [k, 3] [rad/s] that the motors lead to, in the parent's joint frame, and their torques.

        The torques are the largest one of each motor [k, 1], or a vector that the motors share [k, 3] [N m]."""
        raise NotImplementedError


def merged(parts) -> np.ndarray:
    """One array of pairs: a mask of bodies [m] and what their law gives [m, ..]. The first gives what no other does."""
    (_mask, result), *others = parts
    for mask, values in others:
        result = np.where(mask.reshape(-1, *[1] * (values.ndim - 1)), values, result)
    return result
