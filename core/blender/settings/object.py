"""The settings of a character and of a scene, with what a build keeps there, and where all settings are attached."""

import bpy

from ...ragdoll import drives
from .. import runtime
from ..physics import built, helpers, source
from ..run import records
from ..stack import entries
from . import bone, declare, effects
from .declare import READ, REBUILD, choice, flag, items, number, record, settings, share, text, whole

MASS_MODELS = (
    ("AUTO", "Automatic", "A table of human segments for recognised humans, else volume times density"),
    ("DE_LEVA_MALE", "De Leva, Male", "Human segments after de Leva 1996, male"),
    ("DE_LEVA_FEMALE", "De Leva, Female", "Human segments after de Leva 1996, female"),
    ("WINTER", "Winter", "Human segments after Winter 2009"),
    ("DENSITY", "Density", "Volume times density"),
)
STATES = (
    ("NONE", "None", "No ragdoll", "NONE"),
    ("READY", "Ready", "Built; nothing is simulated at this frame", "CHECKMARK"),
    ("LIVE", "Live", "The frame shown is simulated", "PLAY"),
    ("CACHED", "Cached", "The simulated range is kept in a baked cache", "FILE_CACHE"),
    ("BAKED", "Baked", "The result is in keyframes; the ragdoll is muted", "ACTION"),
    ("BROKEN", "Interrupted", "Interrupted in mid-shot; starts again from the shot's first frame", "FILE_REFRESH"),
    ("ELSEWHERE", "Elsewhere", "Its ragdoll is in another scene; here it shows its animation", "SCENE_DATA"),
)
DRIVE_SPACES = (
    ("WORLD", "World", "Each body is led to its place in the world"),
    ("JOINT", "Joint", "Each body is led to its pose against its parent: nothing holds the character up"),
)


def _blend_changed(self, context) -> None:
    """The one setting that originals carry: the influence of the character's own constraints."""
    READ.update(self, context)
    if self.id_data.type == "ARMATURE" and self.is_ragdoll:
        source.set_influence(self.id_data, self.physics_blend)


def _place_of(state: str) -> int:
    return [known[0] for known in (*STATES, *effects.PHASES)].index(state)


def _built_in(place: str, inside: str, kind: str) -> property:
    """A property of a character's settings: the helper of a kind in one of its collections, None without it."""

    def find(self):
        collection = getattr(self, place)
        return built.first(getattr(collection, inside), kind) if collection is not None else None

    return property(find)


class MotionStack:
    """A part of the character's settings: what the kinds of entries say; see `take_registries`."""


class Drive:
    """A part of the character's settings: what the laws of drives say; see `take_registries`."""


# fmt: off

class ActiveRagdollMotionKind(bpy.types.PropertyGroup):
    """A place in the order of the motion stack's entries."""

    kind: text(None)


class ActiveRagdollCollection(bpy.types.PropertyGroup):
    """On the collections of ragdolls and motion stacks; see `built`."""

    owner: record(str, "Name of the character when its helpers were made")
    record: record(str, "What a build made, as JSON")


class ActiveRagdollObject(MotionStack, effects.EffectSettings, Drive, bpy.types.PropertyGroup):
    """Settings of a character."""

    rotation_weight: share("Rotation", "How strongly the bodies' orientations follow the animation: 1 exactly, 0 limp",
        keyed=True, needs=READ)
    translation_weight: share("Translation", "How strongly the bodies' positions follow the animation: 1 exactly, 0 "
        "not at all", keyed=True, needs=READ)
    physics_blend: share("Physics Blend", "Share of the simulated pose in what is shown", keyed=True, needs=READ,
        update=_blend_changed)
    drive_space: choice("Space", DRIVE_SPACES, "WORLD", needs=REBUILD)
    human_strength: flag("Human Strength", "Bones without a largest torque or force of their own are as strong as a "
        "human's, by their roles", needs=READ)
    self_collision: flag("Self Collision", "Bodies of this character that are not joined touch each other", True,
        needs=REBUILD)
    stretch: flag("Follow Positions", "Bones take the whole transform of their bodies, so that joints may separate a "
        "little as the bodies do, instead of the rotation alone", needs=REBUILD)
    coverage: number("Coverage", "Share of the mesh's vertices that the shape fitted to them covers, for each body",
        0.9, min=0.5, max=1.0, subtype="FACTOR", needs=REBUILD)
    density: number("Density [kg/m^3]", "Mass of a body for its volume", 1000.0, min=1.0, max=30000.0, needs=REBUILD)
    mass_model: choice("Mass Model", MASS_MODELS, "AUTO", "How the masses of bodies without a mass of their own come "
        "about", needs=REBUILD)
    body_mass: number("Body Mass", "Of the whole character with a table of human segments; 0 takes 70 kg at 1.8 m, by "
        "the cube of the height", min=0.0, max=1.0e7, unit="MASS", needs=REBUILD, zero="automatic", ticked=70.0)
    stabilize_masses: flag("Stabilize Masses", "Bring the masses of joined bodies within 20 % of each other, the total "
        "being kept: steadier, and farther from nature", needs=REBUILD)
    key_tolerance: number("Tolerance [deg]", "Largest deviation that the removal of keys may cause when baking, in "
        "degrees and in thousandths of the character's height; 0 keeps every frame", min=0.0, max=10.0,
        zero="every frame", ticked=0.1)

    version: record(int, "Layout that the settings were stored with", declare.FILE)
    is_ragdoll: record(bool)
    muted: record(bool, "The result is baked to keyframes")
    layout_changed: record(bool, "Settings changed that need a new build")
    cache_outdated: record(bool, "Settings changed since the cache was made")
    seen: record(str, "What the motion stack read of the simulation, by frame, as JSON")
    collection: record(bpy.types.Collection)
    scene: record(bpy.types.Scene)
    source_name: record(str, "Name of its source in the hidden scene")
    motion_scene: record(bpy.types.Scene, of=declare.STACK_RECORD)
    motion_collection: record(bpy.types.Collection, of=declare.STACK_RECORD)

    baked_action: record(bpy.types.Action)
    old_action: record(bpy.types.Action)
    bake_record: record(str, "What revert_bake restores, as JSON")

    recovery: settings(effects.ActiveRagdollRecovery, "Recovery", options=None)

    source = property(lambda self: source.found(self.id_data), source.note)
    # What was built is found in the collections; see `built`.
    parts = property(lambda self: built.parts(self.collection) if self.collection is not None else [])  # its bodies
    bodies = _built_in("collection", "children", built.BODIES)  # their collection, in the order of `parts`
    targets = _built_in("collection", "children", built.TARGETS)  # that of the target bodies, in the same order
    physics_armature = _built_in("collection", "objects", built.PHYSICS_ARMATURE)  # it takes the bodies' places
    target_armature = _built_in("motion_collection", "objects", built.TARGET_ARMATURE)  # the motion stack poses it
    # Of when it was built: the largest extent of the bind pose [m], and the character's scale in the world.
    height = property(lambda self: built.record(self.collection)["height"])
    built_scale = property(lambda self: built.record(self.collection)["scale"])

    run_state: choice("Run", STATES, None, "How far the simulation is", kind=declare.DERIVED, override=set(),
        get=lambda self: _place_of(runtime.state_of(self.id_data)))
    state: choice("State", (*STATES, *effects.PHASES), None, "What the ragdoll is doing; with a recovery its state at "
        "the frame shown", kind=declare.DERIVED, override=set(),
        get=lambda self: _place_of(records.phase_of(self.id_data) or runtime.state_of(self.id_data)))


class ActiveRagdollScene(bpy.types.PropertyGroup):
    """What a run changes in the scene's rigid body world, so that it can be put back."""

    use_range: flag("Own Range", "Simulate another range than the scene's")
    frame_start: whole("Start", None, 1)
    frame_end: whole("End", None, 250)
    show_helpers: flag("Helper Objects", "Show the objects that ragdolls are made of: bodies, joints and what drives "
        "them", update=lambda self, _context: helpers.show_helpers(self.id_data))
    world_created: record(bool)
    collections_created: record(str)
    collections_linked: record(str)
    cache_start: record(int)
    cache_end: record(int)
    cache_saved: record(bool)
    cache_good: record(int, "Last frame of the baked cache that is good", declare.SHOT)
    cache_is_ours: record(bool, "The baked cache was made by a run", declare.SHOT)
    source: record(bpy.types.Scene)
    overrides: record(str, "Settings of characters with a library override, as JSON")
    is_source: record(bool)
    version: record(int, "Layout that the settings were stored with", declare.FILE)
    # Whether it has characters of ours, even if its hidden scene was deleted:
    has_characters = property(lambda self: self.source is not None or self.cache_saved)


# fmt: on


def take_registries() -> None:
    """Declare what the kinds of entries and the laws of drives have as settings; before classes are registered."""
    made = {name: own for kind in entries.kinds() for name, own in kind.declared().items()}
    declare.declare_in(MotionStack, made | {"motion_order": items(ActiveRagdollMotionKind)})
    laws = [(law.identifier, law.label, law.description) for law in drives.LAWS]
    own = {"drive": choice("Drive", laws, laws[0][0], needs=REBUILD)}

    def of(parameter, default: float, **more):
        limits = {"min": parameter.lowest, "max": parameter.highest}
        return number(parameter.title, parameter.description, default, keyed=True, needs=READ, **limits, **more)

    own |= {parameter.setting: of(parameter, parameter.default) for parameter in drives.parameters()}
    factors = (parameter.factor for parameter in drives.parameters())
    declare.declare_in(Drive, own)
    declare.declare_in(bone.DriveFactors, {factor.setting: of(factor, 1.0, group="weights") for factor in factors})


OWNERS = {
    bpy.types.Object: ActiveRagdollObject,
    bpy.types.PoseBone: bone.ActiveRagdollBone,
    bpy.types.Scene: ActiveRagdollScene,
    bpy.types.Collection: ActiveRagdollCollection,
}


def classes() -> tuple:
    """What is to be registered, inner groups first."""
    inner = [group for kind in entries.kinds() for group in kind.classes]
    found = (*inner, *declare.classes_of(effects), ActiveRagdollMotionKind, *OWNERS.values())
    for group in found:
        declare.complete(group)
    return found
