"""Writes single files, which the reading functions of this package read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native, _sink

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import SimpleNamespace

    from typing_extensions import Unpack

    from lakebed._keywords import Writing
    from lakebed._sink import Sink


@_sink.writer("zstandard")
def write_manifest(
    entries: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    **given: Unpack[Writing],
) -> bytes | None:
    """One manifest, of entries as `read_manifest` gives them, in their order.

    Args:
        entries: anything with `__arrow_c_stream__` and the columns of `read_manifest`; those that may be null
            may be missing.
        layout: whose schema the file has. "current" is that of Paimon 1.3 to 2.0, which every version reads;
            "2.1" adds `write_cols_sequences`; "legacy" is that of Paimon up to 0.8, which ends with
            `file_source`. Columns that a layout lacks must be null.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError with `.field`, and `.record` where it is one row's (a column that the format does not
        have or that is of another type, a required one that is missing or null, a value that the layout or
        the column cannot hold), UnsupportedError (codec), LimitError, FileExistsError, OSError. A path then
        has no file, or the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Paimon's `ManifestFile.java`, `ManifestEntrySerializer.java`.

    >>> entries = read_manifest("manifest-1").to_arrow()
    >>> write_manifest(entries, "manifest-2")
    """
    options = _sink.options("write_manifest", "zstandard", given, layout=layout)
    return _write(_native.PaimonFileKind.MANIFEST, entries, sink, options)


@_sink.writer("zstandard")
def write_manifest_list(
    records: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    **given: Unpack[Writing],
) -> bytes | None:
    """One manifest list, of records as `read_manifest_list` gives them, in their order.

    Args:
        records: anything with `__arrow_c_stream__` and the columns of `read_manifest_list`; those that may be
            null may be missing.
        layout: whose schema the file has. "current" is that of Paimon 1.3 and later; "2.1" is the same;
            "legacy" is that of Paimon up to 0.8, without buckets, levels and row ids. Columns that a layout
            lacks must be null.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError with `.field`, and `.record` where it is one row's (a column that the format does not
        have or that is of another type, a required one that is missing or null, a value that the layout or
        the column cannot hold), UnsupportedError (codec), LimitError, FileExistsError, OSError. A path then
        has no file, or the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Paimon's `ManifestList.java`, `ManifestFileMetaSerializer.java`.
    """
    options = _sink.options("write_manifest_list", "zstandard", given, layout=layout)
    return _write(_native.PaimonFileKind.MANIFEST_LIST, records, sink, options)


@_sink.writer("zstandard")
def write_index_manifest(
    records: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    **given: Unpack[Writing],
) -> bytes | None:
    """One index manifest, of records as `read_index_manifest` gives them, in their order.

    Args:
        records: anything with `__arrow_c_stream__` and the columns of `read_index_manifest`; those that may
            be null may be missing.
        layout: whose schema the file has. "current" is that of Paimon 1.3 to 2.0; "2.1" adds `source_meta` of
            global indexes; "legacy" is that of Paimon up to 0.8, which ends with `deletions_vectors_ranges`
            and has no `cardinality`. Columns that a layout lacks must be null.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError with `.field`, and `.record` where it is one row's (a column that the format does not
        have or that is of another type, a required one that is missing or null, a value that the layout or
        the column cannot hold), UnsupportedError (codec), LimitError, FileExistsError, OSError. A path then
        has no file, or the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Paimon's `IndexManifestFile.java`, `IndexManifestEntrySerializer.java`.
    """
    options = _sink.options("write_index_manifest", "zstandard", given, layout=layout)
    return _write(_native.PaimonFileKind.INDEX_MANIFEST, records, sink, options)


def write_snapshot(
    snapshot: Mapping[str, Any], sink: Sink | None = None, *, overwrite: bool = False
) -> bytes | None:
    """One `snapshot-<id>`, `changelog-<id>` or `tag-<name>` file, byte for byte as Java writes it.

    Args:
        snapshot: the JSON object, as `read_snapshot` gives it, its keys in any order; a tag that is kept for
            a time also has `tagCreateTime` and `tagTimeRetained` [s]. Keys whose value is None are left out,
            but for `changelogManifestList`, which Paimon before 1.4 wrote as null.
        sink: a local path, an open binary file, or None for the file as bytes.
        overwrite: replace an existing file.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a required key absent or of the wrong type), FileExistsError, OSError.
    Source: Paimon's `Snapshot.java`, `Tag.java`, `JsonSerdeUtil.java`.
    """
    return _native.paimon_write_snapshot(json.dumps(dict(snapshot)), (_sink.target(sink), overwrite))


def write_schema(
    schema: Mapping[str, Any], sink: Sink | None = None, *, overwrite: bool = False
) -> bytes | None:
    """One `schema-<id>` file, byte for byte as Java writes it.

    Args:
        schema: the JSON object, as `read_schema` gives it, its keys in any order.
        sink: a local path, an open binary file, or None for the file as bytes.
        overwrite: replace an existing file.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a required key absent, a type outside the grammar), FileExistsError, OSError.
    Source: Paimon's `TableSchema.java`, `SchemaSerializer.java`.
    """
    return _native.paimon_write_schema(json.dumps(dict(schema)), (_sink.target(sink), overwrite))


def _write(
    kind: _native.PaimonFileKind, data: Any, sink: Sink | None, options: SimpleNamespace
) -> bytes | None:
    return _native.paimon_write_records(kind, _arrow.writable(data), _sink.target(sink), options)
