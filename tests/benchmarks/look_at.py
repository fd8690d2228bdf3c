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
Aim of the solvers alone (`solve`): 0.3 ms a character.
"""

import contextlib
import statistics
import time
from collections.abc import Iterator
from unittest import mock

import _characters
import bpy

from active_ragdoll.core.blender.stack import pose_stack, stack_edits
from active_ragdoll.core.motion import stack

FRAMES, AIM_MS = 48, 0.3


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


@contextlib.contextmanager
def watched(*functions) -> Iterator[dict[str, float]]:
    """Seconds spent in functions, given as (owner, name), by their names; they are replaced for a while."""
    seconds = {}

    def timed(function, name):
        def call(*args, **kwargs):
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[name] = seconds.get(name, 0.0) + time.thread_time() - began

        return call

    with contextlib.ExitStack() as patches:
        for owner, name in functions:
            patches.enter_context(mock.patch.object(owner, name, timed(getattr(owner, name), name)))
        yield seconds


def measure(count: int, rounds: int) -> dict:
    """The table's row for a number of characters."""
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
    functions = ((stack, "run"), (pose_stack.PoseStack, "pose"), (pose_stack, "write_target"), (pose_stack, "show"))
    with watched(*functions) as seconds:
        for frame in range(scene.frame_start + 1, scene.frame_start + FRAMES):
            scene.frame_set(frame)
    spent = {name: 1e3 * taken / (FRAMES - 1) for name, taken in seconds.items()}
    row["source"] = spent["show"] - spent["pose"] - spent["write_target"]
    row["read"] = spent["pose"] - spent["run"]
    row["solve"], row["write"] = spent["run"], spent["write_target"]
    return row


def run(counts: list[int], rounds: int) -> tuple[dict, bool]:
    """Print the table."""
    table = {count: measure(count, rounds) for count in counts}
    names = list(next(iter(table.values())))
    rows, met = [], True
    for count, row in table.items():
        good = row["solve"] <= AIM_MS * count
        met &= good
        rows.append([count, *(f"{row[name]:.2f}" for name in names), _characters.verdict(good)])
    _characters.print_table("ms a frame", ("characters", *names, "aim"), rows)
    return {"counts": table}, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, counts=[1, 5, 20], rounds=3)
