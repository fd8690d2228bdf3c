"""The one place inside core that knows bpy: everything here reads or writes Blender's data."""
