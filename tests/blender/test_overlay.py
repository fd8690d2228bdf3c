"""The overlay's arrays agree with what Blender shows; its switches and its handler leave nothing behind."""

from types import SimpleNamespace
from unittest.mock import Mock

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.runtime import STATE
from active_ragdoll.core.blender.tools import viewport
from active_ragdoll.core.ragdoll import overlay
from active_ragdoll.panels import overlay as panel
from own_characters import or_own


def lines(obj, **show) -> overlay.Lines:
    return viewport.lines(obj, obj.active_ragdoll.scene, bpy.context.view_layer.depsgraph, overlay.Show(**show))


@pytest.fixture
def human(fresh_scene):
    return rigs.ragdoll(fresh_scene, 30)


def inside(points, body) -> np.ndarray:
    """By how much points [k, 3] (world) leave a body's box, per side's length of the largest."""
    matrix = np.array(body.evaluated_get(bpy.context.view_layer.depsgraph).matrix_world)
    local = (points - matrix[:3, 3]) @ np.linalg.inv(matrix[:3, :3]).T
    corners = np.array(body.bound_box)
    size = np.ptp(corners, axis=0).max()
    return np.max(np.maximum(corners.min(axis=0) - local, local - corners.max(axis=0)), axis=1) / size


def test_wires_fill_the_boxes_of_the_bodies_shown():
    (name,) = or_own("animals_pack_Horse.glb", own=("own bird",))
    rig, _made = rigs.built(name, frames=12)
    rigs.step(rig.scene, (rig.first, rig.first + 1))
    cached, matrices = viewport.shown_bodies(rig.obj, rig.scene, bpy.context.view_layer.depsgraph)
    bodies = [part.body for part in rig.obj.active_ragdoll.parts]
    assert np.allclose(matrices, rigs.matrices(bodies), atol=1e-6)
    found = lines(rig.obj, joints=False, limits=False)
    owner = cached.wires.group[cached.wires.group % overlay.KINDS == overlay.BODY] // overlay.KINDS
    for i, body in enumerate(bodies):
        past = inside(found.ends[owner == i].reshape(-1, 3), body)
        assert abs(past.max()) < 1e-3, body.name  # it reaches the box and does not leave it


def test_where_nothing_is_simulated_bodies_are_drawn_on_their_bones():
    """Blender leaves bodies without a cache at the origin, as after loading a file."""
    rig, _made = rigs.built(*or_own("Knight.glb", own=("own unreal",)), frames=12)
    rig.scene.frame_set(rig.first + 9)
    assert rig.obj.active_ragdoll.state == "READY"
    _cached, matrices = viewport.shown_bodies(rig.obj, rig.scene, bpy.context.view_layer.depsgraph)
    posed = rigs.pose(rig.obj)
    for part, matrix in zip(rig.obj.active_ragdoll.parts, matrices, strict=True):
        bone = posed[rig.obj.data.bones.find(part.bone)]
        offset = part.offset[:3, 3] / np.cbrt(np.linalg.det(bone[:3, :3]))
        assert np.allclose(matrix[:3, 3], (bone @ (*offset, 1.0))[:3], atol=1e-4)


def test_an_edited_limit_is_seen_at_once_and_a_rebuild_too(human):
    scene = human.active_ragdoll.scene
    lines(human)
    before = viewport.current(human, scene).wires
    human.pose.bones["thigh.L"].active_ragdoll.limit_max[0] = 0.123
    after = viewport.current(human, scene).wires
    (row,) = rigs.rows(human, ["thigh.L"])
    assert after is not before and np.isclose(after.figure.limit_max[row, 0], 0.123)
    build.rebuild(human, scene)
    assert viewport.current(human, scene).wires is not after


def test_after_a_bake_simulated_bones_are_drawn_where_the_keys_have_been_changed(human):
    scene = human.active_ragdoll.scene
    bpy.ops.active_ragdoll.bake(to="DEFORM")
    here = human, scene, bpy.context.view_layer.depsgraph
    scene.frame_set(12)
    assert not len(viewport.simulated_bones(*here).ends)
    human.pose.bones["head"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    before = rigs.pose(human)[human.data.bones.find("head")]
    bpy.context.view_layer.update()
    bone, *_others = found = viewport.simulated_bones(*here).ends
    assert len(found) == 2 and np.allclose(bone[0], before[:3, 3], atol=1e-5)
    assert np.allclose(bone[1] - bone[0], before[:3, 1] * human.data.bones["head"].length, atol=1e-5)
    bpy.ops.active_ragdoll.revert_bake()
    assert viewport.simulated_bones(*here) is None


def view(overlays=True, kind="VIEW_3D"):
    """The part of a context that the draw handler reads; a test has no window."""
    own = {name: getattr(bpy.context, name) for name in ("scene", "view_layer", "object", "window_manager")}
    space = SimpleNamespace(type=kind, overlay=SimpleNamespace(show_overlays=overlays))
    return SimpleNamespace(**own, selected_objects=list(bpy.context.selected_objects), space_data=space)


@pytest.fixture
def switches(human):
    return bpy.context.scene.active_ragdoll_overlay


def test_only_the_selected_character_is_shown_unless_all_are(human, switches):
    human.select_set(False)
    bpy.context.view_layer.objects.active = None
    assert panel.collected(view()) == []
    switches.all_characters = True
    assert len(panel.collected(view())) == 1
    switches.all_characters = False
    bpy.context.view_layer.objects.active = human.active_ragdoll.parts[0].body
    assert len(panel.collected(view())) == 1  # a body stands for its character


@pytest.mark.blender_version
def test_nothing_is_drawn_in_renders_or_where_overlays_are_off(human, switches, monkeypatch):
    assert panel.wanted(view())
    assert not panel.wanted(view(overlays=False)) and not panel.wanted(view(kind="IMAGE_EDITOR"))
    with monkeypatch.context() as rendering:
        rendering.setattr(STATE, "rendering", True)
        assert not panel.wanted(view())
    switches.show = False
    assert not panel.wanted(view())


def test_an_error_is_told_once_and_puts_the_overlay_to_rest(human, switches, monkeypatch, capsys):
    monkeypatch.setattr(panel, "bpy", SimpleNamespace(context=view(), app=bpy.app))
    monkeypatch.setattr(panel, "collected", broken := Mock(side_effect=ValueError("no such thing")))
    for _view in range(5):
        panel.draw_view()
    broken.assert_called_once()
    captured = capsys.readouterr()
    assert captured.out.count("the overlay is switched off") == 1 and captured.err.count("Traceback") == 1
    monkeypatch.undo()
    switches.show = True  # switching it on again is a new try
    assert panel.wanted(view())
