"""Which files a filter leaves of an Iceberg table: those of Iceberg's Java engine; how that is explained."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from iceberg_made import DELETED, MadeTable, avro_type, entry, entry_schema, field, optional
from trust import long_or, some

import lakebed
from iceberg_answers import Row, leaves
from iceberg_golden import GoldenTable, each_golden_iceberg_table

ABBREVIATED = re.compile(r"\((\S+) \.\. (\S+)\)")
LONG = 200


def parts_of(expression: Any) -> list[Row]:
    """The tests that an expression is made of, in the order in which its text has them."""
    if isinstance(expression, bool):
        return []
    inner = [expression[name] for name in ("child", "left", "right") if name in expression]
    return [test for part in inner for test in parts_of(part)] if inner else [expression]


def spelled_out(line: Row) -> str:
    """The SQL text of a plan's filter with its long lists in full."""
    lists = [test["values"] for test in parts_of(line["filter"]) if len(test.get("values", ())) >= LONG]
    full = iter([f"({', '.join(map(str, values))})" for values in lists])
    return ABBREVIATED.sub(lambda _: next(full), str(line["sql"]))


def literals(test: Row) -> list[Any]:
    return [*([test["value"]] if "value" in test else []), *test.get("values", [])]


def kinds_of(table: GoldenTable, at: str) -> dict[str, Any]:
    """Column → type, in the schema that the table is read with."""
    return {name: kind for _, name, kind in leaves(table.schema(table.schema_id(at)))}


def is_engines_error(line: Row, kinds: dict[str, Any]) -> bool:
    """UUIDs the engine takes for two signed numbers, and -0.0 for less than 0.0."""
    for test in parts_of(line["filter"]):
        kind = kinds.get(test["term"])
        zeros = [value for value in literals(test) if str(value) in ("0.0", "-0.0")]
        if kind == "uuid" or (kind in ("float", "double") and zeros):
            return True
    return False


def is_out_of_range(line: Row, kinds: dict[str, Any]) -> bool:
    """Whether a whole number is beyond its column, for which the engine takes constants, null or not."""
    pairs = [(kinds[test["term"]], value) for test in parts_of(line["filter"]) for value in literals(test)]
    return any(kind == "int" and not -(2**31) <= value < 2**31 for kind, value in pairs)


def cannot_match(line: Row, kinds: dict[str, Any], file: Row) -> bool:
    """Whether a file that the engine keeps cannot hold a row that matches."""
    for test in parts_of(line["filter"]):
        metrics = file["readable_metrics"].get(test["term"]) or {}
        values, nulls, nans = (metrics.get(f"{name}_count") for name in ("value", "null_value", "nan_value"))
        # The engine takes null in a partition for less than all values.
        if test["type"] in ("lt", "lt-eq", "gt", "gt-eq") and "=null" in file["file_path"]:
            return True
        # It does not see that nulls and NaN are all there is.
        if kinds[test["term"]] in ("float", "double") and nans and nulls + nans == values:
            return True
        # It does not look into long lists.
        if len(literals(test)) > LONG:
            return not any(metrics["lower_bound"] <= one <= metrics["upper_bound"] for one in literals(test))
    return False


def may_match_as_nan(line: Row, kinds: dict[str, Any], file: Row) -> bool:
    """Whether a file that the engine drops may hold NaN, which is larger than any other value: so it compares
    rows, but of metrics it looks at bounds alone, which leave NaN out.
    """
    is_negated = '"not"' in json.dumps(line["filter"])
    above = ("gt", "gt-eq", "lt", "lt-eq") if is_negated else ("gt", "gt-eq")
    asked = [test["term"] for test in parts_of(line["filter"]) if test["type"] in above]
    floats = [term for term in asked if kinds[term] in ("float", "double")]
    return any((file["readable_metrics"].get(term) or {}).get("nan_value_count") != 0 for term in floats)


def is_contradictory(line: Row, file: Row) -> bool:
    """Whether a file that the engine drops has a lower bound above the upper one, which say nothing."""
    metrics = [file["readable_metrics"].get(test["term"]) or {} for test in parts_of(line["filter"])]
    bounds = [(one.get("lower_bound"), one.get("upper_bound")) for one in metrics]
    return any(lower > upper for lower, upper in bounds if lower is not None and upper is not None)


def is_before_1970(line: Row, kinds: dict[str, Any]) -> bool:
    """Whether a filter names such a time: the engine takes its partitions for exact, where it wrote some one
    too low, and claims files with rows that do not match.
    """
    times = [
        test for test in parts_of(line["filter"]) if str(kinds.get(test["term"])).startswith("timestamp")
    ]
    return any(str(value) < "1970" for test in times for value in literals(test))


@each_golden_iceberg_table()
def test_data_files_are_those_of_the_engine(table: GoldenTable):
    now = table.open()
    numbered = {row["i"]: row["file_path"] for row in table.rows("plan_files")}
    for number, line in enumerate(table.rows("plans")):
        at = now if line["snapshot_id"] == now.snapshot_id else now.at(snapshot=line["snapshot_id"])
        suffix = "" if at is now else "@older"
        kinds = kinds_of(table, suffix)
        if "files" not in line or is_engines_error(line, kinds):
            continue
        if number % long_or(4, 1) and not is_out_of_range(line, kinds):
            # Its plan is compared below, which prunes by the same rules.
            continue
        place = f"{table.name}, snapshot {line['snapshot_id']}, {line['sql']}"
        read = at.files(columns=["content", "file_path"], where=spelled_out(line)).to_arrow()
        kept = {row["file_path"] for row in read.to_pylist() if row["content"] == 0}
        check_data_files(table, suffix, line, kept, {numbered[number] for number in line["files"]}, place)


def check_data_files(
    table: GoldenTable, suffix: str, line: Row, kept: set[str], engine: set[str], place: str
) -> None:
    """Holds the data files that are kept against the engine's."""
    kinds = kinds_of(table, suffix)
    files = {row["file_path"]: row for row in table.rows(f"files{suffix}")} if engine != kept else {}
    assert all(cannot_match(line, kinds, files[path]) for path in engine - kept), place
    # Nulls of floats in null structs are not counted, so that the engine looks for none.
    more = [
        path
        for path in kept - engine
        if not may_match_as_nan(line, kinds, files[path]) and not is_contradictory(line, files[path])
    ]
    assert not more or any("." in test["term"] for test in parts_of(line["filter"])), place


@each_golden_iceberg_table()
def test_deletes_and_residuals_are_those_of_the_engine(table: GoldenTable):
    now = table.open()
    numbered = {row["i"]: row for row in table.rows("plan_files")}
    paths = {number: row["file_path"] for number, row in numbered.items()}
    for line in some(table.rows("plans"), table.name):
        at = now if line["snapshot_id"] == now.snapshot_id else now.at(snapshot=line["snapshot_id"])
        kinds = kinds_of(table, "" if at is now else "@older")
        if "files" not in line or is_engines_error(line, kinds) or is_out_of_range(line, kinds):
            continue
        place = f"{table.name}, snapshot {line['snapshot_id']}, {line['sql']}"
        columns = ["file_path", "delete_files", "residual"]
        read = at.plan(columns=columns, where=spelled_out(line)).to_arrow().to_pylist()
        deletes = {
            row["file_path"]: sorted((one["file_path"], one["content_offset"]) for one in row["delete_files"])
            for row in read
        }
        planned = {paths[number] for number in line["files"]}
        check_data_files(table, "" if at is now else "@older", line, set(deletes), planned, place)
        for number in line["files"]:
            attached = [numbered[one] for one in line["deletes"].get(str(number), [])]
            if paths[number] in deletes:
                expected = sorted((one["file_path"], one["content_offset"]) for one in attached)
                assert deletes[paths[number]] == expected, place
        settled = {row["file_path"] for row in read if row["residual"] is None}
        engine = {paths[one] for left in line["residuals"] if left["json"] is True for one in left["files"]}
        # The engine takes null in a partition for less than all values.
        unsettled = (engine & deletes.keys()) - settled
        assert is_before_1970(line, kinds) or all("=null" in path for path in unsettled), place
        # Without a partition it leaves a test of null that the type of the column answers.
        assert settled & planned <= engine or any(
            part["type"].endswith("null") for part in parts_of(line["filter"])
        ), place


COLUMNS = [(1, "id", "long"), (2, "city", "string"), (3, "amount", "double")]
SPEC = [{"source-id": 2, "field-id": 1000, "name": "city", "transform": "identity"}]
PARTITION = [field(1000, "city", optional(avro_type("string")))]


def long(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


def made(root: Path) -> lakebed.Table:
    """Three manifests: of city a with ids 0 to 9 and 10 to 19, of city b with one file and one that was
    deleted, and one of which all entries were deleted.
    """
    table = MadeTable(root / "t", *COLUMNS, spec=SPEC)
    schema = entry_schema(2, PARTITION)

    def file(path: str, city: str, first: int, status: int = 1) -> Row:
        bounds = {"lower_bounds": {1: long(first)}, "upper_bounds": {1: long(first + 9)}}
        numbers = {"snapshot_id": 1, "sequence_number": 1, "file_sequence_number": 1}
        return entry(status, path, partition={"city": city}, record_count=10, **bounds, **numbers)

    def of(city: str) -> list[Row]:
        bound = city.encode()
        return [{"contains_null": False, "contains_nan": None, "lower_bound": bound, "upper_bound": bound}]

    manifests = {
        "a": [file("a0", "a", 0), file("a1", "a", 10)],
        "b": [file("b0", "b", 0), file("b1", "b", 10, DELETED)],
        "c": [file("c0", "c", 0, DELETED)],
    }
    records = [
        {**table.manifest(*files, schema=schema, name=f"{city}.avro"), "partitions": of(city)}
        for city, files in manifests.items()
    ]
    table.commit(*records)
    return table.open()


def kept(table: lakebed.Table, where: str) -> list[str]:
    paths = table.files(columns=["file_path"], where=where).to_arrow()["file_path"]
    return [str(path) for path in paths.to_pylist()]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("city = 'a'", ["a0", "a1"]),
        ("id = 12", ["a1"]),
        ("id = 12 AND city = 'b'", []),
        ("id < 5 AND city = 'b'", ["b0"]),
        # Of a file in city a no partition says that, and no metrics: each alone knows half.
        ("id < 5 OR city = 'b'", ["a0", "a1", "b0"]),
        ("NOT (id >= 10)", ["a0", "b0"]),
        ("bucket(4, id) = 1", ["a0", "a1", "b0"]),
        ("truncate(10, id) = 10", ["a1"]),
        ("id IS NULL", ["a0", "a1", "b0"]),
        ("is_nan(amount)", ["a0", "a1", "b0"]),
        ('"id" BETWEEN 8 AND 9', ["a0", "b0"]),
        ("city LIKE 'a%'", ["a0", "a1"]),
        ("TRUE", ["a0", "a1", "b0"]),
        ("FALSE", []),
    ],
)
def test_any_column_prunes(tmp_path: Path, where: str, expected: list[str]):
    assert kept(made(tmp_path), where) == expected


def test_every_view_of_files_prunes(tmp_path: Path):
    table = made(tmp_path)
    where = lakebed.col("id") == 12
    found = table.entries(columns=["file_path", "status"], where=where).to_arrow().to_pylist()
    assert found == [{"file_path": "a1", "status": 1}, {"file_path": "b1", "status": 2}]
    assert table.manifests(where="city = 'b'").to_arrow().num_rows == 1
    (partition,) = table.partitions(where=where).to_arrow().to_pylist()
    assert (partition["partition"], partition["file_count"]) == ({"city": "a"}, 1)
    assert table.files(where=where, stats=["id"], columns=["stats"]).to_arrow()["stats"].to_pylist() == [
        {
            "id": {**dict.fromkeys(("value_count", "null_count", "nan_count", "column_size"))}
            | {"lower_bound": 10, "upper_bound": 19}
        }
    ]


def test_explain_counts_step_by_step(tmp_path: Path):
    steps = made(tmp_path).files(where="city = 'a' AND id > 15").explain().steps
    assert [(one.step, one.kept, one.total, one.rows_kept, one.rows_total) for one in steps] == [
        ("manifests", 2, 3, 30, 30),
        ("manifests", 1, 2, 20, 30),
        ("entries", 2, 2, 20, 20),
        ("files", 2, 2, 20, 20),
        ("files", 1, 2, 10, 20),
    ]
    assert [(one.bytes_kept, one.bytes_total) for one in steps[2:]] == [(200, 200), (200, 200), (100, 200)]
    assert all(one.why for one in steps)
    unfiltered = made(tmp_path / "other").files().explain().steps
    assert [(one.step, one.kept, one.total) for one in unfiltered][-1] == ("entries", 3, 4)


ODD = "TIMESTAMP '1969-12-31 23:00:00.999999999+00:00'"


def before_1970(root: Path, transform: str | None) -> lakebed.Table:
    """A manifest for each hour around 1970, one file in each; without a transform, files that say nothing but
    that their times are the odd one of Java's library.
    """
    hours = [] if transform is None else [{"source-id": 1, "field-id": 1000, "name": "h"}]
    spec = [{**one, "transform": transform} for one in hours]
    table = MadeTable(root / "t", (1, "z", "timestamptz_ns"), spec=spec, version=3)
    schema = entry_schema(3, [field(1000, "h", optional("int"))] if spec else [])
    records = []
    for hour in (-3, -2, -1, 0):
        bound = {1: long(-3_599_000_000_001)}
        known: Row = {"partition": {"h": hour}} if spec else {"lower_bounds": bound, "upper_bounds": bound}
        record = table.manifest(entry(path=f"h{hour}", **known), schema=schema, name=f"{hour}.avro")
        bound_of_hour = hour.to_bytes(4, "little", signed=True)
        summary: Row = {"contains_null": False, "contains_nan": None}
        summary |= {"lower_bound": bound_of_hour, "upper_bound": bound_of_hour}
        records.append({**record, "partitions": [summary] if spec else []})
    table.commit(*records)
    return table.open()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # Java's library writes this time into hour -2; before 0.11 all of hour -1 into 0.
        (f"z = {ODD}", {-2, -1, 0}),
        (f"z IN ({ODD}, TIMESTAMP '1970-01-01 00:00:00Z')", {-2, -1, 0}),
        (f"z >= {ODD}", {-2, -1, 0}),
        (f"z > {ODD}", {-1, 0}),
        (f"z BETWEEN {ODD} AND {ODD}", {-2, -1, 0}),
        ("z = TIMESTAMP '1969-12-31 23:00:00.999999998Z'", {-1, 0}),
        ("z = TIMESTAMP '1969-12-31 23:00:01.999999999Z'", {-1, 0}),
        ("z > TIMESTAMP '1969-12-31 23:30:00Z'", {-1, 0}),
        ("z < TIMESTAMP '1969-12-31 23:00:00Z'", {-3, -2, -1}),
    ],
)
def test_times_before_1970_are_looked_for_where_java_writes_them(
    tmp_path: Path, where: str, expected: set[int]
):
    table = before_1970(tmp_path, "hour")
    assert set(kept(table, where)) == {f"h{hour}" for hour in expected}
    assert len(table.manifests(where=where).to_arrow()) == len(expected)


def test_no_partition_before_1970_is_settled_that_may_hold_a_later_time(tmp_path: Path):
    plan = before_1970(tmp_path, "hour").plan(where=f"z < {ODD}", columns=["file_path", "residual"])
    left = {row["file_path"]: row["residual"] is not None for row in plan.to_arrow().to_pylist()}
    assert left == {"h-3": False, "h-2": True, "h-1": True, "h0": True}


def test_metrics_of_times_before_1970_are_of_the_hours_that_java_makes(tmp_path: Path):
    table = before_1970(tmp_path, None)
    for where, is_kept in [("hour(z) = -3", False), ("hour(z) = -2", True), ("hour(z) = -1", True)]:
        assert bool(kept(table, where)) == is_kept, where
    assert kept(table, "hour(z) = 0") == []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nothing = 1", ["nothing", "id, city, amount"]),
        ("id = 'x'", ["id", "Int64", "a string of 1 characters"]),
        ("id = 1.5", ["id", "not a whole number"]),
        ("day(city) = '2026-01-01'", ["city", "day", "string"]),
        ("id >", ["^"]),
    ],
)
def test_filters_that_do_not_fit(tmp_path: Path, where: str, words: list[str]):
    with pytest.raises(lakebed.errors.PredicateError) as caught:
        made(tmp_path).files(where=where)
    assert all(word in str(caught.value) for word in words)
