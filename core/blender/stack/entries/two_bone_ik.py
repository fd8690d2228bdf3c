"""Two-bone IK: limbs whose ends are brought to effectors."""

import bpy

from ....motion.limbs import BONE, WORLD, TwoBoneIK
from ....motion.stack import Inputs
from ...interface import object_fields, props, rows
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
            places[what] = reader.point(f"{self.name}, {what}", getattr(own, what), getattr(own, f"{what}_target_bone"))
        return Inputs(weight=now.weight, world=reader.world, target=places["effector"], pole=places["pole"])


class TwoBoneIKs(ListKind):
    """Limbs whose ends are brought to effectors"""

    identifier, label, icon, place, panel_place = "TWO_BONE_IK", "Two-bone IK", "CON_KINEMATIC", 40, 3
    items, active, group = "two_bone_ik", "active_two_bone_ik", ActiveRagdollTwoBoneIK
    title, description = "Two-bone IK", "A limb whose end is brought to an effector"
    shown = ("end_bone", "weight")
    step = Step

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
