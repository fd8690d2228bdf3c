"""Pose layers: their settings and those of blend spaces, their masks, and the step that plays them."""

import bpy
import numpy as np

from ....anatomy.roles import LEFT, RIGHT, ROLES
from ....errors import RagdollError
from ....motion.pose_layers import Layer, LayerInputs, LayerStack, blend_poses, mask_from_bones, mask_from_roles
from ...settings import lists
from ...settings.declare import ACTS, CHOSEN, STACK, record, settings
from ...settings.lists import ActionChoice, Named, an_object, choice, flag, items, named, number, share, text, whole
from ..blend_spaces import FromSettings
from . import Kind

# fmt: off

SOURCES = (
    ("CLIP", "Clip", "An action, played"),
    ("POSE", "Pose", "One frame of an action, such as a pose asset, or several of them with weights"),
    ("BLEND_SPACE", "Blend Space", "One of the character's blend spaces"),
    ("AIM_OFFSET", "Aim Offset", "A blend space of yaw and pitch whose samples are additive in mesh space"),
)
MODES = (
    ("OVERRIDE", "Override", "Hides what is below as far as its weight goes"),
    ("ADDITIVE_LOCAL", "Additive, Local", "Adds the difference to a base pose, each bone in its parent's frame"),
    ("ADDITIVE_MESH", "Additive, Mesh Space", "Adds the difference to a base pose, rotations in the armature's space"),
)
MASKS = (
    ("ALL", "All Bones", "The whole character"),
    ("BONES", "Bones", "Listed bones and what hangs on them"),
    ("COLLECTION", "Bone Collection", "The bones of a bone collection"),
    ("ROLES", "Roles", "Bones that are recognised as parts of the body"),
)
SIDES = (("ANY", "Both Sides", ""), ("LEFT", "Left", ""), ("RIGHT", "Right", ""))
SEVERAL = (
    ("NORMALIZE", "Normalize", "Weights whose sum is above 1 are divided by it; what is missing to 1 is the base"),
    ("ADD", "Add", "Each pose's difference to the base is added with its weight"),
    ("SEQUENCE", "Sequence", "A clip that goes through the poses at their times"),
)
INPUTS = (
    ("VALUE", "Value", "The value beside, which can be keyed and driven by any property"),
    ("SPEED", "Speed", "Measured: how fast the character moves over the ground [m/s]"),
    ("DIRECTION", "Direction", "Measured: where the character moves from where it faces [deg], positive to its left"),
    ("YAW", "Yaw to Target", "Angle about up to the target [deg], positive to the character's left"),
    ("PITCH", "Pitch to Target", "Angle upwards to the target [deg]"),
)
ENDS = (
    ("CLAMP", "Clamp", "Inputs beyond an end are held there"),
    ("WRAP", "Wrap", "Both ends are one place, as of a direction"),
)
DIMENSIONS = (("1D", "1D", "Samples on a line"), ("2D", "2D", "Samples in a plane"))
METHODS = (
    ("TRIANGLES", "Triangles", "Samples anywhere; the three around the point blend"),
    ("GRID", "Grid", "A sample at every crossing; the four around the point blend"),
)
SYNC = (
    ("NORMALIZED", "By Length", "All clips are the same share of their length through"),
    ("MARKERS", "By Markers", "All clips come to the same markers together: pose markers of the actions, else the "
        "feet's contacts"),
)


class ActiveRagdollBoneName(bpy.types.PropertyGroup):
    """A bone of a mask."""

    bone: text("Bone", "The mask begins here")
    weight: number("Weight", "Share of the layer's weight from this bone on", 1.0, min=0.0, max=1.0, subtype="FACTOR")


class ActiveRagdollPose(ActionChoice, bpy.types.PropertyGroup):
    """One of several poses of a layer."""

    frame: number("Frame", "Frame of the action", 1.0, precision=1)
    weight: share("Weight", "Share of this pose")
    time: number("Time [frames]", "When the sequence comes to this pose", 0.0, precision=1)


class ActiveRagdollLayer(ActionChoice, lists.Playback, lists.BasePose, Named, bpy.types.PropertyGroup):
    """A layer of the motion stack."""

    name: named("For messages", "Layer", "layers")
    enabled: flag("Enabled", "The layer acts", True)
    solo: flag("Solo", "While any layer is solo, only those act")
    source: choice("Source", SOURCES, "CLIP", "What the layer plays")
    mode: choice("Mode", MODES, "OVERRIDE", "How it changes the pose below")
    weight: share("Weight", "0 is the pose below, 1 the layer wholly")
    start: number("Start", "Frame at which the clip begins", 1.0, precision=1)
    sync_with: text("In Phase With", "Blend space whose phase the clip follows; empty: it goes by its own time",
        refers="blend_spaces")
    only_keyed: flag("Only Keyed Bones", "Bones that the action has no keys for keep the pose below; otherwise they go "
        "to bind", True)
    frame: number("Frame", "Frame of the action that is the pose", 1.0, precision=1)
    poses: items(ActiveRagdollPose, "pose_index")
    several: choice("Several Poses", SEVERAL, "NORMALIZE", "What becomes of more than one pose")
    blend_space: text("Blend Space", "Name of the blend space", refers="blend_spaces")

    mask: choice("Mask", MASKS, "ALL", "Which bones the layer acts on")
    mask_bones: items(ActiveRagdollBoneName, "mask_bone_index")
    mask_children: flag("With Children", "What hangs on the bones is included", True)
    mask_falloff: whole("Falloff", "Bones over which the mask rises to its full value", 0, min=0, soft_max=6)
    mask_collection: text("Bone Collection", "Bone collection of the armature")
    mask_roles: choice("Roles", [(role, role.replace("_", " ").title(), "", 1 << i) for i, role in enumerate(ROLES)],
        {"SPINE", "CHEST", "NECK", "HEAD"}, "Parts of the body", options={"ENUM_FLAG"})
    mask_side: choice("Side", SIDES, "ANY", "Of the parts that come in pairs")
    mask_invert: flag("Invert", "All other bones")


class ActiveRagdollSample(ActionChoice, lists.BasePose, bpy.types.PropertyGroup):
    """A sample of a blend space."""

    x: number("X", "Place on the first axis", precision=2)
    y: number("Y", "Place on the second axis", precision=2)
    speed: number("Speed", "Seconds of the clip per second; negative: backwards", 1.0, soft_min=-4.0, soft_max=4.0)
    additive: choice("Additive", lists.ADDITIVE, "NONE", "What the sample holds")
    single: flag("One Frame", "Only one frame of the action, as of a pose")
    frame: number("Frame", "That frame", 1.0, precision=1)


class ActiveRagdollAxis(bpy.types.PropertyGroup):
    """An axis of a blend space and its input."""

    name: text("Name", "For the picture and for messages", "Speed")
    minimum: number("Minimum", "Lower end", 0.0, precision=2)
    maximum: number("Maximum", "Upper end", 1.0, precision=2)
    ends: choice("Ends", ENDS, "CLAMP", "What inputs beyond the ends do")
    grid: whole("Grid", "Divisions that samples can be snapped to", 4, min=1, soft_max=20)
    input: choice("Input", INPUTS, "VALUE", "Where the point comes from")
    value: number("Value", "The input; key it, or drive it by any property", keyed=True, precision=2, needs=STACK)
    smoothing: number("Smoothing", "Lag of the input; 63 % of a step are done after it", min=0.0, soft_max=2.0,
        unit="TIME_ABSOLUTE")
    preview: number("Preview", "The point while Preview is on", precision=2, needs=STACK)


class ActiveRagdollBlendSpace(Named, bpy.types.PropertyGroup):
    """A blend space."""

    name: named("By which layers and states refer to it", "Blend Space", "blend_spaces")
    dimensions: choice("Dimensions", DIMENSIONS, "1D", "One axis or two")
    method: choice("Method", METHODS, "TRIANGLES", "How samples in a plane blend")
    x: settings(ActiveRagdollAxis)
    y: settings(ActiveRagdollAxis)
    samples: items(ActiveRagdollSample, "sample_index")
    sync: choice("Sync", SYNC, "NORMALIZED", "How clips of different lengths keep in phase")
    measured_object: an_object("Measured", "What speed and direction are measured of; empty: the character",
        update=lists.remembers("measured_object", "measured_name"))
    measured_name: record(str, of=CHOSEN)
    measured_bone: text("Measured Bone", "Its bone; empty: of the character its root bone, else the object")
    target: an_object("Target", "What yaw and pitch lead to")
    target_bone: text("Target Bone", "Its bone; empty: the object")
    aim_bone: text("Aim From", "Bone that yaw and pitch are measured from; empty: the head, else the armature")
    show_preview: flag("Preview", "Show the preview point instead of the input; simulating and baking end it",
        needs=STACK)


# fmt: on


# ---- the step -------------------------------------------------------------------------------------------------------
class Layers(FromSettings, LayerStack):
    """The layers that act: all that are enabled, or only the solo ones among them."""

    @property
    def keeps_state(self) -> bool:
        """Whether a frame depends on the frames before it."""
        return super().keeps_state or any(inputs.mover is not None for inputs in self._spaces.inputs.values())

    def _fill(self) -> None:
        settings = self._obj.active_ragdoll.layers
        solo = any(layer.enabled and layer.solo for layer in settings)
        self._places, made = [], []
        for place, layer in enumerate(settings):
            if not layer.enabled or (solo and not layer.solo):
                continue
            try:
                made.append(self._layer(place, layer))
                self._places.append(place)
            except RagdollError as error:
                self.problems[f'Layer "{layer.name}"'] = str(error)
        LayerStack.__init__(self, made, self._spaces.players)

    def _layer(self, place: int, layer) -> Layer:
        library = self._library
        mask = mask_of(layer, library)
        source, clip = self._source(place, layer)
        if clip is not None and layer.only_keyed and clip.unanimated:
            moved = np.isin(library.rig.skeleton.names, clip.unanimated, invert=True).astype(float)
            mask = moved if mask is None else mask * moved
        if layer.source == "AIM_OFFSET":
            return Layer(layer.name, source, "ADDITIVE_MESH", mask)
        return Layer(layer.name, source, layer.mode, mask, library.base(layer) if layer.mode != "OVERRIDE" else None)

    def _source(self, place: int, layer) -> tuple:
        """What gives a layer's pose at a frame, and the clip that says which bones it moves, if any."""
        library, several = self._library, layer.several
        if layer.source == "CLIP":
            clip = library.clip(layer, cycle=layer.playback == "LOOP" or bool(layer.sync_with))
            return self._clip_source(layer, clip), clip
        if layer.source != "POSE":
            key, player = self._spaces.player(layer.blend_space, aim=layer.source == "AIM_OFFSET")
            return (lambda frame: player.pose(frame.space(key))), None
        if not len(layer.poses):
            clip = library.one_frame(layer, layer.frame)
            pose = clip.pose(0)
            return (lambda _frame: pose), clip
        if several == "SEQUENCE":
            return self._clip_source(layer, library.sequence(layer.name, layer.poses)), None
        held = [library.pose(item, item.frame) for item in layer.poses]
        names, base = [item.action.name for item in layer.poses], library.base(layer)
        skeleton = library.rig.skeleton
        return (lambda frame: blend_poses(skeleton, base, held, frame.poses[place], names, several)), None

    def _clip_source(self, layer, clip):
        if layer.sync_with:
            key, _player = self._spaces.player(layer.sync_with)
            return lambda frame: clip.at(clip.clip_time(frame.space(key).phase * clip.length))
        start, speed, mode = layer.start / self._library.fps, layer.speed, layer.playback
        return lambda frame: clip.at(clip.clip_time(frame.seconds, start=start, speed=speed, mode=mode))

    def read(self, reader, _pose) -> LayerInputs:
        live = [reader.settings.layers[place] for place in self._places]
        posed = ((place, own.poses) for place, own in zip(self._places, live, strict=True) if own.source == "POSE")
        several = {place: [item.weight for item in poses] for place, poses in posed if len(poses)}
        return LayerInputs([layer.weight for layer in live], self._spaces.read(reader), several)

    def point(self, state: dict | None, name: str) -> tuple | None:
        """The point of a blend space at a recorded state; None if no layer plays it."""
        found = [state[key].at for key in (name, f"{name} (aim)") if state and key in state]
        return found[0] if found else None


def mask_of(layer, library) -> np.ndarray | None:
    """Factor of the layer's weight for each bone [n], level order; None for 1 on all bones. Raises RagdollError: a bone
    or collection that the armature does not have, or a mask without any."""
    if layer.mask == "ALL":
        return None
    mask = {"BONES": _of_bones, "COLLECTION": _of_collection, "ROLES": _of_roles}[layer.mask](layer, library)
    return 1.0 - mask if layer.mask_invert else mask


def _of_bones(layer, library) -> np.ndarray:
    if not len(layer.mask_bones):
        raise RagdollError("its mask has no bones")
    skeleton = library.rig.skeleton
    mask = np.zeros(len(skeleton))
    for item in layer.mask_bones:
        if item.bone not in skeleton.names:
            raise RagdollError(f'there is no bone "{item.bone}", which its mask names')
        own = mask_from_bones(skeleton, [item.bone], depth=layer.mask_falloff, children=layer.mask_children)
        mask = np.maximum(mask, own * item.weight)
    return mask


def _of_collection(layer, library) -> np.ndarray:
    collection = library.obj.data.collections_all.get(layer.mask_collection)
    if collection is None:
        raise RagdollError(f'there is no bone collection "{layer.mask_collection}"')
    bones = [bone.name for bone in collection.bones_recursive]
    if not bones:
        raise RagdollError(f'the bone collection "{layer.mask_collection}" has no bones')
    return mask_from_bones(library.rig.skeleton, bones, children=layer.mask_children, depth=layer.mask_falloff)


def _of_roles(layer, library) -> np.ndarray:
    anatomy, side = library.anatomy, {"LEFT": LEFT, "RIGHT": RIGHT}.get(layer.mask_side)
    mask = mask_from_roles(anatomy.roles, layer.mask_roles, anatomy.sides, side)[library.rig.skeleton.to_level]
    if not mask.any():
        raise RagdollError(f"no bone was recognised as {', '.join(sorted(layer.mask_roles)) or 'any role'}")
    return mask


class PoseLayersKind(Kind):
    """All layers together are one step."""

    identifier, label, icon, place = "LAYERS", "Layers", "NLA", 20

    def declared(self):
        layers = items(ActiveRagdollLayer, "layer_index", group=ACTS)
        return {"layers": layers, "blend_spaces": items(ActiveRagdollBlendSpace, "blend_space_index", group=ACTS)}

    def acts(self, obj) -> bool:
        return len(obj.active_ragdoll.layers) > 0

    def steps(self, obj, rig):
        if any(layer.enabled for layer in obj.active_ragdoll.layers):
            yield "Layers", lambda: Layers(obj, rig)


KIND = PoseLayersKind()
