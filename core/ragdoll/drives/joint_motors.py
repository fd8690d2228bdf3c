"""Driving joints by motors between child and parent (no outside hand, so momentum is kept), and what joints carry.

What counts is the rotation of the child relative to the parent in the joint's frame, `relative`, the identity in bind
pose, as in `joints.limits`. A motor is one angular velocity row of Bullet between the two bodies; it has an axis X that
is fixed in the parent and an axis Z that is fixed in the child, and drives

    a = normalize(x - z (x . z))

a degenerates where x and z come to be parallel. X and Z are two of the joint frame's three axes, so there are six
motors to choose from; three good ones are enough at any one rotation, and which are good changes on the way through
90 degrees.

A motor keeps a velocity through the whole frame. The command is therefore the constant velocity that leads from where
the joint is to where the target will be at the frame's end, projected on the axes as they stand in the middle.
"""

import itertools

import numpy as np

from ... import quaternion

MOTORS = tuple(itertools.permutations(range(3), 2))  # (x, z) axes of the six motors
_UNIT = np.eye(3)
_X = np.array([x for x, _z in MOTORS])
_Z = np.array([z for _x, z in MOTORS])
_TRIPLES = np.array(list(itertools.combinations(range(len(MOTORS)), 3)))
FLAT = 1e-9  # square of the determinant of three motors' axes that as good as lie in one plane
SKEWED = 0.5  # determinant of three motors' axes: 1 at right angles, 0 where they lie in one plane


def axes(relative):
    """Axes [m, 6, 3] that the motors drive at rotations relative [m, 4], in the parent's joint frame.

    Zero for a motor that is within 0.6 degrees of degenerate."""
    turns = quaternion.to_matrix(relative)
    z = turns.swapaxes(-1, -2)[..., _Z, :]
    across = _UNIT[_X] - z * turns[..., _X, _Z, None]
    length = np.sqrt(np.add.reduce(across * across, axis=-1, keepdims=True))
    return np.where(length > 0.01, across / np.maximum(length, 1e-9), 0.0)


def needed_motors(relatives) -> tuple:
    """Indices into `MOTORS` of the fewest that stand well at all rotations [k, 4] that a joint can take."""
    size = np.abs(np.linalg.det(axes(np.asarray(relatives, dtype=float))[:, _TRIPLES]))
    best, chosen = -1.0, tuple(range(len(MOTORS)))
    for count in range(3, len(MOTORS) + 1):
        for subset in itertools.combinations(range(len(MOTORS)), count):
            worst = float(size[:, np.isin(_TRIPLES, subset).all(axis=1)].max(axis=1).min())
            if worst > best + 1e-9:
                best, chosen = worst, subset
        if best >= SKEWED:
            break
    return chosen


def motor_speeds(relative, velocity, available, seconds):
    """Which motors are on [m, 6], their velocities [rad/s] [m, 6] and axes [m, 6, 3] halfway through a frame.

    A joint with up to three motors (a hinge has one) runs them all. `relative` are rotations now [m, 4];
    `velocity` is in the parent's joint frame, see `Law.joint_command` [m, 3]; `available` are a joint's motors [m, 6].
    """
    axes_of = axes(quaternion.multiply(quaternion.from_rotation_vector(0.5 * seconds * velocity), relative))
    on = available.copy()
    (choice,) = (np.add.reduce(available, axis=1) > 3).nonzero()
    if len(choice):
        size = np.abs(np.linalg.det(axes_of[choice][:, _TRIPLES]))  # the three whose axes stand best
        best = np.argmax(np.where(available[choice][:, _TRIPLES].all(axis=-1), size, -1.0), axis=1)
        on[choice] = False
        on[choice[:, None], _TRIPLES[best]] = True
    return on, (axes_of @ velocity[..., None])[..., 0], axes_of


def shares(axes_of, on, torque):
    """Largest torques [k, 6] of the motors that are on [k, 6], which together amount to a torque [k, 3].

    Their axes may be skewed: the shares solve the sum of share times axis for the torque, by least squares where a
    joint has fewer than three motors.
    """
    columns = np.where(on[..., None], axes_of, 0.0)
    # The normal equations take a tenth of the time of a pseudo-inverse.
    normal = columns.swapaxes(-1, -2) @ columns
    normal[np.add.reduce(on, axis=1) == 1] = _UNIT  # a single axis takes its part of the torque
    normal[np.linalg.det(normal) < FLAT] += FLAT * _UNIT  # else their shares would have no end
    return np.abs(columns @ np.linalg.solve(normal, torque[..., None]))[..., 0]


def carried_tensors(masses, moments, bodies, joints, carries) -> np.ndarray:
    """Inertia tensors [k, 3, 3] of all that each joint carries, about the joint, in its own axes [kg m^2]: from masses
    [m] [kg], moments [m, 3] [kg m^2] about the bodies' own axes, rigid matrices of bodies [m, 4, 4] and joints
    [k, 4, 4] [m], and whether a joint carries a body [k, m]."""
    places, into = bodies.copy(), joints[:, :3, :3].transpose(0, 2, 1)
    places[:, :3, 3] -= (middle := bodies[0, :3, 3])  # far from the world's origin the sums below would lose digits
    # Products of coordinates over the mass: of all points with 1 as the fourth, so that they tell those about a joint.
    across = 0.5 * np.add.reduce(moments, axis=1, keepdims=True) - moments
    products = (places * np.concatenate([across, masses[:, None]], axis=1)[:, None]) @ places.transpose(0, 2, 1)
    seen = np.concatenate([into, into @ (middle - joints[:, :3, 3])[:, :, None]], axis=2)
    found = seen @ (carries @ products.reshape(-1, 16)).reshape(-1, 4, 4) @ seen.transpose(0, 2, 1)
    return np.add.reduce(found.diagonal(axis1=1, axis2=2), axis=1)[:, None, None] * _UNIT - found
