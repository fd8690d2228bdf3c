"""What a run of a shot is made of: its characters, one row per body in every array, what acts in it beside the drives,
and what must hold to run it."""

import contextlib
import math
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...anatomy import masses as human
from ...errors import RagdollError
from ...ragdoll import diagnosis, drives
from ...ragdoll.drives import joint_motors
from ..physics import built, motors, source, view_layers
from ..physics.built import ragdolls
from ..physics.motors import JointDrives
from ..physics.view_layers import depsgraph_of
from ..rig.armature import UNIFORM_TOLERANCE, anatomy_of, bone_parents, check_record, check_scale
from ..runtime import STATE
from ..settings import at_frame, declare
from ..settings.bone import ActiveRagdollBone, DriveFactors

FASTEST = 2000.0  # [m/s per metre of height]: beyond it something has come apart
FALLING = 100.0  # [m/s] the tiniest thing comes to by falling: a character of 5 cm and less is given that


class Effect:
    """What acts beside the drives (hits, attachments, recoveries ..), one kind of it, for all characters of a run.

    A run calls its effects in the order of `pipeline.EFFECTS` and merges what they state; no effect writes to the run.
    What one states is None as long as it states nothing.
    """

    name = ""  # other modules find it in a run by this name
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
        self.shares: dict[str, float] = {}  # factors of the physics blend, by the character's name

    def state(self, **values) -> None:
        """Set attributes, and `changed` if any of them differs from before."""
        for name, value in values.items():
            known = getattr(self, name)
            if known is None or np.any(value != known):
                setattr(self, name, value)
                self.changed = True

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings of a character for the frame to come.

        Args:
            settings: of the object; of its source if any are keyed.
            edited: whether they were edited since they were last read.
        Raises:
            RagdollError: one is invalid; then what was read before must stay.
        """

    def before_joints(self, run, scene, bind) -> None:
        """In the warm-up, when Bullet makes the joints: act on nothing. bind: matrices of the bodies [m, 4, 4]."""

    def after_joints(self, run) -> None:
        """One frame after `before_joints`: the joints have been made."""

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Before the step into the frame about to be shown. seconds: length of the step in the simulation."""

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Places of the kinematic bodies at the coming frame [m, 4, 4].

        Args:
            before: where the animation had the bodies at the frame shown [m, 4, 4].
            places: as the effects before this one have them.
            seconds, shown_seconds: length of the frame in the simulation and on the timeline.
        """
        return places

    def observe(self, run, scene, seconds: float) -> None:
        """After a frame is shown; `run.body` and `run.body_before`: the bodies now and a frame before [m, 4, 4]."""

    def share_at(self, character, frame: int) -> float:
        """Factor of the physics blend at a frame that was simulated."""
        return 1.0

    def finish(self, run) -> None:
        """When a run ends early: leave nothing that acts."""


@dataclass
class Character:
    """One ragdoll of a run.

    It holds data-blocks, because finding one by name takes Blender longer the more there are. A run ends with any undo,
    redo or load; one that is deleted meanwhile raises ReferenceError, which ends the run too.
    """

    name: str  # of the character object
    obj: bpy.types.Object
    source: bpy.types.Object
    physics: bpy.types.Object
    bodies: bpy.types.Collection
    targets: bpy.types.Collection
    rows: slice  # of its bodies in the run's arrays
    bone_names: list
    bones: np.ndarray  # index of each body's bone in the pose [m]
    offsets: np.ndarray  # bone frame to body frame [m, 4, 4]
    buffer: np.ndarray  # for the pose matrices of all its bones
    height: float
    mass: float  # of all its bodies [kg]
    built_scale: float
    motion: object = None  # its motion stack, if it has one
    strengths: tuple | None = None  # largest torques and forces of its bodies [m], where a human's are asked for
    lengths: list = field(default_factory=list)  # of the lists of its settings when these were last read
    keyed: bool = False  # its settings are animated and must be read on every frame
    blends: dict | None = None  # its own physics blend by frame, where it is keyed
    blend: float = 1.0  # its own physics blend for the frame to come
    reading: dict | None = None  # what the state graph read of it last, see `records`
    joints_off: bool = False  # its joints are left out, as a recovery wants
    calm: float = 0.0  # seconds for which it has been slow throughout, lying on something
    support: float = 1.0  # share of its weight that something bears


@dataclass
class Bodies:
    """What a run knows of its bodies: one row each, character after character. Masks are boolean arrays [m]."""

    masses: np.ndarray  # [m] [kg]
    inertia: np.ndarray  # [m] [kg m^2], see `servo.carried_inertia`
    moments: np.ndarray  # the same about each of the body's axes [m, 3]
    gyration_radius: np.ndarray  # of what the joint carries, about the joint [m] [m]
    own_damping: np.ndarray  # linear and angular, as the bodies' settings say [m, 2]
    offsets: np.ndarray  # bone frame to body frame [m, 4, 4]
    farthest: np.ndarray  # how far a body may move in a frame along an axis [m, 1] [m]
    surely_near: float  # squared way in a frame that is none too far for any body [m^2]
    buffer: np.ndarray  # for their matrices, with the axes as columns, in single precision [m, 16]
    in_joints: np.ndarray  # mask: the settings want it driven at its joint and not from the world
    joint_space: np.ndarray  # mask: the same, unless an effect wants it driven from the world
    # The bones' settings that can be keyed, and the drives' parameters, at the frame to come, by name [m]. A setting of
    # the same name of the character is multiplied in.
    numbers: dict
    drive: np.ndarray  # place of the body's law in `drives.LAWS`
    limp: np.ndarray  # mask: body mode LIMP
    kinematic_by_user: np.ndarray  # mask: body mode KINEMATIC, or its character is baked
    kinematic_by_effect: np.ndarray  # masks that effects state, see `Effect`
    switched_off: np.ndarray
    awake: np.ndarray
    struck: np.ndarray
    waiting: np.ndarray
    kinematic: np.ndarray  # mask: kinematic for whatever reason
    calm: np.ndarray  # mask: has come to lie nearly still
    supported: np.ndarray  # mask: something bears its character
    gains: np.ndarray  # of the drives, as last written [m, 11]
    distance: np.ndarray  # from body to command in the frame before [m] [m]
    handedness: np.ndarray | None = None  # -1 for bones that are mirrored, else 1 [m, 1]
    reach: np.ndarray | None = None  # of the drives [m] [rad]
    reach_trace: np.ndarray | None = None  # trace of rotations by `reach` [m]
    wanted: np.ndarray | None = None  # where the animation has the bodies at the frame to come, rigid [m, 4, 4]
    command: np.ndarray | None = None  # where the targets are put [m, 4, 4]
    body: np.ndarray | None = None  # where the bodies stood after the last frame [m, 4, 4]
    body_before: np.ndarray | None = None  # and after the one before
    moved: np.ndarray | None = None  # from there to here [m, 3] [m]
    moved_squares: np.ndarray | None = None  # squared lengths of that [m]
    wanted_trace: np.ndarray | None = None  # trace of the rotation from `body` to `wanted` [m]
    velocity: np.ndarray | None = None  # over the last frame [m, 3] [m/s]


@dataclass(kw_only=True)
class Run(Bodies):
    """The simulation of a scene's shot, from its first frame on."""

    first: int  # frame
    frame: int | None  # the last one stepped, None after a jump
    reached: int  # last frame whose result stands in the cache
    characters: list
    bone_numbers: list  # names of the bones' own among `numbers`
    graph: bpy.types.Depsgraph  # the scene's dependency graph at this frame
    source_graph: bpy.types.Depsgraph | None = None  # the hidden scene's
    effects: list[Effect] = field(default_factory=list)  # what acts beside the drives, in order
    joint_drives: JointDrives | None = None  # the motors, where a character has them
    settings_dirty: bool = True  # a setting was edited: read them again on the next step
    modes_dirty: bool = True  # one of the masks that `kinematic` sums up has changed
    gains_dirty: bool = True  # something that the drives depend on has changed
    limited: bool = False  # a force or torque has a limit
    any_kinematic: bool = False
    any_struck: bool = False
    observed: int | None = None  # last frame after which the bodies were read
    in_fields: list = field(default_factory=list)  # names of the scene's force fields
    held: dict = field(default_factory=dict)  # the scene's other bodies that wait for the first frame, and their places
    # Seconds spent per frame in our own Python and in evaluating the source scene, for reports.
    seconds: dict = field(default_factory=lambda: {"own": [], "source": []})

    @property
    def names(self) -> list[str]:
        """The names of its characters."""
        return [character.name for character in self.characters]

    def effect(self, name: str) -> Effect:
        """The effect of a name."""
        return next(effect for effect in self.effects if effect.name == name)

    def merge_effects(self) -> None:
        """Merge what the effects state, if it has changed."""
        if not any(effect.changed for effect in self.effects):
            return
        self.switched_off, self.kinematic_by_effect = self._merged("switched_off"), self._merged("kinematic")
        self.awake, self.struck = self._merged("awake"), self._merged("struck")
        self.waiting = self._merged("waiting")
        self.any_struck = bool(self.struck.any())
        self.joint_space = self.in_joints & ~self._merged("driven_in_world")
        self.gains_dirty = self.modes_dirty = True
        for effect in self.effects:
            effect.changed = False

    def _merged(self, name: str) -> np.ndarray:
        """Mask of the bodies [m] for which any effect sets a certain mask."""
        result = np.zeros(len(self.masses), dtype=bool)
        for mask in (getattr(effect, name) for effect in self.effects):
            if mask is not None:
                result |= mask
        return result

    def weights(self) -> tuple:
        """Rotation and translation weights with all factors [m]; 0 where nothing drives."""
        weights = np.stack([self.numbers["rotation_weight"], self.numbers["translation_weight"]])
        weights *= np.where(self.limp | self.kinematic, 0.0, 1.0)
        for effect in self.effects:
            if effect.factor is not None:
                weights *= effect.factor
        return weights[0], weights[1]

    def shows(self, frame: int) -> bool:
        """Whether the frame is simulated."""
        return self.first <= frame <= self.reached


def bone_numbers() -> list[str]:
    """Names of the bones' settings that are numbers and can be keyed, without those that belong to drives."""
    drives_own, properties = declare.names(DriveFactors), ActiveRagdollBone.bl_rna.properties
    found = declare.names(ActiveRagdollBone, keyed=True)
    return [name for name in found if properties[name].type == "FLOAT" and name not in drives_own]


def active_ragdolls(scene) -> list:
    """Characters whose ragdoll is to be simulated."""
    return [obj for obj in ragdolls(scene) if not obj.active_ragdoll.muted]


def name_of(run: Run, row: int) -> str:
    """What messages call the bone of a row."""
    own = next(character for character in run.characters if row < character.rows.stop)
    return f"bone '{own.bone_names[row - own.rows.start]}' of '{own.name}'"


def make_run(scene, first: int) -> Run:
    """A new run of a scene's characters. A baked one takes part with kinematic bodies, so that props still meet it.

    Raises RagdollError: a ragdoll is not whole any more; names what is missing.
    """
    characters: list[Character] = []
    for obj in ragdolls(scene):
        characters.append(_character(obj, characters[-1].rows.stop if characters else 0))
    if not characters:
        raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate")
    parts = [part for character in characters for part in character.obj.active_ragdoll.parts]
    count = len(parts)
    masses, inertia = np.array([p.body.rigid_body.mass for p in parts]), np.array([p.inertia for p in parts])
    moments = np.array([p.moments for p in parts], dtype=float)
    in_joints = [np.full(len(c.bones), c.obj.active_ragdoll.drive_space == "JOINT") for c in characters]
    in_joints, own_numbers = np.concatenate(in_joints), bone_numbers()
    farthest = [np.full((len(c.bones), 1), max(FASTEST * c.height, FALLING) / 24.0) for c in characters]
    farthest = np.concatenate(farthest)
    masks = ("limp", "kinematic_by_user", "kinematic_by_effect", "kinematic")
    masks += ("switched_off", "awake", "struck", "waiting", "calm")
    return Run(
        first=first,
        frame=first,
        reached=first - 1,
        characters=characters,
        graph=depsgraph_of(scene),
        joint_drives=motors.gather_motors(characters),
        masses=masses,
        inertia=inertia,
        moments=np.where(moments > 0.0, moments, inertia[:, None]),  # files of 0.1.0 have none
        gyration_radius=np.sqrt(inertia / np.maximum(masses, 1e-12)),
        own_damping=np.array([(p.body.rigid_body.linear_damping, p.body.rigid_body.angular_damping) for p in parts]),
        offsets=np.concatenate([c.offsets for c in characters]),
        buffer=np.empty((count, 16), dtype=np.float32),
        farthest=farthest,
        surely_near=float(farthest.min()) ** 2,
        in_joints=in_joints,
        joint_space=in_joints,
        gains=np.full((count, 11), np.nan),  # unlike anything: the first step writes them all
        distance=np.zeros(count),
        drive=np.zeros(count, dtype=int),
        bone_numbers=own_numbers,
        numbers={name: np.zeros(count) for name in (*own_numbers, *(own.name for own in drives.parameters()))},
        supported=np.ones(count, dtype=bool),
        **{name: np.zeros(count, dtype=bool) for name in masks},
    )


def _character(obj, begin: int) -> Character:
    """A character whose bodies' rows begin there; its source is brought up to date."""
    settings = obj.active_ragdoll
    check_parts(obj)
    source.follow(obj)
    names, keyed = [part.bone for part in settings.parts], at_frame.is_keyed(obj)
    index = {bone.name: i for i, bone in enumerate(obj.data.bones)}
    missing = [name for name in names if name not in index]
    if missing:
        raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
    return Character(
        name=obj.name,
        obj=obj,
        source=settings.source,
        physics=settings.physics_armature,
        bodies=settings.bodies,
        targets=settings.targets,
        rows=slice(begin, begin + len(names)),
        bone_names=names,
        bones=np.array([index[name] for name in names]),
        offsets=np.array([part.offset for part in settings.parts]).reshape(-1, 4, 4),
        buffer=np.empty(len(obj.pose.bones) * 16, dtype=np.float32),
        height=settings.height,
        mass=float(np.array([part.body.rigid_body.mass for part in settings.parts]).sum()),
        built_scale=settings.built_scale,
        keyed=keyed and not settings.muted,
        blends={} if keyed and at_frame.is_keyed(obj, "physics_blend") else None,
    )


def with_other_bones(run: Run | None, scene) -> str:
    """The name of a character whose bones are not those that its bodies were built for, or its run has begun with; ""
    where there is none."""
    if run is None:
        known = [
            (obj, len(obj.data.bones), [part.bone for part in obj.active_ragdoll.parts]) for obj in ragdolls(scene)
        ]
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


def strengths_of(obj) -> tuple:
    """Largest torques [m] and forces [m] of a human's joints, scaled to the character."""
    settings, anatomy = obj.active_ragdoll, anatomy_of(obj)
    bones = [obj.data.bones.find(part.bone) for part in settings.parts]
    mass = sum(part.body.rigid_body.mass for part in settings.parts)
    torque, force = human.human_strengths(anatomy, bone_parents(obj), mass, settings.height)
    return torque[bones], force[bones]


def check_parts(obj) -> None:
    """Raises RagdollError naming the helper, and its bone, that a character's ragdoll lacks."""
    settings, parts = obj.active_ragdoll, obj.active_ragdoll.parts
    check_record(obj)
    for part in parts:
        for kind in ("body", "target", "anchor"):
            helper = getattr(part, kind)
            if helper is None or helper.name not in settings.scene.objects:
                raise RagdollError(
                    f"The {kind} of bone '{part.bone}' of '{obj.name}' was deleted: build the ragdoll anew"
                )
        if part.body.rigid_body is None or part.target.rigid_body is None:
            raise RagdollError(
                f"The body of bone '{part.bone}' of '{obj.name}' is no rigid body: build the ragdoll anew"
            )
        if not {motor.get(built.NUMBER) for motor in part.motors} <= set(range(len(joint_motors.MOTORS))):
            raise RagdollError(f"The motors of bone '{part.bone}' of '{obj.name}' are damaged: build the ragdoll anew")
    physics = settings.physics_armature
    if physics is None or physics.name not in settings.scene.objects:
        raise RagdollError(f"The physics armature of '{obj.name}' was deleted: build the ragdoll anew")
    if len(built.helpers(settings.collection, built.JOINT)) < built.record(settings.collection)["joints"]:
        raise RagdollError(f"A joint of '{obj.name}' was deleted: build the ragdoll anew")
    inside = {len(parts), len(settings.bodies.objects), len(settings.targets.objects)}
    if len(inside) != 1:
        raise RagdollError(f"Helpers of '{obj.name}' were moved out of their collections: build the ragdoll anew")


def check_members(scene, characters) -> None:
    """Raises RagdollError where the scene's rigid body world lacks bodies or joints of its characters, or where
    one comes and goes in mid-shot, which crashes Blender."""
    own = scene.rigidbody_world
    bodies, joints = (set(c.all_objects) if c is not None else set() for c in (own.collection, own.constraints))
    for obj in characters:
        if at_frame.animates(obj, "hide_viewport"):
            raise RagdollError(
                f"The visibility of '{obj.name}' in viewports is animated: animate that of its meshes instead"
            )
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
    graph = run.graph
    rigid_bodies = scene.rigidbody_world
    left = built.left_over(scene)
    for character in run.characters:
        settings = character.obj.active_ragdoll
        needed = settings.bodies, settings.targets, rigid_bodies.collection, rigid_bodies.constraints
        for collection in needed:
            if not collection.evaluated_get(graph).is_evaluated:
                outer = settings.collection if collection in needed[:2] else collection
                raise RagdollError(
                    f"The collection '{outer.name}' is excluded from the view layer: include it (it may be hidden)"
                )
        evaluated = character.source.evaluated_get(run.source_graph)
        check_scale(character.obj, np.array(evaluated.matrix_world, dtype=float))
        if left:
            STATE.warn(character.name, diagnosis.left_over(left)[0].text)
        if not view_layers.evaluates(scene, character.obj):
            text = f"'{character.name}' is disabled in viewports or excluded: its physics is simulated, and not shown"
            STATE.warn(character.name, text)


def check_size(character, place: np.ndarray, frame: int, by_hand: bool = False) -> None:
    """Raises RagdollError where a character stands at a place [4, 4] with another size than its bodies were built with.

    Args:
        by_hand: refuse, too, that it was scaled by hand in mid-shot.
    """
    size, built = math.hypot(*place[:3, 0].tolist()), character.built_scale
    if abs(size - built) > UNIFORM_TOLERANCE * built:
        raise RagdollError(
            f"'{character.name}' has the scale {size:.4g} at frame {frame}, but its bodies were built at {built:.4g}: "
            "build the ragdoll anew, and do not scale it within a shot"
        )
    now, then = (character.obj.scale.length, character.source.scale.length) if by_hand else (0.0, 0.0)
    if abs(now - then) > UNIFORM_TOLERANCE * then:
        raise RagdollError(
            f"'{character.name}' was scaled by {now / then:.4g} before frame {frame}: scale it back, or build the "
            "ragdoll anew"
        )
