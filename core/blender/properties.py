"""The settings stored in the file: on scenes, objects and pose bones.

Property groups hold data only. Angles are in radians; what can be keyed is marked by `ANIMATABLE`.
"""

import bpy

from . import (
    attachment_settings,
    graph_properties,
    hit_settings,
    layer_properties,
    limb_settings,
    look_at_settings,
    recovery_record,
    recovery_settings,
    runtime,
    source,
    visibility,
)
from .attachment_settings import AttachmentSettings
from .bone_properties import ActiveRagdollBone
from .hit_settings import HitSettings
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
    changed,
    layout_changed,
)

MASS_MODELS = (
    ("AUTO", "Automatic", "A table of human segments for recognised humans, else volume times density"),
    ("DE_LEVA_MALE", "De Leva, Male", "Human segments after de Leva 1996, male"),
    ("DE_LEVA_FEMALE", "De Leva, Female", "Human segments after de Leva 1996, female"),
    ("WINTER", "Winter", "Human segments after Winter 2009"),
    ("DENSITY", "Density", "Volume times density"),
)
STATES = (
    ("NONE", "None", "No ragdoll"),
    ("READY", "Ready", "Built; nothing is simulated at this frame"),
    ("LIVE", "Live", "The frame shown is simulated"),
    ("CACHED", "Cached", "The simulated range is kept in a baked cache"),
    ("BAKED", "Baked", "The result is in keyframes; the ragdoll is muted"),
    ("BROKEN", "Broken", "Interrupted in mid-shot; starts again from the shot's first frame"),
)


def _blend_changed(self, _context) -> None:
    """The one setting that originals carry: the influence of the character's own constraints."""
    runtime.settings_changed(self.id_data)
    for bone in self.id_data.pose.bones if self.id_data.type == "ARMATURE" and self.is_ragdoll else ():
        for constraint in bone.constraints:
            if constraint.name == source.CONSTRAINT_NAME:
                constraint.influence = self.physics_blend


def _helpers_shown(self, _context) -> None:
    visibility.show(self.id_data)


class ActiveRagdollMotor(bpy.types.PropertyGroup):
    """A motor between a body and its parent's."""

    empty: PointerProperty(type=bpy.types.Object, options=FIXED)
    index: IntProperty(description="Which of the six axes it has", options=FIXED)


class ActiveRagdollPart(bpy.types.PropertyGroup):
    """The helpers of one simulated bone."""

    bone: StringProperty(options=FIXED)
    parent: StringProperty(name="Parent", description="Bone that the joint leads to", options=FIXED)
    body: PointerProperty(type=bpy.types.Object, options=FIXED)
    target: PointerProperty(type=bpy.types.Object, options=FIXED)
    anchor: PointerProperty(type=bpy.types.Object, options=FIXED)
    offset: FloatVectorProperty(size=16, description="Bone frame to body frame, world units, row-major", options=FIXED)
    bind: FloatVectorProperty(
        size=16,
        description="Bone in bind pose in the armature's space at world scale, row-major",
        options=FIXED,
    )
    motors: CollectionProperty(type=ActiveRagdollMotor, options=FIXED)
    inertia: FloatProperty(description="Inertia of all that the joint carries [kg m^2]", options=FIXED)
    depth: IntProperty(options=FIXED)


class ActiveRagdollObject(
    limb_settings.MotionLists,
    layer_properties.PoseLayers,
    graph_properties.PoseGraph,
    HitSettings,
    AttachmentSettings,
    bpy.types.PropertyGroup,
):
    """Settings of a character."""

    rotation_weight: FloatProperty(
        name="Rotation",
        description="How strongly the bodies' orientations follow the animation: 1 exactly, 0 limp",
        default=1.0,
        options=ANIMATABLE,
        update=changed,
        **PERCENT,
    )
    translation_weight: FloatProperty(
        name="Translation",
        description="How strongly the bodies' positions follow the animation: 1 exactly, 0 not at all",
        default=1.0,
        options=ANIMATABLE,
        update=changed,
        **PERCENT,
    )
    physics_blend: FloatProperty(
        name="Physics Blend",
        description="Share of the simulated pose in what is shown",
        default=1.0,
        options=ANIMATABLE,
        update=_blend_changed,
        **PERCENT,
    )
    drive: EnumProperty(
        name="Drive",
        items=(
            ("VELOCITY", "Velocity", "Match the animation's velocities and positions"),
            ("SPRING", "Spring", "Damped springs between the bodies and their places in the animation"),
        ),
        default="VELOCITY",
        options=FIXED,
        update=layout_changed,
    )
    drive_space: EnumProperty(
        name="Space",
        items=(
            ("WORLD", "World", "Each body is led to its place in the world"),
            ("JOINT", "Joint", "Each body is led to its pose against its parent: nothing holds the character up"),
        ),
        default="WORLD",
        options=FIXED,
        update=layout_changed,
    )
    spring_frequency: FloatProperty(
        name="Frequency",
        description="How often a second a body would swing on its spring [Hz], at weight 1",
        default=3.0,
        min=0.1,
        max=30.0,
        options=ANIMATABLE,
        update=changed,
    )
    spring_damping_ratio: FloatProperty(
        name="Damping Ratio",
        description="Of the springs: 0 swings for ever, 1 comes to rest soonest without swinging",
        default=1.0,
        min=0.0,
        max=3.0,
        options=ANIMATABLE,
        update=changed,
    )
    human_strength: BoolProperty(
        name="Human Strength",
        description="Bones without a largest torque or force of their own are as strong as a human's, by their roles",
        default=False,
        options=FIXED,
        update=changed,
    )
    self_collision: BoolProperty(
        name="Self Collision",
        description="Bodies of this character that are not joined touch each other",
        default=True,
        options=FIXED,
        update=layout_changed,
    )
    stretch: BoolProperty(
        name="Follow Positions",
        description="Bones take the whole transform of their bodies, so that joints may separate a little "
        "as the bodies do, instead of the rotation alone",
        default=False,
        options=FIXED,
        update=layout_changed,
    )
    coverage: FloatProperty(
        name="Coverage",
        description="Share of the mesh's vertices that the shape fitted to them covers, for each body",
        default=0.9,
        min=0.5,
        max=1.0,
        subtype="FACTOR",
        options=FIXED,
        update=layout_changed,
    )
    density: FloatProperty(
        name="Density",
        description="Mass of a body for its volume [kg/m^3]",
        default=1000.0,
        min=1.0,
        max=30000.0,
        options=FIXED,
        update=layout_changed,
    )
    mass_model: EnumProperty(
        name="Mass Model",
        items=MASS_MODELS,
        default="AUTO",
        description="How the masses of bodies without a mass of their own come about",
        options=FIXED,
        update=layout_changed,
    )
    body_mass: FloatProperty(
        name="Body Mass",
        description="Of the whole character with a table of human segments; 0 takes 70 kg at 1.8 m, by the cube "
        "of the height",
        default=0.0,
        min=0.0,
        max=1.0e7,
        unit="MASS",
        options=FIXED,
        update=layout_changed,
    )
    stabilize_masses: BoolProperty(
        name="Stabilize Masses",
        description="Bring the masses of joined bodies within 20 % of each other, the total being kept: steadier, "
        "and farther from nature",
        default=False,
        options=FIXED,
        update=layout_changed,
    )
    key_tolerance: FloatProperty(
        name="Key Tolerance",
        description="Largest deviation that the removal of keys may cause when baking, in degrees and in "
        "thousandths of the character's height; 0 keeps every frame",
        default=0.0,
        min=0.0,
        max=10.0,
        options=FIXED,
    )

    is_ragdoll: BoolProperty(options=FIXED)
    muted: BoolProperty(options=FIXED, description="The result is baked to keyframes")
    layout_changed: BoolProperty(options=FIXED, description="Settings changed that need a new build")
    cache_outdated: BoolProperty(options=FIXED, description="Settings changed since the cache was made")
    parts: CollectionProperty(type=ActiveRagdollPart, options=FIXED)
    collection: PointerProperty(type=bpy.types.Collection, options=FIXED)
    bodies: PointerProperty(type=bpy.types.Collection, options=FIXED)
    targets: PointerProperty(type=bpy.types.Collection, options=FIXED)
    scene: PointerProperty(type=bpy.types.Scene, options=FIXED)
    physics_armature: PointerProperty(type=bpy.types.Object, options=FIXED)
    source: PointerProperty(type=bpy.types.Object, options=FIXED)
    motion_scene: PointerProperty(type=bpy.types.Scene, options=FIXED)
    motion_collection: PointerProperty(type=bpy.types.Collection, options=FIXED)
    target_armature: PointerProperty(type=bpy.types.Object, options=FIXED)
    built_for: StringProperty(options=FIXED, description="Name of the character when its ragdoll was built")
    posed_by: StringProperty(options=FIXED, description="Of a target armature: its character's name")
    followers: StringProperty(options=FIXED, description="Names of bones that follow by a constraint, as JSON")
    height: FloatProperty(options=FIXED, description="Largest extent of the bind pose [m]")
    built_scale: FloatProperty(options=FIXED)

    baked_action: PointerProperty(type=bpy.types.Action, options=FIXED)
    old_action: PointerProperty(type=bpy.types.Action, options=FIXED)
    bake_record: StringProperty(options=FIXED, description="What revert_bake restores, as JSON")

    recovery: PointerProperty(type=recovery_settings.ActiveRagdollRecovery, name="Recovery")

    def _get_run_state(self) -> int:
        return [s[0] for s in STATES].index(runtime.state_of(self.id_data))

    def _get_state(self) -> int:
        own = self.id_data
        state = recovery_record.phase_of(own) or runtime.state_of(own)
        return [s[0] for s in (*STATES, *recovery_settings.PHASES)].index(state)

    run_state: EnumProperty(
        name="Run",
        items=STATES,
        get=_get_run_state,
        options=FIXED,
        override=set(),
        description="How far the simulation is",
    )
    state: EnumProperty(
        name="State",
        items=(*STATES, *recovery_settings.PHASES),
        get=_get_state,
        options=FIXED,
        override=set(),
        description="What the ragdoll is doing; with a recovery its state at the frame shown",
    )


class ActiveRagdollScene(bpy.types.PropertyGroup):
    """What a run changes in the scene's rigid body world, so that it can be put back."""

    use_range: BoolProperty(name="Own Range", description="Simulate another range than the scene's", options=FIXED)
    frame_start: IntProperty(name="Start", default=1, options=FIXED)
    frame_end: IntProperty(name="End", default=250, options=FIXED)
    show_helpers: BoolProperty(
        name="Helper Objects",
        description="Show the objects that ragdolls are made of: bodies, joints and what drives them",
        default=False,
        options=FIXED,
        update=_helpers_shown,
    )
    world_created: BoolProperty(options=FIXED)
    collections_created: StringProperty(options=FIXED)
    collections_linked: StringProperty(options=FIXED)
    cache_start: IntProperty(options=FIXED)
    cache_end: IntProperty(options=FIXED)
    cache_saved: BoolProperty(options=FIXED)
    cache_good: IntProperty(options=FIXED, description="Last frame of the baked cache that is good")
    cache_is_ours: BoolProperty(options=FIXED, description="The baked cache was made by a run")
    source: PointerProperty(type=bpy.types.Scene, options=FIXED)
    overrides: StringProperty(options=FIXED, description="Settings of characters with a library override, as JSON")
    is_source: BoolProperty(options=FIXED)


CLASSES = (
    *layer_properties.CLASSES,
    *graph_properties.CLASSES,
    *look_at_settings.CLASSES,
    *limb_settings.CLASSES,
    *hit_settings.CLASSES,
    *attachment_settings.CLASSES,
    *recovery_settings.CLASSES,
    ActiveRagdollMotor,
    ActiveRagdollPart,
    ActiveRagdollObject,
    ActiveRagdollBone,
    ActiveRagdollScene,
)

_OWNERS = (
    (bpy.types.Object, ActiveRagdollObject),
    (bpy.types.PoseBone, ActiveRagdollBone),
    (bpy.types.Scene, ActiveRagdollScene),
)


def add_settings() -> None:
    """Attach the property groups as `active_ragdoll`."""
    for owner, group in _OWNERS:
        owner.active_ragdoll = PointerProperty(type=group, name="Active Ragdoll")


def remove_settings() -> None:
    """Detach the property groups; values stay in the file for the next time."""
    for owner, _group in _OWNERS:
        del owner.active_ragdoll
