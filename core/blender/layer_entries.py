"""A character's layers as an entry of its motion stack."""

from ..errors import RagdollError
from ..motion import stack
from ..motion.layer_stack import LayerInputs, LayerStack
from ..motion.layers import Layer, active_layers
from ..motion.pose_blend import blend_poses
from . import layer_clips, layer_masks
from .layer_clips import Library
from .live_settings import LiveSettings
from .runtime import STATE
from .space_inputs import Facing
from .space_players import Spaces


def build(obj, rig):
    """For `motion_entries.BUILDERS`: one entry for all layers."""
    if any(layer.enabled for layer in obj.active_ragdoll.layers):
        yield "Layers", lambda: _entry(obj, rig)


def _entry(obj, rig) -> stack.Entry:
    layers = Layers(obj, rig)
    return stack.Entry(
        "Layers", stack.LAYERS, layers, layers.read, keeps_state=layers.keeps_state, refresh=layers.refresh
    )


class Layers:
    """Solver that follows the settings: made anew when an action that it plays is edited, replaced or deleted.

    Attributes:
        messages: why layers were left out, and what is odd about their actions, by name.
    """

    def __init__(self, obj, rig) -> None:
        self._obj, self._rig = obj, rig
        self.messages: dict[str, str] = {}
        self._make()

    @property
    def keeps_state(self) -> bool:
        """Whether a frame depends on those before it."""
        return self._stack.keeps_state or any(inputs.is_measured for inputs in self._spaces.inputs.values())

    def _make(self) -> None:
        obj = self._obj
        self._made_of = fingerprint(obj)
        self._live = LiveSettings(obj)
        for name in ("layers", "blend_spaces"):
            self._live.carry(name)
        self._library = Library(obj, self._rig)
        self._spaces = Spaces(obj, self._library, self._live, Facing(self._library))
        self._problems: dict[str, str] = {}
        self._places, made = [], []
        settings = obj.active_ragdoll.layers
        acting = active_layers(settings)
        for place, layer in enumerate(settings):
            if layer not in acting:
                continue
            try:
                made.append(self._layer(place, layer))
                self._places.append(place)
            except RagdollError as error:
                self._problems[f'Layer "{layer.name}"'] = str(error)
        self._stack = LayerStack(made, self._spaces.players)
        self._problems |= notes_of(self._library, self._spaces)

    def _layer(self, place: int, layer) -> Layer:
        library, rig = self._library, self._rig
        mask = layer_masks.mask_of(layer, library)
        mode = "ADDITIVE_MESH" if layer.source == "AIM_OFFSET" else layer.mode
        base = None
        if layer.source == "CLIP":
            clip = library.clip(layer, cycle=layer.playback == "LOOP" or bool(layer.sync_with))
            if layer.only_keyed:
                mask = layer_masks.without_unkeyed(mask, clip, rig.skeleton)
            source = self._clip_source(layer, clip)
        elif layer.source == "POSE":
            source, clip = self._pose_source(place, layer)
            if layer.only_keyed and clip is not None:
                mask = layer_masks.without_unkeyed(mask, clip, rig.skeleton)
        else:
            key, player = self._spaces.player(layer.blend_space, aim=layer.source == "AIM_OFFSET")

            def source(frame):
                return player.pose(frame.space(key))

        if mode != "OVERRIDE" and layer.source != "AIM_OFFSET":
            base = library.base(layer)
        return Layer(layer.name, source, mode, 1.0, mask, base)

    def _clip_source(self, layer, clip):
        if layer.sync_with:
            key, _player = self._spaces.player(layer.sync_with)
            return lambda frame: clip.at_phase(frame.space(key).phase)
        start, speed, mode = layer.start / self._library.fps, layer.speed, layer.playback
        return lambda frame: clip.sample(frame.seconds, start=start, speed=speed, mode=mode)

    def _pose_source(self, place: int, layer) -> tuple:
        """The source, and the clip of a single pose, whose keyed bones are known."""
        library, rig = self._library, self._rig
        if not len(layer.poses):
            clip = library.one_frame(layer, layer.frame)
            pose = clip.pose(0)
            return (lambda frame: pose), clip
        if layer.several == "SEQUENCE":
            clip = layer_clips.sequence(layer.name, library, layer.poses, library.fps)
            return self._clip_source(layer, clip), None
        held = [library.pose(item, item.frame) for item in layer.poses]
        names = [item.action.name for item in layer.poses]
        base = library.base(layer)

        several = layer.several
        return (lambda frame: blend_poses(rig.skeleton, base, held, frame.poses[place], names, several)), None

    def refresh(self) -> bool:
        """Follow edits of actions; whether they change what is played."""
        if fingerprint(self._obj) == self._made_of:
            return False
        before = self._library
        self._make()
        return not self._library.plays_as(before)

    def read(self, places, _pose) -> LayerInputs:
        """What the layers need at the frame to come."""
        live = [self._live.settings(f"layers[{place}]").layers[place] for place in self._places]
        inputs, unread = self._spaces.read(places)
        several = {
            place: [item.weight for item in layer.poses]
            for place, layer in zip(self._places, live, strict=True)
            if layer.source == "POSE" and len(layer.poses)
        }
        return LayerInputs([layer.weight for layer in live], inputs, several, unread)

    def apply(self, rig, pose, inputs, state, seconds) -> tuple:
        """See `LayerStack.apply`."""
        after = self._stack.apply(rig, pose, inputs, state, seconds)
        self.messages = self._problems | self._stack.messages
        return after

    def point(self, state: dict | None, name: str) -> tuple | None:
        """The current point of a blend space at a recorded state, None where no layer plays it."""
        for key in (name, f"{name} (aim)"):
            if state and key in state:
                return state[key].at
        return None


def notes_of(library, spaces) -> dict[str, str]:
    """What users should know of actions and blend spaces that are played all the same, by name."""
    actions = {f'Action "{name}"': text for name, text in library.notes.items()}
    return actions | {f'Blend space "{name}"': text for name, text in spaces.notes.items()}


def fingerprint(obj) -> tuple:
    """What a character's stack is made of beyond its settings: the frame rate, what they point at and still exists, and
    edits of actions."""
    settings = obj.active_ragdoll
    chosen = [getattr(other, "session_uid", 0) for item in choices(settings) for other in _chosen_of(item)]
    data = obj.animation_data
    own = data.action if data is not None else None
    driven = len(data.drivers) if data is not None else 0
    return STATE.clips.edits, layer_clips.fps_of(obj), driven, own and own.session_uid, *chosen


def _chosen_of(item) -> tuple:
    """Actions and armatures that a setting points at."""
    chosen = item.action, item.armature
    return (*chosen, item.base_action, item.base_armature) if hasattr(item, "base_action") else chosen


def choices(settings):
    """All settings of a character that choose an action."""
    for layer in settings.layers:
        yield layer
        yield from layer.poses
    for space in settings.blend_spaces:
        yield from space.samples
    yield from settings.graph.states
