"""What a ragdoll is made of: which bones get a body, the shape of each, overlaps, moments of inertia."""
