"""Muscle tone of knocked-out characters in a run: measuring their falls, and leading their joints meanwhile."""

import math
from functools import cache

import numpy as np

from ...anatomy.joints import chains_of
from ...anatomy.roles import ARM, CHEST, FOOT, PELVIS, SHANK, SPINE
from ...ragdoll.recovery import states, tone
from ..physics import built, ground, joint_objects, motors, world
from ..runtime import STATE
from .shot_run import Effect

FAR = 5.0  # heights of a character: what is further below does not count
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
        self.known, self.turns = tone.sided(np.array(record["postures"] or none, dtype=float)[:, own])
        settings = [obj.pose.bones[name].active_ragdoll for name in character.bone_names]
        roles = np.array([each.role for each in settings])
        self.arms, parents = np.isin(roles[own], ARM), np.maximum(run.parents[character.rows] - begin, -1)
        # Joints of a chain are springs in series, which together are to be as stiff as one.
        self.serial = np.maximum(chains_of(roles, parents)[1], 1)[own] ** 0.5
        self.limits = np.array([joint_objects.swings_of(settings[i]) for i in own])
        self.strengths = character.strengths[0][own]
        trunk, feet, shanks = (
            begin + np.flatnonzero(np.isin(roles, of)) for of in ((PELVIS, SPINE, CHEST), FOOT, SHANK)
        )
        known = record["facing"] and len(trunk)
        self.trunk, self.feet = trunk if known else np.array([begin]), feet if len(feet) else shanks
        masses = run.masses[self.trunk]
        self.shares, self.facing = masses / masses.sum(), None
        if known:  # forward and left in the bodies' axes, by their shares [t, 2, 3]
            facing = np.array(record["facing"])[self.trunk - begin] @ run.offsets[self.trunk, :3, :3]
            self.facing = facing * (self.shares[:, None] * run.handedness[self.trunk])[:, :, None]
        self.corners = np.array([character.bodies.objects[int(row) - begin].bound_box for row in self.trunk])

    def step(self, run, solids, gravity: np.ndarray, reflexes: bool, seconds: float) -> None:
        """After a frame is shown: the fall until the next one. solids: see `ground.bounded`."""
        rows, body, height = self.trunk, run.body, self.character.height
        pull, lean, axes, clearance = math.hypot(*gravity), None, None, np.inf
        if not self.fall.touched:
            place = self.shares @ body[rows, :3, 3]
            feet = np.add.reduce(body[self.feet, :3, 3]) / len(self.feet) if len(self.feet) else place
            lean, axes = (place - feet).tolist(), self._axes(run)
            if pull > 0.0:
                clearance = self._clearance(run, solids(), gravity / pull) - MARGIN * height
        velocity = (self.shares @ ((body[rows, :3, 3] - run.body_before[rows, :3, 3]) / seconds)).tolist()
        found = tone.Trunk(lean, velocity, axes, clearance, height, gravity)
        self.fall = tone.step(self.fall, found, reflexes, seconds)

    def _clearance(self, run, solids: tuple, down: np.ndarray) -> float:
        """The shortest way [m] of the trunk's bodies along a unit vector [3] to what is there; inf where nothing is."""
        starts, turns = run.body[self.trunk, :3, 3], run.body[self.trunk, :3, :3]
        reach = FAR * self.character.height * down
        sizes = ((self.corners @ turns.transpose(0, 2, 1)) @ down).max(axis=1)
        met = ground.meetings(solids, starts, np.tile(reach, (len(starts), 1)))
        return min((float((place - starts[row]) @ down - sizes[row]) for row, place in met), default=np.inf)

    def _axes(self, run) -> list | None:
        if self.facing is None:
            return None
        forward, left = np.einsum("tij,taj->ai", run.body[self.trunk, :3, :3], self.facing)
        forward /= max(math.hypot(*forward), 1e-9)
        left -= forward * float(left @ forward)
        return [forward.tolist(), (left / max(math.hypot(*left), 1e-9)).tolist()]


class Tone(Effect):
    """The muscle tone of a run's characters while they are limp; recovery comes before it.

    The joints of all of them are led together: what costs is the number of calls, not that of joints.
    """

    def __init__(self, run, scene) -> None:
        self._falling: dict[str, Falling] = {}
        self._solids = ground.solids(scene)  # any that goes ends the run

    def observe(self, run, scene, seconds: float) -> None:
        """Let each character that is limp fall on."""
        falling, found = {}, run.effect("recoveries").by_name
        if not found:
            return
        for name, own in found.items():
            if own.state.phase in (states.LIMP, states.SETTLING) and own.settings.tone > 0.0:
                drives, fall = run.joint_drives, self._falling.get(name)
                if fall is None and (drives is None or not len(drives.of(own.character))):
                    STATE.warn(name, f"'{name}' falls without muscle tone: build its ragdoll anew")
                else:
                    falling[name] = fall or Falling(run, own.character)
        if falling != self._falling:
            self._join(run.joint_drives, falling)
        self.muscles = [self._led(run, scene, [found[name].settings for name in falling], seconds)] if falling else ()

    def _join(self, drives, falling: dict) -> None:
        """Put the joints of those who fall into arrays, beside what is known of those that fell before."""
        kept = [np.zeros((len(drives.rows), width)) for width in (4, 3, 4)]
        for each in self.muscles:
            for all_joints, own in zip(kept, (*each.memory["last"], each.end), strict=True):
                all_joints[each.of] = own
        for each in [each for name, each in falling.items() if name not in self._falling]:
            for all_joints, own in zip(kept, (each.before, 0.0, each.start), strict=True):
                all_joints[each.of] = own
        self._falling, own = falling, list(falling.values())
        if own:
            names = "of", "rows", "arms", "serial", "limits", "strengths", "start", "known"
            self._joined = {name: np.concatenate([getattr(each, name) for each in own]) for name in names}
            self._postures = self._joined.pop("known"), np.concatenate([each.turns for each in own], axis=1)
            self._whose = np.repeat(np.arange(len(own)), [len(each.of) for each in own])
            relative, acceleration, self._end = (values[self._joined["of"]] for values in kept)
            self._memory = {"last": (relative, acceleration)}  # of the law of springs

    def _led(self, run, scene, settings: list, seconds: float) -> motors.Muscles:
        """The muscles for the next frame, once each fall has gone on."""
        joints, whose, falling = self._joined, self._whose, self._falling.values()
        relative, gravity = run.joint_drives.relative(run.body)[joints["of"]], np.array(world.gravity(scene))
        course, start = (whose, joints["start"], self._postures, relative), self._end
        if any(fading := [each.fall.faded > 0.0 for each in falling]):
            now = tone.target([each.fall for each in falling], *course)
            start = np.where(np.array(fading)[whose, None], now, start)
        solids = cache(lambda: ground.bounded(self._solids, run.graph))
        for each, own in zip(falling, settings, strict=True):
            each.step(run, solids, gravity, own.reflexes, seconds)
        falls, pull = [each.fall for each in falling], math.hypot(*gravity)
        self._end = tone.target(falls, *course)
        tones, fades, reflexes = (
            np.array(values)[whose]
            for values in zip(*((own.tone, fall.strength, own.reflexes) for own, fall in zip(settings, falls)))
        )
        rows, paces = joints["rows"], [tone.pace(each.character.height, pull) for each in falling]
        weight = run.numbers["tone"][rows] * ~(run.limp | run.kinematic)[rows] * tones * fades
        weight *= run.effect("hits").strength[rows]
        braced = np.minimum(np.where(joints["arms"], tone.BRACED * weight, weight), 1.0)
        weight, own = np.where(reflexes, braced, weight), run.numbers["max_torque"][rows]
        weight = tone.stiffened(weight, fades, self._memory["last"][0], relative, joints["limits"])
        strongest = np.where(own > 0.0, own, joints["strengths"])
        frequency = tone.FREQUENCY * joints["serial"] / np.array(paces)[whose]
        return motors.Muscles(
            of=joints["of"],
            start=start,
            end=self._end,
            weight=weight,
            parameters={"frequency": frequency, "damping_ratio": tone.DAMPING_RATIO},
            memory=self._memory,
            strongest=strongest,
            holding=weight**tone.HOLDS * strongest,
        )
