"""Entries and files as objects of PyIceberg's classes, whose records are lists since 0.10."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lakebed.pyiceberg.columns import RECORDS_ARE_LISTS, ManifestColumns
from lakebed.pyiceberg.installing import BELOW

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASSES = import_module(f"lakebed.pyiceberg.{'entries' if RECORDS_ARE_LISTS else 'named'}")
data_file: Callable[[ManifestColumns, int], Any] = _CLASSES.data_file
"""The file of a row."""
entries: Callable[[ManifestColumns, Any], list[Any]] = _CLASSES.entries
"""The entries of rows."""


def columns_of(data: bytes, manifest: Any) -> ManifestColumns | None:
    """The entries of a manifest as columns, None for PyIceberg's own code to read it; counts either."""
    found: ManifestColumns | None = BELOW.answered("manifests", lambda: ManifestColumns(data, manifest))
    return found
