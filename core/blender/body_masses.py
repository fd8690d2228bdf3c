"""Masses of the bodies: the bone's own, else its part of a human, else volume times density."""

import numpy as np

from ..anatomy import masses
from ..anatomy.roles import HUMAN

AUTOMATIC_DENSITY = 1000.0


def of_bodies(obj, pose, plan, height: float, anatomy) -> np.ndarray:
    """Mass [kg] of every body [m] of a character of a height [m]."""
    settings = obj.active_ragdoll
    model = settings.mass_model
    if model == "AUTO":
        model = masses.DEFAULT_TABLE if anatomy.kind == HUMAN else "DENSITY"
    if model == "DENSITY":
        density = settings.density
        if density == AUTOMATIC_DENSITY:
            density *= (np.clip(height, masses.DWARF, masses.GIANT) / height) ** 3
        result = plan.volumes() * density
        result = np.maximum(result, masses.LIGHTEST_SHARE * result.sum())
    else:
        total = settings.body_mass if settings.body_mass > 0.0 else masses.human_mass(height)
        shares = masses.human_shares(model, anatomy, pose.parents, plan.bones, plan.volumes())
        result = masses.with_floor(total * shares)
    if settings.stabilize_masses:
        result = masses.stabilised(result, plan.parents)
    for i, bone in enumerate(plan.bones):
        own = obj.pose.bones[bone].active_ragdoll.mass
        if own > 0.0:
            result[i] = own
    return result
