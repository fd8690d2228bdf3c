"""How a motion looks in figures, and what people reach who get up: bounds measured on recorded get-ups, with a margin.

Speeds count by Froude's number as those of a man of 1.8 m under the Earth's gravity."""

import numpy as np

from core import quaternion

# [s], [m/s], [m/s^2], [deg/s], shares of the height, [deg] beyond straight; "seconds" is the least, all others are the
# most. A limb slides while it stands by a plan; deep is what is in the floor.
BOUNDS = {
    "seconds": 3.0, "up": 1.3, "down": 0.8, "across": 1.0, "up acc": 11.0, "down acc": 5.5, "across acc": 5.0,
    "pelvis": 350.0, "pelvis 95": 200.0, "spine": 200.0, "joint": 600.0, "joint 95": 400.0, "hand": 2.5,
    "hand acc": 25.0, "foot": 3.2, "foot acc": 36.0, "slide": 0.005, "deep": 0.01, "back": 5.0,
}  # fmt: skip
CUT = 6.0  # [Hz] of the low-pass that accelerations are taken after
# Of thigh, shank, foot, upper arm, forearm, hand: share of the mass (de Leva 1996), and where along it, from its joint
_SEGMENTS = ((0.1416, 0.0433, 0.0137), (0.0271, 0.0162, 0.0061))
_TRUNK, _HEAD = 0.4346, 0.0694


def smooth(values, fps: float) -> np.ndarray:
    """Values [f, ..] without what is above `CUT`: a Butterworth low-pass of second order run both ways."""
    k, s = np.tan(np.pi * min(CUT / 0.802 / fps, 0.45)), np.sqrt(2.0)
    b, norm = k * k, 1.0 + s * k + k * k
    a = 2.0 * (k * k - 1.0) / norm, (1.0 - s * k + k * k) / norm

    def run(x):
        y = x.copy()
        for i in range(2, len(x)):
            y[i] = b / norm * (x[i] + 2.0 * x[i - 1] + x[i - 2]) - a[0] * y[i - 1] - a[1] * y[i - 2]
        return y

    pad = min(20, len(values) - 1)
    longer = np.concatenate([2 * values[:1] - values[pad:0:-1], values, 2 * values[-1:] - values[-2 : -pad - 2 : -1]])
    return run(run(longer)[::-1])[::-1][pad:-pad]


def center_of_mass(own, places) -> np.ndarray:
    """Of a biped in poses [f, m, 3]."""
    first, middle, end = (places[:, own.limbs[:, i]] for i in range(3))
    weights = np.repeat(_SEGMENTS, 2, axis=0)
    parts = np.stack([0.57 * first + 0.43 * middle, 0.56 * middle + 0.44 * end, end], axis=2)
    hips, shoulders, head = first[:, :2].mean(axis=1), first[:, 2:].mean(axis=1), places[:, own.head]
    total = np.einsum("ls,flsa->fa", weights, parts) + _TRUNK * (0.55 * hips + 0.45 * shoulders)
    return (total + _HEAD * (1.4 * head - 0.4 * shoulders)) / (weights.sum() + _TRUNK + _HEAD)


def spins(rotations, fps: float) -> np.ndarray:
    """Angular speeds [f - 1, ..] of rotations [f, .., 4] [deg/s]."""
    return np.degrees(quaternion.angle_between(rotations[:-1], rotations[1:])) * fps


def figures(own, deltas, places, fps: float, gravity: float = 9.81) -> dict:
    """The figures of `BOUNDS` of a biped's motion: deltas [f, m, 4], places [f, m, 3]."""
    size, pull = own.height / 1.8, gravity / 9.81
    slow, fast = np.sqrt(size / pull), np.sqrt(size * pull)

    def against(a, b):
        return quaternion.multiply(quaternion.conjugate(a), b)

    mass = smooth(center_of_mass(own, places), fps * slow)
    speed, push = np.diff(mass, axis=0) * fps / fast, np.diff(mass, n=2, axis=0) * fps * fps / pull
    pelvis, limbs = spins(deltas[:, 0], fps) * slow, own.limbs[:, :2].ravel()
    joints = spins(against(deltas[:, own.above[limbs]], deltas[:, limbs]), fps) * slow
    spine = spins(against(deltas[:, 0], deltas[:, own.chest]), fps) * slow
    ends = places[:, own.limbs[:, 2]]
    moved = np.linalg.norm(np.diff(ends, axis=0), axis=-1) * fps / fast
    pushed = np.linalg.norm(np.diff(smooth(ends, fps * slow), n=2, axis=0), axis=-1) * fps * fps / pull
    found = {
        "seconds": (len(places) - 1) / fps / slow, "up": speed[:, 2].max(), "down": -speed[:, 2].min(),
        "across": np.linalg.norm(speed[:, :2], axis=1).max(), "up acc": push[:, 2].max(), "down acc": -push[:, 2].min(),
        "across acc": np.linalg.norm(push[:, :2], axis=1).max(), "pelvis": pelvis.max(),
        "pelvis 95": np.percentile(pelvis, 95), "spine": spine.max(), "joint": joints.max(),
        "joint 95": np.percentile(joints, 95, axis=0).max(), "hand": moved[:, 2:].max(),
        "hand acc": pushed[:, 2:].max(), "foot": moved[:, :2].max(), "foot acc": pushed[:, :2].max(),
    }  # fmt: skip
    return {name: float(value) for name, value in found.items()}


def beyond(found: dict) -> dict:
    """Those of some figures that are out of their bounds."""
    return {n: v for n, v in found.items() if (v < BOUNDS[n] if n == "seconds" else v > BOUNDS[n])}


def most_slide(made, values, fps: float) -> float:
    """The most by which values [f, 4, c] of hands and feet change while they stand by a plan."""
    times, found = np.arange(len(values)) / fps, [0.0]
    for i, planted in enumerate(made.planted):
        during = (times >= made.times[i]) & (times <= made.times[i + 1])
        found += [np.ptp(values[during, k], axis=0).max() for k in np.flatnonzero(planted)]
    return max(found)


def strays(own, made, deltas, places, surface, floor, fps: float) -> dict:
    """Of a plan's motion, deltas [f, m, 4] and places [f, m, 3], what else has a bound."""
    upper, middle, end = (places[:, own.limbs[:, i]] for i in range(3))
    bend = np.cross(middle - upper, end - middle) / (own.upper * own.lower)[:, None]
    back = -np.sum(bend * quaternion.rotate(deltas[:, own.limbs[:, 0]], own.hinges[:, 0]), axis=-1)
    back -= back[-1].clip(0.0)  # the animation's own, as of a horse's knees
    times = np.arange(len(places)) / fps
    stands = (times > made.times[1]) & (times < made.times[-2])  # until it steps into the animation's stance
    return {
        "slide": most_slide(made, own.extract(deltas, places).ends[..., :2], fps) / own.height,
        "deep": float(surface.depths(own, deltas[stands], places[stands], floor).max() / own.height),
        "back": float(np.degrees(np.arcsin(back.clip(0.0, 1.0).max()))),
    }
