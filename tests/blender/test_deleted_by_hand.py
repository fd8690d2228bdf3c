"""Objects of a ragdoll deleted by hand: a message, no crash. A file of its own, since a crash ends its process."""

import bpy
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from refusals import refuses

pytestmark = [pytest.mark.blender_version, pytest.mark.own_process]


def _skip_where_blender_crashes(what, when):
    """Deleting a body frees it at once, and after a step there are joints that still look at it.

    Blender 4.2 does so when it frees other bodies, later versions when the evaluated copies of its joints go, in the
    very update that follows the deletion, before any handler. That crashes now and then. So helpers cannot be selected,
    which is tested below."""
    if what in ("body", "target") and when != "before":
        pytest.skip("Blender crashes when a rigid body that has joints is deleted after a step")
    if bpy.app.version < (4, 3, 0) and when != "before" and what in ("body", "target", "joint"):
        pytest.skip("Blender 4.2: bodies look at their joints when they are freed, also at those that are gone")


def _helper(obj, what):
    settings = obj.active_ragdoll
    if what == "physics_armature":
        return settings.physics_armature
    part = settings.parts[4]
    if what != "joint":
        return getattr(part, what)
    joints = (o for o in settings.collection.objects if o.rigid_body_constraint is not None)
    return next(o for o in joints if part.body in (o.rigid_body_constraint.object1, o.rigid_body_constraint.object2))


@pytest.mark.parametrize("what", ("body", "target", "joint", "anchor", "physics_armature"))
@pytest.mark.parametrize("when", ("before", "mid-shot", "cached"))
def test_a_helper_deleted_by_hand(scene, what, when):
    """Playing gives a message that names the bone or the character, no traceback; a new build mends it."""
    _skip_where_blender_crashes(what, when)
    obj = rigs.ragdoll(scene, 20)
    if when == "mid-shot":
        rigs.play(scene, 1, 8)
    elif when == "cached":
        list(simulate.frames(scene))
    bone = obj.active_ragdoll.parts[4].bone
    bpy.data.objects.remove(_helper(obj, what))
    rigs.step(scene, (9, 10, 1, 2, 3))
    text = STATE.messages.get(obj.name, "")
    if when != "cached":
        assert "Human" in text and (what in ("physics_armature", "joint") or bone in text)
    refuses("Human", list, simulate.frames(scene))
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    assert scene.name not in STATE.messages


@pytest.mark.parametrize("kind", ("body", "joint"))
def test_a_body_or_joint_of_the_users_own_is_deleted(scene, kind):
    """The run ends before the next step; from the first frame on it goes on without what was deleted.

    The body has no joint: see `_skip_where_blender_crashes`."""
    _skip_where_blender_crashes("joint", "mid-shot")
    obj = rigs.swinging_human(scene, 1, 20)
    boxes = [rigs.box(scene, name, (0.2, 0.2, 0.2), (x, 5.0, 3.0)) for name, x in (("A", 0.0), ("B", 0.3), ("C", 2.0))]
    joint = rigs.empty(scene, "Joint")
    scene.rigidbody_world.constraints.objects.link(joint)
    joint.rigid_body_constraint.type = "POINT"
    joint.rigid_body_constraint.object1, joint.rigid_body_constraint.object2 = boxes[:2]
    build.build(obj, scene)
    rigs.play(scene, 1, 8)
    bpy.data.objects.remove(joint if kind == "joint" else boxes[2])
    bpy.context.view_layer.update()
    assert "was deleted" in STATE.messages[scene.name]
    rigs.step(scene, (9, 10))
    assert len(rigs.play(scene, 1, 8, lambda: None)) == 8
    assert len(list(simulate.frames(scene))) == 20


def test_no_helper_can_be_selected(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 20, drive_space="JOINT")
    fresh_scene.active_ragdoll.show_helpers = True
    helpers = set(obj.active_ragdoll.collection.all_objects)
    assert len(helpers) > 4 * len(obj.active_ragdoll.parts)
    assert not {helper.name for helper in helpers if not helper.hide_select}
    bpy.ops.object.select_all(action="SELECT")
    assert not helpers & set(bpy.context.selected_objects)


def test_the_character_deleted_by_hand(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 20)
    rigs.play(fresh_scene, 1, 6)
    bpy.data.objects.remove(obj)
    rigs.step(fresh_scene, (7, 8, 1, 2, 3))
    refuses("no ragdoll", list, simulate.frames(fresh_scene))
