"""Data files of other writers, added to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from lakebed._arguments import one_of, positive
from lakebed._pyarrow import pa
from lakebed.commits.change import PLAIN, CommitOptions
from lakebed.errors import SchemaError
from lakebed.storage.paths import family_of, local_path, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.footers.reading import DataFile
    from lakebed.table import Table

Existing = Literal["refuse", "skip"]


def add_files(
    self: Table,
    files: Any,
    *,
    storage: object | None = None,
    existing: Existing = "refuse",
    files_per_commit: int = 10_000,
    options: CommitOptions = PLAIN,
) -> Table:
    """Adds data files that are there, in Parquet, ORC or Avro, as they are and where they are: their rows are
    described by `lakebed.describe_files` and appended to the table's branch.

    Of an Iceberg table without the property `schema.name-mapping.default` the first commit sets it, to the
    names that columns have now, so that readers find columns of files that have no field ids. In a Paimon
    table without buckets files may be anywhere; its metadata then names their full path. The files are the
    table's from then on: its engines delete them when they expire snapshots.

    Args:
        files: a folder, paths in a list, or Arrow data with the column `file_path`, as `describe_files` has
            them.
        storage: what reads them; None for what reads the table.
        existing: what becomes of files that are in the table already: "refuse" raises before anything is
            written, "skip" leaves them out, as after a call that was broken off. Two calls at the same time
            may both add a file to an Iceberg table, as with its own engines; Paimon refuses the second.
        files_per_commit: files that one commit adds at most. Files of one commit are all described before it
            is made; of what comes after an error nothing is added.
        options: `CommitOptions`, what each new snapshot records of its commit.
    Returns: the table at its newest snapshot, opened as it was; as it is where there are no files to add.
    Raises: what `describe_files` and `append_files` raise; SchemaError with `.path` (a file that is in the
        table already, or is given twice); UnsupportedError (a Paimon table with primary keys).
    Cost: that of `describe_files`, of one look at the paths of all live files, and of `append_files` for each
        commit; memory of the rows of one commit and of the paths that are given.
    Source: Iceberg's `AddFilesProcedure.java`; Paimon's `FileMetaUtils.java`.

    >>> table = table.add_files("s3://bucket/landing/2026/")
    """
    from lakebed._columns import columns_of
    from lakebed.footers.finding import found_files
    from lakebed.footers.matching import NAME_MAPPING, mapping_of
    from lakebed.footers.rows import described

    one_of("existing", existing, ("refuse", "skip"))
    most = positive("files_per_commit", files_per_commit) or 1
    found, reader = found_files(files, self, storage)
    added, table = _new(self, found, skip=existing == "skip"), self
    for first in range(0, len(added), most):
        rows = pa.Table.from_batches(described(table, added[first : first + most], reader))
        with table.transaction() as change:
            if table.format == "iceberg" and NAME_MAPPING not in table.properties:
                change.update_properties({NAME_MAPPING: mapping_of(columns_of(table))})
            change.append_files(rows, options=options)
        table = change.table
    return table


def _new(table: Table, files: Sequence[DataFile], *, skip: bool) -> list[DataFile]:
    """The files that are not in the table yet. Raises: SchemaError for one that is, unless it is skipped."""
    given: dict[str, DataFile] = {}
    for record, file in enumerate(files):
        if given.setdefault(_known_as(file.location), file) is not file:
            raise _twice(f"{file.path} is given twice", file, record)
    if not given:
        return []
    live = table.files(columns=["file_path"], filter="content = 0").to_arrow_batch_reader()
    there = {
        name
        for batch in live
        for path in batch["file_path"].to_pylist()
        if (name := _known_as(path)) in given
    }
    if there and not skip:
        record, file = next((at, file) for at, file in enumerate(files) if _known_as(file.location) in there)
        more = f", and {len(there) - 1:,} more of these" if len(there) > 1 else ""
        raise _twice(f"{file.path} is in the table already{more}", file, record)
    return [file for name, file in given.items() if name not in there]


def _known_as(path: str) -> str:
    """A path by which files are compared, however its scheme is spelled."""
    local = local_path(path)
    return local if local is not None else "/".join((family_of(path), *split(path)))


def _twice(message: str, file: DataFile, record: int) -> SchemaError:
    return SchemaError(message, kind="argument", path=file.path, field="file_path", record=record)
