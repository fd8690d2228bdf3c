"""Writing to evaluated bodies, targets, drives and bone constraints: the only way a run acts on the scene.

An original joint, drive or body that is written while the world is alive makes Blender copy it anew and crash."""

import numpy as np
from mathutils import Matrix

from ...ragdoll import drives
from ...ragdoll.drives import servo
from ...ragdoll.drives.law import Frame, Side, merged
from ...ragdoll.joints import limits
from ..physics import built, source, view_layers
from ..rig.clips import scene_fps
from ..runtime import STATE
from .shot_run import Run

LINEAR_DRAG = 8  # column of a run's gains, see `_gains`


def write_blend(character, blend, scene) -> bool:
    """Set the share of the physics in what a character shows, in all view layers. Returns whether it has changed."""
    return _write_own(character.obj, character.shown_bones, "influence", blend, view_layers.graphs(scene))


def _write_own(obj, bones: list, name: str, value, layers: list) -> bool:
    """Set a property of our constraints of evaluated bones in view layers, where it differs. Returns whether it did.

    By foreach_set, which calls no update function: Blender's would look for the evaluated target among the originals,
    not find it and disable the constraint.
    """
    changed = False
    for graph in layers:
        copy = obj.evaluated_get(graph)
        # Where a layer was not evaluated since the object came it has no pose; since the build, bones without ours.
        posed = getattr(copy.pose, "bones", None) if copy.is_evaluated else None
        first = posed and posed[bones[0]].constraints.get(source.CONSTRAINT_NAME)
        # An edit of the object makes Blender copy it anew, with its original's values.
        if first is None or abs(value - getattr(first, name)) < 1e-7:
            continue
        for constraints in (posed[bone].constraints for bone in bones if bone in posed):  # one may be renamed
            values = [value if each.name in source.OF_PHYSICS else getattr(each, name) for each in constraints]
            constraints.foreach_set(name, values)
        changed = True
    return changed


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
        flat = mine.reshape(-1)
        if only is not None and not only[rows].all():
            for name in ("matrix_basis", "matrix_world"):
                now = np.empty_like(mine)
                objects.foreach_get(name, now.ravel())
                now[only[rows]] = mine[only[rows]]
                objects.foreach_set(name, now.ravel())
            continue
        objects.foreach_set("matrix_basis", flat)
        objects.foreach_get("matrix_basis", flat)
        objects.foreach_set("matrix_world", flat)


def put(run: Run, helper, matrix) -> None:
    """Put the evaluated copy of a helper somewhere: a rigid matrix [4, 4]."""
    copy = helper.evaluated_get(run.graph)
    copy.matrix_basis = Matrix(np.asarray(matrix).tolist())
    copy.matrix_world = copy.matrix_basis


def hold(run: Run, kinematic: np.ndarray, rows=None) -> None:
    """Make bodies kinematic or dynamic, as a mask [m] says: all, or some rows. A released one keeps its velocity.

    What is kinematic is disabled, too: otherwise Bullet sums up the forces of fields at every substep, and all of that
    acts at once when it is released. 4.2 does so all the same.
    """
    for character in run.characters:
        own = range(character.rows.start, character.rows.stop)
        for row in own if rows is None else np.intersect1d(own, rows):
            body = character.bodies.objects[int(row) - own.start].evaluated_get(run.graph).rigid_body
            on = bool(kinematic[row])
            if on:
                body.kinematic = True
            body.enabled = not on  # leaves Bullet's body as kinematic as it says
            if not on:
                body.kinematic = False


def follow_cache(run: Run) -> None:
    """Make all bodies dynamic, as a kinematic one does not read its place from the cache."""
    run.switched_off = np.zeros_like(run.switched_off)
    rows, run.kinematic = np.flatnonzero(run.kinematic), np.zeros_like(run.kinematic)
    hold(run, run.kinematic, rows)


def switch_joints(run: Run, on: bool, character) -> None:
    """Let Bullet solve a character's joints, or leave them out while its bodies move with the animation.

    Motors are left to the drives, which stop them at weight 0. Attachments stay as they are: a hand that moves with
    the animation still holds what it holds.
    """
    for helper in character.obj.active_ragdoll.collection.all_objects:
        constraint = helper.rigid_body_constraint
        if constraint is None or helper.get(built.KIND) in (built.MOTOR, built.TARGET, built.ATTACHMENT):
            continue
        own = helper.evaluated_get(run.graph).rigid_body_constraint
        # A hit's helper that was made just now comes with the next evaluation.
        if own is not None and own.enabled != (on and constraint.enabled):
            own.enabled = on and constraint.enabled
    character.joints_off = not on


def show_physics(run: Run, on: bool, scene) -> list:
    """Let the physics armatures copy the bodies, or play the animation. Returns the characters that changed.

    In all view layers: those that do not step read the bodies' places from the cache."""
    changed, layers = [], view_layers.graphs(scene)
    STATE.at_rest.discard(scene.name)
    for character in run.characters:
        muted = not on or bool(run.switched_off[character.rows.start])  # nobody sees one that is switched off
        if _write_own(character.physics, character.bone_names, "mute", muted, layers):
            changed.append(character)
    return changed


def write_gains(run: Run, scene, substeps: int, seconds: float) -> None:
    """Set the drives in world space for the frame to come, where they change."""
    starting = run.frame == run.first
    if not run.gains_dirty and not run.limited:
        return
    laws = drives.in_use(run.drive)
    run.gains_dirty = starting and any(law.first_frame_differs for law, _bodies in laws)
    gains = _gains(run, scene, laws, Frame(seconds, substeps, scene.rigidbody_world.solver_iterations, starting))
    changed = np.any(gains != run.gains, axis=1)
    if not changed.any():
        return
    for character in run.characters:
        rows = np.flatnonzero(changed[character.rows])
        if not len(rows):
            continue
        targets, bodies = character.targets.objects, character.bodies.objects
        for i in rows.tolist():
            constraint = targets[i].evaluated_get(run.graph).rigid_body_constraint
            body = bodies[i].evaluated_get(run.graph).rigid_body
            own = gains[character.rows.start + i].tolist()
            body.linear_damping, body.angular_damping, asleep = *own[LINEAR_DRAG : LINEAR_DRAG + 2], bool(own[-1])
            if body.use_deactivation != asleep:
                body.use_deactivation = asleep
            constraint.enabled = own[0] > 0.0 or max(own[2:5]) > 0.0
            set_springs(constraint, own)
    run.gains, run.kept = gains, Run.kept


def set_springs(constraint, gains: list) -> None:
    """Set linear stiffness and damping, then angular stiffness and damping about each axis."""
    for i, axis in enumerate("xyz"):
        setattr(constraint, f"spring_stiffness_{axis}", gains[0])
        setattr(constraint, f"spring_damping_{axis}", gains[1])
        setattr(constraint, f"spring_stiffness_ang_{axis}", gains[2 + i])
        setattr(constraint, f"spring_damping_ang_{axis}", gains[5 + i])


def _gains(run: Run, scene, laws: list, frame: Frame) -> np.ndarray:
    """Gains of the drives for the frame to come [m, 11], by the laws in use, each with a mask of its bodies.

    Linear stiffness and damping, angular stiffness and damping about each axis of the body, linear and angular drag,
    and whether the body may sleep.
    """
    rotation, translation = run.weighed
    undriven = run.undriven & ~run.awake
    rotation, translation = (np.where(run.joint_space, 0.0, weight) for weight in (rotation, translation))
    caps = _limits(run, scene) if run.limited else (None, None)
    sides = (
        Side(translation, run.masses, run.masses[:, None], caps[0], run.numbers),
        Side(rotation, run.inertia, run.moments, caps[1], run.numbers),
    )
    columns = []
    for side in sides:
        found = [(mask, law.gains(side, frame)) for law, mask in laws]
        for i in range(2):
            gains = merged([(mask, both[i]) for mask, both in found])
            columns.append(np.broadcast_to(gains, side.inertias.shape))
    calm = np.where(undriven & run.calm, servo.CALM_DRAG, 0.0)
    drags = [
        1.0 - (1.0 - run.own_damping[:, i]) * np.exp(-merged([(mask, law.drag(weight)) for law, mask in laws]) - calm)
        for i, weight in enumerate((translation, rotation))
    ]
    # What nothing drives may sleep where it lies, or contacts would keep it trembling; Bullet wakes it when touched.
    return np.column_stack([*columns, *drags, undriven & run.supported])


def _limits(run: Run, scene) -> tuple:
    """What `servo.capped` takes, of forces and of torques: the largest, the error, the least error that counts."""
    # A capped body falls behind during the frame, on average by half of what it did in the last one.
    distance = np.linalg.norm(run.command[:, :3, 3] - run.body[:, :3, 3], axis=1)
    distance, run.distance = distance + 0.5 * np.maximum(distance - run.distance, 0.0), distance
    fall = 0.5 * max(scene.gravity.length, 1e-6) * (1.0 / scene_fps(scene)) ** 2
    angle = limits.angles_of(np.einsum("mij,mij->m", run.body[:, :3, :3], run.command[:, :3, :3]))
    return (run.numbers["max_force"], distance, fall), (run.numbers["max_torque"], angle, fall / run.gyration_radius)
