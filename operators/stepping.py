"""Walking through the frames of a shot: at once, or a slice of time at a go while the window stays alive."""

import time

import bpy

from ..core.blender import simulate, world
from ..core.errors import RagdollError

TIME_SLICE = 0.05  # [s] of frames between two looks at the keyboard
PRINT_EVERY = 0.1  # share of the shot between two lines of progress


class Progress:
    """Shows how far a shot is: on the mouse pointer and in the status bar, or as lines where there is no window."""

    def __init__(self, verb: str, first: int, last: int, quiet: bool = False) -> None:
        self.verb, self.first, self.last = verb, first, last
        self.printing = bpy.app.background and not quiet
        self._said = 0.0
        self._manager = bpy.context.window_manager
        self._manager.progress_begin(first, last)

    def show(self, frame: int) -> None:
        """A frame is done."""
        share = (frame - self.first + 1) / max(self.last - self.first + 1, 1)
        self._manager.progress_update(frame)
        if self.printing and share + 1e-9 >= self._said + PRINT_EVERY:
            self._said = int(share / PRINT_EVERY + 1e-9) * PRINT_EVERY
            print(f"{self.verb}: frame {frame} of {self.first} to {self.last}, {share:.0%}", flush=True)

    def status(self, workspace, frame: int) -> None:
        """A line in the status bar."""
        if workspace is not None:
            workspace.status_text_set(f"{self.verb}: frame {frame} of {self.last}.  Esc stops")

    def end(self, workspace=None) -> None:
        """Always to be called, also after trouble."""
        self._manager.progress_end()
        if workspace is not None:
            workspace.status_text_set(None)


def choose_range(scene, frame_start: int, frame_end: int) -> None:
    """Simulate a range from now on; 0 to 0 means the one already set.

    Raises:
        RagdollError: the range is empty, or the user's own baked cache is in the way.
    """
    if (frame_start, frame_end) != (0, 0):
        if frame_end <= frame_start:
            raise RagdollError(f"The frame range {frame_start} to {frame_end} has no frame to simulate")
        if (frame_start, frame_end) != world.shot_range(scene):
            world.refuse_user_bake(scene)
            simulate.use_range(scene, frame_start, frame_end)


class SteppingOperator:
    """Runs a generator of frames: `execute` in one go, `invoke` in slices with Esc to stop.

    A class that uses it has `verb`, `prepare(context)` that returns (generator, scene), and
    `finished(context, stopped_at)` that reports and returns the operator's result; `stopped_at` is the last frame
    done when Esc was pressed, else None.
    """

    verb = ""

    def execute(self, context):
        """Everything at once: scripts, the redo panel, no window."""
        if not self._begin(context):
            return {"CANCELLED"}
        try:
            for frame in self._frames:
                self._frame = frame
                self._progress.show(frame)
        except RagdollError as error:
            return self._fail(error)
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
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """One slice for each tick of the timer; all other input waits."""
        if event.type == "ESC" and event.value == "PRESS":
            return self._stop(context)
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        until = time.perf_counter() + TIME_SLICE
        try:
            while time.perf_counter() < until:
                self._frame = next(self._frames)
        except StopIteration:
            self._end(context)
            return self.finished(context, None)
        except RagdollError as error:
            self._end(context)
            return self._fail(error)
        except BaseException:
            self._end(context)
            raise
        self._progress.show(self._frame)
        self._progress.status(context.workspace, self._frame)
        return {"RUNNING_MODAL"}

    def cancel(self, context) -> None:
        """Blender itself ends the operator: the window closes or another file is loaded."""
        self._end(context)

    def _begin(self, context) -> bool:
        self._timer = self._frame = self._progress = None
        try:
            self._frames, self._scene = self.prepare(context)
        except RagdollError as error:
            self.report({"ERROR"}, str(error))
            return False
        self._progress = Progress(self.verb, *world.shot_range(self._scene))
        return True

    def _stop(self, context):
        self._end(context)  # closes the generator, which keeps what is done
        return self.finished(context, self._frame if self._frame is not None else self._scene.frame_current)

    def _fail(self, error):
        self.report({"ERROR"}, str(error))
        return {"CANCELLED"}

    def _end(self, context) -> None:
        """Whatever happened: the generator is closed, pointer and status bar are as before."""
        try:
            self._frames.close()
        finally:
            if self._timer is not None:
                context.window_manager.event_timer_remove(self._timer)
                self._timer = None
            self._progress.end(context.workspace)
            redraw()


def redraw() -> None:
    """Draw all windows anew: timelines, the sidebar, the viewport."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager else ():
        for area in window.screen.areas:
            area.tag_redraw()
