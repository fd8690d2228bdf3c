"""The settings of hits and explosions, attachments, knock-out and recovery; hits and attachments are added here."""

import math
from functools import partial

import bpy

from ...errors import RagdollError
from ...motion import getting_up
from ...ragdoll import hits as core_hits
from ...ragdoll.recovery import states
from .. import runtime
from ..physics import built, world
from ..rig.armature import check_ragdoll
from . import declare, lists
from .declare import DERIVED, READ, SHOT, record

SPACES = (
    ("WORLD", "World", "Along the world's axes"),
    ("LOCAL", "Local", "Along the bone's axes, turning with its body"),
    ("TOWARDS", "Towards", "From the point that is hit towards an object"),
)
KINDS = (
    ("POINT", "Point", "The bone's point stays at the target; the bone turns freely about it"),
    ("FIXED", "Fixed", "The bone keeps its place and its orientation against the target"),
    ("DISTANCE", "Distance", "A rope: the bone's point goes no farther from the target than the length"),
)
OFFSETS = (
    ("MOMENT", "Of the Moment", "What it is when the attachment is switched on"),
    ("STATED", "Stated", "As given below, reached within the reach time"),
)
PHASES = (
    ("ANIMATED", "Animated", "The simulation is off: the animation plays", "ARMATURE_DATA"),
    ("ACTIVE", "Active", "Simulated with its own weights", "PLAY"),
    ("LIMP", "Limp", "Knocked out: the weights are 0", "GHOST_ENABLED"),
    ("SETTLING", "Settling", "Limp and slow; when it has been so for long enough it recovers", "TIME"),
    ("RECOVERING", "Recovering", "The weights rise from 0 to what they are", "LOOP_FORWARDS"),
    ("BLENDING", "Blending", "The physics blend falls to 0, then the simulation is switched off", "FORCE_HARMONIC"),
)
DURATION = "Time over which the impulse is given evenly; 0 is a blow within one frame"
_WATCHED = (("PELVIS", "Pelvis", "Pelvis or trunk, the fastest"), ("MEAN", "All Bodies", "The mean of all bodies'"))
AUTOMATIC, BLEND, STAY_DOWN = "AUTOMATIC", "BLEND", "STAY_DOWN"
_GET_UP = (
    (AUTOMATIC, "Automatic", "By the actions below where there are any; else planned for how and where it lies, over "
     "hands, knees and feet, or four paws. Characters without four limbs blend"),
    ("ACTIONS", "Actions", "By the actions below"),
    (BLEND, "Blend", "The limp pose goes over into the animation"),
    (STAY_DOWN, "Stay Down", "It stays where it lies"),
)  # fmt: skip
PARTS = (
    ("HIPS", "Hips", "Where its hips are then"),
    ("LEFT_FOOT", "Left Foot", "Where that foot stands, or a quadruped's hind paw"),
    ("RIGHT_FOOT", "Right Foot", "Where that foot stands, or a quadruped's hind paw"),
    ("LEFT_HAND", "Left Hand", "Where that hand stands, or a quadruped's front paw"),
    ("RIGHT_HAND", "Right Hand", "Where that hand stands, or a quadruped's front paw"),
)
_FEET = (
    (AUTOMATIC, "Automatic", "Over the free hand, and the side that it lies on"),
    ("LEFT", "Left", "The left foot"),
    ("RIGHT", "Right", "The right foot"),
)
_METHODS = (
    ("INERTIALIZED", "Inertialised", "The difference dies away, beginning with its own velocity"),
    ("CROSS_FADED", "Cross-Faded", "The limp pose is faded out"),
)
_LOOSENING, _RECOVERY = core_hits.Loosening(), states.Settings
TONES = (
    ("RAG", "Rag", "Without muscles"),
    ("UNCONSCIOUS", "Unconscious", "Muscles that hold hardly anything"),
    ("STUNNED", "Stunned", "Falls as a body, not as cloth"),
    ("AWAKE", "Awake", "Protects head and trunk by reflexes"),
)
TONE_VALUES = {"RAG": (0.0, False), "UNCONSCIOUS": (0.1, False), "STUNNED": (0.25, False), "AWAKE": (0.6, True)}

# A run reads all of these again when they are edited.
_OF_RUNS = ("block", "choice", "flag", "items", "number", "share", "text", "vector", "whole")
block, choice, flag, items, number, share, text, vector, whole = (
    partial(getattr(declare, name), needs=READ) for name in _OF_RUNS
)
_number = partial(number, min=0.0, keyed=True)


def _set_strength(self, value: float) -> None:
    now = math.hypot(*self.impulse)
    way = [along / now for along in self.impulse] if 0.0 < now < math.inf else (0.0, 1.0, 0.0)
    self.impulse = [value * along for along in way]


def _tone_changed(self, context) -> None:
    """Tone needs motors at the joints; only a build makes them."""
    READ.update(self, context)
    settings = self.id_data.active_ragdoll
    if self.enabled and self.tone > 0.0 and settings.is_ragdoll and not built.helpers(settings.collection, built.MOTOR):
        runtime.settings_changed(self.id_data, layout=True)


# fmt: off

# ---- hits -----------------------------------------------------------------------------------------------------------
class ActiveRagdollHit(bpy.types.PropertyGroup):
    """An impulse on a bone's body at a frame."""

    enabled: flag("Enabled", "Whether it acts at all", True)
    frame: whole("Frame", "Frame at which it begins; seen from the next one on")
    bone: text("Bone", "Bone whose body is hit")
    point: vector("Point", "Where it acts: from the middle of the body, along the bone's axes", unit="LENGTH")
    impulse: vector("Impulse [N s]", "Mass times change of speed of a free body, with its direction; Towards takes its "
        "length", (0.0, 20.0, 0.0))
    strength: number("Strength [N s]", "Length of the impulse: 20 N s is a blow that is seen, on a man of 70 kg",
        min=0.0, get=lambda self: math.hypot(*self.impulse), set=_set_strength, kind=DERIVED, needs=None)
    space: choice("Space", SPACES, "WORLD")
    duration: number("Duration", DURATION, min=0.0, soft_max=2.0, precision=3, unit="TIME_ABSOLUTE", zero="a blow",
        ticked=0.2)
    hurts: number("Hurts", "Time in which the limb that is hit gets its strength back, which it loses at once: an arm "
        "hangs, a leg gives way; 0 never", min=0.0, soft_max=5.0, unit="TIME_ABSOLUTE", zero="never", ticked=2.0)
    hold: flag("Hand to the Wound", "While it hurts, whoever falls and lies holds a free hand to the place that was "
        "hit, the nearest that comes there; needs tone")
    target: block("Target", "Object to hit towards")


class ActiveRagdollExplosion(bpy.types.PropertyGroup):
    """A blast that pushes all bodies of the character away from its origin."""

    enabled: flag("Enabled", "Whether it acts at all", True)
    frame: whole("Frame", "Frame at which it begins; seen from the next one on")
    origin: vector("Origin", "Where it comes from", unit="LENGTH")
    target: block("Object", "Object that it comes from, instead of the origin")
    radius: number("Radius", "Beyond it nothing is felt", 3.0, min=1e-4, unit="LENGTH")
    impulse: number("Impulse [N s]", "On a body at the origin; negative pulls", 10.0)
    falloff: number("Falloff", "How fast it fades towards the radius: 0 not at all, 1 evenly, 2 faster", 1.0, min=0.0,
        soft_max=4.0)
    duration: number("Duration", DURATION, min=0.0, soft_max=2.0, precision=3, unit="TIME_ABSOLUTE", zero="a blow",
        ticked=0.2)


# ---- attachments ----------------------------------------------------------------------------------------------------
class ActiveRagdollAttachment(bpy.types.PropertyGroup):
    """A bone's body held at an object or a bone."""

    name: text("Name", needs=None)
    enabled: flag("Enabled", "Whether it holds; can be keyed", True, keyed=True)
    bone: text("Bone", "Bone whose body is held")
    point: vector("Point", "Where it is held: from the bone's head, along the bone's axes [m]", unit="LENGTH")
    target: block("Target", "Object that holds it. Where physics moves that too, the reaction acts on it")
    target_bone: text("Target Bone", "Bone of the target that holds it, where the target is an armature")
    kind: choice("Kind", KINDS, "POINT")
    offset: choice("Offset", OFFSETS, "MOMENT")
    offset_location: vector("Location", "Where the target has the bone's point (Point, Distance) or the bone's head "
        "(Fixed), along the target's axes [m]", unit="LENGTH")
    offset_rotation: vector("Rotation", "Rotation of the bone against the target", (1.0, 0.0, 0.0, 0.0), "QUATERNION")
    offset_angles: declare.angles("Rotation", "offset_rotation", "Rotation of the bone against the target")
    reach_seconds: number("Reach Time", "How long the bone takes to a stated offset", 0.25, min=0.0, soft_max=2.0,
        unit="TIME_ABSOLUTE")
    length: number("Length", "Of the rope; 0 takes the distance of the moment", min=0.0, unit="LENGTH", keyed=True,
        zero="of the moment")
    max_force: number("Max Force [N]", "Largest force that a point or a fixed attachment holds with; 0 is no limit",
        min=0.0, keyed=True, zero="no limit", ticked=1000.0)


class EffectSettings:
    """What a character's settings have for hits and attachments."""

    hits: items(ActiveRagdollHit, "active_hit")
    explosions: items(ActiveRagdollExplosion, "active_explosion")

    loosening: number("Loosening", "How much hits lower the weights: 0 not at all, 1 as 30 N s leave 37 % on a man's "
        "hit bone", _LOOSENING.sensitivity, min=0.0, soft_max=5.0)
    loosening_parents: share("Parents", "Share of a hit that the next bone up the chain feels, and so on",
        _LOOSENING.parents)
    loosening_children: share("Children", "Share of a hit that the next bone down the chain feels, and so on",
        _LOOSENING.children)
    loosening_others: share("Others", "Share of a hit that every bone feels at least", _LOOSENING.others)
    loosening_regain: number("Return [1/s]", "Share of the full weights that comes back per second", _LOOSENING.regain,
        min=0.0, soft_max=10.0)

    attachments: items(ActiveRagdollAttachment, "active_attachment")


# ---- recovery -------------------------------------------------------------------------------------------------------
class ActiveRagdollRecoveryEvent(bpy.types.PropertyGroup):
    """A state forced at a frame."""

    frame: whole("Frame", "Frame of the shot", 1)
    phase: choice("State", PHASES, "LIMP", "State that begins at the frame; of two at one frame the one further from "
        "the animation holds")
    hold: flag("Hold", "Keep the state until the next event, whatever happens")


class ActiveRagdollWayPoint(bpy.types.PropertyGroup):
    """A key posture of the planned way up that was changed by hand."""

    key: whole("Posture", "Which one, counted from the pose that it lies in", 1, min=1)
    part: choice("Part", PARTS)
    offset: vector("Offset", "By how much it is elsewhere than planned, in the scene", unit="LENGTH")
    seconds: number("Later", "By how much later it comes than planned; negative is sooner", unit="TIME_ABSOLUTE")


class ActiveRagdollRecovery(bpy.types.PropertyGroup):
    """Knock-out and recovery. Thresholds are those of a character of 1.8 m under Earth's gravity; others are scaled."""

    enabled: flag("Recovery", "Strong hits knock the character out; when it has come to rest it recovers, and gets up",
        update=_tone_changed)
    knock_out_speed: _number("Knock-out Hit", "Hits that would give the whole character this speed knock it out, not "
        "one that keeps its Balance; 0 never", _RECOVERY.knock_out_speed, unit="VELOCITY", zero="never")
    knock_out_distance: _number("Knock-out Distance", "A body so far from its place in the animation knocks the "
        "character out; 0 never", _RECOVERY.knock_out_distance, unit="LENGTH", zero="never")
    watched: choice("Lies Still", _WATCHED, _RECOVERY.watched, "Whose speed says whether the character lies still")
    rest_speed: _number("Still Below", "A limp character that is slower lies still", _RECOVERY.rest_speed,
        unit="VELOCITY")
    rest_time: _number("Lies For", "So long it must lie still before it recovers and gets up, a giant longer",
        _RECOVERY.rest_time, unit="TIME_ABSOLUTE")
    regain: _number("Regains [1/s]", "Share of its strength that comes back each second while it recovers: at "
        "0.5 it takes two seconds", _RECOVERY.regain)
    blend_time: _number("Fades Within", "Time in which the shown pose goes over from physics to the animation "
        "when it has recovered", 0.5, unit="TIME_ABSOLUTE")
    switch_off: flag("Physics Ends Then", "The character plays its animation without physics when it has recovered, "
        "until the next hit or forced state", _RECOVERY.switch_off)
    starts: choice("Starts", [phase for phase in PHASES if phase[0] in ("ACTIVE", "ANIMATED")], _RECOVERY.starts,
        "State at the shot's first frame")
    calm_time: _number("Calm For", "After a hit that did not knock it out, physics ends again when the "
        "bodies have been near the animation for so long", _RECOVERY.calm_time, unit="TIME_ABSOLUTE")
    tone: share("Tone", "Strength of the muscles in the fall: 0 a rag, 0.1 unconscious, 0.25 stunned, 0.6 awake",
        _RECOVERY.tone, keyed=True, update=_tone_changed)
    reflexes: flag("Reflexes", "Protect head and trunk: arms towards the floor, the back round when falling backwards",
        _RECOVERY.reflexes, keyed=True)
    events: items(ActiveRagdollRecoveryEvent, "event_index")

    reroot: flag("Get Up Where It Lies", "Move the animation to where the pelvis came to rest, turned as the character "
        "lies", True)
    get_up: choice("Get Up", _GET_UP, AUTOMATIC, "How a character that has come to rest gets on its feet")
    get_up_pace: _number("Pace", "Times the duration of an ordinary way up: 0.6 is brisk, 1.6 hurt", 1.0, min=0.3,
        max=5.0, soft_min=0.6, soft_max=2.0)
    get_up_side: choice("Foot First", _FEET, AUTOMATIC, "Foot that it rises over")
    get_up_seed: whole("Variation", "Seed of small variations in rhythm and side, so that no two get up alike; 0: none",
        zero="none")
    way_points: items(ActiveRagdollWayPoint, "active_way_point")
    method: choice("Blend", _METHODS, getting_up.INERTIALIZED, "From the limp pose to the moved animation")
    reroot_time: _number("Pose Time", "In which the limp pose goes over into the moved animation", 1.0,
        unit="TIME_ABSOLUTE")
    get_up_face_up: block("Face Up", "Action that is played first when the character lies on its back",
        type=bpy.types.Action)
    get_up_face_down: block("Face Down", "Action that is played first when the character lies on its face",
        type=bpy.types.Action)
    record: record(str, "States of the cached frames, as JSON", SHOT)

# fmt: on


def set_tone(obj, name: str) -> None:
    """Let a character fall as one of `TONES`."""
    group = obj.active_ragdoll.recovery
    group.tone, group.reflexes = TONE_VALUES[name]


def events_of(group, first: float, last: float) -> tuple[list, list]:
    """Events in order, one for each frame, and notes for the user; see `recovery.arranged`."""
    events = [states.Event(float(event.frame), event.phase, event.hold) for event in group.events]
    return states.arranged(events, first, last)


# ---- adding ---------------------------------------------------------------------------------------------------------
def add_hit(
    obj, scene, bone: str, frame: int, impulse, point=(0.0, 0.0, 0.0), *, space="WORLD", duration=0.0
) -> list[str]:
    """Add a hit to a character's list.

    The impulse is in N s [3], the point [m] from the middle of the body, along the bone's axes [3].
    Returns notes, for example that it will not be felt. Raises RagdollError: no ragdoll, no such body, a value that is
    no number; nothing is added then.
    """
    check_ragdoll(obj)
    settings = obj.active_ragdoll
    what = bone, math.hypot(*impulse), tuple(impulse), tuple(point), space, duration
    wanted = core_hits.Hit(float(frame), *what, number=len(settings.hits) + 1)
    try:
        notes = core_hits.checked(wanted, [part.bone for part in settings.parts], *world.shot_range(scene))
    except RagdollError as error:
        raise RagdollError(f"'{obj.name}': {error}") from error
    hit = lists.add_item(settings, "hits")
    hit.bone, hit.frame, hit.impulse, hit.point = bone, int(frame), impulse, point
    hit.space, hit.duration = space, duration
    return notes


def add_given_hits(obj, scene, given) -> list[str]:
    """Add hits given as text: bone, frame and three components of the impulse [N s]. Returns notes on them. Raises
    RagdollError: as `add_hit`, or something is no number; those before it are added."""
    notes = []
    for bone, *values in given:
        try:
            frame, impulse = int(values[0]), [float(value) for value in values[1:]]
        except ValueError:
            raise RagdollError(f"Hit on bone '{bone}': {' '.join(values)} is not a frame and three numbers") from None
        notes += add_hit(obj, scene, bone, frame, impulse)
    return notes


def attach(obj, bone: str, target=None):
    """Attach a bone at its tail to an object. Returns the attachment's settings, for the caller to change. Raises
    RagdollError: no ragdoll, or the bone has no body; nothing is added then."""
    check_ragdoll(obj)
    settings = obj.active_ragdoll
    if built.part_of(obj, bone) is None:
        what = f"Bone '{bone}' of '{obj.name}' has no body" if bone else "No active bone: click one in Pose Mode"
        raise RagdollError(what)
    if target == obj:
        raise RagdollError(f"'{obj.name}' cannot be attached to itself")
    name = lists.unique(settings.attachments, f"Attachment {len(settings.attachments) + 1}")
    item = lists.add_item(settings, "attachments")
    item.name, item.bone, item.target = name, bone, target
    item.point = (0.0, obj.data.bones[bone].length * settings.built_scale, 0.0)
    return item
