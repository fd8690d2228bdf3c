"""One frame: the source's pose, the targets, the drives. `simulate`, `bake` and playback all walk this.

A run belongs to a scene and covers all its characters at once; every array has one row per body, character after
character. It writes evaluated data only: an original joint, drive or body that is written while the world is alive
makes Blender copy it anew and crash.
"""

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..errors import RagdollError
from ..ragdoll import drives
from . import source, world
from .armature import check_scale, rigid
from .remove import ragdolls
from .runtime import STATE

FLOAT_STEP = 2.0**-24  # spacing of single precision below 1: see `_damping`
FASTEST = 2000.0  # [m/s per metre of height]: beyond it something has come apart


@dataclass
class Character:
    """One ragdoll of a run.

    It holds data-blocks, because finding one by name takes Blender longer the more there are. A run ends with any undo,
    redo or load; one that is deleted meanwhile raises ReferenceError, which ends the run too.

    Attributes:
        name: of the character object.
        rows: slice of its bodies in the run's arrays.
        bones: index of each body's bone in the pose [m].
        offsets: bone frame to body frame [m, 4, 4].
        keyed: its settings are animated and must be read on every frame.
    """

    name: str
    obj: bpy.types.Object
    source: bpy.types.Object
    physics: bpy.types.Object
    bodies: bpy.types.Collection
    targets: bpy.types.Collection
    rows: slice
    bone_names: list
    bones: np.ndarray
    offsets: np.ndarray
    buffer: np.ndarray
    height: float
    keyed: bool = False
    blend: float = 1.0


@dataclass
class Run:
    """The simulation of a scene's shot, from its first frame on.

    Attributes:
        first, frame: first frame and the last one stepped.
        reached: last frame whose result stands in the cache.
        settings_dirty: a setting was edited; read them again on the next step.
        seconds: time spent per frame in our own Python and in evaluating the source scene, for reports.
    """

    scene_name: str
    first: int
    frame: int
    reached: int
    characters: list
    settings_dirty: bool = True
    held: list = field(default_factory=list)
    seconds: dict = field(default_factory=lambda: {"own": [], "source": []})

    def shows(self, frame: int) -> bool:
        """Whether the frame is simulated."""
        return self.first <= frame <= self.reached


def depsgraph_of(scene):
    """The dependency graph that steps the scene: of the view layer shown in a window, else of the first one."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        if window.scene == scene and window.view_layer.depsgraph is not None:
            return window.view_layer.depsgraph
    return scene.view_layers[0].depsgraph


def active_ragdolls(scene) -> list:
    """Characters whose ragdoll is to be simulated."""
    return [obj for obj in ragdolls(scene) if not obj.active_ragdoll.muted]


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
    world.set_range(scene)
    source.source_scene(scene)
    run = Run(scene.name, first, first, first - 1, [])
    _gather(run, scene)
    count = run.characters[-1].rows.stop
    matrices = np.empty((count, 4, 4))
    for character in run.characters:
        parts = character.obj.active_ragdoll.parts
        matrices[character.rows] = np.array([part.bind for part in parts]).reshape(-1, 4, 4)

    was_busy, STATE.busy = STATE.busy, True
    try:
        _carry_settings(run)
        clock("source", _evaluate_source, run, scene, first + 1)
        coming = _wanted(run)
        clock("source", _evaluate_source, run, scene, first)
        wanted = _wanted(run)
        scene.frame_set(first - 3)
        _check_evaluated(run, scene)
        _hold_others(run, scene)
        _set_kinematic(run, scene, True)
        _place(run, scene, "bodies", matrices)
        _place(run, scene, "targets", matrices)
        scene.frame_set(first - 2)
        # The frame before is the first one continued backwards: many clips begin with a pose that jumps.
        for pose in (drives.extrapolated(wanted, coming), wanted):
            _place(run, scene, "bodies", pose)
            _place(run, scene, "targets", pose)
            if pose is not wanted:
                scene.frame_set(first - 1)
        _stand_at(scene, first)
    finally:
        STATE.busy = was_busy
    run.command = run.wanted = run.body = wanted
    _show_physics(run, scene, True)
    _read_settings(run, scene)
    run.reached = first
    return run


def _stand_at(scene, frame: int) -> None:
    """Set the frame about to be shown; by default the property does not go below 0, which `frame_set` does."""
    preferences = bpy.context.preferences.edit
    before = preferences.use_negative_frames
    if frame < 0 and not before:
        preferences.use_negative_frames = True
    scene.frame_current = frame
    if preferences.use_negative_frames != before:
        preferences.use_negative_frames = before


def release(run: Run, scene) -> None:
    """After the first frame is shown: bodies become dynamic, and the scene's other bodies too."""
    _set_kinematic(run, scene, False)
    graph = depsgraph_of(scene)
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
    if not run.settings_dirty:
        return
    for character in run.characters:
        if character.keyed:
            source.copy_settings(character.obj, character.source, character.bones)


def step(run: Run, scene, clock) -> None:
    """Prepare the next frame: pose of the source, place of the targets, gains of the drives.

    Raises:
        RagdollError: a body was deleted or has left all bounds.
    """
    frame = scene.frame_current
    _carry_settings(run)
    clock("source", _evaluate_source, run, scene, frame)
    _show_physics(run, scene, True)
    _read_settings(run, scene)
    run.wanted = _wanted(run)
    fps = scene.render.fps / scene.render.fps_base
    substeps = scene.rigidbody_world.substeps_per_frame
    seconds = scene.rigidbody_world.time_scale / fps
    _read_bodies(run)
    reachable = drives.within_reach(run.body, run.wanted, drives.rate(run.rotation_weight), seconds)
    run.command = drives.lag_compensated(run.command, reachable, substeps)
    _place(run, scene, "targets", run.command)
    if run.any_kinematic:
        _place(run, scene, "bodies", run.wanted, run.kinematic)
    _write_gains(run, scene, substeps / max(seconds, 1e-9))
    run.frame = run.reached = frame


def show_other(run: Run | None, scene) -> None:
    """A jump: the cached pose where the frame is simulated, else the animation."""
    if run is not None:
        if run.shows(scene.frame_current):
            # A cache that settings have outdated loses what comes after, on a jump back.
            run.reached = min(run.reached, max(scene.frame_current, run.first))
            _show_physics(run, scene, True)
        else:
            _show_physics(run, scene, False)
        run.frame = None


def show_cached(scene) -> None:
    """With a baked cache: bodies within the shot, the animation outside it.

    Blender takes frame 0 of a point cache for "not found" and cannot read it. As the first frame of a shot it is the
    animation anyway; a shot that begins before it shows its animation there.

    The physics armatures are no physics objects, so their originals may be written, and a final render sees it too.
    """
    first, last = world.shot_range(scene)
    frame = scene.frame_current
    _mute_originals(scene, not (first <= frame <= last and frame != 0))
    keyed = [obj for obj in active_ragdolls(scene) if _is_keyed(obj, "active_ragdoll.physics_blend")]
    if not keyed:
        return
    scene.active_ragdoll.source.frame_set(frame)
    for obj in keyed:
        blend = source.evaluated(obj).active_ragdoll.physics_blend
        for name in [part.bone for part in obj.active_ragdoll.parts] + source.followers(obj):
            constraint = obj.pose.bones[name].constraints[source.CONSTRAINT_NAME]
            if constraint.influence != blend:
                constraint.influence = blend


def stop_showing(scene) -> None:
    """When the baked cache is freed: physics armatures play the animation until a run shows otherwise."""
    _mute_originals(scene, True)


def _mute_originals(scene, mute: bool) -> None:
    for obj in active_ragdolls(scene):
        settings = obj.active_ragdoll
        for part in settings.parts if settings.physics_armature else ():
            bone = settings.physics_armature.pose.bones.get(part.bone)
            constraint = bone.constraints.get(source.CONSTRAINT_NAME) if bone else None
            if constraint is None:
                continue
            if constraint.mute == mute:
                break  # all of a character are alike
            constraint.mute = mute


# ---- gathering ----------------------------------------------------------------------------------------------------


def _gather(run: Run, scene) -> None:
    begin = 0
    for obj in ragdolls(scene):  # a baked character takes part as a kinematic one: props still meet it
        settings = obj.active_ragdoll
        _check_parts(obj)
        signature = source.signature(obj)
        known = _known_signatures.get(obj.name)
        if settings.source is None or (known is not None and known != signature):
            source.refresh(obj)
        _known_signatures[obj.name] = signature
        names = [part.bone for part in settings.parts]
        index = {bone.name: i for i, bone in enumerate(obj.data.bones)}
        missing = [name for name in names if name not in index]
        if missing:
            raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
        run.characters.append(
            Character(
                name=obj.name,
                obj=obj,
                source=settings.source,
                physics=settings.physics_armature,
                bodies=settings.bodies,
                targets=settings.targets,
                rows=slice(begin, begin + len(names)),
                bone_names=names,
                bones=np.array([index[name] for name in names]),
                offsets=np.array([part.offset for part in settings.parts]).reshape(-1, 4, 4),
                buffer=np.empty(len(obj.pose.bones) * 16, dtype=np.float32),
                height=settings.height,
                keyed=_is_keyed(obj) and not settings.muted,
            )
        )
        begin += len(names)
    if not run.characters:
        raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate")
    parts = [p for c in run.characters for p in c.obj.active_ragdoll.parts]
    run.masses = np.array([part.body.rigid_body.mass for part in parts])
    run.inertia = np.array([part.inertia for part in parts])
    run.kinematic = np.zeros(begin, dtype=bool)
    run.own_damping = np.array([(p.body.rigid_body.linear_damping, p.body.rigid_body.angular_damping) for p in parts])
    run.gains = np.full((begin, 6), np.nan)  # unlike anything: the first step writes them all
    run.distance = np.zeros(begin)
    run.arms = np.sqrt(run.inertia / np.maximum(run.masses, 1e-12))  # how far out the masses are that gravity turns
    run.gains_dirty = True
    run.limited = run.any_kinematic = False
    run.offsets = np.concatenate([c.offsets for c in run.characters])
    run.farthest = np.concatenate([np.full(len(c.bones), FASTEST * c.height / 24.0) for c in run.characters])
    for name in ("rotation_weight", "translation_weight", "max_torque", "max_force"):
        setattr(run, name, np.zeros(begin))
    run.limp = np.zeros(begin, dtype=bool)


_known_signatures: dict = {}


def forget() -> None:
    """Forget what was known of the characters, as after loading a file."""
    _known_signatures.clear()


def _check_parts(obj) -> None:
    settings = obj.active_ragdoll
    for part in settings.parts:
        for kind in ("body", "target", "anchor"):
            helper = getattr(part, kind)
            if helper is None or helper.name not in settings.scene.objects:
                raise RagdollError(
                    f"The {kind} of bone '{part.bone}' of '{obj.name}' was deleted: build the ragdoll anew"
                )
        if part.body.rigid_body is None or part.target.rigid_body is None:
            raise RagdollError(
                f"The body of bone '{part.bone}' of '{obj.name}' is no rigid body: build the ragdoll anew"
            )
    physics = settings.physics_armature
    if physics is None or physics.name not in settings.scene.objects:
        raise RagdollError(f"The physics armature of '{obj.name}' was deleted: build the ragdoll anew")
    inside = {len(settings.parts), len(settings.bodies.objects), len(settings.targets.objects)}
    if len(inside) != 1:
        raise RagdollError(f"Helpers of '{obj.name}' were moved out of their collections: build the ragdoll anew")


def _check_evaluated(run: Run, scene) -> None:
    graph = depsgraph_of(scene)
    rigid_bodies = scene.rigidbody_world
    for character in run.characters:
        settings = character.obj.active_ragdoll
        needed = settings.bodies, settings.targets, rigid_bodies.collection, rigid_bodies.constraints
        for collection in needed:
            if not collection.evaluated_get(graph).is_evaluated:
                outer = settings.collection if collection in needed[:2] else collection
                raise RagdollError(
                    f"The collection '{outer.name}' is excluded from the view layer: include it (it may be hidden)"
                )
        evaluated = character.source.evaluated_get(run.source_graph)
        check_scale(settings.source, np.array(evaluated.matrix_world, dtype=float))


def _is_keyed(obj, path: str = "active_ragdoll") -> bool:
    """Whether any of a character's settings (or the one at a path) is animated or driven."""
    data = obj.animation_data
    if data is None:
        return False
    if any(path in driver.data_path for driver in data.drivers):
        return True
    actions = {data.action} | {strip.action for track in data.nla_tracks for strip in track.strips}
    for action in actions - {None}:
        for curve in _all_curves(action):
            if path in curve.data_path:
                return True
    return False


def _all_curves(action):
    if hasattr(action, "layers") and action.layers:
        for layer in action.layers:
            for strip in layer.strips:
                for bag in strip.channelbags:
                    yield from bag.fcurves
    elif hasattr(action, "fcurves"):
        yield from action.fcurves


# ---- reading ------------------------------------------------------------------------------------------------------


def _wanted(run: Run) -> np.ndarray:
    """Where the animation has the bodies: rigid matrices [m, 4, 4], world."""
    matrices = np.empty((run.characters[-1].rows.stop, 4, 4))
    for character in run.characters:
        evaluated = character.source.evaluated_get(run.source_graph)
        evaluated.pose.bones.foreach_get("matrix", character.buffer)
        pose = character.buffer.reshape(-1, 4, 4)[character.bones].transpose(0, 2, 1)
        np.matmul(np.array(evaluated.matrix_world, dtype=float), pose, out=matrices[character.rows])
    result = rigid(matrices) @ run.offsets
    if not np.isfinite(result.sum()):
        row = int(np.flatnonzero(~np.isfinite(result).all(axis=(1, 2)))[0])
        raise RagdollError(f"The animation of {_name_of(run, row)} is not a number at frame {run.frame + 1}")
    return result


def _read_bodies(run: Run) -> None:
    """Where the bodies stood after the last frame."""
    flat = np.empty((run.characters[-1].rows.stop, 16), dtype=np.float32)
    for character in run.characters:
        character.bodies.objects.foreach_get("matrix_world", flat[character.rows].reshape(-1))
    body = flat.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
    moved = np.abs(body[:, :3, 3] - run.body[:, :3, 3]).max(axis=1)
    if not np.all(moved <= run.farthest):  # also when it is not a number
        row = int(np.flatnonzero(~(moved <= run.farthest))[0])
        raise RagdollError(f"The body of {_name_of(run, row)} has left all bounds at frame {run.frame}")
    run.body = body


def _name_of(run: Run, row: int) -> str:
    for character in run.characters:
        if character.rows.start <= row < character.rows.stop:
            return f"bone '{character.bone_names[row - character.rows.start]}' of '{character.name}'"
    return "?"


def _read_settings(run: Run, scene) -> None:
    """Weights of all bodies; keyed ones from the source, which already stands at the frame to come."""
    dirty, run.settings_dirty = run.settings_dirty, False
    if not dirty and not any(character.keyed for character in run.characters):
        return
    run.gains_dirty = True
    for character in run.characters:
        if not (dirty or character.keyed):
            continue
        obj = character.obj
        owner = character.source.evaluated_get(run.source_graph) if character.keyed else obj
        settings, bones = owner.active_ragdoll, owner.pose.bones
        own = [bones[i].active_ragdoll for i in character.bones]
        rows = character.rows
        run.rotation_weight[rows] = [bone.rotation_weight for bone in own]
        run.rotation_weight[rows] *= settings.rotation_weight
        run.translation_weight[rows] = [bone.translation_weight for bone in own]
        run.translation_weight[rows] *= settings.translation_weight
        run.max_torque[rows] = [bone.max_torque for bone in own]
        run.max_force[rows] = [bone.max_force for bone in own]
        modes = [bone.body_mode for bone in own]
        run.limp[rows] = [mode == "LIMP" for mode in modes]
        kinematic = np.array([mode == "KINEMATIC" or obj.active_ragdoll.muted for mode in modes])
        changed = np.flatnonzero(kinematic != run.kinematic[rows])
        run.kinematic[rows] = kinematic
        if len(changed) and scene.frame_current > run.first:
            graph = depsgraph_of(scene)
            for i in changed:
                character.bodies.objects[int(i)].evaluated_get(graph).rigid_body.kinematic = bool(kinematic[i])
        if character.keyed:
            _write_blend(obj, character, settings.physics_blend, scene)
    run.limited = bool(np.any(run.max_torque > 0.0) or np.any(run.max_force > 0.0))
    run.any_kinematic = bool(np.any(run.kinematic))


def _write_blend(obj, character, blend, scene) -> None:
    if abs(blend - character.blend) < 1e-9:
        return
    bones = obj.evaluated_get(depsgraph_of(scene)).pose.bones
    for name in character.bone_names + source.followers(obj):
        _write_own(bones[name].constraints, "influence", blend)
    character.blend = blend


# ---- writing, on evaluated data only ------------------------------------------------------------------------------


def _place(run: Run, scene, kind: str, matrices: np.ndarray, only: np.ndarray | None = None) -> None:
    """Put evaluated bodies or targets somewhere: rigid matrices [m, 4, 4], of all or of a mask [m].

    Location and rotation are what Blender evaluates a transform from, the world matrix is what the step may read
    before that; the matrix is Blender's own of the same location and rotation, so that both agree to the last bit.
    """
    graph = depsgraph_of(scene)
    columns = np.ascontiguousarray(matrices.transpose(0, 2, 1), dtype=np.float32).reshape(-1, 16)
    for character in run.characters:
        rows = character.rows
        if only is not None and not only[rows].any():
            continue
        objects = getattr(character, kind).evaluated_get(graph).objects
        mine = columns[rows]
        if only is not None:
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


def _set_kinematic(run: Run, scene, on: bool) -> None:
    graph = depsgraph_of(scene)
    for character in run.characters:
        bodies = character.bodies.evaluated_get(graph).objects
        for i, body in enumerate(bodies):
            body.rigid_body.kinematic = on or bool(run.kinematic[character.rows.start + i])


def _hold_others(run: Run, scene) -> None:
    """Hold the scene's other active bodies until the first frame, so that they begin to move when they always do."""
    graph = depsgraph_of(scene)
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


def _show_physics(run: Run, scene, on: bool) -> None:
    """Let the physics armatures take their bodies' places, or play the animation."""
    graph = depsgraph_of(scene)
    for character in run.characters:
        bones = character.physics.evaluated_get(graph).pose.bones
        if bones[character.bone_names[-1]].constraints[source.CONSTRAINT_NAME].mute is not on:
            continue
        for name in character.bone_names:
            _write_own(bones[name].constraints, "mute", not on)


def _write_own(constraints, name: str, value) -> None:
    """Set a property of our constraint in an evaluated bone's list.

    By foreach_set, which calls no update function: Blender's would look for the evaluated target among the originals,
    not find it and disable the constraint.
    """
    values = [getattr(constraint, name) for constraint in constraints]
    values[constraints.find(source.CONSTRAINT_NAME)] = value
    constraints.foreach_set(name, values)


def _damping(gain, stiffness, weight, scale):
    """Stiffness and Blender's damping value that give Bullet's spring motor a rate [1/s].

    The motor's velocity is ``steps * (1 - damping) / iterations * stiffness * error``; 1 - damping is a whole
    number of single-precision steps, so the stiffness is moved to where the rate comes out right. It cannot exceed 1
    either: bodies too light for that (a character a tenth of a man) get the stiffness that the rate takes, fading with
    the weight, so that at weight 1 they follow as well as heavy ones.

    Args:
        gain [1/s], stiffness [N/m or N m/rad], weight [0..1], scale: iterations / steps per second [s].
    """
    stiffness = np.maximum(stiffness, gain * scale * weight**4)
    wanted = np.where(stiffness > 0.0, gain * scale / np.maximum(stiffness, 1e-30), 1.0)
    whole = np.clip(np.round(wanted / FLOAT_STEP), 1.0, 1.0 / FLOAT_STEP)
    exact = np.where(wanted < 1.0, gain * scale / (whole * FLOAT_STEP), stiffness)
    return np.where(stiffness > 0.0, exact, 0.0), 1.0 - whole * FLOAT_STEP


def _write_gains(run: Run, scene, steps_per_second: float) -> None:
    fps = scene.render.fps / scene.render.fps_base
    if not run.gains_dirty and not run.limited:
        return
    run.gains_dirty = False
    idle = run.limp | run.kinematic
    rotation = np.where(idle, 0.0, run.rotation_weight)
    translation = np.where(idle, 0.0, run.translation_weight)
    stiffness_l, rate_l = drives.servo(translation, run.masses, steps_per_second)
    stiffness_a, rate_a = drives.servo(rotation, run.inertia, steps_per_second)
    if run.limited:
        # A capped body falls behind during the frame, on average by half of what it did in the last one.
        distance = np.linalg.norm(run.command[:, :3, 3] - run.body[:, :3, 3], axis=1)
        distance, run.distance = distance + 0.5 * np.maximum(distance - run.distance, 0.0), distance
        fall = 0.5 * max(scene.gravity.length, 1e-6) * (1.0 / fps) ** 2
        stiffness_l = drives.capped(stiffness_l, run.max_force, distance, fall)
        cosine = 0.5 * (np.einsum("mij,mij->m", run.body[:, :3, :3], run.command[:, :3, :3]) - 1.0)
        angle = np.arccos(np.clip(cosine, -1.0, 1.0))
        stiffness_a = drives.capped(stiffness_a, run.max_torque, angle, fall / run.arms)
    scale = scene.rigidbody_world.solver_iterations / steps_per_second
    drags = [
        1.0 - (1.0 - run.own_damping[:, i]) * np.exp(-drives.drag(weight))
        for i, weight in enumerate((translation, rotation))
    ]
    servos = *_damping(rate_l, stiffness_l, translation, scale), *_damping(rate_a, stiffness_a, rotation, scale)
    gains = np.stack([*servos, *drags], axis=1)
    changed = np.any(gains != run.gains, axis=1)
    if not changed.any():
        return
    graph = depsgraph_of(scene)
    for character in run.characters:
        rows = np.flatnonzero(changed[character.rows])
        if not len(rows):
            continue
        targets = character.targets.objects
        for i in rows:
            constraint = targets[int(i)].evaluated_get(graph).rigid_body_constraint
            linear, linear_damping, angular, angular_damping, *drag = gains[character.rows.start + i].tolist()
            body = character.bodies.objects[int(i)].evaluated_get(graph).rigid_body
            body.linear_damping, body.angular_damping = drag
            constraint.enabled = linear > 0.0 or angular > 0.0
            for axis in "xyz":
                setattr(constraint, f"spring_stiffness_{axis}", linear)
                setattr(constraint, f"spring_damping_{axis}", linear_damping)
                setattr(constraint, f"spring_stiffness_ang_{axis}", angular)
                setattr(constraint, f"spring_damping_ang_{axis}", angular_damping)
    run.gains = gains
