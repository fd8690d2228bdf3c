"""Small copies of contact sheets for the gallery: `python demo/gallery.py FOLDER`, in an environment with bpy.

FOLDER is what `dev.py example all --out FOLDER` has written; docs/gallery/NAME.png are the sheets at a third of their
size, or half, so that they are about 600 pixels wide.
"""

import os
import sys
from pathlib import Path

import numpy as np

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from demo import contact_sheet  # noqa: E402
from demo.examples import EXAMPLES  # noqa: E402

WIDTH = 600  # pixels, at least
SHADES = 63  # of each colour: fewer pack better


def shrink(source: Path, target: Path) -> None:
    """Write a picture at a whole fraction of its size, each pixel the mean of those it stands for."""
    pixels = contact_sheet.load_png(source)
    factor = max(pixels.shape[1] // WIDTH, 1)
    height, width = (side // factor for side in pixels.shape[:2])
    blocks = pixels[: height * factor, : width * factor].reshape(height, factor, width, factor, 4)
    target.parent.mkdir(parents=True, exist_ok=True)
    contact_sheet.save_png(np.round(blocks.mean(axis=(1, 3)) * SHADES) / SHADES, target)


if __name__ == "__main__":
    for name in sorted(EXAMPLES):
        folder, small = Path(sys.argv[1], name), REPO / "docs" / "gallery" / f"{name}.png"
        for sheet in (folder / "contact-sheet.png", folder / f"{name}.png"):
            if sheet.is_file():
                shrink(sheet, small)
                print(f"{small.relative_to(REPO)}  {small.stat().st_size / 1024:.0f} KiB")
    sys.stdout.flush()
    os._exit(0)
