"""Limp falls: do limits and joints hold, does the energy never grow, does everything come to rest.

    python dev.py bench limits [--only NAME ...] [--seconds S] [--fps N] [--substeps N] [--iterations N]
                            [--height H] [--json FILE]

`--seconds` is how long 1.8 m of height is looked at; 0 substeps or iterations leaves what the build sets; a height
scales every character to it [m].

Every character of the test data is released limp and at rest in the pose of its clip's first frame, just above a
floor, at 240 frames a second, in the rigid body world and with the settings of a fresh build. Energies mean something
at 240 frames a second and more only.

    excess    farthest that any joint goes beyond its limits [deg], `core.ragdoll.joints.limits.excess`
    frames    frames (of 1/24 s) that the worst joint spends more than 3 deg beyond
    apart     largest separation of a joint [% of the height]
    energy    largest growth of kinetic and potential energy over that at the release [% of it], heights from the floor
    rest      time after which no body is faster than 2 cm/s any more [s], and the same in units of sqrt(height / g)

All that falls takes as many times longer as the root of its height is larger: a character 106 m tall is no worse than
one of 1.8 m that rests after an eighth of its time. It is looked at for as much longer, too.
"""

import _characters
import bpy
import numpy as np

import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.ragdoll.joints import limits

FPS, SECONDS = 240, 12.0
GRAVITY = 9.81
USUAL_HEIGHT = 1.8  # [m]
AIMS = {"excess": 10.0, "frames": 3, "apart": 1.0, "energy": 2.0, "rest": 10.0}
BEYOND = 3.0  # [deg]
SPEED = 0.02  # [m/s]
GAP = 0.002  # of the height between the lowest body and the floor


def released(name: str, fps: int = FPS, substeps: int = 0, iterations: int = 0, height: float = 0.0):
    """A built, limp character that stands still in the first pose of its clip, above a floor, scaled to a height."""
    rig = rigs.load(_characters.DATA / name)
    scene, obj = rig.scene, rig.obj
    scene.frame_set(rig.first)
    if obj.animation_data is not None:
        obj.animation_data_clear()
    scene.render.fps = fps
    scene.frame_start, scene.frame_end = 1, 1 + round(fps * SECONDS)
    scene.frame_set(1)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
    build.build(obj, scene)
    if height > 0.0:
        top, factor = obj, height / obj.active_ragdoll.height
        while top.parent is not None:
            top = top.parent
        top.scale = [factor * value for value in top.scale]
        bpy.context.view_layer.update()
        build.rebuild(obj, scene)
    if substeps:
        scene.rigidbody_world.substeps_per_frame = substeps
    if iterations:
        scene.rigidbody_world.solver_iterations = iterations
    return obj, scene


class Bodies:
    """A character's bodies and joints as arrays."""

    def __init__(self, obj: bpy.types.Object) -> None:
        settings = obj.active_ragdoll
        self.objects, parts = settings.bodies.objects, settings.parts
        count = len(parts)
        self.names = [part.bone for part in parts]
        self.height = settings.height
        self.masses = np.array([part.body.rigid_body.mass for part in parts])
        corners = np.array([part.body.bound_box for part in parts])
        self.corners = corners
        # Blender's inertia of every shape but the sphere is that of its box (fact 20a).
        squares = np.ptp(corners, axis=1) ** 2
        self.inertia = self.masses[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
        round_ones = np.array([part.body.rigid_body.collision_shape == "SPHERE" for part in parts])
        self.inertia[round_ones] *= 0.4 * 0.25 / (2.0 / 12.0)
        bind = np.array([part.bind for part in parts]).reshape(-1, 4, 4)
        bones = bind @ np.linalg.inv(np.array([part.offset for part in parts]).reshape(-1, 4, 4))
        self.rest = bind[:, :3, :3]
        row = {part.bone: i for i, part in enumerate(parts)}
        self.parents = np.array([row.get(part.parent, -1) for part in parts])
        self.children = np.flatnonzero(self.parents >= 0)
        joint = bones[:, :, 3]
        self.in_child = np.einsum("mij,mj->mi", np.linalg.inv(bind), joint)
        self.in_parent = np.einsum("mij,mj->mi", np.linalg.inv(bind)[self.parents], joint)
        self.own = [obj.pose.bones[name].active_ragdoll for name in self.names]
        self.bone_rotations = bones[:, :3, :3]
        self.buffer = np.empty(count * 16, dtype=np.float32)

    def matrices(self) -> np.ndarray:
        """Where the bodies stand [m, 4, 4]."""
        self.objects.foreach_get("matrix_world", self.buffer)
        return self.buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)

    def lowest(self, matrices: np.ndarray) -> float:
        """Height [m] of the lowest corner of a body."""
        return float((np.einsum("mj,mkj->mk", matrices[:, 2, :3], self.corners) + matrices[:, 2, 3:]).min())

    def separations(self, run: np.ndarray) -> np.ndarray:
        """Gaps of the joints [f, k] in run [f, m, 4, 4], metres."""
        c, p = self.children, self.parents[self.children]
        a = np.einsum("fkij,kj->fki", run[:, c], self.in_child[c])
        b = np.einsum("fkij,kj->fki", run[:, p], self.in_parent[c])
        return np.linalg.norm((a - b)[..., :3], axis=-1)

    def excesses(self, run: np.ndarray) -> np.ndarray:
        """How far joints are beyond their limits [f, k], degrees."""
        turned = run[:, :, :3, :3] @ self.rest.transpose(0, 2, 1)
        result = []
        for i in self.children:
            frame = self.bone_rotations[i] @ quaternion.to_matrix(np.array(self.own[i].joint_rotation, dtype=float))
            relative = turned[:, self.parents[i]].transpose(0, 2, 1) @ turned[:, i]
            q = quaternion.from_matrix(frame.T @ relative @ frame)
            own = self.own[i]
            result.append(limits.excess(own.joint, tuple(own.limit_min), tuple(own.limit_max), q))
        return np.degrees(np.array(result).T)

    def energies(self, run: np.ndarray, floor: float, fps: int = FPS) -> tuple[np.ndarray, np.ndarray]:
        """Energy [f - 1] (J) after every step, and the speed of the fastest body [f - 1] (m/s)."""
        velocity = np.diff(run[:, :, :3, 3], axis=0) * fps
        turns = run[1:, :, :3, :3] @ run[:-1, :, :3, :3].transpose(0, 1, 3, 2)
        spin = quaternion.to_rotation_vector(quaternion.from_matrix(turns)) * fps
        spin = np.einsum("fmji,fmj->fmi", run[1:, :, :3, :3], spin)
        speed = np.linalg.norm(velocity, axis=-1)
        height = run[1:, :, 2, 3] - floor
        energy = self.masses * (0.5 * speed**2 + GRAVITY * height) + 0.5 * (self.inertia * spin**2).sum(axis=-1)
        return energy.sum(axis=1), speed.max(axis=1)


def fall(name: str, seconds: float, fps: int, substeps: int, iterations: int, height: float = 0.0) -> dict:
    """The figures of one character."""
    obj, scene = released(name, fps, substeps, iterations, height)
    unit = float(np.sqrt(obj.active_ragdoll.height / GRAVITY))
    seconds *= max(1.0, unit / float(np.sqrt(USUAL_HEIGHT / GRAVITY)))
    scene.frame_end = 1 + round(fps * seconds)
    bodies = Bodies(obj)
    scene.frame_set(1)
    floor = bodies.lowest(bodies.matrices()) - GAP * bodies.height
    _characters.add_floor(scene, floor)
    run = []
    for frame in range(1, scene.frame_end + 1):
        scene.frame_set(frame)
        run.append(bodies.matrices())
    run = np.array(run)
    excess, gaps = bodies.excesses(run), bodies.separations(run)
    energy, speed = bodies.energies(run, floor, fps)
    start = float((bodies.masses * GRAVITY * (run[0, :, 2, 3] - floor)).sum())
    moving = np.flatnonzero(speed > SPEED)
    rest = float((moving[-1] + 1) / fps) if len(moving) else 0.0
    per_frame = excess[:: max(fps // 24, 1)]
    worst = int(np.argmax(excess.max(axis=0)))
    names = [bodies.names[i] for i in bodies.children]
    return {
        "name": name,
        "bodies": len(bodies.names),
        "start_excess": float(excess[0].max()),
        "excess": float(excess.max()),
        "worst": names[worst],
        "frames": int((per_frame > BEYOND).sum(axis=0).max()),
        "apart": 100.0 * float(gaps.max()) / bodies.height,
        "apart_at": names[int(np.argmax(gaps.max(axis=0)))],
        "energy": 100.0 * (float(energy.max()) / start - 1.0),
        "height": float(bodies.height),
        "rest": rest,
        "rest_units": rest / unit,
        "rested": bool(len(moving) == 0 or moving[-1] + 1 < len(speed)),
        "joints": {n: [float(e.max()), int((f > BEYOND).sum())] for n, e, f in zip(names, excess.T, per_frame.T)},
    }


def run(only: list, seconds: float, fps: int, substeps: int, iterations: int, height: float) -> tuple[dict, bool]:
    """Print the table."""
    figures, rows, missed = [], [], 0
    for name in only:
        if not (_characters.DATA / name).is_file():
            print(f"no {name}")
            continue
        found = fall(name, seconds, fps, substeps, iterations, height)
        figures.append(found)
        bad = [key for key, aim in AIMS.items() if not found[key] <= aim]
        missed += bool(bad)
        row = [found[key] for key in ("name", "bodies", "start_excess", "excess", "frames", "worst", "apart", "energy")]
        rest = f"{found['rest']:.2f}"
        row += [rest if found["rested"] else f"> {rest}", found["rest_units"]]
        rows.append([*row, " ".join((_characters.verdict(not bad), ", ".join(bad)))])
    head = ("character", "bodies", "at release", "excess deg", "frames", "worst", "apart %", "energy %")
    _characters.print_table(f"limp falls at {fps} fps", (*head, "rest s", "in sqrt(h/g)", "aim"), rows)
    return {"characters": figures, "missed": missed}, not missed


if __name__ == "__main__":
    options = {"only": list(rigs.FILES), "seconds": SECONDS, "fps": FPS, "substeps": 0, "iterations": 0, "height": 0.0}
    _characters.bench(run, __doc__, **options)
