"""Avro files: their schema, and how many records they have. They have no footer, and no statistics."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from lakebed._columns import UUID_BYTES
from lakebed._pyarrow import pa
from lakebed.errors import CorruptError, LimitError, TruncatedError
from lakebed.footers.footer import Convert, Counts, FileColumn

if TYPE_CHECKING:
    from lakebed.limits import Limits

MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
# What is read at once while blocks are counted.
_PIECE = 4 << 20
_MOST_VARINT_BYTES = 10


@cache
def _plain() -> dict[str, pa.DataType]:
    """The types of Arrow, which is imported when they are asked for."""
    return {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "bytes": pa.binary(),
    }


@cache
def _logical() -> dict[str, pa.DataType]:
    """Of logical types those of Arrow."""
    return {
        "date": pa.date32(),
        "time-millis": pa.time32("ms"),
        "time-micros": pa.time64("us"),
        "local-timestamp-millis": pa.timestamp("ms"),
        "local-timestamp-micros": pa.timestamp("us"),
        "local-timestamp-nanos": pa.timestamp("ns"),
    }


_UNITS = {"timestamp-millis": "ms", "timestamp-micros": "us", "timestamp-nanos": "ns"}

Read = Callable[[int, int], bytes]
"""Bytes of a file, from one offset up to another."""


class AvroFooter:
    """A `Footer` of Avro, from the file's header and the heads of its blocks.

    Args: read, gives bytes of the file; size, of the file [bytes].
    Raises: CorruptError and its kin, with path and offset; LimitError.
    Cost: Avro has no footer: the file is read once, some MiB at a time; nothing is inflated.
    Source: Avro specification 1.12, "Object container files"; Iceberg's `AvroIO.java`.
    """

    format = "AVRO"
    split_offsets: list[int] | None = None

    def __init__(self, read: Read, size: int, path: str, limits: Limits) -> None:
        bytes_ = _Bytes(read, size, path)
        schema = _schema(bytes_, limits)
        sync, self.rows = bytes_.take(_SYNC_BYTES), 0
        while bytes_.at < size:
            at, count, length = bytes_.at, bytes_.varint(), bytes_.varint()
            if count < 0 or length < 0:
                raise bytes_.wrong("a block has a negative count or length", "count", at)
            self.rows += count
            bytes_.skip(length)
            if bytes_.take(_SYNC_BYTES) != sync:
                raise bytes_.wrong("a block does not end in the file's sync marker", "sync", at)
        try:
            root = _Types(limits, path).column("", schema, None, limits.max_schema_depth)
        except (TypeError, AttributeError, pa.ArrowException) as error:
            raise bytes_.wrong("the schema is malformed", "schema", 0) from error
        if root.kind != "struct":
            raise bytes_.wrong("the file's records are no records", "schema", 0)
        self.columns = root.children

    def counts(self, number: int, convert: Convert | None) -> Counts:  # noqa: ARG002 - of all alike
        """Nothing: Avro files have no statistics."""
        return Counts()


class _Bytes:
    """The bytes of a file, in order. Raises: TruncatedError, CorruptError."""

    def __init__(self, read: Read, size: int, path: str) -> None:
        self._read, self._size, self._path = read, size, path
        self._start, self._piece = 0, b""
        self.at = 0

    def take(self, length: int) -> bytes:
        if length > self._size - self.at:
            message = f"the file ends within a value: {length} bytes are needed, {self._size - self.at} left"
            raise TruncatedError(
                f"{message} ({self._path})", kind="truncated", path=self._path, offset=self.at
            )
        first = self.at - self._start
        if not 0 <= first <= first + length <= len(self._piece):
            end = min(self._size, self.at + max(length, _PIECE))
            self._start, self._piece = self.at, bytes(self._read(self.at, end))
            first = 0
            if len(self._piece) < length:
                message = f"the file has become shorter than {self._size} bytes ({self._path})"
                raise TruncatedError(message, kind="truncated", path=self._path, offset=self.at)
        self.at += length
        return self._piece[first : first + length]

    def skip(self, length: int) -> None:
        """Passes over bytes that are not looked at."""
        if length > self._size - self.at:
            self.take(length)
        self.at += length

    def varint(self) -> int:
        value = 0
        for shift in range(0, 7 * _MOST_VARINT_BYTES, 7):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise self.wrong("a number of more than 64 bits", "varint", self.at)

    def over(self, message: str) -> LimitError:
        text = f"{message} (byte {self.at}, {self._path})"
        return LimitError(text, kind="limit", path=self._path, offset=self.at)

    def wrong(self, message: str, kind: str, at: int) -> CorruptError:
        return CorruptError(f"{message} (byte {at}, {self._path})", kind=kind, path=self._path, offset=at)


def _schema(bytes_: _Bytes, limits: Limits) -> Any:
    """The schema of a header. Leaves the bytes at the sync marker."""
    bytes_.take(len(MAGIC))
    schema = b""
    while count := bytes_.varint():
        if count < 0:
            count = -count
            bytes_.varint()
        for _ in range(count):
            key, value = (_text(bytes_, limits) for _ in range(2))
            schema = value if key == b"avro.schema" else schema
    try:
        return json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise bytes_.wrong(f"the schema is no JSON: {error}", "schema", 0) from error


def _text(bytes_: _Bytes, limits: Limits) -> bytes:
    length = bytes_.varint()
    if length < 0:
        raise bytes_.wrong("a text of negative length", "length", bytes_.at)
    if bytes_.at + length > limits.max_header_bytes:
        raise bytes_.over(f"a header of more than max_header_bytes, {limits.max_header_bytes}")
    return bytes_.take(length)


class _Types:
    """The columns of a schema (Iceberg specification, "Avro": ids are attributes of fields and types)."""

    def __init__(self, limits: Limits, path: str) -> None:
        self._left, self._path = limits.max_schema_nodes, path
        self._named: dict[str, Any] = {}
        self._number = 0

    def column(self, name: str, schema: Any, field_id: int | None, depth: int) -> FileColumn:
        self._left -= 1
        if depth < 1 or self._left < 0:
            message = f"a schema over max_schema_depth or max_schema_nodes ({self._path})"
            raise LimitError(message, kind="depth", path=self._path)
        required = True
        if isinstance(schema, list):
            branches = [branch for branch in schema if branch != "null"]
            required = len(branches) == len(schema)
            schema = branches[0] if len(branches) == 1 else {"type": "union"}
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        if not isinstance(schema, dict) or "type" not in schema:
            raise CorruptError(f"the schema is malformed ({self._path})", kind="schema", path=self._path)
        if isinstance(schema["type"], dict | list):
            return self.column(name, schema["type"], field_id, depth - 1)
        if "name" in schema:
            self._named[schema["name"]] = schema
            self._named[f"{schema.get('namespace', '')}.{schema['name']}".lstrip(".")] = schema
        word = {"record": "struct", "array": "list", "map": "map"}.get(schema["type"], "primitive")
        fields = schema.get("fields", []) if word == "struct" else []
        if word == "list":
            items, fields = schema.get("items"), [{"name": "element", "type": schema.get("items")}]
            fields[0]["field-id"] = schema.get("element-id")
            if schema.get("logicalType") == "map" and isinstance(items, dict):
                # A map whose keys are no texts is a list of pairs.
                word, fields = "map", items.get("fields", [])
        elif word == "map":
            fields = [
                {"name": "key", "type": "string", "field-id": schema.get("key-id")},
                {"name": "value", "type": schema.get("values"), "field-id": schema.get("value-id")},
            ]
        children = tuple(
            self.column(str(field.get("name")), field.get("type"), field.get("field-id"), depth - 1)
            for field in fields
        )
        if word != "primitive":
            return FileColumn(name, field_id, word, None, None, required, children)
        self._number += 1
        form = "local-timestamp" if str(schema.get("logicalType")).startswith("local-timestamp") else ""
        return FileColumn(name, field_id, word, _type(schema), self._number - 1, required, form=form)


def _type(schema: dict[str, Any]) -> pa.DataType | None:
    """The Arrow type of a primitive's values."""
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema.get("precision", 0), schema.get("scale", 0)
        return pa.decimal128(precision, scale) if 0 <= scale <= precision <= 38 and precision else None
    if logical in _UNITS:
        # Iceberg writes all timestamps so, and says here whether they are of a time zone.
        zone = "UTC" if schema.get("adjust-to-utc", True) else None
        return pa.timestamp(_UNITS[logical], zone)
    if kind == "fixed":
        return pa.binary(UUID_BYTES if logical == "uuid" else schema.get("size"))
    return _logical().get(str(logical)) or _plain().get(kind)
