"""Edits of a character in mid-shot: the frame goes on showing the physics."""

import bpy
import numpy as np
import pytest

import rigs
from active_ragdoll.core.blender.runtime import STATE

pytestmark = pytest.mark.blender_version
LAST, NOW = 20, 10


EDITS = {
    "pose mode": lambda _obj: bpy.ops.object.mode_set(mode="POSE"),
    "edit mode": lambda obj: rigs.edit(obj, lambda bones: setattr(bones["forearm.L"], "select", True)),
    "armature data": lambda obj: (setattr(obj.data, "show_names", True), obj.data.update_tag()),
    "a bone's colour": lambda obj: setattr(obj.data.bones["forearm.L"].color, "palette", "THEME01"),
    "a property of the object": lambda obj: setattr(obj, "show_in_front", True),
}


def test_each_frame_shows_what_it_does_without_the_edits(fresh_scene):
    """A limp character far from its animation, with a keyed blend; also after a jump back."""
    obj = rigs.ragdoll(fresh_scene, LAST, 0.0)
    rigs.key(obj, "active_ragdoll.physics_blend", {1: 1.0, LAST: 0.5})
    shown = dict(enumerate(rigs.play(fresh_scene, 1, LAST, lambda: (rigs.pose(obj), rigs.bodies(obj))), 1))
    for i, frame in enumerate((*shown, NOW)):
        fresh_scene.frame_set(frame)
        for edit in EDITS.values() if frame in (NOW, LAST) else [list(EDITS.values())[i % len(EDITS)]]:
            edit(obj)
            rigs.update()
            assert np.abs(rigs.pose(obj) - shown[frame][0]).max() < 1e-5
        assert np.array_equal(rigs.bodies(obj), shown[frame][1])
    assert fresh_scene.name not in STATE.messages
