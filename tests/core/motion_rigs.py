"""A human and a dog made of joints, as rigs of the motion stack; bones may point and be scaled anyhow."""

import numpy as np

from core import pose as pose_space
from core import quaternion
from core.motion.stack import LocalPose, Rig
from core.skeleton import Skeleton, nearest_ancestors

HUMAN = {  # joints in model space, facing -Y, up Z: {bone: (parent, head)}
    "root": (None, (0, 0, 0)), "hips": ("root", (0, 0, 1.0)), "spine1": ("hips", (0, 0.01, 1.1)),
    "spine2": ("spine1", (0, 0.02, 1.25)), "spine3": ("spine2", (0, 0.01, 1.4)), "neck": ("spine3", (0, 0, 1.52)),
    "head": ("neck", (0, -0.01, 1.62)), "eye.L": ("head", (0.03, -0.1, 1.7)), "thigh.L": ("hips", (0.1, 0, 0.95)),
    "shin.L": ("thigh.L", (0.1, -0.03, 0.5)), "foot.L": ("shin.L", (0.1, 0.01, 0.08)),
    "toe.L": ("foot.L", (0.1, -0.12, 0.02)),
}  # fmt: skip
for _name, (_parent, (_x, _y, _z)) in [row for row in HUMAN.items() if row[0].endswith(".L")]:
    HUMAN[_name.replace(".L", ".R")] = (_parent.replace(".L", ".R"), (-_x, _y, _z))
DOG = {
    "hips": (None, (0, 0.5, 0.6)), "spine": ("hips", (0, 0.3, 0.62)), "chest": ("spine", (0, 0, 0.62)),
    "head": ("chest", (0, -0.35, 0.85)), "thigh": ("hips", (0.1, 0.5, 0.55)), "shank": ("thigh", (0.1, 0.4, 0.35)),
    "hock": ("shank", (0.1, 0.55, 0.18)), "paw": ("hock", (0.1, 0.52, 0.04)), "toe": ("paw", (0.1, 0.45, 0.01)),
}  # fmt: skip
FORWARD = np.array([0.0, -1.0, 0.0])


def rig(table: dict = HUMAN, seed: int | None = None, scales: dict | None = None) -> Rig:
    """A rig of a table; with a seed every bone's own axes point anywhere. `scales`: of bones, uniform, in model space
    from the bone on; the joints stay where the table has them."""
    skeleton = Skeleton.from_parents(list(table), [parent for parent, _ in table.values()])
    heads = np.array([table[name][1] for name in skeleton.names], float)
    rotations = np.tile([1.0, 0, 0, 0], (len(heads), 1))
    if seed is not None:
        rotations = quaternion.normalize(np.random.default_rng(seed).normal(size=rotations.shape))
    sizes = np.ones((len(heads), 3))
    for name, size in (scales or {}).items():
        own = np.array(skeleton.names) == name
        sizes[own | (nearest_ancestors(skeleton.parents, own) >= 0)] *= size
    local = pose_space.model_to_local_matrices(skeleton, pose_space.compose_matrices(heads, rotations, sizes))
    return Rig(skeleton, LocalPose(*pose_space.decompose_matrices(local)))


def in_bone(rig: Rig, name: str, vector) -> tuple:
    """A vector of the armature in a bone's own frame in bind pose, as forward axes are stored."""
    bone = rig.index[name]
    turned = quaternion.rotate(quaternion.conjugate(rig.bind_rotations[bone]), vector)
    return tuple(turned / rig.bind_scales[bone] / np.linalg.norm(turned / rig.bind_scales[bone]))


def posed(rig: Rig, rng, amount: float = 0.2, only=None) -> LocalPose:
    """The bind pose with every bone (or those named) turned by a random rotation vector of a size [rad]."""
    vectors = amount * rng.normal(size=(len(rig.parents), 3))
    if only is not None:
        vectors[[i for i, name in enumerate(rig.skeleton.names) if name not in only]] = 0
    pose = rig.bind.copy()
    pose.rotations = quaternion.multiply(pose.rotations, quaternion.from_rotation_vector(vectors))
    return pose


def shown(rig: Rig, pose: LocalPose, bone: int):
    """Matrix in which Blender shows a bone [4, 4], shear of unevenly scaled parents included."""
    matrices = pose_space.compose_matrices(pose.positions, pose.rotations, pose.scales)
    return pose_space.local_to_model_matrices(rig.skeleton, matrices)[bone]


def aim_error(rig: Rig, look, pose: LocalPose, target):
    """Angle [rad] between where a look-at's first bone is shown to look and the direction to a target."""
    matrix = shown(rig, pose, look.entries[0].bone)
    return angle(matrix[:3, :3] @ np.array(look.entries[0].forward_axis), np.asarray(target) - matrix[:3, 3])


def angle(a, b):
    """Angle [rad] between vectors."""
    a, b = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (np.asarray(a), np.asarray(b)))
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
