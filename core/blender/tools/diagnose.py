"""A real ragdoll as `core.ragdoll.diagnosis` judges it, remedies by a button, and the animation against its limits."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace

import numpy as np

from ...anatomy import axes
from ...errors import RagdollError
from ...ragdoll import diagnosis
from ...ragdoll.bodies.fitting import joined
from ...ragdoll.diagnosis import Finding, Situation
from .. import runtime
from ..physics import body_objects, build, built, joint_objects, source, view_layers, world
from ..rig import action_channels, skinning
from ..rig.armature import BindPose, anatomy_of, check_ragdoll, check_scale, is_evenly_scaled, prop_bones, rigid
from ..run import shot_run


def diagnose(obj, scene) -> list[Finding]:
    """Find what would make a ragdoll unstable. The findings are kept in `runtime.STATE`, with the build's identity.
    Raises RagdollError: no ragdoll, or one of its bodies or bones is gone."""
    if runtime.state_of(obj) == "ELSEWHERE":
        text = f"The ragdoll of '{obj.name}' is in another scene: here it shows its animation"
        found = [diagnosis.refusal(diagnosis.ELSEWHERE, text)]
    else:
        found = diagnosis.diagnose(situation(obj, scene))
    runtime.STATE.diagnoses[obj.name] = identity(obj), found
    return found


def identity(obj) -> tuple:
    """What tells one build of a ragdoll from the next."""
    return tuple(part.body.session_uid if part.body else 0 for part in obj.active_ragdoll.parts)


QUICK = (
    *(diagnosis.WORLD_DISABLED, diagnosis.DISABLED, diagnosis.OUTDATED, diagnosis.MASS_RATIO, diagnosis.SUBSTEPS),
    *(diagnosis.ITERATIONS, diagnosis.SCALE, diagnosis.TIME_SCALE, diagnosis.GRAVITY_WEIGHT, diagnosis.DROPS_FRAMES),
    diagnosis.LEFT_OVER,
)


def quick(obj, scene) -> list[Finding]:
    """The findings of the kinds `QUICK`, cheap enough to ask at every redraw. Raises RagdollError as `diagnose`."""
    return [finding for finding in diagnosis.diagnose(Situation(**_standing(obj, scene))) if finding.kind in QUICK]


def situation(obj, scene) -> Situation:
    """The arrays that a ragdoll is judged by."""
    check_ragdoll(obj)
    settings, standing = obj.active_ragdoll, _standing(obj, scene)
    parts, parents = settings.parts, standing["parents"]
    pieces = [body_objects.solids_of(part.body) for part in parts]
    first, _last = world.shot_range(scene)
    pose = BindPose(obj, np.eye(4))
    standing["sizes"] = np.array([float(np.ptp(_corners(own), axis=0).max()) for own in pieces])
    excess = np.zeros(len(parts))
    for row, _name, _settings, _turns, beyond in _excesses(obj, scene, first, first):
        excess[row] = beyond.max()
    if settings.self_collision:
        shapes = [joined(own, own[0].axes) if len(own) > 1 else own[0] for own in pieces]
        row = {part.body: i for i, part in enumerate(parts)}
        joints = filter(None, (helper.rigid_body_constraint for helper in settings.collection.all_objects))
        pairs = [(row.get(joint.object1), row.get(joint.object2)) for joint in joints if joint.disable_collisions]
        standing["overlaps"] = diagnosis.overlaps(shapes, parents, [pair for pair in pairs if None not in pair])
    standing |= {"excess": excess, "scale_range": _scale_range(obj, scene), "refused": _refusals(obj, scene)}
    standing |= {"excluded": [layer.name for layer in _excluded(settings, scene, outermost=True)]}
    standing |= {"left_over": built.left_over(scene), "moved": _moved(obj, parts)}
    standing |= {"outside": _outside(obj, parts, pieces)}
    impossible = axes.is_impossible(anatomy_of(obj), pose.parents, pose.heads, pose.tails)
    return Situation(**standing, impossible=impossible)


def _standing(obj, scene) -> dict:
    """What of a `Situation` the ragdoll's and the world's own properties tell."""
    settings, own = obj.active_ragdoll, scene.rigidbody_world
    parts = settings.parts
    for part in parts:
        if part.body is None or part.body.rigid_body is None:
            raise RagdollError(f"The body of bone '{part.bone}' of '{obj.name}' is gone: build the ragdoll anew")
    if own is None:
        raise RagdollError(f"Scene '{scene.name}' has no rigid body world: build the ragdoll anew")
    return {
        "names": [part.bone for part in parts],
        "parents": built.parents_of(parts),
        "masses": np.array([part.body.rigid_body.mass for part in parts], dtype=float),
        "sizes": np.full(len(parts), settings.height),
        "height": settings.height,
        "fps": scene.render.fps / scene.render.fps_base,
        "substeps": own.substeps_per_frame,
        "iterations": own.solver_iterations,
        **{name: getattr(own, name) for name in ("time_scale", "enabled")},
        "outdated": settings.layout_changed,
        "disabled": "" if view_layers.evaluates(scene, obj) else obj.name,
        "gravity_weight": own.effector_weights.gravity * own.effector_weights.all,
        "drops_frames": scene.sync_mode != "NONE",
    }


def _refusals(obj, scene) -> dict:
    """Why a run would not begin with what there is of the ragdoll and its scene, by the kind of finding."""
    found, place = {}, np.array(obj.matrix_world, dtype=float)
    uneven = diagnosis.UNEVEN_PARENT if is_evenly_scaled(obj) else diagnosis.UNEVEN_SCALE
    built_size = SimpleNamespace(name=obj.name, built_scale=obj.active_ragdoll.built_scale)

    def check(kind, function, *given) -> None:
        try:
            function(*given)
        except RagdollError as error:
            found.setdefault(kind, str(error))

    check(diagnosis.USER_CACHE, world.refuse_user_bake, scene)
    check(diagnosis.REMAPPED, world.refuse_remapped, scene)
    check(diagnosis.REFUSED, shot_run.check_parts, obj)
    check(diagnosis.REFUSED, shot_run.check_members, scene, [obj])
    check(uneven, check_scale, obj, place)
    if uneven not in found:
        check(diagnosis.REFUSED, shot_run.check_size, built_size, place, scene.frame_current)
    return found


# ---- bodies ---------------------------------------------------------------------------------------------------------
def _corners(pieces) -> np.ndarray:
    """Points [k, 3], along the axes of a body, whose box is that of the body."""
    points = []
    for piece in pieces:
        ends, radius = piece.core()
        local = ends @ pieces[0].axes
        points += [local - radius, local + radius]
    return np.concatenate(points)


def _moved(obj, parts) -> np.ndarray:
    """How far the joints of each body [m] stand from its bone's head, in the frame of its parent's bone [m].

    Either was moved since they were made: the joint by hand, or the bone in Edit Mode."""
    bones = {part.bone: part.bind @ np.linalg.inv(part.offset) for part in parts}
    away = dict.fromkeys(bones, 0.0)
    for joint in built.helpers(obj.active_ragdoll.collection, built.JOINT):
        bone, own = joint.get(built.BONE), joint.rigid_body_constraint
        # One that limits nothing is only there to keep bodies from colliding.
        if bone in bones and own and (own.type != "GENERIC" or own.use_limit_lin_x or own.use_limit_ang_x):
            away[bone] = max(away[bone], float(np.linalg.norm((np.array(joint.matrix_basis) - bones[bone])[:3, 3])))
    pose = BindPose(obj, np.array(obj.matrix_world, dtype=float))
    for part in parts:
        if part.parent in bones and {part.parent, part.bone} <= pose.row.keys():
            now = np.linalg.solve(pose.matrices[pose.row[part.parent]], pose.matrices[pose.row[part.bone]])
            then = np.linalg.solve(bones[part.parent], bones[part.bone])
            away[part.bone] = max(away[part.bone], float(np.linalg.norm((now - then)[:3, 3])))
    return np.array(list(away.values()))


def _outside(obj, parts, pieces) -> list[int]:
    """The bodies whose box does not meet that of the vertices that their bones hold most."""
    to_world = np.array(obj.matrix_world, dtype=float)
    pose = BindPose(obj, to_world)
    rows = [pose.row.get(part.bone, -1) for part in parts]
    skin = skinning.read_skin(obj, pose, to_world, prop_bones(obj, anatomy_of(obj))) if min(rows) >= 0 else None
    if skin is None:
        return []
    owner = np.full(len(pose.names), -1)
    owner[rows] = np.arange(len(parts))
    for bone, above in enumerate(pose.parents):
        if owner[bone] < 0 <= above:
            owner[bone] = owner[above]
    held, _holder, _share = skin.dominated(owner, len(parts))
    found = []
    for i, part in ((i, part) for i, part in enumerate(parts) if held[i] is not None):
        # The character may have been moved since its bodies were made.
        back = part.bind @ np.linalg.inv(part.offset) @ np.linalg.inv(pose.matrices[rows[i]])
        points = (held[i][0] @ back[:3, :3].T + back[:3, 3]) @ pieces[i][0].axes
        corners = _corners(pieces[i])
        if (corners.min(axis=0) > points.max(axis=0)).any() or (corners.max(axis=0) < points.min(axis=0)).any():
            found.append(i)
    return found


# ---- the shot -------------------------------------------------------------------------------------------------------
def _scale_range(obj, scene) -> tuple[float, float]:
    """Smallest and largest scale of a character in the shot, by the keys of its own and its parents' scale."""
    low = high = 1.0
    owner, shot = obj, world.shot_range(scene)
    while owner is not None:
        for action, slot, strip in action_channels.playing(owner):
            first, last = shot
            if strip is not None:
                first, last = round(strip.action_frame_start), round(strip.action_frame_end)
            frames = np.unique(np.linspace(first, last, min(last - first + 1, 50)).round())
            for curve in action_channels.curves_of(action, slot):
                if curve.data_path in ("scale", "delta_scale"):
                    values = np.abs([curve.evaluate(frame) for frame in frames])
                    low, high = min(low, values.min() / values[0]), max(high, values.max() / values[0])
        owner = owner.parent
    built = obj.active_ragdoll.built_scale or 1.0
    return built * low, built * high


def _excluded(settings, scene, outermost: bool = False) -> list:
    """Layer collections that keep the ragdoll, or the rigid body world, out of the view layer, outer ones first."""
    wanted = {settings.collection, settings.bodies, settings.targets}
    wanted |= {scene.rigidbody_world.collection, scene.rigidbody_world.constraints}
    wanted.discard(None)

    def found_in(layer) -> tuple[bool, list]:
        needed, found = layer.collection in wanted, []
        for child in layer.children:
            child_needed, inner = found_in(child)
            needed |= child_needed
            found += inner
        if needed and layer.exclude:
            found = [layer] if outermost else [layer, *found]
        return needed, found

    return found_in(scene.view_layers[0].layer_collection)[1]


# ---- remedies -------------------------------------------------------------------------------------------------------
def remedy(obj, scene, kind: str, bones=()) -> None:
    """Remedy a finding that has no operator of its own. Raises RagdollError: none for it, or a build is refused."""
    settings, own = obj.active_ragdoll, scene.rigidbody_world
    world.refuse_user_bake(scene)
    steps = diagnosis.needed_substeps(scene.render.fps / scene.render.fps_base, own.time_scale)
    iterations = diagnosis.needed_iterations(built.parents_of(settings.parts))
    finer = [(own, "substeps_per_frame", max(steps, own.substeps_per_frame))]
    finer += [(own, "solver_iterations", max(iterations, own.solver_iterations))]
    values = {
        diagnosis.WORLD_DISABLED: [(own, "enabled", True)],
        diagnosis.GRAVITY_WEIGHT: [(own.effector_weights, name, 1.0) for name in ("gravity", "all")],
        diagnosis.DROPS_FRAMES: [(scene, "sync_mode", "NONE")],
        diagnosis.REMAPPED: [(scene.render, "frame_map_new", scene.render.frame_map_old)],
        diagnosis.TIME_SCALE: [(own, "time_scale", 1.0)],
        diagnosis.NO_WAY_UP: [(settings.recovery, "get_up", "BLEND")],
        diagnosis.SUBSTEPS: finer,
        diagnosis.ITERATIONS: finer,
        diagnosis.EXCLUDED: [(layer, "exclude", False) for layer in _excluded(settings, scene)],
    }
    forgotten = {diagnosis.OUTSIDE: body_objects.SHAPE_SETTINGS, diagnosis.MASS_RATIO: ("mass",)}.get(kind)
    if forgotten:
        body_objects.collect_edits(obj)
        for bone, name in product(bones, forgotten):
            obj.pose.bones[bone].active_ragdoll.property_unset(name)
        build.rebuild(obj, scene)
        return
    if kind == diagnosis.TINY:  # their parents' bodies carry them
        parents = {part.bone: part.parent for part in settings.parts}
        if unknown := [name for name in bones if name not in parents]:
            raise RagdollError(f"Bone '{unknown[0]}' of '{obj.name}' has no body")
        merged = {name for name in bones if parents[name]}
        chosen = [bone.active_ragdoll.simulate and bone.name not in merged for bone in obj.pose.bones]
        build.build(obj, scene, np.array(chosen, dtype=bool))
        return
    if kind == diagnosis.DISABLED:
        _enable(obj, scene)
    elif kind not in values:
        raise RagdollError(f"No button mends '{kind}'")
    for owner, name, value in values.get(kind, ()):
        setattr(owner, name, value)
    runtime.settings_changed(obj)


def _enable(obj, scene) -> None:
    """Take what keeps Blender from posing a character out of its way, in the view layer that steps."""

    def enable(layer) -> bool:
        needed = obj.name in layer.collection.objects or any(map(enable, layer.children))
        if needed:
            layer.collection.hide_viewport = False
            if layer.exclude:
                layer.exclude = False
        return needed

    obj.hide_viewport = False
    enable(view_layers.stepping_layer(scene).layer_collection)


# ---- every frame against the limits ---------------------------------------------------------------------------------
NOTICED = np.radians(0.1)  # less than any drive would show
MARGIN = np.radians(2.0)  # what widened limits keep beyond the animation


@dataclass
class Excess:
    """A bone whose animation goes beyond its joint's limits."""

    bone: str  # its name
    frames: np.ndarray  # the frames at which it does
    worst: float  # by how much at most [rad], `core.ragdoll.joints.limits.excess`
    worst_frame: int


@dataclass
class Report:
    """What a check found, the worst bone first."""

    first: int
    last: int
    found: list = field(default_factory=list)
    widened: bool = False

    def text(self) -> str:
        if not self.found:
            return f"No bone exceeds its limits in frames {self.first} to {self.last}"
        worst = self.found[0]
        count = f"{len(self.found)} bones exceed" if len(self.found) > 1 else "1 bone exceeds"
        done = "; the limits are widened now" if self.widened else ""
        return (
            f"{count} the limits in frames {self.first} to {self.last}, worst '{worst.bone}': "
            f"{np.degrees(worst.worst):.1f} deg at frame {worst.worst_frame}, "
            f"{len(worst.frames)} frame{'s' if len(worst.frames) > 1 else ''} in all{done}"
        )


def check_limits(obj, scene, *, widen: bool = False) -> Report:
    """Compare the character's own animation with its joints' limits at every frame of the shot.

    Returns the report on the limits as they were; also kept in `runtime.STATE.limits` under the object's name. With
    `widen`, limits that are exceeded are widened to what the animation needs, as if edited by hand: a new build keeps
    them, and is needed before they act. FIXED joints stay as they are.
    Raises RagdollError: no ragdoll, a bone that is gone, or limits that make no sense.
    """
    check_ragdoll(obj)
    first, last = world.shot_range(scene)
    frames = np.arange(first, last + 1)
    report = Report(first, last, widened=widen)
    for _row, name, settings, turns, excess in _excesses(obj, scene, first, last):
        beyond = excess > NOTICED
        if not beyond.any():
            continue
        report.found.append(Excess(name, frames[beyond], float(excess.max()), int(frames[np.argmax(excess)])))
        if widen:
            joint_objects.fit_limits(settings, turns, MARGIN)
    report.found.sort(key=lambda found: -found.worst)
    runtime.STATE.limits[obj.name] = report
    return report


def _excesses(obj, scene, first: int, last: int) -> Iterator[tuple]:
    """Of each joint its body's row, its bone's name and settings, its rotations [f, 4] and excess [f] at all frames."""
    to_world, poses = source.poses_over(obj, range(first, last + 1), scene.frame_current)
    pose = BindPose(obj, to_world)
    parts = obj.active_ragdoll.parts
    if missing := [part.bone for part in parts if part.bone not in pose.row]:
        raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
    plan = SimpleNamespace(bones=np.array([pose.row[part.bone] for part in parts]), parents=built.parents_of(parts))
    turns = np.array([obj.pose.bones[part.bone].active_ragdoll.joint_rotation for part in parts], dtype=float)
    relatives = joint_objects.relative_rotations(poses, plan, rigid(pose.local), turns)
    for i in np.flatnonzero(plan.parents >= 0):
        settings = obj.pose.bones[parts[i].bone].active_ragdoll
        excess = joint_objects.excesses(parts[i].bone, settings, relatives[:, i])
        yield i, parts[i].bone, settings, relatives[:, i], excess
