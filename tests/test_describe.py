"""What `describe_file` says of the rows of a file, against what each format's Python peer wrote of them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paimon_made import MadeTable
from paimon_made import row as made_row

import lakebed
from lakebed import errors
from lakebed._metrics import upper_prefix

UTC = dt.timezone.utc
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int64(), [3, 1, 2]),
    "day": (pa.date32(), [dt.date(2026, 1, 1)] * 3),
    "text": (pa.string(), ["the quick brown fox jumps", None, "été" * 7]),
    "price": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-0.01"), None]),
    "at": (pa.timestamp("us"), [dt.datetime(2026, 1, 1, 12, 0, 0, 1), None, dt.datetime(1969, 1, 1)]),
    "flag": (pa.bool_(), [None, None, None]),
    "ratio": (pa.float64(), [1.5, -2.5, None]),
}
SCHEMA = pa.schema([pa.field(name, kind, nullable=name != "id") for name, (kind, _) in COLUMNS.items()])
ROWS = pa.table({name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()}).cast(SCHEMA)


def iceberg(root: Path, rows: pa.Table = ROWS, **properties: str) -> lakebed.Table:
    """A table that PyIceberg wrote: `rows` in one file, partitioned by month of `at`'s day and bucket."""
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import MonthTransform, TruncateTransform

    catalog = SqlCatalog("c", uri=f"sqlite:///{root}/c.db", warehouse=f"file://{root}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", rows.schema, properties=properties)
    with table.update_spec() as spec:
        spec.add_field("day", MonthTransform(), "month").add_field("id", TruncateTransform(10), "tens")
    table.append(rows)
    return lakebed.open_table(table.metadata_location.removeprefix("file://"))


def described(table: lakebed.Table, rows: pa.Table, **columns: Any) -> dict[str, Any]:
    """The description, once with all rows in one batch and once row by row: they must be the same."""
    path = "data/file-0.parquet"
    size: dict[str, Any] = {"file_size_in_bytes": 10, "columns": columns}
    (row,) = lakebed.describe_file(table, path, rows, **size).to_pylist()
    batches = pa.Table.from_batches(rows.to_batches(max_chunksize=1), rows.schema)
    # As text, in which NaN is itself.
    assert str(lakebed.describe_file(table, path, batches, **size).to_pylist()) == str([row])
    return dict(row)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"write.metadata.metrics.default": "truncate(3)", "write.metadata.metrics.column.text": "full"},
        {"write.metadata.metrics.default": "counts", "write.metadata.metrics.column.id": "none"},
    ],
    ids=str,
)
def test_iceberg_metrics_are_those_of_pyiceberg(tmp_path: Path, properties: dict[str, str]):
    table = iceberg(tmp_path, **properties)
    mine = described(table, ROWS)
    names = list(mine["stats"])
    (theirs,) = table.files(stats=names).to_arrow().to_pylist()
    for name in ("partition", "spec_id", "record_count", "file_format", "content"):
        assert mine[name] == theirs[name], name
    for name in names:
        # What it takes on disk only the file's writer knows; PyIceberg counts NaN nowhere.
        unknown = {"column_size": None, "nan_count": None}
        assert {**mine["stats"][name], **unknown} == {**theirs["stats"][name], **unknown}, name
    assert (mine["stats"]["ratio"]["nan_count"], mine["stats"]["text"]["nan_count"]) == (0, None)


def paimon(root: Path, rows: pa.Table = ROWS, **options: str) -> lakebed.Table:
    """A table that pypaimon wrote: `rows` in one file of one partition."""
    pytest.importorskip("pypaimon")
    from pypaimon import CatalogFactory, Schema

    catalog = CatalogFactory.create({"warehouse": str(root)})
    catalog.create_database("d", False)
    schema = Schema.from_pyarrow_schema(
        rows.schema, partition_keys=["day"], options={"bucket": "-1", **options}
    )
    catalog.create_table("d.t", schema, False)
    pytest.importorskip("catalog_tables").paimon_append(catalog.get_table("d.t"), rows)
    return lakebed.open_table(root / "d.db" / "t")


def test_paimon_statistics_are_those_of_pypaimon(tmp_path: Path):
    table = paimon(tmp_path, **{"metadata.stats-mode": "full"})
    mine = described(table, ROWS, bucket=0)
    (theirs,) = table.files(stats=list(mine["stats"])).to_arrow().to_pylist()
    for name in ("partition", "spec_id", "record_count", "file_format", "bucket"):
        assert mine[name] == theirs[name], name
    for name, metrics in mine["stats"].items():
        unknown = {"column_size": None, "nan_count": None, "value_count": None}
        assert {**metrics, **unknown} == {**theirs["stats"][name], **unknown}, name


def test_keys_are_the_ends_of_their_order(tmp_path: Path):
    columns = [("day", "DATE NOT NULL"), ("at", "TIMESTAMP(3) NOT NULL"), ("id", "BIGINT NOT NULL")]
    made = MadeTable(tmp_path / "t", *columns, primaryKeys=["day", "at", "id"], partitionKeys=["day"])
    day, late, early = dt.date(2026, 1, 1), dt.datetime(2026, 1, 2), dt.datetime(1969, 1, 1)
    rows = pa.table({"day": [day] * 3, "at": [late, early, early], "id": [1, 7, 3]})
    row = described(lakebed.open_table(made.root), rows)
    types = [("at", pa.timestamp("ms")), ("id", pa.int64())]
    ends = [made_row(types, at=early, id=3), made_row(types, at=late, id=1)]
    assert [row["min_key"], row["max_key"]] == ends


def test_paimon_modes(tmp_path: Path):
    options = {
        "metadata.stats-mode": "counts",
        "fields.text.stats-mode": "truncate(2)",
        "fields.id.stats-mode": "none",
        "metadata.stats-keep-first-n-columns": "4",
    }
    stats = described(paimon(tmp_path, **options), ROWS)["stats"]
    assert list(stats) == ["day", "text", "price"]
    assert (stats["text"]["lower_bound"], stats["text"]["upper_bound"]) == ("th", "éu")
    assert (stats["price"]["null_count"], stats["price"]["upper_bound"]) == (1, None)


def test_floats_keep_nan_and_both_zeros_in_their_bounds(tmp_path: Path):
    rows = ROWS.set_column(6, SCHEMA.field("ratio"), [[0.0, math.nan, -0.0]])
    (tmp_path / "iceberg").mkdir()
    ratio = described(iceberg(tmp_path / "iceberg", rows), rows)["stats"]["ratio"]
    assert (ratio["nan_count"], math.copysign(1, ratio["lower_bound"]), ratio["upper_bound"]) == (1, -1, 0)
    # Java compares NaN as the greatest number, so bounds without it would lose rows.
    ratio = described(paimon(tmp_path / "paimon", rows), rows)["stats"]["ratio"]
    assert ratio["lower_bound"] == 0
    assert math.isnan(ratio["upper_bound"])


@pytest.mark.parametrize(
    ("change", "kind", "field", "record"),
    [
        (lambda rows: rows.drop(["text"]), "unknown-column", "text", None),
        (lambda rows: rows.append_column("more", [[1, 2, 3]]), "unknown-column", "more", None),
        (lambda rows: rows.set_column(0, "id", [["a", "b", "c"]]), "type", "id", None),
        (lambda rows: rows.set_column(0, "id", [pa.array([1, 2, None])]), "required", "id", 2),
        (lambda rows: rows.set_column(0, "id", [[1, 2, 30]]), "mismatch", "tens", 2),
        (lambda rows: rows.set_column(1, "day", [[dt.date(2026, 1, 1), None, None]]), "mismatch", "month", 1),
        (lambda rows: rows.slice(0, 0), "argument", None, None),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    tmp_path: Path, change: Any, kind: str, field: str | None, record: int | None
):
    table = iceberg(tmp_path)
    for rows in (
        change(ROWS),
        pa.Table.from_batches(change(ROWS).to_batches(max_chunksize=1), change(ROWS).schema),
    ):
        with pytest.raises(errors.SchemaError) as caught:
            lakebed.describe_file(table, "f.parquet", rows, file_size_in_bytes=1)
        assert (caught.value.kind, caught.value.field, caught.value.record) == (kind, field, record)


def test_names_and_sizes(tmp_path: Path):
    table = iceberg(tmp_path)
    with pytest.raises(errors.SchemaError, match="suffix"):
        lakebed.describe_file(table, "data/file", ROWS, file_size_in_bytes=1)
    with pytest.raises(FileNotFoundError):
        lakebed.describe_file(table, tmp_path / "none.parquet", ROWS)
    with pytest.raises(errors.SchemaError, match="no column 'colour'"):
        lakebed.describe_file(table, "f.orc", ROWS, file_size_in_bytes=1, columns={"colour": 1})
    inside = Path(table.location) / "data" / "g.orc"
    inside.parent.mkdir(exist_ok=True)
    inside.write_bytes(b"123")
    for path in ("data/g.orc", inside):
        assert lakebed.describe_file(table, path, ROWS)["file_size_in_bytes"].to_pylist() == [3]
    (tmp_path / "f.orc").write_bytes(b"12345")
    row = lakebed.describe_file(table, tmp_path / "f.orc", ROWS, columns={"sort_order_id": 0}).to_pylist()[0]
    assert (row["file_size_in_bytes"], row["file_format"], row["sort_order_id"]) == (5, "ORC", 0)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(
    st.one_of(st.tuples(TEXTS, TEXTS), st.tuples(st.binary(max_size=6), st.binary(max_size=6))),
    st.integers(1, 4),
)
def test_cut_bounds_are_above_all_that_they_stand_for(values: Any, length: int):
    value, more = values
    upper = upper_prefix(value, length)
    if upper is None:
        greatest = chr(0x10FFFF) if isinstance(value, str) else b"\xff"
        assert value[:length] == greatest * length
        return
    assert len(upper) <= length
    as_bytes = [
        text.encode() if isinstance(text, str) else text for text in (upper, value, value[:length] + more)
    ]
    if len(value) <= length:
        assert upper == value
    else:
        assert as_bytes[0] > as_bytes[1]
        assert as_bytes[0] > as_bytes[2]
