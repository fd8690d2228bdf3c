"""Scenes of the gallery: each module has `main(out)`, which writes a .blend and a contact sheet into a folder."""
