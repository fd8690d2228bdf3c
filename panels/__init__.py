"""What is drawn in the sidebar; panels change nothing."""

from . import diagnose, motion, overlay, ragdoll

CLASSES = (*ragdoll.CLASSES, *motion.CLASSES, *overlay.CLASSES, *diagnose.CLASSES)
