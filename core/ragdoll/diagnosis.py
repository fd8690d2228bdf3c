"""What would make a ragdoll unstable or surprising, each finding with its figures and its remedy.

The thresholds are those of Bullet's manual (sizes from 5 cm to 10 m, nothing heavy below
the light) and of this project's own measurements (480 steps a second, 40 iterations).
"""

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ..anatomy import axes
from ..anatomy.masses import CARRIED
from ..skeleton import depths
from .bodies import overlap

OVERLAP, MASS_RATIO, TINY, FIRST_POSE = "OVERLAP", "MASS_RATIO", "TINY", "FIRST_POSE"
SCALE, ANIMATED_SCALE, SUBSTEPS, ITERATIONS = "SCALE", "ANIMATED_SCALE", "SUBSTEPS", "ITERATIONS"
WORLD_DISABLED, TIME_SCALE, EXCLUDED, OUTDATED = "WORLD_DISABLED", "TIME_SCALE", "EXCLUDED", "OUTDATED"
LEFT_OVER, REFUSED, DISABLED, GRAVITY_WEIGHT = "LEFT_OVER", "REFUSED", "DISABLED", "GRAVITY_WEIGHT"
JOINT_MOVED, OUTSIDE, DROPS_FRAMES, BIND_POSE = "JOINT_MOVED", "OUTSIDE", "DROPS_FRAMES", "BIND_POSE"
ELSEWHERE, USER_CACHE, REMAPPED = "ELSEWHERE", "USER_CACHE", "REMAPPED"
UNEVEN_SCALE, UNEVEN_PARENT, NO_WAY_UP = "UNEVEN_SCALE", "UNEVEN_PARENT", "NO_WAY_UP"
ERROR, WARNING, INFO = "ERROR", "WARNING", "INFO"
# How severe each kind is, in the order in which findings are told.
KINDS = dict.fromkeys((ELSEWHERE, LEFT_OVER, WORLD_DISABLED, USER_CACHE, REMAPPED, EXCLUDED, DISABLED), ERROR)
KINDS |= dict.fromkeys((UNEVEN_SCALE, UNEVEN_PARENT, REFUSED, ANIMATED_SCALE), ERROR) | {OUTDATED: INFO}
KINDS |= dict.fromkeys((JOINT_MOVED, OUTSIDE, BIND_POSE, OVERLAP, FIRST_POSE, MASS_RATIO, TINY), WARNING)
KINDS |= dict.fromkeys((SUBSTEPS, ITERATIONS, SCALE, TIME_SCALE, GRAVITY_WEIGHT), WARNING)
KINDS |= dict.fromkeys((DROPS_FRAMES, NO_WAY_UP), INFO)
DEEP = 1e-3  # of the height: shapes that stand less deep in each other are pushed apart unseen
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
    overlaps: list = field(default_factory=list)  # (i, j, depth [m]) of bodies that touch in bind pose, not told apart
    excess: np.ndarray | None = None  # of the first pose beyond each joint's limits [rad] [m]
    scale_range: tuple = (1.0, 1.0)  # smallest and largest scale over the shot
    fps: float = 24.0  # of the scene; what follows of its rigid body world
    substeps: int = 20
    iterations: int = FEWEST_ITERATIONS
    time_scale: float = 1.0
    enabled: bool = True
    excluded: list = field(default_factory=list)  # needed collections that are left out of the view layer
    outdated: bool = False  # settings wait for a new build
    left_over: list = field(default_factory=list)  # deleted characters whose bodies are still there
    refused: dict = field(default_factory=dict)  # why a run would refuse to begin, by kinds of `refusal`
    disabled: str = ""  # the character's name where Blender does not pose it
    gravity_weight: float = 1.0  # share of gravity that the world's field weights let through
    drops_frames: bool = False  # playback does not show every frame
    moved: np.ndarray | None = None  # how far each body's joint stands from its bone's head [m] [m]
    outside: list = field(default_factory=list)  # bodies that lie outside what their bones move of the mesh
    impossible: bool = False  # no body could take the bind pose, `anatomy.axes.is_impossible`


def overlaps(shapes: list, parents, exempt=()) -> list:
    """Pairs of bodies that stand in each other without being joined: (i, j, depth [m]), i < j, the deepest first. Of
    `fitting.Shape`s [m], the bodies' parents, -1 at roots [m], and `exempt` pairs, which do not collide."""
    apart = {frozenset(pair) for pair in exempt} | {frozenset((i, int(k))) for i, k in enumerate(parents)}
    pairs = [pair for pair in combinations(range(len(shapes)), 2) if frozenset(pair) not in apart]
    depths_of = overlap.depths(shapes, *np.array(pairs, dtype=int).reshape(-1, 2).T).tolist()
    found = [(*pair, deep) for pair, deep in zip(pairs, depths_of, strict=True) if deep > 0.0]
    return sorted(found, key=lambda each: -each[2])


def diagnose(situation: Situation) -> list[Finding]:
    """All findings, in the order of KINDS."""
    judges = _plain, _joints, _outside, _overlaps, _first_pose, _masses, _tiny, _world, _size
    order = list(KINDS)
    return sorted((f for judge in judges for f in judge(situation)), key=lambda finding: order.index(finding.kind))


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


def left_over(names) -> list[Finding]:
    """What is wrong where bodies of deleted characters, of these names, are left."""
    if not names:
        return []
    text = f"Bodies of '{names[0]}'{_more(len(names), 'character')}, deleted since, still push others"
    return [_found(LEFT_OVER, text, "Remove them", ("remove", {"left_over": True}, "Remove"))]


def disabled(name: str) -> Finding:
    """That Blender does not pose the character of this name."""
    text = f"'{name}' is disabled in viewports or excluded: its physics is simulated, and not shown"
    return _found(DISABLED, text, "Enable it, and hide it instead", "Enable")


def _more(count: int, what: str) -> str:
    """A remark on those that are not named."""
    return "" if count < 2 else f" ({count - 1} more {what}{'s' if count > 2 else ''})".replace("bodys", "bodies")


REBUILD = "build", {"bones": "KEEP"}, "Rebuild"


def _found(kind: str, text: str, remedy: str, button="", bones=()) -> Finding:
    """A finding; its button is (operator, arguments, title), or the title where the remedy is that of its kind."""
    if isinstance(button, str):
        button = ("remedy", {"kind": kind, "bones": "\n".join(bones)}, button) if button else ()
    return Finding(kind, KINDS[kind], text, remedy, tuple(bones), *button)


def refusal(kind: str, text: str) -> Finding:
    """What a run refuses or goes without, in the words of its message."""
    scale = "apply_transform", {"location": False, "rotation": False}, "Apply Scale"
    remedies = {
        ELSEWHERE: ("Rebuild, which makes it here", REBUILD),
        USER_CACHE: ("Delete that bake",),
        REMAPPED: ("Set both to the same", "Set to the Same"),
        UNEVEN_SCALE: ("Apply the scale", scale),
        UNEVEN_PARENT: ("Apply the scale of the parent",),
        REFUSED: ("Mend it, or rebuild", REBUILD),
        NO_WAY_UP: ("Give its bones their roles, or let it blend", "Let It Blend"),
    }
    return _found(kind, text, *remedies[kind])


def _plain(s):
    """What is so or not, without a figure to judge by."""
    yield from (refusal(kind, text) for kind, text in s.refused.items())
    yield from left_over(s.left_over)
    if not s.enabled:
        text = "The scene's rigid body world is switched off: nothing is simulated"
        yield _found(WORLD_DISABLED, text, "Switch it on", "Switch On")
    if s.excluded:
        named = ", ".join(f"'{name}'" for name in s.excluded)
        text = f"Left out of the view layer: {named}. What is in there is not simulated"
        yield _found(EXCLUDED, text, "Take it in again; hide it instead", "Take In")
    if s.disabled:
        yield disabled(s.disabled)
    if s.drops_frames:
        text = "Playback drops frames, or may, to keep its speed: the live simulation ends where one is left out"
        yield _found(DROPS_FRAMES, text, "Set Sync to Play Every Frame, or simulate first", "Play Every Frame")
    if s.outdated:
        text = "Edited bodies or joints wait for Rebuild or the next simulation"
        yield _found(OUTDATED, text, "Rebuild to apply", REBUILD)
    if s.impossible:
        text = axes.IMPOSSIBLE[0].upper() + axes.IMPOSSIBLE[1:]
        remedy = "Go to a frame at which the character stands at ease, take the bind pose from it, and rebuild"
        yield _found(BIND_POSE, text, remedy, ("bind_pose_from_frame", {}, "Bind Pose from This Frame"))


def _world(s):
    """What numbers of the world and of the shot say."""
    if abs(s.time_scale - 1.0) > 1e-6:
        text = f"Time scale {s.time_scale:g}: the bodies move at another speed than their animation"
        yield _found(TIME_SCALE, text, "Set it to 1", "Set to 1")
    if abs(s.gravity_weight - 1.0) > 1e-6:
        text = f"The rigid body world's field weights let {s.gravity_weight:.0%} of gravity act"
        yield _found(GRAVITY_WEIGHT, text, "Set the weights of all fields and of gravity to 1", "Set to 1")
    low, high = s.scale_range
    if high > low * (1.0 + SCALE_CHANGE):
        text = f"The character's scale is animated from {low:.4g} to {high:.4g}: its bodies keep their size"
        yield _found(ANIMATED_SCALE, text, "Remove the keys of its scale, or apply the scale")
    steps = s.fps * s.substeps / max(s.time_scale, 1e-9)
    if steps < STEPS_PER_SECOND * (1.0 - 1e-6):
        needed = needed_substeps(s.fps, s.time_scale)
        text = f"{s.substeps} substeps a frame are {steps:.4g} steps a second; limits hold from {STEPS_PER_SECOND:g} on"
        yield _found(SUBSTEPS, text, f"Raise them to {needed}", "Fix World")
    needed = needed_iterations(s.parents)
    if s.iterations < needed:
        text = f"{s.iterations} solver iterations for chains of {needed} bodies at most: joints give way"
        if needed == FEWEST_ITERATIONS:
            text = f"{s.iterations} solver iterations: limits hold from {needed} on"
        yield _found(ITERATIONS, text, f"Raise them to {needed}", "Fix World")


def _joints(s):
    away = np.flatnonzero(s.moved > MOVED * s.height) if s.moved is not None else ()
    if len(away):
        worst = int(np.argmax(s.moved))
        name, off, others = s.names[worst], length_text(float(s.moved[worst])), _more(len(away), "joint")
        text = f"The joint of '{name}' stands {off} away from its bone{others}: the bodies turn about a wrong point"
        yield _found(JOINT_MOVED, text, "Rebuild, which puts it back", REBUILD, [s.names[i] for i in away])


def _outside(s):
    if s.outside:
        bones, others = [s.names[i] for i in s.outside], _more(len(s.outside), "body")
        text = f"The body of '{bones[0]}' lies outside its mesh{others}: it meets nothing where the character is seen"
        yield _found(OUTSIDE, text, "Move it back, or let it be fitted anew", "Fit Anew", bones)


def _overlaps(s):
    if deep := [(i, k, depth) for i, k, depth in s.overlaps if depth > DEEP * s.height]:
        i, k, depth = max(deep, key=lambda found: found[2])
        off, others = length_text(depth), _more(len(deep), "pair")
        text = f"'{s.names[i]}' and '{s.names[k]}' stand {off} in each other{others}: they push each other away"
        bones = dict.fromkeys(s.names[body] for pair in deep for body in pair[:2])
        yield _found(OVERLAP, text, "Rebuild, which tells them apart or makes them smaller", REBUILD, bones)


def _first_pose(s):
    beyond = np.flatnonzero(s.excess > EXCESS) if s.excess is not None else ()
    if len(beyond):
        worst = int(np.argmax(s.excess))
        bones = [s.names[i] for i in beyond[np.argsort(-s.excess[beyond], kind="stable")]]
        name, off, others = s.names[worst], math.degrees(s.excess[worst]), _more(len(bones), "bone")
        text = f"In the shot's first pose '{name}' is {off:.3g} deg beyond its limits{others}: it starts with a jerk"
        yield _found(FIRST_POSE, text, "Widen the limits", ("check_limits", {"widen": True}, "Widen Limits"), bones)


def _masses(s):
    joined = np.flatnonzero(s.parents >= 0)
    child, parent = s.masses[joined], s.masses[s.parents[joined]]
    ratio = child / np.maximum(parent, 1e-12)
    large = np.flatnonzero(ratio > CARRIED * (1.0 + 1e-6))
    if not len(large):
        return
    worst = int(large[np.argmax(ratio[large])])
    heavy, light = int(joined[worst]), int(s.parents[joined[worst]])
    (name, other), mass, times = (s.names[i] for i in (heavy, light)), s.masses[heavy], ratio[worst]
    others = _more(len(large), "pair")
    text = f"'{name}' weighs {mass:.3g} kg, {times:.0f} times '{other}' that it hangs on{others}: the joint gives way"
    bones = dict.fromkeys(s.names[i] for n in large for i in (int(joined[n]), int(s.parents[joined[n]])))
    yield _found(MASS_RATIO, text, "Set their own masses nearer to each other, or to 0", "Automatic Masses", bones)


def _tiny(s):
    shares = s.masses / s.masses.sum()
    found = np.flatnonzero((s.sizes < TINY_SIZE * s.height) | (shares < TINY_MASS))
    if not len(found):
        return
    least = int(found[np.argmin(np.minimum(s.sizes / (TINY_SIZE * s.height), shares / TINY_MASS)[found])])
    name, size, mass = s.names[least], length_text(float(s.sizes[least])), s.masses[least]
    others = _more(len(found), "body")
    text = f"'{name}' measures {size} and weighs {mass:.3g} kg{others}: too little for steady joints"
    bones = [s.names[i] for i in found if s.parents[i] >= 0]
    button = "Merge into Parents" if bones else ""
    yield _found(TINY, text, "Let it ride on its parent's body", button, bones or [s.names[least]])


def _size(s):
    if s.height < SMALLEST:
        why, other = "Bullet's tolerances are too coarse for it", "lower gravity and raise the substeps"
    elif s.height > LARGEST:
        why = "it falls as slowly as giants do, and overshoots when it moves fast"
        other = "raise gravity and lower its mass"
    else:
        return
    text = f"The character is {length_text(s.height)} high: {why}"
    yield _found(SCALE, text, f"Scale it so that 1 unit is 1 m, or {other}")
