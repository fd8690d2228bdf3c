"""Characters of our own for the sweeps: naming schemes, scales, roots, stub bones and bodies of many kinds.

They need no file, so that a clone without ../shared tests as much as it can. See `rigs.load`."""

import math
from pathlib import Path

import bpy
from mathutils import Matrix, Quaternion, Vector

import rigs

FIRST, LAST = 1, 48
_SWINGS = (  # frame of the swings: role, axis in the bone's frame, amplitude [deg], frequency [Hz]
    ("SPINE", (1, 0, 0), 6.0, 0.5),
    ("HEAD", (0, 1, 0), 15.0, 0.6),
    ("UPPER_ARM", (0, 0, 1), 15.0, 0.7),
    ("THIGH", (0, 0, 1), 12.0, 0.8),
    ("TAIL", (1, 0, 0), 10.0, 0.9),
    ("WING", (1, 0, 0), 20.0, 1.0),
)


def _chain(name: str, role: str, places, parent=None) -> dict:
    """Bones name1, name2, ... from place to place."""
    names = [f"{name}{i + 1}" for i in range(len(places) - 1)]
    above = (parent, *names)
    return {own: (*places[i : i + 2], above[i], role) for i, own in enumerate(names)}


def _known(name: str) -> dict:
    """A table of the bones that the tests of recognition have for a convention, or for their dog or spider."""
    import convention_rigs

    animals = {"dog": convention_rigs.dog, "spider": convention_rigs.spider}
    rig = animals[name]() if name in animals else convention_rigs.rig_of(name)
    above = [rig.names[parent] if parent >= 0 else None for parent in rig.parents]
    rows = zip(rig.heads.tolist(), rig.tails.tolist(), above, rig.roles, strict=True)
    return dict(zip(rig.names, rows, strict=True))


def _bird() -> dict:
    """Standing on two legs that bend back at the ankle, with wings and a tail."""
    body = _chain("spine", "SPINE", [(0, 0.15, 0.42), (0, 0.02, 0.46), (0, -0.12, 0.52)])
    body |= _chain("neck", "NECK", [(0, -0.12, 0.52), (0, -0.18, 0.62), (0, -0.2, 0.72)], "spine2")
    body["head"] = ((0, -0.2, 0.72), (0, -0.34, 0.74), "neck2", "HEAD")
    body |= _chain("tail", "TAIL", [(0, 0.15, 0.42), (0, 0.28, 0.4), (0, 0.42, 0.38)], "spine1")
    wing = (("wing.L", 0.05, 0.22), ("wing_fore.L", 0.22, 0.42), ("wing_hand.L", 0.42, 0.62))
    parent = "spine2"
    for name, near, far in wing:
        body[name] = ((near, -0.05, 0.52), (far, 0.0, 0.52), parent, "WING")
        parent = name
    leg = [(0.06, 0.1, 0.4), (0.07, 0.0, 0.28), (0.07, 0.1, 0.14), (0.07, 0.05, 0.02), (0.07, -0.06, 0.0)]
    parent = "spine1"
    for i, (name, role) in enumerate((("thigh.L", "THIGH"), ("shin.L", "SHANK"), ("foot.L", "FOOT"), ("toe.L", "TOE"))):
        body[name] = (leg[i], leg[i + 1], parent, role)
        parent = name
    return rigs.mirrored(body)


def _robot() -> dict:
    """A base that drives, a column that turns, two arms that end in grippers; no spine, no legs."""
    table = {"base": ((0, 0, 0.1), (0, 0, 0.4), None, "BASE"), "column": ((0, 0, 0.4), (0, 0, 1.1), "base", "SPINE")}
    table["camera"] = ((0, 0, 1.1), (0, -0.15, 1.2), "column", "HEAD")
    table["axle_1.L"] = ((0.3, -0.3, 0.15), (0.45, -0.3, 0.15), "base", "WHEEL")
    table["axle_2.L"] = ((0.3, 0.3, 0.15), (0.45, 0.3, 0.15), "base", "WHEEL")
    table["link_1.L"] = ((0.2, 0, 1.0), (0.55, 0, 1.0), "column", "UPPER_ARM")
    table["link_2.L"] = ((0.55, 0, 1.0), (0.55, -0.35, 1.0), "link_1.L", "FOREARM")
    table["gripper.L"] = ((0.55, -0.35, 1.0), (0.55, -0.5, 1.0), "link_2.L", "HAND")
    return rigs.mirrored(table)


def _with_stubs(table: dict) -> dict:
    """Leaf bones that are hardly longer than nothing, as importers make them of end points."""
    parents = {row[2] for row in table.values()}
    return {
        name: (head, tail if name in parents else (*head[:2], head[2] + 1e-3), parent, role)
        for name, (head, tail, parent, role) in table.items()
    }


ROOTS = {  # further ones: a ground bone that nothing hangs on, and a handle for a hand that only controls use
    "ground": ((0, 0, 0), (0, -0.3, 0), None, "HELPER"),
    "handle.L": ((0.8, 0, 1.4), (0.9, 0, 1.4), None, "HELPER"),
}


def at_the_ground(table: dict, pelvis: str = "", root: str = "joint_Root") -> dict:
    """Everything under a root at the ground that deforms, as BVH importers make it; `pelvis` is left out."""
    rows = {
        name: (head, tail, root if parent in (None, pelvis) else parent, role)
        for name, (head, tail, parent, role) in table.items()
        if name != pelvis
    }
    return {root: ((0, 0, 0), (0, 0, 0.1), None, "ROOT")} | rows


TABLES = {  # name: table, scale of the object (its bones are drawn as much larger), whether it has a mesh
    "own mixamo": (lambda: _known("Mixamo"), 0.01, True),
    "own unreal": (lambda: _known("Unreal"), 100.0, True),
    "own kaykit with roots": (lambda: ROOTS | _known("KayKit"), 1.0, True),
    "own joints with stubs": (lambda: _with_stubs(_known("CMU joints")), 1.0, False),
    "own dog": (lambda: _known("dog"), 1.0, True),
    "own bird": (_bird, 1.0, True),
    "own snake": (lambda: _chain("bone", "TAIL", [(0, 0.15 * i, 0.06) for i in range(13)]), 1.0, True),
    "own spider": (lambda: _known("spider"), 1.0, True),
    "own robot": (_robot, 1.0, False),
}
HUMANS = ("own mixamo", "own unreal", "own kaykit with roots", "own joints with stubs")
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SWEPT = (*(rigs.FILES if DATA.is_dir() else ()), *TABLES)


def or_own(*files: str, own: tuple[str, ...] = HUMANS) -> tuple[str, ...]:
    """Files of ../shared/data, or humans of our own where it is missing."""
    return files if DATA.is_dir() else own


def make(name: str) -> rigs.Rig:
    """One of them in an empty file, swinging its limbs."""
    scene = rigs.empty_file()
    make_table, scale, meshed = TABLES[name]
    return of_table(scene, name, make_table(), scale, meshed)


def of_table(scene, name: str, table: dict, scale: float = 1.0, meshed: bool = False) -> rigs.Rig:
    """A character of a table in a scene, see `make`."""
    scene.frame_start, scene.frame_end = FIRST, LAST
    bones = {bone: (Vector(row[0]) / scale, Vector(row[1]) / scale, row[2]) for bone, row in table.items()}
    obj = rigs.armature(scene, bones, name.title())
    for bone in obj.data.bones:
        bone.use_deform = table[bone.name][3] not in ("HELPER", "BASE")
    if meshed:
        skin(obj, scale)
    obj.scale = (scale, scale, scale)
    roles = {bone: row[3] for bone, row in table.items()}
    swings = [
        (bone, axis, amplitude, frequency, 0.5 * ("R" in bone[-2:]))
        for wanted, axis, amplitude, frequency in _SWINGS
        for bone, role in roles.items()
        if role == wanted
    ]
    rigs.swing(obj, FIRST, LAST, swings)
    scene.frame_set(FIRST)
    return rigs.Rig(obj, scene, FIRST, LAST)


# Of the knight's actions: length [frames] and bone, amplitude [deg] about its X axis, phase [turns] of one swing in it.
_GAIT = (("upperleg.l", 1.0, 0.0), ("upperleg.r", 1.0, 0.5), ("lowerleg.l", 0.8, 0.25), ("lowerleg.r", 0.8, 0.75))
_SITTING = [("upperleg.l", 80.0, 0.25), ("upperleg.r", 80.0, 0.25)]
_ACTIONS = {
    "Idle": (26.0, [("spine", 2.0, 0.0), ("head", 3.0, 0.3)]),
    "Walking_A": (25.6, [(bone, 25.0 * share, phase) for bone, share, phase in _GAIT]),
    "Running_A": (19.2, [(bone, 45.0 * share, phase) for bone, share, phase in _GAIT] + [("chest", 9.0, 0.0)]),
    "Running_Strafe_Left": (16.0, [("upperleg.l", 20.0, 0.1), ("upperleg.r", 20.0, 0.6)]),
    "Running_Strafe_Right": (16.0, [("upperleg.l", 20.0, 0.6), ("upperleg.r", 20.0, 0.1)]),
    "Cheer": (40.0, [("upperarm.l", 70.0, 0.1), ("upperarm.r", 70.0, 0.6), ("chest", 20.0, 0.2), ("hips", 9.0, 0.1)]),
    "Jump_Full_Short": (20.0, _SITTING),
    "Sit_Floor_Idle": (24.0, _SITTING),
    "Sit_Floor_Pose": (0.0, _SITTING),
    "Lie_Pose": (0.0, [("hips", 80.0, 0.25)]),
    "T-Pose": (0.0, []),
}


def knight() -> rigs.Rig:
    """A human with KayKit's bones and some actions under the names of its knight's, in an empty file."""
    rig = make("own kaykit with roots")
    for name, (frames, swings) in _ACTIONS.items():
        rig.obj.animation_data.action = None
        # Every bone has keys and moves a little, and comes back to where it began.
        still = {bone.name: (0.0 if name == "T-Pose" else 4.0, 0.1 * i) for i, bone in enumerate(rig.obj.pose.bones)}
        for bone, (amplitude, phase) in (still | {bone: swing for bone, *swing in swings}).items():
            for key in range(65 if frames else 1):
                angle = math.radians(amplitude) * math.sin(2.0 * math.pi * (key / 64.0 + phase))
                rig.obj.pose.bones[bone].rotation_quaternion = Quaternion((1.0, 0.0, 0.0), angle)
                rig.obj.pose.bones[bone].keyframe_insert("rotation_quaternion", frame=key / 64.0 * frames)
        rig.obj.animation_data.action.name = name
        rig.obj.animation_data.action.use_fake_user = True
    return rig


def skin(obj, scale: float = 1.0) -> bpy.types.Object:
    """A mesh of one box for each deforming bone, wholly held by it: as thick as a limb of its length is."""
    corners, faces, owners = [], [], []
    for bone in obj.data.bones:
        if not bone.use_deform:
            continue
        thickness = min(max(0.35 * bone.length, 0.02 / scale), 0.2 / scale)
        box = rigs.box_mesh(bone.name, (thickness, bone.length, thickness))
        place = bone.matrix_local @ Matrix.Translation((0.0, 0.5 * bone.length, 0.0))
        faces += [[len(corners) + i for i in face.vertices] for face in box.polygons]
        corners += [place @ vertex.co for vertex in box.vertices]
        owners += [bone.name] * len(box.vertices)
        bpy.data.meshes.remove(box)
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata(corners, [], faces)
    made = rigs.added(bpy.context.scene, "Skin", mesh)
    made.parent = obj
    made.modifiers.new("Armature", "ARMATURE").object = obj
    for name in dict.fromkeys(owners):
        made.vertex_groups.new(name=name).add([i for i, owner in enumerate(owners) if owner == name], 1.0, "REPLACE")
    return made
