"""The frame of the benchmarks: the command line, tables and aims, the extension, characters to measure, props.

A benchmark is a function that measures, prints its tables and returns its figures; `bench` does the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

REPO = Path(__file__).resolve().parents[2]
DATA = REPO.parent / "shared" / "data"
sys.path.insert(0, str(REPO))
sys.path[:0] = [str(REPO / "tests"), str(REPO / "tests" / "blender")]

import bpy  # noqa: E402
from mathutils import Quaternion  # noqa: E402

import harness  # noqa: E402

harness.load_extension()

from demo import importing, stage  # noqa: E402
from demo.character import enable_rigify, make_rigify_human  # noqa: E402
from demo.walk_cycle import make_walk_cycle  # noqa: E402

FPS = 24
ensure_world = stage.ensure_rigid_body_world


def bench(run: Callable[..., tuple[dict, bool]], description: str, **options: object) -> None:
    """Measure with the options of the command line, write the figures where asked, and end the process.

    Args:
        run: takes the options by name; returns its figures and whether all aims are met.
        description: the text of --help.
        options: a default for each: a list takes several values, for `only` some of the default's; False is a switch.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in options.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(default, Sequence):
            choices = default if name == "only" else None
            parser.add_argument(f"--{name}", type=type(default[0]), nargs="+", default=default, choices=choices)
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    chosen = vars(arguments(parser))
    path = chosen.pop("json")
    figures, met = run(**chosen)
    print(f"\nbpy {bpy.app.version_string}: {'all aims met' if met else 'an aim is MISSED'}")
    write_json(path, {"bpy": bpy.app.version_string, **figures, "met": bool(met)})
    leave(0 if met else 1)


def verdict(good: bool) -> str:
    """Whether an aim is met, for a table."""
    return "PASS" if good else "MISS"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Importers and Blender itself write to the process's own output, past `sys.stdout`."""
    sys.stdout.flush()
    kept, sink = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)


class Missing(Exception):
    """A file of test data that is not there."""


@dataclass
class Subject:
    """An animated character in an otherwise empty scene at 24 frames per second."""

    name: str
    armature: bpy.types.Object
    scene: bpy.types.Scene
    frame_start: int
    frame_end: int


def leave(status: int = 0) -> None:
    """End the process: a bpy wheel may hang in its own clean-up."""
    harness.exit_now(status)


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse, also behind Blender's own arguments, with --json FILE added."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    rest = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    return parser.parse_args(rest)


def write_json(path: Path | None, report: dict) -> None:
    """Write the figures, if asked to."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        print(f"\nfigures: {path}")


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table with a left-aligned first column."""
    cells = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *cells]) for i in range(len(head))]
    print(f"\n{title}")
    for row in [head, *cells]:
        line = "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths)))
        print(f"  {line}", flush=True)


def empty_scene() -> bpy.types.Scene:
    """An empty file at 24 frames per second."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    return scene


def basic_human(scene: bpy.types.Scene, name: str = "Human") -> bpy.types.Object:
    """Rigify's Basic Human metarig: 29 bones, 2 m tall, no mesh."""
    enable_rigify()
    from rigify.metarigs.Basic import basic_human as metarig

    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    armature.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        metarig.create(armature)
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
    for bone in armature.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return armature


def walking_humans(scene: bpy.types.Scene, count: int) -> list[bpy.types.Object]:
    """Walking 29-bone humans, 2 m apart, each with an armature, an object and an action of its own."""
    first = basic_human(scene)
    make_walk_cycle(first, scene)
    humans = [first]
    for i in range(1, count):
        human = first.copy()
        human.data = first.data.copy()
        slot = getattr(human.animation_data, "action_slot", None)
        human.animation_data.action = first.animation_data.action.copy()
        if slot is not None:
            human.animation_data.action_slot = human.animation_data.action.slots[slot.identifier]
        human.location.x = 2.0 * i
        scene.collection.objects.link(human)
        humans.append(human)
    bpy.context.view_layer.update()
    return humans


SUBJECTS = ("01_01.bvh", "zombie.bvh", "Knight.glb", "mh_mixamo.blend", "run.fbx", "rigify walk")


def load(name: str) -> Subject:
    """One of `SUBJECTS` in an empty scene; the frame range is the clip's.

    Raises:
        Missing: its file is not there.
    """
    if name == "rigify walk":
        scene = empty_scene()
        armature, _mesh = make_rigify_human(scene)
        make_walk_cycle(armature, scene)
        return Subject(name, armature, scene, scene.frame_start, scene.frame_end)
    if not (DATA / name).is_file():
        raise Missing(f"no {DATA / name}")
    empty_scene()
    with silence():
        found = importing.import_character(DATA / name)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    start_frame, end_frame = found.frame_start, found.frame_end
    if found.action is None:
        start_frame, end_frame = 1, 240
        _swing_limbs(found.armature, start_frame, end_frame)
    scene.frame_start, scene.frame_end = start_frame, end_frame
    return Subject(name, found.armature, scene, start_frame, end_frame)


# bone, axis of the swing in the bone's own frame, amplitude [deg], frequency [Hz], phase [turns]
_SWINGS = (
    ("Spine", (0, 1, 0), 8.0, 0.5, 0.0),
    ("Spine1", (1, 0, 0), 6.0, 0.7, 0.3),
    ("Head", (0, 1, 0), 20.0, 0.6, 0.1),
    ("LeftArm", (1, 0, 0), 30.0, 0.9, 0.0),
    ("RightArm", (1, 0, 0), 30.0, 0.9, 0.5),
    ("LeftForeArm", (0, 0, 1), 25.0, 0.9, 0.2),
    ("RightForeArm", (0, 0, 1), 25.0, 0.9, 0.7),
    ("LeftUpLeg", (1, 0, 0), 25.0, 0.8, 0.5),
    ("RightUpLeg", (1, 0, 0), 25.0, 0.8, 0.0),
    ("LeftLeg", (1, 0, 0), 20.0, 0.8, 0.6),
    ("RightLeg", (1, 0, 0), 20.0, 0.8, 0.1),
)


def _swing_limbs(armature: bpy.types.Object, first: int, last: int) -> None:
    """Key sine swings on the main bones of a Mixamo-named rig."""
    by_end = {bone.name.rpartition(":")[2]: bone for bone in armature.pose.bones}
    keyed = 0
    for end, axis, amplitude, frequency, phase in _SWINGS:
        bone = by_end.get(end)
        if bone is None:
            continue
        keyed += 1
        bone.rotation_mode = "QUATERNION"
        for frame in range(first - 3, last + 1):
            turn = 2.0 * math.pi * (frequency * (frame - first) / FPS + phase)
            bone.rotation_quaternion = Quaternion(axis, math.radians(amplitude) * math.sin(turn))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    if keyed < 6:
        raise Missing(f"{armature.name!r} has only {keyed} bones with Mixamo's names")


def add_box(
    scene: bpy.types.Scene, name: str, size: Sequence[float], location: Sequence[float], *, passive: bool = True
) -> bpy.types.Object:
    """A rigid box of the given size [m] around a point."""
    x, y, z = (0.5 * side for side in size)
    corners = [(a * x, b * y, c * z) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    box = bpy.data.objects.new(name, mesh)
    box.location = location
    scene.collection.objects.link(box)
    scene.rigidbody_world.collection.objects.link(box)
    box.rigid_body.type = "PASSIVE" if passive else "ACTIVE"
    box.rigid_body.collision_shape = "BOX"
    # Characters without self-collision have their bodies on layers of their own.
    box.rigid_body.collision_collections = [True] * 20
    return box


def add_floor(scene: bpy.types.Scene, top: float, size: float = 60.0, thickness: float = 1.0) -> bpy.types.Object:
    """A slab whose upper side is at a height [m]; the scene needs its rigid body world first."""
    return add_box(scene, "Floor", (size, size, thickness), (0.0, 0.0, top - 0.5 * thickness))


def add_ball(scene: bpy.types.Scene, radius: float, mass: float, location: Sequence[float]) -> bpy.types.Object:
    """An active rigid sphere [m, kg]."""
    import bmesh

    mesh = bpy.data.meshes.new("Ball")
    shape = bmesh.new()
    bmesh.ops.create_uvsphere(shape, u_segments=24, v_segments=16, radius=radius)
    shape.to_mesh(mesh)
    shape.free()
    ball = bpy.data.objects.new("Ball", mesh)
    ball.location = location
    scene.collection.objects.link(ball)
    scene.rigidbody_world.collection.objects.link(ball)
    ball.rigid_body.collision_collections = [True] * 20
    ball.rigid_body.type = "ACTIVE"
    ball.rigid_body.collision_shape = "SPHERE"
    ball.rigid_body.mass = mass
    ball.rigid_body.use_deactivation = False
    return ball
