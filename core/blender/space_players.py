"""Blend spaces made from settings, and their inputs."""

from ..errors import RagdollError
from ..motion.aim_offset import mesh_space_pose
from ..motion.blend_space import Axis, BlendSpace1D, BlendSpace2D
from ..motion.space_player import SpacePlayer
from ..motion.sync import MARKERS
from .space_inputs import SpaceInputs


def axis_of(axis) -> Axis:
    """The axis of a setting. Raises RagdollError, naming it, when its minimum is not below its maximum."""
    return Axis(axis.name, axis.minimum, axis.maximum, axis.ends, axis.grid)


def labels(space) -> list[str]:
    """A name for each sample, each once: the action's, with a number where it comes again."""
    found: list[str] = []
    for sample in space.samples:
        name = sample.action.name if sample.action is not None else sample.action_name or "no action"
        label, count = name, 1
        while label in found:
            count += 1
            label = f"{name} ({count})"
        found.append(label)
    return found


def places_of(space, without=()) -> BlendSpace1D | BlendSpace2D:
    """The space alone, as the picture needs it.

    Args:
        without: labels of samples that are left out.

    Raises:
        RagdollError: no samples, two at one place, on one line, outside the axes; or a wrong axis.
    """
    kept = {label: sample for label, sample in zip(labels(space), space.samples, strict=True) if label not in without}
    names = list(kept)
    if space.dimensions == "1D":
        return BlendSpace1D(axis_of(space.x), names, [sample.x for sample in kept.values()])
    positions = [(sample.x, sample.y) for sample in kept.values()]
    return BlendSpace2D((axis_of(space.x), axis_of(space.y)), names, positions, space.method)


class Spaces:
    """The blend spaces of a character, made when a layer or a state asks for them.

    Attributes:
        players: by name; for the aim offset's use of a space, by ("aim", name).
        inputs: what reads their inputs, by the same keys.
        notes: which samples are left out and why, by the name of the space.
    """

    def __init__(self, obj, library, live, facing) -> None:
        self._obj, self._library, self._live, self._facing = obj, library, live, facing
        self.players: dict = {}
        self.inputs: dict = {}
        self.notes: dict[str, str] = {}

    def player(self, name: str, *, aim: bool = False) -> tuple:
        """The key and the player of a blend space.

        Raises:
            RagdollError: there is none of that name, or it cannot be made; names the space.
        """
        found = [i for i, space in enumerate(self._obj.active_ragdoll.blend_spaces) if space.name == name]
        if not name:
            raise RagdollError("no blend space is chosen")
        if not found:
            raise RagdollError(f'there is no blend space "{name}"')
        key = f"{name} (aim)" if aim else name
        if key not in self.players:
            try:
                self.players[key] = self._make(self._obj.active_ragdoll.blend_spaces[found[0]], aim)
                self.inputs[key] = SpaceInputs(self._obj, found[0], self._live, self._facing)
            except RagdollError as error:
                self.players.pop(key, None)
                raise RagdollError(f'blend space "{name}": {error}') from error
        return key, self.players[key]

    def _make(self, space, aim: bool) -> SpacePlayer:
        clips, speeds, wrong = [], [], {}
        for label, sample in zip(labels(space), space.samples, strict=True):
            try:
                clip = self._clip(space, sample)
            except RagdollError as error:
                wrong[label] = f'sample "{label}": {error}'
                continue
            try:
                if aim:
                    mesh_space_pose(label, clip)
            except RagdollError as error:
                wrong[label] = str(error)
                continue
            clips.append(clip)
            speeds.append(sample.speed)
        if wrong and not clips:
            raise RagdollError("; ".join(wrong.values()))
        if wrong:
            self.notes[space.name] = "; ".join(f"{text}; it is left out" for text in wrong.values())
        return SpacePlayer(
            space.name,
            places_of(space, wrong),
            clips,
            aim=aim,
            speeds=speeds,
            sync=space.sync,
            smoothing=(space.x.smoothing, space.y.smoothing),
        )

    def _clip(self, space, sample):
        if sample.single:
            clip = self._library.one_frame(sample, sample.frame)
        else:
            clip = self._library.clip(sample, cycle=True)
            if space.sync == MARKERS:
                clip = self._library.with_markers(sample, clip)
        if sample.additive != "NONE":
            clip = self._library.additive(sample, clip, sample.additive)
        return clip

    def read(self, places) -> tuple[dict, dict]:
        """Inputs by key, and by key why some cannot be read."""
        values, unread = {}, {}
        for key, inputs in self.inputs.items():
            try:
                values[key] = inputs.read(places)
            except RagdollError as error:
                unread[key] = str(error)
        return values, unread
