"""Whatever the rows and the filter: a file that a query needs is never left out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paimon_made import ADD, DELETE, EMPTY_ROW, MadeTable, entry, row

import lakebed
from lakebed import paimon
from lakebed.spark.mappers import JobMap
from lakebed.view import Bounds

Row = dict[str, Any]
Test = Callable[[Row], bool]

COLUMNS = [("p", pa.int32()), ("k", pa.int32()), ("s", pa.string()), ("d", pa.float64())]
SCHEMA = [("p", "INT"), ("k", "INT NOT NULL"), ("s", "STRING"), ("d", "DOUBLE")]
TEXTS = st.sampled_from(["", "a", "ab", "abc", "b", "é", "\ud7ff", "\U0010ffff"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "p": st.integers(0, 2),
    "k": st.integers(0, 5),
    "s": st.none() | TEXTS,
    "d": st.none() | st.sampled_from([-1.5, -0.0, 0.0, 2.0, float("inf"), float("nan")]),
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _key(value: Any) -> Any:
    """Values in the order of the format: texts by their bytes, NaN last, -0.0 before 0.0."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value, str(value)[0] != "-")
    return value.encode() if isinstance(value, str) else value


def _sql(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str | float) else str(value)


@st.composite
def _leaf(draw: st.DrawFn) -> tuple[str, Test]:
    column = draw(st.sampled_from(list(VALUES)))
    match draw(st.sampled_from(["compare", "null", "in", "between", "prefix"])):
        case "null":
            wanted = draw(st.booleans())
            text = f"{column} IS {'' if wanted else 'NOT '}NULL"
            return text, lambda row: (row[column] is None) == wanted
        case "in":
            values = draw(
                st.lists(VALUES[column].filter(lambda value: value is not None), min_size=1, max_size=3)
            )
            negated = draw(st.booleans())
            keys = [_key(value) for value in values]
            text = f"{column} {'NOT ' if negated else ''}IN ({', '.join(map(_sql, values))})"
            return text, lambda row: row[column] is not None and (_key(row[column]) in keys) != negated
        case "between":
            low, high = (draw(VALUES[column].filter(lambda value: value is not None)) for _ in range(2))
            text = f"{column} BETWEEN {_sql(low)} AND {_sql(high)}"
            return text, lambda row: row[column] is not None and _key(low) <= _key(row[column]) <= _key(high)
        case "prefix":
            prefix = draw(TEXTS)
            text = f"s LIKE '{prefix}%'"
            return text, lambda row: row["s"] is not None and row["s"].startswith(prefix)
    operator = draw(st.sampled_from(list(COMPARISONS)))
    literal = draw(VALUES[column].filter(lambda value: value is not None))
    compare = COMPARISONS[operator]
    text = f"{column} {operator} {_sql(literal)}"
    return text, lambda row: row[column] is not None and compare(_key(row[column]), _key(literal))


def _joined(terms: list[tuple[str, Test]], word: str) -> tuple[str, Test]:
    texts, tests = zip(*terms, strict=True)
    every = all if word == "AND" else any
    return f" {word} ".join(f"({text})" for text in texts), lambda row: every(test(row) for test in tests)


def _some_joined(terms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(_joined, st.lists(terms, min_size=2, max_size=3), st.sampled_from(["AND", "OR"]))


PREDICATES = _leaf() | _some_joined(_leaf()) | _some_joined(_leaf() | _some_joined(_leaf()))
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4)


@st.composite
def _stats(draw: st.DrawFn, rows: list[Row], names: list[str]) -> dict[str, Any]:
    """What a writer may record of rows: no bounds of some columns, no counts of others, NaN left out."""
    lower: Row = {}
    upper: Row = {}
    counts: list[int | None] = []
    for name in names:
        values = [row[name] for row in rows if row[name] is not None]
        if draw(st.booleans()):
            values = [value for value in values if value == value]
        known = bool(values) and draw(st.integers(0, 3)) > 0
        lower[name] = min(values, key=_key) if known else None
        upper[name] = max(values, key=_key) if known else None
        nulls = sum(row[name] is None for row in rows)
        counts.append(nulls if draw(st.integers(0, 3)) else None)
    types = [(name, data_type) for name, data_type in COLUMNS if name in names]
    return {"_MIN_VALUES": row(types, **lower), "_MAX_VALUES": row(types, **upper), "_NULL_COUNTS": counts}


def _between(low: bytes, high: bytes, *nulls: int) -> dict[str, Any]:
    """Statistics of columns without nulls, or with so many."""
    return {"_MIN_VALUES": low, "_MAX_VALUES": high, "_NULL_COUNTS": list(nulls)}


def _partition(value: int) -> bytes:
    return row([("p", pa.int32())], p=value)


def _kept(root: Path, where: str) -> set[str]:
    files = lakebed.open_table(root).files(where=where, columns=["file_name"], threads=1)
    return set(files.to_arrow()["file_name"].to_pylist())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.lists(ROWS, min_size=1, max_size=4), PREDICATES)
def test_no_file_with_a_matching_row_is_left_out(
    data: st.DataObject, files: list[list[Row]], predicate: tuple[str, Test]
) -> None:
    where, matches = predicate
    with tempfile.TemporaryDirectory() as folder:
        table = MadeTable(Path(folder) / "t", *SCHEMA, partitionKeys=["p"])
        entries = []
        for number, rows in enumerate(files):
            for row_of_file in rows:
                row_of_file["p"] = rows[0]["p"]
            stats = data.draw(_stats(rows, [name for name, _ in COLUMNS]))
            partition = _partition(rows[0]["p"])
            entries.append(entry(ADD, f"f{number}", partition, value_stats=stats, row_count=len(rows)))
        table.commit(*entries)
        needed = {f"f{number}" for number, rows in enumerate(files) if any(map(matches, rows))}
        assert needed <= _kept(table.root, where), where


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.lists(ROWS, min_size=1, max_size=4), PREDICATES, st.sampled_from([0, 5]))
def test_merged_rows_are_the_same(
    data: st.DataObject, files: list[list[Row]], predicate: tuple[str, Test], level: int
) -> None:
    """Of a table with primary keys the newest version of a row counts, whichever file it is in."""
    where, matches = predicate
    if level:
        # Files of one level above the first share no key.
        files = [[row | {"k": 10 * number + row["k"]} for row in rows] for number, rows in enumerate(files)]
    with tempfile.TemporaryDirectory() as folder:
        table = MadeTable(Path(folder) / "t", *SCHEMA, primaryKeys=["k"], options={"bucket": "1"})
        entries = []
        for number, rows in enumerate(files):
            keys = [row["k"] for row in rows]
            file: dict[str, Any] = {"row_count": len(rows), "level": level}
            file["key_stats"] = _between(_ints(k=min(keys)), _ints(k=max(keys)), 0)
            file["value_stats"] = data.draw(_stats(rows, [name for name, _ in COLUMNS]))
            entries.append(entry(ADD, f"f{number}", EMPTY_ROW, **file) | {"_TOTAL_BUCKETS": 1})
        table.commit(*entries)
        kept = _kept(table.root, where)

    def merged(names: set[str]) -> list[Row]:
        newest: dict[int, Row] = {}
        for number, rows in enumerate(files):
            if f"f{number}" in names:
                newest.update({row["k"]: row for row in rows})
        return [row for _, row in sorted(newest.items()) if matches(row)]

    assert repr(merged(kept)) == repr(merged({f"f{number}" for number in range(len(files))})), where


def _one_file(root: Path, *later: tuple[str, str], **file: Any) -> MadeTable:
    """A table of a file whose columns have values from 1 to 9, and another schema later."""
    table = MadeTable(root / "t", ("a", "INT"), ("b", "INT"))
    stats = _between(_ints(a=1, b=1), _ints(a=9, b=9), 0, 0)
    table.commit(entry(ADD, "f0", schema_id=0, row_count=10, **{"value_stats": stats, **file}))
    if later:
        table.write_schema(1, *later)
    return table


def _ints(**values: int | None) -> bytes:
    return row([(name, pa.int32()) for name in values], **values)


@pytest.mark.parametrize(
    ("where", "kept"),
    [("c = 5", False), ("c IS NULL", True), ("c IS NOT NULL", False), ("c <> 5", False), ("a = 5", True)],
)
def test_48_columns_that_files_lack_are_null(tmp_path: Path, where: str, kept: bool) -> None:
    table = _one_file(tmp_path, ("a", "INT"), ("b", "INT"), ("c", "INT"))
    assert bool(_kept(table.root, where)) == kept


def test_49_what_is_not_collected_prunes_nothing(tmp_path: Path) -> None:
    stats = _between(_ints(a=1), _ints(a=9), 0)
    table = _one_file(tmp_path, value_stats=stats, value_stats_cols=["a"])
    assert _kept(table.root, "b = 100") == _kept(table.root, "b IS NULL") == {"f0"}
    assert _kept(table.root, "a = 100") == set()


def test_50_widened_integers(tmp_path: Path) -> None:
    table = _one_file(tmp_path, ("a", "BIGINT"), ("b", "INT"))
    assert _kept(table.root, "a = 5") == {"f0"}
    # No INT is as large: the engine leaves the test out, the bounds cast to BIGINT tell.
    assert _kept(table.root, "a = 3000000000") == _kept(table.root, "a = 10") == set()
    assert _kept(table.root, "a < 3000000000") == {"f0"}


def test_51_numbers_that_became_texts(tmp_path: Path) -> None:
    table = _one_file(tmp_path, ("a", "STRING"), ("b", "INT"))
    assert _kept(table.root, "a = 'x'") == {"f0"}


def test_65_nan_and_zeros(tmp_path: Path) -> None:
    table = MadeTable(tmp_path / "t", ("d", "DOUBLE"))
    for number, (low, high) in enumerate([(1.0, float("nan")), (0.0, 3.0), (-2.0, -0.0)]):
        kinds = [("d", pa.float64())]
        stats = _between(row(kinds, d=low), row(kinds, d=high), 0)
        table.commit(entry(ADD, f"f{number}", value_stats=stats, row_count=9))
    assert _kept(table.root, "d < 0.5") == {"f1", "f2"}
    assert _kept(table.root, "d = 'NaN'") == {"f0", "f1", "f2"}
    assert _kept(table.root, "d = 0.0") == _kept(table.root, "d = '-0.0'") == {"f1", "f2"}


def test_65_integers_that_became_floats_hold_no_nan(tmp_path: Path) -> None:
    table = _one_file(tmp_path, ("a", "DOUBLE"), ("b", "FLOAT"))
    for where in ("a > 9", "a >= 9.5", "a = 'NaN'", "is_nan(a)", "a NOT BETWEEN 1 AND 9", "b > 9.25"):
        assert _kept(table.root, where) == set(), where
    for where in ("a > 8.5", "a >= 9", "a <> 9", "NOT is_nan(b)"):
        assert _kept(table.root, where) == {"f0"}, where


def test_partitions_of_floats_hold_nan_only_where_that_is_their_value(tmp_path: Path) -> None:
    table = MadeTable(tmp_path / "t", ("p", "DOUBLE"), ("k", "INT"), partitionKeys=["p"])
    kinds = [("p", pa.float64()), ("k", pa.int32())]
    for name, value in [("nan", float("nan")), ("three", 3.0)]:
        stats = _between(row(kinds, p=value, k=0), row(kinds, p=value, k=9), 0, 0)
        partition = row([("p", pa.float64())], p=value)
        table.commit(entry(ADD, name, partition, value_stats=stats, row_count=9))
    # The term of the key makes that both columns are held against what statistics say.
    for where, kept in [
        ("p > 5", {"nan"}),
        ("p >= 3", {"nan", "three"}),
        ("p = 'NaN'", {"nan"}),
        ("p <> 3", {"nan"}),
        ("p NOT IN (3, 'NaN')", set()),
        ("p < 5", {"three"}),
    ]:
        assert _kept(table.root, where) == _kept(table.root, f"({where}) OR k > 100") == kept, where


BEYOND = [
    # Of infinities and NaN nothing is known where bounds are finite but that they may be NaN.
    ("d > 1E247", {"open"}),
    ("d >= 1E400", {"open"}),
    ("d > -1E247", {"none", "open"}),
    ("d < 1E400", {"none", "open"}),
    ("d <= -1E247", set()),
    ("d = 1E247", set()),
    ("d <> 1E247", {"none", "open"}),
    ("d IN (1E247, 2)", {"none", "open"}),
    ("d NOT IN (1E247)", {"none", "open"}),
    ("d BETWEEN 9 AND 1E247", set()),
    ("d BETWEEN -1E400 AND 1E400", {"none", "open"}),
    ("NOT (d <= 1E247)", {"open"}),
    ("m < 1000000", {"none", "open"}),
    ("m >= 1E40", set()),
]


@pytest.mark.parametrize(("where", "kept"), BEYOND)
def test_literals_beyond_a_column_are_compared(tmp_path: Path, where: str, kept: set[str]) -> None:
    """`none` was written of integers, which hold no NaN; `open` of floats."""
    table = MadeTable(tmp_path / "t", ("d", "INT"), ("m", "INT"))
    stats = _between(_ints(d=1, m=1), _ints(d=3, m=3), 0, 0)
    table.commit(entry(ADD, "none", value_stats=stats, row_count=9))
    table.write_schema(1, ("d", "FLOAT"), ("m", "INT"))
    kinds = [("d", pa.float32()), ("m", pa.int32())]
    stats = _between(row(kinds, d=1, m=1), row(kinds, d=3, m=3), 0, 0)
    table.commit(entry(ADD, "open", value_stats=stats, row_count=9, schema_id=1))
    assert _kept(table.root, where) == kept


def test_texts_that_were_cut_behind_a_surrogate(tmp_path: Path) -> None:
    """Paimon's writer makes a question mark of U+D800, which is less than what it stands for."""
    table = MadeTable(tmp_path / "t", ("s", "STRING"))
    low, high = (row([("s", pa.string())], s=text) for text in ("\ud7ff" * 16, "\ud7ff" * 15 + "?"))
    stats = _between(low, high, 0)
    table.commit(entry(ADD, "f0", value_stats=stats, row_count=9))
    text = "\ud7ff" * 20
    assert _kept(table.root, f"s = '{text}'") == {"f0"}


def test_deletions_are_not_left_out(tmp_path: Path) -> None:
    """Their statistics may be anything, and the bucket of a filter's keys is none of their business."""
    options = {"bucket": "4", "bucket-key": "k"}
    table = MadeTable(tmp_path / "t", ("k", "INT"), ("v", "INT"), options=options)
    added = _between(_ints(k=1, v=1), _ints(k=9, v=9), 0, 0)
    dropped = _between(_ints(k=7, v=7), _ints(k=7, v=7), 0, 0)
    names = [f"f{bucket}" for bucket in range(4)]
    for number, (kind, stats) in enumerate([(ADD, added), (DELETE, dropped)]):
        files = [
            entry(kind, name, bucket=bucket, value_stats=stats, row_count=9)
            | {"_TOTAL_BUCKETS": 4 if number == 0 else 2}
            for bucket, name in enumerate(names)
        ]
        table.commit(*files)
    opened = lakebed.open_table(table.root)
    assert len(_kept_at(opened.at(snapshot=1), "k = 1 AND v = 1")) == 1
    assert _kept_at(opened, "k = 1 AND v = 1") == set()
    kinds = opened.entries(where="k = 1 AND v = 1", columns=["kind"]).to_arrow()["kind"].to_pylist()
    assert sorted(kinds) == [ADD, DELETE, DELETE, DELETE, DELETE]


def _kept_at(table: lakebed.Table, where: str) -> set[str]:
    return set(table.files(where=where, columns=["file_name"]).to_arrow()["file_name"].to_pylist())


def test_nested_fields_bind_and_keep(tmp_path: Path) -> None:
    nested = {"type": "ROW", "fields": [{"id": 5, "name": "x", "type": "INT"}]}
    table = MadeTable(tmp_path / "t", ("a", nested), ("b.c", "INT"), highestFieldId=5)
    table.commit(entry(ADD, "f0", row_count=3))
    for where in ("a.x = 5", "a IS NULL", "a IS NOT NULL", '"b.c" = 5'):
        assert _kept(table.root, where) == {"f0"}, where
    for where in ("a.x = 'text'", "a.y = 1", "a = 5"):
        with pytest.raises(lakebed.errors.PredicateError):
            _kept(table.root, where)


def test_explain_counts_rows_and_bytes_of_every_step(tmp_path: Path) -> None:
    table = MadeTable(tmp_path / "t", ("p", "INT"), ("k", "INT"), partitionKeys=["p"])
    for number in range(4):
        low, high = (_ints(p=number % 2, k=10 * number + end) for end in (0, 9))
        stats = _between(low, high, 0, 0)
        file: dict[str, Any] = {"value_stats": stats, "row_count": 100, "file_size": 1000}
        table.commit(entry(ADD, f"f{number}", _partition(number % 2), **file))
    table.commit(entry(DELETE, "f0", _partition(0), value_stats=stats, row_count=100, file_size=1000))
    explain = lakebed.open_table(table.root).files(where="p = 0 AND k < 25").explain()
    steps = [(step.step, step.kept, step.total, step.rows_kept, step.bytes_kept) for step in explain.steps]
    assert steps == [
        ("manifests", 3, 5, None, steps[0][4]),
        # What only deletes is read before, to know what is live.
        ("entries", 2, 2, 200, 2000),
        ("files", 1, 2, 100, 1000),
        ("files", 1, 1, 100, 1000),
    ]
    assert all(step.why for step in explain.steps)


def test_rows_are_those_of_the_format() -> None:
    """The helper that makes statistics here speaks BinaryRow."""
    assert paimon.decode_rows(pa.array([_ints(a=1, b=2)]), pa.schema([("a", pa.int32()), ("b", pa.int32())]))


def test_elsewhere_each_file_is_decided_on_alone(tmp_path: Path) -> None:
    """An executor that has one manifest cannot tell what other files of a bucket hide: it keeps them."""
    table = MadeTable(tmp_path / "t", ("k", "INT NOT NULL"), ("v", "INT"), primaryKeys=["k"])
    for number in range(2):
        keys = _between(_ints(k=10 * number), _ints(k=10 * number + 9), 0)
        values = _between(_ints(k=10 * number, v=0), _ints(k=10 * number + 9, v=9), 0, 0)
        table.commit(entry(ADD, f"f{number}", key_stats=keys, value_stats=values, row_count=10))
    for where, here, elsewhere in [
        ("v = 100", set(), {"f0", "f1"}),
        ("v = 5", {"f0", "f1"}, {"f0", "f1"}),
        ("v = 100 AND k = 15", set(), {"f1"}),
    ]:
        scan = lakebed.open_table(table.root).files(where=where, columns=["file_name"])
        job = scan.job(Bounds())
        assert job is not None
        mapping, rows = JobMap(job.to_bytes(), lakebed.LIMITS), list[pa.RecordBatch]()
        for manifest in job.manifests:
            content = pa.array([Path(manifest["path"]).read_bytes()], pa.binary())
            rows += mapping.of_contents(iter([(manifest["path"], content)]))
        pieces = [
            pa.ipc.open_stream(piece).read_all() for batch in rows for piece in batch["rows"].to_pylist()
        ]
        found = {name for piece in pieces for name in piece["file_name"].to_pylist()}
        assert (_kept(table.root, where), found) == (here, elsewhere), where
