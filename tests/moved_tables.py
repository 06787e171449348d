"""Golden tables as they are copied to another place, and what must be the same there."""

from __future__ import annotations

import re
import shutil
from math import isnan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import lakebed
from iceberg_golden import GoldenTable
from lakebed import Table

# The field of position delete files that names data files.
PATH_FIELD = 2147483546


def position_deletes(paths: list[str]) -> pa.Table:
    """Rows of a position delete file, with the field ids that the specification gives them."""
    ids = [{"PARQUET:field_id": str(number)} for number in (PATH_FIELD, PATH_FIELD - 1)]
    path, pos = pa.field("file_path", pa.utf8(), False, ids[0]), pa.field("pos", pa.int64(), False, ids[1])
    return pa.table([sorted(paths), [0] * len(paths)], schema=pa.schema([path, pos]))


def with_deletes(table: GoldenTable, folder: Path) -> Table:
    """A copy of a golden table in a folder, with position delete files where it came without them."""
    shutil.copytree(table.path, folder, ignore=shutil.ignore_patterns("expected"))
    relocate = {written: str(folder) for written in table.relocate}
    file = folder / table.info["metadata_file"]
    opened = lakebed.open_table(file, relocate=relocate)
    found = opened.reachable(columns=["file_path", "kind"]).to_arrow().to_pylist()
    data = [row["file_path"] for row in found if row["kind"] == "data"]
    for row in found:
        prefix = next((prefix for prefix in relocate if row["file_path"].startswith(prefix)), "")
        there = Path(str(folder) + row["file_path"].removeprefix(prefix))
        if row["kind"] == "position deletes" and not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(position_deletes(data), there)
    return opened


def copied(files: lakebed.Scan) -> None:
    """Copies metadata to where it is to be; data files of golden tables are not there."""
    for file in files.to_arrow().to_pylist():
        if Path(file["source"]).exists():
            Path(file["target"]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file["source"], file["target"])


def said(value: Any, old: str = "", new: str = "") -> Any:
    """A value without what differs where paths have another length, with other prefixes in texts, and a text
    for NaN, which is not equal to itself.
    """
    if isinstance(value, dict):
        other = {"length", "size", "partitions_size"}
        if value.get("content") == 1:
            other |= {"file_size_in_bytes", "lower_bounds", "upper_bounds"}
        return {said(key, old, new): said(one, old, new) for key, one in value.items() if key not in other}
    if isinstance(value, list | tuple):
        return [said(one, old, new) for one in value]
    if isinstance(value, float) and isnan(value):
        return "NaN"
    if isinstance(value, str) and old:
        return re.sub(rf"^(file://)?{re.escape(old)}(?=/|$)", lambda found: (found[1] or "") + new, value)
    return value
