"""Cost of the overlay's computation a frame: lines and colours of 20 bodies, without drawing.

    python dev.py bench overlay [--bodies N] [--frames N] [--json FILE]

The aim is a median under 0.5 ms a frame for 20 bodies. Every body has a capsule and a cone with a twist (the figure
with the most lines), one is selected, and all of them move on every frame.
"""

import time

import _characters
import numpy as np

from active_ragdoll.core import quaternion
from active_ragdoll.core.ragdoll import overlay

AIM_MS, AIM_BODIES = 0.5, 20


def figure(count: int) -> overlay.Figure:
    """A chain of capsules joined by cones."""
    end, begin = np.eye(4), np.eye(4)
    end[1, 3], begin[1, 3] = 0.2, -0.2
    return overlay.Figure(
        edges=[overlay.capsule_edges((0.05, 0.05, 0.2))] * count,
        lengths=np.full(count, 0.4),
        parents=np.arange(count) - 1,
        child_frames=np.tile(begin, (count, 1, 1)),
        parent_frames=np.tile(end, (count, 1, 1)),
        types=["CONE"] * count,
        limit_min=np.full((count, 3), -0.7),
        limit_max=np.full((count, 3), 0.9),
        height=2.0,
    )


def run(bodies: int, frames: int) -> tuple[dict, bool]:
    """Print the times."""
    random = np.random.default_rng(1)
    poses = np.tile(np.eye(4), (frames, bodies, 1, 1))
    poses[..., :3, :3] = quaternion.to_matrix(quaternion.normalize(random.normal(size=(frames, bodies, 4))))
    poses[..., :3, 3] = random.normal(size=(frames, bodies, 3))
    wires, selected, times = overlay.Wires(figure(bodies)), np.arange(bodies) == 1, []
    for matrices in poses:
        began = time.perf_counter()
        lines = wires.lines(matrices, selected)
        times.append(1e3 * (time.perf_counter() - began))
    found = {"bodies": bodies, "lines": len(lines.ends), "median_ms": float(np.median(times))}
    found["p99_ms"] = float(np.percentile(times, 99))
    met = found["median_ms"] < AIM_MS or bodies > AIM_BODIES
    _characters.print_table("a frame", (*found, "aim"), [[*found.values(), _characters.verdict(met)]])
    return found, met


if __name__ == "__main__":
    _characters.bench(run, __doc__, bodies=AIM_BODIES, frames=500)
