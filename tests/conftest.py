"""Fixtures for all tests, with Blender and without."""

from pathlib import Path

import pytest

import third_party


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of third-party characters beside the repository; where it is missing, `rigs.load` skips the test."""
    return third_party.DATA
