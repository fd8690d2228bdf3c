"""What a ragdoll is made of and how it is driven, as arrays: numpy only, never bpy."""
