"""What pushes a character beside its hits: the ground that carries it, wind, what it holds, what runs into it.

All of it is found from where things are, as whom drives hold exactly gives way to nothing."""

import math
from dataclasses import dataclass

import numpy as np

from ..physics import collision, ground, world
from ..rig.armature import array_of
from ..runtime import STATE
from . import shot_run

JUMPED = 4.0  # times as far as in the frame before: that is no motion
THROWN = 0.1  # of the height: ground that goes as far in a frame carries nobody


@dataclass(frozen=True, eq=False)
class Mover:
    """What moves and is no part of a character that it may run into."""

    box: np.ndarray  # middle and half the size of its bounding box in its own axes [2, 3]
    place: np.ndarray  # its matrix now [4, 4]
    turn: np.ndarray  # what moves it from one frame to the next, in the world [4, 4]
    mass: float  # [kg]; inf for what nothing holds up
    solid: object = None  # its object; that of a character is not asked for

    def blow(self, run, character, seconds: float) -> np.ndarray:
        """Velocity [3] that it will give the whole of a character in the coming step.

        That of an inelastic blow on those bodies that it meets, if both go on as they do. Afterwards would be too
        late: bodies that are driven into it by their animation are thrown out of it.
        """
        rows, middles = character.rows, run.body[character.rows, :3, 3]
        shift, met = (run.body - run.body_before)[rows, :3, 3], np.zeros(len(middles), dtype=bool)
        sizes = np.linalg.norm(self.place[:3, :3], axis=0)
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            place = self.place + share * (self.turn @ self.place - self.place)
            seen = (middles + share * shift - place[:3, 3]) @ np.linalg.inv(place[:3, :3]).T
            gap = np.maximum(np.abs(seen - self.box[0]) - self.box[1], 0.0) * sizes
            met |= np.linalg.norm(gap, axis=1) < character.radii
        struck = run.masses[rows][met]
        if not met.any():
            return np.zeros(3)
        closing = middles @ (self.turn[:3, :3] - np.eye(3)).T + self.turn[:3, 3] - shift
        return struck @ closing[met] / seconds / (1.0 + struck.sum() / self.mass) / character.mass


def _box_of(obj) -> np.ndarray:
    """Middle and half the size of an object's bounding box [2, 3]."""
    corners = np.array(obj.bound_box)
    return np.stack([corners.mean(axis=0), np.ptp(corners, axis=0) / 2.0])


class Pushes(shot_run.Effect):
    """What pushes the characters of a run."""

    def __init__(self, run, scene) -> None:
        self.solids = {solid: [] for solid in ground.solids(scene)}  # and where they stood at the last frames
        self.movers: list = []  # those that move
        all_settings = [character.obj.active_ragdoll for character in run.characters]
        self._felt = any((own.recovery.enabled or own.balance.enabled) and not own.muted for own in all_settings)

    def observe(self, run, scene, seconds: float) -> None:
        """Find the solids that move, but not those that only now jumped elsewhere."""
        self.movers = []
        if run.frame == run.first:
            _tell_unfelt(run)
        for solid, places in self.solids.items() if self._felt else ():
            try:
                own, body = solid.evaluated_get(run.graph), solid.rigid_body
            except ReferenceError:  # it was deleted
                continue
            if body is None or (body.type == "PASSIVE" and not body.kinematic):
                continue
            places[:] = [*places[-2:], array_of(own.matrix_world)]
            box = _box_of(own)
            middle = np.append(box[0], 1.0)
            ways = np.linalg.norm(np.diff([place @ middle for place in places], axis=0), axis=1)
            if len(places) == 3 and 0.0 < ways[1] < JUMPED * ways[0] and np.linalg.det(places[1:]).all():
                turn = places[2] @ np.linalg.inv(places[1])
                self.movers.append(Mover(box, places[2], turn, math.inf if body.kinematic else body.mass, solid))

    def on(self, run, character, scene) -> dict:
        """What pushes one that stands, world: velocity [2] of what runs into it [m/s], acceleration [2] by winds and
        weights [m/s^2], and how the ground under it went in the last one or two frames [1 or 2, 3] [m], in a row."""
        seconds, rows = world.seconds_per_frame(scene), character.rows
        moves = any(self.solids.values())  # else nobody has to know what it stands on
        if not (moves or run.in_fields or run.effect("attachments").all or len(run.characters) > 1):
            return {}
        middle = run.masses[rows] @ run.body[rows, :3, 3] / character.mass
        at = complex(*middle[:2]), middle[2], character.height
        found = ground.highest(scene, self.solids, *at) if moves else None
        places = self.solids[found[1]] if found else []
        high = max(middle[2] - found[0] if found else 0.0, 0.5 * character.height)  # not over what it stands astride of
        leans = self._weights(run, character, middle) / high
        pull = collision.wind(run, rows) / character.mass + world.pull(scene) * leans
        blows = [mover.blow(run, character, seconds) for mover in self._around(run, character, places)]
        found = {"SHOVE": max(blows, key=np.linalg.norm, default=np.zeros(3))[:2], "PULL": pull[:2]}
        if len(places) > 1 and np.linalg.det(places[-1]) != 0.0:
            under = np.linalg.solve(places[-1], np.append(middle, 1.0))
            ways = np.diff([(place @ under)[:3] for place in places], axis=0)
            if np.linalg.norm(ways, axis=1).max() < THROWN * character.height:
                found["GROUND"] = ways.ravel()
        return {name: values.tolist() for name, values in found.items() if values.any()}

    def _around(self, run, character, under: list) -> list:
        """What may run into a character: others, and the solids that move, but for what it stands on or is held by."""
        pairs = [{own.body, own.other, own.target} for own in run.effect("attachments").all if own.live is not None]
        mine = set(character.bodies.objects) if pairs else set()
        held = {other for pair in pairs if pair & mine for other in pair - mine}
        found = [mover for mover in self.movers if mover.solid not in held and not any(mover.place is p for p in under)]
        for other in (other for other in run.characters if other is not character):
            ways = run.body[other.rows, None, :3, 3] - run.body[character.rows, :3, 3]
            near = np.linalg.norm(ways, axis=2).min(axis=1) < 0.3 * max(character.height, other.height)
            for row in np.flatnonzero(near) if not held.intersection(other.bodies.objects) else ():
                before, place = (each[other.rows.start + row] for each in (run.body_before, run.body))
                box = _box_of(other.bodies.objects[row])
                found.append(Mover(box, place, place @ np.linalg.inv(before), other.mass))
        return found

    def _weights(self, run, character, middle: np.ndarray) -> np.ndarray:
        """By how much what a character holds moves the middle of all masses off its own [3] [m]."""
        mass, shift = character.mass, np.zeros(3)
        for own in run.effect("attachments").all:
            if own.character is character and own.live is not None and own.holder is None and own.other_row < 0:
                prop = own.other.evaluated_get(run.graph)
                mass += prop.rigid_body.mass
                shift += prop.rigid_body.mass * (array_of(prop.matrix_world)[:3, 3] - middle)
        return shift / mass


def _tell_unfelt(run) -> None:
    names = [own.name for own in collision.acting_fields(run) if not collision.is_wind(own.field)]
    for who in (each.name for each in run.characters if names and each.obj.active_ragdoll.balance.enabled):
        text = f"'{who}' does not balance against force field '{names[0]}', which pushes its bodies alone: only"
        STATE.warn(who, f"{text} against winds that are even, without noise and flow")
