"""Tables of PyIceberg's `inspect`, column by column, with its schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyiceberg

from lakebed._below import NotTheSameError
from lakebed.pyiceberg.columns import BOUNDS, COUNTS, file_bytes, in_batches
from lakebed.pyiceberg.metrics import Metrics, bounds, numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakebed.pyiceberg.columns import ManifestColumns

_READABLE = {
    "column_size": "column_sizes",
    "value_count": "value_counts",
    "null_value_count": "null_value_counts",
    "nan_value_count": "nan_value_counts",
    "lower_bound": "lower_bounds",
    "upper_bound": "upper_bounds",
}
_NO_EMPTY_BOUNDS = pyiceberg.__version__.startswith(("0.10.", "0.11."))
"""Whether PyIceberg takes empty bounds for none, as it did before 0.12."""


class _Rows:
    """Some entries of a manifest, as columns of PyIceberg's tables."""

    def __init__(self, columns: ManifestColumns, rows: Sequence[int], table: Any) -> None:
        self._columns, self._table = columns, table
        self._taken = None if len(rows) == len(columns) else numbers(rows)
        self._by_name: dict[str, Metrics] = {}
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
        """The names of formats: as they are stored, unless a writer spelled one in its own way."""
        array, columns = self._columns.array("file_format"), self._columns
        if any(one.value != text for text, one in columns.known_formats.items()):
            array = pa.array([one.value for one in columns.formats], pa.string())
        return self._take(array)

    def metrics(self, name: str, kind: pa.DataType) -> pa.Array:
        """A map by field id. Raises: NotTheSameError for an id that is twice, of which a dict keeps one."""
        found = self._metrics(name)
        found.check_unique()
        # Of the same values under the names and with the nulls that another type allows.
        return found.array if found.array.type == kind else found.array.cast(kind)

    def _metrics(self, name: str) -> Metrics:
        if name not in self._by_name:
            self._by_name[name] = Metrics(self.array(name))
        return self._by_name[name]

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
        every = numbers(range(self.count))
        fields = []
        for field, shown in zip(self._table.schema().fields, kind, strict=True):
            arrays = []
            for name, target in zip(_READABLE.values(), shown.type, strict=True):
                values, rows = self._metrics(name).of(field.field_id)
                if name in BOUNDS:
                    if _NO_EMPTY_BOUNDS and pc.any(pc.equal(pc.binary_length(values), 0)).as_py():
                        raise NotTheSameError("an empty bound")
                    values = bounds(values, field.field_type, target.type)
                arrays.append(values if rows is None else values.take(pc.index_in(every, value_set=rows)))
            fields.append(_struct(arrays, shown.type, self.count))
        return _struct(fields, kind, self.count)


def files(inspected: Any, data: bytes, manifest: Any, contents: set[Any] | None) -> pa.Table:
    """The rows of `_get_files_from_manifest`. Raises: NotTheSameError; LakebedError."""
    table, schema = inspected.tbl, inspected._get_files_schema()
    spec = table.metadata.specs()[manifest.partition_spec_id]
    pieces = []
    for columns in in_batches(data, manifest):
        live: Sequence[int] = columns.live_rows()
        if contents:
            live = [row for row in live if columns.contents[row] in contents]
        rows = _Rows(columns, live, table.metadata)
        made = _file_columns(rows, schema, spec)
        made["file_format"] = rows.formats().dictionary_encode()
        made["spec_id"] = pa.repeat(pa.scalar(columns.spec_id, pa.int32()), rows.count)
        made["readable_metrics"] = rows.readable_metrics(schema.field("readable_metrics").type)
        pieces.append(pa.Table.from_arrays([made[field.name] for field in schema], schema=schema))
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def entries(inspected: Any, snapshot_id: int | None) -> pa.Table:
    """The rows of `InspectTable.entries`. Raises: NotTheSameError; LakebedError; what PyIceberg raises."""
    table = inspected.tbl
    snapshot = inspected._get_snapshot(snapshot_id)
    schema = _entries_schema(inspected)
    pieces = []
    for columns, manifest in _batches(snapshot.manifests(table.io), table.io):
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
    return pa.concat_tables(pieces) if pieces else schema.empty_table()


def _batches(manifests: Iterable[Any], io: Any) -> Iterator[tuple[ManifestColumns, Any]]:
    """The entries of manifests, one after another, and whose they are."""
    for manifest in manifests:
        for columns in in_batches(file_bytes(io, manifest.manifest_path), manifest):
            yield columns, manifest


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
