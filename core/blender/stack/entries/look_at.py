"""Look-at: chains of bones that look at a target."""

import math

import bpy

from ....errors import RagdollError
from ....motion.look_at.chain import LinkedBone, LookAt, LookAtEntry, WeightEvent, forward_axes, upright_axes, weight_at
from ....motion.stack import Inputs, Rig, point_to_model
from ...interface import object_fields, props, rows
from ...rig import armature, clips
from ...runtime import STATE
from ...settings import declare, lists
from ...settings.declare import STACK, STACK_VALUE, block, choice, flag, items, number, share, text, vector
from .. import world_reader
from . import ItemList, ItemStep, ListKind, bone_transforms

LIMITS_FROM = (
    ("BIND", "Bind Pose", "Between the bone's forward now and where it points in bind pose"),
    ("PARENT", "Parent", "Between the bone's forward and its parent's"),
)
AXES_FROM = (("AUTO", "Automatic", "From the bind pose and where the character faces"), ("USER", "User", "Set by hand"))
EVENTS = (
    ("SET", "Set", "The weight is set at once"),
    ("ENABLE", "Enable", "The weight goes to 1"),
    ("DISABLE", "Disable", "The weight goes to 0"),
)
TARGETS = (("OBJECT", "Object", "An object, or a bone of it"), ("POINT", "Point", "A point of the scene"))
_NOTHING = 1e-6  # what single precision leaves of a component that is 0


def rig_of(obj) -> Rig:
    """An armature's skeleton and bind pose (see `armature.bind_joints`), in its own space. Raises RagdollError: an
    armature without bones."""
    rest = clips.RigRest(obj, armature.bind_joints(obj)[0])
    return Rig(rest.skeleton, rest.bind, lambda: armature.anatomy_of(obj).roles)


def find_axes(obj, entries) -> None:
    """Write the axes of entries whose bones are there, of those that are automatic."""
    entries = [e for e in entries if e.axes_from == "AUTO" and e.bone in obj.data.bones]
    if STATE.building or not entries:
        return
    with STATE.writing():
        try:
            rig = rig_of(obj)
            forward, _up = upright_axes(rig, armature.anatomy_of(obj))
            for entry in entries:
                write_axes(entry, *forward_axes(rig, rig.index[entry.bone], forward))
        except RagdollError as error:
            print(f"Active Ragdoll: '{obj.name}': forward axes: {error}")


def write_axes(entry, forward, parent_forward) -> None:
    """Put axes into an entry's settings; what is as good as 0 is shown as that."""
    entry.forward_axis, entry.parent_forward_axis = (
        [0.0 if abs(value) < _NOTHING else value for value in axis] for axis in (forward, parent_forward)
    )


def _bone_changed(self, context) -> None:
    find_axes(self.id_data, [self])
    STACK.update(self, context)


# fmt: off

class ActiveRagdollLinkedBone(bpy.types.PropertyGroup):
    """A bone, such as the other eye, that turns with an entry's bone."""

    bone: text("Bone", needs=STACK)
    reset_to_default: flag("Reset", "Start from bind pose instead of the bone's own pose", needs=STACK)


class ActiveRagdollLookAtEntry(bpy.types.PropertyGroup):
    """One bone of a look-at chain."""

    bone: text("Bone", "An ancestor of the bone of the entry before it", needs=STACK, update=_bone_changed)
    limit: number("Limit", "Largest angle of the bone's forward; at 0 it never turns", math.radians(30.0),
        subtype="ANGLE", min=0.0, max=math.pi, needs=STACK)
    limit_from: choice("Limit From", LIMITS_FROM, None, "What the limit is measured from; a pose already beyond it is "
        "only not turned further", needs=STACK)
    forward_axis: vector("Forward", "Where the bone looks, in its own frame", (0.0, 1.0, 0.0), needs=STACK,
        update=declare.by_user("axes_from", "USER", STACK))
    parent_forward_axis: vector("Parent's Forward", "Where the parent looks, in its own frame", (0.0, 1.0, 0.0),
        needs=STACK, update=declare.by_user("axes_from", "USER", STACK))
    axes_from: choice("Axes", AXES_FROM, None, "Where the forward axes come from", needs=STACK, update=_bone_changed)
    rotate_around_up_weight: share("Around Up", "0 turns by the shortest way, 1 about the up vector alone", 0.0,
        needs=STACK)
    reset_to_default: flag("Reset to Default", "Start from bind pose, for a bone that the action does not key",
        needs=STACK)
    linked_bones: items(ActiveRagdollLinkedBone, needs=STACK)


class ActiveRagdollWeightEvent(bpy.types.PropertyGroup):
    """A call of the look-at's weight functions, at a frame."""

    kind: choice("Kind", EVENTS, needs=STACK_VALUE)
    frame: number("Frame", needs=STACK_VALUE)
    weight: share("Weight", needs=STACK_VALUE)
    duration: number("Time", "Of the transition [s]", min=0.0, subtype="TIME_ABSOLUTE", needs=STACK_VALUE)
    cancel_current_transition: flag("Cancel Current", "A transition under way gives way to this one; else this one is "
        "ignored meanwhile", True, needs=STACK_VALUE)


class ActiveRagdollLookAt(bpy.types.PropertyGroup):
    """A chain of bones that look at a target."""

    name: text("Name", None, "Look-at", needs=STACK)
    enabled: flag("Enabled", None, True, needs=STACK)
    target_type: choice("Look At", TARGETS, needs=STACK)
    target: block("Target", "Object to look at", needs=STACK)
    target_bone: text("Bone", "Bone of the target to look at", needs=STACK)
    target_point: vector("Point", "In the scene", subtype="TRANSLATION", keyed=True, needs=STACK_VALUE)
    weight: share("Weight", "Share of the look in the pose; from the first stored event on, the events say it",
        keyed=True, needs=STACK_VALUE)
    blend_speed: number("Speed [1/s]", "How quickly the look goes over to a new one, as share of the distance "
        "a second; 0 is at once", zero="at once", min=0.0, soft_max=20.0, max=1.0e6, needs=STACK)
    up_vector: vector("Up", "In the scene", (0.0, 0.0, 1.0), needs=STACK)
    comfort: share("Comfort", "Share of all limits that is used up before any bone goes to its own", needs=STACK)
    behind_margin: number("Margin Behind", "Half the width of the zone straight behind in which the side is kept",
        math.radians(15.0), subtype="ANGLE", min=0.0, max=math.pi / 2.0, needs=STACK)
    marks_reference: bone_transforms.feet_held()
    entries: items(ActiveRagdollLookAtEntry, "active_entry", needs=STACK)
    events: items(ActiveRagdollWeightEvent)

# fmt: on


class Step(ItemStep):
    """One chain."""

    keeps_state = begins_reference = True

    def make(self, rig, item):
        if item.target_type == "OBJECT" and item.target is not None:
            world_reader.follow(self.obj, item.target)
        self.solver = solver_of(rig, item, self.name)

    def read(self, reader, _pose) -> Inputs | None:
        own, now = self.item, self.now(reader)
        weight, _left = weight_at(reader.seconds, events_of(own, reader.seconds_per_frame), now.weight)
        if weight <= 0.0:
            return None
        at_point = own.target_type == "POINT"
        target = now.target_point[:] if at_point else reader.point(self.name, own.target, own.target_bone)
        return Inputs(weight=weight, world=reader.world, target=point_to_model(target, reader.world))


def solver_of(rig: Rig, item, name: str) -> LookAt:
    """The solver of a chain's settings. Raises RagdollError: see `LookAt`; a bone that the armature has not."""
    entries = []
    for entry in item.entries:
        linked = [
            LinkedBone(rig.bone(f'{name}, entry "{entry.bone}", linked bone', link.bone), link.reset_to_default)
            for link in entry.linked_bones
        ]
        axes = tuple(entry.forward_axis), tuple(entry.parent_forward_axis)
        how = entry.rotate_around_up_weight, entry.limit_from, entry.reset_to_default
        limit = min(entry.limit, math.pi)  # in single precision 180 deg is a little more
        entries.append(LookAtEntry(rig.bone(name, entry.bone), limit, *axes, *how, linked))
    margin = min(item.behind_margin, math.pi / 2.0)
    return LookAt(rig, entries, name, tuple(item.up_vector), item.blend_speed, item.comfort, margin)


def events_of(item, seconds_per_frame: float) -> list[WeightEvent]:
    """The stored events of a chain."""
    result = []
    for event in item.events:
        weight = {"SET": event.weight, "ENABLE": 1.0, "DISABLE": 0.0}[event.kind]
        duration = None if event.kind == "SET" else event.duration
        result.append(WeightEvent(event.frame * seconds_per_frame, weight, duration, event.cancel_current_transition))
    return result


class Bones(ItemList):
    """The bones of the active chain."""

    items, group = "entries", ActiveRagdollLookAtEntry
    title, description = "Entry", "A bone of the active look-at chain"
    shown = ("bone", "limit")

    def owner(self, obj):
        return lists.active_item(obj.active_ragdoll, "look_at")

    def fill(self, obj, items, item, bone):
        """For the bone asked for; else the parent of the last entry's."""
        if not bone or any(other.bone == bone for other in items):
            names = [other.bone for other in items if other.bone in obj.data.bones]
            parent = obj.data.bones[names[-1]].parent if names else None
            bone = parent.name if parent is not None else ""
        item.bone = bone

    def added(self, obj, item):
        find_axes(obj, [item])


class LinkedBones(ItemList):
    """The bones that turn with the active entry of the active chain."""

    items, group = "linked_bones", ActiveRagdollLinkedBone
    title = "Linked Bone"
    description = "A bone, such as the other eye, that turns with the active entry's bone"

    def owner(self, obj):
        chain = BONES.owner(obj)
        return None if chain is None else lists.active_item(chain, "entries")


BONES = Bones()


class LookAts(ListKind):
    """Bones that look at a target"""

    identifier, label, icon, place, panel_place = "LOOK_AT", "Look-at", "HIDE_OFF", 50, 1
    items, active, group = "look_at", "active_look_at", ActiveRagdollLookAt
    title, description = "Look-at", "A chain of bones that look at a target"
    shown = ("name", "weight")
    step = Step
    lists = (BONES, LinkedBones())

    def names(self, items):
        """The chains' own names, each once, or the default with a number."""
        found: list[str] = []
        for i, item in enumerate(items):
            name = item.name.strip() or f"Look-at {i + 1}"
            found.append(name if name not in found else f"{name} ({i + 1})")
        return found

    def fill(self, obj, items, item, bone):
        item.name = lists.unique(list(items)[:-1], "Look-at")

    def draw_head(self, layout):
        layout.operator("active_ragdoll.setup_look_at", icon="HIDE_OFF")

    def draw(self, layout, obj, item):
        inner = rows(layout, keyed=True)
        inner.prop(item, "target_type")
        if item.target_type == "POINT":
            inner.prop(item, "target_point")
        else:
            object_fields(inner, item, "target", "target_bone")
        inner.prop(item, "weight")
        props(rows(layout), item, "blend_speed", "up_vector", "comfort", "behind_margin", "marks_reference")


KIND = LookAts()
