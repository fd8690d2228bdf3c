"""A jointed mannequin made in code for Blender's human metarig: closed surfaces and their weights."""

from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from mathutils import Vector

SIDES = ("L", "R")
_SEGMENTS = 24  # vertices around a part; enough for smooth outlines in a 480 pixel tile
_FORWARD = np.array((0.0, -1.0, 0.0))

# Name, viewport and render colour (linear RGB).
MATERIALS = (
    ("mannequin shell", (0.80, 0.42, 0.14)),
    ("mannequin joint", (0.06, 0.07, 0.10)),
    ("mannequin trim", (0.78, 0.76, 0.72)),
)
_SHELL, _JOINT, _TRIM = range(3)

# The torso from crotch to collar: height, half width, half depth, centre's y [m]; the metarig is 1.98 m tall.
_TORSO_RINGS = np.array(
    (
        (0.945, 0.060, 0.055, 0.020),
        (0.970, 0.112, 0.090, 0.022),
        (1.020, 0.152, 0.112, 0.024),
        (1.075, 0.168, 0.120, 0.022),
        (1.130, 0.158, 0.114, 0.014),
        (1.165, 0.146, 0.106, 0.010),
        (1.170, 0.134, 0.096, 0.009),
        (1.215, 0.126, 0.092, 0.004),
        (1.260, 0.126, 0.092, 0.000),
        (1.290, 0.132, 0.096, -0.002),
        (1.295, 0.146, 0.108, -0.003),
        (1.350, 0.160, 0.122, -0.004),
        (1.430, 0.176, 0.132, -0.004),
        (1.510, 0.178, 0.130, 0.002),
        (1.570, 0.160, 0.114, 0.008),
        (1.615, 0.126, 0.092, 0.012),
        (1.650, 0.088, 0.072, 0.010),
        (1.695, 0.066, 0.062, 0.000),
    )
)
_WAIST = (1.1675, 1.2925)  # heights [m] between which the torso shows its dark, bending middle


@dataclass
class Part:
    """A closed surface of the mannequin.

    vertices: shape [n, 3], in metres, armature space. faces: tuples of vertex indices. materials: one index a
    face.
    weights: bone name -> weights, shape [n].
    """

    vertices: np.ndarray
    faces: list[tuple[int, ...]]
    materials: list[int]
    weights: dict[str, np.ndarray]


def mannequin_parts(bones: bpy.types.ArmatureBones) -> list[Part]:
    """The parts in armature space, sized for the human metarig's bind pose."""
    head_of = {bone.name: np.array(bone.head_local) for bone in bones}
    tail_of = {bone.name: np.array(bone.tail_local) for bone in bones}
    parts = [_torso()]
    neck_from, neck_to = head_of["spine.004"], tail_of["spine.005"]
    neck = _limb(
        neck_from - (0, 0, 0.03),
        neck_to + np.array((0, 0, 0.02)),
        "spine.004",
        _JOINT,
        ((0.0, 0.066), (0.4, 0.058), (1.0, 0.056)),
    )
    share = np.clip((neck.vertices[:, 2] - head_of["spine.005"][2]) / 0.06 + 0.5, 0.0, 1.0)
    neck.weights = {"spine.004": 1.0 - share, "spine.005": share}
    parts += [neck, *_head(tail_of["spine.006"])]
    for side in SIDES:
        parts += _arm(side, head_of, tail_of)
        parts += _leg(side, head_of, tail_of)
    return parts


# Of a horse: by bone the radii of a limb at its head, a third of the way and its tail [m].
_HORSE_LIMBS = {
    "neck.001": (0.20, 0.19, 0.16), "neck.002": (0.16, 0.15, 0.13), "neck.003": (0.14, 0.13, 0.12),
    "neck.004": (0.12, 0.12, 0.11), "head": (0.13, 0.13, 0.07), "tail.001": (0.06, 0.06, 0.06),
    "tail.002": (0.06, 0.07, 0.07), "tail.003": (0.07, 0.08, 0.07), "tail.004": (0.07, 0.06, 0.05),
    "tail.005": (0.05, 0.04, 0.02), "ear.L": (0.03, 0.035, 0.01), "ear.R": (0.03, 0.035, 0.01),
}  # fmt: skip
_HORSE_LEGS = {
    "upper_arm": (0.13, 0.13, 0.09), "forearm": (0.09, 0.085, 0.05), "forefoot": (0.05, 0.038, 0.04),
    "f_toe": (0.045, 0.04, 0.045), "f_hoof": (0.05, 0.055, 0.065), "thigh": (0.18, 0.18, 0.12),
    "lower_leg": (0.11, 0.10, 0.055), "hind_foot": (0.055, 0.04, 0.042), "r_toe": (0.045, 0.04, 0.045),
    "r_hoof": (0.05, 0.055, 0.065),
}  # fmt: skip
# Bone, middle and radii of the parts of the trunk [m].
_HORSE_TRUNK = (
    ("spine.001", (0.0, 0.58, 1.27), (0.25, 0.36, 0.24)),
    ("spine.003", (0.0, 0.22, 1.14), (0.26, 0.34, 0.28)),
    ("spine.005", (0.0, -0.22, 1.12), (0.26, 0.38, 0.31)),
    ("spine.006", (0.0, -0.55, 1.19), (0.22, 0.32, 0.29)),
)


def horse_parts(bones: bpy.types.ArmatureBones) -> list[Part]:
    """A horse's parts in armature space, for Rigify's metarig of one in its bind pose."""
    legs = {f"{bone}.{side}": radii for bone, radii in _HORSE_LEGS.items() for side in SIDES}
    parts = [_ellipsoid(np.array(middle), radii, bone, _SHELL) for bone, middle, radii in _HORSE_TRUNK]
    for name, (head, middle, tail) in (_HORSE_LIMBS | legs).items():
        ends = (np.array(end) for end in (bones[name].head_local, bones[name].tail_local))
        material = _JOINT if "hoof" in name or "tail" in name else _SHELL
        parts.append(_limb(*ends, name, material, ((0.0, head), (0.35, middle), (1.0, tail))))
    return parts


def _torso() -> Part:
    heights = np.linspace(_TORSO_RINGS[0, 0], _TORSO_RINGS[-1, 0], 71)
    rings = np.stack([_profile(heights, _TORSO_RINGS[:, 0], _TORSO_RINGS[:, i]) for i in range(4)], axis=1)
    angle = np.arange(_SEGMENTS) * (2.0 * np.pi / _SEGMENTS)
    cos, sin = np.cos(angle), np.sin(angle)
    # a superellipse: a trunk's section is boxier than an ellipse
    across, along = np.sign(cos) * np.abs(cos) ** 0.8, np.sign(sin) * np.abs(sin) ** 0.8
    points = np.stack(
        [
            rings[:, None, 1] * across,
            rings[:, None, 3] + rings[:, None, 2] * along,
            np.broadcast_to(rings[:, None, 0], (len(rings), _SEGMENTS)),
        ],
        axis=2,
    )
    part = _loft(points, points[0].mean(axis=0) - (0, 0, 0.012), points[-1].mean(axis=0) + np.array((0, 0, 0.008)))
    middle = np.array([part.vertices[list(face), 2].mean() for face in part.faces])
    part.materials = np.where((middle > _WAIST[0]) & (middle < _WAIST[1]), _JOINT, _SHELL).tolist()
    # the spine's joints stand at 1.157, 1.293 and 1.466 m: each is blended over a few centimetres
    height = part.vertices[:, 2]
    above = [
        np.clip((height - joint) / width + 0.5, 0.0, 1.0)
        for joint, width in ((1.175, 0.07), (1.285, 0.07), (1.466, 0.16))
    ]
    part.weights = {
        "spine": 1.0 - above[0],
        "spine.001": above[0] * (1.0 - above[1]),
        "spine.002": above[1] * (1.0 - above[2]),
        "spine.003": above[2],
    }
    return part


def _head(top: np.ndarray) -> list[Part]:
    centre = np.array((0.0, -0.030, top[2] - 0.136))
    skull = _ellipsoid(centre, (0.092, 0.114, 0.138), "spine.006", _SHELL)
    # narrower towards the chin
    down = np.clip((centre[2] - skull.vertices[:, 2]) / 0.138, 0.0, 1.0)
    skull.vertices[:, 0] *= 1.0 - 0.30 * down**2
    skull.vertices[:, 1] = centre[1] - 0.02 * down + (skull.vertices[:, 1] - centre[1]) * (1.0 - 0.22 * down**2)
    visor = _ellipsoid(centre + np.array((0, -0.052, 0.012)), (0.074, 0.070, 0.038), "spine.006", _JOINT)
    return [skull, visor]


def _arm(side: str, head_of: dict, tail_of: dict) -> list[Part]:
    upper, fore, hand = f"upper_arm.{side}", f"forearm.{side}", f"hand.{side}"
    shoulder, elbow, wrist = head_of[upper], head_of[fore], head_of[hand]
    sign = 1.0 if side == "L" else -1.0
    parts = [
        _ellipsoid(shoulder - (sign * 0.022, 0.004, 0.006), (0.078, 0.070, 0.070), f"shoulder.{side}", _SHELL),
        _ellipsoid(shoulder + np.array((sign * 0.012, 0, -0.010)), (0.058,) * 3, upper, _JOINT),
        _limb(
            shoulder,
            elbow,
            upper,
            _SHELL,
            ((0.14, 0.044), (0.24, 0.055), (0.45, 0.056), (0.75, 0.046), (0.90, 0.041)),
        ),
        _ellipsoid(elbow, (0.040,) * 3, fore, _JOINT),
        _limb(elbow, wrist, fore, _SHELL, ((0.09, 0.038), (0.25, 0.047), (0.55, 0.041), (0.92, 0.029))),
        _ellipsoid(wrist, (0.027,) * 3, hand, _JOINT),
        _palm(side, head_of, tail_of),
    ]
    radii = {"thumb": 0.0125, "f_index": 0.0105, "f_middle": 0.0110, "f_ring": 0.0105, "f_pinky": 0.0090}
    for finger, radius in radii.items():
        for joint in ("01", "02", "03"):
            bone = f"{finger}.{joint}.{side}"
            parts.append(
                _limb(
                    head_of[bone],
                    tail_of[bone],
                    bone,
                    _TRIM,
                    ((-0.1, radius), (0.5, radius * 0.97), (1.05, radius * 0.92)),
                    segments=10,
                )
            )
    return parts


def _palm(side: str, head_of: dict, tail_of: dict) -> Part:
    """A flat rounded slab from the wrist to the knuckles, following the plane of the metarig's hand."""
    wrist = head_of[f"hand.{side}"]
    index, pinky = head_of[f"f_index.01.{side}"], head_of[f"f_pinky.01.{side}"]
    knuckles = 0.5 * (index + pinky)
    across = _unit(index - pinky)
    normal = _unit(np.cross(across, knuckles - wrist))
    half_width = 0.5 * np.linalg.norm(index - pinky) + 0.012
    stations = np.array(
        (
            (0.02, 0.026, 0.018),
            (0.20, 0.032, 0.018),
            (0.50, half_width * 0.92, 0.019),
            (0.80, half_width, 0.017),
            (1.02, half_width * 0.96, 0.013),
        )
    )
    angle = np.arange(_SEGMENTS) * (2.0 * np.pi / _SEGMENTS)
    rings = [
        wrist
        + t * (knuckles - wrist)
        + np.outer(np.cos(angle), width * across)
        + np.outer(np.sin(angle), depth * normal)
        for t, width, depth in stations
    ]
    part = _loft(np.array(rings), rings[0].mean(axis=0), rings[-1].mean(axis=0) + 0.006 * _unit(knuckles - wrist))
    part.materials = [_TRIM] * len(part.faces)
    part.weights = {f"hand.{side}": np.ones(len(part.vertices))}
    return part


def _leg(side: str, head_of: dict, tail_of: dict) -> list[Part]:
    thigh, shin, foot, toe = (f"{name}.{side}" for name in ("thigh", "shin", "foot", "toe"))
    hip, knee, ankle = head_of[thigh], head_of[shin], head_of[foot]
    ball = head_of[toe]
    down = np.array((0.0, 0.0, -1.0))
    return [
        _ellipsoid(hip + 0.045 * down, (0.078,) * 3, thigh, _JOINT),
        _limb(
            hip,
            knee,
            thigh,
            _SHELL,
            ((0.12, 0.072), (0.20, 0.088), (0.40, 0.086), (0.70, 0.067), (0.92, 0.054)),
        ),
        _ellipsoid(knee + np.array((0, 0.004, 0)), (0.054,) * 3, shin, _JOINT),
        _limb(
            knee,
            ankle,
            shin,
            _SHELL,
            ((0.08, 0.048), (0.18, 0.056), (0.35, 0.060), (0.60, 0.050), (0.94, 0.034)),
            offset=(0, 0.012, 0),
        ),
        _ellipsoid(ankle, (0.037,) * 3, foot, _JOINT),
        *_shoe(ankle, ball, foot, toe),
    ]


def _shoe(ankle: np.ndarray, ball: np.ndarray, foot: str, toe: str) -> list[Part]:
    """Foot and toe cap with a flat sole on z = 0, from behind the heel to past the toe bone's tail."""
    # y, half width, height of the upper side [m]
    back = np.array(
        (
            (0.078, 0.018, 0.040),
            (0.070, 0.032, 0.062),
            (0.045, 0.038, 0.078),
            (0.010, 0.039, 0.082),
            (-0.040, 0.042, 0.072),
            (-0.080, 0.046, 0.056),
            (ball[1] - 0.002, 0.047, 0.051),
        )
    )
    front = np.array(
        (
            (ball[1] - 0.008, 0.047, 0.050),
            (-0.130, 0.046, 0.042),
            (-0.160, 0.040, 0.035),
            (-0.180, 0.028, 0.028),
            (-0.188, 0.012, 0.020),
        )
    )
    parts = []
    angle = np.arange(_SEGMENTS) * (2.0 * np.pi / _SEGMENTS)
    for stations, bone, material in ((back, foot, _TRIM), (front, toe, _JOINT)):
        fine = np.linspace(stations[0, 0], stations[-1, 0], 15)
        width, top = (np.interp(-fine, -stations[:, 0], stations[:, i]) for i in (1, 2))
        x = ankle[0] + width[:, None] * np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** 0.75
        z = np.where(np.sin(angle) > 0, np.sin(angle) * 0.75 * top[:, None], np.sin(angle) * 0.6 * top[:, None])
        z = np.maximum(z + 0.25 * top[:, None], 0.0)
        points = np.stack([x, np.broadcast_to(fine[:, None], x.shape), z], axis=2)
        part = _loft(points, points[0].mean(axis=0), points[-1].mean(axis=0))
        part.materials = [material] * len(part.faces)
        part.weights = {bone: np.ones(len(part.vertices))}
        parts.append(part)
    return parts


def _limb(
    start: np.ndarray,
    end: np.ndarray,
    bone: str,
    material: int,
    stations: tuple[tuple[float, float], ...],
    segments: int = _SEGMENTS,
    offset: tuple[float, float, float] = (0, 0, 0),
) -> Part:
    """A tapered limb with rounded ends around the line from start to end, rigid on one bone.

    Args:
        start, end: ends of the line [m], shape [3].
        stations: (share of the line, radius [m]) from start to end.
        offset: shift of the middle [m], a bulge such as the calf's.
    """
    axis = _unit(end - start)
    across = _unit(np.cross(axis, _FORWARD if abs(axis @ _FORWARD) < 0.9 else np.array((0.0, 0.0, 1.0))))
    other = np.cross(axis, across)
    shares, radii = np.array(stations).T
    fine = np.linspace(shares[0], shares[-1], 13)
    fine_radii = _profile(fine, shares, radii)
    length = np.linalg.norm(end - start)
    cap = np.linspace(0.0, 0.5 * np.pi, 6)[1:-1]
    t = np.concatenate(
        [
            fine[0] - fine_radii[0] * np.sin(cap[::-1]) * 0.6 / length,
            fine,
            fine[-1] + fine_radii[-1] * np.sin(cap) * 0.6 / length,
        ]
    )
    r = np.concatenate([fine_radii[0] * np.cos(cap[::-1]), fine_radii, fine_radii[-1] * np.cos(cap)])
    centres = start + t[:, None] * (end - start)
    centres = centres + np.clip(np.sin(np.pi * t), 0.0, 1.0)[:, None] * np.array(offset)
    angle = np.arange(segments) * (2.0 * np.pi / segments)
    ring = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * other
    points = centres[:, None] + r[:, None, None] * ring
    part = _loft(
        points,
        start + (t[0] - 0.02 * r[0] / length) * (end - start),
        start + (t[-1] + 0.02 * r[-1] / length) * (end - start),
    )
    part.materials = [material] * len(part.faces)
    part.weights = {bone: np.ones(len(part.vertices))}
    return part


def _ellipsoid(centre: np.ndarray, radii: tuple[float, ...], bone: str, material: int) -> Part:
    polar = np.linspace(0.0, np.pi, 14)[1:-1]
    angle = np.arange(_SEGMENTS) * (2.0 * np.pi / _SEGMENTS)
    unit = np.stack(
        [
            np.outer(np.sin(polar), np.cos(angle)),
            np.outer(np.sin(polar), np.sin(angle)),
            np.outer(-np.cos(polar), np.ones(_SEGMENTS)),
        ],
        axis=2,
    )
    radii = np.array(radii)
    part = _loft(centre + unit * radii, centre - (0, 0, radii[2]), centre + np.array((0, 0, radii[2])))
    part.materials = [material] * len(part.faces)
    part.weights = {bone: np.ones(len(part.vertices))}
    return part


def _loft(rings: np.ndarray, first_pole: np.ndarray, last_pole: np.ndarray) -> Part:
    """A closed surface through rings of points, shape [rings, points, 3], with outward normals."""
    count, points = rings.shape[:2]
    vertices = np.concatenate([rings.reshape(-1, 3), [first_pole, last_pole]])
    first, last = count * points, count * points + 1
    faces = []
    for j in range(points):
        k = (j + 1) % points
        faces.append((first, k, j))
        faces.append((last, (count - 1) * points + j, (count - 1) * points + k))
        faces += [
            (i * points + j, i * points + k, (i + 1) * points + k, (i + 1) * points + j) for i in range(count - 1)
        ]
    if _signed_volume(vertices, faces) < 0.0:
        faces = [face[::-1] for face in faces]
    return Part(vertices, faces, [], {})


def _signed_volume(vertices: np.ndarray, faces: list[tuple[int, ...]]) -> float:
    """Six times the enclosed volume, positive with outward normals (divergence theorem)."""
    origin = Vector(vertices.mean(axis=0))
    total = 0.0
    for face in faces:
        a, *rest = (Vector(vertices[index]) - origin for index in face)
        for b, c in pairwise(rest):
            total += a.dot(b.cross(c))
    return total


def _profile(at: np.ndarray, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """A smooth curve through (xs, ys), xs rising, that does not overshoot, at the given places.

    Monotone cubic interpolation, F. N. Fritsch and J. Butland, 1984 (harmonic mean of the neighbouring
    slopes).
    """
    widths = np.diff(xs)
    slopes = np.diff(ys) / widths
    product = slopes[1:] * slopes[:-1]
    inner = np.where(product > 0.0, 2.0 * product / np.where(product > 0.0, slopes[1:] + slopes[:-1], 1.0), 0.0)
    tangents = np.concatenate([slopes[:1], inner, slopes[-1:]])
    i = np.clip(np.searchsorted(xs, at) - 1, 0, len(widths) - 1)
    t = (at - xs[i]) / widths[i]
    start = 2.0 * t**3 - 3.0 * t**2 + 1.0
    return (
        ys[i] * start
        + ys[i + 1] * (1.0 - start)
        + widths[i] * (tangents[i] * (t**3 - 2.0 * t**2 + t) + tangents[i + 1] * (t**3 - t**2))
    )


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)
