"""What is timed in Python on Iceberg tables: entries, views, plans, and entries that are written again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from corpus import Corpus
from iceberg_tables import PLAN, listed_manifests
from readers import (
    Counted,
    Run,
    duckdb_entries,
    fastavro_entries,
    lakebed_reads,
    lakebed_stream,
    lakebed_view,
    on_lakebed,
    ours,
    polars_entries,
    reader,
)

PROJECTED = ["status", "file_path", "partition", "record_count", "file_size_in_bytes"]
PROJECTED_AVRO = ["status", *(f"data_file.{name}" for name in PROJECTED[1:])]
STATS = {"id": 1, "event_ts": 3}
"""The columns whose statistics are asked for, and their field ids."""
PARTITION = (
    "region = 'region-007' AND event_ts >= '2024-10-08T00:00:00+00:00'"
    " AND event_ts < '2024-10-09T00:00:00+00:00'"
)
FILTERS = {"plan": {}, "plan-partition": {"where": PARTITION}, "plan-range": {"where": "id = 123450001"}}
"""The plans and their filters. `peers_java` has the same."""


def _one_day_of_each_ten() -> str:
    """One region in twenty on one day in ten: half a percent of the files, some of every manifest."""
    days = [date(2024, 10, 7) + timedelta(days=10 * number) for number in range(5)]
    of_day = "event_ts >= '{}T00:00:00+00:00' AND event_ts < '{}T00:00:00+00:00'"
    found = " OR ".join(f"({of_day.format(day, day + timedelta(days=1))})" for day in days)
    return f"region = 'region-007' AND ({found})"


GUARD = _one_day_of_each_ten()
"""What drops all but half a percent of the entries, and no manifest."""


def _metadata(corpus: Corpus) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(corpus.path).read_text())
    return found


def lakebed_entries(corpus: Corpus, threads: int | None, columns: list[str] | None = None) -> Run:
    """With each manifest's record in the list, so that entries inherit from it, as PyIceberg's do."""
    import lakebed

    read = partial(lakebed.iceberg.read_manifest, columns=columns, threads=threads)
    manifests = list(zip(corpus.manifests, listed_manifests(_metadata(corpus)), strict=True))
    return lambda: [read(path, listed=record).to_arrow() for path, record in manifests]


def _lakebed_all_stats(corpus: Corpus) -> Run:
    names = [field["name"] for field in _metadata(corpus)["schemas"][-1]["fields"]]
    return lakebed_view(corpus, threads=1, stats=names)


def _pyiceberg_manifests(corpus: Corpus) -> Callable[[], list[list[Any]]]:
    """What reads the entries of each manifest."""
    table = pyiceberg_table(corpus)
    manifests = table.current_snapshot().manifests(table.io)
    return lambda: [one.fetch_manifest_entry(table.io, discard_deleted=False) for one in manifests]


def _pyiceberg_objects(corpus: Corpus, values: bool = False) -> Run:
    """The same with all fields made; with `values` each is asked for by its name, and maps by their ids."""
    from pyiceberg.manifest import DATA_FILE_TYPE, DEFAULT_READ_VERSION

    read = _pyiceberg_manifests(corpus)
    names = [field.name for field in DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields]

    def run() -> Any:
        found = read()
        for entry in (one for entries in found for one in entries):
            # A record makes all its fields with the first that is asked for by its place.
            file = (entry[0], entry.data_file)[1]
            if not values:
                file[0]
                continue
            for name in names:
                value = getattr(file, name)
                if isinstance(value, Mapping):
                    len(value)
        return found

    return run


def pyiceberg_table(corpus: Corpus, properties: dict[str, str] | None = None) -> Any:
    """PyIceberg's table at the corpus's path, opened now."""
    from pyiceberg.avro import decoder_fast  # noqa: F401 - else a decoder in Python would be what is timed
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(corpus.path, properties=properties or {})


def _pyiceberg_stats(corpus: Corpus) -> Run:
    """Counts and typed bounds of two columns: entries first, since PyIceberg projects nothing."""
    from pyiceberg.conversions import from_bytes

    read = _pyiceberg_manifests(corpus)
    types = {id_: pyiceberg_table(corpus).schema().find_type(name) for name, id_ in STATS.items()}

    def stats(file: Any) -> list[Any]:
        bounds = (file.lower_bounds, file.upper_bounds)
        return [
            (
                *(counts.get(id_) for counts in (file.value_counts, file.null_value_counts)),
                *(from_bytes(type_, of[id_]) for of in bounds),
            )
            for id_, type_ in types.items()
        ]

    def run() -> Any:
        return [[(one.data_file.file_path, stats(one.data_file)) for one in entries] for entries in read()]

    return run


def pyiceberg(
    corpus: Corpus,
    view: str,
    where: str | None = None,
    properties_of: Callable[[Corpus], dict[str, str]] = lambda _: {},
    fresh: bool = False,
) -> Run:
    """The table itself (`open`), the tasks of a scan (`plan`), or what `inspect` has of that name.

    Args: properties_of, which FileIO it has; fresh, whether each run is to read its own manifest lists, which
    PyIceberg keeps from one table to the next.
    """
    from pyiceberg import manifest

    properties = properties_of(corpus)
    if not fresh:
        pyiceberg_table(corpus, properties)

    def run() -> Any:
        if fresh:
            manifest.clear_manifest_cache()
        table = pyiceberg_table(corpus, properties)
        if view == "open":
            return Counted(None, table)
        if view == "plan":
            return [list((table.scan() if where is None else table.scan(row_filter=where)).plan_files())]
        return [getattr(table.inspect, view)()]

    return run


_on_lakebed = partial(on_lakebed, library="pyiceberg")


def _pyiceberg_core_entries(corpus: Corpus) -> Run:
    from pyiceberg_core.manifest import read_manifest_entries

    return lambda: [read_manifest_entries(Path(path).read_bytes()).entries() for path in corpus.manifests]


def polars_iceberg(
    corpus: Corpus, where: str | None = None, properties_of: Callable[[Corpus], dict[str, str]] = lambda _: {}
) -> Run:
    """The scan that Polars has planned before it reads: its text tells how many files are left.

    Polars 2 was the first to plan with polars-iceberg. It opens tables by PyIceberg, with those properties.
    """
    # Else it would keep metadata from one run to the next, and plan by PyIceberg what it cannot itself.
    os.environ |= {"POLARS_ICEBERG_METADATA_FILE_CACHE_MB": "0", "POLARS_ICEBERG_PLANNER": "plugin"}
    import polars

    if int(polars.__version__.split(".")[0]) < 2:
        raise NotImplementedError(f"polars {polars.__version__} plans by PyIceberg; from 2.0 it has this one")
    filtered = None if where is None else polars.sql_expr(where)
    if where == PARTITION:
        # Polars compares no time with a text.
        day, utc = datetime(2024, 10, 8), "UTC"
        ends = [polars.lit(day + timedelta(days=n), polars.Datetime("us", utc)) for n in (0, 1)]
        times = polars.col("event_ts").is_between(*ends, closed="left")
        filtered = (polars.col("region") == "region-007") & times
    options = properties_of(corpus)

    def run() -> Counted:
        scan = polars.scan_iceberg(corpus.path, reader_override="native", storage_options=options)
        text = (scan if filtered is None else scan.filter(filtered)).explain()
        others = re.search(r"\.\.\. (\d+) other sources\]", text)
        if others:
            return Counted(int(others[1]) + 1, text)
        sources = re.search(r"Parquet SCAN \[(.*)\]", text)
        return Counted(len(sources[1].split(", ")) if sources and sources[1] else 0, text)

    return run


def _pyiceberg_core_objects(corpus: Corpus) -> Run:
    """Entries that are converted to PyIceberg's, as it would have to do."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
    from pyiceberg.typedef import Record

    read = _pyiceberg_core_entries(corpus)
    alike = (
        *("file_path", "record_count", "file_size_in_bytes", "column_sizes", "value_counts"),
        *("null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds", "key_metadata"),
        *("split_offsets", "equality_ids", "sort_order_id"),
    )

    def converted(entry: Any) -> Any:
        file = entry.data_file
        return ManifestEntry.from_args(
            status=ManifestEntryStatus(entry.status),
            snapshot_id=entry.snapshot_id,
            sequence_number=entry.sequence_number,
            file_sequence_number=entry.file_sequence_number,
            data_file=DataFile.from_args(
                content=DataFileContent(file.content),
                file_format=FileFormat(file.file_format.upper()),
                partition=Record(*(value and value.value() for value in file.partition)),
                **{name: getattr(file, name) for name in alike},
            ),
        )

    return lambda: [[converted(entry) for entry in entries] for entries in read()]


def _lakebed_encode(corpus: Corpus, threads: int | None) -> Run:
    """The tables have one schema and one spec."""
    import lakebed

    metadata = _metadata(corpus)
    (schema,), (spec,) = metadata["schemas"], metadata["partition-specs"]
    header = {"schema": schema, "spec": spec, "format_version": metadata["format-version"]}
    write = partial(lakebed.iceberg.write_manifest, **header, codec=corpus.codec, threads=threads)
    manifests = [lakebed.iceberg.read_manifest(path).to_arrow() for path in corpus.manifests]
    return lambda: Counted(corpus.entries, size=sum(len(write(entries)) for entries in manifests))


class _Memory:
    """An output file of PyIceberg's that is kept in memory."""

    location = "memory"

    def __init__(self) -> None:
        self.size = 0

    def create(self, overwrite: bool = False) -> BytesIO:  # noqa: ARG002 - what PyIceberg calls
        memory = self

        class Stream(BytesIO):
            def close(self) -> None:
                memory.size = self.tell()
                super().close()

        return Stream()

    def __len__(self) -> int:
        return self.size


def _pyiceberg_encode(corpus: Corpus) -> Run:
    from pyiceberg.manifest import write_manifest

    table = pyiceberg_table(corpus)
    files = _pyiceberg_manifests(corpus)()
    codec = {"deflate": "gzip", "zstandard": "zstd"}.get(corpus.codec, corpus.codec)
    header = (table.metadata.format_version, table.spec(), table.schema())
    snapshot = table.current_snapshot().snapshot_id

    def run() -> Counted:
        sizes = []
        for entries in files:
            file = _Memory()
            with write_manifest(*header, file, snapshot, codec) as writer:
                for entry in entries:
                    writer.add_entry(entry)
            sizes.append(len(file))
        return Counted(corpus.entries, size=sum(sizes))

    return run


_GIL = "all (GIL)"
READERS = {
    "iceberg": [
        *ours("entries", lakebed_entries),
        reader("lakebed.avro", "entries", lakebed_reads, name="avro.read"),
        reader("fastavro", "entries", fastavro_entries),
        reader("polars", "entries", polars_entries),
        reader("duckdb", "entries", duckdb_entries),
        reader("pyiceberg", "entries", _pyiceberg_manifests),
        reader("pyiceberg on lakebed", "entries", _on_lakebed, read=_pyiceberg_manifests),
        reader("pyiceberg-core", "entries", _pyiceberg_core_entries),
        *(
            one
            for task, values in (("objects", False), ("values", True))
            for one in (
                reader("pyiceberg", task, _pyiceberg_objects, values=values),
                reader("pyiceberg on lakebed", task, _on_lakebed, read=_pyiceberg_objects, values=values),
            )
        ),
        reader("pyiceberg-core", "objects", _pyiceberg_core_objects),
        *ours("projected", lakebed_entries, columns=PROJECTED),
        reader("lakebed.avro", "projected", lakebed_reads, name="avro.read", columns=PROJECTED_AVRO),
        reader("lakebed", "stats", lakebed_view, threads=1, stats=list(STATS)),
        reader("pyiceberg", "stats", _pyiceberg_stats),
        reader("lakebed", "guard", lakebed_view, threads=1, where=GUARD),
        reader("pyiceberg plan", "guard", pyiceberg, _GIL, view="plan", where=GUARD),
        *ours("files", lakebed_view),
        reader("lakebed, stats of all", "files", _lakebed_all_stats),
        reader("pyiceberg inspect.files", "files", pyiceberg, _GIL, view="files"),
        reader("pyiceberg inspect.entries", "files", pyiceberg, _GIL, view="entries"),
        reader("pyiceberg plan", "files", pyiceberg, _GIL, view="plan"),
        *(
            reader(f"{label} on lakebed", "files", _on_lakebed, _GIL, read=pyiceberg, view=view)
            for label, view in (
                ("pyiceberg inspect.files", "files"),
                ("pyiceberg inspect.entries", "entries"),
                ("pyiceberg plan", "plan"),
            )
        ),
        reader("lakebed", "stream", lakebed_stream, "all"),
        reader("pyiceberg inspect.files", "stream", pyiceberg, _GIL, view="files"),
        *ours(PLAN[1], lakebed_stream, view="plan"),
        # The others have no plan in batches: there they would do again what they do in `plan`.
        *(
            one
            for task, where in FILTERS.items()
            for one in (
                *ours(task, lakebed_view, view="plan", deletes="ids", **where),
                reader("pyiceberg", task, pyiceberg, _GIL, view="plan", **where),
                reader("pyiceberg on lakebed", task, _on_lakebed, _GIL, read=pyiceberg, view="plan", **where),
                reader("polars-iceberg", task, polars_iceberg, "all", **where),
            )
        ),
        *ours("encode", _lakebed_encode),
        reader("pyiceberg", "encode", _pyiceberg_encode),
    ]
}
"""All of them by format, in the order in which they are reported."""
