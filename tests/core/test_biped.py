"""Postures of bipeds and quadrupeds: taken from any pose and back, whatever names, rolls, sizes and places."""

from dataclasses import replace
from functools import cache

import convention_rigs
import conventions
import numpy as np
import pytest

from core import pose as pose_space
from core import quaternion
from core.anatomy.roles import HELPER
from core.motion.biped import Biped, Posture, unit
from core.motion.stack import LocalPose, Rig
from core.skeleton import Skeleton
from refusals import refuses

BENDS = np.array([(-0.5, 0.9)] * 2 + [(0.4, 1.1)] * 2)  # of the limbs at their hinges [rad]


@cache
def biped(convention: str, seed: int | None = None, scale: float = 1.0) -> Biped:
    """A convention's human or a dog; with a seed its bones are rolled and the object is turned about the vertical."""
    made = convention_rigs.dog() if convention == "dog" else convention_rigs.rig_of(convention)
    skeleton = Skeleton.from_parents(made.names, np.asarray(made.parents))
    heads = (np.asarray(made.heads) / scale)[skeleton.to_level]
    rotations, world = quaternion.identity((len(heads),)), np.diag([scale, scale, scale, 1.0])
    if seed is not None:
        rng = np.random.default_rng(seed)
        rotations = quaternion.normalize(rng.normal(size=rotations.shape))
        turn = quaternion.from_axis_angle((0.0, 0.0, 1.0), rng.uniform(0.0, 6.0))
        world[:3, :3] = quaternion.to_matrix(turn) * scale
        world[:3, 3] = rng.normal(size=3)
    local = pose_space.model_to_local_matrices(skeleton, pose_space.compose_matrices(heads, rotations))
    rig = Rig(skeleton, LocalPose(*pose_space.decompose_matrices(local)))
    return of_rig(rig, made.recognise(), made.tails / scale, world)


def of_rig(rig: Rig, anatomy, tails, world=None) -> Biped:
    bind = pose_space.compose_matrices(*rig.bind.model(rig.skeleton))[rig.skeleton.from_level]
    return Biped(rig, anatomy, bind, tails, world)


def posed(own: Biped, seed: int = 0, amount: float = 0.15) -> np.ndarray:
    """Matrices [n, 4, 4] of a bent, turned pose; the same for all rigs of one convention up to the bones' rolls."""
    rng = np.random.default_rng(seed)
    rig = own.rig
    turns = quaternion.identity((len(rig.parents),))
    made = quaternion.from_rotation_vector(rng.normal(size=(len(own.rows), 3)) * amount)
    for limb, bends, hinges in zip(own.limbs, BENDS, own.hinges, strict=True):
        made[limb[:2]] = quaternion.from_axis_angle(hinges, bends)
    # In the character's axes, so that a roll changes nothing.
    made = quaternion.multiply(quaternion.multiply(own.own, made), quaternion.conjugate(own.own))
    turns[own.rows] = made
    local = rig.bind.copy()
    parents = np.maximum(rig.skeleton.parents, 0)
    above = np.where((rig.skeleton.parents >= 0)[:, None], rig.bind_rotations[parents], quaternion.identity())
    local.rotations = quaternion.multiply(quaternion.conjugate(above), quaternion.multiply(turns, rig.bind_rotations))
    return pose_space.compose_matrices(*local.model(rig.skeleton))


def gaps(a: Posture, b: Posture) -> list:
    """Largest differences of the parts: lengths [m], directions, angles [rad]."""
    ways = [float(np.abs(x - y).max()) for x, y in ((a.hip, b.hip), (a.ends, b.ends), (a.poles, b.poles))]
    turns = ((a.trunk, b.trunk), (a.turns, b.turns), (a.ties, b.ties))
    return ways + [float(quaternion.angle_between(x, y).max()) for x, y in turns]


@pytest.mark.parametrize("convention", ("Mixamo", "dog"))
def test_limbs_bent_through_their_backs_become_straight_and_their_upper_parts_stay(convention):
    own, deltas = biped(convention), quaternion.identity((len(biped(convention).rows),))
    places, (_first, knees, ends, _extra) = own.joints.copy(), own.limbs.T
    bends = np.sum(np.cross(own.ways[:, 0], own.ways[:, 1]) * own.hinges[:, 1], axis=1)
    deltas[knees] = deltas[ends] = quaternion.from_axis_angle(own.hinges[:, 1], -np.arcsin(bends) - 0.4)
    places[ends] = places[knees] + quaternion.rotate(deltas[knees], own.joints[ends] - own.joints[knees])
    found, _places = own.solve(own.extract(*own.straightened(deltas, places)))
    assert np.degrees(quaternion.angle_between(found, deltas))[own.limbs[:, 0]].max() < 8.0


@pytest.mark.parametrize("convention", [*sorted(conventions.ALL), "dog"])
def test_a_posture_is_kept_by_every_convention(convention):
    own = biped(convention)
    given = own.extract(*own.placed(posed(own)))
    deltas, places = own.solve(given)
    before, after = given, own.extract(deltas, places)
    # Where the shoulder is depends on all of the spine, so a pole is turned with the line from there to the hand.
    kept = gaps(before, after)
    assert max(kept[:2] + kept[3:]) < 1e-9 and kept[2] < 0.2
    assert max(gaps(after, own.extract(*own.solve(after)))) < 1e-9
    roll = quaternion.from_axis_angle((1.0, 0.0, 0.0), 2.8)  # loose paws turn with their legs, hands by themselves
    rolled = replace(given, trunk=quaternion.multiply(roll, given.trunk))
    turns = own.hung(rolled, own.flexion(given, deltas), own.firsts(rolled))[2]
    assert np.allclose(turns, quaternion.multiply(roll, given.turns) if own.four else given.turns)


@pytest.mark.parametrize("convention", ("Mixamo", "dog"))
def test_rolls_scales_and_places_do_not_change_a_posture(convention):
    plain = biped(convention)
    wanted = plain.extract(*plain.placed(posed(plain)))
    for seed, scale in ((1, 1.0), (2, 0.01), (3, 100.0)):
        own = biped(convention, seed, scale)
        assert max(gaps(wanted, own.extract(*own.placed(posed(own))))) < 1e-6
        assert own.height == pytest.approx(plain.height)


@pytest.mark.parametrize("convention", ("Unreal", "KayKit", "dog"))
def test_the_pose_of_another_one_points_limbs_the_same_way_and_lifts_the_hips_by_the_legs(convention):
    """Whatever names, rolls, scales and bind poses they have."""
    own, other = biped("dog" if convention == "dog" else "Mixamo", 4), biped(convention, 1, 100.0)
    given = other.placed(posed(other))
    pair = ((own, own.adopted(other, *given)), (other, given))
    ways = [unit(np.diff(pose[1][each.limbs[:, :3]], axis=1)) for each, pose in pair]
    assert np.abs(ways[0] - ways[1]).max() < 1e-6
    moved = [(each.extract(*pose).hip - each.hip0) / (each.leg + each.sole) for each, pose in pair]
    assert np.abs(moved[0] - moved[1]).max() < 1e-6


def test_ends_out_of_reach_are_pointed_at():
    own = biped("Mixamo")
    posture = own.extract(*own.placed(posed(own)))
    far = replace(posture, ends=posture.ends * 10.0)
    deltas, places = own.solve(far)
    assert np.isfinite(deltas).all()
    ways = places[own.limbs[:, 2]] - places[own.limbs[:, 0]]
    assert np.linalg.norm(ways, axis=1) == pytest.approx(own.upper + own.lower, rel=0.01)
    assert unit(ways) == pytest.approx(unit(far.ends - places[own.limbs[:, 0]]), abs=1e-6)


def test_who_lacks_an_arm_is_told_which_bone_is_missing():
    made, rig = convention_rigs.rig_of("Mixamo"), biped("Mixamo").rig
    anatomy, lost = made.recognise(), made.names.index("mixamorig:LeftForeArm")
    roles = (*anatomy.roles[:lost], HELPER, *anatomy.roles[lost + 1 :])
    refuses("left forearm", of_rig, rig, replace(anatomy, roles=roles), made.tails)
