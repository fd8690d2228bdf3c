"""Which controls of a rig carry its simulated bones, and the poses of controls that give wanted poses of those bones.

Nothing is known by name. On a copy of the rig at rest every bone that can lead to a simulated one (by parents and
constraints) is turned a little, and what follows tells what it controls. A bone's *owner* turns it fully about two axes
at least, does not turn the bone before it, and has its pivot next to the bone's head; of equals the one with a shape of
its own. Twist is often shared by others, so no owner has to give it.

The owners' rotations, and the places of those that carry roots, are found by damped Gauss-Newton steps from the frame
before: the responses measured at rest are turned with the control, places follow along the chain of bodies, and a step
counts only if what Blender then evaluates is nearer (Levenberg 1944).
"""

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ... import quaternion
from ...errors import RagdollError
from ..physics import source
from ..rig.action_channels import bone_path
from ..rig.armature import pose_matrices, rigid
from .ik_limbs import HIDDEN, Limbs, turns_between

FK, IK, AS_KEYED = "FK", "IK", "AS_KEYED"
TURN = 0.02  # of the trials at rest [rad]
FOLLOWS, STAYS = 0.5, 0.4  # shares of a turn: from there a bone follows, up to there (a share of its twist) it does not
FULLY = 0.9  # about its two best axes an owner turns its bone by this share
DAMPING, LEAST_DAMPING = 0.1, 0.003
FARTHEST = 0.6  # that a control turns in one step [rad]: the responses hold for small turns only
PLACE_WEIGHT = 6.0  # of a bone's place in heights against its rotation [rad]: twist cannot always be given
STEPS, ENOUGH, EXACT = 16, 0.01, 1e-4  # most steps a frame; gains that do not pay; errors that are none [rad]


@dataclass
class Owner:
    """A control, the simulated bone that it turns, and what bodies do at rest for a turn or a shift of it."""

    name: str
    row: int  # in the armature
    body: int  # place of its bone among the bodies
    free: np.ndarray  # which of its three axes are not locked
    turns: np.ndarray  # of bodies for one of the control, both in its axes at rest [m, 3, 3]
    arms: np.ndarray  # shifts of bodies for a turn [m, 3, 3], beyond what their parents' turns give
    shifts: np.ndarray | None = None  # of its body for a shift of a control that carries a root [3, 3], parent's axes


class Controls:
    """A copy of a character in a scene of its own, on which controls are tried and solved.

    Args:
        obj: the character.
        bones, parents: names of its simulated bones, and places of their parents among them, -1 at roots.
        limbs: whether switches go to FK or IK, or stay AS_KEYED at a frame. Limbs without FK are led by their IK.
        exact: whether bones that inverse kinematics may stretch do not, so that joints come where they should.

    Raises RagdollError: no control leads to any of the bones.
    """

    def __init__(self, obj, bones: list, parents: list, limbs: str = FK, exact: bool = False, frame: int = 1) -> None:
        self.bones, self.parents = bones, parents
        self.height = max(obj.active_ragdoll.height / max(obj.active_ragdoll.built_scale, 1e-12), 1e-12)
        self.copy = source.copy_of(obj, f".{obj.name} Controls")
        self.scene = bpy.data.scenes.new(".Ragdoll Controls")
        self.scene.active_ragdoll.is_source = True
        self.scene.collection.objects.link(self.copy)
        self.rows = [obj.data.bones.find(name) for name in bones]
        try:
            self._discover(limbs, frame)
            self.held = {}  # {data path: value} of properties beside switches: chains that keep their lengths
            for bone in (self.copy.pose.bones[row] for limb in self.limbs.found for row in limb.chain):
                if exact and bone.ik_stretch > 0.0:
                    bone.ik_stretch = self.held[bone_path(bone.name, "ik_stretch")] = 0.0
            if not self.control_of:
                raise RagdollError(f"No bone of '{obj.name}' controls a simulated one")
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the copy and its scene."""
        bpy.data.objects.remove(self.copy)
        bpy.data.scenes.remove(self.scene)

    @property
    def keyed(self) -> dict:
        """{control: whether it is placed, not only turned} of what is solved, in the order of the solutions."""
        placed = {owner.name: owner.shifts is not None for owner in self.owners}
        return placed | {name: name != limb.swivel for limb in self.limbs.found for name in limb.controls()}

    def evaluated(self):
        """The copy as Blender evaluates it now."""
        layer = self.scene.view_layers[0]
        layer.update()
        return self.copy.evaluated_get(layer.depsgraph)

    def shown(self) -> np.ndarray:
        """Evaluated matrices of all bones [n, 4, 4], in armature space."""
        return pose_matrices(self.evaluated())

    def trial(self, bone, basis: Matrix) -> np.ndarray:
        """Evaluated matrices of all bones [n, 4, 4] while one that is at rest has a basis matrix."""
        bone.matrix_basis = basis
        now = self.shown()
        bone.matrix_basis = Matrix()
        return now

    # ---- which control carries what ----

    def _discover(self, limbs: str, frame: int) -> None:
        """Find the switches {data path: value}, the owners, and the limbs that are led by inverse kinematics."""
        self.scene.frame_set(frame)
        paths = _switch_paths(self.copy, _leading(self.copy, self.bones))
        now = {path: self.evaluated().path_resolve(path) for path in paths} if limbs == AS_KEYED else {}
        animation, posed = self.copy.animation_data, [bone.matrix_basis.copy() for bone in self.copy.pose.bones]
        kept = None if animation is None else (animation.action, animation.use_nla)
        if animation is not None:
            animation.action, animation.use_nla = None, False
        for bone in self.copy.pose.bones:
            bone.matrix_basis.identity()
        candidates = _leading(self.copy, self.bones)
        self.switches = self._best_switches(candidates)
        if limbs != FK:
            self._turn_to_limbs(paths, now)
        owners = self._owners(self._followers(candidates))
        self.limbs = Limbs(self, _leading, {self.rows[owner.body] for owner in owners})
        theirs = {name for limb in self.limbs.found for name in limb.controls()}
        self.owners = [owner for owner in owners if owner.name not in theirs]
        self.control_of = {owner.body: owner.name for owner in self.owners}
        for limb in self.limbs.found:
            for row, name in ((limb.upper, limb.pole or limb.swivel or limb.end), (limb.lower, limb.end)):
                self.control_of[self.rows.index(row)] = name
            if limb.last in self.rows:
                self.control_of[self.rows.index(limb.last)] = limb.end
        self._group()
        if kept is not None:
            animation.action, animation.use_nla = kept
        for bone, matrix in zip(self.copy.pose.bones, posed, strict=True):
            bone.matrix_basis = matrix

    def _turn_to_limbs(self, paths: dict, now: dict) -> None:
        """Turn the switches of limbs to inverse kinematics with a pole, or to what they are now."""
        solved = {bone.name for bone in self.copy.pose.bones if any(c.type == "IK" for c in bone.constraints)}
        for path in [path for path in self.switches if _leading(self.copy, paths[path]).keys() & solved]:
            self.switches[path] = int(now[path]) if now else 1 - self.switches[path]
            switch(self.copy, path, self.switches[path])
        found = {} if now else _switch_paths(self.copy, solved)
        for path, bones in ((path, own & solved) for path, own in found.items() if own & solved):
            for value in (0, 1):
                switch(self.copy, path, value)
                posed = self.evaluated().pose.bones
                if any(
                    c.type == "IK" and c.pole_target and not c.mute for name in bones for c in posed[name].constraints
                ):
                    self.switches[path] = value
                    break

    def _group(self) -> None:
        """Which owners [k] are solved together, by which bodies [m]: what limbs carry comes later."""
        m, owned = len(self.rows), np.array([owner.body for owner in self.owners], dtype=int)
        carried, later = np.zeros((2, m), dtype=bool)
        for body, parent in enumerate(self.parents):
            first = any(self.rows[body] in (limb.upper, limb.lower, limb.last) for limb in self.limbs.found)
            carried[body] = first or (parent >= 0 and carried[parent])
            later[body] = carried[body] and (body in owned or (parent >= 0 and later[parent]))
        groups = [(~carried[owned], ~carried), (carried[owned], later)]
        self.groups = [(owners, bodies) for owners, bodies in groups if bodies.any() or owners.any()] or groups[:1]

    def _best_switches(self, candidates: dict) -> dict:
        """Set each property that switches constraints to where more bones behind it have owners; which are they."""
        paths = {path: bones for path, bones in _switch_paths(self.copy, candidates).items() if len(bones) > 1}
        before = {path: self.copy.path_resolve(path) for path in paths}
        count = {}
        for value in (0, 1) if paths else ():  # of all at once: one limb's switch says nothing of another's
            for path in paths:
                switch(self.copy, path, value)
            owned = {owner.body for owner in self._owners(self._followers(candidates))}
            for path, driven in paths.items():
                behind = (b for b, name in enumerate(self.bones) if driven & _leading(self.copy, [name]).keys())
                count[path, value] = len(owned.intersection(behind))
        switches = {path: int(count[path, 1] > count[path, 0]) for path in paths if count[path, 0] != count[path, 1]}
        for path in paths:
            switch(self.copy, path, switches.get(path, before[path]))
        return switches

    def _tried(self, bone, basis: Matrix, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation vectors [m, 3] and shifts [m, 3] of the bodies for a basis matrix of a bone at rest."""
        now = self.trial(bone, basis)[self.rows]
        return turns_between(now, rest), now[:, :3, 3] - rest[:, :3, 3]

    def _followers(self, candidates: dict) -> dict:
        """{candidate: [(first body that turns with it, how far the body's head is from the pivot [heights])]}."""
        self._rest, self._turned = self.shown(), {}
        rest, found = self._rest[self.rows], {}
        for name in candidates:
            bone = self.copy.pose.bones[name]
            vector = np.where(_free(bone), (1.0, 0.7, 0.5), 0.0)
            if not vector.any():
                continue
            vector *= TURN / np.linalg.norm(vector)
            turns, shifts = self._tried(bone, _rotation(vector), rest)
            turned = np.linalg.norm(turns, axis=1) / TURN
            firsts = [
                (body, float(np.linalg.norm(shifts[body])) / TURN / self.height)
                for body, parent in enumerate(self.parents)
                if turned[body] >= FOLLOWS and (parent < 0 or turned[parent] <= STAYS)
            ]
            if firsts:
                found[name] = firsts
        return found

    def _owners(self, followers: dict) -> list[Owner]:
        rest, owners, taken = self._rest[self.rows], [], set()
        pairs = sorted(
            (arm + (0.0 if self.copy.pose.bones[name].custom_shape else HIDDEN), body, name)
            for name, firsts in followers.items()
            for body, arm in firsts
        )
        for _distance, body, name in pairs:
            if name in taken or any(owner.body == body for owner in owners):
                continue
            owner = self._measured(name, body, rest)
            full = np.linalg.svd(owner.turns[body], compute_uv=False)
            if full[1] >= FULLY:
                owners.append(owner)
                taken.add(name)
        return sorted(owners, key=lambda owner: owner.body)

    def _measured(self, name: str, body: int, rest: np.ndarray) -> Owner:
        """An owner with its responses."""
        bone = self.copy.pose.bones[name]
        row = self.copy.data.bones.find(name)
        axes, free = _axes(self._rest[row]), _free(bone)
        turns, arms = np.zeros((2, len(rest), 3, 3))
        if name not in self._turned:
            tries = ((axis, _rotation(np.eye(3)[axis] * TURN)) for axis in np.flatnonzero(free))
            self._turned[name] = [(axis, *self._tried(bone, basis, rest)) for axis, basis in tries]
        for axis, turned, shifted in self._turned[name]:
            for i, parent in enumerate(self.parents):
                if parent >= 0:
                    by_parent = shifted[parent] + np.cross(turned[parent], rest[i, :3, 3] - rest[parent, :3, 3])
                    arms[i, :, axis] = shifted[i] - by_parent
                else:
                    arms[i, :, axis] = shifted[i]
            turns[:, :, axis] = turned
        turns, arms = axes.T @ turns / TURN, axes.T @ arms / TURN
        owner = Owner(name, row, body, free, turns, arms)
        if self.parents[body] < 0 and not bone.bone.use_connect and not any(bone.lock_location):
            step = TURN * self.height
            columns = [self._tried(bone, Matrix.Translation(np.eye(3)[a] * step), rest)[1][body] for a in range(3)]
            shifts = self._parent_axes(owner, self._rest).T @ np.transpose(columns) / step
            if np.linalg.svd(shifts, compute_uv=False)[2] >= FULLY:
                owner.shifts = shifts
        return owner

    def _parent_axes(self, owner: Owner, poses: np.ndarray) -> np.ndarray:
        """Axes [3, 3] of the bone that carries a control."""
        parent = self.copy.data.bones[owner.row].parent
        return np.eye(3) if parent is None else _axes(poses[self.copy.data.bones.find(parent.name)])

    # ---- poses ----

    def solve(self, frame: int, wanted: np.ndarray, start: np.ndarray | None, given=None) -> tuple:
        """Basis matrices of the controls [k, 4, 4] that bring bodies nearest to wanted ones, and how far off [m, 2].

        Args:
            frame: at which all other controls play their animation.
            wanted: matrices of all bones [n, 4, 4] in armature space.
            start: what was found for the frame before.
            given: {bone: its basis matrix} of bones that are posed so.

        The distances are in the armature's units, the angles in rad; the order is that of `keyed`.
        """
        self.scene.frame_set(frame)
        for path, value in self.switches.items():
            switch(self.copy, path, value)
        for name, matrix in (given or {}).items():
            self.copy.pose.bones[name].matrix_basis = Matrix(matrix)
        bones = [self.copy.pose.bones[name] for name in self.keyed]
        if start is not None:
            for bone, matrix, placed in zip(bones, start, self.keyed.values(), strict=True):
                basis = np.array(bone.matrix_basis)
                basis[:3, : 4 if placed else 3] = matrix[:3, : 4 if placed else 3]
                bone.matrix_basis = Matrix(basis)
        for i, group in enumerate(self.groups):
            poses, error = self._settle(bones[: len(self.owners)], wanted[self.rows], *group)
            if i == 0 and self.limbs.found:
                poses = self.limbs.solve(poses, wanted)
                error = self._errors(poses, wanted[self.rows])
        off = np.linalg.norm(error.reshape(-1, 2, 3), axis=2)
        basis = np.array([bone.matrix_basis for bone in bones])
        return basis, off * (1.0, self.height / PLACE_WEIGHT)

    def _settle(self, bones: list, wanted: np.ndarray, owners: np.ndarray, bodies: np.ndarray) -> tuple:
        """Bring some bodies [m] to wanted ones by some owners [k]: the poses [n, 4, 4], and what is left of all."""
        basis = np.array([bone.matrix_basis for bone in bones]).reshape(-1, 4, 4)
        poses, error = self._try(bones, basis, wanted)
        damping = DAMPING
        for _ in range(STEPS if owners.any() else 0):
            step = self._step(poses, error, damping, owners, bodies)
            moved = np.array([_moved(basis[k], step[k]) for k in range(len(bones))])
            there, left = self._try(bones, moved, wanted)
            gain = 1.0 - np.linalg.norm(left[bodies]) / max(np.linalg.norm(error[bodies]), 1e-12)
            if gain > 0.0:
                basis, poses, error, damping = moved, there, left, max(damping * 0.3, LEAST_DAMPING)
            else:
                damping *= 10.0
            if -ENOUGH < gain < ENOUGH or np.abs(error[bodies]).max() < EXACT:
                break
        for bone, matrix in zip(bones, basis, strict=True):
            bone.matrix_basis = Matrix(matrix)
        return poses, error

    def _try(self, bones, basis: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The evaluated poses [n, 4, 4] for basis matrices, and what is left: turns and weighted shifts [m, 6]."""
        for bone, matrix in zip(bones, basis, strict=True):
            bone.matrix_basis = Matrix(matrix)
        poses = self.shown()
        return poses, self._errors(poses, wanted)

    def _errors(self, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """What poses lack of wanted ones: turns and weighted shifts [m, 6]."""
        bodies = poses[self.rows]
        places = (wanted[:, :3, 3] - bodies[:, :3, 3]) * (PLACE_WEIGHT / self.height)
        return np.hstack([turns_between(wanted, bodies), places])

    def _step(self, poses: np.ndarray, error: np.ndarray, damping: float, some, bodies) -> np.ndarray:
        """Turns and shifts of owners [k, 6], in their own axes and those of their parents; of some by some bodies."""
        places = poses[self.rows, :3, 3]
        m, k = len(places), len(self.owners)
        turns, shifts = np.zeros((2, m, 3, k, 6))
        for o, owner in enumerate(self.owners):
            axes = _axes(poses[owner.row])
            turns[:, :, o, :3] = axes @ owner.turns
            shifts[:, :, o, :3] = axes @ owner.arms
            if owner.shifts is not None:
                shifts[owner.body, :, o, 3:] = self._parent_axes(owner, poses) @ owner.shifts
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                by_parent = np.cross(turns[parent], places[i] - places[parent], axisa=0, axisc=0)
                shifts[i] += shifts[parent] + by_parent
        scale = PLACE_WEIGHT / self.height
        jacobian = np.concatenate([turns, shifts * scale], axis=1).reshape(m * 6, k * 6)
        jacobian = jacobian * np.outer(np.repeat(bodies, 6), np.repeat(some, 6))
        jacobian = jacobian * np.tile([1.0, 1.0, 1.0, *[self.height] * 3], k)  # shifts count in heights
        squares = jacobian.T @ jacobian
        squares[np.diag_indices(len(squares))] += damping**2
        step = np.linalg.solve(squares, jacobian.T @ error.ravel()).reshape(k, 6)
        step *= min(1.0, FARTHEST / max(np.abs(step[:, :3]).max(), 1e-12))
        return step * (1.0, 1.0, 1.0, *[self.height] * 3)


def _leading(obj, names) -> dict:
    """The bones that those of some names hang on by parents and constraints, themselves included: an ordered set."""
    sources = {bone.name: set() for bone in obj.pose.bones}
    for bone in obj.pose.bones:
        own = sources[bone.name]
        if bone.parent is not None:
            own.add(bone.parent.name)
        for constraint in bone.constraints:
            targets = [(getattr(constraint, "target", None), getattr(constraint, "subtarget", ""))]
            targets.append((getattr(constraint, "pole_target", None), getattr(constraint, "pole_subtarget", "")))
            targets += [(each.target, each.subtarget) for each in getattr(constraint, "targets", ())]
            names_of = {name for target, name in targets if target == obj and name in sources}
            own |= names_of
            if constraint.type == "IK":
                chain = [bone, *bone.parent_recursive][: constraint.chain_count or None]
                for member in chain:
                    sources[member.name] |= names_of | {bone.name}
    found, waiting = {}, list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = True
            waiting.extend(sources[name])
    return found


def _switch_paths(obj, candidates: dict) -> dict:
    """{data path of a property that switches constraints: the bones with these} among some bones."""
    found = {}
    for driver in obj.animation_data.drivers if obj.animation_data else ():
        bone, _, rest = driver.data_path.removeprefix('pose.bones["').partition('"].constraints["')
        if bone not in candidates or not rest.endswith((".influence", ".mute")):
            continue
        for variable in driver.driver.variables:
            target = variable.targets[0]
            if (
                variable.type == "SINGLE_PROP"
                and target.id == obj
                and isinstance(_value(obj, target.data_path), bool | int | float)
            ):
                found.setdefault(target.data_path, set()).add(bone)
    return found


def _value(obj, path: str):
    try:
        return obj.path_resolve(path)
    except ValueError:
        return None


def switch(obj, path: str, value) -> None:
    """Set a custom property by its path."""
    owner, _, name = path.rpartition('["')
    holder, name = obj.path_resolve(owner) if owner else obj, name.removesuffix('"]')
    holder[name] = type(holder[name])(value)
    obj.update_tag()


def _free(bone) -> np.ndarray:
    """Which axes of a bone's rotation are not locked [3]."""
    return ~np.array(bone.lock_rotation, dtype=bool)


def _rotation(vector: np.ndarray) -> Matrix:
    """The matrix of a rotation vector."""
    return Matrix(quaternion.to_matrix(quaternion.from_rotation_vector(vector))).to_4x4()


def _moved(basis: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A basis matrix [4, 4] turned in its own axes by a rotation vector and shifted: step [6]."""
    result = basis.copy()
    result[:3, :3] = basis[:3, :3] @ quaternion.to_matrix(quaternion.from_rotation_vector(step[:3]))
    result[:3, 3] += step[3:]
    return result


def _axes(matrices: np.ndarray) -> np.ndarray:
    """The axes of matrices [.., 4, 4] without their scale [.., 3, 3]."""
    return rigid(matrices)[..., :3, :3]
