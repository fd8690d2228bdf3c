"""What is drawn in the sidebar; panels change nothing."""

from . import attachments, diagnose, hits, motion, overlay, ragdoll, recovery, weight_tools

CLASSES = (
    *ragdoll.CLASSES,
    *weight_tools.CLASSES,
    *hits.CLASSES,
    *attachments.CLASSES,
    *recovery.CLASSES,
    *motion.CLASSES,
    *overlay.CLASSES,
    *diagnose.CLASSES,
)
