"""Settings of two-bone IKs and bone transforms, and the lists of a character's motion stack."""

import bpy

from .look_at_settings import ActiveRagdollLegStabilizer, ActiveRagdollLookAt
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

PLACES = (
    ("WORLD", "World", "In the scene"),
    ("OBJECT", "Armature", "In the armature's space"),
    ("BONE", "Bone", "In the frame of one of the character's bones"),
)
POLES = (("BEND", "As It Bends", "The limb keeps the plane that it bends in"), *PLACES)
MODES = (
    ("IGNORE", "Ignore", "As it comes in"),
    ("REPLACE", "Replace", "The value instead of the bone's own"),
    ("ADD", "Add", "The value on top of the bone's own"),
)
SPACES = (
    ("BONE", "Bone", "Seen from the bone itself as it comes in"),
    ("PARENT", "Parent", "Of the parent bone"),
    ("COMPONENT", "Armature", "Of the armature"),
    ("WORLD", "World", "Of the scene"),
)


def _text(name: str, description: str = "") -> StringProperty:
    return StringProperty(name=name, description=description, options=FIXED, update=stack_changed)


def _choice(name: str, items: tuple, default: str, description: str = "") -> EnumProperty:
    return EnumProperty(
        name=name,
        description=description,
        items=items,
        default=default,
        options=FIXED,
        update=stack_changed,
    )


def _switch(name: str, description: str = "", default: bool = False) -> BoolProperty:
    return BoolProperty(name=name, description=description, default=default, options=FIXED, update=stack_changed)


def _keyed_vector(name: str, subtype: str, default=(0.0, 0.0, 0.0), description: str = "") -> FloatVectorProperty:
    return FloatVectorProperty(
        name=name,
        description=description,
        size=3,
        subtype=subtype,
        default=default,
        options=ANIMATABLE,
        update=stack_value_changed,
    )


def _object(name: str, description: str) -> PointerProperty:
    return PointerProperty(
        name=name,
        description=description,
        type=bpy.types.Object,
        options=FIXED,
        update=stack_changed,
    )


def _weight() -> FloatProperty:
    return FloatProperty(name="Weight", default=1.0, options=ANIMATABLE, update=stack_value_changed, **PERCENT)


def _reference() -> BoolProperty:
    return _switch("Feet Held from Here", "Leg stabilisers hold the feet as they are in the pose that comes in here")


class ActiveRagdollTwoBoneIK(bpy.types.PropertyGroup):
    """A limb whose end is brought to an effector."""

    enabled: _switch("Enabled", default=True)
    end_bone: _text("End", "Hand or foot: its parent is the lower limb, its grandparent the upper")
    effector: _object("Effector", "Object that the end goes to; without one, the location below")
    effector_target_bone: _text("Bone", "Bone of the effector")
    effector_space: _choice("Space", PLACES, "WORLD", "Of the effector's location")
    effector_bone: _text("Bone", "Bone of the character in whose frame the effector's location is")
    effector_location: _keyed_vector("Location", "TRANSLATION")
    pole: _object("Pole", "Object that the middle joint bends to; without one, the location below")
    pole_target_bone: _text("Bone", "Bone of the pole object")
    pole_space: _choice("Pole", POLES, "BEND", "Space of the pole's location")
    pole_bone: _text("Bone", "Bone of the character in whose frame the pole's location is")
    pole_location: _keyed_vector("Location", "TRANSLATION")
    allow_stretching: _switch("Stretch", "Both bones grow when the effector is far away; not where they are connected")
    start_stretch_ratio: FloatProperty(
        name="Start",
        description="Share of the reach from which on the limb grows",
        default=1.0,
        min=0.001,
        soft_max=1.0,
        max=100.0,
        options=FIXED,
        update=stack_changed,
    )
    max_stretch_scale: FloatProperty(
        name="Largest Scale",
        description="Of both bones",
        default=1.2,
        min=1.0,
        soft_max=2.0,
        max=100.0,
        options=FIXED,
        update=stack_changed,
    )
    keep_end_rotation: _switch(
        "Keep End Rotation", "The end keeps its rotation in the armature; else it follows the lower limb", True
    )
    weight: _weight()
    marks_reference: _reference()


class ActiveRagdollBoneTransform(bpy.types.PropertyGroup):
    """A bone that is moved, turned or scaled."""

    enabled: _switch("Enabled", default=True)
    bone: _text("Bone")
    translation: _keyed_vector("Translation", "TRANSLATION", description="In units of its space")
    rotation: _keyed_vector("Rotation", "EULER", description="Euler angles X Y Z")
    scale: _keyed_vector("Scale", "XYZ", (1.0, 1.0, 1.0))
    translation_mode: _choice("Translation", MODES, "IGNORE")
    rotation_mode: _choice("Rotation", MODES, "IGNORE")
    scale_mode: _choice("Scale", MODES, "IGNORE")
    translation_space: _choice("Space", SPACES, "COMPONENT")
    rotation_space: _choice("Space", SPACES, "COMPONENT")
    scale_space: _choice("Space", SPACES, "BONE")
    weight: _weight()
    marks_reference: _reference()


class ActiveRagdollMotionKind(bpy.types.PropertyGroup):
    """A place in the order of the motion stack's entries."""

    kind: StringProperty(options=FIXED)


class MotionLists:
    """A part of the character's settings: what its motion stack is made of."""

    look_at: CollectionProperty(type=ActiveRagdollLookAt, options=FIXED)
    leg_stabilizers: CollectionProperty(type=ActiveRagdollLegStabilizer, options=FIXED)
    two_bone_ik: CollectionProperty(type=ActiveRagdollTwoBoneIK, options=FIXED)
    bone_transforms: CollectionProperty(type=ActiveRagdollBoneTransform, options=FIXED)
    motion_order: CollectionProperty(type=ActiveRagdollMotionKind, options=FIXED)
    active_look_at: IntProperty(options=FIXED)
    active_leg_stabilizer: IntProperty(options=FIXED)
    active_two_bone_ik: IntProperty(options=FIXED)
    active_bone_transform: IntProperty(options=FIXED)


LISTS = ("look_at", "leg_stabilizers", "two_bone_ik", "bone_transforms")
ACTIVE = {name: f"active_{name.removesuffix('s')}" for name in LISTS}
CLASSES = (ActiveRagdollTwoBoneIK, ActiveRagdollBoneTransform, ActiveRagdollMotionKind)
