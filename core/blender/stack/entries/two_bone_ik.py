"""Two-bone IK: limbs whose ends are brought to effectors."""

import bpy
import numpy as np

from ....anatomy.roles import HAND, HUMAN, LEFT, RIGHT, of_role
from ....errors import RagdollError
from ....motion import components as c
from ....motion.components import ModelView
from ....motion.limbs import BEND, BONE, OBJECT, WORLD, TwoBoneIK
from ....motion.stack import Inputs, Rig, vector_to_model
from ....motion.stack import Step as StackStep
from ....ragdoll.hits import LIMBS, strength_left
from ....ragdoll.recovery.transitions import smooth_step
from ...interface import object_fields, props, rows
from ...physics import built, world
from ...rig.armature import anatomy_of
from ...run.records import record_of
from ...settings.declare import STACK, STACK_VALUE, block, choice, flag, number, share, text, vector
from .. import world_reader
from . import ItemStep, ListKind
from .bone_transforms import feet_held, is_held

PLACES = (
    ("WORLD", "World", "In the scene"),
    ("OBJECT", "Armature", "In the armature's space"),
    ("BONE", "Bone", "In the frame of one of the character's bones"),
)
_ENDS = "effector", "pole"  # objects that a limb is led to
# Settings that the solver has by the same names.
_OF_SOLVER = ("allow_stretching", "start_stretch_ratio", "max_stretch_scale", "keep_end_rotation")
POLES = (("BEND", "As It Bends", "The limb keeps the plane that it bends in"), *PLACES)

# A hand that goes to a wound: when it starts and how long it takes [s]; from skin to wrist, of the height; how far
# ahead of the trunk it comes, of the distance of the shoulders
NOTICES, GOES, PALM, AHEAD = 0.12, 0.5, 0.05, 3.0


# Declarations are read as tables.
# fmt: off

class ActiveRagdollTwoBoneIK(bpy.types.PropertyGroup):
    """A limb whose end is brought to an effector."""

    enabled: flag("Enabled", None, True, needs=STACK)
    end_bone: text("End", "Hand or foot: the bone above it is the lower limb, the next one the upper; a bone in two "
        "pieces counts as one", needs=STACK)
    effector: block("Effector", "Object that the end goes to; without one, the location below", needs=STACK)
    effector_target_bone: text("Bone", "Bone of the effector", needs=STACK)
    effector_space: choice("Space", PLACES, "WORLD", "Of the effector's location", needs=STACK)
    effector_bone: text("Bone", "Bone of the character in whose frame the effector's location is", needs=STACK)
    effector_location: vector("Location", None, subtype="TRANSLATION", keyed=True, needs=STACK_VALUE, own_units=True)
    pole: block("Pole", "Object that the middle joint bends to; without one, the location below", needs=STACK)
    pole_target_bone: text("Bone", "Bone of the pole object", needs=STACK)
    pole_space: choice("Pole", POLES, "BEND", "Space of the pole's location", needs=STACK)
    pole_bone: text("Bone", "Bone of the character in whose frame the pole's location is", needs=STACK)
    pole_location: vector("Location", None, subtype="TRANSLATION", keyed=True, needs=STACK_VALUE, own_units=True)
    allow_stretching: flag("Stretch", "Both bones grow when the effector is far away, those that are connected also in "
        "width", needs=STACK)
    start_stretch_ratio: number("Start", "Share of the reach from which on the limb grows", 1.0, min=0.001,
        soft_max=1.0, max=100.0, needs=STACK)
    max_stretch_scale: number("Largest Scale", "Of both bones", 1.2, min=1.0, soft_max=2.0, max=100.0, needs=STACK)
    keep_end_rotation: flag("Keep End Rotation", "The end keeps its rotation in the armature; else it follows the "
        "lower limb", True, needs=STACK)
    weight: share("Weight", keyed=True, needs=STACK_VALUE)
    marks_reference: feet_held()

# fmt: on


class Step(ItemStep):
    """One limb."""

    def make(self, rig, item):
        for other in (item.effector, item.pole):
            if other is not None:
                world_reader.follow(self.obj, other)
        self._given = {what: getattr(item, what) is not None for what in _ENDS}
        own = {name: getattr(item, name) for name in _OF_SOLVER}
        for what, given in self._given.items():
            space = WORLD if given else getattr(item, f"{what}_space")
            bone = rig.bone(self.name, getattr(item, f"{what}_bone")) if space == BONE else -1
            own |= {f"{what}_space": space, f"{what}_bone": bone}
        self.solver = TwoBoneIK(rig, rig.bone(self.name, item.end_bone), self.name, **own)
        # Where Blender keeps one of the limb's bones at its parent's tail:
        self.solver.connected = any(is_held(self.obj, rig.name(bone)) for bones in self.solver.below for bone in bones)

    def read(self, reader, _pose) -> Inputs | None:
        now = self.now(reader)
        if now.weight <= 0.0:
            return None
        own, places = self.item, {what: getattr(now, f"{what}_location")[:] for what in _ENDS}
        for what in (what for what in _ENDS if self._given[what]):
            bone = getattr(own, f"{what}_target_bone")
            places[what] = reader.point(f"{self.name}, {what}", getattr(own, what), bone)
        return Inputs(weight=now.weight, world=reader.world, target=places["effector"], pole=places["pole"])


class ToWounds(StackStep):
    """Hands that go to where hits hurt; of an arm, to its upper part, which hardly swings."""

    name = "Hand to the Wound"

    def __init__(self, obj, rig: Rig) -> None:
        self.obj, anatomy, self._arms = obj, anatomy_of(obj), []
        bones = list(zip(obj.data.bones.keys(), anatomy.roles, anatomy.sides, strict=True))
        more = {"effector_space": OBJECT, "pole_space": BEND, "keep_end_rotation": False}
        for side in (RIGHT, LEFT) if anatomy.kind == HUMAN else ():
            own = {name for name, role, its in bones if role in LIMBS[0] and its == side}
            ends = rig.skeleton.from_level[of_role(anatomy, HAND, side)[:1]]
            self._arms += [(TwoBoneIK(rig, int(end), self.name, **more), own) for end in ends]

    def read(self, reader, _pose) -> Inputs | None:
        """Note which hits hurt, and how much of the way hands are."""
        seconds, record = world.seconds_per_frame(reader.scene), record_of(self.obj, reader.frame)
        passage = record and record.passage(reader.frame)  # who has got up since then has let go
        self._now, self._up = [], vector_to_model((0.0, 0.0, 1.0), reader.world)
        for hit in self.obj.active_ragdoll.hits:
            since = (reader.frame - hit.frame) * seconds
            if hit.enabled and strength_left(hit.hurts, since) < 1.0 and not (passage and passage.frame > hit.frame):
                weight = smooth_step((since - NOTICES) / GOES) * smooth_step((hit.hurts - since) / GOES)
                self._now.append((hit.bone, hit.hand * float(weight)))
        return Inputs() if any(weight for _bone, weight in self._now) else None

    def apply(self, rig, pose, inputs, state, _seconds):
        """See `Step.apply`."""
        places, settings = rig.bind_positions, self.obj.active_ragdoll
        free = [arm for arm, own in self._arms if not any(bone in own for bone, _weight in self._now)]
        for struck, weight in self._now:
            wound = next((rig.name(arm.bones[0]) for arm, own in self._arms if struck in own), struck)
            part = built.part_of(self.obj, wound)
            if weight == 0.0 or part is None:  # the run says so
                continue
            if not free:
                raise RagdollError(f"{self.name}: '{self.obj.name}' has no free hand for \"{struck}\"")
            bone = rig.index[wound]
            arm = min(free, key=lambda arm: np.linalg.norm(places[arm.bones[0]] - places[bone]))
            view = ModelView(rig, pose, rig.with_ancestors([bone, *(own.end_bone for own, _names in self._arms)]))
            middle = c.add(view.positions[bone], view.axis(bone, part.offset[:3, 3] / settings.built_scale))
            right, left = (view.positions[own.bones[0]] for own, _names in (self._arms[0], self._arms[-1]))
            ahead = c.cross(c.sub(left, right), self._up)  # not through the trunk
            way = c.unit(c.along(c.sub(view.positions[arm.end_bone], middle), AHEAD, ahead), self._up)
            size = (sorted(part.body.dimensions)[1] / 2.0 + PALM * settings.height) / settings.built_scale
            pose = arm.apply(rig, pose, Inputs(weight=weight, target=c.along(middle, size, way)))[0]
        return pose, None


class TwoBoneIKs(ListKind):
    """Limbs whose ends are brought to effectors"""

    identifier, label, icon, place, panel_place = "TWO_BONE_IK", "Two-bone IK", "CON_KINEMATIC", 40, 3
    items, active, group = "two_bone_ik", "active_two_bone_ik", ActiveRagdollTwoBoneIK
    title, description = "Two-bone IK", "A limb whose end is brought to an effector"
    shown = ("end_bone", "weight")
    step = Step

    def acts(self, obj) -> bool:
        return super().acts(obj) or any(hit.hand for hit in obj.active_ragdoll.hits)

    def steps(self, obj, rig):
        yield from super().steps(obj, rig)
        if any(hit.hand for hit in obj.active_ragdoll.hits):
            yield ToWounds.name, lambda: ToWounds(obj, rig)

    def draw(self, layout, obj, item):
        inner = rows(layout, keyed=True)
        inner.prop_search(item, "end_bone", obj.data, "bones")
        inner.prop(item, "weight")
        for what in _ENDS:
            object_fields(inner, item, what, f"{what}_target_bone")
            if getattr(item, what) is None:
                inner.prop(item, f"{what}_space")
                space = getattr(item, f"{what}_space")
                if space == "BONE":
                    inner.prop_search(item, f"{what}_bone", obj.data, "bones")
                props(inner, item, space != "BEND" and f"{what}_location")
        stretching = ("start_stretch_ratio", "max_stretch_scale") if item.allow_stretching else ()
        props(inner, item, "keep_end_rotation", "allow_stretching", *stretching, "marks_reference")


KIND = TwoBoneIKs()
