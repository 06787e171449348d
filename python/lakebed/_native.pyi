"""The compiled core; what users call is documented in the modules that wrap it."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, final

_T = TypeVar("_T")

# What PyO3 lists.
__all__ = [
    "BUILD_PROFILE",
    "Batch",
    "BatchStream",
    "Exchange",
    "Filter",
    "Grouping",
    "ManifestPartitioner",
    "PartRows",
    "PathMover",
    "PieceStream",
    "Place",
    "Scan",
    "Share",
    "Table",
    "Task",
    "View",
    "__version__",
    "avro_blocks",
    "avro_header",
    "avro_read",
    "avro_write",
    "check_locations",
    "check_names",
    "decode_rows",
    "decode_values",
    "divisible",
    "encode_rows",
    "encode_values",
    "find_tables",
    "health_row",
    "health_schema",
    "iceberg_commit",
    "iceberg_create_table",
    "iceberg_fields",
    "iceberg_layout",
    "iceberg_read_deletion_vector",
    "iceberg_read_manifest",
    "iceberg_read_manifest_list",
    "iceberg_read_metadata",
    "iceberg_write_manifest",
    "iceberg_write_manifest_list",
    "iceberg_write_metadata",
    "interruptibly",
    "location_of",
    "paimon_alter_table",
    "paimon_append_files",
    "paimon_compact_files",
    "paimon_compact_manifests",
    "paimon_create_branch",
    "paimon_create_table",
    "paimon_create_tag",
    "paimon_delete_branch",
    "paimon_delete_files",
    "paimon_delete_tag",
    "paimon_expire_snapshots",
    "paimon_fast_forward",
    "paimon_fields",
    "paimon_overwrite_partition",
    "paimon_read_deletion_vector",
    "paimon_read_hash_index",
    "paimon_read_index_manifest",
    "paimon_read_manifest",
    "paimon_read_manifest_list",
    "paimon_read_schema",
    "paimon_read_snapshot",
    "paimon_replace_deletion_vectors",
    "paimon_rollback_to",
    "paimon_write_json",
    "paimon_write_records",
    "panic",
    "read_share",
    "rewrite_paths",
    "without_credentials",
    "without_secrets",
]

__version__: str
BUILD_PROFILE: str

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
    """Record batches pulled one by one; typed errors come out of `next_batch`, texts out of the C stream."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def next_batch(self) -> Batch | None: ...
    def filter(self, condition: Filter) -> BatchStream: ...

@final
class Filter:
    """A filter on the columns of some rows."""

    def __new__(cls, schema: object, where: str) -> Filter: ...
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
    REACHABLE: ClassVar[View]
    @staticmethod
    def diff(before: Place, after: Place) -> View: ...
    @staticmethod
    def appends(after: Place | None) -> View: ...
    @staticmethod
    def verify(data_files: bool) -> View: ...
    @staticmethod
    def metadata_table(name: str) -> View: ...
    @staticmethod
    def orphans(
        before_ms: int | None,
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
        of_newest: bool,
    ) -> View: ...

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
class Table:
    """A table on one branch at one snapshot (or at none, where it has none)."""

    @staticmethod
    def open(
        location: str,
        format: str | None,  # noqa: A002
        storage: object | None,
        relocate: Sequence[tuple[str, str]],
        allowed: Sequence[str] | None,
        limits: object,
        concurrent_reads: int | None,
    ) -> Table: ...
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
    @property
    def metadata_tables(self) -> list[str]: ...

@final
class Scan:
    """A view or a metadata table: its schema is known, nothing of its rows is read yet."""

    def __arrow_c_schema__(self) -> object: ...
    def stream(self) -> BatchStream: ...
    def explain(self) -> str: ...
    def deletes(self) -> Scan: ...
    def scan_tasks(self) -> str: ...
    def manifests(self) -> str: ...
    @property
    def decides_together(self) -> bool: ...
    def task(self, part: str) -> str: ...
    def group_task(self) -> str: ...
    def known(self, what: str) -> Batch: ...
    def exchange(self, equality_ids: Sequence[int]) -> tuple[str, bool, str, list[Batch], str | None]: ...
    def looked_again(self, rows: object, seen: str) -> BatchStream: ...
    def listed(self, parts: int) -> PieceStream: ...
    def side(self, side: int) -> list[Batch]: ...

@final
class Exchange:
    """A scan's work on manifests whose entries are brought together."""

    def __new__(cls, task: str, limits: object) -> Exchange: ...
    @property
    def schema(self) -> object: ...
    def partitioner(self, parts: int) -> ManifestPartitioner: ...
    def reading(
        self, storage: object | None, concurrent_reads: int, paths: Sequence[str], parts: int
    ) -> PieceStream: ...
    def gather(self, storage: object | None = None) -> PartRows: ...

@final
class ManifestPartitioner:
    """Distributes the entries of manifests to parts."""

    def pieces(self, path: str, content: Any) -> PieceStream: ...

@final
class PieceStream:
    """Entries by side, pulled batch by batch."""

    def next_piece(self) -> tuple[int, Batch] | None: ...

@final
class PartRows:
    """What makes the rows of one part."""

    def push(self, side: int, rows: object) -> BatchStream: ...
    def finish(self) -> BatchStream: ...

@final
class Grouping:
    """Groups of live files, made of manifests and of what others made."""

    def __new__(cls, task: str, limits: object) -> Grouping: ...
    def read(self, path: str, content: Any) -> None: ...
    def add(self, files: object) -> None: ...
    def merge(self, sums: object) -> None: ...
    def know(self, what: str, rows: object) -> None: ...
    def __len__(self) -> int: ...
    def drain(self) -> Batch: ...
    def rows(self) -> Batch: ...

@final
class Task:
    """A scan's work on manifests, apart from the table."""

    def __new__(cls, text: str, limits: object) -> Task: ...
    @property
    def schema(self) -> object: ...
    def run(self, path: str, content: Any) -> BatchStream: ...

@final
class Share:
    """What a range has of a manifest, to be run once."""

def read_share(
    storage: object | None,
    path: str,
    length: int,
    start: int,
    end: int,
    header: bytes | None,
    limits: object,
) -> Share | None: ...
def divisible(
    storage: object | None, manifests: Sequence[tuple[str, int]], limits: object
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
def health_row(task: str, parts: object) -> Batch: ...
def health_schema(columns: Sequence[str] | None) -> object: ...
def panic(message: str) -> None: ...
def check_names(names: Sequence[str]) -> None: ...
def location_of(uri: str) -> str: ...
def without_credentials(path: str) -> str: ...
def without_secrets(text: str, known: Sequence[str]) -> str: ...
def interruptibly(call: Callable[..., _T], *arguments: object) -> _T: ...
def find_tables(
    prefix: str, storage: object | None, concurrent_reads: int | None, options: object
) -> Scan: ...
def rewrite_paths(table: Table, rewriting: object, options: object) -> Scan: ...
def check_locations(paths: object, allowed: Sequence[str], policy: str) -> Batch: ...
def decode_rows(binary: Any, types: Any) -> Batch: ...
def encode_rows(struct: Any, types: Any | None) -> Batch: ...
def decode_values(binary: Any, types: Any) -> Batch: ...
def encode_values(array: Any) -> Batch: ...
def iceberg_read_deletion_vector(source: Any, offset: int, length: int, limits: object) -> Batch: ...
def iceberg_read_manifest(
    source: Any, columns: Sequence[str] | None, listed: str | None, limits: object, threads: int | None
) -> BatchStream: ...
def iceberg_read_manifest_list(source: Any, columns: Sequence[str] | None, limits: object) -> BatchStream: ...
def iceberg_read_metadata(source: Any, limits: object) -> str: ...
def iceberg_commit(
    table: Table,
    change: tuple[str, Any],
    properties: Sequence[tuple[str, str]],
    codec: str | None,
    block_bytes: int,
    random: bytes,
    staged: bool,
    limits: object | None,
) -> str | tuple[list[str], str, str, str] | None: ...
def iceberg_create_table(
    location: str,
    schema: Any,
    partition_by: Sequence[str],
    format_version: int,
    properties: Sequence[tuple[str, str]],
    random: bytes,
    limits: object,
) -> None: ...
def iceberg_fields(schema: object) -> str: ...
def iceberg_layout(table: Table, spec_id: int | None) -> tuple[str, str]: ...
def iceberg_write_manifest(
    entries: Any,
    sink: Any,
    schema: str,
    spec: str,
    format_version: int,
    content: str,
    encoding: object,
    overwrite: bool,
    limits: object,
) -> bytes | None: ...
def iceberg_write_manifest_list(
    manifests: Any,
    sink: Any,
    format_version: int,
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int,
    first_row_id: int | None,
    encoding: object,
    overwrite: bool,
    limits: object,
) -> bytes | None: ...
def iceberg_write_metadata(metadata: str, sink: Any, overwrite: bool, limits: object) -> bytes | None: ...
def paimon_read_manifest(
    source: Any, columns: Sequence[str] | None, limits: object, threads: int | None
) -> BatchStream: ...
def paimon_read_manifest_list(source: Any, columns: Sequence[str] | None, limits: object) -> BatchStream: ...
def paimon_read_deletion_vector(source: Any, offset: int, length: int, limits: object) -> Batch: ...
def paimon_read_hash_index(source: Any) -> Batch: ...
def paimon_read_index_manifest(source: Any, columns: Sequence[str] | None, limits: object) -> BatchStream: ...
def paimon_read_snapshot(source: Any) -> str: ...
def paimon_read_schema(source: Any) -> str: ...
def paimon_write_records(
    kind: str,
    data: object,
    sink: Any,
    layout: str,
    encoding: Any,
    overwrite: bool,
    limits: object,
) -> bytes | None: ...
def paimon_write_json(kind: str, json: str, sink: Any, overwrite: bool) -> bytes | None: ...
def paimon_append_files(
    table: Table, files: object, changelog: object | None, check: bool, arguments: object
) -> Table: ...
def paimon_delete_files(table: Table, paths: object, arguments: object) -> Table: ...
def paimon_overwrite_partition(
    table: Table, files: object, partition: object | None, arguments: object
) -> Table: ...
def paimon_compact_files(
    table: Table,
    removed: object,
    added: object,
    changelog: object | None,
    index_files: object | None,
    removed_index_files: object,
    arguments: object,
) -> Table: ...
def paimon_replace_deletion_vectors(
    table: Table, index_files: object, removed: object, arguments: object
) -> Table: ...
def paimon_compact_manifests(
    table: Table,
    target_bytes: int | None,
    sort: bool,
    memory_bytes: int,
    arguments: object,
) -> Table: ...
def paimon_create_tag(table: Table, name: str, retained_micros: int | None, arguments: object) -> Table: ...
def paimon_delete_tag(table: Table, name: str) -> tuple[Table, BatchStream]: ...
def paimon_create_branch(table: Table, name: str, tag: str | None) -> Table: ...
def paimon_delete_branch(table: Table, name: str) -> tuple[Table, BatchStream]: ...
def paimon_fast_forward(table: Table, branch: str) -> tuple[Table, BatchStream]: ...
def paimon_rollback_to(table: Table, target: int | str) -> tuple[Table, BatchStream]: ...
def paimon_expire_snapshots(
    table: Table, older_than_ms: int | None, retain_last: int | None, now_ms: int
) -> tuple[Table, BatchStream]: ...
def paimon_alter_table(table: Table, changes: str) -> Table: ...
def paimon_fields(schema: object) -> str: ...
def paimon_create_table(
    location: str,
    storage: object | None,
    columns: object,
    partition_keys: Sequence[str],
    primary_keys: Sequence[str],
    table_options: Sequence[tuple[str, str]],
    comment: str | None,
    limits: object,
) -> Table: ...
