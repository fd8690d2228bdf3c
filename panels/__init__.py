"""What is drawn in the sidebar; panels change nothing."""

from . import diagnose, overlay, ragdoll, recovery

CLASSES = (*ragdoll.CLASSES, *recovery.CLASSES, *overlay.CLASSES, *diagnose.CLASSES)
