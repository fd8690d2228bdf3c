"""What is drawn over the 3D view, as data."""
