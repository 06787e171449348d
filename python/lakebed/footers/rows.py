"""Rows of the view `files` of files that are there, from their footers alone."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._columns import Column, columns_of, leaves_of
from lakebed._metrics import UNKEPT, Mode, cut, mode_of, wanted_modes
from lakebed._pyarrow import pa
from lakebed.errors import SchemaError, UnsupportedError
from lakebed.footers.footer import Counts, FileColumn, Footer
from lakebed.footers.matching import NAME_MAPPING, Match, Matching
from lakebed.footers.partitions import Partitions, Placed
from lakebed.footers.reading import DataFile, footers_of
from lakebed.footers.values import array_of, converter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakebed.storage import Storage
    from lakebed.table import Table

# Files whose rows are made together.
_BATCH = 1024
WHOLE = ("least", "greatest")
"""The bounds of files that are a table's already as the files have them, which metadata may cut."""
_METRICS = ("value_count", "null_count", "nan_count", "column_size", "lower_bound", "upper_bound")
_BUCKET = re.compile(r"bucket-(\d+)")


def described(table: Table | None, files: Sequence[DataFile], storage: Storage) -> Iterator[pa.RecordBatch]:
    """Rows of the view `files` of data files, for a table that is to have them.

    Args: table, None for rows of the first file's own columns; storage, what reads the files.
    Returns: batches of some rows, in the order of the files, all of one schema.
    Raises: as `lakebed.describe_files`.
    Cost: as `footers_of`.
    """
    read = footers_of(files, storage)
    described: RowsOfFiles | None = None
    while batch := list(islice(read, _BATCH)):
        if described is None:
            described = RowsOfFiles(Target(table, batch[0][2].columns))
        yield described.batch(batch)


class Target:
    """What rows are described for: a table, or a file's own columns.

    Args: of_file, the columns of the first file, where there is no table; own, whether the files are the
        table's already: then they may have columns that it has no more, and which partition and bucket they
        are of is for the table to say, as is whether their rows fit: rows have neither. Of every column that
        can have bounds there are metrics then, and beside the bounds that are kept those that files have.
    Attributes: columns, the primitive ones whose metrics are kept, with the mode of each.
    """

    def __init__(
        self, table: Table | None, of_file: tuple[FileColumn, ...] = (), *, own: bool = False
    ) -> None:
        self.table, self.own = table, own
        self.format = None if table is None else table.format
        if table is not None and not own and pa.schema(table.core.key_schema).names:
            message = f"only their writer knows the keys of files with primary keys ({table.location})"
            raise UnsupportedError(message, kind="unsupported", path=table.location)
        tree = _columns(of_file) if table is None else columns_of(table)
        mapping = None if table is None else table.properties.get(NAME_MAPPING)
        self.matching = Matching(tree, self.format, mapping, lenient=own)
        plain = [leaf for leaf in leaves_of(tree) if not leaf.repeated]
        wanted = [(leaf, mode_of(leaf)) for leaf in plain] if table is None else wanted_modes(table, tree)
        if own:
            modes = {column.path: mode for column, mode in wanted}
            columns = plain if self.format == "iceberg" else tree
            wanted = [(column, modes.get(column.path, UNKEPT)) for column in columns]
        self.columns = [
            (column, mode)
            for column, mode in wanted
            if column.type is not None and not pa.types.is_null(column.type)
        ]
        self.partitions = None if table is None or own else Partitions(table, tree)
        self.sources = [
            leaf
            for leaf in leaves_of(tree)
            if self.partitions is not None and leaf.path in self.partitions.sources
        ]


class RowsOfFiles:
    """Makes rows of some files at a time."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._table = target.table

    def batch(self, files: Sequence[tuple[DataFile, int, Footer]]) -> pa.RecordBatch:
        """A row for each file."""
        own = self._target.own
        metrics = {column.path: _Metrics(column, mode, own=own) for column, mode in self._target.columns}
        placed = [self._file(file, footer, metrics) for file, _, footer in files]
        count = len(files)
        columns: dict[str, pa.Array] = {
            "content": pa.array([0] * count, pa.int32()),
            "file_path": pa.array([file.path for file, _, _ in files], pa.string()),
            "file_format": pa.array([self._format(footer) for _, _, footer in files], pa.string()),
            "record_count": pa.array([footer.rows for _, _, footer in files], pa.int64()),
            "file_size_in_bytes": pa.array([size for _, size, _ in files], pa.int64()),
        }
        if self._table is None or self._table.format == "iceberg":
            offsets = [footer.split_offsets or None for _, _, footer in files]
            columns["split_offsets"] = pa.array(offsets, pa.list_(pa.int64()))
        elif not self._target.own:
            buckets = [self._bucket(file.path) for file, _, _ in files]
            columns["bucket"] = pa.array(buckets, pa.int32())
        if self._target.partitions is not None:
            places = self._target.partitions.of(placed)
            columns |= {name: places.column(name) for name in places.schema.names}
        structs = [one.array() for one in metrics.values()]
        stats = pa.StructArray.from_arrays(structs, list(metrics)) if structs else pa.array([{}] * count)
        return pa.RecordBatch.from_pydict({**columns, "stats": stats})

    def _file(self, file: DataFile, footer: Footer, metrics: dict[str, _Metrics]) -> Placed:
        """Adds the metrics of a file. Returns: what is known of the columns that tell its partition."""
        shown = _native.without_credentials(file.path)
        match = self._target.matching.of(footer.format, footer.columns, shown)
        for one in metrics.values():
            one.add(self._counts(footer, match, one.column, bounds=one.mode.bounds or self._target.own))
        partitions = self._target.partitions
        named = set() if partitions is None else partitions.named(shown)
        for path in [] if self._target.own else match.absent:
            if path not in named:
                raise _required("the file lacks it", shown, path)
        for path in [] if self._target.own else match.nullable:
            nulls = footer.counts(match.leaves[path].number or 0, None).nulls
            if nulls is None and footer.rows:
                raise _required("the file does not say whether it has nulls", shown, path)
            if nulls:
                raise _required(f"{nulls} of its values are null", shown, path)
        counts = {leaf.path: self._counts(footer, match, leaf, bounds=True) for leaf in self._target.sources}
        return Placed(shown, counts)

    def _counts(self, footer: Footer, match: Match, column: Column, *, bounds: bool) -> Counts:
        given = match.leaves.get(column.path)
        if given is None or given.number is None:
            return Counts()
        convert = None
        if bounds and not column.repeated:
            if column.path not in match.converters:
                made = converter(given, column, footer.format, self._target.format)
                match.converters[column.path] = made
            convert = match.converters[column.path]
        counts = footer.counts(given.number, convert)
        # What lists and maps hold is not counted by rows, and has no bounds: `ParquetMetrics.java`.
        return Counts(size=counts.size) if column.repeated else counts

    def _format(self, footer: Footer) -> str:
        is_paimon = self._table is not None and self._table.format == "paimon"
        return footer.format.lower() if is_paimon else footer.format

    def _bucket(self, path: str) -> int:
        """The bucket of a file of Paimon's: that of its folder, else the one of tables without buckets."""
        assert self._table is not None
        folder = path.rpartition("/")[0].rpartition("/")[2]
        if found := _BUCKET.fullmatch(folder):
            return int(found[1])
        if self._table.properties.get("bucket", "-1") == "-1":
            return 0
        message = f"which bucket the rows are of is not known: only a folder bucket-… says it ({path})"
        raise UnsupportedError(message, kind="unsupported", path=path, field="bucket")


class _Metrics:
    """The metrics of one column, file by file."""

    def __init__(self, column: Column, mode: Mode, *, own: bool) -> None:
        self.column, self.mode, self._own = column, mode, own
        self._counts: list[Counts] = []

    def add(self, counts: Counts) -> None:
        self._counts.append(counts)

    def array(self) -> pa.StructArray:
        """A struct per file."""
        whole = [(counts.lower, counts.upper) for counts in self._counts]
        bounds = [cut(*pair, self.mode) if self.mode.bounds else (None, None) for pair in whole]
        columns = [
            pa.array([counts.values for counts in self._counts], pa.int64()),
            pa.array([counts.nulls for counts in self._counts], pa.int64()),
            pa.nulls(len(bounds), pa.int64()),
            pa.array([counts.size for counts in self._counts], pa.int64()),
            array_of([lower for lower, _ in bounds], self.column),
            array_of([upper for _, upper in bounds], self.column),
        ]
        if self._own:
            columns += [array_of([pair[end] for pair in whole], self.column) for end in (0, 1)]
        return pa.StructArray.from_arrays(columns, [*_METRICS, *WHOLE][: len(columns)])


def _columns(given: Sequence[FileColumn], within: str = "", *, repeated: bool = False) -> tuple[Column, ...]:
    """The columns of a table that is like a file."""
    return tuple(
        Column(
            f"{within}{one.name}",
            one.name,
            None,
            one.kind,
            one.type,
            one.type or pa.null(),
            required=False,
            children=_columns(
                one.children, f"{within}{one.name}.", repeated=repeated or one.kind != "struct"
            ),
            repeated=repeated,
        )
        for one in given
    )


def _required(what: str, path: str, column: str) -> SchemaError:
    message = f"column {column!r} is required, and {what} ({path})"
    return SchemaError(message, kind="required", path=path, field=column)
