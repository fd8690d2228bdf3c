"""The five panels of the tab Ragdoll, and what of them is about the whole character."""

import math

import bpy

from ..core.blender import bake, preferences, runtime
from ..core.blender.interface import moved, props, rows
from ..core.blender.languages import translated
from ..core.blender.tools import health
from ..core.ragdoll import drives
from .base import Part, Sidebar, active_armature, draw_bone_name, paragraph, press

ICONS = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFO": "INFO"}
LISTED = 8  # bones of a report that are shown
LINES = 4  # that a notice has


class ACTIVE_RAGDOLL_PT_main(Sidebar, bpy.types.Panel, label="Ragdoll", need_ragdoll=False):
    """Build, remove, and how it stands"""

    @classmethod
    def poll(cls, context):
        return True

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        row = layout.row(align=True)
        has_ragdoll = obj is not None and obj.active_ragdoll.is_ragdoll
        verb, bones = ("Rebuild", "KEEP") if has_ragdoll else ("Build", preferences.chosen("bones"))
        press(row, "build", {"bones": bones}, text=verb, icon="ARMATURE_DATA")
        row.operator_menu_enum("active_ragdoll.build", "bones", text="", icon="DOWNARROW_HLT")
        row.operator("active_ragdoll.apply_transform", text="", icon="OBJECT_ORIGIN")
        row.operator("active_ragdoll.remove", text="", icon="TRASH")
        found = health.notices(obj, context.scene)
        draw_notice(layout.box(), context, found[0], LINES, len(found) - 1)
        if obj is None:
            return
        settings = obj.active_ragdoll
        row = layout.row()
        row.label(text=obj.name, icon="OUTLINER_OB_ARMATURE")
        if has_ragdoll:
            which, joints = (settings, "state", settings.state), sum(1 for part in settings.parts if part.parent)
            layouts = bpy.types.UILayout
            row.label(text=layouts.enum_item_name(*which), icon_value=layouts.enum_item_icon(*which))
            layout.label(text=translated(f"{len(settings.parts)} bodies, {joints} joints"), icon="RIGID_BODY")


def draw_notice(layout, context, finding, lines: int = 0, others: int = 0) -> None:
    """A finding with its remedy as a button; with `lines` in a room that is always the same."""
    layout.alert = finding.severity == "ERROR"
    said = (finding.text,) if finding.operator or not finding.remedy else (finding.text, finding.remedy)
    paragraph(layout, context, ". ".join(map(translated, said)), ICONS[finding.severity], lines)
    row = layout.row()
    if finding.operator:
        press(row, finding.operator, finding.arguments, text=translated(finding.button))
    elif lines:
        row.label()
    if lines:
        row.label(text=translated(f"{others} more below") if others else "")


class ACTIVE_RAGDOLL_PT_health(Part, bpy.types.Panel, parent="main", need_ragdoll=True):
    """All that there is to say of the character, and what would make its ragdoll unstable"""

    def draw(self, context):
        for finding in health.notices(active_armature(context), context.scene):
            draw_notice(self.layout.box(), context, finding)


class ACTIVE_RAGDOLL_PT_act(Sidebar, bpy.types.Panel):
    """How strongly the body follows its animation, and what happens to it"""

    def fill(self, _context, obj, column):
        column.use_property_split = True  # with the dots: these can be keyed
        settings = obj.active_ragdoll
        props(column.column(align=True), settings, "rotation_weight", "translation_weight")
        column.prop(settings, "physics_blend")
        column.menu("ACTIVE_RAGDOLL_MT_story", icon="TIME")


class ACTIVE_RAGDOLL_PT_simulate(Sidebar, bpy.types.Panel, label="Simulate & Bake", need_ragdoll=False):
    """The shot: its simulation, its keyframes"""

    @staticmethod
    def is_there(obj):
        return not moved(obj)

    def draw(self, context):
        column = self.layout.column(align=True)
        column.operator("active_ragdoll.simulate", icon="PHYSICS")
        column.operator("active_ragdoll.free_cache", icon="X")
        column = self.layout.column(align=True)
        column.operator("active_ragdoll.bake", icon="ACTION")
        column.operator("active_ragdoll.revert_bake", icon="LOOP_BACK")
        column.operator("active_ragdoll.pose_this_frame", icon="POSE_HLT")
        column.operator_menu_enum("active_ragdoll.export_ready", "to", text="Export Ready", icon="EXPORT")


class ACTIVE_RAGDOLL_PT_range(Part, bpy.types.Panel, parent="simulate"):
    """Which frames are simulated"""

    def fill(self, context, obj, column):
        scene, column = context.scene, rows(column)
        own = scene.active_ragdoll
        column.prop(own, "use_range")
        inner = column.column(align=True)
        inner.enabled = own.use_range
        shown = own if own.use_range else scene
        inner.prop(shown, "frame_start", text="Start")
        inner.prop(shown, "frame_end", text="End")


class ACTIVE_RAGDOLL_PT_bake_options(Part, bpy.types.Panel, parent="simulate"):
    """What a bake writes, and where to"""

    def fill(self, context, obj, column):
        settings, inner = obj.active_ragdoll, rows(column)
        props(inner, settings, "key_tolerance")
        # What the next click on Bake does; Blender keeps it with the operator.
        chosen = context.window_manager.operator_properties_last("active_ragdoll.bake")
        props(inner, chosen, "to", *["limbs", "exact_joints"] * (chosen.to != bake.DEFORM), "bones", "frames")
        props(inner, chosen, "destination", chosen.destination == "LAYER" and "combined")
        props(inner, chosen, "root_motion", "loop", chosen.loop and "loop_frames")


class ACTIVE_RAGDOLL_PT_bake_report(Part, bpy.types.Panel, label="Report", parent="simulate"):
    """Which controls a bake would key; after it, how near it came"""

    def draw(self, context):
        obj, column = active_armature(context), self.layout.column()
        settings = obj.active_ragdoll
        chosen = context.window_manager.operator_properties_last("active_ragdoll.bake")
        if not settings.muted:
            press(column, "find_controls", {"to": chosen.to, "limbs": chosen.limbs}, icon="VIEWZOOM")
        elif settings.baked_action is not None:
            column.label(text=settings.baked_action.name, icon="ACTION")
        known, found = runtime.STATE.controls.get(obj.session_uid, (None, ()))
        if settings.muted:
            found = bake.report(obj)
        elif found and known != bake.searched(obj, chosen.to, chosen.limbs):  # which looks at all bones
            found = ()
        for text in found:
            paragraph(column, context, text)


class ACTIVE_RAGDOLL_PT_motion(Sidebar, bpy.types.Panel, bl_options={"DEFAULT_CLOSED"}, need_ragdoll=False):
    """What moves the character beside its animation, before the physics"""


class ACTIVE_RAGDOLL_PT_setup(Sidebar, bpy.types.Panel, bl_options={"DEFAULT_CLOSED"}):
    """What the ragdoll is made of, and what leads it"""

    def fill(self, _context, _obj, column):
        column.operator("active_ragdoll.diagnose", icon="VIEWZOOM")


class ACTIVE_RAGDOLL_PT_drive(Part, bpy.types.Panel, parent="setup"):
    """What leads the bodies"""

    def fill(self, _context, obj, column):
        settings = obj.active_ragdoll
        props(rows(column), settings, "drive", "drive_space")
        keyed = column.column(align=True)
        keyed.use_property_split = True  # with the dots: these can be keyed
        props(keyed, settings, *(parameter.setting for parameter in drives.of(settings.drive).parameters))
        column.prop(settings, "human_strength")


class ACTIVE_RAGDOLL_PT_bodies(Part, bpy.types.Panel, parent="setup"):
    """What the bodies are made of"""

    def fill(self, _context, obj, column):
        settings = obj.active_ragdoll
        props(column, settings, "self_collision", "stretch", "coverage")
        props(rows(column.column()), settings, "mass_model", settings.mass_model != "DENSITY" and "body_mass")
        has_density = settings.mass_model in ("AUTO", "DENSITY")
        props(column, settings, has_density and "density", "stabilize_masses")  # long names, inside their fields
        row = column.row(align=True)
        row.operator("active_ragdoll.bind_pose_from_frame", icon="ARMATURE_DATA")
        row.operator("active_ragdoll.bind_pose_from_frame", text="", icon="X").rest = True


class ACTIVE_RAGDOLL_PT_limits(Part, bpy.types.Panel, parent="setup"):
    """Whether the shot's animation stays within the joints' limits"""

    def fill(self, context, obj, column):
        column.operator("active_ragdoll.check_limits", icon="CON_ROTLIMIT").widen = False
        report = runtime.STATE.limits.get(obj.name)
        if report is None:
            return
        paragraph(column, context, report.text(), "INFO")
        for found in report.found[:LISTED]:
            draw_bone_name(column, obj, found.bone, f": {math.degrees(found.worst):.1f}\u00b0 at {found.worst_frame}")
        if report.found and not report.widened:
            column.operator("active_ragdoll.check_limits", text="Widen to Fit", icon="FULLSCREEN_ENTER").widen = True


class ACTIVE_RAGDOLL_PT_profile(Part, bpy.types.Panel, parent="setup"):
    """All settings of the character to a file and back"""

    def fill(self, _context, _obj, column):
        row = column.row(align=True)
        row.operator_menu_enum("active_ragdoll.apply_preset", "name", text="Preset", icon="PRESET")
        for name, icon in (("add", "ADD"), ("rename", "GREASEPENCIL"), ("remove", "REMOVE")):
            row.operator(f"active_ragdoll.{name}_preset", text="", icon=icon)
        row = column.row(align=True)
        row.operator("active_ragdoll.import_profile", text="Import", icon="IMPORT")
        row.operator("active_ragdoll.export_profile", text="Export", icon="EXPORT")
