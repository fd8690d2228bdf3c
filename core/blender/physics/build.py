"""Building a ragdoll: bodies, target bodies, anchors, joints and the physics armature, all through the data API."""

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ... import skeleton
from ...anatomy import axes, masses, roles
from ...errors import RagdollError, listed
from ...pose import affine
from ...ragdoll import drives
from ...ragdoll.bodies import fitting, shapes
from ...ragdoll.drives import joint_motors, servo
from .. import preferences, runtime
from ..rig import armature, rig_graph, skinning
from ..settings import saved
from ..settings.bone import store_roles
from ..stack import pose_stack
from . import body_objects, built, collision, joint_objects, motors, remove, source, world
from .helpers import add_spring, constrain, copy_locally, helper, keep_aside, make_kinematic, show_helpers

AUTOMATIC_DENSITY = 1000.0
CANDIDATES = 25  # poses of the animation that are looked at for a bind pose


def body_masses(obj, pose, plan, height: float, anatomy) -> np.ndarray:
    """Mass [kg] of every body [m] of a character of a height [m]."""
    settings = obj.active_ragdoll
    model, volumes = settings.mass_model, np.array([shape.volume() for shape in plan.shapes])
    if model == "AUTO":
        model = masses.DEFAULT_TABLE if anatomy.kind == roles.HUMAN else "DENSITY"
    if model == "DENSITY":
        density = settings.density
        if density == AUTOMATIC_DENSITY:
            density *= (np.clip(height, masses.DWARF, masses.GIANT) / height) ** 3
        result = volumes * density
        result = np.maximum(result, masses.LIGHTEST_SHARE * result.sum())
    else:
        total = settings.body_mass if settings.body_mass > 0.0 else masses.human_mass(height)
        result = masses.with_floor(total * masses.human_shares(model, anatomy, pose.parents, plan.bones, volumes))
    result = (masses.stabilised if settings.stabilize_masses else masses.carried)(result, plan.parents)
    for i, bone in enumerate(plan.bones):
        own = obj.pose.bones[bone].active_ragdoll.mass
        if own > 0.0:
            result[i] = own
    return result


BONE_CHOICES = tuple(key for key, *_words in preferences.BONES)
SMALLEST = 1e-3  # [m] height; bodies of 0.1 mm stray by a tenth of it at full weights, those of 1 mm by a hundredth
TARGET_SIZE = 0.01  # of the character's height
# Slower than this, a limp body of a character 1.8 m tall may fall asleep. Speeds of falling grow with the root of the
# height, times too: a giant's limbs are still on their way down at speeds at which a dwarf's would lie.
SLEEPY, SLEEPY_TURN, SLEEPY_HEIGHT = 0.2, 6.0, 1.8  # [m/s], [rad/s], [m]


@dataclass
class Report:
    """What a build made, for reports and messages."""

    bodies: int
    joints: int
    constraints: int
    mass: float
    notes: list

    def text(self) -> str:
        """One line for messages."""
        return "; ".join([f"{self.bodies} bodies, {self.joints} joints, {self.mass:.4g} kg", *self.notes])


def build_each(objects, scene, bones: str = "DEFORM"):
    """Build several characters; yield each with its `Report`, or the RagdollError that says why it was not built.

    A character that is not in the scene, but has a ragdoll already, is built in that ragdoll's scene. The scene is
    evaluated once, at the end.
    """
    try:
        for obj in objects:
            try:
                own = obj.active_ragdoll.scene
                yield obj, build(obj, scene if own is None or obj.name in scene.objects else own, bones, update=False)
            except RagdollError as error:
                yield obj, error
    finally:
        for each in {scene, *(obj.active_ragdoll.scene for obj in objects)} - {None}:
            show_helpers(each)
        scene.view_layers[0].update()


def build(obj, scene, bones: str | np.ndarray = "DEFORM", *, update: bool = True) -> Report:
    """Make the ragdoll of an armature object; an existing one is replaced, settings are kept.

    Args:
        obj: armature object; any mode, hidden or not, animated, parented, turned, scaled, mirrored.
        scene: scene whose rigid body world it joins.
        bones: DEFORM, MAIN, SELECTED, ALL, or KEEP for those with `simulate` set; or a mask of the bones to
            simulate [n].
        update: evaluate the scene afterwards; this takes longer the more ragdolls are in it.
    Raises:
        RagdollError: with the name of what is in the way; all is as before then, the ragdoll that there was too.
    """
    source.check_free(obj, scene)
    if isinstance(bones, str) and bones not in BONE_CHOICES:
        raise RagdollError(f"Unknown choice of bones '{bones}': use one of {', '.join(BONE_CHOICES)}")
    if obj.mode == "EDIT":
        obj.update_from_editmode()
    world.refuse_user_bake(scene)
    if isinstance(bones, str) and bones == "KEEP":
        bones = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
        if not bones.any():
            raise RagdollError(f"No bone of '{obj.name}' is simulated")
    with runtime.STATE.writing():
        saved.bring_up([obj] if saved.is_old(obj) else ())
        # A duplicate shares another's ragdoll and has none to keep.
        untouched = not (obj.active_ragdoll.is_ragdoll and obj in built.duplicates())
        try:
            plan = plan_of(obj, scene, bones)
            untouched = False
            if obj.active_ragdoll.is_ragdoll:
                remove.remove_all([obj], keep_world=obj.active_ragdoll.scene == scene)
            report = _make(obj, scene, *plan)
            runtime.STATE.messages.pop(obj.name, None)
            runtime.STATE.evaluated[scene.name] = scene.frame_current, -1
            if update:
                show_helpers(scene)
                scene.view_layers[0].update()
            return report
        except Exception:
            if not untouched:
                remove.remove(obj, scene)
            raise


def rebuild(obj, scene) -> Report:
    """Build again with the same bones, so that edited shapes, masses, limits and chosen bones take effect."""
    return build(obj, scene, "KEEP")


def plan_of(obj, scene, bones, *, uneven: bool = False) -> tuple:
    """What `_make` is to make; of a ragdoll that there is, edits by hand are kept with the bones, and editing ends.

    Args:
        uneven: take any scale, as it is about to be applied.
    Raises:
        RagdollError: see `build`. But for the edits nothing is changed then.
    """
    settings = obj.active_ragdoll
    if settings.is_ragdoll and obj not in built.duplicates():
        body_objects.collect_edits(obj)
        body_objects.end_editing(obj)
    frames = source.sampled_frames(*world.shot_range(scene))
    to_world, poses = source.poses_over(obj, frames, scene.frame_current)
    if not uneven:
        armature.check_scale(obj, to_world)
    anatomy, notes = _find_bind_pose(obj, poses, frames)
    pose = armature.BindPose(obj, to_world)
    asked_for = bones
    if isinstance(bones, str):
        asked_for = armature.selected(obj) if bones == "SELECTED" else np.full(len(pose.names), bones == "ALL")
    skin = skinning.read_skin(obj, pose, to_world, armature.prop_bones(obj, anatomy, asked_for))
    vertices = None if skin is None else skin.of_bones()
    deform = armature.deforming(obj, vertices)
    grounded = _grounded(pose, deform, vertices, anatomy)
    deform &= ~grounded
    candidates = asked_for if isinstance(bones, np.ndarray) or bones in ("SELECTED", "ALL") else deform
    chosen = _choose(obj, pose, candidates, bones, anatomy, vertices is not None)
    kinds = [bone.active_ragdoll.shape for bone in obj.pose.bones]
    joints = pose.heads, pose.tails, pose.matrices[:, :3, :3], pose.parents
    carriers = () if anatomy.parents is None else anatomy.parents, anatomy.led
    plan = shapes.plan_bodies(*joints, chosen, kinds, skin, pose.axes, settings.coverage, *carriers)
    plan = body_objects.with_edits(obj, plan, pose, to_world)
    joint_objects.check_limits(obj, plan)
    height, scale = _size(obj, pose, chosen | deform, to_world)
    masses = body_masses(obj, pose, plan, height, anatomy)
    unknown = [pose.names[bone] for bone in plan.bones if anatomy.roles[bone] == roles.GENERIC]
    notes += [f"not recognised, so treated generically: {listed(unknown)}"] if unknown else []
    notes += [f"'{pose.names[i]}' stands at the ground: no body" for i in np.flatnonzero(grounded & ~chosen)]
    return to_world, poses, pose, anatomy, vertices, plan, (height, scale, masses), notes


def _make(obj, scene, to_world, poses, pose, anatomy, vertices, plan, sizes, notes) -> Report:
    """Make a ragdoll as planned.

    Args:
        to_world: of the armature now [4, 4]. poses: of all bones in its space, as the shot animates them [f, n, 4, 4].
        vertices: that each bone dominates, or None. sizes: height [m], scale, and masses of the bodies [m] [kg].
    """
    settings, (height, scale, masses) = obj.active_ragdoll, sizes
    old = settings.source  # of its motion stack
    settings.property_unset("source_name")
    source.drop(old)
    settings.scene = scene
    source.refresh(obj)
    if settings.target_armature is not None:
        poses = pose_stack.poses_over(obj, scene, *world.shot_range(scene))
    store_roles(obj, anatomy)
    for index, bone in enumerate(obj.pose.bones):
        bone.active_ragdoll.simulate = index in plan.bones
    notes += world.ensure(scene)
    if scene.active_ragdoll.cache_is_ours:  # others' simulation: it knows nothing of these bodies
        world.free_cache(scene)
        remove.interrupt(scene)
    world.set_range(scene)
    collection, inner = _new_collections(obj, scene)
    settings.is_ragdoll = True
    built.write(collection, _bodies(obj, scene, pose, plan, masses, height, inner), height, scale)
    body_objects.record_bodies(obj)
    relative = joint_objects.set_limits(obj, pose, plan, poses, notes, vertices, anatomy)
    if settings.self_collision:
        joint_objects.ignore_overlapping_pairs(pose, plan, to_world @ poses, notes)
    else:
        plan.no_collide = collision.pairs_to_ignore(plan)
    apart = joint_objects.separations(obj, pose, plan, to_world @ poses, to_world)
    joints = joint_objects.make_joints(obj, scene, collection, pose, plan, relative, apart)
    if motors.wanted(obj):
        motors.make_motors(obj, scene, collection, pose, plan, relative)
        joint_objects.note_postures(obj, collection, pose, plan, vertices, anatomy)
    make_physics_armature(obj, collection, pose, plan, to_world)
    notes += collision.assign_layers(scene)
    for own in (collection, *inner):
        keep_aside(own)
    settings.layout_changed = False
    return Report(len(plan.bones), int(np.count_nonzero(plan.parents >= 0)), joints, float(masses.sum()), notes)


def _size(obj, pose, bones, to_world) -> tuple[float, float]:
    """Height [m] of some bones in the world, rounded as it is stored, and the mean scale; refuses tiny ones."""
    height = float(np.float32(shapes.height(pose.heads, pose.tails, bones, pose.axes)))
    scale = float(np.mean(np.linalg.norm(to_world[:3, :3], axis=0)))
    if height < SMALLEST:
        text = f"'{obj.name}' is {height * 1000.0:.3g} mm high with the scale {scale:.4g}, rigid bodies need 1 mm"
        raise RagdollError(f"{text}: scale it up (Apply Transform in the tab Ragdoll makes that its size)")
    return height, scale


def _new_collections(obj, scene) -> tuple:
    """The ragdoll's collection, and those of the bodies and of their targets in it."""
    collection = bpy.data.collections.new(f"{obj.name} Ragdoll")
    scene.collection.children.link(collection)
    obj.active_ragdoll.collection = collection
    collection.active_ragdoll.owner = obj.name
    inner = []
    for kind in (built.BODIES, built.TARGETS):
        inner.append(bpy.data.collections.new(f"{obj.name} {kind.capitalize()}"))
        built.tag(inner[-1], kind)
        collection.children.link(inner[-1])
    return collection, inner


def _grounded(pose, deform, vertices, anatomy) -> np.ndarray:
    """Deforming bones [n] at the ground that move all and hold little: a body there would take the legs' mass."""
    result = np.zeros(len(deform), dtype=bool)
    result[list(anatomy.ground_roots)] = True
    least = shapes.MIN_SIZE * shapes.extent(pose.heads, pose.axes)
    for row in np.flatnonzero(result) if vertices is not None else ():
        result[row] = vertices[row] is None or shapes.extent(vertices[row], pose.axes) < least
    return result & deform


def _choose(obj, pose, candidates, bones, anatomy, skinned: bool) -> np.ndarray:
    """The bones [n] that get bodies, of some candidates. Raises RagdollError: there are none, or not in any place."""
    given = isinstance(bones, np.ndarray)
    if not given and bones == "SELECTED" and not candidates.any():
        raise RagdollError(f"No bone of '{obj.name}' is selected")
    if not np.isfinite(pose.heads).all():
        bad = pose.names[int(np.flatnonzero(~np.isfinite(pose.heads).all(axis=1))[0])]
        raise RagdollError(f"Bone '{bad}' of '{obj.name}' has a position that is not a number")
    if shapes.extent(np.concatenate([pose.heads[candidates], pose.tails[candidates]])) < 1e-6:
        raise RagdollError(f"The bones of '{obj.name}' have no length")
    if given or bones == "SELECTED":
        return candidates
    if bones == "MAIN":
        return _main(obj, pose, candidates, anatomy, skinned)
    chosen = shapes.choose_bones(pose.heads, pose.tails, pose.parents, candidates, pose.axes)
    heads = roles.of_role(anatomy, roles.HEAD)
    if not chosen[heads].any():  # which weighs and is to be protected, however short importers draw it
        chosen[heads[:1]] = candidates[heads[:1]]
    return chosen


def _main(obj, pose, deform, anatomy, skinned: bool) -> np.ndarray:
    """The main bones [n], and bones of their bodies that hang on a control, where they would stay without a body."""
    chosen = roles.main_bones(anatomy, pose.parents, deform, pose.heads)
    chosen[list(anatomy.ground_roots)] &= deform[list(anatomy.ground_roots)]
    if np.count_nonzero(chosen) < 2:
        raise RagdollError(f"No main bones were recognised in '{obj.name}': build with its deforming bones")
    owned = chosen | (skeleton.nearest_ancestors(roles.body_parents(anatomy, pose.parents), chosen) >= 0)
    stray = skeleton.nearest_ancestors(pose.parents, chosen) < 0
    stray[list(anatomy.led)] = True
    small = (roles.HELPER, roles.JAW, roles.EAR, roles.EYE)
    # Where no mesh says which of these matter, those of the face and of flesh do not.
    stray &= deform & owned & ~chosen & (skinned | np.array([role not in small for role in anatomy.roles]))
    sizes = shapes.joint_sizes(pose.heads, pose.tails, pose.parents, stray | chosen)
    stray &= sizes >= shapes.MIN_SIZE * shapes.extent(pose.heads[chosen], pose.axes)
    return chosen | (stray & (skeleton.nearest_ancestors(pose.parents, stray) < 0))


def _bodies(obj, scene, pose, plan, masses, height: float, inner) -> list[built.Part]:
    """Make the bodies and their targets, each kind in a collection of its own."""
    settings = obj.active_ragdoll
    box, centers, axes = 2.0 * plan.array("half"), plan.array("center"), plan.array("axes")
    # Blender's inertia of a capsule is that of its box, so the box serves for all.
    own = masses / 12.0 * ((box**2).sum(axis=1) * 2.0 / 3.0)
    pivots = np.where((plan.parents >= 0)[:, None], pose.heads[plan.bones], centers)
    mean = servo.carried_inertia(masses, centers, pivots, plan.parents, own)
    # Moments of inertia [m, 3] of all that each joint carries, about the joint, along its body's axes.
    own = fitting.own_moments([shape.kind for shape in plan.shapes], box, masses)
    course = affine(axes, centers), affine(axes, pivots), skeleton.descends(plan.parents)
    moments = joint_motors.carried_tensors(masses, own, *course).diagonal(axis1=1, axis2=2)
    point = fitting.Shape(fitting.BOX, np.zeros(3), np.eye(3), np.full(3, TARGET_SIZE * height))
    small = body_objects.make_mesh(f"{obj.name} Target", point)
    parts, (bodies, targets) = [], inner
    pace = (height / SLEEPY_HEIGHT) ** 0.5
    for i, (bone, shape) in enumerate(zip(plan.bones.tolist(), plan.shapes, strict=True)):
        name, tuning = pose.names[bone], obj.pose.bones[bone].active_ragdoll
        body_bind = affine(shape.axes, shape.center)
        offset = np.linalg.inv(pose.matrices[bone]) @ body_bind
        mesh = body_objects.make_mesh(f"{obj.name} {name}", shape)
        body = helper(f"{obj.name} {name} Body", mesh, bodies, built.BODY, name, place=body_bind, aside=False)
        body.display_type = "WIRE"
        scene.rigidbody_world.collection.objects.link(body)
        rigid_body = body.rigid_body
        rigid_body.type = "ACTIVE"
        body_objects.set_shape(rigid_body, shape.kind, shape.half)
        body_objects.add_pieces(scene, body, shape, settings.collection)
        rigid_body.mass = masses[i]
        rigid_body.restitution = tuning.bounciness
        for own in ("friction", "linear_damping", "angular_damping"):
            setattr(rigid_body, own, getattr(tuning, own))
        rigid_body.use_deactivation = False
        rigid_body.deactivate_linear_velocity = SLEEPY * pace
        rigid_body.deactivate_angular_velocity = SLEEPY_TURN / pace
        target = helper(f"{obj.name} {name} Target", small, targets, built.TARGET, name, place=body_bind, aside=False)
        make_kinematic(scene, target)
        # The drive: its stiffness stands at zero; a run sets it on the evaluated constraint.
        drive = add_spring(scene, target, body, target, drives.of(settings.drive).constraint)
        for axis in ("x", "y", "z", "ang_x", "ang_y", "ang_z"):
            setattr(drive, f"use_spring_{axis}", True)
            setattr(drive, f"spring_damping_{axis}", 1.0)
        above = pose.names[plan.bones[plan.parents[i]]] if plan.parents[i] >= 0 else ""
        parts.append(built.Part(name, above, offset, body_bind, mean[i], moments[i], int(plan.depth[i])))
    return parts


# ---- bind pose ------------------------------------------------------------------------------------------------------
# It is the rest pose, or a pose of the animation where no body could take that or the user chose so. It is kept with
# the bones (`armature.keep_bind_pose`); what counts from it reads it by `armature.bind_joints`.
def choose_bind_pose(obj, scene=None) -> None:
    """Have the animation's pose at a scene's current frame, without physics, for the bind pose; without a scene, the
    rest pose. A build brings it about. Raises RagdollError: it is baked, or a bone stands nowhere in that pose."""
    armature.check_armature(obj)
    armature.refuse_baked(obj)
    local = None
    if scene is not None:
        _world, (pose,) = source.poses_over(obj, [scene.frame_current], scene.frame_current)
        bad = np.flatnonzero(~np.isfinite(pose).all(axis=(1, 2)))
        if len(bad):
            bone = obj.pose.bones[int(bad[0])].name
            raise RagdollError(f"Bone '{bone}' of '{obj.name}' has a pose that is not a number")
        local = armature.rigid(pose)
    with runtime.STATE.writing():
        armature.keep_bind_pose(obj, local)
    runtime.settings_changed(obj, layout=True)


def _find_bind_pose(obj, poses, frames) -> tuple:
    """Where no body could take the bind pose, have the most natural of some poses [f, n, 4, 4]. Returns the anatomy in
    the bind pose, and notes of what that is."""
    pose, found = armature.BindPose(obj, np.eye(4)), armature.anatomy_of(obj)
    parents = pose.parents
    if not axes.is_impossible(found, parents, pose.heads, pose.tails):
        return found, [] if pose.moved is None else ["the bind pose is taken from the animation, not the rest pose"]
    best, least, chosen = None, (True, np.inf), 0
    for row in np.unique(np.linspace(0, len(poses) - 1, min(CANDIDATES, len(poses))).astype(int)):
        local = armature.rigid(poses[row])
        tails = armature.posed_tails(obj, local)
        anatomy = armature.anatomy_of(obj, (local, tails))
        strain = axes.strain(anatomy, parents, local[:, :3, 3], tails)
        if strain < axes.AT_EASE and (anatomy.kind == roles.CREATURE, strain) < least:
            best, least, chosen = local, (anatomy.kind == roles.CREATURE, strain), int(frames[row])
    if best is None:
        return found, [axes.IMPOSSIBLE]
    armature.keep_bind_pose(obj, best)
    return armature.anatomy_of(obj), [f"no body could take the bind pose: the pose of frame {chosen} stands in for it"]


# ---- physics armature -----------------------------------------------------------------------------------------------
def make_physics_armature(obj, collection, pose, plan, to_world) -> None:
    """Make the physics armature, the anchors that its bones copy, and the character's constraints that copy it."""
    settings = obj.active_ragdoll
    physics = source.armature_copy(obj, f"{obj.name} Physics", collection, built.PHYSICS_ARMATURE)
    _location, _rotation_unused, scale = Matrix(to_world.tolist()).decompose()
    mirrored = bool(np.linalg.det(to_world[:3, :3]) < 0.0)
    ancestors = skeleton.nearest_ancestors(pose.parents, np.isin(np.arange(len(pose.names)), plan.bones))
    simulated = [pose.names[bone] for bone in plan.bones]
    # Bones below them that constraints of the rig would keep in the animation's place (Rigify's fingers).
    others = [b for b, above in zip(obj.pose.bones, ancestors, strict=True) if above >= 0 and b.name not in simulated]
    held = [bone.name for bone in others if any(_leads(c) and c.influence > 0.0 for c in bone.constraints)]
    if settings.target_armature is not None:  # it shows the stack's pose instead of the character's own animation
        physics.animation_data_clear()
        given, copied = physics.pose.bones.keys(), (settings.target_armature, source.TARGET_NAME)
    else:
        # What the rig's constraints give is taken from the source, relative to the parent: a limb goes where its parent
        # does, which the bodies lead.
        # So do the bones between and above: what is posed by hand or by another action later does not reach this copy.
        above = {other.name for name in simulated + held for other in obj.pose.bones[name].parent_recursive}
        given = held + [name for name in simulated if any(map(_leads, obj.pose.bones[name].constraints))]
        given += sorted(above.difference(simulated, held))
        copied = source.followed(obj), source.FOLLOWER_NAME
    for constraint in (constraint for name in given for constraint in physics.pose.bones[name].constraints):
        constraint.mute = True
    copy_locally(physics, given, *copied)
    alike, link, following, size = {}, None, None, 0.005 * settings.height
    for i, (bone, part) in enumerate(zip(plan.bones, settings.parts, strict=True)):
        name = part.bone
        place = Matrix(np.linalg.inv(part.offset).tolist()) @ Matrix.Diagonal((*scale, 1.0))
        shown = {"place": place, "size": size, "aside": False}
        anchor = helper(f"{obj.name} {name} Anchor", None, collection, built.ANCHOR, name, **shown)
        anchor.parent = part.body
        above = plan.bones[plan.parents[i]] if plan.parents[i] >= 0 else -1
        whole = ancestors[bone] < 0 or ancestors[bone] != above
        kind = "COPY_TRANSFORMS" if whole else "COPY_ROTATION"
        copy = constrain(physics.pose.bones[name], kind, source.CONSTRAINT_NAME, alike.get(kind))
        if kind not in alike:
            # Where nothing is simulated the physics armature plays the animation; a run lets it take the bodies'
            # places, on the evaluated copy. The dependency graph forgets the targets of muted constraints, hence the
            # link.
            copy.mute = True
            if mirrored and not whole:  # a rotation copied in world space would lose the mirroring
                copy.owner_space, copy.target_space, copy.space_object = "POSE", "CUSTOM", physics
        copy.target, alike[kind] = anchor, copy
        if settings.stretch and not whole:  # not the anchor's scale, which would undo the stretch of two-bone IK
            following = constrain(physics.pose.bones[name], "COPY_LOCATION", source.PLACE_NAME, following)
            following.mute, following.target = True, anchor
        first = link is None
        link = constrain(physics.pose.bones[name], "COPY_LOCATION", source.LINK_NAME, link)
        if first:
            link.use_x = link.use_y = link.use_z = False
        link.target = anchor
    copy_locally(obj, simulated + held, physics, source.CONSTRAINT_NAME)
    # Branches without a body: what a bone of theirs is to a simulated one in the source, the physics armature's bone is
    # to the world, and the character's to its own simulated one. Blender's constraints know one such space each.
    hanging = rig_graph.hung(obj, simulated)
    copy_locally(physics, hanging, settings.source, source.FOLLOWER_NAME, settings.source)
    copy_locally(obj, hanging, physics, source.FOLLOWER_NAME, obj)
    built.note(collection, followers=[*held, *hanging])


def _leads(constraint) -> bool:
    """Whether a constraint is the rig's and gives more than a limit."""
    ours = constraint.name.startswith(source.CONSTRAINT_NAME)
    return not (constraint.mute or ours or constraint.type == "LIMIT_ROTATION")
