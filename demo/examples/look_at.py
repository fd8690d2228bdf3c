"""Three characters, different in rig and proportions, look at a moving ball with their feet planted.

Third-party characters of ../shared/data where that folder is, else Rigify's metarigs. Writes look_at.blend,
look_at.json and look_at.png.
"""

import importlib
import json
import math
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector

import looking
import rigs
from active_ragdoll.core.anatomy import roles
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from demo import character, contact_sheet, importing, stage

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
# File or metarig, action, height in the picture [m].
REAL = (("Knight.glb", "Idle", 1.7), ("mh_mixamo.blend", "", 1.9), ("Fox.glb", "Survey", 1.0))
METARIGS = (("human", 1.9), ("Animals.wolf", 1.0), ("Basic.basic_human", 1.6))
LEFT_OUT = ("Offhand", "2H_", "Badge", "Rectangle", "Spike", "Icosphere")  # spare props of the knight, bone shapes
FIRST, LAST, TILES = 1, 97, 12
SPACING, ARMS = 1.35, math.radians(75.0)  # [m] between characters; how far below the horizontal arms hang


def main(out: Path) -> None:
    """Make the shot, measure it, and draw the contact sheet."""
    scene, characters = _characters(out)
    for i, (obj, height) in enumerate(characters):
        _place(obj, height, (i - 1) * SPACING)
    bpy.context.view_layer.update()
    ball = _moving_ball(scene)
    plain = {obj.name: rigs.animation(obj, range(FIRST, LAST + 1)) for obj, _height in characters}
    for obj, _height in characters:
        stack_edits.set_up_look_at(obj, scene, ball)
        if obj.animation_data is None or obj.animation_data.action is None:
            _lower_arms(obj, scene)
    figures = _measure(scene, [obj for obj, _height in characters], ball, plain)
    _make_stage(scene)
    importing.make_active(characters[0][0])
    (out / "look_at.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "look_at.blend"), compress=True)
    frames = contact_sheet.evenly_spaced_frames(FIRST, LAST, TILES)
    contact_sheet.render_contact_sheet(scene, frames, out / "look_at.png", columns=3, tile=(480, 256))
    for name, found in figures.items():
        print(f"{name}: {', '.join(f'{key} {value:.3g}' for key, value in found.items())}")
    print(f"contact sheet   {out / 'look_at.png'}")


# ---- characters -----------------------------------------------------------------------------------------------------


def _characters(out: Path) -> tuple:
    """The scene, and pairs of armature and height."""
    if not all((DATA / name).is_file() for name, _action, _height in REAL):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scene = _scene()
        return scene, [(_metarig(scene, name), height) for name, height in METARIGS]
    parts = [_prepared(DATA / name, action, out / f".{i}.blend") for i, (name, action, _height) in enumerate(REAL)]
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene, found = _scene(), []
    for path, armature in parts:
        with bpy.data.libraries.load(str(path)) as (source, wanted):
            wanted.objects = source.objects
        for obj in wanted.objects:
            scene.collection.objects.link(obj)
        found.append(next(obj for obj in wanted.objects if obj.name.split(".")[0] == armature))
        path.unlink()
    return scene, [(obj, height) for obj, (_name, _action, height) in zip(found, REAL, strict=True)]


def _scene():
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_start, scene.frame_end = FIRST, LAST
    return scene


def _prepared(path: Path, action: str, target: Path) -> tuple:
    """A file with one character and one repeated action: (path, name of the armature)."""
    obj = importing.import_character(path).armature
    for other in list(bpy.context.scene.objects):
        if other.type not in ("ARMATURE", "MESH") or any(word in other.name for word in LEFT_OUT):
            bpy.data.objects.remove(other)
    data = obj.animation_data
    if action and data is not None:
        for track in list(data.nla_tracks):
            data.nla_tracks.remove(track)
        data.action = bpy.data.actions[action]
        if getattr(data, "action_slot", True) is None:
            data.action_slot = data.action_suitable_slots[0]
        for curve in rigs.curves_of(data.action):
            curve.modifiers.new("CYCLES")
    obj.name = "Character" + path.stem.split("_")[-1].title()
    bpy.data.libraries.write(str(target), {obj, *obj.children_recursive}, compress=True)
    return target, obj.name


def _metarig(scene, name: str):
    if name == "human":
        return character.make_rigify_human(scene)[0]
    character.enable_rigify()
    obj = rigs.armature(scene, {}, name)
    bpy.ops.object.mode_set(mode="EDIT")
    importlib.import_module(f"rigify.metarigs.{name}").create(obj)
    bpy.ops.object.mode_set(mode="OBJECT")
    _skin(scene, obj)
    return obj


def _skin(scene, obj) -> None:
    """An octahedron for each bone, since armatures are not rendered."""
    vertices, faces, groups = [], [], []
    for bone in obj.data.bones:
        head, tail = np.array(bone.head_local), np.array(bone.tail_local)
        sides = 0.12 * bone.length * np.array(bone.matrix_local)[:3, [0, 2]].T
        ring = [head + 0.2 * (tail - head) + offset for offset in (sides[0], sides[1], -sides[0], -sides[1])]
        first = len(vertices)
        vertices += [head, *ring, tail]
        for i in range(4):
            a, b = first + 1 + i, first + 1 + (i + 1) % 4
            faces += [(first, b, a), (first + 5, a, b)]
        groups.append((bone.name, range(first, first + 6)))
    mesh = bpy.data.meshes.new(obj.name)
    mesh.from_pydata([tuple(v) for v in vertices], [], faces)
    mesh.materials.append(character.make_material("bones", (0.75, 0.5, 0.2)))
    skin = bpy.data.objects.new(f"{obj.name} Skin", mesh)
    scene.collection.objects.link(skin)
    skin.parent = obj
    for name, rows in groups:
        skin.vertex_groups.new(name=name).add(list(rows), 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = obj


def _place(obj, height: float, x: float) -> None:
    """Stand a character on the floor at a place, facing -Y, with a given height."""
    from active_ragdoll.core.blender.stack.entries.look_at import rig_of
    from active_ragdoll.core.motion.look_at.chain import upright_axes

    forward, _up = upright_axes(rig_of(obj), anatomy_of(obj))
    forward = obj.matrix_world.to_3x3() @ Vector(forward if forward is not None else (0.0, -1.0, 0.0))
    turn = Matrix.Rotation(math.atan2(-1.0, 0.0) - math.atan2(forward.y, forward.x), 4, "Z")
    corners = [obj.matrix_world @ p for bone in obj.data.bones for p in (bone.head_local, bone.tail_local)]
    skins = [child for child in obj.children_recursive if child.type == "MESH" and child.find_armature() == obj]
    corners = np.array([child.matrix_world @ Vector(p) for child in skins for p in child.bound_box] or corners)
    scale = height / float(np.ptp(corners[:, 2]))
    obj.matrix_world = (
        Matrix.Translation((x, 0.0, -scale * float(corners[:, 2].min()))) @ Matrix.Scale(scale, 4) @ turn
    ) @ obj.matrix_world


def _lower_arms(obj, scene) -> None:
    """A rig without an action stands in T-pose or A-pose: the arms go down by bone transforms."""
    anatomy = anatomy_of(obj)
    if anatomy.kind != roles.HUMAN:
        return  # an animal stands on its arms
    for bone, role, side in zip(obj.data.bones, anatomy.roles, anatomy.sides, strict=True):
        if role == roles.UPPER_ARM and side in (roles.LEFT, roles.RIGHT):
            along = obj.matrix_world.to_3x3() @ (bone.tail_local - bone.head_local)
            angle = ARMS - math.atan2(-along.z, abs(along.x))
            item = stack_edits.add(obj, scene, "bone_transforms", bone.name)
            item.rotation_space = "WORLD"
            item.rotation = (0.0, math.copysign(angle, along.x), 0.0)


# ---- the shot -------------------------------------------------------------------------------------------------------


def _moving_ball(scene):
    """A ball that goes from side to side in front of them, high and low."""
    mesh = bpy.data.meshes.new("Ball")
    stage._fill_sphere(mesh, 0.09)
    mesh.materials.append(character.make_material("ball", (0.75, 0.05, 0.04), roughness=0.3))
    ball = bpy.data.objects.new("Ball", mesh)
    scene.collection.objects.link(ball)
    for frame in range(FIRST, LAST + 1):
        turn = 2.0 * math.pi * (frame - FIRST) / (LAST - FIRST)
        ball.location = (1.9 * math.sin(turn), -1.6, 1.15 + 0.55 * math.sin(2.0 * turn))
        ball.keyframe_insert("location", frame=frame)
    return ball


def _measure(scene, characters: list, ball, plain: dict) -> dict:
    """Figures over the whole shot, by character: aim error [deg], feet [leg lengths], messages."""
    found = {obj.name: {"aim": [], "moved": [], "turned": []} for obj in characters}
    for frame in range(FIRST, LAST + 1):
        scene.frame_set(frame)
        for obj in characters:
            own = found[obj.name]
            own["aim"].append(looking.aim_error(obj, ball))
            moved, turned = looking.foot_errors(obj, rigs.pose(obj), plain[obj.name][frame])
            own["moved"].append(moved)
            own["turned"].append(turned)
    result = {}
    for obj in characters:
        own = found[obj.name]
        for text in pose_stack.of(obj).messages.values():
            print(f"{obj.name}: {text}")
        result[obj.name] = {
            "bones that look": len(obj.active_ragdoll.look_at[0].entries),
            "feet held": len(obj.active_ragdoll.leg_stabilizers),
            "median aim error [deg]": float(np.median(own["aim"])),
            "largest aim error [deg]": max(own["aim"]),
            "share within 0.05 deg": float(np.mean(np.array(own["aim"]) < 0.05)),
            "largest foot slide [leg lengths]": max(own["moved"]),
            "largest foot turn [deg]": max(own["turned"]),
        }
    return result


def _make_stage(scene) -> None:
    stage.ensure_rigid_body_world(scene)
    stage.make_floor(scene)
    stage.make_light(scene)
    stage.set_render_look(scene)
    data = bpy.data.cameras.new("Camera")
    scene.display.shading.color_type = "TEXTURE"
    data.lens = 45.0
    camera = bpy.data.objects.new("Camera", data)
    camera.location = (0.0, -7.0, 1.9)
    camera.rotation_euler = (math.radians(80.0), 0.0, 0.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
