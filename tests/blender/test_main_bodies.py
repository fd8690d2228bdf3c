"""build(bones='MAIN') on real rigs: few bodies in one tree, the rest of the character moves with them."""

import bpy
import pytest

import rigs
from active_ragdoll.core.anatomy.roles import CREATURE, HELPER, HUMAN
from active_ragdoll.core.blender.rig import recognition
from own_characters import CREATURES, SWEPT

FRAMES = 30


@pytest.fixture(scope="module", params=SWEPT)
def built(request):
    rig = rigs.load(request.param)
    last = min(rig.last, rig.first + FRAMES)
    ending = rigs.animation(rig.obj, (last,))[last]
    rig, made = rigs.built(request.param, "MAIN")
    rig.last = last
    rigs.set_range(rig.scene, rig.first, rig.last)
    return rig, made, recognition.anatomy_of(rig.obj), ending


def test_the_number_of_bodies_is_that_of_main_bodies(built, request):
    _rig, result, anatomy, _ending = built
    assert (anatomy.kind == CREATURE) == (request.node.callspec.params["built"] in CREATURES)
    if anatomy.kind == HUMAN:
        assert 10 <= result.bodies <= 16
    assert result.bodies == result.joints + 1, "one tree"


def test_main_bodies_follow_exactly(built):
    rig, _result, _anatomy, _ending = built
    figures = rigs.figures(rig.scene, rig.first, rig.last, skip_seconds=0.25)
    assert figures["orientation_error_deg"]["mean"] < 0.15
    assert figures["position_error_mm"]["mean"] < 1.0


def test_all_that_deforms_moves_with_a_limp_body(built):
    """Nothing stays at the animation when the character falls: fingers, toes, hooves on controls of their own."""
    rig, _result, anatomy, ending = built
    settings = rig.obj.active_ragdoll
    settings.rotation_weight = settings.translation_weight = 0.0
    shown = rigs.play(rig.scene, rig.first, rig.last, lambda: rigs.pose(rig.obj))[-1]
    fall = 0.5 * rig.scene.gravity.length * ((rig.last - rig.first) / rigs.FPS) ** 2
    lower = (ending - shown)[:, 2, 3]
    skinned = {group.name for obj in bpy.data.objects if obj.type == "MESH" for group in obj.vertex_groups}
    for i, bone in enumerate(rig.obj.data.bones):
        if bone.use_deform and (bone.name in skinned or not skinned) and anatomy.roles[i] != HELPER:
            assert lower[i] > 0.3 * fall, bone.name
