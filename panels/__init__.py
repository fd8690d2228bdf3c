"""What is drawn in the sidebar; panels change nothing."""

from . import diagnose, hits, motion, overlay, ragdoll, recovery, weight_tools

CLASSES = (
    *ragdoll.CLASSES,
    *weight_tools.CLASSES,
    *hits.CLASSES,
    *recovery.CLASSES,
    *motion.CLASSES,
    *overlay.CLASSES,
    *diagnose.CLASSES,
)
