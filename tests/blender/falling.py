"""Falls of characters that are knocked out by a push on the chest, and what is measured of them."""

from dataclasses import dataclass

import numpy as np

import knock_outs
import motion_figures
import rigs
from active_ragdoll.core import quaternion
from active_ragdoll.core.anatomy import axes
from active_ragdoll.core.anatomy.masses import GRAVITY, froude
from active_ragdoll.core.blender.physics.world import ensure
from active_ragdoll.core.blender.rig.armature import anatomy_of
from active_ragdoll.core.blender.settings import effects

HIT, LAST = 4, 84  # frames after the shot's first
RAG, STUNNED, AWAKE = ((*effects.TONE_VALUES[name],) for name in ("RAG", "STUNNED", "AWAKE"))
SIDES = {"front": (-1.0, 0.0), "back": (1.0, 0.0), "left": (0.0, -1.0), "right": (0.0, 1.0)}  # ahead, to the left
SLOPE, RISE, RUN, STEPS = np.radians(15.0), 0.17, 0.29, 9  # [m] of a step of 1.8 m
NEAR = 0.01  # of the height: a body nearer to the floor has met it
TRUNK, ARMS = ("PELVIS", "SPINE", "CHEST"), ("HAND", "FOREARM", "UPPER_ARM", "CLAVICLE")
MEASURED = (*TRUNK, "NECK", "HEAD", "UPPER_ARM", "FOREARM", "THIGH", "SHANK")


@dataclass
class Fall:
    """A fall, as of a character of 1.8 m: bodies by frame from the hit on, and the floor under them."""

    roles: list
    parents: np.ndarray  # rows [m], -1 at roots
    bind: np.ndarray  # [m, 4, 4]
    lowest: np.ndarray  # height of each body's lowest point over the floor, of the character's [f, m]
    bodies: np.ndarray  # [f, m, 4, 4]
    height: float
    shown: dict  # pose by frame
    obj: object
    up: np.ndarray  # of the character in bind pose [3]

    @property
    def _speed(self) -> float:
        return froude(1.8, GRAVITY) / froude(self.height, GRAVITY)

    def _of(self, *roles) -> list:
        return [i for i, role in enumerate(self.roles) if role in roles]

    def speeds(self) -> np.ndarray:
        """Of the bodies from frame to frame [f - 1, m] [m/s]."""
        return np.linalg.norm(np.diff(self.bodies[:, :, :3, 3], axis=0), axis=2) * rigs.FPS * self._speed

    def joint_speeds(self) -> np.ndarray:
        """Angular speeds of the main joints after the blow [f, k] [deg/s]."""
        rows = [i for i in self._of(*MEASURED) if self.parents[i] >= 0]
        turns = self.bodies[..., :3, :3]
        between = quaternion.from_matrix(turns[:, self.parents[rows]].swapaxes(-1, -2) @ turns[:, rows])
        return motion_figures.spins(between, rigs.FPS)[2:] * self.height / 1.8 * self._speed

    def fold(self) -> float:
        """Largest angle between trunk and either thigh, 0 upright [deg]."""
        turned = self.bodies[..., :3, :3] @ self.bind[:, :3, :3].swapaxes(-1, -2)
        above = [i for i in self._of("CHEST", "SPINE") if self.roles[i] == "CHEST"] or self._of("SPINE")[-1:]
        between = turned[:, above[-1:]].swapaxes(-1, -2) @ turned[:, self._of("THIGH")]
        return float(np.degrees(np.arccos(np.clip(self.up @ between @ self.up, -1.0, 1.0))).max())

    def meets(self, *roles) -> float:
        """Seconds after the hit at which a body of some roles meets the floor; inf where none does."""
        low = self.lowest[:, self._of(*roles)].min(axis=1)
        if not (low < NEAR).any():
            return float("inf")
        i = int(np.argmax(low < NEAR))
        return (i - (NEAR - low[i]) / max(low[i - 1] - low[i], 1e-9) if i else 0.0) / rigs.FPS

    def head_speed(self) -> float:
        """Of the head when it meets the floor, 0 where it never does: in that frame or the one before [m/s]."""
        (head,), moment = self._of("HEAD")[:1], self.meets("HEAD")
        if not np.isfinite(moment):
            return 0.0
        until = int(np.ceil(moment * rigs.FPS))
        return float(self.speeds()[max(until - 2, 0) : max(until, 1), head].max())

    def rest(self) -> float:
        """Seconds after the hit from which on no body moves faster than 0.3 m/s, both as of 1.8 m."""
        fast = np.flatnonzero((self.speeds() > 0.3).any(axis=1))
        return (float(fast[-1]) + 1.0) / rigs.FPS * self._speed if len(fast) else 0.0

    def arms_first(self) -> bool | None:
        """Whether a hand, elbow or shoulder meets the floor before the head; None where neither does."""
        arms, head = self.meets(*ARMS), self.meets("HEAD")
        return arms <= head if min(arms, head) < np.inf else None


def fall(name, side, tone, reflexes, speed=1.2, frames=LAST, bones="MAIN", ground="flat", look=None, **more) -> Fall:
    """A character, knocked out by a push that gives its whole mass a speed [m/s], as of 1.8 m.

    It stays down, unless the settings of its recovery say otherwise. frames: of the shot, as of 1.8 m. ground: flat,
    slope or stairs. look(obj, seconds): at each frame, with the time after the hit, as of 1.8 m."""
    rig = rigs.load(name)
    obj, scene = rig.obj, rig.scene
    tall = [np.ptp(pose[:, 2, 3]) for pose in rigs.shown(scene, obj, (rig.last, rig.first)).values()]
    if min(tall) < 0.6 * max(tall):  # its clip is itself a fall
        still(obj)
    hit = rig.first + HIT
    ensure(scene)  # as a build makes it: with ten iterations, as Blender has, limits of light joints do not hold
    more = {"tone": tone, "reflexes": reflexes, "rest_time": 1e3} | more
    knock_outs.prepare(scene, obj, rig.first, rig.first + frames, {hit: "LIMP"}, bones, **more)
    scene.frame_set(hit)
    parts = obj.active_ragdoll.parts
    names, height = [part.bone for part in parts], obj.active_ragdoll.height
    slow = froude(height, GRAVITY) / froude(1.8, GRAVITY)
    rigs.set_range(scene, rig.first, last := rig.first + round(frames * slow))
    roles = [obj.pose.bones[bone].active_ragdoll.role for bone in names]
    chest = names.index(chest_of(obj))
    heads, tails = (np.array([getattr(bone, end) for bone in obj.data.bones]) for end in ("head_local", "tail_local"))
    own = axes.character_axes(anatomy_of(obj), heads, tails - heads)
    world = np.array(obj.matrix_world)
    turned = np.array(obj.pose.bones[names[chest]].matrix) @ np.linalg.inv(obj.data.bones[names[chest]].matrix_local)
    ahead = (world @ turned)[:3, :3] @ own.forward
    ahead = np.array([*ahead[:2], 0.0]) / np.linalg.norm(ahead[:2])
    way = SIDES[side][0] * ahead + SIDES[side][1] * np.array([-ahead[1], ahead[0], 0.0])
    effects.add_hit(obj, scene, names[chest], hit, way * rigs.masses(obj).sum() * speed * slow)
    floor = scene.objects["Floor"].location.z + 0.5
    hulls = [np.array([vertex.co for vertex in part.body.data.vertices]) for part in parts]
    lay(scene, ground, obj.matrix_world @ obj.pose.bones[names[chest]].head, height / 1.8)
    bodies, shown = [], {}

    def read():
        shown[scene.frame_current] = rigs.pose(obj)
        if scene.frame_current >= hit:
            bodies.append(rigs.bodies(obj))
            if look is not None:
                look(obj, (scene.frame_current - hit) / rigs.FPS / slow)

    rigs.play(scene, rig.first, last, read)
    bodies = np.array(bodies)
    low = np.transpose([(bodies[:, i, 2, :3] @ hull.T).min(axis=1) for i, hull in enumerate(hulls)])
    low += bodies[:, :, 2, 3]
    parents = np.array([names.index(part.parent) if part.parent else -1 for part in parts])
    bind = np.array([part.bind for part in parts])
    up = world[:3, :3] @ own.up
    return Fall(roles, parents, bind, (low - floor) / height, bodies, height, shown, obj, up / np.linalg.norm(up))


def still(obj) -> None:
    """Have a character stand in bind pose."""
    if obj.animation_data is not None:
        obj.animation_data.action = None
    for bone in obj.pose.bones:
        bone.matrix_basis.identity()


def chest_of(obj) -> str:
    """The bone of its uppermost body of the trunk."""
    found = {part.bone: obj.pose.bones[part.bone].active_ragdoll.role for part in obj.active_ragdoll.parts}
    return max((TRUNK.index(role), i, bone) for i, (bone, role) in enumerate(found.items()) if role in TRUNK)[2]


def lay(scene, ground: str, place, size: float) -> None:
    """Turn the floor to a slope about a place, or have stairs go down towards -Y from there."""
    floor, (x, y, _z) = scene.objects["Floor"], place
    top, side = floor.location.z + 0.5, floor.dimensions.x
    if ground == "slope":
        floor.rotation_euler.x = SLOPE
        floor.location = x, y + 0.5 * np.sin(SLOPE), top - 0.5 * np.cos(SLOPE)
    elif ground == "stairs":
        floor.location.y = y + 0.5 * side
        for i in range(1, STEPS):  # each reaches under all of the floor, the last one far ahead
            ahead = RUN * size * i + (side if i == STEPS - 1 else 0.0)
            at = x, y + 0.5 * (side - ahead), top - RISE * size * i - 0.5
            rigs.box(scene, f"Step {i}", (side, side + ahead, 1.0), at, passive=True)
