"""Characters that are knocked out and come back, for the tests of recovery."""

import itertools

import numpy as np
from mathutils import Matrix

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.stack import stack_edits

COURSE = ["ACTIVE", "LIMP", "SETTLING", "RECOVERING", "BLENDING", "ANIMATED"]
LIMIT = 0.1  # [m/s] of a jump of a joint's velocity, for a character of 1.8 m
KNOCK = 8  # frames after the shot's first


def floor(scene, obj):
    """Just under the lowest that its bodies come to in the first second of the animation."""
    low = np.inf
    for frame in range(scene.frame_start, scene.frame_start + 24, 4):
        scene.frame_set(frame)
        scene.active_ragdoll.source.frame_set(frame)
        posed = obj.active_ragdoll.source.evaluated_get(scene.active_ragdoll.source.view_layers[0].depsgraph)
        for part in obj.active_ragdoll.parts:
            place = (posed.matrix_world @ posed.pose.bones[part.bone].matrix).normalized()
            place = place @ Matrix(part.offset.tolist())
            low = min(low, min((place @ vertex.co).z for vertex in part.body.data.vertices))
    side = max(60.0, 20.0 * obj.active_ragdoll.height)
    rigs.box(scene, "Floor", (side, side, 1), (0, 0, low - 0.51), passive=True)


def prepare(scene, obj, first, last, events=None, bones="MAIN", **settings):
    rigs.set_range(scene, first, last)
    scene.frame_set(first)
    rigs.ensure_world(scene)
    group = obj.active_ragdoll.recovery
    rigs.changed(group, **{"enabled": True, "get_up": "ACTIONS"} | settings)
    build.build(obj, scene, bones)
    if group.get_up != "ACTIONS":
        stack_edits.ensure(obj, scene)
    floor(scene, obj)
    scene.frame_set(first)
    for frame, phase in (events or {first + KNOCK: "LIMP"}).items():
        rigs.changed(group.events.add(), frame=frame, phase=phase)
    return group


def human(scene, last=150, events=None, **settings):
    obj = rigs.swinging_human(scene, 1, last)
    prepare(scene, obj, 1, last, events, **settings)
    return obj


def run(scene, obj):
    """Shown and target poses, and states, by frame."""
    shown, targets, states = {}, {}, {}
    target = obj.active_ragdoll
    for frame in simulate.frames(scene):
        shown[frame], states[frame] = rigs.pose(obj), obj.active_ragdoll.state
        if target.target_armature is not None:
            targets[frame] = rigs.pose(target.target_armature)
    return shown, targets, states


def course(states):
    """States one after the other; a limp body may come to a halt and slide on."""
    found = [state for state, _frames in itertools.groupby(states[frame] for frame in sorted(states))]
    while "SETTLING" in found and found[found.index("SETTLING") + 1 : found.index("SETTLING") + 2] == ["LIMP"]:
        del found[found.index("SETTLING") : found.index("SETTLING") + 2]
    return found


def jumps(obj, shown, rows, fps=24.0):
    """Largest jump of a joint's velocity at each frame, as of a character of 1.8 m [m/s]."""
    frames = sorted(shown)
    places = np.array([shown[frame][rows, :3, 3] for frame in frames])
    change = np.linalg.norm(np.diff(places, n=2, axis=0), axis=2) * fps
    return dict(zip(frames[1:-1], change.max(axis=1) / (obj.active_ragdoll.height / 1.8), strict=True))


def pops_where_it_begins(scene, obj, shown, frame):
    """Largest jump of a joint's velocity when it leaves limpness at a frame, beside one that is left lying [m/s].

    Limp bodies tremble and flop by themselves. Until then both are the same."""
    rigs.changed(obj.active_ragdoll.recovery.events.add(), frame=frame, phase="LIMP", hold=True)
    difference = {}
    for now in simulate.frames(scene):
        difference[now] = shown[now] - rigs.pose(obj)
        if now == frame + 2:
            break
    assert np.abs(difference[frame]).max() < 1e-6 * obj.active_ragdoll.height
    return max(jumps(obj, difference, rows(obj)).values())


def rows(obj):
    return [obj.data.bones.find(part.bone) for part in obj.active_ragdoll.parts]


def first(states, phase):
    return min(frame for frame, state in states.items() if state == phase)
