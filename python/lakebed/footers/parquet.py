"""The end of Parquet files, which pyarrow reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed._columns import UUID_BYTES
from lakebed._pyarrow import pa
from lakebed.errors import CorruptError, EncryptionError, LimitError, TruncatedError, UnsupportedError
from lakebed.footers.footer import Convert, Counts, FileColumn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakebed.limits import Limits

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
# The footer's length and the magic.
_TRAILER = 8
_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_TEXTS = ("STRING", "ENUM", "JSON")


def footer_bytes(end: bytes, size: int, path: str, limits: Limits) -> int:
    """How many of the last bytes of a file hold its footer.

    Raises: TruncatedError, CorruptError, LimitError, EncryptionError.
    """
    if end.endswith(ENCRYPTED):
        raise EncryptionError(f"the footer is encrypted ({path})", kind="encryption", path=path)
    if not end.endswith(MAGIC) or size < len(MAGIC) + _TRAILER:
        raise TruncatedError(f"the file does not end as Parquet does ({path})", kind="truncated", path=path)
    length = int.from_bytes(end[-_TRAILER : -len(MAGIC)], "little")
    if length > size - _TRAILER - len(MAGIC):
        message = f"the footer is longer than the file: {length} bytes of {size} ({path})"
        raise CorruptError(message, kind="length", path=path, offset=size - _TRAILER)
    if length > limits.max_header_bytes:
        message = f"a footer of {length} bytes is over max_header_bytes, {limits.max_header_bytes} ({path})"
        raise LimitError(message, kind="limit", path=path, offset=size - _TRAILER)
    return length + _TRAILER


class ParquetFooter:
    """A `Footer` of Parquet.

    Args: end, the footer and the eight bytes behind it; size, of the file [bytes].
    Raises: CorruptError with path and offset, EncryptionError, LimitError.
    Source: Parquet specification, `parquet.thrift`; Iceberg's `ParquetMetrics.java`, `ParquetUtil.java`.
    """

    format = "PARQUET"

    def __init__(self, end: bytes, size: int, path: str, schemas: Schemas) -> None:
        import pyarrow.parquet as pq

        self._path, self._at = path, size - len(end)
        try:
            # The magic that files begin with is looked for by some versions.
            self._metadata = pq.read_metadata(pa.BufferReader(MAGIC + end))
            self._groups = [self._metadata.row_group(one) for one in range(self._metadata.num_row_groups)]
            self.rows: int = self._metadata.num_rows
            rows = sum(group.num_rows for group in self._groups)
            self.columns = schemas.of(self._metadata.schema, path)
            self.split_offsets: list[int] | None = sorted(
                _start(group) for group in self._groups if group.num_rows
            )
        except (pa.ArrowException, OSError) as error:
            raise self._failed(error) from error
        if rows != self.rows or any(group.num_rows < 0 for group in self._groups):
            raise self._wrong(f"the footer records {self.rows} rows, its row groups {rows}", "count")
        if self.split_offsets and not 0 < self.split_offsets[0] <= self.split_offsets[-1] < self._at:
            raise self._wrong("a row group begins outside of the file's data", "length")
        # Else bounds of texts may be those of an order by signed bytes, which older writers had.
        self._ordered = _has_orders(end[:-_TRAILER], len(self._metadata.schema))

    def counts(self, number: int, convert: Convert | None) -> Counts:
        """What is known of a primitive column, of all row groups together."""
        values = size = 0
        nulls: int | None = 0
        try:
            bounds = None if convert is None else _Bounds(convert, ordered=self._has_order(number))
            for group in self._groups:
                chunk = group.column(number)
                statistics = chunk.statistics
                has_nulls = statistics is not None and statistics.has_null_count
                own_nulls: int | None = statistics.null_count if has_nulls else None
                values += chunk.num_values
                size += chunk.total_compressed_size
                nulls = None if nulls is None or own_nulls is None else nulls + own_nulls
                if bounds is not None and own_nulls != chunk.num_values:
                    bounds.add(statistics)
        except (pa.ArrowException, OSError) as error:
            raise self._failed(error) from error
        if size < 0 or not 0 <= (nulls or 0) <= values:
            raise self._wrong("a column's counts contradict each other", "count")
        if bounds is None:
            return Counts(values, nulls, size)
        return Counts(values, nulls, size, bounds.lower, bounds.upper)

    def _has_order(self, number: int) -> bool:
        """Whether bounds of a column are of the order that the specification defines for its type."""
        column = self._metadata.schema.column(number)
        signed = column.physical_type not in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "INT96")
        unsigned_number = column.converted_type.startswith("UINT")
        return self._ordered or (signed and not unsigned_number)

    def _failed(self, error: Exception) -> Exception:
        if "ncrypt" in str(error):
            message = f"columns are encrypted ({self._path})"
            return EncryptionError(message, kind="encryption", path=self._path)
        return self._wrong(f"pyarrow cannot read the footer: {error}", "length")

    def _wrong(self, message: str, kind: str) -> CorruptError:
        return CorruptError(f"{message} ({self._path})", kind=kind, path=self._path, offset=self._at)


class _Bounds:
    """The bounds of several row groups, None once those of one are not known."""

    def __init__(self, convert: Convert, *, ordered: bool) -> None:
        self._convert = convert
        self._ordered = ordered
        self._known = True
        self.lower: Any = None
        self.upper: Any = None

    def add(self, statistics: Any) -> None:
        """More values, of which at least one is not null."""
        lower = upper = None
        if self._known and statistics is not None and statistics.has_min_max:
            least, most = statistics.min_raw, statistics.max_raw
            if self._ordered or least == most:
                lower, upper = self._convert(least), self._convert(most)
        if lower is None or upper is None:
            self._known = False
            self.lower = self.upper = None
        elif self.lower is None:
            self.lower, self.upper = lower, upper
        else:
            self.lower, self.upper = min(self.lower, lower), max(self.upper, upper)


def _start(group: Any) -> int:
    """Where a row group begins (parquet-java's `ColumnChunkMetaData.getStartingPos`)."""
    first = group.column(0)
    dictionary = first.dictionary_page_offset if first.has_dictionary_page else None
    data: int = first.data_page_offset
    return dictionary if dictionary and dictionary < data else data


def _has_orders(footer: bytes, leaves: int) -> bool:
    """Whether a footer ends in `column_orders` that are TypeDefinedOrder for each column.

    pyarrow does not say. It is the last field of what no encryption follows: a list of unions, of which each
    is a struct without fields, in Thrift's compact protocol.
    """
    return footer.endswith(b"\x1c\x00\x00" * leaves + b"\x00")


class Schemas:
    """The columns of files, made once for files that have the same schema."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._last: tuple[Any, tuple[FileColumn, ...]] | None = None

    def of(self, schema: Any, path: str) -> tuple[FileColumn, ...]:
        """Raises: LimitError, UnsupportedError; pyarrow's errors."""
        last = self._last
        if last is not None and last[0].equals(schema):
            return last[1]
        if len(schema) > self._limits.max_schema_nodes:
            message = (
                f"{len(schema)} columns are over max_schema_nodes, {self._limits.max_schema_nodes} ({path})"
            )
            raise LimitError(message, kind="limit", path=path)
        arrow, leaves = schema.to_arrow_schema(), iter(range(len(schema)))
        depth = self._limits.max_schema_depth
        columns = tuple(_column(field, schema, leaves, depth, path) for field in arrow)
        if next(leaves, None) is not None:
            raise UnsupportedError(
                f"columns that Arrow does not have ({path})", kind="unsupported", path=path
            )
        self._last = (schema, columns)
        return columns


def _column(field: pa.Field[Any], schema: Any, leaves: Iterator[int], depth: int, path: str) -> FileColumn:
    if depth < 1:
        raise LimitError(f"columns are nested deeper than max_schema_depth ({path})", kind="depth", path=path)
    text = (field.metadata or {}).get(b"PARQUET:field_id")
    field_id = None if text is None else int(text)
    kind = getattr(field.type, "storage_type", field.type)
    word, parts = "primitive", []
    if pa.types.is_struct(kind):
        word, parts = "struct", list(kind)
    elif pa.types.is_map(kind):
        word, parts = "map", [kind.key_field, kind.item_field]
    elif hasattr(kind, "value_field"):
        word, parts = "list", [kind.value_field]
    children = tuple(_column(part, schema, leaves, depth - 1, path) for part in parts)
    if word != "primitive":
        return FileColumn(field.name, field_id, word, None, None, not field.nullable, children)
    number = next(leaves)
    column = schema.column(number)
    form = "int96" if column.physical_type == "INT96" else ""
    return FileColumn(field.name, field_id, word, _type(column), number, not field.nullable, form=form)


def _type(column: Any) -> pa.DataType | None:
    """The Arrow type of a primitive's values (Parquet specification, "Logical Types").

    Not the one that pyarrow gives: that may be of what was written, which other readers do not know.
    """
    physical, logical = column.physical_type, json.loads(column.logical_type.to_json())
    name = str(logical.get("Type", "None")).upper()
    if name in ("NULL", "UNKNOWN"):
        return pa.null()
    if name == "DECIMAL":
        precision, scale = logical["precision"], logical["scale"]
        return pa.decimal128(precision, scale) if precision <= 38 else None
    if name == "TIMESTAMP":
        return pa.timestamp(_UNITS[logical["timeUnit"]], "UTC" if logical["isAdjustedToUTC"] else None)
    if name == "TIME":
        unit = _UNITS[logical["timeUnit"]]
        return pa.time32(unit) if unit == "ms" else pa.time64(unit)
    if name == "INT":
        return getattr(pa, f"{'int' if logical['isSigned'] else 'uint'}{logical['bitWidth']}")()
    if physical == "BYTE_ARRAY":
        return pa.string() if name in _TEXTS else pa.binary() if name in ("NONE", "BSON") else None
    if physical == "FIXED_LEN_BYTE_ARRAY":
        length = UUID_BYTES if name == "UUID" else column.length
        return pa.binary(length) if name in ("NONE", "UUID") else None
    if name == "DATE":
        return pa.date32()
    plain = {"BOOLEAN": pa.bool_(), "INT32": pa.int32(), "INT64": pa.int64(), "INT96": pa.timestamp("ns")}
    return {**plain, "FLOAT": pa.float32(), "DOUBLE": pa.float64()}.get(physical) if name == "NONE" else None
