"""What is wrong with a table: a view that reads everything it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed._native import View
from lakebed.table.state import TableState
from lakebed.view import ViewScan, options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class VerifyViews(TableState):
    """The view of what is wrong."""

    def verify(
        self,
        *,
        data_files: bool = False,
        columns: Sequence[str] | None = None,
        where: str | Predicate | None = None,
        limit: int | None = None,
        threads: int | None = None,
    ) -> ViewScan:
        """One row for each thing that is wrong with the table; no rows if nothing is.

        All snapshots that are there, of all branches and tags, their lists and manifests, each once, are read
        whole. Whatever is wrong with one, the next is read. Live files are those of the snapshot that the
        table is at.

        Args: data_files, whether its data files, delete files and index files are looked for too: whether
            they are there, and as long as recorded; where, on these columns; the others as in `snapshots`.
        Returns: `severity` utf8 ("error": rows are lost, doubled or not to be read; "warning": other than
            recorded, which readers can live with), `kind` utf8 (that of the error which reading raises, such
            as "missing", "truncated" and "mismatch"; "duplicate": twice in the table; "odd": what reading
            warns of), `message` utf8, `path` utf8 of the file that is wrong, `named_by` utf8 (the file
            that names it), `offset` int64 [bytes], `block` int64, `record` int64 and `field` utf8 within it,
            where they are known.
        Raises: when read, OSError where folders cannot be listed; the error of a metadata file that cannot be
            read, which opening raises too.
        Cost: every snapshot, list and manifest that the table has, whole, side by side, and of Iceberg the
            metadata files of its log, of Paimon hints and consumers. Memory grows by some
            50 bytes for each live file, and some 200 for each delete of a single data file. Where a file
            appears twice, and for `data_files`, the live manifests once more; for `data_files` one request
            for each of those files, as many at once as the storage serves.
        Source: Iceberg specification, "Manifests", "Manifest Lists" and "Scan Planning"; Paimon's
            `FileEntry.java` (mergeEntries).
        """
        keywords = options(columns, where, None, limit, threads)
        return ViewScan(self._native, "findings", View.verify(bool(data_files)), keywords)
