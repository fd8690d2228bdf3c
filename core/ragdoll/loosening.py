"""How hits loosen a character: factors on the weights of its bodies, which drop with a hit and regain.

The factor of a body obeys ``df/dt = rate - f s P / (m c)``: P the force of a hit [N], s how much of it the body
feels (1 where it is hit, less the further away), m the character's mass and c the speed sqrt(gravity * height) times a
number, so that characters of any size loosen alike. A blow J thus leaves ``f exp(-s J / (m c))``, and two blows of half
the size the same. Between hits the factor regains evenly up to 1. All is solved exactly, so that any frame rate gives
the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import RagdollError
from . import froude, weight_spread
from .hits import BLOW

SPEED = 0.1  # of sqrt(gravity * height): 30 N s leave 37 % on a man of 70 kg hit at 0.42 m/s of his whole mass


@dataclass(frozen=True)
class Loosening:
    """Settings.

    Attributes:
        sensitivity: times the standard one; 0 loosens nothing.
        parents, children: what one bone further up or down feels, 0..1.
        others: what all other bones feel at most, 0..1.
        regain: [1/s].
    """

    sensitivity: float = 1.0
    parents: float = 0.5
    children: float = 0.7
    others: float = 0.1
    regain: float = 1.0


@dataclass(frozen=True)
class Blow:
    """An impulse [N s] on a body (row), from a moment [s] on over a duration [s]."""

    begins: float
    body: int
    impulse: float
    duration: float = 0.0


def checked(settings: Loosening) -> None:
    """Refuse settings out of range.

    Raises:
        RagdollError: names the setting and the value.
    """
    for name in ("sensitivity", "regain"):
        value = getattr(settings, name)
        if not (np.isfinite(value) and value >= 0.0):
            raise RagdollError(f"Loosening: {name} must be a number that is not negative, got {value:g}")
    for name in ("parents", "children", "others"):
        value = getattr(settings, name)
        if not 0.0 <= value <= 1.0:
            raise RagdollError(f"Loosening: {name} must be 0 to 1, got {value:g}")


def felt(settings: Loosening, parents, body: int) -> np.ndarray:
    """Share of a hit on a body that each body feels [m], 1 at the body itself.

    A factor for each joint up and each joint down the tree, at least what `others` says.
    """
    up, down = weight_spread.distances(parents, body)
    reached = np.isfinite(up)
    way = np.where(reached, settings.parents ** np.where(reached, up, 0.0), 0.0)
    way = way * settings.children ** np.where(reached, down, 0.0)
    return np.maximum(way, settings.others)


def loosened(
    settings: Loosening,
    factors,
    blows: Sequence[Blow],
    parents,
    begin: float,
    end: float,
    mass: float,
    size: float = 1.8,
    gravity: float = 9.81,
) -> np.ndarray:
    """The factors [m] at time `end` from those at `begin`, all times in seconds.

    Args:
        factors: [m] within 0..1; all 1 at the shot's first frame.
        blows: all of the shot, or those that touch the span [begin, end).
        parents: of the bodies, -1 at roots [m].
        mass: of the character [kg]. size: its height [m]. gravity: [m/s^2].

    Raises:
        RagdollError: an impulse that is no number; names the body's row and the moment.
    """
    factors = np.array(factors, dtype=float)
    scale = settings.sensitivity / (mass * SPEED * froude.speed(size, gravity))
    moments = {begin, end}
    blows = [blow for blow in blows if not (blow.begins >= end or blow.begins + blow.duration < begin)]
    for blow in blows:
        if not np.isfinite(blow.impulse):
            raise RagdollError(f"The impulse on body {blow.body} at {blow.begins:g} s is not a number: {blow.impulse}")
        moments.update(t for t in (blow.begins, blow.begins + blow.duration) if begin < t < end)
    shares = {body: scale * felt(settings, parents, body) for body in {blow.body for blow in blows}}
    moments = sorted(moments)
    for start, stop in pairwise(moments):
        pull = np.zeros(len(factors))
        for blow in blows:
            if blow.duration < BLOW:
                if blow.begins == start:
                    factors = factors * np.exp(-shares[blow.body] * abs(blow.impulse))
            elif blow.begins <= start and stop <= blow.begins + blow.duration:
                pull += shares[blow.body] * abs(blow.impulse) / blow.duration
        factors = _regained(factors, settings.regain, pull, stop - start)
    return factors


def _regained(factors, rate: float, pull, seconds: float) -> np.ndarray:
    """Solution of ``df/dt = rate - pull f`` after some seconds, kept to 1 where it gets there."""
    course = pull * seconds
    # (1 - exp(-x)) / x, by its series where the quotient would be of two vanishing numbers
    safe = np.where(course > 1e-6, course, 1.0)
    mean = np.where(course > 1e-6, -np.expm1(-course) / safe, 1.0 - 0.5 * course)
    return np.minimum(factors * np.exp(-course) + rate * seconds * mean, 1.0)
