"""The demo's material: character, walk, stage, contact sheet, importer."""

import bpy
import numpy as np
import pytest

import rigs
from demo import DemoError, contact_sheet, importing, stage
from demo.character import make_rigify_human
from demo.walk_cycle import make_walk_cycle

pytestmark = pytest.mark.skipif(
    bpy.app.version < (4, 3, 0),
    reason="Blender 4.2 itself crashes now and then when a file is loaded over a simulated scene with joints",
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A file with the character and its walk."""
    scene = rigs.empty_file()
    armature, _mesh = make_rigify_human(scene)
    assert bpy.context.object == armature and bpy.context.mode == "OBJECT"
    make_walk_cycle(armature, scene)
    path = str(tmp_path_factory.mktemp("walk") / "walker.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return path


@pytest.fixture
def walker(kept):
    """(scene, armature, mesh)."""
    bpy.ops.wm.open_mainfile(filepath=kept)
    scene = bpy.context.scene
    found = {obj.type: obj for obj in scene.objects}
    return scene, found["ARMATURE"], found["MESH"]


def test_simulated_ball_reaches_the_chest_at_the_hit_frame(walker):
    scene, armature, _ = walker
    made = stage.make_stage(scene, armature)
    assert made.hit_frame == 60
    assert scene.rigidbody_world.point_cache.frame_start == 1
    graph = bpy.context.view_layer.depsgraph
    ball = made.ball.evaluated_get(graph)
    path = [None, *rigs.step(scene, range(1, 121), lambda: ball.matrix_world.translation.copy())]
    # within a third of a frame of the plan, and on the rod all the time
    assert (path[60] - made.pendulum.contact_ws).length < (path[60] - path[59]).length / 3.0
    rods = [(place - made.hook.location).length for place in path[1:]]
    np.testing.assert_allclose(rods, made.pendulum.length, atol=0.012)
    # the chest is where the ball aims, and the ball has not touched the walker before
    for frame in range(1, 58):
        scene.frame_set(frame)
        heads = [armature.matrix_world @ bone.head for bone in armature.pose.bones]
        assert min((head - path[frame]).length for head in heads) > 0.35, frame


@pytest.mark.blender_version
def test_contact_sheet_shows_the_frames_and_leaves_no_trace(walker, tmp_path):
    scene, armature, _ = walker
    stage.make_camera(scene, armature)
    stage.make_light(scene)
    stage.set_render_look(scene)
    scene.frame_set(17)
    scene.render.resolution_x, scene.render.filepath = 333, "//kept"
    before = (scene.render.engine, scene.render.image_settings.file_format, scene.render.resolution_y)
    images = {image.name for image in bpy.data.images} | {"Render Result"}
    output = tmp_path / "new" / "sheet.png"
    path = contact_sheet.render_contact_sheet(scene, [1, 7, 60], output, columns=2, tile=(96, 72), caption="Walk")
    assert scene.frame_current == 17
    assert (scene.render.resolution_x, scene.render.filepath) == (333, "//kept")
    assert (scene.render.engine, scene.render.image_settings.file_format, scene.render.resolution_y) == before
    assert {image.name for image in bpy.data.images} <= images
    image = bpy.data.images.load(str(path))
    width, height = image.size
    pixels = np.array(image.pixels[:]).reshape(height, width, 4)[::-1]
    assert (width, height) == (4 + 2 * 100, 4 + 5 + 16 + 2 * 76)
    top = height - 2 * 76
    first, second = pixels[top : top + 72, 4:100, :3], pixels[top : top + 72, 104:200, :3]
    assert first.std() > 0.03 and not np.allclose(first, second, atol=0.05)


@pytest.mark.blender_version
def test_unusable_files_are_refused_in_one_line(fresh_scene, tmp_path):
    empty = tmp_path / "empty.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(empty))
    (tmp_path / "broken.bvh").write_text("nothing\n")
    (tmp_path / "broken.glb").write_bytes(b"glTF nonsense")
    (tmp_path / "text.txt").write_text("hello\n")
    wrong = {"none.fbx": "no such file", "text.txt": "unknown kind", "empty.blend": "no armature"}
    wrong |= {"broken.bvh": "not a BVH skeleton", "broken.glb": "could not read"}
    for name, message in wrong.items():
        with pytest.raises(DemoError, match=message) as caught:
            importing.import_character(tmp_path / name)
        assert "\n" not in str(caught.value)
