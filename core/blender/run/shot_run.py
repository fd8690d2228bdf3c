"""What a run of a shot is made of: its characters, one row per body in every array, what acts in it beside the drives,
and what must hold to run it."""

import contextlib
import math
from functools import cached_property

import bpy
import numpy as np

from ...anatomy import masses as human
from ...errors import RagdollError
from ...ragdoll import diagnosis, drives
from ...ragdoll.drives import joint_motors
from ...ragdoll.joints import limits
from ..physics import built, motors, source, view_layers
from ..rig.armature import UNIFORM_TOLERANCE, bone_parents, check_record, check_scale
from ..runtime import STATE
from ..settings import at_frame, declare
from ..settings.bone import ActiveRagdollBone, DriveFactors

SLACK = 1e-3  # heights that the animation may have bodies off their joints before it counts as stretching
FASTEST = 2000.0  # [m/s per metre of height]: beyond it something has come apart
MASKS = ("switched_off", "awake", "struck", "waiting")  # that effects state, see `Effect`
FALLING = 100.0  # [m/s] the tiniest thing comes to by falling: a character of 5 cm and less is given that


class Effect:
    """What acts beside the drives (hits, attachments, recoveries ..), one kind of it, for all characters of a run.

    A run calls its effects in the order of `pipeline.EFFECTS` and merges what they state; no effect writes to the run.
    What one states is None as long as it states nothing.
    """

    factor = None  # of both weights [m], or of the rotation and the translation weights [2, m]
    # Masks of bodies [m]:
    kinematic = None  # the effect itself places them
    switched_off = None  # their characters are not simulated but move with their animation
    awake = None  # they must not fall asleep
    struck = None  # they are hit in the coming step: their characters do not count as calm
    waiting = None  # their targets stay with them, so that a drive takes hold of them where they are
    driven_in_world = None  # they are driven from the world even if their character is driven at its joints
    muscles = ()  # `motors.Muscles` that lead joints instead of the drives; not merged
    changed = False  # one of the above has changed since the run last merged them

    def __init__(self, run, scene) -> None:
        """Prepare for a run that starts, before the world is made. Raises RagdollError if it cannot act."""

    def state(self, **values) -> None:
        """Set attributes, and `changed` if any of them differs from before."""
        for name, value in values.items():
            known = getattr(self, name)
            if known is None or np.any(value != known):
                setattr(self, name, value)
                self.changed = True

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings of a character, or of its source if any are keyed, for the frame to come. `edited`: since
        they were last read. Raises RagdollError: one is invalid; then what was read before must stay."""

    def before_joints(self, run, scene, bind) -> None:
        """In the warm-up, when Bullet makes the joints: act on nothing. bind: matrices of the bodies [m, 4, 4]."""

    def after_joints(self, run) -> None:
        """One frame after `before_joints`: the joints have been made."""

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Before the step into the frame about to be shown. seconds: length of the step in the simulation."""

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Places of the kinematic bodies at the coming frame [m, 4, 4], from those that the effects before this have,
        and `before`, where the animation had the bodies at the frame shown [m, 4, 4]. Seconds are the frame's length in
        the simulation, shown ones that on the timeline."""
        return places

    def observe(self, run, scene, seconds: float) -> None:
        """After a frame is shown; `run.body` and `run.body_before`: the bodies now and a frame before [m, 4, 4]."""

    def share_at(self, character, frame: int) -> float | None:
        """Factor of the physics blend at a frame that was simulated or is about to be; None: it has no say."""

    def finish(self, run) -> None:
        """When a run ends early: leave nothing that acts."""


class Character:
    """One ragdoll of a run. It holds data-blocks, because finding one by name takes Blender longer the more there are.
    A run ends with any undo, redo or load; one that is deleted meanwhile raises ReferenceError, which ends the run too.
    """

    motion = None  # its motion stack, if it has one
    blend = 1.0  # its own physics blend for the frame to come
    reading: dict | None = None  # what the state graph read of it last, see `records`
    limp = False  # nothing drives some of its bodies
    joints_off = False  # its joints are left out, as a recovery wants
    calm = 0.0  # seconds for which it has been slow throughout, lying on something
    support = 1.0  # share of its weight that something bears

    def __init__(self, obj, begin: int) -> None:
        """Begin its bodies' rows there, and bring its source up to date. Raises RagdollError: see `check_parts`."""
        check_parts(obj)
        source.follow(obj)
        settings, parts, index = obj.active_ragdoll, obj.active_ragdoll.parts, obj.data.bones.keys()
        self.obj, self.name, self.height, self.built_scale = obj, obj.name, settings.height, settings.built_scale
        self.source, self.physics = settings.source, settings.physics_armature
        self.bodies, self.targets = settings.bodies, settings.targets  # collections
        self.bone_names: list[str] = [part.bone for part in parts]
        if missing := [name for name in self.bone_names if name not in index]:
            raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
        self.shown_bones = self.bone_names + source.followers(obj)  # that the physics blend is of
        self.rows = slice(begin, begin + len(parts))  # of its bodies in the run's arrays
        self.bones = np.array([index.index(name) for name in self.bone_names])  # of the bodies in the pose [m]
        self.offsets = np.array([part.offset for part in parts]).reshape(-1, 4, 4)  # bone frame to body frame
        self.turns = np.array([obj.pose.bones[n].active_ragdoll.joint_rotation for n in self.bone_names], dtype=float)
        self.buffer = np.empty(len(obj.pose.bones) * 16, dtype=np.float32)  # for the pose matrices of all its bones
        self.mass = float(np.array([part.body.rigid_body.mass for part in parts]).sum())  # of all its bodies [kg]
        self.lengths: list[int] = []  # of the lists of its settings when these were last read
        keyed = at_frame.is_keyed(obj)
        self.keyed = keyed and not settings.muted  # its settings are animated and must be read on every frame
        # Its own physics blend by frame, where it is keyed.
        self.blends: dict | None = {} if keyed and at_frame.is_keyed(obj, "physics_blend") else None

    @cached_property
    def radii(self) -> np.ndarray:
        """Half of the middle extent of each of its bodies [m]."""
        return np.array([sorted(body.dimensions)[1] / 2.0 for body in self.bodies.objects])

    @cached_property
    def strengths(self) -> tuple:
        """Largest torques [m] and forces [m] of a human's joints, scaled to the character."""
        known = [bone.active_ragdoll.role for bone in self.obj.pose.bones]  # as of the build: to recognise takes long
        torque, force = human.human_strengths(known, bone_parents(self.obj), self.mass, self.height)
        return torque[self.bones], force[self.bones]


class Run:
    """The simulation of a scene's shot, from its first frame on. Its arrays have one row for each body, character after
    character. A baked character takes part with kinematic bodies, so that props still meet it."""

    # Masks of bodies [m], as are those of `MASKS`:
    limp: np.ndarray  # body mode LIMP
    kinematic_by_user: np.ndarray  # body mode KINEMATIC, or its character is baked
    kinematic_by_effect: np.ndarray  # as effects state
    kinematic: np.ndarray  # kinematic for whatever reason
    undriven: np.ndarray  # dynamic, with weights of 0
    calm: np.ndarray  # has come to lie nearly still

    handedness: np.ndarray | None = None  # -1 for bones that are mirrored, else 1 [m, 1]
    from_posed: np.ndarray | None = None  # `offsets` from frames that are mirrored where their bones are [m, 4, 4]
    weighed: tuple | None = None  # what `weights` gave when the drives were last prepared
    reach: tuple | None = None  # of the drives [m] [rad], and traces of such rotations [m]; None where all are free
    wanted: np.ndarray | None = None  # where the animation has the bodies at the frame to come, rigid [m, 4, 4]
    command: np.ndarray | None = None  # where the targets are put [m, 4, 4]
    body: np.ndarray | None = None  # where the bodies stood after the last frame [m, 4, 4]
    body_before: np.ndarray | None = None  # and after the one before
    moved: tuple | None = None  # the ways of the bodies over the last frame [m, 3] [m], and its seconds

    source_graph: bpy.types.Depsgraph | None = None  # the hidden scene's
    settings_dirty = True  # a setting was edited: read them again on the next step
    modes_dirty = True  # one of the masks that `kinematic` sums up has changed
    gains_dirty = True  # something that the drives depend on has changed
    limited = False  # a force or torque has a limit
    calls: dict[str, list]  # methods of the effects by name, without those of `Effect`, which do nothing
    any_kinematic = any_limp = False
    any_struck = any_waiting = False
    kept: tuple = 0.0, None  # seconds of a frame, and `mass_of_each` times what drag leaves of speeds in it [c, m]
    observed: int | None = None  # last frame after which the bodies were read

    def __init__(self, scene, first: int) -> None:
        """Begin at a frame. Raises RagdollError: a ragdoll is not whole any more; names what is missing."""
        self.first = first
        self.frame: int | None = first  # the last one stepped, None after a jump
        self.reached = first - 1  # last frame whose result stands in the cache
        self.graph = view_layers.depsgraph_of(scene)  # the scene's dependency graph at this frame
        self.effects: dict[str, Effect] = {}  # what acts beside the drives, in order, by class in small letters
        self.in_fields: list[str] = []  # names of the scene's force fields
        self.held: dict = {}  # the scene's other bodies that wait for the first frame, and their places
        # Seconds spent per frame in our own Python and in evaluating the source scene, for reports.
        self.seconds: dict = {"own": [], "source": []}
        self.source_seconds = 0.0  # of the frame that is being stepped
        self.characters: list[Character] = []
        for obj in built.ragdolls(scene):
            self.characters.append(Character(obj, self.characters[-1].rows.stop if self.characters else 0))
        if not self.characters:
            raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate")
        parts = [part for character in self.characters for part in character.obj.active_ragdoll.parts]
        bodies, count = [part.body.rigid_body for part in parts], len(parts)
        counts = [len(character.bones) for character in self.characters]
        for name in ("limp", "kinematic_by_user", "kinematic_by_effect", "kinematic", "calm", *MASKS):
            setattr(self, name, np.zeros(count, dtype=bool))
        self.supported = np.ones(count, dtype=bool)  # mask: something bears its character
        in_joints = [character.obj.active_ragdoll.drive_space == "JOINT" for character in self.characters]
        # Masks: the settings want it driven at its joint and not from the world; the same unless an effect does.
        self.in_joints = self.joint_space = np.repeat(in_joints, counts)
        self.masses = np.array([body.mass for body in bodies])  # [m] [kg]
        self.mass_of_each = np.repeat(np.eye(len(counts)), counts, axis=1) * self.masses  # by characters [c, m] [kg]
        self.inertia = np.array([part.inertia for part in parts])  # [m] [kg m^2], see `servo.carried_inertia`
        moments = np.array([part.moments for part in parts], dtype=float)
        # The same about each of the body's axes [m, 3]; files of 0.1.0 have none.
        self.moments = np.where(moments > 0.0, moments, self.inertia[:, None])
        # Of what the joint carries, about the joint [m] [m].
        self.gyration_radius = np.sqrt(self.inertia / np.maximum(self.masses, 1e-12))
        # Linear and angular, as the bodies' settings say [m, 2].
        self.own_damping = np.array([(body.linear_damping, body.angular_damping) for body in bodies])
        self.offsets = np.concatenate([c.offsets for c in self.characters])  # bone frame to body frame [m, 4, 4]
        of_each = [(built.parents_of(c.obj.active_ragdoll.parts), c.rows.start) for c in self.characters]
        self.parents = np.concatenate([np.where(rows < 0, -1, rows + begin) for rows, begin in of_each])  # [m], or -1
        bind, turns = np.array([part.bind for part in parts]), np.concatenate([c.turns for c in self.characters])
        frames = limits.frames_in_bodies(bind, self.offsets, turns, self.parents)
        self.joint_drives = motors.gather_motors(self.characters, self.parents, frames)
        # Of the joints in the bodies and in their parents [2, m, 4, 1], and how far they may part [m] [m].
        self.pivots = np.array(frames)[..., 3:]
        heights = np.repeat([c.height for c in self.characters], counts)
        self.slack = np.where(self.parents < 0, np.inf, SLACK * heights)
        self.farthest = np.maximum(FASTEST * heights, FALLING)[:, None] / 24.0  # how far a frame may take one [m, 1]
        self.surely_near = float(self.farthest.min()) ** 2  # squared way that is none too far for any body [m^2]
        # For the bodies' matrices, with the axes as columns [m, 16].
        self.buffer = np.empty((count, 16), dtype=np.float32)
        self.gains = np.full((count, 11), np.nan)  # of the drives, as last written; the first step writes them all
        self.distance = np.zeros(count)  # from body to command in the frame before [m] [m]
        self.drive = np.zeros(count, dtype=int)  # place of the body's law in `drives.LAWS`
        # Names among `numbers` of the bones' settings that are numbers and can be keyed, and belong to no drive.
        drives_own, properties = declare.names(DriveFactors), ActiveRagdollBone.bl_rna.properties
        keyed = [name for name in declare.names(ActiveRagdollBone, keyed=True) if name not in drives_own]
        self.bone_numbers = [name for name in keyed if properties[name].type == "FLOAT"]
        names = *self.bone_numbers, *(parameter.name for parameter in drives.parameters())
        # The bones' settings that can be keyed, and the drives' parameters, at the frame to come, by name [m]. A
        # setting of the same name of the character is multiplied in.
        self.numbers = {name: np.zeros(count) for name in names}

    def effect(self, name: str) -> Effect:
        """The effect of a class, by its name in small letters: who looks for it cannot import it."""
        return self.effects[name]

    def take(self, effects: list[Effect]) -> None:
        """Let effects act, in their order."""
        self.effects = {type(effect).__name__.lower(): effect for effect in effects}
        self.calls = {
            name: [getattr(each, name) for each in effects if getattr(type(each), name) is not getattr(Effect, name)]
            for name in ("step", "placed", "observe", "share_at")
        }
        self.merge_effects()

    def merge_effects(self) -> None:
        """Merge what the effects state, if it has changed."""
        if True not in [effect.changed for effect in self.effects.values()]:
            return
        for name in MASKS:
            setattr(self, name, self._merged(name))
        self.kinematic_by_effect = self._merged("kinematic")
        self.any_struck, self.any_waiting = bool(self.struck.any()), bool(self.waiting.any())
        self.joint_space = self.in_joints & ~self._merged("driven_in_world")
        self.gains_dirty = self.modes_dirty = True
        for effect in self.effects.values():
            effect.changed = False

    def _merged(self, name: str) -> np.ndarray:
        """Mask of the bodies [m] for which any effect sets a certain mask."""
        masks = [getattr(effect, name) for effect in self.effects.values()]
        return np.any([np.zeros(len(self.masses), dtype=bool), *(mask for mask in masks if mask is not None)], axis=0)

    def weights(self) -> tuple:
        """Rotation and translation weights with all factors [m]; 0 where nothing drives."""
        weights = np.stack([self.numbers["rotation_weight"], self.numbers["translation_weight"]])
        weights *= np.where(self.limp | self.kinematic, 0.0, 1.0)
        for effect in self.effects.values():
            if effect.factor is not None:
                weights *= effect.factor
        return weights[0], weights[1]

    def shares_at(self, character, frame: int) -> list[float]:
        """Factors of a character's physics blend at such a frame, of the effects that have a say."""
        found = [share_at(character, frame) for share_at in self.calls["share_at"]]
        return [share for share in found if share is not None]

    def shows(self, frame: int) -> bool:
        """Whether the frame is simulated."""
        return self.first <= frame <= self.reached


def active_ragdolls(scene) -> list:
    """Characters whose ragdoll is to be simulated."""
    return [obj for obj in built.ragdolls(scene) if not obj.active_ragdoll.muted]


def name_of(run: Run, row: int) -> str:
    """What messages call the bone of a row."""
    own = next(character for character in run.characters if row < character.rows.stop)
    return f"bone '{own.bone_names[row - own.rows.start]}' of '{own.name}'"


def with_other_bones(run: Run | None, scene) -> str:
    """The name of a character whose bones are not those that its bodies were built for, or its run has begun with; ""
    where there is none."""
    if run is None:
        known = [(o, len(o.data.bones), [part.bone for part in o.active_ragdoll.parts]) for o in built.ragdolls(scene)]
    else:  # looking for characters and their parts takes too long for every frame
        known = [(c.obj, len(c.buffer) // 16, c.bone_names) for c in run.characters]
    for obj, count, names in known:
        with contextlib.suppress(ReferenceError):  # it was deleted, as the next step tells
            if len(obj.data.bones) != count or any(name not in obj.data.bones for name in names):
                return obj.name
    return ""


def check_numbers(run: Run, character, blend: float) -> None:
    """Raises RagdollError naming a setting of a character, and the bone, that is not a number."""
    if not np.isfinite(blend):
        raise RagdollError(f"The physics blend of '{character.name}' is not a number")
    for name, numbers in run.numbers.items():
        values = numbers[character.rows]
        if not np.isfinite(values).all():
            bone = character.bone_names[int(np.argmin(np.isfinite(values)))]
            what = name.replace("_", " ")
            raise RagdollError(f"The {what} of bone '{bone}' of '{character.name}' is not a number")


def check_parts(obj) -> None:
    """Raises RagdollError naming the helper, and its bone, that a character's ragdoll lacks."""
    settings, parts, anew = obj.active_ragdoll, obj.active_ragdoll.parts, "build the ragdoll anew"
    check_record(obj)
    for part in parts:
        for kind in ("body", "target", "anchor"):
            helper = getattr(part, kind)
            if helper is None or helper.name not in settings.scene.objects:
                raise RagdollError(f"The {kind} of bone '{part.bone}' of '{obj.name}' was deleted: {anew}")
        if part.body.rigid_body is None or part.target.rigid_body is None:
            raise RagdollError(f"The body of bone '{part.bone}' of '{obj.name}' is no rigid body: {anew}")
        if not {motor.get(built.NUMBER) for motor in part.motors} <= set(range(len(joint_motors.MOTORS))):
            raise RagdollError(f"The motors of bone '{part.bone}' of '{obj.name}' are damaged: {anew}")
    physics = settings.physics_armature
    if physics is None or physics.name not in settings.scene.objects:
        raise RagdollError(f"The physics armature of '{obj.name}' was deleted: {anew}")
    if len(built.helpers(settings.collection, built.JOINT)) < built.record(settings.collection)["joints"]:
        raise RagdollError(f"A joint of '{obj.name}' was deleted: {anew}")
    if not len(parts) == len(settings.bodies.objects) == len(settings.targets.objects):
        raise RagdollError(f"Helpers of '{obj.name}' were moved out of their collections: {anew}")


def check_members(scene, characters) -> None:
    """Raises RagdollError where the scene's rigid body world lacks bodies or joints of its characters, or where
    one comes and goes in mid-shot, which crashes Blender."""
    own = scene.rigidbody_world
    bodies, joints = (set(c.all_objects) if c is not None else set() for c in (own.collection, own.constraints))
    for obj in characters:
        if at_frame.animates(obj, "hide_viewport"):
            what = f"The visibility of '{obj.name}' in viewports is animated"
            raise RagdollError(f"{what}: animate that of its meshes instead")
        settings = obj.active_ragdoll
        for kind, what, needed, members in (
            ("collection", "body", [body for part in settings.parts for body in (part.body, part.target)], bodies),
            ("constraints", "joint", built.helpers(settings.collection, built.JOINT), joints),
            ("constraints", "motor", built.helpers(settings.collection, built.MOTOR), joints),
            ("constraints", "drive", [part.target for part in settings.parts], joints),
        ):
            lost = next((helper for helper in needed if helper is not None and helper not in members), None)
            if lost is not None:
                raise RagdollError(
                    f"The {what} of bone '{lost.get(built.BONE)}' of '{obj.name}' is not in the {kind} of the rigid "
                    f"body world of scene '{scene.name}': build the ragdoll anew"
                )


def check_evaluated(run: Run, scene) -> None:
    """Raises RagdollError where Blender does not evaluate what a run needs; warns of what is not shown."""
    world, left = scene.rigidbody_world, built.left_over(scene)
    for character in run.characters:
        settings = character.obj.active_ragdoll
        outer = settings.collection
        needed = settings.bodies, settings.targets, world.collection, world.constraints
        for collection, named in zip(needed, (outer, outer, *needed[2:]), strict=True):
            if not collection.evaluated_get(run.graph).is_evaluated:
                what = f"The collection '{named.name}' is excluded from the view layer"
                raise RagdollError(f"{what}: include it (it may be hidden)")
        evaluated = character.source.evaluated_get(run.source_graph)
        check_scale(character.obj, np.array(evaluated.matrix_world, dtype=float))
        if left:
            STATE.warn(character.name, diagnosis.left_over(left)[0].text)
        if not view_layers.evaluates(scene, character.obj):
            STATE.warn(character.name, diagnosis.disabled(character.name).text)


def check_size(character, place: np.ndarray, frame: int, by_hand: bool = False) -> None:
    """Raises RagdollError where a character stands at a place [4, 4] with another size than its bodies were built with,
    or, with `by_hand`, was scaled by hand in mid-shot."""
    size, built = math.hypot(*place[:3, 0].tolist()), character.built_scale
    if abs(size - built) > UNIFORM_TOLERANCE * built:
        what = f"'{character.name}' has the scale {size:.4g} at frame {frame}, but its bodies were built at {built:.4g}"
        raise RagdollError(f"{what}: build the ragdoll anew, and do not scale it within a shot")
    now, then = (character.obj.scale.length, character.source.scale.length) if by_hand else (0.0, 0.0)
    if abs(now - then) > UNIFORM_TOLERANCE * then:
        what = f"'{character.name}' was scaled by {now / then:.4g} before frame {frame}"
        raise RagdollError(f"{what}: scale it back, or build the ragdoll anew")
