"""What the sidebar shows of blend spaces and the graph: the current point, its weights, the picture, messages."""

import numpy as np

from ..errors import RagdollError
from ..motion import space_picture
from .runtime import STATE
from .space_players import places_of


def current_point(obj, space, frame: int) -> tuple:
    """The point of a blend space: the preview, else that of the frame that is shown, else the values that are set."""
    axes = (space.x, space.y)[: 1 if space.dimensions == "1D" else 2]
    if space.show_preview:
        return tuple(axis.preview for axis in axes)
    stack = STATE.motions.get(obj.name)
    states = stack.states.get(frame) if stack is not None else None
    for entry, state in zip(stack.entries, states, strict=True) if states else ():
        point = getattr(entry.solver, "point", None)
        found = point(state, space.name) if point is not None else None
        if found is not None and len(found) == len(axes):
            return found
    return tuple(axis.value for axis in axes)


def picture(obj, space, frame: int, size: int = 256) -> tuple:
    """The picture [size, size, 4], the samples' weights at the point, and a message instead where there is neither."""
    try:
        places = places_of(space)
        at = current_point(obj, space, frame)
        weights = np.asarray(places.weights(*at)).reshape(-1)
        key = _fixed(space)
        if _ground.get("key") != (key, size):
            _ground.update(key=(key, size), pixels=space_picture.ground(places, size))
        drawn = _ground["pixels"]
        pixels = space_picture.picture(
            places, at, chosen=space.sample_index, preview=space.show_preview, size=size, drawn=drawn
        )
    except RagdollError as error:
        return None, None, str(error)
    return pixels, weights, ""


_ground: dict = {}


def _fixed(space) -> tuple:
    """What the picture depends on beside the point."""
    own = tuple((axis.minimum, axis.maximum, axis.ends, axis.grid) for axis in (space.x, space.y))
    samples = tuple((sample.x, sample.y) for sample in space.samples)
    return own, samples, space.dimensions, space.method


def signature(obj, space, frame: int) -> tuple:
    """What the picture depends on."""
    names = tuple(sample.action.name if sample.action else "" for sample in space.samples)
    point = tuple(round(float(value), 6) for value in current_point(obj, space, frame))
    return _fixed(space), names, point, space.sample_index, space.show_preview


def messages(obj, kind: str) -> list[str]:
    """What is wrong with a character's layers (LAYERS) or graph (GRAPH) at the frame that was shown last."""
    stack = STATE.motions.get(obj.name)
    if stack is None:
        return []
    own = {"LAYERS": ("Layer", "Blend space", "Action"), "GRAPH": ("Graph", "State", "Parameter", "Blend space")}[kind]
    return [f"{name}: {text}" for name, text in stack.messages.items() if name.startswith(own)]


def shown_states(obj, frame: int) -> list[tuple[str, float]]:
    """States of the graph that are shown at a frame, and their shares."""
    stack = STATE.motions.get(obj.name)
    states = stack.states.get(frame) if stack is not None else None
    for entry, state in zip(stack.entries, states, strict=True) if states else ():
        if entry.kind == "GRAPH":
            return entry.solver.weights(state)
    return []
