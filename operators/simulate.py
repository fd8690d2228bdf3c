"""Simulating a shot and dropping what was simulated."""

import bpy
from bpy.props import IntProperty

from ..core.blender import motion_setup, shot_run, showing, simulate, world
from ..core.blender.runtime import STATE
from ..core.errors import RagdollError
from .character import active_ragdoll, refuse
from .stepping import SteppingOperator, choose_range, redraw

SKIP = {"SKIP_SAVE"}  # the next call means the shot's range again


class ACTIVE_RAGDOLL_OT_simulate(SteppingOperator, bpy.types.Operator):
    """Run the shot's physics from its first to its last frame; afterwards the timeline can be scrubbed.
    Esc stops and keeps what is done"""

    bl_idname = "active_ragdoll.simulate"
    bl_label = "Simulate"
    bl_options = {"REGISTER", "UNDO"}
    verb = "Simulating"

    frame_start: IntProperty(name="Start", description="First frame; 0 and 0 take the shot's range", options=SKIP)
    frame_end: IntProperty(name="End", description="Last frame; 0 and 0 take the shot's range", options=SKIP)

    @classmethod
    def poll(cls, context):
        scene = context.scene
        if scene is None or scene.active_ragdoll.source is None:
            return refuse(cls, "Build a ragdoll first")
        mine = active_ragdoll(context)
        if mine is not None and mine.active_ragdoll.muted and not shot_run.active_ragdolls(scene):
            return refuse(cls, "The result is baked: revert the bake first")
        return True

    def prepare(self, context):
        scene = context.scene
        motion_setup.part_duplicates(scene)
        if not shot_run.active_ragdolls(scene):
            raise RagdollError(f"Every ragdoll of scene '{scene.name}' is baked: revert a bake first")
        choose_range(scene, self.frame_start, self.frame_end)
        return simulate.frames(scene), scene

    def finished(self, context, stopped_at):
        first, last = world.shot_range(self._scene)
        if stopped_at is None:
            self.report({"INFO"}, f"Simulated frames {first} to {last}")
            for obj in shot_run.active_ragdolls(self._scene):
                for text in STATE.warnings.get(obj.name, ()):
                    self.report({"WARNING"}, text)
        else:
            self.report({"WARNING"}, f"Stopped at frame {stopped_at}; frames {first} to {stopped_at} are kept")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_free_cache(bpy.types.Operator):
    """Drop the simulated frames; the ragdoll plays live again from the shot's first frame"""

    bl_idname = "active_ragdoll.free_cache"
    bl_label = "Free Cache"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        physics = context.scene.rigidbody_world if context.scene else None
        if physics is None or not physics.point_cache.is_baked:
            return refuse(cls, "Nothing is simulated")
        if not context.scene.active_ragdoll.cache_is_ours:
            return refuse(cls, "The rigid body cache was baked by hand: delete it in the Scene properties")
        return True

    def execute(self, context):
        scene = context.scene
        try:
            world.free_cache(scene)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        showing.stop_showing(scene)
        STATE.runs.pop(scene.name, None)
        for obj in shot_run.active_ragdolls(scene):
            obj.active_ragdoll.property_unset("cache_outdated")
        scene.frame_set(scene.frame_current)
        redraw()
        return {"FINISHED"}


CLASSES = (ACTIVE_RAGDOLL_OT_simulate, ACTIVE_RAGDOLL_OT_free_cache)
