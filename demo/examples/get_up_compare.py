"""Our get-ups beside recorded ones: heights of the mass center, of both hands and of both feet over time.

Writes get_up_compare.svg. The recordings are two clips of ../shared/data/reference (motion capture in DeepMimic's
format); without that folder there is nothing to compare with. All as of 1.8 m, by Froude's number; second 0 is where
the mass center has come half-way up.
"""

import json
import sys
from pathlib import Path

import numpy as np

from demo import DemoError

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests"))
CLIPS = REPO.parent / "shared" / "data" / "reference" / "motions"
CHARACTER = "mh_mixamo.blend"
CASES = {"Lying on the front": ("getup_facedown", "back"), "Lying on the back": ("getup_faceup", "front")}
CURVES = ("mass center", "hands", "feet")
COLORS = {"recorded": "#888888", "planned": "#2a7ab8", "simulated": "#c8501e"}
SPAN = (-3.0, 2.5)  # [s] shown
WIDE, HIGH, MARGIN = 420, 150, 46  # of a chart

# The clips' skeleton: parent, offset from it [m] (ahead, up, to the right), mass [kg] and its place from the joint.
JOINTS = (
    (-1, (0, 0, 0), 6, (0, 0.07, 0)),
    (0, (0, 0.236151, 0), 14, (0, 0.12, 0)),
    (1, (0, 0.223894, 0), 2, (0, 0.175, 0)),
    (0, (0, 0, 0.084887), 4.5, (0, -0.21, 0)),
    (3, (0, -0.421546, 0), 3, (0, -0.2, 0)),
    (4, (0, -0.40987, 0), 1, (0.045, -0.0225, 0)),
    (1, (-0.02405, 0.2435, 0.18311), 1.5, (0, -0.14, 0)),
    (6, (0, -0.274788, 0), 1, (0, -0.12, 0)),
    (7, (0, -0.258947, 0), 0.5, (0, 0, 0)),
    (0, (0, 0, -0.084887), 4.5, (0, -0.21, 0)),
    (9, (0, -0.421546, 0), 3, (0, -0.2, 0)),
    (10, (0, -0.40987, 0), 1, (0.045, -0.0225, 0)),
    (1, (-0.02405, 0.2435, -0.18311), 1.5, (0, -0.14, 0)),
    (12, (0, -0.274788, 0), 1, (0, -0.12, 0)),
    (13, (0, -0.258947, 0), 0.5, (0, 0, 0)),
)
TURNS = (4, 8, 12, 16, 20, 21, 25, 29, None, 30, 34, 35, 39, 43, None)  # first number of each joint's rotation
HINGES = (20, 29, 34, 43)  # knees and elbows: one angle about z
WRISTS, ANKLES = (8, 14), (5, 11)
RECORDED_HEIGHT = 1.62  # [m]


def main(out: Path) -> None:
    """Both get-ups, as recorded, planned and simulated, in one picture."""
    if not CLIPS.is_dir():
        raise DemoError(f"there are no recorded get-ups in {CLIPS}")
    charts = {title: {"recorded": recorded(clip), **ours(side)} for title, (clip, side) in CASES.items()}
    for title, found in charts.items():
        for name, (times, heights) in found.items():
            up = heights["mass center"]
            print(f"{title}, {name}: {rise(times, up[:, 0]):.2f} s from a quarter to nine tenths of the way up")
    path = out / "get_up_compare.svg"
    path.write_text(picture(charts), encoding="utf-8")
    print(path)


# ---- motions ------------------------------------------------------------------------------------------------------
def recorded(clip: str) -> tuple[np.ndarray, dict]:
    """Times [f] and heights [f, k] by curve of a recorded clip, in shares of the height."""
    rows = [row[:44] for row in json.loads((CLIPS / f"humanoid3d_{clip}.txt").read_text())["Frames"]]
    rows = np.array(rows)
    places, turns = [], []
    for j, (parent, offset, _mass, _at) in enumerate(JOINTS):
        local = _turns(rows, TURNS[j])
        if parent < 0:
            places.append(rows[:, 1:4])
            turns.append(local)
        else:
            places.append(places[parent] + turns[parent] @ np.array(offset))
            turns.append(turns[parent] @ local)
    masses = np.array([mass for _parent, _offset, mass, _at in JOINTS])
    parts = [place + turn @ np.array(joint[3]) for place, turn, joint in zip(places, turns, JOINTS, strict=True)]
    mass = np.einsum("j,jf->f", masses / masses.sum(), np.array(parts)[..., 1])
    heights = np.array(places)[..., 1].T / RECORDED_HEIGHT
    times = np.concatenate([[0.0], np.cumsum(rows[:-1, 0])]) * np.sqrt(1.8 / RECORDED_HEIGHT)
    return _aligned(times, mass[:, None] / RECORDED_HEIGHT, heights[:, WRISTS], heights[:, ANKLES])


def _turns(rows: np.ndarray, first: int | None) -> np.ndarray:
    """A joint's rotations [f, 3, 3]."""
    if first is None:
        return np.tile(np.eye(3), (len(rows), 1, 1))
    if first in HINGES:
        half = 0.5 * rows[:, first]
        w, x, y, z = np.cos(half), 0.0 * half, 0.0 * half, np.sin(half)
    else:
        w, x, y, z = (rows[:, first : first + 4] / np.linalg.norm(rows[:, first : first + 4], axis=1)[:, None]).T
    columns = [
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return np.array(columns).transpose(2, 0, 1)


def ours(side: str) -> dict:
    """The same of our get-up after a push from a side, as planned and as simulated."""
    import falling
    import motion_figures
    import rigs
    from active_ragdoll.core.blender.rig.armature import anatomy_of, array_of, bind_joints
    from active_ragdoll.core.blender.run import records
    from active_ragdoll.core.blender.stack import pose_stack
    from active_ragdoll.core.motion.biped import Biped
    from active_ragdoll.core.pose import compose_matrices

    made = falling.fall(CHARACTER, side, *falling.STUNNED, 1.2, 300, get_up="AUTOMATIC", rest_time=0.5)
    obj, frames = made.obj, sorted(made.shown)
    way = next(p for p in records.record_of(obj, frames[-1]).passages if p.planned is not None)
    stack, world = pose_stack.of(obj), array_of(obj.matrix_world)
    own = Biped(stack.rig, anatomy_of(obj), *bind_joints(obj), world)
    span = range(int(way.frame) + 1, min(int(way.frame) + way.planned.frame_count, frames[-1]))
    poses = [way.pose(stack.rig, stack.rig.bind, world, frame) for frame in span]
    planned = np.array([compose_matrices(*pose.model(stack.rig.skeleton)) for pose in poses])
    shown = np.linalg.solve(world, np.array([made.shown[frame] for frame in span]))[:, stack.rig.skeleton.to_level]
    floor = obj.active_ragdoll.scene.objects["Floor"].location.z + 0.5 - world[2, 3]  # under the object
    result = {}
    for name, matrices in (("planned", planned), ("simulated", shown)):
        places = own.placed(matrices)[1]
        mass = motion_figures.center_of_mass(own, places)
        heights = (places[..., 2] - floor) / own.height
        ends = own.limbs[:, 2]
        times = np.arange(len(span)) / rigs.FPS * np.sqrt(1.8 / made.height)
        result[name] = _aligned(times, (mass[:, 2:] - floor) / own.height, heights[:, ends[2:]], heights[:, ends[:2]])
    return result


def _aligned(times, mass, hands, feet) -> tuple[np.ndarray, dict]:
    """Second 0 where the mass center has come half-way up."""
    heights = dict(zip(CURVES, (mass, hands, feet), strict=True))
    return times - _passes(times, mass[:, 0], 0.5), heights


def _passes(times, up, share: float) -> float:
    """When a height has last come to a share of the way from its lowest to its last."""
    aim = up.min() + share * (up[-1] - up.min())
    i = int(np.flatnonzero(up < aim)[-1])
    return float(np.interp(aim, up[i : i + 2], times[i : i + 2]))


def rise(times, up) -> float:
    """Seconds from a quarter to nine tenths of the way up."""
    return _passes(times, up, 0.9) - _passes(times, up, 0.25)


# ---- picture --------------------------------------------------------------------------------------------------------
def picture(charts: dict) -> str:
    """All curves as an SVG: a column for each way of lying, a row for each curve."""
    wide, high = len(charts) * (WIDE + MARGIN) + MARGIN, len(CURVES) * (HIGH + MARGIN) + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
    ]
    for i, (name, color) in enumerate(COLORS.items()):
        lines.append(f'<text x="{MARGIN + 90 * i}" y="16" fill="{color}" font-weight="bold">{name}</text>')
    for column, (title, found) in enumerate(charts.items()):
        for row, curve in enumerate(CURVES):
            left, top = MARGIN + column * (WIDE + MARGIN), MARGIN + row * (HIGH + MARGIN)
            lines += _chart(left, top, f"{title}: {curve}", {name: (t, h[curve]) for name, (t, h) in found.items()})
    return "\n".join([*lines, "</svg>"]) + "\n"


def _chart(left: int, top: int, title: str, curves: dict) -> list[str]:
    most = max(0.1, max(float(heights.max()) for _times, heights in curves.values()))
    most = np.ceil(most * 10.0) / 10.0
    lines = [
        f'<rect x="{left}" y="{top}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#ccc"/>',
        f'<text x="{left}" y="{top - 6}">{title}, share of the height</text>',
        f'<text x="{left - 4}" y="{top + 10}" text-anchor="end">{most:.1f}</text>',
        f'<text x="{left - 4}" y="{top + HIGH}" text-anchor="end">0</text>',
    ]
    for second in range(int(np.ceil(SPAN[0])), int(SPAN[1]) + 1):
        x = left + WIDE * (second - SPAN[0]) / (SPAN[1] - SPAN[0])
        lines.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{top}" y2="{top + HIGH}" stroke="#eee"/>')
        lines.append(f'<text x="{x:.0f}" y="{top + HIGH + 14}" text-anchor="middle">{second} s</text>')
    for name, (times, heights) in curves.items():
        inside = (times >= SPAN[0]) & (times <= SPAN[1])
        for values in heights[inside].T:
            x = left + WIDE * (times[inside] - SPAN[0]) / (SPAN[1] - SPAN[0])
            y = top + HIGH * (1.0 - np.clip(values, 0.0, most) / most)
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
            lines.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[name]}" stroke-width="1.6"/>')
    return lines
