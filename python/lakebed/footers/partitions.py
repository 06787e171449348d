"""Which partition a file is of: by the bounds of its columns, or by the names of its folders."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lakebed import _native
from lakebed._columns import Column, leaves_of
from lakebed._pyarrow import pa, pc
from lakebed._values import to_json_values
from lakebed.errors import SchemaError, UnsupportedError
from lakebed.footers.footer import Counts
from lakebed.footers.values import array_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lakebed.table import Table

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# Transforms under which values between two of one partition are of that partition too.
_ORDERED = re.compile(r"identity|year|month|day|hour|truncate\[\d+\]")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class PartitionField:
    """A field that a table is partitioned by.

    Attributes: name; transform, as Iceberg spells it; source, the column that it is made of, None of one that
        the schema has no more.
    """

    name: str
    transform: str
    source: Column | None


@dataclass
class Placed:
    """What is known of one file's partition: its path, and what its footer says of the source columns."""

    path: str
    counts: Mapping[str, Counts]


class Partitions:
    """Finds the partitions of files of a table, by its default spec.

    Args: columns, the table's.
    """

    def __init__(self, table: Table, columns: Sequence[Column]) -> None:
        self._table = table
        self._nulls = {_HIVE_NULL, table.properties.get("partition.default-name", "__DEFAULT_PARTITION__")}
        self.fields = (_of_iceberg if table.format == "iceberg" else _of_paimon)(table, columns)
        self.sources = {field.source.path for field in self.fields if field.source is not None}

    def named(self, path: str) -> set[str]:
        """The paths of columns whose values all rows of a file have by the names of its folders."""
        keys = folder_values(path)
        return {
            field.source.path
            for field in self.fields
            if field.source is not None
            and (field.source.path in keys or (field.name in keys and field.transform == "identity"))
        }

    def of(self, files: Sequence[Placed]) -> pa.RecordBatch:
        """`partition` and, of Iceberg, `spec_id` of each file, a row each.

        Raises: SchemaError with the file as `.path` and the partition field as `.field`: rows of two
            partitions, folders that contradict the bounds, a partition that neither tells, a folder's name
            that is no value. UnsupportedError for a transform that lakebed does not compute.
        """
        # Of each file a row of lower bounds, one of upper bounds, and one of what its folders say.
        count, columns = len(files), dict[str, pa.Array]()
        for field in self.fields:
            if field.source is not None and field.source.path not in columns:
                columns[field.source.path] = self._values(field, files)
        places = pa.record_batch(self._table.core.partitions_of(self._rows(columns, 3 * count)))
        if not self.fields:
            return places.slice(0, count)
        partition = places.column("partition")
        fields = {one.name: partition.field(number) for number, one in enumerate(partition.type)}
        for field in self.fields:
            fields[field.name] = self._agreed(field, fields[field.name], files)
        made = pa.StructArray.from_arrays(
            [values.slice(0, count) for values in fields.values()], fields=list(partition.type)
        )
        others = {name: places.column(name).slice(0, count) for name in places.schema.names}
        return pa.record_batch({**others, "partition": made})

    def _values(self, field: PartitionField, files: Sequence[Placed]) -> pa.Array:
        """Lower bounds, upper bounds and values of folders; each stands in for what is not known."""
        source = field.source
        assert source is not None
        sides: tuple[list[Any], ...] = ([], [])
        for file in files:
            counts = file.counts.get(source.path) or Counts()
            sides[0].append(counts.lower)
            sides[1].append(counts.upper)
        bounds = [array_of(side, source) for side in sides]
        folders = pa.array([self._text(field, file.path) for file in files], pa.string())
        named = pa.concat_arrays([self._parsed(field, folders, files)])
        told = pa.array([self._key(field, file.path) == source.path for file in files], pa.bool_())
        known = pa.array([_known(file.counts.get(source.path), source) for file in files], pa.bool_())
        rows = [pc.if_else(known, side, named) for side in bounds]
        return pa.concat_arrays([*rows, pc.if_else(told, named, rows[0])])

    def _key(self, field: PartitionField, path: str) -> str | None:
        """The key of the folder that says the value of a field's source, as its path; or of the field."""
        keys, source = folder_values(path), field.source
        if source is not None and source.path in keys:
            return source.path
        if field.name in keys:
            return source.path if source is not None and field.transform == "identity" else field.name
        return None

    def _text(self, field: PartitionField, path: str) -> str | None:
        """What a folder says of the source of a field; None for null, and for nothing."""
        source, keys = field.source, folder_values(path)
        if source is None or self._key(field, path) != source.path:
            return None
        text = keys.get(source.path, keys.get(field.name))
        return None if text in self._nulls else text

    def _parsed(self, field: PartitionField, texts: pa.Array, files: Sequence[Placed]) -> pa.Array:
        source = field.source
        assert source is not None
        try:
            return parsed(texts, source.shown)
        except pa.ArrowException:
            bad = next(at for at in range(len(texts)) if not _parses(texts.slice(at, 1), source.shown))
            message = (
                f"a folder says that {source.path} is {texts[bad].as_py()!r}, which is no {source.shown}"
            )
            raise _wrong(message, files[bad], field, "argument") from None

    def _agreed(self, field: PartitionField, values: pa.Array, files: Sequence[Placed]) -> pa.Array:
        """A field's values of lower bounds, if upper bounds and folders say the same."""
        if field.transform == "void":
            return values
        count = len(files)
        values = self._with_own_folders(field, values, files)
        for file in files:
            self._check_known(field, file)
            if not _ORDERED.fullmatch(field.transform) and field.source is not None:
                known = file.counts.get(field.source.path) or Counts()
                if known.lower != known.upper:
                    message = f"rows of several {field.source.path} may be of several {field.name}"
                    raise _wrong(message, file, field, "mismatch")
        codes = pc.fill_null(values.dictionary_encode().indices, -1)
        lower, upper, folder = (codes.slice(number * count, count) for number in range(3))
        for other, what in ((upper, "it has rows of two partitions"), (folder, "its folder says otherwise")):
            at = pc.index(pc.not_equal(lower, other), True).as_py() if count else -1
            if at >= 0:
                offset = count if other is upper else 2 * count
                here, there = to_json_values(values.take(pa.array([at, at + offset])))
                message = f"{what}: {field.name} is {here!r} and {there!r}"
                raise _wrong(message, files[at], field, "mismatch")
        return values

    def _with_own_folders(self, field: PartitionField, values: pa.Array, files: Sequence[Placed]) -> pa.Array:
        """The values with those of folders named as the field itself, such as `ts_day=2026-01-01`."""
        told = [self._key(field, file.path) == field.name and not self._is_source(field) for file in files]
        if not any(told):
            return values
        reader = _reader_of(field, values.type)
        own: list[Any] = []
        for file, is_told in zip(files, told, strict=True):
            text = folder_values(file.path).get(field.name) if is_told else None
            try:
                value = None if text is None or text in self._nulls else reader(text)
                own.append(pa.scalar(value, values.type).as_py())
            except (ValueError, OverflowError) as error:
                message = f"a folder says that {field.name} is {text!r}, which it cannot be"
                raise _wrong(message, file, field, "argument") from error
        said, is_told = pa.array(own, values.type), pa.array(told)
        count = len(files)
        known = pa.array([_known(self._counts(field, file), field.source) for file in files], pa.bool_())
        sides = [
            pc.if_else(pc.or_(pc.invert(is_told), known), values.slice(side * count, count), said)
            for side in range(2)
        ]
        return pa.concat_arrays([*sides, pc.if_else(is_told, said, values.slice(2 * count, count))])

    def _is_source(self, field: PartitionField) -> bool:
        return field.source is not None and field.source.path == field.name

    def _counts(self, field: PartitionField, file: Placed) -> Counts | None:
        return None if field.source is None else file.counts.get(field.source.path)

    def _check_known(self, field: PartitionField, file: Placed) -> None:
        counts, source = self._counts(field, file), field.source
        if self._key(field, file.path) is not None or _known(counts, source):
            return
        if counts is not None and source is not None and counts.nulls and counts.lower is not None:
            message = f"it has rows of two partitions: {source.path} is null in some, and not in others"
            raise _wrong(message, file, field, "mismatch")
        where = field.name if source is None else source.path
        message = (
            f"neither its footer nor a folder tells its {field.name}: no bounds of {where} say all, "
            f"and no folder is {where}=…"
        )
        raise _wrong(message, file, field, "mismatch")

    def _rows(self, columns: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        """Rows of the table's schema with these columns; all others are null."""
        schema = self._table.schema
        arrays = [_filled(field, field.name, columns, count) for field in schema]
        fields = [field.with_nullable(True) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _filled(field: pa.Field[Any], path: str, columns: Mapping[str, pa.Array], count: int) -> pa.Array:
    if path in columns:
        return columns[path]
    if pa.types.is_struct(field.type) and any(known.startswith(f"{path}.") for known in columns):
        children = [_filled(child, f"{path}.{child.name}", columns, count) for child in field.type]
        return pa.StructArray.from_arrays(children, fields=[one.with_nullable(True) for one in field.type])
    return pa.nulls(count, field.type)


def _known(counts: Counts | None, source: Column | None) -> bool:
    """Whether bounds and counts say all of a column's values: nothing but nulls, or no null and no NaN."""
    if counts is None or source is None or not counts.values or counts.nulls is None:
        return False
    if counts.nulls == counts.values:
        return True
    return not counts.nulls and counts.lower is not None and not pa.types.is_floating(source.type)


def folder_values(path: str) -> dict[str, str]:
    """What folders named `key=value` say; of equal keys the last."""
    folders = path.split("/")[:-1]
    pairs = (folder.partition("=") for folder in folders)
    return {unquote(key): unquote(value) for key, equals, value in pairs if equals and key}


def parsed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts of folders as values. Times without a zone are in UTC. Raises: pyarrow's errors."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        naive = pa.timestamp(kind.unit)
        try:
            return texts.cast(naive).cast(pa.int64()).cast(kind)
        except pa.ArrowException:
            return texts.cast(kind)
    if pa.types.is_binary(kind):
        return texts.cast(pa.binary())
    return texts.cast(kind)


def _parses(texts: pa.Array, kind: pa.DataType) -> bool:
    try:
        parsed(texts, kind)
    except pa.ArrowException:
        return False
    return True


def _reader_of(field: PartitionField, kind: pa.DataType) -> Callable[[str], Any]:
    """What reads the values that Iceberg gives folders (`Transform.toHumanString`)."""
    if field.transform == "year":
        return lambda text: int(text) - _EPOCH.year
    if field.transform == "month":
        return lambda text: _months(date.fromisoformat(f"{text}-01"))
    if field.transform == "hour":
        return lambda text: (date.fromisoformat(text[:10]) - _EPOCH).days * 24 + int(text[11:])
    if field.transform == "day":
        return date.fromisoformat
    if bucket := re.fullmatch(r"bucket\[(\d+)\]", field.transform):
        return lambda text: range(int(bucket[1])).index(int(text))

    def read(text: str) -> Any:
        try:
            return parsed(pa.array([text], pa.string()), kind)[0].as_py()
        except pa.ArrowException as error:
            raise ValueError(str(error)) from error

    return read


def _months(day: date) -> int:
    return (day.year - _EPOCH.year) * 12 + day.month - 1


def _of_iceberg(table: Table, columns: Sequence[Column]) -> list[PartitionField]:
    by_id = {leaf.id: leaf for leaf in leaves_of(columns) if not leaf.repeated}
    fields = []
    for field in json.loads(_native.iceberg_layout(table.core, None)[1])["fields"]:
        ids = field.get("source-ids", [field.get("source-id")])
        if len(ids) != 1:
            message = f"the transform {field['transform']} of several columns ({table.location})"
            raise UnsupportedError(message, kind="unsupported", path=table.location, field=field["name"])
        fields.append(PartitionField(field["name"], field["transform"], by_id.get(ids[0])))
    return fields


def _of_paimon(table: Table, columns: Sequence[Column]) -> list[PartitionField]:
    kind = pa.schema(table.files(columns=["partition"])).field("partition").type
    by_name = {column.path: column for column in columns}
    return [PartitionField(field.name, "identity", by_name[field.name]) for field in kind]


def _wrong(message: str, file: Placed, field: PartitionField, kind: str) -> SchemaError:
    return SchemaError(f"{message} ({file.path})", kind=kind, path=file.path, field=field.name)
