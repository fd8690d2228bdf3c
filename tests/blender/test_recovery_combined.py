"""Knock-out and recovery together with other spaces, drives and ranges."""

import numpy as np
import pytest

import knock_outs
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_setup
from hitting import add
from holding import HAND, TIP, attach, bone_matrix

pytestmark = pytest.mark.blender_version


@pytest.mark.parametrize("drive", ("VELOCITY", "SPRING"))
def test_driven_in_joint_space_it_stands_again_before_the_physics_is_blended_out(fresh_scene, drive):
    obj = knock_outs.human(fresh_scene)
    obj.active_ragdoll.drive_space, obj.active_ragdoll.drive = "JOINT", drive
    shown, targets, states = knock_outs.run(fresh_scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    rows = knock_outs.rows(obj)
    begins, ends = knock_outs.first(states, "BLENDING"), knock_outs.first(states, "ANIMATED")
    away = np.linalg.norm((shown[begins] - targets[begins])[rows, :3, 3], axis=1)
    assert away.max() < 0.05 * obj.active_ragdoll.height
    jumps, wanted = (knock_outs.jumps(obj, poses, rows) for poses in (shown, targets))
    for frame in (ends, ends + 1):
        assert jumps[frame] < knock_outs.LIMIT + wanted[frame]


def test_a_shot_before_frame_zero_is_shown_as_simulated_when_it_ends_switched_off(fresh_scene):
    first, last = -110, -2
    obj = rigs.swinging_human(fresh_scene, first, last)
    knock_outs.prepare(fresh_scene, obj, first, last)
    simulate.use_range(fresh_scene, first, last)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert states[last] == "ANIMATED"
    for frame in (first, first + 20, first + 60, last):
        fresh_scene.frame_set(frame)
        assert np.abs(rigs.pose(obj) - shown[frame]).max() < 1e-5


@pytest.mark.parametrize("kind", ("POINT", "FIXED"))
def test_a_hand_holds_its_prop_while_the_character_is_switched_on_and_off(fresh_scene, kind):
    obj = rigs.swinging_human(fresh_scene, 1, 80)
    prop = rigs.box(fresh_scene, "Prop", (0.1, 0.1, 0.1), (0.8, 0.0, 1.42), mass=0.5)
    build.build(obj, fresh_scene)
    attach(obj, prop, point=TIP, kind=kind)
    group = obj.active_ragdoll.recovery
    group.enabled, group.starts = True, "ANIMATED"
    for frame, phase in ((30, "ACTIVE"), (55, "ANIMATED")):
        event = group.events.add()
        event.frame, event.phase = frame, phase
    held = []
    for _frame in simulate.frames(fresh_scene):
        grip = bone_matrix(obj, HAND) @ [*TIP, 1.0]
        held.append((np.linalg.inv(rigs.matrices([prop])[0]) @ grip)[:3])
    assert obj.active_ragdoll.state == "ANIMATED"
    assert np.linalg.norm(np.array(held) - held[0], axis=1).max() < 0.02


def test_recovery_taken_away_in_mid_shot_is_told_and_the_run_goes_on(fresh_scene):
    obj = knock_outs.human(fresh_scene, 100)
    rigs.play(fresh_scene, 1, 39)
    obj.active_ragdoll.recovery.enabled = False
    rigs.play(fresh_scene, 40, 100)
    assert STATE.runs[fresh_scene.name].frame == 100
    assert any("gets up in its animation's own place" in text for text in STATE.warnings["Human"])


def test_a_character_renamed_in_mid_shot_gets_up_where_it_lies(fresh_scene):
    obj = knock_outs.human(fresh_scene)
    stack_setup.ensure(obj, fresh_scene)
    rigs.play(fresh_scene, 1, 19)
    obj.name = "Another"
    rigs.play(fresh_scene, 20, 120)
    (recovery,) = STATE.runs[fresh_scene.name].effect("recovery").by_name.values()
    assert recovery.state.phase == "ANIMATED" and len(recovery.record.passages) == 1


@pytest.mark.parametrize("starts", ("ANIMATED", "ACTIVE"))
@pytest.mark.parametrize(("impulse", "phase"), ((150.0, "LIMP"), (20.0, "ACTIVE")))
def test_a_hit_in_the_shots_first_frame_is_felt_as_in_any_other(fresh_scene, starts, impulse, phase):
    obj = rigs.swinging_human(fresh_scene, 1, 12)
    build.build(obj, fresh_scene)
    obj.active_ragdoll.recovery.enabled, obj.active_ragdoll.recovery.starts = True, starts
    moved = []
    for frame in (1, 2):
        obj.active_ragdoll.hits.clear()
        add(obj, "spine", frame, (impulse, 0.0, 0.0))
        places = [rigs.bodies(obj) for _frame in simulate.frames(fresh_scene)]
        fresh_scene.frame_set(frame)
        assert obj.active_ragdoll.state == phase
        moved.append(np.linalg.norm((places[frame + 4] - places[frame - 1])[:, :3, 3], axis=1).max())
    assert moved[0] > 0.02 and abs(moved[0] / moved[1] - 1.0) < 0.25
