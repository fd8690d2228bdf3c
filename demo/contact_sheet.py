"""One picture of many frames: stills of the scene's camera, side by side, each with its frame number.

The frames are only shown, never simulated: what is on the sheet is what is keyed, baked or cached.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import bpy
import numpy as np

from . import DemoError

_PROBE_SECONDS = 60.0
_GAP = 4  # pixels between tiles
_BACKGROUND = 0.10  # grey between tiles, of 1
_CYCLES_SAMPLES = 6

# A 3 x 5 pixel font: five rows a character, three bits a row, left bit first.
_FONT = {
    " ": "00000",
    ".": "00002",
    ",": "00024",
    ":": "02020",
    "-": "00700",
    "/": "11244",
    "%": "51245",
    "(": "24442",
    ")": "21112",
    "=": "07070",
    "+": "02720",
    "_": "00007",
    "'": "22000",
    "A": "25755",
    "B": "65656",
    "C": "34443",
    "D": "65556",
    "E": "74647",
    "F": "74644",
    "G": "34553",
    "H": "55755",
    "I": "72227",
    "J": "11152",
    "K": "55655",
    "L": "44447",
    "M": "57755",
    "N": "65555",
    "O": "25552",
    "P": "65644",
    "Q": "25573",
    "R": "65655",
    "S": "34216",
    "T": "72222",
    "U": "55557",
    "V": "55552",
    "W": "55775",
    "X": "55255",
    "Y": "55222",
    "Z": "71247",
} | dict(
    zip(
        "0123456789",
        ("75557", "26227", "71747", "71717", "55711", "74717", "74757", "71222", "75757", "75717"),
        strict=True,
    )
)


def render_contact_sheet(
    scene: bpy.types.Scene,
    frames: Sequence[int],
    path: str | Path,
    *,
    columns: int = 4,
    tile: tuple[int, int] = (480, 360),
    caption: str = "",
    engine: str | None = None,
) -> Path:
    """Renders frames of the scene's camera and writes them as one PNG, in rows from the upper left.

    Args:
        scene: the current scene, with a camera; its frame and every setting is as it was afterwards.
        frames: which frames, at least one.
        path: of the PNG to write.
        columns: tiles in a row.
        tile: width and height of one still [pixels].
        caption: a line above the tiles (capital letters, digits and a few signs; others stay blank).
        engine: render engine; default: `fastest_engine()`.

    Returns:
        The path.

    Raises:
        DemoError: no camera, no frames, active rigid bodies without a baked cache (a final render would show
            them in wrong places), or the picture cannot be rendered or written.
    """
    path = Path(path)
    if scene.camera is None:
        raise DemoError(f"scene {scene.name!r} has no camera to render a contact sheet with")
    if not frames or columns < 1 or min(tile) < 16:
        raise DemoError("a contact sheet needs at least one frame, one column and tiles of 16 pixels")
    world = scene.rigidbody_world
    if world is not None and world.enabled and not world.point_cache.is_baked and _has_active_body(world):
        raise DemoError("bake the rigid body cache first: a final render reads active bodies from a baked cache only")
    path.parent.mkdir(parents=True, exist_ok=True)
    tiles = _render_tiles(scene, frames, tile, engine or fastest_engine())
    for frame, pixels in zip(frames, tiles, strict=True):
        draw_text(pixels, f"{frame}", 8, 8, scale=max(tile[1] // 120, 1))
    save_png(compose(tiles, columns, caption), path)
    return path


@cache
def fastest_engine() -> str:
    """Workbench where it can render, else Cycles.

    Without OpenGL, Workbench does not fail but aborts the whole process: so another process tries it first.
    """
    with tempfile.TemporaryDirectory() as folder:
        still = Path(folder, "probe.png")
        code = (
            "import bpy, os\n"
            "scene = bpy.context.scene\n"
            "camera = bpy.data.objects.new('c', bpy.data.cameras.new('c'))\n"
            "scene.collection.objects.link(camera)\n"
            "scene.camera = camera\n"
            "scene.render.engine = 'BLENDER_WORKBENCH'\n"
            "scene.render.resolution_x = scene.render.resolution_y = 16\n"
            f"scene.render.filepath = {str(still)!r}\n"
            "bpy.ops.render.render(write_still=True)\n"
            "os._exit(0)\n"
        )
        if bpy.app.binary_path:
            command = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr", code]
        else:
            command = [sys.executable, "-c", code]
        try:
            subprocess.run(command, timeout=_PROBE_SECONDS, capture_output=True, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return "CYCLES"
        return "BLENDER_WORKBENCH" if still.exists() else "CYCLES"


def evenly_spaced_frames(start: int, end: int, count: int, include: Sequence[int] = ()) -> list[int]:
    """`count` frames from start to end; each of `include` takes the place of the nearest inner one."""
    frames = np.unique(np.round(np.linspace(start, end, count)).astype(int))
    for frame in include:
        if start < frame < end and len(frames) > 2:
            frames[1 + int(np.argmin(np.abs(frames[1:-1] - frame)))] = frame
    return np.unique(frames).tolist()


def compose(tiles: Sequence[np.ndarray], columns: int, caption: str = "") -> np.ndarray:
    """Tiles in rows on a dark ground.

    Args:
        tiles: pictures of one size, shape [height, width, 4], values 0..1, first row on top.
        columns: tiles in a row.
        caption: drawn above them when it is not empty.

    Returns:
        The sheet, shape [height, width, 4].
    """
    height, width = tiles[0].shape[:2]
    columns = min(columns, len(tiles))
    rows = -(-len(tiles) // columns)
    scale = max(height // 120, 1)
    top = _GAP + (5 * scale + 4 * _GAP if caption else 0)
    sheet = np.full((top + rows * (height + _GAP), _GAP + columns * (width + _GAP), 4), _BACKGROUND, dtype=np.float32)
    sheet[..., 3] = 1.0
    for i, pixels in enumerate(tiles):
        y, x = top + (i // columns) * (height + _GAP), _GAP + (i % columns) * (width + _GAP)
        sheet[y : y + height, x : x + width] = pixels
    if caption:
        draw_text(sheet, caption, 3 * _GAP, 3 * _GAP, scale=scale, plate=False)
    return sheet


def draw_text(pixels: np.ndarray, text: str, x: int, y: int, *, scale: int = 2, plate: bool = True) -> None:
    """Writes light text on a dark plate into a picture, in a 3 x 5 pixel font; cut off at the edges.

    Args:
        pixels: shape [height, width, 4], first row on top, changed in place.
        x, y: upper left corner [pixels].
        scale: pixels of the picture to one of the font.
    """
    glyphs = np.zeros((5, 4 * len(text)), dtype=bool)
    for i, character in enumerate(text.upper()):
        for row, bits in enumerate(_FONT.get(character, _FONT[" "])):
            glyphs[row, 4 * i : 4 * i + 3] = [int(bits) & bit for bit in (4, 2, 1)]
    mask = np.kron(glyphs[:, :-1], np.ones((scale, scale), dtype=bool))
    if plate:
        target = pixels[max(y - scale, 0) : y + mask.shape[0] + scale, max(x - scale, 0) : x + mask.shape[1] + scale]
        target[..., :3] *= 0.25
    target = pixels[y : y + mask.shape[0], x : x + mask.shape[1]]
    target[mask[: target.shape[0], : target.shape[1]]] = (0.96, 0.96, 0.96, 1.0)


def _has_active_body(world: bpy.types.RigidBodyWorld) -> bool:
    """Whether a body that the simulation moves would be seen."""
    return world.collection is not None and any(
        obj.rigid_body is not None and obj.rigid_body.type == "ACTIVE" and not obj.hide_render
        for obj in world.collection.objects
    )


def render_clip(scene: bpy.types.Scene, path: Path, size: tuple[int, int] = (640, 480)) -> Path:
    """Renders the scene's range as an MP4 film (H.264), which Blender's own ffmpeg writes.

    Raises:
        DemoError: this Blender has no ffmpeg, or wrote nothing.
    """
    if not bpy.app.build_options.codec_ffmpeg:
        raise DemoError("this Blender was built without ffmpeg")
    with _looking(scene, size, fastest_engine()), _silent_output():
        image, film = scene.render.image_settings, scene.render.ffmpeg
        if hasattr(image, "media_type"):
            image.media_type = "VIDEO"
        image.file_format = "FFMPEG"
        film.format, film.codec, film.constant_rate_factor = "MPEG4", "H264", "MEDIUM"
        scene.render.use_file_extension, scene.render.filepath = False, str(path)
        bpy.ops.render.render(animation=True, scene=scene.name)
    if not path.exists():
        raise DemoError(f"{path} could not be written")
    return path


@contextlib.contextmanager
def _looking(scene: bpy.types.Scene, tile: tuple[int, int], engine: str) -> Iterator[None]:
    """Settings of stills, and everything as it was afterwards."""
    render = scene.render
    settings = {
        render: {
            "engine": engine,
            "resolution_x": tile[0],
            "resolution_y": tile[1],
            "resolution_percentage": 100,
            "pixel_aspect_x": 1.0,
            "pixel_aspect_y": 1.0,
            "use_border": False,
            "use_stamp": False,
            "film_transparent": False,
            "use_persistent_data": False,
            "use_file_extension": True,
            "use_motion_blur": False,
            "use_compositing": False,
            "use_sequencer": False,
            "filepath": render.filepath,
        },
        render.image_settings: {"file_format": "PNG", "color_mode": "RGBA", "color_depth": "8"},
    }
    if hasattr(render.image_settings, "media_type"):
        settings[render.image_settings] = {"media_type": "IMAGE", **settings[render.image_settings]}
    if engine == "CYCLES":
        settings[scene.cycles] = {
            "device": "CPU",
            "samples": _CYCLES_SAMPLES,
            "use_adaptive_sampling": False,
            "use_denoising": False,
            "max_bounces": 1,
        }
    before = {owner: {name: getattr(owner, name) for name in values} for owner, values in settings.items()}
    current, subframe = scene.frame_current, scene.frame_subframe
    try:
        for owner, values in settings.items():
            for name, value in values.items():
                setattr(owner, name, value)
        yield
    finally:
        for owner, values in before.items():
            for name, value in values.items():
                setattr(owner, name, value)
        scene.frame_set(current, subframe=subframe)


def _render_tiles(
    scene: bpy.types.Scene, frames: Sequence[int], tile: tuple[int, int], engine: str
) -> list[np.ndarray]:
    tiles = []
    with _looking(scene, tile, engine), tempfile.TemporaryDirectory() as folder:
        for i, frame in enumerate(frames):
            still = Path(folder, f"{i:04d}.png")
            scene.frame_set(frame)
            scene.render.filepath = str(still)
            with _silent_output():
                bpy.ops.render.render(write_still=True, scene=scene.name)
            if not still.exists():
                raise DemoError(f"frame {frame} could not be rendered with {engine}")
            tiles.append(load_png(still))
    return tiles


@contextlib.contextmanager
def _silent_output() -> Iterator[None]:
    """Blender writes a line a still to the process's own output, past `sys.stdout`."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(stream, os.dup(stream)) for stream in (1, 2)]
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream, _ in kept:
            os.dup2(sink, stream)
        yield
    finally:
        for stream, copy in kept:
            os.dup2(copy, stream)
            os.close(copy)
        os.close(sink)


def load_png(path: Path) -> np.ndarray:
    """A picture [height, width, 4] with values 0..1, first row on top."""
    image = bpy.data.images.load(str(path), check_existing=False)
    try:
        width, height = image.size
        pixels = np.empty(width * height * 4, dtype=np.float32)
        image.pixels.foreach_get(pixels)
    finally:
        bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[::-1].copy()


def save_png(pixels: np.ndarray, path: Path) -> None:
    """Write a picture [height, width, 4] with values 0..1, first row on top.

    Raises:
        DemoError: it could not be written.
    """
    height, width = pixels.shape[:2]
    image = bpy.data.images.new("contact sheet", width, height, alpha=True)
    try:
        image.pixels.foreach_set(np.ascontiguousarray(pixels[::-1], dtype=np.float32).ravel())
        image.filepath_raw = str(path)
        image.file_format = "PNG"
        image.save()
    except RuntimeError as error:
        raise DemoError(f"{path} could not be written: {str(error).splitlines()[0]}") from error
    finally:
        bpy.data.images.remove(image)
