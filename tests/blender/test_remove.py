"""What a build adds stays out of sight; a build that is refused, and a removal, leave everything as it was."""

import json
import math
from operator import attrgetter

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build, built, remove, world
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import declare
from active_ragdoll.core.blender.stack import stack_edits
from refusals import refuses
from test_not_stepped import snapshot

pytestmark = pytest.mark.blender_version


def test_building_twice_makes_the_same(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 60)
    first, before, updated = rigs.plan_of(obj), _state(obj, fresh_scene), []
    bpy.app.handlers.depsgraph_update_post.append(lambda scene, _graph: updated.append(scene))
    assert bpy.ops.active_ragdoll.build(bones="DEFORM") == {"FINISHED"}
    bpy.app.handlers.depsgraph_update_post.pop()
    assert updated.count(fresh_scene) == 1, "which takes the longer the more objects there are"
    second = rigs.plan_of(obj)
    _check(before, obj, fresh_scene)
    assert all(np.array_equal(first[key], second[key]) for key in ("bind", "half", "mass"))
    assert first["limits"] == second["limits"]
    assert all(len(bone.constraints) == bone.active_ragdoll.simulate for bone in obj.pose.bones)


def _state(obj, scene) -> dict:
    """Everything of a file that a build and its removal have to leave alone."""
    layer, rigid_world = bpy.context.view_layer, scene.rigidbody_world
    return {
        "counts": rigs.counts(),
        "names": sorted(o.name for o in bpy.data.objects),
        "selected": sorted(o.name for o in layer.objects if o.select_get()),
        "active": layer.objects.active and layer.objects.active.name,
        "mode": obj.mode,
        "bones": {b.name: [c.name for c in b.constraints] for b in obj.pose.bones},
        "keys": sorted(obj.keys()),
        "matrices": [np.array(b.matrix_basis).tolist() for b in obj.pose.bones],
        "object": np.array(obj.matrix_basis).tolist(),
        "action": obj.animation_data and obj.animation_data.action and obj.animation_data.action.name,
        "collections": sorted(c.name for c in scene.collection.children_recursive),
        "frame": (scene.frame_current, scene.frame_start, scene.frame_end),
        "users": {a.name: a.users for a in bpy.data.actions},
        "world": rigid_world
        and {
            "range": (rigid_world.point_cache.frame_start, rigid_world.point_cache.frame_end),
            "settings": (rigid_world.substeps_per_frame, rigid_world.solver_iterations, rigid_world.time_scale),
            "bodies": rigid_world.collection and sorted(o.name for o in rigid_world.collection.all_objects),
            "constraints": rigid_world.constraints and sorted(o.name for o in rigid_world.constraints.all_objects),
            "layers": {o.name: list(o.rigid_body.collision_collections) for o in scene.objects if o.rigid_body},
        },
    }


def _check(before: dict, obj, scene) -> None:
    after = _state(obj, scene)
    assert set(after.pop("keys")) <= {*before["keys"], "active_ragdoll"}
    assert {part: before[part] for part in after} == after


@pytest.mark.parametrize(("mode", "ran"), (("POSE", True), ("EDIT", False)))
def test_remove_restores_everything(scene, mode, ran):
    obj = rigs.swinging_human(scene, 1, 12)
    other, own = rigs.empty(scene, "Other"), obj.active_ragdoll
    other.select_set(True)
    own.drive_space = "JOINT" if ran else "WORLD"
    hit, blast, grip = own.hits.add(), own.explosions.add(), own.attachments.add()
    hit.bone, hit.frame, hit.impulse, blast.frame, blast.impulse = "head", 4, (1.0, 0.0, 0.0), 6, 1.0
    grip.bone, grip.target = "forearm.L", other
    bpy.ops.object.mode_set(mode=mode)
    scene.frame_set(1)
    before = _state(obj, scene)
    build.build(obj, scene)
    assert obj.mode == mode
    if ran:
        list(simulate.frames(scene))
        assert all(built.helpers(own.collection, kind) for kind in (built.HITTER, built.ATTACHMENT, built.MOTOR))
        scene.frame_set(1)
    remove.remove(obj)
    _check(before, obj, scene)
    assert scene.rigidbody_world is None and len(own.hits) == len(own.attachments) == 1
    assert not own.is_ragdoll and not len(own.parts) and own.state == "NONE"


def test_remove_keeps_the_users_world_and_its_range(scene):
    obj = rigs.swinging_human(scene, 10, 22)
    rigs.box(scene, "Floor", (10, 10, 1), (0, 0, -0.5), passive=True)
    crate = rigs.box(scene, "Crate", (0.4, 0.4, 0.4), (2, 0, 2))
    crate.rigid_body.collision_collections = [i in (0, 3) for i in range(20)]
    rigs.changed(scene.rigidbody_world.point_cache, frame_start=4, frame_end=321)
    scene.rigidbody_world.substeps_per_frame = 7
    bpy.context.view_layer.update()
    scene.frame_set(10)
    before = _state(obj, scene)
    obj.active_ragdoll.self_collision = False
    build.build(obj, scene)
    list(simulate.frames(scene))
    remove.remove(obj)
    scene.frame_set(10)
    _check(before, obj, scene)
    assert not scene.rigidbody_world.point_cache.is_baked


def test_a_failed_build_leaves_nothing(scene, monkeypatch):
    obj = rigs.swinging_human(scene)
    before = _state(obj, scene)
    monkeypatch.setattr(build, "make_physics_armature", None)  # what comes in the middle of a build
    with pytest.raises(TypeError):
        build.build(obj, scene)
    _check(before, obj, scene)
    assert world.shot_range(scene) == (scene.frame_start, scene.frame_end)


def test_those_that_stay_are_not_evaluated_anew(fresh_scene):
    first, moved = rigs.ragdoll(fresh_scene, 10), set()
    build.build(rigs.duplicate(first, 3.0), fresh_scene)
    updated = bpy.app.handlers.depsgraph_update_post
    updated.append(lambda _scene, graph: moved.update(u.id.name for u in graph.updates if u.is_updated_transform))
    remove.remove(first)
    rigs.update()
    updated.pop()
    assert moved.isdisjoint(fresh_scene.rigidbody_world.collection.objects.keys())


@pytest.fixture
def recovering(fresh_scene):
    """A human with a ragdoll that is set up to get up again, and what there was before it was built."""
    obj = rigs.swinging_human(fresh_scene, 1, 12)
    rigs.empty(fresh_scene, "Other")
    fresh_scene.frame_set(1)
    before = _state(obj, fresh_scene)
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    assert bpy.ops.active_ragdoll.setup_recovery() == {"FINISHED"}
    return obj, fresh_scene, before


def test_remove_leaves_nothing_of_the_recovery(recovering):
    obj, scene, before = recovering
    rigs.play(scene, 1, 4)
    scene.frame_set(1)
    assert bpy.ops.active_ragdoll.remove() == {"FINISHED"}
    _check(before, obj, scene)
    assert scene.active_ragdoll.source is None and len(bpy.data.scenes) == 1


def test_remove_keeps_a_stack_that_does_more_than_recover(recovering):
    obj, scene, before = recovering
    stack_edits.drop_if_idle(obj)
    assert obj.active_ragdoll.target_armature is not None, "which getting up needs"
    obj.active_ragdoll.bone_transforms.add().bone = "head"
    assert bpy.ops.active_ragdoll.remove() == {"FINISHED"}
    assert obj.active_ragdoll.target_armature is not None
    obj.active_ragdoll.bone_transforms.clear()
    stack_edits.drop_if_idle(obj)
    bpy.context.view_layer.update()
    after = _state(obj, scene)
    assert after["bones"] == before["bones"] and after["names"] == before["names"]


def seen(human) -> set:
    """Names of the helpers that some view layer shows."""
    helpers = [o for o in human.active_ragdoll.collection.all_objects if not o.hide_viewport]
    assert len(helpers) > 4 * len(human.active_ragdoll.parts)
    return {o.name for o in helpers for layer in bpy.context.scene.view_layers if o.visible_get(view_layer=layer)}


def test_a_build_shows_helpers_only_when_asked_to(fresh_scene):
    fresh_scene.view_layers.new("Second")
    human = rigs.ragdoll(fresh_scene, 20)
    crate = rigs.box(fresh_scene, "Crate", (1, 1, 1), (3, 0, 0))
    assert human.visible_get() and crate.visible_get() and not seen(human)
    fresh_scene.active_ragdoll.show_helpers = True
    shown = seen(human)
    assert len(shown) > 4 * len(human.active_ragdoll.parts)
    build.rebuild(human, fresh_scene)
    assert len(seen(human)) == len(shown)
    fresh_scene.active_ragdoll.show_helpers = False
    assert not seen(human)


LAST = 12
_FLAT = json.dumps([[x, y, 0.0] for x in (-0.1, 0.0, 0.1) for y in (-0.1, 0.0, 0.1)])
_LIMITS = {"limits_from": "USER", "limit_min": (0.5,) * 3, "limit_max": (0.2,) * 3}
_HULL = {"shape_by_user": True, "shape": "CONVEX_HULL", "half_extents": (0.1, 0.1, 0.1), "body_points": _FLAT}
WAYS = {  # what is set of the character and of each of some bones, the choice of bones, and what the message says
    "uneven scale": ({"scale": (1.0, 1.0, 1.5)}, {}, (), "KEEP", "non-uniform"),
    "too small": ({"scale": (1e-4,) * 3}, {}, (), "KEEP", "rigid bodies need"),
    "no place": ({"location": (math.nan, 0.0, 0.0)}, {}, (), "KEEP", "not a number"),
    "joint nowhere": ({}, {"bind_location": (math.nan,) * 3}, ("head",), "KEEP", "'head'"),
    "limits": ({}, _LIMITS, ("head",), "KEEP", "'head'"),
    "flat hull": ({}, _HULL, ("head",), "KEEP", "hull"),
    "not recognised": ({}, {"role_by_user": True, "role": "GENERIC"}, tuple(rigs.HUMAN), "MAIN", "No main bones"),
    "none selected": ({}, {}, (), "SELECTED", "selected"),
    "unknown choice": ({}, {}, (), "SOME", "SOME"),
}


def _settings(owner) -> list:
    """Names and values of all settings and records of a character, a bone or a scene."""
    found = [(name, getattr(group, name)) for group, name, _said in declare.walk(owner.active_ragdoll)]
    return [(name, repr(list(value) if hasattr(value, "foreach_get") else value)) for name, value in found]


def _stored(obj, scene) -> dict:
    """All of a ragdoll that is stored in the file, and of its scene's world."""
    cache = scene.rigidbody_world.point_cache
    return {
        "counts": rigs.counts(),
        "settings": [_settings(owner) for owner in (obj, scene, *obj.pose.bones)],
        "constraints": [(c.name, c.target and c.target.name) for bone in obj.pose.bones for c in bone.constraints],
        "record": obj.active_ragdoll.collection.active_ragdoll.record,
        "names": sorted(o.name for o in bpy.data.objects),
        "helpers": snapshot(obj),
        "cache": (cache.is_baked, cache.is_outdated, cache.frame_start, cache.frame_end),
        "said": (dict(STATE.messages), sorted(STATE.broken), sorted(STATE.runs)),
        "frame": scene.frame_current,
    }


def _set(places) -> list:
    """Set values of things (thing, name, value); what they were, in the same way."""
    before = []
    with STATE.writing():
        for owner, name, value in places:
            old = attrgetter(name)(owner)
            before.append((owner, name, old if isinstance(old, (bool, str)) else tuple(old)))
            setattr(owner, name, value)
    return before


def _refused(obj, scene, way):
    """Spoil what a build needs, have it refused, and mend it: nothing else has changed."""
    of_object, of_bones, names, choice, words = WAYS[way]
    places = [(obj, name, value) for name, value in of_object.items()]
    places += [(obj.pose.bones[bone].active_ragdoll, *item) for bone in names for item in of_bones.items()]
    before = _set(places)
    if choice == "SELECTED":
        rigs.select(obj, "")
        bpy.ops.object.mode_set(mode="OBJECT")
    state = _stored(obj, scene)
    refuses(words, build.build, obj, scene, choice)
    assert _stored(obj, scene) == state, way
    _set(before)


def test_the_ragdoll_and_its_cache_stay(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    simulated = [rigs.pose(obj) for _frame in simulate.frames(fresh_scene)]
    baked = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    for way in WAYS:
        _refused(obj, fresh_scene, way)
    assert np.array_equal(rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)), baked)
    assert np.array_equal([rigs.pose(obj) for _frame in simulate.frames(fresh_scene)], simulated)


def test_a_run_goes_on(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    plain = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    found = rigs.play(fresh_scene, 1, 6, lambda: rigs.pose(obj))
    _refused(obj, fresh_scene, "limits")
    bpy.context.view_layer.update()  # as a window does after each operator
    found += rigs.play(fresh_scene, 7, LAST, lambda: rigs.pose(obj))
    assert np.array_equal(found, plain)
