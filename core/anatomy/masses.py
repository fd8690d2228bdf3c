"""Masses, strengths and speeds of a human: from tables of body segments and joints, for the bodies that stand for each.

A table of masses gives each segment's share of the body mass. A segment whose bones have several bodies is shared
among them by volume; one that has none goes to the body that carries its bones, or, where the rig has no such bones at
all, to the next segment towards the trunk. So the total is the body mass whatever the rig.
"""

import math
from functools import lru_cache

import numpy as np

from ..errors import RagdollError
from ..skeleton import from_the_roots, nearest_ancestors, path_to_root
from . import roles

MASS, STATURE = 70.0, 1.8  # [kg] of a human of [m]; others by the cube of their height
GRAVITY = 9.81  # [m/s^2] of the Earth
# Automatic masses stop growing and shrinking with the size here [m]: props in Blender weigh 1 kg by default at any
# scale, and no body can be lighter than a gram.
GIANT, DWARF = 3.0, 0.5
STABLE = (0.8, 1.2)  # masses of child to parent, as in Jolt Physics
CARRIED = 10.0  # times its own mass a body carries steadily, at 480 steps a second and 40 iterations
LIGHTEST_SHARE = 0.002  # of the total mass: lighter bodies make the solver's mass ratios bad
HEAD, TRUNK, UPPER_ARM, FOREARM, HAND = "HEAD", "TRUNK", "UPPER_ARM", "FOREARM", "HAND"
THIGH, SHANK, FOOT = "THIGH", "SHANK", "FOOT"
_SEGMENTS = (HEAD, TRUNK, UPPER_ARM, FOREARM, HAND, THIGH, SHANK, FOOT)
_CENTRAL = (HEAD, TRUNK)

# Percent of the body mass, one side for limbs. De Leva 1996, Adjustments to Zatsiorsky-Seluyanov's segment inertia
# parameters, J. Biomechanics 29; Winter 2009, Biomechanics and Motor Control of Human Movement, table 4.1.
TABLES = {
    "DE_LEVA_MALE": dict(zip(_SEGMENTS, (6.94, 43.46, 2.71, 1.62, 0.61, 14.16, 4.33, 1.37), strict=True)),
    "DE_LEVA_FEMALE": dict(zip(_SEGMENTS, (6.68, 42.58, 2.55, 1.38, 0.56, 14.78, 4.81, 1.29), strict=True)),
    "WINTER": dict(zip(_SEGMENTS, (8.1, 49.7, 2.8, 1.6, 0.6, 10.0, 4.65, 1.45), strict=True)),
}
DEFAULT_TABLE = "DE_LEVA_MALE"
_ROLES_OF = {
    TRUNK: (roles.PELVIS, roles.SPINE, roles.CHEST, roles.CLAVICLE),
    HEAD: (roles.NECK, roles.HEAD, roles.JAW, roles.EYE, roles.EAR),
    UPPER_ARM: (roles.UPPER_ARM,), FOREARM: (roles.FOREARM,), HAND: (roles.HAND, roles.THUMB, roles.FINGER),
    THIGH: (roles.THIGH,), SHANK: (roles.SHANK,), FOOT: (roles.FOOT, roles.TOE),
}  # fmt: skip
_OF_ROLE = {role: segment for segment, found in _ROLES_OF.items() for role in found}
_TOWARDS_TRUNK = {HAND: FOREARM, FOREARM: UPPER_ARM, FOOT: SHANK, SHANK: THIGH}  # all others are next to it


@lru_cache(maxsize=64)  # it is asked for many times a frame
def froude(size: float, gravity: float) -> float:
    """sqrt(gravity * height) [m/s]: 4.2 for a man. Where nothing falls, the Earth's gravity counts.

    Motions are alike where the ratio of their speeds to it is (Froude's number).
    Raises RagdollError: a height that is not positive, or a value that is no number.
    """
    if not (math.isfinite(size) and size > 0.0):
        raise RagdollError(f"The character's height must be positive, got {size:g} m")
    if not math.isfinite(gravity):
        raise RagdollError(f"Gravity must be a number, got {gravity:g}")
    return math.sqrt((abs(gravity) or GRAVITY) * size)


def human_mass(height: float) -> float:
    """Mass [kg] of a human of a height [m]: `MASS` at `STATURE`, by the cube of the height between the bounds."""
    return MASS * (float(np.clip(height, DWARF, GIANT)) / STATURE) ** 3


def human_shares(table: str, anatomy: roles.Anatomy, parents, bones, volumes) -> np.ndarray:
    """Share of the body mass of every body [m], by one of `TABLES`; they sum to 1. Parents are of bones, before their
    children, -1 at roots [n], `bones` those of the bodies [m], likewise; volumes of the bodies [m^3] [m] not negative.
    """
    volumes = np.asarray(volumes, dtype=float)
    segments: list = []  # (segment, side) of every bone: what has none by its role, such as a twist bone, its parent's
    for bone, parent in enumerate(parents):
        segment = _OF_ROLE.get(anatomy.roles[bone])
        side = roles.CENTER if segment in _CENTRAL else anatomy.sides[bone]
        above = segments[parent] if parent >= 0 else (TRUNK, roles.CENTER)
        segments.append(above if segment is None else (segment, side))
    own = {int(bone): i for i, bone in enumerate(bones)}
    chosen = np.isin(np.arange(len(parents)), bones)
    # Of each bone: its own body, else its nearest ancestor's, else the first.
    carriers = np.where(chosen, np.arange(len(parents)), nearest_ancestors(parents, chosen))
    carrier = [own.get(bone, 0) for bone in carriers.tolist()]
    shares = np.zeros(len(bones))
    for segment in _SEGMENTS:
        for side in (roles.CENTER,) if segment in _CENTRAL else (roles.LEFT, roles.RIGHT):
            bodies = _bodies_of(segment, side, segments, carrier, bones)
            size = volumes[bodies] if volumes[bodies].sum() > 0.0 else np.ones(len(bodies))
            shares[bodies] += TABLES[table][segment] * size / size.sum()
    return shares / shares.sum()


def _bodies_of(segment, side, segments, carrier, bones) -> list:
    """Bodies that take a segment's mass, at least one."""
    own = [i for i, bone in enumerate(bones) if segments[bone] == (segment, side)]
    carried = [carrier[bone] for bone, found in enumerate(segments) if found == (segment, side)]
    if own or carried or segment == TRUNK:
        return own or carried[:1] or [0]  # that of the bone next to the trunk
    nearer = _TOWARDS_TRUNK.get(segment, TRUNK)
    return _bodies_of(nearer, roles.CENTER if nearer == TRUNK else side, segments, carrier, bones)


def with_floor(masses) -> np.ndarray:
    """Masses [m], none lighter than `LIGHTEST_SHARE` of the total; the heavier ones pay for it, the total is kept."""
    masses = np.array(masses, dtype=float)
    total = masses.sum()
    least = min(LIGHTEST_SHARE, 1.0 / max(len(masses), 1)) * total
    light = np.zeros(len(masses), dtype=bool)
    while (found := ~light & (masses < least * (1.0 - 1e-12))).any():
        light |= found
        masses[light] = least
        masses[~light] *= (total - least * np.count_nonzero(light)) / masses[~light].sum()
    return masses


def stabilised(masses, parents) -> np.ndarray:
    """Masses [m] whose ratio child / parent lies within `STABLE`, with the same total.

    As `RagdollSettings::Stabilize` of Jolt Physics does it, after O. Strunk's "Stop my constraints from blowing up!":
    from the roots down each child's mass is moved into the range, then all are scaled. Bodies of one tree keep
    their tree's total. (Jolt raises the parents' inertia too; Blender computes inertia from the shape.)

    `masses` are positive [kg] [m], `parents` in any order, -1 at roots [m].
    """
    result = np.array(masses, dtype=float)
    for i in from_the_roots(parents):
        if parents[i] >= 0:
            result[i] = np.clip(result[i], *(bound * result[parents[i]] for bound in STABLE))
    return _with_totals(result, masses, parents)


def carried(masses, parents) -> np.ndarray:
    """Masses [m], [kg], of which no child has more than `CARRIED` times its parent's, with the same total.

    A light body between heavy ones, such as a horse's shoulder blade, gives way; a light one at the end does not.
    `parents` in any order, -1 at roots [m].
    """
    result = np.array(masses, dtype=float)
    for i in reversed(from_the_roots(parents)):
        if parents[i] >= 0:
            result[parents[i]] = max(result[parents[i]], result[i] / CARRIED)
    return _with_totals(result, masses, parents)


def _with_totals(changed, masses, parents) -> np.ndarray:
    """Changed masses [m], scaled so that each tree of bodies weighs what it did."""
    if np.array_equal(changed, masses):
        return changed
    root = [path_to_root(parents, i)[-1] for i in range(len(changed))]
    before, after = (np.bincount(root, weights=m, minlength=len(changed)) for m in (masses, changed))
    return changed * (before / np.where(after > 0.0, after, 1.0))[root]


# Peak static torques of men, in the strongest direction of each joint, N m:
#
# =============  ======  =============================================================================================
# joint          torque  source
# =============  ======  =============================================================================================
# lower back     234     extension; Stobbe 1982, in Chaffin and Andersson, Occupational Biomechanics, table 4
# hip            190     extension; the same
# knee           223     extension in mid-range, 2.92 to 3.45 N m/kg of 13,893 people; Sarabon, Kozinc and Perman 2021,
#                        Establishing reference values for isometric knee extension and flexion strength
# ankle          126     plantar flexion; Stobbe 1982
# shoulder       92      horizontal flexion; the same
# elbow          77      flexion; the same
# wrist          12.2    flexion; Delp, Grierson and Buchanan 1996, Maximum isometric moments generated by the wrist
#                        muscles in flexion-extension and radial-ulnar deviation
# neck           51      extension; Fice, Siegmund and Blouin 2014, Prediction of three dimensional maximum isometric
#                        neck strength
# =============  ======  =============================================================================================
#
# Assumed: the collar bone as the shoulder, toes a tenth of the ankle, a finger a tenth of the wrist and a thumb twice
# that, the jaw half of the neck; eyes and ears next to nothing; tails and wings as the bone of an arm.
#
# Others scale as bodies of the same shape do: torques with weight times height, forces with weight. The force of a
# joint is its torque over the length of the segment it moves (Drillis and Contini 1966, in Winter, Biomechanics and
# Motor Control of Human Movement), what a hand or a foot can push with. The pelvis has no joint below it: its force is
# what legs push off with, 2.3 times the weight (peak ground reaction of a jump, Linthorne 2001, Analysis of standing
# vertical jumps using a force platform).
PUSH_OFF = 2.3  # times the weight
_TABLE = {  # torque [N m] of a man of 70 kg and 1.8 m, and length of the segment moved as a share of the height
    roles.PELVIS: (234.0, 0.0),
    **dict.fromkeys((roles.SPINE, roles.CHEST), (234.0, 0.288)),
    **dict.fromkeys((roles.NECK, roles.HEAD), (51.0, 0.182)),
    roles.JAW: (25.5, 0.182),
    roles.CLAVICLE: (92.0, 0.129),
    **dict.fromkeys((roles.UPPER_ARM, roles.WING), (92.0, 0.186)),
    **dict.fromkeys((roles.FOREARM, roles.TAIL), (77.0, 0.146)),
    roles.HAND: (12.2, 0.108), roles.FINGER: (1.22, 0.054), roles.THUMB: (2.44, 0.054),
    roles.THIGH: (190.0, 0.245), roles.SHANK: (223.0, 0.246), roles.FOOT: (126.0, 0.152), roles.TOE: (12.6, 0.05),
    **dict.fromkeys((roles.EAR, roles.EYE), (0.5, 0.05)),
}  # fmt: skip
_UNKNOWN = _TABLE[roles.FOREARM]  # a rig without any role: a joint in the middle of the table


def human_strengths(bone_roles, parents, mass: float, height: float):
    """Largest torque [N m] and force [N] of every bone [n] of a character.

    A bone that is not known by itself (TWIST, HELPER, GENERIC) is as strong as the nearest known one above it. Roles
    and parents are of all bones, in any order, -1 at roots [n]; mass [kg] and height [m] of the whole character.
    Raises RagdollError: mass or height is not a positive number; the message names it.
    """
    for name, value in (("mass", mass), ("height", height)):
        if not (np.isfinite(value) and value > 0.0):
            raise RagdollError(f"Strengths need a positive {name}, got {value:g}")
    rows = [_UNKNOWN] * len(parents)
    for bone in from_the_roots(parents):
        rows[bone] = _TABLE.get(bone_roles[bone], rows[parents[bone]] if parents[bone] >= 0 else _UNKNOWN)
    torque, length = np.array(rows, dtype=float).reshape(-1, 2).T
    weight = mass * GRAVITY
    torque = torque * weight * height / (MASS * GRAVITY * STATURE)
    lever = np.where(length > 0.0, length, 1.0) * height
    return torque, np.where(length > 0.0, torque / lever, PUSH_OFF * weight)
