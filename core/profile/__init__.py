"""Profiles: everything set on a ragdoll, as a file, and which of it is for which bone of a rig."""
