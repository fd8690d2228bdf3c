"""One button for what happens from a frame on: what it sets up, what comes of it, and that it refuses whole."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import built
from active_ragdoll.core.blender.run import records
from active_ragdoll.core.blender.tools import health, story

OPERATORS = bpy.ops.active_ragdoll


@pytest.fixture
def human(fresh_scene):
    return rigs.swinging_human(fresh_scene, 1, 40)


def phases(obj, frames) -> list:
    return rigs.step(obj.active_ragdoll.scene, frames, lambda: obj.active_ragdoll.state)


def test_a_knock_out_from_nothing(human, fresh_scene):
    """One click on a character without ragdoll, floor and recovery; all that it leaves can be edited."""
    fresh_scene.frame_set(10)
    assert OPERATORS.knock_out_here() == {"FINISHED"}
    settings = human.active_ragdoll
    assert settings.is_ragdoll and settings.recovery.enabled and health.has_floor(human, fresh_scene)
    assert [h.frame for h in settings.hits] == [fresh_scene.frame_current] == [10] and settings.run_state == "CACHED"
    seen = phases(human, (8, 9, 14))
    assert "LIMP" not in seen[:2] and seen[2] in ("LIMP", "SETTLING")
    fresh_scene.frame_set(40)
    floor = bpy.data.objects["Floor"].matrix_world.translation.z + 0.5 * settings.height
    heights = rigs.matrices([part.body for part in settings.parts])[:, 2, 3] - floor
    assert 0.0 < heights.min() < heights.max() < 0.6 * settings.height, "it lies on the floor"
    shown = story.strongest(human, fresh_scene)
    assert shown > settings.recovery.knock_out_speed > 0.0
    settings.hits[0].strength *= 0.5 * settings.recovery.knock_out_speed / shown
    OPERATORS.simulate()
    assert "LIMP" not in phases(human, (14, 20)), "half of the threshold shown does not knock out"
    settings.hits[0].enabled = False
    fresh_scene.frame_set(20)
    OPERATORS.knock_out_here(bone=min(settings.parts, key=lambda part: part.body.rigid_body.mass).bone)
    assert phases(human, (19, 24)) == ["ACTIVE", "LIMP"], "no hit that a hand bears does that to a man"
    OPERATORS.setup_balance()
    fresh_scene.frame_set(10)
    assert OPERATORS.knock_out_here(simulate=False) == OPERATORS.knock_out_here() == {"FINISHED"}
    assert phases(human, (9, 10, 14)) == ["ACTIVE", "LIMP", "LIMP"] and len(settings.recovery.events) == 2


def test_the_bone_that_is_named_is_struck(human, fresh_scene):
    fresh_scene.frame_set(10)
    with pytest.raises(RuntimeError, match="has no bone 'Nose'"):
        OPERATORS.push_here(bone="Nose")
    assert not human.active_ragdoll.is_ragdoll
    assert OPERATORS.push_here(bone="forearm.L", simulate=False) == {"FINISHED"}
    assert [hit.bone for hit in human.active_ragdoll.hits] == ["forearm.L"]


def test_the_floor_is_where_the_feet_are(human, fresh_scene):
    OPERATORS.build()
    fresh_scene.frame_set(1)
    assert any(finding.operator == "add_floor" for finding in health.notices(human, fresh_scene))
    assert OPERATORS.add_floor() == {"FINISHED"}
    floor = bpy.data.objects["Floor"]
    top = max((floor.matrix_world @ vertex.co).z for vertex in floor.data.vertices)
    OPERATORS.simulate()  # now the bodies stand where they are
    fresh_scene.frame_set(1)
    bodies = [part.body for part in human.active_ragdoll.parts]
    places = zip(rigs.matrices(bodies), bodies, strict=True)
    lowest = min((place @ (*vertex.co, 1.0))[2] for place, body in places for vertex in body.data.vertices)
    assert top == pytest.approx(lowest, abs=1e-4)
    assert top == pytest.approx(floor.matrix_world.translation.z + 0.5 * floor.dimensions.z), "as its shape is centred"
    assert floor.rigid_body.type == "PASSIVE"
    assert not any(finding.operator == "add_floor" for finding in health.notices(human, fresh_scene))


@pytest.mark.parametrize("bones", ((), ("forearm.L",)))
def test_limp_and_follow_again(human, fresh_scene, bones):
    OPERATORS.build()
    if bones:
        rigs.select(human, *bones)
    owner = human.pose.bones[bones[0]] if bones else human
    for frame, name in ((10, "limp_from_here"), (20, "follow_from_here")):
        fresh_scene.frame_set(frame)
        assert getattr(OPERATORS, name)(simulate=False) == {"FINISHED"}
    own, frames = owner.active_ragdoll, (5, 9, 10, 19, 20, 32, 40)
    weights = rigs.step(fresh_scene, frames, lambda: (own.rotation_weight, own.translation_weight))
    assert weights == [(weight, weight) for weight in (1, 1, 0, 0, 0, 1, 1)]


@pytest.mark.parametrize("name", ("push_here", "explode_here"))
def test_pushes_move_the_character(human, fresh_scene, name):
    OPERATORS.build()
    rigs.set_weights(human, 0.3)
    part = built.part_of(human, "spine")

    def places():
        fresh_scene.frame_set(18)
        return rigs.matrices([part.body])[0][:3, 3]

    OPERATORS.simulate()
    before = places()
    fresh_scene.cursor.location = before - (0.0, 0.5, 0.0)
    fresh_scene.frame_set(10)
    rigs.select(human, "spine")
    assert getattr(OPERATORS, name)() == {"FINISHED"}
    assert human.active_ragdoll.run_state == "CACHED"
    assert (places() - before)[1] > 0.02
    assert np.isfinite(places()).all()


@pytest.mark.parametrize("name", ("knock_out_here", "limp_from_here"))
def test_outside_the_shot_nothing_is_changed(human, fresh_scene, name):
    fresh_scene.frame_set(40)
    with pytest.raises(RuntimeError, match="Frame 40 is not within the shot, 1 to 40"):
        getattr(OPERATORS, name)()
    assert not human.active_ragdoll.is_ragdoll and len(bpy.data.objects) == 1
    assert records.phase_of(human) in (None, "")
