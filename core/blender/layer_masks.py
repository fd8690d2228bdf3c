"""Masks of layers from their settings."""

import numpy as np

from ..anatomy.roles import LEFT, RIGHT
from ..errors import RagdollError
from ..motion.layers import mask_from_bones, mask_from_roles


def mask_of(layer, library) -> np.ndarray | None:
    """Share of the layer's weight of each bone [n], level order; None for all wholly.

    Raises:
        RagdollError: a bone or collection that the armature does not have, or a mask without any.
    """
    mask = _chosen(layer, library)
    if mask is not None and layer.mask_invert:
        mask = 1.0 - mask
    return mask


def _chosen(layer, library) -> np.ndarray | None:
    skeleton = library.rig.skeleton
    if layer.mask == "BONES":
        return _of_bones(layer, skeleton)
    if layer.mask == "COLLECTION":
        collection = library.obj.data.collections_all.get(layer.mask_collection)
        if collection is None:
            raise RagdollError(f'there is no bone collection "{layer.mask_collection}"')
        bones = [bone.name for bone in getattr(collection, "bones_recursive", collection.bones)]
        if not bones:
            raise RagdollError(f'the bone collection "{layer.mask_collection}" has no bones')
        return mask_from_bones(skeleton, bones, children=layer.mask_children, depth=layer.mask_falloff)
    if layer.mask == "ROLES":
        anatomy = library.anatomy
        side = {"LEFT": LEFT, "RIGHT": RIGHT}.get(layer.mask_side)
        mask = mask_from_roles(anatomy.roles, layer.mask_roles, anatomy.sides, side)[skeleton.to_level]
        if not mask.any():
            raise RagdollError(f"no bone was recognised as {', '.join(sorted(layer.mask_roles)) or 'any role'}")
        return mask
    return None


def _of_bones(layer, skeleton) -> np.ndarray:
    if not len(layer.mask_bones):
        raise RagdollError("its mask has no bones")
    mask = np.zeros(len(skeleton))
    for item in layer.mask_bones:
        if item.bone not in skeleton.names:
            raise RagdollError(f'there is no bone "{item.bone}", which its mask names')
        own = mask_from_bones(skeleton, [item.bone], depth=layer.mask_falloff, children=layer.mask_children)
        mask = np.maximum(mask, own * item.weight)
    return mask


def without_unkeyed(mask: np.ndarray | None, clip, skeleton) -> np.ndarray | None:
    """The mask, 0 on bones that a clip does not move."""
    if not clip.unanimated:
        return mask
    still = set(clip.unanimated)
    moved = np.array([name not in still for name in skeleton.names], dtype=float)
    return moved if mask is None else mask * moved
