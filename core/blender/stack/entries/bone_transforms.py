"""Transform bone: bones that are moved, turned or scaled."""

import bpy
from mathutils import Euler

from ....motion.stack import Inputs
from ....motion.transform_bone import IGNORE, TransformBone
from ...interface import props, rows
from ...settings.declare import STACK, STACK_VALUE, choice, flag, share, text, vector
from . import ItemStep, ListKind

MODES = (
    ("IGNORE", "Ignore", "As it comes in"),
    ("REPLACE", "Replace", "The value instead of the bone's own"),
    ("ADD", "Add", "The value on top of the bone's own"),
)
SPACES = (
    ("BONE", "Bone", "Seen from the bone itself as it comes in"),
    ("PARENT", "Parent", "Of the parent bone"),
    ("COMPONENT", "Armature", "Of the armature"),
    ("WORLD", "World", "Of the scene"),
)


def feet_held():
    """The setting that marks the pose that leg stabilisers hold to."""
    text = "Leg stabilisers hold the feet as they are in the pose that comes in here"
    return flag("Feet Held from Here", text, needs=STACK)


def is_held(obj, bone: str) -> bool:
    """Whether Blender keeps a bone at its parent's tail, whatever its location says."""
    found = obj.data.bones[bone]
    return found.use_connect and found.parent is not None


# fmt: off

class ActiveRagdollBoneTransform(bpy.types.PropertyGroup):
    """A bone that is moved, turned or scaled."""

    enabled: flag("Enabled", None, True, needs=STACK)
    bone: text("Bone", needs=STACK)
    translation: vector("Translation", "In units of its space", subtype="TRANSLATION", keyed=True, needs=STACK_VALUE,
        own_units=True)
    rotation: vector("Rotation", "Euler angles X Y Z", subtype="EULER", keyed=True, needs=STACK_VALUE)
    scale: vector("Scale", None, (1.0, 1.0, 1.0), keyed=True, needs=STACK_VALUE)
    translation_mode: choice("Translation", MODES, "IGNORE", needs=STACK)
    rotation_mode: choice("Rotation", MODES, "IGNORE", needs=STACK)
    scale_mode: choice("Scale", MODES, "IGNORE", needs=STACK)
    translation_space: choice("Space", SPACES, "COMPONENT", needs=STACK)
    rotation_space: choice("Space", SPACES, "COMPONENT", needs=STACK)
    scale_space: choice("Space", SPACES, "BONE", needs=STACK)
    weight: share("Weight", keyed=True, needs=STACK_VALUE)
    marks_reference: feet_held()

# fmt: on


class Step(ItemStep):
    """One bone."""

    def make(self, rig, item):
        name, bone = self.name, item.bone
        row = rig.bone(name, bone)
        held = item.translation_mode != IGNORE and is_held(self.obj, bone)
        kinds = [f"{what}_{kind}" for what in ("translation", "rotation", "scale") for kind in ("mode", "space")]
        chosen = {name: getattr(item, name) for name in kinds} | ({"translation_mode": IGNORE} if held else {})
        self.solver = TransformBone(rig, row, name, **chosen)
        if held:
            self.note = f'{name}: it cannot move, as "{bone}" is connected to the parent (Bone > Relations > Connected)'

    def read(self, reader, _pose) -> Inputs | None:
        now, solver = self.now(reader), self.solver
        if now.weight <= 0.0:
            return None
        solver.translation = now.translation[:]
        solver.rotation = Euler(now.rotation).to_quaternion()[:]
        solver.scale = now.scale[:]
        return Inputs(weight=now.weight, world=reader.world)


class BoneTransforms(ListKind):
    """Bones that are moved, turned or scaled"""

    identifier, label, icon, place, panel_place = "BONE_TRANSFORMS", "Transform Bone", "OBJECT_ORIGIN", 30, 4
    items, active, group = "bone_transforms", "active_bone_transform", ActiveRagdollBoneTransform
    title, description = "Transform bone", "A bone that is moved, turned or scaled"
    step = Step

    def fill(self, obj, items, item, bone):
        item.bone = bone
        item.translation_mode = "IGNORE" if bone and is_held(obj, bone) else "ADD"
        item.rotation_mode = "ADD"

    def draw(self, layout, obj, item):
        inner = rows(layout)
        inner.prop_search(item, "bone", obj.data, "bones")
        props(rows(inner, keyed=True), item, "weight")
        for what in ("translation", "rotation", "scale"):
            part = rows(layout, keyed=True)
            part.prop(item, f"{what}_mode")
            if getattr(item, f"{what}_mode") != "IGNORE":
                part.prop(item, f"{what}_space")
                part.prop(item, what, text="Value")
        layout.prop(item, "marks_reference")


KIND = BoneTransforms()
