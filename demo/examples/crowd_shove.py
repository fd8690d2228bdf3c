"""A crowd: a wave of pushes runs through ten people; who is pushed a little steps, who is pushed hard falls."""

from pathlib import Path

import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects
from active_ragdoll.core.blender.tools import story

from .. import character, shot

PEOPLE, ROWS, APART = 10, 2, (1.9, 1.9)  # [m] aside and ahead
FIRST, LATER, LAST = 12, 4, 730  # frames
IMPULSES, BLOW = (28.0, 125.0), 0.12  # [N s] of the first and the last one, [s]
HANGING = shot.both_sides({"upper_arm": (0.18, 0.05, -1.0), "forearm": (0.08, -0.15, -1.0), "hand": (0.0, -0.1, -1.0)})


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    scene.frame_start, scene.frame_end = 1, LAST
    people = [make_person(scene, i) for i in range(PEOPLE)]
    shot.furnish(scene)
    for i, person in enumerate(people):
        build.build(person, scene)
        story.set_up_recovery(person, scene)
        effects.set_tone(person, "AWAKE")
        settings = person.active_ragdoll
        settings.balance.enabled, settings.loosening = True, 1.5
        settings.recovery.get_up_seed, settings.recovery.get_up_pace = i + 1, 0.8
        share = i / (PEOPLE - 1)
        impulse = IMPULSES[0] + share * (IMPULSES[1] - IMPULSES[0])
        way = np.array((1.0, -0.25 + 0.5 * (i % ROWS), 0.1))
        effects.add_hit(person, scene, "spine.003", FIRST + LATER * i, tuple(impulse * way), duration=BLOW)
    middle = 0.5 * APART[0] * (PEOPLE / ROWS - 1)
    shot.camera(scene, (middle - 1.8, -7.0, 2.3), (middle + 0.5, 0.4, 0.75), lens=25.0)
    found, cost = shot.run(scene, lambda: [person.active_ragdoll.state for person in people])
    fell = [i + 1 for i in range(PEOPLE) if "LIMP" in {states[i] for states in found.values()}]
    up = [i for i in fell if found[LAST][i - 1] == "ANIMATED"]
    figures = {"ms_a_frame": cost, "fell": fell, "stand_again": up}
    shown = [1, *np.linspace(FIRST + 4, FIRST + LATER * PEOPLE + 16, 7).astype(int).tolist()]
    shot.write(scene, out, figures, frames=[*shown, *np.linspace(100, LAST, 4).astype(int).tolist()], columns=3)


def make_person(scene, i: int):
    """One who stands still, every other in the row behind."""
    person, skin = character.make_rigify_human(scene)
    person.name = person.data.name = f"Person {i + 1}"
    skin.name = f"{person.name} skin"
    shot.point_bones(scene, person, HANGING, 1)
    person.location = (APART[0] * (i // ROWS) + 0.3 * (i % ROWS), APART[1] * (i % ROWS), 0.0)
    person.rotation_euler.z = 0.25 * np.sin(2.4 * i)
    shot.recolour(person, tuple(0.08 + 0.3 * abs(np.sin(1.7 * i + np.arange(3)))))
    return person
