"""Writing single files: the mirrors of those that read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native, _sink
from lakebed.limits import LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed._sink import Encoding, Sink


def write_manifest(
    entries: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    codec: str = "zstandard",
    level: int | None = None,
    block_bytes: int = 64_000,
    sync: bytes | None = None,
    verify: bool = False,
    threads: int | None = None,
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """One manifest, of entries as `read_manifest` gives them, in their order.

    Args:
        entries: anything with `__arrow_c_stream__` and the columns of `read_manifest`; those that may be null
            may be absent.
        sink: a local path, an open binary file, or None for the file as bytes.
        layout: whose schema the file has. "current" is that of Paimon 1.3 to 2.0, which every version reads;
            "2.1" adds `write_cols_sequences`; "legacy" is that of Paimon up to 0.8, which ends with
            `file_source`. Columns that a layout lacks must be null.
        codec: "zstandard", "null", "deflate", "snappy", "bzip2" or "xz".
        level: of the codec, None for Java's (zstandard 1) or the codec's own.
        block_bytes: bytes of records, not compressed, at which a block ends.
        sync: the marker of 16 bytes after each block, None for a random one. The same entries, arguments and
            marker give the same bytes.
        verify: read every block again and hold its rows against those written.
        threads: blocks compressed at once; None for all cores. The bytes are the same.
        overwrite: replace a file that is there.
        limits: what readers agree to: files beyond it are not written.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError with `.field`, and `.record` where it is one row's (a column that the format does not
        have or that is of another type, a required one that is absent or null, a value that the layout or the
        column does not hold), UnsupportedError (codec), LimitError, FileExistsError, OSError. A path then has
        no file, or the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Paimon's `ManifestFile.java`, `ManifestEntrySerializer.java`.

    >>> entries = read_manifest("manifest-1").to_arrow()
    >>> write_manifest(entries, "manifest-2")
    """
    encoding = _sink.encoding(codec, level, block_bytes, sync, verify, threads)
    return _write("manifest", entries, sink, layout, encoding, overwrite, limits)


def write_manifest_list(
    records: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    codec: str = "zstandard",
    level: int | None = None,
    block_bytes: int = 64_000,
    sync: bytes | None = None,
    verify: bool = False,
    threads: int | None = None,
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """One manifest list, of records as `read_manifest_list` gives them, in their order.

    Args: as in `write_manifest`; the "legacy" layout has neither buckets, levels nor row ids, "2.1" is
        "current".
    Returns: as `write_manifest`.
    Raises: as `write_manifest`.
    Source: Paimon's `ManifestList.java`, `ManifestFileMetaSerializer.java`.
    """
    encoding = _sink.encoding(codec, level, block_bytes, sync, verify, threads)
    return _write("list", records, sink, layout, encoding, overwrite, limits)


def write_index_manifest(
    records: Any,
    sink: Sink | None = None,
    *,
    layout: str = "current",
    codec: str = "zstandard",
    level: int | None = None,
    block_bytes: int = 64_000,
    sync: bytes | None = None,
    verify: bool = False,
    threads: int | None = None,
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """One index manifest, of records as `read_index_manifest` gives them, in their order.

    Args: as in `write_manifest`; "2.1" adds `source_meta` of global indexes, "legacy" ends with
        `deletions_vectors_ranges` and has no `cardinality`.
    Returns: as `write_manifest`.
    Raises: as `write_manifest`.
    Source: Paimon's `IndexManifestFile.java`, `IndexManifestEntrySerializer.java`.
    """
    encoding = _sink.encoding(codec, level, block_bytes, sync, verify, threads)
    return _write("index", records, sink, layout, encoding, overwrite, limits)


def write_snapshot(
    snapshot: Mapping[str, Any], sink: Sink | None = None, *, overwrite: bool = False
) -> bytes | None:
    """One `snapshot-<id>`, `changelog-<id>` or `tag-<name>` file, byte for byte as Java writes it.

    Args:
        snapshot: the JSON object, as `read_snapshot` gives it, its keys in any order; a tag that is kept for
            a time also has `tagCreateTime` and `tagTimeRetained` [s]. Keys whose value is None are left out,
            but for `changelogManifestList`, which Paimon before 1.4 wrote as null.
        sink: a local path, an open binary file, or None for the file as bytes.
        overwrite: replace a file that is there.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a required key absent or of the wrong type), FileExistsError, OSError.
    Source: Paimon's `Snapshot.java`, `Tag.java`, `JsonSerdeUtil.java`.
    """
    return _native.paimon_write_json("snapshot", json.dumps(dict(snapshot)), _sink.target(sink), overwrite)


def write_schema(
    schema: Mapping[str, Any], sink: Sink | None = None, *, overwrite: bool = False
) -> bytes | None:
    """One `schema-<id>` file, byte for byte as Java writes it.

    Args: schema, the JSON object, as `read_schema` gives it, its keys in any order; the others as in
        `write_snapshot`.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a required key absent, a type outside the grammar), FileExistsError, OSError.
    Source: Paimon's `TableSchema.java`, `SchemaSerializer.java`.
    """
    return _native.paimon_write_json("schema", json.dumps(dict(schema)), _sink.target(sink), overwrite)


def _write(
    kind: str,
    data: Any,
    sink: Sink | None,
    layout: str,
    encoding: Encoding,
    overwrite: bool,
    limits: Limits,
) -> bytes | None:
    reader = _arrow.writable(data)
    return _native.paimon_write_records(kind, reader, _sink.target(sink), layout, encoding, overwrite, limits)
