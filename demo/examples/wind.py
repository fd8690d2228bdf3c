"""Force fields: one limp figure hangs by a hand from a bar in gusty wind, another is borne and turned by a vortex.

Blender's fields push every body with the same force, so that hands and feet fly first and the trunk follows.
"""

import math
from pathlib import Path

import bpy
import numpy as np

from active_ragdoll.core.blender.physics import build
from active_ragdoll.core.blender.settings import effects

from .. import character, shot

FRAMES = 120
APART = 3.2  # between the figures [m]
REACH = 1.5  # of the fields around each figure [m]
GUSTS = {1: 0.0, 12: 0.0, 24: 420.0, 44: 160.0, 60: 560.0, 84: 120.0, FRAMES: 420.0}  # strength of the wind by frame


def main(out: Path) -> None:
    """Make the shot and its results in the folder `out`."""
    scene = shot.new_scene()
    scene.frame_start, scene.frame_end = 1, FRAMES
    left, right = (-0.5 * APART, 0.0, 1.0), (0.5 * APART, 0.0, 1.0)
    hanging, floating = _figure(scene, "Hanging", left), _figure(scene, "Floating", right)
    shot.recolour(floating, (0.10, 0.22, 0.42))
    raised = {"upper_arm.R": (-0.1, 0.0, 1.0), "forearm.R": (0.0, 0.0, 1.0), "hand.R": (0.0, 0.0, 1.0)}
    shot.point_bones(scene, hanging, raised, 1)
    shot.furnish(scene)
    for obj in (hanging, floating):
        build.build(obj, scene)
    bar = bpy.data.objects.new("Bar", _bar())
    bar.location = hanging.matrix_world @ hanging.pose.bones["hand.R"].tail
    scene.collection.objects.link(bar)
    effects.attach(hanging, "hand.R", bar)
    wind = _field(scene, "WIND", left, strength=0.0)
    wind.rotation_euler.y = math.pi / 2.0
    for frame, strength in GUSTS.items():
        wind.field.strength = strength
        wind.keyframe_insert("field.strength", frame=frame)
    _field(scene, "TURBULENCE", left, strength=200.0, size=0.6, flow=0.0)
    _field(scene, "VORTEX", right, strength=260.0)
    _field(scene, "WIND", right, strength=1060.0, flow=30.0)
    shot.camera(scene, (0.0, -8.6, 2.2), (0.0, 0.0, 1.3), lens=54.0)
    names = [part.bone for part in floating.active_ragdoll.parts]
    pelvis, foot = names.index("spine"), names.index("foot.L")
    found, cost = shot.run(scene, lambda: (shot.bodies(hanging)[foot, :3, 3], shot.bodies(floating)[pelvis]))
    hung = np.array([feet for feet, _pelvis in found.values()]) - bar.location
    leans = np.degrees(np.arctan2(hung[:, 0], -hung[:, 2]))
    borne = np.array([pelvis for _feet, pelvis in found.values()])
    turned = np.unwrap(np.arctan2(borne[:, 1, 0], borne[:, 0, 0]))
    figures = {
        "ms_a_frame": cost,
        "hanging_leans_deg": [leans.min(), leans.max()],
        "floating_pelvis_height_m": [borne[:, 2, 3].min(), borne[:, 2, 3].max()],
        "floating_turned_deg": np.degrees(turned[-1] - turned[0]),
    }
    shot.write(scene, out, figures)


def _figure(scene, name: str, place) -> bpy.types.Object:
    """A limp mannequin half a metre above the floor."""
    obj, mesh = character.make_rigify_human(scene)
    obj.name, mesh.name = name, f"{name} skin"
    obj.location = (*place[:2], 0.5)
    obj.active_ragdoll.rotation_weight = obj.active_ragdoll.translation_weight = 0.0
    scene.view_layers[0].update()
    return obj


def _bar() -> bpy.types.Mesh:
    mesh = bpy.data.meshes.new("Bar")
    corners = [(0.03 * a, 0.5 * b, 0.03 * c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    return mesh


def _field(scene, kind: str, place, **settings) -> bpy.types.Object:
    """A field that acts on what is near it."""
    obj = bpy.data.objects.new(kind.title(), None)
    obj.location = place
    scene.collection.objects.link(obj)
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.forcefield_toggle()
    obj.field.type = kind
    for name, value in (settings | {"use_max_distance": True, "distance_max": REACH}).items():
        setattr(obj.field, name, value)
    return obj
