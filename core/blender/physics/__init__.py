"""The objects of a ragdoll and the world that they live in: made, found, kept in line, removed."""
