"""Changes of a table's schema, as each format's core takes them."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import encodable, mapping, names
from lakebed._pyarrow import pa
from lakebed.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    Path: TypeAlias = str | Sequence[str]
    Type: TypeAlias = pa.DataType | pa.Field | str | Mapping[str, Any]
    # Where a column is put, and beside which.
    _Place: TypeAlias = tuple[str, str | None]


@dataclass(frozen=True)
class SchemaChange:
    """One change of a schema, for `Table.update_schema`; of both formats by the same names.

    A column is named by its name; a nested one by the names of all that it is in (`["address", "zip"]`; of
    Iceberg also `"address.zip"`), with `element` for what a list holds, and `key` and `value` for a map. A
    type is one of Arrow's (of Paimon a field's metadata may name it: `paimon.type`), or the format's own:
    `"decimal(10, 2)"`, or the object that metadata has for nested types.

    Attributes: name, of the change; iceberg and paimon, what makes the JSON that each format's core takes,
        None where the format has no such change.
    """

    name: str
    iceberg: Callable[[], list[Any]] | None = field(repr=False)
    paimon: Callable[[], list[Any]] | None = field(repr=False)

    @classmethod
    def add_column(
        cls,
        path: Path,
        field_type: Type,
        doc: str | None = None,
        *,
        required: bool = False,
        default: Any = None,
        first: bool = False,
        after: str | None = None,
        before: str | None = None,
    ) -> SchemaChange:
        """Adds a column: last, first, or beside another; a nested one by a sequence of names.

        Rows that are there have null, of Iceberg the default (version 3): a JSON single value, or a `date`,
        `time`, `datetime`, `Decimal`, `UUID` or `bytes` that becomes one. A required column (Iceberg) needs
        one. Paimon takes neither `required` nor `default`, which is an UnsupportedError.
        """
        *parent, name = _names(path)
        place = _place(first, after, before, last=False)

        def iceberg() -> list[Any]:
            if isinstance(path, str) and "." in path:
                message = f"{path!r} could be nested: name a new column by a sequence of names, [{path!r}]"
                raise TypeError(message)
            added = {
                "parent": ".".join(parent) or None,
                "name": name,
                "field_type": _of_iceberg(path, field_type),
                "required": required,
                "doc": _doc("doc", doc),
                "default_value": _single_value(default),
            }
            return [{"add_column": added}, *_moved(_full(path), place)]

        def paimon() -> list[Any]:
            kind, move = _of_paimon(path, field_type), place and _move(None, place)
            return [_paimon("addColumn", path, dataType=kind, comment=_doc("doc", doc), move=move)]

        return cls("add_column", iceberg, None if required or default is not None else paimon)

    @classmethod
    def drop_column(cls, path: Path) -> SchemaChange:
        """Removes a column; files keep its values, which nobody reads any more."""
        iceberg = {"delete_column": _full(path)}
        return cls("drop_column", lambda: [iceberg], lambda: [_paimon("dropColumn", path)])

    @classmethod
    def rename_column(cls, path: Path, new_name: str) -> SchemaChange:
        """Gives a column another name, in its struct; of Paimon also in the key and in options that name
        it.
        """
        iceberg = {"rename_column": [_full(path), encodable("new_name", new_name)]}
        paimon = _paimon("renameColumn", path, newName=new_name)
        return cls("rename_column", lambda: [iceberg], lambda: [paimon])

    @classmethod
    def update_type(cls, path: Path, field_type: Type) -> SchemaChange:
        """Gives a column another type: of Iceberg a wider one (int to long, float to double, a decimal with
        more digits), of Paimon one that its values can be cast to, as null or not null as it is.
        """

        def paimon() -> list[Any]:
            kind = _of_paimon(path, field_type)
            return [_paimon("updateColumnType", path, newDataType=kind, keepNullability=True)]

        iceberg = lambda: [{"update_column": [_full(path), _of_iceberg(path, field_type)]}]  # noqa: E731
        return cls("update_type", iceberg, paimon)

    @classmethod
    def update_doc(cls, path: Path, doc: str | None) -> SchemaChange:
        """Gives a column a comment, or none."""
        iceberg = {"update_column_doc": [_full(path), _doc("doc", doc)]}
        paimon = _paimon("updateColumnComment", path, newComment=doc)
        return cls("update_doc", lambda: [iceberg], lambda: [paimon])

    @classmethod
    def update_default(cls, path: Path, default: Any) -> SchemaChange:
        """Says what new rows have where nothing is given (Iceberg: version 3; Paimon: a text); None for
        null.
        """
        return cls(
            "update_default",
            lambda: [{"update_column_default": [_full(path), _single_value(default)]}],
            lambda: [_paimon("updateColumnDefaultValue", path, newDefaultValue=_doc("default", default))],
        )

    @classmethod
    def update_required(cls, path: Path, *, required: bool) -> SchemaChange:
        """Says whether a column may be null. That it may no longer is an incompatible change of Iceberg's,
        but for a new column with a default.
        """
        iceberg = {"require_column" if required else "make_column_optional": _full(path)}
        paimon = _paimon("updateColumnNullability", path, newNullability=not required)
        return cls("update_required", lambda: [iceberg], lambda: [paimon])

    @classmethod
    def move_column(
        cls,
        path: Path,
        *,
        first: bool = False,
        after: Path | None = None,
        before: Path | None = None,
        last: bool = False,
    ) -> SchemaChange:
        """Moves a column within its struct: first, beside another, or (Paimon, whose nested columns stay)
        last.
        """
        place = _place(first, after, before, last)
        if place is None:
            raise TypeError("move_column takes one of first, after, before and last")
        name = _names(path)
        move = _move(name[-1], place)
        return cls(
            "move_column",
            None if last else lambda: _moved(_full(path), place),
            (lambda: [{"action": "updateColumnPosition", "move": move}]) if len(name) == 1 else None,
        )

    @classmethod
    def set_identifier_fields(cls, paths: Iterable[Path]) -> SchemaChange:
        """(Iceberg) Says which columns tell rows apart: required ones, by their names after the changes."""
        columns = [_full(path) for path in paths]
        return cls("set_identifier_fields", lambda: [{"set_identifier_fields": columns}], None)

    @classmethod
    def update_comment(cls, comment: str | None) -> SchemaChange:
        """(Paimon) Gives the table a comment, or none."""
        return cls(
            "update_comment", None, lambda: [{"action": "updateComment", "comment": _doc("comment", comment)}]
        )

    def json(self, format: str) -> list[str]:
        """The change as the core of a format takes it. Raises: UnsupportedError where the format has none."""
        made = self.iceberg if format == "iceberg" else self.paimon
        if made is None:
            message = f"{self.name} with these arguments is no change of {format} tables"
            raise UnsupportedError(message, kind="unsupported", field=self.name)
        return [json.dumps(part) for part in made()]


def _paimon(action: str, path: Path, **values: Any) -> dict[str, Any]:
    """A change as Paimon's REST catalogs spell it."""
    return {"action": action, "fieldNames": _names(path), **values}


def _move(name: str | None, place: _Place) -> dict[str, Any]:
    return {"fieldName": name, "referenceFieldName": place[1], "type": place[0]}


def _full(path: Path) -> str:
    return ".".join(_names(path))


def _names(path: Path) -> list[str]:
    """The names of a column and of what it is in. Raises: TypeError, SchemaError for lone surrogates."""
    found = [encodable("path", path)] if isinstance(path, str) else names("path", path)
    if not found:
        raise TypeError(f"path is a column's name, or the names that lead to it, not {path!r}")
    return found


def _doc(argument: str, text: str | None) -> str | None:
    return None if text is None else encodable(argument, text)


def _place(first: bool, after: Path | None, before: Path | None, last: bool) -> _Place | None:
    """Where a column is put, and beside which. Raises: TypeError for more than one place."""
    places = {"FIRST": first, "AFTER": after, "BEFORE": before, "LAST": last}
    given = [kind for kind, place in places.items() if place is not None and place is not False]
    if len(given) > 1:
        raise TypeError("a column has one place: first, after, before or last")
    if not given:
        return None
    beside = before if after is None else after
    return given[0], None if beside is None else _full(beside)


def _moved(name: str, place: _Place | None) -> list[Any]:
    if place is None:
        return []
    kind, beside = place
    return [{"move_first": name}] if kind == "FIRST" else [{f"move_{kind.lower()}": [name, beside]}]


def _of_iceberg(path: Path, kind: Type) -> Any:
    """A type as Iceberg's metadata has it."""
    return _of_format(path, kind, _native.iceberg_fields)


def _of_paimon(path: Path, kind: Type) -> Any:
    """A type as Paimon's schema files have it."""

    def fields(schema: pa.Schema) -> str:
        (field,) = schema
        stored = field.with_type(_arrow.type_schema(field.type).field(0).type)
        return _native.paimon_fields(schema.set(0, stored))

    return _of_format(path, kind, fields)


def _of_format(path: Path, kind: Type, fields: Callable[[pa.Schema], str]) -> Any:
    """A type of Arrow's as `fields` has that of a column; any other as it is.

    Raises: TypeError, SchemaError; what `fields` raises.
    """
    if isinstance(kind, str):
        return encodable("field_type", kind)

    column = _names(path)[-1]
    if isinstance(kind, pa.DataType):
        kind = pa.field(column, kind)
    if isinstance(kind, pa.Field):
        return json.loads(fields(pa.schema([kind.with_name(column)])))[0]["type"]
    return dict(mapping("field_type", kind))


def _single_value(value: Any) -> Any:
    """A default as a JSON single value."""
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (Decimal, uuid.UUID)):
        return str(value)
    return value.hex() if isinstance(value, (bytes, bytearray)) else value
