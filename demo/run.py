"""The main job: a character is built into an active ragdoll, hit in mid-walk, simulated and baked.

Run it through `python3.11 dev.py demo`; it writes shot.blend, report.json and contact-sheet.png.
"""

import argparse
import contextlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402
import numpy as np  # noqa: E402

import harness  # noqa: E402

PACKAGE, _registered = harness.load_extension()

from active_ragdoll.core.blender import bake  # noqa: E402
from active_ragdoll.core.blender.physics import build  # noqa: E402
from active_ragdoll.core.blender.run import pipeline, simulate  # noqa: E402
from active_ragdoll.core.blender.tools import measure  # noqa: E402
from active_ragdoll.core.errors import RagdollError  # noqa: E402
from demo import DemoError, contact_sheet, stage  # noqa: E402
from demo.importing import import_character  # noqa: E402

FARTHEST_BAKE = 1e-4  # of the height, that keys in single precision may be off
STRONG, LOOSE = 1.0, (0.45, 0.5)  # rotation and translation weights around the hit
BALL_DROP = 0.4  # share of the shot that a ball may take to fall onto an imported character


def main(arguments: list[str]) -> int:
    """Parse, run, print where the results are; 0 on success, 1 with one line on stderr otherwise."""
    parser = argparse.ArgumentParser(prog="dev.py demo", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder for the results")
    parser.add_argument("--input", type=Path, help="a .blend, .glb, .gltf, .fbx or .bvh with your own character")
    parser.add_argument("--tiles", type=int, default=12, help="pictures on the contact sheet")
    parser.add_argument("--frames", type=int, default=150, help="most frames to simulate of your own character")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except (DemoError, RagdollError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def run(options: argparse.Namespace) -> None:
    """The whole job, from an empty file to the three results."""
    options.out.mkdir(parents=True, exist_ok=True)
    if options.input:
        scene, armature, hit = _own_character(options.input, options.frames)
    else:
        scene, armature, hit = _walker()
    began = time.perf_counter()
    built = build.build(armature, scene)
    built_seconds = time.perf_counter() - began
    if options.input:
        hit = _drop_ball(scene, armature)
    _loosen(armature, scene, hit)
    meter = measure.Meter(scene)
    recorded, errors = {}, {}
    began = time.perf_counter()
    for frame in simulate.frames(scene):
        meter.after_frame()
        recorded[frame] = bake.shown_pose(armature, scene)
        errors[frame] = _mean_error(armature, scene)
    seconds = time.perf_counter() - began
    for _frame in bake.bake_frames(armature, scene):
        pass
    deviation = bake.deviation(armature, scene, recorded)
    if not deviation < FARTHEST_BAKE:
        raise DemoError(f"the bake deviates by {deviation:.1e} of the character's height from what was simulated")
    strongest = max(errors, key=errors.get)
    report = {
        "blender": bpy.app.version_string,
        "character": armature.name,
        "frames": [scene.frame_start, scene.frame_end],
        "fps": scene.render.fps / scene.render.fps_base,
        "bodies": built.bodies,
        "joints": built.joints,
        "mass_kg": round(built.mass, 3),
        "notes": built.notes,
        "build_seconds": round(built_seconds, 4),
        "simulate_seconds": round(seconds, 3),
        "hit_frame": hit,
        "error_deg_by_frame": {str(frame): round(value, 3) for frame, value in errors.items()},
        "largest_mean_error_deg": round(errors[strongest], 3),
        "largest_mean_error_frame": strongest,
        "last_mean_error_deg": round(errors[max(errors)], 4),
        "bake_deviation_of_height": deviation,
        **meter.summary(),
    }
    (options.out / "report.json").write_text(json.dumps(report, indent=2, default=float) + "\n", encoding="utf-8")
    bpy.ops.wm.save_as_mainfile(filepath=str((options.out / "shot.blend").resolve()), compress=True)
    shown = _frames_to_show(scene, max(options.tiles, 8), hit, strongest)
    sheet = contact_sheet.render_contact_sheet(scene, shown, options.out / "contact-sheet.png")
    print(f"scene           {(options.out / 'shot.blend').resolve()}")
    print(f"report          {(options.out / 'report.json').resolve()}")
    print(f"contact sheet   {Path(sheet).resolve()}")
    print(f"{built.bodies} bodies, {built.joints} joints, {built.mass:.0f} kg, built in {built_seconds:.2f} s")
    print(f"{len(errors)} frames simulated in {seconds:.1f} s ({1000.0 * seconds / len(errors):.1f} ms a frame)")
    print(
        f"mean orientation error: {errors[strongest]:.1f} deg at frame {strongest} (hit at {hit}), "
        f"{errors[max(errors)]:.2f} deg at the end"
    )
    print(f"bake deviates by {deviation:.1e} of the character's height at most")


def _frames_to_show(scene, count: int, hit: int, strongest: int) -> list:
    """Half of the pictures around the hit, the others spread over the shot."""
    close = [frame for frame in (hit - 3, hit, hit + 3, hit + 6, hit + 10, hit + 16) if frame <= scene.frame_end]
    close = [frame for frame in close if frame > scene.frame_start][: count // 2]
    spread = contact_sheet.evenly_spaced_frames(scene.frame_start, scene.frame_end, 4 * count)
    frames = set(close) | {scene.frame_start, scene.frame_end, strongest}
    while len(frames) < count and len(spread) > len(frames):
        # The frame farthest from all that are shown already.
        frames.add(max(spread, key=lambda frame: min(abs(frame - other) for other in frames)))
    return sorted(frames)


def _walker():
    from demo import character, walk_cycle

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    armature, _mesh = character.make_rigify_human(scene)
    walk_cycle.make_walk_cycle(armature, scene)
    made = stage.make_stage(scene, armature)
    stage.set_render_look(scene)
    return scene, armature, made.hit_frame


def _own_character(path: Path, most: int):
    found = import_character(path)
    scene, armature = bpy.context.scene, found.armature
    scene.frame_end = min(scene.frame_end, scene.frame_start + most)
    stage.ensure_rigid_body_world(scene)
    lowest = np.inf
    points = []
    for frame in np.unique(np.linspace(scene.frame_start, scene.frame_end, 24).astype(int)):
        scene.frame_set(int(frame))
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        joints = np.array([evaluated.matrix_world @ bone.head for bone in evaluated.pose.bones])
        lowest = min(lowest, joints[:, 2].min())
        points.append(joints)
    height = float(np.ptp(points[0], axis=0).max())
    floor = stage.make_floor(scene, size=24)
    scale = max(height / 1.8, 1e-6)
    floor.data.transform(_scaled(scale))
    floor.location = (*np.mean(points, axis=(0, 1))[:2], lowest - 0.02 * height - 0.2 * scale)
    if scene.camera is None:
        stage.make_camera(scene, armature)
    stage.make_light(scene)
    stage.set_render_look(scene)
    scene.frame_set(scene.frame_start)
    return scene, armature, scene.frame_start


def _scaled(scale: float):
    from mathutils import Matrix

    return Matrix.Scale(scale, 4)


def _drop_ball(scene, armature) -> int:
    """A heavy ball that falls onto the highest body when gravity brings it there; returns the frame of the hit."""
    settings = armature.active_ragdoll
    fps = scene.render.fps / scene.render.fps_base
    gravity = max(-scene.gravity.z, 1e-6)
    frames = max(int((scene.frame_end - scene.frame_start) * BALL_DROP), 2)
    seconds = min(frames / fps, float(np.sqrt(2.0 * settings.height / gravity)))
    hit = scene.frame_start + max(round(seconds * fps), 1)
    scene.frame_set(hit)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    top = max(
        (evaluated.matrix_world @ evaluated.pose.bones[part.bone].matrix.translation for part in settings.parts),
        key=lambda point: point.z,
    )
    scene.frame_set(scene.frame_start)
    radius = 0.1 * settings.height
    mesh = bpy.data.meshes.new("Ball")
    stage._fill_sphere(mesh, radius)
    ball = bpy.data.objects.new("Ball", mesh)
    fall = 0.5 * gravity * ((hit - scene.frame_start) / fps) ** 2
    ball.location = (top.x + 0.3 * radius, top.y - 0.3 * radius, top.z + 1.2 * radius + fall)
    scene.collection.objects.link(ball)
    scene.rigidbody_world.collection.objects.link(ball)
    ball.rigid_body.collision_shape = "SPHERE"
    ball.rigid_body.mass = 0.2 * sum(part.body.rigid_body.mass for part in settings.parts)
    ball.rigid_body.linear_damping = 0.0
    return hit


def _loosen(armature, scene, hit: int) -> None:
    """Key the weights: full, loose around the hit, and back to full strength."""
    fps = scene.render.fps / scene.render.fps_base
    settings = armature.active_ragdoll
    steps = ((-0.4, None), (-0.1, LOOSE), (0.6, LOOSE), (1.5, None))
    for seconds, weights in steps:
        settings.rotation_weight, settings.translation_weight = weights or (STRONG, STRONG)
        frame = hit + round(seconds * fps)
        for name in ("rotation_weight", "translation_weight"):
            armature.keyframe_insert(f"active_ragdoll.{name}", frame=frame)


def _mean_error(armature, scene) -> float:
    """Mean angle [deg] between the bodies and the animation at this frame."""
    run = pipeline.STATE.runs[scene.name]
    bodies = np.array([part.body.matrix_world for part in armature.active_ragdoll.parts])
    cosine = 0.5 * (np.einsum("mij,mij->m", bodies[:, :3, :3], run.wanted[:, :3, :3]) - 1.0)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).mean())


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    code = 1
    try:
        code = main(given)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except Exception:
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)  # a wheel hangs at exit once a rigid body world was used
