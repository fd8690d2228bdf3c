"""The settings of knock-out and recovery, on the character object."""

import bpy

from ..motion import getting_up
from ..ragdoll import recovery
from .setting_options import (
    ANIMATABLE,
    FIXED,
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
    changed,
)

PHASES = (
    ("ANIMATED", "Animated", "The simulation is off: the animation plays"),
    ("ACTIVE", "Active", "Simulated with its own weights"),
    ("LIMP", "Limp", "Knocked out: the weights are 0"),
    ("SETTLING", "Settling", "Limp and slow; when it has been so for long enough it recovers"),
    ("RECOVERING", "Recovering", "The weights rise from 0 to what they are"),
    ("BLENDING", "Blending", "The physics blend falls to 0, then the simulation is switched off"),
)
# What can be keyed, and is read at the current frame.
KEYABLE = (
    "knock_out_speed",
    "knock_out_distance",
    "rest_speed",
    "rest_time",
    "regain",
    "blend_time",
    "calm_time",
    "reroot_time",
)


def _number(name: str, default: float, description: str, **more) -> FloatProperty:
    options = {"min": 0.0, "precision": 2, "options": ANIMATABLE, "update": changed} | more
    return FloatProperty(name=name, description=description, default=default, **options)


class ActiveRagdollRecoveryEvent(bpy.types.PropertyGroup):
    """A state forced at a frame."""

    frame: IntProperty(name="Frame", description="Frame of the shot", default=1, options=FIXED, update=changed)
    phase: EnumProperty(
        name="State",
        description="State that begins at the frame; of two at one frame the one further from the animation holds",
        items=PHASES,
        default="LIMP",
        options=FIXED,
        update=changed,
    )
    hold: BoolProperty(
        name="Hold",
        description="Keep the state until the next event, whatever happens",
        default=False,
        options=FIXED,
        update=changed,
    )


class ActiveRagdollRecovery(bpy.types.PropertyGroup):
    """Knock-out and recovery. Thresholds are those of a character of 1.8 m under Earth's gravity; others are scaled."""

    enabled: BoolProperty(
        name="Recovery",
        description="Strong hits knock the character out; when it has come to rest it recovers, and gets up",
        default=False,
        options=FIXED,
        update=changed,
    )
    knock_out_speed: _number(
        "Knock-out Hit",
        recovery.Settings.knock_out_speed,
        "Hits that would give the whole character this speed knock it out [m/s]; 0 never",
        unit="VELOCITY",
    )
    knock_out_distance: _number(
        "Knock-out Distance",
        recovery.Settings.knock_out_distance,
        "A body so far from its place in the animation knocks the character out [m]; 0 never",
        unit="LENGTH",
    )
    watched: EnumProperty(
        name="Watched",
        description="Whose speed says whether the character is at rest",
        items=(("PELVIS", "Pelvis", "The pelvis's"), ("MEAN", "All Bodies", "The mean of all bodies'")),
        default=recovery.Settings.watched,
        options=FIXED,
        update=changed,
    )
    rest_speed: _number(
        "Rest Speed", recovery.Settings.rest_speed, "Slower, a limp character is at rest [m/s]", unit="VELOCITY"
    )
    rest_time: _number("Rest Time", recovery.Settings.rest_time, "So long it must be at rest before it recovers [s]")
    regain: _number("Regain", recovery.Settings.regain, "How fast the weights rise from 0 to their own [1/s]")
    blend_time: _number("Blend Time", 0.5, "In which the physics blend falls to 0 when it has recovered [s]")
    switch_off: BoolProperty(
        name="Switch Off",
        description="End the simulation of the character when it has recovered, until the next event",
        default=recovery.Settings.switch_off,
        options=FIXED,
        update=changed,
    )
    starts: EnumProperty(
        name="Starts",
        description="State at the shot's first frame",
        items=[phase for phase in PHASES if phase[0] in ("ACTIVE", "ANIMATED")],
        default=recovery.Settings.starts,
        options=FIXED,
        update=changed,
    )
    calm_time: _number(
        "Calm Time",
        recovery.Settings.calm_time,
        "After a hit that did not knock out, the simulation is switched off again when the bodies have been near "
        "the animation for so long [s]",
    )
    events: CollectionProperty(type=ActiveRagdollRecoveryEvent, options=FIXED)
    event_index: IntProperty(options=FIXED)

    reroot: BoolProperty(
        name="Get Up Where It Lies",
        description="Move the animation to where the pelvis came to rest, turned as the character lies",
        default=True,
        options=FIXED,
        update=changed,
    )
    method: EnumProperty(
        name="Blend",
        description="From the limp pose to the moved animation",
        items=(
            ("INERTIALIZED", "Inertialised", "The difference dies away, beginning with its own velocity"),
            ("CROSS_FADED", "Cross-Faded", "The limp pose is faded out"),
        ),
        default=getting_up.INERTIALIZED,
        options=FIXED,
        update=changed,
    )
    reroot_time: _number("Pose Time", 1.0, "In which the limp pose goes over into the moved animation [s]")
    get_up_face_up: PointerProperty(
        name="Face Up",
        description="Action that is played first when the character lies on its back",
        type=bpy.types.Action,
        options=FIXED,
        update=changed,
    )
    get_up_face_down: PointerProperty(
        name="Face Down",
        description="Action that is played first when the character lies on its face",
        type=bpy.types.Action,
        options=FIXED,
        update=changed,
    )
    record: StringProperty(options=FIXED, description="States of the cached frames, as JSON")


CLASSES = (ActiveRagdollRecoveryEvent, ActiveRagdollRecovery)


def settings_of(group) -> recovery.Settings:
    """What `recovery.step` takes, from the property group of an object or of its evaluated source."""
    names = ("watched", "switch_off", "starts")
    numbers = (name for name in KEYABLE if name != "reroot_time")
    return recovery.Settings(**{name: getattr(group, name) for name in (*numbers, *names)})


def events_of(group, first: float, last: float) -> tuple[list, list]:
    """Events in order, one for each frame, and notes for the user; see `recovery.arranged`."""
    events = [recovery.Event(float(event.frame), event.phase, event.hold) for event in group.events]
    return recovery.arranged(events, first, last)


def copy_keyable(group, other) -> None:
    """Let a source's settings have the character's; keys overrule them when it is evaluated."""
    for name in KEYABLE:
        setattr(other, name, getattr(group, name))
