"""Adding hits by operators, by hand in the viewport and on the command line; their arrows; tools for weights."""

import math

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import viewport
from active_ragdoll.operators import command_line

OPS = bpy.ops.active_ragdoll


@pytest.fixture
def human(fresh_scene):
    """A built human, active and in object mode, at frame 1 of 20."""
    obj = rigs.swinging_human(fresh_scene, 1, 20)
    build.build(obj, fresh_scene, np.array(["finger" not in bone.name for bone in obj.pose.bones]))
    fresh_scene.frame_set(1)
    return obj


def test_hits_and_explosions_are_added_and_removed(human):
    own = human.active_ragdoll
    assert OPS.add_hit(bone="head", frame=7, impulse=(1.0, 2.0, 3.0), point=(0.0, 0.1, 0.0)) == {"FINISHED"}
    (hit,) = own.hits
    assert (hit.bone, hit.frame, tuple(hit.impulse), hit.space) == ("head", 7, (1.0, 2.0, 3.0), "WORLD")
    assert hit.point[1] == pytest.approx(0.1) and hit.strength == pytest.approx(math.sqrt(14.0))
    hit.strength = 2.0 * math.sqrt(14.0)
    assert tuple(hit.impulse) == pytest.approx((2.0, 4.0, 6.0))
    human.data.bones.active = human.data.bones["arm.R"]
    bpy.context.scene.frame_set(5)
    assert OPS.add_hit() == {"FINISHED"} and (own.hits[1].bone, own.hits[1].frame) == ("arm.R", 5)
    for values, words in (
        ({"bone": "finger.L"}, "finger.L.*no body"),
        ({"bone": "head", "impulse": (math.nan, 0.0, 0.0)}, "head.*impulse.*nan"),
        ({"bone": "head", "impulse": (0.0, 0.0, 0.0)}, "head.*no length"),
    ):
        with pytest.raises(RuntimeError, match=words):
            OPS.add_hit(frame=3, **values)
    own.active_hit = 0
    OPS.remove_hit()
    assert [hit.frame for hit in own.hits] == [5]
    bpy.context.scene.cursor.location = (1.0, 2.0, 3.0)
    OPS.add_explosion()
    assert tuple(own.explosions[0].origin) == (1.0, 2.0, 3.0)
    OPS.remove_explosion()
    OPS.remove_hit()
    assert not OPS.remove_hit.poll() and not OPS.remove_explosion.poll()


def _ray(origin, place):
    way = np.array(place, dtype=float) - origin
    return np.array(origin, dtype=float), way / np.linalg.norm(way)


def _shown(obj):
    """What the tools of the viewport take: the character as it is shown now."""
    bpy.context.view_layer.update()
    return obj, bpy.context.scene, bpy.context.view_layer.depsgraph


def test_a_ray_picks_a_bone_and_a_point_on_it(human):
    human.rotation_euler = (0.0, 0.0, 1.2)
    here = _shown(human)
    body = viewport.shown_bodies(*here)[1][rigs.rows(human, ["spine"])[0]]
    origin, way = _ray((0.3, -4.0, 1.6), body[:3, 3])
    bone, place = viewport.picked(*here, origin, way)
    assert bone == "spine"
    assert np.linalg.norm(np.cross(place - origin, way)) < 1e-4
    assert 3.0 < np.linalg.norm(place - origin) < np.linalg.norm(body[:3, 3] - origin)
    point = viewport.point_on(*here, bone, place)
    assert np.allclose(body[:3, 3] + body[:3, :3] @ rigs.part(human, bone).offset[:3, :3].T @ point, place, atol=1e-5)
    assert viewport.picked(*here, origin, -way) is None


def test_a_dragged_arrow_is_drawn_as_it_was_dragged(human):
    """What the mouse drew is what the overlay shows: from the place to where the mouse was let go."""
    here = _shown(human)
    origin, way = _ray((0.0, -4.0, 1.4), viewport.shown_bodies(*here)[1][rigs.rows(human, ["spine"])[0], :3, 3])
    bone, place = viewport.picked(*here, origin, way)
    wanted = place + np.cross(way, (0.0, 0.0, 0.4))
    impulse = (viewport.dragged_to(*_ray(origin, wanted), place, way) - place) * viewport.impulse_per_metre(*here[:2])
    effects.add_hit(*here[:2], bone, 1, impulse, viewport.point_on(*here, bone, place))
    lines = viewport.hit_lines(*here)
    assert np.allclose(lines.ends[0], (place, wanted), atol=1e-4) and lines.emphasised.all()
    human.active_ragdoll.hits[0].frame = 9
    assert not viewport.hit_lines(*here).emphasised.any()
    human.active_ragdoll.hits[0].enabled = False
    assert viewport.hit_lines(*here) is None


def test_hits_on_the_command_line(human, tmp_path, capsys):
    shot, out = tmp_path / "shot.blend", tmp_path / "out.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(shot))
    arguments = ["bake", str(shot), "--output", str(out)]
    hits = ["--hit", "spine", "5", "0", "40", "0", "--hit", "head", "99", "1", "0", "0"]
    assert command_line.run([*arguments, *hits]) == 0
    text = capsys.readouterr().out
    assert "outside the shot" in text and "'head'" in text
    assert len(bpy.data.objects["Human"].active_ragdoll.hits) == 2
    for wrong, word in ((("ghost", "5", "0", "1", "0"), "ghost"), (("head", "soon", "0", "1", "0"), "soon")):
        assert command_line.run([*arguments, "--hit", *wrong]) == 1
        assert word in capsys.readouterr().err


def _weights(obj, kind="rotation_weight"):
    return {bone.name: round(getattr(bone.active_ragdoll, kind), 4) for bone in obj.pose.bones}


def test_spreading(human):
    rigs.select(human, "spine", "forearm.L")
    OPS.spread_weights(mode="CHAIN", value=1.0, end=0.0, kind="ROTATION")
    found = _weights(human)
    assert (found["spine"], found["arm.L"], found["forearm.L"]) == (1.0, 0.5, 0.0)
    assert set(_weights(human, "translation_weight").values()) == {1.0}
    OPS.spread_weights(mode="SET", value=0.25)
    assert _weights(human)["spine"] == _weights(human, "translation_weight")["forearm.L"] == 0.25
    rigs.select(human, "arm.R")
    OPS.spread_weights(mode="DOWN", value=0.0, reach=2.0)
    found = _weights(human)
    assert (found["arm.R"], found["forearm.R"], found["finger.R"]) == (0.0, 0.5, 1.0)
    OPS.spread_weights(mode="MIRROR")
    assert _weights(human)["arm.L"] == 0.0
    rigs.select(human, "arm.R", "foot.L", "foot.R")
    OPS.spread_weights(mode="COPY")
    assert _weights(human)["foot.L"] == _weights(human)["foot.R"] == 0.0
    OPS.drag_weights(change=-0.3)
    assert _weights(human)["foot.L"] == 0.0 and _weights(human)["spine"] == 0.25
    rigs.select(human, "head")
    OPS.spread_weights(mode="UP", value=0.0, reach=2.0)
    assert _weights(human)["head"] == 0.0 and _weights(human)["spine"] == pytest.approx(0.125)
    for bones, words in ((("arm.L", "arm.R"), "not on one chain"), (("arm.L",), "two ends")):
        rigs.select(human, *bones)
        with pytest.raises(RuntimeError, match=words):
            OPS.spread_weights(mode="CHAIN")
