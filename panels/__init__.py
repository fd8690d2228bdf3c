"""What is drawn in the sidebar; panels change nothing."""

from . import blend_spaces, diagnose, graph, layers, overlay, ragdoll, space_preview

__all__ = ["CLASSES", "overlay", "space_preview"]

CLASSES = (
    *ragdoll.CLASSES,
    *layers.CLASSES,
    *blend_spaces.CLASSES,
    *graph.CLASSES,
    *overlay.CLASSES,
    *diagnose.CLASSES,
)
