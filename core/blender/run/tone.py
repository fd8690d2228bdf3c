"""Muscle tone of knocked-out characters in a run: measuring their falls, and leading their joints meanwhile."""

import math

import numpy as np

from ... import pose, quaternion
from ...anatomy.joints import chains_of
from ...anatomy.roles import ARM, CHEST, FOOT, FOREARM, PELVIS, SHANK, SPINE, THIGH, UPPER_ARM
from ...ragdoll.joints import limits
from ...ragdoll.recovery import tone, transitions
from ..physics import built, ground, joint_objects, motors, world
from ..runtime import STATE
from . import get_up, shot_run

FAR = 5.0  # heights of a character: what is further below does not count
BENDS = 256  # of an elbow, of which that is taken which brings the hand nearest
PALM = 1.25  # times a forearm's length from the elbow to the middle of the hand
HARDEST = 0.6  # to reach when it begins, see `tone.Hand.reaching`: no hand goes to what is harder
LETS_GO = 0.2, 0.5  # of an arm's length: over so much, and before the palm is so far from where it hurts
FAR_COSTS = 0.5  # for each arm's length: the nearer hand goes there, unless it is harder for it
MARGIN = 0.02  # of the height: a trunk nearer to the floor touches it


class Falling:
    """One character in a fall that is under way: its joints with motors, and what is measured of its trunk."""

    def __init__(self, run, character) -> None:
        self.character, self.fall = character, tone.Fall()
        obj, drives, begin = character.obj, run.joint_drives, character.rows.start
        self.of = drives.of(character)
        self.rows = drives.rows[self.of]
        self.start, self.before = (drives.relative(body)[self.of] for body in (run.body, run.body_before))
        own, record = self.rows - begin, built.record(obj.active_ragdoll.collection)
        none = np.full((tone.CHOICES, len(character.bones), 4), np.nan)
        postures = np.array(record["postures"] or none, dtype=float)[:, own]
        self.known, self.turns = tone.sided(postures[: tone.CHOICES])
        settings = [obj.pose.bones[name].active_ragdoll for name in character.bone_names]
        roles = np.array([each.role for each in settings])
        self.kept = np.where(np.isin(roles[own], (THIGH, SHANK) if record["postures"] else ()), tone.KEEPS, 0.0)
        self.arms, parents = np.isin(roles[own], ARM), np.maximum(run.parents[character.rows] - begin, -1)
        self.lying = quaternion.slerp(quaternion.identity(), self.start, self.kept)  # all that builds of before know
        if len(postures) > tone.CHOICES and len(knees := np.flatnonzero(roles[own] == SHANK)):
            bent = own[knees[np.argmin(np.abs(self.start[knees, 0]))]]  # more than the other one
            found = np.where(np.isin(own, (bent, parents[bent]))[:, None], *postures[tone.CHOICES :])
            self.lying = np.where(self.kept[:, None] > 0.0, found, self.lying)
        # Joints of a chain are springs in series, which together are to be as stiff as one.
        self.serial = np.maximum(chains_of(roles, parents)[1], 1)[own] ** 0.5
        self.limits = np.array([joint_objects.swings_of(settings[i]) for i in own])
        self.strengths = character.strengths[0][own]
        self.hands = self._hands(drives, roles, parents, settings) if record["postures"] else []
        self.hit, self.hand = None, None  # the hand that is held to where a hit hurts
        parts = (PELVIS, SPINE, CHEST), FOOT, SHANK
        trunk, feet, shanks = (begin + np.flatnonzero(np.isin(roles, of)) for of in parts)
        known = record["facing"] and len(trunk)
        self.trunk, self.feet = trunk if known else np.array([begin]), feet if len(feet) else shanks
        masses = run.masses[self.trunk]
        self.shares, self.facing = masses / masses.sum(), None
        if known:  # forward and left in the bodies' axes, by their shares [t, 2, 3]
            facing = np.array(record["facing"])[self.trunk - begin] @ run.offsets[self.trunk, :3, :3]
            self.facing = facing * (self.shares[:, None] * run.handedness[self.trunk])[:, :, None]
        self.corners = np.array([character.bodies.objects[int(row) - begin].bound_box for row in self.trunk])

    def _hands(self, drives, roles, parents, settings) -> list:
        """Those whose shoulder and elbow are led."""
        found, own, character = [], self.rows - self.character.rows.start, self.character
        binds = np.array([part.bind for part in character.obj.active_ragdoll.parts])
        frames = binds @ np.linalg.inv(character.offsets)  # of the bones
        for i in np.flatnonzero(roles[own] == FOREARM):
            lower, upper = own[i], parents[own[i]]
            joints, elbow, shoulder = [*np.flatnonzero(own == upper), i], settings[lower], settings[upper]
            if roles[upper] != UPPER_ARM or len(joints) < 2:
                continue
            bone = character.obj.data.bones[character.bone_names[lower]]
            heads = [child.head_local - bone.head_local for child in bone.children]  # drawn tails may be anything
            wrist = bone.matrix_local.to_3x3().inverted() @ max(heads, key=lambda way: way.length, default=bone.vector)
            axis = limits.hinge_axis(elbow.limit_min, elbow.limit_max)
            angles = np.linspace(elbow.limit_min[axis], elbow.limit_max[axis], BENDS)
            found.append(tone.Hand(
                joints, {bone.name, character.bone_names[upper], *(child.name for child in bone.children)},
                parents[upper], binds[parents[upper]], drives.frames[self.of][joints], frames[upper, :3, 3],
                upper=(arm := frames[lower, :3, 3] - frames[upper, :3, 3]),
                lower=(rest := frames[lower, :3, :3] @ wrist * PALM * character.built_scale),
                length=math.hypot(*arm) + math.hypot(*rest),
                range=(shoulder.joint, tuple(shoulder.limit_min), tuple(shoulder.limit_max)),
                flexions=quaternion.from_axis_angle(np.eye(3)[axis], angles),
            ))  # fmt: skip
        return found

    def reaching(self, run) -> tuple | None:
        """The hand that goes to where it hurts, its way there [3] and how much it is held, 0..1; says if none comes."""
        character, wound = self.character, run.effect("hits").wound(self.character)
        if wound is None:
            self.hit = self.hand = None
            return None
        (hit, point), bodies, still = wound, run.body[character.rows], (run.limp | run.kinematic)[character.rows]
        busy = get_up.busy_bones(run, character).union(character.bone_names[i] for i in np.flatnonzero(still))
        place = pose.moved(point, bodies[character.bone_names.index(hit.bone)])
        ways = {hand: hand.way(place, bodies) for hand in self.hands if not hand.bones & busy}
        turns = run.joint_drives.relative(run.body)[self.of]
        if hit != self.hit or (self.hand and self.hand not in ways):
            hard = {hand: hand.reaching(turns[hand.joints[0]], way)[1] for hand, way in ways.items()}
            costs = {hand: hard[hand] + FAR_COSTS * math.hypot(*ways[hand]) / hand.length for hand in ways}
            self.hit, self.hand = hit, min((h for h in hard if hard[h] < HARDEST), key=costs.get, default=None)
            if self.hand is None:
                STATE.warn(character.name, f"{hit.title}: no free hand of '{character.name}' comes there")
        if (way := ways.get(self.hand)) is None:
            return None
        off = math.hypot(*(way - self.hand.palms(*turns[self.hand.joints]))) / self.hand.length
        # Who lies does not go on holding a hand in the air that has not come there.
        near = float(transitions.smooth_step((LETS_GO[1] - off) / LETS_GO[0]))
        return self.hand, way, max(tone.strength(self.fall.calmed), near)

    def step(self, run, solids: tuple, gravity: tuple, reflexes: bool, seconds: float) -> None:
        """After a frame is shown: the fall until the next one. solids: see `ground.bounded`."""
        rows, body, height = self.trunk, run.body, self.character.height
        pull, lean, axes, above = math.hypot(*gravity), None, None, np.inf
        if self.fall.looks(reflexes):
            place = self.shares @ body[rows, :3, 3]
            feet = np.add.reduce(body[self.feet, :3, 3]) / len(self.feet) if len(self.feet) else place
            lean, axes = (place - feet).tolist(), self._axes(run)
            if pull > 0.0:
                above = self._clearance(run, solids, np.array(gravity) / pull) - MARGIN * height
        velocity = (self.shares @ ((body[rows, :3, 3] - run.body_before[rows, :3, 3]) / seconds)).tolist()
        self.fall = tone.step(self.fall, tone.Trunk(lean, velocity, axes, above, height, gravity), reflexes, seconds)

    def _clearance(self, run, solids: tuple, down: np.ndarray) -> float:
        """The shortest way [m] of the trunk's bodies along a unit vector [3] to what is there; inf where nothing is."""
        starts, turns = run.body[self.trunk, :3, 3], run.body[self.trunk, :3, :3]
        sizes = ((self.corners @ turns.transpose(0, 2, 1)) @ down).max(axis=1)
        met = ground.meetings(solids, starts, np.tile(FAR * self.character.height * down, (len(starts), 1)))
        return min((float((place - starts[row]) @ down - sizes[row]) for row, place, _enters in met), default=np.inf)

    def _axes(self, run) -> list | None:
        if self.facing is None:
            return None
        forward, left = np.einsum("tij,taj->ai", run.body[self.trunk, :3, :3], self.facing)
        forward /= max(math.hypot(*forward), 1e-9)
        left -= forward * float(left @ forward)
        return [forward.tolist(), (left / max(math.hypot(*left), 1e-9)).tolist()]


class Tone(shot_run.Effect):
    """The muscle tone of a run's characters while they are limp; recovery comes before it.

    The joints of all of them are led together: what costs is the number of calls, not that of joints."""

    def __init__(self, run, scene) -> None:
        self._falling: dict[str, Falling] = {}
        self._solids = ground.solids(scene)  # any that goes ends the run

    def observe(self, run, scene, seconds: float) -> None:
        """Let each character that is limp fall on."""
        falling, found = {}, run.effect("recoveries").by_name
        if not found:
            return
        for name, own in found.items():
            if own.state.lies and own.settings.tone > 0.0:
                drives, fall = run.joint_drives, self._falling.get(name)
                if fall is None and (drives is None or not len(drives.rows[drives.of(own.character)])):
                    if len(own.character.bone_names) > 1:
                        STATE.warn(name, f"'{name}' falls without muscle tone: build its ragdoll anew")
                else:
                    falling[name] = fall or Falling(run, own.character)
        if falling != self._falling:
            self._join(run.joint_drives, falling)
        if not (falling and self.muscles and self._lies_still(run)):
            settings = [found[name].settings for name in falling]
            self.muscles = [self._led(run, scene, settings, seconds)] if falling else []

    def _lies_still(self, run) -> bool:
        """Whether all have come to rest to the last bit, as sleeping bodies do: what muscles do then stays as it is."""
        rows = self._joined["rows"]
        faded = all(each.fall.calmed >= tone.STRETCHES + tone.BRAKES for each in self._falling.values())
        return faded and np.array_equal(run.body[rows], run.body_before[rows])

    def _join(self, drives, falling: dict) -> None:
        """Put the joints of those who fall into arrays, beside what is known of those that fell before."""
        kept = [np.zeros((len(drives.rows), width)) for width in (4, 3, 4, 4)]
        found = [(each.of, *each.memory["last"], each.end, self._led_to) for each in self.muscles]
        new = [each for name, each in falling.items() if name not in self._falling]
        for of, *values in found + [(each.of, each.before, 0.0, each.start, each.start) for each in new]:
            for all_joints, own in zip(kept, values, strict=True):
                all_joints[of] = own
        self._falling, self.muscles, own = falling, [], list(falling.values())
        if own:
            self._of = own[0].of if len(own) == 1 else np.r_[tuple(each.of for each in own)]
            names = "rows", "arms", "kept", "lying", "serial", "limits", "strengths", "start", "known"
            self._joined = {name: np.concatenate([getattr(each, name) for each in own]) for name in names}
            self._postures = self._joined.pop("known"), np.concatenate([each.turns for each in own], axis=1)
            counts = [len(each.rows) for each in own]
            self._whose, self._firsts = np.repeat(np.arange(len(own)), counts), [0, *np.cumsum(counts).tolist()]
            self._stretched = self._joined["kept"] > 0.0, self._joined["lying"]
            # Where muscles have led to, without and with their letting go and hands that are held.
            relative, acceleration, self._end, self._led_to = (values[self._of] for values in kept)
            self._memory = {"last": (relative, acceleration)}  # of the law of springs

    def _course(self, before: list, falls: list, faded: np.ndarray, relative: np.ndarray) -> tuple:
        """Rotations [k, 4] that the joints are led to: from those falls on to these, as they stand now [k, 4].

        faded: [s] for which the tone of each has been fading then and now [2, k]."""
        joints, of, led = self._joined, self._whose, self._led_to
        if [(fall.gone, fall.tips) for fall in before] != [(fall.gone, fall.tips) for fall in falls]:
            self._led_to = tone.target(falls, of, joints["start"], self._postures, joints["kept"])
        if not faded.any():
            return self._end, self._led_to.copy()
        if faded.min() >= tone.STRETCHES + tone.BRAKES:  # they lead nowhere any more
            return relative.copy(), relative.copy()
        start, end = tone.let_go(np.array((led, self._led_to)), faded, *self._stretched, relative)
        return np.where(faded[0, :, None] > 0.0, start, self._end), end

    def _led(self, run, scene, settings: list, seconds: float) -> motors.Muscles:
        """The muscles for the next frame, once each fall has gone on."""
        joints, whose, falling, drives = self._joined, self._whose, list(self._falling.values()), run.joint_drives
        relative, gravity = drives.relative(run.body)[self._of], world.gravity(scene)
        old, before, held = [each.fall for each in falling], self._end, {}
        looking = any(fall.looks(own.reflexes) for fall, own in zip(old, settings, strict=True))
        solids = ground.bounded(self._solids, run.graph) if looking else None
        for each, own in zip(falling, settings, strict=True):
            each.step(run, solids, gravity, own.reflexes, seconds)
        falls, pull = [each.fall for each in falling], math.hypot(*gravity)
        paces = [tone.pace(each.character.height, pull) for each in falling]
        faded = np.array([[(fall.calmed, fall.faded) for fall in each] for each in (old, falls)])
        faded = faded[:, whose, self._stretched[0].astype(int)]
        start, self._end = self._course(old, falls, faded, relative)
        for each, first, pace in zip(falling, self._firsts, paces):
            if (found := each.reaching(run)) is not None:
                share = -math.expm1(-seconds / (tone.REACHES * pace))
                (hand, way, much), at = found, [first + joint for joint in found[0].joints]
                self._end[at] = quaternion.slerp(before[at], hand.reaching(self._end[at[0]], way)[0], share)
                start[at], held = before[at], held | dict.fromkeys(at, tone.HELD * much)
        now = [(own.tone, fall.holds, own.reflexes, pace) for own, fall, pace in zip(settings, falls, paces)]
        rows, (tones, holds, reflexes, slow) = joints["rows"], np.array(now)[whose].T
        fades = tone.strength(faded[1])
        weight = run.numbers["tone"][rows] * ~(run.limp | run.kinematic)[rows] * tones * fades
        weight *= run.effect("hits").strength[rows]
        if held:
            weight[[*held]] = np.maximum(weight[[*held]], [*held.values()])
        braced, own = np.where(joints["arms"] & (reflexes > 0.0), tone.BRACED, 1.0), run.numbers["max_torque"][rows]
        weight, last = np.minimum(braced * weight, 1.0), self._memory["last"][0]
        weight = tone.stiffened(weight, fades, last, relative, joints["limits"])
        strongest = np.where(own > 0.0, own, braced * joints["strengths"])
        parameters = {"frequency": tone.FREQUENCY * joints["serial"] / slow, "damping_ratio": tone.DAMPING_RATIO}
        springs = self._of, start, self._end, weight, parameters, self._memory
        return motors.Muscles(*springs, strongest, holding=(weight > 0.0) * weight**holds * strongest)
