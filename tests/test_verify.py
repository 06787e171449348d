"""`verify`: of a whole table it finds nothing, of a damaged one everything, and where; so do executors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import command_line
import pytest
from covering import EitherGolden, each_covering_table
from exchanging import verified
from iceberg_made import ADDED, DELETED, EXISTING, MadeTable, entry
from paimon_made import ADD, DELETE
from paimon_made import MadeTable as MadePaimonTable
from paimon_made import entry as paimon_entry

import lakebed
from lakebed import avro
from lakebed.errors import LakebedError
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE
from spark_rows import sorted_rows

Row = dict[str, Any]
COLUMNS = ["severity", "kind", "message", "path", "named_by", "offset", "block", "record", "field"]


def findings(table: lakebed.Table, **keywords: Any) -> list[Row]:
    rows = table.verify(**keywords).to_arrow()
    assert rows.schema == table.verify(**keywords).schema
    if "limit" not in keywords:
        assert verified(table, **keywords) == sorted_rows(rows)
    found: list[Row] = rows.to_pylist()
    return found


def named(rows: list[Row]) -> list[tuple[str, str, str]]:
    """Severity, kind, and the name of the file, sorted."""
    files = [(row["path"] or "").rpartition("/")[2] for row in rows]
    return sorted((row["severity"], row["kind"], name) for row, name in zip(rows, files, strict=True))


@each_covering_table()
def test_nothing_is_found_in_whole_tables(table: EitherGolden) -> None:
    assert findings(table.open()) == []


@pytest.fixture
def made(tmp_path: Path) -> MadeTable:
    """Two manifests of two files in each of two snapshots, and their data files."""
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    for name in "abcd":
        (made.root / name).write_bytes(bytes(100))
    paths = {name: str(made.root / name) for name in "abcd"}
    first = made.manifest(entry(path=paths["a"]), entry(path=paths["b"]), name="m1.avro")
    second = made.manifest(entry(path=paths["c"]), entry(path=paths["d"]), name="m2.avro")
    made.commit(first)
    made.commit(first, second | {"added_snapshot_id": 2}, parent_snapshot_id=1)
    assert findings(made.open(), data_files=True) == []
    return made


def test_a_damaged_manifest_is_found_with_its_place_and_the_next_is_read(made: MadeTable) -> None:
    first, second = (made.root / "metadata" / name for name in ("m1.avro", "m2.avro"))
    whole = first.read_bytes()
    first.write_bytes(whole[:-1])
    second.unlink()
    rows = findings(made.open())
    assert named(rows) == [("error", "missing", "m2.avro"), ("error", "truncated", "m1.avro")]
    (cut,) = [row for row in rows if row["kind"] == "truncated"]
    with pytest.raises(LakebedError) as raised:
        made.open().files().to_arrow()
    assert (cut["offset"], cut["block"]) == (raised.value.offset, raised.value.block)
    assert cut["named_by"] == str(made.root / "metadata" / "snap-1.avro")
    assert cut["offset"] is not None


def test_a_damaged_list_is_found_once_and_the_other_is_read(made: MadeTable) -> None:
    (made.root / "metadata" / "snap-2.avro").write_bytes(b"Obj\x02")
    (made.root / "metadata" / "m1.avro").unlink()
    rows = findings(made.open())
    assert {name for _, _, name in named(rows)} == {"m1.avro", "snap-2.avro"}
    assert {row["named_by"].rpartition("/")[2] for row in rows} == {"snap-1.avro", "v1.metadata.json"}


@pytest.mark.parametrize("size", [0, 99, 101])
def test_data_files_of_another_length_are_found_where_asked(size: int, made: MadeTable) -> None:
    (made.root / "a").write_bytes(bytes(size))
    (made.root / "d").unlink()
    assert findings(made.open()) == []
    rows = findings(made.open(), data_files=True)
    assert named(rows) == [("error", "mismatch", "a"), ("error", "missing", "d")]
    assert {row["named_by"].rpartition("/")[2] for row in rows} == {"m1.avro", "m2.avro"}
    # What only an older snapshot has is not looked for.
    assert named(findings(made.open().at(snapshot=1), data_files=True)) == [("error", "mismatch", "a")]


def test_files_and_manifests_that_are_twice_in_the_table(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    one = made.manifest(entry(path="a"), entry(path="b"), name="m1.avro")
    other = made.manifest(entry(path="c"), entry(EXISTING, "a", snapshot_id=1), name="m2.avro")
    made.commit(one, other)
    (row,) = findings(made.open())
    assert (row["severity"], row["kind"], row["record"]) == ("error", "duplicate", 1)
    assert "'a'" in row["message"] or '"a"' in row["message"]
    again = MadeTable(tmp_path / "u", (1, "id", "long"))
    manifest = again.manifest(entry(path="a"))
    again.commit(manifest, manifest)
    assert named(findings(again.open())) == [("error", "duplicate", "snap-1.avro")]
    # One that was deleted and added again is there once.
    right = MadeTable(tmp_path / "v", (1, "id", "long"))
    gone = right.manifest(entry(DELETED, "a", snapshot_id=1), name="m1.avro")
    right.commit(gone, right.manifest(entry(ADDED, "a"), name="m2.avro"))
    assert findings(right.open()) == []


def test_lists_that_contradict_each_other_and_their_manifests(made: MadeTable, tmp_path: Path) -> None:
    table = MadeTable(tmp_path / "u", (1, "id", "long"))
    manifest = table.manifest(entry(path="a"))
    table.commit(manifest)
    table.commit(manifest | {"existing_files_count": 4}, parent_snapshot_id=1)
    # Reading the snapshot whose list counts more entries than there are is refused.
    found = named(findings(table.open()))
    assert found == [("error", "mismatch", "m.avro"), ("warning", "mismatch", "snap-2.avro")]
    few = MadeTable(tmp_path / "v", (1, "id", "long"))
    few.commit(few.manifest(entry(path="a")) | {"added_files_count": 2})
    assert [(row["severity"], row["kind"]) for row in findings(few.open())] == [("error", "mismatch")]
    more = MadeTable(tmp_path / "w", (1, "id", "long"))
    more.commit(more.manifest(entry(path="a"), entry(path="b")) | {"added_files_count": 1})
    assert [(row["severity"], row["kind"]) for row in findings(more.open())] == [("warning", "odd")]


def test_statistics_that_contradict_themselves(tmp_path: Path) -> None:
    def bound(value: int) -> bytes:
        return value.to_bytes(8, "little", signed=True)

    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    right: Row = {"lower_bounds": {1: bound(3)}, "upper_bounds": {1: bound(3)}, "null_value_counts": {1: 1}}
    crossed: Row = {"lower_bounds": {1: bound(4)}, "upper_bounds": {1: bound(-4)}}
    nulls: Row = {"null_value_counts": {1: 3}, "record_count": 2}
    made.commit(
        made.manifest(
            entry(path="a", **right), entry(path="b", **crossed), entry(path="c", **nulls), entry(path="d")
        )
    )
    rows = findings(made.open())
    found = [(row["severity"], row["kind"], row["record"], row["field"]) for row in rows]
    assert sorted(found) == [("warning", "mismatch", 1, "stats.id"), ("warning", "mismatch", 2, "stats.id")]


def test_counts_below_zero(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    made.commit(made.manifest(entry(path="a", file_size_in_bytes=-5)))
    assert [(row["severity"], row["field"]) for row in findings(made.open())] == [
        ("error", "file_size_in_bytes")
    ]


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_branches_that_lead_nowhere(made: MadeTable) -> None:
    made.set(refs={"main": {"snapshot-id": 2, "type": "branch"}, "gone": {"snapshot-id": 9, "type": "tag"}})
    assert [(row["severity"], row["kind"]) for row in findings(made.open())] == [
        ("error", "snapshot-not-found")
    ]


def test_what_a_summary_says_of_all_files(made: MadeTable) -> None:
    totals = {"total-data-files": "4", "total-records": "4", "total-delete-files": "0"}

    def told(**wrong: str) -> list[tuple[str, str, str | None]]:
        summary = {"operation": "append"} | totals | {key.replace("_", "-"): wrong[key] for key in wrong}
        *earlier, last = made.metadata["snapshots"]
        made.set(snapshots=[*earlier, last | {"summary": summary}])
        return [(row["severity"], row["kind"], row["field"]) for row in findings(made.open())]

    rows = sum(made.open().files().to_arrow()["record_count"].to_pylist())
    totals["total-records"] = str(rows)
    assert told() == []
    assert told(total_files_size="5", total_things="9", total_position_deletes="x") == []
    assert told(total_data_files="5", total_equality_deletes="1") == [
        ("warning", "mismatch", "summary.total-data-files"),
        ("warning", "mismatch", "summary.total-equality-deletes"),
    ]
    # Of files that are not known nobody says what they come to.
    (made.root / "metadata" / "m2.avro").unlink()
    assert told(total_data_files="5") == [("error", "missing", None)]


def test_earlier_metadata_files_are_there_and_of_this_table(made: MadeTable) -> None:
    folder = made.root / "metadata"
    other = made.metadata | {"table-uuid": "11111111-0000-4000-8000-000000000000"}
    for name, metadata in (("own", made.metadata), ("other", other)):
        (folder / f"{name}.metadata.json").write_text(json.dumps(metadata))
    names = ("own", "other", "gone")
    log = [{"timestamp-ms": 1, "metadata-file": str(folder / f"{name}.metadata.json")} for name in names]
    made.set(metadata_log=log)
    table = lakebed.open_table(folder / "v1.metadata.json")
    assert named(findings(table)) == [
        ("error", "mismatch", "other.metadata.json"),
        ("warning", "missing", "gone.metadata.json"),
    ]


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_a_hint_that_names_what_is_not_there(made: MadeTable) -> None:
    table, hint = made.open(), made.root / "metadata" / "version-hint.text"
    for text, expected in (("1", []), ("0", []), ("7", ["missing"]), ("v9", ["missing"])):
        hint.write_text(text)
        rows = findings(table)
        assert [row["kind"] for row in rows] == expected, text
        assert all((row["severity"], row["path"]) == ("warning", str(hint)) for row in rows)


def test_nulls_beyond_the_values_that_are_counted(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "t", (1, "id", "long"))
    few: Row = {"null_value_counts": {1: 2}, "value_counts": {1: 1}, "record_count": 5}
    made.commit(made.manifest(entry(path="a", **few)))
    assert [(row["severity"], row["field"]) for row in findings(made.open())] == [("warning", "stats.id")]


@pytest.fixture
def made_paimon(tmp_path: Path) -> MadePaimonTable:
    made = MadePaimonTable(tmp_path / "p", ("id", "INT"))
    made.commit(paimon_entry(ADD, "a"), paimon_entry(ADD, "b"))
    made.commit(paimon_entry(ADD, "c"), paimon_entry(DELETE, "a"))
    assert findings(lakebed.open_table(made.root)) == []
    return made


def test_damaged_paimon_tables(made_paimon: MadePaimonTable) -> None:
    root = made_paimon.root
    (root / "manifest" / "manifest-1-0").write_bytes(b"Obj\x01")
    (root / "manifest" / "manifest-list-1-1").unlink()
    (root / "tag").mkdir()
    (root / "tag" / "tag-cut").write_text("{")
    (root / "schema" / "schema-1").write_text("{}")
    made_paimon.write_schema(2, ("id", "INT"))
    rows = findings(lakebed.open_table(root).at(snapshot=2))
    files = [name for _, _, name in named(rows)]
    assert sorted(files) == ["manifest-1-0", "manifest-list-1-1", "schema-1", "tag-cut"]
    assert {row["severity"] for row in rows} == {"error"}


def test_paimon_files_that_are_twice_or_deleted_and_never_added(made_paimon: MadePaimonTable) -> None:
    made_paimon.commit(paimon_entry(ADD, "b"), paimon_entry(DELETE, "never"))
    rows = findings(lakebed.open_table(made_paimon.root))
    found = [(row["severity"], row["kind"], row["record"]) for row in rows]
    assert found == [("error", "duplicate", 0), ("error", "mismatch", 1)]
    # What could not be read may have added it.
    (made_paimon.root / "manifest" / "manifest-1-0").unlink()
    assert "mismatch" not in {row["kind"] for row in findings(lakebed.open_table(made_paimon.root))}


def test_a_paimon_snapshot_under_another_name_and_without_its_schema(made_paimon: MadePaimonTable) -> None:
    snapshot = made_paimon.root / "snapshot" / "snapshot-1"
    snapshot.write_text(json.dumps(json.loads(snapshot.read_text()) | {"id": 7, "schemaId": 5}))
    rows = findings(lakebed.open_table(made_paimon.root))
    assert [(row["kind"], row["field"]) for row in rows] == [("mismatch", "id"), ("missing", "schemaId")]


def test_what_a_paimon_snapshot_hints_and_consumers_say(made_paimon: MadePaimonTable) -> None:
    def told() -> list[tuple[str, str, str]]:
        return named(findings(lakebed.open_table(made_paimon.root)))

    made_paimon.commit(totalRecordCount=2)
    for name, text in (("EARLIEST", "1"), ("LATEST", "3")):
        made_paimon.write(f"snapshot/{name}", text)
    for name, number in (("old", 1), ("ready", 4)):
        made_paimon.write(f"consumer/consumer-{name}", json.dumps({"nextSnapshot": number}))
    assert told() == []
    made_paimon.write("snapshot/EARLIEST", "9")
    made_paimon.write("snapshot/LATEST", "x")
    made_paimon.write("consumer/consumer-lost", json.dumps({"nextSnapshot": 5}))
    made_paimon.write("consumer/consumer-cut", "{")
    made_paimon.commit(totalRecordCount=7)
    assert told() == [
        ("error", "json", "consumer-cut"),
        ("warning", "mismatch", "snapshot-4"),
        ("warning", "missing", "EARLIEST"),
        ("warning", "missing", "LATEST"),
    ]


def test_external_paths_of_other_buckets_and_files(tmp_path: Path) -> None:
    made = MadePaimonTable(tmp_path / "p", ("id", "INT"))
    paths = {"a": "bucket-0/a", "b": "bucket-1/b", "c": "bucket-0/d", "e": "landing/e", "g": "landing/h"}
    entries = [paimon_entry(ADD, name, external_path=f"s3://lake/t/{path}") for name, path in paths.items()]
    made.commit(*entries, paimon_entry(ADD, "f"))
    rows = findings(lakebed.open_table(made.root))
    assert [(row["severity"], row["kind"], row["record"]) for row in rows] == [
        ("error", "mismatch", number) for number in (1, 2, 4)
    ]


def test_every_damage_of_the_sample_tables_is_found(tmp_path: Path) -> None:
    """Each manifest and list cut in its middle, one at a time, and all of them together."""
    for sample, moved in ((SAMPLE_TABLE, {}), (SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED)):
        root = Path(shutil.copytree(sample, tmp_path / sample.name))
        relocate = dict.fromkeys(moved, str(root))
        table = lakebed.open_table(root, relocate=relocate or None)
        assert findings(table, data_files=False) == []
        files = [path for path in root.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"Obj\x01"]
        files = [path for path in files if path.parent.name in ("manifest", "metadata")]
        for path in files:
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) // 2])
            names = {name for severity, _, name in named(findings(table)) if severity == "error"}
            assert path.name in names
            path.write_bytes(whole)
        manifests = [path for path in files if "list" not in path.name and not path.name.startswith("snap-")]
        for path in manifests:
            path.write_bytes(path.read_bytes()[:-1])
        names = {name for _, _, name in named(findings(table))}
        assert {path.name for path in manifests} <= names


def test_columns_filters_and_limits(made: MadeTable) -> None:
    for name in ("m1.avro", "m2.avro"):
        (made.root / "metadata" / name).unlink()
    table = made.open()
    assert table.verify().schema.names == COLUMNS
    found = [row["path"][-7:] for row in findings(table, filter="kind = 'missing'", columns=["path"])]
    assert found == ["m1.avro", "m2.avro"]
    assert len(findings(table, limit=1)) == 1
    assert findings(table, filter="severity = 'warning'") == []
    (step,) = table.verify().explain().to_dict()["steps"]
    assert (step["kept"], step["total"]) == (2, 2)


def test_the_exit_code_serves_a_cron_job(made: MadeTable) -> None:
    def run(*words: str) -> tuple[int, list[Row]]:
        result = command_line.run("verify", made.root, "-o", "json", *words)
        return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]

    assert run() == (0, [])
    made.set(snapshots=made.metadata["snapshots"])
    (made.root / "a").unlink()
    assert run() == (0, [])
    code, rows = run("--data-files", "--columns", "kind")
    assert (code, rows) == (1, [{"kind": "missing"}])
    assert run("--columns", "nowhere")[0] == 2
    assert avro.read_schema(made.root / "metadata" / "m1.avro")["type"] == "record"
