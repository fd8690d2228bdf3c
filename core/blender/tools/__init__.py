"""What users do to settings and learn of a ragdoll beside running it."""
