"""What a plan to get up reads of the scene: the character, its bodies, the floor under it, its animation to come."""

from dataclasses import replace

import bpy
import numpy as np

from ... import pose, quaternion
from ...anatomy.roles import TAIL
from ...errors import RagdollError
from ...motion.biped import ARMS, Biped
from ...motion.clip import Clip, between
from ...motion.get_up import plan
from ...motion.get_up.keys import Floor, Ranges, Relief, Surface, joint_balls
from ...motion.stack import LocalPose, Rig
from ...ragdoll.recovery import tone
from ..physics import built, ground, world
from ..rig.armature import anatomy_of, armatures, array_of, bind_joints
from ..rig.clips import RigRest, animated_bones
from ..runtime import STATE
from ..settings.effects import AUTOMATIC

_ROUND = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * 3), axis=-1).reshape(-1, 3)  # of a body the outermost points there
STARTS = 0.6  # [s] at 1.8 m in which the animation gets to its own pace when the character stands
_PROP = 0.17  # of the height: a hand that reaches farther from the wrist holds something
_SPREAD = 0.3  # of the height: around the hips the floor's plane is looked for
_STEP = 0.03  # of the height: where it differs by more from a plane it is no slope
_BESIDE = 0.15 * np.array([(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)])  # there a blend needs room, too
_CELL, _AROUND, _OVER = 0.04, 32, 0.3  # what stands there: by such cells, so many each way, from so far over the hips


def is_planned(group) -> bool:
    """Whether a character is to get up by a plan, by the settings of its recovery."""
    return group.reroot and group.get_up == AUTOMATIC and not (group.get_up_face_up or group.get_up_face_down)


def biped(obj, rig: Rig | None = None, place: np.ndarray | None = None) -> Biped:
    """A character as one that gets up over hands and feet. Raises RagdollError: it cannot; says what it lacks."""
    if rig is None:
        rest = RigRest(obj)
        rig = Rig(rest.skeleton, rest.bind)
    return Biped(rig, anatomy_of(obj), *bind_joints(obj), place)


def fitted(action, obj, fps: float) -> Clip:
    """A get-up action as a clip of a character: by the names of the bones, or where it has less than half of them by
    the roles of those of the armature in the file that has the most.

    Raises RagdollError: there is no such armature, or one of both is no biped or quadruped; says why.
    """

    def share(other) -> float:
        bones = animated_bones(action, other)
        return len(bones & {*other.data.bones.keys()}) / max(len(bones), 1)

    others = (other for other in armatures(bpy.data.objects) if not built.is_ours(other))
    maker = obj if share(obj) >= 0.5 else max(others, key=share)
    if share(maker) < 0.5:
        raise RagdollError(
            f"Action \"{action.name}\" moves other bones than those of '{obj.name}', or none: append or link the "
            "armature that it was made for, and it is carried over by the roles of the bones"
        )
    clip = STATE.clips.get(action, maker, fps=fps)
    if maker == obj:
        return clip
    own, other = (biped(each, place=array_of(each.matrix_world)) for each in (obj, maker))
    poses = own.adopted(other, *other.placed(pose.compose_matrices(*clip.poses.model(other.rig.skeleton))))
    bind = pose.compose_matrices(*own.rig.bind.model(own.rig.skeleton))
    local = plan.local_poses(own, *poses, bind, np.zeros(clip.frame_count))
    return Clip(clip.name, own.rig.skeleton.names, clip.fps, local)


def planned(run, character, scene, frame: int, lying, place, manner: plan.Manner) -> tuple[plan.Plan, Clip]:
    """A way up for a character, and the motion as a clip.

    Args:
        lying: its bones in armature space [n, 4, 4], level order.
        place: the armature object's matrix at the frame [4, 4].
    Raises:
        RagdollError: it cannot get up by itself there; says why.
    """
    if not (pull := world.pull(scene)):
        raise RagdollError("gravity does not pull it to a floor")
    obj, fps = character.obj, scene.render.fps / scene.render.fps_base
    own = biped(obj, character.motion.rig, place)
    surface, ranges = _surface(character, own), _ranges(obj, own)
    own.bend_about(ranges.hinges(own))
    # What turns and scales the plan frame into the world.
    into = place[:3, :3] @ quaternion.to_matrix(quaternion.conjugate(own.frame)) / own.scale
    moved = (replace(each, offset=np.linalg.solve(into, each.offset)) for each in manner.moved)
    manner = replace(manner, held=_held(run, character, own, surface), moved=tuple(moved))
    floor = _floor(run, character, scene, own, own.extract(*own.placed(lying)).hip, place, into)
    hidden = scene.active_ragdoll.source

    def animated(seconds: float) -> np.ndarray:
        coming = frame + round(seconds * fps)
        hidden.frame_set(coming)
        posed = character.source.evaluated_get(hidden.view_layers[0].depsgraph)
        matrices = character.motion.animated(scene, coming)[character.motion.rig.skeleton.to_level]
        return np.linalg.solve(place, array_of(posed.matrix_world)) @ matrices

    starts = max(1, round(0.5 * STARTS * tone.pace(own.height, pull) * fps))
    try:
        more = {"fps": fps, "gravity": pull, "manner": manner, "ranges": ranges}
        found = plan.plan(own, surface, lying, floor, lambda s: animated(s + starts / fps), place, **more)
        there = np.linalg.solve(place, found.move.matrix() @ place)
        poses = _started(own.rig, found.poses, starts, lambda coming: there @ animated(coming / fps))
    finally:
        hidden.frame_set(frame)
    # As it is recorded, so that a jump finds what playing found.
    poses = LocalPose(*(array.astype(np.float32).astype(float) for array in vars(poses).values()))
    return found, Clip("Get Up", own.rig.skeleton.names, fps, poses)


def _started(rig: Rig, poses: LocalPose, ahead: int, animated) -> LocalPose:
    """Poses [f, n] that end at rest as the animation is some frames ahead, and those of twice as many frames in which
    it gets to its pace and its frame. animated: its matrices [n, 4, 4] there by the frame from the first pose on."""
    first, share = len(poses.positions) - 1 + ahead, np.arange(1, 2 * ahead + 1) / (2 * ahead)
    parts = (pose.model_to_local_matrices(rig.skeleton, animated(first + i)) for i in range(ahead + 1))
    known = [LocalPose(*pose.decompose_matrices(part)) for part in parts]
    frames = 2 * ahead * share**3 * (1.0 - 0.5 * share)  # the pace rises as 3 s^2 - 2 s^3
    whole = np.minimum(frames.astype(int), ahead - 1)
    more = [between(known[i], known[i + 1], np.array(at - i)) for i, at in zip(whole, frames, strict=True)]
    arrays = zip(vars(poses).values(), *(vars(each).values() for each in more), strict=True)
    return LocalPose(*(np.concatenate([given, np.stack(added)]) for given, *added in arrays))


def _surface(character, own: Biped) -> Surface:
    """The outermost points of a character's bodies, but for tails, which give way."""
    rows, offsets = [], []
    bones = character.obj.pose.bones
    for part in (p for p in character.obj.active_ragdoll.parts if bones[p.bone].active_ragdoll.role != TAIL):
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


def busy_bones(run, character) -> set:
    """Those of a character that hurt or hold something."""
    strength = zip(character.bone_names, run.effect("hits").strength[character.rows], strict=True)
    held = {a.bone for a in character.obj.active_ragdoll.attachments if a.enabled}
    return held | {bone for bone, left in strength if left < 1.0}


def _held(run, character, own: Biped, surface: Surface) -> tuple:
    """Arms that hurt, or whose hand holds something: an attachment, or what reaches far beyond the hand."""
    busy = {bone for bone in busy_bones(run, character) if bone in own.rig.index}
    rows = {own.fixed(own.rig.index[bone], np.zeros((1, 3)))[0] for bone in busy}
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


def _solids(run, character, scene) -> tuple[list, list]:
    """What is no body of a character's own, as it is evaluated: solids, and bodies of other characters."""
    others = [body for other in run.characters if other is not character for body in other.bodies.objects]
    return tuple([obj.evaluated_get(run.graph) for obj in found] for found in (ground.solids(scene), others))


def check_room(run, character, scene, trunk: np.ndarray) -> None:
    """Raises NoRoom: a trunk (rows of bodies) that is to rise by a blend has no floor, or something low over it."""
    places = run.body[character.rows][trunk, None, :3, 3] + _BESIDE * character.height
    solids, others = _solids(run, character, scene)
    below, above = ground.relief(solids + others, places.reshape(-1, 3), 1.2 * character.height)
    if np.isneginf(below).all() and world.pull(scene):
        raise plan.NoRoom("there is no floor under its hips")
    if (above < below + plan.TALL * character.height).any():
        raise plan.NoRoom("there is no room to stand up")


def _floor(run, character, scene, own: Biped, hip: np.ndarray, place: np.ndarray, into) -> Floor:
    """What is under and around the hips, in the plan frame: a plane, and what stands on it. May refuse."""
    count, cell = _AROUND, _CELL * own.height
    ways = np.stack(np.meshgrid(*[np.arange(-count, count + 1) * cell] * 2, indexing="ij"), axis=-1)
    starts = np.concatenate([ways, np.full((*ways.shape[:2], 1), _OVER * own.height)], axis=-1) + hip
    starts = starts.reshape(-1, 3) @ into.T + place[:3, 3]
    grids = [ground.relief(found, starts, 1.2 * own.height) for found in _solids(run, character, scene)]
    grids = np.reshape(grids, (2, 2, *ways.shape[:2])) - place[2, 3]
    bare, (heights, roofs) = grids[0, 0], (grids[:, 0].max(axis=0), grids[:, 1].min(axis=0))
    off = np.linalg.norm(ways, axis=-1)
    near = np.isfinite(bare) & (off < _SPREAD * own.height)
    if heights[count, count] > hip[2]:
        raise plan.NoRoom("something is right over its hips")
    if not near.any() or np.isneginf(bare[count, count]):
        raise plan.NoRoom("there is no floor under its hips")
    middle = bare[near][off[near].argmin()]
    there = near & (np.abs(bare - middle) < np.tan(plan.STEEPEST) * _SPREAD * own.height * 1.2)
    terms = np.concatenate([np.ones((*off.shape, 1)), ways + hip[:2]], axis=-1)
    height, *slope = np.linalg.lstsq(terms[there], bare[there], rcond=None)[0]
    missed = np.abs(terms[there] @ (height, *slope) - bare[there]).max()
    even = there.sum() > 0.6 * (off < _SPREAD * own.height).sum() and missed < _STEP * own.height
    if not even or np.hypot(*slope) < 5e-3:
        height, slope = middle, (0.0, 0.0)
    floor = Floor(float(height), tuple(map(float, slope)))
    heights, roofs, bare = (grid - terms @ (height, *slope) for grid in (heights, roofs, bare))
    if np.isinf(roofs).all() and np.abs(heights).max() < 0.01 * own.height:
        return floor
    return replace(floor, relief=Relief(heights, roofs, hip[:2] - count * cell, cell, bare))
