"""Knock-out and recovery in a run: measuring after a frame, and deciding for the next one.

After each frame the state is stepped with the motion of the bodies (`ragdoll.recovery`). The state gives the factor of
the weights, the share of the physics, and whether the character is simulated at all in the coming frame. When a
character recovers, its animation goes on where it lies (`motion.getting_up`). All of this is recorded by frame.
"""

import math
from dataclasses import fields, replace
from functools import cached_property

import numpy as np
from mathutils import Vector

from ... import pose as pose_space
from ... import quaternion
from ...anatomy.roles import CHEST, HEAD, LEFT, NECK, PELVIS, QUADRUPED, RIGHT, SPINE, THIGH, TRUNK, UPPER_ARM
from ...errors import RagdollError
from ...motion import getting_up, stack
from ...motion.get_up.course import SETTLED
from ...motion.get_up.plan import SHORTEST, Manner, Moved, NoRoom
from ...ragdoll.recovery import states, tone
from ...ragdoll.recovery.transitions import Landmarks, Reroot, smooth_step
from ..physics import ground, world
from ..rig import armature, clips
from ..runtime import STATE
from ..settings import effects as effect_settings
from ..stack.entries import balance
from ..stack.entries import recovery as recovery_entry
from . import get_up, records, shot_run

CARRIED = 0.9  # weight of one who gets up by a plan: it begins as he lies, and gives way where the floor does
DRAGGED = 0.6  # before that, while limbs are drawn in, which get caught on each other and come loose
DRAWN_IN, UPRIGHT = (0.3, 0.45), (0.85, 1.0)  # shares of the way up between which it rises to that, and to 1
DOWN = -0.9  # of gravity: the vertical part of one that pulls to a floor
# Of the height: with hips so far off their way up, or a floor so far from where it was, it falls again; a floor that
# moves by more in a frame is none to get up from
ASTRAY, SHIFTED, MOVES = 0.1, 0.03, 1e-3
PRESSED = 0.02  # of the height: by so little light bodies are in a floor, which stops none of them
RESTLESS = 10.0  # [s] in which whoever fell comes to rest, or never
TRIES = 4  # who has fallen so often since it stood, each time while it got up, lies for RESTLESS before it tries again
BESIDE = 0.3  # of the height: nearer to each other than that they get up one after the other
DEEP, BOTTOM = 5.0, 1e3  # heights: who is as fast as after such a fall may fall for ever; where floors are looked for
WAY_PARTS = [part for part, *_words in effect_settings.PARTS]
KEPT = 2  # number of frames whose poses are kept for a passage to begin from
TAKEN_AWAY = "its recovery was taken away in mid-shot"


class Notes(dict):
    """What was at the last frames, by frame."""

    def __setitem__(self, frame: int, value) -> None:
        super().__setitem__(frame, value)
        for old in [other for other in self if not frame - KEPT < other <= frame]:
            del self[old]

    def pair(self, frame: int) -> list:
        """At a frame and the one before."""
        return [self[frame], self.get(frame - 1, self[frame])]


class Recovery:
    """The recovery of one character in a run: its state at the last frame, and the record of all frames."""

    def __init__(self, character, scene) -> None:
        self.character = character
        # Poses shown, played by the character's own animation, given by a passage; and its object's world matrix.
        self._shown, self.played, self.given, self.worlds = Notes(), Notes(), Notes(), Notes()
        # Index of its pelvis body; without that role, of its heaviest root.
        obj, parts = character.obj, character.obj.active_ragdoll.parts
        roles = [obj.pose.bones[part.bone].active_ragdoll.role for part in parts]
        roots = [i for i, part in enumerate(parts) if not part.parent]
        heaviest = max(roots, key=lambda i: parts[i].body.rigid_body.mass)
        self._pelvis_body = roles.index(PELVIS) if PELVIS in roles else heaviest
        self._trunk = np.array([self._pelvis_body, *(i for i, role in enumerate(roles) if role in TRUNK)])
        self._ground: tuple | None = None  # what it lies on, and where that was at the last frame of lying
        self.tried = False  # to get up since it fell
        self._down, self._failed = 0.0, 0  # for so long it has lain [s]; so often it fell while it got up
        self.left = None, ()  # frame from which it walks back, and where it stands then; see `balance.Push`
        first, last = world.shot_range(scene)
        group = obj.active_ragdoll.recovery
        self.events, notes = effect_settings.events_of(group, first, last)
        self.read(group)
        self.state = states.start(self.settings, self.events, first)
        self.record = records.Record({first: self.state.values()})
        for note in notes:
            STATE.warn(character.name, f"'{character.name}': {note}")

    @cached_property
    def landmarks(self) -> Landmarks:
        """Where its parts lie, as rows in level order; found when it first gets up."""
        character, obj = self.character, self.character.obj
        anatomy, levels, found = armature.anatomy_of(obj), character.motion.rig.skeleton.from_level, {}
        for row, (role, side) in enumerate(zip(anatomy.roles, anatomy.sides, strict=True)):
            found.setdefault((role, side if role in (THIGH, UPPER_ARM) else ""), []).append(int(levels[row]))
        pelvis = found.get((PELVIS, ""), [int(levels[character.bones[self._pelvis_body]])])[0]
        upper = next((found[role, ""][-1] for role in (CHEST, NECK, HEAD, SPINE) if (role, "") in found), None)
        pairs = ([found.get((role, side)) for side in (LEFT, RIGHT)] for role in (THIGH, UPPER_ARM))
        sides = next(([left[0], right[0]] for left, right in pairs if left and right), None)
        trunk = None if upper is None or sides is None or upper == pelvis else (upper, *sides)
        # Bodies, simulated bones, those below: ends of limbs may lack bodies or bones. Controls may be under the floor.
        simulated = {int(row) for row in character.bones}
        for row, bone in enumerate(obj.data.bones):  # parents come first
            if bone.parent is not None and obj.data.bones.find(bone.parent.name) in simulated:
                simulated.add(row)
        points = [np.insert(np.zeros((len(simulated), 3)), 0, levels[sorted(simulated)], axis=1)]
        for part, bone in zip(obj.active_ragdoll.parts, levels[character.bones], strict=True):
            points.append(np.insert(pose_space.moved(np.array(part.body.bound_box), part.offset), 0, bone, axis=1))
        return Landmarks(pelvis, trunk, np.concatenate(points), character.height, anatomy.kind == QUADRUPED)

    def read(self, group, events: bool = False, scene=None) -> None:
        """Read the settings from a property group, and with `events` also the forced states from the character's own.
        Raises RagdollError: a value makes no sense; then nothing has changed."""
        title = f"Recovery of '{self.character.name}'"
        settings = states.Settings(**{field.name: getattr(group, field.name) for field in fields(states.Settings)})
        states.checked(settings, title, reroot_time=group.reroot_time, get_up_pace=group.get_up_pace)
        self.settings, self.reroot_time, self.get_up = settings, group.reroot_time, group.get_up
        ways = group.way_points
        moved = tuple(Moved(way.key, WAY_PARTS.index(way.part), tuple(way.offset), way.seconds) for way in ways)
        self.manner = Manner(group.get_up_pace, group.get_up_side, group.get_up_seed, moved=moved)
        if events:
            own = self.character.obj.active_ragdoll.recovery
            self.events, _notes = effect_settings.events_of(own, *world.shot_range(scene))

    def note_shown(self, frame: int, graph) -> None:
        """Note the pose that the character shows after the frame, if a passage may begin from it."""
        if self.character.motion is not None and self.state.lies:
            matrices = armature.pose_matrices(self.character.obj.evaluated_get(graph))
            self._shown[frame] = matrices[self.character.motion.rig.skeleton.to_level]

    def step(self, run, scene, frame: int, speeds: np.ndarray, seconds: float) -> None:
        """Step to the state of the frame that was just shown; at the first one no time has passed.

        Args:
            speeds: of all bodies [m], over the frame [m/s]. seconds: of the simulation, a frame.
        """
        # Sum of the sizes of the impulses in the step to the next frame [N s].
        impulse = sum(float(np.linalg.norm(i)) for i in run.effect("hits").impulses_on(run, self.character, frame))
        events = [event for event in self.events if frame - 1 < event.frame <= frame]
        if self.state.phase == states.ANIMATED and impulse == 0.0 and not events:
            self._finish_action(frame, scene)
            return
        movers = run.effect("pushes").movers if self.state.weight > 0.0 else ()
        blows = [float(np.linalg.norm(mover.blow(run, self.character, seconds))) for mover in movers]
        motion = self._motion(run, scene, speeds, impulse, max(blows, default=0.0))
        fps = 1.0 / seconds
        before, times = self.state, (max(frame - 1, run.first) / fps, frame / fps, fps)
        self.state = states.step(self._settings_now(seconds), before, motion, *times, events, self.character.name)
        fallen = self.state.lies or self.state.phase == states.RECOVERING
        self.tried &= fallen
        if events or not fallen:
            self._failed = 0
        try:
            if before.lies and self.state.phase in (states.RECOVERING, states.BLENDING, states.ANIMATED):
                self._get_up(run, frame, scene)
            else:
                self._finish_action(frame, scene)
        except NoRoom as error:  # after a while it tries again
            STATE.warn(self.character.name, f"'{self.character.name}' stays down: {error}")
            self.state = replace(before, clock=0.0)
        except RagdollError as error:
            STATE.warn(self.character.name, f"'{self.character.name}' gets up in its animation's own place: {error}")
        if self.state.lies:
            if not self._falls_on(run, scene, motion.pelvis_speed):
                self._down += seconds
            waits = not self.state.held and self.get_up != effect_settings.STAY_DOWN
            if self._down > RESTLESS and waits and self.state.phase == states.LIMP:
                STATE.warn(self.character.name, f"'{self.character.name}' stays down: it does not come to rest")
        else:
            self._down = 0.0

    def _falls_on(self, run, scene, speed: float) -> bool:
        """Note what it lies on; whether there is nothing where it falls at such a speed [m/s], which is told."""
        height, (x, y, z) = self.character.height, run.body[self.character.rows][self._pelvis_body, :3, 3]
        fast = speed > math.sqrt(2.0 * DEEP * world.pull(scene) * height) > 0.0
        if fast or self.state.phase == states.SETTLING:
            solids, depth = run.effect("pushes").solids, (BOTTOM if fast else 1.0) * height
            found = ground.highest(scene, solids, complex(x, y), z, depth)
            self._ground = found and (found[1], found[1].evaluated_get(run.graph).matrix_world.copy())
            if fast and found is None:
                STATE.warn(self.character.name, f"'{self.character.name}' falls on: there is no floor below it")
                return True
        return False

    def _floor_moved(self, run) -> float:
        """By how much what it lay on has moved since, below its hips [m]."""
        if self._ground is None:
            return 0.0
        solid, before = self._ground
        hips = Vector(run.body[self.character.rows][self._pelvis_body, :3, 3])
        return (solid.evaluated_get(run.graph).matrix_world @ before.inverted_safe() @ hips - hips).length

    def _is_astray(self, run) -> bool:
        """Whether it cannot get up as it had begun to; says why."""
        if self._carrying is None:
            return False
        if self._floor_moved(run) > SHIFTED * self.character.height:
            why = "the floor under it moves"
        elif (row := self._stopped(run)) is not None:
            why = f'something keeps its bone "{self.character.bone_names[row]}" off its way'
        else:
            return False
        STATE.warn(self.character.name, f"'{self.character.name}' falls again while it gets up: {why}")
        self._failed += 1
        return True

    def _stopped(self, run) -> int | None:
        """Which body is far off its way, or of the trunk one that something stands between and where it should be."""
        rows = self.character.rows.start + self._trunk
        places, ways = run.body[rows, :3, 3], (run.wanted - run.body)[rows, :3, 3]
        # Weak muscles lag behind a blend, which brings them there all the same.
        if self._carrying.planned is not None and np.linalg.norm(ways[0]) > ASTRAY * self.character.height:
            return self._trunk[0]
        met = ground.meetings(run.effect("recoveries").around(run), places, ways)
        ends, depth = places + ways, PRESSED * self.character.height
        return next((self._trunk[row] for row, at, enters in met if enters and math.dist(ends[row], at) > depth), None)

    def _settings_now(self, seconds: float) -> states.Settings:
        """The settings, with what the way of getting up changes of them. seconds: of the simulation, a frame."""
        if (passage := self._carrying) is not None:
            time = passage.duration if passage.planned is None else seconds * (passage.planned.frame_count - 1)
            # A little sooner than after its last frame: sums of single steps are not exact.
            return replace(self.settings, regain=(1.0 + 1e-6) / time)
        if self.get_up == effect_settings.STAY_DOWN:
            return replace(self.settings, rest_time=math.inf)
        return self.settings

    @property
    def _carrying(self) -> getting_up.Passage | None:
        """The passage by which it gets up now, if that takes its own time: a plan, or a blend that is not hurried."""
        passage = self.record.passages[-1] if self.record.passages else None
        if self.state.phase != states.RECOVERING or passage is None:
            return None
        return passage if passage.planned is not None or passage.duration > self.reroot_time else None

    @property
    def weight(self) -> float:
        """Factor of the weights in the step to come."""
        if (passage := self._carrying) is not None:
            # A plan ends with the animation's first steps, at full weights.
            gone = self.state.progress * (passage.planned.length / passage.keys[-1] if passage.keys else 1.0)
            begun, risen = (smooth_step((gone - a) / (b - a)) for a, b in (DRAWN_IN, UPRIGHT))
            return float(DRAGGED + (CARRIED - DRAGGED) * begun + (1.0 - CARRIED) * risen)
        return self.state.weight

    def _motion(self, run, scene, speeds: np.ndarray, impulse: float, blow: float) -> states.Motion:
        rows, phase = self.character.rows, self.state.phase
        fell = balance.has_fallen(self.character.motion, run.frame) or run.effect("hits").fells(run, self.character)
        sound = run.effect("hits").strength[rows] == 1.0
        distances = np.linalg.norm(run.body[rows, :3, 3] - run.wanted[rows, :3, 3], axis=1)
        return states.Motion(
            mean_speed=float(speeds[rows].mean()),
            pelvis_speed=float(speeds[rows][self._trunk].max()),
            distance=float(distances[sound].max(initial=0.0)),
            impulse=impulse,
            blow=blow,
            lost=self._is_astray(run) if phase == states.RECOVERING else fell and not self.state.lies,
            hurts=not sound.all(),
            steps=self.character.obj.active_ragdoll.balance.enabled,
            mass=self.character.mass,
            size=self.character.height,
            gravity=world.pull(scene),
        )

    def _get_up(self, run, frame: int, scene) -> None:
        """Let the animation go on where the character lies: by a plan, or with the get-up action for how it lies."""
        group = self.character.obj.active_ragdoll.recovery
        if group.reroot and self.character.motion is None:
            raise RagdollError("use Set Up Recovery or Simulate to let it get up where it lies")
        if not group.reroot or frame not in self._shown:
            return
        shown = self._shown.pair(frame)
        if frame not in self.worlds:
            raise RagdollError(TAKEN_AWAY)
        place = self.worlds[frame]
        pull = world.gravity(scene)
        own = get_up.is_planned(group) or self.get_up == effect_settings.BLEND
        if own and any(pull) and pull[2] > DOWN * math.hypot(*pull):  # it would be led into what it lies against
            raise NoRoom("gravity does not pull it to a floor")
        if own and self._floor_moved(run) > MOVES * self.character.height:
            raise NoRoom("the floor under it moves")
        if own and run.effect("hits").fells(run, self.character):
            raise NoRoom("a leg hurts")
        if own and (first := self._lets_first(run)):
            raise NoRoom(f"'{first}' lies on it or gets up there")
        if own and self._failed >= TRIES and self._down < RESTLESS:
            raise NoRoom(f"it fell {TRIES} times while it got up: clear its way; enlarge what is tiny or lower gravity")
        self.tried = True
        names = [action.name if action else "" for action in (group.get_up_face_up, group.get_up_face_down)]
        planned = get_up.is_planned(group) and self.state.phase == states.RECOVERING
        if not (planned and self._plan(run, frame, scene, shown, place)):
            if self.get_up == effect_settings.BLEND:
                names = ["", ""]
                get_up.check_room(run, self.character, scene, self._trunk)
            action = self.landmarks.action(place @ shown[0], *names)
            own = not action and self.get_up not in (effect_settings.AUTOMATIC, effect_settings.BLEND)
            least = 0.0 if own else SHORTEST * self.manner.pace * tone.pace(self.character.height, world.pull(scene))
            self._go_on(frame, scene, shown, action, least=least)  # also for an action that cannot be played
        if self._carrying is not None:  # what was left of this step has counted as of an ordinary rise
            self.state = replace(self.state, progress=0.0)

    def _lets_first(self, run) -> str:
        """Who is to get up before it: who is at it already beside it, or lies on it and has not tried yet."""
        _bodies, low, high = ground.bounded(self.character.bodies.objects, run.graph)
        margin = BESIDE * self.character.height
        for name, other in run.effect("recoveries").by_name.items():
            will = not (other.tried or other.state.held or other.get_up == effect_settings.STAY_DOWN)
            lies = other.state.lies and will
            if other is self or not (lies or other.state.led):
                continue
            _bodies, *box = ground.bounded(other.character.bodies.objects, run.graph)
            near = ((low[:, None] - margin < box[1]) & (box[0] < high[:, None] + margin)).all(axis=2)
            mine, its = ((run.body[each.rows, 2, 3].mean(), each.name) for each in (self.character, other.character))
            if near.any() and (other.state.led or mine < its):  # an order of all: nobody waits in a ring
                return name
        return ""

    def _plan(self, run, frame: int, scene, shown: list, place: np.ndarray) -> bool:
        """Get up by a plan; whether there is one."""
        character = self.character
        try:
            found, clip = get_up.planned(run, character, scene, frame, shown[0], place, self.manner)
        except NoRoom:
            raise
        except RagdollError as error:
            get_up.check_room(run, character, scene, self._trunk)
            STATE.warn(character.name, f"'{character.name}' gets up by a blend: {error}")
            return False
        more = {"planned": clip, "duration": SETTLED * found.tempo, "lowest": self.landmarks.lowest}
        self._begin(shown, (), self.worlds.pair(frame), found.move, frame, clip.fps, **more)
        self.record.passages[-1].keys.extend(found.times.tolist())
        return True

    def _finish_action(self, frame: int, scene) -> None:
        """When a get-up action or a plan is over, return to the character's own animation."""
        passage = self.record.passage(frame)
        if passage is None or not (passage.action or passage.planned) or frame not in self.given:
            return
        length = (passage.planned or self._clip(passage.action, passage.fps)).length
        if passage.seconds(frame) < max(length, passage.duration):
            return
        skeleton = self.character.motion.rig.skeleton
        poses = [pose_space.compose_matrices(*pose.model(skeleton)) for pose in self.given.pair(frame)]
        move = passage.move if passage.planned is not None else None
        group = self.character.obj.active_ragdoll.balance
        if move is not None and group.enabled and group.return_to_path == balance.WALK_BACK:
            # Balance takes over where it stands, and walks it back.
            self.left = frame, [2.0 * math.atan2(move.rotation[3], move.rotation[0]), *map(float, move.shift)]
            place = self.worlds[frame]
            back = np.linalg.solve(move.matrix() @ place, place)
            poses, move = [back @ pose for pose in poses], Reroot(quaternion.identity(), np.zeros(3))
        self._go_on(frame, scene, poses, "", move)

    def _go_on(self, frame: int, scene, shown: list, action: str, move=None, least: float = 0.0) -> None:
        rig, fps, places = self.character.motion.rig, clips.scene_fps(scene), self.worlds.pair(frame)
        if action:
            try:
                clip = self._clip(action, fps)
            except RagdollError as error:
                STATE.messages[self.character.name] = str(error)
                action = ""
        if action:
            # There is no frame before the first, so continue the first step backwards.
            now, coming = clip.at(0.0), clip.at(1.0 / fps)
            back = quaternion.multiply(now.rotations, quaternion.conjugate(coming.rotations))
            back = quaternion.multiply(back, now.rotations)
            poses = [now, stack.LocalPose(2.0 * now.positions - coming.positions, back, now.scales)]
            places[1] = places[0]
        else:
            poses = self.played.pair(frame)
        animated = places[0] @ pose_space.compose_matrices(*poses[0].model(rig.skeleton))
        lowest = ()
        if move is None:  # else by a plan, with feet that stand where the animation has them
            move, lowest = self.landmarks.move(places[0] @ shown[0], animated), self.landmarks.lowest
        if action:  # the sooner the nearer its first pose is to how it lies
            rows = rig.skeleton.from_level[self.character.bones]
            ways = (move.matrix() @ animated - places[0] @ shown[0])[rows, :3, 3]
            least *= np.linalg.norm(ways, axis=1).max() / self.character.height
        method = self.character.obj.active_ragdoll.recovery.method
        more = {"duration": max(self.reroot_time, least), "method": method, "action": action, "lowest": lowest}
        self._begin(shown, poses, places, move, frame, fps, **more)

    def _begin(self, shown, poses, places, move, frame: int, fps: float, **more) -> None:
        """Begin a passage; see `getting_up.begun`."""
        rig = self.character.motion.rig
        carriers = getting_up.carriers_of(rig, rig.skeleton.from_level[self.character.bones])
        more |= {"frame": float(frame), "fps": fps, "carriers": carriers}
        self.record.passages.append(getting_up.begun(rig, shown, poses, places, move, **more))

    def _clip(self, action: str, fps: float):
        entry = next((e for e in self.character.motion.entries if e.name == recovery_entry.NAME), None)
        if entry is None:
            raise RagdollError(TAKEN_AWAY)
        return entry.clip(action, fps)


# ---- the run --------------------------------------------------------------------------------------------------------
class Recoveries(shot_run.Effect):
    """The recoveries of a run's characters, by their names."""

    def __init__(self, run, scene) -> None:
        self.by_name: dict[str, Recovery] = {}
        self._applied: list = []  # what has been stated last
        for character in run.characters:
            settings = character.obj.active_ragdoll
            if settings.recovery.enabled and not settings.muted:
                self.by_name[character.name] = Recovery(character, scene)
        self._apply(run)

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings; edits in mid-shot count from the next frame on."""
        if (found := self.by_name.get(character.name)) is not None:
            found.read(settings.recovery, edited, scene)

    def observe(self, run, scene, seconds: float) -> None:
        """Step the states of all characters, and set what holds in the next frame."""
        if not self.by_name:
            return
        frame, self._around = run.frame, None
        speeds = np.linalg.norm(run.body[:, :3, 3] - run.body_before[:, :3, 3], axis=1) / seconds
        for own in self.by_name.values():
            own.note_shown(frame, run.graph)
            own.step(run, scene, frame, speeds, seconds)
            own.record.values[frame] = own.state.values()
        self._apply(run)

    def around(self, run) -> tuple:
        """The solids of the frame, see `ground.bounded`; found once somebody asks."""
        self._around = self._around or ground.bounded(ground.solids(run.graph.scene), run.graph)
        return self._around

    def share_at(self, character, frame: int) -> float | None:
        """The share of the physics that was recorded for the frame."""
        found = self.by_name.get(character.name)
        return None if found is None else found.record.blend(frame)

    def _apply(self, run) -> None:
        # Driven in joint space it would only stretch where it lies and leave getting up to the physics blend.
        now = [(own.weight, not own.state.simulated, own.state.led, own.state.lies) for own in self.by_name.values()]
        if now == self._applied:
            return
        self._applied, values = now, np.tile((1.0, 0.0, 0.0, 0.0), (len(run.masses), 1))
        for own, each in zip(self.by_name.values(), now, strict=True):
            values[own.character.rows] = each
        factor, off, driven, waiting = values.T
        self.state(factor=factor, switched_off=off > 0.0, driven_in_world=driven > 0.0, waiting=waiting > 0.0)
