"""Time of poses in level order, against plain Python and `mathutils`.

    python tests/benchmarks/skeleton.py [--json FILE] [--rounds N]

Three tables: (1) the case that an article measured in C++ and ISPC, a tree of 40,000 bones with 4 children
each in which every bone's position is summed with its parent's; (2) full model-space transforms of that tree;
(3) small rigs, one and in batches of 100 characters, where level by level need not pay. All variants of a
table must give the same result, or it stops. `mathutils` is measured where it can be imported (the bpy
wheels, or Blender with `--python`).

One numpy thread. Between passes the result of the pass before is undone; that reset is timed apart ("reset").
The variants take turns within a round, so that a busy machine hits all of them; ratios are of medians within
one run. Reading poses from Blender into arrays and writing them back is not in these figures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from core import pose, quaternion
from core.skeleton import Skeleton

try:
    import bpy  # noqa: F401  (the wheels provide mathutils only once bpy is loaded)
    from mathutils import Quaternion, Vector
except ImportError:
    Quaternion = Vector = None

BONE_COUNT = 40_000
CHILDREN = 4
AIM_MS = 0.06
BATCH = 100
SMALL_RIGS = (20, 65, 159)
# A round gives every variant this long (at least one pass, at most MAX_PASSES).
ROUND_SECONDS = 0.02
MAX_PASSES = 60


@dataclass
class Variant:
    name: str
    reset: Callable[[], None]
    run: Callable[[], None]
    result: Callable[[], np.ndarray]
    """Numbers to compare with the other variants'."""


def measure(variants: list[Variant], rounds: int) -> list[dict]:
    """Times [ms] of each variant: min and median of a pass, and median of its reset."""
    times: list[list[float]] = [[] for _ in variants]
    resets: list[list[float]] = [[] for _ in variants]
    for round_index in range(rounds + 1):
        for variant, passes, reset_passes in zip(variants, times, resets, strict=True):
            estimate = min(passes, default=ROUND_SECONDS)
            for _ in range(max(1, min(MAX_PASSES, int(ROUND_SECONDS / estimate)))):
                before = time.perf_counter()
                variant.reset()
                start = time.perf_counter()
                variant.run()
                end = time.perf_counter()
                passes.append(end - start)
                reset_passes.append(start - before)
        if round_index == 0:  # the first round warms up and tells how long a pass takes
            times = [[min(passes)] for passes in times]
            resets = [[] for _ in variants]
    return [
        {
            "variant": variant.name,
            "min_ms": 1e3 * min(passes),
            "median_ms": 1e3 * float(np.median(passes[1:])),
            "reset_median_ms": 1e3 * float(np.median(reset_passes)),
            "passes": len(passes) - 1,
        }
        for variant, passes, reset_passes in zip(variants, times, resets, strict=True)
    ]


def check_equal(variants: list[Variant], tolerance: float) -> None:
    """Every variant gives the first one's result, within `tolerance` of its largest value (0: bit for
    bit)."""
    expected = None
    for variant in variants:
        variant.reset()
        variant.run()
        result = np.asarray(variant.result())
        if expected is None:
            expected = result
        limit = tolerance * np.abs(expected).max()
        if result.shape != expected.shape or not np.abs(result - expected).max() <= limit:
            raise SystemExit(f"error: {variant.name} gives another result than {variants[0].name}")


def print_table(title: str, rows: list[dict]) -> None:
    best = min(row["median_ms"] for row in rows)
    print(f"\n{title}\n  {'':48}{'min ms':>10}{'median ms':>11}{'reset ms':>10}{'x fastest':>11}")
    for row in rows:
        row["times_fastest"] = row["median_ms"] / best
        print(
            f"  {row['variant']:48}{row['min_ms']:10.4f}{row['median_ms']:11.4f}"
            f"{row['reset_median_ms']:10.4f}{row['times_fastest']:11.1f}"
        )


def article_tree() -> Skeleton:
    parents = (np.arange(BONE_COUNT) - 1) // CHILDREN
    parents[0] = -1
    return Skeleton.from_parents([f"bone {i}" for i in range(BONE_COUNT)], parents)


def human_like(bone_count: int) -> Skeleton:
    """Spine, limbs and fingers, filled up with leaf bones (twists, face, clothes) on random parents."""
    bones: list[tuple[str, str | None]] = [("hips", None)]

    def chain(parent: str, names: list[str]) -> None:
        for name in names:
            bones.append((name, parent))
            parent = name

    chain("hips", ["spine", "chest", "neck", "head"])
    for side in "LR":
        chain("chest", [f"{part}.{side}" for part in ("shoulder", "upper arm", "lower arm", "hand")])
        chain("hips", [f"{part}.{side}" for part in ("thigh", "shin", "foot", "toe")])
    for side in "LR":
        for finger in ("thumb", "index", "middle", "ring", "little"):
            chain(f"hand.{side}", [f"{finger}.{side}.{joint}" for joint in (1, 2, 3)])
    rng = np.random.default_rng(bone_count)
    while len(bones) < bone_count:
        bones.append((f"extra {len(bones)}", bones[int(rng.integers(len(bones)))][0]))
    bones = bones[:bone_count]
    return Skeleton.from_parents([name for name, _ in bones], [parent for _, parent in bones])


def sum_variants(skeleton: Skeleton) -> list[Variant]:
    rng = np.random.default_rng(1)
    # Multiples of 1/256 below 4: all sums are exact, so float32 and Python's float64 must agree to the bit.
    offsets = (rng.integers(-1024, 1024, size=(len(skeleton), 3)) / 256).astype(np.float32)
    offsets_padded = np.zeros((len(skeleton), 4), np.float32)
    offsets_padded[:, :3] = offsets
    rows, rows_padded = np.empty_like(offsets), np.empty_like(offsets_padded)
    parent_list = skeleton.parents.tolist()
    steps = skeleton.level_steps
    roots = skeleton.root_count

    counts = skeleton.children_counts()
    ranges = []
    for above, level, _ in steps:
        # Bones that have children, from the first to the last; in a regular tree there is no gap and one
        # count.
        first, last = np.flatnonzero(counts[above])[[0, -1]] + above.start
        own = counts[first : last + 1]
        ranges.append((slice(first, last + 1), level, int(own[0]) if (own == own[0]).all() else own))

    def by_ranges() -> None:
        rows_padded[:roots] = offsets_padded[:roots]
        for parents, children, repeats in ranges:
            np.add(
                rows_padded[parents].repeat(repeats, axis=0),
                offsets_padded[children],
                out=rows_padded[children],
            )

    def by_parents() -> None:
        rows[:roots] = offsets[:roots]
        for _, level, _ in steps:
            rows[level] = offsets[level] + rows[skeleton.parents[level]]

    initial = offsets.tolist()
    python_rows: list[list[float]] = []

    def reset_python() -> None:
        python_rows[:] = [row[:] for row in initial]

    def python_loop() -> None:
        for bone in range(roots, len(parent_list)):
            parent, own = python_rows[parent_list[bone]], python_rows[bone]
            own[0] += parent[0]
            own[1] += parent[1]
            own[2] += parent[2]

    variants = [
        Variant(
            "core: accumulate_positions, rows of 4",
            lambda: rows_padded.fill(np.nan),
            lambda: pose.accumulate_positions(skeleton, offsets_padded, rows_padded),
            lambda: rows_padded[:, :3],
        ),
        Variant(
            "core: accumulate_positions, rows of 3",
            lambda: rows.fill(np.nan),
            lambda: pose.accumulate_positions(skeleton, offsets, rows),
            lambda: rows,
        ),
        Variant(
            "numpy, level order by children ranges",
            lambda: rows_padded.fill(np.nan),
            by_ranges,
            lambda: rows_padded[:, :3],
        ),
        Variant(
            "numpy, level order by parents, as one writes it",
            lambda: rows.fill(np.nan),
            by_parents,
            lambda: rows,
        ),
        Variant("plain Python loop", reset_python, python_loop, lambda: python_rows),
    ]
    if Vector is not None:
        initial_vectors = [Vector(row) for row in initial]
        vectors: list[Vector] = []

        def reset_vectors() -> None:
            vectors[:] = [vector.copy() for vector in initial_vectors]

        def mathutils_loop() -> None:
            for bone in range(roots, len(parent_list)):
                vectors[bone] += vectors[parent_list[bone]]

        variants.append(Variant("mathutils Vectors", reset_vectors, mathutils_loop, lambda: vectors))
    return variants


def python_transforms(parents: list[int], positions: list, rotations: list, scales: list) -> list:
    """One character bone by bone; a row of 10 numbers per bone."""
    rows: list[tuple[float, ...]] = []
    for parent, (lx, ly, lz), (lw, li, lj, lk), (sx, sy, sz) in zip(parents, positions, rotations, scales, strict=True):
        if parent < 0:
            rows.append((lx, ly, lz, lw, li, lj, lk, sx, sy, sz))
            continue
        px, py, pz, w, x, y, z, qx, qy, qz = rows[parent]
        lx, ly, lz = lx * qx, ly * qy, lz * qz
        tx, ty, tz = 2 * (y * lz - z * ly), 2 * (z * lx - x * lz), 2 * (x * ly - y * lx)
        rows.append(
            (
                px + lx + w * tx + y * tz - z * ty,
                py + ly + w * ty + z * tx - x * tz,
                pz + lz + w * tz + x * ty - y * tx,
                w * lw - x * li - y * lj - z * lk,
                w * li + x * lw + y * lk - z * lj,
                w * lj - x * lk + y * lw + z * li,
                w * lk + x * lj - y * li + z * lw,
                sx * qx,
                sy * qy,
                sz * qz,
            )
        )
    return rows


def mathutils_transforms(parents: list[int], positions: list, rotations: list, scales: list) -> list:
    """One character bone by bone; (position, rotation, scale) per bone."""
    rows: list[tuple] = []
    for parent, position, rotation, scale in zip(parents, positions, rotations, scales, strict=True):
        if parent >= 0:
            above_position, above_rotation, above_scale = rows[parent]
            position = above_position + above_rotation @ (above_scale * position)
            rotation = above_rotation @ rotation
            scale = above_scale * scale
        rows.append((position, rotation, scale))
    return rows


def transform_variants(skeleton: Skeleton, characters: int) -> list[Variant]:
    rng = np.random.default_rng(2)
    shape = (characters, len(skeleton))
    positions = rng.normal(size=(*shape, 3)).astype(np.float32)
    rotations = quaternion.normalize(rng.normal(size=(*shape, 4)).astype(np.float32))
    # Uniform, so that the matrices give the same transforms.
    scales = np.repeat(rng.uniform(0.9, 1.1, size=(*shape, 1)), 3, axis=-1).astype(np.float32)
    matrices = pose.compose_matrices(positions, rotations, scales)
    parents = skeleton.parents.tolist()
    result: dict = {}

    def store(key: str, value: object) -> None:
        result[key] = value

    def points(rows_per_character: list) -> np.ndarray:
        return np.array([[row[:3] for row in rows] for rows in rows_per_character])

    lists = [(p.tolist(), q.tolist(), s.tolist()) for p, q, s in zip(positions, rotations, scales, strict=True)]
    variants = [
        Variant(
            "core: local_to_model (pos., rot., scale)", result.clear,
            lambda: store("core", pose.local_to_model(skeleton, positions, rotations, scales)),
            lambda: result["core"][0],
        ),
        Variant(
            "core: local_to_model (no scale)", result.clear,
            lambda: store("unscaled", pose.local_to_model(skeleton, positions, rotations)),
            lambda: pose.local_to_model(skeleton, positions, rotations, scales)[0],
        ),
        Variant(
            "core: local_to_model_matrices", result.clear,
            lambda: store("matrices", pose.local_to_model_matrices(skeleton, matrices)),
            lambda: result["matrices"][..., :3, 3],
        ),
        Variant(
            "plain Python loop", result.clear,
            lambda: store("python", [python_transforms(parents, *character) for character in lists]),
            lambda: points(result["python"]),
        ),
    ]  # fmt: skip
    if Vector is not None:
        objects = [
            ([Vector(p) for p in ps], [Quaternion(q) for q in qs], [Vector(s) for s in ss]) for ps, qs, ss in lists
        ]
        variants.append(
            Variant(
                "mathutils",
                result.clear,
                lambda: store("mathutils", [mathutils_transforms(parents, *character) for character in objects]),
                lambda: np.array([[tuple(row[0]) for row in rows] for rows in result["mathutils"]]),
            )
        )
    return variants


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Time of poses in level order.")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures to FILE as well")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per table (default 15)")
    options = parser.parse_args(arguments)

    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}")
    if Vector is None:
        print("mathutils cannot be imported here: its rows are left out")
    report: dict = {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "mathutils": Vector is not None,
    }

    tree = article_tree()
    variants = sum_variants(tree)
    check_equal(variants, tolerance=0)
    report["position_sums"] = measure(variants, options.rounds)
    print_table(f"1. Position sums, {BONE_COUNT} bones with {CHILDREN} children each", report["position_sums"])
    best = report["position_sums"][0]
    report["aim_ms"] = AIM_MS
    report["aim_met"] = best["median_ms"] <= AIM_MS
    verdict = "met" if report["aim_met"] else "missed"
    print(f"  aim: {AIM_MS} ms a pass: {verdict} (median {best['median_ms']:.4f}, min {best['min_ms']:.4f})")

    # float32 against float64: a dozen levels of roundings of 6e-8.
    tolerance = 2e-6
    variants = transform_variants(tree, 1)
    check_equal(variants, tolerance)
    report["transforms"] = measure(variants, options.rounds)
    print_table(f"2. Model-space transforms, {BONE_COUNT} bones", report["transforms"])

    report["small_rigs"] = []
    for bone_count in SMALL_RIGS:
        skeleton = human_like(bone_count)
        for characters in (1, BATCH):
            variants = transform_variants(skeleton, characters)
            check_equal(variants, tolerance)
            rows = measure(variants, options.rounds)
            title = f"3. {characters} x {bone_count} bones, {len(skeleton.levels)} levels"
            print_table(title, rows)
            report["small_rigs"].append({"bones": bone_count, "characters": characters, "variants": rows})

    print("\nSmall rigs: times faster than the plain loop / than mathutils (below 1: slower)")
    for case in report["small_rigs"]:
        median = {row["variant"]: row["median_ms"] for row in case["variants"]}
        line = f"  {case['characters']:4} x {case['bones']:3} bones:"
        for variant, label in (
            ("core: local_to_model (pos., rot., scale)", "transforms"),
            ("core: local_to_model_matrices", "matrices"),
        ):
            others = [median["plain Python loop"], median.get("mathutils")]
            ratios = " / ".join("-" if other is None else f"{other / median[variant]:.2f}" for other in others)
            line += f"   {label} {ratios}"
        print(line)

    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
        print(f"\nfigures: {options.json}")


if __name__ == "__main__":
    # Inside Blender the program's own arguments come first.
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
    if Vector is not None:
        # bpy's own end of the process may crash or wait.
        sys.stdout.flush()
        os._exit(0)
