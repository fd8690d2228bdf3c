"""What is drawn in the sidebar; panels change nothing."""

from ..core.blender.settings.declare import classes_of
from . import bones, effects, layers, motion, overlay, ragdoll, world

__all__ = ["classes", "overlay", "world"]


def classes() -> tuple:
    """What is to be registered, in this order from top to bottom."""
    return (*classes_of(ragdoll, bones, effects, layers), *motion.classes(), *classes_of(overlay))
