"""Damaged records in a file: told once, forgotten, and in nobody's way."""

import base64
import json
import time
import zlib

import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.errors import RagdollError

LAST = 6

pytestmark = pytest.mark.blender_version


def _packed(count: int) -> str:
    return base64.b64encode(zlib.compress(bytes(count))).decode()


def _record(**more) -> str:
    return json.dumps({"version": 1, "frames": [1], "values": [[1, 2], _packed(16)], "passages": []} | more)


RECORDS = {
    "no JSON": "{",
    "a list": "[]",
    "a bomb": _record(values=[[37_500_000], _packed(300_000_000)]),
    "a bomb of one frame": _record(values=[[1, 37_500_000], _packed(300_000_000)]),
    "less than it says": _record(values=[[1, 7], _packed(8)]),
    "more than it says": _record(values=[[1, 1], _packed(1_000_000)]),
    "a negative shape": _record(values=[[-1, 3], _packed(64)]),
    "no base64": _record(values=[[1], "???"]),
    "too short states": _record(),
    "no passages": _record(passages=[{}]),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_a_recovery(fresh_scene, name, capfd):
    scene = fresh_scene
    obj = rigs.ragdoll(scene, LAST, 0.2)
    list(simulate.frames(scene))
    obj.active_ragdoll.recovery.record = RECORDS[name]
    capfd.readouterr()
    began = time.monotonic()
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
    assert time.monotonic() - began < 2.0
    told = capfd.readouterr()
    assert (told.out + told.err).count("is damaged") == 1 and "Traceback" not in told.out + told.err
    assert "damaged" in STATE.warnings[obj.name][0]
    list(simulate.frames(scene))
    remove.remove(obj)
    assert not obj.active_ragdoll.is_ragdoll


@pytest.mark.parametrize("text", ("{", "", "[]", '{"animation": {"x": 1}, "muted": [["a"]]}'))
def test_what_a_bake_has_noted(fresh_scene, text):
    scene = fresh_scene
    obj = rigs.ragdoll(scene, LAST, 0.2)
    action = obj.animation_data.action
    list(bake.frames(obj, scene))
    obj.active_ragdoll.bake_record = text
    bake.revert(obj)
    assert obj.animation_data.action == action and not obj.active_ragdoll.muted
    assert "damaged" in STATE.warnings[obj.name][0]
    list(simulate.frames(scene))


@pytest.mark.parametrize("text", ("{", "[]", "5"))
def test_the_record_of_a_build(fresh_scene, text):
    scene = fresh_scene
    obj = rigs.ragdoll(scene, LAST, 0.2)
    obj.active_ragdoll.collection.active_ragdoll.record = text
    with pytest.raises(RagdollError, match="anew"):
        list(simulate.frames(scene))
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    obj.active_ragdoll.collection.active_ragdoll.record = text
    remove.remove(obj)
    assert scene.rigidbody_world is None and not obj.active_ragdoll.is_ragdoll


@pytest.mark.parametrize("name", ("collections_linked", "collections_created"))
def test_what_a_world_has_noted(fresh_scene, name):
    scene = fresh_scene
    obj = rigs.ragdoll(scene, LAST, 0.2)
    setattr(scene.active_ragdoll, name, "0}ull,constraints")
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    remove.remove(obj)
    assert scene.rigidbody_world is None
