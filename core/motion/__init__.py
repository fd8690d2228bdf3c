"""What happens to a pose between the animation and the physics: layers, look-at, inverse kinematics."""
