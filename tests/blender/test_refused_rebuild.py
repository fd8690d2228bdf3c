"""A build that is refused leaves the ragdoll that there was, its cache and its run, and the ragdolls beside it."""

import json
import math
from operator import attrgetter

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
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
        assert after[part] == value, (way, part)
    with STATE.writing():
        for owner, name, value in before:
            setattr(owner, name, value)


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
