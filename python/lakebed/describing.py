"""Data files that are there already, as commits take them: from their footers, without their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from lakebed.table import Table


def describe_files(paths: Any, table: Table | None = None, *, storage: object | None = None) -> pa.Table:
    """Rows for `append_files` of Parquet, ORC and Avro files, from their footers alone, read side by side.

    `describe_file` is for the file's writer, who has the rows. A table is partitioned by what all rows of a
    file have in common: that is told by the bounds of its columns, where the lower and the upper one are of
    one partition, or by its folders, `region=emea/day=2026-01-01/` (also by names of partition fields,
    `ts_day=2026-01-01/`); where both tell, they must agree.

    Args:
        paths: a folder, whose files are found, also in folders within (none whose names begin with `_` or
            `.`), or one file; or paths of files in a list; or Arrow data with the column `file_path` utf8,
            such as an inventory, and where it is known `file_size_in_bytes` or `size` int64, which saves a
            request a file. Relative ones are below the table, without one below the working directory.
        table: where the files will belong. Metrics are kept as its properties want them (as of
            `describe_file`), and columns are found as its readers do: by field ids where a file has them,
            else by the table's name mapping, else by their names. None for rows with the columns of the first
            file, and bounds of the length that both formats keep unless told otherwise.
        storage: what reads the files, as of `open_table`; None for what reads the table, or the URI.
    Returns: a row for each file, in order (of a folder sorted by path): `content` int32 0, `file_path` utf8
        as given, `file_format` utf8 by what the file is, `record_count` [rows], `file_size_in_bytes` int64,
        of Iceberg `split_offsets` list<int64> (starts of row groups or stripes), of Paimon `bucket` int32;
        with a table `partition` and `spec_id`; and `stats`, a struct per column of `value_count`,
        `null_count`, `nan_count` (always null: footers do not say), `column_size` int64 [bytes], and
        `lower_bound` and `upper_bound` in the column's type. What a footer does not say is null. Avro files
        have no statistics. Bounds are null where those of one row group are missing or of an order that is
        not the type's (of texts and bytes in files of old writers); of floats they say nothing of NaN, and of
        Paimon's tables there are none, whose engines compare NaN.
    Raises: SchemaError with the file as `.path` and the column as `.field`: a column that the table does not
        have, a type that its readers do not take, a required column that is absent, may be null or is; rows
        of two partitions; a file whose partition nothing tells. CorruptError and its kin, with `.path` and
        `.offset` (a damaged footer, a file without one), EncryptionError (an encrypted footer or column),
        UnsupportedError (another format; rows of buckets that no folder tells), LimitError (a footer over
        `LIMITS.max_header_bytes`), FileNotFoundError and other OSErrors. Nothing is skipped in silence.
    Cost: one request for the last 64 KiB of a file, and one for its size where that is not known; a second
        for a longer footer. Avro has no footer: such files are read whole. As many files at once as the
        storage serves; memory of as many footers, and of the rows.
    Source: Iceberg's `ParquetMetrics.java`, `OrcMetrics.java`, `TableMigrationUtil.java`; Paimon's
        `FileMetaUtils.java`, `ParquetSimpleStatsExtractor.java`.

    >>> table = table.append_files(lakebed.describe_files("s3://bucket/days/", table))
    """
    # Whoever opens tables has no use for these.
    from lakebed.footers.finding import found_files
    from lakebed.footers.rows import described

    files, reader = found_files(paths, table, storage)
    rows = list(described(table, files, reader)) if files else []
    if not rows:
        names = ("file_path", "record_count", "file_size_in_bytes")
        return pa.table(
            {name: pa.array([], pa.string() if name == names[0] else pa.int64()) for name in names}
        )
    return pa.Table.from_batches(rows)
