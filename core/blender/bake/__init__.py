"""The result as ordinary keyframes, and the way back."""
