"""The result as ordinary keyframes on a new action, with one way back."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import bpy
import numpy as np

from ... import keyframes, skeleton
from ...errors import RagdollError, listed, named
from ..physics import source
from ..rig import armature, rig_graph, skinning
from ..rig.action_channels import curves_of, played, playing, rotation_property
from ..runtime import STATE
from ..stack import pose_stack
from . import action_keys, actions, controls, travel
from .recording import CHANNELS, NEAR, NEARLY_PARALLEL, Recorder, checked_range, closed, differ, shown_pose

BONES = ALL, SIMULATED, SELECTED = "ALL", "SIMULATED", "SELECTED"
FRAMES = RANGE, ACTIVE = "RANGE", "ACTIVE"
KEYS_ON = DEFORM, CONTROLS, AUTO = "DEFORM", "CONTROLS", "AUTO"
VALUES = {"bones": BONES, "frames": FRAMES, "destination": actions.DESTINATIONS, "to": KEYS_ON}
VALUES |= {"root_motion": travel.CARRIERS, "limbs": controls.LIMBS}  # of a choice
KINDS, LISTED = ("deg", "mm", "twist_deg"), 5  # of what a bone's report says; bones in a list
FIGURES = [f"{how}_{kind}" for how in ("mean", "worst") for kind in KINDS]
NOTES = {  # on bones of which a report says so, or what it says
    "loose": "No control of their own have {0}",
    "locked": "The controls {0} cannot be moved, as where their location is locked: they only turn what they carry",
    "still": "The rotation of {0} is locked: it turns nothing",
    "driven": "The rotation of {0} is driven: that stays as it is",
    "hidden": "Hidden controls have keys: show {0}",
    "kept": "Inverse kinematics cannot lead {0} exactly: their limbs are keyed in FK",
    "reversed": "The rig has {0} the other way round: they are turned, not placed",
}
ASTRAY = 0.01  # of a character's height: controls that miss most bodies by more are left alone, unless asked for
SEAM, SAMPLES = 6, 8  # frames: of a seam, and at which a report looks at bones without controls
MOST = 2.0 / 3.0  # a share of the bodies: from there on a rig's controls carry them


@dataclass(frozen=True)
class Choice:
    """What of the motion is written, and where to. Raises RagdollError: a value is none of a field's."""

    bones: str = ALL  # all that moves beyond the animation, those with SIMULATED bodies, or the SELECTED ones of all
    frames: str = RANGE  # the whole range, or only those in which the motion is ACTIVE-ly another than the animation
    destination: str = actions.NEW  # NEW action, the CURRENT one, or a LAYER: a strip over all that is played
    combined: bool = False  # whether a layer adds to what is below it instead of replacing it
    to: str = AUTO  # the bones themselves, or the rig's CONTROLS that carry those with bodies; AUTO: where there are
    root_motion: str = travel.STAY  # whether the way over the ground STAYs with the body, or the OBJECT or ROOT has it
    limbs: str = controls.FK  # of controls: whether limbs are keyed in FK, in IK, or AS_KEYED
    exact_joints: bool = False  # whether what IK may stretch is kept from it, so that knees and elbows are exact
    loop: int = 0  # the range is a cycle: over how many frames what it lacks is spread; 0: it is none

    def __post_init__(self) -> None:
        for name, allowed in VALUES.items():
            if (value := getattr(self, name)) not in allowed:
                raise RagdollError(f"{name} is {value!r}: it is one of {named(allowed)}")
        if self.loop < 0:
            raise RagdollError(f"loop is {self.loop}: it is a number of frames")


def bake_frames(obj, scene, first: int | None = None, last: int | None = None, choice=Choice()) -> Iterator[int]:
    """Bake a character, yielding each frame while the scene stands at it, and again when controls are found for it.

    Frames come from the baked cache when it is up to date, else from a new simulation of the shot. When all are
    done the new action is assigned, the old one kept, and the ragdoll muted. Stopping early changes nothing.
    Raises RagdollError: nothing to bake, a range outside the shot, or trouble in the simulation.

    Args:
        obj: the character.
        scene: its scene.
        first, last: frames to write; the whole shot when not given.
        choice: what of them is written, and where to.
    """
    armature.refuse_baked(obj)
    first, last = checked_range(obj, scene, first, last)
    if choice.to == DEFORM or choice.root_motion == travel.OBJECT:
        travel.root_of(obj, choice.root_motion)  # trouble is told before the shot is simulated
    current = scene.frame_current
    recorder = Recorder(obj, scene, choice.destination == actions.LAYER and choice.combined)
    yield from recorder.watch_loop(first, last) if choice.loop else recorder.watch(first, last)
    if choice.frames == ACTIVE:
        recorder.keep(_joined(recorder, *_acting(obj, scene, recorder)))
    _tell_of_others(obj)
    # What the stack touches is known by now. Of controls all are solved, whichever are selected.
    carried = _carrying(obj, _names(obj, SIMULATED if choice.bones == SIMULATED else ALL), choice, recorder.numbers[0])
    as_shown = recorder.poses, recorder.worlds
    try:
        written, keyed, properties = yield from _carry(obj, recorder, choice, carried)
        off = np.array(recorder.off)
        if carried is not None and choice.to == AUTO and np.median(off[..., 1].max(axis=0)) > ASTRAY * carried.height:
            missed = notes_on(_carried(carried, off, obj.active_ragdoll.height))[0]
            STATE.warn(obj.name, f"{missed}: the bones have the keys")
            carried.remove()
            carried, (recorder.poses, recorder.worlds) = None, as_shown
            written, keyed, properties = yield from _carry(obj, recorder, choice, None)
        _write(obj, recorder, written, keyed, choice, carried, properties)
        if carried is not None and choice.bones != SELECTED and not choice.loop:  # else it is not to move as recorded
            _note_beyond(recorder, {*carried.bones, *carried.keyed})
    finally:
        if carried is not None:
            carried.remove()
    scene.frame_set(current)


def _carry(obj, recorder, choice: Choice, carried) -> Iterator[int]:
    """Move what was recorded to where the keys go; returns names of bones, what is keyed, properties of the object."""
    owners = {} if carried is None else {carried.bones[body]: name for body, name in carried.control_of.items()}
    root = travel.root_of(obj, choice.root_motion, owners)
    besides, properties = travel.carry(recorder, choice.root_motion, root)
    led = carried.bones if carried else [*_names(obj, choice.bones), *besides]
    names = list(dict.fromkeys([*led, *filter(None, [root])]))
    if choice.loop:
        _close(recorder, names, choice.loop)
    if carried is None:
        return names, names, properties
    keyed, held = [*carried.keyed], carried.switches | carried.held
    curves = [c for action, slot, _strip in playing(obj) for c in curves_of(action, slot)]
    moving = (c.data_path for c in curves if c.data_path.rpartition('"].')[2] in CHANNELS)  # not what is a switch
    played = {bone for path in moving for bone in rig_graph.bones_in(path)}
    if choice.bones == SELECTED:
        keyed, held = _selected(obj, carried)
    else:
        _tell_unkeyed(obj, carried, played)
    yield from recorder.solve(carried, root)
    columns = [[*carried.keyed].index(name) for name in keyed] + ([-1] if root else [])
    recorder.solved = [basis[columns] for basis in recorder.solved]
    for curve in (curve for curve in curves if curve.data_path in held.keys() & carried.switches):
        if len({curve.evaluate(frame) for frame in recorder.numbers}) > 1:
            name = curve.data_path.rpartition('["')[2].removesuffix('"]')
            text = f"'{name}' is keyed within the frames: it is held as at frame {recorder.numbers[0]}"
            STATE.warn(obj.name, f"The switch {text}")
    if below := [name for name in carried.bones if name in played and name not in carried.keyed]:
        STATE.warn(obj.name, f"Keys that bones below the controls have stay as they are: {named(below)}")
    return names, [*keyed, *([root] if root else [])], properties | held


def _selected(obj, carried) -> tuple[list, dict]:
    """Of the controls those that are selected or carry selected bones; the switches and lengths that these need.

    Raises RagdollError: none are selected."""
    flags = {bone.name for bone, flag in zip(obj.data.bones, armature.selected(obj), strict=True) if flag}
    _tell_unkeyed(obj, carried, flags)
    carrying = {name for body, name in carried.control_of.items() if carried.bones[body] in flags}
    limbs = ({*limb.controls()} for limb in carried.limbs.found)
    flags = flags.union(carrying, *(limb for limb in limbs if limb & carrying))
    bodies = [carried.bones[body] for body, name in carried.control_of.items() if name in flags]
    near = rig_graph.leading(rig_graph.sources(obj), bodies)
    paths = rig_graph.switch_paths(obj, near)
    held = {path: value for path, value in carried.held.items() if near.keys() & {*rig_graph.bones_in(path)}}
    kept = [name for name in carried.keyed if name in flags]
    if not kept:
        raise RagdollError(f"No selected bone of '{obj.name}' is a control that gets keys, or a bone that one carries")
    return kept, held | {path: value for path, value in carried.switches.items() if path in paths}


def _tell_unkeyed(obj, carried, used: set) -> None:
    """Of bones that are selected or animated, name controls without a body to move, and those that others stand for."""
    some = sorted(used & (carried.shaped or used) - {*carried.bones, *carried.keyed})
    least = controls.NEAR * controls.TURN * np.array([[[1.0]], [[carried.height]]])
    moved = {name: (np.abs(effect) > least).any(axis=(0, 2)) for name, effect in carried.effects.items()}
    if idle := [name for name in some if not np.any(moved.get(name, False))]:
        STATE.warn(obj.name, f"Controls that move no body get no keys: {named(idle)}")
    twins, others = [name for name in some if name not in idle], [name for name in carried.keyed if name in moved]
    own = [max(others, key=lambda n: (moved[n] & moved[twin]).sum() / (moved[n] | moved[twin]).sum()) for twin in twins]
    if told := [f"'{twin}' ('{other}')" for twin, other in zip(twins, own, strict=True)]:
        STATE.warn(obj.name, f"Controls get no keys where others move the same: {listed(told)}")


def searched(obj, to: str, limbs: str) -> tuple:
    """What the rows of `find_controls` hold for: they are stale where it is another."""
    locks = ((bone.name, *bone.lock_rotation, *bone.lock_location) for bone in obj.pose.bones)
    return to, limbs, source.signature(obj), *(part.bone for part in obj.active_ragdoll.parts), *locks


def find_controls(obj, scene, to: str, limbs: str) -> list[str]:
    """Rows on what a bake would key: which control carries which bone, how switches are turned, what is not reached
    and why. Raises RagdollError: nothing moves, or no control carries the bones."""
    carried = _carrying(obj, _names(obj, ALL), Choice(to=to, limbs=limbs), scene.frame_current)
    if carried is None:
        return ["The bones get the keys: no controls carry most of them"]
    try:
        found = _carried(carried, np.zeros((1, len(carried.bones), 3)), 0.0)
    finally:
        carried.remove()
    rows = [f"{name}: {of_one['control']}" for name, of_one in found.items() if of_one["control"]]
    switches = ((*rig_graph.property_at(obj, path)[:2], value) for path, value in carried.switches.items())
    return [*notes_on(found)[1:], *rows, *(f"{holder.name}, {name} = {value}" for holder, name, value in switches)]


def pose_bones(obj, scene, to: str = AUTO) -> list[str]:
    """Put the pose that is shown on a character's bones, or on its controls, as if posed by hand; their names.

    Keys are inserted where Blender's automatic keying is on. Raises RagdollError: nothing moves the character, or no
    control carries its bones.
    """
    recorder = Recorder(obj, scene, False)
    recorder.record(scene.frame_current)
    names, keying = _names(obj, ALL), scene.tool_settings.use_keyframe_insert_auto
    carried = _carrying(obj, names, Choice(to=to), scene.frame_current)
    if carried is not None:
        try:
            list(recorder.solve(carried))
            names, basis = list(carried.keyed), np.array(recorder.solved)
            placed = {name for name, is_placed in carried.keyed.items() if is_placed}
            for path, value in carried.switches.items():
                rig_graph.switch(obj, path, value)
                if keying:
                    obj.keyframe_insert(path)
        finally:
            carried.remove()
    else:
        basis, placed = recorder.basis(names), {name for name in names if not obj.data.bones[name].use_connect}
    for name, location, rotation, scale in zip(names, *(each[0] for each in keyframes.decompose(basis)), strict=True):
        bone = obj.pose.bones[name]
        rotating = rotation_property(bone.rotation_mode)
        turned = keyframes.rotation_channels(bone.rotation_mode, rotation[None, None])[0, 0]
        values = {rotating: turned} | ({"location": location, "scale": scale} if name in placed else {})
        for prop, value in values.items():
            setattr(bone, prop, value)
            if keying:
                bone.keyframe_insert(prop)
    source.carry_edits(obj)  # or else a baked cache would be shown on top of the pose
    return names


def revert(obj) -> None:
    """Back to the action from before the bake, and the live ragdoll; the baked action stays in the file. Raises
    RagdollError: the character is not baked."""
    settings = obj.active_ragdoll
    if not settings.muted:
        raise RagdollError(f"'{obj.name}' is not baked")
    STATE.warnings.pop(obj.name, None)  # of the bake
    try:
        record = json.loads(settings.bake_record)
        state = actions.AnimationState(**record["animation"])
        muted = [[bone, constraint] for bone, constraint in record.get("muted", ())]  # by version 0.1.0
    except (ValueError, TypeError, KeyError):
        state, muted = actions.save(obj), []
        text = f"What the bake of '{obj.name}' had noted is damaged: it has its old action, constraints may be muted"
        STATE.warn(obj.name, text)
    with STATE.writing():
        others = (o for o in armature.armatures(bpy.data.objects) if o.active_ragdoll.muted and o != obj)
        theirs = set().union(*(played(other.animation_data) for other in others if other.animation_data))
        actions.restore(obj, state, settings.old_action, settings.baked_action, theirs)
        for constraint in (c for bone in obj.pose.bones for c in bone.constraints if [bone.name, c.name] in muted):
            constraint.mute = False
        _mute_own(obj, False)
        settings.muted = False
        for name in ("bake_record", "old_action", "baked_action"):
            settings.property_unset(name)
    source.refresh(obj)


def _names(obj, bones: str) -> list[str]:
    """The bones to write. Raises RagdollError: there are none."""
    stack = pose_stack.of(obj)
    simulated = [part.bone for part in obj.active_ragdoll.parts]
    touched = [] if stack is None or bones == SIMULATED else stack.touched_names()
    names = list(dict.fromkeys([*simulated, *source.followers(obj), *touched]))
    if not names:
        raise RagdollError(f"Nothing moves '{obj.name}' beyond its animation: there is nothing to bake")
    if bones == SELECTED:
        flags = dict(zip((bone.name for bone in obj.data.bones), armature.selected(obj)))
        names = [name for name in names if flags.get(name)]
        if not names:
            raise RagdollError(f"No selected bone of '{obj.name}' moves beyond its animation: select some that do")
    return names


def _acting(obj, scene, recorder: Recorder) -> slice:
    """Of the recorded frames those from the first to the last in which the motion is not that of the animation."""
    names = [name for name in _names(obj, ALL) if name not in source.followers(obj)]  # these go with the others
    rows = [obj.data.bones.find(name) for name in names]
    near = NEAR * obj.active_ragdoll.height / max(obj.active_ragdoll.built_scale, 1e-12)
    lengths = np.array([obj.data.bones[row].length for row in rows])
    hidden, bind = scene.active_ragdoll.source, armature.bind_joints(obj)[0]
    off, plains = [], []
    with STATE.occupied():
        for frame, shown in zip(recorder.numbers, recorder.poses, strict=True):
            hidden.frame_set(frame)
            plain = armature.pose_matrices(source.evaluated(obj))
            pulls = _stretched(obj, bind, plain, names)
            off.append(differ(plain[rows], shown[rows], near + pulls, NEARLY_PARALLEL + pulls / lengths))
            plains.append(plain)
        hidden.frame_set(scene.frame_current)
    if not any(off):
        text = f"The motion of '{obj.name}' is that of its animation in all frames: there is nothing to bake"
        raise RagdollError(text)
    return slice(off.index(True), len(off) - off[::-1].index(True)), plains


def _joined(recorder: Recorder, frames: slice, plains: list) -> slice:
    """Some recorded frames, which now begin and end at the animation [f][n, 4, 4] of the frames before and after.

    It may be off there by what bodies cannot follow: that goes within SEAM frames, or in half of them all."""
    names, poses = _names(recorder.obj, ALL), recorder.poses
    length = min(SEAM, (frames.stop - frames.start + 1) // 2)
    recorder.goes_on = True, frames.stop < len(poses)
    for edge, inwards in ((frames.start - 1, 1), (frames.stop, -1)):
        if 0 <= edge < len(poses):
            way = [edge + i * inwards for i in range(length, -1, -1)]
            joined = _spread(recorder.obj, names, [plains[edge], *(poses[i] for i in way)], length)
            for i, pose in zip(way[:-1], joined[1:-1], strict=True):
                poses[i] = pose
    return frames


def _stretched(obj, bind: np.ndarray, plain: np.ndarray, names: list) -> np.ndarray:
    """By how much poses [n, 4, 4] of an animation have bones, or their children, off where joints hold bodies.

    Joints keep lengths: where a rig stretches a limb, bodies that follow it exactly are elsewhere by that. What turns
    between two bodies stretches nothing. bind: matrices in bind pose [n, 4, 4].
    """
    parts, bones, off = obj.active_ragdoll.parts, obj.data.bones, {"": 0.0}
    for part in sorted(parts, key=lambda part: part.depth):
        off[part.bone] = off[part.parent]
        way = [bones.find(bone.name) for bone in (bones[part.bone], *bones[part.bone].parent_recursive)]
        joined = bones.find(part.parent)
        for row, above in pairwise(way[: way.index(joined) + 1] if joined in way else [way[0], joined]):
            if above >= 0:
                was = np.linalg.solve(bind[above], bind[row, :, 3])
                off[part.bone] += np.linalg.norm(np.linalg.solve(armature.rigid(plain[above]), plain[row, :, 3]) - was)
    pulls = off | {part.parent: off[part.bone] for part in sorted(parts, key=lambda part: off[part.bone])}
    return np.array([pulls.get(name, max(off.values())) for name in names])


def _carrying(obj, names: list[str], choice: Choice, frame: int) -> controls.Controls | None:
    """What carries the bones where keys go on controls; None where they go on the bones."""
    every = (c for part in obj.active_ragdoll.parts for c in obj.pose.bones[part.bone].constraints)
    led = any(rig_graph.targets(c) for c in every if not (c.mute or source.is_own(c)))
    if choice.to == DEFORM or (choice.to == AUTO and not led):
        return None  # bones of bodies follow no others by constraints
    try:
        carried = _controls(obj, names, choice.limbs, choice.exact_joints, frame)
    except RagdollError:
        if choice.to == CONTROLS:
            raise
        return None
    if choice.to == AUTO and len(carried.control_of) < MOST * len(carried.bones):
        carried.remove()
        return None
    return carried


def _controls(obj, names: list[str], limbs=controls.FK, exact: bool = False, frame: int = 1) -> controls.Controls:
    """What carries the bones of those names that have bodies, and the ends of limbs; of a motion stack alone, all."""
    simulated = [part.bone for part in obj.active_ragdoll.parts if part.bone in names] or names
    simulated = [*simulated, *rig_graph.switched_with(obj, simulated)]
    _check_constraints(obj)
    with STATE.occupied():
        return controls.Controls(obj, simulated, _parents(obj, simulated), limbs, exact, frame)


def _parents(obj, names: list[str]) -> list[int]:
    """Places among bones of those that they are joined to, or hang on below these; -1 where none of them is."""
    above = [[bone.name for bone in obj.data.bones[name].parent_recursive] for name in names]
    joints = {part.bone: part.parent for part in obj.active_ragdoll.parts}
    ways = (up if joints.get(name) in up else (joints.get(name), *up) for name, up in zip(names, above))
    parents = [next((p for p in way if p in names), None) for way in ways]
    return [-1 if p is None else names.index(p) for p in parents]


def _spread(obj, names: list[str], poses: list, frames: int) -> np.ndarray:
    """Poses [f, n, 4, 4] in which bones go round, relative to each other; see `closed`."""
    poses, parents = np.array(poses), _parents(obj, names)
    rows = [obj.data.bones.find(name) for name in names]
    whole = np.concatenate([poses[:, rows], np.tile(np.eye(4), (len(poses), 1, 1, 1))], axis=1)
    local = closed(np.linalg.solve(whole[:, parents], whole[:, :-1]), frames)
    for i in sorted(range(len(rows)), key=lambda i: len(skeleton.path_to_root(parents, i))):
        whole[:, i] = whole[:, parents[i]] @ local[:, i]
    poses[:, rows] = whole[:, :-1]
    return poses


def _close(recorder: Recorder, names: list[str], frames: int) -> None:
    """Let bones go round, relative to each other, and tell which have keys of their own that do not."""
    obj, ends = recorder.obj, (recorder.numbers[0], recorder.numbers[-1])
    recorder.poses = list(_spread(obj, names, recorder.poses, frames))
    curves = [c for action, slot, _strip in playing(obj) for c in curves_of(action, slot)]
    apart = [c.data_path for c in curves if not np.isclose(*map(c.evaluate, ends), atol=1e-5)]
    others = {bone for path in apart for bone in rig_graph.bones_in(path) if bone in obj.data.bones}
    if others := others - rig_graph.leading(rig_graph.sources(obj), names).keys():
        STATE.warn(obj.name, f"Keys that are neither baked nor a cycle stay as they are: {named(sorted(others))}")


def _tell_of_others(obj) -> None:
    """Tell of meshes that other armatures deform too."""
    for mesh in skinning.skinned_meshes(obj):
        for other in armature.armatures(bpy.data.objects):
            if other != obj and skinning.is_deformed_by(other, mesh):
                text = f"'{mesh.name}' is deformed by '{other.name}' too, whose motion is not baked with this"
                STATE.warn(obj.name, text)


def _check_constraints(obj) -> None:
    """Tell of constraints whose bone is gone, and let Blender find them broken, as it has in copies of the rig.

    Until something of them is set it has their bones at the armature's origin."""
    for bone in obj.pose.bones:
        for constraint in bone.constraints:
            name = getattr(constraint, "subtarget", "")
            if name and constraint.target == obj and name not in obj.data.bones:
                with STATE.writing():
                    constraint.influence = constraint.influence
                STATE.warn(obj.name, f"The bone '{name}' is gone that '{constraint.name}' of '{bone.name}' follows")


def _write(obj, recorder, names: list, keyed: list, choice: Choice, carried, properties: dict) -> None:
    """Key what was recorded of some bones, or the controls that carry them, and properties of the object."""
    settings = obj.active_ragdoll
    found, more, placed = {}, {}, None
    if carried is None:
        basis = recorder.basis(names)
        theirs = (c for name in names for c in obj.pose.bones[name].constraints if not (c.mute or source.is_own(c)))
        driven = {curve.data_path for curve in (obj.animation_data.drivers if obj.animation_data else ())}
        for influence, mute in ((c.path_from_id("influence"), c.path_from_id("mute")) for c in theirs):
            off = (mute, 1.0) if influence in driven else (influence, 0.0)  # and a driver goes on outside of the frames
            properties |= [off]  # what they give is in the keys already
    else:
        names, basis = carried.bones, np.array(recorder.solved)
        found["controls"] = _carried(carried, np.array(recorder.off), settings.height, recorder.goes_on)
        if choice.bones == SELECTED:
            found["controls"] = {name: one for name, one in found["controls"].items() if one["control"] in keyed}
            names = list(found["controls"])
        placed = np.array([carried.keyed.get(name, True) for name in keyed])
    poses = replace(action_keys.Poses.from_matrix_basis(keyed, recorder.numbers, basis), placed=placed)
    tolerance = None
    if settings.key_tolerance > 0.0:
        tolerance = action_keys.Tolerance(
            rotation=float(np.radians(settings.key_tolerance)),
            location=settings.key_tolerance * 1e-3 * settings.height / max(settings.built_scale, 1e-12),
        )
    more |= {"tolerance": tolerance, "destination": choice.destination, "below": recorder.below(keyed, properties)}
    more |= {"goes_on": recorder.goes_on, "overrules": carried is None}
    with STATE.writing():
        action, old, state = actions.bake(obj, poses, f"{obj.name} Ragdoll Bake", properties=properties, **more)
        settings.old_action, settings.baked_action = old, action
        if frozen := list(dict.fromkeys(n for path, _ in state.muted_drivers for n in rig_graph.bones_in(path))):
            text = f"Drivers of {named(frozen)} are off in all frames until Revert Bake: keys stand for what they drive"
            STATE.warn(obj.name, text)
        written = {"frames": [recorder.numbers[0], recorder.numbers[-1]], "bones": names, **found}
        settings.bake_record = json.dumps({"animation": asdict(state), **written})
        _mute_own(obj, True)
        settings.muted = True
    source.refresh(obj)


def _carried(carried: controls.Controls, off: np.ndarray, height: float, goes_on=actions.NO) -> dict:
    """Of each simulated bone: its control, and by how much it is missed on average and at worst [mm, deg].

    `off` is as of `Controls.solve` [f, m, 3], in the armature's units as its height; `goes_on` as of `actions.bake`."""
    off = off * (np.degrees(1.0), 1e3 * height / carried.height, np.degrees(1.0))
    ends = [at for at, is_joined in zip((0, -1), goes_on) if is_joined]
    steps = off[ends, :, 1].max(axis=0, initial=0.0)
    steps[steps < controls.FOUND * 1e3 * height] = 0.0
    figures = np.concatenate([off.mean(axis=0), off.max(axis=0)], axis=1).tolist()  # as FIGURES names them
    result = {}
    for body, name in enumerate(carried.bones):
        control = carried.control_of.get(body)
        locked = control if carried.parents[body] < 0 and not carried.keyed.get(control, True) else ""
        kinds = {"loose": control is None, "kept": body in carried.kept, "reversed": bool(carried.reversed[body])}
        kinds |= {"seam": float(steps[body])}
        kinds |= _barred(carried, name, control) | {"hidden": control and _hidden(carried.all[control])}
        result[name] = dict(zip(FIGURES, figures[body]), control=control, locked=locked, **kinds)
    return result


def _barred(carried: controls.Controls, name: str, control: str | None) -> dict:
    """A bone's control that is "driven", else those at its head whose rotation is, or locked ("still"); None: none."""
    animation, head = carried.copy.animation_data, carried.all[name].head_local
    paths = [d.data_path for d in animation.drivers if ".rotation_" in d.data_path] if animation else []
    driven = {bone for path in paths for bone in rig_graph.bones_in(path)}
    near = [n for n in carried.leading([name]) if (carried.all[n].head_local - head).length < 1e-3 * carried.height]
    near = [n for n in near if n != name and (n in carried.shaped or not carried.shaped)]
    near = [control] if control else near
    still = (n for n in near if sum(carried.copy.pose.bones[n].lock_rotation) > 1)  # of one axis it is a hinge
    return {"still": None if control else next(still, None), "driven": next((n for n in near if n in driven), None)}


def _hidden(bone) -> str | None:
    """The bone collection that is to be shown before one sees a bone, or None."""
    shown = [found.is_visible_effectively for found in bone.collections]
    return bone.collections[0].name if shown and not any(shown) else None


def controls_of(obj) -> dict:
    """Of a bake to controls: what `_carried` says of each simulated bone; else empty."""
    try:
        found = json.loads(obj.active_ragdoll.bake_record or "{}")["controls"]
        return {name: of_one for name, of_one in found.items() if {*FIGURES, "control"} <= of_one.keys()}
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}


def report(obj) -> list[str]:
    """Rows on the bake to controls that a character plays: how near it comes, what has no control, the worst bones."""
    carried = controls_of(obj)
    worst = sorted(carried, key=lambda name: carried[name]["worst_mm"], reverse=True)[:LISTED]
    rows = (f"{name}: {carried[name]['worst_mm']:.3g} mm, {carried[name]['worst_deg']:.3g} deg" for name in worst)
    return [*notes_on(carried), *rows] if carried else []


def notes_on(carried: dict) -> list[str]:
    """What to tell of a bake to controls: how near it comes, and what no control carries."""
    worst = [max((of_one[f"worst_{kind}"], name) for name, of_one in carried.items()) for kind in KINDS]
    worst[1] = max([worst[1], *(tuple(of_one["beyond"]) for of_one in carried.values() if "beyond" in of_one)])
    deg, mm, twist = (f"{off:.3g} {kind[-3:].strip('_')} ('{name}')" for kind, (off, name) in zip(KINDS, worst))
    notes = [f"The controls give the motion within {mm} and {deg}, twist within {twist}"]
    step, name = max((of_one.get("seam", 0.0), name) for name, of_one in carried.items())
    if step:
        notes.append(f"Where the baked frames begin or end the pose steps by up to {step:.3g} mm ('{name}')")
    for kind, text in NOTES.items():
        found = [(name, of_one.get(kind)) for name, of_one in carried.items()]
        if listed := dict.fromkeys(f"'{name if said is True else said}'" for name, said in found if said):
            notes.append(text.format(", ".join(listed)))
    return notes


def _note_beyond(recorder: Recorder, known: set) -> None:
    """Note with the first bone which deforming one beside the known is missed most in some frames [mm]: a finger."""
    obj, record = recorder.obj, json.loads(recorder.obj.active_ragdoll.bake_record)
    others = (c for bone in obj.pose.bones for c in bone.constraints if not source.is_own(c))
    known = known.union(*map(rig_graph.targets, others))  # controls show the animation, not what bodies do
    if names := [bone.name for bone in obj.data.bones if bone.use_deform and bone.name not in known]:
        some = np.linspace(0, len(recorder.numbers) - 1, SAMPLES).astype(int)
        recorded = {recorder.numbers[at]: recorder.worlds[at] @ recorder.poses[at] for at in some}
        off = 1e3 * _missed(obj, recorder.scene, recorded, names)
        record["controls"][record["bones"][0]]["beyond"] = float(off.max()), names[off.argmax()]
        obj.active_ragdoll.bake_record = json.dumps(record)


def _mute_own(obj, on: bool) -> None:
    for bone in obj.pose.bones:
        for constraint in filter(source.is_own, bone.constraints):
            constraint.mute = on


def deviation(obj, scene, recorded: dict) -> float:
    """Largest distance between baked bones played now and recorded before, as a share of the character's height.

    Args:
        recorded: what `shown_pose` gave, by frame; those that were baked count.
    """
    record = json.loads(obj.active_ragdoll.bake_record)
    first, last = record["frames"]
    baked = {frame: poses for frame, poses in recorded.items() if first <= frame <= last}
    return float(_missed(obj, scene, baked, record["bones"]).max(initial=0.0)) / obj.active_ragdoll.height


def _missed(obj, scene, recorded: dict, names: list) -> np.ndarray:
    """How far bones [k] are at most as played now from where they were in poses by frame, in the scene."""
    rows, off = [obj.data.bones.find(name) for name in names], np.zeros(len(names))
    for frame, poses in recorded.items():
        scene.frame_set(frame)
        off = np.maximum(off, np.linalg.norm((shown_pose(obj, scene) - poses)[rows, :3, 3], axis=1))
    return off
