"""Entries of the motion stack that bring a limb or a bone to a place."""
