"""The compiled core; what users call is documented in the modules that wrap it."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, final

from typing_extensions import Self

from lakebed.view import Manifest

_T = TypeVar("_T")

# What PyO3 lists.
__all__ = [
    "BUILD_PROFILE",
    "FORMATS",
    "Batch",
    "BatchStream",
    "Cache",
    "FileChangeKind",
    "Filter",
    "IcebergAction",
    "Isolation",
    "Job",
    "JobPlan",
    "PaimonChange",
    "PaimonFileKind",
    "PathMover",
    "Place",
    "ReadLimit",
    "Scan",
    "ScanTasks",
    "Share",
    "Table",
    "View",
    "__version__",
    "avro_blocks",
    "avro_header",
    "avro_read",
    "avro_write",
    "byte_count",
    "check_locations",
    "check_names",
    "columns_of",
    "decode_mumbling",
    "decode_rows",
    "decode_values",
    "divisible",
    "encode_mumbling",
    "encode_rows",
    "encode_values",
    "find_tables",
    "health_schema",
    "iceberg_commit",
    "iceberg_create_table",
    "iceberg_expression",
    "iceberg_fields",
    "iceberg_filter",
    "iceberg_layout",
    "iceberg_read_content_entries",
    "iceberg_read_deletion_vector",
    "iceberg_read_live_files",
    "iceberg_read_manifest",
    "iceberg_read_manifest_list",
    "iceberg_read_metadata",
    "iceberg_stage",
    "iceberg_write_content_entries",
    "iceberg_write_manifest",
    "iceberg_write_manifest_list",
    "iceberg_write_metadata",
    "interruptibly",
    "location_of",
    "orc_footer",
    "paimon_commit",
    "paimon_create_table",
    "paimon_fields",
    "paimon_memory_size",
    "paimon_read_deletion_vector",
    "paimon_read_hash_index",
    "paimon_read_records",
    "paimon_read_schema",
    "paimon_read_snapshot",
    "paimon_write_records",
    "paimon_write_schema",
    "paimon_write_snapshot",
    "panic",
    "parquet_footer",
    "read_share",
    "rewrite_paths",
    "scheme_family",
    "without_credentials",
    "without_secrets",
]

__version__: str
BUILD_PROFILE: str
FORMATS: tuple[str, ...]

@final
class Batch:
    """One record batch or array, handed over once through the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class PathMover:
    """Exchanges the prefixes of paths."""

    def moved(self, paths: object) -> Batch: ...

@final
class BatchStream:
    """Record batches pulled one by one; `next_batch` raises typed errors, the C stream gives their texts."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def next_batch(self) -> Batch | None: ...
    def filter(self, condition: Filter) -> BatchStream: ...

@final
class Filter:
    """A filter on the columns of some rows."""

    def __new__(cls, schema: object, where: str) -> Filter: ...
    @property
    def columns(self) -> list[str]: ...
    def matching(self, rows: object) -> Batch: ...

@final
class View:
    """A view, with what only it takes."""

    SNAPSHOTS: ClassVar[View]
    REFS: ClassVar[View]
    CHANGELOGS: ClassVar[View]
    SCHEMAS: ClassVar[View]
    MANIFESTS: ClassVar[View]
    ENTRIES: ClassVar[View]
    FILES: ClassVar[View]
    PARTITIONS: ClassVar[View]
    BUCKETS: ClassVar[View]
    HEALTH: ClassVar[View]
    DELETES: ClassVar[View]
    PLAN: ClassVar[View]
    INDEXES: ClassVar[View]
    GROWTH: ClassVar[View]
    FILE_HISTORY: ClassVar[View]
    COLUMNS: ClassVar[View]
    REACHABLE: ClassVar[View]
    @staticmethod
    def diff(before: Place, after: Place) -> View: ...
    @staticmethod
    def appends(after: Place | None) -> View: ...
    @staticmethod
    def changes(after: Place | None) -> View: ...
    @staticmethod
    def overlap(columns: Sequence[str] | None) -> View: ...
    @staticmethod
    def compaction_plan(options: Sequence[tuple[str, str]]) -> View: ...
    @staticmethod
    def dangling_deletes(now_ms: int) -> View: ...
    @staticmethod
    def repair_plan(
        kinds: Sequence[str] | None,
        described: tuple[Sequence[str], Callable[[Batch], object]] | None,
        now_ms: int,
    ) -> View: ...
    @staticmethod
    def verify(data_files: bool) -> View: ...
    @staticmethod
    def metadata_table(name: str) -> View: ...
    @staticmethod
    def totals(orphans: View | None) -> View: ...
    @staticmethod
    def orphans(
        before_ms: int | None,
        now_ms: int,
        listing: Callable[[], object] | None,
        newest: Callable[[], Table] | None,
        equal_schemes: Sequence[tuple[str, str]],
        equal_authorities: Sequence[tuple[str, str]],
    ) -> View: ...
    @staticmethod
    def expire_plan(
        older_than_ms: int | None,
        retain_last: int | None,
        now_ms: int,
        newest: Callable[[], Table] | None,
    ) -> View: ...
    @staticmethod
    def freed(before: str, newest: Callable[[], Table] | None) -> View: ...

@final
class FileChangeKind:
    """The purpose of a change of files."""

    APPEND: ClassVar[FileChangeKind]
    DELETE: ClassVar[FileChangeKind]
    OVERWRITE: ClassVar[FileChangeKind]
    ROW_DELTA: ClassVar[FileChangeKind]
    REPLACE: ClassVar[FileChangeKind]

@final
class Isolation:
    """Which concurrent changes are allowed."""

    SERIALIZABLE: ClassVar[Isolation]
    SNAPSHOT: ClassVar[Isolation]
    NONE: ClassVar[Isolation]

@final
class IcebergAction:
    """A change that a commit makes, alone or after others."""

    @staticmethod
    def files(change: object) -> IcebergAction: ...
    @staticmethod
    def rewrite_manifests(rewrite: object) -> IcebergAction: ...
    @staticmethod
    def rebuild_list(snapshot_id: int, properties: list[tuple[str, str]]) -> IcebergAction: ...
    @staticmethod
    def remove_snapshots(ids: list[int]) -> IcebergAction: ...
    @staticmethod
    def create_branch(
        name: str,
        of: tuple[Place | None, int | None],
        replace: bool,
        kept: tuple[int | None, int | None, int | None],
    ) -> IcebergAction: ...
    @staticmethod
    def create_tag(
        name: str,
        of: tuple[Place | None, int | None],
        replace: bool,
        kept: tuple[int | None, int | None, int | None],
    ) -> IcebergAction: ...
    @staticmethod
    def delete_branch(name: str) -> IcebergAction: ...
    @staticmethod
    def delete_tag(name: str) -> IcebergAction: ...
    @staticmethod
    def set_retention(name: str, kept: tuple[int | None, int | None, int | None]) -> IcebergAction: ...
    @staticmethod
    def fast_forward(to: str) -> IcebergAction: ...
    @staticmethod
    def rollback_to(of: tuple[Place | None, int | None]) -> IcebergAction: ...
    @staticmethod
    def set_current_snapshot(of: tuple[Place | None, int | None]) -> IcebergAction: ...
    @staticmethod
    def cherry_pick(of: tuple[Place | None, int | None]) -> IcebergAction: ...
    @staticmethod
    def expire_snapshots(
        older_than_ms: int | None, retain_last: int | None, now_ms: int, reviewed: object | None
    ) -> IcebergAction: ...
    @staticmethod
    def update_properties(set: Sequence[tuple[str, str]], remove: Sequence[str]) -> IcebergAction: ...  # noqa: A002
    @staticmethod
    def upgrade(format_version: int) -> IcebergAction: ...
    @staticmethod
    def set_statistics(file: str, of_partitions: bool) -> IcebergAction: ...
    @staticmethod
    def remove_statistics(of: tuple[Place | None, int | None], of_partitions: bool) -> IcebergAction: ...
    @staticmethod
    def update_schema(changes: str, allow_incompatible_changes: bool) -> IcebergAction: ...
    @staticmethod
    def update_spec(
        remove: Sequence[str], rename: Sequence[tuple[str, str]], add: Sequence[tuple[str, str | None]]
    ) -> IcebergAction: ...

@final
class Place:
    """A state of a table."""

    @staticmethod
    def snapshot(id: int) -> Place: ...  # noqa: A002
    @staticmethod
    def tag(name: str) -> Place: ...
    @staticmethod
    def branch(name: str) -> Place: ...
    @staticmethod
    def named(name: str) -> Place: ...
    @staticmethod
    def timestamp(millis: int) -> Place: ...
    @staticmethod
    def watermark(watermark: int) -> Place: ...

@final
class PaimonChange:
    """One change of a Paimon table; a commit makes one or several."""

    @staticmethod
    def append_files(files: object, changelog: object | None, check: bool) -> PaimonChange: ...
    @staticmethod
    def overwrite_files(files: object | None, removed: object | None, where: str | None) -> PaimonChange: ...
    @staticmethod
    def overwrite_partitions(files: object, partition: object | None) -> PaimonChange: ...
    @staticmethod
    def replace_files(
        removed: object,
        added: object,
        changelog: object | None,
        index_files: object | None,
        removed_index_files: object,
        dangling: list[tuple[str, int]],
    ) -> PaimonChange: ...
    @staticmethod
    def add_deletes(index_files: object, removed: object) -> PaimonChange: ...
    @staticmethod
    def restore_snapshot(snapshot_id: int) -> PaimonChange: ...
    @staticmethod
    def mend_manifests(
        leaves_out: bool, lists_once: bool, relists: bool, rows_lost: int, described: object | None
    ) -> PaimonChange: ...
    @staticmethod
    def restore_rows(vectors: list[tuple[str, int]]) -> PaimonChange: ...
    @staticmethod
    def rewrite_manifests(target_bytes: int | None, sort: bool, memory_bytes: int | None) -> PaimonChange: ...
    @staticmethod
    def update_schema(changes: str) -> PaimonChange: ...
    @staticmethod
    def create_tag(
        name: str, snapshot: int | None, retained_micros: int | None, replace: bool
    ) -> PaimonChange: ...
    @staticmethod
    def delete_tag(name: str) -> PaimonChange: ...
    @staticmethod
    def create_branch(name: str, start: int | str | None) -> PaimonChange: ...
    @staticmethod
    def delete_branch(name: str) -> PaimonChange: ...
    @staticmethod
    def remove_snapshots(ids: list[int]) -> PaimonChange: ...
    @staticmethod
    def fast_forward(branch: str) -> PaimonChange: ...
    @staticmethod
    def rollback_to(target: int | str) -> PaimonChange: ...
    @staticmethod
    def expire_snapshots(
        older_than_ms: int | None, retain_last: int | None, now_ms: int, reviewed: object | None
    ) -> PaimonChange: ...

@final
class PaimonFileKind:
    """A kind of file of records."""

    MANIFEST: ClassVar[PaimonFileKind]
    MANIFEST_LIST: ClassVar[PaimonFileKind]
    INDEX_MANIFEST: ClassVar[PaimonFileKind]

@final
class ReadLimit:
    """A limit of reads that several tables share: `open_table(…, concurrent_reads=limit)` for each of them.

    In another process, as in a pickle, it is a limit of that process. Raises: ValueError for no reads.

    >>> limit = lakebed.ReadLimit(64)
    """

    def __new__(cls, reads: int) -> Self: ...
    @property
    def reads(self) -> int:
        """How many reads there may be at once."""
    def __reduce__(self) -> tuple[type[ReadLimit], tuple[int]]: ...

@final
class Cache:
    """Keeps the decoded columns of manifests: `open_table(…, cache=cache)`, for as many tables as share it.

    Manifests never change, so what was decoded of one is what it has: a view that needs the same columns of
    it again makes no request and decodes nothing. In memory it is the process's; in the folder, compressed,
    it is all processes' on the machine that are given the same one, workers of Spark among them. Whatever was
    used least recently goes first. A file of the folder that is cut, changed or foreign is as if it were not
    there.

    What is kept is found by the storage (a `lakebed.storage.IdentifiedStorage` says which it is), the path,
    the recorded size, the columns, the limits and lakebed's version. Whoever has the cache sees what was read
    through it: principals that may not see each other's tables take a cache and a folder each. Nothing of
    encrypted manifests is kept, in memory or in the folder.

    A pickle has the settings; in another process it is another cache with the same folder.

    Args:
        memory_bytes: decoded columns in memory at most, as Arrow arrays; 0 for none.
        folder: a local folder for this user alone, which is made with mode 0700 where it is not there; None
            for memory alone.
        disk_bytes: files in the folder at most, of all processes; each may add a sixteenth before it looks at
            what others have written.
    Raises: LocationError (a folder that is a link, belongs to another user, or that others may read or
        write), OSError (it cannot be made or written to), OverflowError (negative sizes).
    Cost: reading a manifest for the first time decodes all its entries, and with a folder compresses and
        writes them. What is decoded of one manifest may take half of `memory_bytes`, with a folder 64 MiB at
        least; what needs more is not kept.

    >>> cache = lakebed.Cache(memory_bytes=1 << 30, folder="/var/cache/lakebed")
    >>> orders = lakebed.open_table("s3://lake/db/orders", cache=cache)
    """

    def __new__(
        cls,
        *,
        memory_bytes: int = 536870912,
        folder: str | os.PathLike[str] | None = None,
        disk_bytes: int = 4294967296,
    ) -> Self: ...
    @property
    def memory_bytes(self) -> int:
        """Decoded columns in memory at most."""
    @property
    def folder(self) -> str | None:
        """The folder, as it was given."""
    @property
    def disk_bytes(self) -> int:
        """Files in the folder at most."""
    def stats(self) -> dict[str, int]:
        """What this cache was asked for since it was made, and what it holds now.

        Returns: manifests found in memory (`memory_hits`), in the folder (`disk_hits`) and nowhere
            (`misses`); of these, files of the folder that were cut, changed or foreign (`damaged`); files
            that could not be written to the folder (`failed_writes`); bytes of columns in memory
            (`memory_bytes`) and of files in the folder, of all processes (`disk_bytes`).
        Raises: OSError (the folder cannot be listed).
        """
    def clear(self) -> None:
        """Empties the memory of this cache, and its folder for all processes.

        Raises: OSError (a file cannot be removed).
        """
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, object]]: ...

@final
class Table:
    """A table on one branch at one snapshot (or at none, where it has none)."""

    @staticmethod
    def open(opening: object, format: str | None) -> Table: ...
    @property
    def format(self) -> str: ...
    @property
    def format_version(self) -> int | None: ...
    @property
    def location(self) -> str: ...
    @property
    def snapshot_id(self) -> int | None: ...
    @property
    def properties(self) -> dict[str, str]: ...
    def identity(self) -> str | None: ...
    def tables_within(self, is_of_catalog: bool) -> list[str]: ...
    def rewrite_hints(self, paths: Sequence[str]) -> None: ...
    @property
    def branch(self) -> str: ...
    @property
    def tag(self) -> str | None: ...
    @property
    def data_schema(self) -> object: ...
    @property
    def key_schema(self) -> object: ...
    def partitions_of(self, rows: object) -> Batch: ...
    def refreshed(self) -> Table: ...
    def at(self, place: Place) -> Table: ...
    def scan(self, view: View, options: object) -> Scan: ...
    def absent_partition_fields(self) -> dict[int, list[str]]: ...
    @property
    def metadata_tables(self) -> list[str]: ...

@final
class Scan:
    """A view or a metadata table: its schema is known, nothing of its rows is read yet."""

    def __arrow_c_schema__(self) -> object: ...
    def stream(self) -> BatchStream: ...
    def explain(self) -> str: ...
    def deletes(self) -> Scan: ...
    def scan_tasks(self, form: str) -> dict[str, Any]: ...
    def job(self, bounds: object) -> JobPlan | None: ...
    @property
    def is_light(self) -> bool: ...

@final
class ScanTasks:
    """The scan tasks of an Iceberg table at its snapshot. A share is the places of manifests, into how many
    shares their files are divided, and which of them it is.
    """

    def __new__(cls, table: Table, asked: object) -> ScanTasks: ...
    @staticmethod
    def with_schema(table: Table, schema_id: int | None) -> Table: ...
    @staticmethod
    def schema_id(table: Table) -> int: ...
    @staticmethod
    def field_ids(table: Table, names: Sequence[str], case_sensitive: bool) -> list[int]: ...
    def shares(self, first: int, end: int, most_files: int) -> list[tuple[int, int, int, int]]: ...
    def text(self, share: tuple[int, int, int, int] | None) -> str: ...

@final
class JobPlan:
    """A job that is planned: the work, and what is known of its inputs."""

    @property
    def schema(self) -> object: ...
    @property
    def manifests(self) -> list[Manifest]: ...
    @property
    def shuffles(self) -> list[int]: ...
    @property
    def reads_manifests(self) -> bool: ...
    @property
    def looks_again(self) -> bool: ...
    @property
    def is_question(self) -> bool: ...
    def made(self) -> list[tuple[int, list[Batch]]]: ...
    def to_bytes(self) -> bytes: ...

@final
class Job:
    """A job in a process that does some of it."""

    def __new__(
        cls,
        job: bytes,
        limits: object,
        keys: Callable[[bytes, str], bytes] | None,
        cache: Cache | None,
    ) -> Job: ...
    def map(self, manifests: Iterator[tuple[str, Any]]) -> BatchStream: ...
    def map_paths(
        self, paths: Sequence[str], storage: object | None, concurrent_reads: int
    ) -> BatchStream: ...
    def listed(self, scan: Scan) -> BatchStream: ...
    def reduce(
        self,
        stage: int,
        pieces: object,
        storage: object | None = None,
        table: Table | None = None,
        newest: Callable[[], Table] | None = None,
    ) -> BatchStream: ...
    def reduce_all(self, pieces: object, made: Sequence[tuple[int, object]]) -> BatchStream: ...

@final
class Share:
    """What a range has of a manifest, to be mapped once."""

def read_share(
    storage: object | None, piece: object, limits: object, cache: Cache | None
) -> Share | None: ...
def divisible(
    storage: object | None, manifests: Sequence[Manifest], limits: object
) -> list[bytes | None]: ...
def avro_read(
    source: Any,
    columns: Sequence[str] | None,
    schema: str | None,
    limits: object,
    threads: int | None,
) -> BatchStream: ...
def avro_header(source: Any, limits: object) -> tuple[str, dict[str, bytes]]: ...
def avro_blocks(source: Any, limits: object) -> BatchStream: ...
def avro_write(data: Any, sink: Any, writing: object) -> bytes | None: ...
def health_schema(columns: Sequence[str] | None) -> object: ...
def panic(message: str) -> None: ...
def check_names(names: Sequence[str]) -> None: ...
def byte_count(text: str) -> str | None: ...
def columns_of(condition: str) -> list[str]: ...
def orc_footer(
    end: Any, file_bytes: int, limits: object
) -> int | tuple[int, list[int], list[tuple[Any, ...]], list[tuple[Any, ...]]]: ...
def parquet_footer(
    end: Any, file_bytes: int, limits: object
) -> int | tuple[int, list[int], list[tuple[Any, ...]], list[tuple[Any, ...]]]: ...
def location_of(uri: str) -> str: ...
def scheme_family(scheme: str) -> str: ...
def without_credentials(path: str) -> str: ...
def without_secrets(text: str, known: Sequence[str]) -> str: ...
def interruptibly(call: Callable[..., _T], *arguments: object) -> _T: ...
def find_tables(
    prefix: str, storage: object | None, concurrent_reads: int | ReadLimit | None, options: object
) -> Scan: ...
def rewrite_paths(table: Table, rewriting: object, options: object) -> Scan: ...
def check_locations(paths: object, allowed: Sequence[str], policy: str) -> Batch: ...
def decode_rows(binary: Any, types: Any) -> Batch: ...
def encode_rows(struct: Any, types: Any | None) -> Batch: ...
def decode_values(binary: Any, types: Any) -> Batch: ...
def encode_values(array: Any) -> Batch: ...
def iceberg_expression(table: Table, filter: str, form: str) -> str: ...
def iceberg_filter(table: Table, expression: str, case_sensitive: bool) -> str: ...
def iceberg_read_content_entries(
    source: Any,
    columns: Sequence[str] | None,
    table: object | None,
    listed: object | None,
    limits: object,
    threads: int | None,
) -> BatchStream: ...
def iceberg_write_content_entries(
    entries: Any, target: tuple[Any, bool], table: object, codec: str, limits: object
) -> bytes | None: ...
def iceberg_read_live_files(tree: object) -> BatchStream: ...
def decode_mumbling(bitmap: bytes, limits: object) -> Batch: ...
def encode_mumbling(positions: Sequence[int]) -> bytes: ...
def iceberg_read_deletion_vector(source: Any, offset: int, length: int, limits: object) -> Batch: ...
def iceberg_read_manifest(
    source: Any, columns: Sequence[str] | None, listed: str | None, limits: object, threads: int | None
) -> BatchStream: ...
def iceberg_read_manifest_list(source: Any, columns: Sequence[str] | None, limits: object) -> BatchStream: ...
def iceberg_read_metadata(source: Any, limits: object) -> str: ...
def iceberg_commit(
    table: Table, actions: Sequence[IcebergAction], random: bytes
) -> tuple[Table, str] | None: ...
def iceberg_stage(
    table: Table, actions: Sequence[IcebergAction], random: bytes
) -> tuple[list[str], str, str, str] | None: ...
def iceberg_create_table(location: str, definition: object, random: bytes, limits: object) -> None: ...
def iceberg_fields(schema: object) -> str: ...
def iceberg_layout(table: Table, spec_id: int | None) -> tuple[str, str]: ...
def iceberg_write_manifest(
    entries: Any,
    target: tuple[Any, bool],
    form: object,
    encoding: object,
    limits: object,
) -> bytes | None: ...
def iceberg_write_manifest_list(
    manifests: Any,
    target: tuple[Any, bool],
    header: object,
    encoding: object,
    limits: object,
) -> bytes | None: ...
def iceberg_write_metadata(metadata: str, target: tuple[Any, bool], limits: object) -> bytes | None: ...
def paimon_memory_size(text: str) -> int | None: ...
def paimon_read_records(
    kind: PaimonFileKind, source: Any, columns: Sequence[str] | None, limits: object, threads: int | None
) -> BatchStream: ...
def paimon_read_deletion_vector(source: Any, offset: int, length: int, limits: object) -> Batch: ...
def paimon_read_hash_index(source: Any) -> Batch: ...
def paimon_read_snapshot(source: Any) -> str: ...
def paimon_read_schema(source: Any) -> str: ...
def paimon_write_records(kind: PaimonFileKind, data: object, sink: Any, options: object) -> bytes | None: ...
def paimon_write_snapshot(json: str, target: tuple[Any, bool]) -> bytes | None: ...
def paimon_write_schema(json: str, target: tuple[Any, bool]) -> bytes | None: ...
def paimon_commit(table: Table, changes: Sequence[PaimonChange], options: object) -> tuple[Table, Scan]: ...
def paimon_fields(schema: object) -> str: ...
def paimon_create_table(location: str, storage: object | None, table: object, limits: object) -> Table: ...
