"""Limits of joints, and the Blender constraints that hold them."""
