"""Where a bone stands and points under parents of uneven scale, which shear what hangs on them.

A rotation and a scale, as solvers know a bone in model space, cannot say it; the matrices that are shown do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import components as c
from .model_view import ModelView

_EVEN = 1e-4  # scales that differ by less, in parts of them, turn nothing by more than 0.003 deg

_AIMED = np.radians(0.01)
_ANY_AXIS = (0.0, 1.0, 0.0)
_STEPS = 20


def is_uneven(view: ModelView, bone: int) -> bool:
    """Whether a bone has a parent, near or far, that is scaled unevenly, for any of the view's characters."""
    if view.local_scales is None:
        return False
    parents, bone = view.rig.parents, view.rig.parents[bone]
    while bone >= 0:
        x, y, z = view.local_scales[bone]
        least = _EVEN * abs(x)
        if not view.m.all((abs(x - y) <= least) & (abs(x - z) <= least)):
            return True
        bone = parents[bone]
    return False


def carried(view: ModelView, bone: int, axis: tuple, rotations: dict) -> tuple[tuple, tuple]:
    """Position of a bone and direction of a vector of its own frame, both in model space.

    Args:
        axis: of any length; the direction is a unit vector.
        rotations: local rotations that differ from the view's, by bone.
    """
    chain = [bone]
    while view.rig.parents[chain[0]] >= 0:
        chain.insert(0, view.rig.parents[chain[0]])
    position, columns = (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    for link in chain:
        rotation, scale = rotations.get(link, view.local_rotations[link]), view.local_scales[link]
        position = c.add(position, _times(columns, view.local_positions[link]))
        x, y, z = (_times(columns, c.rotate(rotation, unit)) for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
        columns = c.mul(scale[0], x), c.mul(scale[1], y), c.mul(scale[2], z)
    return position, c.unit(view.m, _times(columns, axis), (0.0, 0.0, 1.0))


def aimed_anew(
    view: ModelView, bone: int, axis: tuple, target: tuple, rotations: dict, reached, solve_for: Callable
) -> dict:
    """Local rotations with which a bone looks at a target in spite of uneven scales: as much beside it is aimed as
    the bone looks beside it, until that is good or gets no better.

    Args:
        bone, axis: what looks.
        target: point in model space.
        rotations: of a solver that knows rotations and scales alone, by bone.
        reached: where that solver has reached the target; elsewhere its answer stands.
        solve_for: the solver's rotations for another point.
    """
    return _brought(
        view,
        rotations,
        reached,
        lambda found: _seen(view, bone, axis, found, target),
        lambda offset: solve_for(c.add(target, offset)),
        _AIMED,
    )


def placed_anew(
    view: ModelView, bone: int, place: tuple, rotations: dict, reached, solve_for: Callable, enough: float
) -> dict:
    """Local rotations with which a bone stands at a place in spite of uneven scales, as near as it can.

    Args:
        bone: what is to stand there.
        place: in model space.
        rotations: of a solver that knows rotations and scales alone, by bone.
        reached: where the bone is to be put; elsewhere the solver's answer stands.
        solve_for: the solver's rotations for a place so far from the one it was asked for.
        enough: distance that need not be made good.
    """

    def seen(found: dict) -> tuple:
        missed = c.sub(place, carried(view, bone, _ANY_AXIS, found)[0])
        return missed, c.length(view.m, missed)

    return _brought(view, rotations, reached, seen, solve_for, enough)


def _brought(view: ModelView, rotations: dict, reached, seen: Callable, solve_for: Callable, enough: float) -> dict:
    """Rotations of a solver that is asked for as much beside the goal as it comes out beside it, until that is good.

    Args:
        seen: by how much rotations miss the goal: as vector, and as a number that counts.
        solve_for: rotations for a vector beside the goal.
    """
    m, offset, last = view.m, (0.0, 0.0, 0.0), None
    missed, error = seen(rotations)
    for _ in range(_STEPS):
        astray = reached & (error > enough)
        if not m.any(astray):
            break
        step = missed
        if last is not None:
            # Anderson's acceleration: the last two steps tell how much of a step comes through.
            moved, changed = c.sub(offset, last[0]), c.sub(missed, last[1])
            square = c.dot(changed, changed)
            share = m.where(square > 0.0, c.dot(missed, changed) / m.where(square > 0.0, square, 1.0), 0.0)
            step = c.along(missed, -share, c.add(moved, changed))
        last, offset = (offset, missed), c.add(offset, step)
        again = solve_for(offset)
        missed, now = seen(again)
        better, before = astray & (now < error), view.local_rotations
        error = m.where(better, now, error)
        rotations = {
            b: c.choose(m, better, again.get(b, before[b]), rotations.get(b, before[b])) for b in again | rotations
        }
    return rotations


def _seen(view: ModelView, bone: int, axis: tuple, rotations: dict, target: tuple) -> tuple:
    """By how much a bone looks beside a target: as vector at the target's distance, and as angle."""
    m = view.m
    eye, sight = carried(view, bone, axis, rotations)
    away = c.sub(target, eye)
    wanted = c.unit(m, away, sight)
    missed = c.mul(c.length(m, away), c.sub(wanted, sight))
    return missed, m.atan2(c.length(m, c.cross(sight, wanted)), c.dot(sight, wanted))


def _times(columns: tuple, vector) -> tuple:
    return c.along(c.along(c.mul(vector[0], columns[0]), vector[1], columns[1]), vector[2], columns[2])
