"""What `describe_files` says of files, by their footers, and which files it refuses."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
import thrift_footers
from raising import raises

import lakebed
from lakebed.errors import EncryptionError, LakebedError, SchemaError, UnsupportedError
from shared_data import PROJECT

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": ["b", None, "é"]})


def made(folder: Path, schema: pa.Schema = ROWS.schema, **given: Any) -> lakebed.Table:
    return lakebed.create_table(folder / "t", schema, "iceberg", **given)


def written(folder: Path, rows: pa.Table = ROWS, name: str = "a.parquet", **options: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, **options)
    return path


def stats(path: Path, table: lakebed.Table | None = None) -> dict[str, dict[str, Any]]:
    (row,) = lakebed.describe_files([path], table).to_pylist()
    return dict(row["stats"])


def bounds(path: Path, name: str) -> tuple[Any, Any]:
    found = stats(path)[name]
    return found["lower_bound"], found["upper_bound"]


def test_a_row_says_what_commits_take(tmp_path: Path):
    path = written(tmp_path, row_group_size=2)
    (row,) = lakebed.describe_files([path], made(tmp_path)).to_pylist()
    assert row.pop("stats").keys() == {"id", "text"}
    metadata = pq.read_metadata(path)
    starts = [metadata.row_group(number).column(0).dictionary_page_offset for number in range(2)]
    assert row == {
        "content": 0,
        "file_path": str(path),
        "file_format": "PARQUET",
        "record_count": 3,
        "file_size_in_bytes": path.stat().st_size,
        "split_offsets": starts,
        "partition": {},
        "spec_id": 0,
    }
    assert lakebed.describe_files([], made(tmp_path / "other")).num_rows == 0


def test_without_a_table_rows_are_of_the_first_files_columns(tmp_path: Path):
    written(tmp_path / "x", name="b.parquet")
    written(tmp_path / "x" / "y", name="a.parquet")
    rows = lakebed.describe_files(tmp_path / "x")
    assert [Path(path).name for path in rows["file_path"].to_pylist()] == ["b.parquet", "a.parquet"]
    assert made(tmp_path).append_files(rows).files(where="text = 'b'").to_arrow().num_rows == 2
    other = written(tmp_path / "x" / "z", pa.table({"id": ["no number"]}))
    with raises(SchemaError, kind="type", path=str(other), field="id"):
        lakebed.describe_files(tmp_path / "x")


@pytest.mark.parametrize("writer", ["duckdb", "polars", "fastparquet"])
def test_files_of_other_writers(writer: str):
    found = stats(PROJECT / "tests" / "data" / "footers" / f"{writer}.parquet")
    # This one does not say in which order its texts are.
    ordered = writer != "fastparquet"
    assert found["s"]["lower_bound"] == ("aé" if ordered else None)
    assert found["b"]["upper_bound"] == (b"\xff" if ordered else None)
    assert found["ts"]["upper_bound"] == dt.datetime(2026, 1, 2)
    assert (found["id"]["lower_bound"], found["id"]["null_count"]) == (1, 1)
    if ordered:
        assert found["p"]["lower_bound"] == Decimal("-3.50")


def test_old_bounds_are_taken_where_their_order_cannot_matter(tmp_path: Path):
    # By signed bytes, as parquet-java ordered texts once, "é" is before "b".
    rows = ROWS.append_column("same", [["é", None, "é"]])
    path = thrift_footers.edited(written(tmp_path, rows), thrift_footers.with_old_bounds)
    old = pq.read_metadata(path).row_group(0).column(1).statistics
    assert old.has_min_max, "else this test tests nothing"
    assert bounds(path, "id") == (1, 3)
    assert bounds(path, "text") == (None, None)
    assert bounds(path, "same") == ("é", "é")
    assert stats(path)["text"]["null_count"] == 1


def test_bounds_of_some_row_groups_are_none_of_the_file(tmp_path: Path):
    # Writers leave out bounds of long texts, and keep the number of nulls.
    rows = pa.table({"text": ["a", "b", "x" * 10_000, None]})
    path = written(tmp_path, rows, row_group_size=2)
    assert pq.read_metadata(path).row_group(1).column(0).statistics.has_min_max is False
    found = stats(path)["text"]
    assert (found["lower_bound"], found["upper_bound"], found["null_count"]) == (None, None, 1)
    # A group of nothing but nulls has no bounds, and needs none.
    path = written(tmp_path, pa.table({"text": ["a", "b", None, None]}), row_group_size=2)
    assert bounds(path, "text") == ("a", "b")


def test_counts_that_are_not_there_are_null(tmp_path: Path):
    def without_nulls(footer: thrift_footers.Struct) -> None:
        next(iter(thrift_footers.statistics(footer))).pop(thrift_footers.NULL_COUNT)

    path = thrift_footers.edited(written(tmp_path, row_group_size=2), without_nulls)
    assert (stats(path)["id"]["null_count"], stats(path)["text"]["null_count"]) == (None, 1)
    path = written(tmp_path, write_statistics=False)
    found = stats(path)["id"]
    assert (found["value_count"], found["null_count"], found["lower_bound"]) == (3, None, None)


def test_bounds_that_are_no_values_are_none(tmp_path: Path):
    def cut_within_a_letter(footer: thrift_footers.Struct) -> None:
        for one in thrift_footers.statistics(footer):
            one[thrift_footers.MAX] = (8, one[thrift_footers.MAX][1][:-1] or b"\xc3")

    path = thrift_footers.edited(written(tmp_path, ROWS.select(["text"])), cut_within_a_letter)
    assert bounds(path, "text") == (None, None)


def test_bounds_that_contradict_each_other_are_none(tmp_path: Path):
    def exchanged(footer: thrift_footers.Struct) -> None:
        for one in thrift_footers.statistics(footer):
            one[thrift_footers.MIN], one[thrift_footers.MAX] = (
                one[thrift_footers.MAX],
                one[thrift_footers.MIN],
            )

    path = thrift_footers.edited(written(tmp_path), exchanged)
    assert bounds(path, "id") == bounds(path, "text") == (None, None)
    assert stats(path)["text"]["null_count"] == 1


def test_floats(tmp_path: Path):
    rows = pa.table({"x": [1.0, math.nan, 0.0], "y": [math.nan] * 3, "z": pa.array([-0.0] * 3, pa.float32())})
    path = written(tmp_path, rows)
    assert str(bounds(path, "x")) == "(-0.0, 1.0)"
    assert bounds(path, "y") == (None, None)
    assert str(bounds(path, "z")) == "(-0.0, 0.0)"

    def of_nan(footer: thrift_footers.Struct) -> None:
        for one in thrift_footers.statistics(footer):
            one[thrift_footers.MAX] = (8, b"\0\0\0\0\0\0\xf8\x7f")

    path = thrift_footers.edited(written(tmp_path, rows.select(["x"])), of_nan)
    assert bounds(path, "x") == (None, None)
    # Paimon compares NaN, of which no footer speaks.
    table = lakebed.create_table(tmp_path / "p", rows.schema, "paimon", properties={"bucket": "-1"})
    found = stats(written(tmp_path, rows), table)["x"]
    assert (found["lower_bound"], found["upper_bound"], found["null_count"]) == (None, None, 0)


def test_timestamps_of_twelve_bytes_have_no_bounds(tmp_path: Path):
    rows = pa.table({"at": pa.array([0, 1], pa.timestamp("us", "UTC"))})
    path = written(tmp_path, rows, use_deprecated_int96_timestamps=True)
    found = stats(path, made(tmp_path, rows.schema))["at"]
    assert (found["value_count"], found["lower_bound"]) == (2, None)


def test_types_that_arrow_shows_otherwise(tmp_path: Path):
    times = [("n", pa.timestamp("ns")), ("z", pa.timestamp("ns", "UTC"))]
    if not hasattr(pa, "uuid"):
        pytest.skip("pyarrow 18 is the first with UUIDs")
    schema = pa.schema([("u", pa.uuid()), ("f", pa.binary(20)), *times])
    table = made(tmp_path, schema, format_version=3)
    ids = [bytes(range(16)), bytes(range(1, 17))]
    rows = pa.table(
        {
            "u": pa.array(ids, pa.binary(16)),
            "f": pa.array([b"a" * 20, b"b" * 20], pa.binary(20)),
            "n": pa.array([1, 1_000_000_001], pa.timestamp("ns")),
            "z": pa.array([1, 1_000_000_001], pa.timestamp("ns", "UTC")),
        }
    )
    (found,) = lakebed.describe_files([written(tmp_path, rows)], table)["stats"]
    assert found["u"]["lower_bound"].as_py() == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert found["f"]["upper_bound"].as_py() == b"b" * 20
    assert [found[name]["upper_bound"].value for name in ("n", "z")] == [1_000_000_001] * 2
    assert table.schema.field("u").type == pa.string()


PROMOTED = [
    (pa.int32(), pa.int64(), True),
    (pa.int64(), pa.int32(), False),
    (pa.int8(), pa.int32(), True),
    (pa.uint16(), pa.int32(), True),
    (pa.uint32(), pa.int64(), False),
    (pa.float32(), pa.float64(), True),
    (pa.float64(), pa.float32(), False),
    (pa.decimal128(9, 2), pa.decimal128(18, 2), True),
    (pa.decimal128(9, 2), pa.decimal128(9, 3), False),
    (pa.timestamp("ms"), pa.timestamp("us"), True),
    (pa.timestamp("ns"), pa.timestamp("us"), False),
    (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
    (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "UTC"), True),
    (pa.string(), pa.binary(), False),
    (pa.large_string(), pa.string(), True),
    (pa.dictionary(pa.int32(), pa.string()), pa.string(), True),
    (pa.null(), pa.string(), False),
    (pa.float16(), pa.float32(), False),
    (pa.duration("us"), pa.int64(), True),
]


@pytest.mark.parametrize(("have", "want", "fits"), PROMOTED, ids=str)
def test_types_that_readers_take(tmp_path: Path, have: pa.DataType, want: pa.DataType, *, fits: bool):
    value: Any = (
        Decimal("1.25") if pa.types.is_decimal(have) else "1" if want in (pa.string(), pa.binary()) else 1
    )
    value = None if pa.types.is_null(have) else value
    plain = have.value_type if pa.types.is_dictionary(have) else have
    plain = pa.float32() if have == pa.float16() else plain
    rows = pa.table({"x": pa.array([value], plain).cast(have) if plain != have else pa.array([value], have)})
    path, table = written(tmp_path, rows), made(tmp_path, pa.schema([("x", want)]))
    if not fits:
        with raises(SchemaError, kind="type", path=str(path), field="x"):
            lakebed.describe_files([path], table)
        return
    (row,) = (
        table.append_files(lakebed.describe_files([path], table)).files(stats=["x"]).to_arrow().to_pylist()
    )
    lower = row["stats"]["x"]["lower_bound"]
    expected = {1: 1, "1": "1"}.get(value, value)
    if pa.types.is_timestamp(want):
        lower, expected = (
            lower.timestamp() if want.tz else lower.replace(tzinfo=dt.timezone.utc).timestamp(),
            None,
        )
        assert lower == (0.001 if pa.types.is_timestamp(have) and have.unit == "ms" else 0.000001)
    else:
        assert lower == expected


REQUIRED = pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())])


@pytest.mark.parametrize(
    ("rows", "options", "kind", "field"),
    [
        (ROWS.append_column("more", [[1, 2, 3]]), {}, "unknown-column", "more"),
        (ROWS.set_column(0, "id", [["1", "2", "3"]]), {}, "type", "id"),
        (ROWS.set_column(1, "text", [[{"a": 1}] * 3]), {}, "type", "text"),
        (ROWS.drop(["id"]), {}, "required", "id"),
        (ROWS.set_column(0, "id", pa.array([1, None, 3])), {}, "required", "id"),
        (ROWS, {"write_statistics": False}, "required", "id"),
    ],
    ids=["more", "type", "kind", "absent", "null", "unmeasured"],
)
def test_files_that_do_not_fit_are_refused_by_name(
    tmp_path: Path, rows: pa.Table, options: dict[str, Any], kind: str, field: str
):
    table = made(tmp_path, REQUIRED)
    good = written(tmp_path, name="good.parquet")
    bad = written(tmp_path, rows, "bad.parquet", **options)
    with raises(SchemaError, kind=kind, path=str(bad), field=field):
        lakebed.describe_files([good, bad], table)


def test_nested_fields_that_do_not_fit(tmp_path: Path):
    schema = pa.schema(
        [("s", pa.struct([("x", pa.int32())])), ("l", pa.list_(pa.struct([("y", pa.int32())])))]
    )
    table = made(tmp_path, schema)
    for rows, field in (
        (pa.table({"s": [{"x": "text"}]}), "s.x"),
        (
            pa.table({"s": [{"x": 1, "z": 1}]}).cast(
                pa.schema([("s", pa.struct([("x", pa.int32()), ("z", pa.int32())]))])
            ),
            "s.z",
        ),
        (pa.table({"l": [[{"y": "text"}]]}), "l.element.y"),
    ):
        with raises(SchemaError, field=field):
            lakebed.describe_files([written(tmp_path, rows)], table)


def refused(path: Path) -> pa.Table | None:
    """None where a file is refused, by a typed error that names it; else what is said of it."""
    found: list[LakebedError] = []
    with contextlib.suppress(LakebedError):
        try:
            return lakebed.describe_files([path])
        except LakebedError as error:
            found.append(error)
            raise
    assert [error.path for error in found] == [str(path)]
    return None


@pytest.mark.parametrize("write", [pq.write_table, orc.write_table, lakebed.avro.write])
def test_every_beginning_of_a_file_is_refused(tmp_path: Path, write: Callable[[pa.Table, Path], object]):
    whole = tmp_path / "whole"
    write(ROWS, whole)
    content, path = whole.read_bytes(), tmp_path / "cut"
    records = lakebed.describe_files([whole])["record_count"].to_pylist()
    assert records == [3]
    for end in range(len(content)):
        path.write_bytes(content[:end])
        if (found := refused(path)) is not None:
            # Avro has no end: without its blocks a file is a whole one without rows.
            assert write is lakebed.avro.write
            assert found["record_count"].to_pylist() == [0]


@pytest.mark.parametrize("write", [pq.write_table, orc.write_table, lakebed.avro.write])
def test_no_flipped_bit_is_an_untyped_error(tmp_path: Path, write: Callable[[pa.Table, Path], object]):
    whole = tmp_path / "whole"
    write(ROWS, whole)
    content, path = bytearray(whole.read_bytes()), tmp_path / "flipped"
    count = 0
    for place in range(len(content)):
        for bit in (0, 3, 7):
            content[place] ^= 1 << bit
            path.write_bytes(content)
            count += refused(path) is None
            content[place] ^= 1 << bit
    assert count > 100


def test_files_that_are_none(tmp_path: Path):
    (tmp_path / "empty.parquet").touch()
    (tmp_path / "text.parquet").write_text("id,text\n" * 100)
    with raises(LakebedError, kind="truncated", path=str(tmp_path / "empty.parquet"), offset=0):
        lakebed.describe_files([tmp_path / "empty.parquet"])
    with raises(UnsupportedError, kind="magic", path=str(tmp_path / "text.parquet")):
        lakebed.describe_files([tmp_path / "text.parquet"])
    with pytest.raises(FileNotFoundError):
        lakebed.describe_files([tmp_path / "absent.parquet"])
    with pytest.raises(FileNotFoundError):
        lakebed.describe_files(tmp_path / "no_folder")


def test_a_footer_is_bounded(tmp_path: Path):
    path = written(tmp_path)
    content = bytearray(path.read_bytes())
    for length, kind in ((2**31 - 1, "limit"), (len(content), "length")):
        content[-8:-4] = length.to_bytes(4, "little")
        path.write_bytes(content)
        with raises(LakebedError, kind=kind, path=str(path)):
            lakebed.describe_files([path])


def test_encrypted_files_are_refused(tmp_path: Path):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc,name-defined]
        """Wraps no key."""

        def wrap_key(self, key: bytes, _: str) -> str:
            return key.hex()

    factory = encryption.CryptoFactory(lambda _: Keys())
    for plain, message in ((False, "the footer is encrypted"), (True, "columns are encrypted")):
        how = encryption.EncryptionConfiguration(
            footer_key="footer", column_keys={"column": ["id"]}, plaintext_footer=plain
        )
        keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
        path = tmp_path / f"{plain}.parquet"
        with pq.ParquetWriter(path, ROWS.schema, encryption_properties=keys) as writer:
            writer.write_table(ROWS)
        with raises(EncryptionError, message, kind="encryption", path=str(path)):
            lakebed.describe_files([path])
