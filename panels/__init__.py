"""What is drawn in the sidebar; panels change nothing."""

from ..core.blender.settings.declare import classes_of
from . import additions, base, bones, effects, layers, motion, overlay, ragdoll

__all__ = ["additions", "classes", "overlay"]


def classes() -> tuple:
    """What is to be registered, in this order from top to bottom."""
    return (*classes_of(base, additions, ragdoll, effects, bones), *motion.classes(), *classes_of(layers, overlay))
