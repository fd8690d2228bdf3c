"""Plays the golden shots with the extension of one source tree and keeps what they show.

    python tests/golden/shots.py TREE FILE.npz

The tree may be another commit's, so a shot may use what users have and nothing else: operators, settings, `bpy.data`.
Of each shot it keeps the rigid bodies ("bodies", [frames, bodies, 4, 4]) and the shown bones ("pose", [frames, bones,
4, 4]), both in world space as Blender holds them, so that equal runs are equal bit for bit."""

import importlib.util
import math
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "blender"))

import own_characters
import rigs

NAME = "active_ragdoll"
SHOTS: dict[str, Callable] = {}
OPS = bpy.ops.active_ragdoll


def shot(frames: int) -> Callable:
    """Register a function that prepares an empty scene and returns its characters, played for some frames."""

    def add(prepare: Callable) -> Callable:
        SHOTS[prepare.__name__] = lambda: _played(prepare, frames)
        return prepare

    return add


def _played(prepare: Callable, frames: int) -> dict[str, np.ndarray]:
    scene = rigs.empty_file()
    scene.frame_start, scene.frame_end = 1, frames
    characters = prepare(scene)
    bodies, shown, poses = [], [], []
    for frame in range(1, frames + 1):
        scene.frame_set(frame)
        bodies = bodies or _bodies(scene)
        shown.append(rigs.matrices(bodies).reshape(-1, 4, 4))
        poses.append(np.concatenate([rigs.pose(obj) for obj in characters]))
    for obj in characters:
        state = obj.active_ragdoll.run_state
        if state not in ("NONE", "LIVE", "BAKED"):
            raise RuntimeError(f"'{obj.name}' is {state} at the end: nothing was simulated")
    return ({"bodies": np.array(shown)} if bodies else {}) | {"pose": np.array(poses)}


def _bodies(scene) -> list:
    """The bodies that move by themselves, in an order that does not depend on their names."""
    if scene.rigidbody_world is None:
        return []
    free = [obj for obj in scene.rigidbody_world.collection.objects if obj.rigid_body.type == "ACTIVE"]
    places = {obj: (*rigs.matrices([obj]).round(4).ravel(), obj.rigid_body.mass) for obj in free}
    return sorted(free, key=places.get)


def use(obj) -> None:
    """Make an object the active one, which operators act on, and the only selected one."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == obj)
    bpy.context.view_layer.objects.active = obj


def build(obj, drive: str = "VELOCITY", space: str = "WORLD", **settings):
    """A ragdoll of all bones with some settings of the character."""
    use(obj)
    obj.active_ragdoll.drive, obj.active_ragdoll.drive_space = drive, space
    OPS.build(bones="ALL")
    rigs.changed(obj.active_ragdoll, **settings)
    return obj


def human(scene, place: float = 0.0, name: str = "Human", frames: int = 60):
    """The swinging human, standing on a floor at some x."""
    obj = rigs.human(scene, name)
    rigs.swing(obj, 1, frames)
    obj.location.x = place
    if "Floor" not in scene.objects:
        rigs.box(scene, "Floor", (20.0, 20.0, 1.0), (0.0, 0.0, -0.5), passive=True)
    return obj


def key(obj, path: str, keys: dict) -> None:
    """Key a setting of a character."""
    rigs.key(obj, f"{NAME}.{path}", keys)


def put_aside(obj, name: str):
    """The action that an object plays, taken off it."""
    action = obj.animation_data.action
    action.name, action.use_fake_user = name, True
    obj.animation_data.action = None
    return action


@shot(40)
def bone_settings(scene):
    obj = human(scene)
    own_characters.skin(obj)
    bones = {bone.name: bone.active_ragdoll for bone in obj.pose.bones}
    bones["forearm.L"].shape, bones["spine"].shape, bones["head"].shape = "SPHERE", "CONVEX_HULL", "BOX"
    bones["thigh.L"].joint, bones["shin.L"].joint = "FREE", "HINGE"
    bones["arm.R"].body_mode, bones["forearm.R"].body_mode = "LIMP", "LIMP"
    bones["head"].body_mode = "KINEMATIC"
    bones["arm.L"].max_torque, bones["thigh.R"].max_force = 6.0, 300.0
    bones["spine"].rotation_weight, bones["shin.R"].translation_weight = 0.4, 0.1
    build(obj, human_strength=True)
    key(obj, "rotation_weight", {1: 1.0, 12: 0.3, 24: 0.3, 36: 0.9})
    key(obj, "translation_weight", {1: 1.0, 16: 0.05, 32: 0.6})
    return [obj]


@shot(40)
def joint_space(scene):
    return [build(human(scene), space="JOINT", rotation_weight=0.8)]


@shot(60)
def limp(scene):
    return [build(human(scene), rotation_weight=0.0, translation_weight=0.0)]


@shot(32)
def springs(scene):
    soft = build(human(scene), "SPRING", spring_frequency=2.0, spring_damping_ratio=0.4, translation_weight=0.7)
    return [soft, build(human(scene, 3.0, "Other"), "SPRING", "JOINT", rotation_weight=0.9)]


@shot(40)
def hits(scene):
    obj = build(human(scene), rotation_weight=0.6, translation_weight=0.3)
    prop = rigs.box(scene, "Prop", (0.3, 0.3, 0.3), (0.0, 0.5, 1.3), mass=3.0)
    OPS.add_hit(bone="spine", frame=6, impulse=(0.0, 30.0, 4.0), point=(0.1, 0.1, 0.0))
    OPS.add_hit(bone="forearm.L", frame=9, impulse=(0.0, 0.0, 4.0), space="LOCAL", duration=0.2)
    OPS.add_hit(bone="head", frame=14, impulse=(6.0, 0.0, 0.0))
    obj.active_ragdoll.hits[2].space, obj.active_ragdoll.hits[2].target = "TOWARDS", prop
    scene.cursor.location = (0.4, -0.6, 0.8)
    scene.frame_set(20)
    OPS.add_explosion()
    obj.active_ragdoll.explosions[0].impulse = 20.0
    scene.frame_set(1)
    return [obj]


@shot(60)
def recovery(scene):
    obj = build(human(scene))
    obj.active_ragdoll.recovery.enabled = True  # so that it falls as a rag, as before there was muscle tone
    OPS.setup_recovery()
    own = obj.active_ragdoll.recovery
    rigs.changed(own, rest_time=0.1, rest_speed=1.5, regain=3.0, blend_time=0.2, reroot_time=0.5)
    OPS.add_hit(bone="spine", frame=4, impulse=(10.0, 160.0, 0.0))
    other = build(human(scene, 3.0, "Other"))
    other.active_ragdoll.recovery.enabled = True
    OPS.setup_recovery()
    other.active_ragdoll.recovery.method, other.active_ragdoll.recovery.starts = "CROSS_FADED", "ANIMATED"
    OPS.add_recovery_event(frame=8, phase="LIMP")
    OPS.add_recovery_event(frame=24, phase="RECOVERING")
    return [obj, other]


@shot(40)
def attachments(scene):
    obj = human(scene)
    for name in ("arm.L", "forearm.L", "finger.L"):
        bone = obj.pose.bones[name].active_ragdoll
        bone.joint, bone.translation_weight, bone.rotation_weight = "FREE", 0.0, 0.2
    rigs.key_locations(rigs.empty(scene, "Rail"), {1: (0.75, 0.0, 1.42), 20: (0.6, 0.3, 1.6), 40: (0.6, -0.3, 1.2)})
    rigs.box(scene, "Bag", (0.2, 0.2, 0.2), (-0.75, 0.0, 1.0), mass=2.0)
    rigs.box(scene, "Tool", (0.1, 0.1, 0.4), (-0.6, 0.0, 1.42), mass=1.0)
    build(obj, rotation_weight=0.7, translation_weight=0.5)
    OPS.add_attachment(bone="forearm.L", target="Rail")
    OPS.add_attachment(bone="forearm.R", target="Bag")
    OPS.add_attachment(bone="arm.R", target="Tool")
    held, bag, tool = obj.active_ragdoll.attachments
    held.point, bag.kind, bag.length, tool.kind = (0.0, 0.28, 0.0), "DISTANCE", 0.5, "FIXED"
    key(obj, "attachments[0].enabled", {1: False, 5: True, 30: False})
    return [obj]


def look(scene, obj):
    """Everything of the motion stack but layers."""
    target = rigs.empty(scene)
    rigs.key_locations(target, {1: (1.0, -2.0, 1.6), 16: (-1.5, -1.5, 1.2), 32: (0.5, -2.0, 2.0)})
    use(obj)
    OPS.setup_look_at(target="Target")
    OPS.motion_add(what="two_bone_ik", bone="forearm.R")
    limb = obj.active_ragdoll.two_bone_ik[0]
    limb.end_bone, limb.effector, limb.weight = "finger.R", target, 0.5
    OPS.motion_add(what="bone_transforms", bone="hips")
    moved = obj.active_ragdoll.bone_transforms[0]
    moved.bone, moved.translation_mode, moved.rotation_mode = "hips", "ADD", "ADD"
    moved.translation, moved.rotation = (0.02, 0.0, -0.08), (0.05, 0.1, 0.0)
    return obj


@shot(24)
def look_at(scene):
    return [look(scene, human(scene))]


@shot(32)
def look_at_physics(scene):
    obj = look(scene, human(scene))
    build(obj, rotation_weight=0.9, translation_weight=0.6)
    obj.active_ragdoll.look_at[0].blend_speed = 2.0
    key(obj, "look_at[0].weight", {1: 0.0, 12: 1.0})
    OPS.add_hit(bone="spine", frame=10, impulse=(0.0, 15.0, 0.0))
    return [obj]


@shot(32)
def layers(scene):
    obj = human(scene)
    swing = put_aside(obj, "Swing")
    rigs.swing(obj, 1, 40, [("spine", (0, 0, 1), 25.0, 1.1, 0.0), ("arm.L", (0, 0, 1), 40.0, 0.7, 0.1)])
    reach = put_aside(obj, "Reach")
    rigs.key_locations(obj, {1: (0.0, 0.0, 0.0), 32: (0.0, -1.5, 0.0)})
    use(obj)
    OPS.add_blend_space(kind="SPEED")
    space = obj.active_ragdoll.blend_spaces[0]
    OPS.add_sample(action="Swing")
    OPS.add_sample(action="Reach")
    (space.samples[0].x, space.samples[1].x), space.x.smoothing, space.x.input = (0.0, 2.5), 0.1, "SPEED"
    OPS.add_layer(source="BLEND_SPACE")
    for mode, weight in (("OVERRIDE", 0.6), ("ADDITIVE_LOCAL", 0.5), ("ADDITIVE_MESH", 0.3)):
        OPS.add_layer(source="POSE_ASSET", action="Reach")
        layer = obj.active_ragdoll.layers[-1]
        rigs.changed(layer, source="CLIP", action=reach, mode=mode, weight=weight, speed=1.3, start=3.0)
    rigs.changed(obj.active_ragdoll.layers[1], action=swing, mask="BONES").mask_bones.add().bone = "spine"
    build(obj, rotation_weight=0.95)
    key(obj, "layers[2].weight", {1: 0.0, 20: 1.0})
    return [obj]


@shot(32)
def several(scene):
    small = human(scene, -1.0, "Small")
    small.scale = (0.01, 0.01, 0.01)
    small.data.transform(((100, 0, 0, 0), (0, 100, 0, 0), (0, 0, 100, 0), (0, 0, 0, 1)))
    build(small, rotation_weight=0.7, translation_weight=0.4)
    mirrored = human(scene, 0.3, "Mirrored")
    mirrored.scale.x = -1.0
    build(mirrored, space="JOINT", self_collision=False)
    turned = human(scene, 1.6, "Turned")
    turned.rotation_euler.z = math.radians(120.0)
    build(turned, "SPRING")
    OPS.add_attachment(bone="forearm.R", target="Mirrored")
    turned.active_ragdoll.attachments[0].target_bone = "forearm.L"
    rigs.box(scene, "Crate", (0.4, 0.4, 0.4), (-1.0, -0.35, 0.8), mass=4.0)
    return [small, mirrored, turned]


def load(tree: Path) -> None:
    """Register the extension of a source tree."""
    spec = importlib.util.spec_from_file_location(NAME, tree / "__init__.py", submodule_search_locations=[str(tree)])
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    package.register()


def main(tree: str, out: str) -> int:
    """Play all shots; 1 if one could not be played, whose traceback is printed."""
    sys.dont_write_bytecode = True
    load(Path(tree).resolve())
    found, failed = {}, 0
    for name in SHOTS:
        try:
            found |= {f"{name} {what}": values for what, values in SHOTS[name]().items()}
        except Exception:
            print(f"shot '{name}':")
            traceback.print_exc(file=sys.stdout)
            failed = 1
    np.savez(out, **found)
    return failed


if __name__ == "__main__":
    code = 2
    try:
        code = main(*sys.argv[-2:])
    except Exception:
        traceback.print_exc(file=sys.stdout)
    finally:
        # A bpy wheel that has simulated a rigid body world hangs in the interpreter's clean-up.
        sys.stdout.flush()
        os._exit(code)
