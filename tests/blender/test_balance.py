"""Balance in Blender: pushes that are caught or fell a character, on any rig; the ground, other pushes, records."""

import bpy
import numpy as np
import pytest

import pushing
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.run.records import kept_of
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.motion import balance
from own_characters import or_own


def standing(scene, last=60):
    """The human, who stands still."""
    rigs.set_range(scene, 1, last)
    obj = rigs.human(scene)
    pushing.prepare(scene, obj, 1, last)
    return obj


def push(scene, obj, speed, way):
    """A hit on the middle body that gives a man of 1.8 m so much of a speed [m/s], along the world's axes."""
    settings = obj.active_ragdoll
    settings.hits.clear()
    bone = next(part.bone for part in settings.parts if obj.pose.bones[part.bone].active_ragdoll.role == "PELVIS")
    impulse = speed * np.sqrt(settings.height / 1.8) * rigs.masses(obj).sum() * np.array(way, dtype=float)
    effects.add_hit(obj, scene, bone, scene.frame_start + 8, tuple(impulse))


def run(scene, obj):
    """Targets, recovery's states and balances by frame."""
    targets, phases, balances = {}, {}, {}
    for frame in simulate.frames(scene):
        targets[frame] = rigs.pose(obj.active_ragdoll.target_armature)
        phases[frame], balances[frame] = obj.active_ragdoll.state, pushing.balance_of(obj, frame)[1]
    return targets, phases, balances


def test_a_push_is_caught_with_feet_that_stand_and_a_strong_one_fells():
    (name,) = or_own("mh_mixamo.blend", own=("own mixamo",))
    caught, felled = pushing.pushed(name, 120, 0, 25.0), pushing.pushed(name, 270, 0, 120.0)
    assert not caught["fell after"] and caught["over"] and caught["slide"] < 2.0 and caught["hip"] < 8.0
    assert 0.0 < felled["fell after"] <= 0.6


@pytest.mark.blender_version
def test_what_was_played_is_found_again_by_scrubbing_and_in_the_saved_file(fresh_scene, tmp_path):
    obj = standing(fresh_scene, 90)
    push(fresh_scene, obj, 0.5, (0.0, -1.0, 0.0))
    targets, phases, _balances = run(fresh_scene, obj)
    assert phases[90] == "ANIMATED"
    shift = targets[90][:, :2, 3] - targets[1][:, :2, 3]
    assert np.abs(shift - shift[0]).max() < 1e-3 and np.linalg.norm(shift[0]) > 0.1  # it goes on where it is
    rigs.check_shown(fresh_scene, obj.active_ragdoll.target_armature, targets, (90, 20, 45), 0.0)
    bpy.ops.active_ragdoll.simulate()
    scene, obj = rigs.reopened(tmp_path / "pushed.blend")
    rigs.check_shown(scene, obj.active_ragdoll.target_armature, targets, (90, 30), 0.0)


def test_walked_back_it_is_where_its_animation_is(fresh_scene):
    obj = standing(fresh_scene, 150)
    obj.active_ragdoll.balance.return_to_path = "WALK_BACK"
    push(fresh_scene, obj, 0.55, (0.0, -1.0, 0.0))
    targets, _phases, balances = run(fresh_scene, obj)
    assert max(abs(state.offset) for state in balances.values() if state) > 0.1
    assert np.abs(targets[150] - targets[1])[:, :3, 3].max() < 0.01


def test_after_a_get_up_it_turns_and_walks_back_with_feet_that_stand():
    rig = rigs.load("own mixamo")
    obj, scene, last = rig.obj, rig.scene, rig.first + 360
    scene.frame_set(last)
    home = rigs.pose(obj)
    pushing.prepare(scene, obj, rig.first, last)
    recovery, obj.active_ragdoll.balance.return_to_path = obj.active_ragdoll.recovery, "WALK_BACK"
    recovery.rest_time, recovery.get_up = 0.5, "AUTOMATIC"
    push(scene, obj, 2.4, (1.0, 0.0, 0.0))  # no step catches it
    targets, phases, balances = run(scene, obj)
    step = pushing.balance_of(obj, rig.first)[0]
    feet = [obj.data.bones.find(step.rig.name(leg.bones[-1])) for leg in step.figure.legs]
    toes = [obj.data.bones.find(obj.data.bones[foot].children[0].name) for foot in feet]  # about which heels come up
    begun = min(frame for frame in balances if balances[frame] and phases[frame] == "BLENDING")
    assert abs(balances[begun].turn[0]) > 0.5 and abs(balances[begun].hip) > 0.2
    for frame in range(begun, last):
        moved = (targets[frame] - targets[frame - 1])[[*feet, *toes]]
        assert np.linalg.norm(moved[:, :3, 3], axis=1).max() < 3.2 / rigs.FPS  # as people's, from the first step on
        before, after = (balances[now] or balance.State() for now in (frame - 1, frame))
        for k, (a, b) in enumerate(zip(before.feet, after.feet, strict=True)):
            if a.offset and not a.swing and not b.swing:
                assert np.linalg.norm(moved[2 + k, :2, 3]) < 0.002
    assert np.abs(targets[last] - home)[feet, :3, 3].max() < 0.01


@pytest.mark.blender_version
def test_feet_are_planted_on_the_ground_that_is_there(fresh_scene):
    obj = standing(fresh_scene, 70)
    rigs.box(fresh_scene, "Step", (4.0, 2.0, 0.2), (0.0, -1.3, 0.0), passive=True)
    top = fresh_scene.objects["Floor"].location.z + 0.5
    push(fresh_scene, obj, 0.65, (0.0, -1.0, 0.0))
    targets, _phases, balances = run(fresh_scene, obj)
    feet = [obj.data.bones.find(f"foot.{side}") for side in "LR"]
    assert min(state.offset.imag for state in balances.values() if state) < -0.3
    assert np.abs(targets[70][feet, 2, 3] - targets[1][feet, 2, 3] - (0.1 - top)).max() < 0.01


MOVED = {  # where things are along y at frames [m]
    "cart": {1: -1.2, 61: 0.0}, "other": {5: -1.6, 35: -0.05},
    "platform": {10: 0.0, 22: 0.1, 34: 0.4, 90: 1.8}, "train": {10: 0.0, 22: 0.1, 34: 0.4, 90: 1.8},
}  # fmt: skip


def _furnish(scene, obj, what: str) -> None:
    """What moves a figure that stands without a hit."""
    mover = scene.objects["Floor"]
    if what == "wind":
        rigs.field(scene, "WIND", (0.0, -3.0, 1.0), "Wind", strength=40.0).rotation_euler.x = -np.pi / 2.0
    elif what == "case":
        arm = next(p for p in obj.active_ragdoll.parts if obj.pose.bones[p.bone].active_ragdoll.role == "FOREARM")
        scene.frame_set(1)
        case = rigs.box(scene, "Case", (0.2, 0.2, 0.2), rigs.matrices([arm.body])[0, :3, 3], mass=6.0)
        rigs.changed(obj.active_ragdoll.attachments.add(), bone=arm.bone, target=case)
    elif what == "cart":
        mover = rigs.box(scene, "Cart", (0.4, 0.4, 0.9), (0.0, -1.2, 1.0), kinematic=True)
    elif what == "other":
        build.build(mover := rigs.human(scene, "Other"), scene)
    else:
        mover.rigid_body.kinematic = True
    if what == "train":
        obj.parent, obj.matrix_parent_inverse = mover, mover.matrix_world.inverted()
    if what in MOVED:
        rigs.key_locations(mover, {frame: (0.0, y, mover.location.z) for frame, y in MOVED[what].items()})
        rigs.interpolate(mover, "LINEAR")
    scene.frame_set(1)


@pytest.mark.blender_version
@pytest.mark.parametrize("weight", (1.0, 0.5))
@pytest.mark.parametrize("what", ("platform", "train", "wind", "case", "cart", "other"))
def test_ground_wind_weights_and_others_move_it_at_any_weights(fresh_scene, what, weight):
    obj = standing(fresh_scene, 90)
    for bone in obj.pose.bones:
        bone.active_ragdoll.rotation_weight = bone.active_ragdoll.translation_weight = weight
    _furnish(fresh_scene, obj, what)
    targets, phases, balances = run(fresh_scene, obj)
    assert set(phases.values()) == {"ACTIVE"} and any(balances.values()) == (what != "train")
    if what == "train":  # its animation goes along
        return
    last, body = balances[90], pushing.balance_of(obj, 90)[0].body
    feet = [obj.data.bones.find(f"foot.{side}") for side in "LR"]
    off = (last.shown_hip(body) - last.offset) * body.omega**2
    if what == "platform":
        rigs.check_shown(fresh_scene, obj.active_ragdoll.target_armature, targets, (20, 50), 0.0)
        assert last.carried[1] == pytest.approx(1.8, abs=1e-4) and last.is_calm(body)
        assert np.abs((targets[90] - targets[84])[feet, 1, 3] - 6.0 / 56.0 * 1.4).max() < 0.002
        assert min(state.shown_hip(body).imag for state in balances.values() if state) < -0.05  # the feet go first
    elif what == "wind":  # Blender takes its strength by the frame rate, on each body
        push = len(obj.active_ragdoll.parts) * 40.0 / rigs.FPS / rigs.masses(obj).sum()
        assert off == pytest.approx(-1j * push, abs=0.1)
    elif what == "case":
        arm = fresh_scene.objects["Case"].matrix_world.translation - obj.matrix_world.translation
        assert (off / complex(*arm[:2])).real < -0.1
    else:
        assert last.hip.imag > 0.1 and any(foot.offset.imag > 0.1 for foot in last.feet)


@pytest.mark.parametrize("what", ("shrunk cart", "flat wind", "idle wind", "held case"))
def test_what_gives_no_push_moves_nobody(fresh_scene, what):
    obj = standing(fresh_scene, 30)
    _furnish(fresh_scene, obj, what.split()[1])
    added = fresh_scene.objects[what.split()[1].capitalize()]
    if what == "shrunk cart":  # to nothing, for a frame
        rigs.key(added, "scale", {19: (1.0,) * 3, 20: (0.0,) * 3, 21: (1.0,) * 3})
    elif what == "flat wind":
        added.scale = (0.0,) * 3
    elif what == "idle wind":
        added.field.apply_to_location = False
    _targets, phases, _balances = run(fresh_scene, obj)
    assert set(phases.values()) == {"ACTIVE"} and not STATE.messages
    found = {name for values in kept_of(obj).values() for name in values}
    assert not found & {"SHOVE", *(["PULL"] if what != "held case" else [])}


def test_bad_input_is_named_and_changes_nothing(fresh_scene):
    obj = standing(fresh_scene, 20)
    push(fresh_scene, obj, 0.3, (0.0, -1.0, 0.0))
    fresh_scene.gravity = (3.0, 0.0, -9.0)
    rigs.field(fresh_scene, "VORTEX", name="Whirl")
    _targets, _phases, balances = run(fresh_scene, obj)
    assert "does not balance against force field 'Whirl'" in str(STATE.warnings[obj.name])
    assert not any(balances.values()) and "gravity must point down" in str(STATE.motions[obj.name].messages)
    bpy.ops.active_ragdoll.remove()
    assert obj.active_ragdoll.target_armature is None and not obj.constraints
    rig = rigs.load("own dog")
    build.build(rig.obj, rig.scene)
    rigs.select(rig.obj, rig.obj.name)
    with pytest.raises(RuntimeError, match="stands on four legs"):
        bpy.ops.active_ragdoll.setup_balance()
    settings = rig.obj.active_ragdoll
    assert not settings.balance.enabled and not settings.recovery.enabled and settings.target_armature is None
