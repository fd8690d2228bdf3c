"""The settings of attachments, which are part of a character's."""

import bpy

from .setting_options import (
    ANIMATABLE,
    FIXED,
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
    changed,
)

KEYABLE = ("enabled", "length", "max_force")

KINDS = (
    ("POINT", "Point", "The bone's point stays at the target; the bone turns freely about it"),
    ("FIXED", "Fixed", "The bone keeps its place and its orientation against the target"),
    ("DISTANCE", "Distance", "A rope: the bone's point goes no farther from the target than the length"),
)
OFFSETS = (
    ("MOMENT", "Of the Moment", "What it is when the attachment is switched on"),
    ("STATED", "Stated", "As given below, reached within the reach time"),
)


class ActiveRagdollAttachment(bpy.types.PropertyGroup):
    """A bone's body held at an object or a bone."""

    name: StringProperty(name="Name", options=FIXED)
    enabled: BoolProperty(
        name="Enabled",
        description="Whether it holds; can be keyed",
        default=True,
        options=ANIMATABLE,
        update=changed,
    )
    bone: StringProperty(name="Bone", description="Bone whose body is held", options=FIXED, update=changed)
    point: FloatVectorProperty(
        name="Point",
        description="Where it is held: from the bone's head, along the bone's axes [m]",
        size=3,
        subtype="XYZ",
        unit="LENGTH",
        options=FIXED,
        update=changed,
    )
    target: PointerProperty(
        name="Target",
        description="Object that holds it. Where physics moves that too, the reaction acts on it",
        type=bpy.types.Object,
        options=FIXED,
        update=changed,
    )
    target_bone: StringProperty(
        name="Target Bone",
        description="Bone of the target that holds it, where the target is an armature",
        options=FIXED,
        update=changed,
    )
    kind: EnumProperty(name="Kind", items=KINDS, default="POINT", options=FIXED, update=changed)
    offset: EnumProperty(name="Offset", items=OFFSETS, default="MOMENT", options=FIXED, update=changed)
    offset_location: FloatVectorProperty(
        name="Location",
        description="Where the target has the bone's point (Point, Distance) or the bone's head (Fixed), along the "
        "target's axes [m]",
        size=3,
        subtype="XYZ",
        unit="LENGTH",
        options=FIXED,
        update=changed,
    )
    offset_rotation: FloatVectorProperty(
        name="Rotation",
        description="Rotation of the bone against the target",
        size=4,
        subtype="QUATERNION",
        default=(1.0, 0.0, 0.0, 0.0),
        options=FIXED,
        update=changed,
    )
    reach_seconds: FloatProperty(
        name="Reach Time",
        description="How long the bone takes to a stated offset",
        default=0.25,
        min=0.0,
        soft_max=2.0,
        unit="TIME_ABSOLUTE",
        options=FIXED,
        update=changed,
    )
    length: FloatProperty(
        name="Length",
        description="Of the rope; 0 takes the distance of the moment",
        default=0.0,
        min=0.0,
        unit="LENGTH",
        options=ANIMATABLE,
        update=changed,
    )
    max_force: FloatProperty(
        name="Max Force",
        description="Largest force that a point or a fixed attachment holds with [N]; 0 is no limit",
        default=0.0,
        min=0.0,
        options=ANIMATABLE,
        update=changed,
    )


class ActiveRagdollAttachmentPart(bpy.types.PropertyGroup):
    """The helpers of an attachment."""

    joint: PointerProperty(type=bpy.types.Object, options=FIXED)
    other_joint: PointerProperty(type=bpy.types.Object, options=FIXED)
    holder: PointerProperty(type=bpy.types.Object, options=FIXED)


class AttachmentSettings:
    """What a character's settings have for attachments."""

    attachments: CollectionProperty(type=ActiveRagdollAttachment, options=FIXED)
    active_attachment: IntProperty(options=FIXED)
    attachment_parts: CollectionProperty(type=ActiveRagdollAttachmentPart, options=FIXED)


def copy_keyable(settings, other) -> None:
    """Let a source have as many attachments with the same values; keys overrule them when it is evaluated."""
    while len(other.attachments) > len(settings.attachments):
        other.attachments.remove(len(other.attachments) - 1)
    while len(other.attachments) < len(settings.attachments):
        other.attachments.add()
    for mine, its in zip(settings.attachments, other.attachments, strict=True):
        for name in KEYABLE:
            setattr(its, name, getattr(mine, name))


CLASSES = (ActiveRagdollAttachment, ActiveRagdollAttachmentPart)
