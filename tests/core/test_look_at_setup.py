"""Chains, axes and legs come from roles, whatever way the bones point; the drawing of a chain says what it is."""

import anatomies
import numpy as np
import pytest
from motion_rigs import aim_error, angle, rig

from core import quaternion
from core.anatomy import roles as r
from core.motion import limbs, stack
from core.motion.look_at.chain import LookAt, from_roles
from core.ragdoll import overlay
from refusals import refuses


def rig_of(body, seed=0, scale=1.0):
    """Joints of a body as a rig whose bones' axes point anywhere."""
    above = [body.names[parent] if parent >= 0 else None for parent in body.parents]
    return rig(dict(zip(body.names, zip(above, body.heads))), seed, {body.names[0]: scale})


def with_eyes(body):
    """The same character with two eyes on its head."""
    table = {}
    for i, name in enumerate(body.names):
        if not name.endswith(".R"):
            parent = body.names[body.parents[i]] if body.parents[i] >= 0 else ""
            table[name] = (body.anatomy.roles[i], body.anatomy.sides[i], parent, body.heads[i], body.tails[i])
    at = table["head"][3] + np.array([0.03, -0.1, 0.1])
    table["eye.L"] = (r.EYE, r.LEFT, "head", at, at + np.array([0, -0.02, 0]))
    return anatomies.body(table, body.anatomy.kind)


@pytest.mark.parametrize(("seed", "scale"), [(0, -1.0), (1, 0.01), (2, 1.0)])
def test_human(seed, scale):
    rng = np.random.default_rng(seed)
    turn = quaternion.from_axis_angle((0, 0, 1), rng.uniform(-3, 3))  # facing anywhere, upright along Z or along Y
    if seed == 1:
        turn = quaternion.multiply(quaternion.from_axis_angle((1, 0, 0), -np.pi / 2), turn)
    body = with_eyes(anatomies.human()).moved(turn, 1.7, (1, 2, 3))
    own = rig_of(body, seed, scale)
    setup = from_roles(own, body.anatomy)
    assert [own.name(e.bone) for e in setup.entries] == ["eye.L", "head", "neck", "chest", "spine"]
    assert [e.up_weight for e in setup.entries] == [0, 0, 0, 0.2, 0.7]
    assert [own.name(link.bone) for link in setup.entries[0].linked] == ["eye.R"]
    assert {(own.name(foot), count) for foot, count in setup.legs} == {("foot.L", 3), ("foot.R", 3)}
    forward = quaternion.rotate(turn, (0, -1, 0))
    for e in setup.entries:
        axis = quaternion.rotate(own.bind_rotations[e.bone], own.bind_scales[e.bone] * e.forward_axis)
        assert angle(axis, forward) < 1e-6
    look = LookAt(own, setup.entries, up=quaternion.rotate(turn, (0, 0, 1)))
    target = body.heads[body.row("head")] + 3 * quaternion.rotate(turn, (1, -1, 0.3))
    pose, _ = look.apply(own, own.bind, stack.Inputs(target=target))
    assert aim_error(own, look, pose, target) < np.radians(0.05)


def test_dog_stands_on_four_legs_of_toes():
    body = with_eyes(anatomies.dog())
    own = rig_of(body)
    setup = from_roles(own, body.anatomy)
    assert [own.name(e.bone) for e in setup.entries] == ["eye.L", "head", "neck", "chest", "spine"]
    legs = {(own.name(foot), count) for foot, count in setup.legs}
    assert legs == {("toe.L", 4), ("toe.R", 4), ("hand.L", 3), ("hand.R", 3)}
    target = body.heads[body.row("head")] + np.array([0.4, 3.0, 0.2])
    pose, _ = LookAt(own, setup.entries).apply(own, own.bind, stack.Inputs(target=target))
    moved = pose.model(own.skeleton)[0]
    legs = [limbs.LegStabilizer(own, foot, count) for foot, count in setup.legs]
    planted = limbs.stabilize(legs, own, pose, stack.Inputs(reference=own.bind)).model(own.skeleton)[0]
    front = own.index["hand.L"]
    assert np.linalg.norm(moved[front] - own.bind_positions[front]) > 0.01
    for leg in legs:
        joints = own.bind_positions[list(leg.bones)]
        length = np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
        lacking = np.linalg.norm(joints[-1] - moved[leg.bones[0]]) - length
        assert np.linalg.norm(planted[leg.foot_bone] - joints[-1]) == pytest.approx(max(lacking, 0), abs=1e-6)


def test_without_eyes_the_head_is_first_and_without_a_head_it_is_refused():
    body = anatomies.human()
    own = rig_of(body)
    assert own.name(from_roles(own, body.anatomy).entries[0].bone) == "head"
    nothing = r.Anatomy((r.GENERIC,) * len(body.names), body.anatomy.sides, body.anatomy.order, r.CREATURE, None)
    refuses("head or neck", from_roles, own, nothing)


@pytest.mark.parametrize("half", (0.2, 1.7))
def test_a_cone_stands_at_its_angle_and_out_when_its_limit_is_reached(half):
    axis = np.array((0.48, -0.6, 0.64))
    forward = quaternion.rotate(quaternion.from_axis_angle(np.cross(axis, (1.0, 0.0, 0.0)), half), axis)
    for beyond, color in ((0.1, overlay.CONE), (0.0, overlay.CONE_AT_LIMIT)):
        ends, colors = overlay.look_at_lines([0.0 * axis], [forward], [axis], [half + beyond], None, 0.6)
        rim = ends[(colors == np.array(color)).all(axis=1)][:48].reshape(-1, 3)
        assert np.allclose(np.linalg.norm(rim, axis=1), 0.3) and np.allclose(rim @ axis / 0.3, np.cos(half + beyond))
