"""What a weight between 0 and 1 does: lag behind a moving pose, and giving way to a hit.

    python dev.py bench weights [--json FILE]

A human of 22 bodies (Rigify's Basic Human), 240 steps a second, without self-collision.

    lag    mean errors of orientation [deg] and position [mm] against a walk, without gravity and floor, 0.5 to 6 s
           after the start. With a translation weight of 0 the character drifts: no position is given.
    sag    the same under gravity, still without a floor, so that weak characters fall away
    hit    a 10 kg ball that strikes the forearm from above with the speed of a fall from 0.5 m while the character
           holds its bind pose; the peak displacement [mm] of the struck body within a second. Without gravity, so
           that a weak character is still where the ball comes.

The five cases are those of the article that the weights are modelled on, rotation/translation in percent. The
sweep lowers both weights together and must rise strictly in lag and hit. "fps" is the largest difference of lag,
and of the hit's displacement at the times that all of them show, between 24, 30 and 60 frames per second, at most
5 % (differences below 0.05 deg and 0.5 mm count as none: the aim for exact following is three times that).
"""

import math

import _characters
import bpy
import numpy as np
from mathutils import Vector

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.tools import measure

CASES = ((1.0, 0.0), (0.5, 0.0), (0.1, 0.0), (1.0, 1.0), (0.3, 0.3))
SWEEP = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
RATES = (24, 30, 60)
KEYED = 24  # frames per second of the walk's keys: one motion, played at every rate
STEPS = 240
LAG_SECONDS = 6.0
SMALLEST = {"lag_deg": 0.05, "lag_mm": 0.5, "hit_mm": 0.5}  # differences that do not count
AIM_FPS = 0.05
BALL_MASS, BALL_RADIUS = 10.0, 0.12
HIT_SPEED = math.sqrt(2.0 * 9.81 * 0.5)  # [m/s]
LEFT_OUT = ("breast", "pelvis", "heel", "spine.005")
STRUCK = "forearm.L"


def human(fps: int, walking: bool, seconds: float) -> rigs.Rig:
    """A built human in an empty scene."""
    scene = rigs.empty_file()
    armature = _characters.basic_human(scene)
    if walking:
        _characters.make_walk_cycle(armature, scene, fps=KEYED, frames_per_cycle=KEYED, cycles=math.ceil(seconds) + 1)
        retime(armature.animation_data.action, fps / KEYED)
    scene.render.fps = fps
    scene.frame_start, scene.frame_end = 1, 1 + math.ceil(seconds * fps)
    rigs.ensure_world(scene)
    scene.rigidbody_world.substeps_per_frame = STEPS // fps
    armature.active_ragdoll.self_collision = False
    wanted = np.array([not bone.name.startswith(LEFT_OUT) for bone in armature.data.bones])
    build.build(armature, scene, wanted)
    return rigs.Rig(armature, scene, scene.frame_start, scene.frame_end)


def retime(action: bpy.types.Action, factor: float) -> None:
    """Stretch an action about frame 1: the same curves over time at another frame rate."""
    for curve in rigs.curves_of(action):
        for point in curve.keyframe_points:
            for place in (point.co, point.handle_left, point.handle_right):
                place.x = 1.0 + (place.x - 1.0) * factor
        curve.update()


def set_weights(armature: bpy.types.Object, weights: tuple[float, float]) -> None:
    """Weights of the whole character."""
    armature.active_ragdoll.rotation_weight, armature.active_ragdoll.translation_weight = weights


def lags(fps: int, cases: list, gravity: bool = False) -> list[dict]:
    """Lag of every case behind a walk."""
    rig = human(fps, True, LAG_SECONDS)
    if not gravity:
        rig.scene.gravity = (0.0, 0.0, 0.0)
    result = []
    for weights in cases:
        set_weights(rig.obj, weights)
        meter = measure.Meter(rig.scene)
        for frame in range(rig.first, rig.last + 1):
            rig.scene.frame_set(frame)
            meter.after_frame()
        summary = meter.summary()
        row = {"lag_deg": summary["orientation_error_deg"]["mean"]}
        if weights[1] > 0.0:
            row["lag_mm"] = summary["position_error_mm"]["mean"]
        result.append(row)
    return result


def struck_body(rig: rigs.Rig) -> bpy.types.Object:
    """The body that the ball meets."""
    return next(part.body for part in rig.obj.active_ragdoll.parts if part.bone == STRUCK)


def path_of(rig: rigs.Rig, weights: tuple[float, float]) -> np.ndarray:
    """Places [frames, 3] of the struck body over the shot [m]."""
    set_weights(rig.obj, weights)
    body = struck_body(rig)
    places = []
    for frame in range(rig.first, rig.last + 1):
        rig.scene.frame_set(frame)
        places.append(body.matrix_world.translation.copy())
    return np.array(places)


def hits(fps: int, cases: list) -> list[np.ndarray]:
    """Displacements [frames] (m) of every case by a ball that comes with the speed of a fall."""
    rig = human(fps, False, 1.25)
    scene = rig.scene
    scene.gravity = (0.0, 0.0, 0.0)
    body = struck_body(rig)
    place = Vector(body.matrix_basis.translation)
    ball = rigs.box(scene, "Ball", (2.0 * BALL_RADIUS,) * 3, place, mass=BALL_MASS)
    ball.rigid_body.collision_shape = "SPHERE"  # Blender takes its radius from the object's extent
    ball.rigid_body.collision_collections = [True] * 20
    ball.rigid_body.linear_damping = 0.0
    # The run holds other bodies until the first frame: the ball takes the speed of its keys with it. It arrives
    # after a quarter of a second.
    height = BALL_RADIUS + 0.05 + 0.25 * HIT_SPEED
    for frame in range(scene.frame_start - 8, scene.frame_start + 5, 4):  # automatic handles: straight but at the ends
        ball.location = place + Vector((0.0, 0.0, height - (frame - scene.frame_start) / fps * HIT_SPEED))
        ball.keyframe_insert("location", frame=frame)
    result = []
    for weights in cases:
        places = path_of(rig, weights)
        result.append(np.linalg.norm(places - places[0], axis=1))
    return result


def spread(values: list[float], smallest: float) -> float:
    """Largest relative difference from the first value, beyond an absolute one that does not count."""
    return max(max(abs(value - values[0]) - smallest, 0.0) / values[0] for value in values[1:])


def hit_spread(curves: dict[int, np.ndarray]) -> float:
    """Largest difference of displacements [mm] by frame rate, at the times that all of them show, over the peak."""
    common = math.gcd(*curves)
    shown = [curve[:: fps // common] for fps, curve in curves.items()]
    length = min(len(curve) for curve in shown)
    difference = max(float(np.max(np.abs(curve[:length] - shown[0][:length]))) for curve in shown)
    return max(difference - SMALLEST["hit_mm"], 0.0) / float(max(curve.max() for curve in curves.values()))


def figures_of(cases: list) -> list[dict]:
    """All figures of every case."""
    by_rate = {fps: (lags(fps, cases), hits(fps, cases)) for fps in RATES}
    sagging = lags(RATES[0], cases, gravity=True)
    figures = []
    for i, (rotation, translation) in enumerate(cases):
        row = {"rotation": rotation, "translation": translation, **by_rate[RATES[0]][0][i]}
        row["hit_mm"] = 1e3 * float(by_rate[RATES[0]][1][i].max())
        if row["hit_mm"] < 1e-3:
            raise RuntimeError(f"the ball missed the arm at weights {rotation}/{translation}")
        for key in ("lag_deg", "lag_mm"):
            if key in row:
                row[f"{key}_fps"] = spread([by_rate[fps][0][i][key] for fps in RATES], SMALLEST[key])
                row[key.replace("lag", "sag")] = sagging[i][key]
        row["hit_fps"] = hit_spread({fps: 1e3 * by_rate[fps][1][i] for fps in RATES})
        figures.append(row)
    return figures


COLUMNS = ("lag_deg", "lag_mm", "sag_deg", "sag_mm", "hit_mm")


def run() -> tuple[dict, bool]:
    """Print the tables."""
    figures, missed = figures_of([*CASES, *((weight, weight) for weight in SWEEP)]), 0
    sweep = figures[len(CASES) :]
    for title, rows in (("the article's cases", figures[: len(CASES)]), ("sweep", sweep)):
        lines = []
        for row in rows:
            good = max(value for key, value in row.items() if key.endswith("_fps")) <= AIM_FPS
            missed += not good
            line = [f"{100 * row['rotation']:.0f}/{100 * row['translation']:.0f}", *(row.get(k, "-") for k in COLUMNS)]
            line += [f"{100 * row[k]:.1f}" if k in row else "-" for k in ("lag_deg_fps", "lag_mm_fps", "hit_fps")]
            lines.append([*line, _characters.verdict(good)])
        head = ("weights", *(key.replace("_", " ") for key in COLUMNS), "fps deg %", "fps mm %", "fps hit %", "fps aim")
        _characters.print_table(title, head, lines)
    checks = {key: bool(np.all(np.diff([row[key] for row in sweep]) > 0.0)) for key in COLUMNS if key != "sag_deg"}
    print()
    for key, good in checks.items():
        missed += not good
        print(f"  {key} rises as the weight falls: {_characters.verdict(good)}")
    return {"cases": figures, "monotonic": checks, "missed": missed}, not missed


if __name__ == "__main__":
    _characters.bench(run, __doc__)
