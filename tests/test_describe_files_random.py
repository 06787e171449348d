"""Metrics that `describe_files` takes from footers of random files, against those that PyIceberg takes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trust import long_or

import lakebed

pytest.importorskip("pyiceberg")

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=24),
    pa.binary(): st.binary(max_size=24) | st.just(b"\xff" * 20),
    pa.binary(5): st.binary(min_size=5, max_size=5),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.timezone.utc)),
    pa.decimal128(9, 2): st.decimals(-(10**6), 10**6, places=2),
    pa.decimal128(18, 0): st.decimals(-(10**17), 10**17, places=0),
    pa.decimal128(38, 10): st.decimals(Decimal(-(10**27)), Decimal(10**27), places=10),
}
MODES = st.sampled_from(["none", "counts", "truncate(1)", "truncate(16)", "truncate(20)", "full"])


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows with some columns: plain ones, and one in a struct, a list and a map."""
    count = draw(st.integers(0, 12))

    def values(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(st.none() | strategy, min_size=count, max_size=count))

    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
    columns = {f"c{number}": pa.array(values(VALUES[kind]), kind) for number, kind in enumerate(kinds)}
    inner = draw(st.sampled_from(list(VALUES)))
    one = VALUES[inner]
    columns["s"] = pa.array(values(st.fixed_dictionaries({"x": st.none() | one})), pa.struct([("x", inner)]))
    columns["l"] = pa.array(values(st.lists(st.none() | one, max_size=3)), pa.list_(inner))
    columns["m"] = pa.array(
        values(st.dictionaries(st.text(max_size=3), one, max_size=2).map(lambda items: list(items.items()))),
        pa.map_(pa.string(), inner),
    )
    return pa.table(columns)


def theirs(table: lakebed.Table, path: Path) -> dict[str, Any]:
    """What PyIceberg makes of a footer, for the same table."""
    from pyiceberg.io.pyarrow import (
        compute_statistics_plan,
        data_file_statistics_from_parquet_metadata,
        parquet_path_to_id_mapping,
    )
    from pyiceberg.table import StaticTable

    metadata = max(Path(table.location, "metadata").glob("*.json"))
    loaded = StaticTable.from_metadata(str(metadata)).metadata
    statistics = data_file_statistics_from_parquet_metadata(
        pq.read_metadata(path),
        compute_statistics_plan(loaded.schema(), loaded.properties),
        parquet_path_to_id_mapping(loaded.schema()),
    )
    return dict(statistics.to_serialized_dict())


def nested_ids(table: lakebed.Table) -> tuple[set[int], set[int]]:
    """The ids of fields of structs, and of what lists and maps hold."""
    from lakebed._columns import columns_of, leaves_of

    leaves = [leaf for leaf in leaves_of(columns_of(table)) if leaf.id is not None]
    within = {leaf.id for leaf in leaves if "." in leaf.path and not leaf.repeated}
    return {id_ for id_ in within if id_}, {leaf.id for leaf in leaves if leaf.repeated and leaf.id}


@settings(max_examples=long_or(60, 2000), deadline=None)
@given(
    rows=tables(),
    modes=st.dictionaries(st.sampled_from(["c0", "c1", "s.x"]), MODES),
    default=MODES,
    group=st.integers(1, 12),
    measured=st.booleans(),
)
def test_metrics_are_those_of_pyiceberg(
    tmp_path_factory: pytest.TempPathFactory,
    rows: pa.Table,
    modes: dict[str, str],
    default: str,
    group: int,
    *,
    measured: bool,
) -> None:
    folder = tmp_path_factory.mktemp("random")
    named = {f"write.metadata.metrics.column.{name}": mode for name, mode in modes.items()}
    properties = {"write.metadata.metrics.default": default, **named}
    table = lakebed.create_table(folder / "t", rows.schema, "iceberg", properties=properties)
    path = folder / "file.parquet"
    # Of one column there may be no statistics.
    pq.write_table(rows, path, row_group_size=group, write_statistics=True if measured else ["c0"])

    expected = theirs(table, path)
    table = table.append_files(lakebed.describe_files([path], table))
    (entry,) = table.entries().to_arrow().to_pylist()
    assert entry["record_count"] == expected["record_count"] == rows.num_rows
    # A row group without rows begins nowhere.
    assert (entry["split_offsets"] or []) == (expected["split_offsets"] if rows.num_rows else [])

    def maps(name: str) -> tuple[dict[int, Any], dict[int, Any]]:
        return dict(entry[name] or {}), dict(expected[name])

    mine, their = maps("column_sizes")
    # PyIceberg has the sizes of columns without metrics too, as Java has not.
    kept = mine.keys()
    assert mine == {id_: size for id_, size in their.items() if id_ in kept}
    fields, repeated = nested_ids(table)
    for name in ("value_counts", "null_value_counts"):
        mine, their = maps(name)
        # As Java, and not as PyIceberg: nothing of what lists and maps hold.
        assert mine == {id_: count for id_, count in their.items() if id_ not in repeated}, name
    for name in ("lower_bounds", "upper_bounds"):
        mine, their = maps(name)
        # As Java, and not as PyIceberg: bounds of fields of structs.
        assert {id_: bound for id_, bound in mine.items() if id_ not in fields} == their, name
    assert not entry["nan_value_counts"]
