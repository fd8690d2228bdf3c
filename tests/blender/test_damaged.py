"""Damaged records in a file: told once, forgotten, and in nobody's way."""

import base64
import json
import operator
import re
import time
import zlib

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import build, built, remove
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools import diagnose
from active_ragdoll.core.errors import RagdollError

LAST = 6


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
def test_a_record_of_a_recovery(scene, name, capfd):
    obj = rigs.ragdoll(scene, LAST, 0.2)
    list(simulate.frames(scene))
    obj.active_ragdoll.recovery.record = RECORDS[name]
    capfd.readouterr()
    began = time.monotonic()
    rigs.step(scene, range(1, LAST + 1))
    assert time.monotonic() - began < 2.0
    told = capfd.readouterr()
    assert (told.out + told.err).count("is damaged") == 1 and "Traceback" not in told.out + told.err
    assert "damaged" in STATE.warnings[obj.name][0]
    list(simulate.frames(scene))
    remove.remove(obj)
    assert not obj.active_ragdoll.is_ragdoll


@pytest.mark.parametrize("text", ("{", "", "[]", '{"animation": {"x": 1}, "muted": [["a"]]}'))
def test_what_a_bake_has_noted(scene, text):
    obj = rigs.ragdoll(scene, LAST, 0.2)
    action = obj.animation_data.action
    list(bake.bake_frames(obj, scene))
    obj.active_ragdoll.bake_record = text
    bake.revert(obj)
    assert obj.animation_data.action == action and not obj.active_ragdoll.muted
    assert "damaged" in STATE.warnings[obj.name][0]
    list(simulate.frames(scene))


def _with(**more):
    return lambda text: json.dumps(json.loads(text) | more)


def _in_row(column: int, value):
    """A change of the second body's row: its bone, parent, offset, bind, inertia, moments or depth."""

    def change(text):
        found = json.loads(text)
        found["parts"][1][column] = value
        return json.dumps(found)

    return change


def _without(name: str):
    return lambda text: json.dumps({key: value for key, value in json.loads(text).items() if key != name})


NAN = float("nan")
BUILDS = {text: lambda _text, text=text: text for text in ("{", "5", "[" * 100_000)}
BUILDS |= {
    f"{name} {value}": _with(**{name: value})
    for name, value in (
        *(("height", 0.0), ("height", NAN), ("scale", None), ("joints", "x"), ("followers", 5), ("followers", [[1]])),
        *(("parts", None), ("parts", "abc"), ("parts", [1, 2]), ("parts", [])),
    )
}
BUILDS |= {f"{name} missing": _without(name) for name in ("height", "scale", "followers", "joints", "parts")}
BUILDS |= {
    f"column {column} {str(value)[:20]}": _in_row(column, value)
    for column, value in (
        *((0, 3), (0, "hips"), (1, "no such"), (1, "spine"), (2, [NAN] * 16), (2, [0.0] * 5), (2, "abc")),
        *((3, [0.0] * 16), (3, ["a"] * 16), (4, NAN), (4, "x"), (5, 1.0), (5, [-1.0] * 3), (6, "x"), (6, -5)),
    )
}


def test_the_record_of_a_build(scene, capfd):
    obj = rigs.ragdoll(scene, LAST, 0.2)
    own = obj.active_ragdoll
    whole = own.collection.active_ragdoll.record
    for name, damaged in BUILDS.items():
        own.collection.active_ragdoll.record = damaged(own.collection.active_ragdoll.record)
        capfd.readouterr()
        rigs.step(scene, (1, 2, 3))
        told = "".join(capfd.readouterr())  # at the first frame, and on leaving it
        assert "Traceback" not in told and told.count("damaged") <= 2, name
        for does in (lambda: list(simulate.frames(scene)), lambda: diagnose.diagnose(obj, scene)):
            with pytest.raises(RagdollError, match="damaged: build the ragdoll anew"):
                does()
        own.collection.active_ragdoll.record = whole
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    own.collection.active_ragdoll.record = _with(followers=["no such"])(own.collection.active_ragdoll.record)
    list(bake.bake_frames(obj, scene))
    bake.revert(obj)
    own.collection.active_ragdoll.record = "5"
    remove.remove(obj)
    assert scene.rigidbody_world is None and not own.is_ragdoll and set(bpy.data.objects) == {obj}


@pytest.mark.parametrize("text", ("{", "5", '{"joint": "ROUND"}', '{"limit_min": 3}'))
def test_texts_of_a_bone(scene, text, tmp_path):
    """The limits that a preset stated, and the corners of a body."""
    obj = rigs.ragdoll(scene, LAST)
    own = obj.pose.bones["head"].active_ragdoll
    rigs.changed(own, shape_by_user=True, shape="CONVEX_HULL", half_extents=(0.1,) * 3, body_points=text)
    own.limits_from, own.profile_limits = "PROFILE", text
    scene, obj = rigs.reopened(tmp_path / "damaged.blend")
    own = obj.pose.bones["head"].active_ragdoll
    build.rebuild(obj, scene)
    assert own.limits_from == "ANATOMY" and "limits of 'head'" in STATE.warnings[obj.name][0]
    assert not own.profile_limits and not own.body_points


@pytest.mark.blender_version
def test_numbers_and_choices_that_a_setting_does_not_have(scene, tmp_path):
    own = rigs.ragdoll(scene, LAST).active_ragdoll
    for group, name, value in ((own, "mass_model", 77), (own, "density", NAN), (own.recovery, "get_up_pace", -1e30)):
        getattr(group, "bl_system_properties_get", lambda group=group, **_more: group)(do_create=True)[name] = value
    own = rigs.reopened(tmp_path / "damaged.blend")[1].active_ragdoll
    assert (own.mass_model, own.recovery.get_up_pace) == ("AUTO", 1.0) and own.density >= 0.0
    build.rebuild(own.id_data, bpy.context.scene)


POINTERS = {
    "a source in the scene": lambda _scene, own: setattr(own, "source", bpy.data.objects["Crate"]),
    "no armature as its source": lambda scene, own: (
        setattr(own, "source", bpy.data.objects["Crate"]),
        scene.active_ragdoll.source.collection.objects.link(bpy.data.objects["Crate"]),
    ),
    "the scene as its hidden one": lambda scene, _own: setattr(scene.active_ragdoll, "source", scene),
    "another hidden one": lambda scene, _own: setattr(scene.active_ragdoll, "source", bpy.data.scenes.new("Mine")),
    "the scene taken for hidden": lambda scene, _own: setattr(scene.active_ragdoll, "is_source", True),
    "a collection inside": lambda _scene, own: setattr(own, "collection", own.bodies),
    "the world's collection": lambda scene, own: setattr(own, "collection", scene.rigidbody_world.collection),
    "no scene": lambda _scene, own: setattr(own, "scene", None),
    "no number of a motor": lambda _scene, own: operator.setitem(
        built.helpers(own.collection, built.MOTOR)[1], built.NUMBER, 3588
    ),
    "no bone on a tag": lambda _scene, own: own.parts[1].body.pop(built.BONE),
    "another tag": lambda _scene, own: built.tag(own.physics_armature, built.BODY),
    "collections": lambda scene, _own: setattr(scene.active_ragdoll, "collections_linked", "bl_rna,nope"),
    "layers": lambda _scene, _own: operator.setitem(bpy.data.objects["Crate"], "active_ragdoll_layers", [1] * 50),
}


@pytest.mark.blender_version
@pytest.mark.parametrize("name", POINTERS)
def test_what_points_elsewhere(scene, name, tmp_path, capfd):
    obj = rigs.ragdoll(scene, LAST, 0.2, drive_space="JOINT")
    rigs.empty(scene, "Crate")
    list(simulate.frames(scene))
    POINTERS[name](scene, obj.active_ragdoll)
    kept = {scene.name, "Mine"} & {each.name for each in bpy.data.scenes}
    scene, obj = rigs.reopened(tmp_path / "damaged.blend", obj.name)
    capfd.readouterr()
    rigs.step(scene, range(1, LAST + 1))
    try:
        list(simulate.frames(scene))
    except RagdollError as error:
        assert "build" in str(error)
        build.rebuild(obj, scene)
        list(simulate.frames(scene))
    told = capfd.readouterr()
    assert "Traceback" not in told.out + told.err
    remove.remove(obj)
    assert {each.name for each in bpy.data.objects} == {obj.name, "Crate"}
    assert {each.name for each in bpy.data.scenes} == kept and not obj.active_ragdoll.is_ragdoll


BYTES = {
    "no text": (b"Plain layer", b"Plain \x85\xd3yer"),
    "no names, not even the version's": (b"version" + bytes(20), b"vers\xcfon" + bytes(20)),
    "no scene of its stack": (b"motion_scene", b"motion_scenf"),
    "a name without its value": (b"restitution", b"rest\x8atution"),
}


@pytest.mark.blender_version
@pytest.mark.parametrize("name", BYTES)
def test_bytes_of_a_file(fresh_scene, tmp_path, name):
    """Of settings, and of what is noted on bodies: whatever they are, all goes on and is removed."""
    obj = rigs.ragdoll(fresh_scene, LAST)
    stack_edits.add_layer(obj, fresh_scene, "POSE", "Plain layer")
    path = tmp_path / "damaged.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=False)
    whole, damaged = BYTES[name]
    assert whole in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(whole, damaged))
    scene, obj = rigs.opened(path)
    assert np.isfinite(rigs.play(scene, 1, LAST, lambda: rigs.pose(obj))).all()
    build.rebuild(obj, scene)
    list(simulate.frames(scene))
    remove.remove(obj)
    assert bpy.ops.active_ragdoll.remove_layer() == {"FINISHED"}
    assert set(bpy.data.objects) == {obj} and scene.rigidbody_world is None


def test_bytes_of_whose_a_ragdoll_is_beside_a_duplicate(fresh_scene, tmp_path):
    rigs.duplicate(rigs.ragdoll(fresh_scene, LAST), 3.0)
    path = tmp_path / "damaged.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=False)
    path.write_bytes(re.sub(rb"(?<![A-Z])Human\0", b"Hu\x94an\0", path.read_bytes()))
    scene, obj = rigs.opened(path)
    rigs.play(scene, 1, LAST)
    remove.remove_all([obj, bpy.data.objects["Human.001"]], scene)
    assert scene.rigidbody_world is None
