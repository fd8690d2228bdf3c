"""What is drawn in the sidebar; panels change nothing."""

from . import diagnose, overlay, ragdoll

CLASSES = (*ragdoll.CLASSES, *overlay.CLASSES, *diagnose.CLASSES)
