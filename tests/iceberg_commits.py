"""What a commit to an Iceberg table left behind, as tests look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lakebed
from lakebed import iceberg


def live(table: lakebed.Table) -> list[str]:
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    return sorted(path.removeprefix(f"{table.location}/") for path in paths)


def metadata(table: lakebed.Table) -> dict[str, Any]:
    """The latest metadata file there is."""
    folder = Path(table.location, "metadata")
    newest = max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    return iceberg.read_metadata(newest)


def metadata_names(table: lakebed.Table) -> set[str]:
    return {path.name for path in Path(table.location, "metadata").iterdir()}
