"""Muscle tone of knocked-out characters in a run: measuring their falls, and leading their joints meanwhile."""

from __future__ import annotations

import numpy as np

from ...anatomy.roles import ARM, CHEST, FOOT, PELVIS, SHANK, SPINE
from ...pose import moved
from ...ragdoll.recovery import states, tone
from ..physics import built, ground, joint_objects, world
from ..physics.motors import Muscles
from ..rig.armature import array_of
from ..runtime import STATE
from .shot_run import Effect

FAR = 5.0  # heights of a character: what is further below does not count
MARGIN = 0.02  # of the height: a trunk nearer to the floor touches it


class Falling:
    """The muscles of one character: what its joints have, and the fall that is under way."""

    def __init__(self, run, scene, character) -> None:
        self.character, self.fall, self.muscles = character, tone.Fall(), None
        obj, drives, begin = character.obj, run.joint_drives, character.rows.start
        self.of = drives.of(character)
        self.rows = drives.rows[self.of]
        self.start, before = (drives.relative(body)[self.of] for body in (run.body, run.body_before))
        self.memory = {"last": (before, np.zeros_like(before[:, 1:]))}  # of the law of springs
        own, record = self.rows - begin, built.record(obj.active_ragdoll.collection)
        none = np.full((tone.CHOICES, len(character.bones), 4), np.nan)
        self.postures = tone.sided(np.array(record["postures"] or none, dtype=float)[:, own])
        settings = [obj.pose.bones[name].active_ragdoll for name in character.bone_names]
        self.arms = np.array([settings[i].role in ARM for i in own])
        self.limits = np.array([joint_objects.swings_of(settings[i]) for i in own])
        self.strengths = character.strengths[0][own]
        # Rows in the run of the bodies with such roles.
        self.trunk, feet, shanks = (
            np.array([begin + i for i, each in enumerate(settings) if each.role in roles], dtype=int)
            for roles in ((PELVIS, SPINE, CHEST), (FOOT,), (SHANK,))
        )
        self.feet = feet if len(feet) else shanks
        known = record["facing"] and len(self.trunk)
        self.trunk = self.trunk if known else np.array([begin])
        self.facing = np.array(record["facing"])[self.trunk - begin] if known else None
        self.corners = [np.array(character.bodies.objects[int(row) - begin].bound_box) for row in self.trunk]
        self.solids = ground.solids(scene)  # any that goes ends the run

    def step(self, run, scene, settings, relative: np.ndarray, seconds: float) -> None:
        """After a frame is shown, with the run's joints at rotations [k, 4]: the muscles for the next frame."""
        relative = relative[self.of]
        gravity = np.array(world.gravity(scene))
        known = self.muscles is not None and self.fall.faded == 0.0
        start = self.muscles.end if known else tone.target(self.fall, self.start, self.postures, relative)
        self.fall = tone.step(self.fall, self._measured(run, gravity), settings.reflexes, seconds)
        factor = run.numbers["tone"][self.rows] * ~(run.limp | run.kinematic)[self.rows]
        weight = factor * settings.tone * self.fall.strength
        if settings.reflexes:
            weight = np.minimum(np.where(self.arms, tone.BRACED * weight, weight), 1.0)
        pull = float(np.linalg.norm(gravity))
        own, frequency = run.numbers["max_torque"][self.rows], tone.FREQUENCY / tone.pace(self.character.height, pull)
        self.muscles = Muscles(
            of=self.of,
            start=start,
            end=tone.target(self.fall, self.start, self.postures, relative),
            weight=tone.stiffened(weight, relative, self.limits),
            parameters={"frequency": frequency, "damping_ratio": tone.DAMPING_RATIO},
            memory=self.memory,
            strongest=np.where(own > 0.0, own, self.strengths),
            holding=weight**tone.HOLDS * np.where(own > 0.0, own, self.strengths),
        )

    def _measured(self, run, gravity: np.ndarray) -> tone.Trunk:
        rows, body, height = self.trunk, run.body, self.character.height
        shares = run.masses[rows] / run.masses[rows].sum()
        pull = float(np.linalg.norm(gravity))
        falls = pull > 0.0 and not self.fall.touched
        clearance = self._clearance(run, gravity / pull) - MARGIN * height if falls else np.inf
        place = shares @ body[rows, :3, 3]
        feet = body[self.feet, :3, 3].mean(axis=0) if len(self.feet) else place
        velocity = np.zeros(3) if run.velocity is None else shares @ run.velocity[rows]
        return tone.Trunk(place - feet, velocity, self._axes(run, shares), clearance, height, gravity)

    def _clearance(self, run, down: np.ndarray) -> float:
        """The shortest way [m] of the trunk's bodies along a unit vector [3] to what is there; inf where nothing is."""
        reach = FAR * self.character.height * down
        others = [solid.evaluated_get(run.graph) for solid in self.solids]
        boxes = [moved(np.array(other.bound_box), array_of(other.matrix_world)) for other in others]
        bounds = [(box.min(axis=0), box.max(axis=0)) for box in boxes]
        ways = [np.inf]
        for row, corners in zip(self.trunk, self.corners, strict=True):
            start, own = run.body[row, :3, 3], corners @ run.body[row, :3, :3].T
            low, high = np.minimum(start, start + reach), np.maximum(start, start + reach)
            for other, (lowest, highest) in zip(others, bounds, strict=True):
                if (low > highest).any() or (high < lowest).any():
                    continue
                if (found := ground.met(other, start, reach)) is not None:
                    ways.append(float((found[0] - start) @ down - (own @ down).max()))
        return min(ways)

    def _axes(self, run, shares) -> np.ndarray | None:
        if self.facing is None:
            return None
        turns = run.body[self.trunk, :3, :3] @ run.offsets[self.trunk, :3, :3].transpose(0, 2, 1)
        each = np.einsum("tij,taj->tai", turns, self.facing) * run.handedness[self.trunk][:, :, None]
        forward, left = np.einsum("t,tai->ai", shares, each)
        forward /= max(float(np.linalg.norm(forward)), 1e-9)
        left = left - forward * float(left @ forward)
        return np.array([forward, left / max(float(np.linalg.norm(left)), 1e-9)])


class Tone(Effect):
    """The muscle tone of a run's characters while they are limp; recovery comes before it."""

    def __init__(self, run, scene) -> None:
        self._falling: dict[str, Falling] = {}

    def observe(self, run, scene, seconds: float) -> None:
        """Let each character that is limp fall on."""
        for name, own in run.effect("Recoveries").by_name.items():
            wanted = own.settings.tone > 0.0 and own.state.phase in (states.LIMP, states.SETTLING)
            has_motors = run.joint_drives is not None and len(run.joint_drives.of(own.character)) > 0
            if wanted and not has_motors:
                STATE.warn(name, f"'{name}' falls without muscle tone: build its ragdoll anew")
            if wanted and has_motors:
                if name not in self._falling:
                    self._falling[name] = Falling(run, scene, own.character)
                self._falling[name].step(run, scene, own.settings, run.joint_drives.relative(run.body), seconds)
            else:
                self._falling.pop(name, None)
        self.muscles = [each.muscles for each in self._falling.values()]
