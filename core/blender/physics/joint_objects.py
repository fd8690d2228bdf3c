"""Joints: their limits from the user, the rig and the animation, and the constraint objects that make them."""

import json

import numpy as np
from mathutils import Matrix, Quaternion

from ... import quaternion
from ...anatomy import joints, roles
from ...anatomy.axes import bind_of
from ...errors import RagdollError, listed
from ...pose import affine
from ...ragdoll.bodies import overlap
from ...ragdoll.joints import constraints, limits
from ..rig.armature import rig_limits, rigid
from ..runtime import STATE
from . import built, helpers

LIMIT_MARGIN = np.radians(5.0)  # margin of a default range beyond what the animation needs
ASIDE = np.radians(0.1)  # turn about its other axes that a hinge bears without visibly fighting it
LOOSE = np.radians(8.0)  # least range of the other axes of a hinge that becomes a cone: a flat one would pinch
NOTED = np.radians(1.0)  # an animation that exceeds a range by less is not reported
OPEN_MARGIN = np.radians(2.0)  # margin by which the constraints contain every sampled pose
_KINDS = {"DEFAULT": "default", "ANATOMY": "anatomical", "PROFILE": "preset's"}  # of limits that may be widened
PLAY = 1e-3  # of the height: where the animation separates a joint by more, the joint gets that much play


def relative_rotations(poses, plan, bind, to_joint):
    """How bodies turn against their parents, from bind pose: rotations in the joints' frames [f, m, 4]. Of matrices of
    all bones, sampled [f, n, 4, 4] and in bind pose [n, 4, 4], and each joint's rotation in its bone [m, 4]."""
    rest = quaternion.from_matrix(bind[plan.bones, :3, :3])
    now = quaternion.from_matrix(rigid(poses[:, plan.bones])[..., :3, :3])
    turned = quaternion.multiply(now, quaternion.conjugate(rest))
    relative = quaternion.multiply(quaternion.conjugate(turned[:, plan.parents]), turned)
    frame = quaternion.multiply(rest, to_joint)
    return quaternion.multiply(quaternion.conjugate(frame), quaternion.multiply(relative, frame))


def set_limits(obj, pose, plan, poses, notes, vertices, anatomy) -> dict:
    """Set the limits of every joint: the user's, else a preset's, else the rig's, else anatomical or default ones.

    All but the user's and the rig's are widened to the animation. For the joints that this concerns the sampled joint
    rotations [f, 4] are returned, by body.

    Args:
        poses: of all bones in the armature's space over the sampled frames [f, n, 4, 4].
        vertices: for each bone the vertices [k, 3] (world, bind pose) that it dominates, or None [n].
    """
    heads, tails, theirs = _places(pose, vertices)
    anatomical = joints.joint_limits(anatomy, pose.parents, heads, tails, plan.bones, plan.parents, theirs)
    bind = rigid(pose.local)
    for i, bone in enumerate(plan.bones):
        _state_limits(obj.pose.bones[bone], anatomical[i], bind[bone, :3, :3])
    own = [obj.pose.bones[bone].active_ragdoll for bone in plan.bones]
    to_joint = np.array([settings.joint_rotation for settings in own], dtype=float)
    relatives = relative_rotations(poses, plan, bind, to_joint)
    widened, animated, fights = {kind: [] for kind in _KINDS}, {}, []
    for i, bone, _parent in plan.joints():
        settings = own[i]
        if settings.limits_from not in widened:
            excess = float(np.max(excesses(pose.names[bone], settings, relatives[:, i])))
            if excess > NOTED:
                fights.append((excess, pose.names[bone]))
            continue
        animated[i] = relatives[:, i]
        if fit_limits(settings, animated[i], LIMIT_MARGIN, fixed_too=True) > NOTED:
            widened[settings.limits_from].append(pose.names[bone])
    for kind, names in widened.items():
        if names:
            notes.append(f"widened the {_KINDS[kind]} limits of {listed(names)} to the animation")
    if fights:
        worst, name = max(fights)
        others = f" and {len(fights) - 1} more" if len(fights) > 1 else ""
        text = f"the animation exceeds the limits of {name}{others} by up to {np.degrees(worst):.0f} deg"
        notes.append(f"{text}: Check Limits lists them and can widen them")
    return animated


def note_postures(obj, collection, pose, plan, vertices, anatomy) -> None:
    """Record what muscles pull to in a fall: postures within the limits, and what is ahead and to the left.

    "postures": rotations of the joints [6, m, 4], in their frames, from bind pose; NaN where they say nothing.
    "facing": forward and left along the bones' axes [m, 2, 3]. Both are empty for all but humans.
    """
    bind = bind_of(anatomy, roles.body_parents(anatomy, pose.parents), *_places(pose, vertices))
    if bind is None or anatomy.kind != roles.HUMAN:
        return
    turns = quaternion.from_matrix(rigid(pose.local)[:, :3, :3])
    found = np.array([joints.turns_of(each, bind, turns, plan.bones, plan.parents) for each in joints.POSTURES])
    for i, bone in enumerate(plan.bones):
        own = obj.pose.bones[bone].active_ragdoll
        frame = quaternion.normalize(np.array(own.joint_rotation, dtype=float))
        for turn in found[:, i] if np.isfinite(found[0, i]).all() else ():
            joint = quaternion.multiply(quaternion.conjugate(frame), quaternion.multiply(turn, frame))
            turn[:] = limits.brought_within(own.joint, tuple(own.limit_min), tuple(own.limit_max), joint)
    facing = np.array([bind.axes.forward, bind.axes.left]) @ quaternion.to_matrix(turns[plan.bones])
    built.note(collection, postures=found.round(6).tolist(), facing=facing.round(6).tolist())


def _places(pose, vertices) -> tuple:
    """Heads and tails of the bones [n, 3], and the vertices that each dominates, in the armature's space."""
    heads, tails = pose.local[:, :3, 3], pose.local_tails
    if vertices is not None:
        ours, theirs = np.concatenate([heads, tails]), np.concatenate([pose.heads, pose.tails])
        centre, middle = ours.mean(axis=0), theirs.mean(axis=0)
        ours, theirs = ours - centre, theirs - middle
        # The armature's scale; negative when it is mirrored.
        scale = float((theirs * (ours @ pose.axes.T)).sum() / (ours * ours).sum())
        vertices = [None if v is None else (v - middle) @ pose.axes / scale + centre for v in vertices]
    return heads, tails, vertices


def _state_limits(pose_bone, anatomical, axes) -> None:
    """Write limits of a bone with axes [3, 3], and where they come from, regardless of the animation."""
    settings = pose_bone.active_ragdoll
    if settings.limits_from == "USER":
        return
    if settings.limits_from == "PROFILE" and settings.profile_limits:
        try:
            for name, value in json.loads(settings.profile_limits).items():
                setattr(settings, name, value)
            return
        except (ValueError, TypeError, AttributeError):
            settings.profile_limits, name = "", pose_bone.id_data.name
            STATE.warn(name, f"The preset's limits of '{pose_bone.name}' of '{name}' are damaged: apply it again")
    for name in ("joint", "limit_min", "limit_max", "joint_rotation"):
        settings.property_unset(name)
    stated = rig_limits(pose_bone)
    if stated is not None:
        settings.joint, settings.limit_min, settings.limit_max = stated
        settings.limits_from = "RIG"
    elif anatomical is not None:
        turn = axes.T @ anatomical.rotation
        settings.joint = anatomical.joint
        settings.limit_min, settings.limit_max = anatomical.limit_min, anatomical.limit_max
        settings.joint_rotation = Matrix(turn.tolist()).to_quaternion()  # faster than numpy for a single value
        settings.limits_from = "ANATOMY"
    else:
        settings.limits_from = "DEFAULT"


def check_limits(obj, plan) -> None:
    """Raise RagdollError, with the bone's name, where the limits that a user has set make no sense."""
    for pose_bone in (obj.pose.bones[bone] for _row, bone, _parent in plan.joints()):
        if pose_bone.active_ragdoll.limits_from == "USER":
            excesses(pose_bone.name, pose_bone.active_ragdoll, np.array([[1.0, 0.0, 0.0, 0.0]]))


def swings_of(settings) -> np.ndarray:
    """Limits of a bone's joint [2, 3] [rad], infinite for axes that have none or do not turn."""
    found, free = np.array([settings.limit_min, settings.limit_max], dtype=float), np.array([[-np.inf], [np.inf]])
    if settings.joint == "HINGE":
        return np.where(np.arange(3) == limits.hinge_axis(*found), found, free)
    return found if settings.joint == "CONE" else np.tile(free, 3)


def excesses(name: str, settings, relative) -> np.ndarray:
    """By how much [f] [rad] the joint rotations `relative` [f, 4] exceed a bone's limits. Raises RagdollError: with the
    bone's name, for limits that make no sense."""
    try:
        return limits.excess(settings.joint, tuple(settings.limit_min), tuple(settings.limit_max), relative)
    except ValueError as error:
        raise RagdollError(f"Bone '{name}': {error}") from error


def fit_limits(settings, relative, margin: float, *, fixed_too: bool = False) -> float:
    """Widen a bone's limits just enough for the joint rotations `relative` [f, 4], with a margin [rad].

    A hinge that the animation also turns about other axes becomes a cone; with `fixed_too` also a fixed joint that the
    animation turns. Returns by how much the animation exceeds the old limits [rad]; 0 when nothing had to be done.
    """
    joint = settings.joint
    low, high = np.array(settings.limit_min, dtype=float), np.array(settings.limit_max, dtype=float)
    excess = float(np.max(limits.excess(joint, low, high, relative), initial=0.0))
    if excess <= 0.0:
        return 0.0
    if joint == "FIXED" and fixed_too and excess > NOTED:
        joint = settings.joint = "CONE"
        low, high = np.full(3, -LOOSE), np.full(3, LOOSE)
    elif joint == "HINGE":
        swing, _twist = quaternion.swing_twist(relative, np.eye(3)[limits.hinge_axis(low, high)])
        if np.max(np.linalg.norm(quaternion.to_rotation_vector(swing), axis=-1)) > ASIDE:
            joint = settings.joint = "CONE"
            low, high = np.minimum(low, -LOOSE), np.maximum(high, LOOSE)
            excess = float(np.max(limits.excess(joint, low, high, relative)))
    low, high = constraints.widened(joint, low, high, relative, margin)
    settings.limit_min, settings.limit_max = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    return excess


def ignore_overlapping_pairs(pose, plan, poses, notes) -> None:
    """Let pairs of bodies pass through each other that overlap in the animation itself: they would burst apart in the
    first pose and fight the drives later. `poses` are world matrices of all bones over the sampled frames [f, n, 4, 4].
    """
    first, second = plan.strangers()
    if not len(first):
        return
    turned = rigid(poses[:, plan.bones]) @ np.linalg.inv(pose.matrices[plan.bones])
    found = overlap.met(plan.shapes, first, second, turned)
    if found.any():
        pairs = [(int(i), int(k)) for i, k in zip(first[found], second[found], strict=True)]
        plan.no_collide += pairs
        one, other = (pose.names[int(plan.bones[i])] for i in pairs[0])
        others = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
        notes.append(f"{one} and {other}{others} overlap in the animation and do not collide")


def separations(obj, pose, plan, poses, to_world) -> dict:
    """How far the animation itself pulls joints apart, where it does: by body, in the bone's own frame [f, 3] [m].

    Clips that key the locations of bones do so; their joints get that much play, else they would fight the animation.
    The vector leads from the child's joint to where the parent has it, as Bullet measures it with object1 = child.
    `poses` are world matrices of all bones over the sampled frames [f, n, 4, 4].
    """
    bind, axes = to_world @ pose.local, rigid(poses[:, plan.bones])[..., :3, :3]
    found = {}
    for i, bone, above in plan.joints():
        parent = plan.bones[above]
        place = (np.linalg.inv(bind[parent]) @ bind[bone])[:3, 3]
        there = np.einsum("fij,j->fi", poses[:, parent, :3, :3], place) + poses[:, parent, :3, 3]
        apart = np.einsum("fij,fi->fj", axes[:, i], there - poses[:, bone, :3, 3])
        if np.abs(apart).max() > PLAY * obj.active_ragdoll.height:
            found[i] = apart
    return found


def make_joints(obj, scene, collection, pose, plan, animated, apart) -> int:
    """Make the constraint objects of all joints, and of pairs that do not collide. Returns how many they are.
    `animated` and `apart` come from `set_limits` and `separations`."""
    bodies, size = [part.body for part in obj.active_ragdoll.parts], 0.01 * obj.active_ragdoll.height
    for i, bone, parent in plan.joints():
        name, settings = pose.names[bone], obj.pose.bones[bone].active_ragdoll
        frame = pose.matrices[bone] @ affine(_rotation(settings.joint_rotation))
        specs = constraints.plan(settings.joint, tuple(settings.limit_min), tuple(settings.limit_max))
        if i in animated:
            specs = constraints.opened(specs, animated[i], OPEN_MARGIN)
        for spec in specs:
            shown = {"place": frame @ affine(_rotation(spec.rotation)), "size": size, "aside": False}
            empty = helpers.helper(f"{obj.name} {name} Joint", None, collection, built.JOINT, name, **shown)
            turn = _rotation(settings.joint_rotation) @ _rotation(spec.rotation)
            slides = (apart[i] @ turn,) if i in apart else ()
            _constraint(scene, empty, spec, (bodies[i], bodies[parent]), *slides)
    for i, k in plan.no_collide:
        shown = {"place": affine(np.eye(3), plan.shapes[i].center), "size": size, "aside": False}
        empty = helpers.helper(f"{obj.name} Overlap", None, collection, built.JOINT, pose.names[plan.bones[i]], **shown)
        free = constraints.ConstraintSpec(type="GENERIC", rotation=(1.0, 0.0, 0.0, 0.0))
        _constraint(scene, empty, free, (bodies[i], bodies[k]))
    made = len(built.helpers(collection, built.JOINT))
    built.note(collection, joints=made)
    return made


def _rotation(wxyz) -> np.ndarray:
    return np.array(Quaternion(wxyz).normalized().to_matrix())


def _constraint(scene, empty, spec, pair, apart=((0.0, 0.0, 0.0),)) -> None:
    """Make a constraint object a joint. It may slide as far as the animation does: `apart` [f, 3], in its frame."""
    constraint = helpers.join(scene, empty, spec.type, *pair)
    for axis, bounds, way in zip("xyz", spec.angular_limits, np.transpose(apart).tolist(), strict=True):
        if spec.type == "GENERIC":
            helpers.limit(constraint, f"lin_{axis}", (min(0.0, *way), max(0.0, *way)) if spec.lock_linear else None)
        if spec.type == "GENERIC" or (spec.type == "HINGE" and axis == "z"):
            helpers.limit(constraint, f"ang_{axis}", bounds)


def joint_frames(obj) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a built ragdoll each body's parent [m] (-1: none), and its joint's frame in the body and in the parent."""
    parts = obj.active_ragdoll.parts
    frames = np.array([(part.bind, part.offset) for part in parts], dtype=float).reshape(-1, 2, 4, 4)
    parents = built.parents_of(parts)
    rotations = np.array([obj.pose.bones[part.bone].active_ragdoll.joint_rotation for part in parts], dtype=float)
    return parents, *limits.frames_in_bodies(frames[:, 0], frames[:, 1], rotations, parents)
