"""Index files of deletion vectors: they replace each other, and no deleted row comes back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows, index_row, with_column
from paimon_commits import metadata

import lakebed
from lakebed import Table, paimon
from lakebed.errors import CommitConflictError, LakebedError, SchemaError, UnsupportedError
from shared_data import GoldenTable, each_golden_paimon_table

TABLES = ("append_dv", "append_dv64", "append_dv_bucketed", "pk_dv", "pk_dv64")


def index_files(table: Table) -> list[dict[str, Any]]:
    """The index files of the latest snapshot, with partitions as structs."""
    root = Path(table.location)
    said = paimon.read_snapshot(root / "snapshot" / f"snapshot-{table.snapshot_id}")
    read = paimon.read_index_manifest(root / "manifest" / said["indexManifest"]).to_arrow().to_pylist()
    typed = table.metadata_table("table_indexes").schema.names
    assert "index_type" in typed
    for row in read:
        del row["kind"], row["global_index"]
    return [row for row in read if row["index_type"] == "DELETION_VECTORS"]


def deletes(table: Table) -> set[tuple[Any, ...]]:
    columns = ["referenced_data_file", "content_offset"]
    rows = table.deletes(columns=columns).to_arrow().to_pylist()
    return {tuple(row.values()) for row in rows}


def again(table: Table, rows: list[dict[str, Any]]) -> pa.Table:
    """The same index files under other names."""
    root = Path(table.location)
    types = {
        field.name: field.type for field in table.files(columns=["partition"]).schema.field("partition").type
    }
    new = []
    for row in rows:
        values = paimon.decode_rows(pa.array([row["partition"]], pa.binary()), pa.schema(list(types.items())))
        for folder in (root / "index", root / "bucket-0"):
            if (folder / row["file_name"]).exists():
                shutil.copy(folder / row["file_name"], folder / f"{row['file_name']}-again")
        new.append({**row, "partition": values[0].as_py(), "file_name": f"{row['file_name']}-again"})
    table_of = pa.Table.from_pylist(new)
    kind = pa.struct(list(types.items()))
    partition = pa.array([row["partition"] for row in new], kind)
    return with_column(table_of, "partition", partition)


@each_golden_paimon_table(*TABLES)
def test_index_files_replace_each_other(table: GoldenTable, tmp_path: Path) -> None:
    copy = lakebed.open_table(shutil.copytree(table.path, tmp_path / "t"))
    before, rows = deletes(copy), index_files(copy)
    if not before:
        pytest.skip("no row of its latest snapshot is deleted")
    new, old = again(copy, rows), [row["file_name"] for row in rows]
    there = metadata(copy)
    gone = with_column(new, "file_name", pa.array(["other"] * len(new)))
    for refused, error, words in [
        (lambda: copy.add_deletes(new), CommitConflictError, "not replaced"),
        (lambda: copy.add_deletes(new.slice(0, 0), removed_deletes=old), SchemaError, "come back"),
        (lambda: copy.add_deletes(new, removed_deletes=[*old, "none"]), CommitConflictError, "'?none"),
        (lambda: copy.add_deletes(new.drop_columns(["bucket"]), removed_deletes=old), SchemaError, "bucket"),
        (
            lambda: copy.add_deletes(pa.concat_tables([new, gone]), removed_deletes=old),
            SchemaError,
            "two vectors",
        ),
    ]:
        with pytest.raises(error, match=words):
            refused()
    unknown = pa.array(["HASH"] * len(new))
    hashes = with_column(new, "index_type", unknown)
    with pytest.raises(UnsupportedError, match="deletion vectors"):
        copy.add_deletes(hashes, removed_deletes=old)
    assert metadata(copy) == there
    after = copy.add_deletes(new, removed_deletes=old)
    assert deletes(after) == before
    assert sorted(row["file_name"] for row in index_files(after)) == sorted(new["file_name"].to_pylist())
    others = [name for name in metadata(copy) if name.startswith("manifest/")]
    assert len(others) > len([name for name in there if name.startswith("manifest/")])


def test_a_file_that_is_not_live_gets_no_vector(tmp_path: Path) -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = lakebed.create_table(
        tmp_path / "t", pa.schema([("id", pa.int64())]), "paimon", properties=options
    )
    one = file_rows("bucket-0/a", record_count=3, file_size_in_bytes=100)
    table = table.append_files(one)

    def marking(name: str) -> pa.Table:
        return index_row(f"index-{name}", (name, 1, 22, 1), bucket=pa.array([0], pa.int32()))

    with pytest.raises(SchemaError, match="not a live file") as refused:
        table.add_deletes(marking("b"))
    assert (refused.value.field, refused.value.record) == ("deletions_vectors_ranges", 0)
    marked = table.add_deletes(marking("a"))
    said = paimon.read_snapshot(tmp_path / "t" / "snapshot" / "snapshot-2")
    assert (marked.snapshot_id, said["commitKind"]) == (2, "OVERWRITE")
    # A file and its vector come at once; what goes takes its vector along.
    two = one.set_column(0, "file_path", pa.array(["bucket-0/b"]))
    both = marked.replace_files(["bucket-0/a"], two, deletes=marking("b"))
    found = both.deletes(columns=["referenced_data_file"]).to_arrow()["referenced_data_file"].to_pylist()
    assert [path.rpartition("/")[2] for path in found] == ["b"]
    with pytest.raises(LakebedError):
        both.replace_files(["bucket-0/b"], one, deletes=marking("b"))
    with pytest.raises(TypeError, match="removed_deletes need deletes"):
        both.replace_files(["bucket-0/b"], one, removed_deletes=["index-b"])
