"""Fixtures for the data rooms: the folder with the raw files, and an empty one."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def raw_data():
    """The folder that holds the raw files, for tests marked `data`."""
    folder = os.environ.get("CLUSTCAL_DATA_DIR")
    if not folder:
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to test on")
    return Path(folder)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """An empty data folder that the package uses."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(folder))
    return folder
