"""What would make a ragdoll unstable or surprising, each finding with its figures and its remedy.

The thresholds are those of Bullet's manual (sizes from 5 cm to 10 m, no large ratios of masses, the heavy below the
light) and of this project's own measurements (480 steps a second, 40 iterations).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from ..anatomy import axes
from ..skeleton import depths
from .bodies import overlap

OVERLAP, MASS_RATIO, TINY, FIRST_POSE = "OVERLAP", "MASS_RATIO", "TINY", "FIRST_POSE"
SCALE, ANIMATED_SCALE, SUBSTEPS, ITERATIONS = "SCALE", "ANIMATED_SCALE", "SUBSTEPS", "ITERATIONS"
WORLD_DISABLED, TIME_SCALE, EXCLUDED, OUTDATED = "WORLD_DISABLED", "TIME_SCALE", "EXCLUDED", "OUTDATED"
LEFT_OVER, REFUSED, DISABLED, GRAVITY_WEIGHT = "LEFT_OVER", "REFUSED", "DISABLED", "GRAVITY_WEIGHT"
JOINT_MOVED, OUTSIDE, DROPS_FRAMES, BIND_POSE = "JOINT_MOVED", "OUTSIDE", "DROPS_FRAMES", "BIND_POSE"
ELSEWHERE, USER_CACHE, REMAPPED = "ELSEWHERE", "USER_CACHE", "REMAPPED"
UNEVEN_SCALE, UNEVEN_PARENT = "UNEVEN_SCALE", "UNEVEN_PARENT"
KINDS = (
    *(ELSEWHERE, LEFT_OVER, WORLD_DISABLED, USER_CACHE, REMAPPED, EXCLUDED, DISABLED, UNEVEN_SCALE, UNEVEN_PARENT),
    *(REFUSED, ANIMATED_SCALE, OUTDATED, JOINT_MOVED, OUTSIDE),
    *(BIND_POSE, OVERLAP, FIRST_POSE, MASS_RATIO, TINY, SUBSTEPS, ITERATIONS, SCALE, TIME_SCALE),
    *(GRAVITY_WEIGHT, DROPS_FRAMES),
)
ERROR, WARNING, INFO = "ERROR", "WARNING", "INFO"

DEEP = 1e-3  # of the height: shapes that stand less deep in each other are pushed apart unseen
RATIO = 10.0  # between joined bodies, heavier to lighter
TINY_SIZE = 0.02  # of the height
TINY_MASS = 5e-4  # of the total
MOVED = 0.01  # of the height: what a joint may stand away from its bone
EXCESS = math.radians(1.0)  # beyond a limit in the first pose: less shows as no jerk
SMALLEST, LARGEST = 0.3, 10.0  # [m] heights that Bullet's tolerances suit
SCALE_CHANGE = 1e-3  # relative; bodies keep the size they were made in
# Enough for joint limits to hold when a limp body falls, at any frame rate. Iterations do more for it than steps, and
# cost less.
STEPS_PER_SECOND = 480.0
FEWEST_ITERATIONS = 40


@dataclass(frozen=True)
class Finding:
    """One trouble."""

    kind: str  # one of KINDS
    severity: str  # ERROR (it will not work), WARNING (it may shake or jerk) or INFO
    text: str  # what was found, with its figures
    remedy: str  # what helps, in words
    bones: tuple = ()  # whose bodies it is about
    operator: str = ""  # of the button that does it, without `active_ragdoll.`; empty where only the user can.
    arguments: dict = field(default_factory=dict)  # for the operator
    button: str = ""  # what stands on its button


@dataclass
class Situation:
    """A ragdoll and its world as they are judged."""

    names: list  # bones of the bodies [m]
    parents: np.ndarray  # index of each body's parent, -1 at roots [m]
    masses: np.ndarray  # [kg] [m]
    sizes: np.ndarray  # largest side of every body [m] [m]
    height: float  # of the character [m]
    # bodies that touch in bind pose without being joined or told apart, (i, j, depth [m])
    overlaps: list = field(default_factory=list)
    excess: np.ndarray | None = None  # of the first pose beyond each joint's limits [rad] [m]
    scale_range: tuple = (1.0, 1.0)  # smallest and largest scale over the shot
    # fps, substeps, iterations, time_scale, enabled: of the scene and its rigid body world
    fps: float = 24.0
    substeps: int = 20
    iterations: int = FEWEST_ITERATIONS
    time_scale: float = 1.0
    enabled: bool = True
    stabilized: bool = False  # the masses of joined bodies are evened out already
    # collections that are left out of the view layer though the ragdoll needs them
    excluded: list = field(default_factory=list)
    outdated: bool = False  # settings wait for a new build
    left_over: list = field(default_factory=list)  # deleted characters whose bodies are still there
    refused: dict = field(default_factory=dict)  # why a run would refuse to begin, by kinds of `refusal`
    disabled: bool = False  # Blender does not pose the character
    gravity_weight: float = 1.0  # share of gravity that the world's field weights let through
    drops_frames: bool = False  # playback does not show every frame
    moved: np.ndarray | None = None  # how far each body's joint stands from its bone's head [m] [m]
    outside: list = field(default_factory=list)  # bodies that lie outside what their bones move of the mesh
    impossible: bool = False  # no body could take the bind pose, `anatomy.axes.is_impossible`


def overlaps(pieces: list, owners, parents, exempt=()) -> list:
    """Pairs of bodies that stand in each other without being joined: (i, j, depth [m]), i < j.

    Args:
        pieces: `fitting.Shape`s; a compound body has several [p]. owners: body of every piece [p].
        parents: body parents, -1 at roots [m]. exempt: pairs of bodies that do not collide.
    """
    owners, parents = np.asarray(owners, dtype=int), np.asarray(parents, dtype=int)
    first, second = np.triu_indices(len(pieces), 1)
    a, b = np.minimum(owners[first], owners[second]), np.maximum(owners[first], owners[second])
    apart = {(min(pair), max(pair)) for pair in exempt}
    apart |= {(min(i, int(k)), max(i, int(k))) for i, k in enumerate(parents) if k >= 0}
    meets = np.array([i != k and (i, k) not in apart for i, k in zip(a.tolist(), b.tolist(), strict=True)], dtype=bool)
    if not meets.any():
        return []
    depth, _direction = overlap.convex_depths(pieces, first[meets], second[meets])
    deepest = {}
    for i, k, value in zip(a[meets].tolist(), b[meets].tolist(), depth.tolist(), strict=True):
        if value > 0.0:
            deepest[i, k] = max(value, deepest.get((i, k), 0.0))
    return [(i, k, value) for (i, k), value in sorted(deepest.items(), key=lambda item: -item[1])]


def diagnose(situation: Situation) -> list[Finding]:
    """All findings, in the order of KINDS."""
    judges = (
        *(_left_over, _refused, _hidden, _joints, _outside, _world, _scale, _outdated, _bind_pose, _overlaps),
        *(_first_pose, _masses, _tiny, _steps, _iterations, _size),
    )
    return sorted((f for judge in judges for f in judge(situation)), key=lambda finding: KINDS.index(finding.kind))


def needed_substeps(fps: float, time_scale: float = 1.0) -> int:
    """Substeps a frame for `STEPS_PER_SECOND` of simulated time."""
    return max(1, math.ceil(STEPS_PER_SECOND * time_scale / fps - 1e-9))


def needed_iterations(parents) -> int:
    """Solver iterations for a tree of joints: Bullet passes an impulse on by about one joint in each."""
    return max(FEWEST_ITERATIONS, int(depths(parents).max(initial=0)) + 1)


def length_text(metres: float) -> str:
    """A length as people say it."""
    if metres >= 1.0:
        return f"{metres:.3g} m"
    return f"{metres * 100.0:.3g} cm" if metres >= 0.01 else f"{metres * 1000.0:.3g} mm"


def _remedy(kind, button, bones=()) -> tuple[str, dict, str]:
    return "remedy", {"kind": kind, "bones": "\n".join(bones)}, button


def _world(s):
    if not s.enabled:
        text = "The scene's rigid body world is switched off: nothing is simulated"
        yield Finding(WORLD_DISABLED, ERROR, text, "Switch it on", (), *_remedy(WORLD_DISABLED, "Switch On"))
    if s.excluded:
        named = ", ".join(f"'{name}'" for name in s.excluded)
        text = f"Left out of the view layer: {named}. What is in there is not simulated"
        yield Finding(EXCLUDED, ERROR, text, "Take it in again; hide it instead", (), *_remedy(EXCLUDED, "Take In"))
    if abs(s.time_scale - 1.0) > 1e-6:
        text = f"Time scale {s.time_scale:g}: the bodies move at another speed than their animation"
        yield Finding(TIME_SCALE, WARNING, text, "Set it to 1", (), *_remedy(TIME_SCALE, "Set to 1"))


def _scale(s):
    low, high = s.scale_range
    if high > low * (1.0 + SCALE_CHANGE):
        text = f"The character's scale is animated from {low:.4g} to {high:.4g}: its bodies keep their size"
        yield Finding(ANIMATED_SCALE, ERROR, text, "Remove the keys of its scale, or apply the scale")


def left_over_text(names) -> str:
    """What is wrong where bodies of deleted characters are left."""
    return f"Bodies of '{names[0]}'{_more(len(names), 'character')}, deleted since, still push others"


def _left_over(s):
    if s.left_over:
        text = left_over_text(s.left_over)
        yield Finding(LEFT_OVER, ERROR, text, "Remove them", (), "remove", {"left_over": True}, "Remove")


def refusal(kind: str, text: str) -> Finding:
    """What a run refuses, in the words of its message."""
    rebuild = "build", {"bones": "KEEP"}, "Rebuild"
    scale = "apply_transform", {"location": False, "rotation": False}, "Apply Scale"
    remedies = {
        ELSEWHERE: ("Rebuild, which makes it here", *rebuild),
        USER_CACHE: ("Delete that bake",),
        REMAPPED: ("Set both to the same", *_remedy(REMAPPED, "Set to the Same")),
        UNEVEN_SCALE: ("Apply the scale", *scale),
        UNEVEN_PARENT: ("Apply the scale of the parent",),
        REFUSED: ("Mend it, or rebuild", *rebuild),
    }
    remedy, *button = remedies[kind]
    return Finding(kind, ERROR, text, remedy, (), *button)


def _refused(s):
    yield from (refusal(kind, text) for kind, text in s.refused.items())


def _hidden(s):
    """What is set where nobody looks for it."""
    if s.disabled:
        text = "The character is disabled in viewports or left out of the view layer: Blender does not pose it"
        yield Finding(DISABLED, ERROR, text, "Enable it, and hide it instead", (), *_remedy(DISABLED, "Enable"))
    if abs(s.gravity_weight - 1.0) > 1e-6:
        text = f"The rigid body world's field weights let {s.gravity_weight:.0%} of gravity act"
        button = _remedy(GRAVITY_WEIGHT, "Set to 1")
        yield Finding(GRAVITY_WEIGHT, WARNING, text, "Set the weights of all fields and of gravity to 1", (), *button)
    if s.drops_frames:
        text = "Playback drops frames, or may, to keep its speed: the live simulation ends where one is left out"
        button = _remedy(DROPS_FRAMES, "Play Every Frame")
        yield Finding(DROPS_FRAMES, INFO, text, "Set Sync to Play Every Frame, or simulate first", (), *button)


def _joints(s):
    away = np.flatnonzero(s.moved > MOVED * s.height) if s.moved is not None else ()
    if len(away):
        worst = int(np.argmax(s.moved))
        text = (
            f"The joint of '{s.names[worst]}' stands {length_text(float(s.moved[worst]))} away from its bone"
            f"{_more(len(away), 'joint')}: the bodies turn about a wrong point"
        )
        bones = tuple(s.names[i] for i in away)
        yield Finding(
            JOINT_MOVED, WARNING, text, "Rebuild, which puts it back", bones, "build", {"bones": "KEEP"}, "Rebuild"
        )


def _outside(s):
    if s.outside:
        bones = tuple(s.names[i] for i in s.outside)
        others = _more(len(bones), "body").replace("bodys", "bodies")
        text = f"The body of '{bones[0]}' lies outside its mesh{others}: it meets nothing where the character is seen"
        remedy = "Move it back, or let it be fitted anew"
        yield Finding(OUTSIDE, WARNING, text, remedy, bones, *_remedy(OUTSIDE, "Fit Anew", bones))


def _outdated(s):
    if s.outdated:
        text = "Settings changed since the bodies and joints were made"
        yield Finding(OUTDATED, INFO, text, "Rebuild", (), "build", {"bones": "KEEP"}, "Rebuild")


def _bind_pose(s):
    if s.impossible:
        text = axes.IMPOSSIBLE[0].upper() + axes.IMPOSSIBLE[1:]
        remedy = "Go to a frame at which the character stands at ease, take the bind pose from it, and rebuild"
        yield Finding(BIND_POSE, WARNING, text, remedy, (), "bind_pose_from_frame", {}, "Bind Pose from This Frame")


def _overlaps(s):
    deep = [(i, k, depth) for i, k, depth in s.overlaps if depth > DEEP * s.height]
    if deep:
        i, k, depth = max(deep, key=lambda found: found[2])
        text = (
            f"'{s.names[i]}' and '{s.names[k]}' stand {length_text(depth)} in each other"
            f"{_more(len(deep), 'pair')}: they push each other away"
        )
        bones = tuple(dict.fromkeys(s.names[body] for pair in deep for body in pair[:2]))
        remedy = "Rebuild, which tells them apart or makes them smaller"
        yield Finding(OVERLAP, WARNING, text, remedy, bones, "build", {"bones": "KEEP"}, "Rebuild")


def _more(count: int, what: str) -> str:
    """A remark on those that are not named."""
    return "" if count < 2 else f" ({count - 1} more {what}{'s' if count > 2 else ''})"


def _first_pose(s):
    if s.excess is None:
        return
    beyond = np.flatnonzero(s.excess > EXCESS)
    if len(beyond):
        worst = int(np.argmax(s.excess))
        bones = tuple(s.names[i] for i in beyond[np.argsort(-s.excess[beyond], kind="stable")])
        text = (
            f"In the shot's first pose '{s.names[worst]}' is {math.degrees(s.excess[worst]):.3g} deg beyond its "
            f"limits{_more(len(bones), 'bone')}: it starts with a jerk"
        )
        operator = "check_limits", {"widen": True}, "Widen Limits"
        yield Finding(FIRST_POSE, WARNING, text, "Widen the limits", bones, *operator)


def _masses(s):
    joined = np.flatnonzero(s.parents >= 0)
    child, parent = s.masses[joined], s.masses[s.parents[joined]]
    ratio = np.maximum(child, parent) / np.maximum(np.minimum(child, parent), 1e-12)
    large = np.flatnonzero(ratio > RATIO)
    if not len(large):
        return
    worst = int(large[np.argmax(ratio[large])])
    light, heavy = sorted((int(joined[worst]), int(s.parents[joined[worst]])), key=lambda i: s.masses[i])
    text = (
        f"'{s.names[heavy]}' weighs {s.masses[heavy]:.3g} kg, {ratio[worst]:.3g} times '{s.names[light]}' that it is "
        f"joined to{_more(len(large), 'pair')}: the joint gives way"
    )
    bones = tuple(dict.fromkeys(s.names[i] for n in large for i in (int(joined[n]), int(s.parents[joined[n]]))))
    if s.stabilized:
        yield Finding(MASS_RATIO, WARNING, text, "Set their own masses nearer to each other, or to 0", bones)
    else:
        remedy = "Stabilize the masses, or set them nearer to each other"
        yield Finding(MASS_RATIO, WARNING, text, remedy, bones, *_remedy(MASS_RATIO, "Stabilize Masses"))


def _tiny(s):
    shares = s.masses / s.masses.sum()
    small = (s.sizes < TINY_SIZE * s.height) | (shares < TINY_MASS)
    found = np.flatnonzero(small)
    if not len(found):
        return
    least = int(found[np.argmin(np.minimum(s.sizes / (TINY_SIZE * s.height), shares / TINY_MASS)[found])])
    text = (
        f"'{s.names[least]}' measures {length_text(float(s.sizes[least]))} and weighs {s.masses[least]:.3g} kg"
        f"{_more(len(found), 'body').replace('bodys', 'bodies')}: too little for steady joints"
    )
    bones = tuple(s.names[i] for i in found if s.parents[i] >= 0)
    button = _remedy(TINY, "Merge into Parents", bones) if bones else ()
    yield Finding(TINY, WARNING, text, "Let it ride on its parent's body", bones or (s.names[least],), *button)


def _steps(s):
    steps = s.fps * s.substeps / max(s.time_scale, 1e-9)
    if steps < STEPS_PER_SECOND * (1.0 - 1e-6):
        needed = needed_substeps(s.fps, s.time_scale)
        text = f"{s.substeps} substeps a frame are {steps:.4g} steps a second; limits hold from {STEPS_PER_SECOND:g} on"
        yield Finding(SUBSTEPS, WARNING, text, f"Raise them to {needed}", (), *_remedy(SUBSTEPS, f"Raise to {needed}"))


def _iterations(s):
    needed = needed_iterations(s.parents)
    if s.iterations < needed:
        text = f"{s.iterations} solver iterations for chains of {needed} bodies at most: joints give way"
        if needed == FEWEST_ITERATIONS:
            text = f"{s.iterations} solver iterations: limits hold from {needed} on"
        button = _remedy(ITERATIONS, f"Raise to {needed}")
        yield Finding(ITERATIONS, WARNING, text, f"Raise them to {needed}", (), *button)


def _size(s):
    if not SMALLEST <= s.height <= LARGEST:
        small = s.height < SMALLEST
        text = f"The character is {length_text(s.height)} high" + (
            ": Bullet's tolerances are too coarse for it"
            if small
            else ": it falls as slowly as giants do, and overshoots when it moves fast"
        )
        other = ", or raise the substeps" if small else ", or raise gravity and lower its mass"
        remedy = "Scale it so that 1 unit is 1 m" + other
        yield Finding(SCALE, WARNING, text, remedy)
