"""Writing to evaluated bodies, targets, drives and bone constraints: the only way a run acts on the scene.

An original joint, drive or body that is written while the world is alive makes Blender copy it anew and crash.
"""

import numpy as np

from ..ragdoll import dislocation, drives, springs
from . import source
from .shot_run import Run, depsgraph_of


def write_blend(obj, character, blend, scene) -> bool:
    """Set the share of the physics in what a character shows; whether it was another."""
    bones = obj.evaluated_get(depsgraph_of(scene)).pose.bones
    # An edit of the character makes Blender copy it anew, with its original's influence.
    shown = bones[character.bone_names[0]].constraints[source.CONSTRAINT_NAME].influence
    if abs(blend - shown) < 1e-7:
        return False
    for name in character.bone_names + source.followers(obj):
        _write_own(bones[name].constraints, "influence", blend)
    return True


def place(run: Run, kind: str, matrices: np.ndarray, only: np.ndarray | None = None) -> None:
    """Put evaluated bodies or targets somewhere: rigid matrices [m, 4, 4], of all or of a mask [m].

    Location and rotation are what Blender evaluates a transform from, the world matrix is what the step may read
    before that; the matrix is Blender's own of the same location and rotation, so that both agree to the last bit.
    """
    graph = run.graph
    columns = np.ascontiguousarray(matrices.transpose(0, 2, 1), dtype=np.float32).reshape(-1, 16)
    for character in run.characters:
        rows = character.rows
        if only is not None and not only[rows].any():
            continue
        objects = getattr(character, kind).evaluated_get(graph).objects
        mine = columns[rows]
        if only is not None and not only[rows].all():
            for name in ("matrix_basis", "matrix_world"):
                now = np.empty_like(mine)
                objects.foreach_get(name, now.ravel())
                now[only[rows]] = mine[only[rows]]
                objects.foreach_set(name, now.ravel())
            continue
        objects.foreach_set("matrix_basis", mine.ravel())
        exact = np.empty_like(mine)
        objects.foreach_get("matrix_basis", exact.ravel())
        objects.foreach_set("matrix_world", exact.ravel())


def set_kinematic(run: Run, on: bool) -> None:
    graph = run.graph
    for character in run.characters:
        bodies = character.bodies.evaluated_get(graph).objects
        for i, body in enumerate(bodies):
            body.rigid_body.kinematic = on or bool(run.kinematic[character.rows.start + i])


def switch_kinematic(run: Run, rows) -> None:
    """Make some bodies kinematic or dynamic, as the run's mask says; a dynamic one keeps the velocity it rode with."""
    for character in run.characters:
        begin = character.rows.start
        for row in rows[(rows >= begin) & (rows < character.rows.stop)]:
            body = character.bodies.objects[int(row) - begin].evaluated_get(run.graph)
            body.rigid_body.kinematic = bool(run.kinematic[row])


def follow_cache(run: Run) -> None:
    """Let all bodies stand where the cache has them: a kinematic one does not read it."""
    run.off = np.zeros_like(run.off)
    rows = np.flatnonzero(run.kinematic)
    if len(rows):
        run.kinematic = np.zeros_like(run.kinematic)
        switch_kinematic(run, rows)


def switch_joints(run: Run, on: bool, character) -> None:
    """Let Bullet solve a character's joints, or leave them out while its bodies ride the animation.

    Motors are left to the drives, which stop them at weight 0, and attachments to themselves: a hand that rides the
    animation still holds what it holds.
    """
    settings = character.obj.active_ragdoll
    others = set(character.targets.objects)
    for part in settings.attachment_parts:
        others |= {part.joint, part.other_joint}
    for helper in settings.collection.all_objects:
        constraint = helper.rigid_body_constraint
        if constraint is None or constraint.type == "MOTOR" or helper in others:
            continue
        own = helper.evaluated_get(run.graph).rigid_body_constraint
        # A hit's helper that was made just now comes with the next evaluation.
        if own is not None and own.enabled != (on and constraint.enabled):
            own.enabled = on and constraint.enabled
    character.switched_off = not on


def hold_others(run: Run, scene) -> None:
    """Hold the scene's other active bodies until the first frame, so that they begin to move when they always do."""
    graph = run.graph
    ours = set()
    for character in run.characters:
        ours.update(body.name for body in character.bodies.objects)
    for other in scene.rigidbody_world.collection.all_objects:
        body = other.rigid_body
        if other.name in ours or body is None or body.type != "ACTIVE" or body.kinematic:
            continue
        evaluated = other.evaluated_get(graph)
        if evaluated.is_evaluated:
            evaluated.rigid_body.kinematic = True
            run.held.append(other.name)


def show_physics(run: Run, on: bool) -> list:
    """Let the physics armatures take their bodies' places, or play the animation; the characters that did not yet."""
    graph, changed = run.graph, []
    for character in run.characters:
        shown = on and not run.off[character.rows.start]  # nobody sees one that is switched off
        bones = character.physics.evaluated_get(graph).pose.bones
        if bones[character.bone_names[-1]].constraints[source.CONSTRAINT_NAME].mute is not shown:
            continue
        for name in character.bone_names:
            _write_own(bones[name].constraints, "mute", not shown)
        changed.append(character)
    return changed


def _write_own(constraints, name: str, value) -> None:
    """Set a property of our constraint in an evaluated bone's list.

    By foreach_set, which calls no update function: Blender's would look for the evaluated target among the originals,
    not find it and disable the constraint.
    """
    values = [getattr(constraint, name) for constraint in constraints]
    values[constraints.find(source.CONSTRAINT_NAME)] = value
    constraints.foreach_set(name, values)


def write_gains(run: Run, scene, substeps: int, seconds: float) -> None:
    """Set the drives in world space for the frame to come, where anything of them changes."""
    starting = run.frame == run.first
    if not run.gains_dirty and not run.limited:
        return
    run.gains_dirty = bool(starting and run.spring.any())  # the first frame's springs are softer, see below
    steps_per_second = substeps / seconds
    fps = scene.render.fps / scene.render.fps_base
    rotation, translation = run.weights()
    undriven = (rotation == 0.0) & (translation == 0.0) & ~run.kinematic & ~run.awake & ~run.attached
    rotation, translation = (np.where(run.joint_space, 0.0, weight) for weight in (rotation, translation))
    stiffness_l, rate_l = drives.servo(translation, run.masses, steps_per_second)
    stiffness_a, rate_a = drives.servo(rotation, run.inertia, steps_per_second)
    if run.limited:
        # A capped body falls behind during the frame, on average by half of what it did in the last one.
        distance = np.linalg.norm(run.command[:, :3, 3] - run.body[:, :3, 3], axis=1)
        distance, run.distance = distance + 0.5 * np.maximum(distance - run.distance, 0.0), distance
        fall = 0.5 * max(scene.gravity.length, 1e-6) * (1.0 / fps) ** 2
        stiffness_l = drives.capped(stiffness_l, run.max_force, distance, fall)
        angle = dislocation.angles_off(run.body, run.command)
        stiffness_a = drives.capped(stiffness_a, run.max_torque, angle, fall / run.arms)
    scale = scene.rigidbody_world.solver_iterations / steps_per_second
    calm = np.where(undriven & run.calm, drives.CALM_DRAG, 0.0)
    drags = [
        1.0 - (1.0 - run.own_damping[:, i]) * np.exp(-np.where(run.spring, 0.0, drives.drag(weight)) - calm)
        for i, weight in enumerate((translation, rotation))
    ]
    servos = *drives.motor(rate_l, stiffness_l, translation, scale), *drives.motor(rate_a, stiffness_a, rotation, scale)
    if run.spring.any():
        linear = _springs(run, translation, run.masses, substeps, seconds, starting)
        angular = _springs(run, rotation, run.inertia, substeps, seconds, starting)
        if run.limited:
            linear[0] = drives.capped(linear[0], run.max_force, distance, fall)
            angular[0] = drives.capped(angular[0], run.max_torque, angle, fall / run.arms)
        servos = [np.where(run.spring, mine, other) for mine, other in zip((*linear, *angular), servos, strict=True)]
    # What nothing drives may sleep, or contacts would keep it trembling; Bullet wakes it when it is touched.
    gains = np.stack([*servos, *drags, undriven], axis=1)
    changed = np.any(gains != run.gains, axis=1)
    if not changed.any():
        return
    graph = run.graph
    for character in run.characters:
        rows = np.flatnonzero(changed[character.rows])
        if not len(rows):
            continue
        targets = character.targets.objects
        for i in rows:
            constraint = targets[int(i)].evaluated_get(graph).rigid_body_constraint
            linear, linear_damping, angular, angular_damping, *drag, asleep = gains[character.rows.start + i].tolist()
            body = character.bodies.objects[int(i)].evaluated_get(graph).rigid_body
            body.linear_damping, body.angular_damping = drag
            if body.use_deactivation != bool(asleep):
                body.use_deactivation = bool(asleep)
            constraint.enabled = linear > 0.0 or angular > 0.0
            for axis in "xyz":
                setattr(constraint, f"spring_stiffness_{axis}", linear)
                setattr(constraint, f"spring_damping_{axis}", linear_damping)
                setattr(constraint, f"spring_stiffness_ang_{axis}", angular)
                setattr(constraint, f"spring_damping_ang_{axis}", angular_damping)
    run.gains = gains


def _springs(run: Run, weight, inertia, substeps: int, seconds: float, starting: bool) -> list:
    """Stiffness and damping [m] of the springs; a weight w makes one of the frequency times the square root of w."""
    frequency = run.frequency * np.sqrt(weight)
    if starting:
        frequency = springs.first_frame(frequency, substeps)
    return list(springs.spring2(frequency, run.damping_ratio, inertia, seconds / substeps))
