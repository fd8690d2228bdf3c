"""Going through a shot: simulating it, baking it to keyframes, and the way back."""

import time
from dataclasses import fields
from pathlib import Path

import bpy

from ..core.blender import bake, interface, runtime
from ..core.blender.bake import actions, controls, plain, travel
from ..core.blender.languages import translated
from ..core.blender.physics import built, world
from ..core.blender.run import reconcile, shot_run, simulate
from ..core.blender.settings.declare import choice, flag, text, whole
from ..core.errors import RagdollError, named
from .base import OnArmature, Operator

SLICES = 1.0, 3.0  # [s] at least and at most, of frames between two looks at the keyboard and redraws of the window
REDRAWS = 0.25  # of the time for frames that redraws may take
MOVED = (interface.moved, interface.unbaked)  # by physics or the motion stack
COPIED = (interface.moved, interface.not_in_edit_mode)  # to a plain copy
PRINT_EVERY = 0.1  # share of the shot between two lines of progress


class Progress:
    """Shows how far a shot is: on the mouse pointer and in the status bar, or as lines where there is no window."""

    def __init__(self, verb: str, first: int, last: int, characters: int = 1) -> None:
        self.verb, self.first, self.last, self._characters = verb, first, last, characters
        self._said, self._begun = 0.0, time.perf_counter()
        self._manager = bpy.context.window_manager
        self._manager.progress_begin(first, last)

    def show(self, frame: int, workspace=None, character: int = 0) -> None:
        """Tell that a frame is done; the status bar tells the time left and the character, those before being done."""
        share = (frame - self.first + 1) / max(self.last - self.first + 1, 1)
        self._manager.progress_update(frame)
        if bpy.app.background and share + 1e-9 >= self._said + PRINT_EVERY:
            self._said = int(share / PRINT_EVERY + 1e-9) * PRINT_EVERY
            print(f"{self.verb}: frame {frame} of {self.first} to {self.last}, {share:.0%}", flush=True)
        if workspace is not None:
            share = (character + share) / self._characters
            left = (time.perf_counter() - self._begun) * (1.0 / max(share, 1e-6) - 1.0)
            who = f", character {character + 1} of {self._characters}" if self._characters > 1 else ""
            text = f"{self.verb}: frame {frame} of {self.last}{who}, {max(left, 0.0):.0f} s left.  Esc stops"
            workspace.status_text_set(translated(text))

    def end(self, workspace=None) -> None:
        """Put pointer and status bar back; to be called after trouble too."""
        self._manager.progress_end()
        if workspace is not None:
            workspace.status_text_set(None)


def choose_range(scene, frame_start: int, frame_end: int) -> None:
    """Simulate a range from now on; 0 to 0 means the one already set. Raises RagdollError: the range is empty, or the
    user's own baked cache is in the way."""
    if (frame_start, frame_end) != (0, 0):
        if frame_end <= frame_start:
            raise RagdollError(f"The frame range {frame_start} to {frame_end} has no frame to simulate")
        if (frame_start, frame_end) != world.shot_range(scene):
            world.refuse_user_bake(scene)
            simulate.use_range(scene, frame_start, frame_end)


class SteppingOperator(OnArmature):
    """Runs a generator of frames: `execute` in one go, `invoke` in slices with Esc to stop.

    A class that uses it has `verb`, `prepare(context)` that returns (generator, scene), and
    `finished(context, stopped_at)` that reports and returns the operator's result; `stopped_at` is the last frame
    done when Esc was pressed, else None.
    """

    verb = ""
    characters, character = 1, 0  # how many it goes through one after the other, and at which it is

    def execute(self, context):
        """Everything at once: scripts, the redo panel, no window."""
        if not self._begin(context):
            return {"CANCELLED"}
        try:
            for frame in self._frames:
                self._frame = frame
                self._progress.show(frame)
        except RagdollError as error:
            return self.cancelled(error)
        finally:
            self._end(context)
        return self.finished(context, None)

    def invoke(self, context, _event):
        """In slices, so that the viewport shows every slice and Esc is heard."""
        if bpy.app.background or context.window is None:
            return self.execute(context)
        if context.screen is not None and context.screen.is_animation_playing:
            bpy.ops.screen.animation_cancel(restore_frame=False)
        if not self._begin(context):
            return {"CANCELLED"}
        self._timer = context.window_manager.event_timer_add(0.001, window=context.window)
        result = self._go_on(context, SLICES[0])  # what takes no longer is not shown on the way
        if result == {"RUNNING_MODAL"}:
            context.window_manager.modal_handler_add(self)
        return result

    def modal(self, context, event):
        """One slice for each tick of the timer; all other input waits."""
        if event.type == "ESC" and event.value == "PRESS":
            self._end(context)  # closes the generator, which keeps what is done
            return self.finished(context, self._frame if self._frame is not None else self._scene.frame_current)
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        drawing = time.perf_counter() - self._rested  # since the last slice the window was redrawn
        return self._go_on(context, min(max(drawing / REDRAWS, SLICES[0]), SLICES[1]))

    def _go_on(self, context, seconds: float) -> set:
        """Frames for some time; the operator's result."""
        until = time.perf_counter() + seconds
        try:
            while time.perf_counter() < until:
                self._frame = next(self._frames)
        except BaseException as trouble:
            self._end(context)
            if isinstance(trouble, StopIteration):
                return self.finished(context, None)
            if isinstance(trouble, RagdollError):
                return self.cancelled(trouble)
            raise
        self._progress.show(self._frame, context.workspace, self.character)
        self._rested = time.perf_counter()
        return {"RUNNING_MODAL"}

    def cancel(self, context) -> None:
        """Blender itself ends the operator: the window closes or another file is loaded."""
        self._end(context)

    def _begin(self, context) -> bool:
        self._timer = self._frame = self._progress = None
        try:
            self._frames, self._scene = self.prepare(context)
        except RagdollError as error:
            self.cancelled(error)
            return False
        self._progress = Progress(self.verb, *world.shot_range(self._scene), self.characters)
        return True

    def _end(self, context) -> None:
        """Close the generator and put pointer and status bar back, whatever happened."""
        try:
            self._frames.close()
        finally:
            if self._timer is not None:
                context.window_manager.event_timer_remove(self._timer)
                self._timer = None
            self._progress.end(context.workspace)
            interface.redraw()


# ---- the operators -------------------------------------------------------------------------------------------------
class RangeOperator(SteppingOperator):
    """Goes through the shot's range or another one."""

    # SKIP_SAVE: the next call means the shot's range again.
    frame_start: whole("Start", "First frame; 0 and 0 take the shot's range", options={"SKIP_SAVE"})
    frame_end: whole("End", "Last frame; 0 and 0 take the shot's range", options={"SKIP_SAVE"})

    def wanted_range(self, scene) -> tuple[int, int]:
        """The frames that are asked for; where they are not within the shot, they become the shot."""
        first, last = world.shot_range(scene)
        wanted = (self.frame_start, self.frame_end)
        if wanted == (0, 0):
            return first, last
        if not first <= wanted[0] < wanted[1] <= last:
            choose_range(scene, *wanted)
        return wanted


class Simulating(SteppingOperator, verb="Simulating"):
    """Simulates a shot."""

    def finished(self, context, stopped_at):
        first, last = world.shot_range(self._scene)
        if stopped_at is not None:
            self.warn([f"Stopped at frame {stopped_at}; frames {first} to {stopped_at} are kept"])
            return {"FINISHED"}
        self.tell("INFO", f"Simulated frames {first} to {last}")
        for obj in shot_run.active_ragdolls(self._scene):
            self.warn(runtime.STATE.warnings.get(obj.name, ()))
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_simulate(RangeOperator, Simulating, bpy.types.Operator):
    """Run the shot's physics from its first to its last frame; afterwards the timeline can be scrubbed.
    Esc stops and keeps what is done"""

    @classmethod
    def why_not(cls, context):
        """Any ragdoll of the scene will do, whatever is active."""
        scene = context.scene
        if scene is None or not scene.active_ragdoll.has_characters:
            return "Build a ragdoll first"
        obj = cls.subject(context)
        mine = obj is not None and obj.active_ragdoll.is_ragdoll
        return interface.unbaked(obj) if mine and not shot_run.active_ragdolls(scene) else ""

    def prepare(self, context):
        scene = context.scene
        reconcile.reconcile(scene)
        if built.ragdolls(scene) and not shot_run.active_ragdolls(scene):
            raise RagdollError(f"Every ragdoll of scene '{scene.name}' is baked: revert a bake first")
        choose_range(scene, self.frame_start, self.frame_end)
        return simulate.frames(scene), scene


class ACTIVE_RAGDOLL_OT_free_cache(Operator, bpy.types.Operator):
    """Drop the simulated frames; the ragdoll plays live again from the shot's first frame"""

    @classmethod
    def why_not(cls, context):
        """It is about the scene, whatever is active."""
        physics = context.scene.rigidbody_world if context.scene else None
        if physics is None or not physics.point_cache.is_baked:
            return "Nothing is simulated"
        ours = context.scene.active_ragdoll.cache_is_ours
        return "" if ours else "The rigid body cache was baked by hand: delete it in the Scene properties"

    def act(self, context, _obj):
        scene = context.scene
        simulate.forget(scene)
        scene.frame_set(scene.frame_current)


KEYS_ON = (
    (bake.AUTO, "Automatic", "Controls where they carry the bones with bodies, else the bones"),
    (bake.DEFORM, "Bones", "The bones that move; in these frames the rig's own constraints do not act on them"),
    (bake.CONTROLS, "Controls", "The controls that carry the bones with bodies, which are found by trying them"),
)
CARRIERS = (
    (travel.STAY, "Body", "The bones of the body, as the animation has it"),
    (travel.OBJECT, "Object", "The armature object"),
    (travel.ROOT, "Root Bone", "The topmost bone above the body"),
)
BAKED_BONES = (
    (bake.ALL, "All", "All that physics and the motion stack move"),
    (bake.SIMULATED, "Simulated", "Those with bodies, and what goes with them"),
    (bake.SELECTED, "Selected", "Selected ones of these; of controls those selected, or that carry selected bones"),
)
BAKED_FRAMES = (
    (bake.RANGE, "Range", "The whole range"),
    (bake.ACTIVE, "Where Active", "From the first frame that is not the animation's to the last"),
)
DESTINATIONS = (
    (actions.NEW, "New Action", "A copy of the present action with these keys; the old one is kept"),
    (actions.CURRENT, "Current Action", "The action itself; its keys of these frames come back with Revert"),
    (actions.LAYER, "NLA Layer", "A strip over the animation, which goes on below it"),
)
LIMBS = (
    (controls.FK, "FK", "By the rotations of their bones' controls"),
    (controls.IK, "IK", "By the controls of their ends, and poles"),
    (controls.AS_KEYED, "As Keyed", "As their switches stand at the first frame"),
)
FILES = (
    ("SCENE", "Objects", "Objects of the scene"),
    (".glb", "glTF", "A .glb file"),
    (".fbx", "FBX", "An .fbx file"),
    (".usdc", "USD", "A .usdc file"),
)
LIMB_KEYS = choice(
    "Limbs", LIMBS, None, "How limbs of a rig with controls are keyed that have switches; others as they can be"
)
TO = choice("Keys On", KEYS_ON, None, "What gets the keys")
ROOT_MOTION = choice("Root Motion", CARRIERS, None, "What carries the way that the character goes over the ground")


class ACTIVE_RAGDOLL_OT_bake(RangeOperator, bpy.types.Operator, verb="Baking", requires=MOVED):
    """Write the simulated motion, and the motion stack's, of the selected characters to new actions and mute both;
    the old actions are kept. Simulates first where that was not done"""

    bones: choice("Bones", BAKED_BONES, None, "Which bones get keys; the others play their animation afterwards")
    frames: choice("Frames", BAKED_FRAMES, None, "Which frames get keys")
    destination: choice("To", DESTINATIONS, None, "Where the keys go")
    to: TO
    combined: flag(
        "Combine", "The layer adds to the animation below it, which can still be edited, instead of replacing it"
    )
    limbs: LIMB_KEYS
    exact_joints: flag(
        "Exact Joints",
        "What inverse kinematics may stretch keeps its length over the range, so that knees and elbows are exact; "
        "Revert Bake sets it back",
    )
    root_motion: ROOT_MOTION
    loop: flag("Loop", "The range becomes a cycle: it is simulated again and again until its end is like its beginning")
    loop_frames: whole("Spread", "Frames at the end over which what the cycle still lacks is spread", 8, min=1)

    def prepare(self, context):
        """A range within the shot's is baked from the motion of the whole shot, of all selected characters."""
        scene = interface.scene_of(self.subject(context), context)
        objects = [obj for obj in interface.characters(context) if interface.scene_of(obj, context) == scene]
        objects = [obj for obj in objects if not interface.why_not(obj, *self.requires)]
        wanted = self.wanted_range(scene)
        self._baked, self.characters = [], len(objects)
        chosen = {field.name: getattr(self, field.name) for field in fields(bake.Choice)}
        choice = bake.Choice(**chosen | {"loop": self.loop_frames * self.loop})
        return self._bakes(objects, scene, wanted, choice), scene

    def _bakes(self, objects, scene, wanted, choice):
        """One after the other; what cannot be baked does not stop the others."""
        for self.character, obj in enumerate(objects):
            try:
                yield from bake.bake_frames(obj, scene, *wanted, choice)
            except RagdollError as error:
                if self.characters == 1:
                    raise
                self.tell("ERROR", str(error))
            else:
                self._baked.append(obj.name)

    def finished(self, context, stopped_at):
        if stopped_at is not None:
            self.warn([f"Stopped at frame {stopped_at}; {named(self._baked) or 'nothing'} was baked"])
        for name in self._baked:
            obj = bpy.data.objects[name]
            action = obj.active_ragdoll.baked_action
            if carried := bake.controls_of(obj):
                self.warn(bake.notes_on(carried))
            self.tell("INFO", f"Baked '{name}' to the action '{action.name if action else ''}'")
        return {"FINISHED"} if self._baked else {"CANCELLED"}


class ACTIVE_RAGDOLL_OT_find_controls(Operator, bpy.types.Operator, requires=MOVED, bl_options={"REGISTER"}):
    """Find which controls would get the keys of a bake, which switches are turned, and what they cannot reach"""

    to: TO
    limbs: LIMB_KEYS

    def act(self, context, obj):
        rows = bake.find_controls(obj, interface.scene_of(obj, context), self.to, self.limbs)
        runtime.STATE.controls[obj.session_uid] = bake.searched(obj, self.to, self.limbs), rows


class ACTIVE_RAGDOLL_OT_export_ready(RangeOperator, bpy.types.Operator, verb="Exporting", requires=COPIED):
    """A plain copy of the character for games and other programs: its deforming bones alone, in one tree, with the
    motion of the bake, or what a bake would write, as keys. It stays in the scene, or is written to a file"""

    to: choice("To", FILES, None, "Where the copy goes")
    root_motion: ROOT_MOTION
    filepath: text("File", "Path of the file", subtype="FILE_PATH", options={"SKIP_SAVE"})

    def invoke(self, context, event):
        """A file's name is asked for first, if this Blender can write such files."""
        if self.to == "SCENE" or self.filepath:
            return super().invoke(context, event)
        self.filepath = str(Path(bpy.data.filepath or "untitled").with_name(self.subject(context).name + self.to))
        try:
            plain.exporter(Path(self.filepath))
        except RagdollError as error:
            return self.cancelled(error)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def prepare(self, context):
        obj = self.subject(context)
        scene = interface.scene_of(obj, context)
        self._path = Path(bpy.path.abspath(self.filepath)) if self.filepath else None
        if self.to != "SCENE":  # else the file's own suffix says what it is to be
            if not self.filepath:
                raise RagdollError("Say which file is to be written")
            self._path = self._path.with_suffix(self.to)
        return plain.export_frames(obj, scene, *self.wanted_range(scene), self._path, self.root_motion), scene

    def finished(self, context, stopped_at):
        if stopped_at is not None:
            self.warn([f"Stopped at frame {stopped_at}; nothing was exported"])
            return {"CANCELLED"}
        made = self._path or f"'{context.view_layer.objects.active.name}'"
        self.tell("INFO", f"Exported to {made}")
        return {"FINISHED"}


class ACTIVE_RAGDOLL_OT_revert_bake(Operator, bpy.types.Operator, requires=(interface.moved, interface.baked)):
    """Back to the actions from before the bake of the selected characters, the live ragdoll and the motion stack;
    the baked actions stay in the file"""

    def act(self, context, _obj):
        objects = [obj for obj in interface.characters(context) if obj.active_ragdoll.muted]
        for obj in objects:
            bake.revert(obj)
        return "\n".join(f"'{obj.name}' has its old action back" for obj in objects)


class ACTIVE_RAGDOLL_OT_pose_this_frame(Operator, bpy.types.Operator, requires=MOVED):
    """Put the pose that is shown at this frame on the bones or the controls, as if posed by hand.
    It is keyed where Auto Keying is on"""

    to: TO

    def act(self, context, obj):
        names = bake.pose_bones(obj, interface.scene_of(obj, context), self.to)
        return f"Posed {named(names)} of '{obj.name}'"
