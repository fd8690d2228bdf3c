"""The tab Ragdoll of the 3D view's sidebar."""

import math

import bpy

from ..core.blender import preferences
from ..core.blender.interface import props, rows
from ..core.blender.physics import built, world
from ..core.blender.runtime import STATE
from ..core.blender.tools import diagnose
from ..core.ragdoll import diagnosis, drives
from .base import Sidebar, active_armature, boxed, paragraph, why_not

STATE_ICONS = {
    "NONE": "X",
    "READY": "CHECKMARK",
    "LIVE": "PLAY",
    "CACHED": "FILE_CACHE",
    "BAKED": "ACTION",
    "BROKEN": "ERROR",
    "ELSEWHERE": "SCENE_DATA",
    "ANIMATED": "ARMATURE_DATA",
    "ACTIVE": "PLAY",
    "LIMP": "GHOST_ENABLED",
    "SETTLING": "TIME",
    "RECOVERING": "LOOP_FORWARDS",
    "BLENDING": "FORCE_HARMONIC",
}
STATE_NOTES = {
    "READY": "Play from frame {first}, or simulate",
    "ELSEWHERE": "Its ragdoll is in another scene: Rebuild makes it here",
    "BROKEN": "Interrupted: starts again from frame {first}",
}
FINDING_ICONS = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFO": "INFO"}
LISTED = 8  # bones of a report that are shown


class ACTIVE_RAGDOLL_PT_main(Sidebar, bpy.types.Panel):
    """Build, remove, and how it stands"""

    bl_label = "Active Ragdoll"

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        row = layout.row(align=True)
        has_ragdoll = obj is not None and obj.active_ragdoll.is_ragdoll
        button = row.operator("active_ragdoll.build", text="Rebuild" if has_ragdoll else "Build", icon="ARMATURE_DATA")
        button.bones = "KEEP" if has_ragdoll else preferences.chosen("bones")
        row.operator_menu_enum("active_ragdoll.build", "bones", text="", icon="DOWNARROW_HLT")
        layout.operator("active_ragdoll.remove", icon="TRASH")
        layout.operator("active_ragdoll.apply_transform", icon="OBJECT_ORIGIN")
        left = built.left_over(context.scene)
        if left:
            boxed(layout, context, [diagnosis.left_over_text(left)])
            layout.operator("active_ragdoll.remove", text="Remove What Is Left Over", icon="TRASH").left_over = True
        if obj is None:
            paragraph(layout, context, why_not(obj), "INFO")
            return
        self._draw_state(context, obj)

    def _draw_state(self, context, obj):
        layout, settings = self.layout, obj.active_ragdoll
        state = settings.state
        scene = settings.scene or context.scene
        column = layout.column(align=True)
        row = column.row()
        row.label(text=obj.name, icon="OUTLINER_OB_ARMATURE")
        row.label(text=bpy.types.UILayout.enum_item_name(settings, "state", state), icon=STATE_ICONS[state])
        if settings.is_ragdoll:
            joints = sum(1 for part in settings.parts if part.parent)
            column.label(text=f"{len(settings.parts)} bodies, {joints} joints", icon="RIGID_BODY")
        if state in STATE_NOTES:
            paragraph(column, context, STATE_NOTES[state].format(first=world.shot_range(scene)[0]), "BLANK1")
        if settings.layout_changed and not settings.muted:
            box = layout.box()
            paragraph(box, context, "Edited bodies or joints wait for Rebuild or the next simulation", "INFO")
        messages = dict.fromkeys(STATE.messages.get(name) for name in (obj.name, scene.name))
        boxed(layout, context, filter(None, messages))
        for text in STATE.warnings.get(obj.name, ()):  # what the run goes on without
            paragraph(layout.box(), context, text, "ERROR")


class ACTIVE_RAGDOLL_PT_weights(Sidebar, bpy.types.Panel):
    """How strongly the body follows its animation"""

    def fill(self, _context, obj, column):
        column.use_property_split = True  # with the dots: these can be keyed
        settings = obj.active_ragdoll
        inner = column.column(align=True)
        props(inner, settings, "rotation_weight", "translation_weight", slider=True)
        column.prop(settings, "physics_blend", slider=True)


class ACTIVE_RAGDOLL_PT_drive(Sidebar, bpy.types.Panel):
    """What leads the bodies"""

    bl_options = {"DEFAULT_CLOSED"}
    need_ragdoll = False

    def fill(self, _context, obj, column):
        settings = obj.active_ragdoll
        inner = rows(column)
        props(inner, settings, "drive", "drive_space")
        keyed = column.column(align=True)
        keyed.use_property_split = True  # with the dots: these can be keyed
        props(keyed, settings, *(parameter.setting for parameter in drives.of(settings.drive).parameters))
        column.prop(settings, "human_strength")


class ACTIVE_RAGDOLL_PT_bodies(Sidebar, bpy.types.Panel):
    """What the bodies are made of"""

    bl_options = {"DEFAULT_CLOSED"}
    need_ragdoll = False

    def fill(self, _context, obj, column):
        settings = obj.active_ragdoll
        props(column, settings, "self_collision", "stretch")
        column.prop(settings, "coverage", slider=True)
        inner = rows(column)
        inner.prop(settings, "mass_model")
        if settings.mass_model != "DENSITY":
            inner.prop(settings, "body_mass")
        if settings.mass_model in ("AUTO", "DENSITY"):
            inner.prop(settings, "density")
        column.prop(settings, "stabilize_masses")
        row = column.row(align=True)
        row.operator("active_ragdoll.bind_pose_from_frame", icon="ARMATURE_DATA")
        row.operator("active_ragdoll.bind_pose_from_frame", text="", icon="X").rest = True


class ACTIVE_RAGDOLL_PT_limits(Sidebar, bpy.types.Panel):
    """Whether the shot's animation stays within the joints' limits"""

    bl_options = {"DEFAULT_CLOSED"}

    def fill(self, context, obj, column):
        column.operator("active_ragdoll.check_limits", icon="CON_ROTLIMIT").widen = False
        report = STATE.limits.get(obj.name)
        if report is None:
            return
        paragraph(column, context, report.text(), "INFO")
        for found in report.found[:LISTED]:
            text = f"{found.bone}: {math.degrees(found.worst):.1f}\u00b0 at {found.worst_frame}"
            column.label(text=text, icon="BONE_DATA")
        if report.found and not report.widened:
            column.operator("active_ragdoll.check_limits", text="Widen to Fit", icon="FULLSCREEN_ENTER").widen = True


class ACTIVE_RAGDOLL_PT_simulate(Sidebar, bpy.types.Panel):
    """The shot: its range, its simulation, its keyframes"""

    bl_label = "Simulate and Bake"

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        scene = context.scene
        own = scene.active_ragdoll
        column = rows(layout)
        column.prop(own, "use_range")
        inner = column.column(align=True)
        inner.enabled = own.use_range
        shown = own if own.use_range else scene
        inner.prop(shown, "frame_start", text="Start")
        inner.prop(shown, "frame_end", text="End")
        first, last = world.shot_range(scene)
        if last <= first:
            paragraph(layout, context, f"The range {first} to {last} has no frame to simulate", "ERROR")

        column = layout.column(align=True)
        column.operator("active_ragdoll.simulate", icon="PHYSICS")
        column.operator("active_ragdoll.free_cache", icon="X")
        if obj is not None and obj.active_ragdoll.run_state == "CACHED":
            cache = scene.rigidbody_world.point_cache
            moved = (cache.frame_start, cache.frame_end) != (first - world.WARM_UP, last)
            if moved or obj.active_ragdoll.cache_outdated:
                box = layout.box()
                paragraph(box, context, "The simulated frames are out of date or incomplete: simulate again", "INFO")

        text = why_not(obj, need_ragdoll=obj is None or obj.active_ragdoll.target_armature is None)
        if text and not (obj is not None and obj.active_ragdoll.muted):
            paragraph(layout, context, text, "INFO")
        column = layout.column(align=True)
        column.operator("active_ragdoll.bake", icon="ACTION")
        column.operator("active_ragdoll.revert_bake", icon="LOOP_BACK")
        column.operator("active_ragdoll.pose_this_frame", icon="POSE_HLT")
        column.operator_menu_enum("active_ragdoll.export_ready", "to", text="Export Ready", icon="EXPORT")
        if obj is not None:
            settings = obj.active_ragdoll
            inner = rows(layout)
            inner.enabled = not text
            inner.prop(settings, "key_tolerance")
            # What the next click on Bake does; Blender keeps it with the operator.
            chosen = context.window_manager.operator_properties_last("active_ragdoll.bake")
            for name in (
                "to",
                *(["limbs", "exact_joints"] if chosen.to != "DEFORM" else []),
                "bones",
                "frames",
                "destination",
                *(["combined"] if chosen.destination == "LAYER" else []),
                "root_motion",
                "loop",
                *(["loop_frames"] if chosen.loop else []),
            ):
                inner.prop(chosen, name)
            if settings.muted and settings.baked_action is not None:
                layout.label(text=settings.baked_action.name, icon="ACTION")


class ACTIVE_RAGDOLL_PT_profile(Sidebar, bpy.types.Panel):
    """All settings of the character to a file and back"""

    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 1  # below those of the other modules
    need_ragdoll = False

    def fill(self, _context, _obj, column):
        row = column.row(align=True)
        row.operator_menu_enum("active_ragdoll.apply_preset", "name", text="Preset", icon="PRESET")
        for name, icon in (("add", "ADD"), ("rename", "GREASEPENCIL"), ("remove", "REMOVE")):
            row.operator(f"active_ragdoll.{name}_preset", text="", icon=icon)
        row = column.row(align=True)
        row.operator("active_ragdoll.import_profile", text="Import", icon="IMPORT")
        row.operator("active_ragdoll.export_profile", text="Export", icon="EXPORT")


class ACTIVE_RAGDOLL_PT_diagnose(Sidebar, bpy.types.Panel):
    """What would make this ragdoll unstable"""

    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 1

    def fill(self, context, obj, column):
        column.operator("active_ragdoll.diagnose", icon="VIEWZOOM")
        found = None if why_not(obj) else diagnose.latest(obj)
        if found is None:
            return
        if not found:
            self.layout.label(text="Nothing found", icon="CHECKMARK")
        for finding in found:
            self._draw_finding(context, finding)

    def _draw_finding(self, context, finding):
        box = self.layout.box()
        box.alert = finding.severity == "ERROR"
        paragraph(box, context, finding.text, FINDING_ICONS[finding.severity])
        if not finding.operator:
            paragraph(box, context, finding.remedy, "BLANK1")
            return
        button = box.operator(f"active_ragdoll.{finding.operator}", text=finding.button)
        for key, value in finding.arguments.items():
            setattr(button, key, value)
