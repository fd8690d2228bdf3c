"""The tab Ragdoll of the 3D view's sidebar."""

import math
import textwrap

import bpy

from ..core.blender import world
from ..core.blender.runtime import STATE
from . import bone_tools

STATE_ICONS = {
    "NONE": "X",
    "READY": "CHECKMARK",
    "LIVE": "PLAY",
    "CACHED": "FILE_CACHE",
    "BAKED": "ACTION",
    "BROKEN": "ERROR",
    "ANIMATED": "ARMATURE_DATA",
    "ACTIVE": "PLAY",
    "LIMP": "GHOST_ENABLED",
    "SETTLING": "TIME",
    "RECOVERING": "LOOP_FORWARDS",
    "BLENDING": "FORCE_HARMONIC",
}
STATE_NOTES = {
    "READY": "Play from frame {first}, or simulate",
    "BROKEN": "Interrupted: starts again from frame {first}",
}
LIMIT_AXES = ("Swing X", "Twist Y", "Swing Z")
LISTED = 8  # bones of a report that are shown
LETTER = 6.5  # [px] a letter takes at the usual size of the interface


def active_armature(context):
    """The active object when it is an armature, else None."""
    obj = context.object
    return obj if obj is not None and obj.type == "ARMATURE" else None


def active_bone(obj):
    """The active bone of an armature as a pose bone, in pose and object mode; None where there is none."""
    bone = obj.data.bones.active
    return obj.pose.bones.get(bone.name) if bone is not None else None


def why_not(obj, need_ragdoll: bool = True) -> str:
    """Why settings of a character do not apply now; empty when they do."""
    if obj is None:
        return "Select the character's armature"
    if need_ragdoll and not obj.active_ragdoll.is_ragdoll:
        return "Build the ragdoll first"
    if obj.active_ragdoll.muted:
        return "Baked: revert the bake to change this"
    return ""


def paragraph(layout, context, text: str, icon: str = "NONE") -> None:
    """Text in as many lines as the sidebar's width needs."""
    scale = context.preferences.system.ui_scale
    letters = max(int((context.region.width / scale - 60.0) / LETTER), 16)
    lines = layout.column(align=True)
    lines.scale_y = 0.8
    for i, line in enumerate(textwrap.wrap(text, letters)):
        lines.label(text=line, icon=icon if i == 0 else ("BLANK1" if icon != "NONE" else "NONE"))


def reason(layout, context, text: str):
    """The reason on top, and the layout to draw what is greyed out because of it."""
    if text:
        paragraph(layout, context, text, "INFO")
    column = layout.column()
    column.enabled = not text
    return column


def rows(layout):
    """Labels on the left, values on the right, without the column of dots for keys where nothing can be keyed."""
    layout.use_property_split = True
    layout.use_property_decorate = False
    return layout.column(align=True)


class Sidebar:
    """Where our panels stand."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Ragdoll"


class ACTIVE_RAGDOLL_PT_main(Sidebar, bpy.types.Panel):
    """Build, remove, and how it stands"""

    bl_label = "Active Ragdoll"

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        row = layout.row(align=True)
        has_ragdoll = obj is not None and obj.active_ragdoll.is_ragdoll
        button = row.operator("active_ragdoll.build", text="Rebuild" if has_ragdoll else "Build", icon="ARMATURE_DATA")
        button.bones = "KEEP" if has_ragdoll else "DEFORM"
        row.operator_menu_enum("active_ragdoll.build", "bones", text="", icon="DOWNARROW_HLT")
        layout.operator("active_ragdoll.remove", icon="TRASH")
        text = why_not(obj, need_ragdoll=False) if obj is None else ""
        if text:
            paragraph(layout, context, text, "INFO")
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
        for text in dict.fromkeys(STATE.messages.get(name) for name in (obj.name, scene.name)):
            if text:
                box = layout.box()
                box.alert = True
                paragraph(box, context, text, "ERROR")
        for text in STATE.warnings.get(obj.name, ()):  # what the run goes on without
            paragraph(layout.box(), context, text, "ERROR")


class ACTIVE_RAGDOLL_PT_weights(Sidebar, bpy.types.Panel):
    """How strongly the body follows its animation"""

    bl_label = "Weights"

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj))
        if obj is None:
            return
        column.use_property_split = True  # with the dots: these can be keyed
        settings = obj.active_ragdoll
        inner = column.column(align=True)
        inner.prop(settings, "rotation_weight", slider=True)
        inner.prop(settings, "translation_weight", slider=True)
        column.prop(settings, "physics_blend", slider=True)


class ACTIVE_RAGDOLL_PT_drive(Sidebar, bpy.types.Panel):
    """What leads the bodies"""

    bl_label = "Drive"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        if obj is None:
            return
        settings = obj.active_ragdoll
        inner = rows(column)
        inner.prop(settings, "drive")
        inner.prop(settings, "drive_space")
        if settings.drive == "SPRING":
            springs = column.column(align=True)
            springs.use_property_split = True  # with the dots: these can be keyed
            springs.prop(settings, "spring_frequency")
            springs.prop(settings, "spring_damping_ratio")
        column.prop(settings, "human_strength")


class ACTIVE_RAGDOLL_PT_bodies(Sidebar, bpy.types.Panel):
    """What the bodies are made of"""

    bl_label = "Bodies"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        # They may also be set before the first build.
        column = reason(self.layout, context, why_not(obj, need_ragdoll=False))
        if obj is None:
            return
        settings = obj.active_ragdoll
        column.prop(settings, "self_collision")
        column.prop(settings, "stretch")
        column.prop(settings, "coverage", slider=True)
        inner = rows(column)
        inner.prop(settings, "mass_model")
        if settings.mass_model != "DENSITY":
            inner.prop(settings, "body_mass")
        if settings.mass_model in ("AUTO", "DENSITY"):
            inner.prop(settings, "density")
        column.prop(settings, "stabilize_masses")


class ACTIVE_RAGDOLL_PT_limits(Sidebar, bpy.types.Panel):
    """Whether the shot's animation stays within the joints' limits"""

    bl_label = "Limits"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        obj = active_armature(context)
        column = reason(self.layout, context, why_not(obj))
        column.operator("active_ragdoll.check_limits", icon="CON_ROTLIMIT").widen = False
        report = STATE.limits.get(obj.name) if obj is not None else None
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
        if obj is not None:
            settings = obj.active_ragdoll
            inner = rows(layout)
            inner.enabled = not text
            inner.prop(settings, "key_tolerance")
            if settings.muted and settings.baked_action is not None:
                layout.label(text=settings.baked_action.name, icon="ACTION")


class ACTIVE_RAGDOLL_PT_bone(Sidebar, bpy.types.Panel):
    """The body and the joint of the active bone"""

    bl_label = "Active Bone"

    def draw(self, context):
        layout = self.layout
        obj = active_armature(context)
        if obj is None:
            paragraph(layout, context, why_not(obj, need_ragdoll=False), "INFO")
            return
        bone = active_bone(obj) if obj.mode != "EDIT" else None
        if bone is None:
            text = "Leave Edit Mode first" if obj.mode == "EDIT" else "No active bone: click one in Pose Mode"
            paragraph(layout, context, text, "INFO")
            return
        settings = bone.active_ragdoll
        layout.label(text=bone.name, icon="BONE_DATA")
        bone_tools.draw_buttons(layout)
        column = reason(layout, context, why_not(obj))
        inner = rows(column)
        inner.prop(settings, "simulate")
        body = column.column()
        body.enabled = settings.simulate
        if not settings.simulate:
            paragraph(column, context, "Follows its parent's body and keeps its own animation", "BLANK1")
        keyed = body.column(align=True)
        keyed.use_property_decorate = True
        keyed.prop(settings, "body_mode")
        keyed.prop(settings, "rotation_weight", slider=True)
        keyed.prop(settings, "translation_weight", slider=True)
        keyed.prop(settings, "max_torque")
        keyed.prop(settings, "max_force")
        if obj.active_ragdoll.drive == "SPRING":
            keyed.prop(settings, "frequency_scale")
            keyed.prop(settings, "damping_scale")


def _part_of(obj, bone):
    return next((part for part in obj.active_ragdoll.parts if part.bone == bone.name), None)


class BonePart(Sidebar):
    """A panel inside the active bone's."""

    bl_parent_id = "ACTIVE_RAGDOLL_PT_bone"

    @classmethod
    def poll(cls, context):
        obj = active_armature(context)
        return obj is not None and obj.mode != "EDIT" and active_bone(obj) is not None

    def column(self, context):
        """A column that is greyed out where the bone has no body, and the bone."""
        obj = active_armature(context)
        bone = active_bone(obj)
        column = rows(self.layout)
        column.enabled = bone.active_ragdoll.simulate and not why_not(obj)
        return column, obj, bone


class ACTIVE_RAGDOLL_PT_body(BonePart, bpy.types.Panel):
    """Shape and mass of the active bone's body"""

    bl_label = "Body"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        column, obj, bone = self.column(context)
        settings = bone.active_ragdoll
        if hasattr(settings, "role"):
            column.prop(settings, "role")
        column.prop(settings, "shape")
        bone_tools.draw_size(column, settings, _part_of(obj, bone))
        column.prop(settings, "mass")
        part = _part_of(obj, bone)
        if settings.mass == 0.0 and part is not None and part.body is not None and part.body.rigid_body is not None:
            column.label(text=f"Automatic: {part.body.rigid_body.mass:.3g} kg")
        column.prop(settings, "friction")
        column.prop(settings, "bounciness")
        column.prop(settings, "linear_damping", text="Damping Linear")
        column.prop(settings, "angular_damping", text="Angular")


class ACTIVE_RAGDOLL_PT_joint(BonePart, bpy.types.Panel):
    """Joint and limits of the active bone"""

    bl_label = "Joint"

    def draw(self, context):
        column, obj, bone = self.column(context)
        settings = bone.active_ragdoll
        part = _part_of(obj, bone)
        if part is not None and not part.parent:
            column.enabled = False
            paragraph(self.layout, context, "A root: no joint leads to another body", "INFO")
        column.prop(settings, "joint")
        if settings.joint in {"HINGE", "CONE"}:
            for axis, name in enumerate(LIMIT_AXES):
                halves = column.split(factor=0.4, align=True)
                title = halves.column()
                title.alignment = "RIGHT"
                title.label(text=name)
                pair = halves.row(align=True)
                pair.prop(settings, "limit_min", index=axis, text="")
                pair.prop(settings, "limit_max", index=axis, text="")
            column.prop(settings, "joint_rotation")
        column.prop(settings, "limits_from")


CLASSES = (
    ACTIVE_RAGDOLL_PT_main,
    ACTIVE_RAGDOLL_PT_weights,
    ACTIVE_RAGDOLL_PT_drive,
    ACTIVE_RAGDOLL_PT_bodies,
    ACTIVE_RAGDOLL_PT_limits,
    ACTIVE_RAGDOLL_PT_simulate,
    ACTIVE_RAGDOLL_PT_bone,
    ACTIVE_RAGDOLL_PT_body,
    ACTIVE_RAGDOLL_PT_joint,
)
