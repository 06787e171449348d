"""Single files of Apache Iceberg's metadata, written as its Java library writes them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native, _sink
from lakebed.limits import LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from lakebed._keywords import Writing
    from lakebed._sink import Sink
    from lakebed.table import Table


@_sink.writer("deflate")
def write_manifest(
    entries: Any,
    sink: Sink | None = None,
    *,
    schema: Mapping[str, Any] | Table,
    spec: Mapping[str, Any] | Sequence[Mapping[str, Any]] | Table | int,
    format_version: int,
    content: str = "data",
    **given: Unpack[Writing],
) -> bytes | None:
    """Writes the entries of one manifest, in the order given: the mirror of `read_manifest`.

    Args:
        entries: anything with `__arrow_c_stream__` and the columns of `read_manifest`, which gives what is to
            be stored where it was not told the row of the manifest list. `status`, `file_path`,
            `file_format`, `record_count` and `file_size_in_bytes` must be there, `content` for delete files
            and `partition` where the spec has fields (by their names); any other may be absent, which is
            null. Columns and partition fields that the version or the spec does not have can only be null.
        schema: the table's schema, as `schemas` of `read_metadata` has it, or a table, for the one that it
            is at.
        spec: a partition spec, as `partition-specs` has it, or the list of its fields, which is then spec 0;
            or a table, for its default spec, or the id of one where `schema` is a table.
        format_version: 1, 2 or 3.
        content: "data" or "deletes".
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a column or partition field that is not there or not the format's, another type, a
        null where there must be a value, a value that the version, the spec or the type has no place for;
        with `.field` and, of a value, `.record`), CorruptError (an invalid schema or spec),
        UnsupportedError (version, codec), LimitError, FileExistsError, OSError. A path then has no file, or
        the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Iceberg specification, "Manifests" and appendix A; Iceberg's `ManifestWriter.java`,
        `V3Metadata.java` and before.
    """
    schema_text, spec_text = _layout(schema, spec)
    form = SimpleNamespace(schema=schema_text, spec=spec_text, format_version=format_version, content=content)
    how = _sink.options("write_manifest", "deflate", given)
    target, rows = (_sink.target(sink), how.overwrite), _arrow.writable(entries)
    return _native.iceberg_write_manifest(rows, target, form, how.encoding, how.limits)


def _layout(
    schema: Mapping[str, Any] | Table, spec: Mapping[str, Any] | Sequence[Mapping[str, Any]] | Table | int
) -> tuple[str, str]:
    """A schema and a spec in JSON. Raises: TypeError for the id of a spec without a table."""
    schemas, specs = getattr(schema, "core", None), getattr(spec, "core", None)
    if isinstance(spec, int) and schemas is None:
        raise TypeError("spec takes the id of a partition spec only where schema is a table")
    if isinstance(spec, int):
        specs = schemas
    spec_id = spec if isinstance(spec, int) else None
    of_schema = None if schemas is None else _native.iceberg_layout(schemas, None)[0]
    of_spec = None if specs is None else _native.iceberg_layout(specs, spec_id)[1]
    return of_schema or _json(schema), of_spec or _json(spec)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@_sink.writer("deflate")
def write_manifest_list(
    manifests: Any,
    sink: Sink | None = None,
    *,
    format_version: int,
    snapshot_id: int,
    parent_snapshot_id: int | None = None,
    sequence_number: int = 0,
    first_row_id: int | None = None,
    **given: Unpack[Writing],
) -> bytes | None:
    """Writes the records of one manifest list, in the order given: the mirror of `read_manifest_list`.

    Args:
        manifests: anything with `__arrow_c_stream__` and the columns of `read_manifest_list`. In version 1
            path, length, spec and `added_snapshot_id` must be there, in later ones all but `partitions`,
            `key_metadata` and `first_row_id`. Columns that the version does not have can only be null, or 0
            as readers give them.
        format_version: 1, 2 or 3.
        snapshot_id: the snapshot that the list is of, as the header says it.
        parent_snapshot_id: the one that it was made from, None for the first.
        sequence_number: the number of its commit; version 1 does not have it.
        first_row_id: where its row ids begin; versions 1 and 2 do not have it.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a column that is not there or not the format's, another type, a null where there must
        be a value, a value that the version has no place for; with `.field` and, of a value, `.record`),
        UnsupportedError (version, codec), LimitError, FileExistsError, OSError. A path then has no file, or
        the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Iceberg specification, "Manifest Lists"; Iceberg's `ManifestListWriter.java`.
    """
    header = SimpleNamespace(
        format_version=format_version,
        snapshot_id=snapshot_id,
        parent_snapshot_id=parent_snapshot_id,
        sequence_number=sequence_number,
        first_row_id=first_row_id,
    )
    how = _sink.options("write_manifest_list", "deflate", given)
    target, rows = (_sink.target(sink), how.overwrite), _arrow.writable(manifests)
    return _native.iceberg_write_manifest_list(rows, target, header, how.encoding, how.limits)


def write_metadata(
    metadata: Mapping[str, Any],
    sink: Sink | None = None,
    *,
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """Writes one `metadata.json`: the mirror of `read_metadata`.

    Args:
        metadata: the object, as `read_metadata` gives it. Its keys are written in the order of Iceberg's Java
            library, those that the format does not have after them; nothing is added or left out.
        sink: a local path, compressed with gzip where it ends in `.gz.metadata.json` or `.metadata.json.gz`,
            an open binary file, or None for the text as bytes.
        overwrite: replace a file that is there.
        limits: what readers agree to: files beyond it are not written.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (what `read_metadata` refuses), UnsupportedError (version), LimitError,
        FileExistsError, OSError. A path then has no file, or the one it had.
    Cost: the whole object, in memory.
    Source: Iceberg specification, "Table Metadata"; Iceberg's `TableMetadataParser.java`.
    """
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    return _native.iceberg_write_metadata(text, (_sink.target(sink), overwrite), limits)
