"""What a run of a shot is made of: its characters, one row per body in every array, and what must hold to run them."""

from dataclasses import dataclass, field

import bpy
import numpy as np

from ..errors import RagdollError
from ..ragdoll import strengths
from . import action_channels, dislocations, hits, joint_drives, recognition, source, source_edits
from .armature import UNIFORM_TOLERANCE, check_scale
from .remove import ragdolls

NUMBERS = ("rotation_weight", "translation_weight", "max_torque", "max_force", "frequency", "damping_ratio")
FASTEST = 2000.0  # [m/s per metre of height]: beyond it something has come apart


@dataclass
class Character:
    """One ragdoll of a run.

    It holds data-blocks, because finding one by name takes Blender longer the more there are. A run ends with any undo,
    redo or load; one that is deleted meanwhile raises ReferenceError, which ends the run too.

    Attributes:
        name: of the character object.
        rows: slice of its bodies in the run's arrays.
        bones: index of each body's bone in the pose [m].
        offsets: bone frame to body frame [m, 4, 4].
        strengths: largest torques and forces of its bodies [m], where a human's are asked for.
        motion: its motion stack, if it has one.
        switched_off: whether its joints are left out, as a recovery wants.
        calm: seconds for which it has been slow throughout.
        keyed: its settings are animated and must be read on every frame.
        blend: its own physics blend; share: what a recovery leaves of it; both for the frame to come.
        blends: its own physics blend by frame, where it is keyed.
    """

    name: str
    obj: bpy.types.Object
    source: bpy.types.Object
    physics: bpy.types.Object
    bodies: bpy.types.Collection
    targets: bpy.types.Collection
    rows: slice
    bone_names: list
    bones: np.ndarray
    offsets: np.ndarray
    buffer: np.ndarray
    height: float
    built_scale: float
    motion: object = None
    strengths: tuple | None = None
    keyed: bool = False
    blends: dict | None = None
    blend: float = 1.0
    share: float = 1.0
    switched_off: bool = False
    calm: float = 0.0


@dataclass
class Run:
    """The simulation of a scene's shot, from its first frame on.

    Attributes:
        first, frame: first frame and the last one stepped.
        observed: last frame after which the bodies were read.
        reached: last frame whose result stands in the cache.
        graph: the dependency graph of this frame.
        factors: by what reacts (a hit, recovery), what the weights are multiplied with [m], or those of rotation and
            of translation apart [2, m].
        recoveries: by character.
        dislocations: bodies that are led back because their joints were thrown over their limits.
        off: bodies of characters that a recovery has switched off: they ride the animation [m].
        riding: bodies that are told to be kinematic [m]; kinematic: all that are.
        body, body_before: where the bodies stood after the last frame and the one before [m, 4, 4].
        settings_dirty: a setting was edited; read them again on the next step.
        stacked: the scene's characters that have a motion stack; None: look for them again.
        hits: what the hits of each character do; see `hits`.
        attachments: what holds bodies at something; see `attachments`.
        seconds: time spent per frame in our own Python and in evaluating the source scene, for reports.
    """

    scene_name: str
    first: int
    frame: int
    reached: int
    characters: list
    graph: bpy.types.Depsgraph
    settings_dirty: bool = True
    stacked: list | None = None
    observed: int | None = None
    held: list = field(default_factory=list)
    factors: dict = field(default_factory=dict)
    hits: list = field(default_factory=list)
    attachments: list = field(default_factory=list)
    recoveries: dict = field(default_factory=dict)
    seconds: dict = field(default_factory=lambda: {"own": [], "source": []})

    @property
    def names(self) -> list[str]:
        """Of its characters."""
        return [character.name for character in self.characters]

    def set_factor(self, cause: str, factor) -> None:
        """Multiply all weights by factor [m] from the next step on, beside the factors of other causes."""
        before = self.factors.get(cause, 1.0)
        if np.any(factor != before):
            self.factors[cause] = np.array(factor, dtype=float)
            self.gains_dirty = True

    def weights(self) -> tuple:
        """Rotation and translation weights of all bodies with all factors [m]; 0 where nothing drives."""
        weights = np.stack([self.rotation_weight, self.translation_weight])
        weights *= np.where(self.limp | self.kinematic, 0.0, 1.0)
        for factor in self.factors.values():
            weights *= factor
        return weights[0], weights[1]

    def impulse_on(self, character, frame: int) -> float:
        """Sum of the sizes of the hits that act on a character in the step from a frame to the next [N s]."""
        return hits.impulse_on(self, character, frame)

    def shows(self, frame: int) -> bool:
        """Whether the frame is simulated."""
        return self.first <= frame <= self.reached


def depsgraph_of(scene):
    """The dependency graph that steps the scene: of the view layer shown in a window, else of the first one."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        if window.scene == scene and window.view_layer.depsgraph is not None:
            return window.view_layer.depsgraph
    return scene.view_layers[0].depsgraph


def active_ragdolls(scene) -> list:
    """Characters whose ragdoll is to be simulated."""
    return [obj for obj in ragdolls(scene) if not obj.active_ragdoll.muted]


def name_of(run: Run, row: int) -> str:
    for character in run.characters:
        if character.rows.start <= row < character.rows.stop:
            return f"bone '{character.bone_names[row - character.rows.start]}' of '{character.name}'"
    return "?"


def gather(run: Run, scene) -> None:
    begin = 0
    for obj in ragdolls(scene):  # a baked character takes part as a kinematic one: props still meet it
        settings = obj.active_ragdoll
        _check_parts(obj)
        signature = source.signature(obj)
        known = _known_signatures.get(obj.name)
        if known is None and settings.source is not None:
            known = source.signature(settings.source)
        if settings.source is None or known != signature:
            source.refresh(obj)
        else:
            source_edits.carry(obj)
        _known_signatures[obj.name] = signature
        names, keyed = [part.bone for part in settings.parts], is_keyed(obj)
        index = {bone.name: i for i, bone in enumerate(obj.data.bones)}
        missing = [name for name in names if name not in index]
        if missing:
            raise RagdollError(f"Bone '{missing[0]}' of '{obj.name}' is gone or renamed: build the ragdoll anew")
        run.characters.append(
            Character(
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
                built_scale=settings.built_scale,
                keyed=keyed and not settings.muted,
                blends={} if keyed and is_keyed(obj, "physics_blend") else None,
            )
        )
        begin += len(names)
    if not run.characters:
        raise RagdollError(f"Scene '{scene.name}' has no ragdoll to simulate")
    parts = [p for c in run.characters for p in c.obj.active_ragdoll.parts]
    run.masses = np.array([part.body.rigid_body.mass for part in parts])
    run.inertia = np.array([part.inertia for part in parts])
    for name in ("kinematic", "riding", "off"):
        setattr(run, name, np.zeros(begin, dtype=bool))
    run.own_damping = np.array([(p.body.rigid_body.linear_damping, p.body.rigid_body.angular_damping) for p in parts])
    run.gains = np.full((begin, 7), np.nan)  # unlike anything: the first step writes them all
    run.distance = np.zeros(begin)
    run.arms = np.sqrt(run.inertia / np.maximum(run.masses, 1e-12))  # how far out the masses are that gravity turns
    run.gains_dirty = True
    run.limited = run.any_kinematic = False
    run.offsets = np.concatenate([c.offsets for c in run.characters])
    run.farthest = np.concatenate([np.full((len(c.bones), 1), FASTEST * c.height / 24.0) for c in run.characters])
    for name in NUMBERS:
        setattr(run, name, np.zeros(begin))
    run.limp, run.spring = np.zeros(begin, dtype=bool), np.zeros(begin, dtype=bool)
    run.joint_drives = joint_drives.gather(run.characters)
    run.calm = np.zeros(begin, dtype=bool)
    run.in_joints = run.joint_space = joint_drives.held(run)
    run.dislocations = dislocations.Dislocations(begin)


def has_other_bones(run: Run | None, obj) -> bool:
    """Whether a character's bones are not those that its bodies were built for, or its run has begun with."""
    bones = obj.data.bones
    if any(part.bone not in bones for part in obj.active_ragdoll.parts):
        return True
    found = next((c for c in run.characters if c.obj == obj), None) if run is not None else None
    return found is not None and len(found.buffer) != 16 * len(bones)


def check_numbers(run: Run, character, blend: float) -> None:
    """Raises RagdollError naming a setting of a character, and the bone, that is not a number."""
    if not np.isfinite(blend):
        raise RagdollError(f"The physics blend of '{character.name}' is not a number")
    for name in NUMBERS:
        values = getattr(run, name)[character.rows]
        if not np.isfinite(values).all():
            bone = character.bone_names[int(np.argmin(np.isfinite(values)))]
            what = name.replace("_", " ")
            raise RagdollError(f"The {what} of bone '{bone}' of '{character.name}' is not a number")


def strengths_of(obj) -> tuple:
    """Largest torques [m] and forces [m] of a human's joints, scaled to the character."""
    settings = obj.active_ragdoll
    anatomy = recognition.anatomy_of(obj)
    bones = [obj.data.bones.find(part.bone) for part in settings.parts]
    parents = np.array([obj.data.bones.find(b.parent.name) if b.parent else -1 for b in obj.data.bones])
    mass = sum(part.body.rigid_body.mass for part in settings.parts)
    torque, force = strengths.human_strengths(anatomy, parents, mass, settings.height)
    return torque[bones], force[bones]


_known_signatures: dict = {}


def forget() -> None:
    """Forget what was known of the characters, as after loading a file."""
    _known_signatures.clear()


def _check_parts(obj) -> None:
    settings = obj.active_ragdoll
    for part in settings.parts:
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
    physics = settings.physics_armature
    if physics is None or physics.name not in settings.scene.objects:
        raise RagdollError(f"The physics armature of '{obj.name}' was deleted: build the ragdoll anew")
    inside = {len(settings.parts), len(settings.bodies.objects), len(settings.targets.objects)}
    if len(inside) != 1:
        raise RagdollError(f"Helpers of '{obj.name}' were moved out of their collections: build the ragdoll anew")


def check_evaluated(run: Run, scene) -> None:
    graph = run.graph
    rigid_bodies = scene.rigidbody_world
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
        check_scale(settings.source, np.array(evaluated.matrix_world, dtype=float))


def check_size(character, place: np.ndarray, frame: int) -> None:
    """Bodies keep the size that they were built with."""
    size, built = float(np.linalg.norm(place[:3, 0])), character.built_scale
    if abs(size - built) > UNIFORM_TOLERANCE * built:
        raise RagdollError(
            f"'{character.name}' has the scale {size:.4g} at frame {frame}, but its bodies were built at {built:.4g}: "
            "build the ragdoll anew, and do not scale it within a shot"
        )


def check_not_scaled(character, frame: int) -> None:
    """By hand, in mid-shot: what is shown would be of another size than the bodies, and the next run is refused."""
    now, then = character.obj.scale.length, character.source.scale.length
    if abs(now - then) > UNIFORM_TOLERANCE * then:
        raise RagdollError(
            f"'{character.name}' was scaled by {now / then:.4g} before frame {frame}: scale it back, or build the "
            "ragdoll anew"
        )


def is_keyed(obj, setting: str = "") -> bool:
    """Whether any of a character's settings, or a certain one of the object's, is animated or driven."""
    data = obj.animation_data
    if data is None:
        return False
    path = f"active_ragdoll.{setting}" if setting else "active_ragdoll"
    if any(path in driver.data_path for driver in data.drivers):
        return True
    played = action_channels.played(data)
    if setting:
        return any(action_channels.animates(action, path) for action in played)
    return any(path in curve.data_path for action in played for curve in action_channels.all_fcurves(action))
