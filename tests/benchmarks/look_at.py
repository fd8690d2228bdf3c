"""What a look-at with two legs costs in Blender: a frame of the scene, and what of it is our own Python.

    python dev.py bench look_at [--counts 1 5 20] [--rounds N] [--json FILE]

Characters are walking humans (Rigify's metarig with a walk cycle), each set up from roles, all looking at one moving
Empty. No physics. `plain` and `frame` are medians over all frames of all rounds; the
others are means of this thread's own time, so that a busy machine counts less. In ms, all characters together:

    plain     the animation alone, before the set-up
    frame     the same with the stack: what `scene.frame_set` takes
    source    of it, evaluating the hidden scene in which the animation is read first
    read      of it, from Blender's pose to the stack's, and back to matrices
    solve     of it, the stack's entries
    write     of it, posing the target armature
Aim of the solvers alone: 0.3 ms a character (see the benchmark `motion`).
"""

from __future__ import annotations

import argparse
import statistics
import time

import _characters
import bpy

FRAMES = 48


def timed(scene, rounds: int) -> float:
    """Median time [ms] of a frame."""
    times = []
    for _ in range(rounds):
        scene.frame_set(scene.frame_start)
        for frame in range(scene.frame_start + 1, scene.frame_start + FRAMES):
            began = time.perf_counter()
            scene.frame_set(frame)
            times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times)


class Parts:
    """Adds up what functions take within a frame, by replacing them for a while."""

    def __init__(self) -> None:
        self.seconds, self._undo = {}, []

    def watch(self, owner, name: str, label: str) -> None:
        """Time a function of a module or class."""
        function = getattr(owner, name)

        def watched(*args, **kwargs):
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[label] = self.seconds.get(label, 0.0) + time.thread_time() - began

        setattr(owner, name, watched)
        self._undo.append((owner, name, function))

    def restore(self) -> None:
        """Everything as it was."""
        for owner, name, function in self._undo:
            setattr(owner, name, function)


def measure(count: int, rounds: int) -> dict:
    """The table's row for a number of characters."""
    from active_ragdoll.core.blender.stack import pose_stack, stack_edits
    from active_ragdoll.core.motion import stack

    scene = bpy.data.scenes.new("Cost")
    bpy.context.window.scene = scene
    scene.render.fps = _characters.FPS
    humans = _characters.walking_humans(scene, count)
    target = bpy.data.objects.new("Target", None)
    scene.collection.objects.link(target)
    for frame in range(scene.frame_start, scene.frame_start + FRAMES):
        target.location = (0.05 * (frame % 24), -4.0, 1.5)
        target.keyframe_insert("location", frame=frame)
    row = {"plain": timed(scene, rounds)}
    for human in humans:
        stack_edits.set_up_look_at(human, scene, target)
    row["frame"] = timed(scene, rounds)
    scene.frame_set(scene.frame_start)  # where stacks are made anew
    parts = Parts()
    parts.watch(stack, "run", "solve")
    parts.watch(pose_stack.PoseStack, "pose", "pose")
    parts.watch(pose_stack, "write_target", "write")
    parts.watch(pose_stack, "show", "show")
    try:
        for frame in range(scene.frame_start + 1, scene.frame_start + FRAMES):
            scene.frame_set(frame)
    finally:
        parts.restore()
    spent = {name: 1e3 * seconds / (FRAMES - 1) for name, seconds in parts.seconds.items()}
    row["source"] = spent["show"] - spent["pose"] - spent["write"]
    row["read"] = spent["pose"] - spent["solve"]
    row["solve"], row["write"] = spent["solve"], spent["write"]
    return row


def main() -> int:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--rounds", type=int, default=3)
    options = _characters.arguments(parser)
    table = {count: measure(count, options.rounds) for count in options.counts}
    names = list(next(iter(table.values())))
    lines = [[count, *(f"{row[name]:.2f}" for name in names)] for count, row in table.items()]
    _characters.print_table(f"ms a frame, bpy {bpy.app.version_string}", ("characters", *names), lines)
    _characters.write_json(options.json, table)
    return 0


if __name__ == "__main__":
    _characters.leave(main())
