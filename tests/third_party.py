"""The folder of real characters and motion capture beside the repository, and what is said where it is missing."""

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MISSING = "../shared/data is missing: third-party characters, their motion and their file formats"


def data(name: str = "") -> Path:
    """The folder, or a file of it; skips the test where it is missing."""
    if not (DATA / name).exists():
        pytest.skip(MISSING)
    return DATA / name
