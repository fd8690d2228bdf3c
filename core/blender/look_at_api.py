"""Weights of look-at chains that go over in a given time, for scripts.

The functions have the meaning they have in P. Massoudi's article "The Perfect Look At System". Every call is stored
as an event at a frame, so that it acts the same in any order of playing.

Every function takes the character, the `index` of the chain in `obj.active_ragdoll.look_at`, and the `frame`, which is
the scene's current one when not given. Each raises RagdollError where there is no such chain.
"""

import bpy

from ..errors import RagdollError
from ..motion.look_at.chain import WeightEvent, weight_at
from . import runtime
from .physics.source import scene_of
from .settings import at_frame
from .stack.entries.look_at import events_of


def get_look_at_weight(obj, index: int = 0, frame: float | None = None) -> float:
    return _state(obj, index, frame)[0]


def set_look_at_weight(obj, weight: float, index: int = 0, frame: float | None = None) -> None:
    """Set the weight at a frame; a transition under way is cancelled. Raises RagdollError: a weight outside 0..1."""
    _store(obj, "SET", index, frame, weight=weight)


def enable_look_at(obj, time: float, cancel_current_transition=True, index=0, frame: float | None = None) -> bool:
    """Let the weight go to 1 within a time [s]. Returns whether the call was taken: with `cancel_current_transition` a
    transition under way gives way to this one, else the call is ignored meanwhile. Raises RagdollError: a time below 0.
    """
    return _store(obj, "ENABLE", index, frame, duration=time, cancel_current_transition=cancel_current_transition)


def disable_look_at(obj, time: float, cancel_current_transition=True, index=0, frame: float | None = None) -> bool:
    """Let the weight go to 0 within a time [s]; else as `enable_look_at`."""
    return _store(obj, "DISABLE", index, frame, duration=time, cancel_current_transition=cancel_current_transition)


def is_in_transition(obj, index: int = 0, frame: float | None = None) -> bool:
    """Whether the weight is on its way to 0 or 1."""
    return time_to_finish_transition(obj, index, frame) > 0.0


def time_to_finish_transition(obj, index: int = 0, frame: float | None = None) -> float:
    """What is left of the transition [s], 0 when there is none."""
    return _state(obj, index, frame)[1]


def clear_events(obj, index: int = 0) -> None:
    """Forget all calls: the weight is the setting's again."""
    _chain_of(obj, index).events.clear()
    runtime.settings_changed(obj, stack=False)


def _chain_of(obj, index: int):
    chains = obj.active_ragdoll.look_at
    if not 0 <= index < len(chains):
        raise RagdollError(f"'{obj.name}' has no look-at chain {index}: it has {len(chains)}")
    return chains[index]


def _found(obj, index: int, frame: float | None) -> tuple:
    """A chain, a frame, and seconds per frame."""
    scene = scene_of(obj) or bpy.context.scene
    at = scene.frame_current_final if frame is None else frame
    return _chain_of(obj, index), at, scene.render.fps_base / scene.render.fps


def _state(obj, index: int, frame: float | None) -> tuple[float, float]:
    """The weight, and what is left of a transition [s]; see `weight_at`. The setting's own weight may be keyed."""
    chain, frame, step = _found(obj, index, frame)
    keyed = at_frame.is_keyed(obj, f"look_at[{index}].weight") and obj.active_ragdoll.source is not None
    initial = at_frame.owner(obj, keyed).active_ragdoll.look_at[index].weight
    return weight_at(frame * step, events_of(chain, step), initial)


def _store(obj, kind: str, index: int, frame: float | None, **values) -> bool:
    """Store a call, unless a transition under way makes it ignored: then False. A wrong one is refused either way."""
    chain, frame, step = _found(obj, index, frame)
    WeightEvent(frame * step, values.get("weight", 1.0), values.get("duration"))
    if not values.get("cancel_current_transition", True) and is_in_transition(obj, index, frame):
        return False
    event = chain.events.add()
    event.kind, event.frame = kind, frame
    for name, value in values.items():
        setattr(event, name, value)
    runtime.settings_changed(obj, stack=False)
    return True
