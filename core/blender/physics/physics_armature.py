"""The physics armature: a copy of the character whose simulated bones follow their bodies."""

import numpy as np
from mathutils import Matrix

from ... import skeleton
from . import built, source
from .helpers import carry, constrain, copy_locally, helper


def make(obj, collection, pose, plan, to_world) -> None:
    """Make the physics armature, the anchors that its bones copy, and the character's constraints that copy it."""
    settings = obj.active_ragdoll
    physics = source.copy_of(obj, f"{obj.name} Physics")
    physics.hide_render = physics.hide_select = True
    physics.hide_viewport = True
    collection.objects.link(physics)
    built.tag(physics, built.PHYSICS_ARMATURE)
    _location, _rotation_unused, scale = Matrix(to_world.tolist()).decompose()
    mirrored = bool(np.linalg.det(to_world[:3, :3]) < 0.0)
    ancestors = skeleton.nearest_ancestors(pose.parents, np.isin(np.arange(len(pose.names)), plan.bones))
    carry(obj, physics)
    alike, link, parts, size = {}, None, settings.parts, 0.005 * settings.height
    for i, bone in enumerate(plan.bones):
        part = parts[i]
        name = pose.names[bone]
        anchor = helper(f"{obj.name} {name} Anchor", None, collection, built.ANCHOR, name, aside=False)
        anchor.empty_display_size = size
        anchor.parent = part.body
        anchor.matrix_basis = Matrix(np.linalg.inv(part.offset).tolist()) @ Matrix.Diagonal((*scale, 1.0))
        whole = ancestors[bone] < 0 or settings.stretch
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
        first = link is None
        link = constrain(physics.pose.bones[name], "COPY_LOCATION", source.LINK_NAME, link)
        if first:
            link.use_x = link.use_y = link.use_z = False
        link.target = anchor
    simulated = [pose.names[bone] for bone in plan.bones]
    held = _held_back(obj, ancestors, set(simulated), pose)
    if settings.target_armature is None:
        for name in held:
            for constraint in physics.pose.bones[name].constraints:
                constraint.mute = True
        copy_locally(physics, held, settings.source, source.FOLLOWER_NAME)
    copy_locally(obj, simulated + held, physics, source.CONSTRAINT_NAME)
    built.note(collection, followers=held)


def _held_back(obj, ancestors, simulated, pose) -> list[str]:
    """Bones below simulated ones that constraints of the rig would keep in the animation's place (Rigify's fingers)."""
    found = []
    for index, bone in enumerate(obj.pose.bones):
        if pose.names[index] in simulated or ancestors[index] < 0:
            continue
        own = [c for c in bone.constraints if not source.is_own(c)]
        if any(not c.mute and c.influence > 0.0 and c.type != "LIMIT_ROTATION" for c in own):
            found.append(pose.names[index])
    return found
