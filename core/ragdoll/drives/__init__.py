"""How bodies are moved towards their targets: `LAWS`, the default first, are what a character's drive can follow."""

import numpy as np

from . import servo, springs
from .law import Law

LAWS: list[Law] = [servo.Velocity(), springs.Spring()]


def place_of(identifier: str) -> int:
    """The place in `LAWS` of a law by its identifier; the default's for one that is not there, as in a newer file."""
    return next((i for i, law in enumerate(LAWS) if law.identifier == identifier), 0)


def of(identifier: str) -> Law:
    """A law by its identifier."""
    return LAWS[place_of(identifier)]


def parameters() -> list:
    """The parameters of all laws."""
    return [parameter for law in LAWS for parameter in law.parameters]


def in_use(drives: np.ndarray) -> list:
    """(law, bodies that follow it [m]) of the laws that any body follows, by their places in `LAWS` [m]."""
    return [(LAWS[place], drives == place) for place in sorted(set(drives.tolist()))]
