"""Fixtures for all tests, with Blender and without."""

from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real characters and motion capture beside the repository; skips where it is missing."""
    path = REPO.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the folder ../shared/data with third-party characters is missing")
    return path
