"""Data files that contradict what a table records of them: its entries beside the files' footers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa, pc
from lakebed._threads import in_order
from lakebed.errors import CorruptError
from lakebed.footers.finding import reader_of
from lakebed.footers.reading import DataFile, footer_of, reads_of
from lakebed.footers.rows import RowsOfFiles, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakebed._metrics import Mode
    from lakebed.footers.footer import Footer
    from lakebed.table import Table

KINDS = ("sizes", "metrics")
"""The kinds of repairs that are found here."""

_REPAIRS = pa.schema(
    [
        ("kind", pa.string()),
        ("file_path", pa.string()),
        ("problem", pa.string()),
        ("rows_lost", pa.int64()),
        ("rows_back", pa.int64()),
        ("file_size_in_bytes", pa.int64()),
    ]
)
_ENDS = (("lower_bound", "least", "lower bound"), ("upper_bound", "greatest", "upper bound"))

Described = tuple[DataFile, int, "Footer"]


class Contradictions:
    """What a table's files say of themselves, compared with what it records, some files at a time.

    Attributes: stats, the columns whose recorded metrics are needed.
    """

    def __init__(self, table: Table, kinds: Sequence[str]) -> None:
        self._table, self._kinds = table, kinds
        self._target = Target(table, own=True)
        self._reader = reader_of(table.location, table, None)
        self._counts = ("value_count", "null_count") if table.format == "iceberg" else ("null_count",)
        self._corrected: list[pa.Table] = []
        if "metrics" in kinds and table.format == "paimon":
            self._schema_id = table.schemas(columns=["schema_id"]).to_arrow()["schema_id"].to_pylist()[-1]
        self.stats = [column.path for column, _ in self._target.columns] if "metrics" in kinds else []

    def __call__(self, given: Any) -> pa.Table:
        """The repairs of some live data files, in columns of the view `files`, with `location`.

        Raises: OSError where the storage does not say whether a file is there; UnsupportedError and
            EncryptionError for files whose footers cannot be read; LimitError.
        """
        files = pa.table(pa.record_batch(given))
        repairs: list[tuple[Any, ...]] = []
        there: list[Described] = []
        rows: list[int] = []
        locations = files.select(["file_path", "location", "file_size_in_bytes"]).to_pylist()
        asked = [DataFile(one["file_path"], one["location"]) for one in locations]
        for row, (file, said) in enumerate(in_order(asked, self._footer, reads_of(self._reader))):
            if isinstance(said, CorruptError):
                size = locations[row]["file_size_in_bytes"]
                repairs.append((self._kinds[0], file.path, str(said), None, None, size))
            elif said is not None:
                there.append((file, *said))
                rows.append(row)
        if there:
            recorded = files.take(pa.array(rows, pa.int64())).combine_chunks()
            repairs += self._compared(recorded, RowsOfFiles(self._target).batch(there))
        columns = list(zip(*repairs, strict=True)) or [()] * len(_REPAIRS)
        return pa.Table.from_arrays(
            [pa.array(values, field.type) for values, field in zip(columns, _REPAIRS, strict=True)],
            schema=_REPAIRS,
        )

    def corrected(self, wanted: Iterable[tuple[str, str]]) -> pa.Table | None:
        """Rows of the view `files`, as entries are to record them, of those of these repairs that were found.

        Args: wanted, kinds and paths.
        Returns: `file_path`, `record_count`, `file_size_in_bytes` and `stats`, null where metrics stay; None
            where there is none.
        """
        kinds: dict[str, set[str]] = {}
        for kind, path in wanted:
            kinds.setdefault(path, set()).add(kind)
        chosen: list[pa.Table] = []
        for files in self._corrected:
            paths = files["file_path"].to_pylist()
            keep = [place for place, path in enumerate(paths) if path in kinds]
            if not keep:
                continue
            files = files.take(keep)
            of_each = [kinds.pop(paths[place], set()) for place in keep]
            # A file that is listed twice is described once.
            first = pa.array([bool(some) for some in of_each])
            sized, measured = (pa.array([kind in some for some in of_each]) for kind in KINDS)
            numbers = [
                pc.if_else(sized, files[name], files[f"recorded_{name}"])
                for name in ("record_count", "file_size_in_bytes")
            ]
            columns = {
                "file_path": files["file_path"],
                "record_count": numbers[0],
                "file_size_in_bytes": numbers[1],
            }
            if "metrics" in self._kinds:
                none = pa.scalar(None, files["stats"].type)
                columns["stats"] = pc.if_else(measured, files["stats"].combine_chunks(), none)
            chosen.append(pa.table(columns).filter(first))
        return pa.concat_tables(chosen) if chosen else None

    def _footer(self, file: DataFile) -> tuple[int, Footer] | CorruptError | None:
        """A file's size and footer; None where the file is not there, which is another kind of repair."""
        try:
            return footer_of(file, self._reader)
        except FileNotFoundError:
            return None
        except CorruptError as error:
            return error

    def _compared(self, recorded: pa.Table, said: pa.RecordBatch) -> list[tuple[Any, ...]]:
        paths, sizes = (recorded[name].to_pylist() for name in ("file_path", "file_size_in_bytes"))
        found: list[tuple[Any, ...]] = []
        if "sizes" in self._kinds:
            for row, (problem, change) in self._sizes(recorded, said):
                found.append(("sizes", paths[row], problem, *change, sizes[row]))
        columns = {"file_path": recorded["file_path"]}
        for name in ("record_count", "file_size_in_bytes"):
            columns |= {name: said[name], f"recorded_{name}": recorded[name]}
        if "metrics" in self._kinds:
            stats = _Metrics(recorded, said)
            for column, mode in self._target.columns:
                stats.add(column.path, mode, self._counts)
            columns["stats"] = stats.corrected()
            for row, problem, is_wrong in stats.problems():
                change = self._change(recorded, said, row, is_wrong=is_wrong)
                found.append(("metrics", paths[row], problem, *change, sizes[row]))
        contradicted = {path for _, path, *_ in found}
        is_one = pa.array([path in contradicted for path in paths])
        self._corrected.append(pa.table(columns).filter(is_one))
        return found

    def _sizes(self, recorded: pa.Table, said: pa.RecordBatch) -> Iterable[tuple[int, Any]]:
        """The rows of files with another size or number of rows, with the problem and what changes."""
        table, of_table = self._table, self._table.properties
        # Row ids follow from the numbers of rows.
        has_ids = any(
            of_table.get(f"{name}.enabled") == "true" for name in ("row-tracking", "data-evolution")
        )
        is_third = table.format == "iceberg" and (table.core.format_version or 0) > 2
        pairs = [
            zip(recorded[name].to_pylist(), said[name].to_pylist(), strict=True)
            for name in ("file_size_in_bytes", "record_count")
        ]
        for row, ((noted, size), (counted, rows)) in enumerate(zip(*pairs, strict=True)):
            problems = []
            if noted != size:
                problems.append(f"the file has {size:,} bytes, not {noted:,}")
            if counted != rows:
                problems.append(f"the file has {rows:,} rows, not {counted:,}")
            if not problems:
                continue
            change: tuple[int | None, int | None] = (0, 0)
            if counted != rows and (has_ids or (is_third and rows > counted)):
                change = (None, None)
            elif counted == 0 and rows:
                # Readers leave out files without rows.
                change = (0, rows)
            yield row, (", ".join(problems), change)

    def _change(
        self, recorded: pa.Table, said: pa.RecordBatch, row: int, *, is_wrong: bool
    ) -> tuple[int | None, int | None]:
        """How many rows are lost and returned again where metrics are corrected, of which some were wrong."""
        table = self._table
        is_paimon = table.format == "paimon"
        if is_paimon and recorded["schema_id"][row].as_py() != self._schema_id:
            return None, None  # statistics are those of the schema that the file was written with
        if not is_wrong:
            return 0, 0
        if is_paimon and pa.schema(table.core.key_schema).names:
            return None, None  # an older row may have been returned in place of one that was left out
        return 0, said["record_count"][row].as_py()


class _Metrics:
    """Metrics of some files, column by column."""

    def __init__(self, recorded: pa.Table, said: pa.RecordBatch) -> None:
        self._recorded, self._said = (rows["stats"] for rows in (recorded.combine_chunks(), said))
        self._recorded = self._recorded.combine_chunks()
        self._wrong: list[list[str]] = [[] for _ in range(len(said))]
        self._missing: list[list[str]] = [[] for _ in range(len(said))]
        self._columns: dict[str, pa.StructArray] = {}

    def add(self, path: str, mode: Mode, counts: Sequence[str]) -> None:
        """Compares the metrics of one column."""
        recorded, said = (stats.field(path) for stats in (self._recorded, self._said))
        values, other = {}, _none(recorded)
        for name in counts:
            known, given = recorded.field(name), said.field(name)
            wrong = _true(pc.not_equal(known, given))
            missing = _missing(known, given) if mode.counts else _none(known)
            self._note(path, name.replace("_", " "), wrong, missing)
            values[name] = pc.if_else(pc.or_(wrong, missing), given, known)
            other = pc.or_(other, pc.or_(wrong, missing))
        for name, whole, words in _ENDS:
            known, given, end = recorded.field(name), said.field(name), said.field(whole)
            wrong = _true((pc.greater if name == "lower_bound" else pc.less)(known, end))
            if pa.types.is_floating(known.type):
                wrong = pc.or_(wrong, pc.and_(_true(pc.is_nan(known)), pc.is_valid(end)))
            missing = _missing(known, given)
            self._note(path, words, wrong, missing)
            # Where nothing short is above all values the whole one is kept.
            values[name] = pc.if_else(pc.or_(wrong, missing), pc.coalesce(given, end), known)
            other = pc.or_(other, pc.or_(wrong, missing))
        # A size is of no use to readers, but whoever records the others records it.
        known, given = recorded.field("column_size"), said.field("column_size")
        values["column_size"] = pc.if_else(other, pc.coalesce(known, given) if mode.counts else known, known)
        self._columns[path] = pa.StructArray.from_arrays(list(values.values()), list(values))

    def _note(self, path: str, what: str, wrong: pa.Array, missing: pa.Array) -> None:
        for notes, which in ((self._wrong, wrong), (self._missing, missing)):
            for row in pc.indices_nonzero(which).to_pylist():
                notes[row].append(f"{path} ({what})")

    def corrected(self) -> pa.StructArray:
        """The metrics as they are to be recorded."""
        return pa.StructArray.from_arrays(list(self._columns.values()), list(self._columns))

    def problems(self) -> Iterable[tuple[int, str, bool]]:
        """The rows of files with other metrics: what is the problem, and whether some are wrong."""
        for row, (wrong, missing) in enumerate(zip(self._wrong, self._missing, strict=True)):
            said = [
                f"{what}: {', '.join(some)}"
                for what, some in (("wrong", wrong), ("missing", missing))
                if some
            ]
            if said:
                yield row, "; ".join(said), bool(wrong)


def _true(which: pa.Array) -> pa.Array:
    return pc.fill_null(which, False)


def _missing(known: pa.Array, given: pa.Array) -> pa.Array:
    return pc.and_(pc.is_null(known), pc.is_valid(given))


def _none(values: pa.Array) -> pa.Array:
    return pa.array([False] * len(values))
