"""What a commit needs to know of a data file, from the rows that were written to it."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lakebed import _arrow
from lakebed._metrics import ColumnMetrics, wanted_metrics
from lakebed._pyarrow import pa, pc
from lakebed._values import to_json_values
from lakebed.errors import SchemaError
from lakebed.storage.paths import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakebed.table import Table

_UUID_BYTES = 16


def describe_file(
    table: Table,
    path: str | os.PathLike[str],
    data: Any,
    *,
    file_size_in_bytes: int | None = None,
    columns: Mapping[str, Any] | None = None,
) -> pa.Table:
    """The row of the view `files` of a data file, from its rows: what commits take.

    Args:
        table: where the file will belong.
        path: the file, as the table is to name it: absolute, or relative to the table.
        data: its rows, anything with `__arrow_c_stream__`, with every column of `table.schema` by name.
        file_size_in_bytes: None to look at the local file.
        columns: values of other columns of the view, which only the writer knows: `bucket`, `level`,
            `min_sequence_number`, `sequence_number`, `split_offsets`, `sort_order_id`, …
    Returns: one row: `content` 0, `file_path`, `file_format` by the path's suffix, `partition` (the one of
        all rows), `spec_id`, `record_count`, `file_size_in_bytes`, of Paimon's tables with primary keys
        `min_key` and `max_key`, those of `columns`, and `stats`, a struct per column with counts and bounds
        as the table's properties want them: Iceberg's `write.metadata.metrics.*`, of all fields that are in
        no list or map, by dotted path; Paimon's `metadata.stats-mode`, `fields.<column>.stats-mode`,
        `metadata.stats-keep-first-n-columns`.
    Raises: SchemaError for a column that is missing, unknown or of a type that does not fit, a null where
        there may be none, rows of two partitions, with the column and the row; UnsupportedError for
        partitions that cannot be computed; OSError.
    Cost: one pass over `data`, batch by batch.
    Source: Iceberg specification, "Manifests"; Iceberg's `MetricsConfig.java`, Paimon's
        `SimpleColStatsCollector.java`.
    """
    path = os.fspath(path)
    files = pa.schema(table.files())
    row = {
        "content": 0,
        "file_path": path,
        "file_format": _file_format(table, path),
        "file_size_in_bytes": _size(table, path) if file_size_in_bytes is None else file_size_in_bytes,
    }
    rows = _Rows(table)
    reader = pa.RecordBatchReader.from_stream(data)
    for batch in _batches(reader, _schema_of(table, reader.schema)):
        rows.add(batch)
    row |= {"record_count": rows.count, **rows.keys(), **(columns or {})}
    unknown = [name for name in row if name not in files.names]
    if unknown:
        message = f"the view `files` has no column {unknown[0]!r}"
        raise SchemaError(message, kind="unknown-column", field=unknown[0])
    described = pa.table({name: pa.array([value], files.field(name).type) for name, value in row.items()})
    place = rows.place()
    for name in place.schema.names:
        described = described.append_column(name, place.column(name))
    return described.append_column("stats", rows.stats())


class _Rows:
    """The sums of a file's rows, batch by batch."""

    def __init__(self, table: Table) -> None:
        self.count = 0
        self._table = table
        self._place: pa.RecordBatch | None = None
        self._key_schema = pa.schema(table.core.key_schema)
        # The first and the last key of the rows so far.
        self._keys: pa.Table = self._key_schema.empty_table()
        nan_is_greatest = table.format == "paimon"
        self._metrics = {
            name: ColumnMetrics(kind, mode, nan_is_greatest) for name, kind, mode in wanted_metrics(table)
        }

    def add(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        self._place = self._same_place(batch)
        for name, metrics in self._metrics.items():
            metrics.add(_leaf(batch, name))
        self._keys = self._ends_of_keys(batch)
        self.count += batch.num_rows

    def keys(self) -> dict[str, Any]:
        """`min_key` and `max_key`, where files have keys."""
        from lakebed.paimon import encode_rows

        if not self._key_schema.names or not self._keys.num_rows:
            return {}
        stored = encode_rows(self._keys.to_struct_array().combine_chunks(), self._key_schema).to_pylist()
        return {"min_key": stored[0], "max_key": stored[-1]}

    def place(self) -> pa.RecordBatch:
        """`partition` and `spec_id`, of one row. Raises: SchemaError without rows."""
        if self._place is None:
            raise SchemaError("a file without rows does not belong to any partition", kind="argument")
        return self._place

    def stats(self) -> pa.StructArray:
        """The column `stats`, of one row."""
        columns = [_struct(metrics) for metrics in self._metrics.values()]
        return pa.StructArray.from_arrays(columns, list(self._metrics)) if columns else pa.array([{}])

    def _ends_of_keys(self, batch: pa.RecordBatch) -> pa.Table:
        names = self._key_schema.names
        if not names:
            return self._keys
        more = pa.Table.from_batches([batch.select(names)]).cast(self._key_schema)
        keys = pa.concat_tables([self._keys, more])
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names])
        return keys.take(pa.concat_arrays([order.slice(0, 1), order.slice(len(order) - 1)]))

    def _same_place(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The place of all rows. Raises: SchemaError for the first row of another."""
        places = pa.record_batch(self._table.core.partitions_of(batch))
        first = places.slice(0, 1) if self._place is None else self._place
        for number, field in enumerate(places.column("partition").type):
            values = pc.struct_field(pa.chunked_array([first["partition"], places["partition"]]), [number])
            # Numbers of values: nulls and NaN are equal to themselves there.
            codes = values.combine_chunks().dictionary_encode("encode").indices
            other = pc.index(pc.not_equal(codes, 0), True).as_py() if len(codes) else -1
            if other >= 0:
                here, there = to_json_values(values.combine_chunks().take(pa.array([0, other])))
                row, name = self.count + other - 1, field.name
                message = f"row {row} is of another partition: {name} is {there!r}, not {here!r}"
                raise SchemaError(message, kind="mismatch", field=name, record=row)
        return first


def _schema_of(table: Table, given: pa.Schema) -> pa.Schema:
    """The table's columns as rows of these types are described.

    Paimon's nanoseconds have no room for times after 2262, which coarser units have, and commits take them.
    """

    def column(field: pa.Field[Any]) -> pa.Field[Any]:
        kinds = [one.type for one in given if one.name == field.name]
        is_coarser = pa.types.is_timestamp(field.type) and all(pa.types.is_timestamp(kind) for kind in kinds)
        if table.format == "paimon" and is_coarser and not any(kind.unit == "ns" for kind in kinds):
            return field.with_type(pa.timestamp("us", field.type.tz))
        return field

    return pa.schema([column(field) for field in table.schema])


def _batches(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of a reader as rows of `schema`.

    Raises: SchemaError, with the column, and for a null with its row.
    """
    for name in reader.schema.names:
        if name not in schema.names:
            raise SchemaError(f"the table has no column {name!r}", kind="unknown-column", field=name)
    for field in schema:
        if reader.schema.names.count(field.name) != 1:
            message = f"the table's column {field.name!r} is needed once"
            raise SchemaError(message, kind="unknown-column", field=field.name)
    count = 0
    for batch in reader:
        columns = [_column(batch.column(field.name), field, count) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        count += batch.num_rows


def _column(values: pa.Array, field: pa.Field[Any], count: int) -> pa.Array:
    values = _arrow.storage(values)
    if values.null_count and not field.nullable:
        record = count + pc.index(values.is_null(), True).as_py()
        message = f"row {record} is null in {field.name!r}, which is required"
        raise SchemaError(message, kind="required", field=field.name, record=record)
    if pa.types.is_string(field.type) and values.type == pa.binary(_UUID_BYTES):
        texts = [None if value is None else str(UUID(bytes=value)) for value in values.to_pylist()]
        return pa.array(texts, pa.string())
    try:
        return values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = f"column {field.name!r} of type {values.type} is no {field.type}: {error}"
        raise SchemaError(message, kind="type", field=field.name) from error


def _leaf(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, or by its dotted path one within structs."""
    if name in batch.schema.names:
        return batch.column(name)
    top, *path = name.split(".")
    return pc.struct_field(batch.column(top), path)


def _struct(metrics: ColumnMetrics) -> pa.StructArray:
    """One row of a column's struct in `stats`."""
    counts = {
        "value_count": metrics.values,
        "null_count": metrics.nulls,
        "nan_count": metrics.nans if pa.types.is_floating(metrics.kind) else None,
        "column_size": None,
    }
    arrays = [pa.array([count], pa.int64()) for count in counts.values()]
    arrays += [
        pa.nulls(1, metrics.kind) if bound is None else pa.repeat(bound, 1) for bound in metrics.bounds()
    ]
    return pa.StructArray.from_arrays(arrays, [*counts, "lower_bound", "upper_bound"])


def _size(table: Table, path: str) -> int:
    # An absolute path stays itself.
    folder, file = local_path(table.location), local_path(path)
    return Path(folder or table.location, file or path).stat().st_size


def _file_format(table: Table, path: str) -> str:
    suffix = PurePosixPath(path).suffix.removeprefix(".")
    if not suffix:
        message = f"{path!r} has no suffix that tells its format"
        raise SchemaError(message, kind="argument", field="file_format")
    return suffix.upper() if table.format == "iceberg" else suffix
