"""What Iceberg 1.12 answers otherwise than 1.11: lakebed answers as 1.12, or as docs/formats.md says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import MadeTable, entry
from iceberg_table_pairs import Deletes, File, PairedTable, TablePair, ours
from java_engine import ICEBERG_BEFORE, EngineError, IcebergEngines, JavaEngine
from trust import long_or

from iceberg_golden import golden, golden_iceberg_tables
from lakebed.errors import LakebedWarning, SnapshotNotFoundError

Row = dict[str, Any]

pytestmark = pytest.mark.jvm

NEXT = {table.name: table for table in golden_iceberg_tables("iceberg_next")}


def newest(table: PairedTable) -> str:
    log = table.now().metadata_table("metadata_log_entries").to_arrow()
    found: str = log["file"].to_pylist()[-1]
    return found


# Deletes of one data file, of another partition or spec than it.


def position_delete_elsewhere(table: PairedTable) -> None:
    table.ask("row_delta", deletes=[Deletes("d", region="apac", target="a")])


def vector_elsewhere(table: PairedTable) -> None:
    table.ask("row_delta", deletes=[Deletes("d", region="apac", target="a", offset=4)])


def delete_of_another_spec(table: PairedTable) -> None:
    table.java.ask("manage", table=table.root, steps=[["spec", {"add": [["bucket[2]", "id"]]}]])
    given: Row = {
        "path": f"{table.root}/d.puffin",
        "partition": "region=emea/id_bucket_2=0",
        "target": table.path("a"),
    }
    if table.now().format_version == 3:
        given["offset"] = 4
    table.java.ask("row_delta", table=table.root, deletes=[{**given, "records": 1, "size": 100}])


@pytest.mark.parametrize(
    ("version", "delete", "what"),
    [
        (2, position_delete_elsewhere, "partition tuples"),
        (3, vector_elsewhere, "partition tuples"),
        (2, delete_of_another_spec, "partition specs"),
        (3, delete_of_another_spec, "partition specs"),
    ],
)
def test_deletes_of_another_partition_or_spec_are_planned_and_found(
    version: int,
    delete: Callable[[PairedTable], None],
    what: str,
    tmp_path: Path,
    iceberg_javas: IcebergEngines,
):
    table = TablePair.made(tmp_path, iceberg_javas.at(), version).theirs
    table.ask("append", files=[File("a"), File("b")])
    assert table.now().verify(data_files=False).to_arrow().num_rows == 0
    delete(table)
    own = ours(table.now())
    assert [len(deletes) for deletes in own.values()] == [1, 0]

    def planned(java: JavaEngine) -> Any:
        return java.ask("read", metadata=newest(table), relocate={})["plans"][str(table.now().snapshot_id)]

    assert planned(iceberg_javas.at(ICEBERG_BEFORE)) == own
    refused = planned(iceberg_javas.at())["error"]
    assert f"Mismatched {what}" in refused
    assert refused.endswith("metadata is corrupted")
    (finding,) = table.now().verify(data_files=False).to_arrow().to_pylist()
    assert (finding["severity"], finding["kind"]) == ("error", "mismatch")
    assert "is of another partition spec or partition" in finding["message"]


# Metadata tables with a filter.

COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda one, other: one == other,
    "not-eq": lambda one, other: one != other,
    "lt": lambda one, other: one is not None and one < other,
    "gt": lambda one, other: one is not None and one > other,
    "in": lambda one, others: one in others,
    "not-in": lambda one, others: one not in others,
    "is-null": lambda one, _: one is None,
    "not-null": lambda one, _: one is not None,
}


def matches(where: Any, row: Row) -> bool:
    """Whether a row matches an expression."""
    kind = where["type"]
    if kind == "not":
        return not matches(where["child"], row)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(matches(where[side], row) for side in ("left", "right"))
    value: Any = row
    for name in where["term"].split("."):
        value = value[name]
    return COMPARED[kind](value, where.get("value", where.get("values")))


def name(row: Row) -> tuple[Any, ...]:
    """What tells rows of a metadata table apart."""
    file = row.get("data_file", row)
    return file.get("file_path", row.get("path")), row.get("status"), row.get("reference_snapshot_id")


def contents(column: str, *others: str) -> list[Any]:
    """Filters on a content, 0 to 2, which no manifest of deletes tells as a whole."""
    one = [{"type": kind, "term": column, "value": at} for kind in ("eq", "not-eq") for at in range(4)]
    pairs = ([0, 1], [0, 2], [1, 2])
    many = [{"type": kind, "term": column, "values": some} for kind in ("in", "not-in") for some in pairs]
    more = [{"type": "not", "child": test} for test in (one[1], many[2])]
    nulls = [{"type": "is-null", "term": term} for term in (column, *others)]
    both = [{"type": "and", "left": {**nulls[-1], "type": "not-null"}, "right": one[5]}]
    return [*one, *many, *more, *nulls, *both, {"type": "gt", "term": column, "value": 0}]


def left_by(java: JavaEngine, asked: Row) -> Counter[Any] | str:
    try:
        return Counter(map(name, java.ask("filtered", **asked)["rows"]))
    except EngineError as error:
        return str(error).splitlines()[0]


def assert_filtered(
    asked: Row, table: Any, javas: IcebergEngines, filters: list[Any]
) -> tuple[list[Any], list[Any]]:
    """That 1.12 leaves the rows that match, all of which lakebed has; those filters by which 1.11 leaves
    others, with and without `ignore_residuals`.
    """
    rows = table.metadata_table(asked["type"].lower()).to_arrow().to_pylist()
    differ: tuple[list[Any], list[Any]] = ([], [])
    for where in filters:
        expected = Counter(name(row) for row in rows if matches(where, row))
        for ignored in (False, True):
            request = {**asked, "where": where, "ignore_residuals": ignored}
            assert left_by(javas.at(), request) == expected, where
            if left_by(javas.at(ICEBERG_BEFORE), request) != expected:
                differ[ignored].append(where)
    return differ


@pytest.fixture
def with_deletes(tmp_path: Path, iceberg_javas: IcebergEngines) -> PairedTable:
    """A manifest of deletes has both kinds of them."""
    table = TablePair.made(tmp_path, iceberg_javas.at(), 2).theirs
    table.ask("append", files=[File("a"), File("b", region="apac")])
    both = [Deletes("d", target="a"), Deletes("e", ids=[1]), Deletes("f", region="apac", ids=[1])]
    table.ask("row_delta", deletes=both)
    table.ask("append", files=[File("c")])
    return table


@pytest.mark.parametrize("kind", ["ENTRIES", "ALL_ENTRIES"])
def test_metadata_tables_have_the_rows_that_match(
    kind: str, with_deletes: PairedTable, iceberg_javas: IcebergEngines
):
    asked = {"metadata": newest(with_deletes), "relocate": {}, "type": kind}
    filters = contents("data_file.content", "data_file.partition.region")
    differ, _ = assert_filtered(asked, with_deletes.now(), iceberg_javas, filters)
    texts = [f"{one['type']} {one.get('value', one.get('values'))}" for one in differ]
    # 1.11 takes a manifest of deletes for one of position deletes alone, or of equality deletes.
    assert set(texts) >= {"not-eq 1", "not-eq 2", "not-in [0, 1]", "not-in [0, 2]"}


def test_all_manifests_has_the_rows_that_match(with_deletes: PairedTable, iceberg_javas: IcebergEngines):
    first, last = with_deletes.now().snapshots().to_arrow()["snapshot_id"].to_pylist()[::2]
    of_first = {"type": "eq", "term": "reference_snapshot_id", "value": first}
    of_last = {**of_first, "value": last}
    content = {"type": "eq", "term": "content", "value": 1}
    neither = {"type": "not", "child": {"type": "or", "left": of_first, "right": content}}
    filters = [
        of_first,
        {"type": "not", "child": of_first},
        {"type": "in", "term": "reference_snapshot_id", "values": [first, last]},
        {"type": "not", "child": {"type": "or", "left": of_first, "right": of_last}},
        neither,
        {"type": "not", "child": {"type": "and", "left": of_first, "right": content}},
        content,
    ]
    asked = {"metadata": newest(with_deletes), "relocate": {}, "type": "ALL_MANIFESTS"}
    differ, _ = assert_filtered(asked, with_deletes.now(), iceberg_javas, filters)
    assert neither in differ


@pytest.mark.parametrize(
    "kind", long_or(["files", "all_manifests"], ["entries", "all_entries", "all_manifests", "files"])
)
def test_metadata_tables_of_a_golden_table(kind: str, iceberg_javas: IcebergEngines):
    table = golden("metadata_pruning_v2")
    opened = table.open()
    asked: Row = {"metadata": table.path / table.info["metadata_file"], "relocate": table.relocate}
    asked["type"] = kind.upper()
    scans = [row for row in table.rows("metadata_scans") if row["table"] == kind]
    assert_filtered(
        asked, opened, iceberg_javas, [row["filter"] for row in scans if not row["ignore_residuals"]]
    )
    for row in (row for row in scans if "." not in row["sql"]):
        rows = opened.metadata_table(kind, filter=row["sql"]).to_arrow().to_pylist()
        assert left_by(iceberg_javas.at(), {**asked, "where": row["filter"]}) == Counter(map(name, rows))


# Time travel.


def logged(folder: Path, times: list[int]) -> MadeTable:
    """A table in whose log the snapshots, in the order of their ids, became current at these times."""
    table = MadeTable(folder, (1, "id", "long"))
    for _ in times:
        table.commit(timestamp_ms=1000)
    log = [{"timestamp-ms": time, "snapshot-id": number} for number, time in enumerate(times, 1)]
    table.set(snapshot_log=log, last_updated_ms=max(times))
    return table


def own_as_of(table: MadeTable, time: int) -> int | None:
    try:
        return table.open().at(timestamp=time).snapshot_id
    except SnapshotNotFoundError:
        return None


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@pytest.mark.parametrize("seed", range(long_or(4, 40)))
def test_time_travel_goes_by_times_in_whatever_order_the_log_is(
    seed: int, tmp_path: Path, iceberg_javas: IcebergEngines
):
    # Java allows a log to go back by a minute.
    times = random.Random(seed).sample(range(1_000_000, 1_050_000, 1_000), 8)
    table = logged(tmp_path / "t", times)
    asked = sorted(time + more for time in times for more in (-1, 0, 1))
    request = {"metadata": table.root / "metadata" / "v1.metadata.json", "relocate": {}, "times": asked}
    own = [own_as_of(table, time) for time in asked]
    assert iceberg_javas.at().ask("as_of", **request) == own
    latest = max(range(8), key=lambda at: times[at]) + 1
    assert own[-1] == latest
    # The last in the log, whatever its time.
    assert iceberg_javas.at(ICEBERG_BEFORE).ask("as_of", **request)[-1] == 8


def test_of_equal_times_the_last_counts_unlike_in_1_12(tmp_path: Path, iceberg_javas: IcebergEngines):
    table = logged(tmp_path / "t", [1_000, 2_000, 2_000])
    asked = [1_999, 2_000, 9_999]
    request = {"metadata": table.root / "metadata" / "v1.metadata.json", "relocate": {}, "times": asked}
    assert [own_as_of(table, time) for time in asked] == [1, 3, 3]
    assert iceberg_javas.at(ICEBERG_BEFORE).ask("as_of", **request) == [1, 3, 3]
    # Not even the current snapshot, at any time.
    assert iceberg_javas.at().ask("as_of", **request) == [1, 2, 2]


# Lengths of manifests.


@pytest.mark.parametrize("version", [None, ICEBERG_BEFORE], ids=["1.12", "1.11"])
@pytest.mark.parametrize("more", [-40, 40])
def test_wrong_lengths_of_avro_manifests_are_no_matter_but_to_the_cache(
    more: int, version: str | None, tmp_path: Path, iceberg_javas: IcebergEngines
):
    table = MadeTable(tmp_path / "t", (1, "id", "long"))
    manifest = table.manifest(*(entry(path=f"/data/{number}.parquet") for number in range(3)))
    table.commit({**manifest, "manifest_length": manifest["manifest_length"] + more})

    def planned(*, cached: bool) -> int:
        metadata = table.root / "metadata" / "v1.metadata.json"
        return len(iceberg_javas.at(version).ask("planned", metadata=metadata, cached=cached))

    with pytest.warns(LakebedWarning, match="its list records"):
        assert table.open().plan().to_arrow().num_rows == 3
    assert planned(cached=False) == 3
    # Java's cache cuts the file where its list says that it ends, and a block less is no error to it.
    assert planned(cached=True) == (0 if more < 0 else 3)


def test_wrong_lengths_of_parquet_manifests_are_refused_by_java(iceberg_java: JavaEngine):
    table = golden("wrong_manifest_length_v4")
    read = iceberg_java.ask(
        "read", metadata=table.path / table.info["metadata_file"], relocate=table.relocate
    )
    now = table.open()
    assert "bytes, not" in read["plans"][str(now.snapshot_id)]["error"]
    with pytest.warns(LakebedWarning, match="its list records"):
        assert now.plan().to_arrow().num_rows > 0


@pytest.mark.parametrize("version", [1, 2, 3])
def test_lengths_of_rewritten_manifests_are_those_of_the_files(
    version: int, tmp_path: Path, iceberg_javas: IcebergEngines
):
    pair = TablePair.made(tmp_path, iceberg_javas.at(), version)
    for number in range(3):
        pair.both(
            "fast_append", files=[File(f"{number}{region}", region=region) for region in ("emea", "apac")]
        )
    pair.ours.now().rewrite_manifests(by=["region"])
    for release in (None, ICEBERG_BEFORE):
        iceberg_javas.at(release).ask("rewrite_manifests", table=pair.theirs.root)
        for one in (pair.ours, pair.theirs):
            asked = {"metadata": newest(one), "cached": True}
            plans = [
                iceberg_javas.at(asked_of).ask("planned", **asked) for asked_of in (None, ICEBERG_BEFORE)
            ]
            assert plans == [ours(one.now())] * 2
            rows = one.now().manifests(columns=["path", "length"]).to_arrow().to_pylist()
            assert len(rows) in (1, 2)
            assert [row["length"] for row in rows] == [Path(row["path"]).stat().st_size for row in rows]
