"""Look-at chains and leg stabilisers of a character as entries of its motion stack."""

import math
from collections.abc import Callable, Iterator

from ..errors import RagdollError
from ..motion import look_at_weight, stack
from ..motion.leg_stabilizer import Legs, LegStabilizer
from ..motion.look_at import LinkedBone, LookAt, LookAtEntry
from ..motion.rig import Inputs, Rig, points_to_model
from . import motion_places
from .entry_values import Values
from .runtime import STATE

_LIMP = 0.1  # weight of a leg's bodies below which it counts as limp, the less the more so


def names_of(items, default: str) -> list[str]:
    """A name for each item of a list, each once: its own, or the default with a number."""
    found: list[str] = []
    for i, item in enumerate(items):
        name = item.name.strip() or f"{default} {i + 1}"
        found.append(name if name not in found else f"{name} ({i + 1})")
    return found


def look_ats(obj, rig: Rig) -> Iterator[tuple[str, Callable]]:
    """(name, make) of each chain that is switched on."""
    chains = obj.active_ragdoll.look_at
    for i, name in enumerate(names_of(chains, "Look-at")):
        if chains[i].enabled:
            yield name, lambda i=i, name=name: _look_at(obj, rig, i, name)


def _look_at(obj, rig: Rig, i: int, name: str) -> stack.Entry:
    item = obj.active_ragdoll.look_at[i]
    if item.target_type == "OBJECT" and item.target is not None:
        motion_places.follow(obj, item.target)
    solver = solver_of(rig, item, name)
    values = Values(obj, "look_at", i)

    def read(places, _pose) -> Inputs | None:
        now = obj.active_ragdoll.look_at[i]
        weight = weight_at(now, values.read(places, "weight"), places.seconds, places.seconds_per_frame)
        if weight <= 0.0:
            return None
        if now.target_type == "POINT":
            target = values.read(places, "target_point")[:]
        else:
            target = places.point(name, now.target, now.target_bone)
        return Inputs(weight=weight, world=places.world, target=points_to_model(target, places.world))

    return stack.Entry(name, stack.LOOK_AT, solver, read, item.marks_reference, keeps_state=True)


def solver_of(rig: Rig, item, name: str) -> LookAt:
    """The solver of a chain's settings.

    Raises:
        RagdollError: see `LookAt`; a bone that the armature has not.
    """
    entries = []
    for entry in item.entries:
        linked = [
            LinkedBone(rig.bone(f'{name}, entry "{entry.bone}", linked bone', link.bone), link.reset_to_default)
            for link in entry.linked_bones
        ]
        entries.append(
            LookAtEntry(
                rig.bone(name, entry.bone),
                min(entry.limit, math.pi),  # in single precision 180 deg is a little more
                tuple(entry.forward_axis),
                tuple(entry.parent_forward_axis),
                entry.rotate_around_up_weight,
                entry.limit_from,
                entry.reset_to_default,
                linked,
            )
        )
    margin = min(item.behind_margin, math.pi / 2.0)
    return LookAt(rig, entries, name, tuple(item.up_vector), item.blend_speed, item.comfort, margin)


def weight_at(item, initial: float, seconds: float, seconds_per_frame: float) -> float:
    """A chain's weight at a time: the property's until the first event, from then on what the events say."""
    if not len(item.events):
        return initial
    return look_at_weight.weight(seconds, events_of(item, seconds_per_frame), initial)


def events_of(item, seconds_per_frame: float) -> tuple:
    """The stored events of a chain, by time."""
    made = {"SET": (None, None), "ENABLE": (1.0, 0.0), "DISABLE": (0.0, 0.0)}
    result = []
    for event in item.events:
        end, timed = made[event.kind]
        result.append(
            look_at_weight.WeightEvent(
                event.frame * seconds_per_frame,
                event.weight if end is None else end,
                None if timed is None else event.duration,
                event.cancel_current_transition,
            )
        )
    return tuple(sorted(result, key=lambda event: event.seconds))


# ---- legs -----------------------------------------------------------------------------------------------------------


def leg_stabilizers(obj, rig: Rig) -> Iterator[tuple[str, Callable]]:
    """(name, make) of each leg that is switched on."""
    made: list = []
    for i, item in enumerate(obj.active_ragdoll.leg_stabilizers):
        if item.enabled:
            yield f"Leg stabiliser {i + 1}", lambda i=i: _leg(obj, rig, i, made)


def _leg(obj, rig: Rig, i: int, made: list) -> stack.Entry:
    item = obj.active_ragdoll.leg_stabilizers[i]
    name = f"Leg stabiliser {i + 1}"
    leg = LegStabilizer(
        rig,
        rig.bone(name, item.foot_bone),
        item.bones_count,
        name,
        min_distance=item.min_distance,
        max_iterations=item.max_iterations,
        tolerance=item.tolerance,
    )
    for other in made:
        shared = set(leg.bones) & set(other.bones)
        if shared or rig.is_ancestor(leg.bones[0], other.foot_bone) or rig.is_ancestor(other.bones[0], leg.foot_bone):
            feet = rig.name(leg.foot_bone), rig.name(other.foot_bone)
            raise RagdollError(f'{name}: its foot "{feet[0]}" is on the same leg as "{feet[1]}" of {other.name}')
    made.append(leg)
    values = Values(obj, "leg_stabilizers", i)
    bones = [rig.name(bone) for bone in leg.bones]

    def read(places, _pose) -> Inputs | None:
        weight = values.read(places, "ik_weight")
        if weight > 0.0 and obj.active_ragdoll.leg_stabilizers[i].off_while_limp:
            weight *= places.remembered(("strength", name), lambda: strength(obj, bones))
        return Inputs(weight=weight) if weight > 0.0 else None

    return stack.Entry(name, stack.LEG_STABILIZERS, leg, read)


def joined(entries: list[stack.Entry]) -> list[stack.Entry]:
    """All legs as one entry, which costs less than one after the other."""
    legs = [entry for entry in entries if entry.kind == stack.LEG_STABILIZERS]
    if len(legs) < 2:
        return entries

    def read(places, pose) -> Inputs | None:
        found = [entry.read(places, pose) for entry in legs]
        for entry, inputs in zip(legs, found, strict=True):
            entry.solver.ik_weight = inputs.weight if inputs is not None else 0.0
        return Inputs() if any(inputs is not None for inputs in found) else None

    whole = stack.Entry("Leg stabilisers", stack.LEG_STABILIZERS, Legs([entry.solver for entry in legs]), read)
    return [*(entry for entry in entries if entry.kind != stack.LEG_STABILIZERS), whole]


def strength(obj, bones: list[str]) -> float:
    """1 while a leg's bodies are driven, or there is no run; down to 0 where they are limp."""
    run = next((run for run in STATE.runs.values() if obj.name in run.names and run.frame is not None), None)
    if run is None or run.frame <= run.first:
        return 1.0
    character = next(character for character in run.characters if character.name == obj.name)
    driven = [max(pair) for pair in zip(*(weights[character.rows] for weights in run.weights()), strict=True)]
    limp = [run.limp[row] for row in range(character.rows.start, character.rows.stop)]
    held = [
        0.0 if slack else float(weight)
        for bone, weight, slack in zip(character.bone_names, driven, limp, strict=True)
        if bone in bones
    ]
    return min(1.0, sum(held) / len(held) / _LIMP) if held else 1.0
