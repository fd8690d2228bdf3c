"""Reading what users bring: armatures, meshes, bones' roles, actions, files."""
