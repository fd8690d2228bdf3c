"""Plans to get up: as people do it, with hands and feet where they stand, from any pose, on slopes, by any figure."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from test_biped import biped

import motion_figures
from core import pose as pose_space
from core import quaternion
from core.motion.biped import Z, stacked
from core.motion.get_up import plan as get_up
from core.motion.get_up.course import Course
from core.motion.get_up.keys import Author, Clearances, Floor, Key, Ranges, Relief, Surface, joint_balls, turned
from core.motion.get_up.plan import CHEST, LEFT, PRONE, RIGHT, SUPINE, Manner, Moved, NoRoom
from motion_figures import most_slide
from refusals import refuses

FPS, GRAVITY = 24.0, 9.81
FLAT = Floor(0.0)
UP = turned(0, -90)
HOW = {"prone": turned(0, 90), "supine": UP, "left side": quaternion.multiply(UP, turned(-80))}
HOW |= {"right side": quaternion.multiply(UP, turned(100)), "sitting": turned(0, -20)}
FOUR = {"belly": turned(0, 5, 5), "left": turned(0, 0, -85), "right": turned(0, 0, 85), "back": turned(0, 0, 175)}


@pytest.fixture(name="own")
def mixamo():
    return biped("Mixamo")


def lying(own, how: str, seed: int = 0, floor: Floor = FLAT) -> np.ndarray:
    """Matrices [n, 4, 4] of a relaxed pose on the floor: trunk and limbs bent anyhow within what joints allow."""
    rng = np.random.default_rng(seed)
    base = quaternion.multiply(floor.tilt, quaternion.multiply(turned(rng.uniform(0.0, 360.0)), (HOW | FOUR)[how]))
    deltas = quaternion.multiply(base, quaternion.from_rotation_vector(rng.normal(size=(len(own.rows), 3)) * 0.12))
    for i, (a, b, e, x) in enumerate(own.limbs):
        bend = rng.uniform(-0.5, 0.0) if i < 2 or own.four else rng.uniform(-1.2, 1.2)
        side = quaternion.multiply(base, quaternion.from_axis_angle((1.0, 0.0, 0.0), rng.uniform(-0.3, 0.3)))
        deltas[a] = quaternion.multiply(side, quaternion.from_axis_angle(own.hinges[i, 0], bend))
        knee = quaternion.from_axis_angle(own.hinges[i, 1], rng.uniform(0.1, 0.9))
        deltas[[b, e]] = quaternion.multiply(deltas[a], knee)
        if i < 2 and x >= 0:
            deltas[x] = deltas[e]
    places = np.zeros((len(own.rows), 3))
    for row in range(1, len(places)):
        offset = own.joints[row] - own.joints[own.above[row]]
        places[row] = places[own.above[row]] + quaternion.rotate(deltas[own.above[row]], offset)
    places -= Z * (places[:, 2] - floor.under(places)).min() - 0.04 * own.height * Z
    return posed(own, deltas, places)


def posed(own, deltas, places) -> np.ndarray:
    matrices = standing(own)
    matrices[own.rows] = pose_space.compose_matrices(*own.model(deltas, places))
    return matrices


def standing(own) -> np.ndarray:
    return pose_space.compose_matrices(*own.rig.bind.model(own.rig.skeleton))


def planned(own, how="prone", pose=0, floor=FLAT, fps=FPS, gravity=GRAVITY, surface=None, stands=None, **manner):
    lies = lying(own, how, pose, floor) if isinstance(how, str) else posed(own, *own.solve(how))
    stands = posed(own, *own.solve(stands)) if stands else standing(own)
    more = {"fps": fps, "gravity": gravity, "ranges": manner.pop("ranges", None), "manner": Manner(**manner)}
    world = np.diag([own.scale] * 3 + [1.0])
    return get_up.plan(own, surface or joint_balls(own), lies, floor, lambda _s: stands, world, **more)


def motion(own, found):
    return own.placed(pose_space.compose_matrices(*found.poses.model(own.rig.skeleton)))


@cache
def some():
    """Plans of several rigs and poses, with their figures."""
    found = []
    for convention, pose in (("Mixamo", 0), ("Mixamo", 1), ("Unreal", 0), ("KayKit", 1), ("dog", 0), ("dog", 1)):
        own = biped(convention)
        for how in FOUR if own.four else HOW:
            made = planned(own, how, pose)
            found.append((f"{convention} {how} {pose}", own, made, *motion(own, made)))
    return found


def test_whoever_gets_up_does_so_as_people_do_what_stands_stays_there_and_nothing_is_in_the_floor():
    for name, own, made, deltas, places in some():
        assert not motion_figures.beyond(motion_figures.figures(own, deltas, places, FPS)), name
        assert most_slide(made, own.extract(deltas, places).ends[..., :2], FPS) < 0.005 * own.height, name
        assert places[..., 2].min() > -0.01 * own.height, name
        assert made.planted.any(axis=1)[1 + ("side" in made.names) :].all(), name  # something bears at any time
        assert "side" in name or made.strategy == (CHEST if "dog" in name else PRONE if "prone" in name else SUPINE)
        assert "sitting" not in name or "knees up" not in made.names
        hips = places[: int(made.times[1 + ("side" in made.names)] * FPS) + 1, 0, 2]  # legs below it raise no dog
        assert not own.four or hips.max() < max(hips[0], hips[-1]) + 0.01 * own.height, name


@pytest.mark.parametrize("how", HOW)
def test_a_knight_keeps_his_stiff_feet_off_the_floor_and_his_arms_out_of_a_fat_trunk(how):
    """Where knees go ahead the toes of feet that are stiff with their shanks point down."""
    own = biped("KayKit")
    shanks, toe = own.limbs[:2, 1], np.array([0.8, 0.0, -1.0]) * own.joints[own.limbs[0, 1], 2]
    half = own.shoulder * np.array([1.1, 1.6, 1.3])
    corners = half * (np.array(list(itertools.product((-1, 1), repeat=3))) - (0.0, 0.0, 0.7))
    rows = np.array([0, *shanks, *[own.chest] * 8])
    surface = Surface(rows, np.concatenate([[0 * toe, toe, toe], corners]), np.full(11, 0.01))
    deltas, places = motion(own, made := planned(own, how, surface=surface, held=(2, 3)))
    depths = surface.depths(own, deltas, places, FLAT)  # until it steps into the animation's stance
    assert depths[np.arange(len(places)) / FPS < made.times[-2]].max() < 0.01 * own.height
    keys = np.rint(made.times[1:-1] * FPS).astype(int)
    assert (-depths[keys, 1:3])[made.planted[1:, :2]].max() < 0.125 * own.height  # and no foot stands on air
    wrists = places[keys][:, own.limbs[2:, 2]] - places[keys][:, own.chest, None]
    seen = quaternion.rotate(quaternion.conjugate(deltas[keys][:, own.chest, None]), wrists) / half
    assert (np.linalg.norm(seen[..., :2], axis=-1) > 0.9)[np.abs(seen[..., 2] + 0.7) < 0.9].all()
    assert not motion_figures.beyond(motion_figures.figures(own, deltas, places, FPS))


@pytest.mark.parametrize("convention", ("Mixamo", "Unreal", "KayKit"))
def test_legs_that_lie_across_each_other_are_not_drawn_through_each_other(convention):
    """What raises the lower one off the floor would lead it through the upper one."""
    own, line = biped(convention), np.linspace(0.3, 2.0, 15)[:, None]  # from thigh to ankle
    for how, ahead, wide in itertools.product(("left side", "right side"), (-1.0, 1.0), (0.2, 0.3)):
        lies = own.extract(*own.placed(lying(own, how, 1)))
        ways = np.array([[ahead * wide, -0.22, -1.0], [-ahead * wide, 0.22, -1.0]])
        ways *= 0.95 * own.leg / np.linalg.norm(ways, axis=1, keepdims=True)
        lies.ends[:2] = own.firsts(lies)[:2] + quaternion.rotate(lies.trunk[0], ways)
        lies.poles[:2] = quaternion.rotate(lies.trunk[0], np.array([1.0, 0.0, 0.0]))
        places = motion(own, planned(own, lies))[1][:, own.limbs[:2, :3], None]
        legs = places[:, :, 0] + np.minimum(line, 1.0) * (places[:, :, 1] - places[:, :, 0])
        legs += np.maximum(line - 1.0, 0.0) * (places[:, :, 2] - places[:, :, 1])
        assert np.linalg.norm(legs[:, 0, :, None] - legs[:, 1, None], axis=-1).min() > 0.05 * own.height


@pytest.mark.parametrize("most", (2.0, 2.3))
def test_a_foot_that_swings_past_its_hip_bends_no_knee_farther_than_it_goes(own, most):
    frames = quaternion.shortest_arc(np.array([1.0, 0.0, 0.0]), own.hinges[:2, 1])
    knees = (("HINGE", (-0.05, 0.0, 0.0), (most, 0.0, 0.0)),) * 2
    ranges = Ranges(own.limbs[:2, 1], own.limbs[:2, 0], frames, knees)
    assert ranges.excess(motion(own, planned(own, ranges=ranges))[0]).max() < np.radians(0.5)


def test_who_lies_turned_to_anywhere_takes_as_long(own):
    lies = own.extract(*own.placed(lying(own, "supine")))
    times = [planned(own, lies.moved(turned(yaw), 0.0 * Z)).times for yaw in (0.0, 90.0, 180.0)]
    assert np.ptp(times, axis=0).max() < 1e-6


@pytest.mark.parametrize("how", ("supine", "prone"))
def test_thick_forearms_that_go_on_beyond_the_wrists_keep_off_thick_thighs(own, how):
    thighs, lowers, thick = own.limbs[:2, 0], own.limbs[2:, 1], 0.07 * own.height
    corners = np.array(list(itertools.product((-1, 1), (-1, 1), (0, 1)))) * (thick, thick, -own.upper[0])
    ways = own.joints[own.limbs[2:, 2]] - own.joints[lowers]
    tips = np.repeat(ways * (1.0 + thick / own.lower[2:, None]), 2, axis=0)
    tips += [[0, thick / 2, 0], [0, -thick / 2, 0]] * 2
    rows = np.concatenate([np.repeat(thighs, 8), np.repeat(lowers, 2)])
    made = planned(own, how, 1, surface=Surface(rows, np.concatenate([corners, corners, tips]), np.full(20, 1e-3)))
    keys = np.rint(made.times[1:-1] * FPS).astype(int)
    places = motion(own, made)[1][np.append(keys, np.arange(keys[-3], keys[-1]))]  # all, once a hand is on the knee
    middles = places[:, own.limbs[2:, 1:3]].mean(axis=2)[:, :, None]
    hips, knees = (places[:, None, own.limbs[:2, i]] for i in (0, 1))
    share = np.sum((middles - hips) * (knees - hips), axis=-1) / own.upper[0] ** 2
    off = np.linalg.norm(middles - hips - np.clip(share, 0.0, 1.0)[..., None] * (knees - hips), axis=-1)
    assert off[: len(keys)].min() > 1.4 * thick and off.min() > thick  # within which the thighs' bodies are


def test_it_begins_at_rest_puts_paws_down_at_rest_and_ends_in_the_animation_s_own_stance(own):
    speeds = np.linalg.norm(np.diff(motion(own, planned(own, fps=240.0))[1], axis=0), axis=-1) * 240.0
    assert speeds[[0, -1]].max() < 0.1
    made = planned(dog := biped("dog"), "belly", fps=240.0)
    ends = dog.extract(*motion(dog, made)).ends[: int(made.times[1] * 240.0)]
    assert made.planted[1].all() and np.linalg.norm(np.diff(ends[-4:], axis=0), axis=-1).max() * 240.0 < 0.03
    for name, own, made, deltas, places in some():
        there, stance = own.placed(made.move.matrix() @ standing(own))
        assert quaternion.angle_between(deltas[-1], there).max() < np.radians(2.0), name
        assert np.abs(places[-1] - stance)[own.limbs[:2, 2]].max() < 1e-3, name


def test_knees_and_elbows_turn_to_where_the_joints_allow_and_hands_and_feet_stay(own):
    """Limbs bent the wrong way round at the hip come back within its range about the line that their ends leave."""
    posture = stacked([own.extract(*own.placed(lying(own, "prone", seed))) for seed in range(3)])
    cone = (("CONE", (-2.2, -2.2, -0.7), (2.2, 2.2, 0.7)),)
    ranges = Ranges(own.limbs[:1, 0], np.array([0]), quaternion.identity((1,)), cone)
    wrong = replace(posture, poles=-posture.poles)
    before, after = (own.solve(p) for p in (wrong, ranges.eased(own, wrong)))
    assert (ranges.excess(before[0]) > 0.3).all() and (ranges.excess(after[0]) < 0.1).all()
    assert np.allclose(before[1][:, own.limbs[:, 2]], after[1][:, own.limbs[:, 2]])
    assert np.allclose(before[0][:, own.limbs[1:, 0]], after[0][:, own.limbs[1:, 0]])  # whose joints allow anything


def test_a_paw_of_a_dog_on_its_side_turns_about_the_axis_of_its_hock_as_on_its_chest():
    own, roll = biped("dog"), turned(roll=80.0)
    chest = stacked([key.posture for key in Author(own, Clearances.of(own, joint_balls(own))).four(0.0)])
    hocks = (("HINGE", (0.0, -0.3, 0.0), (0.0, 0.3, 0.0)),) * 2
    ranges = Ranges(own.limbs[:2, 2], own.limbs[:2, 1], quaternion.identity((2,)), hocks)
    beyond = [ranges.excess(own.solve(ranges.eased(own, p))[0]).max() for p in (chest, chest.moved(roll, 0.0 * Z))]
    assert beyond[1] < beyond[0] + np.radians(3.0) < ranges.excess(own.solve(chest)[0]).max()


def test_what_is_moved_by_hand_is_there_and_then_wherever_it_stands_so():
    for own in map(biped, ("Mixamo", "dog")):
        before = planned(own, pace=0.4)  # so brisk that most of it is stretched to what people do
        key, limb = next((k, i) for k, i in np.argwhere(before.planted) if k > 1 and before.planted[k + 1 :, i].any())
        offset = np.array([0.03, -0.04, 0.0]) * own.height
        moves = [(Moved(key, limb + 1, offset, late), Moved(99, 0, offset, 0.0)) for late in (0.0, 0.5)]
        there, after = (planned(own, pace=0.4, moved=moved) for moved in moves)
        stands = [own.extract(*motion(own, made)).ends[round(made.times[key] * FPS), limb] for made in (before, after)]
        assert np.abs(stands[1] - stands[0] - offset).max() < 0.003 * own.height
        assert np.diff(after.times - there.times)[key - 1] == pytest.approx(0.5, abs=0.02)
        assert np.array_equal(after.planted, before.planted)


def test_size_pace_side_and_seed(own):
    """Times go by Froude's number: a man at another object scale is the same, at a quarter of gravity twice as slow."""
    usual, hurt = planned(own), planned(own, pace=1.6)
    assert planned(biped("Mixamo", None, 0.01)).times == pytest.approx(usual.times, rel=1e-6)
    assert planned(own, gravity=GRAVITY / 4.0).times[-1] == pytest.approx(2.0 * usual.times[-1], rel=0.02)
    slow = motion(own, planned(own, fps=FPS / 2, gravity=GRAVITY / 4)), FPS / 2, GRAVITY / 4
    seen = [motion_figures.figures(own, *poses, *more) for poses, *more in ((motion(own, usual), FPS), slow)]
    assert seen[0] == pytest.approx(seen[1], rel=1e-6)  # what it looks like, too
    one, same, other = (planned(own, seed=seed).times for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.allclose(one, other)
    assert 1.4 < hurt.times[-1] / usual.times[-1] < 1.8 and "rest" in hurt.names
    assert (brisk := planned(own, pace=0.6)).times[-1] < 0.85 * usual.times[-1]
    assert not motion_figures.beyond(motion_figures.figures(own, *motion(own, brisk), FPS))
    for how in ("prone", "supine"):
        left, right = planned(own, how, side=LEFT), planned(own, how, side=RIGHT)
        i = left.names.index("rise")
        assert left.planted[i, :2].tolist() == [True, False] and right.planted[i, :2].tolist() == [False, True]


@pytest.mark.parametrize("how", ("prone", "supine", "left"))
def test_on_a_slope_hands_and_feet_are_on_the_slope(how):
    own, floor = biped("dog" if how in FOUR else "Mixamo"), Floor(0.3, (0.25, -0.2))
    deltas, places = motion(own, made := planned(own, how, 1, floor))
    gaps = [points[..., 2] - floor.under(points) for points in (places, own.extract(deltas, places).ends)]
    assert gaps[0].min() > -0.02 * own.height
    assert most_slide(made, gaps[1][..., None], FPS) < 0.005 * own.height


def furnished(own, step=0.0, wall=np.inf, roof=np.inf) -> Floor:
    """A floor with a step up along x from 0.3 of the height on, a wall at a y and a roof, in shares of the height."""
    x, y = np.meshgrid(*[np.arange(-40, 41) * 0.04] * 2, indexing="ij")
    heights = np.where(y > wall, np.inf, np.where(x > 0.3, step * own.height, 0.0))
    roofs = np.full_like(x, roof * own.height)
    return Floor(0.0, relief=Relief(heights, roofs, np.full(2, -1.6 * own.height), 0.04 * own.height, heights))


@pytest.mark.parametrize("how", ("prone", "supine"))
@pytest.mark.parametrize("around", ({"step": 0.08}, {"step": -0.1}, {"wall": 0.2}, {"step": 0.08, "wall": 0.3}))
def test_limbs_are_planted_on_what_is_there_and_he_gets_up_where_there_is_room(own, how, around):
    floor = furnished(own, **around)
    for made in (planned(own, how, pose, floor) for pose in range(3)):
        deltas, places = motion(own, made)
        gaps = places[..., 2] - floor.plane(places) - floor.over(places)
        # Neither in the step nor in the wall
        assert gaps[np.arange(len(places)) / FPS > made.times[1]].min() > -0.02 * own.height
        assert most_slide(made, own.extract(deltas, places).ends[..., :2], FPS) < 0.005 * own.height
        stood = [gaps[round(made.times[i] * FPS), own.limbs[k, 2]] for i, k in np.argwhere(made.planted) if i]
        assert max(stood) < 0.12 * own.height  # the ankle of a foot on its toes, and no limb stands on air


def test_whoever_lies_with_his_feet_on_a_step_presses_up_from_what_is_below_his_trunk(own, monkeypatch):
    spots, posture = get_up._spots, own.extract(*own.placed(lying(own, "prone")))
    monkeypatch.setattr(get_up, "_spots", lambda *about: spots(*about)[:1])
    turn = quaternion.conjugate(get_up._turn_to(-quaternion.rotate(posture.trunk[0], Z)))
    posture = posture.moved(turn, quaternion.rotate(turn, posture.hip * (-1, -1, 0)))
    made = planned(own, posture, floor=(floor := furnished(own, 0.08)))
    lowest = -joint_balls(own).depths(own, *motion(own, made), floor)[np.rint(made.times[1:3] * FPS).astype(int)]
    assert lowest[0, 0] < 0.02 * own.height and lowest[:, 3:5].max() < 0.02 * own.height


@pytest.mark.parametrize("step", (-0.1, 0.08))
def test_a_paw_that_is_drawn_in_over_an_edge_does_not_jump(step):
    own = biped("dog")
    joints = motion(own, planned(own, "right", 0, furnished(own, step)))[1][:, own.limbs[:, :3].ravel()]
    assert np.linalg.norm(np.diff(joints, n=2, axis=0), axis=-1).max() < 0.03 * own.height


def test_a_twisted_spine_does_not_turn_on_the_other_way_round_where_he_gets_up_turned_about(own, monkeypatch):
    spots, twist, about = get_up._spots, turned(30.0), turned(180.0)
    monkeypatch.setattr(get_up, "_spots", lambda *a: [(c, quaternion.multiply(about, t), o) for c, t, o in spots(*a)])
    posture = own.extract(*own.placed(lying(own, "prone")))
    posture.trunk[:] = quaternion.multiply(np.stack([quaternion.conjugate(twist), twist, twist]), posture.trunk)
    spins = motion_figures.spins(motion(own, planned(own, posture))[0][:, own.spine], FPS)
    assert spins.max() < motion_figures.BOUNDS["pelvis 95"]


def test_hands_that_hold_something_are_kept_off_the_floor(own):
    made = planned(own, held=(3,))
    assert motion(own, made)[1][int(made.times[1] * FPS) + 1 :, own.limbs[3, 2], 2].min() > 0.07 * own.height
    assert not made.planted[:, 3].any() and made.planted[:, 2].any()


def test_before_a_stance_on_one_foot_he_stands_over_that_foot(own):
    stride = own.extract(*own.placed(standing(own)))
    stride.ends[1] += own.height * np.array([-0.3, 0.0, 0.15])
    made = planned(own, stands=stride)
    hip, foot = motion(own, made)[1][round(made.times[-2] * FPS)][[0, own.limbs[0, 2]], :2]
    assert np.linalg.norm(hip - foot) < 0.08 * own.height


def test_a_head_that_is_turned_far_does_not_go_on_all_round(own):
    posture = own.extract(*own.placed(lying(own, "right side")))
    posture.trunk[2] = quaternion.multiply(posture.trunk[1], turned(-130.0))
    deltas = motion(own, planned(own, posture))[0]
    assert quaternion.angle_between(deltas[:, own.chest], deltas[:, own.head]).max() < np.radians(135.0)


def test_an_arm_is_drawn_in_the_way_round_that_its_shoulder_allows(own):
    stands, keys, surface = own.extract(*own.placed(standing(own))), [], joint_balls(own)
    for turn in np.radians([(-55.0, 67.0, -68.0), (-31.0, -50.0, 93.0)]):
        ways = quaternion.rotate(quaternion.from_rotation_vector(turn), np.array([(0.0, 1.0, 0.0), (0.7, -0.7, 0.0)]))
        keys.append(Key("", 0.0, replace(stands, ends=stands.ends.copy(), poles=stands.poles.copy())))
        keys[-1].posture.ends[2] = own.firsts(stands)[2] + own.upper[2] * ways.sum(axis=0)
        keys[-1].posture.poles[2] = ways[0]
    cone = (("CONE", (-0.75, -1.4, -2.35), (1.5, 1.4, 1.6)),)
    ranges = Ranges(own.limbs[2:3, 0], np.array([own.chest]), turned(pitch=90.0)[None], cone)
    course = Course(own, surface, Clearances.of(own, surface), FLAT, keys, (0.0, 1.0), 1.0, ranges=ranges)
    assert ranges.excess(course.at(np.linspace(0.0, 1.0, 13))[0]).max() < np.radians(30.0)


def test_arms_that_lie_overhead_are_drawn_in_along_the_floor(own):
    deltas, places = own.placed(lying(own, "supine"))
    posture = own.extract(deltas, places)
    posture.ends[2:] = places[own.limbs[2:, 0]] + 0.9 * own.arm * quaternion.rotate(posture.trunk[1], Z)
    drawn = motion(own, made := planned(own, posture))[1][: int(made.times[1] * FPS)]
    highest = drawn[:, own.head, 2].max() + 0.2 * own.arm  # an arm led over the face stands a whole arm above it
    assert drawn[:, own.limbs[2:, 2], 2].max() < highest


def test_an_arm_behind_one_who_sits_is_drawn_in_beside_the_back(own):
    posture = own.extract(*own.placed(lying(own, "sitting")))
    way = quaternion.rotate(posture.trunk[1], np.array([-0.5, -0.25, -0.8]))
    posture.ends[3] = own.firsts(posture)[3] + 0.9 * own.arm * way
    deltas = motion(own, made := planned(own, posture))[0][int(made.times[1] * FPS / 2)]
    upper = quaternion.rotate(deltas[own.limbs[3, 0]], own.ways[3, 0])
    assert quaternion.rotate(quaternion.conjugate(deltas[own.chest]), upper)[0] > -0.6  # a shoulder lets it no further


def test_refusals_say_why(own):
    planned(own, floor=furnished(own, roof=1.05))
    with pytest.raises(NoRoom, match=f"with {0.6 * own.height:.2f} m"):
        planned(own, floor=furnished(own, roof=0.6))
    refuses("too steep", planned, own, floor=Floor(0.0, (0.6, 0.0)))
    refuses("does not stand", planned, own, stands=own.extract(*own.placed(lying(own, "supine"))))
