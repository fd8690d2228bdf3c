"""What is drawn in the sidebar; panels change nothing."""

from . import (
    attachments,
    blend_spaces,
    diagnose,
    graph,
    hits,
    layers,
    motion,
    overlay,
    ragdoll,
    recovery,
    space_preview,
    weight_tools,
)

__all__ = ["CLASSES", "overlay", "space_preview"]

CLASSES = (
    *ragdoll.CLASSES,
    *weight_tools.CLASSES,
    *hits.CLASSES,
    *attachments.CLASSES,
    *recovery.CLASSES,
    *layers.CLASSES,
    *blend_spaces.CLASSES,
    *graph.CLASSES,
    *motion.CLASSES,
    *overlay.CLASSES,
    *diagnose.CLASSES,
)
