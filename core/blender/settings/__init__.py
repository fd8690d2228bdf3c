"""The settings stored in the file, and how they are read at a frame."""
