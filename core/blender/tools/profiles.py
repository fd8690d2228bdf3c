"""Profiles of real characters: taken from an armature, put on one as a whole or not at all, and the shipped presets."""

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import bpy
import numpy as np

from ... import quaternion, skeleton
from ...anatomy import axes, joints
from ...errors import RagdollError, listed
from ...profile import AUTO, BY_NAME, NO_PART, Entry, Field, Profile, Schema, dump, match, mirrored, parse, shortest
from ...ragdoll.bodies import convex, fitting
from .. import preferences, runtime
from ..physics import body_objects
from ..rig.armature import BindPose, anatomy_of, check_armature, refuse_baked, rigid
from ..settings import at_frame, declare, object
from ..settings.bone import ActiveRagdollBone

FOLDER = Path(__file__).resolve().parents[3] / "presets"
PRESETS = (
    ("HUMAN", "Human", "An adult: anatomical ranges, flesh that hardly bounces"),
    ("HUMAN_ATHLETIC", "Human Athletic", "Heavier, tenser, with wider ranges"),
    ("HUMAN_CHILD", "Human Child", "Light, with a heavy head and loose joints"),
    ("QUADRUPED", "Quadruped", "Four legs that grip, a supple neck and tail"),
    ("TAIL_ROPE", "Tail or Rope", "Every joint bends alike; smooth and well damped"),
    ("ROBOT", "Robot", "Hinges, heavy metal, hard contacts"),
    ("GENERIC", "Generic", "All settings as a new character has them"),
)
FORMER = ("active_attachment", "layer_index", "blend_space_index")  # what 0.1.0 wrote though it is no setting
RENAMED = {"role": "own_role"}  # an entry's role is what the bone was taken for, not what was chosen for it
_ATTRIBUTES = {key: name for name, key in RENAMED.items()}
POINTS = {"body_points": fitting.MOST_PARTS * convex.MOST_POINTS}  # texts that hold points as JSON: the most of them
OWN_PLACE = {*body_objects.SHAPE_SETTINGS, "bind_rotation", "bind_location"}  # of no other rig's bones
AUTOMATIC = "DEFAULT"  # where limits come from when the extension finds them
PROFILE = "PROFILE"  # and when a preset states them: as anatomical ones they are widened to the animation
SAME_FRAME = 1e-3  # [rad] two rigs' bones that differ by less have the same frame


@dataclass
class Applied:
    """What applying a profile did."""

    bones: int
    changed: int
    notes: list

    def text(self) -> str:
        """One line for messages, without the notes."""
        return f"{self.bones} bones, {self.changed} settings changed"


# ---- the settings there are -----------------------------------------------------------------------------------------
def schema() -> Schema:
    """The settings of characters and bones, as the property groups declare them."""
    return Schema(_fields(object.ActiveRagdollObject), _fields(ActiveRagdollBone), FORMER)


def _fields(group: type) -> dict:
    """The settings of a property group that are one value or a fixed number of them."""
    result = {}
    for name in declare.names(group, kind=declare.SETTING):
        p = group.bl_rna.properties[name]
        key = RENAMED.get(name, name)
        if name in POINTS:
            result[key] = Field("POINTS", POINTS[name])
        elif p.type == "ENUM":
            result[key] = Field("ENUM", choices=tuple(item.identifier for item in p.enum_items))
        elif p.type == "BOOLEAN":
            result[key] = Field("BOOL", p.array_length)
        elif p.type in ("INT", "FLOAT"):
            result[key] = Field(p.type, p.array_length, p.hard_min, p.hard_max)
    return result


def _values(group, fields: dict, owner: str) -> dict:
    result = {}
    for key, wanted in fields.items():
        value = getattr(group, _ATTRIBUTES.get(key, key))
        try:
            if wanted.kind == "POINTS":
                value = json.loads(value) if value else []
            elif wanted.kind == "FLOAT":
                value = [shortest(v) for v in value] if wanted.length else shortest(value)
        except ValueError as error:
            raise RagdollError(f"{owner}: {key} {error}") from error
        result[key] = list(value) if wanted.length else value
    return result


# ---- from a character -----------------------------------------------------------------------------------------------
def collect(obj) -> Profile:
    """Everything set on a character, whether it has a ragdoll or not. Raises RagdollError: the object is no armature
    with bones, or a setting is not a finite number."""
    check_armature(obj)
    known = schema()
    bones = dict(known.bone)
    if not obj.active_ragdoll.is_ragdoll:
        del bones["simulate"]  # nothing is chosen before the first build
    anatomy = anatomy_of(obj)
    frames, rests = anatomical_frames(obj, anatomy)
    entries = []
    for i, bone in enumerate(obj.pose.bones):
        settings = _values(bone.active_ragdoll, bones, f"Bone '{bone.name}' of '{obj.name}'")
        turn, inside = np.array(settings["joint_rotation"]), None
        if np.isfinite(frames[i]).all() and np.linalg.norm(turn) > 1e-3:
            inside = quaternion.multiply(quaternion.conjugate(frames[i]), quaternion.normalize(turn))
            inside = tuple(map(shortest, inside))
        place = bone.name, anatomy.roles[i], anatomy.sides[i], int(anatomy.order[i])
        entries.append(Entry(settings, *place, joint_in_anatomy=inside, rest=tuple(map(shortest, rests[i]))))
    settings = _values(obj.active_ragdoll, known.object, f"'{obj.name}'")
    return Profile(settings, tuple(entries), obj.name, kind=anatomy.kind)


def anatomical_frames(obj, anatomy) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (w, x, y, z) from the bones' frames to the anatomical frames of their joints [n, 4]; nan if unknown.

    And the bones' own in the rest pose, in the armature's space [n, 4]."""
    pose = BindPose(obj, np.eye(4))
    result = np.full((len(pose.names), 4), np.nan)
    bind = axes.bind_of(anatomy, pose.parents, pose.heads, pose.tails)
    for i, role in enumerate(anatomy.roles):
        if bind is not None and role not in NO_PART:
            result[i] = quaternion.from_matrix(pose.matrices[i, :3, :3].T @ bind.joint_frame(i).rotation)
    return result, quaternion.from_matrix(rigid(pose.rest)[:, :3, :3])


# ---- to a character -------------------------------------------------------------------------------------------------
def apply(obj, profile: Profile, how: str = AUTO, mirror: str = "NONE") -> Applied:
    """Put a profile on a character: all that it says of bones that are found, or, on an error, nothing. `how` is AUTO,
    NAME or ROLE, see `match`, `mirror` NONE or a way of `mirrored`.
    Raises RagdollError: the object cannot take it now, or none of the profile's bones is found."""
    check_armature(obj)
    refuse_baked(obj)
    if mirror != "NONE":
        profile = mirrored(profile, mirror)
    anatomy = anatomy_of(obj)
    found = match(profile, [bone.name for bone in obj.pose.bones], anatomy, how, f"'{obj.name}'")
    frames, rests = anatomical_frames(obj, anatomy)
    own_limits = _own_limits(obj, anatomy) if any(r is not None for r in found.ranges) else {}
    wanted, unturned = [(obj.active_ragdoll, profile.object)], []
    for i, bone in enumerate(obj.pose.bones):
        settings, inside, rest = found.settings[i], found.joint_in_anatomy[i], found.rest[i]
        if found.ranges[i] is not None and i in own_limits:
            settings = settings | _ranged(own_limits[i], found.ranges[i])
        elif found.by[i] == BY_NAME:
            if rest is None or quaternion.angle_between(np.array(rest), rests[i]) > SAME_FRAME:
                settings = _to_the_same_rig(settings, inside, frames[i])
        elif found.by[i]:
            settings = _to_another_rig(settings, inside, frames[i])
            idle = obj.active_ragdoll.is_ragdoll and not bone.active_ragdoll.simulate
            if not idle and not np.isfinite(frames[i]).all() and "limit_min" in settings and not _round(settings):
                unturned.append(bone.name)
        if settings.get("limits_from") == PROFILE and "limit_min" in settings:
            kept = {name: settings[name] for name in ("joint", "limit_min", "limit_max") if name in settings}
            settings = settings | {"profile_limits": json.dumps(kept)}
        wanted.append((bone.active_ragdoll, settings))
    stated = {key for _group, settings in wanted for key in settings}
    keyed = sorted({path.rpartition("active_ragdoll.")[2] for path in at_frame.keyed_paths(obj)} & stated)
    notes = found.notes + [f"{', '.join(keyed)} of '{obj.name}' keyed or driven: the keys win"] * bool(keyed)
    if unturned:
        axes_of = listed(unturned)
        notes.append(f"the anatomical axes of {axes_of} are unknown: the limits count in the bones' own frames")
    return Applied(sum(map(bool, found.by)), _write(obj, wanted), notes)


def _joint(frame, inside) -> np.ndarray:
    """A joint's rotation in its bone's frame, from its rotation in the anatomical one."""
    return frame if inside is None else quaternion.multiply(frame, quaternion.normalize(inside))


def _to_the_same_rig(settings, inside, frame) -> dict:
    """Settings for the bone of the same name that may have another roll: its joint stands as it did in the body."""
    if inside is None or "joint_rotation" not in settings or not np.isfinite(frame).all():
        return settings
    here = _joint(frame, inside)
    turned = quaternion.angle_between(quaternion.normalize(settings["joint_rotation"]), here) > SAME_FRAME
    return settings | {"joint_rotation": here.tolist()} if turned else settings


def _to_another_rig(settings, inside, frame) -> dict:
    """Settings for a bone of the same role: joints turned to its frame, automatic limits left to the rig."""
    left_out = OWN_PLACE | {"joint_rotation", "own_role", "role_by_user"}
    origin = settings.get("limits_from", "USER")
    stated = "limit_min" in settings and origin in ("USER", "RIG", PROFILE)
    if "limit_min" in settings and not stated:
        left_out |= {"joint", "limit_min", "limit_max"}
    result = {key: value for key, value in settings.items() if key not in left_out}
    if not stated:
        return result | {"limits_from": AUTOMATIC} if "limit_min" in settings else result
    if np.isfinite(frame).all():
        result["joint_rotation"] = _joint(frame, inside).tolist()
    return result | {"limits_from": PROFILE if origin == PROFILE else "USER"}


def _round(settings) -> bool:
    """Whether a range is the same for every turn of the frame about the bone."""
    low, high = settings["limit_min"], settings["limit_max"]
    return settings.get("joint") != "HINGE" and low[0] == low[2] == -high[0] == -high[2]


def _own_limits(obj, anatomy) -> dict:
    """The anatomical limits of the bones that have, or would have, a body, by bone."""
    pose = BindPose(obj, np.eye(4))
    chosen = np.array([bone.active_ragdoll.simulate for bone in obj.pose.bones], dtype=bool)
    if not chosen.any():
        chosen = np.array([role not in NO_PART for role in anatomy.roles], dtype=bool)
    bones = np.flatnonzero(chosen)
    row = {int(bone): i for i, bone in enumerate(bones)}
    above = skeleton.nearest_ancestors(pose.parents, chosen)
    parents = np.array([row.get(int(above[bone]), -1) for bone in bones], dtype=int)
    found = joints.joint_limits(anatomy, pose.parents, pose.heads, pose.tails, bones, parents)
    rows = [(int(bone), own) for bone, own in zip(bones, found, strict=True) if own is not None]
    turns = {bone: quaternion.from_matrix(pose.matrices[bone, :3, :3].T @ own.rotation) for bone, own in rows}
    return {bone: replace(own, rotation=turns[bone]) for bone, own in rows}


def _ranged(own, factor: float) -> dict:
    """Limits of the rig's own times a factor; a swing that is narrow enough for a cone to hold it stays so."""
    bounds = np.array((own.limit_min, own.limit_max), dtype=float)
    widest = np.where((np.abs(bounds) <= joints.NARROW) & (np.arange(3) != 1), joints.NARROW, math.pi)
    low, high = np.clip(bounds * factor, -widest, widest).tolist()
    turn = own.rotation.tolist()
    return {"joint": own.joint, "joint_rotation": turn, "limit_min": low, "limit_max": high, "limits_from": PROFILE}


def _write(obj, wanted) -> int:
    """Set what differs; how many settings did. On any trouble all are put back."""
    written = []
    try:
        with runtime.STATE.writing():
            for group, settings in wanted:
                for key, value in settings.items():
                    name = _ATTRIBUTES.get(key, key)
                    old = getattr(group, name)
                    if name in POINTS:
                        value = json.dumps(value) if value else ""
                    old = list(old) if isinstance(value, list) else old
                    if _differ(old, value):
                        written.append((group, name, old))
                        setattr(group, name, value)
    except Exception:
        with runtime.STATE.writing():
            for group, name, old in reversed(written):
                setattr(group, name, old)
        raise
    if written:
        needs = [declare.declarations(type(group))[name].needs for group, name, _old in written]
        runtime.settings_changed(obj, layout=any(need is not None and need.build for need in needs))
    return len(written)


def _differ(old, new) -> bool:
    """Whether two values differ as Blender stores them."""
    if isinstance(new, list):
        return any(_differ(a, b) for a, b in zip(old, new, strict=True))
    return np.float32(old) != np.float32(new) if isinstance(new, float) else old != new


# ---- files ----------------------------------------------------------------------------------------------------------
def write(path: Path, profile: Profile) -> None:
    """Write a profile's file. Raises RagdollError: it cannot be written there."""
    with on_disk(path):
        Path(path).write_text(dump(profile), encoding="utf-8", newline="\n")


def read(path: Path) -> Profile:
    """The profile of a file. Raises RagdollError: names the file and the place in it."""
    path = Path(path)
    with on_disk(path):
        data = path.read_bytes()
    try:
        return parse(data.decode("utf-8-sig"), schema())
    except UnicodeDecodeError as error:
        raise RagdollError(f"{path.name}: not a text in UTF-8 (byte {error.start})") from error
    except RagdollError as error:
        raise RagdollError(f"{path.name}: {error}") from error


def presets() -> list[tuple[str, str, str]]:
    """(identifier, name, description) of the presets there are: the shipped ones, then the self-made ones by name."""
    return [*PRESETS, *((path.stem, path.stem, f"Self-made: {path}") for path in _own())]


def preset(name: str) -> Profile:
    """A preset, by its identifier or name in any case. Raises RagdollError: there is none, or its file is damaged."""
    for identifier, shown, _description in PRESETS:
        if name.casefold() in (identifier.casefold(), shown.casefold()):
            return read(FOLDER / f"{identifier.lower()}.json")
    for path in _own():
        if name.casefold() == path.stem.casefold():
            return replace(read(path), name=path.stem)
    known = ", ".join(f"'{shown}'" for _identifier, shown, _description in presets())
    raise RagdollError(f"Unknown preset '{name}': use one of {known}")


# ---- self-made presets ----------------------------------------------------------------------------------------------
def own_folder() -> Path:
    """Where self-made presets are: as preferred, else the folder that Blender keeps for the extension's user."""
    if preferred := preferences.chosen("profile_folder"):
        return Path(bpy.path.abspath(preferred))
    try:
        return Path(bpy.utils.extension_path_user(preferences.PACKAGE, path="presets"))
    except ValueError:  # run from a checkout
        return Path(bpy.utils.user_resource("CONFIG", path="active_ragdoll"))


def _own() -> list[Path]:
    try:
        return sorted(own_folder().glob("*.json"), key=lambda path: path.stem.casefold())
    except OSError:
        return []


def _place_of(name: str) -> Path:
    """The file that a new self-made preset gets. Raises RagdollError: it cannot have that name."""
    name = name.strip()
    if not name or name.startswith(".") or set(name) & set('<>:"/\\|?*'):
        raise RagdollError(f"'{name}' cannot be the name of a file")
    for _identifier, shown, _description in presets():
        if name.casefold() == shown.casefold():
            raise RagdollError(f"There is a preset '{shown}' already")
    return own_folder() / f"{name}.json"


@contextmanager
def on_disk(path: Path):
    """Tell what the disk refuses as a RagdollError that names the file."""
    try:
        yield
    except OSError as error:
        raise RagdollError(f"{path}: {error.strerror or error}") from error


def add_own(name: str, profile: Profile) -> None:
    """Keep a profile as a self-made preset. Raises RagdollError: unfit name, or a folder that cannot be written."""
    path = _place_of(name)
    with on_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, profile)


def rename_own(old: str, new: str) -> None:
    """Give a self-made preset another name. Raises RagdollError as `add_own`."""
    path = own_folder() / f"{old}.json"
    with on_disk(path):
        path.rename(_place_of(new))


def remove_own(name: str) -> None:
    """Delete a self-made preset. Raises RagdollError: it cannot be deleted."""
    path = own_folder() / f"{name}.json"
    with on_disk(path):
        path.unlink()
