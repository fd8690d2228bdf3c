"""One character and one circling target: our look-at beside Blender's Damped Track and IK constraints.

The same bones turn in all cases, pelvis included, so that the feet move unless something holds them. Writes
look_at_compare.md, look_at_compare.json and look_at_compare.png.

    ours             the look-at chain and leg stabilisers as Set Up from Roles makes them, with the pelvis added
    ours, blended    the same with a blend speed, which lags behind the target and eases the turn behind the back
    Damped Track     a constraint on each bone of the chain, influences rising to 1 at the head
    ... and leg IK   the same, with Blender's IK constraint on both shins and the feet's rotation copied
    IK constraint    a bone in front of the eyes that Blender's IK draws to the target, IK limits as our limits
"""

import json
import math
import statistics
import time
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.anatomy.roles import of_role
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from demo import character, contact_sheet, importing, stage

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILE = "mh_game_engine.blend"
FIRST, LAST, ROUNDS = 1, 96, 5
RADIUS = 1.5  # of the character's height
PELVIS_LIMIT, PELVIS_UP = math.radians(20.0), 0.7
AHEAD = math.radians(100.0)  # a target this far to the side, or less, counts as in front
BEYOND = math.radians(0.1)  # past a limit by more is a violation
CASES = ("ours", "ours, blended", "Damped Track", "Damped Track and leg IK", "IK constraint")
BLEND_SPEED = 8.0  # [1/s]


def main(out: Path) -> None:
    """All cases, the table, and a contact sheet of the same frames."""
    table, sheets = {}, []
    for case in CASES:
        found, frames, picture = _run(case, out)
        table[case] = found
        sheets.append(picture)
        print(f"{case}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()), flush=True)
    (out / "look_at_compare.json").write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    (out / "look_at_compare.md").write_text(_markdown(table), encoding="utf-8")
    print((out / "look_at_compare.md").read_text(encoding="utf-8"))
    for case, picture in zip(CASES, sheets, strict=True):
        print(f"{case:24}{picture}, frames {frames}")


def _markdown(table: dict) -> str:
    keys = list(next(iter(table.values())))
    lines = ["| | " + " | ".join(CASES) + " |", "|---|" + "---|" * len(CASES)]
    lines += [f"| {key} | " + " | ".join(f"{table[case][key]:.3g}" for case in CASES) + " |" for key in keys]
    return "\n".join(lines) + "\n"


def _run(case: str, out: Path) -> tuple:
    """Figures of a case, the frames shown and the picture of them."""
    obj, scene = _character()
    target = _circling_target(obj, scene)
    plain = rigs.animation(obj, range(FIRST, LAST + 1))
    bare = _milliseconds(scene)
    stack_edits.set_up_look_at(obj, scene, target)
    chain = _with_pelvis(obj, scene)
    entries = [_entry_of(obj, entry) for entry in chain.entries]
    legs = [(item.foot_bone, item.bones_count) for item in obj.active_ragdoll.leg_stabilizers]
    if case == "ours, blended":
        chain.blend_speed = BLEND_SPEED
    elif case != "ours":
        while obj.active_ragdoll.target_armature is not None:
            for what in ("look_at", "leg_stabilizers"):
                if len(getattr(obj.active_ragdoll, what)):
                    stack_edits.remove(obj, what)
        {"Damped Track": _damped_track, "Damped Track and leg IK": _damped_track_and_legs, "IK constraint": _ik}[case](
            obj, scene, target, entries, legs, plain
        )
    found = _measure(obj, scene, target, entries, legs, plain)
    found["ms a frame beyond the animation alone"] = max(_milliseconds(scene) - bare, 0.0)
    picture = out / f"look_at_compare_{CASES.index(case) + 1}.png"
    frames = contact_sheet.evenly_spaced_frames(FIRST, LAST, 8)
    _make_stage(obj, scene)
    contact_sheet.render_contact_sheet(scene, frames, picture, columns=8, tile=(240, 250), caption=case.upper())
    return found, frames, picture


def _character() -> tuple:
    if (DATA / FILE).is_file():
        obj = importing.import_character(DATA / FILE).armature
    else:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        obj = character.make_rigify_human(bpy.context.scene)[0]
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_start, scene.frame_end = FIRST, LAST
    scene.frame_set(FIRST)
    return obj, scene


def _circling_target(obj, scene):
    """A ball that goes round the character once, at the height of its eyes, a little up and down."""
    places = rigs.pose(obj)[:, :3, 3]
    low, high = places[:, 2].min(), places[:, 2].max()
    mesh = bpy.data.meshes.new("Ball")
    stage._fill_sphere(mesh, 0.05 * (high - low))
    mesh.materials.append(character.make_material("ball", (0.75, 0.05, 0.04), roughness=0.3))
    ball = bpy.data.objects.new("Ball", mesh)
    scene.collection.objects.link(ball)
    for frame in range(FIRST, LAST + 1):
        turn = 2.0 * math.pi * (frame - FIRST) / (LAST + 1 - FIRST)
        height = low + (high - low) * (0.93 + 0.15 * math.sin(2.0 * turn))
        ball.location = Vector((math.sin(turn), -math.cos(turn), 0.0)) * RADIUS * (high - low)
        ball.location.z = height
        ball.keyframe_insert("location", frame=frame)
    return ball


def _with_pelvis(obj, scene):
    anatomy = anatomy_of(obj)
    pelvis = obj.data.bones[of_role(anatomy, roles.PELVIS)[0]].name
    chain = obj.active_ragdoll.look_at[0]
    if all(entry.bone != pelvis for entry in chain.entries):
        entry = stack_edits.add(obj, scene, "entries", pelvis)
        entry.limit, entry.rotate_around_up_weight = PELVIS_LIMIT, PELVIS_UP
    return chain


def _entry_of(obj, entry) -> tuple:
    """(bone, limit, forward axis in the bone, where it points in bind pose in the parent's frame)."""
    bone = obj.data.bones[entry.bone]
    rest = np.array(bone.matrix_local)
    if bone.parent is not None:
        rest = np.linalg.inv(np.array(bone.parent.matrix_local)) @ rest
    return entry.bone, entry.limit, np.array(entry.forward_axis), rest[:3, :3] @ np.array(entry.forward_axis)


# ---- Blender's own --------------------------------------------------------------------------------------------------


def _damped_track(obj, _scene, target, entries, _legs, _plain) -> None:
    """Influences as riggers set them: little below, all at the head."""
    for i, (name, _limit, axis, _bind) in enumerate(entries):
        constraint = obj.pose.bones[name].constraints.new("DAMPED_TRACK")
        constraint.target = target
        along = int(np.argmax(np.abs(axis)))
        constraint.track_axis = ("TRACK_" if axis[along] > 0 else "TRACK_NEGATIVE_") + "XYZ"[along]
        constraint.influence = 1.0 if i == 0 else 0.5 * (1.0 - i / len(entries))


def _damped_track_and_legs(obj, scene, target, entries, legs, plain) -> None:
    _damped_track(obj, scene, target, entries, legs, plain)
    for foot, count in legs:
        row = obj.data.bones.find(foot)
        holder = bpy.data.objects.new(f"{foot} holder", None)
        scene.collection.objects.link(holder)
        holder.rotation_mode = "QUATERNION"
        for frame in range(FIRST, LAST + 1):
            holder.matrix_world = _matrix(plain[frame][row])
            holder.keyframe_insert("location", frame=frame)
            holder.keyframe_insert("rotation_quaternion", frame=frame)
        constraint = obj.pose.bones[foot].parent.constraints.new("IK")
        constraint.target, constraint.chain_count = holder, count - 1
        copy = obj.pose.bones[foot].constraints.new("COPY_ROTATION")
        copy.target = holder


def _ik(obj, scene, target, entries, _legs, _plain) -> None:
    """A bone in front of the eyes is drawn to the target by all bones up to the pelvis."""
    name, _limit, axis, _bind = entries[0]
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    head = obj.data.edit_bones[name]
    ahead = (head.matrix.to_3x3() @ Vector(axis)).normalized()
    sight = obj.data.edit_bones.new("sight")
    sight.head = head.head
    sight.tail = head.head + ahead * 0.3 * max(bone.length for bone in obj.data.edit_bones)
    sight.parent = head
    bpy.ops.object.mode_set(mode="OBJECT")
    bones = {bone for bone, *_rest in entries}
    last, count = obj.pose.bones["sight"], 1
    while last.parent is not None and last.name != entries[-1][0]:
        last, count = last.parent, count + 1
        if last.name not in bones:
            last.lock_ik_x = last.lock_ik_y = last.lock_ik_z = True
    for bone, limit, *_rest in entries:
        for letter in "xyz":
            setattr(obj.pose.bones[bone], f"use_ik_limit_{letter}", True)
            setattr(obj.pose.bones[bone], f"ik_min_{letter}", -limit)
            setattr(obj.pose.bones[bone], f"ik_max_{letter}", limit)
    sight = obj.pose.bones["sight"]
    sight.lock_ik_x = sight.lock_ik_y = sight.lock_ik_z = True
    constraint = sight.constraints.new("IK")
    constraint.target, constraint.chain_count, constraint.use_stretch = target, count, False


def _matrix(array):
    from mathutils import Matrix

    return Matrix(array.tolist())


# ---- figures --------------------------------------------------------------------------------------------------------


def _measure(obj, scene, target, entries, legs, plain) -> dict:
    aims, fronts, slides, beyond, jumps = [], [], [], [], []
    before = None
    rows = {bone.name: i for i, bone in enumerate(obj.data.bones)}
    for frame in range(FIRST, LAST + 1):
        scene.frame_set(frame)
        pose = rigs.pose(obj)
        place = rigs.matrices([target])[0][:3, 3]
        name, _limit, axis, _bind = entries[0]
        sight, eye = pose[rows[name]][:3, :3] @ axis, pose[rows[name]][:3, 3]
        aims.append(_angle(sight, place - eye))
        fronts.append(abs(math.atan2(place[0], -place[1])) <= AHEAD)
        for foot, count in legs:
            length, bone = 0.0, obj.data.bones[foot]
            for _ in range(count - 1):
                length, bone = length + (bone.head_local - bone.parent.head_local).length, bone.parent
            length *= obj.matrix_world.median_scale
            slides.append(np.linalg.norm(pose[rows[foot]][:3, 3] - plain[frame][rows[foot]][:3, 3]) / length)
        for bone, limit, axis, bind in entries:
            parent = obj.data.bones[bone].parent
            above = pose[rows[parent.name]] if parent is not None else np.array(obj.matrix_world)
            beyond.append(_angle(pose[rows[bone]][:3, :3] @ axis, above[:3, :3] @ bind) - limit)
        if before is not None:
            jumps.append(_angle(before, sight))
        before = sight
    aims, fronts, beyond = np.degrees(aims), np.array(fronts), np.array(beyond)
    return {
        "median aim error, target in front [deg]": float(np.median(aims[fronts])),
        "largest aim error, target in front [deg]": float(aims[fronts].max()),
        "largest foot slide [% of the leg]": 100.0 * max(slides),
        "joints beyond their limit [% of frames and bones]": 100.0 * float(np.mean(beyond > BEYOND)),
        "farthest beyond a limit [deg]": float(np.degrees(max(beyond.max(), 0.0))),
        "largest turn of the sight in a frame [deg]": float(np.degrees(max(jumps))),
    }


def _angle(a, b) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def _milliseconds(scene) -> float:
    """Time of a frame that nine in ten exceed, over some rounds: a busy machine counts less."""
    times = []
    for _ in range(ROUNDS):
        scene.frame_set(FIRST)
        for frame in range(FIRST + 1, LAST + 1):
            began = time.perf_counter()
            scene.frame_set(frame)
            times.append(1e3 * (time.perf_counter() - began))
    return statistics.quantiles(times, n=10)[0]


def _make_stage(obj, scene) -> None:
    assert not pose_stack.characters(scene) or not pose_stack.of(obj).messages
    stage.make_light(scene)
    stage.set_render_look(scene)
    scene.display.shading.color_type = "TEXTURE"
    places = rigs.pose(obj)[:, :3, 3]
    high = places[:, 2].max() - places[:, 2].min()
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.lens = 62.0
    camera.data.clip_end = 100.0 * high
    camera.location = Vector((0.0, -3.4 * high, 0.75 * high)) + Vector((0.0, 0.0, places[:, 2].min()))
    camera.rotation_euler = (math.radians(86.0), 0.0, 0.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
