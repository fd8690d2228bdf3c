"""Knock-out and recovery in a run: what is measured after a frame, and what it sets for the next one.

After each frame the bodies' motion steps the state (`ragdoll.recovery`); it sets the weights' factor, the share of the
physics, and whether the character is simulated at all, for the frame to come. When a character leaves limpness its
animation goes on where it lies (`motion.getting_up`). All of it is recorded by frame.
"""

from __future__ import annotations

import numpy as np

from .. import pose as pose_space
from .. import quaternion
from ..anatomy.roles import CHEST, HEAD, LEFT, NECK, PELVIS, RIGHT, SPINE, THIGH, UPPER_ARM
from ..errors import RagdollError
from ..motion import getting_up
from ..motion.local_pose import LocalPose
from ..ragdoll import recovery
from ..ragdoll.lying import Landmarks
from ..skeleton import Skeleton
from . import joint_drives, recognition, recovery_entry, recovery_settings, world
from .recovery_record import Record
from .runtime import STATE

KEPT = 2  # frames of poses that a passage begins from
TAKEN_AWAY = "its recovery was taken away in mid-shot"


class Recovery:
    """One character's in a run.

    Attributes:
        character: of the run.
        state: at the last frame.
        record: of all frames.
        settings, events: as read last.
    """

    def __init__(self, character, scene) -> None:
        self.character = character
        self.record = Record()
        self._shown, self._played, self._given = {}, {}, {}
        self._worlds = {}
        self.landmarks = None
        self._pelvis_body = _pelvis_body(character)
        first, last = world.shot_range(scene)
        group = character.obj.active_ragdoll.recovery
        self.events, notes = recovery_settings.events_of(group, first, last)
        self.read(group)
        self.state = recovery.start(self.settings, self.events, first)
        if notes:
            STATE.messages[character.name] = "; ".join(notes)
            print(f"Active Ragdoll: '{character.name}': {'; '.join(notes)}")

    def read(self, group, events: bool = False, scene=None) -> None:
        """Settings from the object's property group, or from its evaluated source's; all stay if one is wrong.

        Raises:
            RagdollError: a value that makes no sense.
        """
        title, settings = f"Recovery of '{self.character.name}'", recovery_settings.settings_of(group)
        recovery.checked(settings, title)
        if not (np.isfinite(group.reroot_time) and group.reroot_time >= 0.0):
            raise RagdollError(f"{title}: reroot_time must not be negative, got {group.reroot_time:g} s")
        self.settings, self.reroot_time = settings, group.reroot_time
        if events:
            own = self.character.obj.active_ragdoll.recovery
            self.events, _notes = recovery_settings.events_of(own, *world.shot_range(scene))

    # ---- poses that a passage begins from ----

    def note_played(self, frame: int, pose: LocalPose, world_matrix: np.ndarray) -> None:
        """The pose of the character's own animation in its own place, and its object's world matrix."""
        _keep(self._played, frame, pose)
        _keep(self._worlds, frame, world_matrix)

    def note_given(self, frame: int, pose: LocalPose) -> None:
        """What a passage made of it."""
        _keep(self._given, frame, pose)

    def note_shown(self, frame: int, graph) -> None:
        """The pose that the character shows after the frame, when it may be one that a passage begins with."""
        if self.character.motion is None or self.state.phase not in (recovery.LIMP, recovery.SETTLING):
            return
        bones = self.character.obj.evaluated_get(graph).pose.bones
        buffer = np.empty(len(bones) * 16, dtype=np.float32)
        bones.foreach_get("matrix", buffer)
        matrices = buffer.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)
        _keep(self._shown, frame, matrices[self.character.motion.rig.skeleton.to_level])

    # ---- one frame ----

    def begin(self, run, scene, frame: int) -> None:
        """The state at the first frame, when a hit acts in the step to come."""
        impulse = run.impulse_on(self.character, frame)
        if impulse > 0.0:
            still = np.zeros(len(run.masses))
            self.state = recovery.struck(self.settings, self.state, self._motion(run, scene, still, impulse))
            self.record.values[frame] = self.state.values()

    def step(self, run, scene, frame: int, speeds: np.ndarray, seconds: float) -> None:
        """The state at a frame that was just shown.

        Args:
            speeds: of all bodies [m], over the frame [m/s]. seconds: of the simulation, a frame.
        """
        impulse = run.impulse_on(self.character, frame)
        events = [event for event in self.events if frame - 1 < event.frame <= frame]
        if self.state.phase == recovery.ANIMATED and impulse == 0.0 and not events:
            self._finish_action(frame, scene)
            self.record.values[frame] = self.state.values()
            return
        motion = self._motion(run, scene, speeds, impulse)
        fps = 1.0 / seconds
        before = self.state
        self.state = recovery.step(
            self.settings, before, motion, (frame - 1) / fps, frame / fps, fps, events, self.character.name
        )
        self.record.values[frame] = self.state.values()
        down = before.phase in (recovery.LIMP, recovery.SETTLING)
        try:
            if down and self.state.phase in (recovery.RECOVERING, recovery.BLENDING, recovery.ANIMATED):
                self._get_up(frame, scene)
            else:
                self._finish_action(frame, scene)
        except RagdollError as error:
            STATE.warn(self.character.name, f"'{self.character.name}' gets up in its animation's own place: {error}")

    def _motion(self, run, scene, speeds: np.ndarray, impulse: float) -> recovery.Motion:
        rows = self.character.rows
        distances = np.linalg.norm(run.body[rows, :3, 3] - run.wanted[rows, :3, 3], axis=1)
        return recovery.Motion(
            mean_speed=float(speeds[rows].mean()),
            pelvis_speed=float(speeds[rows][self._pelvis_body]),
            distance=float(distances.max()),
            impulse=impulse,
            mass=float(run.masses[rows].sum()),
            size=self.character.height,
            gravity=scene.gravity.length if scene.use_gravity else 0.0,
        )

    def _get_up(self, frame: int, scene) -> None:
        """Go on where the character lies, with the get-up action for how it lies."""
        group = self.character.obj.active_ragdoll.recovery
        if group.reroot and self.character.motion is None:
            raise RagdollError("use Set Up Recovery or Simulate to let it get up where it lies")
        if not group.reroot or frame not in self._shown:
            return
        shown = [self._shown[frame], self._shown.get(frame - 1, self._shown[frame])]
        if frame not in self._worlds:
            raise RagdollError(TAKEN_AWAY)
        place = self._worlds[frame]
        names = [action.name if action else "" for action in (group.get_up_face_up, group.get_up_face_down)]
        if self.landmarks is None:
            self.landmarks = _landmarks(self.character)
        self._go_on(frame, scene, shown, self.landmarks.action(place @ shown[0], *names))

    def _finish_action(self, frame: int, scene) -> None:
        """When a get-up action is over, go on with the character's own animation."""
        passage = self.record.passage(frame) if self.record.passages else None
        if passage is None or not passage.action or frame not in self._given:
            return
        if passage.seconds(frame) < self._clip(passage.action, passage.fps).length:
            return
        skeleton = self.character.motion.rig.skeleton
        given = [self._given[frame], self._given.get(frame - 1, self._given[frame])]
        poses = [pose_space.compose_matrices(*pose.model(skeleton)) for pose in given]
        if self.landmarks is None:
            self.landmarks = _landmarks(self.character)
        self._go_on(frame, scene, poses, "")

    def _go_on(self, frame: int, scene, shown: list, action: str) -> None:
        rig = self.character.motion.rig
        fps = scene.render.fps / scene.render.fps_base
        places = [self._worlds[frame], self._worlds.get(frame - 1, self._worlds[frame])]
        if action:
            try:
                clip = self._clip(action, fps)
            except RagdollError as error:
                STATE.messages[self.character.name] = str(error)
                action = ""
        if action:
            # It has no frame before its first: the first step, backwards.
            now, coming = clip.at(0.0), clip.at(1.0 / fps)
            poses = [now, LocalPose(2.0 * now.positions - coming.positions, *_back(now, coming))]
            places[1] = places[0]
        else:
            poses = [self._played[frame], self._played.get(frame - 1, self._played[frame])]
        animated = places[0] @ pose_space.compose_matrices(*poses[0].model(rig.skeleton))
        move = self.landmarks.move(places[0] @ shown[0], animated)
        group = self.character.obj.active_ragdoll.recovery
        simulated = rig.skeleton.from_level[self.character.bones]
        passage = getting_up.begun(
            rig,
            (shown[0], shown[1]),
            (poses[0], poses[1]),
            (places[0], places[1]),
            move,
            frame=float(frame),
            fps=fps,
            duration=self.reroot_time,
            carriers=getting_up.carriers_of(rig, simulated),
            method=group.method,
            action=action,
            lowest=self.landmarks.lowest,
        )
        self.record.passages.append(passage)

    def _clip(self, action: str, fps: float):
        entry = next((e for e in self.character.motion.entries if e.name == recovery_entry.NAME), None)
        if entry is None:
            raise RagdollError(TAKEN_AWAY)
        return entry.solver.clip(action, fps)


def _back(now: LocalPose, coming: LocalPose) -> tuple:
    """Rotations and scales one step before `now`."""
    step = quaternion.multiply(now.rotations, quaternion.conjugate(coming.rotations))
    return quaternion.multiply(step, now.rotations), now.scales


def _keep(notes: dict, frame: int, value) -> None:
    """Of the last frames only."""
    notes[frame] = value
    for old in [other for other in notes if not frame - KEPT < other <= frame]:
        del notes[old]


# ---- the character --------------------------------------------------------------------------------------------------


def _pelvis_body(character) -> int:
    """Which of a character's bodies is the pelvis; the heaviest root where no bone has that role."""
    obj = character.obj
    parts = obj.active_ragdoll.parts
    for i, part in enumerate(parts):
        if obj.pose.bones[part.bone].active_ragdoll.role == PELVIS:
            return i
    roots = [i for i, part in enumerate(parts) if not part.parent]
    return max(roots, key=lambda i: parts[i].body.rigid_body.mass)


def _landmarks(character) -> Landmarks:
    """Of a character, rows in level order."""
    obj = character.obj
    skeleton: Skeleton = character.motion.rig.skeleton
    anatomy = recognition.anatomy_of(obj)
    levels = skeleton.from_level
    found = {}
    for row, (role, side) in enumerate(zip(anatomy.roles, anatomy.sides, strict=True)):
        rows = found.setdefault((role, side if role in (THIGH, UPPER_ARM) else ""), [])
        rows.append(int(levels[row]))
    pelvis = found.get((PELVIS, ""), [int(levels[character.bones[_pelvis_body(character)]])])[0]
    upper = next((found[role, ""][-1] for role in (CHEST, NECK, HEAD, SPINE) if (role, "") in found), None)
    sides = next(
        ((found[role, LEFT][0], found[role, RIGHT][0]) for role in (THIGH, UPPER_ARM)
         if (role, LEFT) in found and (role, RIGHT) in found),
        None,
    )  # fmt: skip
    trunk = None if upper is None or sides is None or upper == pelvis else (upper, *sides)
    # Simulated bones and what hangs on them: not all ends of limbs have bodies, and controls may be under the floor.
    simulated = {int(row) for row in character.bones}
    for row, bone in enumerate(obj.data.bones):  # parents come first
        if bone.parent is not None and obj.data.bones.find(bone.parent.name) in simulated:
            simulated.add(row)
    return Landmarks(pelvis, trunk, levels[sorted(simulated)], character.height)


# ---- the run --------------------------------------------------------------------------------------------------------


def start(run, scene) -> None:
    """The recoveries of a run's characters, at the shot's first frame.

    Raises:
        RagdollError: a setting that makes no sense, named with its object.
    """
    run.recoveries = {}
    for character in run.characters:
        settings = character.obj.active_ragdoll
        if settings.recovery.enabled and not settings.muted:
            found = run.recoveries[character.name] = Recovery(character, scene)
            found.record.values[run.first] = found.state.values()
    if run.recoveries:
        _apply(run)


def observe(run, scene) -> None:
    """After a frame was shown: step all states, and set what holds for the next frame.

    Args:
        run: its `body` holds where the bodies stand now, `body_before` where they stood a frame before.
    """
    if not run.recoveries:
        return
    frame = run.frame
    for found in run.recoveries.values():
        found.note_shown(frame, run.graph)
    if frame == run.first:
        for found in run.recoveries.values():
            found.begin(run, scene, frame)
        _apply(run)
        return
    seconds = max(scene.rigidbody_world.time_scale, 1e-9) * scene.render.fps_base / scene.render.fps
    speeds = np.linalg.norm(run.body[:, :3, 3] - run.body_before[:, :3, 3], axis=1) / seconds
    for found in run.recoveries.values():
        found.step(run, scene, frame, speeds, seconds)
    _apply(run)


def _apply(run) -> None:
    """Set the weights' factor, the blend and what is switched off."""
    factor = np.ones(len(run.masses))
    for found in run.recoveries.values():
        rows = found.character.rows
        factor[rows] = found.state.weight
        found.character.share = found.state.physics_blend
        run.off[rows] = not found.state.simulated
    run.set_factor("recovery", factor)
    led = [found.character.rows for found in run.recoveries.values() if found.state.led]
    joint_drives.leave_to_world(run, led)
