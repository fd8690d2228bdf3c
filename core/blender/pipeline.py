"""One frame: the source's pose, the targets, the drives. `simulate`, `bake` and playback all walk this.

A run belongs to a scene and covers all its characters at once; every array has one row per body, character after
character. It writes evaluated data only: an original joint, drive or body that is written while the world is alive
makes Blender copy it anew and crash.
"""

import bpy
import numpy as np

from ..errors import RagdollError
from ..ragdoll import drives, froude, springs
from . import (
    attachments,
    collision,
    compounds,
    entry_values,
    evaluated,
    hits,
    joint_drives,
    motion,
    recovery,
    rides,
    shot_run,
    source,
    world,
)
from .armature import array_of
from .runtime import STATE
from .shot_run import Run, depsgraph_of

SPRING_RANGE = (springs.LOWEST, springs.HIGHEST)


def start(scene, clock) -> Run:
    """Warm up and stand at the shot's first frame; called while the scene is about to show that frame.

    Three frames before: the world is emptied. Two before: bodies in bind pose, where Blender makes the joints, so
    that their limits count from there. One before and the first: bodies ride the animation and keep its velocity,
    that of the first step to come. All other moving bodies of the scene are held meanwhile.

    Raises:
        RagdollError: a ragdoll cannot be run; the message names it.
    """
    first, _last = world.shot_range(scene)
    if scene.rigidbody_world is None:
        raise RagdollError(f"The rigid body world of scene '{scene.name}' has been removed: build the ragdoll anew")
    world.clear_changed(scene)
    STATE.halted.discard(scene.name)
    world.set_range(scene)
    source.source_scene(scene)
    run = Run(scene.name, first, first, first - 1, [], depsgraph_of(scene))
    shot_run.gather(run, scene)
    for character in run.characters:
        motion.forget(character.obj)
        character.motion = motion.of(character.obj)
    hits.start(run, scene)
    attachments.start(run, scene)
    recovery.start(run, scene)
    count = run.characters[-1].rows.stop
    matrices = np.empty((count, 4, 4))
    for character in run.characters:
        parts = character.obj.active_ragdoll.parts
        matrices[character.rows] = np.array([part.bind for part in parts]).reshape(-1, 4, 4)

    was_busy, STATE.busy = STATE.busy, True
    STATE.alive.add(scene.name)
    STATE.joined.add(scene.name)
    try:
        _carry_settings(run)
        clock("source", _evaluate_source, run, scene, first + 1)
        run.hands = _hands(run, scene)
        coming = _wanted(run, scene, first + 1, record=False)
        clock("source", _evaluate_source, run, scene, first)
        wanted = _wanted(run, scene, first)
        scene.frame_set(first - 3)
        shot_run.check_evaluated(run, scene)
        evaluated.hold_others(run, scene)
        collision.widen_evaluated(run, scene)
        for character in run.characters:
            evaluated.switch_joints(run, True, character)  # the last run may have ended with it switched off
        evaluated.set_kinematic(run, True)
        evaluated.place(run, "bodies", matrices)
        evaluated.place(run, "targets", matrices)
        hits.rest(run, matrices)
        attachments.rest(run, scene)
        compounds.place_pieces(run)
        scene.frame_set(first - 2)
        attachments.undo(run)
        # The frame before is the first one continued backwards: many clips begin with a pose that jumps.
        for pose in (drives.extrapolated(wanted, coming), wanted):
            evaluated.place(run, "bodies", pose)
            evaluated.place(run, "targets", pose)
            if pose is not wanted:
                scene.frame_set(first - 1)
        world.stand_at(scene, first)
    finally:
        STATE.busy = was_busy
    world.note_joints(scene)
    run.command = run.wanted = run.body = run.body_before = wanted
    evaluated.show_physics(run, True)
    _read_settings(run, scene)
    _apply_settings(run, scene)
    run.rides = rides.Rides(run.riding)
    run.reached = first
    return run


def release(run: Run, scene) -> None:
    """After the first frame is shown: bodies become dynamic, and the scene's other bodies too."""
    run.graph = graph = depsgraph_of(scene)
    evaluated.set_kinematic(run, False)
    for name in run.held:
        other = bpy.data.objects.get(name)
        if other is not None:
            other.evaluated_get(graph).rigid_body.kinematic = False
    run.held = []


def _evaluate_source(run: Run, scene, frame: int) -> None:
    hidden = scene.active_ragdoll.source
    hidden.frame_set(frame)
    run.source_graph = hidden.view_layers[0].depsgraph


def _carry_settings(run: Run) -> None:
    """Edited settings that are not keyed go to the source, which is where those of keyed characters are read."""
    for character in run.characters:
        made = character.motion
        if made is not None and (run.settings_dirty or made.lengths != entry_values.lengths(character.obj)):
            character.motion = motion.of(character.obj)
        if character.keyed and run.settings_dirty:
            source.copy_settings(character.obj, character.source, character.bones)


def step(run: Run, scene, clock) -> None:
    """Prepare the next frame: pose of the source, place of the targets, gains of the drives.

    Raises:
        RagdollError: a body was deleted, or the animation is not a number.
    """
    frame = scene.frame_current
    run.graph = depsgraph_of(scene)
    _carry_settings(run)
    clock("source", _evaluate_source, run, scene, frame)
    _read_settings(run, scene)
    _apply_settings(run, scene)
    evaluated.show_physics(run, True)
    before, run.wanted = run.wanted, _wanted(run, scene, frame)
    fps = scene.render.fps / scene.render.fps_base
    substeps = scene.rigidbody_world.substeps_per_frame
    seconds = scene.rigidbody_world.time_scale / fps
    hits.step(run, scene)
    attachments.step(run, scene, max(seconds, 1e-9), substeps)
    if run.gains_dirty:
        run.reach = np.where(run.spring, drives.FARTHEST, drives.reach(run.weights()[0], seconds))
    reachable = drives.within_reach(run.body, run.wanted, run.reach)
    run.command = drives.lag_compensated(run.command, reachable, substeps)
    evaluated.place(run, "targets", run.command)
    places = run.rides.placed(run, before, run.dislocations.placed(run, seconds), 1.0 / fps)
    if run.any_kinematic:
        evaluated.place(run, "bodies", places, run.kinematic)
    evaluated.write_gains(run, scene, substeps, max(seconds, 1e-9))
    if run.joint_drives is not None:
        joint_drives.write(run, before, run.weights()[0], seconds, substeps, scene.gravity.length)
    run.frame = run.reached = frame


def observe(run: Run, scene) -> None:
    """After a frame is shown: where the bodies stand now, and what follows from it for the next frame.

    Raises:
        RagdollError: a body was deleted, is not a number or has left all bounds.
    """
    if run.frame > run.first:
        _read_bodies(run)
        seconds = scene.rigidbody_world.time_scale * scene.render.fps_base / scene.render.fps
        _note_calm(run, max(seconds, 1e-9), scene.gravity.length)
        run.dislocations.observe(run, seconds)
    recovery.observe(run, scene)


# ---- reading ------------------------------------------------------------------------------------------------------


def _posed(run: Run, scene, frame: int | None, record: bool) -> np.ndarray:
    """The bones in the world [m, 4, 4], with their scale, after the motion stack; without it for no frame."""
    matrices = np.empty((run.characters[-1].rows.stop, 4, 4))
    for character in run.characters:
        pose_of = character.source.evaluated_get(run.source_graph)
        if character.motion is None or frame is None:
            pose_of.pose.bones.foreach_get("matrix", character.buffer)
            pose = character.buffer.reshape(-1, 4, 4)[character.bones].transpose(0, 2, 1)
        else:
            pose, basis = character.motion.pose(scene, frame, record=record)
            pose = pose[character.bones]
            if record:
                motion.write_target(character.obj, basis)
        place = array_of(pose_of.matrix_world)
        if frame is not None:
            shot_run.check_size(character, place, frame)
            if record and frame > run.first:
                shot_run.check_not_scaled(character, frame)
        np.matmul(place, pose, out=matrices[character.rows])
    return matrices


def _hands(run: Run, scene) -> np.ndarray:
    """-1 for bones that are mirrored, else 1 [m]: the sign that makes a proper rotation of their axes."""
    return np.where(np.linalg.det(_posed(run, scene, None, False)[:, :3, :3]) < 0.0, -1.0, 1.0)


def _wanted(run: Run, scene, frame: int, record: bool = True) -> np.ndarray:
    """Where the animation has the bodies: rigid matrices [m, 4, 4], world."""
    matrices = _posed(run, scene, frame, record)
    axes = matrices[:, :3, :3]
    axes /= (run.hands * np.sqrt(np.maximum(np.einsum("mij,mij->mj", axes, axes).T, 1e-24))).T[:, None, :]
    result = matrices @ run.offsets
    if not np.isfinite(result.sum()):
        row = int(np.flatnonzero(~np.isfinite(result).all(axis=(1, 2)))[0])
        raise RagdollError(f"The animation of {shot_run.name_of(run, row)} is not a number at frame {frame}")
    return result


def _read_bodies(run: Run) -> None:
    """Where the bodies stood after the last frame."""
    flat = np.empty((run.characters[-1].rows.stop, 16), dtype=np.float32)
    for character in run.characters:
        character.bodies.objects.foreach_get("matrix_world", flat[character.rows].reshape(-1))
    body = flat.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
    near = np.abs(body[:, :3, 3] - run.body[:, :3, 3]) <= run.farthest  # not when it is not a number
    if not near.all() or not np.isfinite(body.sum()):
        row = int(np.flatnonzero(~near.all(axis=1) | ~np.isfinite(body).all(axis=(1, 2)))[0])
        trouble = "has left all bounds" if np.isfinite(body[row]).all() else "is not a number"
        raise RagdollError(f"The body of {shot_run.name_of(run, row)} {trouble} at frame {run.frame}")
    run.body_before, run.body = run.body, body


def _note_calm(run: Run, seconds: float, gravity: float) -> None:
    """Keep an eye on characters that have come to lie nearly still."""
    speeds = np.linalg.norm(run.body[:, :3, 3] - run.body_before[:, :3, 3], axis=1) / seconds
    for character in run.characters:
        was = character.calm >= drives.CALM_AFTER
        own_speed = froude.speed(character.height, gravity)
        character.calm = drives.settled(character.calm, float(speeds[character.rows].max()), own_speed, seconds)
        if (character.calm >= drives.CALM_AFTER) != was:
            run.calm[character.rows] = not was
            run.gains_dirty = True


def _read_settings(run: Run, scene) -> None:
    """Weights of all bodies; keyed ones from the source, which already stands at the frame to come."""
    dirty, run.settings_dirty = run.settings_dirty, False
    if not dirty and not any(character.keyed for character in run.characters):
        return
    run.gains_dirty = True
    if dirty and scene.frame_current > run.first:
        hits.read(run, scene)
    for character in run.characters:
        if not (dirty or character.keyed):
            continue
        obj = character.obj
        owner = character.source.evaluated_get(run.source_graph) if character.keyed else obj
        settings, bones = owner.active_ragdoll, owner.pose.bones
        own = [bones[i].active_ragdoll for i in character.bones]
        rows = character.rows
        before = {name: getattr(run, name)[rows].copy() for name in shot_run.NUMBERS}
        run.rotation_weight[rows] = [bone.rotation_weight for bone in own]
        run.rotation_weight[rows] *= settings.rotation_weight
        run.translation_weight[rows] = [bone.translation_weight for bone in own]
        run.translation_weight[rows] *= settings.translation_weight
        run.max_torque[rows] = [bone.max_torque for bone in own]
        run.max_force[rows] = [bone.max_force for bone in own]
        if obj.active_ragdoll.human_strength:
            if character.strengths is None:
                character.strengths = shot_run.strengths_of(obj)
            for name, strength in zip(("max_torque", "max_force"), character.strengths, strict=True):
                mine = getattr(run, name)
                mine[rows] = np.where(mine[rows] > 0.0, mine[rows], strength)
        run.spring[rows] = is_spring = obj.active_ragdoll.drive == "SPRING"
        if is_spring:
            run.frequency[rows] = [bone.frequency_scale for bone in own]
            run.frequency[rows] = np.clip(run.frequency[rows] * settings.spring_frequency, *SPRING_RANGE)
            run.damping_ratio[rows] = [bone.damping_scale for bone in own]
            run.damping_ratio[rows] *= settings.spring_damping_ratio
        modes = [bone.body_mode for bone in own]
        run.limp[rows] = [mode == "LIMP" for mode in modes]
        run.riding[rows] = [mode == "KINEMATIC" or obj.active_ragdoll.muted for mode in modes]
        blend = settings.physics_blend
        try:
            shot_run.check_numbers(run, character, blend)
            character.blend = blend
            if character.blends is not None:
                character.blends[scene.frame_current] = blend
            if character.name in run.recoveries:
                run.recoveries[character.name].read(settings.recovery, dirty, scene)
        except RagdollError as error:
            if scene.frame_current == run.first:
                raise
            # One character's mistake in mid-shot is no reason to stop the others.
            STATE.warn(character.name, f"{error}; what was set before stays")
            for name, values in before.items():
                mine = getattr(run, name)[rows]
                mine[:] = np.where(np.isfinite(mine), mine, values)
    run.limited = bool(np.any(run.max_torque > 0.0) or np.any(run.max_force > 0.0))


def _apply_settings(run: Run, scene) -> None:
    """Write what bodies are kinematic and how much of the physics is shown, where it differs from before."""
    kinematic = run.riding | run.off | run.dislocations.led
    changed = np.flatnonzero(kinematic != run.kinematic)
    if len(changed):
        run.kinematic, run.gains_dirty = kinematic, True
        run.any_kinematic = bool(np.any(kinematic))
        if scene.frame_current > run.first:
            evaluated.switch_kinematic(run, changed)
    for character in run.characters:
        off = bool(run.off[character.rows.start])
        if character.switched_off != off and scene.frame_current > run.first:
            evaluated.switch_joints(run, not off, character)
        if character.keyed or character.name in run.recoveries:
            evaluated.write_blend(character.obj, character, character.blend * character.share, scene)
