"""The settings of a bone: its role, its body and its joint, and how strongly it follows."""

import math

import bpy

from ...anatomy.roles import GENERIC, ROLES, Anatomy
from ...ragdoll.bodies import convex, fitting
from .. import runtime
from .declare import READ, REBUILD, RECORD, angles, by_user, choice, flag, number, share, text, vector, wholes

JOINT_TYPES = (
    ("FIXED", "Fixed", "Does not turn against its parent"),
    ("HINGE", "Hinge", "Turns about one axis, the one whose range is not zero"),
    ("CONE", "Cone", "Two swings and a twist, each with its own range"),
    ("FREE", "Free", "Turns freely about its joint"),
)
SHAPES = (
    ("AUTO", "Automatic", "The one of least volume that covers the part of the mesh that the bone holds"),
    ("CAPSULE", "Capsule", "A capsule along the limb"),
    ("BOX", "Box", "A box along the limb"),
    ("SPHERE", "Sphere", "A sphere around the middle of the limb"),
    ("CONVEX_HULL", "Convex Hull", "A convex hull of at most 32 points around the bone's part of the mesh"),
    ("COMPOUND", "Compound", "Two or three convex hulls, split at bones that the body carries, such as a foot"),
)
BODY_MODES = (
    ("ACTIVE", "Active", "Follows its animation as strongly as its weights say"),
    ("LIMP", "Limp", "Ignores its animation"),
    ("KINEMATIC", "Kinematic", "Rides its animation and pushes others"),
)
LIMITS_FROM = (
    ("DEFAULT", "Default", "A generic range, widened to what the shot's animation needs"),
    ("RIG", "Rig", "Locked axes, IK limits or Limit Rotation constraints of the rig"),
    ("ANATOMY", "Anatomy", "The range of the recognised joint, widened to what the shot's animation needs"),
    ("USER", "User", "Set by hand; a new build keeps them"),
    ("PROFILE", "Profile", "The range of a preset, widened to what the shot's animation needs"),
)
_ROLES = [(role, role.replace("_", " ").title(), "") for role in ROLES]
_LIMITS = {"subtype": "EULER", "min": -math.pi, "max": math.pi}
_LIMIT = {"needs": REBUILD, "update": by_user("limits_from", "USER"), "found": True}


# fmt: off

class DriveFactors:
    """A part of the bone's settings: factors of the drives' parameters; see `object.take_registries`."""


class ActiveRagdollBone(DriveFactors, bpy.types.PropertyGroup):
    """Settings of a bone."""

    # Place and size of a body that was edited by hand, in the bone's frame and in the armature's own units.
    shape_by_user: flag("Own Size", "The body has the size and the place set here, or by hand in the viewport, instead "
        "of automatic ones", group="size", needs=REBUILD)
    half_extents: vector("Half Size", "Half of the body's size along its own X, Y and Z, in the armature's units; a "
        "capsule lies along Z and has its radius in X and Y", min=0.0, unit="LENGTH", precision=4, group="size",
        needs=REBUILD, own_units=True)
    body_location: vector("Place", "Middle of the body from the bone's head, in the bone's frame and the armature's "
        "units", unit="LENGTH", precision=4, group="size", needs=REBUILD, own_units=True)
    body_rotation: vector(None, "Rotation from the bone's to the body's frame", (1.0, 0.0, 0.0, 0.0), "QUATERNION",
        group="size", needs=REBUILD)
    body_points: text(None, "Corners of a convex hull, or of a compound's one after the other, in the body's frame and "
        "the armature's units, as JSON", group="size", needs=REBUILD, update=None, own_units=True)
    body_pieces: wholes(None, "How many of the corners each piece of a compound has; all 0 for other shapes",
        size=fitting.MOST_PARTS, min=0, max=convex.MOST_POINTS, group="size", needs=REBUILD, update=None)

    # The pose that takes the rest pose's place as bind pose, see `rig.armature.bind_joints`.
    bind_rotation: vector(None, "Rotation of the bone in the bind pose from its rest pose", (1.0, 0.0, 0.0, 0.0),
        "QUATERNION", needs=REBUILD)
    bind_location: vector(None, "Place of the bone in the bind pose from its rest pose, in the armature's units",
        needs=REBUILD, own_units=True)

    # What was recognised, unless the user has chosen.
    role: choice("Role", _ROLES, GENERIC, "What part of a body the bone is; masses, limits and profiles go by it",
        needs=REBUILD, update=by_user("role_by_user", True))
    role_by_user: flag(None, "The role was chosen by hand; a new build keeps it", needs=REBUILD, update=None)

    simulate: flag("Simulated", "This bone has a body of its own", needs=REBUILD)
    shape: choice("Shape", SHAPES, "AUTO", group="body", found=True, needs=REBUILD)
    mass: number("Mass", "0 is automatic: its part of a human, or the volume times the density", min=0.0, max=1.0e7,
        unit="MASS", group="body", found=True, zero="automatic", needs=REBUILD)
    friction: number("Friction", None, 0.5, min=0.0, soft_max=1.0, group="body", needs=REBUILD)
    bounciness: share("Bounciness", None, 0.0, group="body", needs=REBUILD)
    linear_damping: share("Linear Damping", None, 0.04, group="body", needs=REBUILD)
    angular_damping: share("Angular Damping", None, 0.1, group="body", needs=REBUILD)
    joint: choice("Joint", JOINT_TYPES, "CONE", group="joint", **_LIMIT)
    limit_min: vector("Min", "Lowest swing X, twist Y and swing Z from bind pose",
        (-math.pi / 4, -math.pi / 6, -math.pi / 4), group="limits", **_LIMITS, **_LIMIT)
    limit_max: vector("Max", "Highest swing X, twist Y and swing Z from bind pose",
        (math.pi / 4, math.pi / 6, math.pi / 4), group="limits", **_LIMITS, **_LIMIT)
    joint_rotation: vector("Joint Frame", "Rotation from the bone's to the joint's frame", (1.0, 0.0, 0.0, 0.0),
        "QUATERNION", group="joint", **_LIMIT)
    joint_angles: angles("Joint Frame", "joint_rotation", "Rotation from the bone's to the joint's frame")
    limits_from: choice("Limits From", LIMITS_FROM, "DEFAULT", found=True, needs=REBUILD)
    profile_limits: text(None, "Joint and range as the preset states them, before the animation widens them, as JSON",
        kind=RECORD)

    rotation_weight: share("Rotation", "Multiplies the character's rotation weight", keyed=True, group="weights",
        needs=READ)
    translation_weight: share("Translation", "Multiplies the character's translation weight", keyed=True,
        group="weights", needs=READ)
    body_mode: choice("Mode", BODY_MODES, "ACTIVE", keyed=True, group="weights", needs=READ)
    tone: share("Tone", "Multiplies the tone of the bone's muscles while it is knocked out: 0 hangs", keyed=True,
        group="weights", needs=READ)
    max_torque: number("Torque [N m]", "Largest torque of the drive; 0 is no limit", min=0.0, keyed=True,
        zero="no limit", ticked=100.0, group="weights", needs=READ)
    max_force: number("Force [N]", "Largest force of the drive; 0 is no limit", min=0.0, keyed=True,
        zero="no limit", ticked=1000.0, group="weights", needs=READ)

# fmt: on


def store_roles(obj: bpy.types.Object, anatomy: Anatomy) -> None:
    """Write each bone's role to its settings unless the user has chosen one."""
    with runtime.STATE.writing():
        for bone, role in zip(obj.data.bones, anatomy.roles, strict=True):
            settings = obj.pose.bones[bone.name].active_ragdoll
            if not settings.role_by_user and settings.role != role:
                settings.role = role
