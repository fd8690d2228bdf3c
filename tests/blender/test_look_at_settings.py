"""Look-at and leg stabilisers: settings, operators, what cannot be; on real characters, in renders, under physics."""

import math

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import bake, look_at_api
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from refusals import refuses


@pytest.fixture
def human(fresh_scene):
    return looking.to_its_side(fresh_scene, rigs.swinging_human(fresh_scene, 1, 48))


def test_the_weight_functions_store_events_at_frames(human, fresh_scene):
    api = look_at_api
    fresh_scene.frame_set(1)
    assert api.get_look_at_weight(human) == 1.0 and not api.is_in_transition(human)
    assert api.disable_look_at(human, 1.0, frame=5)
    assert api.get_look_at_weight(human, frame=11) == pytest.approx(0.75)
    assert api.time_to_finish_transition(human, frame=11) == pytest.approx(0.75)
    assert not api.is_in_transition(human, frame=30)
    # A call that does not cancel is ignored meanwhile; by default it cancels.
    assert not api.enable_look_at(human, 0.5, False, frame=17)
    assert api.enable_look_at(human, 0.5, frame=17)
    assert api.get_look_at_weight(human, frame=23) == pytest.approx(0.75)
    api.set_look_at_weight(human, 0.2, frame=20)
    assert api.get_look_at_weight(human, frame=21) == pytest.approx(0.2)
    api.clear_events(human)
    assert api.get_look_at_weight(human, frame=21) == 1.0
    wrong = ((api.get_look_at_weight, 3, "look-at chain 3"), (api.set_look_at_weight, 1.5, r"1\.5"))
    for call, value, words in (*wrong, (api.enable_look_at, -1.0, "-1")):
        refuses(words, call, human, value)


OPERATORS = bpy.ops.active_ragdoll


def messages(obj, scene, frame=5) -> str:
    scene.frame_set(frame)
    return " | ".join(pose_stack.of(obj).messages.values())


def _chain(obj):
    return obj.active_ragdoll.look_at[0]


def _target():
    return bpy.data.objects["Target"]


BAD = {
    "renamed bone": (lambda obj: setattr(obj.data.bones["head"], "name", "skull"), '"head"', "Look-at"),
    "twice": (lambda obj: rigs.changed(_chain(obj).entries.add(), bone="head"), '"head"', "twice"),
    "no ancestor": (lambda obj: setattr(_chain(obj).entries.add(), "bone", "arm.L"), '"arm.L"', '"spine"', "ancestor"),
    "linked": (lambda obj: setattr(_chain(obj).entries[0].linked_bones.add(), "bone", "spine"), '"spine"', '"head"'),
    "no entries": (lambda obj: _chain(obj).entries.clear(), "Look-at", "no entries"),
    "no target": (lambda _obj: bpy.data.objects.remove(_target()), "Look-at", "missing"),
    "unlinked": (lambda _obj: bpy.context.scene.collection.objects.unlink(_target()), "Target", "not in the scene"),
    "not a number": (lambda _obj: setattr(_target().location, "x", math.nan), "Look-at", "not a number"),
    "no target bone": (lambda obj: rigs.changed(_chain(obj), target=obj, target_bone="nose"), "Look-at", "nose"),
    "no up": (lambda obj: setattr(_chain(obj), "up_vector", (0.0, 0.0, 0.0)), "direction"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_is_named_and_the_rest_goes_on(human, fresh_scene, what):
    spoil, *words = BAD[what]
    item = stack_edits.add(human, fresh_scene, "bone_transforms", "arm.R")
    rigs.changed(item, rotation_mode="ADD", rotation=(0.0, 0.0, 0.7), enabled=False)
    fresh_scene.frame_set(5)
    row = human.data.bones.find("arm.R")
    before = rigs.pose(human)[row]
    item.enabled = True
    spoil(human)
    pose_stack.forget()
    text = messages(human, fresh_scene)
    assert all(word in text for word in words), text
    assert rigs.angles(rigs.pose(human)[row], before) > 10.0


@pytest.mark.blender_version
def test_one_click_makes_the_whole_chain(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 24)
    assert OPERATORS.setup_look_at() == {"FINISHED"}
    settings = obj.active_ragdoll
    chain = settings.look_at[0]
    assert [entry.bone for entry in chain.entries] == ["head", "spine"]
    assert {leg.foot_bone for leg in settings.leg_stabilizers} == {"foot.L", "foot.R"}
    assert chain.target.name == "Human Look Target"
    chain.target.location.x += 0.7
    fresh_scene.frame_set(9)
    assert looking.aim_error(obj, chain.target) < 0.05
    assert OPERATORS.setup_look_at() == {"FINISHED"}  # again: nothing twice, the target stays
    assert (len(settings.look_at), len(settings.leg_stabilizers)) == (1, 2)
    assert len(settings.look_at[0].entries) == 2 and settings.look_at[0].target.name == "Human Look Target"
    rigs.empty(fresh_scene, "Lamp").select_set(True)
    other = rigs.human(fresh_scene, "Other")
    assert OPERATORS.setup_look_at() == {"FINISHED"}
    assert other.active_ragdoll.look_at[0].target.name == "Lamp"
    for target, words in (("Moon", "no object 'Moon'"), ("Other", "itself")):
        with pytest.raises(RuntimeError, match=words):
            OPERATORS.setup_look_at(target=target)


@pytest.mark.blender_version
def test_lists_are_edited_by_operators(fresh_scene):
    settings = rigs.human(fresh_scene).active_ragdoll
    assert OPERATORS.motion_add(what="look_at") == {"FINISHED"}
    assert OPERATORS.motion_add(what="entries", bone="head") == {"FINISHED"}
    assert OPERATORS.motion_add(what="entries") == {"FINISHED"}
    entries = settings.look_at[0].entries
    assert OPERATORS.motion_move(what="entries", direction="UP") == {"FINISHED"}
    assert [entry.bone for entry in entries] == ["spine", "head"]
    for what, bone in (("linked_bones", "arm.L"), ("leg_stabilizers", "foot.L"), ("two_bone_ik", "forearm.L")):
        assert OPERATORS.motion_add(what=what, bone=bone) == {"FINISHED"}
    assert len(entries[0].linked_bones) == 1 and settings.leg_stabilizers[0].bones_count == 3
    for what in ("linked_bones", "entries", "entries", "look_at", "leg_stabilizers", "two_bone_ik"):
        assert settings.target_armature is not None and OPERATORS.motion_remove(what=what) == {"FINISHED"}
    assert settings.target_armature is None, "with the last item the stack goes"
    for operator, given, words in (
        (OPERATORS.motion_remove, {"what": "look_at"}, "nothing to remove"),
        (OPERATORS.motion_add, {"what": "bone_transforms", "bone": "nose"}, "no bone 'nose'"),
        (OPERATORS.motion_add, {"what": "entries"}, "add one first"),
    ):
        with pytest.raises(RuntimeError, match=words):
            operator(**given)


def test_axes_are_found_and_shown_and_a_choice_is_kept(human):
    entry = human.active_ragdoll.look_at[0].entries[0]
    found = tuple(entry.forward_axis)
    assert entry.axes_from == "AUTO"
    world = np.array(human.data.bones["head"].matrix_local)[:3, :3] @ np.array(found)
    assert np.allclose(world, (0.0, -1.0, 0.0), atol=1e-5), "the character faces -Y"
    entry.forward_axis = (1.0, 0.0, 0.0)
    assert entry.axes_from == "USER"
    entry.bone = "spine"
    assert tuple(entry.forward_axis) == (1.0, 0.0, 0.0)
    assert OPERATORS.find_look_at_axes() == {"FINISHED"}
    entry.bone = "head"
    assert np.allclose(entry.forward_axis, found) and entry.axes_from == "AUTO"


AIM = 0.05  # [deg]
PLANTED = 1e-4  # leg lengths


@pytest.mark.parametrize("name", ("Knight.glb", "animals_pack_Horse.glb", "01_01.bvh", "metarig Animals.wolf"))
def test_it_looks_with_planted_feet_scrubs_and_bakes(data_dir, name):
    rig, target, plain = looking.set_up(name, data_dir)
    obj, frames = rig.obj, range(rig.first, rig.last + 1)
    assert len(obj.active_ragdoll.look_at[0].entries) >= 3
    assert len(obj.active_ragdoll.leg_stabilizers) == looking.REAL[name]
    played = {}
    for frame in frames:
        rig.scene.frame_set(frame)
        played[frame] = rigs.pose(obj)
        assert looking.aim_error(obj, target) < AIM
        moved, turned = looking.foot_errors(obj, played[frame], plain[frame])
        assert moved < PLANTED and turned < 0.01
    assert not pose_stack.of(obj).messages
    assert max(rigs.angles(played[f], plain[f]).max() for f in frames) > 15.0
    looking.scrubs_as_played(rig.scene, obj, played, np.random.default_rng(1).permutation(list(frames))[:8].tolist())
    list(bake.bake_frames(obj, rig.scene))
    size = looking.size_of(obj)
    for frame, pose in rigs.shown(rig.scene, rig.obj, list(frames)[::5]).items():
        assert np.abs(pose - played[frame])[:, :3, 3].max() < 1e-5 * size
        assert rigs.angles(pose, played[frame]).max() < 0.02


def crouch_and_turn(obj, scene, up: float = 0.7, sinks: float = 0.04) -> list[str]:
    """Let the hips sink, feet held, so that knees have room; and turn what feet hang on, with little left to the bones
    above. Those bones."""
    chain, bones = obj.active_ragdoll.look_at[0], obj.data.bones
    feet = [bones[leg.foot_bone] for leg in obj.active_ragdoll.leg_stabilizers]
    while not all(bones[chain.entries[-1].bone] in foot.parent_recursive for foot in feet):
        stack_edits.add(obj, scene, "entries", bones[chain.entries[-1].bone].parent.name)
    carriers = [e for e in chain.entries if any(bones[e.bone] in foot.parent_recursive for foot in feet)]
    for entry in chain.entries:
        entry.limit = 0.25 if entry in carriers else 0.2 * entry.limit
        entry.rotate_around_up_weight = up if entry in carriers else entry.rotate_around_up_weight
    sink = stack_edits.add(obj, scene, "bone_transforms", chain.entries[-1].bone)
    sink.translation_mode, sink.translation_space, sink.rotation_mode = "ADD", "WORLD", "IGNORE"
    sink.translation = (0.0, 0.0, -sinks * looking.size_of(obj))
    sink.marks_reference = True
    return [entry.bone for entry in carriers]


# The spine of run.fbx carries the hips, the chest of wolves, dogs and foxes the front legs.
TURNING = ("run.fbx", "Fox.glb", "metarig Animals.wolf", "own dog", "own bird")
LIVE = ("own dog", 1.0, True), ("metarig human", 1.0, True)
HELD = {False: (PLANTED, 0.01), True: (1e-3, 0.5)}  # leg lengths and [deg], without physics and with it


@pytest.mark.parametrize(("name", "up", "live"), (*((n, up, False) for n in TURNING for up in (0.0, 1.0)), *LIVE))
def test_feet_stay_planted_while_the_chain_turns_what_they_hang_on(data_dir, name, up, live):
    rig, _target, plain = looking.set_up(name, data_dir, 24 if live else 12)
    carriers = crouch_and_turn(rig.obj, rig.scene, up, 0.16)
    if live:
        build.build(rig.obj, rig.scene)
    rows = [rig.obj.data.bones.find(bone) for bone in carriers]
    turned = 0.0
    for frame, pose in rigs.shown(rig.scene, rig.obj, range(rig.first, rig.last + 1)).items():
        turned = np.maximum(turned, rigs.angles(pose[rows], plain[frame][rows]))
        assert np.all(np.less(looking.foot_errors(rig.obj, pose, plain[frame]), HELD[live])), frame
    assert turned.max() > 12.0, "nothing turns above the legs"
    assert rig.obj.active_ragdoll.run_state == ("LIVE" if live else "NONE")


def test_a_character_knocked_out_lets_its_feet_go(fresh_scene):
    """The stack's pose has the feet planted until the fall, and where the hips take them from then on."""
    obj = rigs.swinging_human(fresh_scene, 1, 30)
    plain = rigs.animation(obj, range(1, 31))
    stack_edits.set_up_look_at(obj, fresh_scene, rigs.empty(fresh_scene, "Target", (2.0, -0.5, 0.4)))
    crouch_and_turn(obj, fresh_scene)
    rigs.box(fresh_scene, "Floor", (20, 20, 1), (0, 0, -0.55), passive=True)
    for leg in obj.active_ragdoll.leg_stabilizers:
        leg.off_while_limp = True
    OPERATORS.build()
    OPERATORS.setup_recovery()
    fresh_scene.frame_set(12)
    OPERATORS.add_recovery_event(phase="LIMP")
    ghost = obj.active_ragdoll.target_armature
    poses = enumerate(rigs.step(fresh_scene, range(1, 26), lambda: rigs.pose(ghost)), 1)
    planted = {frame: looking.foot_errors(obj, pose, plain[frame])[0] for frame, pose in poses}
    assert max(planted[frame] for frame in range(1, 12)) < 1e-4
    assert min(planted[frame] for frame in range(14, 26)) > 0.02
    played = rigs.pose(ghost)  # a jump shows what was played
    fresh_scene.frame_set(8)
    assert looking.foot_errors(obj, rigs.pose(ghost), plain[8])[0] < 1e-4
    fresh_scene.frame_set(25)
    assert np.abs(rigs.pose(ghost) - played).max() < 1e-5
