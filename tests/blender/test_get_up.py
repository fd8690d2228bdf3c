"""Getting up by a plan in Blender: on real rigs, its record, a second hit, who cannot, and what is refused."""

import bpy
import numpy as np
import pytest

import falling
import knock_outs
import motion_figures
import own_characters
import rigs
from active_ragdoll.core.blender.physics import ground
from active_ragdoll.core.blender.rig.armature import array_of
from active_ragdoll.core.blender.run import get_up, records, recovery, simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import effects, lists
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools import viewport
from active_ragdoll.core.motion import biped
from demo import character, walk_cycle

OWN = "own mixamo"
OVER = (0.1, 0.1, 1.7), (0.1, 0.1, 1.8), (0.0, 0.0, 1.5), (0.0, 0.3, 2.0), (0.2, -0.3, 1.0)
ROOFS = (
    (OWN, 1.0, 0.2, 30, 41, "no room to stand"),
    (OWN, 0.6, 0.02, 30, 41, "is right over"),
    ("own dog", 0.46, 0.2, 30, 41, "is right over"),
    (OWN, 0.8, 0.2, 100, 140, 'bone "mixamorig:Head" off its way'),
)


def prepared(name, last=230, **settings):
    rig = rigs.load(name)
    knock_outs.prepare(rig.scene, rig.obj, rig.first, rig.first + last, get_up="AUTOMATIC", **settings)
    return rig.obj, rig.scene, rig.first


def placed(obj, poses) -> tuple:
    world = array_of(obj.matrix_world)
    own = get_up.biped(obj, place=world)
    return own, *own.placed(np.linalg.solve(world, poses)[..., own.rig.skeleton.to_level, :, :])


def figures(obj, poses) -> tuple:
    own, *motion = placed(obj, poses)
    return own, *motion, motion_figures.figures(own, *motion, rigs.FPS)


@pytest.mark.parametrize("name", (*own_characters.or_own("mh_mixamo.blend", own=(OWN,)), "own dog"))
def test_a_character_gets_up_by_a_plan_which_no_layer_disturbs_and_its_bodies_follow(name):
    obj, scene, _first = prepared(name, 270)
    rigs.changed(scene.rigidbody_world, substeps_per_frame=20, solver_iterations=40)  # as a build makes it
    if obj.animation_data:
        rigs.changed(stack_edits.add_layer(obj, scene, "CLIP", "", obj.animation_data.action), mask="ROLES")
    shown, targets, states = knock_outs.run(scene, obj)
    assert knock_outs.course(states) == knock_outs.COURSE
    up, done = knock_outs.first(states, "RECOVERING"), knock_outs.first(states, "BLENDING")
    way, after = records.record_of(obj, done + 1).passages
    assert way.planned is not None and after.planned is None and after.frame == done == up + way.planned.frame_count - 1
    frames = range(up + 1, done)
    made = [figures(obj, np.array([poses[frame] for frame in frames])) for poses in (targets, shown)]
    assert not any(motion_figures.beyond(found) for *_motion, found in made)
    own = made[0][0]
    places, simulated = (places[:, own.limbs[:, :2].ravel()] for _own, _deltas, places, _figures in made)
    off = np.linalg.norm(simulated - places, axis=-1) / own.height
    assert off.mean() < 0.02 and off[0].max() < 0.01  # nothing sags before the drives take hold
    pushes = [np.sqrt(np.mean(np.diff(p, n=2, axis=0) ** 2)) for p in (simulated, places)]
    assert pushes[0] < 1.3 * pushes[1]  # no joint is led to where physics holds it back
    rows = knock_outs.rows(obj)  # it stands where it lay, as its animation stands, and goes on without a jump
    jumps, wanted = knock_outs.jumps(obj, shown, rows), knock_outs.jumps(obj, targets, rows)
    assert np.linalg.norm(shown[up][rows[0], :2, 3] - shown[done + 6][rows[0], :2, 3]) < 0.8 * own.height
    assert all(jumps[frame] < knock_outs.LIMIT + wanted[frame] for frame in (done, done + 1))


def test_who_stands_is_led_in_full_also_while_the_animation_gets_to_its_pace():
    obj, scene, _first = prepared(OWN, 270)
    weights = {frame: getattr(records.recovery_of(obj), "weight", None) for frame in simulate.frames(scene)}
    way, after = records.record_of(obj, scene.frame_end).passages
    stands = round(way.frame + way.keys[-1] * rigs.FPS)
    assert after.frame - stands > 6 and all(weights[frame] > 0.999 for frame in range(stands, int(after.frame)))
    assert weights[stands - 10] < 0.99


@pytest.mark.parametrize("phase", (0, 6))
def test_a_walk_begins_out_of_the_stance_that_it_goes_on_with_and_throws_no_leg(phase):
    """Wherever in its cycle he stands up: feet are no quicker and no higher than the walk's own."""
    obj, _mesh = character.make_rigify_human(scene := rigs.empty_file())
    walk_cycle.make_walk_cycle(obj, scene, cycles=14)
    feet = [obj.data.bones.find(bone) for bone in ("foot.L", "foot.R")]
    own = np.array([*rigs.animation(obj, range(100, 150)).values()])[:, feet, :3, 3]
    knock_outs.prepare(scene, obj, 1, 300, {knock_outs.KNOCK + phase: "LIMP"}, get_up="AUTOMATIC")
    _shown, targets, states = knock_outs.run(scene, obj)
    stood = knock_outs.first(states, "RECOVERING") + int(records.record_of(obj, 300).passages[0].keys[-1] * rigs.FPS)
    ways = np.array([targets[frame][feet, :3, 3] for frame in range(stood - 1, 300)])
    assert len(ways) > 40
    (low, high), (least, most) = ((found[..., 2].min(), found[..., 2].max()) for found in (ways, own))
    assert low > least - 0.01 and high < most + 0.01
    quick, usual = (np.linalg.norm(np.diff(found, axis=0), axis=2).max() for found in (ways, own))
    assert quick < 1.1 * usual


@pytest.mark.blender_version
def test_a_plan_is_shown_again_when_scrubbed_and_from_its_record():
    obj, scene, _first = prepared(OWN, 199)
    _shown, targets, states = knock_outs.run(scene, obj)
    up = knock_outs.first(states, "RECOVERING")
    record = records.record_of(obj, up + 1)
    again = records.Record.from_text(record.to_text())
    motion, world = STATE.motions[obj.name], array_of(obj.matrix_world)
    for before, after in zip(record.passages, again.passages, strict=True):
        for frame in (up + 1, up + 30, up + 30.5, 190):
            poses = [p.pose(motion.rig, motion.rig.bind, world, frame) for p in (before, after)]
            assert all(np.array_equal(a, b) for a, b in zip(*(vars(p).values() for p in poses), strict=True))
    rigs.check_shown(scene, obj.active_ragdoll.target_armature, targets, (up + 40, up + 3, 190), 1e-6)
    drawn = viewport.plan_lines(obj, scene)  # the first figure lies, the last one stands
    sizes = np.ptp(drawn.ends[~drawn.emphasised].reshape(8, -1, 3)[..., 2], axis=1) / obj.active_ragdoll.height
    assert sizes[0] < 0.3 and sizes[-1] > 0.8 and drawn.emphasised.sum() > 100
    with pytest.MonkeyPatch.context() as slow:
        slow.setattr(viewport, "anatomy_of", None)  # only for the first drawing of a plan
        assert np.array_equal(viewport.plan_lines(obj, scene).ends, drawn.ends)
    stood = drawn.ends[drawn.emphasised][again.passages[0].planned.frame_count - 1 :][:2].mean(axis=(0, 1))
    above = stood - 2.0 * (down := np.array([0.0, 0.0, -1.0]))
    key, part, place = viewport.way_point_below(obj, scene, above, down)
    assert np.abs(place - stood).max() < 1e-5 and viewport.way_point_below(obj, scene, above + 9.0, down) is None
    scene.frame_set(up - 5)
    assert viewport.plan_lines(obj, scene) is None and viewport.way_point_below(obj, scene, above, down) is None
    moved = lists.add_item(obj.active_ragdoll.recovery, "way_points")
    moved.key, moved.part, moved.offset = key, effects.PARTS[part][0], (0.04, 0.0, 0.0)
    knock_outs.run(scene, obj)
    assert not np.array_equal(viewport.plan_lines(obj, scene).ends, drawn.ends)
    found = viewport.way_point_below(obj, scene, above + moved.offset[:], down)
    assert found[1] == part and np.abs(found[2] - stood - moved.offset).max() < 0.003  # it stands so in two postures


@pytest.mark.parametrize("way", ("BLEND", "ACTIONS", "CARRIED"))
def test_a_blend_takes_as_long_as_people_do_unless_an_action_is_carried_over_from_its_own_armature(way):
    obj, scene, _first = prepared(OWN, 170)
    make, scale, _skin = own_characters.TABLES["own unreal"]
    group, other = obj.active_ragdoll.recovery, own_characters.of_table(scene, "Other", make(), scale).obj
    rigs.roll_bones(other, 3)
    rigs.set_range(scene, 1, 171)
    group.get_up, group.get_up_face_up = "BLEND" if way == "BLEND" else "ACTIONS", other.animation_data.action
    there = rigs.shown(scene, other, (48,))[48]  # where the action ends
    if way != "CARRIED":
        bpy.data.objects.remove(other)
    shown, targets, states = knock_outs.run(scene, obj)
    assert ("append or link the armature" in STATE.messages.get(obj.name, "")) == (way == "ACTIONS")
    assert knock_outs.course(states) == knock_outs.COURSE
    up, done = knock_outs.first(states, "RECOVERING"), knock_outs.first(states, "BLENDING")
    if way == "CARRIED":  # the action stands
        assert fastest(obj, shown, states) < motion_figures.BOUNDS["foot"]
        both = (placed(obj, targets[int(records.record_of(obj, 170).passages[1].frame)]), placed(other, there))
        ways = (biped.unit(np.diff(at[own.limbs[:, :3]], axis=1).reshape(8, 3)) for own, _deltas, at in both)
        assert np.ptp([way @ way.T for way in ways], axis=0).max() < 0.08
    for poses in (targets, shown) if way != "CARRIED" else ():
        way = np.array([shown[up], *(poses[frame] for frame in range(up + 1, done + 1))])
        assert not motion_figures.beyond(figures(obj, way)[-1])


def test_dogs_that_fell_on_their_forelegs_get_up_by_plans_within_what_their_joints_allow():
    for tone, speed in ((falling.STUNNED, 1.0), (falling.STUNNED, 1.1), (falling.AWAKE, 1.3), (falling.AWAKE, 1.4)):
        falls = falling.fall("own dog", "back", *tone, speed, frames=70, get_up="AUTOMATIC", rest_time=0.5)
        assert records.record_of(falls.obj, bpy.context.scene.frame_end).passages[0].planned is not None
    surface = get_up._surface(records.recovery_of(falls.obj).character, own := get_up.biped(falls.obj))
    assert surface.extent(0, np.zeros(3), -biped.X) < 0.1 * own.height  # a tail is nothing to lie on


@pytest.mark.parametrize("rise", (0.0, 0.5, -0.5))
def test_hit_or_on_a_floor_that_moves_while_it_gets_up_it_falls_again_and_plans_anew(rise):
    obj, scene, _first = prepared(OWN, 329, events={9: "LIMP"} | ({} if rise else {110: "LIMP"}))
    scene.objects["Floor"].rigid_body.kinematic = True
    rigs.key(scene.objects["Floor"], "delta_location", {105: (0.0, 0.0, 0.0), 125: (0.0, 0.0, rise)})
    shown, _targets, states = knock_outs.run(scene, obj)
    assert states[106] == "RECOVERING" and {states[frame] for frame in range(111, 120)} & {"LIMP", "SETTLING"}
    assert ("the floor under it moves" in str(STATE.warnings)) == bool(rise)
    assert sum(p.planned is not None for p in records.record_of(obj, 330).passages) == 2 and states[330] == "ANIMATED"
    assert not STATE.runs[scene.name].effect("recoveries").by_name[obj.name].tried  # others wait again
    (low, high), (lain, _), (stood, top) = ((z.min(), z.max()) for z in (shown[f][:, 2, 3] for f in (1, 150, 330)))
    assert [lain, stood] == pytest.approx([low + rise] * 2, abs=0.1) and top > 0.9 * max(high, 1.0) + rise


def test_what_is_below_and_above_is_told_also_from_within_a_solid(fresh_scene):
    sizes = ((2, 2, 0.4), (0, 0, 0.2)), ((1, 1, 9), (5, 0, 4)), ((3, 3, 0.2), (0, 0, 1.5))
    boxes = [rigs.box(fresh_scene, "Box", *size) for size in (*sizes, *[((8, 2, 0), (9, 0, 2))] * 2)]
    boxes[0].rotation_euler.z, boxes[0].scale = 0.7, (1.5, 1.5, 1.0)
    for box in boxes[3:]:  # single faces that look up: a ceiling, and a slope that is upside down
        box.data.clear_geometry()
        box.data.from_pydata([(-4, -1, 0), (4, -1, 0), (4, 1, 0), (-4, 1, 0)], [], [(0, 1, 2, 3)])
    boxes[4].location.z, boxes[4].rotation_euler.y = 0.4, np.pi - 0.3
    graph = fresh_scene.view_layers[0].depsgraph
    graph.update()
    starts = np.array([(0.0, 0, 1), (1.4, 0, 1), (3, 0, 1), (5, 0, 1), (9, 0, 1)])
    below, above = ground.relief([box.evaluated_get(graph) for box in boxes], starts, 2.0)
    assert below == pytest.approx([0.4, 0.4, -np.inf, np.inf, 0.4])
    assert above == pytest.approx([1.4, 1.4, np.inf, 2.0, 2.0])


def fastest(obj, shown, states, bones=slice(None)) -> float:
    """Of its bones with bodies while it gets up [m/s], as of 1.8 m."""
    frames = [frame for frame, state in states.items() if state == "RECOVERING"]
    ways = np.array([(shown[frame] - shown[frame - 1])[knock_outs.rows(obj)[bones], :3, 3] for frame in frames])
    return np.linalg.norm(ways, axis=-1).max() * rigs.FPS / np.sqrt(obj.active_ragdoll.height / 1.8)


@pytest.mark.parametrize("name, over", [(OWN, over) for over in OVER] + [("own dog", (0.3, 0.0, 0.5))])
def test_of_two_who_lie_on_each_other_one_gets_up_after_the_other(name, over):
    # In the second case the upper one's head may roll about for seconds before he gets up.
    obj, scene, _first = prepared(name, 339 if over == OVER[1] else 259, rest_time=0.5)
    other = rigs.duplicate(obj)
    other.delta_location, other.delta_rotation_euler = over, (0.0, 0.0, np.pi / 2.0)
    found = {f: [(rigs.pose(o), o.active_ragdoll.state) for o in (obj, other)] for f in simulate.frames(scene)}
    for i, each in enumerate((obj, other)):
        shown, states = ({frame: own[i][k] for frame, own in found.items()} for k in (0, 1))
        assert fastest(each, shown, states, slice(1)) < np.hypot(*(motion_figures.BOUNDS[w] for w in ("up", "across")))
        places, (others, state) = shown[up := knock_outs.first(states, "RECOVERING")], found[up][1 - i]
        apart = np.linalg.norm(places[:, None, :3, 3] - others[:, :3, 3], axis=-1).min()
        assert state not in ("RECOVERING", "BLENDING") or apart > 0.3 * obj.active_ragdoll.height
    assert "lies on it or gets up there" in str(STATE.warnings)


def test_light_bodies_of_a_long_spine_that_are_pressed_into_the_floor_are_stopped_by_nothing(fresh_scene):
    obj = rigs.human(fresh_scene, spine=12)
    knock_outs.prepare(fresh_scene, obj, 1, 140, None, np.ones(26, bool), get_up="AUTOMATIC", rest_time=0.5)
    assert knock_outs.course(knock_outs.run(fresh_scene, obj)[2])[:5] == knock_outs.COURSE[:5]


@pytest.mark.parametrize("name, low, thick, comes, down, told", ROOFS)
def test_under_a_low_roof_it_stays_down_or_falls_again_until_that_is_gone(name, low, thick, comes, down, told):
    obj, scene, _first = prepared(name, comes + 109, events={9: "LIMP", 40: "RECOVERING"}, rest_time=0.5)
    roof = rigs.box(scene, "Roof", (60, 60, thick), (0, 0, 0), passive=True, kinematic=True)
    heights = {comes - 1: 30.0, comes: low, comes + 49: low, comes + 50: 30.0}
    rigs.key(roof, "delta_location", {frame: (0.0, 0.0, height) for frame, height in heights.items()})
    shown, _targets, states = knock_outs.run(scene, obj)
    assert told in STATE.warnings[obj.name][0]
    assert not {states[frame] for frame in range(down, comes + 50)} - {"LIMP", "SETTLING"}
    assert "RECOVERING" in {states[frame] for frame in range(comes + 50, comes + 80)}
    assert records.record_of(obj, comes + 109).passages[0].planned is not None or name != OWN
    assert fastest(obj, shown, states) < motion_figures.BOUNDS["foot"]


@pytest.mark.parametrize("how", ("AUTOMATIC", "BLEND"))
def test_against_a_wall_that_gravity_pulls_to_it_stays_down_until_it_pulls_to_the_floor(fresh_scene, how):
    obj = knock_outs.human(fresh_scene, 149, get_up=how, rest_time=0.5)
    rigs.box(fresh_scene, "Wall", (1, 60, 60), (2.0, 0, 0), passive=True)
    rigs.key(fresh_scene, "gravity", {99: (9.81, 0, 0), 100: (0, 0, -9.81)})
    fresh_scene.frame_set(1)
    _shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert not {states[frame] for frame in range(10, 100)} - {"LIMP", "SETTLING"}
    assert "RECOVERING" in {states[frame] for frame in range(100, 150)}
    assert "stays down: gravity does not pull" in STATE.warnings[obj.name][0]


def test_it_stays_down_where_it_is_told_to_and_falls_on_where_there_is_no_floor(scene):
    obj = knock_outs.human(scene, 90, get_up="STAY_DOWN")
    _shown, _targets, states = knock_outs.run(scene, obj)
    assert states[90] == "SETTLING" and "RECOVERING" not in states.values()
    scene.objects["Floor"].location.x, obj.active_ragdoll.recovery.get_up = 99.0, "AUTOMATIC"
    rigs.changed(obj.active_ragdoll.recovery.events.add(), frame=40, phase="RECOVERING")
    assert knock_outs.run(scene, obj)[2][41] == "LIMP"
    said = str(STATE.warnings[obj.name])
    assert "falls on: there is no floor" in said and "stays down: there is no floor under its hips" in said
    scene.use_gravity = False
    assert knock_outs.run(scene, obj)[2][41] == "RECOVERING"  # who floats needs none


def test_who_never_comes_to_rest_says_so(scene):
    obj = knock_outs.human(scene, 260, get_up="AUTOMATIC", rest_speed=0.0)
    assert knock_outs.run(scene, obj)[2][260] == "LIMP"
    assert STATE.warnings[obj.name] == ["'Human' stays down: it does not come to rest"]
    scene.objects["Floor"].location.x = 99.0
    knock_outs.run(scene, obj)
    assert STATE.warnings[obj.name] == ["'Human' falls on: there is no floor below it"]


def test_who_falls_each_time_it_gets_up_lies_for_long_until_it_is_told_to_try(monkeypatch):
    obj, scene, _first = prepared(OWN, 299, events={9: "LIMP", 250: "RECOVERING"}, rest_time=0.2)
    monkeypatch.setattr(recovery, "ASTRAY", 0.0)
    states = knock_outs.run(scene, obj)[2]
    tries = [frame for frame in states if states[frame] == "RECOVERING" != states[frame - 1]]
    assert len([frame for frame in tries if frame < 250]) == 4 and 250 in tries
    assert "fell 4 times while it got up" in str(STATE.warnings)


def test_who_sits_when_it_is_knocked_out_falls_over_before_it_gets_up():
    rig = own_characters.knight()
    rig.obj.animation_data.action = bpy.data.actions["Sit_Floor_Pose"]
    knock_outs.prepare(rig.scene, rig.obj, 1, 160, get_up="AUTOMATIC", rest_time=0.2, tone=0.25)
    shown, _targets, states = knock_outs.run(rig.scene, rig.obj)
    up, head = knock_outs.first(states, "RECOVERING"), rig.obj.data.bones.find("head")
    assert np.linalg.norm((shown[up] - shown[up - 1])[head, :3, 3]) * rigs.FPS < 0.2
    assert fastest(rig.obj, shown, states) < 2.0


@pytest.mark.parametrize("weight", (1.0, 0.2))
def test_who_has_no_feet_blends_and_stands_as_before_however_weak(fresh_scene, weight):
    table = {b: row for b, row in own_characters.TABLES[OWN][0]().items() if "Foot" not in b and "Toe" not in b}
    obj = own_characters.of_table(fresh_scene, "Footless", table).obj
    knock_outs.prepare(fresh_scene, obj, 1, 140, {9: "LIMP", 40: "RECOVERING"}, get_up="AUTOMATIC")
    rigs.set_weights(obj, weight)
    shown, _targets, states = knock_outs.run(fresh_scene, obj)
    assert STATE.warnings[obj.name] == ["'Footless' gets up by a blend: no bone is its left foot"]
    assert shown[140][0, 2, 3] == pytest.approx(shown[1][0, 2, 3], abs=0.1) and states[140] == "ANIMATED"


def test_a_solid_in_whose_place_another_one_comes_while_it_gets_up_stops_nothing(fresh_scene):
    obj = knock_outs.human(fresh_scene, 20, {9: "LIMP", 12: "RECOVERING"}, get_up="BLEND")
    box = rigs.box(fresh_scene, "Box", (1, 1, 1), (9, 0, 0), passive=True)
    rigs.play(fresh_scene, 1, 15)
    bpy.data.objects.remove(box)
    rigs.box(fresh_scene, "Other", (1, 1, 1), (9, 0, 0), passive=True)
    assert rigs.step(fresh_scene, (16, 17), lambda: obj.active_ragdoll.state) == ["RECOVERING"] * 2
