"""The entries of a manifest as Arrow columns, and the values of PyIceberg's objects that are made of them."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from io import BytesIO
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyiceberg import types
from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.file import AvroFile
from pyiceberg.avro.reader import EMPTY_DICT
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.typedef import Record
from pyiceberg.utils.lazydict import LazyDict
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from lakebed import _native
from lakebed._below import NotTheSameError, column_arrays, integers, python_values
from lakebed._source import resolve_source
from lakebed.errors import LakebedError
from lakebed.iceberg.reading import read_manifest
from lakebed.limits import LIMITS
from lakebed.pyiceberg.ahead import Ahead, Once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RECORDS_ARE_LISTS = "_data" in vars(Record)
"""Since PyIceberg 0.10; before, they have an attribute for each field."""
STATUSES, CONTENTS = tuple(ManifestEntryStatus), tuple(DataFileContent)
ENTRIES = MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION]
_FILE: Any = DATA_FILE_TYPE[DEFAULT_READ_VERSION]
FILE_NAMES = tuple(field.name for field in _FILE.fields)
READ_TYPES: dict[int, Any] = {-1: ManifestEntry, 2: DataFile}
READ_ENUMS: dict[int, Any] = {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent}
"""How PyIceberg reads a manifest of any version."""
DELETED = ManifestEntryStatus.DELETED.value
COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
FIRST = (
    "status", "snapshot_id", "sequence_number", "file_sequence_number", "content", "file_path", "file_format",
    "partition", "record_count", "file_size_in_bytes",
)  # fmt: skip
LATER = (*COUNTS, *BOUNDS, "key_metadata", "split_offsets", "equality_ids", "sort_order_id")
"""What is decoded when an entry is first asked for one of them: most of a manifest's bytes."""


def _inherits_snapshot_ids() -> bool:
    """Whether an entry takes the id of its manifest; before 0.12 the id takes the place of its status."""
    made = ManifestEntry(*[None] * 5)
    made.snapshot_id = 1
    return made.status is None


_INHERITS_SNAPSHOT_IDS = _inherits_snapshot_ids()


def default_at(reader: Any, *positions: int) -> Any:
    """What a resolved reader gives for a field that is not stored, None for one that is.

    Before 0.10 that is one of several equal values, such as 0 and `ManifestContent.DATA`.
    """
    for position in positions:
        reader = dict(reader.field_readers)[position]
    return getattr(reader, "default_value", None)


class FileInMemory:
    """A `FileIO` and an `InputFile` of PyIceberg's, of one file that was read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def new_input(self, _location: str) -> FileInMemory:
        """The file, whatever it is called."""
        return self

    def open(self, seekable: bool = True) -> BytesIO:  # noqa: ARG002 - as PyIceberg calls it
        """Its bytes."""
        return BytesIO(self._data)


def file_bytes(io: Any, location: str) -> bytes:
    """A file as PyIceberg reads it: whole, by the table's own `FileIO`."""
    with io.new_input(location).open() as stream:
        return bytes(stream.read())


def header_schema(data: bytes) -> str:
    """The Avro schema of a file. Raises: NotTheSameError where PyIceberg does not read it; LakebedError."""
    text, metadata = _native.avro_header(resolve_source(data), LIMITS)
    codec = metadata.get("avro.codec", b"").decode("utf-8", "replace")
    if codec not in KNOWN_CODECS:
        # Without a codec PyIceberg inflates; what it makes of that is its own.
        raise NotTheSameError(f"codec {codec!r}")
    return text


class StoredTypes(NamedTuple):
    """What of a manifest's Avro schema decides how PyIceberg reads it."""

    partition: tuple[Any, ...]
    """Its types of the partition's fields."""
    has_content: bool
    """Whether entries say what their files hold, which those of version 1 do not."""
    no_content: Any
    """What PyIceberg takes them to hold then."""
    struct: Any
    """The partition's type, whose names records had before PyIceberg 0.10."""


@lru_cache(maxsize=256)
def stored_types(schema: str) -> StoredTypes | str:
    """What of an Avro schema decides how PyIceberg reads it, or why it is not read here."""
    try:
        stored: Any = AvroSchemaConversion().avro_to_iceberg(json.loads(schema))
        # Refuses what PyIceberg refuses: fields that are not there, or of other types.
        no_content = default_at(resolve_reader(stored, ENTRIES, READ_TYPES, READ_ENUMS), 4, 0)
        fields = {field.field_id: field for field in stored.find_field(2).field_type.fields}
    except Exception as error:  # noqa: BLE001 - of many classes; PyIceberg's own code raises it again
        return f"a schema that PyIceberg does not take ({type(error).__name__})"
    for numbers, value in (((108, 109, 110, 137), types.LongType), ((125, 128), types.BinaryType)):
        for number in numbers:
            kind = fields[number].field_type if number in fields else None
            if kind is not None and not (
                isinstance(kind.key_type, types.IntegerType)
                and isinstance(kind.value_type, value)
                and kind.value_required
            ):
                return f"metrics of another type than the specification's (field {number})"
    if any(number in fields and not fields[number].field_type.element_required for number in (132, 135)):
        return "lists with nulls"
    partition = tuple(field.field_type for field in fields[102].field_type.fields)
    return StoredTypes(partition, 134 in fields, no_content, fields[102].field_type)


def _stored_types(data: bytes) -> StoredTypes:
    """The same of a file. Raises: NotTheSameError; LakebedError."""
    found = stored_types(header_schema(data))
    if isinstance(found, str):
        raise NotTheSameError(found)
    return found


_DAYS = (types.IntegerType, types.DateType)
_MICROS = (types.LongType, types.TimeType, types.TimestampType, types.TimestamptzType)


def _is_kept(stored: Any, kind: pa.DataType) -> bool:
    """Whether a column has the values that PyIceberg reads of this type."""
    if pa.types.is_int32(kind) or pa.types.is_date32(kind):
        return isinstance(stored, _DAYS)
    if pa.types.is_int64(kind):
        return isinstance(stored, _DAYS[:1] + _MICROS)
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        return kind.unit == "us" and isinstance(stored, _MICROS)
    plain: tuple[tuple[Callable[[pa.DataType], bool], Any], ...] = (
        (pa.types.is_string, types.StringType),
        (pa.types.is_boolean, types.BooleanType),
        (pa.types.is_binary, types.BinaryType),
    )
    # What PyIceberg makes of floating point, decimals, UUIDs and fixed-size bytes is its own.
    return any(is_kind(kind) and isinstance(stored, one) for is_kind, one in plain)


class ManifestColumns:
    """The entries of a manifest, in file order, with what they inherit."""

    def __init__(self, data: bytes, manifest: Any, arrays: dict[str, pa.Array] | None = None) -> None:
        """Decodes what a plan looks at; the rest when it is asked for.

        Args: data, of the whole file; manifest, PyIceberg's `ManifestFile`; arrays, all columns of some
            of its entries where these are decoded already.
        Raises: NotTheSameError; LakebedError for what lakebed does not read.
        """
        kinds, self._has_content, self._no_content, struct = _stored_types(data)
        self._named = {} if RECORDS_ARE_LISTS else {"struct": struct}
        self._data: bytes | None = data
        self.spec_id = manifest.partition_spec_id
        self._inherited = (manifest.added_snapshot_id, manifest.sequence_number)
        self._lists: dict[str, list[Any]] = {}
        self._arrays = _arrays(data, FIRST) if arrays is None else arrays
        found = self._arrays["partition"].flatten() if kinds else []
        if len(found) != len(kinds):
            raise NotTheSameError("partitions of another number of fields than stored")
        for stored, array in zip(kinds, found, strict=True):
            if not _is_kept(stored, array.type):
                raise NotTheSameError(f"a partition of {stored}")
        self._partition: Sequence[pa.Array] = found
        self._own: list[Any] | None = None
        if self._has_content and self._arrays["content"].null_count:
            raise NotTheSameError("nulls for what files hold")
        if self._arrays["snapshot_id"].null_count and not _INHERITS_SNAPSHOT_IDS:
            raise NotTheSameError("ids of snapshots that are inherited")
        contents, formats = self.contents, self.list_of("file_format")
        if max(self.list_of("status"), default=0) > 2 or max(contents, default=0) > 2:
            raise NotTheSameError("an unknown status or content")
        try:
            self.known_formats = {text: FileFormat(text) for text in set(formats)}
        except ValueError:
            raise NotTheSameError("an unknown file format") from None
        self.formats = [self.known_formats[text] for text in formats]

    def __len__(self) -> int:
        return len(self._arrays["status"])

    def array(self, name: str) -> pa.Array:
        """A column as lakebed decodes it. Raises: LakebedError."""
        data = self._data
        if name not in self._arrays and data is not None:
            # Two threads may both decode; there is no lock that a fork could leave taken.
            self._arrays = self._arrays | _arrays(data, LATER)
            self._data = None
        return self._arrays[name]

    @property
    def partition(self) -> Sequence[pa.Array]:
        """The columns of the partition, in the order of its fields."""
        return self._partition

    def list_of(self, name: str) -> list[Any]:
        """A column as Python's own values, which are kept."""
        found = self._lists.get(name)
        if found is None:
            found = self._lists[name] = python_values(self.array(name))
        return found

    @property
    def contents(self) -> list[int]:
        """What each file holds; version 1 has data alone."""
        found = self._lists.get("content")
        if found is None:
            array = self._arrays["content"]
            found = python_values(array.fill_null(0))
            self._lists["content"] = found
        return found

    def inherited(self, name: str) -> list[int | None]:
        """A column of numbers that entries inherit where they leave it out."""
        found = self._lists.get(f"inherited {name}")
        if found is not None:
            return found
        snapshot_id, sequence_number = self._inherited
        found = self.list_of(name)
        if self._arrays[name].null_count:
            if name == "snapshot_id":
                found = [snapshot_id if one is None else one for one in found]
            else:
                takes = [sequence_number == 0 or status == 1 for status in self.list_of("status")]
                found = [
                    sequence_number if one is None and inherits else one
                    for one, inherits in zip(found, takes, strict=True)
                ]
        self._lists[f"inherited {name}"] = found
        return found

    def live_rows(self) -> Sequence[int]:
        """The rows of entries that are not deleted."""
        statuses = self.list_of("status")
        if DELETED not in statuses:
            return range(len(statuses))
        return [row for row, status in enumerate(statuses) if status != DELETED]

    def partition_keys(self) -> list[tuple[Any, ...]]:
        """The values of each file's partition."""
        found = self._lists.get("partition keys")
        if found is None:
            found = list(zip(*map(python_values, self._partition), strict=True)) or [()] * len(self)
            self._lists["partition keys"] = found
        return found

    @Once
    def file_columns(self) -> tuple[Any, ...]:
        """The values of files by row, each the same object each time, in the order of PyIceberg's fields.

        Those of LATER raise when a row is asked for: LakebedError, NotTheSameError.
        """
        contents = [CONTENTS[one] if self._has_content else self._no_content for one in self.contents]
        paths, partitions, *later = (
            Ahead(len(self), partial(self._values, name)) for name in ("file_path", "partition", *LATER)
        )
        counts, sizes = self.list_of("record_count"), self.list_of("file_size_in_bytes")
        return contents, paths, self.formats, partitions, counts, sizes, *later

    @Once
    def entry_columns(self) -> tuple[list[Any], ...]:
        """The same of entries, but for their files."""
        names = ("snapshot_id", "sequence_number", "file_sequence_number")
        return [STATUSES[one] for one in self.list_of("status")], *map(self.inherited, names)

    @Once
    def _records(self) -> Ahead:
        def made(first: int, end: int) -> list[list[Any]]:
            by_row = (map(one.__getitem__, range(first, end)) for one in self.file_columns)
            return list(map(list, zip(*by_row, strict=True)))

        return Ahead(len(self), made)

    def file_values(self, row: int) -> list[Any]:
        """What PyIceberg's `DataFile` holds, in a list of its own."""
        try:
            made: list[Any] = self._records[row]
        except (LakebedError, NotTheSameError):
            at_hand = (column[row] for column in self.file_columns[: -len(LATER)])
            return [*at_hand, *self.read_by_pyiceberg()[row]]
        # Of threads that ask at once, one has the list, and others have copies.
        return made if self._records.pop(row, None) is made else list(made)

    def _values(self, name: str, first: int, end: int) -> list[Any]:
        """Those of some rows."""
        if name == "partition":
            return [Record(*one, **self._named) for one in self.partition_keys()[first:end]]
        if name in COUNTS:
            return self._counts(name, first, end)
        if name in BOUNDS:
            return self._bounds(name, first, end)
        return python_values(self.array(name).slice(first, end - first))

    def read_by_pyiceberg(self) -> list[Any]:
        """What lakebed refuses of metrics, such as too many of them."""
        if self._own is None:
            file: Any = FileInMemory(self._data or b"")
            with AvroFile[ManifestEntry](file, ENTRIES, READ_TYPES, READ_ENUMS) as reader:
                self._own = [[getattr(entry.data_file, name) for name in LATER] for entry in reader]
        return self._own

    def _metrics(self, name: str) -> tuple[Any, ...]:
        """A map of all rows: which of them have one, where each begins, its keys, and its array."""
        found: Any = self._lists.get(f"metrics {name}")
        if found is None:
            array = self.array(name)
            valid = array.is_valid().to_pylist() if array.null_count else None
            found = (valid, integers(array.offsets), array.keys, array.items)
            self._lists[f"metrics {name}"] = found
        return found  # type: ignore[no-any-return]

    def _counts(self, name: str, first: int, end: int) -> list[Any]:
        valid, ends, keys, items = self._metrics(name)
        begin, length = ends[first], ends[end] - ends[first]
        # As PyIceberg's reader has them: a key, its value, the next key.
        pairs: list[Any] = [None] * (2 * length)
        pairs[::2], pairs[1::2] = integers(keys.slice(begin, length)), integers(items.slice(begin, length))
        flat = tuple(pairs)
        made: list[Any] = [
            LazyDict((flat[2 * (a - begin) : 2 * (b - begin)],)) if a < b else EMPTY_DICT
            for a, b in pairwise(ends[first : end + 1])
        ]
        return _none_where_null(made, valid, first)

    def _bounds(self, name: str, first: int, end: int) -> list[Any]:
        valid, ends, keys, items = self._metrics(name)
        begin, length = ends[first], ends[end] - ends[first]
        numbers, cut = integers(keys.slice(begin, length)), python_values(items.slice(begin, length))
        pairs = zip(numbers, cut, strict=True)
        made: list[Any] = [dict(islice(pairs, b - a)) for a, b in pairwise(ends[first : end + 1])]
        return _none_where_null(made, valid, first)


def _none_where_null(made: list[Any], valid: list[bool] | None, first: int) -> list[Any]:
    """Values of rows from the first on, None where there is none."""
    if valid is None:
        return made
    return [value if valid[row] else None for row, value in enumerate(made, first)]


def in_batches(data: bytes, manifest: Any) -> Iterator[ManifestColumns]:
    """All columns of a manifest, some thousand entries at a time: memory is that of what is kept of them.

    Raises: as `ManifestColumns`.
    """
    # Of a manifest without entries too.
    _stored_types(data)
    for batch in read_manifest(data, columns=(*FIRST, *LATER), threads=1).to_arrow_batch_reader():
        yield ManifestColumns(data, manifest, dict(zip(batch.schema.names, batch.columns, strict=True)))


def _arrays(data: bytes, columns: Sequence[str]) -> dict[str, pa.Array]:
    return column_arrays(read_manifest(data, columns=columns, threads=1).to_arrow())
