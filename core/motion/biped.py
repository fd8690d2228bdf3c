"""Bipeds and quadrupeds by their roles: any pose as thirteen parts that bodies of all proportions share, and back.

A rotation is stated as delta D from bind pose in the character's axes (x ahead, y left, z up): a bone whose rotation in
bind pose is R0 in these axes stands at D R0. So a turn about z is "bind pose, looking there" whatever rolls, names and
sizes the bones have. The thirteen parts (`Posture`) are the middle of the hips, the deltas of pelvis, chest and head,
four limbs' ends with their poles and deltas, and what toes and collar bones add. Places are in metres in the plan
frame: the armature's own axes turned so that z points up in the world, at the world's scale. A quadruped's arms are its
front legs; its limbs end at the paws, so that these stay where they stand while hocks rise.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .. import pose as pose_space
from .. import quaternion as q
from ..anatomy import roles
from ..anatomy.axes import character_axes, is_impossible, limb_directions
from ..errors import RagdollError
from ..skeleton import path_to_root
from .stack import Rig, vector_to_model

X, Y, Z = np.eye(3)
LEGS, ARMS = (0, 1), (2, 3)  # of the four limbs: left leg, right leg, left arm, right arm
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])  # 1 for limbs of the left
_FOLDS = np.stack([-X, -X, X, X])  # hinges are directions of limbs x these: shanks fold back, forearms ahead
_CHAINS = (roles.LEG, (*roles.ARM[1:], roles.CLAVICLE))
_BENT = np.radians(6.0)  # a bind pose bent by more tells where the hinge of a knee or an elbow lies
_PLANE = 0.15  # of a limb's length: a joint off its line by less leaves the plane to the upper limb's own hinge
_STRAIGHT = 0.995  # of a limb's length: farther ends are not reached, so that knees and elbows keep a plane


def unit(vectors) -> np.ndarray:
    """Vectors [.., 3] at length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def dot(a, b) -> np.ndarray:
    """Scalar products [.., 1] of vectors [.., 3]."""
    return np.sum(a * b, axis=-1, keepdims=True)


def _frames(direction, hinge) -> np.ndarray:
    """Rotations [.., 4] whose first axis is the direction of a limb, the second nearest to its hinge."""
    hinge = unit(hinge - direction * dot(hinge, direction))
    direction, hinge = np.broadcast_arrays(direction, hinge)
    return q.from_matrix(np.stack([direction, hinge, q.cross(direction, hinge)], axis=-1))


@dataclass(frozen=True, eq=False)
class Posture:
    """The thirteen parts of a pose; frames may lead. Limbs in the order of `LEGS` and `ARMS`."""

    hip: np.ndarray  # middle of the hip joints [.., 3], [m]
    trunk: np.ndarray  # deltas of pelvis, chest and head [.., 3, 4]
    ends: np.ndarray  # ankles and wrists, or paws [.., 4, 3], [m]
    poles: np.ndarray  # unit directions to which knees and elbows point [.., 4, 3]
    turns: np.ndarray  # deltas of feet and hands [.., 4, 4]
    ties: np.ndarray  # deltas of toes against feet, of collar bones against the chest [.., 4, 4]

    def arrays(self) -> list:
        """Its arrays in order."""
        return list(vars(self).values())

    def moved(self, turn, shift) -> "Posture":
        """Turned by a rotation [4] about the origin, then shifted [3]."""
        hip, ends = (q.rotate(turn, points) + shift for points in (self.hip, self.ends))
        trunk, turns = (q.multiply(turn, deltas) for deltas in (self.trunk, self.turns))
        return Posture(hip, trunk, ends, q.rotate(turn, self.poles), turns, self.ties)

    def mirrored(self) -> "Posture":
        """Left and right exchanged."""
        side, turn, swap = np.array([1.0, -1, 1]), np.array([1.0, -1, 1, -1]), [1, 0, 3, 2]
        limbs = (self.ends * side, self.poles * side, self.turns * turn, self.ties * turn)
        return Posture(self.hip * side, self.trunk * turn, *(array[..., swap, :] for array in limbs))


def stacked(postures) -> Posture:
    """Postures as one with a leading axis."""
    return Posture(*(np.stack(arrays) for arrays in zip(*(p.arrays() for p in postures), strict=True)))


class Biped:
    """A character with two legs and two arms, or four legs, measured in bind pose; m of its bones are moved.

    Attributes:
        rows: level indices of these bones [m], parents first. above: index among them of the bone that each hangs on.
        spine, neck, chest, head: indices among them; the pelvis is the first.
        limbs: indices among them of thigh, shank, foot, toe or upper arm, forearm, hand, collar bone; -1: none [4, 4].
        joints: places in bind pose in the character's axes [m, 3], [m]. bind: their rotations there [m, 4].
        four: whether it is a quadruped. tips: from the last joints of limbs to their ends, 0 but for paws [4, 3], [m].
        upper, lower, leg, arm, trunk, shoulder, hips, sole, height: lengths [m]; upper and lower of the limbs [4].
    """

    def __init__(self, rig: Rig, anatomy, bind, tails, world=None) -> None:
        """Measure a rig.

        Args:
            anatomy: of its bones, in Blender's order as the next two.
            bind: matrices [n, 4, 4] of the pose that a build looks at, in the armature's space, and tails [n, 3] there.
            world: matrix of the armature object [4, 4]; None: the identity.
        Raises:
            RagdollError: something is missing; says what.
        """
        self.rig = rig
        anatomy = _in_level_order(rig.skeleton, anatomy)
        bind, tails = (np.asarray(array)[rig.skeleton.to_level] for array in (bind, tails))
        heads, self._rotations, _scales = pose_space.decompose_matrices(bind)
        self._heads = heads
        if is_impossible(anatomy, rig.parents, heads, tails):
            raise RagdollError("no body could take its bind pose")
        axes = character_axes(anatomy, heads, limb_directions(anatomy, rig.parents, heads, tails))
        self.four = anatomy.kind == roles.QUADRUPED
        if axes is None:
            raise RagdollError("it has no left and right limbs")
        self._find(anatomy, axes)
        tips, forward, up = self._tips(anatomy, heads, tails, axes.up), axes.forward, axes.up
        if self.four:  # level is what it stands on: hocks are behind the paws
            places = heads[self.rows[self.limbs[:, 2]]] + tips
            forward = places[2:].mean(axis=0) - places[:2].mean(axis=0)
            forward = unit(forward - axes.left * (forward @ axes.left))
            up = q.cross(forward, axes.left)
        own = np.stack([forward, axes.left, up], axis=1)
        self.own = q.from_matrix(own)
        world = np.eye(4) if world is None else np.asarray(world, dtype=float)
        self.scale = float(np.cbrt(abs(np.linalg.det(world[:3, :3]))))
        self.frame = q.conjugate(q.multiply(q.shortest_arc(up, vector_to_model(Z, world)), self.own))
        self.joints = heads[self.rows] @ own * self.scale
        self.tips = tips @ own * self.scale
        self.bind = q.multiply(q.conjugate(self.own), self._rotations[self.rows])
        self._offsets = self.joints - self.joints[self.above]
        path = partial(path_to_root, [-1, *self.above[1:].tolist()])
        self._stem = sorted({row for first in self.limbs[:, 0] for row in path(first)} - {0})
        self._others = sorted({*range(1, len(self.rows))} - {*self._stem} | {*self.limbs[:, 0].tolist()})
        self._measure()

    def _find(self, anatomy, axes) -> None:
        above = anatomy.parents
        path = partial(path_to_root, above)
        limbs = []
        for chain in _CHAINS:
            for side in (roles.RIGHT, roles.LEFT) if axes.swapped else (roles.LEFT, roles.RIGHT):
                found = [roles.of_role(anatomy, role, side)[:1] for role in chain]
                missing = [role for role, bones in zip(chain[:3], found, strict=False) if not bones]
                if missing:
                    raise RagdollError(f"no bone is its {side.lower()} {missing[0].lower().replace('_', ' ')}")
                limbs.append([bones[0] if bones else -1 for bones in found])
        legs, arm = [*path(limbs[0][0]), *path(limbs[1][0])], path(limbs[2][0])
        pelvis = (roles.of_role(anatomy, roles.PELVIS) or path(limbs[0][0])[1:2] or [-1])[0]
        spine = [b for b in reversed(arm) if anatomy.roles[b] in (roles.SPINE, roles.CHEST) and b not in legs]
        if pelvis < 0 or not spine:
            raise RagdollError("it has no pelvis, or no spine")
        neck = roles.of_role(anatomy, roles.NECK)
        head = (roles.of_role(anatomy, roles.HEAD) or neck[-1:] or spine[-1:])[0]
        neck = [b for b in neck if b != head]
        carriers = set(path(pelvis)[1:])
        moved = {b for own in ([pelvis, head], spine, neck, *limbs) for b in own if b >= 0}
        for bone in sorted(moved - {pelvis}):
            way = path(bone)
            moved.update(way[: next((i for i, b in enumerate(way) if b == pelvis or b in carriers), len(way))])
        self.rows = np.array(sorted(moved - carriers, key=lambda b: (b != pelvis, len(path(b)), b)))
        index = {bone: i for i, bone in enumerate(self.rows.tolist())} | {-1: -1}
        self.above = np.array([index.get(above[b], 0) if above[b] >= 0 else 0 for b in self.rows])
        self.limbs = np.array([[index[b] for b in limb] for limb in limbs])
        self.spine, self.neck, self.head = [index[b] for b in spine], [index[b] for b in neck], index[head]
        self.chest = self.spine[-1]

    def _tips(self, anatomy, heads, tails, up) -> np.ndarray:
        """From the last joints of limbs to what stands on the floor [4, 3]: a quadruped's paws; else these joints."""
        result = np.zeros((4, 3))
        for i, (knee, bone) in enumerate(self.rows[self.limbs[:, 1:3]] if self.four else ()):
            start, most = heads[bone], np.linalg.norm(heads[bone] - heads[knee])
            while bone >= 0:
                hung = np.flatnonzero(anatomy.parents == bone)
                toes = [b for b in hung if anatomy.roles[b] in (roles.TOE, roles.FINGER)]
                tip = heads[toes].mean(axis=0) if toes else tails[bone]
                way = tip - start - result[i]
                # As far as it leads down; drawn tails may be anything.
                if way @ up > -0.5 * np.linalg.norm(way) or (not toes and np.linalg.norm(way) > most):
                    break
                result[i], bone = tip - start, toes[0] if toes else -1
        return result

    def _measure(self) -> None:
        at, limbs = self.joints, self.limbs
        first, middle, end = at[limbs[:, 0]], at[limbs[:, 1]], at[limbs[:, 2]]
        self.upper, self.lower = np.linalg.norm(middle - first, axis=1), np.linalg.norm(end - middle, axis=1)
        if min(self.upper.min(), self.lower.min()) <= 0.0:
            raise RagdollError("a limb of it has no length")
        self.leg, self.arm = ((self.upper + self.lower)[list(own)].mean() for own in (LEGS, ARMS))
        self.hip0 = first[:2].mean(axis=0)
        shoulders = first[2:].mean(axis=0)
        self.trunk = float(np.linalg.norm(shoulders - self.hip0))
        self.hips, self.shoulder = (float(np.linalg.norm(b - a)) / 2.0 for a, b in (first[:2], first[2:]))
        # Joints only: drawn tails may be anything. Along the body: a bind pose may well be a stride or a crouch.
        low = [at[[row for row in limb if row >= 0], 2].min() for limb in self.limbs[:2]]
        self.sole = float(min((end[:2, 2] - low).mean() + 0.02 * self.upper[0], 0.35 * self.lower[0]))
        self.height = 1.07 * (self.sole + self.leg + self.trunk + float(np.linalg.norm(at[self.head] - shoulders)))
        if self.four:  # as that of a man with hips as high
            self.sole = 0.03 * self.leg
            self.height = 1.6 * (self.leg + float(np.linalg.norm(self.tips[:2], axis=1).mean()))
        ways = unit(np.stack([middle - first, end - middle], axis=1))
        bend = q.cross(ways[:, 0], ways[:, 1])
        hinges = q.cross(ways[:, 0], _FOLDS)
        own = (np.linalg.norm(bend, axis=1, keepdims=True) > np.sin(_BENT)) & (dot(bend, hinges) > 0.0)
        self.ways = ways  # unit directions of upper and lower limbs in bind pose [4, 2, 3]
        self.bend_about(np.where(own, bend, hinges)[:, None])

    def bend_about(self, hinges) -> None:
        """Let knees and elbows bend about axes [4, 1 or 2, 3] in the character's axes: of upper and lower limbs."""
        self.hinges = unit(hinges - self.ways * dot(hinges, self.ways))  # [4, 2, 3]
        self._unframe = q.conjugate(_frames(self.ways, self.hinges))

    # ---- poses ----
    def placed(self, matrices) -> tuple[np.ndarray, np.ndarray]:
        """Deltas [.., m, 4] and places [.., m, 3] of a pose given by matrices in armature space [.., n, 4, 4]."""
        positions, rotations, _scales = pose_space.decompose_matrices(np.asarray(matrices)[..., self.rows, :, :])
        turned = q.multiply(self.frame, rotations)
        return q.multiply(turned, q.conjugate(self.bind)), self.scale * q.rotate(self.frame, positions)

    def straightened(self, deltas, places) -> tuple[np.ndarray, np.ndarray]:
        """A pose as `placed` gives it with those limbs straight that are bent through their backs.

        No posture bends them so; it would turn their upper parts to bring their ends there."""
        deltas, places = deltas.copy(), places.copy()
        a, b, e, _extra = self.limbs.T
        upper, lower = unit(places[..., b, :] - places[..., a, :]), places[..., e, :] - places[..., b, :]
        bend = dot(q.cross(upper, lower), q.rotate(deltas[..., a, :], self.hinges[:, 0]))
        turn = np.where(bend < 0.0, q.shortest_arc(unit(lower), upper), q.identity())
        places[..., e, :] = places[..., b, :] + q.rotate(turn, lower)
        for row in (b, e):
            deltas[..., row, :] = q.multiply(turn, deltas[..., row, :])
        return deltas, places

    def fixed(self, bone: int, points) -> tuple[int, np.ndarray]:
        """What is fixed to a bone (level index), as points [p, 3] in its frame [m], moves with a bone of the biped.
        Returns its index, -1 where there is none, and the points from its joint in bind pose in the character's axes.
        """
        index = {row: i for i, row in enumerate(self.rows.tolist())}
        points = q.rotate(q.multiply(q.conjugate(self.own), self._rotations[bone]), points)
        joint = q.rotate(q.conjugate(self.own), self._heads[bone]) * self.scale
        row = next((index[above] for above in path_to_root(self.rig.parents, bone) if above in index), -1)
        return row, points + joint - self.joints[row]

    def extract(self, deltas, places) -> Posture:
        """The posture of a pose: deltas [.., m, 4] and places [.., m, 3]."""
        a, b, e, extra = self.limbs.T
        first, end = places[..., a, :], places[..., e, :]
        poles = self._poles(end - first, places[..., b, :] - first, deltas[..., a, :])
        chest = deltas[..., [self.chest], :]
        base = np.concatenate([deltas[..., e[:2], :], chest, chest], axis=-2)
        ties = q.multiply(q.conjugate(base), deltas[..., extra, :])
        ties = np.where((extra >= 0)[:, None], ties, q.identity())
        trunk = deltas[..., [0, self.chest, self.head], :]
        end = end + q.rotate(deltas[..., e, :], self.tips)
        return Posture(first[..., :2, :].mean(axis=-2), trunk, end, poles, deltas[..., e, :], ties)

    def _poles(self, way, knee, upper) -> np.ndarray:
        """To where knees and elbows point, from the ways [.., 4, 3] to ends and to knees, and upper limbs' deltas.

        Limbs that are nearly straight, or bent through their backs, tell it by their own hinges."""
        forward = unit(way)
        bend = knee - forward * dot(knee, forward)
        own = unit(q.cross(forward, q.rotate(upper, self.hinges[:, 0])))
        share = np.linalg.norm(bend, axis=-1, keepdims=True) / (_PLANE * (self.upper + self.lower)[:, None])
        share = np.clip(share, 0.0, 1.0) * np.clip(1.0 + 2.0 * dot(unit(bend), own), 0.0, 1.0)
        return unit(share * unit(bend) + (1.0 - share) * own)

    def solve(self, posture: Posture) -> tuple[np.ndarray, np.ndarray]:
        """The pose of a posture: deltas [.., m, 4] and places [.., m, 3]. Ends out of reach stay in their direction."""
        return self._walked(posture, self._others)

    def firsts(self, posture: Posture) -> np.ndarray:
        """Places of hips and shoulders [.., 4, 3], which hang on the trunk alone."""
        return self._walked(posture)[1][..., self.limbs[:, 0], :]

    def lasts(self, posture: Posture) -> np.ndarray:
        """Places of ankles and wrists [.., 4, 3], which ends hang on."""
        return posture.ends - q.rotate(posture.turns, self.tips)

    def _walked(self, posture: Posture, rows=()) -> tuple[np.ndarray, np.ndarray]:
        """Deltas [.., m, 4] and places [.., m, 3] of what limbs hang on, and of rows of limbs, parents first."""
        given = self._given(posture, range(4) if rows else ARMS)
        found, places = (np.empty((*posture.hip.shape[:-1], len(self.rows), size)) for size in (4, 3))
        found[..., 0, :], places[..., 0, :] = given[0], posture.hip - q.rotate(given[0], self.hip0 - self.joints[0])
        for own in filter(len, (self._stem, rows)):
            if own is rows:
                given |= self._bent(posture, places[..., self.limbs[:, 0], :])
            above = self.above[own]
            for row, over in zip(own, above, strict=True):
                found[..., row, :] = given[row] if row in given else found[..., over, :]
            ways = q.rotate(found[..., above, :], self._offsets[own])
            for i, (row, over) in enumerate(zip(own, above, strict=True)):
                places[..., row, :] = places[..., over, :] + ways[..., i, :]
        return found, places

    def _given(self, posture: Posture, limbs) -> dict:
        """Deltas of the bones of trunk and some limbs that a posture states, by their index."""
        pelvis, chest, head = (posture.trunk[..., i, :] for i in range(3))
        given = {0: pelvis}
        for bones, *ends, more in ((self.spine, pelvis, chest, 0), (self.neck, chest, head, 1)):
            shares = (np.arange(len(bones)) + 1) / (len(bones) + more)
            turned = q.slerp(*(end[..., None, :] for end in ends), shares)
            given |= {bone: turned[..., i, :] for i, bone in enumerate(bones)}
        if self.head != self.chest:
            given[self.head] = head
        for i in limbs:
            end, extra = self.limbs[i, 2:]
            given[end] = posture.turns[..., i, :]
            if extra >= 0:
                given[extra] = q.multiply(given[end] if i in LEGS else chest, posture.ties[..., i, :])
        return given

    def _bent(self, posture: Posture, firsts) -> dict:
        """Deltas of the upper and lower parts of limbs whose first joints are there [.., 4, 3]: the law of cosines."""
        a, b = self.upper[:, None], self.lower[:, None]
        way = self.lasts(posture) - firsts
        forward, pole = unit(way), posture.poles
        least = np.abs(a - b) + 0.1 * np.minimum(a, b)
        distance = np.linalg.norm(way, axis=-1, keepdims=True).clip(least, _STRAIGHT * (a + b))
        cosine = np.clip((a * a + distance * distance - b * b) / (2.0 * a * distance), -1.0, 1.0)
        side = unit(pole - forward * dot(pole, forward))
        upper = cosine * forward + np.sqrt(1.0 - cosine * cosine) * side
        lower, hinge = unit(forward * distance - a * upper), q.cross(side, forward)
        frames, back = _frames(np.stack([upper, lower], axis=-2), hinge[..., None, :]), self._unframe
        return {int(self.limbs[i, j]): q.multiply(frames[..., i, j, :], back[i, j]) for i, j in np.ndindex(4, 2)}

    def flexion(self, posture: Posture, deltas) -> np.ndarray:
        """Deltas of upper limbs against pelvis or collar, of lower ones and ends against those above [.., 4, 3, 4]."""
        chain = np.concatenate([self.bases(posture)[..., None, :], deltas[..., self.limbs[:, :3], :]], axis=-2)
        return q.multiply(q.conjugate(chain[..., :-1, :]), chain[..., 1:, :])

    def bases(self, posture: Posture) -> np.ndarray:
        """Deltas [.., 4, 4] of what the upper limbs hang on: the pelvis, and the chest with the collar bones."""
        pelvis = np.repeat(posture.trunk[..., :1, :], 2, axis=-2)
        return np.concatenate([pelvis, q.multiply(posture.trunk[..., 1:2, :], posture.ties[..., 2:, :])], axis=-2)

    def hung(self, posture: Posture, flexion, firsts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends, poles [.., 4, 3] and turns of limbs whose first joints are there [.., 4, 3], by their flexion."""
        upper = q.multiply(self.bases(posture), flexion[..., 0, :])
        first = q.rotate(upper, self.ways[:, 0]) * self.upper[:, None]
        lower = q.multiply(upper, flexion[..., 1, :])
        way = first + q.rotate(lower, self.ways[:, 1]) * self.lower[:, None]
        turns = q.multiply(lower, flexion[..., 2, :]) if self.four else posture.turns  # hands turn by themselves
        return firsts + way + q.rotate(turns, self.tips), self._poles(way, first, upper), turns

    def adopted(self, other: "Biped", deltas, places) -> tuple[np.ndarray, np.ndarray]:
        """The pose of another one, deltas [.., m, 4] and places [.., m, 3], as this one has it.

        Trunk, feet and the ways of limbs are as there, hands as there against forearms, whatever the bind poses are.
        The hips' way from bind pose goes by how high they are. Raises RagdollError: only one of both has four legs.
        """
        if self.four != other.four:
            raise RagdollError("one of both walks on four legs, the other one on two")
        found, ways = other.extract(deltas, places), unit(np.diff(places[..., other.limbs[:, :3], :], axis=-2))
        hands = q.multiply(q.conjugate(other._unframe[:, 1]), self._unframe[:, 1])
        turns = np.where(self.four or np.isin(range(4), LEGS)[:, None], found.turns, q.multiply(found.turns, hands))
        size = (self.leg + self.sole) / (other.leg + other.sole)
        posture = replace(found, hip=self.hip0 + size * (found.hip - other.hip0), turns=turns)
        lasts = self.firsts(posture) + np.einsum("pl,...lpa->...la", (self.upper, self.lower), ways)
        return self.solve(replace(posture, ends=lasts + q.rotate(turns, self.tips)))

    def model(self, deltas, places) -> tuple[np.ndarray, np.ndarray]:
        """Positions [.., m, 3] and rotations [.., m, 4] in armature space of deltas and places."""
        back = q.conjugate(self.frame)
        return q.rotate(back, places) / self.scale, q.multiply(back, q.multiply(deltas, self.bind))


def _in_level_order(skeleton, anatomy):
    """An anatomy with its bones in a skeleton's level order."""
    order = skeleton.to_level
    parents = skeleton.parents
    if anatomy.parents is not None:
        own = np.asarray(anatomy.parents)[order]
        parents = np.where(own >= 0, skeleton.from_level[own], -1)
    picked = {name: tuple(getattr(anatomy, name)[i] for i in order) for name in ("roles", "sides")}
    return replace(anatomy, **picked, order=np.asarray(anatomy.order)[order], parents=parents)
