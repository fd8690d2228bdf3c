"""Attachments: what is held stays held, the reaction acts where physics moves the target, and nothing acts before. In
shots they are repeated, saved, edited, taken away, and given what makes no sense."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

import holding
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import viewport
from holding import HAND, TIP, attach, empty, in_target, key_enabled, tip

pytestmark = pytest.mark.blender_version
NEAR = {1: (0.64, -0.15, 1.42)}
SENSELESS = (
    ({"bone": "nothing"}, "no body"),
    ({"bone": ""}, "no bone"),
    ({"target": None}, "missing"),
    ({"target": "itself", "target_bone": HAND}, "itself"),
    ({"target": "itself"}, "itself"),
    ({"target": "itself", "target_bone": "gone"}, "gone"),
    ({"point": (float("nan"), 0.0, 0.0)}, "not a number"),
)


@pytest.mark.parametrize("baked", (False, True))
def test_a_hand_rides_a_moving_target_with_the_offset_of_the_moment(fresh_scene, baked):
    keys = {1: (0.6, -0.2, 1.3), 48: (0.52, -0.15, 1.36)}
    obj, target = holding.reaching_human(fresh_scene, keys)
    if baked:  # a character that plays its keys
        target = rigs.chain(fresh_scene, 2)
        rigs.key_locations(target, keys)
        build.build(target, fresh_scene)
        target.active_ragdoll.muted = True
    attach(obj, target, point=TIP)
    key_enabled(obj, {1: False, 12: True})
    offsets = np.array(rigs.play(fresh_scene, 1, 48, lambda: in_target(target, tip(obj))))
    kept = offsets[10]  # frame 11, where it stood when it was switched on
    assert np.linalg.norm(offsets[12:] - kept, axis=1).max() < 4e-3
    assert np.linalg.norm(offsets[5] - kept) > 0.02, "it moved against the target before"
    assert not STATE.warnings.get(obj.name)


@pytest.mark.parametrize("scale", (0.01, 1.0, 100.0))
@pytest.mark.parametrize(("kind", "rope"), (("FIXED", 0.0), ("DISTANCE", 0.05)))
def test_a_limp_character_hangs_on_what_moves_at_any_scale(scene, scale, kind, rope):
    """The rope is so short that the arm whips round within a frame."""
    rigs.set_range(scene, 1, 48)
    obj = rigs.human(scene)
    obj.data.transform(Matrix.Scale(1.0 / scale, 4))
    obj.scale = (scale,) * 3
    rigs.swing(obj, 1, 48)
    build.build(obj, scene)
    rigs.set_weights(obj)
    scene.frame_set(1)
    point = (0.0, 0.2, 0.0)
    start = tip(obj, point=point) + np.array((0.0, 0.0, rope))
    hook = empty(scene, {1: start, 48: start + np.array((0.26, -0.1, 0.18))})
    rigs.key(hook, "rotation_euler", {1: (0.0, 0.0, 0.0), 48: (0.0, 0.0, 0.4)})
    attach(obj, hook, kind=kind, point=point)

    def read():
        place = rigs.matrices([hook])[0]
        return np.linalg.inv(place) @ holding.bone_matrix(obj, HAND), tip(obj, point=point) - place[:3, 3]

    bones, ways = (np.array(each) for each in zip(*rigs.play(scene, 1, 48, read), strict=True))
    assert np.linalg.norm(ways, axis=1).max() < rope + (0.035 if rope else 4e-3)
    if kind == "FIXED":
        assert rigs.angles(bones, np.broadcast_to(bones[0], bones.shape)).max() < 2.0
    assert np.median(rigs.bodies(obj)[:, 2, 3]) < start[2] - 0.3, "the rest hangs below"
    assert rigs.mass_center(obj)[2] > start[2] - 2.5, "it does not fall"
    assert not STATE.warnings.get(obj.name)


def test_the_largest_force_carries_what_it_can():
    sunk = {}
    for share in (0.8, 4.0):
        scene = rigs.empty_file()
        obj = rigs.chain(scene, 2)
        rigs.set_range(scene, 1, 25)
        build.build(obj, scene)
        rigs.set_weights(obj)
        target = rigs.empty(scene, location=(0.5, 0.0, 2.0))
        attach(obj, target, bone="A", max_force=share * 9.81 * rigs.masses(obj).sum())
        heights = rigs.play(scene, 1, 25, lambda obj=obj: holding.bone_matrix(obj, "A")[2, 3])
        sunk[share] = heights[0] - heights[24]
    # The bones swing down on what holds them, so that it has to carry more than their weight for a while.
    assert sunk[4.0] < 0.03 and sunk[0.8] > 0.3


@pytest.mark.parametrize(("kind", "offset"), (("POINT", "STATED"), ("FIXED", "STATED"), ("DISTANCE", "MOMENT")))
def test_a_pair_keeps_its_momentum(scene, kind, offset):
    """No outside hand: the centre of both goes on as before, through switching on, holding and switching off."""
    obj = rigs.swinging_human(scene, 1, 60)
    scene.gravity = (0.0, 0.0, 0.0)
    prop = rigs.box(scene, "Prop", (0.1, 0.1, 0.1), (0.8, 0.1, 1.6), mass=3.0)
    prop.rigid_body.linear_damping = prop.rigid_body.angular_damping = 0.0
    rigs.undamped(obj)
    obj.active_ragdoll.drive_space = "JOINT"
    build.build(obj, scene)
    attach(obj, prop, kind=kind, offset=offset, point=TIP, offset_location=(-0.15, 0.0, 0.0))
    key_enabled(obj, {1: False, 10: True, 50: False})
    masses, bodies = [*rigs.masses(obj), 3.0], [*(part.body for part in obj.active_ragdoll.parts), prop]
    places = np.array(rigs.play(scene, 1, 60, lambda: rigs.matrices(bodies)[:, :3, 3]))
    speed = np.diff(np.average(places, axis=1, weights=masses), axis=0) * rigs.FPS
    assert np.linalg.norm(speed[2:] - speed[5], axis=1).max() < 1e-4 and not STATE.warnings.get(obj.name)


def test_two_characters_hold_hands(scene):
    first = rigs.swinging_human(scene, 1, 60)
    second = rigs.human(scene, "Partner")
    second.location = (1.42, 0.0, 0.0)
    rigs.swing(second, 1, 60)
    holding.loosen_arm(first)
    holding.loosen_arm(second, "R")
    for obj in (first, second):
        build.build(obj, scene)
    item = attach(first, second, kind="POINT", offset="STATED", offset_location=TIP, point=TIP, reach_seconds=0.4)
    item.target_bone = "forearm.R"
    key_enabled(first, {1: False, 10: True, 50: False})
    gaps = np.array(rigs.play(scene, 1, 60, lambda: np.linalg.norm(tip(first) - tip(second, "forearm.R"))))
    assert gaps[8] > 0.04 and gaps[-1] > 0.02
    assert gaps[20:48].max() < 15e-3  # they meet, and bump, within the time that was given them
    assert gaps[30:48].max() < 5e-3 and not STATE.warnings.get(first.name)


@pytest.mark.parametrize(("values", "said"), SENSELESS)
def test_what_makes_no_sense_is_told_and_the_rest_goes_on(scene, values, said):
    obj, target = holding.reaching_human(scene, NEAR, 20)
    item = attach(obj, target, name="Bad")
    for name, value in values.items():
        setattr(item, name, obj if value == "itself" else value)
    attach(obj, target, name="Good", offset="STATED", point=TIP, reach_seconds=0.1)
    rigs.play(scene, 1, 20)
    told = " ".join(STATE.warnings.get(obj.name, ()))
    assert "Bad" in told and said in told and "Good" not in told
    assert np.linalg.norm(tip(obj) - np.array(target.location)) < 5e-3


def test_operators_add_and_remove_and_the_overlay_draws_a_line(scene):
    obj = rigs.human(scene)
    target = empty(scene, {1: (0.5, 0.0, 1.5)})
    with pytest.raises(RuntimeError):
        bpy.ops.active_ragdoll.add_attachment(bone=HAND, target="Target")  # it has no ragdoll
    build.build(obj, scene)
    assert bpy.ops.active_ragdoll.add_attachment(bone=HAND, target="Target") == {"FINISHED"}
    assert [(item.bone, item.target) for item in obj.active_ragdoll.attachments] == [(HAND, target)]
    scene.view_layers[0].update()
    lines = viewport.attachment_lines(obj, scene, scene.view_layers[0].depsgraph)
    assert np.allclose(lines.ends, [[(0.75, 0.0, 1.42), (0.5, 0.0, 1.5)]], atol=1e-5)
    for values in ({"bone": "nothing"}, {"bone": HAND, "target": "nobody"}, {"bone": HAND, "target": obj.name}):
        with pytest.raises(RuntimeError):
            bpy.ops.active_ragdoll.add_attachment(**values)
    assert len(obj.active_ragdoll.attachments) == 1
    assert bpy.ops.active_ragdoll.remove_attachment() == {"FINISHED"}
    assert not len(obj.active_ragdoll.attachments)
