"""The settings of a bone: what its body and its joint are, and how strongly it follows."""

import math

import bpy

from . import runtime
from .bone_role import BoneRole
from .edited_body import EditedBody
from .setting_options import (
    ANIMATABLE,
    FIXED,
    PERCENT,
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    StringProperty,
    changed,
    layout_changed,
)

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


def _limits_edited(self, context) -> None:
    if not runtime.STATE.building:
        self.limits_from = "USER"
    layout_changed(self, context)


class ActiveRagdollBone(BoneRole, EditedBody, bpy.types.PropertyGroup):
    """Settings of a bone."""

    simulate: BoolProperty(
        name="Simulated",
        description="This bone has a body of its own",
        default=False,
        options=FIXED,
        update=layout_changed,
    )
    shape: EnumProperty(name="Shape", items=SHAPES, default="AUTO", options=FIXED, update=layout_changed)
    mass: FloatProperty(
        name="Mass",
        description="0 is automatic: its part of a human, or the volume times the density",
        default=0.0,
        min=0.0,
        max=1.0e7,
        unit="MASS",
        options=FIXED,
        update=layout_changed,
    )
    friction: FloatProperty(name="Friction", default=0.5, min=0.0, soft_max=1.0, options=FIXED, update=layout_changed)
    bounciness: FloatProperty(name="Bounciness", default=0.0, options=FIXED, update=layout_changed, **PERCENT)
    linear_damping: FloatProperty(name="Linear Damping", default=0.04, options=FIXED, update=layout_changed, **PERCENT)
    angular_damping: FloatProperty(name="Angular Damping", default=0.1, options=FIXED, update=layout_changed, **PERCENT)
    joint: EnumProperty(name="Joint", items=JOINT_TYPES, default="CONE", options=FIXED, update=_limits_edited)
    limit_min: FloatVectorProperty(
        name="Min",
        description="Lowest swing X, twist Y and swing Z from bind pose",
        size=3,
        subtype="EULER",
        default=(-math.pi / 4, -math.pi / 6, -math.pi / 4),
        min=-math.pi,
        max=math.pi,
        options=FIXED,
        update=_limits_edited,
    )
    limit_max: FloatVectorProperty(
        name="Max",
        description="Highest swing X, twist Y and swing Z from bind pose",
        size=3,
        subtype="EULER",
        default=(math.pi / 4, math.pi / 6, math.pi / 4),
        min=-math.pi,
        max=math.pi,
        options=FIXED,
        update=_limits_edited,
    )
    joint_rotation: FloatVectorProperty(
        name="Joint Frame",
        description="Rotation from the bone's to the joint's frame",
        size=4,
        subtype="QUATERNION",
        default=(1.0, 0.0, 0.0, 0.0),
        options=FIXED,
        update=_limits_edited,
    )
    limits_from: EnumProperty(
        name="Limits From",
        items=(
            ("DEFAULT", "Default", "A generic range, widened to what the shot's animation needs"),
            ("RIG", "Rig", "Locked axes, IK limits or Limit Rotation constraints of the rig"),
            ("ANATOMY", "Anatomy", "The range of the recognised joint, widened to what the shot's animation needs"),
            ("USER", "User", "Set by hand; a new build keeps them"),
            ("PROFILE", "Profile", "The range of a preset, widened to what the shot's animation needs"),
        ),
        default="DEFAULT",
        options=FIXED,
        update=layout_changed,
    )
    profile_limits: StringProperty(
        description="Joint and range as the preset states them, before the animation widens them, as JSON",
        options=FIXED,
    )
    rotation_weight: FloatProperty(
        name="Rotation",
        description="Multiplies the character's rotation weight",
        default=1.0,
        options=ANIMATABLE,
        update=changed,
        **PERCENT,
    )
    translation_weight: FloatProperty(
        name="Translation",
        description="Multiplies the character's translation weight",
        default=1.0,
        options=ANIMATABLE,
        update=changed,
        **PERCENT,
    )
    body_mode: EnumProperty(name="Mode", items=BODY_MODES, default="ACTIVE", options=ANIMATABLE, update=changed)
    max_torque: FloatProperty(
        name="Max Torque",
        description="Largest torque of the drive [N m]; 0 is no limit",
        default=0.0,
        min=0.0,
        options=ANIMATABLE,
        update=changed,
    )
    max_force: FloatProperty(
        name="Max Force",
        description="Largest force of the drive [N]; 0 is no limit",
        default=0.0,
        min=0.0,
        options=ANIMATABLE,
        update=changed,
    )

    frequency_scale: FloatProperty(
        name="Frequency",
        description="Multiplies the character's spring frequency",
        default=1.0,
        min=0.01,
        max=100.0,
        options=ANIMATABLE,
        update=changed,
    )
    damping_scale: FloatProperty(
        name="Damping",
        description="Multiplies the character's damping ratio",
        default=1.0,
        min=0.0,
        max=100.0,
        options=ANIMATABLE,
        update=changed,
    )
