"""The anatomy of an armature, and the roles on its bones."""

import bpy
import numpy as np

from ...anatomy.recognise import recognise
from ...anatomy.roles import ARM, CREATURE, HELPER, LEG, TRUNK, Anatomy
from ..runtime import STATE
from .armature import read

ENOUGH = 10  # main bones: with so many a human or an animal is recognised for good
_MAIN = {*TRUNK, *ARM, *LEG}


def anatomy_of(obj: bpy.types.Object) -> Anatomy:
    """What the bones of an armature are, in Blender's bone order; roles that the user chose come before all else.

    Raises:
        RagdollError: a joint is not a number; names the bone.
    """
    bones = obj.data.bones
    names = [bone.name for bone in bones]
    row = {name: i for i, name in enumerate(names)}
    parents = [-1 if bone.parent is None else row[bone.parent.name] for bone in bones]
    deform = read(bones, "use_deform", dtype=bool)
    world = np.array(obj.matrix_world, dtype=float)[:3, :3]
    size = np.cbrt(np.abs(np.linalg.det(world)))
    heads, tails = (size * read(bones, name, 3) for name in ("head_local", "tail_local"))
    best, most = None, (False, -1.0)
    for up in _ups(world):
        anatomy = recognise(names, parents, heads, tails, up, deform)
        main = [certainty for role, certainty in zip(anatomy.roles, anatomy.certainty, strict=True) if role in _MAIN]
        score = anatomy.kind != CREATURE, sum(main)
        if score > most:
            best, most = anatomy, score
        if score[0] and len(main) >= ENOUGH:
            break
    return _with_choices(obj, row, best)


def _ups(world: np.ndarray) -> np.ndarray:
    """The armature's own axes and their opposites [6, 3], the most upright first.

    What a bone is does not change when its character is turned: it is one of the armature's axes that is up, and the
    way it stands only says which to try first.
    """
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    placed = axes @ world.T
    return axes[np.argsort(-placed[:, 2] / np.linalg.norm(placed, axis=1), kind="stable")]


def props(obj: bpy.types.Object, anatomy: Anatomy, bones=None) -> np.ndarray:
    """Bones [n] that hold things, such as a hand's slot: meshes on them are no part of the body.

    Args:
        bones: bones that are to have a body of their own whatever they are [n]; by default those that have one.
    """
    if bones is None:
        bones = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
    return np.array([role == HELPER for role in anatomy.roles], dtype=bool) & ~bones


def store_roles(obj: bpy.types.Object, anatomy: Anatomy) -> None:
    """Write each bone's role to its settings unless the user has chosen one."""
    with STATE.writing():
        for bone, role in zip(obj.data.bones, anatomy.roles, strict=True):
            settings = obj.pose.bones[bone.name].active_ragdoll
            if not settings.role_by_user and settings.role != role:
                settings.role = role


def _with_choices(obj, row: dict, anatomy: Anatomy) -> Anatomy:
    chosen = {row[bone.name]: bone.active_ragdoll.role for bone in obj.pose.bones if bone.active_ragdoll.role_by_user}
    if not chosen:
        return anatomy
    roles = tuple(chosen.get(i, role) for i, role in enumerate(anatomy.roles))
    certainty = np.array([1.0 if i in chosen else value for i, value in enumerate(anatomy.certainty)])
    return Anatomy(roles, anatomy.sides, anatomy.order, anatomy.kind, certainty, anatomy.notes, anatomy.parents)
