"""Which column of a table each column of a file is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakebed.errors import SchemaError
from lakebed.footers.values import fits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed._columns import Column
    from lakebed.footers.footer import Convert, FileColumn

NAME_MAPPING = "schema.name-mapping.default"
"""Iceberg's property with the names that columns have in files without ids."""


@dataclass
class Match:
    """What a file has of a table's columns.

    Attributes: leaves, of each primitive column by its path the one of the file; nullable, paths of required
        columns that the file allows to be null; absent, required columns that the file lacks; converters,
        of leaves what makes their bounds the table's, kept for the files of this schema.
    """

    leaves: dict[str, FileColumn] = field(default_factory=dict)
    nullable: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    converters: dict[str, Convert | None] = field(default_factory=dict)


class Matching:
    """Finds the columns of files in a table.

    Files with field ids are matched by these alone, others by the table's name mapping, else by name: what
    readers of the table do.

    Args: columns, the table's; table_format, None for columns that are those of a file; mapping, the text of
        the table's name mapping; lenient, whether files may have columns that the table has no more.
    Raises: SchemaError for a mapping that is malformed.
    Source: Iceberg specification, "Column Projection" and "Name Mapping"; Iceberg's `ParquetSchemaUtil.java`.
    """

    def __init__(
        self, columns: Sequence[Column], table_format: str | None, mapping: str | None, *, lenient: bool
    ) -> None:
        self._columns, self._table_format, self._lenient = columns, table_format, lenient
        self._mapping = None if mapping is None else _parsed(mapping)
        self._last: tuple[tuple[str, tuple[FileColumn, ...]], Match] | None = None

    def of(self, file_format: str, columns: tuple[FileColumn, ...], path: str) -> Match:
        """What a file has. Raises: SchemaError with the file as `.path` and its column as `.field`."""
        last = self._last
        if last is not None and last[0][0] == file_format and last[0][1] is columns:
            return last[1]
        by_ids = self._table_format == "iceberg" and any(column.has_ids() for column in columns)
        names = None if by_ids else self._mapping
        one = _File(file_format, self._table_format, path, by_ids=by_ids, lenient=self._lenient)
        one.fields(columns, self._columns, names, "", certain=True)
        self._last = ((file_format, columns), one.match)
        return one.match


@dataclass
class _File:
    """One file whose columns are looked for."""

    file_format: str
    table_format: str | None
    path: str
    by_ids: bool
    lenient: bool
    match: Match = field(default_factory=Match)

    def fields(
        self,
        given: Sequence[FileColumn],
        columns: Sequence[Column],
        names: Mapping[str, Any] | None,
        within: str,
        *,
        certain: bool,
    ) -> None:
        """Matches the fields of a struct, or the columns of a file.

        Args: names, what the name mapping has of them; within, their path in the file, with a dot; certain,
            whether what they are in is never null.
        """
        found: dict[str, FileColumn] = {}
        for one in given:
            column, below = self._column(one, columns, names)
            if column is None:
                if self.lenient:
                    continue
                raise self._wrong("unknown-column", f"{within}{one.name}", "the table has no such column")
            if column.path in found:
                raise self._wrong("unknown-column", f"{within}{one.name}", f"{column.path!r} is there twice")
            found[column.path] = one
            self._one(one, column, below, f"{within}{one.name}", certain=certain)
        self.match.absent += [
            column.path
            for column in columns
            if column.required and not column.filled and certain and column.path not in found
        ]

    def _column(
        self, given: FileColumn, columns: Sequence[Column], names: Mapping[str, Any] | None
    ) -> tuple[Column | None, Mapping[str, Any] | None]:
        """The table's column, and what the name mapping has of what is within."""
        if self.by_ids:
            return next((one for one in columns if one.id is not None and one.id == given.id), None), None
        if names is None:
            return next((one for one in columns if one.name == given.name), None), None
        field_id, below = names.get(given.name, (None, {}))
        return next((one for one in columns if one.id is not None and one.id == field_id), None), below

    def _one(
        self, given: FileColumn, column: Column, names: Mapping[str, Any] | None, path: str, *, certain: bool
    ) -> None:
        if given.kind != column.kind:
            raise self._wrong("type", path, f"it is a {given.kind}, and the table's a {column.kind}")
        if column.required and not given.required and certain and given.kind == "primitive":
            self.match.nullable.append(column.path)
        if given.kind == "primitive":
            if not fits(given, column, self.file_format, self.table_format):
                words = "a type that no table has" if given.type is None else given.type
                message = f"its type, {words}, is not read as the table's, {column.type}"
                raise self._wrong("type", path, message)
            self.match.leaves[column.path] = given
        elif given.kind == "struct":
            inside = certain and column.required and given.required
            self.fields(given.children, column.children, names, f"{path}.", certain=inside)
        else:
            for child, known in zip(given.children, column.children, strict=True):
                below = None if names is None else names.get(known.name, (None, {}))[1]
                if self.by_ids and child.id != known.id:
                    message = f"its id {child.id} is not that of {known.path!r}, {known.id}"
                    raise self._wrong("type", f"{path}.{known.name}", message)
                self._one(child, known, below, f"{path}.{known.name}", certain=False)

    def _wrong(self, kind: str, column: str, message: str) -> SchemaError:
        text = f"column {column!r}: {message} ({self.path})"
        return SchemaError(text, kind=kind, path=self.path, field=column)


def mapping_of(columns: Sequence[Column]) -> str:
    """The name mapping of columns by the names that they have (Iceberg's `MappingUtil.java`)."""

    def entries(columns: Sequence[Column]) -> list[dict[str, Any]]:
        return [
            {"field-id": column.id, "names": [column.name]}
            | ({"fields": entries(column.children)} if column.children else {})
            for column in columns
        ]

    return json.dumps(entries(columns), separators=(",", ":"))


def _parsed(text: str) -> dict[str, Any]:
    """By each name its id, and the same of what is within."""

    def names(entries: Any) -> dict[str, Any]:
        return {
            name: (entry.get("field-id"), names(entry.get("fields", [])))
            for entry in entries
            for name in entry["names"]
        }

    try:
        return names(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"the table's property {NAME_MAPPING} is malformed: {error}"
        raise SchemaError(message, kind="schema", field=NAME_MAPPING) from error
