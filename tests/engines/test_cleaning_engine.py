"""The engines as judges of what is removed: file by file, on copies, and they read what is left."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pytest
import small_tables
from covering import each_covering_paimon_table
from java_engine import EngineError
from paimon_rewrite import codec, rewritten
from test_cleaning_expiries import overwritten
from test_cleaning_repair_deletes import with_two_vectors
from test_iceberg_exchange import FOREIGN, some

import lakebed
from lakebed import paimon

if TYPE_CHECKING:
    from java_engine import JavaEngine

    from shared_data import GoldenTable

pytestmark = [pytest.mark.jvm, pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")]

HINTS = ("EARLIEST", "LATEST")


def lying(folder: Path) -> set[str]:
    """The files of a folder, by their names below it, without those that say what is first and last."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.name not in HINTS)
    return {str(file.relative_to(folder)) for file in files}


def newest(table: lakebed.Table) -> Path:
    """The newest metadata file of an Iceberg table."""
    files = Path(table.location, "metadata").glob("v*.metadata.json")
    return max(files, key=lambda file: int(file.name[1:].partition(".")[0]))


@each_covering_paimon_table()
@pytest.mark.parametrize("retain", [1, 3])
def test_paimon_is_left_with_the_engines_files(
    table: GoldenTable, retain: int, tmp_path: Path, paimon_java: JavaEngine
):
    theirs, ours = (Path(shutil.copytree(table.path, tmp_path / name / table.path.name)) for name in "ab")
    opened = lakebed.open_table(ours)
    if int(opened.properties.get("snapshot.num-retained.max", retain)) < retain:
        pytest.skip("both refuse it")
    reached = opened.reachable().to_arrow().to_pylist()
    of_branches = {
        str(Path(row["file_path"]).relative_to(ours))
        for row in reached
        if " of branch " in row["last_reached_by"] and Path(row["file_path"]).is_relative_to(ours)
    }
    options = {"snapshot.time-retained": "0 ms", "snapshot.num-retained.min": str(retain)}
    paimon_java.ask("expire", table=theirs, options=options)
    after, files = opened.expire_snapshots(timedelta(0), retain, remove_files=True, log=tmp_path / "log")
    assert set(files.to_arrow()["outcome"].to_pylist()) <= {"removed"}
    # The engine does not look at branches that have the same files.
    assert lying(ours) - of_branches == lying(theirs) - of_branches
    read = [paimon_java.ask("read", table=one)["snapshots"] for one in (ours, theirs)]
    ids = [[int(one["id"]) for one in snapshots] for snapshots in read]
    assert ids[0] == ids[1]
    assert {*after.snapshots().to_arrow()["snapshot_id"].to_pylist()} <= {*ids[0]}


@pytest.mark.parametrize("retain", [1, 3])
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_iceberg_is_left_without_the_engines_files(
    retain: int, format_version: int, tmp_path: Path, iceberg_java: JavaEngine
):
    """And PyIceberg reads each snapshot and tag that is left."""
    from pyiceberg.table import StaticTable

    table = small_tables.iceberg(tmp_path / "t", **{"format-version": str(format_version)})
    for number in range(6):
        table = overwritten(table, f"data-{number}")
        if number == 1:
            table.create_tag("kept")
    table = table.refresh()
    branch = table.create_branch("side", at="kept")
    overwritten(branch, "data-side")
    table = table.refresh()
    now = datetime.now(timezone.utc)
    answer = iceberg_java.ask(
        "expire",
        metadata=newest(table),
        relocate={},
        older_than=int(now.timestamp() * 1000),
        retain_last=retain,
    )
    assert answer["files"]
    before = lying(tmp_path / "t")
    after, files = table.expire_snapshots(now, retain, remove_files=True, log=tmp_path / "log")
    gone = {str(tmp_path / "t" / name) for name in before - lying(tmp_path / "t")}
    assert gone == {path.removeprefix("file:") for path in answer["files"]}
    assert gone == set(files.to_arrow()["file_path"].to_pylist())
    static = StaticTable.from_metadata(str(newest(after)))
    refs = static.metadata.refs
    assert set(refs) == {"main", "kept", "side"}
    for snapshot in static.metadata.snapshots:
        for task in static.scan(snapshot_id=snapshot.snapshot_id).plan_files():
            assert Path(task.file.file_path).is_file()


def _repaired(table: lakebed.Table, log: Path, *kinds: str) -> lakebed.Table:
    """A table after all repairs of some kinds."""
    done = lakebed.apply(table.repair_plan(kinds).to_arrow(), table, log=log)
    assert set(done.counts) == {"repaired"}
    return done.table


@pytest.mark.parametrize("format_version", [1, 2, 3])
@pytest.mark.parametrize("kind", ["hints", "main", "data_files", "manifests", "duplicates", "rollback"])
def test_iceberg_reads_what_was_repaired(
    kind: str, format_version: int, tmp_path: Path, iceberg_java: JavaEngine
):
    """And commits to it."""

    def ids() -> list[int]:
        return sorted(map(int, iceberg_java.ask("rows", table=tmp_path / "t", column="id")))

    names = (f"{number}.parquet" for number in range(3))
    table = small_tables.iceberg(tmp_path / "t", *names, **{"format-version": str(format_version)})
    assert ids() == [1, 1, 1, 2, 2, 2]
    metadata = tmp_path / "t" / "metadata"
    if kind == "hints":
        (metadata / "v1.metadata.json").unlink()
        (metadata / "version-hint.text").write_text("1")
    elif kind == "main":
        document = json.loads(newest(table).read_text())
        document["refs"]["main"]["snapshot-id"] = document["snapshots"][0]["snapshot-id"]
        newest(table).write_text(json.dumps(document))
        table = lakebed.open_table(tmp_path / "t")
    elif kind == "data_files":
        (tmp_path / "t" / "1.parquet").unlink()
    elif kind == "manifests":
        Path(table.manifests(columns=["path"]).to_arrow()["path"][-1].as_py()).unlink()
    elif kind == "duplicates":
        _list_twice(metadata / f"snap-{table.snapshot_id}*.avro")
        assert ids() == [1, 1, 1, 1, 2, 2, 2, 2]
    else:
        Path(table.manifests(columns=["path"]).to_arrow()["path"][0].as_py()).write_bytes(b"Obj")
    if kind != "duplicates":
        with pytest.raises(EngineError):
            ids()
    opened = lakebed.open_table(newest(table)) if kind == "hints" else table
    _repaired(opened, tmp_path / "log", kind)
    left = [1, 1, 1, 2, 2, 2] if kind in ("hints", "main", "duplicates") else [1, 1, 2, 2]
    assert ids() == left
    small_tables.added(lakebed.open_table(tmp_path / "t"), small_tables.data(tmp_path / "t", "more.parquet"))
    assert ids() == sorted([*left, 1, 2])
    assert lakebed.open_table(tmp_path / "t").repair_plan([kind]).to_arrow().num_rows == 0


def _list_twice(pattern: Path) -> None:
    """Lists a copy of the first manifest of an Iceberg snapshot: of the same path twice Java reads one."""
    (file,) = pattern.parent.glob(pattern.name)
    with file.open("rb") as content:
        reader = fastavro.reader(content)
        records: list[Any] = list(reader)
    first = records[0]["manifest_path"]
    another = str(shutil.copy(first, first.replace(".avro", "-2.avro")))
    with file.open("wb") as out:
        all_ = [*records, records[0] | {"manifest_path": another}]
        fastavro.writer(out, reader.writer_schema, all_, metadata=reader.metadata)


def _as_another(table: Path, name: str, other: str) -> Path:
    """A copy of a Paimon table in which the manifest of one file lists another, too, by its name."""
    for file in (table / "manifest").glob("manifest-*"):
        if "list" in file.name:
            continue
        rows = paimon.read_manifest(file).to_arrow()
        if rows["file_name"].to_pylist() == [name]:
            at = rows.schema.get_field_index("file_name")
            rows = rows.set_column(at, rows.schema.field(at), pa.array([other]))
            paimon.write_manifest(rows, file, codec=codec(file), overwrite=True)
    return rewritten(table, table.with_name("twice"))


@pytest.mark.parametrize("kind", ["hints", "data_files", "rollback", "manifests", "duplicates"])
def test_paimon_reads_what_was_repaired(kind: str, tmp_path: Path, paimon_java: JavaEngine):
    """And commits to it."""

    root = tmp_path / "p"

    def ids() -> list[int]:
        return sorted(int(row["id"]) for row in paimon_java.ask("rows", table=root))

    table = small_tables.paimon(root, *(f"bucket-0/{number}.parquet" for number in range(3)))
    assert ids() == [1, 1, 1, 2, 2, 2]
    if kind == "hints":
        (root / "snapshot" / "LATEST").write_text("9")
    elif kind == "data_files":
        (root / "bucket-0" / "1.parquet").unlink()
    elif kind == "manifests":
        Path(table.manifests(columns=["path"]).to_arrow()["path"][0].as_py()).unlink()
    elif kind == "duplicates":
        root = _as_another(root, "1.parquet", "0.parquet")
        table = lakebed.open_table(root)
        assert ids() == [1, 1, 1, 2, 2, 2]
    else:
        path = table.manifests(columns=["path"]).to_arrow()["path"][-1].as_py()
        Path(path).write_bytes(b"Obj")
    if kind != "duplicates":
        with pytest.raises(EngineError):
            ids()
    table = _repaired(table, tmp_path / "log", kind)
    left = [1, 1, 1, 2, 2, 2] if kind == "hints" else [1, 1, 2, 2]
    assert ids() == left
    paimon_java.ask("append", table=root, rows=[[7]])
    assert ids() == [*left, 7]
    assert table.refresh().repair_plan([kind]).to_arrow().num_rows == 0


def test_iceberg_reads_vectors_that_were_merged(tmp_path: Path, iceberg_java: JavaEngine):
    def ids() -> list[int]:
        return sorted(map(int, iceberg_java.ask("rows", table=root, column="id")))

    root = with_two_vectors(tmp_path / "t")
    with pytest.raises(EngineError, match="multiple"):
        ids()
    _repaired(lakebed.open_table(root), tmp_path / "log", "vectors")
    assert ids() == [0, 3, 4, 5, 6, 8, 9, *range(11, 20)]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_iceberg_plans_deletes_where_they_are_listed_now(
    foreign: str, tmp_path: Path, iceberg_java: JavaEngine
):
    def deletes() -> dict[str, list[str]]:
        metadata = max((root / "metadata").glob("v*.metadata.json"))
        planned = iceberg_java.ask("planned", metadata=metadata, cached="false")
        return {file: [name.partition("#")[0] for name in names] for file, names in planned.items()}

    table = FOREIGN[foreign](some(tmp_path)).open()
    root = tmp_path / "t"
    with pytest.raises(EngineError, match="Mismatched partition"):
        deletes()
    ours = table.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()
    _repaired(table, tmp_path / "log", "foreign_deletes")
    names = {row["file_path"]: sorted(one["file_path"] for one in row["delete_files"]) for row in ours}
    assert deletes() == names


def _append_wrong(table: lakebed.Table, path: str, *, kind: str) -> lakebed.Table:
    """A table with one more file, whose size or bounds are recorded wrong."""
    rows = lakebed.describe_files([path], table)
    value: Any = 7
    if kind == "metrics":
        value = rows["stats"].to_pylist()[0]
        value["id"]["upper_bound"] = 1
    name = "stats" if kind == "metrics" else "file_size_in_bytes"
    at = rows.schema.get_field_index(name)
    return table.append_files(rows.set_column(at, name, pa.array([value], rows.schema.field(name).type)))


def test_iceberg_reads_files_whose_sizes_were_wrong(tmp_path: Path, iceberg_java: JavaEngine):
    table = small_tables.iceberg(tmp_path / "t", "0.parquet")
    table = _append_wrong(table, small_tables.data(tmp_path / "t", "1.parquet"), kind="sizes")
    with pytest.raises(EngineError):
        iceberg_java.ask("rows", table=tmp_path / "t", column="id")
    _repaired(table, tmp_path / "log", "sizes")
    ids = iceberg_java.ask("rows", table=tmp_path / "t", column="id")
    assert sorted(map(int, ids)) == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["sizes", "metrics"])
def test_paimon_reads_files_of_which_the_entries_were_wrong(
    kind: str, tmp_path: Path, paimon_java: JavaEngine
):
    def planned() -> list[str]:
        files = paimon_java.ask("plan", table=tmp_path / "p", equal={"id": 2})["files"]
        return sorted(Path(file).name for file in files)

    table = small_tables.paimon(tmp_path / "p", "bucket-0/0.parquet")
    path = small_tables.data(tmp_path / "p" / "bucket-0", "1.parquet")
    table = _append_wrong(table, path, kind=kind)
    assert planned() == (["0.parquet"] if kind == "metrics" else ["0.parquet", "1.parquet"])
    table = _repaired(table, tmp_path / "log", kind)
    assert planned() == ["0.parquet", "1.parquet"]
    assert sorted(int(row["id"]) for row in paimon_java.ask("rows", table=tmp_path / "p")) == [1, 1, 2, 2]
    paimon_java.ask("append", table=tmp_path / "p", rows=[[7]])
    assert table.refresh().repair_plan([kind]).to_arrow().num_rows == 0
