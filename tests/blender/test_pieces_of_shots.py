"""Pieces of a shot that are rendered or baked on their own are those of the whole shot, of other scenes too."""

import contextlib

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.physics import world
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import stack_edits

FIRST, LAST = 1, 16
PIECE = (9, 13)

pytestmark = pytest.mark.blender_version


@pytest.fixture
def shot(fresh_scene, tmp_path):
    """A saved shot that is open, with a limp character."""
    rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def _open(path):
    bpy.ops.wm.open_mainfile(filepath=str(path))
    scene = bpy.context.scene
    renders.prepare(scene, path.with_name("frame_"))
    return scene, scene.objects["Human"]


def test_a_piece_that_is_baked_is_that_of_the_whole_shot(call, shot, tmp_path):
    assert call("bake", shot, "--output", tmp_path / "whole.blend")[0] == 0
    assert call("bake", shot, "--frames", *PIECE, "--output", tmp_path / "piece.blend")[0] == 0
    whole, piece = rigs.baked_keys(tmp_path / "whole.blend"), rigs.baked_keys(tmp_path / "piece.blend")
    assert piece.keys() == whole.keys()
    for curve, values in piece.items():
        for frame in range(PIECE[0], PIECE[1] + 1):
            assert values[frame] == whole[curve][frame], (curve, frame)


def test_a_piece_that_is_rendered_and_every_third_frame_are_those_of_the_whole_shot(shot):
    scene, obj = _open(shot)
    whole = renders.poses(scene, obj, range(FIRST, LAST + 1))
    for first, last, step in ((*PIECE, 1), (FIRST, LAST, 3)):
        scene, obj = _open(shot)
        scene.frame_start, scene.frame_end, scene.frame_step = first, last, step  # as the options -s, -e and -j do
        with renders.reading(scene, obj) as found:
            bpy.ops.render.render(animation=True)
        assert list(found) == list(range(first, last + 1, step))
        assert all(np.array_equal(pose, whole[frame]) for frame, pose in found.items())
        assert not scene.active_ragdoll.use_range, "the user's settings are as they were"


def test_a_render_of_remapped_time_stops(shot):
    scene, _obj = _open(shot)
    scene.render.frame_map_new = 200
    with pytest.raises(RuntimeError):
        bpy.ops.render.render(animation=True)
    assert "remap" in STATE.messages[scene.name]


def test_a_range_that_a_script_sets_for_a_new_shot_is_the_shot(fresh_scene, tmp_path):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.2, first=5)
    renders.prepare(fresh_scene, tmp_path / "frame_")
    fresh_scene.frame_start, fresh_scene.frame_end = 5, LAST
    renders.poses(fresh_scene, obj, [5])
    assert fresh_scene.rigidbody_world.point_cache.frame_start == 5 - world.WARM_UP


def test_single_frames_of_a_new_shot_that_was_simulated_are_those_of_its_cache(fresh_scene, tmp_path):
    obj = rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    simulated = {frame: rigs.pose(obj) for frame in simulate.frames(fresh_scene)}
    renders.prepare(fresh_scene, tmp_path / "frame_")
    for frame, pose in renders.poses(fresh_scene, obj, (LAST, FIRST, 6)).items():
        assert np.abs(pose - simulated[frame]).max() < 1e-5, frame


def _as_a_set(scene):
    main = bpy.data.scenes.new("Main")
    main.background_set = scene
    return main


def _as_a_set_of_a_set(scene):
    return _as_a_set(_as_a_set(scene))


def _as_a_strip(scene):
    main = bpy.data.scenes.new("Edit")
    editor = main.sequence_editor_create()
    strips = editor.strips if hasattr(editor, "strips") else editor.sequences
    strips.new_scene("shot", scene, 1, FIRST)
    return main


def _in_the_compositor(scene):
    main = bpy.data.scenes.new("Comp")
    if hasattr(main, "compositing_node_group"):
        main.compositing_node_group = bpy.data.node_groups.new("Comp", "CompositorNodeTree")
        tree = main.compositing_node_group
    else:
        main.use_nodes = True
        tree = main.node_tree
    tree.nodes.new("CompositorNodeRLayers").scene = scene
    return main


@pytest.mark.parametrize("use", (_as_a_set, _as_a_set_of_a_set, _as_a_strip, _in_the_compositor))
def test_what_a_render_shows_of_another_scene_is_simulated(shot, use):
    scene, obj = _open(shot)
    main = use(scene)
    main.frame_start = main.frame_end = 6
    main.camera = scene.camera
    main.render.engine = "BLENDER_WORKBENCH"
    main.render.resolution_x = main.render.resolution_y = 16
    main.render.filepath = str(shot.with_name("main_"))
    assert not scene.rigidbody_world.point_cache.is_baked
    bpy.ops.render.render(animation=True, scene=main.name)
    cache = scene.rigidbody_world.point_cache
    assert cache.is_baked and cache.frame_end == LAST
    whole = renders.poses(scene, obj, [6])[6]
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    alone, obj = _open(shot)
    assert np.array_equal(renders.poses(alone, obj, [6])[6], whole)


@pytest.mark.parametrize("done", ("nothing", "simulated", "baked"))
@pytest.mark.parametrize("use", (_as_a_set, _as_a_strip))
def test_a_linked_scene_is_shown_as_it_was_baked_or_not_at_all(shot, use, done):
    scene, obj = _open(shot)
    if done == "baked":
        list(bake.bake_frames(obj, scene))
    elif done == "simulated":
        list(simulate.frames(scene))
    expected = rigs.step(scene, (6,), lambda: rigs.pose(obj))[0]
    bpy.ops.wm.save_mainfile()
    rigs.empty_file(24)
    with bpy.data.libraries.load(str(shot), link=True) as (_there, here):
        here.scenes = ["Scene"]
    main = use(here.scenes[0])
    main.frame_start = main.frame_end = 6
    main.camera = camera = here.scenes[0].camera
    main.render.engine = "BLENDER_WORKBENCH"
    main.render.resolution_x = main.render.resolution_y = 16
    main.render.filepath = str(shot.with_name("main_"))
    things = set(bpy.data.objects)
    with renders.reading(main, here.scenes[0].objects["Human"]) as seen, contextlib.suppress(RuntimeError):
        bpy.ops.render.render(animation=True, scene=main.name)
    assert shot.with_name("main_0006.png").exists() == (done == "baked")
    assert set(bpy.data.objects) == things and main.camera == camera and main.render.use_sequencer
    if done != "baked":
        assert f"'Scene' is linked from '{shot}'" in STATE.messages[main.name]
    elif use is _as_a_set:  # strips are rendered by themselves
        assert np.abs(seen[6] - expected).max() < 1e-5


def test_the_command_line_says_where_keys_go(call, shot, tmp_path):
    out = tmp_path / "out.blend"
    assert (
        call("bake", shot, "--active-frames", "--keyed-bones", "simulated", "--destination", "layer", "--output", out)[
            0
        ]
        == 0
    )
    bpy.ops.wm.open_mainfile(filepath=str(out))
    strip = bpy.context.scene.objects["Human"].animation_data.nla_tracks[-1].strips[0]
    assert (strip.blend_type, strip.extrapolation) == ("REPLACE", "NOTHING")


def test_a_file_that_is_opened_shows_looks_at_what_physics_moves_as_they_were_simulated(fresh_scene, tmp_path):
    rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    looker, box = rigs.human(fresh_scene, "Looker"), rigs.box(fresh_scene, "Box", (0.2, 0.2, 0.2), (0.3, -1.5, 4.0))
    looker.location.x = 2.0
    stack_edits.set_up_look_at(looker, fresh_scene, box)
    bpy.ops.active_ragdoll.simulate()
    shown = rigs.shown(fresh_scene, looker, range(FIRST, LAST + 1))
    assert np.abs(shown[LAST] - shown[FIRST]).max() > 0.1
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))
    scene = bpy.context.scene
    rigs.check_shown(scene, scene.objects["Looker"], shown, (14, 9, LAST, 3), 1e-5)
    bpy.ops.active_ragdoll.free_cache()
    assert not scene.objects["Looker"].active_ragdoll.seen
