"""Iceberg's views behind every door: scans, storages, the command line; the same rows through each."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import as_printed, moved, printed
from local_storage import LocalStorage

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed.cli import views
from lakebed.errors import MissingFileError
from lakebed.view import KEYWORDS

# Iceberg has not the first two, and of the others rows depend on more than the table, also on the time.
NOT_HERE = (
    *("changelogs", "indexes", "diff", "file_history", "metadata_table"),
    *("orphans", "expire_plan", "dangling_deletes"),
)
VIEWS = (*(view for view in views.VIEWS if view not in NOT_HERE), "health")
# One table of each kind; that they are few is for speed.
each_table = each_golden_iceberg_table(
    *("dv_v3", "spec_evolution_v1", "empty_v*", "inline_*", "catalog_*"),
    *("encrypted_v4", "upgrade_v2_v3_v4"),
)


def scan_of(table: GoldenTable, view: str, **keywords: Any) -> Any:
    return getattr(table.open(), view)(**keywords)


@each_table
@pytest.mark.parametrize("view", VIEWS)
def test_every_way_out_gives_the_same_rows(table: GoldenTable, view: str):
    scan = scan_of(table, view)
    rows = scan.to_arrow()
    assert rows.schema.equals(scan.schema)
    assert scan.to_arrow_batch_reader().read_all().equals(rows)
    assert pa.table(scan).equals(rows)
    assert scan.to_arrow().equals(rows)
    assert str(len(rows)) or repr(scan)
    assert "<" in scan._repr_html_()


@each_table
@pytest.mark.parametrize("view", VIEWS)
def test_projections_limits_and_threads_change_nothing_else(table: GoldenTable, view: str):
    rows = scan_of(table, view).to_arrow()
    # The columns that `overlap` takes are the table's.
    for name in rows.column_names if "columns" in KEYWORDS[view] else ():
        assert scan_of(table, view, columns=[name]).to_arrow().equals(rows.select([name])), name
    if "columns" in KEYWORDS[view]:
        backwards = rows.column_names[::-1]
        assert scan_of(table, view, columns=backwards).to_arrow().equals(rows.select(backwards))
    assert scan_of(table, view, limit=2).to_arrow().equals(rows.slice(0, 2))
    assert scan_of(table, view, threads=1).to_arrow().equals(rows)


@each_golden_iceberg_table("part_*", "spec_evolution_*")
def test_filters_on_partitions(table: GoldenTable):
    """Every value of every partition field finds the files that have it, and no others.

    Where a column has the name it is that which is asked for: files of specs without the field may have it.
    """
    columns = {field["name"] for field in table.open().schemas().to_arrow().to_pylist()[-1]["fields"]}
    read = scan_of(table, "files", columns=["file_path", "partition"]).to_arrow()
    partitions = read["partition"].combine_chunks()
    for field, column in zip(partitions.type, partitions.flatten(), strict=True):
        if not (pa.types.is_string(field.type) or pa.types.is_integer(field.type)):
            continue
        for value in {value for value in column.to_pylist() if value is not None}:
            literal = value if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
            name = field.name.replace('"', '""')
            text = f'"{name}" = {literal}'
            kept = (
                scan_of(table, "files", columns=["file_path"], where=text).to_arrow()["file_path"].to_pylist()
            )
            paths = list(zip(read["file_path"].to_pylist(), column.to_pylist(), strict=True))
            unknown = {path for path, found in paths if found is None and field.name in columns}
            found = [path for path, found in paths if found == value]
            assert [path for path in kept if path not in unknown] == found, text


@each_table
def test_schemas_are_known_without_reading_manifests(table: GoldenTable):
    gone = dict.fromkeys(table.relocate, "/nowhere")
    opened = lakebed.open_table(table.path / table.info["metadata_file"], relocate=gone)
    for view in VIEWS:
        assert getattr(opened, view)().schema.equals(scan_of(table, view).schema), view
    if opened.snapshot_id is not None:
        with pytest.raises(MissingFileError, match="/nowhere"):
            opened.files().to_arrow()


class Own(LocalStorage):
    """A storage of the user's own: paths as they are written."""

    def place(self, path: str) -> Path:
        return Path(path.removeprefix("file://"))


@each_table
@pytest.mark.parametrize("library", ["pyarrow", "fsspec", "own"])
def test_storages_bring_the_same(table: GoldenTable, library: str):
    storage: Any = Own()
    if library == "pyarrow":
        storage = pytest.importorskip("pyarrow.fs").LocalFileSystem()
    elif library == "fsspec":
        storage = pytest.importorskip("fsspec").filesystem("file")
    path = table.path / table.info["metadata_file"]
    opened = lakebed.open_table(str(path), storage=storage, relocate=table.relocate, keys=table.keys)
    for view in ("files", "entries", "manifests", "snapshots"):
        assert getattr(opened, view)().to_arrow().equals(scan_of(table, view).to_arrow()), view


@each_table
@pytest.mark.parametrize("view", VIEWS)
def test_the_command_line_prints_the_rows_as_json(table: GoldenTable, view: str, tmp_path: Path):
    keys = ("--keys", f"{table.keys.module(tmp_path)}:unwrap") if table.keys else ()
    file = table.path / table.info["metadata_file"]
    shown = printed(views.command_of(view), file, *moved(table.relocate), *keys)
    if view == "health":
        # Only the command line has them beside the row.
        assert isinstance(shown[0].pop("findings"), list)
    stored = as_printed(scan_of(table, view).to_arrow())
    assert shown == [of_spec(row, table) for row in stored]


def of_spec(row: dict[str, Any], table: GoldenTable) -> dict[str, Any]:
    """A row whose partitions have the fields of its spec alone, by the names in the metadata."""
    if "spec_id" not in row:
        return row
    specs = lakebed.iceberg.read_metadata(table.path / table.info["metadata_file"])["partition-specs"]
    # A field keeps its id where it is renamed.
    fields = [one for spec in sorted(specs, key=itemgetter("spec-id")) for one in spec["fields"]]
    newest = {one["field-id"]: one["name"] for one in fields}
    for column in {"partition", "partition_lower", "partition_upper"} & row.keys():
        values = row[column]
        of = {
            spec["spec-id"]: {name_of(one, newest, values) for one in spec["fields"]} - {""} for spec in specs
        }
        absent = set().union(*of.values()) - of.get(row["spec_id"], set(values))
        row = {**row, column: {name: value for name, value in values.items() if name not in absent}}
    return row


def name_of(field: dict[str, Any], newest: dict[int, str], values: dict[str, Any]) -> str:
    """What a field is called beside those of other specs; nothing where it is void."""
    name = newest[field["field-id"]]
    longer = f"{name}_{field['field-id']}"
    return "" if field["transform"] == "void" else longer if longer in values else name


@each_golden_iceberg_table()
def test_formats_are_detected(table: GoldenTable):
    assert lakebed.open_table(table.path / table.info["metadata_file"]).format == "iceberg"
    assert lakebed.open_table(table.path / table.info["metadata_file"], format="iceberg").format == "iceberg"
