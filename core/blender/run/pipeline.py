"""One frame: the source's pose, the targets, the drives. `simulate`, `bake` and playback all walk this."""

import math
import time

import numpy as np

from ...anatomy.masses import froude
from ...errors import RagdollError
from ...ragdoll import drives
from ...ragdoll.drives import servo
from ...ragdoll.drives.law import merged
from ..physics import body_objects, built, collision, motors, source, view_layers, world
from ..rig import armature, clips
from ..runtime import STATE
from ..settings import at_frame
from ..stack import pose_stack
from . import attachments, hits, pushes, recovery, shot_run, tone, write
from .kinematic import KinematicBlend, LimitRescue

# In the order in which they act; where one leads bodies, a later one has the last word.
EFFECTS = hits.Hits, attachments.Attachments, LimitRescue, KinematicBlend, pushes.Pushes, recovery.Recoveries, tone.Tone


def start(scene) -> shot_run.Run:
    """Warm up and stand at the shot's first frame; called while the scene is about to show that frame.

    Three frames before: the world is emptied. Two before: bodies in bind pose, where Blender makes the joints, so
    that their limits count from there. One before and the first: bodies ride the animation and keep its velocity,
    that of the first step to come. All other moving bodies of the scene are held meanwhile.
    Raises RagdollError: a ragdoll cannot be run; the message names it.
    """
    first, _last = world.shot_range(scene)
    world.check_steps(scene)
    shot_run.check_members(scene, built.ragdolls(scene))
    if scene.name in STATE.live_worlds and world.has_lost_members(scene):
        world.halt(scene)
    world.clear_changed(scene)
    STATE.halted_worlds.discard(scene.name)
    world.set_range(scene)
    source.source_scene(scene)
    view_layers.choose(scene, first)
    run = shot_run.Run(scene, first)
    for character in run.characters:
        pose_stack.forget(character.obj)
        STATE.readings[character.name] = {}
        character.motion = pose_stack.of(character.obj)
    run.take([kind(run, scene) for kind in EFFECTS])
    bind = np.concatenate([[part.bind for part in c.obj.active_ragdoll.parts] for c in run.characters])
    STATE.worlds_with_joints.add(scene.name)
    with STATE.occupied():
        _carry_settings(run)
        _evaluate_source(run, scene, first + 1)
        axes = _posed(run, scene, None, False)[:, :3, :3]
        run.handedness = np.where(np.linalg.det(axes) < 0.0, -1.0, 1.0)[:, None]
        run.from_posed = np.concatenate([run.handedness[:, None] * run.offsets[:, :3], run.offsets[:, 3:]], axis=1)
        coming = _wanted(run, scene, first + 1, record=False)
        _evaluate_source(run, scene, first)
        wanted = _wanted(run, scene, first)
        view_layers.evaluate(scene, first - 3)
        run.graph = view_layers.depsgraph_of(scene)
        # An outdated cache has the world made anew; writing to bodies outdates that of a window's scene only.
        own = run.graph.scene_eval.rigidbody_world
        own.substeps_per_frame = own.substeps_per_frame
        shot_run.check_evaluated(run, scene)
        collision.hold_others(run, scene)
        for character in run.characters:
            write.switch_joints(run, True, character)  # the last run may have ended with it switched off
        write.hold(run, np.ones_like(run.kinematic))
        write.place(run, "bodies", bind)
        write.place(run, "targets", bind)
        for effect in run.effects.values():
            effect.before_joints(run, scene, bind)
        body_objects.place_pieces(run)
        view_layers.evaluate_new_world(scene, first - 2)
        for effect in run.effects.values():
            effect.after_joints(run)
        # The frame before is the first one continued backwards: many clips begin with a pose that jumps.
        for pose in (servo.extrapolated(wanted, coming), wanted):
            write.place(run, "bodies", pose)
            write.place(run, "targets", pose)
            if pose is not wanted:
                view_layers.evaluate(scene, first - 1)
        view_layers.stand_at(scene, first)
    STATE.members[scene.name] = STATE.made_with[scene.name] = world.members(scene)
    run.command = run.wanted = run.body = run.body_before = wanted
    write.show_physics(run, True, scene)
    _read_settings(run, scene)
    _apply_settings(run, scene)
    run.reached = first
    return run


def _evaluate_source(run: shot_run.Run, scene, frame: int) -> None:
    hidden, began = scene.active_ragdoll.source, time.perf_counter()
    hidden.frame_set(frame)
    run.source_graph = hidden.view_layers[0].depsgraph
    run.source_seconds += time.perf_counter() - began


def _carry_settings(run: shot_run.Run) -> None:
    """Carry edited settings of keyed characters to their sources, where all of them are read."""
    for character in run.characters:
        of = {} if character.motion is not None else {"group": ""}  # entries of a motion stack that nobody reads
        if character.lengths != (lengths := at_frame.lengths(character.obj, **of)):
            character.lengths, run.settings_dirty = lengths, True
    for character in run.characters if run.settings_dirty else ():
        if character.motion is not None:
            character.motion = pose_stack.of(character.obj)
        if character.keyed:
            at_frame.carry(character.obj)


def step(run: shot_run.Run, scene) -> None:
    """Prepare the next frame: pose of the source, place of the targets, gains of the drives. Raises RagdollError: a
    body was deleted, or the animation is not a number."""
    frame = scene.frame_current
    world.refuse_remapped(scene)
    run.graph = view_layers.depsgraph_of(scene)
    substeps, seconds = scene.rigidbody_world.substeps_per_frame, world.seconds_per_frame(scene)
    write.show_physics(run, True, scene)
    _carry_settings(run)
    _evaluate_source(run, scene, frame)
    _read_settings(run, scene)
    _apply_settings(run, scene)
    before, run.wanted = run.wanted, _wanted(run, scene, frame)
    for act in run.calls["step"]:
        act(run, scene, seconds, substeps)
    run.merge_effects()
    for character in run.characters if run.any_struck else ():
        if run.struck[character.rows].any():  # then it does not count as calm any more
            character.calm = 0.0
            run.gains_dirty |= bool(run.calm[character.rows].any())
            run.calm[character.rows] = False
    if run.gains_dirty:
        _weigh(run, seconds)
    # Also where nothing is driven: where targets stand decides in which order Bullet solves the contacts of others.
    joined = servo.in_joints(run.wanted, run.parents, run.pivots, run.slack, run.kinematic)
    if run.reach is not None:
        joined = servo.within_reach(run.body, joined, *run.reach)
    run.command = servo.lag_compensated(run.command, joined, substeps)
    if run.any_waiting:
        run.command[run.waiting] = run.body[run.waiting]
    write.place(run, "targets", run.command)
    if run.any_kinematic:
        places = run.wanted
        for placed in run.calls["placed"]:
            places = placed(run, before, places, seconds, 1.0 / clips.scene_fps(scene))
        write.place(run, "bodies", places, run.kinematic)
    write.write_gains(run, scene, substeps, seconds)
    if run.joint_drives is not None:
        motors.write_motors(run, before, seconds, substeps, scene.gravity.length)
    run.frame = run.reached = frame


def _weigh(run: shot_run.Run, seconds: float) -> None:
    """Take the weights of the frame to come: which bodies are limp, and how far targets may be ahead of theirs."""
    run.weighed = rotation, translation = run.weights()
    run.undriven = (rotation == 0.0) & (translation == 0.0) & ~run.kinematic
    run.any_limp = bool(run.undriven.any())
    for character in run.characters:
        character.limp = bool(run.undriven[character.rows].any())
        if not character.limp:  # whether something bears it, and since when it is calm, counts from when it is limp
            character.calm, character.support = 0.0, 1.0
            run.calm[character.rows], run.supported[character.rows] = False, True
    reach = merged([(mask, law.reach(rotation, seconds)) for law, mask in drives.in_use(run.drive)])
    run.reach = (reach, 1.0 + 2.0 * np.cos(reach)) if np.any(reach < np.pi) else None


def observe(run: shot_run.Run, scene) -> None:
    """After a frame is shown: where the bodies stand now, and what follows from it for the next frame. Raises
    RagdollError: a body was deleted, is not a number or has left all bounds."""
    seconds = world.seconds_per_frame(scene)
    if run.frame > run.first:
        before, run.moved = run.moved, (_read_bodies(run), seconds)
        if run.any_limp:
            _note_calm(run, before or run.moved, world.gravity(scene))
    else:  # the bodies become dynamic, also the scene's others that were held
        run.graph = view_layers.depsgraph_of(scene)
        write.hold(run, run.kinematic)
        collision.release_others(run, scene)
    for look in run.calls["observe"]:
        look(run, scene, seconds)
    run.merge_effects()


# ---- reading ------------------------------------------------------------------------------------------------------
# `np.add.reduce` and its like are what `sum` and `max` come to: in every frame the way there takes its time.
def _posed(run: shot_run.Run, scene, frame: int | None, record: bool) -> np.ndarray:
    """The bones in the world [m, 4, 4], with their scale, after the motion stack; without it for no frame."""
    columns = np.empty((run.characters[-1].rows.stop, 4, 4))  # of the matrices: one product for each character
    for character in run.characters:
        pose_of = character.source.evaluated_get(run.source_graph)
        if character.motion is None or frame is None:
            pose_of.pose.bones.foreach_get("matrix", character.buffer)
            pose = character.buffer.reshape(-1, 4, 4).take(character.bones, axis=0).transpose(0, 2, 1)
        else:
            pose, basis = character.motion.pose(scene, frame, record=record)
            pose = pose[character.bones]
            if record:
                pose_stack.write_target(character.obj, basis)
        place = armature.array_of(pose_of.matrix_world)
        if frame is not None:
            shot_run.check_size(character, place, frame, record and frame > run.first)
        np.matmul(pose.transpose(0, 2, 1).reshape(-1, 4), place.T, out=columns[character.rows].reshape(-1, 4))
    return columns.transpose(0, 2, 1)


def _wanted(run: shot_run.Run, scene, frame: int, record: bool = True) -> np.ndarray:
    """Where the animation has the bodies: rigid matrices [m, 4, 4], world."""
    matrices = _posed(run, scene, frame, record)
    axes = matrices[:, :3, :3]
    axes /= np.sqrt(np.add.reduce(axes * axes, axis=1, initial=1e-24))[:, None, :]
    result = matrices @ run.from_posed
    if not math.isfinite(np.add.reduce(result, axis=None)):
        row = int(np.flatnonzero(~np.isfinite(result).all(axis=(1, 2)))[0])
        raise RagdollError(f"The animation of {shot_run.name_of(run, row)} is not a number at frame {frame}")
    return result


def _read_bodies(run: shot_run.Run) -> np.ndarray:
    """Read where the bodies stand after the last frame. Returns the ways that they have come in it [m, 3].
    Raises RagdollError naming one that has come too far, or nowhere."""
    for character in run.characters:
        character.bodies.objects.foreach_get("matrix_world", run.buffer[character.rows].reshape(-1))
    body = run.buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
    change = body - run.body
    moved = change[:, :3, 3]
    # The sum of all squares is small unless one has come far, and a number unless something is none.
    if not np.add.reduce(change * change, axis=None) <= run.surely_near:
        near, finite = (np.abs(moved) <= run.farthest).all(axis=1), np.isfinite(body).all(axis=(1, 2))
        if not (near & finite).all():
            row = int(np.flatnonzero(~(near & finite))[0])
            trouble = "has left all bounds" if finite[row] else "is not a number"
            raise RagdollError(f"The body of {shot_run.name_of(run, row)} {trouble} at frame {run.frame}")
    run.body_before, run.body = run.body, body
    return moved


def _note_calm(run: shot_run.Run, before: tuple, gravity: tuple) -> None:
    """Find limp characters that lie nearly still, by `run.moved` of the frame before and the gravity [3] [m/s^2]."""
    (moved, seconds), pull = run.moved, math.hypot(*gravity)
    if run.kept[0] != seconds:
        run.kept = seconds, run.mass_of_each * (1.0 - run.gains[:, write.LINEAR_DRAG]) ** seconds
    # Momenta [kg m], of a frame's ways: now, and what was left of those before.
    now, left = (run.mass_of_each @ moved).tolist(), (run.kept[1] @ before[0]).tolist()
    squares = np.add.reduce(moved * moved, axis=1).tolist()
    for character, mine, kept in zip(run.characters, now, left, strict=True):
        if not character.limp:
            continue
        rows, lying = character.rows, character.support > servo.SUPPORTED
        if before is not run.moved:
            change = [(a / seconds - b / before[1]) / character.mass for a, b in zip(mine, kept, strict=True)]
            character.support = servo.support(character.support, change, gravity, seconds)
        supported = character.support > servo.SUPPORTED
        was = character.calm >= servo.CALM_AFTER
        own_speed, speed = froude(character.height, pull), math.sqrt(max(squares[rows])) / seconds
        # Nothing tells whether a floor bears it or the wind, in which it would drift on.
        rests = supported and not (run.in_fields and collision.in_field(run, rows))
        character.calm = servo.settled(character.calm, speed, own_speed, rests, seconds)
        if (character.calm >= servo.CALM_AFTER) != was or supported != lying:
            run.calm[rows], run.supported[rows] = character.calm >= servo.CALM_AFTER, supported
            run.gains_dirty = True


def _read_settings(run: shot_run.Run, scene) -> None:
    """Read the weights of all bodies; those of keyed characters from the source, which stands at the frame to come."""
    dirty, run.settings_dirty = run.settings_dirty, False
    if not dirty and not any(character.keyed for character in run.characters):
        return
    run.gains_dirty = run.modes_dirty = True
    for character in run.characters:
        if not (dirty or character.keyed):
            continue
        obj = character.obj
        owner = at_frame.owner(obj, character.keyed)
        settings, bones = owner.active_ragdoll, owner.pose.bones
        own = [bones[i].active_ragdoll for i in character.bones]
        rows = character.rows
        before = {name: values[rows].copy() for name, values in run.numbers.items()}
        for name in run.bone_numbers:
            run.numbers[name][rows] = [getattr(bone, name) for bone in own]
            run.numbers[name][rows] *= getattr(settings, name, 1.0)
        if obj.active_ragdoll.human_strength:
            for name, strength in zip(("max_torque", "max_force"), character.strengths, strict=True):
                mine = run.numbers[name]
                mine[rows] = np.where(mine[rows] > 0.0, mine[rows], strength)
        run.drive[rows] = law = drives.place_of(obj.active_ragdoll.drive)
        for parameter in drives.LAWS[law].parameters:
            run.numbers[parameter.name][rows] = parameter.values(settings, own)
        modes = [bone.body_mode for bone in own]
        run.limp[rows] = [mode == "LIMP" for mode in modes]
        run.kinematic_by_user[rows] = [mode == "KINEMATIC" or obj.active_ragdoll.muted for mode in modes]
        blend = settings.physics_blend
        try:
            shot_run.check_numbers(run, character, blend)
            character.blend = blend
            if character.blends is not None:
                character.blends[scene.frame_current] = blend
            for effect in run.effects.values():
                effect.read(run, scene, character, settings, dirty)
        except RagdollError as error:
            if scene.frame_current == run.first:
                raise
            # One character's mistake in mid-shot is no reason to stop the others.
            STATE.warn(character.name, f"{error}; what was set before stays")
            for name, values in before.items():
                mine = run.numbers[name][rows]
                mine[:] = np.where(np.isfinite(mine), mine, values)
    run.limited = bool(np.any(run.numbers["max_torque"] > 0.0) or np.any(run.numbers["max_force"] > 0.0))


def _apply_settings(run: shot_run.Run, scene) -> None:
    """Write what bodies are kinematic and how much of the physics is shown, where it differs from before."""
    started = scene.frame_current > run.first
    if run.modes_dirty:
        run.modes_dirty = False
        kinematic = run.kinematic_by_user | run.kinematic_by_effect | run.switched_off
        changed = np.flatnonzero(kinematic != run.kinematic)
        if len(changed):
            run.kinematic, run.gains_dirty, run.any_kinematic = kinematic, True, bool(np.any(kinematic))
            if started:
                write.hold(run, run.kinematic, changed)
        for character in run.characters if started else ():
            off = bool(run.switched_off[character.rows.start])
            if character.joints_off != off:
                write.switch_joints(run, not off, character)
    for character in run.characters:
        shares = run.shares_at(character, scene.frame_current)
        if character.keyed or shares:
            write.write_blend(character, character.blend * math.prod(shares), scene)
