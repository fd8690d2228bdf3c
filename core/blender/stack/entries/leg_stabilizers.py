"""Leg stabilisers: feet that are put back where they were before later entries moved them."""

import bpy
import numpy as np

from ....errors import RagdollError
from ....motion import limbs, stack
from ....motion.look_at.chain import from_roles
from ... import interface, runtime
from ...rig.armature import anatomy_of
from ...settings.declare import STACK, STACK_VALUE, flag, number, share, text, whole
from . import ItemStep, ListKind, look_at

_LIMP = 0.1  # weight of a leg's bodies below which it counts as limp, the less the more so


# fmt: off

class ActiveRagdollLegStabilizer(bpy.types.PropertyGroup):
    """A foot that is put back where it was before later entries moved it."""

    enabled: flag("Enabled", None, True, needs=STACK)
    foot_bone: text("Foot", needs=STACK)
    bones_count: whole("Bones", "Of the leg from the foot up, the foot included: 3 for a human, 1 for a foot on a "
        "control", 3, min=limbs.SHORTEST, max=limbs.LONGEST, needs=STACK)
    ik_weight: share("Weight", "Share of the way back", keyed=True, needs=STACK_VALUE)
    off_while_limp: flag("Off While Limp", "Weight 0 while the leg's bodies are limp, as when the character falls",
        needs=STACK)
    min_distance: number("Start Distance", "How far the foot must have moved before it is put back, in the armature's "
        "units; 0 is always", min=0.0, unit="LENGTH", zero="always", ticked=0.01, needs=STACK, own_units=True)
    max_iterations: whole("Iterations", "Most iterations, where the leg has more than three bones", 30, min=0,
        max=10000, needs=STACK)
    tolerance: number("Tolerance", "At which the iterations end, in parts of the leg's length", 1e-3, min=0.0, max=1.0,
        precision=5, needs=STACK)

# fmt: on


class Leg(ItemStep):
    """One leg, which `AllLegs` puts back."""

    def make(self, rig, item):
        foot = rig.bone(self.name, item.foot_bone)
        more = {name: getattr(item, name) for name in ("min_distance", "max_iterations", "tolerance")}
        self.solver = limbs.LegStabilizer(rig, foot, item.bones_count, self.name, **more)
        self._bones = [rig.name(bone) for bone in self.solver.bones]

    def weight(self, reader) -> float:
        """How far the foot is put back at the frame."""
        now = self.now(reader)
        if now.ik_weight <= 0.0 or not now.off_while_limp:
            return max(now.ik_weight, 0.0)
        return now.ik_weight * reader.remembered(("strength", self.name), lambda: strength(self.obj, self._bones))


class AllLegs(stack.Step):
    """All legs of a character at once, which costs less than one after the other."""

    name, reads_reference = "Leg stabilisers", True

    def __init__(self, legs: list[Leg]) -> None:
        self.legs = legs

    def read(self, reader, _pose) -> stack.Inputs | None:
        for leg in self.legs:
            leg.solver.ik_weight = leg.weight(reader)
        return stack.Inputs() if any(leg.solver.ik_weight > 0.0 for leg in self.legs) else None

    def apply(self, rig, pose, inputs, _state, _seconds) -> tuple:
        return limbs.stabilize([leg.solver for leg in self.legs], rig, pose, inputs), None


def strength(obj, bones: list[str]) -> float:
    """1 while a leg's bodies are driven, or there is no run; down to 0 where they are limp."""
    runs = [run for run in runtime.STATE.runs.values() if run.frame is not None]
    run, character = next(((run, c) for run in runs for c in run.characters if c.name == obj.name), (None, None))
    if run is None or run.frame <= run.first:
        return 1.0
    driven = np.maximum(*run.weights())[character.rows].tolist()  # limp ones have none
    held = [weight for bone, weight in zip(character.bone_names, driven, strict=True) if bone in bones]
    return min(1.0, sum(held) / len(held) / _LIMP) if held else 1.0


class LegStabilizers(ListKind):
    """Feet that are put back where they were before the look-at"""

    identifier, label, icon, place, panel_place = "LEG_STABILIZERS", "Leg Stabilisers", "CON_FLOOR", 60, 2
    items, active, group = "leg_stabilizers", "active_leg_stabilizer", ActiveRagdollLegStabilizer
    title, description = "Leg stabiliser", "A foot that is put back where it was"
    shown = ("foot_bone", "ik_weight")
    step = Leg

    def steps(self, obj, rig):
        """Of legs that share bones only the first one can be made."""
        made: list[limbs.LegStabilizer] = []
        for name, make in super().steps(obj, rig):
            yield name, lambda make=make: _beside(rig, make(), made)

    def joined(self, steps):
        return [AllLegs(steps)] if steps else []

    def fill(self, obj, items, item, bone):
        item.foot_bone = bone
        item.bones_count = legs_of(obj).get(bone, 3)

    def draw(self, layout, obj, item):
        inner = interface.rows(layout)
        inner.prop_search(item, "foot_bone", obj.data, "bones")
        inner.prop(item, "bones_count")
        interface.props(interface.rows(inner, keyed=True), item, "ik_weight")
        iterated = ("max_iterations", "tolerance") if _bends_iteratively(obj, item) else ()
        interface.props(inner, item, "off_while_limp", "min_distance", *iterated)


def _bends_iteratively(obj, item) -> bool:
    """Whether a leg, the active one, bends at more than two places: bones in pieces count as one, once it is made."""
    steps = getattr(runtime.STATE.motions.get(obj.name), "entries", ())
    legs = (leg for step in steps if isinstance(step, AllLegs) for leg in step.legs)
    places = (leg.solver.joints for leg in legs if leg.index == obj.active_ragdoll.active_leg_stabilizer)
    return len(next(places, range(item.bones_count))) > 3


def _beside(rig: stack.Rig, step: Leg, made: list) -> Leg:
    """A leg, put among those made before. Raises RagdollError where it shares bones with one of them."""
    leg = step.solver
    for other in made:
        shared = set(leg.bones) & set(other.bones)
        if shared or rig.is_ancestor(leg.bones[0], other.foot_bone) or rig.is_ancestor(other.bones[0], leg.foot_bone):
            feet = rig.name(leg.foot_bone), rig.name(other.foot_bone)
            raise RagdollError(f'{step.name}: its foot "{feet[0]}" is on the same leg as "{feet[1]}" of {other.name}')
    made.append(leg)
    return step


def legs_of(obj) -> dict[str, int]:
    """Number of bones of each recognised leg by its foot."""
    try:
        rig = look_at.rig_of(obj)
        found = from_roles(rig, anatomy_of(obj))
    except RagdollError:
        return {}
    return {rig.name(foot): count for foot, count in found.legs}


KIND = LegStabilizers()
