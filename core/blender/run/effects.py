"""What acts in a run beside the drives: hits, attachments, limit rescues, kinematic blends, recoveries.

A run calls its effects in a fixed order and merges what they state; no effect writes to the run. A new effect is a
subclass of `Effect` and a line in `pipeline.EFFECTS`.
"""

import numpy as np


class Effect:
    """One kind of effect, for all characters of a run. What it states is None as long as it states nothing."""

    name = ""  # other modules find it in a run by this name
    factor = None  # of both weights [m], or of the rotation and the translation weights [2, m]
    # Masks of bodies [m]:
    kinematic = None  # the effect itself places them
    switched_off = None  # their characters are not simulated but move with their animation
    awake = None  # they must not fall asleep
    struck = None  # they are hit in the coming step: their characters do not count as calm
    waiting = None  # their targets stay with them, so that a drive takes hold of them where they are
    driven_in_world = None  # they are driven from the world even if their character is driven at its joints
    muscles = ()  # `motors.Muscles` that lead joints instead of the drives; not merged
    changed = False  # one of the above has changed since the run last merged them

    def __init__(self, run, scene) -> None:
        """Prepare for a run that starts, before the world is made. Raises RagdollError if it cannot act."""
        self.shares: dict[str, float] = {}  # factors of the physics blend, by the character's name

    def state(self, **values) -> None:
        """Set attributes, and `changed` if any of them differs from before."""
        for name, value in values.items():
            known = getattr(self, name)
            if known is None or np.any(value != known):
                setattr(self, name, value)
                self.changed = True

    def read(self, run, scene, character, settings, edited: bool) -> None:
        """Read the settings of a character for the frame to come.

        Args:
            settings: of the object; of its source if any are keyed.
            edited: whether they were edited since they were last read.
        Raises:
            RagdollError: one is invalid; then what was read before must stay.
        """

    def before_joints(self, run, scene, bind) -> None:
        """In the warm-up, when Bullet makes the joints: act on nothing. bind: matrices of the bodies [m, 4, 4]."""

    def after_joints(self, run) -> None:
        """One frame after `before_joints`: the joints have been made."""

    def step(self, run, scene, seconds: float, substeps: int) -> None:
        """Before the step into the frame about to be shown. seconds: length of the step in the simulation."""

    def placed(self, run, before, places, seconds: float, shown_seconds: float):
        """Places of the kinematic bodies at the coming frame [m, 4, 4].

        Args:
            before: where the animation had the bodies at the frame shown [m, 4, 4].
            places: as the effects before this one have them.
            seconds, shown_seconds: length of the frame in the simulation and on the timeline.
        """
        return places

    def observe(self, run, scene, seconds: float) -> None:
        """After a frame is shown; `run.body` and `run.body_before`: the bodies now and a frame before [m, 4, 4]."""

    def share_at(self, character, frame: int) -> float:
        """Factor of the physics blend at a frame that was simulated."""
        return 1.0

    def finish(self, run) -> None:
        """When a run ends early: leave nothing that acts."""


def merged(effects, name: str, count: int) -> np.ndarray:
    """Mask of the bodies [m] for which any effect sets a certain mask."""
    result = np.zeros(count, dtype=bool)
    for effect in effects:
        mask = getattr(effect, name)
        if mask is not None:
            result |= mask
    return result
