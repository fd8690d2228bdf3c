"""Real characters look at a moving target with planted feet: shown, scrubbed, baked, rendered, and under physics."""

import bpy
import numpy as np
import pytest

import looking
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.stack import pose_stack

AIM = 0.05  # [deg]
PLANTED = 1e-4  # leg lengths


@pytest.mark.parametrize("name", looking.REAL)
def test_it_looks_with_planted_feet_scrubs_and_bakes(data_dir, name):
    rig, target, plain = looking.set_up(name, data_dir)
    obj, frames = rig.obj, range(rig.first, rig.last + 1)
    assert len(obj.active_ragdoll.look_at[0].entries) >= 3
    assert len(obj.active_ragdoll.leg_stabilizers) == looking.REAL[name]
    played = {}
    for frame in frames:
        rig.scene.frame_set(frame)
        played[frame] = rigs.pose(obj)
        assert looking.aim_error(obj, target) < AIM
        moved, turned = looking.foot_errors(obj, played[frame], plain[frame])
        assert moved < PLANTED and turned < 0.01
    assert not pose_stack.of(obj).messages
    assert max(rigs.angles(played[f], plain[f]).max() for f in frames) > 15.0

    pose_stack.forget()
    order = np.random.default_rng(1).permutation(list(frames))[:8].tolist()
    for frame, pose in looking.shown(rig, order).items():
        assert np.array_equal(pose, played[frame])

    list(bake.frames(obj, rig.scene))
    size = looking.size_of(obj)
    for frame, pose in looking.shown(rig, list(frames)[::5]).items():
        assert np.abs(pose - played[frame])[:, :3, 3].max() < 1e-5 * size
        assert rigs.angles(pose, played[frame]).max() < 0.02


@pytest.mark.blender_version
def test_a_final_render_shows_the_look(data_dir, tmp_path):
    """A render has its own dependency graph: the pose is read in that."""
    rig, target, _plain = looking.set_up("metarig human", data_dir)
    obj, scene = rig.obj, rig.scene
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = str(tmp_path / "still.png")
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    frame = rig.first + 9
    shown = looking.shown(rig, (frame,))[frame]
    seen = {}

    def read(_scene, graph=None):
        if graph is not None and graph.mode == "RENDER":
            posed = obj.evaluated_get(graph)
            world = np.array(posed.matrix_world)
            seen[scene.frame_current] = np.array([world @ np.array(bone.matrix) for bone in posed.pose.bones])

    scene.frame_start = scene.frame_end = frame
    pose_stack.forget()
    scene.frame_set(rig.first)
    bpy.app.handlers.frame_change_post.append(read)
    try:
        bpy.ops.render.render(animation=True)
    finally:
        bpy.app.handlers.frame_change_post.remove(read)
    assert set(seen) == {frame}
    assert np.abs(seen[frame] - shown).max() < 1e-5
    assert looking.aim_error(obj, target) < AIM
