"""A build that is refused leaves the ragdoll that there was, its cache and its run, and the ragdolls beside it."""

import json
import math
from operator import attrgetter

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import body_objects, build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import declare
from active_ragdoll.core.errors import RagdollError

pytestmark = pytest.mark.blender_version

LAST = 12
_FLAT = json.dumps([[x, y, 0.0] for x in (-0.1, 0.0, 0.1) for y in (-0.1, 0.0, 0.1)])
_LIMITS = {"limits_from": "USER", "limit_min": (0.5,) * 3, "limit_max": (0.2,) * 3}
_HULL = {"shape_by_user": True, "shape": "CONVEX_HULL", "half_extents": (0.1, 0.1, 0.1), "body_points": _FLAT}
# What is set of the character and of each of some bones, the choice of bones, and what the message says.
WAYS = {
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


def _body(rigid_body) -> list:
    plain = (p.identifier for p in rigid_body.bl_rna.properties if p.type in ("FLOAT", "INT", "BOOLEAN", "ENUM"))
    return [(name, repr(getattr(rigid_body, name))) for name in plain]


def _state(obj, scene) -> dict:
    """All of a ragdoll that is stored in the file, and of its scene's world."""
    cache = scene.rigidbody_world.point_cache
    helpers = obj.active_ragdoll.collection.all_objects
    return {
        "counts": rigs.counts(),
        "settings": [_settings(owner) for owner in (obj, scene, *obj.pose.bones)],
        "constraints": [(c.name, c.target and c.target.name) for bone in obj.pose.bones for c in bone.constraints],
        "record": obj.active_ragdoll.collection.active_ragdoll.record,
        "names": sorted(o.name for o in bpy.data.objects),
        "places": {o.name: np.array(o.matrix_basis).tobytes() for o in helpers},
        "bodies": {o.name: _body(o.rigid_body) for o in helpers if o.rigid_body},
        "joints": {o.name: _body(o.rigid_body_constraint) for o in helpers if o.rigid_body_constraint},
        "cache": (cache.is_baked, cache.is_outdated, cache.frame_start, cache.frame_end),
        "said": (dict(STATE.messages), sorted(STATE.broken), sorted(STATE.runs)),
        "frame": scene.frame_current,
    }


def _set(obj, of_object: dict, of_bones: dict, bones) -> list:
    """Set values; what they were."""
    places = [(obj, name, value) for name, value in of_object.items()]
    places += [(obj.pose.bones[bone].active_ragdoll, *item) for bone in bones for item in of_bones.items()]
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
    before = _set(obj, of_object, of_bones, names)
    if choice == "SELECTED":
        rigs.select(obj, "")
        bpy.ops.object.mode_set(mode="OBJECT")
    state = _state(obj, scene)
    with pytest.raises(RagdollError, match=words):
        build.build(obj, scene, choice)
    after = _state(obj, scene)
    for part, value in state.items():
        assert after[part] == value, part
    with STATE.writing():
        for owner, name, value in before:
            setattr(owner, name, value)


@pytest.mark.parametrize("way", WAYS)
def test_the_ragdoll_and_its_cache_stay(fresh_scene, way):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    simulated = [rigs.pose(obj) for _frame in simulate.frames(fresh_scene)]
    baked = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    _refused(obj, fresh_scene, way)
    assert np.array_equal(rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)), baked)
    assert np.array_equal([rigs.pose(obj) for _frame in simulate.frames(fresh_scene)], simulated)


@pytest.mark.parametrize("way", ("limits", "none selected"))
def test_a_run_goes_on(fresh_scene, way):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    plain = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    found = rigs.play(fresh_scene, 1, 6, lambda: rigs.pose(obj))
    _refused(obj, fresh_scene, way)
    bpy.context.view_layer.update()  # as a window does after each operator
    found += rigs.play(fresh_scene, 7, LAST, lambda: rigs.pose(obj))
    assert np.array_equal(found, plain)


def test_the_world_of_another_scene_is_baked(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    list(simulate.frames(fresh_scene))
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(obj)
    with bpy.context.temp_override(scene=other):
        bpy.ops.rigidbody.world_add()
    with bpy.context.temp_override(scene=other, point_cache=other.rigidbody_world.point_cache):
        bpy.ops.ptcache.bake_from_cache()
    state = _state(obj, fresh_scene)
    with pytest.raises(RagdollError, match="'Other' is baked"):
        build.build(obj, other)
    assert _state(obj, fresh_scene) == state


@pytest.mark.parametrize("editing", (False, True))
def test_edits_by_hand_count_in_the_next_build(fresh_scene, editing):
    def edit(refuse: bool) -> dict:
        obj = rigs.ragdoll(rigs.empty_file(), LAST)
        scene = bpy.context.scene
        if editing:
            body_objects.begin_editing(obj)
        body = rigs.part(obj, "head").body
        body.scale, body.rigid_body.mass = (1.5, 1.5, 1.5), 9.0
        if refuse:
            spoilt = _set(obj, *WAYS["limits"][:3])
            with pytest.raises(RagdollError):
                build.rebuild(obj, scene)
            assert tuple(body.scale) == (1.5, 1.5, 1.5) and body.rigid_body.mass == 9.0
            with STATE.writing():
                for owner, name, value in spoilt:
                    setattr(owner, name, value)
        build.rebuild(obj, scene)
        return rigs.plan_of(obj)

    expected, found = edit(False), edit(True)
    assert 9.0 in expected["mass"]
    assert all(np.array_equal(found[key], value) for key, value in expected.items())


def test_a_refused_first_build_leaves_the_ragdoll_beside_it(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.3)
    other = rigs.chain(fresh_scene, 2)
    other.scale = (1.0, 1.0, 2.0)
    list(simulate.frames(fresh_scene))
    baked = rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj))
    state = _state(obj, fresh_scene)
    with pytest.raises(RagdollError, match="Chain"):
        build.build(other, fresh_scene)
    assert _state(obj, fresh_scene) == state
    assert np.array_equal(rigs.play(fresh_scene, 1, LAST, lambda: rigs.pose(obj)), baked)
