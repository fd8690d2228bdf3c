"""Motion blur: what a render shows in its sub-frames lies between the whole frames, for all that moves a character."""

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

FIRST, LAST = 1, 8
BLUR = 0.25  # a shutter that is open for half a frame, with its middle at the frame

pytestmark = pytest.mark.blender_version


def _looks(scene):
    """At a target that flies from one side to the other, after which the look lags."""
    obj = rigs.swinging_human(scene, FIRST, LAST)
    target = rigs.empty(scene)
    rigs.key(target, "location", {FIRST: (-2.0, -1.0, 1.6), LAST: (2.0, -1.0, 1.9)})
    stack_edits.set_up_look_at(obj, scene, target)
    obj.active_ragdoll.look_at[0].blend_speed = 8.0
    assert len(obj.active_ragdoll.leg_stabilizers) == 2
    return obj


def _layered(scene):
    """A layer that comes and goes: its weight is keyed."""
    obj = rigs.swinging_human(scene, FIRST, LAST)
    layer = stack_edits.add_layer(obj, scene, "CLIP", obj.animation_data.action.name)
    stack_edits.choose(layer, obj.animation_data.action)
    layer.start = FIRST + 7
    rigs.key(obj, "active_ragdoll.layers[0].weight", {FIRST: 0.0, LAST: 1.0})
    return obj


def _physics(scene):
    return rigs.ragdoll(scene, LAST, 0.1, first=FIRST)


def _physics_and_look(scene):
    """Both, with a physics blend that is keyed."""
    obj = _looks(scene)
    rigs.set_weights(obj, 0.2)
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    rigs.key(obj, "active_ragdoll.physics_blend", {FIRST: 1.0, LAST: 0.6})
    return obj


def _baked(scene):
    obj = _physics(scene)
    bpy.context.view_layer.objects.active = obj
    assert bpy.ops.active_ragdoll.bake() == {"FINISHED"}
    return obj


CHARACTERS = (_looks, _layered, _physics_and_look, _baked)


def _rendered(scene, obj, engine: str) -> dict:
    scene.render.engine = engine
    scene.render.use_motion_blur = engine == "CYCLES"
    with renders.reading(scene, obj) as seen:
        bpy.ops.render.render(animation=True)
    return seen


def _local(obj, pose: np.ndarray) -> np.ndarray:
    """Matrices [n, 4, 4] of the bones in their parents' frames."""
    rows = [obj.data.bones.find(bone.parent.name) if bone.parent else -1 for bone in obj.data.bones]
    above = np.array([pose[row] if row >= 0 else np.eye(4) for row in rows])
    return np.linalg.inv(above) @ pose


@pytest.mark.parametrize("make", CHARACTERS)
def test_sub_frames_lie_between_the_frames(fresh_scene, tmp_path, make):
    obj = make(fresh_scene)
    renders.prepare(fresh_scene, tmp_path / "frame_")
    fresh_scene.cycles.samples = 1
    fresh_scene.render.motion_blur_shutter = 2.0 * BLUR
    sharp = _rendered(fresh_scene, obj, "BLENDER_WORKBENCH")
    pose_stack.forget()
    seen = _rendered(fresh_scene, obj, "CYCLES")
    assert all(np.array_equal(seen[frame], sharp[frame]) for frame in sharp), "whole frames are as without motion blur"
    fastest = 0.0
    for frame in range(FIRST, LAST):
        a, b = (_local(obj, sharp[frame + i]) for i in (0, 1))
        whole = rigs.angles(a, b)
        fastest = max(fastest, whole.max())
        for share in (BLUR, 1.0 - BLUR):
            now = _local(obj, seen[frame + share])
            tolerance = 0.04 * whole.max() + 0.01  # a blend that changes bends the way
            assert np.abs(rigs.angles(a, now) - share * whole).max() < tolerance, (frame, share)
            assert np.abs(rigs.angles(now, b) - (1.0 - share) * whole).max() < tolerance, (frame, share)
            between = (1.0 - share) * sharp[frame] + share * sharp[frame + 1]
            way = np.linalg.norm(sharp[frame + 1] - sharp[frame], axis=-2)[:, 3].max()
            assert np.linalg.norm(seen[frame + share] - between, axis=-2)[:, 3].max() < 0.1 * way + 1e-4
    assert fastest > 3.0
    after = rigs.angles(_local(obj, seen[LAST + BLUR]), _local(obj, sharp[LAST])).max()
    assert after <= fastest, "nothing jumps after the last frame"


def test_sub_frames_leave_no_trace(fresh_scene):
    obj = _looks(fresh_scene)
    frames = range(FIRST, LAST + 1)
    played = rigs.shown(fresh_scene, obj, frames)
    found = pose_stack.of(obj)
    known, last = dict(found.states), found._last
    fresh_scene.frame_set(5, subframe=0.5)
    half = rigs.pose(obj)
    assert found.states == known and found._last == last
    assert not np.array_equal(half, played[5]) and not np.array_equal(half, played[6])
    pose_stack.forget()
    for frame in frames:
        fresh_scene.frame_set(frame)
        assert np.array_equal(rigs.pose(obj), played[frame]), frame
        fresh_scene.frame_set(frame, subframe=0.5)
        if frame == 5:
            assert np.array_equal(rigs.pose(obj), half), "whatever was shown before"
