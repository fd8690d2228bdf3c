"""Looking at a real ragdoll for `core.ragdoll.diagnosis`, and the remedies that a button can bring."""

import numpy as np

from ..errors import RagdollError
from ..ragdoll import diagnosis
from ..ragdoll.diagnosis import Finding, Situation
from . import action_channels, build, joint_objects, limit_check, runtime, world
from .armature import check_armature
from .compounds import solids_of
from .runtime import STATE


def diagnose(obj, scene) -> list[Finding]:
    """What would make a ragdoll unstable; also kept for `latest`.

    Raises:
        RagdollError: no ragdoll, or one of its bodies or bones is gone.
    """
    found = diagnosis.diagnose(situation(obj, scene))
    STATE.diagnoses[obj.name] = _identity(obj), found
    return found


def latest(obj) -> list[Finding] | None:
    """What was found last; None before the first time and after a new build."""
    identity, found = STATE.diagnoses.get(obj.name, (None, None))
    return found if identity == _identity(obj) else None


def _identity(obj) -> tuple:
    return tuple(part.body.session_uid if part.body else 0 for part in obj.active_ragdoll.parts)


def situation(obj, scene) -> Situation:
    """The arrays that a ragdoll is judged by."""
    check_armature(obj)
    settings = obj.active_ragdoll
    if not settings.is_ragdoll:
        raise RagdollError(f"'{obj.name}' has no ragdoll: build it first")
    parts = settings.parts
    for part in parts:
        if part.body is None or part.body.rigid_body is None:
            raise RagdollError(f"The body of bone '{part.bone}' of '{obj.name}' is gone: build the ragdoll anew")
    row = {part.bone: i for i, part in enumerate(parts)}
    parents = np.array([row.get(part.parent, -1) for part in parts], dtype=int)
    pieces = [solids_of(part.body) for part in parts]
    owners = [i for i, own in enumerate(pieces) for _piece in own]
    flat = [piece for own in pieces for piece in own]
    first, _last = world.shot_range(scene)
    own = scene.rigidbody_world
    if own is None:
        raise RagdollError(f"Scene '{scene.name}' has no rigid body world: build the ragdoll anew")
    return Situation(
        names=[part.bone for part in parts],
        parents=parents,
        masses=np.array([part.body.rigid_body.mass for part in parts], dtype=float),
        sizes=np.array([_size(own_pieces) for own_pieces in pieces]),
        height=settings.height,
        overlaps=diagnosis.overlaps(flat, owners, parents, _told_apart(settings)) if settings.self_collision else [],
        excess=_first_excess(obj, scene, first),
        scale_range=_scale_range(obj, scene),
        fps=scene.render.fps / scene.render.fps_base,
        substeps=own.substeps_per_frame,
        iterations=own.solver_iterations,
        time_scale=own.time_scale,
        enabled=own.enabled,
        stabilized=settings.stabilize_masses,
        excluded=[layer.name for layer in _excluded(settings, scene, outermost=True)],
        outdated=settings.layout_changed,
    )


# ---- bodies ---------------------------------------------------------------------------------------------------------


def _size(pieces) -> float:
    """Largest side [m] of a body's box."""
    points = []
    for piece in pieces:
        ends, radius = piece.core()
        local = ends @ pieces[0].axes
        points += [local - radius, local + radius]
    return float(np.ptp(np.concatenate(points), axis=0).max())


def _told_apart(settings) -> set:
    """Pairs of bodies that a constraint of the ragdoll keeps from colliding."""
    row = {part.body: i for i, part in enumerate(settings.parts)}
    found = set()
    for helper in settings.collection.all_objects if settings.collection else ():
        constraint = helper.rigid_body_constraint
        if constraint is not None and constraint.disable_collisions:
            pair = row.get(constraint.object1), row.get(constraint.object2)
            if None not in pair:
                found.add((min(pair), max(pair)))
    return found


# ---- the shot -------------------------------------------------------------------------------------------------------


def _first_excess(obj, scene, first: int) -> np.ndarray:
    """How far [m] the first pose is beyond each joint's limits [rad]."""
    plan, pose, relatives = limit_check._rotations(obj, scene, first, first)
    result = np.zeros(len(plan.bones))
    for i, bone in enumerate(plan.bones):
        if plan.parents[i] >= 0:
            name = pose.names[bone]
            settings = obj.pose.bones[name].active_ragdoll
            result[i] = np.max(joint_objects.excesses(name, settings, relatives[:, i]))
    return result


def _scale_range(obj, scene) -> tuple[float, float]:
    """Smallest and largest scale that the keys of a character's, or of its parents', scale give it in the shot."""
    first, last = world.shot_range(scene)
    frames = np.unique(np.linspace(first, last, min(last - first + 1, 50)).round())
    low = high = 1.0
    owner = obj
    while owner is not None:
        data = owner.animation_data
        if data is None or data.action is None:
            curves = []
        else:
            curves = list(action_channels.fcurves_of(data.action, owner))
        for curve in curves:
            if curve.data_path in ("scale", "delta_scale"):
                values = np.abs([curve.evaluate(frame) for frame in frames])
                low, high = min(low, values.min() / values[0]), max(high, values.max() / values[0])
        owner = owner.parent
    return settings_scale(obj) * low, settings_scale(obj) * high


def settings_scale(obj) -> float:
    """The scale that a ragdoll was built in."""
    return obj.active_ragdoll.built_scale or 1.0


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
    """Do away with a finding of a kind that has no operator of its own.

    Raises:
        RagdollError: there is no remedy, or a build is refused.
    """
    settings, own = obj.active_ragdoll, scene.rigidbody_world
    world.refuse_user_bake(scene)
    if kind == diagnosis.WORLD_DISABLED:
        own.enabled = True
    elif kind == diagnosis.TIME_SCALE:
        own.time_scale = 1.0
    elif kind == diagnosis.SUBSTEPS:
        fps = scene.render.fps / scene.render.fps_base
        own.substeps_per_frame = diagnosis.needed_substeps(fps, own.time_scale)
    elif kind == diagnosis.ITERATIONS:
        own.solver_iterations = diagnosis.needed_iterations(situation(obj, scene).parents)
    elif kind == diagnosis.EXCLUDED:
        for layer in _excluded(settings, scene):
            layer.exclude = False
    elif kind == diagnosis.MASS_RATIO:
        settings.stabilize_masses = True
        build.rebuild(obj, scene)
        return
    elif kind == diagnosis.TINY:
        _merge(obj, scene, bones)
        return
    else:
        raise RagdollError(f"No button mends '{kind}'")
    runtime.settings_changed(obj)


def _merge(obj, scene, bones) -> None:
    """Build anew without bodies of some bones; their parents' bodies carry them."""
    parents = {part.bone: part.parent for part in obj.active_ragdoll.parts}
    unknown = [name for name in bones if name not in parents]
    if unknown:
        raise RagdollError(f"Bone '{unknown[0]}' of '{obj.name}' has no body")
    chosen = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
    for i, bone in enumerate(obj.pose.bones):
        if bone.name in bones and parents[bone.name]:
            chosen[i] = False
    build.build(obj, scene, chosen)
