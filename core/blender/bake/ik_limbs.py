"""Limbs that inverse kinematics leads, found on a copy of a rig at rest, and posed exactly.

The control of a limb's end is what the constraint's target hangs on, moves it alone and, where there is one, turns the
last bone; of several the one whose pivot is nearest to the joint. The bend is led by the pole target, or where there is
none by the rotation of the chain's first bone. A pole does not flip where the limb is straight: there it goes the way
that the first bone bends when the limb is drawn in, which a trial at rest tells. Where the control of the end does not
carry the last bone as it is (a paw, whose hock bends by itself), a heel between the two turns that bone, and the end's
control places the heel.
"""

from dataclasses import dataclass

import numpy as np
from mathutils import Matrix

from ... import quaternion
from ..rig.armature import converted, rigid

DRAWN_IN = 0.25  # of a limb's length, for the trial at rest
STRAIGHT = 0.001  # heights that the middle joint is off the line of a limb that has no bend to speak of
NEAR = 0.02  # heights between a joint of the chain and that of the body which it leads
CARRIED = 0.1  # heights from a limb's end to the bone that its control carries
HIDDEN = 0.05  # heights of distance that a control without a shape of its own is worse than one with it
FULLY, STAYS = 0.9, 0.1  # shares of a trial's turn or shift
FOLLOWED = 0.01  # heights and rad by which a limb's end may come elsewhere than its control says
TURN_AXIS = 0.6, 0.64, 0.48  # of trials: oblique, so that all axes count
ROUNDS, CLOSE = 12, np.radians(0.02)  # most corrections of a bend; an error of it that is none
FOLDS, SHARES = 4, (1.4, 1.0, 1.4)  # steps; what the joints of a limb count: none is then far off
EXACT = 2e-5  # heights that a bone on a heel is off when it is in place


@dataclass
class Limb:
    """A chain with its controls; rows are those of bones in the armature."""

    chain: list  # rows, the first bone last
    upper: int  # body that the chain's first bone leads
    lower: int  # and the last one
    end: str  # the control of the end
    last: int  # row of the bone that this control carries as a whole; else the lower body
    turns: bool  # whether it turns that bone
    offset: np.ndarray  # that control in that bone's axes at rest [4, 4]
    heel: str | None = None  # it, if that is not the end's, but turned on top of it
    tip: int | None = None  # row of the bone beyond, that the end's control turns then
    half: int | None = None  # row of the bone beyond, if a tweak bends it and the last one between them
    pole: str | None = None  # control of the bend: a place
    swivel: str | None = None  # or a rotation
    axis: np.ndarray | None = None  # of the swivel that turns the limb, as a rotation vector for 1 rad [3]
    bend: np.ndarray | None = None  # where the middle joint goes, in the upper body's axes [3]
    lead: float = 0.0  # angle from there to the pole about the limb [rad]
    reach: float = 0.0  # distance of the pole

    def controls(self) -> list[str]:
        """Names of what is posed."""
        return [self.end, *filter(None, (self.heel, self.pole, self.swivel))]

    def led(self) -> dict:
        """{row: its control} of the bones that it leads."""
        first = {self.upper: self.pole or self.swivel or self.end, self.lower: self.end}
        return first | {self.last: self.heel or self.end} | ({} if self.tip is None else {self.tip: self.end})


class Limbs:
    """The limbs of a rig whose bodies no rotation of a control turns.

    Args:
        rig: the copy with its bodies, see `controls.Controls`.
        owners: of its bodies. Where one turns its body by more than itself, the limb gives way to it (a shoulder).
    """

    def __init__(self, rig, owners: list) -> None:
        self.rig, self.bones, self.bodies = rig, rig.all, list(np.array(rig.rows)[~rig.bodiless])
        self.rest = rig.shown()
        # As shown: what bends by itself, as a paw, is then elsewhere than where the armature has it at rest.
        self.tails = self.rest[:, :3, 3] + self.rest[:, :3, 1] * np.array([[bone.length] for bone in self.bones])
        self.found: list[Limb] = []
        owned = {rig.rows[owner.body] for owner in owners if owner.share(0, 0) < 1.0 / FULLY}
        self._shifted: dict = {}  # poses for a shift of a control, by its name
        for bone, constraint in self._active():
            taken = {row for one in self.found for row in (one.upper, one.lower)}
            fits = (self._limb(bone, constraint, owned | taken, heel) for heel in self._heels(constraint.subtarget))
            fits = [limb for limb in fits if limb is not None and self._probe(limb, constraint)]
            self.found += sorted(fits, key=lambda limb: not limb.turns)[:1]

    def _active(self) -> list:
        """(bone, constraint) of inverse kinematics that is on; evaluated bones do not outlast the next trial."""
        posed, obj = self.rig.evaluated().pose.bones, self.rig.copy
        found = [(bone, c) for bone in obj.pose.bones for c in bone.constraints if c.type == "IK" and c.target == obj]
        found = [(*each, posed[each[0].name].constraints[each[1].name]) for each in found]
        on = (each for each in found if not each[2].mute and each[2].influence > 0.5)
        return [(bone, constraint) for bone, constraint, _now in on if constraint.subtarget in self.bones]

    def _heels(self, target: str) -> list:
        """Controls that turn a target as a whole, after None: the end's may do that."""
        found, row, turn = [None], self.bones.find(target), 0.1
        for name in self.rig.leading([target]):
            control = self.rig.copy.pose.bones[name]
            if name in self.rig.shaped and not any(control.lock_rotation):
                now = self.rig.trial(control, Matrix.Rotation(turn, 4, TURN_AXIS))
                if abs(np.linalg.norm(turns_between(now[[row]], self.rest[[row]])) / turn - 1.0) < FOLLOWED:
                    found.append(name)
        return found

    def _limb(self, bone, constraint, taken: set, heel: str | None) -> Limb | None:
        chain = [bone, *bone.parent_recursive] if constraint.use_tail else list(bone.parent_recursive)
        chain = [self.bones.find(one.name) for one in chain[: constraint.chain_count or None]]
        if len(chain) < 2:
            return None
        upper, lower = self._body(chain[-1]), self._body(chain[len(chain) // 2 - 1])
        joined = {self._body(row) for row in chain} - {None}  # more than two bend as no end control and pole tell
        if joined != {upper, lower} or joined & taken:
            return None
        target, joint = self.bones.find(heel or constraint.subtarget), self.tails[chain[0]]
        fits = []
        for name in self.rig.leading([heel or constraint.subtarget]):
            control, row = self.rig.copy.pose.bones[name], self.bones.find(name)
            if control.bone.use_connect or any(control.lock_location) or row in chain or name == heel:
                continue
            step = 0.05 * self.rig.height
            if name not in self._shifted:
                self._shifted[name] = self.rig.trial(control, Matrix.Translation((step, 0.0, 0.0)))[:, :3, 3]
            shifts = np.linalg.norm((self._shifted[name] - self.rest[:, :3, 3])[[target, upper]], axis=1) / step
            if shifts[0] < FULLY or shifts[1] > STAYS:
                continue
            arm = np.linalg.norm(self.rest[row, :3, 3] - joint) / self.rig.height
            arm += 0.0 if name in self.rig.shaped else HIDDEN
            fits.append((arm, len(fits), name, row))
        if not fits:
            return None
        _arm, _at, name, row = min(fits)
        carried = self._carried(heel or name, joint, chain)
        if heel and carried is None:
            return None
        last = lower if carried is None else carried
        offset = np.linalg.solve(rigid(self.rest[last]), rigid(self.rest[target if heel else row]))
        return Limb(chain, upper, lower, name, last, carried is not None, offset, heel)

    def _body(self, row: int) -> int | None:
        """The body whose bone begins where a bone of a chain does."""
        bodies = self.bodies
        apart = np.linalg.norm(self.rest[bodies, :3, 3] - self.rest[row, :3, 3], axis=1) / self.rig.height
        apart = apart + 0.5 * NEAR * (1.0 - np.abs(self.rest[bodies, :3, 1] @ self.rest[row, :3, 1]))
        nearest = int(np.argmin(apart))
        return bodies[nearest] if apart[nearest] < NEAR else None

    def _carried(self, control: str, joint: np.ndarray, chain: list) -> int | None:
        """The deforming bone at the end that a control turns as a whole."""
        turn = 0.1
        now = self.rig.trial(self.rig.copy.pose.bones[control], Matrix.Rotation(turn, 4, TURN_AXIS))
        turned = np.linalg.norm(turns_between(now, self.rest), axis=1) / turn
        bodies = set(self.bodies)
        apart = np.linalg.norm(self.rest[:, :3, 3] - joint, axis=1)
        fits = [
            (row not in bodies, float(apart[row]), row)
            for row, bone in enumerate(self.bones)
            if (row in bodies or bone.use_deform) and turned[row] > FULLY and row not in chain and bone.name != control
        ]
        return min((fit for fit in fits if fit[1] < CARRIED * self.rig.height), default=(None,))[-1]

    def _probe(self, limb: Limb, constraint) -> bool:
        """Draw a limb in and see where it bends, and what leads the bend; whether it bends, and its end follows."""
        root, _middle, end = self.joints(limb, self.rest)
        bone = self.rig.copy.pose.bones[limb.end]
        drawn = self.rest[self.bones.find(limb.end)].copy()
        drawn[:3, 3] += DRAWN_IN * (root - end)
        bone.matrix_basis = Matrix(self.basis(limb.end, drawn, self.rest))
        now = self.rig.shown()
        off, axis = self._bend(limb, now)
        missed = self._goal(limb, now, now) - now[self.bones.find(limb.end)]
        missed[:3, 3] /= self.rig.height
        if (size := np.linalg.norm(off)) > STRAIGHT * self.rig.height:
            limb.bend = rigid(now[limb.upper])[:3, :3].T @ (off / size)
            if constraint.pole_target == self.rig.copy and constraint.pole_subtarget in self.bones:
                way = now[self.bones.find(constraint.pole_subtarget), :3, 3] - self.joints(limb, now)[1]
                limb.pole, limb.reach = constraint.pole_subtarget, float(np.linalg.norm(way))
                limb.lead = _angle(off, way, axis)
            else:
                self._find_swivel(limb, off, axis)
        bone.matrix_basis = Matrix()
        return limb.bend is not None and np.abs(missed).max() < FOLLOWED

    def _find_swivel(self, limb: Limb, off: np.ndarray, axis: np.ndarray) -> None:
        name, turn = self.bones[limb.chain[-1]].name, 0.2
        bone = self.rig.copy.pose.bones[name]
        gains = np.zeros(3)
        for i in np.flatnonzero(~np.array(bone.lock_rotation, dtype=bool)):
            bone.matrix_basis = Matrix.Rotation(turn, 4, "XYZ"[i])
            gains[i] = _angle(off, self._bend(limb, self.rig.shown())[0], axis) / turn
        bone.matrix_basis = Matrix()
        if np.abs(gains).max() > STAYS:
            best = int(np.argmax(np.abs(gains)))
            limb.swivel, limb.axis = name, np.eye(3)[best] / gains[best]

    def find_tips(self, owned: dict) -> None:
        """Let ends turn what lies beyond bones on heels, as hooves, and is no body has no owner; tweaks' are halves."""
        for limb in self.found:
            beyond = [row for row, above in zip(self.rig.rows, self.rig.parents) if self.rig.rows[above] == limb.last]
            limb.half = next((row for row in beyond if owned.get(row)), None)
            turned = self.rig.trial(self.rig.copy.pose.bones[limb.end], Matrix.Rotation(0.1, 4, TURN_AXIS))
            turned = np.linalg.norm(turns_between(turned, self.rest), axis=1) > 0.1 * FULLY
            free = (row for row in beyond if turned[row] and row not in owned and row not in self.bodies)
            limb.tip = next(free, None) if limb.heel else None

    # ---- poses ----

    def joints(self, limb: Limb, poses: np.ndarray) -> np.ndarray:
        """The first, the middle and the last joint of a limb [3, 3] by its bodies in poses [n, 4, 4]."""
        places = self.rest[limb.chain[-1], :3, 3], self.rest[limb.chain[len(limb.chain) // 2 - 1], :3, 3]
        at = ((limb.upper, places[0]), (limb.lower, places[1]), (limb.lower, self.tails[limb.chain[0]]))
        own = [(poses[row], np.linalg.solve(self.rest[row], np.append(place, 1.0))) for row, place in at]
        return np.array([(pose @ place)[:3] for pose, place in own])

    def _bend(self, limb: Limb, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far the middle joint is off the line from the first to the last [3], and the line's direction."""
        root, middle, end = self.joints(limb, poses)
        axis = (end - root) / max(np.linalg.norm(end - root), 1e-12)
        return (middle - root) - axis * ((middle - root) @ axis), axis

    def basis(self, name: str, matrix: np.ndarray, poses: np.ndarray) -> np.ndarray:
        """The basis matrix with which a bone gets a matrix [4, 4], where its parent is as in poses."""
        bone = self.bones[name]
        return converted(bone, matrix, poses[self.bones.find(bone.parent.name)] if bone.parent else None, invert=True)

    def solve(self, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Pose the controls of all limbs for wanted poses [n, 4, 4] of the bodies; the evaluated poses then."""
        bones, wanted = self.rig.copy.pose.bones, wanted.copy()
        for limb in self.found:
            wanted[[limb.last, *filter(None, (limb.half, limb.tip))], :3, 3] += self.give_way(limb, poses, wanted)[1]
            bones[limb.end].matrix_basis = Matrix(self.basis(limb.end, self._goal(limb, poses, wanted), poses))
        poses = self.rig.shown()
        aims = [self._aim(limb, wanted) for limb in self.found]
        leads = np.array([limb.lead for limb in self.found])
        for _ in range(ROUNDS):
            for limb, (aim, axis, _bent), lead in zip(self.found, aims, leads, strict=True):
                if limb.pole is not None:
                    matrix = poses[self.bones.find(limb.pole)].copy()
                    way = quaternion.rotate(quaternion.from_axis_angle(axis, lead), aim)
                    matrix[:3, 3] = self.joints(limb, wanted)[1] + limb.reach * way
                    bones[limb.pole].matrix_basis = Matrix(self.basis(limb.pole, matrix, poses))
            poses = self._on_heels(self.rig.shown(), wanted)
            bends = [self._bend(limb, poses)[0] for limb in self.found]
            left = [_angle(bend, *aim[:2]) if aim[2] else 0.0 for bend, aim in zip(bends, aims, strict=True)]
            lasts = [limb.last for limb in self.found if limb.heel is not None]
            missed = np.abs(wanted[lasts, :3, 3] - poses[lasts, :3, 3]).max(initial=0.0) / self.rig.height
            if np.abs(left).max(initial=0.0) < CLOSE and missed < EXACT:
                break
            leads = leads + left
            for limb, angle in zip(self.found, left, strict=True):
                if limb.swivel is not None:
                    bones[limb.swivel].matrix_basis = bones[limb.swivel].matrix_basis @ rotation(limb.axis * angle)
        return poses

    def give_way(self, limb: Limb, poses: np.ndarray, wanted: np.ndarray, begins=False) -> np.ndarray:
        """The shifts [2, 3] by which a limb's first joint, if it still can, and its end give way to constant lengths.

        Physics pulls joints apart a little. If the end were exact, the middle joint of a limb that is nearly straight
        would be off by many times as much: in the limb's plane they go to where the squares of all are least.
        """
        if any(self.rig.copy.pose.bones[self.bones[row].name].ik_stretch for row in limb.chain):
            return np.zeros((2, 3))
        lengths = np.linalg.norm(np.diff(self.joints(limb, poses), axis=0), axis=1)
        first, tail = self.joints(limb, wanted if begins else poses)[0], np.append(self.tails[limb.chain[0]], 1.0)
        end = (wanted[limb.last] @ np.linalg.solve(self.rest[limb.last], tail))[:3]
        plane, places = np.linalg.qr(np.transpose([self.joints(limb, wanted)[1] - first, end - first]))
        goals = np.append(0.0, [1.0, 1.0j] @ places)  # in that plane
        steps = np.append(0.0, lengths * np.exp(1j * np.angle(np.diff(goals))))
        counts = np.array([SHARES[0] if begins else 1e3, *SHARES[1:]])[:, None]
        for _ in range(FOLDS):  # Gauss-Newton steps of the first joint and of the directions of both bones
            both = [np.tril([[1.0, *1j * steps[1:]]] * 3), [[1j]] * 3, (goals - steps.cumsum())[:, None]]
            both = np.vstack([(np.hstack(both) * counts).real, (np.hstack(both) * counts).imag])
            moved = np.linalg.lstsq(both[:, :4], both[:, 4], rcond=None)[0]
            steps = steps * np.exp(1j * np.append(0.0, moved[1:3])) + [moved[0] + 1j * moved[3], 0.0, 0.0]
        return (steps.cumsum() - goals)[[0, 2]].view(float).reshape(2, 2) @ plane.T

    def _on_heels(self, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Turn heels as their bones are wanted, and shift ends so that these are in place; the poses then."""
        bones, heeled = self.rig.copy.pose.bones, [limb for limb in self.found if limb.heel is not None]
        for limb in heeled:
            heel, end = (poses[self.bones.find(name)].copy() for name in (limb.heel, limb.end))
            turned = self._turned(heel, rigid(wanted[limb.last]) @ limb.offset)
            end[:3, 3] += (wanted[limb.last] - turned @ np.linalg.solve(heel, poses[limb.last]))[:3, 3]
            for name, matrix in ((limb.heel, turned), (limb.end, end)):
                bones[name].matrix_basis = Matrix(self.basis(name, matrix, poses))
        return self.rig.shown() if heeled else poses

    def _goal(self, limb: Limb, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """The matrix [4, 4] of a limb's end control, which is somewhere in poses, for wanted poses of the bodies."""
        row = self.bones.find(limb.end)
        matrix = poses[row].copy()
        goal, both = rigid(wanted[limb.last]), [limb.last, limb.half]
        if limb.half is not None:  # turned about the joint until the tail of both halves is where it should be
            tails = wanted[both] @ np.linalg.inv(self.rest[both]) @ np.append(self.tails[limb.half], 1.0)
            goal[:3, :3] = quaternion.to_matrix(quaternion.shortest_arc(*tails[:, :3] - goal[:3, 3])) @ goal[:3, :3]
        goal = goal @ limb.offset
        if limb.heel is not None:
            matrix[:3, 3] += goal[:3, 3] - poses[self.bones.find(limb.heel), :3, 3]
            if limb.tip is not None:
                ahead = np.linalg.solve(rigid(self.rest[limb.tip]), rigid(self.rest[row]))
                matrix = self._turned(matrix, rigid(wanted[limb.tip]) @ ahead)
        elif limb.turns:
            matrix = self._turned(matrix, goal)
            matrix[:3, 3] = goal[:3, 3]
        else:
            matrix[:3, 3] = self.joints(limb, wanted)[2] + self.rest[row, :3, 3] - self.tails[limb.chain[0]]
        return matrix

    def _turned(self, matrix: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """A matrix [4, 4] with the axes of another one, and its own scale."""
        result = matrix.copy()
        result[:3, :3] = goal[:3, :3] * np.linalg.norm(matrix[:3, :3], axis=0)
        return result

    def _aim(self, limb: Limb, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Where the middle joint shall go (a direction), the limb's line, and whether it is bent."""
        off, axis = self._bend(limb, wanted)
        bent = np.linalg.norm(off) > STRAIGHT * self.rig.height
        if not bent:
            off = rigid(wanted[limb.upper])[:3, :3] @ limb.bend
            off = off - axis * (off @ axis)
        return off / max(np.linalg.norm(off), 1e-12), axis, bool(bent)


def _angle(start: np.ndarray, end: np.ndarray, axis: np.ndarray) -> float:
    """The angle from one direction to another about an axis [rad]."""
    return float(np.arctan2(np.cross(start, end) @ axis, start @ end - (start @ axis) * (end @ axis)))


def has_solver(bone) -> bool:
    """Whether inverse kinematics ends at a bone."""
    return any(constraint.type == "IK" for constraint in bone.constraints)


def rotation(vector: np.ndarray) -> Matrix:
    """The matrix of a rotation vector."""
    return Matrix(quaternion.to_matrix(quaternion.from_rotation_vector(vector))).to_4x4()


def put(bones: list, basis: np.ndarray) -> None:
    """Give bones basis matrices [k, 4, 4]."""
    for bone, matrix in zip(bones, basis.tolist(), strict=True):
        bone.matrix_basis = Matrix(matrix)


def moved_by(basis: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Basis matrices [.., 4, 4] turned in their own axes by rotation vectors and shifted: steps [.., 6]."""
    result = basis.copy()
    result[..., :3, :3] = basis[..., :3, :3] @ quaternion.to_matrix(quaternion.from_rotation_vector(steps[..., :3]))
    result[..., :3, 3] += steps[..., 3:]
    return result


def axes_of(matrices: np.ndarray) -> np.ndarray:
    """The axes of matrices [.., 4, 4] without their scale [.., 3, 3]."""
    return rigid(matrices)[..., :3, :3]


def apart(now: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """By how much bones [.., 4, 4] are off: angles of their directions [rad], distances, twist [rad] [.., 3]."""
    off, axes = np.linalg.norm((now - wanted)[..., :3, 3], axis=-1), (axes_of(now), axes_of(wanted))
    swing = np.arccos(np.clip((axes[0][..., 1] * axes[1][..., 1]).sum(axis=-1), -1.0, 1.0))
    turn = quaternion.from_matrix(axes[0].swapaxes(-1, -2) @ axes[1])
    twist = 2.0 * np.arctan2(turn[..., 2], turn[..., 0])
    return np.stack([swing, off, np.abs((twist + np.pi) % (2.0 * np.pi) - np.pi)], axis=-1)


def turns_between(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Rotation vectors [m, 3] from matrices before to those now [m, 4, 4]."""
    return quaternion.to_rotation_vector(quaternion.from_matrix(axes_of(now) @ axes_of(before).swapaxes(-1, -2)))
