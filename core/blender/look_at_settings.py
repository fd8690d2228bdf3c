"""Settings of look-at chains and leg stabilisers, as stored on the character.

Those that can be keyed are on the object: `active_ragdoll.look_at[0].weight`.
"""

import math

import bpy

from ..motion.leg_stabilizer import LONGEST, SHORTEST
from . import look_at_axes, runtime
from .setting_options import (
    ANIMATABLE,
    FIXED,
    PERCENT,
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from .stack_edits import stack_changed, stack_value_changed

LIMITS_FROM = (
    ("BIND", "Bind Pose", "Between the bone's forward now and where it points in bind pose"),
    ("PARENT", "Parent", "Between the bone's forward and its parent's"),
)
AXES_FROM = (
    ("AUTO", "Automatic", "From the bind pose and where the character faces"),
    ("USER", "User", "Set by hand"),
)
EVENTS = (
    ("SET", "Set", "The weight is set at once"),
    ("ENABLE", "Enable", "The weight goes to 1"),
    ("DISABLE", "Disable", "The weight goes to 0"),
)
TARGETS = (
    ("OBJECT", "Object", "An object, or a bone of it"),
    ("POINT", "Point", "A point of the scene"),
)


def _bone_changed(self, context) -> None:
    look_at_axes.find_for(self)
    stack_changed(self, context)


def _axis_edited(self, context) -> None:
    if not runtime.STATE.building:
        self.axes_from = "USER"
    stack_changed(self, context)


class ActiveRagdollLinkedBone(bpy.types.PropertyGroup):
    """A bone, such as the other eye, that turns with an entry's bone."""

    bone: StringProperty(name="Bone", options=FIXED, update=stack_changed)
    reset_to_default: BoolProperty(
        name="Reset",
        description="Start from bind pose instead of the bone's own pose",
        options=FIXED,
        update=stack_changed,
    )


class ActiveRagdollLookAtEntry(bpy.types.PropertyGroup):
    """One bone of a look-at chain."""

    bone: StringProperty(
        name="Bone",
        description="An ancestor of the bone of the entry before it",
        options=FIXED,
        update=_bone_changed,
    )
    limit: FloatProperty(
        name="Limit",
        description="Largest angle of the bone's forward; at 0 it never turns",
        subtype="ANGLE",
        default=math.radians(30.0),
        min=0.0,
        max=math.pi,
        options=FIXED,
        update=stack_changed,
    )
    limit_from: EnumProperty(
        name="Limit From",
        description="What the limit is measured from; a pose already beyond it is only not turned further",
        items=LIMITS_FROM,
        options=FIXED,
        update=stack_changed,
    )
    forward_axis: FloatVectorProperty(
        name="Forward",
        description="Where the bone looks, in its own frame",
        size=3,
        subtype="XYZ",
        default=(0.0, 1.0, 0.0),
        options=FIXED,
        update=_axis_edited,
    )
    parent_forward_axis: FloatVectorProperty(
        name="Parent's Forward",
        description="Where the parent looks, in its own frame",
        size=3,
        subtype="XYZ",
        default=(0.0, 1.0, 0.0),
        options=FIXED,
        update=_axis_edited,
    )
    axes_from: EnumProperty(
        name="Axes",
        description="Where the forward axes come from",
        items=AXES_FROM,
        options=FIXED,
        update=_bone_changed,
    )
    rotate_around_up_weight: FloatProperty(
        name="Around Up",
        description="0 turns by the shortest way, 1 about the up vector alone",
        default=0.0,
        options=FIXED,
        update=stack_changed,
        **PERCENT,
    )
    reset_to_default: BoolProperty(
        name="Reset to Default",
        description="Start from bind pose, for a bone that the action does not key",
        options=FIXED,
        update=stack_changed,
    )
    linked_bones: CollectionProperty(type=ActiveRagdollLinkedBone, options=FIXED)


class ActiveRagdollWeightEvent(bpy.types.PropertyGroup):
    """A call of the look-at's weight functions, at a frame."""

    kind: EnumProperty(name="Kind", items=EVENTS, options=FIXED, update=stack_value_changed)
    frame: FloatProperty(name="Frame", options=FIXED, update=stack_value_changed)
    weight: FloatProperty(name="Weight", default=1.0, options=FIXED, update=stack_value_changed, **PERCENT)
    duration: FloatProperty(
        name="Time",
        description="Of the transition [s]",
        min=0.0,
        subtype="TIME_ABSOLUTE",
        options=FIXED,
        update=stack_value_changed,
    )
    cancel_current_transition: BoolProperty(
        name="Cancel Current",
        description="A transition under way gives way to this one; else this one is ignored meanwhile",
        default=True,
        options=FIXED,
        update=stack_value_changed,
    )


class ActiveRagdollLookAt(bpy.types.PropertyGroup):
    """A chain of bones that look at a target."""

    name: StringProperty(name="Name", default="Look-at", options=FIXED, update=stack_changed)
    enabled: BoolProperty(name="Enabled", default=True, options=FIXED, update=stack_changed)
    target_type: EnumProperty(name="Look At", items=TARGETS, options=FIXED, update=stack_changed)
    target: PointerProperty(
        name="Target",
        description="Object to look at",
        type=bpy.types.Object,
        options=FIXED,
        update=stack_changed,
    )
    target_bone: StringProperty(
        name="Bone",
        description="Bone of the target to look at",
        options=FIXED,
        update=stack_changed,
    )
    target_point: FloatVectorProperty(
        name="Point",
        description="In the scene",
        size=3,
        subtype="TRANSLATION",
        options=ANIMATABLE,
        update=stack_value_changed,
    )
    weight: FloatProperty(
        name="Weight",
        description="Share of the look in the pose; from the first stored event on, the events say it",
        default=1.0,
        options=ANIMATABLE,
        update=stack_value_changed,
        **PERCENT,
    )
    blend_speed: FloatProperty(
        name="Blend Speed",
        description="How quickly the look goes over to a new one [share of the distance a second]; 0 is at once",
        default=0.0,
        min=0.0,
        soft_max=20.0,
        max=1.0e6,
        options=FIXED,
        update=stack_changed,
    )
    up_vector: FloatVectorProperty(
        name="Up",
        description="In the scene",
        size=3,
        subtype="XYZ",
        default=(0.0, 0.0, 1.0),
        options=FIXED,
        update=stack_changed,
    )
    comfort: FloatProperty(
        name="Comfort",
        description="Share of all limits that is used up before any bone goes to its own",
        default=1.0,
        options=FIXED,
        update=stack_changed,
        **PERCENT,
    )
    behind_margin: FloatProperty(
        name="Margin Behind",
        description="Half the width of the zone straight behind in which the side is kept",
        subtype="ANGLE",
        default=math.radians(15.0),
        min=0.0,
        max=math.pi / 2.0,
        options=FIXED,
        update=stack_changed,
    )
    marks_reference: BoolProperty(
        name="Feet Held from Here",
        description="Leg stabilisers hold the feet as they are in the pose that comes in here",
        options=FIXED,
        update=stack_changed,
    )
    entries: CollectionProperty(type=ActiveRagdollLookAtEntry, options=FIXED)
    active_entry: IntProperty(options=FIXED)
    events: CollectionProperty(type=ActiveRagdollWeightEvent, options=FIXED)


class ActiveRagdollLegStabilizer(bpy.types.PropertyGroup):
    """A foot that is put back where it was before later entries moved it."""

    enabled: BoolProperty(name="Enabled", default=True, options=FIXED, update=stack_changed)
    foot_bone: StringProperty(name="Foot", options=FIXED, update=stack_changed)
    bones_count: IntProperty(
        name="Bones",
        description="Of the leg from the foot up, the foot included: 3 for a human",
        default=3,
        min=SHORTEST,
        max=LONGEST,
        options=FIXED,
        update=stack_changed,
    )
    ik_weight: FloatProperty(
        name="Weight",
        description="Share of the way back",
        default=1.0,
        options=ANIMATABLE,
        update=stack_value_changed,
        **PERCENT,
    )
    off_while_limp: BoolProperty(
        name="Off While Limp",
        description="Weight 0 while the leg's bodies are limp, as when the character falls",
        options=FIXED,
        update=stack_changed,
    )
    min_distance: FloatProperty(
        name="Start Distance",
        description="How far the foot must have moved before it is put back, in the armature's units; 0 is always",
        default=0.0,
        min=0.0,
        options=FIXED,
        update=stack_changed,
    )
    max_iterations: IntProperty(
        name="Iterations",
        description="Most iterations, where the leg has more than three bones",
        default=30,
        min=0,
        max=10000,
        options=FIXED,
        update=stack_changed,
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description="At which the iterations end, in parts of the leg's length",
        default=1e-3,
        min=0.0,
        max=1.0,
        precision=5,
        options=FIXED,
        update=stack_changed,
    )


CLASSES = (
    ActiveRagdollLinkedBone,
    ActiveRagdollLookAtEntry,
    ActiveRagdollWeightEvent,
    ActiveRagdollLookAt,
    ActiveRagdollLegStabilizer,
)
