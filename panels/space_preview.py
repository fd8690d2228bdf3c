"""Pictures of blend spaces as icons for the sidebar; made anew only when something in them changed."""

import bpy
import bpy.utils.previews
import numpy as np

from ..core.blender import space_view

SIZE = 256  # [px]

_collection = None
_drawn: dict = {}


def icon_of(obj, space, frame: int) -> tuple:
    """The icon's number (0 where there is none), the samples' weights, and a message where the space is wrong."""
    global _collection
    if _collection is None:
        _collection = bpy.utils.previews.new()
    key = f"{obj.session_uid} {space.name}"
    signature = space_view.signature(obj, space, frame)
    known = _drawn.get(key)
    if known is None or known[0] != signature:
        pixels, weights, message = space_view.picture(obj, space, frame, SIZE)
        if pixels is not None:
            icon = _collection.get(key) or _collection.new(key)
            icon.image_size = (SIZE, SIZE)
            icon.image_pixels_float.foreach_set(np.ascontiguousarray(pixels[::-1]).ravel())
        known = _drawn[key] = (signature, weights, message)
    icon = _collection.get(key)
    return (icon.icon_id if icon is not None and not known[2] else 0), known[1], known[2]


def remove() -> None:
    """Free the pictures."""
    global _collection
    _drawn.clear()
    if _collection is not None:
        bpy.utils.previews.remove(_collection)
        _collection = None
