"""The settings of hits, explosions and loosening, which are part of a character's."""

import math

import bpy

from ..ragdoll.loosening import Loosening
from .setting_options import (
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

_STANDARD = Loosening()

SPACES = (
    ("WORLD", "World", "Along the world's axes"),
    ("LOCAL", "Local", "Along the bone's axes, turning with its body"),
    ("TOWARDS", "Towards", "From the point that is hit towards an object"),
)


def _strength(self) -> float:
    return math.hypot(*self.impulse)


def _set_strength(self, value: float) -> None:
    now = math.hypot(*self.impulse)
    if now > 0.0 and math.isfinite(now):
        self.impulse = [value * component / now for component in self.impulse]
    else:
        self.impulse = (0.0, value, 0.0)


class ActiveRagdollHit(bpy.types.PropertyGroup):
    """An impulse on a bone's body at a frame."""

    enabled: BoolProperty(
        name="Enabled",
        description="Whether it acts at all",
        default=True,
        options=FIXED,
        update=changed,
    )
    frame: IntProperty(
        name="Frame",
        description="Frame at which it begins; seen from the next one on",
        options=FIXED,
        update=changed,
    )
    bone: StringProperty(name="Bone", description="Bone whose body is hit", options=FIXED, update=changed)
    point: FloatVectorProperty(
        name="Point",
        description="Where it acts: from the middle of the body, along the bone's axes",
        size=3,
        subtype="XYZ",
        unit="LENGTH",
        options=FIXED,
        update=changed,
    )
    impulse: FloatVectorProperty(
        name="Impulse",
        description="Mass times change of speed of a free body [N s], with its direction; Towards takes its length",
        size=3,
        subtype="XYZ",
        default=(0.0, 20.0, 0.0),
        options=FIXED,
        update=changed,
    )
    strength: FloatProperty(
        name="Strength",
        description="Length of the impulse [N s]",
        min=0.0,
        get=_strength,
        set=_set_strength,
        options={"SKIP_SAVE"},  # the impulse is what is stored
    )
    space: EnumProperty(name="Space", items=SPACES, default="WORLD", options=FIXED, update=changed)
    duration: FloatProperty(
        name="Duration",
        description="Time over which the impulse is given evenly; 0 is a blow within one frame",
        default=0.0,
        min=0.0,
        soft_max=2.0,
        precision=3,
        unit="TIME_ABSOLUTE",
        options=FIXED,
        update=changed,
    )
    target: PointerProperty(
        name="Target",
        description="Object to hit towards",
        type=bpy.types.Object,
        options=FIXED,
        update=changed,
    )


class ActiveRagdollExplosion(bpy.types.PropertyGroup):
    """A blast that pushes all bodies of the character away from its origin."""

    enabled: BoolProperty(
        name="Enabled",
        description="Whether it acts at all",
        default=True,
        options=FIXED,
        update=changed,
    )
    frame: IntProperty(
        name="Frame",
        description="Frame at which it begins; seen from the next one on",
        options=FIXED,
        update=changed,
    )
    origin: FloatVectorProperty(
        name="Origin",
        description="Where it comes from",
        size=3,
        subtype="XYZ",
        unit="LENGTH",
        options=FIXED,
        update=changed,
    )
    target: PointerProperty(
        name="Object",
        description="Object that it comes from, instead of the origin",
        type=bpy.types.Object,
        options=FIXED,
        update=changed,
    )
    radius: FloatProperty(
        name="Radius",
        description="Beyond it nothing is felt",
        default=3.0,
        min=1e-4,
        unit="LENGTH",
        options=FIXED,
        update=changed,
    )
    impulse: FloatProperty(
        name="Impulse",
        description="On a body at the origin [N s]; negative pulls",
        default=10.0,
        options=FIXED,
        update=changed,
    )
    falloff: FloatProperty(
        name="Falloff",
        description="How fast it fades towards the radius: 0 not at all, 1 evenly, 2 faster",
        default=1.0,
        min=0.0,
        soft_max=4.0,
        options=FIXED,
        update=changed,
    )
    duration: FloatProperty(
        name="Duration",
        description="Time over which the impulse is given evenly; 0 is a blow within one frame",
        default=0.0,
        min=0.0,
        soft_max=2.0,
        precision=3,
        unit="TIME_ABSOLUTE",
        options=FIXED,
        update=changed,
    )


class ActiveRagdollHitter(bpy.types.PropertyGroup):
    """A helper that gives impulses to a bone's body."""

    bone: StringProperty(options=FIXED)
    object: PointerProperty(type=bpy.types.Object, options=FIXED)


class HitSettings:
    """What a character's settings have for hits."""

    hits: CollectionProperty(type=ActiveRagdollHit, options=FIXED)
    active_hit: IntProperty(options=FIXED)
    explosions: CollectionProperty(type=ActiveRagdollExplosion, options=FIXED)
    active_explosion: IntProperty(options=FIXED)
    hitters: CollectionProperty(type=ActiveRagdollHitter, options=FIXED)

    loosening: FloatProperty(
        name="Loosening",
        description="How much hits lower the weights: 0 not at all, 1 as 30 N s leave 37 % on a man's hit bone",
        default=_STANDARD.sensitivity,
        min=0.0,
        soft_max=5.0,
        options=FIXED,
        update=changed,
    )
    loosening_parents: FloatProperty(
        name="Parents",
        description="Share of a hit that the next bone up the chain feels, and so on",
        default=_STANDARD.parents,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=FIXED,
        update=changed,
    )
    loosening_children: FloatProperty(
        name="Children",
        description="Share of a hit that the next bone down the chain feels, and so on",
        default=_STANDARD.children,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=FIXED,
        update=changed,
    )
    loosening_others: FloatProperty(
        name="Others",
        description="Share of a hit that every bone feels at least",
        default=_STANDARD.others,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=FIXED,
        update=changed,
    )
    loosening_regain: FloatProperty(
        name="Regain",
        description="Share of the full weights that comes back per second",
        default=_STANDARD.regain,
        min=0.0,
        soft_max=10.0,
        options=FIXED,
        update=changed,
    )


CLASSES = (ActiveRagdollHit, ActiveRagdollExplosion, ActiveRagdollHitter)
