"""What is drawn in the sidebar; panels change nothing."""

from . import ragdoll

CLASSES = ragdoll.CLASSES
