"""Weights of look-at chains that go over in a given time, for scripts.

The functions have the meaning they have in P. Massoudi's article "The Perfect Look At System". Every call is stored
as an event at a frame, so that it acts the same in any order of playing.
"""

from ..errors import RagdollError
from ..motion.look_at import weight as look_at_weight
from . import runtime
from .physics.source import scene_of
from .settings import at_frame
from .stack.entries.look_at import events_of


def get_look_at_weight(obj, index: int = 0, frame: float | None = None) -> float:
    """The weight of a chain.

    Args:
        obj: the character.
        index: of the chain in `obj.active_ragdoll.look_at`.
        frame: the scene's current one when not given.

    Raises:
        RagdollError: no such chain.
    """
    _chain, seconds, events, initial = _read(obj, index, frame)
    return look_at_weight.weight(seconds, events, initial)


def set_look_at_weight(obj, weight: float, index: int = 0, frame: float | None = None) -> None:
    """Set the weight at a frame; a transition under way is cancelled.

    Raises:
        RagdollError: no such chain, or a weight outside 0..1.
    """
    chain, seconds, events, _initial = _read(obj, index, frame)
    look_at_weight.set_weight(events, seconds, weight)
    _store(obj, chain, "SET", frame, weight=weight)


def enable_look_at(
    obj, time: float, cancel_current_transition: bool = True, index: int = 0, frame: float | None = None
) -> bool:
    """Let the weight go to 1 within a time [s].

    Args:
        cancel_current_transition: a transition under way gives way to this one; else the call is ignored meanwhile.

    Returns:
        Whether the call was taken.

    Raises:
        RagdollError: no such chain, or a time below 0.
    """
    return _go(obj, "ENABLE", time, cancel_current_transition, index, frame)


def disable_look_at(
    obj, time: float, cancel_current_transition: bool = True, index: int = 0, frame: float | None = None
) -> bool:
    """Let the weight go to 0 within a time [s]; else as `enable_look_at`."""
    return _go(obj, "DISABLE", time, cancel_current_transition, index, frame)


def is_in_transition(obj, index: int = 0, frame: float | None = None) -> bool:
    """Whether the weight is on its way to 0 or 1. Raises RagdollError where there is no such chain."""
    _chain, seconds, events, initial = _read(obj, index, frame)
    return look_at_weight.is_in_transition(seconds, events, initial)


def time_to_finish_transition(obj, index: int = 0, frame: float | None = None) -> float:
    """What is left of the transition [s], 0 when there is none. Raises RagdollError where there is no such chain."""
    _chain, seconds, events, initial = _read(obj, index, frame)
    return look_at_weight.time_to_finish(seconds, events, initial)


def clear_events(obj, index: int = 0) -> None:
    """Forget all calls: the weight is the setting's again. Raises RagdollError where there is no such chain."""
    _chain_of(obj, index).events.clear()
    runtime.settings_changed(obj, stack=False)


def _chain_of(obj, index: int):
    chains = obj.active_ragdoll.look_at
    if not 0 <= index < len(chains):
        raise RagdollError(f"'{obj.name}' has no look-at chain {index}: it has {len(chains)}")
    return chains[index]


def _scene_of(obj):
    import bpy

    return scene_of(obj) or bpy.context.scene


def _read(obj, index: int, frame: float | None) -> tuple:
    chain = _chain_of(obj, index)
    scene = _scene_of(obj)
    step = scene.render.fps_base / scene.render.fps
    seconds = (scene.frame_current_final if frame is None else frame) * step
    return chain, seconds, events_of(chain, step), _initial(obj, index)


def _initial(obj, index: int) -> float:
    """The setting's own weight, which may be keyed."""
    keyed = at_frame.is_keyed(obj, f"look_at[{index}].weight") and obj.active_ragdoll.source is not None
    return at_frame.owner(obj, keyed).active_ragdoll.look_at[index].weight


def _go(obj, kind: str, time: float, cancel: bool, index: int, frame: float | None) -> bool:
    chain, seconds, events, initial = _read(obj, index, frame)
    call = look_at_weight.enable if kind == "ENABLE" else look_at_weight.disable
    call(events, seconds, time, cancel)
    if not cancel and look_at_weight.is_in_transition(seconds, events, initial):
        return False
    _store(obj, chain, kind, frame, duration=time, cancel_current_transition=cancel)
    return True


def _store(obj, chain, kind: str, frame: float | None, **values) -> None:
    event = chain.events.add()
    event.kind = kind
    event.frame = _scene_of(obj).frame_current_final if frame is None else frame
    for name, value in values.items():
        setattr(event, name, value)
    runtime.settings_changed(obj, stack=False)
