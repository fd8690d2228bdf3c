"""The motion stack: from a character's animation to the pose that physics follows."""
