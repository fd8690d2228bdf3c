"""Which controls of a rig carry its simulated bones, and the poses of controls that give wanted poses of those bones.

Nothing is known by name. On a copy of the rig at rest every bone that can lead to a simulated one (by parents and
constraints) is turned a little, and what follows tells what it controls. A bone's *owner* turns it fully about two axes
at least, does not turn the bone before it, and has its pivot next to the bone's head; of equals the one with a shape of
its own. Twist is often shared by others, so no owner has to give it. Further controls help where they move bodies as
no owner can.

The owners' rotations, and the places of those that carry roots or what hangs elsewhere in the rig, are found by
damped Gauss-Newton steps from the frame before: the responses measured at rest are turned with the control, places
follow along the chain of bodies, and a step counts only if what Blender then evaluates is nearer (Levenberg 1944).
What each step does corrects the responses for the next (Broyden 1965). What a shift bends is bent about axes that go
with the bone, not with the control.
"""

from dataclasses import dataclass, replace
from functools import partial

import bpy
import numpy as np
from mathutils import Matrix

from ... import skeleton
from ...errors import RagdollError
from ..physics import source
from ..rig import action_channels, armature, rig_graph
from .ik_limbs import CARRIED, HIDDEN, NEAR, Limbs, apart, axes_of, has_solver, moved_by, put, rotation, turns_between

LIMBS = FK, IK, AS_KEYED = "FK", "IK", "AS_KEYED"
FOLLOWS, STAYS = 0.5, 0.4  # shares of a turn: from there a bone follows, up to there (a share of its twist) it does not
FULLY = 0.9  # about its two best axes an owner turns its bone by this share
TURN, HELPS = 0.02, 0.05  # of the trials at rest [rad]; from there on a turn of a further one gives what no other does
LOOSE = 0.15, 0.3, 0.03  # what errors count about axes that owners do not turn: without tweaks, with them, at last
FOUND, NEARLY, TOO_FAR = 0.002, 0.02, 0.03  # errors of a pose that controls can make, of one near it; of one place
DAMPING, LEAST_DAMPING, FARTHEST = 0.1, 0.03, 0.6  # turned in one step [rad]: the responses hold for small turns only
TURNED_ROUND, LET_GO = 0.1, 0.01  # share of a pivot's distances from tail and head; of what places count then
BEGINS = 10.0  # what places count where a limb begins: if it is straight, its middle joint is off much further
PLACE_WEIGHT = 6.0  # of a bone's place in heights against its rotation [rad]: twist cannot always be given
STEPS, EXACT, FAR = 40, 1e-4, 3.0  # most steps; errors: none [rad], and from where the first pose may be nearer
ENOUGH, MUCH = 0.01, 0.5  # gains that do not pay, unless that much was promised or a turn is cut short


@dataclass
class Owner:
    """A control, the simulated bone that it carries, and what bodies do at rest for a turn or a shift of it.

    The responses are to turns [rad], in the control's axes, and to shifts [units], in its parent's axes."""

    name: str
    row: int  # in the armature
    above: int  # row of its parent, or -1
    body: int  # place of its bone among the bodies
    turns: np.ndarray  # of bodies for its turns, and for its shifts [m, 3, 2, 3]
    arms: np.ndarray  # shifts of bodies likewise, beyond what their parents' turns and shifts give
    unit: float = 0.0  # of its shifts, in the armature's; 0: it is turned only

    def share(self, kind: int, axis: int = 1) -> float:
        """By how much its turns (0) or its shifts (1) turn its body, about the second best axis or another."""
        return float(np.linalg.svd(self.turns[self.body, :, kind], compute_uv=False)[axis])


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
        self.copy = source.copy_of(obj, f".{obj.name} Controls", own_data=True)
        self.scene = bpy.data.scenes.new(".Ragdoll Controls")
        self.scene.active_ragdoll.is_source = True
        self.scene.collection.objects.link(self.copy)
        self.all = obj.data.bones  # whose rows are meant: the copy has fewer
        self.shaped = {bone.name for bone in obj.pose.bones if bone.custom_shape}
        self.rows = [self.all.find(name) for name in bones]
        self.bodiless = ~np.isin(bones, [part.bone for part in obj.active_ragdoll.parts] or bones)
        all_of = range(len(bones))
        self._paths_to = np.array([np.isin(all_of, skeleton.path_to_root(parents, i)) for i in all_of])
        try:
            self.leading = partial(rig_graph.leading, rig_graph.sources(self.copy))
            self._prune([*bones, *self._near_ends()])
            self._discover(limbs, frame)
            ends = (self.all[limb.last].name for limb in self.limbs.found)
            self._prune([*bones, *self.keyed, *ends, *rig_graph.bones_in(" ".join(self.switches))])
            self.held = {}  # {data path: value} of properties beside switches: chains that keep their lengths
            for bone in (self.copy.pose.bones[self.all[row].name] for limb in self.limbs.found for row in limb.chain):
                if exact and bone.ik_stretch > 0.0:
                    bone.ik_stretch = self.held[action_channels.bone_path(bone.name, "ik_stretch")] = 0.0
            if not self.control_of:
                raise RagdollError(f"No bone of '{obj.name}' controls a simulated one")
            self.begun = np.array([self.copy.pose.bones[owner.name].matrix_basis for owner in self.owners])
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove the copy and its scene."""
        bpy.data.armatures.remove(self.copy.data)  # and the object with it
        bpy.data.scenes.remove(self.scene)

    @property
    def keyed(self) -> dict:
        """{control: whether it is placed, not only turned} of what is solved, in the order of the solutions."""
        placed = {owner.name: owner.unit > 0.0 for owner in self.owners}
        return placed | {name: name in (limb.end, limb.pole) for limb in self.limbs.found for name in limb.controls()}

    def evaluated(self):
        """The copy as Blender evaluates it now."""
        layer = self.scene.view_layers[0]
        layer.update()
        return self.copy.evaluated_get(layer.depsgraph)

    def shown(self) -> np.ndarray:
        """Evaluated matrices of all bones [n, 4, 4], in armature space; the identity where the copy lacks one."""
        result = np.tile(np.eye(4), (len(self.all), 1, 1))
        result[self._there] = armature.pose_matrices(self.evaluated())
        return result

    def trial(self, bone, basis: Matrix) -> np.ndarray:
        """Evaluated matrices of all bones [n, 4, 4] while one that is at rest has a basis matrix."""
        bone.matrix_basis = basis
        now = self.shown()
        bone.matrix_basis = Matrix()
        return now

    # ---- which control carries what ----

    def _near_ends(self) -> list[str]:
        """Deforming bones next to the ends of limbs that inverse kinematics leads: what their controls may carry."""
        solved = [self.all[name] for name in self.leading(self.bones) if has_solver(self.copy.pose.bones[name])]
        tails, most = [bone.tail_local for bone in solved], CARRIED * self.height
        return [b.name for b in self.all if b.use_deform and any((tail - b.head_local).length < most for tail in tails)]

    def _prune(self, names) -> None:
        """Remove what does not lead to bones of some names from the copy."""
        self.leading = partial(rig_graph.leading, rig_graph.sources(self.copy))
        rig_graph.prune(self.copy, self.scene, self.leading(names))
        self._there = [self.all.find(bone.name) for bone in self.copy.pose.bones]

    def _discover(self, limbs: str, frame: int) -> None:
        """Find the switches {data path: value}, the owners, and the limbs that are led by inverse kinematics."""
        self.scene.frame_set(frame)
        self._known = {}
        behind = [self.leading([name]) for name in self.bones]
        self._reach = {name: np.array([name in some for some in behind]) for name in self.leading(self.bones)}
        self._paths = rig_graph.switch_paths(self.copy, self._reach)
        now = {path: self.evaluated().path_resolve(path) for path in self._paths} if limbs == AS_KEYED else {}
        animation, posed = self.copy.animation_data, [bone.matrix_basis.copy() for bone in self.copy.pose.bones]
        kept = None if animation is None else (animation.action, animation.use_nla)
        if animation is not None:
            animation.action, animation.use_nla = None, False
        for bone in self.copy.pose.bones:
            bone.matrix_basis.identity()
        best = self._best_switches()
        self.switches, self.kept = dict(best), set()
        if limbs != FK:
            self._turn_to_limbs(now)
        self.limbs = Limbs(self, self._owners())
        if self._turn_back(best):
            self.limbs = Limbs(self, self._owners())
        theirs = {name for limb in self.limbs.found for name in limb.controls()}
        self.owners = [owner for owner in self._owners() if owner.name not in theirs and not self._led()[owner.body]]
        self.owners += self._tweaks(theirs)
        self.limbs.find_tips({self.rows[owner.body]: owner.unit > 0.0 for owner in self.owners})
        self._weigh()
        # Turns leave limbs behind that hang elsewhere in the rig: what else is beyond is then shifted as well.
        led, near = self._led(), NEAR * self.height
        far = [o.body for o in self.owners if np.any(np.abs(o.arms[led & np.equal(self.parents, o.body), :, 0]) > near)]
        turned = [owner.body for owner in self.owners if owner.unit == 0.0 and owner.body not in far]
        self._place([body for body, above in enumerate(self.parents) if above not in turned])
        self.control_of = {owner.body: owner.name for owner in self.owners}
        self.owners += self._helpers(theirs)
        self._place(self._drifting())
        for limb in self.limbs.found:
            self.control_of |= {self.rows.index(row): name for row, name in limb.led().items() if row in self.rows}
        self._group()
        now = self.evaluated()  # with switches where they are held, whatever keys they have
        if kept is not None:
            animation.action, animation.use_nla = kept
        rig_graph.cut_idle(self.copy, now, self.switches)
        for bone, matrix in zip(self.copy.pose.bones, posed, strict=True):
            bone.matrix_basis = matrix

    def _turn_to_limbs(self, now: dict) -> None:
        """Turn the switches of limbs to inverse kinematics with a pole, or to what they are now."""
        solved = {bone.name for bone in self.copy.pose.bones if has_solver(bone)}
        for path in [path for path in self.switches if self.leading(self._paths[path]).keys() & solved]:
            self.switches[path] = int(now[path]) if now else 1 - self.switches[path]
            rig_graph.switch(self.copy, path, self.switches[path])
        found = {} if now else rig_graph.switch_paths(self.copy, solved)
        for path, bones in ((path, own & solved) for path, own in found.items() if own & solved):
            for value in (0, 1, self.copy.path_resolve(path)):  # at last as it was
                rig_graph.switch(self.copy, path, value)
                posed = self.evaluated().pose.bones
                own = [c for name in bones for c in posed[name].constraints if c.type == "IK"]
                if any(c.pole_target and not c.mute for c in own):
                    self.switches[path] = value
                    break

    def _turn_back(self, best: dict) -> bool:
        """Turn back the switches of limbs that inverse kinematics cannot lead, noting their bodies; whether there are.

        They have no limb behind them and leave bodies without controls: limbs of three bones and more, and those whose
        ends do not follow their controls.
        """
        led = [self.rows.index(limb.upper) for limb in self.limbs.found]
        carried = [*led, *(owner.body for owner in self._owners())]
        for path, value in list(self.switches.items()):
            reach = [self._reach[name] for name in self._paths.get(path, ())]
            behind = np.any([np.zeros(len(self.rows), dtype=bool), *reach], axis=0)
            if value != best.get(path) and not behind[led].any() and np.delete(behind, carried).any():
                self.kept |= set(np.flatnonzero(behind))
                self.switches[path] = best.get(path, value)  # a pole's then does nothing
                rig_graph.switch(self.copy, path, self.switches[path])
        return bool(self.kept)

    def _group(self) -> None:
        """Which ways of owners [k, 6] are solved together, by which of bodies [m, 6]: what limbs carry comes later.

        In stages, each with a weight of what is loose: tweaks only bend what the others have turned; before that they
        would fold it up. All twist is looked for with them as well, and let go only where that does not find the pose:
        from what the others found, unless little is missing; where that is too far off, from the other start as well.
        """
        trunk, owned = self._trunk(), [owner.body for owner in self.owners]
        moved = self._jacobian(self._rest, self.owners).reshape(len(self.rows), 6, len(owned), 6)
        first = np.abs(moved * trunk[..., None, None]).max(axis=(0, 1, 3), initial=0.0) > HELPS
        later = ~trunk[:, 0] & (self._paths_to[:, np.array(owned, dtype=int)[~first]] > 0.0).any(axis=1)
        groups = [(first, trunk), (~first, np.repeat(later[:, None], 6, axis=1))]
        self.units = np.array([[1.0] * 3 + [owner.unit] * 3 for owner in self.owners]).reshape(-1, 6)
        self.tweaks = np.outer(self.units[:, 3] < self.height, [False] * 3 + [True] * 3) & (self.units > 0.0)
        self.groups, self._own = [], self._gathered(self.owners)
        for owners, bodies in [group for group in groups if group[1].any() or group[0].any()] or groups[:1]:
            ways = owners[:, None] & (self.units > 0.0)
            stages = list(zip((ways & ~self.tweaks, ways, ways), LOOSE, strict=True))
            self.groups.append((stages if (ways & self.tweaks).any() else stages[::2], bodies))

    def _trunk(self) -> np.ndarray:
        """Which turns and places of bodies [m, 6] come before inverse kinematics: those where limbs begin as well."""
        led, parents = self._led(), np.array(self.parents)
        carried = (self._paths_to[:, led] > 0.0).any(axis=1)
        result = np.repeat(~carried[:, None], 6, axis=1)
        result[led & (parents >= 0) & ~carried[parents], 3:] = True
        return result

    def _led(self) -> np.ndarray:
        """The bodies [m] that the controls of limbs carry."""
        return np.isin(self.rows, [row for limb in self.limbs.found for row in (limb.upper, limb.lower, limb.last)])

    def _best_switches(self) -> dict:
        """Set each property that switches constraints to where more bones behind it have owners; which are they."""
        paths = {path: bones for path, bones in self._paths.items() if len(bones) > 1}
        before = {path: self.copy.path_resolve(path) for path in paths}
        behind = {path: np.any([self._reach[name] for name in bones], axis=0) for path, bones in paths.items()}
        count = {}
        for value in (0, 1) if paths else ():  # of all at once: one limb's switch says nothing of another's
            for path in paths:
                rig_graph.switch(self.copy, path, value)
            owned = {owner.body for owner in self._owners()}
            count |= {(path, value): len(owned.intersection(np.flatnonzero(behind[path]))) for path in paths}
        switches = {path: int(count[path, 1] > count[path, 0]) for path in paths if count[path, 0] != count[path, 1]}
        for path in paths:
            rig_graph.switch(self.copy, path, switches.get(path, before[path]))
        return switches

    def _tried(self, tries: dict) -> dict:
        """{bone: rotation vectors and shifts of the bodies [2, m, 3]} for basis matrices of bones at rest.

        Bones that lead to no body in common are tried at once."""
        rest, found, waiting = self._rest[self.rows], {}, dict(tries)
        while waiting:
            some, taken = [], np.zeros(len(rest), dtype=bool)
            for name in list(waiting):
                if not (taken & self._reach[name]).any():
                    some.append(name)
                    taken |= self._reach[name]
                    self.copy.pose.bones[name].matrix_basis = waiting.pop(name)
            now = self.shown()[self.rows]
            moved = np.array([turns_between(now, rest), now[:, :3, 3] - rest[:, :3, 3]])
            for name in some:
                self.copy.pose.bones[name].matrix_basis = Matrix()
                found[name] = moved * self._reach[name][:, None]
        return found

    def _followers(self) -> list:
        """(Distance of pivot and head [heights], body, bone) of bones and bodies that they turn, nearest first.

        Only the first body that turns with a bone counts; a bone without a shape of its own is as if further away."""
        bones = self.copy.pose.bones
        vectors = {name: np.where(bones[name].lock_rotation, 0.0, (1.0, 0.7, 0.5)) for name in self._reach}
        vectors = {name: vector * (TURN / np.linalg.norm(vector)) for name, vector in vectors.items() if vector.any()}
        found, self.effects = [], self._tried({name: rotation(v) for name, v in vectors.items()})
        for name, (turns, shifts) in self.effects.items():
            turned = np.linalg.norm(turns, axis=1) / TURN
            hidden = 0.0 if name in self.shaped else HIDDEN
            found += [
                (float(np.linalg.norm(shifts[body])) / TURN / self.height + hidden, body, name)
                for body, parent in enumerate(self.parents)
                if turned[body] >= FOLLOWS and (parent < 0 or turned[parent] <= STAYS)
            ]
        return sorted(found)

    def _owners(self) -> list[Owner]:
        """The owners where the switches are now, which are tried once for each position of these."""
        position = tuple(self.copy.path_resolve(path) for path in self._paths)
        if position not in self._known:
            self._rest, self._turned, owners = self.shown(), {}, {}
            waiting, axes, near = self._followers(), self._rest[self.rows, :3, 1], NEAR * TURN  # twist is no pull
            pulls = {n: np.abs([np.cross(e[0], axes), e[1] / self.height]) >= near for n, e in self.effects.items()}
            while waiting:
                # The nearest pair of each body, unless the bone may yet become that of a nearer body.
                bodies, names, trying = set(), set(), []
                for pair in waiting:
                    if pair[1] not in bodies and pair[2] not in names:
                        trying.append(pair)
                    bodies.add(pair[1])
                    names.add(pair[2])
                self._turn([name for _distance, _body, name in trying])
                for _distance, body, name in trying:
                    owner, others = self._measured(name, body), ~(self.bodiless | self._paths_to[:, body])
                    if owner.share(0) >= FULLY and not (self.bodiless[body] and pulls[name][:, others].any()):
                        owners[body] = owner
                taken = {owner.name for owner in owners.values()}
                waiting = [p for p in waiting if p not in trying and p[1] not in owners and p[2] not in taken]
            self._known[position] = [owners[body] for body in sorted(owners)], self._rest, self._turned, self.effects
        owners, self._rest, self._turned, self.effects = self._known[position]
        return owners

    def _place(self, bodies: list) -> None:
        """Let owners of some bodies be shifted too, where that gives all places of the body."""
        for i, owner in enumerate(self.owners):
            if owner.body in bodies and owner.unit == 0.0:
                above, placed = self.parents[owner.body], self._shifted(owner, self.height)
                if above >= 0 and np.abs(placed.turns[:, :, 1]).max() > STAYS:  # it bends as tweaks do
                    placed = self._shifted(owner, self.all[self.rows[above]].length)
                places = self._jacobian(self._rest, [placed])[6 * owner.body + 3 :][:3, 3:] * self.height
                if np.linalg.svd(places, compute_uv=False)[2] >= FULLY * PLACE_WEIGHT * placed.unit:
                    self.owners[i] = placed

    def _drifting(self) -> list:
        """Bodies with one control, whose heads the turns of others' shift otherwise than their parents do."""
        shifts = [np.linalg.norm(owner.arms[:, :, 0], axis=(1, 2)) for owner in self.owners]
        shifts, bodies = np.reshape(shifts, (-1, len(self.rows))), [owner.body for owner in self.owners]
        shifts[range(len(bodies)), bodies] = 0.0
        return [b for b in np.flatnonzero(shifts.max(axis=0, initial=0.0) > NEAR * self.height) if bodies.count(b) == 1]

    def _tweaks(self, taken: set) -> list[Owner]:
        """Controls next to the heads of bodies that nothing turns: their shifts bend the limb there."""
        found, taken = [], taken | {owner.name for owner in self.owners}
        for body in np.setdiff1d(np.flatnonzero(~(self._led() | self.bodiless)), [o.body for o in self.owners]):
            head, fits = self._rest[self.rows[body], :3, 3], []
            for name in (name for name in self.shaped & self._reach.keys() - taken if self._reach[name][body]):
                if np.linalg.norm(self._rest[self.all.find(name), :3, 3] - head) < NEAR * self.height:
                    tweak = self._shifted(self._unmeasured(name, int(body)), self.all[self.rows[body]].length)
                    fits.append((-tweak.share(1), name, tweak))
            if fits and min(fits)[0] < -FULLY:
                found.append(min(fits)[-1])
                taken.add(found[-1].name)
        return found

    def _helpers(self, taken: set) -> list[Owner]:
        """Controls that give what those of the bodies cannot: a neck below a head, hips below a torso.

        Those with a shape and without locks that move bodies otherwise than all before them together, the most first.
        """
        led, trunk = self._led(), self._trunk()
        free, trunk = (rows.reshape(-1, 1) for rows in (trunk | ~led[:, None], trunk))
        taken, bones = taken | {owner.name for owner in self.owners}, self.copy.pose.bones
        names = [n for n in self.effects if n not in taken and n in self.shaped and not any(bones[n].lock_rotation)]
        self._turn(names)
        moved = {n: np.abs(self.effects[n] / [[[1.0]], [[self.height]]]).max(axis=(0, 2)) > NEAR * TURN for n in names}
        waiting = [self._measured(name, int(np.argmax(moved[name]))) for name in names]  # the first that it moves
        found = []
        while waiting:
            known, sizes, _ = np.linalg.svd(free * self._jacobian(self._rest, self.owners + found), full_matrices=False)
            known = known[:, sizes > 1e-3]
            gains = []
            for owner in waiting:
                columns = self._jacobian(self._rest, [owner]) * (trunk if self._reach[owner.name] @ led else free)
                gains.append(np.linalg.svd(columns - known @ (known.T @ columns), compute_uv=False)[1])
            if max(gains) < HELPS:
                break
            found.append(waiting.pop(int(np.argmax(gains))))
        return found

    def _weigh(self) -> None:
        """About which of their own axes owners turn bodies [m, 3, 3]: turns about others count little.

        So do places of what a rig has the other way round: its control turns it about the end that is not its head."""
        self.reversed = np.zeros(len(self.bones), dtype=bool)
        self._sure, self._loose, self._own = np.zeros((len(self.bones), 3, 3)), LOOSE[-1], None
        for owner in self.owners:
            turns = self._axes_of([owner], self._rest)[0] @ owner.turns[owner.body].transpose(1, 0, 2)
            ways, sizes, _ = np.linalg.svd(axes_of(self._rest[self.rows[owner.body]]).T @ np.hstack(turns))
            ends = self._rest[self.rows[owner.body], :3, 3], self.limbs.tails[self.rows[owner.body]]
            head, tail = (np.linalg.norm(self._rest[owner.row, :3, 3] - end) for end in ends)
            if self.parents[owner.body] >= 0 and tail < TURNED_ROUND * head:
                self.reversed |= self._paths_to[:, owner.body] > 0.0
            self._sure[owner.body] = ways @ np.diag(sizes > FOLLOWS) @ ways.T
        # What places count [m, 1]: most where limbs begin whose ends inverse kinematics holds.
        weights = np.where(np.isin(self.rows, [limb.upper for limb in self.limbs.found]), BEGINS, 1.0)
        self._placing = np.where(self.reversed | self.bodiless, LET_GO, weights)[:, None] * (PLACE_WEIGHT / self.height)

    def _turn(self, names: list) -> None:
        """Turn bones about each of their free axes, if that is not done yet."""
        new = [name for name in names if name not in self._turned]
        self._turned |= {name: {} for name in new}
        for axis in range(3):
            free = [name for name in new if not self.copy.pose.bones[name].lock_rotation[axis]]
            for name, moved in self._tried(dict.fromkeys(free, rotation(np.eye(3)[axis] * TURN))).items():
                self._turned[name][axis] = moved

    def _measured(self, name: str, body: int) -> Owner:
        """An owner with its responses to turns."""
        owner = self._unmeasured(name, body)
        for axis, moved in self._turned[name].items():
            self._respond(owner, 0, axis, moved / TURN)
        return owner

    def _unmeasured(self, name: str, body: int) -> Owner:
        """An owner that does nothing."""
        parent, zeros = self.all[name].parent, np.zeros((2, len(self.rows), 3, 2, 3))
        return Owner(name, self.all.find(name), self.all.find(parent.name) if parent else -1, body, *zeros)

    def _shifted(self, owner: Owner, unit: float) -> Owner:
        """An owner with its responses to shifts as well, in some unit; itself where it cannot be shifted."""
        bone = self.copy.pose.bones[owner.name]
        if bone.bone.use_connect or any(bone.lock_location):
            return owner
        result = replace(owner, turns=owner.turns.copy(), arms=owner.arms.copy(), unit=unit)
        for axis, way in enumerate(np.eye(3) * TURN * unit):
            self._respond(result, 1, axis, self._tried({owner.name: Matrix.Translation(way)})[owner.name] / TURN)
        return result

    def _respond(self, owner: Owner, kind: int, axis: int, moved: np.ndarray) -> None:
        """Note what bodies [2, m, 3] do for a turn (kind 0) or a shift (1) of an owner along an axis."""
        (turned, shifted), roots = moved, np.less(self.parents, 0)[:, None]
        by_parent = shifted[self.parents] + np.cross(turned[self.parents], self._from_parents(self._rest))
        axes = self._axes_of([owner], self._rest)[0, kind]
        if kind:
            own = axes_of(self._rest[self.rows]).swapaxes(-1, -2)
            owner.turns[:, :, 1] += (own @ turned[..., None]) * (own @ axes[:, axis])[:, None]
        else:
            owner.turns[:, :, 0, axis] = turned @ axes
        owner.arms[:, :, kind, axis] = (shifted - np.where(roots, 0.0, by_parent)) @ axes

    def _from_parents(self, poses: np.ndarray) -> np.ndarray:
        """From the heads of bodies' parents to theirs [m, 3]."""
        places = poses[self.rows, :3, 3]
        return np.where(np.less(self.parents, 0)[:, None], 0.0, places - places[self.parents])

    def _axes_of(self, owners: list, poses: np.ndarray) -> np.ndarray:
        """Axes of controls, and of the bones that carry them [k, 2, 3, 3]."""
        rows = np.array([(owner.row, owner.above) for owner in owners], dtype=int).reshape(-1, 2)
        return axes_of(np.append(poses, [np.eye(4)], axis=0)[rows])

    # ---- poses ----

    def solve(self, frame: int, wanted: np.ndarray, start: np.ndarray | None, given=None) -> tuple:
        """Basis matrices of the controls [k, 4, 4] that bring bodies nearest to wanted ones, and how far off [m, 3].

        Args:
            frame: at which all other controls play their animation.
            wanted: matrices of all bones [n, 4, 4] in armature space.
            start: what was found for the frame before.
            given: {bone: its basis matrix} of bones that are posed so.

        How far off is as of `apart`, in the armature's units; the order is that of `keyed`.
        """
        self.scene.frame_set(frame)
        for path, value in self.switches.items():
            rig_graph.switch(self.copy, path, value)
        for name, matrix in (given or {}).items():
            self.copy.pose.bones[name].matrix_basis = Matrix(matrix)
        bones = [self.copy.pose.bones[name] for name in self.keyed]
        if start is not None:
            for bone, matrix, placed in zip(bones, start, self.keyed.values(), strict=True):
                basis = np.array(bone.matrix_basis)
                basis[:3, : 4 if placed else 3] = matrix[:3, : 4 if placed else 3]
                bone.matrix_basis = Matrix(basis)
        owned, poses, goal = bones[: len(self.owners)], self.shown(), wanted.copy()
        basis = np.array([bone.matrix_basis for bone in owned]).reshape(-1, 4, 4)
        for limb in self.limbs.found:
            goal[limb.upper, :3, 3] += self.limbs.give_way(limb, poses, wanted, begins=True)[0]
        for i, (stages, rows) in enumerate(self.groups):
            basis, poses = self._nearest(owned, basis, poses, goal[self.rows], stages, rows)
            if i == 0 and self.limbs.found:
                poses = self.limbs.solve(poses, wanted)
        posed = self.evaluated().pose.bones  # what is driven has its driver's value, whose place the keys take
        return np.array([posed[name].matrix_basis for name in self.keyed]), apart(poses[self.rows], wanted[self.rows])

    def _nearest(self, bones: list, basis, poses, wanted: np.ndarray, stages: list, rows: np.ndarray) -> tuple:
        """The basis and the poses with which rows [m, 6] of bodies are nearest to wanted ones [m], by stages."""
        found = [(basis, poses, np.inf)]
        for ways, self._loose in stages[:-1]:
            found.append(self._settle(bones, *found[-1][:2], wanted, ways, rows))
        if len(found) == 3 and found[-1][-1] < FOUND:
            return found[-1][:2]
        ways, self._loose = stages[-1]
        best, far, starts = None, None, found[:0:-1] if found[-1][-1] < NEARLY else found[1:]
        for start in (*starts, None):  # others only if a body is too far off
            if start is None:  # at last from where what leads there begins, but not what limbs hang on: it may be stuck
                above = self._paths_to[:, [owner.body for owner in self.owners]]
                stuck = ways.any(axis=1) & above[far].any(axis=0) & ~above[self._led()].any(axis=0)
                if not stuck.any():
                    break
                put(bones, first := np.where(stuck[:, None, None], self.begun, best[0]))
                start = first, self.shown()
            put(bones, start[0])
            last = self._settle(bones, *start[:2], wanted, ways, rows)
            best = last if best is None or last[-1] < best[-1] else best
            far = np.abs(self._lack(best[1], wanted) * rows)[:, 3:].max(axis=1) > TOO_FAR
            if not far.any():
                break
        if best is not last:
            put(bones, best[0])
        return best[:2]

    def _settle(self, bones: list, basis, poses, wanted: np.ndarray, ways: np.ndarray, rows: np.ndarray) -> tuple:
        """Bring rows [m, 6] of bodies to wanted ones [m] by ways of owners [k, 6]; basis, poses, the error then."""
        error = self._lack(poses, wanted)
        if np.linalg.norm(error[rows]) > FAR:
            put(bones, first := np.where(ways.any(axis=1)[:, None, None], self.begun, basis))
            starts = (basis, poses, error), (first, there := self.shown(), self._lack(there, wanted))
            basis, poses, error = min(starts, key=lambda start: np.linalg.norm(start[2][rows]))
            put(bones, basis)
        mask, damping, learnt, tweaks = np.outer(rows, ways), DAMPING, 0.0, self.tweaks.ravel()
        for _ in range(STEPS if ways.any() else 0):
            jacobian = (self._jacobian(poses, self.owners) + learnt) * mask
            step = _step(jacobian, error.ravel(), damping)
            step[tweaks] = np.clip(step[tweaks], -FARTHEST, FARTHEST)
            size = max(np.linalg.norm(error[rows]), 1e-12)
            promised = error.ravel() - jacobian @ step
            hoped = 1.0 - np.linalg.norm(promised[mask.any(axis=1)]) / size
            if hoped < ENOUGH or size < EXACT:
                break
            moved = moved_by(basis, step.reshape(-1, 6) * self.units)
            put(bones, moved)
            left = self._lack(there := self.shown(), wanted)
            gain = 1.0 - np.linalg.norm(left[rows]) / size
            learnt = learnt + np.outer(promised - left.ravel(), step) / (step @ step)
            if gain > 0.0:
                basis, poses, error, damping = moved, there, left, max(damping * 0.3, LEAST_DAMPING)
            else:
                put(bones, basis)
                damping *= 3.0  # with ten times as much the next step often seems not to pay
            if abs(gain) < ENOUGH and hoped < MUCH and np.abs(step.reshape(-1, 6)[:, :3]).max() < 0.99 * FARTHEST:
                break
        return basis, poses, float(np.linalg.norm(error[rows]))

    def _lack(self, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """What bodies lack in poses [n, 4, 4]: weighted turns and shifts [m, 6]."""
        turns = self._weights_in(poses) @ turns_between(wanted, poses[self.rows])[..., None]
        return np.hstack([turns[..., 0], (wanted - poses[self.rows])[:, :3, 3] * self._placing])

    def _weights_in(self, poses: np.ndarray) -> np.ndarray:
        """What turns of bodies count about the axes of the armature [m, 3, 3]."""
        axes = axes_of(poses[self.rows])
        return axes @ (self._sure + self._loose * (np.eye(3) - self._sure)) @ axes.transpose(0, 2, 1)

    def _gathered(self, owners: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of owners: what they do to bodies [k, 2, 3, 2 * m * 3]; which are shifted, how that bends [.., m, 3, 3]."""
        k, m = len(owners), len(self.rows)
        responses = np.array([(owner.turns, owner.arms) for owner in owners]).reshape(k, 2, m, 3, 2, 3)
        shifted = np.flatnonzero([owner.unit > 0.0 for owner in owners])
        return responses.transpose(0, 4, 3, 1, 2, 5).reshape(k, 2, 3, 6 * m), shifted, responses[shifted, 0, :, :, 1]

    def _jacobian(self, poses: np.ndarray, owners: list) -> np.ndarray:
        """How the errors [m * 6] of bodies go down with turns and shifts in heights of owners [k * 6]."""
        m, k, axes = len(self.rows), len(owners), self._axes_of(owners, poses)
        responses, shifted, bends = (owners is self.owners and self._own) or self._gathered(owners)
        found = (axes @ responses).reshape(k, 2, 3, 2, m, 3).transpose(3, 4, 2, 0, 1, 5).copy()
        own = axes_of(poses[self.rows])
        found[0][:, :, shifted, 1] = np.moveaxis(own @ bends @ own.swapaxes(-1, -2) @ axes[shifted, None, 1], 0, 2)
        turns, shifts = found.reshape(2, m, 3, k * 6)
        arms = np.cross(np.eye(3), self._from_parents(poses)[:, None])
        shifts = (self._paths_to @ (shifts - arms @ turns[self.parents]).reshape(m, -1)).reshape(m, 3, k * 6)
        return np.hstack([self._weights_in(poses) @ turns, shifts * self._placing[..., None]]).reshape(m * 6, k * 6)


def _step(jacobian: np.ndarray, error: np.ndarray, damping: float) -> np.ndarray:
    """Turns and shifts in heights of owners [k * 6] by which errors go down, in their own axes and their parents'."""
    step, free = np.zeros(jacobian.shape[1]), jacobian.any(axis=0)
    jacobian = jacobian[:, free]
    squares = jacobian.T @ jacobian + damping**2 * np.eye(jacobian.shape[1])
    step[free] = np.linalg.solve(squares, jacobian.T @ error)
    return step * min(1.0, FARTHEST / max(np.abs(step.reshape(-1, 6)[:, :3]).max(), 1e-12))
