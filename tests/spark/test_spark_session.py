"""What PySpark does once a session and once a task."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from lakebed.spark.private_api import spare_archives


def test_archives_are_not_read_again_and_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "modules.zip"
    with ZipFile(archive, "w") as made:
        made.writestr("of_an_archive_first.py", "value = 1")
        made.writestr("of_an_archive_second.py", "value = 2")
    monkeypatch.syspath_prepend(archive)
    assert importlib.import_module("of_an_archive_first").value == 1

    spare_archives()

    assert not [path for path, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]
    importlib.invalidate_caches()
    assert importlib.import_module("of_an_archive_second").value == 2
