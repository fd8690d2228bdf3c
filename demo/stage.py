"""The demo's surroundings: a floor, a heavy ball that swings into the walker's chest, a camera and a light.

Floor, ball and hook are ordinary rigid bodies of the scene, made as any artist would make them.
"""

import math
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from . import DemoError
from .character import make_material

BALL_RADIUS = 0.2  # [m]
_CHEST_HALF_DEPTH = 0.15  # from the middle of the chest to its surface where the ball meets it [m]
_HOOK_DISTANCE = 0.95  # hook to the middle of the chest, horizontally [m]: at rest the ball hangs clear of the walk


@dataclass(frozen=True)
class Pendulum:
    """A ball on a rod, released from rest.

    hook_ws: where the rod hangs [m]. start_ws, contact_ws: the ball's centre at release and when it arrives
    [m].
    length: of the rod [m]. seconds: from release to arrival. speed: at arrival [m/s].
    """

    hook_ws: Vector
    start_ws: Vector
    contact_ws: Vector
    length: float
    seconds: float
    speed: float


@dataclass(frozen=True)
class Stage:
    """What `make_stage` puts into the scene; the pendulum says when and how fast the ball arrives."""

    floor: bpy.types.Object
    ball: bpy.types.Object
    hook: bpy.types.Object
    joint: bpy.types.Object
    camera: bpy.types.Object
    light: bpy.types.Object
    pendulum: Pendulum
    hit_frame: int


def make_stage(
    scene: bpy.types.Scene,
    armature: bpy.types.Object,
    *,
    hit_frame: int | None = None,
    chest_bone: str = "spine.003",
    ball_mass: float = 15.0,
) -> Stage:
    """Sets the scene around an animated character: floor, swinging ball, rigid body world, camera, light.

    The ball's way is planned for the chest's animated place at `hit_frame` as if nothing were in between; it
    comes from the character's front and left, and hangs aside of the way afterwards.

    Args:
        scene: the current scene with its frame range set; its frame is where it was afterwards.
        armature: the animated character, standing on z = 0, walking towards -Y.
        hit_frame: default: the middle of the scene's frame range.
        ball_mass: [kg].

    Raises:
        DemoError: no such bone, a hit frame outside of the range or too early for the swing, no downward
            gravity.
    """
    if chest_bone not in armature.pose.bones:
        raise DemoError(f"{armature.name!r} has no bone {chest_bone!r} for the ball to aim at")
    if hit_frame is None:
        hit_frame = (scene.frame_start + scene.frame_end) // 2
    if not scene.frame_start < hit_frame <= scene.frame_end:
        raise DemoError(f"hit frame {hit_frame} is not within frames {scene.frame_start} to {scene.frame_end}")
    seconds = (hit_frame - scene.frame_start) * scene.render.fps_base / scene.render.fps
    pendulum = plan_swing(_bone_middle_at(scene, armature, chest_bone, hit_frame), seconds, gravity=-scene.gravity.z)
    ensure_rigid_body_world(scene)
    floor = make_floor(scene)
    ball, hook, joint = _make_ball(scene, pendulum, ball_mass)
    camera = make_camera(scene, armature)
    light = make_light(scene)
    set_render_look(scene)
    bpy.context.view_layer.update()
    return Stage(floor, ball, hook, joint, camera, light, pendulum, hit_frame)


def plan_swing(
    chest_ws: Vector,
    seconds: float,
    *,
    gravity: float = 9.81,
    release_angle: float = math.radians(62.0),
    azimuth: float = math.radians(40.0),
) -> Pendulum:
    """Where to hang and release a pendulum so that its ball touches the chest at a given time.

    The ball is released at rest on the chest's side of the hook, swings away, returns through the bottom and
    meets the chest shortly after it; the rod's length is what makes the time right.

    Args:
        chest_ws: middle of the chest when the ball shall arrive [m].
        seconds: from release to arrival [s].
        gravity: downward acceleration [m/s^2].
        release_angle: of the rod from straight down [rad].
        azimuth: of the swing's plane, from the character's left (0) to its front (pi/2) [rad].

    Raises:
        DemoError: no rod between 0.9 and 6 m arrives at that time, or gravity does not point down.
    """
    if gravity <= 0.0:
        raise DemoError(f"the ball needs a gravity that points down, got {-gravity:g} m/s^2")
    side = Vector((math.cos(azimuth), -math.sin(azimuth), 0.0))
    reach = _HOOK_DISTANCE - _CHEST_HALF_DEPTH - BALL_RADIUS  # from under the hook towards the chest, at contact

    def arrival(length: float) -> tuple[float, float]:
        return _arrival(length, release_angle, math.asin(reach / length), gravity)

    short, long = 0.9, 6.0
    if not arrival(short)[0] < seconds < arrival(long)[0]:
        raise DemoError(
            f"the ball cannot arrive {seconds:.2f} s after the first frame; choose a hit between "
            f"{arrival(short)[0]:.2f} and {arrival(long)[0]:.2f} s"
        )
    while long - short > 1e-5:
        middle = 0.5 * (short + long)
        short, long = (middle, long) if arrival(middle)[0] < seconds else (short, middle)
    length = 0.5 * (short + long)
    time, speed = arrival(length)
    contact = chest_ws + side * (_CHEST_HALF_DEPTH + BALL_RADIUS)
    hook = contact + side * reach + Vector((0.0, 0.0, math.sqrt(length**2 - reach**2)))
    start = hook - side * (length * math.sin(release_angle)) - Vector((0.0, 0.0, length * math.cos(release_angle)))
    return Pendulum(hook, start, contact, length, time, speed)


def _arrival(length: float, release_angle: float, contact_angle: float, gravity: float) -> tuple[float, float]:
    """Time [s] and speed [m/s] when the pendulum is back at `contact_angle` on the side of its release.

    The motion after release mirrors itself, so only a quarter swing is integrated: from the bottom up to any
    angle a the rod turns at sqrt(2 g / l (cos a - cos release)) (conservation of energy). The substitution
    sin(a / 2) = sin(release / 2) sin(u) takes away the root's singularity at the turning point.
    """
    k = math.sin(0.5 * release_angle)

    def from_bottom(end: float) -> float:
        u = (np.arange(512) + 0.5) * (end / 512)
        return float(np.sum(1.0 / np.sqrt(1.0 - (k * np.sin(u)) ** 2)) * (end / 512) * math.sqrt(length / gravity))

    quarter = from_bottom(0.5 * math.pi)
    rise = from_bottom(math.asin(math.sin(0.5 * contact_angle) / k))
    speed = math.sqrt(2.0 * gravity * length * (math.cos(contact_angle) - math.cos(release_angle)))
    return 3.0 * quarter + rise, speed


def ensure_rigid_body_world(scene: bpy.types.Scene) -> bpy.types.RigidBodyWorld:
    """The scene's rigid body world with its two collections; a new one's cache spans the scene's frames.

    The collections are linked into the scene from Blender 4.3 on: with others Bullet keeps its joints on the originals,
    and Blender crashes when it frees those after their bodies; before, it crashes when it frees copies first.
    """
    world = scene.rigidbody_world
    if world is None:
        with bpy.context.temp_override(scene=scene):
            bpy.ops.rigidbody.world_add()
        world = scene.rigidbody_world
        world.point_cache.frame_start, world.point_cache.frame_end = scene.frame_start, scene.frame_end
    if world.collection is None:
        world.collection = bpy.data.collections.new("RigidBodyWorld")
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
    for collection in (world.collection, world.constraints):
        if bpy.app.version >= (4, 3, 0) and collection not in scene.collection.children_recursive:
            scene.collection.children.link(collection)
    return world


def make_floor(scene: bpy.types.Scene, *, size: int = 24, thickness: float = 0.4) -> bpy.types.Object:
    """A square passive slab with its top at z = 0 and a checker of 1 m tiles, to see motion against.

    The slab is a box around the object's origin, as a BOX shape has to be.

    Args:
        size: length of a side [m].
        thickness: [m].
    """
    half, low, high = 0.5 * size, -0.5 * thickness, 0.5 * thickness
    vertices = [(x - half, y - half, high) for y in range(size + 1) for x in range(size + 1)]
    row = size + 1
    faces = [
        (y * row + x, y * row + x + 1, (y + 1) * row + x + 1, (y + 1) * row + x)
        for y in range(size)
        for x in range(size)
    ]
    shades = [(x + y) % 2 for y in range(size) for x in range(size)]
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    top = [0, size, row * size + size, row * size]
    first = len(vertices)
    vertices += [(x, y, low) for x, y in corners]
    faces.append(tuple(first + i for i in (3, 2, 1, 0)))
    for i in range(4):
        j = (i + 1) % 4
        faces.append((first + i, first + j, top[j], top[i]))
    shades += [0] * 5
    mesh = bpy.data.meshes.new("Floor")
    mesh.from_pydata(vertices, [], faces)
    mesh.materials.append(make_material("floor light", (0.80, 0.80, 0.79), roughness=0.9))
    mesh.materials.append(make_material("floor dark", (0.60, 0.62, 0.64), roughness=0.9))
    mesh.polygons.foreach_set("material_index", np.array(shades, dtype=np.int32))
    mesh.update()
    floor = bpy.data.objects.new("Floor", mesh)
    floor.location.z = -0.5 * thickness
    scene.collection.objects.link(floor)
    _add_body(scene, floor, "PASSIVE", "BOX")
    floor.rigid_body.friction = 0.8
    return floor


def _make_ball(
    scene: bpy.types.Scene, pendulum: Pendulum, mass: float
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """The ball with its visible rod, the static hook, and the point constraint between them."""
    mesh = bpy.data.meshes.new("Ball")
    _fill_sphere(mesh, BALL_RADIUS)
    mesh.materials.append(make_material("ball", (0.55, 0.03, 0.04), roughness=0.3))
    ball = bpy.data.objects.new("Ball", mesh)
    up = (pendulum.hook_ws - pendulum.start_ws).normalized()
    ball.rotation_mode = "QUATERNION"
    ball.rotation_quaternion = Vector((0.0, 0.0, 1.0)).rotation_difference(up)
    ball.location = pendulum.start_ws
    rod_mesh = bpy.data.meshes.new("Ball rod")
    _fill_rod(rod_mesh, 0.012, BALL_RADIUS, pendulum.length)
    steel = make_material("steel", (0.20, 0.21, 0.23))
    rod_mesh.materials.append(steel)
    rod = bpy.data.objects.new("Ball rod", rod_mesh)
    rod.parent = ball
    hook_mesh = bpy.data.meshes.new("Hook")
    _fill_sphere(hook_mesh, 0.05)
    hook_mesh.materials.append(steel)
    hook = bpy.data.objects.new("Hook", hook_mesh)
    hook.location = pendulum.hook_ws
    joint = bpy.data.objects.new("Ball joint", None)
    joint.location = pendulum.hook_ws
    joint.empty_display_size = 0.1
    for obj in (ball, rod, hook, joint):
        scene.collection.objects.link(obj)
    _add_body(scene, hook, "PASSIVE", "SPHERE")
    _add_body(scene, ball, "ACTIVE", "SPHERE")
    ball.rigid_body.mass = mass
    ball.rigid_body.linear_damping = ball.rigid_body.angular_damping = 0.0
    ball.rigid_body.use_deactivation = False
    scene.rigidbody_world.constraints.objects.link(joint)
    constraint = joint.rigid_body_constraint
    constraint.type = "POINT"
    constraint.object1, constraint.object2 = hook, ball
    return ball, hook, joint


def _add_body(scene: bpy.types.Scene, obj: bpy.types.Object, kind: str, shape: str) -> None:
    scene.rigidbody_world.collection.objects.link(obj)
    obj.rigid_body.type = kind
    obj.rigid_body.collision_shape = shape


def make_camera(scene: bpy.types.Scene, armature: bpy.types.Object, *, bone: str | None = None) -> bpy.types.Object:
    """A camera that keeps its distance to the character: it hangs on an Empty that copies a bone's x and y.

    It looks at the character from its front and right, from a little above, across the way of the ball. Sized
    by the armature's height.

    Args:
        bone: to follow; default: the first root bone that has children.
    """
    if bone is None:
        roots = [b for b in armature.data.bones if b.parent is None]
        bone = max(roots, key=lambda b: len(b.children_recursive)).name
    corners = [armature.matrix_world @ end for b in armature.data.bones for end in (b.head_local, b.tail_local)]
    low, high = min(c.z for c in corners), max(c.z for c in corners)
    size = max(high - low, *(max(c[i] for c in corners) - min(c[i] for c in corners) for i in (0, 1)), 1e-3)
    focus = bpy.data.objects.new("Camera focus", None)
    focus.location.z = low + 0.50 * (high - low)
    focus.empty_display_size = 0.1 * size
    follow = focus.constraints.new("COPY_LOCATION")
    follow.target, follow.subtarget = armature, bone
    follow.use_z = False
    data = bpy.data.cameras.new("Camera")
    data.lens = 50.0
    data.clip_start, data.clip_end = 0.01 * size, 100.0 * size
    camera = bpy.data.objects.new("Camera", data)
    camera.parent = focus
    camera.location = Vector((-0.66, -0.76, 0.20)).normalized() * (2.5 * size)
    camera.rotation_mode = "QUATERNION"
    camera.rotation_quaternion = (-camera.location).to_track_quat("-Z", "Y")
    scene.collection.objects.link(focus)
    scene.collection.objects.link(camera)
    scene.camera = camera
    return camera


def make_light(scene: bpy.types.Scene) -> bpy.types.Object:
    """A sun from behind the camera and a pale sky, for Cycles; Workbench brings its own light."""
    data = bpy.data.lights.new("Sun", "SUN")
    data.energy, data.angle = 1.7, math.radians(3.0)
    light = bpy.data.objects.new("Sun", data)
    light.rotation_euler = (math.radians(40.0), math.radians(-12.0), math.radians(-20.0))
    scene.collection.objects.link(light)
    if scene.world is None:
        scene.world = bpy.data.worlds.new("Sky")
    world = scene.world
    world.color = (0.45, 0.50, 0.56)
    if world.node_tree is None:
        world.use_nodes = True
    background = next((node for node in world.node_tree.nodes if node.type == "BACKGROUND"), None)
    if background is not None:
        background.inputs["Color"].default_value = (0.45, 0.50, 0.56, 1.0)
        background.inputs["Strength"].default_value = 0.5
    return light


def set_render_look(scene: bpy.types.Scene) -> None:
    """Colours and shadows for a clear picture in Workbench and a quick Cycles; the engine stays as it is."""
    scene.view_settings.view_transform, scene.view_settings.exposure = "Standard", 0.6
    shading = scene.display.shading
    shading.light, shading.color_type = "STUDIO", "MATERIAL"
    shading.show_shadows, shading.shadow_intensity = True, 0.45
    shading.show_cavity, shading.cavity_type = True, "SCREEN"
    scene.display.light_direction = (-0.30, 0.40, 0.86)
    scene.display.render_aa = "8"
    shading.background_type = "WORLD"


def _bone_middle_at(scene: bpy.types.Scene, armature: bpy.types.Object, bone: str, frame: int) -> Vector:
    current = scene.frame_current
    scene.frame_set(frame)
    pose_bone = armature.pose.bones[bone]
    middle = armature.matrix_world @ (0.5 * (pose_bone.head + pose_bone.tail))
    scene.frame_set(current)
    return middle


def _fill_sphere(mesh: bpy.types.Mesh, radius: float, rings: int = 16, segments: int = 32) -> None:
    polar = np.linspace(0.0, math.pi, rings + 1)[1:-1]
    angle = np.arange(segments) * (2.0 * math.pi / segments)
    points = (
        np.stack(
            [
                np.outer(np.sin(polar), np.cos(angle)),
                np.outer(np.sin(polar), np.sin(angle)),
                np.outer(np.cos(polar), np.ones(segments)),
            ],
            axis=2,
        ).reshape(-1, 3)
        * radius
    )
    _fill_tube(mesh, points, segments, (0.0, 0.0, radius), (0.0, 0.0, -radius))


def _fill_rod(mesh: bpy.types.Mesh, radius: float, start: float, end: float, segments: int = 12) -> None:
    """A thin cylinder along +Z between two heights [m]."""
    angle = np.arange(segments) * (2.0 * math.pi / segments)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(segments)], axis=1)
    points = np.concatenate([ring + np.array((0.0, 0.0, end)), ring + np.array((0.0, 0.0, start))])
    _fill_tube(mesh, points, segments, (0.0, 0.0, end), (0.0, 0.0, start))


def _fill_tube(mesh: bpy.types.Mesh, points: np.ndarray, segments: int, top: tuple, bottom: tuple) -> None:
    """Faces around rings of points from top to bottom, shape [rings * segments, 3], closed by two poles."""
    count = len(points) // segments
    first, last = len(points), len(points) + 1
    faces = []
    for j in range(segments):
        k = (j + 1) % segments
        faces += [(first, j, k), (last, (count - 1) * segments + k, (count - 1) * segments + j)]
        faces += [
            (i * segments + j, (i + 1) * segments + j, (i + 1) * segments + k, i * segments + k)
            for i in range(count - 1)
        ]
    mesh.from_pydata([*points.tolist(), top, bottom], [], faces)
    mesh.polygons.foreach_set("use_smooth", np.ones(len(faces), dtype=bool))
    mesh.update()
