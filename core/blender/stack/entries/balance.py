"""Balance: pushes that move the hip, and steps that catch it."""

import math

import bpy
import numpy as np

from .... import pose as pose_space
from ....anatomy.roles import CHEST, HEAD, LEFT, NECK, PELVIS, QUADRUPED, RIGHT, SPINE, TOE, UPPER_ARM, of_role
from ....errors import RagdollError
from ....motion import balance, balanced_pose, clip, gait, limbs
from ....motion.stack import Inputs, LocalPose, MatrixPose, Rig, Step
from ....ragdoll.recovery.states import LIMP, RECOVERING, SETTLING
from ...physics import ground, source, world
from ...rig.armature import anatomy_of, armatures, array_of, pose_matrices
from ...run.records import PUSHES, kept_of, push_at
from ...runtime import STATE
from ...settings.declare import STACK, STACK_VALUE, choice, flag, settings, share, whole
from . import Kind, leg_stabilizers

NAME = "Balance"
CHUNK = 12  # frames that are looked ahead at a time
PELVIS_LEAN, HEAD_LEAN = 0.4, -0.65  # shares of the trunk's lean; the spine has the rest
WALK_BACK = "WALK_BACK"
RETURNS = (
    ("SHIFT", "Go On Where It Is", "The animation goes on beside its old place"),
    (WALK_BACK, "Walk Back", "Its next steps lead back to where the animation is"),
)


# fmt: off

class ActiveRagdollBalance(bpy.types.PropertyGroup):
    """How a character that stands on two legs keeps its balance."""

    enabled: flag("Balance", "Hits and pushes move the hip, and steps catch it; what no step catches is a knock-out",
        needs=STACK)
    strength: share("Strength", "How far its steps reach: 1 as a man's who is awake, less as a drunk's; at 0 every "
        "push fells it", keyed=True, needs=STACK_VALUE)
    return_to_path: choice("Afterwards", RETURNS, "SHIFT", "Where the character goes when it has caught itself, or got "
        "up by a plan")
    return_steps: whole("Steps", "In which it is back, more where they would be long", 4, min=1, max=100)


# fmt: on


def figure_of(obj, rig: Rig) -> balanced_pose.Figure:
    """The bones that balance moves. Raises RagdollError, naming the character, where it has not just two legs."""
    anatomy = anatomy_of(obj)
    feet = leg_stabilizers.legs_of(obj)
    side = dict(zip(obj.data.bones.keys(), anatomy.sides, strict=True))
    pair = [[name for name in feet if side[name] == which] for which in (LEFT, RIGHT)]
    if anatomy.kind == QUADRUPED:
        raise RagdollError(f"{NAME}: '{obj.name}' stands on four legs, and only who stands on two is balanced")
    if [len(names) for names in pair] != [1, 1]:
        raise RagdollError(
            f"{NAME}: '{obj.name}' needs a left and a right leg, thigh to foot; "
            f"found {', '.join(feet) or 'none'}: choose the bones' roles"
        )
    legs = tuple(limbs.LegStabilizer(rig, rig.bone(NAME, name), feet[name], NAME) for (name,) in pair)
    level = rig.skeleton.from_level
    spine = [*of_role(anatomy, SPINE), *of_role(anatomy, CHEST)]
    parts = (of_role(anatomy, PELVIS)[:1], PELVIS_LEAN), (spine, 1.0 - PELVIS_LEAN)
    parts = (*parts, ([*of_role(anatomy, NECK), *of_role(anatomy, HEAD)], HEAD_LEAN))
    trunk = tuple((int(level[row]), lean / len(rows)) for rows, lean in parts for row in rows)
    arms, toes = ([of_role(anatomy, role, own)[:1] for own in (LEFT, RIGHT)] for role in (UPPER_ARM, TOE))
    tops = [(int(level[row]), sign) for rows, sign in zip(arms, (1, -1), strict=True) for row in rows]
    arms = tuple((arm, end, sign) for arm, sign in tops for end in list(rig.skeleton.children(arm))[:1])
    return balanced_pose.Figure(rig, legs, trunk, arms, tuple(int(level[toe[0]]) if toe else None for toe in toes))


class Balance(Step):
    """The step of the stack, whose state is that of the balance."""

    name = NAME

    def __init__(self, obj, rig: Rig) -> None:
        self.obj, self.rig = obj, rig
        self.figure = figure_of(obj, rig)
        self._rows = rig.skeleton.to_level[self.figure.joints]
        self._gait = self._solids = self._now = self.body = None
        self._locals: dict = {}
        STATE.gaits.pop(obj.name, None)

    @property
    def keeps_state(self) -> bool:
        """Frames need not be stepped through one by one before the first push."""
        return any(values.keys() & PUSHES for values in kept_of(self.obj).values())

    def read(self, reader, _pose) -> Inputs:
        """Note what pushes the character in the step to the frame."""
        pull = world.gravity(reader.scene)
        if not pull[2] < 0.0 or math.hypot(*pull[:2]) > 1e-3 * -pull[2]:
            raise RagdollError(f"{NAME}: gravity must point down, got ({', '.join(f'{x:g}' for x in pull)}) m/s^2")
        self._now = reader, push_at(self.obj, reader.scene, reader.frame)
        return Inputs(world=reader.world)

    def apply(self, rig: Rig, pose: LocalPose, inputs: Inputs, state, _seconds: float) -> tuple:
        reader, (phase, push, ways) = self._now
        before = balance.State() if state is None else state
        if push.left is not None:
            before = balance.left(self.figure.sampled(pose, inputs.world).hip, *push.left)
        stays = phase in (LIMP, SETTLING) or before.fell
        told = before.fell and phase not in (LIMP, SETTLING, RECOVERING)
        self.messages = {NAME: f"'{self.obj.name}' lost its balance: Set Up Recovery lets it fall"} if told else {}
        if phase == RECOVERING or (state is None and (stays or (push == balance.Push() and not ways.any()))):
            return pose, None
        self._prepare(reader)
        pose = self.figure.turned(pose, inputs.world, before)
        if plays := self._plays(reader, pose):
            pose.take_apart_as(self._local(reader, reader.frame))
        if len(ways) and not self._rides(reader, ways):
            push = push._replace(**_borne(ways, world.seconds_per_frame(reader.scene)))
        own = seen = self._gait.sample(reader.frame) if plays else self.figure.sampled(pose, inputs.world)
        if before.ahead > 0.0:
            pose = self._hurried(reader, pose, before.ahead, plays)
            seen = self.figure.sampled(pose, inputs.world)
        after = before if stays else self._stepped(reader, own, seen, before, push)
        if after.is_over(self.body):
            return pose, None
        pose = self.figure.turned(pose, inputs.world, after, before.turn[0])
        return self.figure.posed(self.body, pose, inputs.world, after), after

    def _stepped(self, reader, own: gait.Sample, seen: gait.Sample, before: balance.State, push) -> balance.State:
        """The next state. own, seen: of the pose that came in, and of the hurried one."""
        here = self._gait.sample(reader.frame)
        turn = own.heading / here.heading  # to where a get-up has moved the animation

        def strides(frame: float) -> balance.Stride:
            return gait.moved(self._gait.stride(frame), turn, own.hip - turn * here.hip)

        stride = strides(reader.frame + before.ahead)._replace(hip=seen.hip, heading=seen.heading, ankles=seen.ankles)
        seconds = world.seconds_per_frame(reader.scene)
        manner = self._manner(reader, max(seen.heights), before.carried)
        after = balance.step(self.body, before, stride, push, seconds, manner)
        return balance.decided(self.body, after, lambda i: strides(reader.frame + 1 + i), seconds, manner)

    def _rides(self, reader, ways: np.ndarray) -> bool:
        """Whether its object has gone with the ground by itself, as what is parented to it."""
        frames = range(reader.frame - 1 - len(ways), reader.frame)
        own = np.diff([_animation(self.obj, reader, frame)[0][:3, 3] for frame in frames], axis=0)
        return bool(np.linalg.norm(own - ways) < 0.5 * np.linalg.norm(ways))

    def _prepare(self, reader) -> None:
        if self._gait is None:
            scale = abs(float(np.linalg.det(reader.world[:3, :3]))) ** (1.0 / 3.0)
            self.body = self.figure.body(scale, self.obj.active_ragdoll.height, -world.gravity(reader.scene)[2])
            self._solids = ground.solids(reader.scene)
            seconds = world.seconds_per_frame(reader.scene)
            self._gait = gait.Gait(self.body, seconds, lambda frame: self._sample(self._now[0], frame))

    def _manner(self, reader, top: float, carried: tuple) -> balance.Manner:
        live, own, body, leg = reader.settings.balance, self.obj.active_ragdoll.balance, self.body, self.body.leg
        # On a jump the ground stands where it is at another frame.
        known = kept_of(self.obj).setdefault(reader.frame, {})

        def rise(place: complex, other: complex) -> float:
            if (name := f"{place}{other}") not in known:
                reach, shift = (top + carried[2] + 0.5 * leg, 1.5 * leg + body.ankle), complex(*carried[:2])
                found = [ground.highest(reader.scene, self._solids, at + shift, *reach) for at in (place, other)]
                known[name] = 0.0 if None in found else found[0][0] - found[1][0]
            return known[name]

        home = own.return_steps if own.return_to_path == WALK_BACK else 0
        return balance.Manner(min(max(live.strength, 0.0), 1.0), home, rise)

    def _sample(self, reader, frame: int) -> gait.Sample:
        place, matrices = _animation(self.obj, reader, frame)
        return self.figure.sample(matrices[self._rows, :3, 3] @ place[:3, :3].T + place[:3, 3])

    def _plays(self, reader, pose: LocalPose) -> bool:
        """Whether a pose is the animation's that was looked ahead at: no entry before and no edit has changed it."""
        known = _animation(self.obj, reader, reader.frame)
        return isinstance(pose, MatrixPose) and all(map(np.array_equal, known, (reader.world, reader.matrices)))

    def _hurried(self, reader, pose: LocalPose, ahead: float, plays: bool) -> LocalPose:
        """The pose some frames ahead, of those bones that play the character's own animation."""
        first = math.floor(reader.frame + ahead)
        share = reader.frame + ahead - first
        own, a, b = (self._local(reader, frame) for frame in (reader.frame, first, first + 1))
        coming = clip.between(a, b, np.array(share))
        here, *places = (_animation(self.obj, reader, frame)[0] for frame in (reader.frame, first, first + 1))
        if plays and all(np.array_equal(here, place) for place in places):
            return coming
        moved = pose_space.inverted(here)[0] @ pose_space.between(*places, share)
        roots = slice(0, self.rig.skeleton.root_count)
        parts = [[p.positions[roots], p.rotations[roots], p.scales[roots]] for p in (pose, own, coming)]
        given, before, after = pose_space.compose_matrices(*map(np.stack, zip(*parts, strict=True)))
        found = pose_space.decompose_matrices(given @ pose_space.inverted(before)[0] @ moved @ after)
        off = np.abs(pose.positions - own.positions).max(axis=1) / self.rig.size
        off += np.abs(pose.scales - own.scales).max(axis=1)
        off += 1.0 - np.abs((pose.rotations * own.rotations).sum(axis=1))
        changed = ~(off < 1e-4)
        for name, at_roots in zip(("positions", "rotations", "scales"), found, strict=True):
            values = getattr(coming, name)
            values[changed] = getattr(pose, name)[changed]
            values[roots] = at_roots
        return coming

    def _local(self, reader, frame: int) -> LocalPose:
        """The animation's pose at a frame."""
        if frame not in self._locals:  # those to come with it, which takes hardly longer
            _animation(self.obj, reader, frame)
            known, to_level = STATE.gaits[self.obj.name], self.rig.skeleton.to_level
            frames = [coming for coming in range(frame, frame + CHUNK) if coming in known]
            matrices = np.array([known[coming][1][to_level] for coming in frames])
            parts = pose_space.decompose_matrices(pose_space.model_to_local_matrices(self.rig.skeleton, matrices))
            self._locals |= dict(zip(frames, map(LocalPose, *parts), strict=True))
        return self._locals[frame]


def _borne(ways: np.ndarray, seconds: float) -> dict:
    """Of a push: where ground that went so in the last frames goes next, and what it has become faster by."""
    faster = np.diff(ways, axis=0).sum(axis=0)  # it was taken to go on as in the frame before
    carry = ways[-1] + (faster if len(ways) > 1 else ways[-1])
    return {"carry": tuple(carry.tolist()), "start": complex(*(faster[:2] / seconds).tolist())}


def _animation(obj, reader, frame: int) -> tuple:
    """World matrix and bone matrices of a character's own animation at any frame."""
    known = STATE.gaits.setdefault(obj.name, {})
    if frame not in known:
        hidden = reader.scene.active_ragdoll.source
        # All characters of the scene are read at once, because evaluating the hidden scene takes longest.
        others = [o for o in armatures(reader.scene.objects) if o.active_ragdoll.balance.enabled]
        others = [other for other in others if other.active_ragdoll.source]
        for coming in [coming for coming in range(frame, frame + CHUNK) if coming not in known]:
            hidden.frame_set(coming)
            for other in others:
                now = source.evaluated(other)
                notes = STATE.gaits.setdefault(other.name, {})
                notes[coming] = array_of(now.matrix_world), pose_matrices(now).astype(float)
        hidden.frame_set(reader.frame)
    return known[frame]


def has_fallen(motion, frame: int) -> bool:
    """Whether a character lost its balance at a frame that its stack has posed."""
    found = zip(motion.entries, motion.states.get(frame, ()), strict=False) if motion is not None else ()
    return any(isinstance(step, Balance) and state is not None and state.fell for step, state in found)


class BalanceKind(Kind):
    """Balance is one step."""

    identifier, label, icon, place = "BALANCE", NAME, "CON_FLOOR", 25
    step = Balance

    def declared(self):
        return {"balance": settings(ActiveRagdollBalance)}

    def acts(self, obj) -> bool:
        return obj.active_ragdoll.is_ragdoll and obj.active_ragdoll.balance.enabled


KIND = BalanceKind()
