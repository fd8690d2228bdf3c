"""What is drawn in the sidebar; panels change nothing."""

from . import diagnose, hits, motion, overlay, ragdoll, weight_tools

CLASSES = (
    *ragdoll.CLASSES,
    *weight_tools.CLASSES,
    *hits.CLASSES,
    *motion.CLASSES,
    *overlay.CLASSES,
    *diagnose.CLASSES,
)
