"""The overlay in the 3D view: bodies, joints and limits. What is drawn is computed in core; here it meets the GPU."""

import traceback
from dataclasses import fields
from functools import partial

import bpy
import numpy as np
from bpy.props import PointerProperty

from ..core.blender import interface, preferences, runtime
from ..core.blender.physics import body_objects
from ..core.blender.rig.armature import armatures
from ..core.blender.settings.declare import flag
from ..core.blender.tools import viewport
from ..core.ragdoll.overlay import Show
from .base import Part, active_armature, paragraph

THIN, THICK = 1.5, 2.5  # [px] of lines, at the usual size of the interface


def _switched(_self, _context) -> None:
    runtime.STATE.drawing = ""
    interface.redraw()


_switch = partial(flag, default=True, update=_switched)


class ActiveRagdollOverlay(bpy.types.PropertyGroup):
    """What the overlay shows in a scene."""

    show: _switch("Overlay", "Show bodies, joints and limits in the 3D view, where it shows overlays; never in renders")
    bodies: _switch("Bodies", "Outlines of the bodies")
    joints: _switch("Joints", "Connections, and where joints separate")
    limits: _switch("Limits", "Cones and arcs with the current angle: green inside, orange near, red beyond")
    look_at: _switch("Look-at", "Targets in red, forward vectors in green, and limit cones")
    hits: _switch("Hits", "Arrows of hits and circles of explosions, around their frames")
    attachments: _switch("Attachments", "Lines from bones to what they are attached to, bright while they are held")
    plan: _switch(
        "Way Up", "Of a planned get-up: figures at its key postures, the way of the hips, crosses where limbs stand"
    )
    simulated: _switch("Simulated", "After a bake, simulated bones where the baked ones are elsewhere")
    calm: _switch("Calm", "Joints and limits of the selected bones only, and of those near the end of their range")
    all_characters: _switch("All Characters", "Every ragdoll of the scene, and not only those selected", default=False)


def wanted(context) -> bool:
    """Whether the overlay is to be drawn in this view now."""
    space = context.space_data
    if runtime.STATE.drawing or runtime.STATE.rendering or bpy.app.is_job_running("RENDER"):
        return False
    return context.scene.active_ragdoll_overlay.show and space.type == "VIEW_3D" and space.overlay.show_overlays


def collected(context) -> list:
    """`core.ragdoll.overlay.Lines` of every character that is shown."""
    settings = context.scene.active_ragdoll_overlay
    graph = context.view_layer.depsgraph
    found = []
    view = getattr(context, "region_data", None)
    eye = None if view is None else np.array(view.view_matrix.inverted())[:, 3 if view.is_perspective else 2]
    for obj in armatures(context.scene.objects) if settings.all_characters else interface.characters(context):
        here = obj, context.scene, graph
        if settings.look_at:
            found.append(viewport.look_at_chains(obj, graph))
        if body_objects.is_editing(obj):  # joints mean nothing while bodies are moved about
            found.append(viewport.lines(*here, Show(settings.bodies, joints=False, limits=False), eye))
            continue
        found.append(viewport.lines(*here, Show(*(getattr(settings, field.name) for field in fields(Show))), eye))
        found += [draw(*here) for name, draw in viewport.ON_TOP.items() if getattr(settings, name)]
    return [lines for lines in found if lines is not None and len(lines.ends)]


def draw_view() -> None:
    """Called by Blender after it has drawn a 3D view. A failure puts the overlay to rest and is told once."""
    try:
        context = bpy.context
        if wanted(context):
            for lines in collected(context):
                _draw(context, lines)
    except Exception as error:
        runtime.STATE.drawing = f"{type(error).__name__}: {error}"
        print("Active Ragdoll: the overlay is switched off because of an error")
        traceback.print_exc()


def _draw(context, lines) -> None:
    import gpu
    from gpu_extras.batch import batch_for_shader

    shader = gpu.shader.from_builtin("POLYLINE_FLAT_COLOR")
    scale = context.preferences.system.ui_scale
    depth = gpu.state.depth_test_get()
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE")
    try:
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        for (points, colors), width in zip(lines.split(), (THIN, THICK), strict=True):
            if not len(points):
                continue
            batch = batch_for_shader(shader, "LINES", {"pos": points, "color": colors})
            shader.uniform_float("lineWidth", width * scale)
            batch.draw(shader)
    finally:
        gpu.state.depth_test_set(depth)
        gpu.state.blend_set("NONE")


class ACTIVE_RAGDOLL_PT_overlay(Part, bpy.types.Panel, parent="setup"):
    """What the 3D view shows of the ragdoll, and editing its bodies by hand"""

    def draw_header(self, context):
        self.layout.prop(context.scene.active_ragdoll_overlay, "show", text="")

    def draw(self, context):
        layout = self.layout
        settings = context.scene.active_ragdoll_overlay
        if runtime.STATE.drawing:
            text = f"Off because of an error: {runtime.STATE.drawing}. Switch it off and on to try again"
            paragraph(layout, context, text, "ERROR")
        column = layout.column(align=True)
        column.active = settings.show and not runtime.STATE.drawing
        row = column.grid_flow(columns=3, even_columns=True, align=True)
        for name in ("bodies", "joints", "limits", "look_at", "hits", "attachments", "plan", "simulated"):
            row.prop(settings, name, toggle=True)
        interface.props(column, settings, "calm", "all_characters")
        legend = column.grid_flow(columns=2, even_columns=True, align=True)
        for title, table, kind in preferences.PALETTE.values():
            row = legend.row(align=True)
            row.template_node_socket(color=table[kind])
            row.label(text=title)
        layout.prop(context.scene.active_ragdoll, "show_helpers")
        if context.scene.active_ragdoll.show_helpers:
            text = "Do not delete these objects, also not in the Outliner: Remove takes a ragdoll away"
            paragraph(layout, context, text, "ERROR")
        if settings.show and not context.space_data.overlay.show_overlays:
            paragraph(layout, context, "This view shows no overlays: switch on Show Overlays in its header", "INFO")
        editing = body_objects.is_editing(active_armature(context))
        text = "Keep Edited Bodies" if editing else "Edit Bodies"
        layout.operator("active_ragdoll.edit_bodies", text=text, icon="MESH_CUBE", depress=editing)
        if editing:
            text = "Move, turn, scale or edit the bodies, do not delete them; physics rests meanwhile"
            paragraph(layout, context, text, "INFO")


def add(undo) -> None:
    """Attach the settings and, where there are windows to draw in, the draw handler; `undo` takes them back."""
    bpy.types.Scene.active_ragdoll_overlay = PointerProperty(type=ActiveRagdollOverlay)
    undo.callback(delattr, bpy.types.Scene, "active_ragdoll_overlay")
    if not bpy.app.background:
        drawing = bpy.types.SpaceView3D.draw_handler_add(draw_view, (), "WINDOW", "POST_VIEW")
        undo.callback(bpy.types.SpaceView3D.draw_handler_remove, drawing, "WINDOW")
