"""Settings of a character's pose layers and blend spaces."""

import bpy

from ..anatomy.roles import ROLES
from .clip_properties import (
    ADDITIVE,
    ActionChoice,
    BasePose,
    Playback,
    an_object,
    choice,
    flag,
    number,
    set_up,
    share,
    text,
    whole,
)
from .setting_names import Named, named, uses_of_space
from .setting_options import FIXED, CollectionProperty, IntProperty, PointerProperty, StringProperty
from .stack_edits import stack_changed

SOURCES = (
    ("CLIP", "Clip", "An action, played"),
    ("POSE", "Pose", "One frame of an action, such as a pose asset, or several of them with weights"),
    ("BLEND_SPACE", "Blend Space", "One of the character's blend spaces"),
    ("AIM_OFFSET", "Aim Offset", "A blend space of yaw and pitch whose samples are additive in mesh space"),
)
MODES = (
    ("OVERRIDE", "Override", "Hides what is below as far as its weight goes"),
    ("ADDITIVE_LOCAL", "Additive, Local", "Adds the difference to a base pose, each bone in its parent's frame"),
    (
        "ADDITIVE_MESH",
        "Additive, Mesh Space",
        "Adds the difference to a base pose, rotations in the armature's space",
    ),
)
MASKS = (
    ("ALL", "All Bones", "The whole character"),
    ("BONES", "Bones", "Listed bones and what hangs on them"),
    ("COLLECTION", "Bone Collection", "The bones of a bone collection"),
    ("ROLES", "Roles", "Bones that are recognised as parts of the body"),
)
SIDES = (("ANY", "Both Sides", ""), ("LEFT", "Left", ""), ("RIGHT", "Right", ""))
SEVERAL = (
    ("NORMALIZE", "Normalize", "Weights whose sum is above 1 are divided by it; what is missing to 1 is the base"),
    ("ADD", "Add", "Each pose's difference to the base is added with its weight"),
    ("SEQUENCE", "Sequence", "A clip that goes through the poses at their times"),
)
INPUTS = (
    ("VALUE", "Value", "The value beside, which can be keyed and driven by any property"),
    ("SPEED", "Speed", "Measured: how fast the character moves over the ground [m/s]"),
    ("DIRECTION", "Direction", "Measured: where the character moves from where it faces [deg], positive to its left"),
    ("YAW", "Yaw to Target", "Angle about up to the target [deg], positive to the character's left"),
    ("PITCH", "Pitch to Target", "Angle upwards to the target [deg]"),
)
ENDS = (
    ("CLAMP", "Clamp", "Inputs beyond an end are held there"),
    ("WRAP", "Wrap", "Both ends are one place, as of a direction"),
)
DIMENSIONS = (("1D", "1D", "Samples on a line"), ("2D", "2D", "Samples in a plane"))
METHODS = (
    ("TRIANGLES", "Triangles", "Samples anywhere; the three around the point blend"),
    ("GRID", "Grid", "A sample at every crossing; the four around the point blend"),
)
SYNC = (
    ("NORMALIZED", "By Length", "All clips are the same share of their length through"),
    (
        "MARKERS",
        "By Markers",
        "All clips come to the same markers together: pose markers of the actions, else the feet's contacts",
    ),
)


class ActiveRagdollBoneName(bpy.types.PropertyGroup):
    """A bone of a mask."""

    bone: text("Bone", "The mask begins here")
    weight: number("Weight", "Share of the layer's weight from this bone on", 1.0, min=0.0, max=1.0, subtype="FACTOR")


class ActiveRagdollPose(ActionChoice, bpy.types.PropertyGroup):
    """One of several poses of a layer."""

    frame: number("Frame", "Frame of the action", 1.0, precision=1)
    weight: share("Weight", "Share of this pose")
    time: number("Time", "When the sequence comes to this pose [frames]", 0.0, precision=1)


class ActiveRagdollLayer(ActionChoice, Playback, BasePose, Named, bpy.types.PropertyGroup):
    """A layer of the motion stack."""

    name: named("For messages", "Layer", lambda settings: settings.layers)
    enabled: flag("Enabled", "The layer acts", True)
    solo: flag("Solo", "While any layer is solo, only those act")
    source: choice("Source", "What the layer plays", SOURCES, "CLIP")
    mode: choice("Mode", "How it changes the pose below", MODES, "OVERRIDE")
    weight: share("Weight", "0 is the pose below, 1 the layer wholly")
    start: number("Start", "Frame at which the clip begins", 1.0, precision=1)
    sync_with: text("In Phase With", "Blend space whose phase the clip follows; empty: it goes by its own time")
    only_keyed: flag(
        "Only Keyed Bones", "Bones that the action has no keys for keep the pose below; otherwise they go to bind", True
    )
    frame: number("Frame", "Frame of the action that is the pose", 1.0, precision=1)
    poses: CollectionProperty(type=ActiveRagdollPose, options=FIXED)
    pose_index: IntProperty(options=FIXED)
    several: choice("Several Poses", "What becomes of more than one pose", SEVERAL, "NORMALIZE")
    blend_space: text("Blend Space", "Name of the blend space")

    mask: choice("Mask", "Which bones the layer acts on", MASKS, "ALL")
    mask_bones: CollectionProperty(type=ActiveRagdollBoneName, options=FIXED)
    mask_bone_index: IntProperty(options=FIXED)
    mask_children: flag("With Children", "What hangs on the bones is included", True)
    mask_falloff: whole("Falloff", "Bones over which the mask rises to its full value", 0, min=0, soft_max=6)
    mask_collection: text("Bone Collection", "Bone collection of the armature")
    mask_roles: choice(
        "Roles",
        "Parts of the body",
        [(role, role.replace("_", " ").title(), "", 1 << i) for i, role in enumerate(ROLES)],
        {"SPINE", "CHEST", "NECK", "HEAD"},
        options={"ENUM_FLAG"},
    )
    mask_side: choice("Side", "Of the parts that come in pairs", SIDES, "ANY")
    mask_invert: flag("Invert", "All other bones")


class ActiveRagdollSample(ActionChoice, BasePose, bpy.types.PropertyGroup):
    """A sample of a blend space."""

    x: number("X", "Place on the first axis", precision=2)
    y: number("Y", "Place on the second axis", precision=2)
    speed: number("Speed", "Seconds of the clip per second; negative: backwards", 1.0, soft_min=-4.0, soft_max=4.0)
    additive: choice("Additive", "What the sample holds", ADDITIVE, "NONE")
    single: flag("One Frame", "Only one frame of the action, as of a pose")
    frame: number("Frame", "That frame", 1.0, precision=1)


class ActiveRagdollAxis(bpy.types.PropertyGroup):
    """An axis of a blend space and its input."""

    name: text("Name", "For the picture and for messages", "Speed")
    minimum: number("Minimum", "Lower end", 0.0, precision=2)
    maximum: number("Maximum", "Upper end", 1.0, precision=2)
    ends: choice("Ends", "What inputs beyond the ends do", ENDS, "CLAMP")
    grid: whole("Grid", "Divisions that samples can be snapped to", 4, min=1, soft_max=20)
    input: choice("Input", "Where the point comes from", INPUTS, "VALUE")
    value: number("Value", "The input; key it, or drive it by any property", keyed=True, precision=2)
    smoothing: number("Smoothing", "Lag of the input [s]; 63 % of a step are done after it", 0.0, min=0.0, soft_max=2.0)
    preview: number("Preview", "The point while Preview is on", precision=2, update=stack_changed)


def _measured_chosen(self, context) -> None:
    self.measured_name = self.measured_object.name if self.measured_object is not None else ""
    set_up(self, context)


class ActiveRagdollBlendSpace(Named, bpy.types.PropertyGroup):
    """A blend space."""

    name: named(
        "By which layers and states refer to it", "Blend Space", lambda settings: settings.blend_spaces, uses_of_space
    )
    dimensions: choice("Dimensions", "One axis or two", DIMENSIONS, "1D")
    method: choice("Method", "How samples in a plane blend", METHODS, "TRIANGLES")
    x: PointerProperty(type=ActiveRagdollAxis, options=FIXED)
    y: PointerProperty(type=ActiveRagdollAxis, options=FIXED)
    samples: CollectionProperty(type=ActiveRagdollSample, options=FIXED)
    sample_index: IntProperty(options=FIXED)
    sync: choice("Sync", "How clips of different lengths keep in phase", SYNC, "NORMALIZED")
    measured_object: an_object(
        "Measured", "What speed and direction are measured of; empty: the character", update=_measured_chosen
    )
    measured_name: StringProperty(options=FIXED)
    measured_bone: text("Measured Bone", "Its bone; empty: of the character its root bone, else the object")
    target: an_object("Target", "What yaw and pitch lead to")
    target_bone: text("Target Bone", "Its bone; empty: the object")
    aim_bone: text("Aim From", "Bone that yaw and pitch are measured from; empty: the head, else the armature")
    show_preview: flag(
        "Preview", "Show the preview point instead of the input; simulating and baking end it", update=stack_changed
    )


class PoseLayers:
    """A part of a character's settings."""

    layers: CollectionProperty(type=ActiveRagdollLayer, options=FIXED)
    layer_index: IntProperty(options=FIXED)
    blend_spaces: CollectionProperty(type=ActiveRagdollBlendSpace, options=FIXED)
    blend_space_index: IntProperty(options=FIXED)


CLASSES = (
    ActiveRagdollBoneName,
    ActiveRagdollPose,
    ActiveRagdollLayer,
    ActiveRagdollSample,
    ActiveRagdollAxis,
    ActiveRagdollBlendSpace,
)
