"""Tables of PyIceberg's `inspect`, column by column, with its schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyiceberg
from pyiceberg import types
from pyiceberg.conversions import from_bytes

from lakebed._below import NotTheSameError
from lakebed.pyiceberg.columns import BOUNDS, COUNTS, ManifestColumns, file_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

_READABLE = {
    "column_size": "column_sizes",
    "value_count": "value_counts",
    "null_value_count": "null_value_counts",
    "nan_value_count": "nan_value_counts",
    "lower_bound": "lower_bounds",
    "upper_bound": "upper_bounds",
}
_FIXED_WIDTH: dict[Any, pa.DataType] = {
    types.BooleanType: pa.int8(),
    types.IntegerType: pa.int32(),
    types.LongType: pa.int64(),
    types.FloatType: pa.float32(),
    types.DoubleType: pa.float64(),
    types.DateType: pa.int32(),
    types.TimeType: pa.int64(),
    types.TimestampType: pa.int64(),
    types.TimestamptzType: pa.int64(),
}
"""Bounds whose bytes are the values: little-endian, of one width."""
_NO_EMPTY_BOUNDS = pyiceberg.__version__.startswith(("0.10.", "0.11."))
"""Whether PyIceberg takes empty bounds for none, as it did before 0.12."""


class _Rows:
    """Some entries of a manifest, as columns of PyIceberg's tables."""

    def __init__(self, columns: ManifestColumns, rows: Sequence[int], table: Any) -> None:
        self._columns, self._table = columns, table
        self._taken = None if len(rows) == len(columns) else pa.array(rows, pa.int64())
        self.count = len(rows)

    def array(self, name: str) -> pa.Array:
        """A column of lakebed's."""
        return self._take(self._columns.array(name))

    def inherited(self, name: str) -> pa.Array:
        """A column of numbers with what is inherited."""
        return self._take(pa.array(self._columns.inherited(name), pa.int64()))

    def _take(self, array: pa.Array) -> pa.Array:
        return array if self._taken is None else array.take(self._taken)

    def contents(self) -> pa.Array:
        return self._take(pa.array(self._columns.contents, pa.int8()))

    def formats(self) -> pa.Array:
        return self._take(pa.array([one.value for one in self._columns.formats], pa.string()))

    def metrics(self, name: str, kind: pa.DataType) -> pa.Array:
        """A map by field id.

        Raises: NotTheSameError where an id is there twice, of which a dict keeps one.
        """
        array = self.array(name)
        keys = pc.list_flatten(_as_list(array.keys, array))
        parents = pc.list_parent_indices(_as_list(array.keys, array))
        follows = pc.and_(pc.equal(parents[1:], parents[:-1]), pc.less_equal(keys[1:], keys[:-1]))
        if pc.any(follows).as_py():
            # Not in ascending order.
            pairs = (
                pa.table({"row": parents, "key": keys})
                .group_by(["row", "key"])
                .aggregate([([], "count_all")])
            )
            if len(pairs) != len(keys):
                raise NotTheSameError("metrics with a field twice")
        return _retyped(array, kind)

    def partition(self, spec: Any, kind: pa.StructType) -> pa.Array:
        """The partition with the fields of every spec, null where this one has none."""
        found = self._columns.partition
        if len(found) < len(spec.fields):
            raise NotTheSameError("a spec with more fields than its manifest")
        by_name = {field.name: self._take(found[at]) for at, field in enumerate(spec.fields)}
        arrays = [_typed(by_name.get(field.name), field.type, self.count) for field in kind]
        return _struct(arrays, kind, self.count)

    def readable_metrics(self, kind: pa.StructType) -> pa.Array:
        """Counts and typed bounds of each column of the table."""
        maps = {name: self.array(name) for name in (*COUNTS, *BOUNDS)}
        found = {
            name: (
                pc.list_parent_indices(_as_list(one.keys, one)),
                one.keys[_first(one) : _end(one)],
                one.items[_first(one) : _end(one)],
            )
            for name, one in maps.items()
        }
        every = pa.array(range(self.count), pa.int64())
        fields = []
        for field, shown in zip(self._table.schema().fields, kind, strict=True):
            arrays = []
            for name, target in zip(_READABLE.values(), shown.type, strict=True):
                rows, keys, items = found[name]
                at = pc.indices_nonzero(pc.equal(keys, field.field_id))
                values = items.take(at)
                if (
                    name in BOUNDS
                    and _NO_EMPTY_BOUNDS
                    and pc.any(pc.equal(pc.binary_length(values), 0)).as_py()
                ):
                    raise NotTheSameError("an empty bound")
                values = values if name in COUNTS else _bounds(values, field.field_type, target.type)
                if len(at) != self.count:
                    values = values.take(pc.index_in(every, value_set=rows.take(at).cast(pa.int64())))
                arrays.append(values)
            fields.append(_struct(arrays, shown.type, self.count))
        return _struct(fields, kind, self.count)


def files(inspected: Any, columns: ManifestColumns, manifest: Any, contents: set[Any] | None) -> pa.Table:
    """The rows of `_get_files_from_manifest`. Raises: NotTheSameError; LakebedError."""
    table, schema = inspected.tbl, inspected._get_files_schema()
    live: Sequence[int] = columns.live_rows()
    if contents:
        live = [row for row in live if columns.contents[row] in contents]
    rows = _Rows(columns, live, table.metadata)
    made = _file_columns(rows, schema, table.metadata.specs()[manifest.partition_spec_id])
    made["file_format"] = rows.formats().dictionary_encode()
    made["spec_id"] = pa.repeat(pa.scalar(columns.spec_id, pa.int32()), rows.count)
    made["readable_metrics"] = rows.readable_metrics(schema.field("readable_metrics").type)
    return pa.Table.from_arrays([made[field.name] for field in schema], schema=schema)


def entries(inspected: Any, snapshot_id: int | None) -> pa.Table:
    """The rows of `InspectTable.entries`. Raises: NotTheSameError; LakebedError; what PyIceberg raises."""
    table = inspected.tbl
    snapshot = inspected._get_snapshot(snapshot_id)
    schema = _entries_schema(inspected)
    pieces = []
    for manifest in snapshot.manifests(table.io):
        columns = ManifestColumns(file_bytes(table.io, manifest.manifest_path), manifest)
        rows = _Rows(columns, range(len(columns)), table.metadata)
        kind = schema.field("data_file").type
        made = _file_columns(rows, kind, table.metadata.specs()[manifest.partition_spec_id])
        if made["column_sizes"].null_count:
            raise NotTheSameError("no sizes of columns, which PyIceberg's entries() do not take")
        for name in COUNTS:
            made[name] = _empty_for_null(made[name])
        made["file_format"] = rows.formats()
        parts = [
            pa.array(columns.list_of("status"), pa.int8()),
            *(rows.inherited(name) for name in ("snapshot_id", "sequence_number", "file_sequence_number")),
            _struct([made[field.name] for field in kind], kind, rows.count),
            rows.readable_metrics(schema.field("readable_metrics").type),
        ]
        pieces.append(pa.Table.from_arrays(parts, schema=schema))
    return pa.concat_tables(pieces).combine_chunks() if pieces else schema.empty_table()


def _entries_schema(inspected: Any) -> pa.Schema:
    """That of PyIceberg 0.12, whose files it has in other types and another order than `files()`."""
    of_files = inspected._get_files_schema()
    leaves_out = ("spec_id", "readable_metrics")
    fields = [
        pa.field("file_format", pa.string(), nullable=False) if field.name == "file_format" else field
        for field in of_files
        if field.name not in leaves_out
    ]
    numbers = ("snapshot_id", "sequence_number", "file_sequence_number")
    return pa.schema(
        [
            pa.field("status", pa.int8(), nullable=False),
            *(pa.field(name, pa.int64(), nullable=False) for name in numbers),
            pa.field("data_file", pa.struct(fields), nullable=False),
            of_files.field("readable_metrics"),
        ]
    )


def _file_columns(rows: _Rows, kind: Any, spec: Any) -> dict[str, pa.Array]:
    """The columns that both tables have alike, by name."""
    made = {name: rows.metrics(name, kind.field(name).type) for name in (*COUNTS, *BOUNDS)}
    made["content"] = rows.contents()
    made["partition"] = rows.partition(spec, kind.field("partition").type)
    for name in ("file_path", "record_count", "file_size_in_bytes", "key_metadata", "sort_order_id"):
        made[name] = rows.array(name)
    for name in ("split_offsets", "equality_ids"):
        made[name] = rows.array(name).cast(kind.field(name).type)
    return made


def _first(array: pa.Array) -> int:
    return array.offsets[0].as_py() if len(array) else 0


def _end(array: pa.Array) -> int:
    return array.offsets[-1].as_py() if len(array) else 0


def _as_list(values: pa.Array, array: pa.Array) -> pa.Array:
    """A part of a map as lists with its rows."""
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets, values, mask=mask)


def _retyped(array: pa.Array, kind: pa.MapType) -> pa.Array:
    """A map of the same values under the names and with the nulls that another type allows."""
    return array if array.type == kind else array.cast(kind)


def _empty_for_null(array: pa.Array) -> pa.Array:
    if not array.null_count:
        return array
    return pa.MapArray.from_arrays(array.offsets, array.keys, array.items, type=array.type)


def _struct(arrays: list[Any], kind: pa.StructType, count: int) -> pa.Array:
    if not arrays:
        return pa.array([{}] * count, kind)
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _typed(array: pa.Array | None, kind: pa.DataType, count: int) -> pa.Array:
    """A column of a partition in the type of PyIceberg's table."""
    if array is None:
        return pa.nulls(count, kind)
    if array.type == kind:
        return array
    if pa.types.is_string(array.type) and pa.types.is_large_string(kind):
        return array.cast(kind)
    if pa.types.is_binary(array.type) and pa.types.is_large_binary(kind):
        return array.cast(kind)
    same_width = (pa.types.is_signed_integer, pa.types.is_temporal)
    if any(is_kind(array.type) for is_kind in same_width) and any(is_kind(kind) for is_kind in same_width):
        if array.type.bit_width == kind.bit_width:
            return array.view(kind)
        if pa.types.is_int32(array.type) and pa.types.is_int64(kind):
            return array.cast(kind)
    raise NotTheSameError(f"a partition of {array.type} that is shown as {kind}")


def _decimals(values: pa.Array, field_type: Any, kind: pa.DataType) -> pa.Array:
    """Big-endian numbers of any length as Arrow has them, of 16 bytes and little-endian."""
    most = 10**field_type.precision
    numbers = [0 if one is None else int.from_bytes(one, "big", signed=True) for one in values.to_pylist()]
    if values.null_count or any(not -most < one < most for one in numbers):
        raise NotTheSameError(f"a bound that is no {field_type}")
    data = b"".join(one.to_bytes(16, "little", signed=True) for one in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(data)])


def _bounds(values: pa.Array, field_type: Any, kind: pa.DataType) -> pa.Array:
    """Bounds in the type of their column."""
    if isinstance(kind, pa.BaseExtensionType):
        raise NotTheSameError(f"a bound of {field_type}, which PyIceberg's inspect does not take")
    width = _FIXED_WIDTH.get(type(field_type))
    if width is not None and not values.null_count and len(values):
        lengths = pc.unique(pc.binary_length(values)).to_pylist()
        if lengths == [width.bit_width // 8]:
            _, ends, data = values.buffers()
            begin = memoryview(ends).cast("i")[values.offset]
            cut = data.slice(begin)
            plain = pa.Array.from_buffers(width, len(values), [None, cut])
            if isinstance(field_type, types.BooleanType):
                return pc.not_equal(plain, pa.scalar(0, width))
            return plain if kind == width else plain.view(kind)
    if isinstance(field_type, types.StringType) and (
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
    ):
        try:
            return values.cast(pa.string()).cast(kind)
        except pa.ArrowInvalid:
            raise NotTheSameError("a bound that is not UTF-8") from None
    if isinstance(field_type, types.DecimalType) and pa.types.is_decimal128(kind):
        return _decimals(values, field_type, kind)
    # As PyIceberg does, value by value; what it raises, its own code raises again.
    try:
        return pa.array(
            [None if one is None else from_bytes(field_type, one) for one in values.to_pylist()], kind
        )
    except Exception as error:
        raise NotTheSameError(f"a bound of {field_type} ({type(error).__name__})") from error
