"""Cost of the overlay's computation a frame: lines and colours of 20 bodies, without Blender and without drawing.

    python tests/benchmarks/overlay.py [--bodies N] [--frames N] [--json FILE]

The aim is a median under 0.5 ms a frame for 20 bodies. Every body has a capsule and a cone with a twist (the figure
with the most lines), one is selected, and all of them move on every frame.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import quaternion
from core.ragdoll import overlay, wireframes

AIM_MS = 0.5
AIM_BODIES = 20


def figure(count: int) -> overlay.Figure:
    """A chain of capsules joined by cones."""
    end, begin = np.eye(4), np.eye(4)
    end[1, 3], begin[1, 3] = 0.2, -0.2
    return overlay.Figure(
        edges=[wireframes.capsule_edges((0.05, 0.05, 0.2))] * count,
        lengths=np.full(count, 0.4),
        parents=np.arange(count) - 1,
        child_frames=np.tile(begin, (count, 1, 1)),
        parent_frames=np.tile(end, (count, 1, 1)),
        types=["CONE"] * count,
        limit_min=np.full((count, 3), -0.7),
        limit_max=np.full((count, 3), 0.9),
        height=2.0,
    )


def poses(count: int, frames: int) -> np.ndarray:
    """Random rigid matrices [f, n, 4, 4]."""
    random = np.random.default_rng(1)
    result = np.tile(np.eye(4), (frames, count, 1, 1))
    result[..., :3, :3] = quaternion.to_matrix(quaternion.normalize(random.normal(size=(frames, count, 4))))
    result[..., :3, 3] = random.normal(size=(frames, count, 3))
    return result


def main() -> int:
    """Print the figures; 1 when the aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bodies", type=int, default=AIM_BODIES)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    wires = overlay.Wires(figure(options.bodies))
    made = time.perf_counter() - began
    selected = np.arange(options.bodies) == 1
    times = []
    for matrices in poses(options.bodies, options.frames):
        began = time.perf_counter()
        lines = wires.lines(matrices, selected)
        times.append(time.perf_counter() - began)
    median, worst = 1e3 * float(np.median(times)), 1e3 * float(np.percentile(times, 99))
    met = median < AIM_MS or options.bodies > AIM_BODIES
    print(f"{options.bodies} bodies, {len(lines.ends)} lines; made once in {1e3 * made:.1f} ms")
    print(
        f"a frame: median {median:.3f} ms, 99th percentile {worst:.3f} ms   aim {AIM_MS} {'met' if met else 'MISSED'}"
    )
    if options.json:
        report = {"bodies": options.bodies, "lines": len(lines.ends), "median_ms": median, "p99_ms": worst}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
