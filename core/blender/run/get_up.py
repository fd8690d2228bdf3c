"""What a plan to get up reads of the scene: the character, its bodies, the floor under it, its animation to come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import quaternion
from ...errors import RagdollError
from ...motion.biped import ARMS, Biped, Z
from ...motion.clip import Clip
from ...motion.get_up import plan
from ...motion.get_up.keys import Floor, Ranges, Surface, joint_balls
from ...motion.stack import LocalPose, Rig
from ..physics import ground
from ..rig.armature import anatomy_of, array_of, bind_joints, pose_matrices
from ..settings.effects import AUTOMATIC

_ROUND = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3), axis=-1).reshape(-1, 3)  # of a body the outermost points there
_PROP = 0.17  # of the height: a hand that reaches farther from the wrist holds something
_SPREAD = 0.3  # of the height: how far around the hips the floor is looked at
_STEP = 0.06  # of the height: where it differs by more from a plane it is no slope


def is_planned(group) -> bool:
    """Whether a character is to get up by a plan, by the settings of its recovery."""
    return group.reroot and group.get_up == AUTOMATIC and not (group.get_up_face_up or group.get_up_face_down)


def biped(obj, rig: Rig, place: np.ndarray | None = None) -> Biped:
    """A character as one that gets up over hands and feet. Raises RagdollError: it cannot; says what it lacks."""
    return Biped(rig, anatomy_of(obj), *bind_joints(obj), place)


def planned(
    character, scene, graph, frame: int, lying: np.ndarray, place: np.ndarray, manner: plan.Manner
) -> tuple[plan.Plan, Clip]:
    """A way up for a character, and the motion as a clip.

    Args:
        graph: that steps the world. lying: its bones in armature space [n, 4, 4], level order.
        place: the armature object's matrix at the frame [4, 4].
    Raises:
        RagdollError: it cannot get up by itself there; says why.
    """
    pull = np.array(scene.gravity) if scene.use_gravity else np.zeros(3)
    if pull[2] > -0.9 * np.linalg.norm(pull) or not pull.any():
        raise RagdollError("gravity does not pull it to a floor")
    obj, fps = character.obj, scene.render.fps / scene.render.fps_base
    own = biped(obj, character.motion.rig, place)
    surface, ranges = _surface(character, own), _ranges(obj, own)
    own.bend_about(ranges.hinges(own))
    manner = replace(manner, held=_held(obj, own, surface))
    deltas, places = own.placed(lying)
    floor = _floor(scene, graph, own, own.extract(deltas, places).hip, place)
    hidden = scene.active_ragdoll.source
    try:
        found = plan.plan(
            own, surface, lying, floor, lambda s: _animated(character, hidden, frame + round(s * fps), place), place,
            fps=fps, gravity=float(np.linalg.norm(pull)), manner=manner, ranges=ranges,
        )  # fmt: skip
    finally:
        hidden.frame_set(frame)
    # As it is recorded, so that a jump finds what playing found.
    poses = LocalPose(*(array.astype(np.float32).astype(float) for array in vars(found.poses).values()))
    return found, Clip("Get Up", own.rig.skeleton.names, fps, poses)


def _animated(character, hidden, frame: int, place: np.ndarray) -> np.ndarray:
    """The animation's pose at a frame, in the armature's space at `place` [n, 4, 4], level order."""
    hidden.frame_set(frame)
    posed = character.source.evaluated_get(hidden.view_layers[0].depsgraph)
    matrices = pose_matrices(posed)[character.motion.rig.skeleton.to_level]
    return np.linalg.solve(place, array_of(posed.matrix_world)) @ matrices


def _surface(character, own: Biped) -> Surface:
    """The outermost points of a character's bodies."""
    rows, offsets = [], []
    for part in character.obj.active_ragdoll.parts:
        points = np.array([vertex.co[:] for vertex in part.body.data.vertices])
        points = points[np.unique((points @ _ROUND.T).argmax(axis=0))]
        row, found = own.fixed(own.rig.index[part.bone], points @ part.offset[:3, :3].T + part.offset[:3, 3])
        if row >= 0:
            rows += [row] * len(found)
            offsets.append(found)
    if not rows:
        return joint_balls(own)
    return Surface(np.array(rows), np.concatenate(offsets), np.zeros(len(rows)))


def _ranges(obj, own: Biped) -> Ranges:
    """What the joints between a character's bodies allow."""
    rows, above, frames, bounds = [], [], [], []
    for part in obj.active_ragdoll.parts:
        ends = [own.fixed(own.rig.index[bone], np.zeros((1, 3)))[0] for bone in (part.bone, part.parent) if bone]
        if len(ends) < 2 or min(ends) < 0 or own.rows[ends[0]] != own.rig.index[part.bone]:
            continue
        joint = obj.pose.bones[part.bone].active_ragdoll
        rows, above = [*rows, ends[0]], [*above, ends[1]]
        frames.append(quaternion.multiply(own.bind[ends[0]], quaternion.normalize(np.array(joint.joint_rotation))))
        bounds.append((joint.joint, tuple(joint.limit_min), tuple(joint.limit_max)))
    return Ranges(np.array(rows, int), np.array(above, int), np.array(frames).reshape(-1, 4), tuple(bounds))


def _held(obj, own: Biped, surface: Surface) -> tuple:
    """Arms whose hand holds something: an attachment, or what reaches far beyond the hand."""
    attached = [a.bone for a in obj.active_ragdoll.attachments if a.enabled and a.bone in own.rig.index]
    rows = {own.fixed(own.rig.index[bone], np.zeros((1, 3)))[0] for bone in attached}
    found = []
    for i in () if own.four else ARMS:
        _upper, lower, hand, _collar = own.limbs[i]
        on = np.isin(surface.rows, (lower, hand))
        points = own.joints[surface.rows[on]] + surface.offsets[on] - own.joints[hand]
        far = points[np.linalg.norm(own.joints[surface.rows[on]] + surface.offsets[on] - own.joints[lower], axis=1)
                     > own.lower[i]]  # fmt: skip
        if rows & {lower, hand} or (len(far) and np.linalg.norm(far, axis=1).max() > _PROP * own.height):
            found.append(i)
    return tuple(found)


def _floor(scene, graph, own: Biped, hip: np.ndarray, place: np.ndarray) -> Floor:
    """The plane under the hips, in the plan frame; where the ground is none, level with what is there. May refuse."""
    into = place[:3, :3] @ quaternion.to_matrix(quaternion.conjugate(own.frame)) / own.scale
    solids = [obj.evaluated_get(graph) for obj in ground.solids(scene)]
    reach = _SPREAD * own.height
    turns = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
    ways = np.array([(0, 0), *((np.cos(a), np.sin(a)) for a in turns)]) * reach
    points = np.column_stack([ways, np.zeros(len(ways))]) + hip
    heights = np.array([_height(solids, into @ point + place[:3, 3], own.height) for point in points]) - place[2, 3]
    if np.isnan(heights[0]):
        raise RagdollError("there is no floor under its hips")
    there = np.abs(heights - heights[0]) < np.tan(plan.STEEPEST) * reach * 1.2
    if there.sum() < 6:
        return Floor(float(heights[0]))
    terms = np.column_stack([np.ones(len(points)), points[:, :2]])[there]
    (height, *slope), *_rest = np.linalg.lstsq(terms, heights[there], rcond=None)
    if np.abs(terms @ (height, *slope) - heights[there]).max() > _STEP * own.height:
        return Floor(float(heights[0]))
    slope = np.where(np.hypot(*slope) < 5e-3, 0.0, slope)
    return Floor(float(heights[0] - slope @ hip[:2]), tuple(map(float, slope)))


def _height(solids, point: np.ndarray, size: float) -> float:
    """Height of the highest surface below a point of the world [m]; nan where there is none near."""
    found = [ground.met(solid, point + 0.1 * size * Z, -1.1 * size * Z) for solid in solids]
    return max((float(hit[0][2]) for hit in found if hit is not None), default=np.nan)
