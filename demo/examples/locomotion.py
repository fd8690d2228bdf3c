"""Idle, walk and run in a blend space that follows the measured speed; on top of it a lean, an aim offset, a look-at,
and the active ragdoll with a hit in mid-run.

The knight of ../shared/data with three of its 76 actions where that folder is, else Rigify's human with generated ones.
Writes locomotion.blend, locomotion.json and locomotion.png.
"""

import json
import math
import time
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.anatomy.roles import of_role
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig import action_channels, clips
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.stack import blend_spaces, pose_stack, stack_edits
from active_ragdoll.core.blender.stack.entries.look_at import rig_of
from active_ragdoll.core.motion.clip import contact_markers
from active_ragdoll.core.motion.look_at.chain import upright_axes
from demo import character, contact_sheet, importing, stage, walk_cycle

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CLIPS = {"idle": "Idle", "walk": "Walking_A", "run": "Running_A"}
LEFT_OUT = ("Offhand", "2H_", "Badge", "Rectangle", "Spike", "Icosphere")  # spare props of the knight, bone shapes
HEIGHT, FPS, FIRST, LAST = 1.75, 24, 1, 193
HIT = 150
WEIGHTS = 0.75, 0.5  # rotation and translation around the hit
# Seconds and shares of the run's speed: standing, walking (-1: the walk's own speed), running.
SPEEDS = ((0.0, 0.0), (1.0, 0.0), (1.8, -1.0), (3.6, -1.0), (4.6, 1.0), (8.0, 1.0))
TURN = (5.2, 7.2, math.radians(80.0))  # begins, ends [s], how far to the left
LEAN, AIM = 14.0, (60.0, 35.0)  # [deg]


def main(out: Path) -> None:
    """Make the shot, measure it, and draw the contact sheet."""
    scene, obj, actions = _knight() if (DATA / "Knight.glb").is_file() else _metarig()
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = FPS, 1.0, FIRST, LAST
    leans = [_turned(obj, "FORWARD", angle) for angle in (-LEAN, 0.0, LEAN)]
    aims = [((0.0, 0.0), _turned(obj, "UP", 0.0))]
    aims += [((side * AIM[0], 0.0), _turned(obj, "UP", side * AIM[0])) for side in (-1.0, 1.0)]
    aims += [((0.0, side * AIM[1]), _turned(obj, "LEFT", -side * AIM[1])) for side in (-1.0, 1.0)]
    natural = {name: _ground_speed(obj, action) for name, action in actions.items()}
    natural["idle"] = 0.0
    own_run, natural["run"] = natural["run"], max(natural["run"], 1.6 * natural["walk"])
    path = _walk_along(obj, natural)
    ball = _moving_ball(scene, path)
    _locomotion(obj, scene, actions, natural, natural["run"] / own_run)
    _lean(obj, scene, leans, path)
    _aim(obj, scene, aims, ball)
    stack_edits.set_up_look_at(obj, scene, ball)
    obj.active_ragdoll.look_at[0].weight = 0.6
    without_physics = _cost(scene, obj)
    _stage(scene, obj)
    build.build(obj, scene)
    settings = obj.active_ragdoll
    for frame, weights in ((HIT - 6, (1.0, 1.0)), (HIT, WEIGHTS), (HIT + 14, WEIGHTS), (HIT + 34, (1.0, 1.0))):
        settings.rotation_weight, settings.translation_weight = weights
        for name in ("rotation_weight", "translation_weight"):
            obj.keyframe_insert(f"active_ragdoll.{name}", frame=frame)
    chest = obj.data.bones[of_role(anatomy_of(obj), roles.CHEST)[0]].name
    effects.add_hit(obj, scene, chest, HIT, (55.0, 25.0, 0.0))
    figures = _measure(scene, obj, path)
    figures["stack without physics [ms/frame]"] = without_physics
    figures["natural speeds [m/s]"] = {name: round(speed, 3) for name, speed in natural.items()}
    (out / "locomotion.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    importing.make_active(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str((out / "locomotion.blend").resolve()), compress=True)
    frames = [6, 30, 48, 72, 92, 108, 126, 140, HIT + 1, HIT + 4, HIT + 8, HIT + 14, HIT + 22, HIT + 34, LAST]
    sheet = contact_sheet.render_contact_sheet(
        scene,
        frames,
        out / "locomotion.png",
        columns=5,
        tile=(400, 340),
        caption="IDLE, WALK, RUN, LEAN, AIM, LOOK, HIT",
    )
    for name, value in figures.items():
        print(f"{name}: {value}")
    print(f"contact sheet   {sheet}")


# ---- characters -----------------------------------------------------------------------------------------------------


def _knight() -> tuple:
    """The knight at a man's height, facing -Y, and its three actions by what they are."""
    obj = importing.import_character(DATA / "Knight.glb").armature
    scene = bpy.context.scene
    for other in list(scene.objects):
        if other.type not in ("ARMATURE", "MESH") or any(word in other.name for word in LEFT_OUT):
            bpy.data.objects.remove(other)
    for track in list(obj.animation_data.nla_tracks):
        obj.animation_data.nla_tracks.remove(track)
    skins = [child for child in obj.children_recursive if child.type == "MESH"]
    corners = np.array([child.matrix_world @ Vector(p) for child in skins for p in child.bound_box])
    scale = HEIGHT / float(np.ptp(corners[:, 2]))
    obj.matrix_world = Matrix.Scale(scale, 4) @ obj.matrix_world
    scene.display.shading.color_type = "TEXTURE"
    bpy.context.view_layer.update()
    return scene, obj, {name: _action(action, obj) for name, action in CLIPS.items()}


def _action(name: str, obj):
    """An imported action; Blender 4.2 adds the object's name."""
    return bpy.data.actions.get(name) or bpy.data.actions[f"{name}_{obj.name}"]


def _metarig() -> tuple:
    """Rigify's human with the demo's walk, on the spot; its run is that walk, faster; it stands with its arms down."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    obj, _mesh = character.make_rigify_human(scene)
    walk_cycle.make_walk_cycle(obj, scene)
    walk = obj.animation_data.action
    _stay_on_the_spot(walk)
    scene.frame_set((scene.frame_start + scene.frame_end) // 2)
    obj.animation_data.action = None
    for bone in obj.pose.bones:
        if "arm" not in bone.name:
            bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    idle = stack_edits.pose_action(obj, "Stand")
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
    return scene, obj, {"idle": idle, "walk": walk, "run": walk}


def _stay_on_the_spot(action) -> None:
    """Take away the even motion of location keys."""
    for curve in rigs.curves_of(action):
        if curve.data_path.endswith("location"):
            first, last = (curve.keyframe_points[i].co for i in (0, -1))
            slope, begin = (last.y - first.y) / max(last.x - first.x, 1e-9), first.x
            for point in curve.keyframe_points:
                point.co.y -= slope * (point.co.x - begin)
            curve.update()


def _turned(obj, about: str, degrees: float):
    """An action of one frame whose trunk is turned about an axis of the character, evenly over its bones."""
    current = action_channels.current(obj)
    obj.animation_data_create().action = None
    anatomy, rig = anatomy_of(obj), rig_of(obj)
    forward, up = upright_axes(rig, anatomy)
    axis = {"UP": up, "FORWARD": forward, "LEFT": np.cross(up, forward)}[about]
    rows = of_role(anatomy, roles.SPINE) + of_role(anatomy, roles.CHEST)
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
    for row in rows:
        bone = obj.pose.bones[obj.data.bones[row].name]
        rest = np.array(bone.bone.matrix_local)[:3, :3]
        along = rest.T @ axis
        half = math.radians(degrees) / len(rows) / 2
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = (math.cos(half), *(math.sin(half) * along / np.linalg.norm(along)))
    bpy.context.view_layer.update()
    action = stack_edits.pose_action(obj, f"{about.title()} {degrees:g}")
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()
    action_channels.assign(obj, *current)
    return action


def _ground_speed(obj, action) -> float:
    """How fast the ground passes under the feet of a clip on the spot [m/s]: the median of the feet that are down."""
    clip = clips.sample_action(action, obj)
    rig, anatomy = rig_of(obj), anatomy_of(obj)
    feet = [int(rig.skeleton.from_level[i]) for i in of_role(anatomy, roles.FOOT)]
    positions = clip.poses.model(rig.skeleton)[0][:, feet] @ np.array(obj.matrix_world)[:3, :3].T
    heights = positions[..., 2]
    if not contact_markers(heights, clip.fps, [str(foot) for foot in feet]):
        return 0.0
    moved = np.diff(positions[..., :2], axis=0) * clip.fps
    low = heights.min(axis=0) + 0.08 * np.ptp(heights, axis=0)
    down = (heights[1:] < low) & (heights[:-1] < low)
    speed = np.linalg.norm(moved, axis=-1)[down]
    return float(np.median(speed)) if len(speed) else 0.0


# ---- the shot -------------------------------------------------------------------------------------------------------


def _walk_along(obj, natural: dict) -> np.ndarray:
    """Key the object along its way on a copy of no action at all; places and headings by frame [f, 3]."""
    obj.animation_data.action = None
    speeds = [natural["walk"] if share < 0.0 else share * natural["run"] for _time, share in SPEEDS]
    seconds = (np.arange(FIRST, LAST + 1) - FIRST) / FPS
    speed = np.interp(seconds, [t for t, _share in SPEEDS], speeds)
    t = np.clip((seconds - TURN[0]) / (TURN[1] - TURN[0]), 0.0, 1.0)
    heading = TURN[2] * t * t * (3.0 - 2.0 * t)
    velocity = speed[:, None] * np.stack([np.sin(heading), -np.cos(heading)], axis=-1)
    places = np.concatenate([np.zeros((1, 2)), np.cumsum(velocity[1:], axis=0) / FPS])
    obj.rotation_mode = "XYZ"
    own = obj.rotation_euler.copy()
    for frame, place, turn in zip(range(FIRST, LAST + 1), places, heading, strict=True):
        obj.location = (*place, 0.0)
        obj.rotation_euler = (own.x, own.y, own.z + turn)
        obj.keyframe_insert("location", frame=frame)
        obj.keyframe_insert("rotation_euler", frame=frame)
    return np.concatenate([places, heading[:, None]], axis=-1)


def _moving_ball(scene, path: np.ndarray):
    """A ball that swings from side to side before the character, high and low."""
    mesh = bpy.data.meshes.new("Ball")
    stage._fill_sphere(mesh, 0.08)
    mesh.materials.append(character.make_material("ball", (0.75, 0.05, 0.04), roughness=0.3))
    ball = bpy.data.objects.new("Ball", mesh)
    scene.collection.objects.link(ball)
    for frame in range(FIRST, LAST + 1):
        x, y, heading = path[frame - FIRST]
        side = math.sin(2.0 * math.pi * (frame - FIRST) / 96.0)
        angle = heading - 1.0 * side
        ball.location = (x + 1.6 * math.sin(angle), y - 1.6 * math.cos(angle), 1.35 + 0.4 * side * abs(side))
        ball.keyframe_insert("location", frame=frame)
    return ball


def _locomotion(obj, scene, actions: dict, natural: dict, hurry: float) -> None:
    """Idle, walk and run at their own speeds; the run plays `hurry` times as fast."""
    space = stack_edits.add_blend_space(obj, "SPEED")
    run = natural["run"]
    space.x.maximum, space.x.input, space.x.smoothing, space.sync = run, "SPEED", 0.1, "NORMALIZED"
    for name, place in (("idle", 0.0), ("walk", natural["walk"]), ("run", run)):
        sample = space.samples.add()
        stack_edits.choose(sample, actions[name])
        sample.x = place
        sample.speed = hurry if name == "run" else 1.0
    layer = stack_edits.add_layer(obj, scene, "BLEND_SPACE", space.name)
    layer.blend_space = space.name


def _lean(obj, scene, leans: list, path: np.ndarray) -> None:
    """A lean into the bend, keyed from the path: additive in local space."""
    space = stack_edits.add_blend_space(obj, "PLAIN")
    space.name, space.x.name, space.x.minimum, space.x.maximum = "Lean", "Lean", -1.0, 1.0
    for action, place in zip(leans, (-1.0, 0.0, 1.0), strict=True):
        sample = space.samples.add()
        stack_edits.choose(sample, action)
        sample.x, sample.single, sample.additive = place, True, "LOCAL"
    layer = stack_edits.add_layer(obj, scene, "BLEND_SPACE", "Lean")
    layer.blend_space, layer.mode = "Lean", "ADDITIVE_LOCAL"
    turning = np.gradient(path[:, 2])
    row = len(obj.active_ragdoll.blend_spaces) - 1
    for frame in range(FIRST, LAST + 1, 4):
        space.x.value = float(np.clip(-turning[frame - FIRST] / max(np.abs(turning).max(), 1e-9), -1.0, 1.0))
        obj.keyframe_insert(f"active_ragdoll.blend_spaces[{row}].x.value", frame=frame)


def _aim(obj, scene, aims: list, target) -> None:
    space = stack_edits.add_blend_space(obj, "AIM")
    space.x.minimum, space.x.maximum = -AIM[0], AIM[0]
    space.y.minimum, space.y.maximum = -AIM[1], AIM[1]
    space.x.input, space.y.input, space.target = "YAW", "PITCH", target
    space.x.smoothing = space.y.smoothing = 0.1
    for place, action in aims:
        sample = space.samples.add()
        stack_edits.choose(sample, action)
        (sample.x, sample.y), sample.single, sample.additive = place, True, "MESH"
    layer = stack_edits.add_layer(obj, scene, "AIM_OFFSET", space.name)
    layer.blend_space, layer.weight = space.name, 0.7


def _stage(scene, obj) -> None:
    stage.ensure_rigid_body_world(scene)
    floor = stage.make_floor(scene, size=60)
    floor.location.z -= 0.05  # feet of a run go a little below the ground
    camera = stage.make_camera(scene, obj)
    camera.location *= 1.3
    stage.make_light(scene)
    stage.set_render_look(scene)
    if (DATA / "Knight.glb").is_file():
        scene.display.shading.color_type = "TEXTURE"


# ---- figures --------------------------------------------------------------------------------------------------------


def _cost(scene, obj) -> float:
    """Median time of the stack alone [ms a frame], the evaluation of the scenes not counted."""
    stack = pose_stack.of(obj)
    times = []
    for frame in range(FIRST, LAST + 1):
        scene.active_ragdoll.source.frame_set(frame)
        began = time.perf_counter()
        stack.pose(scene, frame)
        times.append(1e3 * (time.perf_counter() - began))
    pose_stack.forget()
    return round(float(np.median(times)), 3)


def _measure(scene, obj, path: np.ndarray) -> dict:
    """What the shot shows, frame by frame."""
    space = obj.active_ragdoll.blend_spaces[0]
    real = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=-1) * FPS
    points, troubles, poses = [], set(), {}
    feet = of_role(anatomy_of(obj), roles.FOOT)
    for frame in simulate.frames(scene):
        points.append(blend_spaces.current_point(obj, space, frame)[0])
        troubles |= set(pose_stack.of(obj).messages.values())
        poses[frame] = rigs.pose(obj)
    heights = np.array([pose[feet, 2, 3] for pose in poses.values()])
    moved = np.diff(np.array([pose[feet, :2, 3] for pose in poses.values()]), axis=0) * FPS
    walking, running = slice(50, 80), slice(115, 140)
    slides = []
    for part in (walking, running):  # feet that are down from one frame to the next
        high = heights[part]
        down = high < high.min(axis=0) + 0.1 * np.ptp(high, axis=0)
        slides.append(np.linalg.norm(moved[part], axis=-1)[down] / real[part].mean())
    turned = [
        float(quaternion.angle_between(*quaternion.from_matrix(np.array([a[feet[0], :3, :3], b[feet[0], :3, :3]]))))
        for a, b in zip(list(poses.values())[:-1], list(poses.values())[1:], strict=True)
    ]
    return {
        "largest difference of measured and real speed at steady speed [m/s]": round(
            float(max(np.abs(np.array(points[1:]) - real)[part].max() for part in (walking, running))), 4
        ),
        "slide of feet that are down, walking and running, as a share of the speed": [
            round(float(np.median(share)), 3) for share in slides
        ],
        "largest turn of a foot from frame to frame [deg]": round(math.degrees(max(turned)), 1),
        "messages": sorted(troubles),
    }
