"""One button for what happens to a character from this frame on: it is set up and simulated, in one undo step."""

import bpy
from mathutils import Vector

from ..core.blender import interface, preferences
from ..core.blender.physics import build, world
from ..core.blender.run import simulate
from ..core.blender.runtime import STATE
from ..core.blender.settings.declare import flag, number, text
from ..core.blender.tools import story, viewport
from ..core.errors import RagdollError
from .base import OnArmature, OnRagdoll, ray_below
from .shot import Simulating

STEEP = 0.3  # horizontal part of the view's direction below which it says nothing of where a push goes


class StoryOperator(Simulating, requires=(interface.unbaked, interface.not_in_edit_mode)):
    """Sets something up at the current frame, in `happen(context, obj, scene)`, and simulates the shot."""

    alone = False  # it acts on the active character only, else on all that are selected
    simulate: flag("Simulate", "Run the whole shot at once", True)

    def prepare(self, context):
        """Refuse before anything is changed; a character without a ragdoll gets one."""
        scene = interface.scene_of(self.subject(context), context)
        self._told, (first, last) = (now := scene.frame_current), world.shot_range(scene)
        if not first <= now < last:
            raise RagdollError(f"Frame {now} is not within the shot, {first} to {last}: nothing of it would be seen")
        chosen = [obj for obj in interface.characters(context) if not obj.active_ragdoll.muted]
        for each in [self.subject(context)] if self.alone else chosen:
            if not each.active_ragdoll.is_ragdoll:
                build.build(each, scene, preferences.chosen("bones"))
            self.happen(context, each, scene)
        return self._simulated(scene) if self.simulate else (frame for frame in ()), scene

    def _simulated(self, scene):
        yield from simulate.frames(scene)
        scene.frame_set(self._told)

    def finished(self, context, stopped_at):
        return super().finished(context, stopped_at) if self.simulate else {"FINISHED"}


class BlowOperator(StoryOperator):
    """Strikes the active bone of the active character, away from the view."""

    alone = True
    bone: text("Bone", "Whose body is struck; empty takes the active one, else the heaviest")
    strength: number("Strength", "Times the usual one", 1.0, min=0.0, soft_max=10.0)

    def prepare(self, context):
        obj = self.subject(context)
        if self.bone and self.bone not in obj.data.bones:
            raise RagdollError(f"'{obj.name}' has no bone '{self.bone}'")
        return super().prepare(context)

    def blow(self, context) -> Vector:
        """Direction [3] times strength: level, away from the viewer; towards +Y where that is straight down."""
        view = getattr(getattr(context, "space_data", None), "region_3d", None)
        away = view.view_rotation @ Vector((0.0, 0.0, -1.0)) if view is not None else Vector((0.0, 1.0, 0.0))
        level = Vector((away.x, away.y, 0.0))
        return self.strength * (level.normalized() if level.length > STEEP else Vector((0.0, 1.0, 0.0)))


class ACTIVE_RAGDOLL_OT_knock_out_here(BlowOperator, bpy.types.Operator):
    """Hit the active bone at this frame so hard that the character is knocked out, away from the view.
    Sets up what that needs: ragdoll, recovery, a floor; and simulates"""

    def happen(self, context, obj, scene):
        self.warn(story.knock_out(obj, scene, story.struck_bone(obj, context.object, self.bone), self.blow(context)))


class ACTIVE_RAGDOLL_OT_push_here(BlowOperator, bpy.types.Operator, label="Push"):
    """Push the active bone for a quarter of a second from this frame on, away from the view, and simulate"""

    def happen(self, context, obj, scene):
        self.warn(story.push(obj, scene, story.struck_bone(obj, context.object, self.bone), self.blow(context)))


class ACTIVE_RAGDOLL_OT_explode_here(StoryOperator, bpy.types.Operator):
    """An explosion at the 3D cursor at this frame, and simulate"""

    def happen(self, context, obj, scene):
        story.explode(obj, scene)


class ACTIVE_RAGDOLL_OT_limp_from_here(StoryOperator, bpy.types.Operator, label="Limp from Here"):
    """Key the weights to 0 from this frame on, in Pose Mode those of the selected bones, and simulate"""

    def happen(self, context, obj, scene):
        story.limp(obj, scene, owners(obj))


class ACTIVE_RAGDOLL_OT_follow_from_here(StoryOperator, bpy.types.Operator, label="Follow Again from Here"):
    """Key the weights to rise within half a second from this frame on, in Pose Mode those of the selected bones,
    and simulate"""

    def happen(self, context, obj, scene):
        story.follow(obj, scene, owners(obj))


def owners(obj) -> list:
    """Whose weights are keyed: those of the selected bones in Pose Mode, else the character's."""
    names = interface.selected_bones(obj) if obj.mode == "POSE" else ()
    return [obj.pose.bones[name] for name in names] or [obj]


class ACTIVE_RAGDOLL_OT_add_floor(OnRagdoll, bpy.types.Operator):
    """Put a slab that physics does not move under the lowest point of the character, as it stands at this frame"""

    def act(self, context, obj):
        return f"'{story.add_floor(obj, interface.scene_of(obj, context)).name}' is below '{obj.name}'"


class ACTIVE_RAGDOLL_OT_story_pie(OnArmature, bpy.types.Operator, label="Ragdoll from Here", bl_options={"INTERNAL"}):
    """Choose what happens to the character from this frame on; a blow strikes the bone below the pointer"""

    def invoke(self, context, event):
        obj, found = self.subject(context), None
        if obj.active_ragdoll.is_ragdoll and context.area.type == "VIEW_3D":
            ray = ray_below(context, event)
            found = viewport.picked(obj, interface.scene_of(obj, context), context.view_layer.depsgraph, *ray)
        STATE.pointed = found[0] if found else ""
        return bpy.ops.wm.call_menu_pie(name="ACTIVE_RAGDOLL_MT_story_pie")
