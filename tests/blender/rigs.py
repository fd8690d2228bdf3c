"""Characters, props and measuring for the tests: in code where that is enough, else from ../shared/data.

Most tests begin with one of these:

- `ragdoll(scene, last, weight=0.3, drive="SPRING")`: the swinging human, its settings, its weights, built.
- `load(name, 30)`: a real character, its shot cut to so many frames; `built(name)`: with its ragdoll.
- `play(scene, 1, last, read)`: a live run that must not stop; `step(scene, frames, read)`: frames in any order,
  whatever the run says of them.
- `set_weights`, `select`, `empty`, `duplicate`; `part`, `rows`, `masses`, `mass_center` of a character with a ragdoll.

The extension is imported inside functions only: golden/shots.py uses this file with the extension of any commit."""

import importlib
import json
import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
from mathutils import Quaternion, Vector

FPS = 24
KEPT = Path(os.environ.get("ACTIVE_RAGDOLL_KEPT") or tempfile.mkdtemp())  # characters that were imported
FILES = ("01_01.bvh", "jumping_jacks.bvh", "Knight.glb", "Fox.glb", "animals_pack_Horse.glb", "cesium_man.gltf")
FILES += ("single_knight_pack_KnightCharacter.glb", "modular_men_Worker.glb", "run.fbx", "mh_game_engine.blend")
FILES += ("mh_mixamo.blend",)


@dataclass
class Rig:
    """A character in a scene, and the whole frames of its clip."""

    obj: bpy.types.Object
    scene: bpy.types.Scene
    first: int
    last: int


# ---- files ----------------------------------------------------------------------------------------------------------
def empty_file(fps: int = FPS):
    """The scene of a new file, without objects."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = fps, 1.0
    return scene


def reopened(path: Path, name: str = "Human") -> tuple:
    """Save the file and open it again: its scene, and an object of it."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return opened(path, name)


def opened(path: Path, name: str = "Human") -> tuple:
    """Open a file: its scene, and an object of it."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.context.scene, bpy.data.objects[name]


def linked(path: Path, name: str = "Human") -> bpy.types.Object:
    """Save the file and link an object of it into a new one, without an override."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return link(path, empty_file(), name)


def link(path: Path, scene, name: str = "Human") -> bpy.types.Object:
    """An object of a library, in a scene."""
    with bpy.data.libraries.load(str(path), link=True) as (_there, here):
        here.objects = [name]
    scene.collection.objects.link(here.objects[0])
    return here.objects[0]


# ---- characters ---------------------------------------------------------------------------------------------------
def load(name: Path | str, frames: int = 0) -> Rig:
    """A character of the test data (its largest armature) or of our own, in a file of its own, at its first frame.

    It is imported or made once and kept as a .blend for all processes that run tests in this Blender. The scene's range
    is its clip, or at most so many frames of it after the first."""
    import own_characters
    import third_party

    name = Path(name).name
    kept = KEPT / f"{name}.blend"
    if not kept.exists():
        _keep(own_characters.make(name) if name in own_characters.TABLES else _import(third_party.data(name)), kept)
    rig = _open(kept, frames)[0]
    if frames:
        rig.scene.frame_set(rig.first)
    return rig


def built(name: str, bones: str = "DEFORM", frames: int = 0) -> tuple[Rig, SimpleNamespace]:
    """Likewise with a ragdoll, and how many bodies, joints, constraints and kg were built."""
    from active_ragdoll.core.blender.physics import build

    kept = KEPT / f"{name} {bones}.blend"
    if not kept.exists():
        rig = load(name)
        made = build.build(rig.obj, rig.scene, bones)
        _keep(rig, kept, {key: getattr(made, key) for key in ("bodies", "joints", "constraints", "mass")})
    return _open(kept, frames)


def _open(kept: Path, frames: int) -> tuple[Rig, SimpleNamespace]:
    bpy.ops.wm.open_mainfile(filepath=str(kept), load_ui=False)
    scene = bpy.context.scene
    name, first, last, made = json.loads(scene.pop("kept"))
    if frames:
        last = min(last, first + frames)
        set_range(scene, first, last)
    return Rig(bpy.data.objects[name], scene, first, last), SimpleNamespace(**made)


def _import(path: Path) -> Rig:
    """At 24 frames per second."""
    from demo import importing

    empty_file()
    found = importing.import_character(path)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    # The importer looks for a bind pose far below the clip; a T-pose in its first frame is no part of the motion.
    return Rig(found.armature, scene, found.frame_start + (1 if path.name == "01_01.bvh" else 0), found.frame_end)


def _keep(rig: Rig, kept: Path, made: dict | None = None) -> None:
    rig.scene["kept"] = json.dumps((rig.obj.name, rig.first, rig.last, made or {}))
    own = kept.with_suffix(f".{os.getpid()}.blend")  # another process may be at it too
    bpy.ops.wm.save_as_mainfile(filepath=str(own), compress=False, copy=True)
    own.replace(kept)


def armature(scene, bones: dict, name: str = "Rig") -> bpy.types.Object:
    """An armature object from ``{bone: (head, tail, parent or None)}``, in object mode, active and selected."""
    obj = added(scene, name, bpy.data.armatures.new(name))
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone_name, (head, tail, parent) in bones.items():
        bone = obj.data.edit_bones.new(bone_name)
        bone.head, bone.tail = head, tail
        if parent is not None:
            bone.parent = obj.data.edit_bones[parent]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in obj.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return obj


def mirrored(table: dict) -> dict:
    """``{bone: (head, tail, parent, ...)}`` with a right twin for each bone that ends in .L."""
    twins = {}
    for name, (head, tail, parent, *more) in table.items():
        if name.endswith(".L"):
            other = parent.replace(".L", ".R") if parent else parent
            twins[name.replace(".L", ".R")] = ((-head[0], *head[1:]), (-tail[0], *tail[1:]), other, *more)
    return table | twins


def edit(obj, change) -> None:
    """Change an armature's edit bones by a function of them, from object mode and back."""
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    change(obj.data.edit_bones)
    bpy.ops.object.mode_set(mode="OBJECT")


def roll_bones(obj, seed: int) -> None:
    """Give every bone a roll of its own."""
    random = np.random.default_rng(seed)
    edit(obj, lambda bones: [setattr(bone, "roll", bone.roll + float(random.uniform(-3.0, 3.0))) for bone in bones])


def metarig(scene, name: str) -> bpy.types.Object:
    """A metarig of Rigify's, such as "human" or "Animals.wolf"."""
    from demo.character import enable_rigify

    enable_rigify()
    obj = armature(scene, {}, "Metarig")
    edit(obj, lambda _bones: importlib.import_module(f"rigify.metarigs.{name}").create(obj))
    return obj


def chain(scene, count: int = 3, length: float = 0.4, direction=(1.0, 0.0, 0.0), head=(0.0, 0.0, 2.0)):
    """Bones "A", "B", ... one after the other from `head` along `direction`."""
    step = Vector(direction).normalized() * length
    names = [chr(ord("A") + i) for i in range(count)]
    places = [Vector(head) + step * i for i in range(count + 1)]
    table = {name: (places[i], places[i + 1], names[i - 1] if i else None) for i, name in enumerate(names)}
    return armature(scene, table, "Chain")


HUMAN = {
    "hips": ((0, 0, 1.0), (0, 0, 1.15), None),
    "spine": ((0, 0, 1.15), (0, 0, 1.45), "hips"),
    "head": ((0, 0, 1.5), (0, 0, 1.75), "spine"),
    "arm.L": ((0.18, 0, 1.42), (0.47, 0, 1.42), "spine"),
    "forearm.L": ((0.47, 0, 1.42), (0.75, 0, 1.42), "arm.L"),
    "finger.L": ((0.75, 0, 1.42), (0.77, 0, 1.42), "forearm.L"),
    "arm.R": ((-0.18, 0, 1.42), (-0.47, 0, 1.42), "spine"),
    "forearm.R": ((-0.47, 0, 1.42), (-0.75, 0, 1.42), "arm.R"),
    "finger.R": ((-0.75, 0, 1.42), (-0.77, 0, 1.42), "forearm.R"),
    "thigh.L": ((0.1, 0, 0.95), (0.1, -0.01, 0.5), "hips"),
    "shin.L": ((0.1, -0.01, 0.5), (0.1, 0.01, 0.08), "thigh.L"),
    "foot.L": ((0.1, 0.01, 0.08), (0.1, -0.14, 0.02), "shin.L"),
    "thigh.R": ((-0.1, 0, 0.95), (-0.1, -0.01, 0.5), "hips"),
    "shin.R": ((-0.1, -0.01, 0.5), (-0.1, 0.01, 0.08), "thigh.R"),
    "foot.R": ((-0.1, 0.01, 0.08), (-0.1, -0.14, 0.02), "shin.R"),
}


def human(scene, name: str = "Human", spine: int = 1) -> bpy.types.Object:
    """A 1.75 m tall human in T-pose, of 15 bones with one in the spine; its fingers are too small for own bodies."""
    heights, names = np.linspace(1.15, 1.45, spine + 1).tolist(), ["hips", *(f"spine{i}" for i in range(1, spine))]
    rows = zip([*names[1:], "spine"], heights, heights[1:], names, strict=False)
    bones = {bone: ((0, 0, low), (0, 0, high), above) for bone, low, high, above in rows}
    return armature(scene, {"hips": HUMAN["hips"]} | bones | {b: HUMAN[b] for b in HUMAN if b not in bones}, name)


_SWINGS = (
    ("spine", (0, 1, 0), 8.0, 0.5, 0.0), ("head", (0, 1, 0), 20.0, 0.6, 0.1),
    ("arm.L", (1, 0, 0), 30.0, 0.9, 0.0), ("arm.R", (1, 0, 0), 30.0, 0.9, 0.5),
    ("forearm.L", (0, 0, 1), 25.0, 0.9, 0.2), ("forearm.R", (0, 0, 1), 25.0, 0.9, 0.7),
    ("finger.L", (1, 0, 0), 25.0, 0.9, 0.2),
    ("thigh.L", (1, 0, 0), 25.0, 0.8, 0.5), ("thigh.R", (1, 0, 0), 25.0, 0.8, 0.0),
    ("shin.L", (1, 0, 0), 20.0, 0.8, 0.6), ("shin.R", (1, 0, 0), 20.0, 0.8, 0.1),
)  # fmt: skip


def swing(obj, first: int, last: int, swings=_SWINGS, fps: float = FPS) -> None:
    """Key sine swings from `first` - 4 on: bone, axis in its frame, amplitude [deg], frequency [Hz], phase [turns]."""
    for name, axis, amplitude, frequency, phase in swings:
        bone = obj.pose.bones[name]
        bone.rotation_mode = "QUATERNION"
        for frame in range(first - 4, last + 1):
            turn = 2.0 * math.pi * (frequency * (frame - first) / fps + phase)
            bone.rotation_quaternion = Quaternion(axis, math.radians(amplitude) * math.sin(turn))
            bone.keyframe_insert("rotation_quaternion", frame=frame)


def swinging_human(scene, first: int = 1, last: int = 60) -> bpy.types.Object:
    """The human in motion; the scene gets 24 frames per second and the range."""
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    scene.frame_start, scene.frame_end = first, last
    obj = human(scene)
    swing(obj, first, last)
    return obj


def ragdoll(scene, last: int, weight: float = 1.0, first: int = 1, **settings) -> bpy.types.Object:
    """The swinging human with a ragdoll built from settings, and one weight for rotations and places."""
    from active_ragdoll.core.blender.physics import build

    obj = swinging_human(scene, first, last)
    changed(obj.active_ragdoll, **settings)
    set_weights(obj, weight)
    build.build(obj, scene)
    return obj


def set_weights(obj, weight: float = 0.0) -> None:
    """One weight for rotations and places; at zero the character is limp."""
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = weight


def select(obj, active: str, *others: str) -> None:
    """Pose mode with these bones selected."""
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="POSE")
    for bone in obj.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in (active, *others)
    obj.data.bones.active = obj.data.bones.get(active)


def duplicate(obj, aside: float = 0.0) -> bpy.types.Object:
    """A copy as an artist makes it, moved along X."""
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    assert copy != obj
    copy.location.x += aside
    return copy


def curves_of(action) -> list:
    """The F-Curves of an action, whether it has layers or not."""
    if not getattr(action, "layers", None):
        return list(getattr(action, "fcurves", ()))  # one without layers has none in 5.0
    return [c for a in action.layers for s in a.strips for bag in s.channelbags for c in bag.fcurves]


def baked_keys(path=None) -> dict:
    """Keys of the baked actions of a file, else of what is open: ``{(character, path, index): {frame: value}}``."""
    if path is not None:
        bpy.ops.wm.open_mainfile(filepath=str(path))
    return {
        (obj.name, curve.data_path, curve.array_index): {point.co.x: point.co.y for point in curve.keyframe_points}
        for obj in bpy.context.scene.objects
        if obj.active_ragdoll.muted
        for curve in curves_of(obj.active_ragdoll.baked_action)
    }


def interpolate(obj, kind: str, only: str = "") -> None:
    """Set the interpolation of an object's keys, of the paths that contain `only`."""
    for curve in curves_of(obj.animation_data.action):
        for point in curve.keyframe_points if only in curve.data_path else ():
            point.interpolation = kind


def key(owner, path: str, keys: dict) -> None:
    """Key a property of an object or a bone: ``{frame: value}``."""
    group, _, name = path.rpartition(".")
    for frame, value in keys.items():
        setattr(owner.path_resolve(group) if group else owner, name, value)
        owner.keyframe_insert(path, frame=frame)


def key_weights(obj, keys: dict) -> None:
    """Key both weights with constant interpolation: ``{frame: weight}``."""
    for name in ("rotation_weight", "translation_weight"):
        key(obj, f"active_ragdoll.{name}", keys)
    interpolate(obj, "CONSTANT", "active_ragdoll")


# ---- props --------------------------------------------------------------------------------------------------------
def added(scene, name: str, data=None, location=(0.0, 0.0, 0.0)) -> bpy.types.Object:
    """An object of the scene."""
    obj = bpy.data.objects.new(name, data)
    scene.collection.objects.link(obj)
    obj.location = location
    return obj


def empty(scene, name: str = "Target", location=(0.0, 0.0, 0.0)) -> bpy.types.Object:
    """An Empty of the scene."""
    return added(scene, name, None, location)


def changed(thing, /, **settings):
    """A thing with some of its settings set."""
    for name, value in settings.items():
        setattr(thing, name, value)
    return thing


def ensure_world(scene) -> None:
    """A rigid body world as an artist's first "Add Active" makes it, with 240 steps a second."""
    if scene.rigidbody_world is None:
        with bpy.context.temp_override(scene=scene):
            bpy.ops.rigidbody.world_add()
        scene.rigidbody_world.substeps_per_frame = round(240 / scene.render.fps)
    for attribute, name in (("collection", "RigidBodyWorld"), ("constraints", "RigidBodyConstraints")):
        if getattr(scene.rigidbody_world, attribute) is None:
            setattr(scene.rigidbody_world, attribute, bpy.data.collections.new(name))


def box_mesh(name: str, size) -> bpy.types.Mesh:
    """A box of a size [m] around the origin."""
    x, y, z = (0.5 * side for side in size)
    corners = [(a * x, b * y, c * z) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    return mesh


def box(scene, name: str, size, location, *, passive: bool = False, kinematic: bool = False, mass: float = 1.0):
    """A rigid box of the scene."""
    ensure_world(scene)
    obj = added(scene, name, box_mesh(name, size), location)
    scene.rigidbody_world.collection.objects.link(obj)
    obj.rigid_body.type = "PASSIVE" if passive else "ACTIVE"
    changed(obj.rigid_body, kinematic=kinematic, collision_shape="BOX", mass=mass, use_deactivation=False)
    return obj


def field(scene, kind: str, location=(0.0, 0.0, 0.0), name: str = "Field", **settings) -> bpy.types.Object:
    """A force field of the scene; wind blows along Z."""
    obj = empty(scene, name, location)
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.forcefield_toggle()
    changed(obj.field, type=kind, **settings)
    return obj


def key_locations(obj, keys: dict) -> None:
    """Key places with linear interpolation: ``{frame: (x, y, z)}``."""
    key(obj, "location", keys)
    interpolate(obj, "LINEAR")


def set_range(scene, first: int, last: int) -> None:
    """The scene's frame range; the rigid body cache follows it where there is a world."""
    scene.frame_start, scene.frame_end = first, last


# ---- reading ------------------------------------------------------------------------------------------------------
def matrices(objects) -> np.ndarray:
    """World matrices [k, 4, 4] of objects as the scene shows them."""
    graph = bpy.context.view_layer.depsgraph
    return np.array([np.array(o.evaluated_get(graph).matrix_world) for o in objects])


def bodies(obj) -> np.ndarray:
    """World matrices [m, 4, 4] of a character's bodies, in the order of its parts."""
    return matrices([part.body for part in obj.active_ragdoll.parts])


def part(obj, bone: str):
    """The part of a ragdoll whose body stands for a bone."""
    return next(part for part in obj.active_ragdoll.parts if part.bone == bone)


def rows(obj, bones) -> list[int]:
    """Rows of bones' bodies among the parts."""
    names = [part.bone for part in obj.active_ragdoll.parts]
    return [names.index(bone) for bone in bones]


def masses(obj) -> np.ndarray:
    """Masses [m] of a character's bodies in kg."""
    return np.array([part.body.rigid_body.mass for part in obj.active_ragdoll.parts])


def mass_center(obj) -> np.ndarray:
    """Centre of mass [3] of a character's bodies in the world."""
    return masses(obj) @ bodies(obj)[:, :3, 3] / masses(obj).sum()


def pose(obj, graph=None) -> np.ndarray:
    """World matrices [n, 4, 4] of a character's bones as the scene, or another view layer's graph, shows them."""
    evaluated = obj.evaluated_get(graph or bpy.context.view_layer.depsgraph)
    world = np.array(evaluated.matrix_world)
    return np.array([world @ np.array(bone.matrix) for bone in evaluated.pose.bones])


def bone(obj, name: str) -> np.ndarray:
    """World matrix [4, 4] of one of them."""
    return pose(obj)[obj.data.bones.find(name)]


def shown(scene, obj, frames) -> dict:
    """World matrices [n, 4, 4] of the bones by frame, as the scene shows them, in the order given."""
    frames = list(frames)
    return dict(zip(frames, step(scene, frames, lambda: pose(obj)), strict=True))


def check_shown(scene, obj, expected, frames, tolerance: float) -> None:
    """Show frames and compare the bones with expected poses [n, 4, 4] by frame."""
    for frame in frames:
        scene.frame_set(frame)
        assert np.abs(pose(obj) - expected[frame]).max() <= tolerance, f"frame {frame}"


def animation(obj, frames) -> dict:
    """World matrices [n, 4, 4] of the bones by frame, of the animation alone; call before building.

    It steps the scene, so the character must not have a ragdoll that runs."""
    assert not obj.active_ragdoll.is_ragdoll
    scene, current = bpy.context.scene, bpy.context.scene.frame_current
    result = shown(scene, obj, frames)
    scene.frame_set(current)
    return result


def play(scene, first: int, last: int, read=None) -> list:
    """Step live through a shot from its first frame; `read()` is called at each. Fails where the run has a message."""
    from active_ragdoll.core.blender.runtime import STATE

    def told():
        assert scene.name not in STATE.messages, STATE.messages[scene.name]
        return read and read()

    return step(scene, range(first, last + 1), told)


def step(scene, frames, read=None) -> list:
    """Show frames one after the other, whatever a run says of them; `read()` is called at each."""
    result = []
    for frame in frames:
        scene.frame_set(frame)
        result.append(read and read())
    return result


def update() -> None:
    """As Blender does after every edit; what a handler changes is shown by the next."""
    bpy.context.view_layer.update()
    bpy.context.view_layer.update()


def figures(scene, first: int, last: int, skip_seconds: float = 0.5) -> dict:
    """Errors of a live run of the shot, as `core.blender.tools.measure` sums them up."""
    from active_ragdoll.core.blender.tools.measure import Meter

    meter = Meter(scene)
    play(scene, first, last, meter.after_frame)
    return meter.summary(skip_seconds)


def angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angles [deg] between the rotations of matrices [.., 4, 4]; scale and mirroring are left out."""
    from active_ragdoll.core import quaternion
    from active_ragdoll.core.blender.rig.armature import rigid

    qa = quaternion.from_matrix(rigid(a)[..., :3, :3].reshape(-1, 3, 3))
    qb = quaternion.from_matrix(rigid(b)[..., :3, :3].reshape(-1, 3, 3))
    return np.degrees(quaternion.angle_between(qa, qb)).reshape(np.shape(a)[:-2])


def momenta(poses: np.ndarray, masses: np.ndarray, moments: np.ndarray, fps: float) -> tuple:
    """Momentum, angular momentum about the common centre of mass and spin of bodies, all [f - 1, m, 3], by differences
    of poses: world matrices [f, m, 4, 4] of the bodies, in whose frames their inertia is diagonal, moments [m, 3]."""
    from active_ragdoll.core import quaternion

    places, turns = poses[:, :, :3, 3], poses[:, :, :3, :3]
    arms = places - np.einsum("m,fmi->fi", masses, places)[:, None] / masses.sum()
    momentum = masses[:, None] * np.diff(places, axis=0) * fps
    around = masses[:, None] * np.cross(0.5 * (arms[1:] + arms[:-1]), np.diff(arms, axis=0) * fps)
    rate = quaternion.to_rotation_vector(quaternion.from_matrix(turns[1:] @ turns[:-1].swapaxes(-1, -2))) * fps
    return momentum, around, np.einsum("fmij,mj,fmkj,fmk->fmi", turns[1:], moments, turns[1:], rate)


def solid(part):
    """The body of a part in bind pose as the objects in the file have it: a `Shape`, of pieces for a compound."""
    from active_ragdoll.core.blender.physics import body_objects
    from active_ragdoll.core.ragdoll.bodies import fitting

    found = body_objects.solids_of(part.body)
    is_compound = part.body.rigid_body.collision_shape == "COMPOUND"
    return fitting.joined(found, part.bind[:3, :3]) if is_compound else found[0]


def undamped(obj) -> None:
    """Leave out Blender's own damping; before the build."""
    for bone in obj.pose.bones:
        bone.active_ragdoll.linear_damping = bone.active_ragdoll.angular_damping = 0.0


def half_extents(part) -> np.ndarray:
    """Half extents [m] of a body's mesh, which is centred, in its own frame."""
    points = np.array([vertex.co for vertex in part.body.data.vertices], dtype=np.float32)
    assert np.allclose(points.max(axis=0), -points.min(axis=0), rtol=1e-4), "a body's mesh is centred"
    return points.max(axis=0)


def plan_of(obj) -> dict:
    """What was built of a character, to be compared."""
    parts = list(obj.active_ragdoll.parts)
    bones = [obj.pose.bones[part.bone].active_ragdoll for part in parts]
    return {
        "bones": [part.bone for part in parts],
        "parents": [part.parent for part in parts],
        "bind": np.array([part.bind for part in parts]),
        "half": np.array([half_extents(part) for part in parts]),
        "mass": np.array([part.body.rigid_body.mass for part in parts]),
        "kind": [part.body.rigid_body.collision_shape for part in parts],
        "height": obj.active_ragdoll.height,
        "limits": np.array([[*bone.limit_min, *bone.limit_max] for bone in bones]).ravel().tolist(),
    }


def counts() -> dict:
    """How many of everything the file holds."""
    kinds = ("objects", "meshes", "armatures", "collections", "scenes", "actions", "worlds", "curves", "node_groups")
    return {name: len(getattr(bpy.data, name)) for name in kinds}
