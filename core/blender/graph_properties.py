"""Settings of a character's graph of states."""

import bpy

from .clip_properties import KEYS, ActionChoice, Playback, choice, flag, number, share, text
from .setting_names import Named, named, uses_of_parameter, uses_of_state
from .setting_options import FIXED, CollectionProperty, IntProperty, PointerProperty, StringProperty
from .stack_edits import stack_changed

KINDS = (("FLOAT", "Number", "A number"), ("BOOL", "On or Off", "Counts as 1 and 0"))
READS = (
    ("VALUE", "Value", "The value beside, which can be keyed and driven by any property"),
    ("SPEED", "Speed", "Measured: how fast the character's animation moves over the ground [m/s]"),
    (
        "RAGDOLL_STATE",
        "Ragdoll State",
        "Of the ragdoll after the last frame: 0 animated, 1 active, 2 limp, 3 settling, 4 recovering, 5 blending",
    ),
    ("RAGDOLL_SPEED", "Ragdoll Speed", "How fast the simulated body moved over the last frame [m/s]"),
    (
        "RAGDOLL_HIT",
        "Ragdoll Hit",
        "The largest speed that anything gave a body over the last frame, beyond gravity and its animation [m/s]",
    ),
    ("RAGDOLL_CONTACT", "Ragdoll Contact", "1 while a body (of the bone beside, or any) touches something else"),
)
STATE_SOURCES = (
    ("NONE", "Pose Below", "The character's own animation"),
    ("CLIP", "Clip", "An action"),
    ("BLEND_SPACE", "Blend Space", "One of the character's blend spaces"),
)
COMPARE = (
    (">", ">", "Above"),
    (">=", "\u2265", "Above or equal"),
    ("<", "<", "Below"),
    ("<=", "\u2264", "Below or equal"),
    ("==", "=", "Equal"),
    ("!=", "\u2260", "Other than"),
)


class ActiveRagdollParameter(Named, bpy.types.PropertyGroup):
    """A value that conditions ask for."""

    name: named(
        "By which conditions refer to it", "speed", lambda settings: settings.graph.parameters, uses_of_parameter
    )
    kind: choice("Kind", "A number, or on and off", KINDS, "FLOAT")
    read: choice("Read", "Where the value comes from", READS, "VALUE")
    value: number("Value", "Key it, or drive it by any property", keyed=True)
    on: flag("On", "Key it, or drive it by any property", options=KEYS, update=stack_changed)
    bone: text("Bone", "Bone whose body's contact counts; empty: any")


class ActiveRagdollGraphState(ActionChoice, Playback, Named, bpy.types.PropertyGroup):
    """A state and what it plays."""

    name: named("By which transitions refer to it", "State", lambda settings: settings.graph.states, uses_of_state)
    source: choice("Source", "What the state plays", STATE_SOURCES, "CLIP")
    blend_space: text("Blend Space", "Name of the blend space")


class ActiveRagdollCondition(bpy.types.PropertyGroup):
    """A comparison of a parameter with a value."""

    parameter: text("Parameter", "A parameter, time_in_state [s] or phase [cycles of the clip]")
    compare: choice("Compare", "How", COMPARE, ">")
    value: number("Value", "On and off are 1 and 0", 0.5)


class ActiveRagdollTransition(bpy.types.PropertyGroup):
    """A way from one state to another."""

    origin: text("From", "State that it leads from; *: any other", "*")
    target: text("To", "State that it leads to")
    blend_time: number("Blend", "Seconds until the new state is shown alone", 0.2, min=0.0, soft_max=2.0)
    conditions: CollectionProperty(type=ActiveRagdollCondition, options=FIXED)
    condition_index: IntProperty(options=FIXED)


class ActiveRagdollGraph(bpy.types.PropertyGroup):
    """States above clips and blend spaces."""

    enabled: flag("Graph", "The graph gives the pose that layers are put on", False)
    weight: share("Weight", "0 is the character's own animation, 1 the graph's")
    parameters: CollectionProperty(type=ActiveRagdollParameter, options=FIXED)
    parameter_index: IntProperty(options=FIXED)
    states: CollectionProperty(type=ActiveRagdollGraphState, options=FIXED)
    state_index: IntProperty(options=FIXED)
    transitions: CollectionProperty(type=ActiveRagdollTransition, options=FIXED)
    transition_index: IntProperty(options=FIXED)
    record: StringProperty(
        description="What the ragdoll gave the parameters in the simulated shot, as JSON", options=FIXED
    )


class PoseGraph:
    """A part of a character's settings."""

    graph: PointerProperty(type=ActiveRagdollGraph, options=FIXED)


CLASSES = (
    ActiveRagdollParameter,
    ActiveRagdollGraphState,
    ActiveRagdollCondition,
    ActiveRagdollTransition,
    ActiveRagdollGraph,
)
