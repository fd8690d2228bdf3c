"""Settings as their declarations tell: edits on keyed characters count, profiles hold what the user has set."""

import numpy as np
import pytest

import holding
import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.settings import at_frame, declare
from active_ragdoll.core.blender.stack import stack_edits
from active_ragdoll.core.blender.tools import profiles
from active_ragdoll.core.profile import Profile
from active_ragdoll.operators import command_line
from holding import empty
from refusals import refuses


def in_a_strip(obj, path: str) -> None:
    """Key a setting in an action that only an NLA strip plays."""
    data = obj.animation_data_create()
    before = data.action
    data.action = None
    obj.keyframe_insert(path, frame=1)
    strip = data.nla_tracks.new().strips.new(data.action.name, 1, data.action)
    data.action = None
    if hasattr(strip, "action_slot"):
        assert strip.action_slot is not None
    data.action = before


# Every declared setting; a new one is covered without a change here.


def settings_in(group, kind=declare.SETTING):
    """(group, name, declaration) of all values of a kind in a property group, also in its groups and lists."""
    for owner, name, said in declare.walk(group):
        if said.kind == kind and said.holds is None and not said.points:
            yield owner, name, said


def another(group, name):
    """Another value that a setting can have."""
    prop, value = group.bl_rna.properties[name], getattr(group, name)
    if prop.type == "BOOLEAN":
        return not value
    if prop.type == "STRING":
        return f"{value} other"
    if prop.type == "ENUM":
        choices = [item.identifier for item in prop.enum_items]
        if prop.is_enum_flag:
            return {next(choice for choice in choices if choice not in value)}
        return choices[choices.index(value) - 1]
    step = 1 if prop.type == "INT" else 0.25
    if prop.is_array:
        return [max(v - step, prop.hard_min) if v + step > prop.hard_max else v + step for v in value]
    return max(value - step, prop.hard_min) if value + step > prop.hard_max else value + step


def plain(value):
    """A value that does not change with the setting."""
    return value if isinstance(value, bool | int | float | str | set) else tuple(value)


def fill(group) -> None:
    """An item in every list, and in every list of such an item."""
    for name, said in declare.declarations(type(group)).items():
        if said.kind != declare.SETTING or said.holds is None:
            continue
        if said.is_list and not len(getattr(group, name)):
            getattr(group, name).add()
        for inner in getattr(group, name) if said.is_list else (getattr(group, name),):
            fill(inner)


def test_every_setting_edited_on_a_keyed_character_is_read_at_the_next_frame(fresh_scene):
    obj = rigs.ragdoll(fresh_scene, 12)
    obj.keyframe_insert("active_ragdoll.rotation_weight", frame=1)
    rigs.play(fresh_scene, 1, 3)
    fill(obj.active_ragdoll)
    bone = obj.active_ragdoll.parts[3].bone
    count = 0
    for owner in (obj, obj.pose.bones[bone]):
        for group, name, _said in settings_in(owner.active_ragdoll):
            if (group, name) != (obj.active_ragdoll, "rotation_weight"):  # whose keys win
                setattr(group, name, another(group, name))
                count += 1
    assert count > 230
    rigs.play(fresh_scene, 4, 4)
    now = at_frame.owner(obj, at_frame.is_keyed(obj))
    assert now != obj
    unread = []
    for own, its in ((obj, now), (obj.pose.bones[bone], now.pose.bones[bone])):
        pairs = zip(settings_in(own.active_ragdoll), settings_in(its.active_ragdoll), strict=True)
        unread += [a[1] for a, b in pairs if plain(getattr(*a[:2])) != plain(getattr(*b[:2]))]
    assert not unread


def full_character(scene):
    """A simulated human with something in every list that acts in a shot, all of it at work."""
    obj = rigs.swinging_human(scene, 1, 80)
    looked_at = empty(scene, {1: (0.5, -2.0, 1.2), 80: (-0.5, -2.0, 1.8)})
    stack_edits.ensure(obj, scene)
    own = obj.active_ragdoll
    chain = own.look_at.add()
    chain.target, chain.weight = looked_at, 0.5
    for bone in ("head", "spine"):
        chain.entries.add().bone = bone
    own.leg_stabilizers.add().foot_bone = "foot.L"
    rigs.changed(own.two_bone_ik.add(), end_bone="finger.R", weight=0.5, effector_location=(-0.4, -0.3, 1.2))
    rigs.changed(own.bone_transforms.add(), bone="head", rotation=(0.1, 0.0, 0.0), rotation_mode="ADD", weight=0.5)
    space = own.blend_spaces.add()
    for x in (0.0, 1.0):
        rigs.changed(space.samples.add(), action=obj.animation_data.action, x=x, speed=1.0 + x)
    for source in ("CLIP", "BLEND_SPACE"):
        layer = own.layers.add()
        rigs.changed(layer, source=source, weight=0.3, blend_space=space.name, action=obj.animation_data.action)
    state, parameter = own.graph.states.add(), own.graph.parameters.add()
    state.action, parameter.name, own.graph.weight, own.graph.enabled = obj.animation_data.action, "speed", 0.4, True
    build.build(obj, scene)
    holding.attach(obj, looked_at, bone="forearm.L", max_force=20.0)
    rigs.changed(own.hits.add(), bone="spine", frame=3, impulse=(0.0, 5.0, 0.0))
    rigs.changed(own.explosions.add(), frame=5, impulse=1.0)
    own.recovery.enabled = True
    own.recovery.events.add().phase = "ACTIVE"
    own.rotation_weight, own.translation_weight = 0.6, 0.4
    return obj


def edits(obj) -> dict:
    """All settings that act without a new build, but for the one that is keyed: those of one group and kind at once."""
    found: dict = {}
    for owner in (obj, obj.pose.bones["forearm.R"]):
        for group, name, said in settings_in(owner.active_ragdoll):
            if said.needs not in (None, declare.REBUILD) and (owner, name) != (obj, "translation_weight"):
                kind = type(group).__name__, group.bl_rna.properties[name].type.replace("INT", "FLOAT")
                found.setdefault(kind, []).append((group, name, getattr(group, name), another(group, name)))
    return found


def shown_after_edits(keyed: bool) -> list:
    """(edits, bodies, pose of the target, recovery's settings) after frames with some edits, each then taken back."""
    scene = rigs.empty_file()
    obj = full_character(scene)
    if keyed:
        obj.keyframe_insert("active_ragdoll.translation_weight", frame=1)
    found = []
    target = obj.active_ragdoll.target_armature
    for i, (what, settings) in enumerate(edits(obj).items()):
        if i % 10 == 0:  # stacks that are made anew catch up with the shot: the longer, the more costly
            rigs.play(scene, 1, 3)
        before = [plain(value) for _group, _name, value, _new in settings]
        for group, name, _old, new in settings:
            setattr(group, name, new)
        scene.frame_set(4 + i % 10)
        assert scene.name in STATE.runs, (what, STATE.messages)
        recovery = STATE.runs[scene.name].effect("recoveries").by_name[obj.name].settings
        found.append((what, rigs.bodies(obj), [np.array(bone.matrix_basis) for bone in target.pose.bones], recovery))
        for (group, name, *_), value in zip(settings, before, strict=True):
            setattr(group, name, value)
    return found


def test_every_setting_edited_in_mid_shot_acts_on_a_keyed_character_as_on_others():
    """The key has the value that is set anyway, so the runs have to be the same bit for bit."""
    plain, keyed = shown_after_edits(keyed=False), shown_after_edits(keyed=True)
    assert len(plain) == len(keyed) > 40
    for (edit, bodies, pose, recovery), other in zip(plain, keyed, strict=True):
        assert np.array_equal(pose, other[2]) and recovery == other[3], edit
        assert np.array_equal(bodies, other[1]), edit


@pytest.mark.parametrize("owner", ("character", "bone"))
def test_a_profile_holds_all_settings_and_no_state_of_the_interface(fresh_scene, monkeypatch, owner):
    obj = rigs.human(fresh_scene)
    build.build(obj, fresh_scene)
    group = (obj if owner == "character" else obj.pose.bones["head"]).active_ragdoll
    declared = declare.declarations(type(group))
    assert {p.identifier for p in group.bl_rna.properties} - {"rna_type", "name"} == declared.keys()
    monkeypatch.setattr(STATE, "building", True)  # callbacks would set other settings
    kinds = set()
    for name, said in declared.items():
        if said.kind == declare.DERIVED or said.points or said.holds is not None:
            continue
        value, before = plain(getattr(group, name)), profiles.collect(obj)
        setattr(group, name, "[[0.0, 0.0, 1.0]]" if name == "body_points" else another(group, name))
        after = profiles.collect(obj)
        setattr(group, name, value)
        held = before.object != after.object if owner == "character" else before.entries != after.entries
        assert held == (said.kind == declare.SETTING), name
        kinds.add(said.kind)
    assert kinds == {declare.SETTING, declare.RECORD} | ({declare.INTERFACE} if owner == "character" else set())


def test_options_and_profiles_know_what_a_strip_keys(fresh_scene):
    obj = rigs.swinging_human(fresh_scene, 1, 10)
    command_line._set(obj, "rotation_weight", 0.5)
    in_a_strip(obj, "active_ragdoll.rotation_weight")
    refuses("rotation weight of 'Human' is keyed or driven", command_line._set, obj, "rotation_weight", 0.5)
    command_line._set(obj, "translation_weight", 0.5)
    (note,) = profiles.apply(obj, Profile({"rotation_weight": 0.5})).notes
    assert "rotation_weight of 'Human' keyed or driven" in note
    obj.animation_data.nla_tracks[0].mute = True
    assert not at_frame.is_keyed(obj) and not at_frame.is_keyed(obj, "rotation_weight")
