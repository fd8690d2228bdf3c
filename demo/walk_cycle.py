"""A walk generated in code for the Rigify human metarig.

The feet are given: each follows the floor while it stands (rolling over heel and ball) and a smooth arc while
it swings. The hips glide above them, the legs follow by analytic two-bone IK, the trunk and the arms swing
against the legs. Everything is keyed as plain FK rotations, one key a frame.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from . import DemoError

STANCE_SHARE = 0.62  # of a cycle in which a foot stands; humans: 0.60-0.62 at this speed
_SIGN = {"L": 1.0, "R": -1.0}
_LEG_OFFSET = {"L": 0.0, "R": 0.5}  # phase of the heel strikes in the cycle

# Foot pitch [deg, toes up] over the foot's own cycle: heel strike, flat, heel off, toe off, swing.
_PITCH_KEYS = (
    (0.0, 20.0),
    (0.09, 0.0),
    (0.36, 0.0),
    (0.50, -16.0),
    (0.62, -48.0),
    (0.70, -50.0),
    (0.86, 4.0),
)
_PAIRED_BONES = ("thigh", "shin", "foot", "toe", "shoulder", "upper_arm", "forearm", "hand")
_FINGERS = ("f_index", "f_middle", "f_ring", "f_pinky")


@dataclass(frozen=True)
class _Gait:
    """Timing and size of a walk in SI units."""

    speed: float
    period: float
    ankle_x: float
    heel: Vector
    ball: Vector
    toe_tip: Vector
    ankle: Vector

    @property
    def stride(self) -> float:
        return self.speed * self.period


def make_walk_cycle(
    armature: bpy.types.Object,
    scene: bpy.types.Scene,
    *,
    frames_per_cycle: int = 24,
    cycles: int = 5,
    speed: float = 1.2,
    fps: int = 24,
    frame_start: int = 1,
    lead_in: int = 2,
) -> bpy.types.Action:
    """Keys a walk towards the metarig's front (-Y) and sets the scene's frame range and rate.

    Half of the way lies behind the armature's origin and half before it. The motion is keyed from `lead_in`
    frames before `frame_start`, so that a simulation which starts there finds the character already moving.

    Args:
        armature: a human metarig as `demo.character.make_rigify_human` makes it.
        scene: gets frame_start, frame_end (frames_per_cycle * cycles frames) and fps.
        frames_per_cycle: frames of a cycle (two steps).
        speed: mean forward speed [m/s].

    Returns:
        The action, assigned to the armature.

    Raises:
        DemoError: a bone of the human metarig is missing, or a number is not positive.
    """
    for name, value in (
        ("frames_per_cycle", frames_per_cycle),
        ("cycles", cycles),
        ("speed", speed),
        ("fps", fps),
    ):
        if value <= 0:
            raise DemoError(f"{name} must be positive, got {value}")
    needed = ["spine", "spine.001", "spine.002", "spine.003", "spine.004", "spine.006"]
    for side in _SIGN:
        needed += [f"{name}.{side}" for name in _PAIRED_BONES]
    missing = [name for name in needed if name not in armature.data.bones]
    if missing:
        raise DemoError(f"{armature.name!r} is not a Rigify human metarig: no bone {missing[0]!r}")
    bones = armature.data.bones
    gait = _Gait(
        speed=speed,
        period=frames_per_cycle / fps,
        ankle_x=0.84 * bones["foot.L"].head_local.x,
        heel=Vector((0.0, 0.076, 0.0)),
        ball=Vector((0.0, *bones["toe.L"].head_local[1:])),
        toe_tip=Vector((0.0, -0.186, 0.0)),
        ankle=Vector((0.0, *bones["foot.L"].head_local[1:])),
    )
    frame_count = frames_per_cycle * cycles
    frames = np.arange(frame_start - lead_in, frame_start + frame_count)
    half_way = 0.5 * speed * frame_count / fps
    foot_paths = {side: _foot_path(gait, side) for side in _SIGN}
    hip_height = _hip_height(bones, gait, foot_paths)
    rotations: dict[str, list[Quaternion]] = {}
    locations = []
    for frame in frames:
        seconds = (int(frame) - frame_start) / fps
        turns, hips = _pose(bones, gait, foot_paths, seconds, hip_height)
        hips.y += half_way
        rest = bones["spine"].matrix_local.to_3x3()
        locations.append(rest.transposed() @ (hips - bones["spine"].head_local))
        for name, quaternion in _basis_rotations(bones, turns).items():
            rotations.setdefault(name, []).append(quaternion)
    action = bpy.data.actions.new(f"{armature.name} walk")
    _key_action(armature, action, frames, rotations, {"spine": locations})
    scene.render.fps, scene.render.fps_base = fps, 1.0
    scene.frame_start, scene.frame_end = frame_start, frame_start + frame_count - 1
    return action


def _pose(
    bones: bpy.types.ArmatureBones,
    gait: _Gait,
    foot_paths: dict[str, Callable],
    seconds: float,
    hip_height: float,
) -> tuple[dict[str, Quaternion], Vector]:
    """The walk at a moment: rotations from bind pose in armature space, by bone, and the spine's head [m]."""
    cycle = seconds / gait.period
    turns, hips = _pelvis(bones, gait, cycle, hip_height)
    swing = math.cos(2.0 * math.pi * (cycle - 0.03))  # 1: left leg and right arm are in front
    yaw = math.radians(6.0) * swing
    lean = math.radians(3.0)
    turns["spine.001"] = _rotation("Z", 0.15 * yaw) @ _rotation("X", 0.7 * lean)
    turns["spine.002"] = _rotation("Z", 0.6 * yaw) @ _rotation("X", lean)
    turns["spine.003"] = _rotation("Z", yaw) @ _rotation("X", lean)
    turns["spine.004"] = _rotation("Z", 0.5 * yaw) @ _rotation("X", 0.5 * lean)
    turns["spine.006"] = _rotation("X", -0.2 * lean + math.radians(1.0) * math.cos(4.0 * math.pi * cycle))
    for side in _SIGN:
        _add_leg(turns, bones, side, hips, foot_paths[side], cycle)
        _add_arm(turns, bones, side, -_SIGN[side] * swing)
    return turns, hips


def _pelvis(
    bones: bpy.types.ArmatureBones, gait: _Gait, cycle: float, hip_height: float
) -> tuple[dict[str, Quaternion], Vector]:
    turn = 2.0 * math.pi
    stance_left = math.cos(turn * (cycle - 0.5 * STANCE_SHARE))  # 1: the left leg bears the weight
    yaw = -math.radians(5.0) * math.cos(turn * cycle)
    roll = -math.radians(3.0) * stance_left
    rest = bones["spine"].head_local
    hips = Vector(
        (
            0.020 * stance_left,
            rest.y - gait.speed * gait.period * cycle,
            hip_height - 0.018 * math.cos(2.0 * turn * (cycle - 0.06)),
        )
    )
    return {"spine": _rotation("Z", yaw) @ _rotation("Y", roll) @ _rotation("X", math.radians(1.5))}, hips


def _hip_height(bones: bpy.types.ArmatureBones, gait: _Gait, foot_paths: dict[str, Callable]) -> float:
    """The highest mean height of the spine's head [m] at which no leg is longer than 99.3 % of its bones."""
    lowest = math.inf
    for cycle in np.linspace(0.0, 1.0, 49):
        turns, hips = _pelvis(bones, gait, float(cycle), 0.0)
        for side in _SIGN:
            ankle = foot_paths[side](float(cycle))[0]
            hip = _hip_joint(bones, turns["spine"], hips, side)
            reach = 0.993 * (bones[f"thigh.{side}"].length + bones[f"shin.{side}"].length)
            level = math.hypot(ankle.x - hip.x, ankle.y - hip.y)
            lowest = min(lowest, ankle.z + math.sqrt(reach**2 - level**2) - hip.z)
    return lowest


def _hip_joint(bones: bpy.types.ArmatureBones, pelvis: Quaternion, hips: Vector, side: str) -> Vector:
    return hips + pelvis @ (bones[f"thigh.{side}"].head_local - bones["spine"].head_local)


def _foot_path(gait: _Gait, side: str) -> Callable[[float], tuple[Vector, float, float]]:
    """The foot as a function of the walk's cycle: ankle [m], foot pitch and toe pitch [rad, toes up].

    A standing foot turns about its heel or its ball, which stay where they are, so it does not slide.
    """
    pitch_of = _periodic_curve(_PITCH_KEYS)
    ahead = 0.5 * STANCE_SHARE * gait.stride - 0.045  # of the hips at heel strike; the roll over the ball adds to it

    def standing(phase: float, plant_y: float) -> Vector:
        pitch = pitch_of(phase)
        pivot = gait.heel if pitch > 0.0 else gait.ball
        place = pivot + _rotation("X", -pitch) @ (gait.ankle - pivot)
        return Vector((0.0, plant_y - gait.ankle.y + place.y, place.z))

    step = 1e-4
    velocity_off = (standing(STANCE_SHARE, 0.0) - standing(STANCE_SHARE - step, 0.0)) / step
    velocity_on = (standing(step, 0.0) - standing(0.0, 0.0)) / step
    take_off, landing = standing(STANCE_SHARE, 0.0), standing(0.0, -gait.stride)
    swing_share = 1.0 - STANCE_SHARE

    def swinging(phase: float, lift: float) -> Vector:
        t = (phase - STANCE_SHARE) / swing_share
        place = _hermite(take_off, velocity_off * swing_share, landing, velocity_on * swing_share, t)
        place.z += lift * math.sin(math.pi * t) ** 2
        return place

    def lowest(phase: float, lift: float) -> float:
        """Height of the lowest point of the swinging sole [m]."""
        ankle, turn = swinging(phase, lift), _rotation("X", -pitch_of(phase))
        sole = Vector((0.0, gait.ball.y, 0.0))
        ball, heel, under_ball = (ankle + turn @ (point - gait.ankle) for point in (gait.ball, gait.heel, sole))
        toe_turn = _rotation("X", -_toe_pitch(gait, ball.z, pitch_of(phase)))
        return min(heel.z, under_ball.z, (ball + toe_turn @ (gait.toe_tip - gait.ball)).z)

    lift = 0.0
    while min(lowest(phase, lift) for phase in np.linspace(0.78, 0.90, 13)) < 0.015:
        lift += 0.002

    def path(cycle: float) -> tuple[Vector, float, float]:
        own = cycle - _LEG_OFFSET[side]
        stride_index = math.floor(own + 1e-9)
        phase = max(own - stride_index, 0.0)
        plant_y = gait.ankle.y - ahead - gait.stride * (stride_index + _LEG_OFFSET[side])
        if phase <= STANCE_SHARE:
            ankle = standing(phase, plant_y)
        else:
            ankle = swinging(phase, lift)
            ankle.y += plant_y
        ankle.x = _SIGN[side] * gait.ankle_x
        pitch = pitch_of(phase)
        ball_height = (ankle + _rotation("X", -pitch) @ (gait.ball - gait.ankle)).z
        return ankle, pitch, _toe_pitch(gait, ball_height, pitch)

    return path


def _toe_pitch(gait: _Gait, ball_height: float, foot_pitch: float) -> float:
    """In line with the foot, unless the floor bends the toe up [rad]."""
    toe = gait.toe_tip - gait.ball
    rest_angle = math.asin(-toe.z / toe.length)
    return max(foot_pitch, rest_angle - math.asin(min(max((ball_height - 0.001) / toe.length, 0.0), 1.0)))


def _add_leg(
    turns: dict[str, Quaternion],
    bones: bpy.types.ArmatureBones,
    side: str,
    hips: Vector,
    foot_path: Callable,
    cycle: float,
) -> None:
    """Two-bone IK by the law of cosines; the knee bends towards the front."""
    thigh, shin = bones[f"thigh.{side}"], bones[f"shin.{side}"]
    ankle, foot_pitch, toe_pitch = foot_path(cycle)
    hip = _hip_joint(bones, turns["spine"], hips, side)
    upper, lower = thigh.length, shin.length
    to_ankle = ankle - hip
    distance = min(to_ankle.length, 0.9995 * (upper + lower))
    axis = to_ankle.normalized()
    front = turns["spine"] @ Vector((_SIGN[side] * 0.08, -1.0, 0.0))  # knees point slightly outwards
    bend = (front - axis * front.dot(axis)).normalized()
    cos_hip = (upper**2 + distance**2 - lower**2) / (2.0 * upper * distance)
    along = upper * cos_hip
    knee = hip + axis * along + bend * math.sqrt(max(upper**2 - along**2, 0.0))
    rest_bend = Vector((0.0, -1.0, 0.0))
    turns[thigh.name] = _frame_turn(thigh.tail_local - thigh.head_local, rest_bend, knee - hip, bend)
    turns[shin.name] = _frame_turn(shin.tail_local - shin.head_local, rest_bend, ankle - knee, bend)
    turns[f"foot.{side}"] = _rotation("X", -foot_pitch)
    turns[f"toe.{side}"] = _rotation("X", -toe_pitch)


def _add_arm(turns: dict[str, Quaternion], bones: bpy.types.ArmatureBones, side: str, swing: float) -> None:
    """Hanging arms from the metarig's A-pose; swing 1 is furthest in front."""
    sign = _SIGN[side]
    chest = turns["spine.003"]
    upper, fore = bones[f"upper_arm.{side}"], bones[f"forearm.{side}"]
    shoulder_angle = math.radians(4.0 + 22.0 * swing)
    elbow_angle = math.radians(20.0 + 9.0 * swing)
    turns[f"shoulder.{side}"] = chest @ _rotation("Z", -sign * math.radians(4.0) * swing)
    hang = Vector((sign * math.sin(math.radians(9.0)), 0.0, -1.0))
    lowered = (upper.tail_local - upper.head_local).rotation_difference(hang)
    turns[upper.name] = chest @ _rotation("X", -shoulder_angle) @ lowered
    hang = Vector((sign * math.sin(math.radians(3.0)), 0.0, -1.0))
    lowered = (fore.tail_local - fore.head_local).rotation_difference(hang)
    turns[fore.name] = chest @ _rotation("X", -shoulder_angle - elbow_angle) @ lowered
    turns[f"hand.{side}"] = turns[fore.name]
    _add_fingers(turns, bones, side)


def _add_fingers(turns: dict[str, Quaternion], bones: bpy.types.ArmatureBones, side: str) -> None:
    """Slightly curled: about the line of the knuckles, each joint more than the one before."""
    first, last = f"f_index.01.{side}", f"f_pinky.01.{side}"
    if first not in bones or last not in bones:
        return
    knuckles = (bones[last].head_local - bones[first].head_local).normalized() * _SIGN[side]
    hand = turns[f"hand.{side}"]
    for finger in _FINGERS:
        for joint, angle in (("01", 14.0), ("02", 38.0), ("03", 55.0)):
            name = f"{finger}.{joint}.{side}"
            if name in bones:
                turns[name] = hand @ Quaternion(knuckles, math.radians(angle))


def _basis_rotations(bones: bpy.types.ArmatureBones, turns: dict[str, Quaternion]) -> dict[str, Quaternion]:
    """Armature-space rotations from bind pose -> each bone's own (basis) rotation; other bones ride along."""
    basis = {}
    for name, turn in turns.items():
        parent = bones[name].parent
        while parent is not None and parent.name not in turns:
            parent = parent.parent
        inherited = turns[parent.name] if parent is not None else Quaternion()
        rest = bones[name].matrix_local.to_quaternion()
        basis[name] = rest.inverted() @ inherited.inverted() @ turn @ rest
    return basis


def _key_action(
    armature: bpy.types.Object,
    action: bpy.types.Action,
    frames: np.ndarray,
    rotations: dict[str, list[Quaternion]],
    locations: dict[str, list[Vector]],
) -> None:
    if armature.animation_data is None:
        armature.animation_data_create()
    fcurves = _fcurves(armature, action)
    armature.pose.bones.foreach_set("rotation_quaternion", np.tile((1.0, 0.0, 0.0, 0.0), len(armature.pose.bones)))
    for name, quaternions in rotations.items():
        armature.pose.bones[name].rotation_mode = "QUATERNION"
        values = np.array(quaternions)
        # q and -q are the same rotation: choose the signs so that no channel jumps
        flips = np.sign(np.einsum("ij,ij->i", values[1:], values[:-1]))
        values[1:] *= np.cumprod(flips)[:, None]
        _key_channels(fcurves, f'pose.bones["{name}"].rotation_quaternion', name, frames, values)
    for name, vectors in locations.items():
        _key_channels(fcurves, f'pose.bones["{name}"].location', name, frames, np.array(vectors))


def _fcurves(armature: bpy.types.Object, action: bpy.types.Action) -> bpy.types.bpy_prop_collection:
    """Assigns the new action and returns its channels: in a slot and a layer from Blender 4.4 on."""
    armature.animation_data.action = action
    if not hasattr(action, "slots"):
        return action.fcurves
    slot = action.slots.new(id_type="OBJECT", name=armature.name)
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    armature.animation_data.action_slot = slot
    return strip.channelbag(slot, ensure=True).fcurves


def _key_channels(
    fcurves: bpy.types.bpy_prop_collection, data_path: str, group: str, frames: np.ndarray, values: np.ndarray
) -> None:
    for index in range(values.shape[1]):
        curve = fcurves.new(data_path, index=index)
        curve.keyframe_points.add(len(frames))
        points = np.stack([frames.astype(float), values[:, index]], axis=1)
        curve.keyframe_points.foreach_set("co", points.ravel())
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
        curve.update()


def _periodic_curve(keys: tuple[tuple[float, float], ...]) -> Callable[[float], float]:
    """A smooth curve of period 1 through (phase, degrees) keys that never overshoots; returns radians.

    Monotone cubic interpolation, F. N. Fritsch and J. Butland, 1984 (harmonic mean of the neighbouring
    slopes).
    """
    phases = np.array([key[0] for key in keys] + [keys[0][0] + 1.0])
    values = np.radians(np.array([key[1] for key in keys] + [keys[0][1]]))
    slopes = np.diff(values) / np.diff(phases)
    before = np.roll(slopes, 1)
    product = before * slopes
    tangents = np.where(product > 0.0, 2.0 * product / np.where(product > 0.0, before + slopes, 1.0), 0.0)
    tangents = np.append(tangents, tangents[0])

    def curve(phase: float) -> float:
        phase = phase % 1.0
        i = int(np.clip(np.searchsorted(phases, phase, side="right") - 1, 0, len(slopes) - 1))
        width = phases[i + 1] - phases[i]
        return float(
            _hermite(
                values[i],
                tangents[i] * width,
                values[i + 1],
                tangents[i + 1] * width,
                (phase - phases[i]) / width,
            )
        )

    return curve


def _hermite(start, start_tangent, end, end_tangent, t: float):
    """Cubic Hermite interpolation of numbers or vectors."""
    a = 2 * t**3 - 3 * t**2 + 1
    b = t**3 - 2 * t**2 + t
    return start * a + start_tangent * b + end * (1.0 - a) + end_tangent * (t**3 - t**2)


def _frame_turn(rest_axis: Vector, rest_side: Vector, axis: Vector, side: Vector) -> Quaternion:
    """The rotation that takes one axis to the other and the side direction as near as it can."""

    def frame(y: Vector, z: Vector) -> Matrix:
        y = y.normalized()
        z = (z - y * z.dot(y)).normalized()
        return Matrix((y.cross(z), y, z)).transposed()

    return (frame(axis, side) @ frame(rest_axis, rest_side).transposed()).to_quaternion()


def _rotation(axis: str, angle: float) -> Quaternion:
    return Quaternion({"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}[axis], angle)
