"""What the examples share: an empty scene, a walker, the run, and the three results."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.run import pipeline, simulate
from active_ragdoll.core.ragdoll import weight_spread

from . import character, contact_sheet, stage, walk_cycle

SIDES = (("L", 1.0), ("R", -1.0))
TILES = 12
TILE = (320, 240)  # pixels of one still


def new_scene(fps: int = 24) -> bpy.types.Scene:
    """An empty file with a rigid body floor at z = 0, light, and the look of the pictures."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = fps, 1.0
    return scene


def furnish(scene: bpy.types.Scene) -> None:
    """Floor, light and look; the scene's frame range must be set."""
    build.world.ensure(scene)
    stage.make_floor(scene)
    stage.make_light(scene)
    stage.set_render_look(scene)


def walker(scene: bpy.types.Scene, name: str = "Mannequin", **walk) -> bpy.types.Object:
    """The mannequin on Rigify's metarig with a walk of its own; options as of `make_walk_cycle`."""
    armature, mesh = character.make_rigify_human(scene)
    armature.name = armature.data.name = name
    mesh.name = f"{name} skin"
    walk_cycle.make_walk_cycle(armature, scene, **walk)
    return armature


def camera(
    scene: bpy.types.Scene,
    place: Sequence[float],
    focus: Sequence[float],
    lens: float = 50.0,
    follows: bpy.types.Object | None = None,
) -> None:
    """A camera at a place [m] that looks at a point [m]; both go along with a character where one is to be followed.

    Followed are x and y of what its first bone carries: place and focus are then counted from there.
    """
    data = bpy.data.cameras.new("Camera")
    data.lens = lens
    obj = bpy.data.objects.new("Camera", data)
    obj.location = place
    obj.rotation_mode = "QUATERNION"
    obj.rotation_quaternion = (Vector(focus) - Vector(place)).to_track_quat("-Z", "Y")
    if follows is not None:
        along = obj.constraints.new("COPY_LOCATION")
        along.target, along.subtarget = follows, follows.active_ragdoll.parts[0].bone
        along.use_z, along.use_offset = False, True
    scene.collection.objects.link(obj)
    scene.camera = obj


def preset_weights(armature: bpy.types.Object, preset: str, side: str = roles.LEFT) -> dict[str, tuple[float, float]]:
    """Rotation and translation weights of a preset, for the bones with bodies."""
    bones = armature.data.bones
    parents = np.array([bones.find(bone.parent.name) if bone.parent else -1 for bone in bones])
    found = weight_spread.preset(preset, anatomy_of(armature), parents, side)
    weights = dict(zip((bone.name for bone in bones), np.stack(found, axis=1).tolist(), strict=True))
    return {part.bone: tuple(weights[part.bone]) for part in armature.active_ragdoll.parts}


def key(armature: bpy.types.Object, name: str, values: dict[int, float], bone: str = "") -> None:
    """Key a setting of the character or of a bone, by frame."""
    owner = armature.pose.bones[bone] if bone else armature
    path = owner.path_from_id() + "." if bone else ""
    for frame, value in values.items():
        setattr(owner.active_ragdoll, name, value)
        armature.keyframe_insert(f"{path}active_ragdoll.{name}", frame=frame)


def bodies(armature: bpy.types.Object) -> np.ndarray:
    """World matrices of the bodies [m, 4, 4]."""
    return np.array([part.body.matrix_world for part in armature.active_ragdoll.parts])


def run(scene: bpy.types.Scene, read: Callable[[], object]) -> tuple[dict, float]:
    """Simulate the shot: what `read` gives, by frame, and the milliseconds of a frame."""
    found = {}
    began = time.perf_counter()
    for frame in simulate.frames(scene):
        found[frame] = read()
    return found, 1e3 * (time.perf_counter() - began) / max(len(found), 1)


def errors(scene: bpy.types.Scene, armature: bpy.types.Object) -> tuple[np.ndarray, np.ndarray]:
    """How far the bodies are from the animation: angles [m] (degrees) and distances [m]."""
    state = pipeline.STATE.runs[scene.name]
    rows = next(c.rows for c in state.characters if c.name == armature.name)
    now, wanted = bodies(armature), state.wanted[rows]
    cosine = 0.5 * (np.einsum("mij,mij->m", now[:, :3, :3], wanted[:, :3, :3]) - 1.0)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))), np.linalg.norm((now - wanted)[:, :3, 3], axis=1)


def changes(found: dict[int, str]) -> dict[str, int]:
    """At which frame each state of the recovery began, the last time, from the states by frame."""
    return {state.lower(): frame for frame, state in found.items() if state != found.get(frame - 1)}


def write(scene: bpy.types.Scene, out: Path, figures: dict, frames: Sequence[int] = (), *, columns: int = 4) -> None:
    """Write shot.blend, report.json and contact-sheet.png, and print the figures.

    Args:
        figures: of the report; numbers, texts or lists of them.
        frames: that the sheet must show; others are spread between them, unless these are enough.
    """
    shown = sorted(set(frames))
    if len(shown) < TILES:
        shown = contact_sheet.evenly_spaced_frames(scene.frame_start, scene.frame_end, TILES, frames)
    report = {
        "blender": bpy.app.version_string,
        "fps": scene.render.fps / scene.render.fps_base,
        "frames": [scene.frame_start, scene.frame_end],
        "shown": shown,
        **figures,
    }
    (out / "report.json").write_text(json.dumps(report, indent=2, default=float) + "\n", encoding="utf-8")
    scene.frame_set(scene.frame_start)
    bpy.ops.wm.save_as_mainfile(filepath=str((out / "shot.blend").resolve()), compress=True)
    contact_sheet.render_contact_sheet(scene, shown, out / "contact-sheet.png", columns=columns, tile=TILE)
    for name in ("shot.blend", "report.json", "contact-sheet.png"):
        print(f"{name:<18}{(out / name).resolve()}")
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):<40}{value:.4g}" if isinstance(value, float) else f"{name:<40}{value}")


def point_bones(scene: bpy.types.Scene, armature: bpy.types.Object, ways: dict[str, Sequence[float]], frame: int):
    """Key bones so that they point along directions in the armature's space; parents first.

    Each takes the shortest turn from its bind pose, so that a bone's roll stays where it was.
    """
    for name, way in ways.items():
        bone = armature.pose.bones[name]
        rest = bone.bone.matrix_local.to_3x3()
        turn = rest.col[1].rotation_difference(Vector(way))
        bone.matrix = Matrix.Translation(bone.head) @ (turn.to_matrix() @ rest).to_4x4()
        bone.keyframe_insert("rotation_quaternion", frame=frame)
        scene.view_layers[0].update()


def both_sides(ways: dict[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Directions of the left side's bones, given by their names without the side, for both sides."""
    return {f"{name}.{side}": (sign * way[0], *way[1:]) for name, way in ways.items() for side, sign in SIDES}


def recolour(armature: bpy.types.Object, colour: tuple[float, float, float]) -> None:
    """Give a mannequin a shell of its own linear colour."""
    skin = next(child for child in armature.children if child.type == "MESH")
    material = skin.data.materials[0].copy()
    material.diffuse_color = (*colour, 1.0)
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    skin.data.materials[0] = material
