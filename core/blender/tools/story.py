"""What one button tells of a shot: who is hit, pushed, blown away, goes limp and follows again, from a frame on.

Each leaves ordinary settings: hits, explosions, keys of weights, a recovery, a floor."""

import bpy
import numpy as np

from ...anatomy import masses
from ...errors import RagdollError
from ...ragdoll import hits
from ...ragdoll.bodies.fitting import BOX, Shape
from ...ragdoll.recovery import states
from ..physics import body_objects, build, built, world
from ..rig import action_channels, armature
from ..runtime import STATE
from ..settings import effects, lists
from ..stack import stack_edits
from . import bone_tools, health, viewport

STANDARD = 20.0  # [N s] of a blow that is seen, on a man of 70 kg
BLAST = 10.0  # [N s] on each of his bodies at the origin of an explosion
PUSH_TIME, KNOCK_OUT = 0.25, 1.5  # [s] of a push; times the threshold of a knock-out
BEARS = 0.5 * hits.FASTEST  # speed that a knock-out gives a single body at most, see there
REGAIN_TIME = 0.5  # [s] in which weights come back
FLOOR = 10.0  # times the height: half a floor's side


def struck_bone(obj, chosen, named: str = "") -> str:
    """A bone with a body: the one `named`, that of the active object `chosen` where this is a body, the active one or
    the next above, else the heaviest."""
    weights = {part.bone: part.body.rigid_body.mass for part in obj.active_ragdoll.parts if part.body is not None}
    if named and named not in weights:
        raise RagdollError(f"Bone '{named}' of '{obj.name}' has no body")
    name = named or (chosen.get(built.BONE) if chosen is not None else None)
    bone = obj.data.bones.get(name) if name else obj.data.bones.active if obj.mode == "POSE" else None
    while bone is not None and bone.name not in weights:
        bone = bone.parent
    return bone.name if bone is not None else max(weights, key=weights.get)


def push(obj, scene, bone: str, impulse) -> list[str]:
    """Push a bone's body from the current frame on; `impulse` [3] in shares of a blow that is seen. Returns notes."""
    impulse = tuple(STANDARD * viewport.mass(obj) / masses.MASS * np.asarray(impulse))
    return effects.add_hit(obj, scene, bone, scene.frame_current, impulse, duration=PUSH_TIME)


def knock_out(obj, scene, bone: str, direction) -> list[str]:
    """Hit a bone's body along a unit vector [3] at the current frame so hard that it knocks the character out.

    Sets up the recovery, and a floor where there is none. Returns notes."""
    set_up_recovery(obj, scene)
    group = obj.active_ragdoll.recovery
    if group.knock_out_speed == 0.0:
        group.property_unset("knock_out_speed")
    size, pull = obj.active_ragdoll.height, world.pull(scene)
    threshold = group.knock_out_speed * states.speed_scale(size, pull)  # [m/s]
    impulse = KNOCK_OUT * threshold * viewport.mass(obj) * np.asarray(direction)
    most = BEARS * masses.froude(size, pull) * built.part_of(obj, bone).body.rigid_body.mass  # [N s]
    weak = np.linalg.norm(impulse) > most
    if not health.has_floor(obj, scene):
        add_floor(obj, scene)
    # What a hand bears fells nobody, and with balance it would try to catch itself first.
    forced = weak or obj.active_ragdoll.balance.enabled
    if forced and all(event.frame != scene.frame_current for event in group.events):
        lists.add_item(group, "events").frame = scene.frame_current
    shown = impulse * most / np.linalg.norm(impulse) if weak else impulse
    return effects.add_hit(obj, scene, bone, scene.frame_current, tuple(shown))


def strongest(obj, scene) -> float:
    """Speed [m/s] that the strongest hit gives the whole character, as the threshold is stated; 0 without hits."""
    impulses = [hit.strength for hit in obj.active_ragdoll.hits if hit.enabled]
    scale = states.speed_scale(obj.active_ragdoll.height, world.pull(scene))
    return max(impulses, default=0.0) / max(viewport.mass(obj) * scale, 1e-12)


def set_up_recovery(obj, scene) -> None:
    """Let strong hits knock a character out and let it get up; that in another place needs the motion stack. Raises
    RagdollError: a build is refused; all is as before."""
    settings, group = obj.active_ragdoll, obj.active_ragdoll.recovery
    before = group.enabled, group.tone, group.reflexes, settings.layout_changed
    if not group.enabled:
        effects.set_tone(obj, "STUNNED")
    group.enabled = True
    try:
        if group.reroot:
            stack_edits.ensure(obj, scene)
        if settings.layout_changed:  # muscles need motors
            build.rebuild(obj, scene)
    except RagdollError:
        group.enabled, group.tone, group.reflexes, settings.layout_changed = before
        raise


def explode(obj, scene):
    """An explosion at the 3D cursor and the current frame; its settings."""
    settings = obj.active_ragdoll
    blast = lists.add_item(settings, "explosions")
    blast.frame, blast.origin = scene.frame_current, scene.cursor.location
    blast.radius, blast.impulse = 2.0 * settings.height, BLAST * viewport.mass(obj) / masses.MASS
    return blast


def limp(obj, scene, owners) -> None:
    """Key the weights of the character, or of some of its pose bones, so that they are 0 from the current frame on."""
    for owner, name, path in _weights(obj, owners):
        value, frame = getattr(owner.active_ragdoll, name), scene.frame_current
        _key(obj, owner, name, path, frame - 1, value, "LINEAR")
        _key(obj, owner, name, path, frame, 0.0, "CONSTANT")


def follow(obj, scene, owners) -> None:
    """Key weights so that they rise from the current frame on to what they were at most before, 1 if nothing."""
    end = scene.frame_current + max(round(REGAIN_TIME * scene.render.fps / scene.render.fps_base), 1)
    for owner, name, path in _weights(obj, owners):
        before = [key.co[1] for key in _keys(obj, path)]
        _key(obj, owner, name, path, scene.frame_current, getattr(owner.active_ragdoll, name), "LINEAR")
        _key(obj, owner, name, path, end, max(before, default=0.0) or 1.0, "LINEAR")


def _weights(obj, owners):
    """Of each weight of some owners: who has it, its name, its path from the character."""
    for owner in owners:
        for name in bone_tools.WEIGHTS:
            path = f"active_ragdoll.{name}"
            yield owner, name, path if owner == obj else action_channels.bone_path(owner.name, path)


def _key(obj, owner, name: str, path: str, frame: int, value: float, interpolation: str) -> None:
    setattr(owner.active_ragdoll, name, value)
    obj.keyframe_insert(path, frame=frame)
    for key in _keys(obj, path):
        if key.co[0] == frame:
            key.interpolation = interpolation


def _keys(obj, path: str) -> list:
    """The keys of a property of a character, by its path."""
    curves = action_channels.curves_of(*action_channels.current(obj))
    return [key for curve in curves if curve.data_path == path for key in curve.keyframe_points]


def add_floor(obj, scene):
    """A passive slab whose top is at the lowest point of a character's bodies as they are shown; returned."""
    cached, places = viewport.shown_bodies(obj, scene, bpy.context.view_layer.depsgraph)
    if cached is None:
        raise RagdollError(f"A body of '{obj.name}' is gone: build the ragdoll anew")
    settings, low = obj.active_ragdoll, np.inf
    for part, place in zip(settings.parts, places, strict=True):
        low = min(low, (armature.values_of(part.body.data.vertices, "co", 3) @ place[2, :3]).min() + place[2, 3])
    half = settings.height * np.array((FLOOR, FLOOR, 0.5))
    mesh = body_objects.make_mesh("Floor", Shape(BOX, np.zeros(3), np.eye(3), half))
    floor = bpy.data.objects.new("Floor", mesh)  # its origin is its middle, as that of its collision shape
    floor.location = (*obj.matrix_world.translation[:2], low - half[2])
    scene.collection.objects.link(floor)
    with STATE.writing():
        scene.rigidbody_world.collection.objects.link(floor)
        floor.rigid_body.type, floor.rigid_body.collision_shape = "PASSIVE", "BOX"
    return floor
