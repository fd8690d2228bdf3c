"""Final renders: pieces are those of the whole shot, of other scenes too; sub-frames of motion blur lie between."""

import contextlib

import bpy
import numpy as np
import pytest

import renders
import rigs
from active_ragdoll.core.blender import bake
from active_ragdoll.core.blender.run import simulate
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.stack import pose_stack, stack_edits

pytestmark = pytest.mark.blender_version
FIRST, LAST = 1, 16
PIECE = (9, 13)


@pytest.fixture
def shot(fresh_scene, tmp_path):
    """A saved shot that is open, with a limp character."""
    rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    path = tmp_path / "shot.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def _open(path):
    scene, obj = rigs.opened(path)
    renders.prepare(scene, path.with_name("frame_"))
    return scene, obj


def test_a_piece_that_is_baked_is_that_of_the_whole_shot(call, shot, tmp_path):
    assert call("bake", shot, "--output", tmp_path / "whole.blend")[0] == 0
    assert call("bake", shot, "--frames", *PIECE, "--output", tmp_path / "piece.blend")[0] == 0
    whole, piece = rigs.baked_keys(tmp_path / "whole.blend"), rigs.baked_keys(tmp_path / "piece.blend")
    assert piece.keys() == whole.keys()
    for curve, values in piece.items():
        for frame in range(PIECE[0], PIECE[1] + 1):
            assert values[frame] == whole[curve][frame], (curve, frame)


@pytest.mark.parametrize("physics", (True, False))
def test_a_piece_that_is_rendered_and_every_third_frame_are_those_of_the_whole_shot(shot, physics):
    if not physics:
        _lagging_look(rigs.empty_file(), LAST)
        bpy.ops.wm.save_as_mainfile(filepath=str(shot))
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


def _as_a_set(scene):
    main = bpy.data.scenes.new("Main")
    main.background_set = scene
    return main


def _as_a_strip(scene):
    main = bpy.data.scenes.new("Edit")
    editor = main.sequence_editor_create()
    (editor.strips if hasattr(editor, "strips") else editor.sequences).new_scene("shot", scene, 1, FIRST)
    return main


def _in_the_compositor(scene):
    main = bpy.data.scenes.new("Comp")
    if hasattr(main, "compositing_node_group"):
        main.compositing_node_group = tree = bpy.data.node_groups.new("Comp", "CompositorNodeTree")
    else:
        main.use_nodes = True
        tree = main.node_tree
    tree.nodes.new("CompositorNodeRLayers").scene = scene
    return main


def _shown_by(use, scene, shot):
    """Another scene, in which a given one is used at frame 6."""
    main = use(scene)
    renders.prepare(main, shot.with_name("main_"))
    main.frame_start = main.frame_end = 6
    return main


@pytest.mark.parametrize("use", (_as_a_set, _as_a_strip, _in_the_compositor))
def test_what_a_render_shows_of_another_scene_is_simulated(shot, use):
    scene, obj = _open(shot)
    main = _shown_by(use, scene, shot)
    assert not scene.rigidbody_world.point_cache.is_baked
    bpy.ops.render.render(animation=True, scene=main.name)
    cache = scene.rigidbody_world.point_cache
    assert cache.is_baked and cache.frame_end == LAST
    whole = renders.poses(scene, obj, [6])[6]
    alone, obj = _open(shot)
    assert np.array_equal(renders.poses(alone, obj, [6])[6], whole)


@pytest.mark.parametrize(("use", "done"), ((_as_a_set, "baked"), (_as_a_set, "simulated"), (_as_a_strip, "nothing")))
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
    main = _shown_by(use, here.scenes[0], shot)
    camera, things = main.camera, set(bpy.data.objects)
    with renders.reading(main, here.scenes[0].objects["Human"]) as seen, contextlib.suppress(RuntimeError):
        bpy.ops.render.render(animation=True, scene=main.name)
    assert shot.with_name("main_0006.png").exists() == (done == "baked")
    assert set(bpy.data.objects) == things and main.camera == camera and main.render.use_sequencer
    if done != "baked":
        assert f"'Scene' is linked from '{shot}'" in STATE.messages[main.name]
    else:
        assert np.abs(seen[6] - expected).max() < 1e-5


def test_the_command_line_says_where_keys_go(call, shot, tmp_path):
    out = tmp_path / "out.blend"
    given = "--active-frames", "--keyed-bones", "simulated", "--destination", "layer", "--output", out
    assert call("bake", shot, *given)[0] == 0
    strip = rigs.opened(out)[1].animation_data.nla_tracks[-1].strips[0]
    assert (strip.blend_type, strip.extrapolation) == ("REPLACE", "NOTHING")


def test_a_file_that_is_opened_shows_looks_at_what_physics_moves_as_they_were_simulated(fresh_scene, tmp_path):
    rigs.ragdoll(fresh_scene, LAST, 0.2, first=FIRST)
    looker, box = rigs.human(fresh_scene, "Looker"), rigs.box(fresh_scene, "Box", (0.2, 0.2, 0.2), (0.3, -1.5, 4.0))
    looker.location.x = 2.0
    stack_edits.set_up_look_at(looker, fresh_scene, box)
    bpy.ops.active_ragdoll.simulate()
    shown = rigs.shown(fresh_scene, looker, range(FIRST, LAST + 1))
    assert np.abs(shown[LAST] - shown[FIRST]).max() > 0.1
    scene, looker = rigs.reopened(tmp_path / "shot.blend", "Looker")
    rigs.check_shown(scene, looker, shown, (14, 9, LAST, 3), 1e-5)
    bpy.ops.active_ragdoll.free_cache()
    assert not looker.active_ragdoll.seen


END = 8
BLUR = 0.25  # a shutter that is open for half a frame, with its middle at the frame


def _layered(scene):
    """A layer that comes and goes: its weight is keyed."""
    obj = rigs.swinging_human(scene, FIRST, END)
    layer = stack_edits.add_layer(obj, scene, "CLIP", obj.animation_data.action.name)
    stack_edits.choose(layer, obj.animation_data.action)
    layer.start = FIRST + 7
    rigs.key(obj, "active_ragdoll.layers[0].weight", {FIRST: 0.0, END: 1.0})
    return obj


def _lagging_look(scene, last):
    """At a target that flies from one side to the other, after which the look lags."""
    obj = rigs.swinging_human(scene, FIRST, last)
    target = rigs.empty(scene)
    rigs.key(target, "location", {FIRST: (-2.0, -1.0, 1.6), last: (2.0, -1.0, 1.9)})
    stack_edits.set_up_look_at(obj, scene, target)
    obj.active_ragdoll.look_at[0].blend_speed = 8.0
    return obj


def _physics_and_look(scene):
    """The same with a keyed physics blend."""
    obj = _lagging_look(scene, END)
    rigs.set_weights(obj, 0.2)
    assert bpy.ops.active_ragdoll.build() == {"FINISHED"}
    rigs.key(obj, "active_ragdoll.physics_blend", {FIRST: 1.0, END: 0.6})
    return obj


def _baked(scene):
    obj = rigs.ragdoll(scene, END, 0.1, first=FIRST)
    assert bpy.ops.active_ragdoll.bake() == {"FINISHED"}
    return obj


def _rendered(scene, obj, engine: str) -> dict:
    scene.render.engine = engine
    scene.render.use_motion_blur = engine == "CYCLES"
    with renders.reading(scene, obj) as seen:
        bpy.ops.render.render(animation=True)
    return seen


def _local(obj, pose: np.ndarray) -> np.ndarray:
    """Matrices [n, 4, 4] of the bones in their parents' frames."""
    rows = [obj.data.bones.find(bone.parent.name) if bone.parent else -1 for bone in obj.data.bones]
    return np.linalg.inv(np.array([pose[row] if row >= 0 else np.eye(4) for row in rows])) @ pose


@pytest.mark.parametrize("make", (_layered, _physics_and_look, _baked))
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
    for frame in range(FIRST, END):
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
    after = rigs.angles(_local(obj, seen[END + BLUR]), _local(obj, sharp[END])).max()
    fresh_scene.frame_start = END
    part = _rendered(fresh_scene, obj, "CYCLES")
    assert np.array_equal(part[END], sharp[END]), "a part of what was simulated is as in the whole"
    before = rigs.angles(_local(obj, part[END - BLUR]), _local(obj, part[END])).max()
    assert max(before, after) <= fastest, "nothing jumps before the first frame of a part and after the last one"
