"""Which files of a table live, by brute force: what names files is read whole, by fastavro and json.

Nothing of lakebed is used here. What keeps files is a root: a snapshot, tag, changelog, branch, or the table
itself. Paths are real ones, so that files are the same however a link led to them.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import fastavro

Record = dict[str, Any]
Where = Callable[[str], frozenset[str]]
"""The real paths of what metadata names."""


class Root(NamedTuple):
    """What keeps files."""

    name: str
    """As rows say it: `snapshot 3`, `tag v1`, `changelog 2 of branch b`; `table` for what the table keeps."""
    file: str | None
    """The file that it is, where it is one."""
    files: frozenset[str]


def local(path: str) -> str:
    """The path of a local path or `file:` URI."""
    return unquote(re.sub(r"^file:(//)?", "", path)) if path.startswith("file:") else path


def real(path: str) -> str:
    """The real path of a local path or `file:` URI."""
    return os.path.realpath(local(path))


def all_files(roots: list[Root]) -> frozenset[str]:
    """What any of them keeps."""
    return frozenset().union(*(root.files for root in roots))


@lru_cache(maxsize=4096)
def _records_of(path: str, size: int) -> tuple[Record, ...]:
    """Files that hold records never change; the size is there for those that a test damages."""
    with Path(path).open("rb") as file:
        return tuple(dict(record) for record in fastavro.reader(file) if isinstance(record, dict))


def _records(path: str) -> tuple[Record, ...]:
    return _records_of(path, os.stat(path).st_size)  # noqa: PTH116 - a text is what is asked for


def forget() -> None:
    """Drops what was read: the folders of another test may have files of the same names."""
    _records_of.cache_clear()


# Iceberg


def iceberg_metadata(folder: Path) -> Path:
    """The newest metadata file of a table without a catalog."""
    hint = folder / "metadata" / "version-hint.text"
    numbers = [
        int(name[1])
        for file in (folder / "metadata").iterdir()
        if (name := re.fullmatch(r"v(\d+)\.metadata\.json", file.name))
    ]
    hinted = int(hint.read_text()) if hint.exists() else 0
    return folder / "metadata" / f"v{max([hinted, *numbers])}.metadata.json"


def catalog_metadata(database: Path, name: str) -> Path:
    """The metadata file that a catalog of PyIceberg in SQLite says is current."""
    query = "SELECT metadata_location FROM iceberg_tables WHERE table_name = ?"
    with closing(sqlite3.connect(database)) as connection:
        (location,) = connection.execute(query, (name,)).fetchone()
    return Path(real(location))


def of_iceberg(newest: Path, moved: Mapping[str, str] | None = None) -> list[Root]:
    """What keeps files of an Iceberg table, by its newest metadata file.

    Args: moved, folders that metadata names and where they are now; the files may be in either.
    """
    metadata: Record = json.loads(newest.read_text("utf-8"))

    def where(path: str) -> frozenset[str]:
        there = {real(path)}
        for old, now in (moved or {}).items():
            if path.startswith(f"{old}/"):
                there.add(real(now + path.removeprefix(old)))
        return frozenset(there)

    files = {snapshot["snapshot-id"]: _of_snapshot(snapshot, where) for snapshot in metadata["snapshots"]}
    for key in ("statistics", "partition-statistics"):
        for one in metadata.get(key, []):
            if one["snapshot-id"] in files:
                files[one["snapshot-id"]] |= where(one["statistics-path"])
    roots = [Root(f"snapshot {number}", None, kept) for number, kept in files.items()]
    for name, ref in metadata.get("refs", {}).items():
        roots.append(Root(f"{ref['type']} {name}", None, files[ref["snapshot-id"]]))
    if (current := metadata.get("current-snapshot-id", -1)) in files:
        roots.append(Root("the current snapshot", None, files[current]))
    log = [entry["metadata-file"] for entry in metadata.get("metadata-log", [])]
    own = {real(str(newest)), real(str(newest.parent / "version-hint.text"))}
    return [*roots, Root("table", None, frozenset(own).union(*map(where, log)))]


def _of_snapshot(snapshot: Record, where: Where) -> frozenset[str]:
    kept: set[str] = set()
    if "manifest-list" in snapshot:
        kept |= where(snapshot["manifest-list"])
        named = [row["manifest_path"] for row in _records(_there(where(snapshot["manifest-list"])))]
    else:
        named = snapshot["manifests"]
    for manifest in named:
        kept |= where(manifest)
        for entry in _records(_there(where(manifest))):
            if entry["status"] != 2:
                kept |= where(entry["data_file"]["file_path"])
    return frozenset(kept)


def _there(paths: frozenset[str]) -> str:
    """The one of some paths at which there is a file; any where there is none."""
    return next((path for path in sorted(paths) if Path(path).exists()), min(paths))


# Paimon


def of_paimon(folder: Path) -> list[Root]:
    """What keeps files of a Paimon table, on all its branches."""
    root = Path(os.path.realpath(folder))
    branches = sorted((root / "branch").glob("branch-*")) if (root / "branch").is_dir() else []
    found: list[Root] = []
    for own, of_branch in [(root, ""), *((path, f" of branch {path.name[7:]}") for path in branches)]:
        for kind in ("snapshot", "tag", "changelog"):
            for file in sorted((own / kind).glob(f"{kind}-*")):
                name = f"{kind} {file.name.removeprefix(f'{kind}-')}{of_branch}"
                found.append(Root(name, str(file), _of_commit(root, kind, file) | {str(file)}))
        hints = [own / kind / hint for kind in ("snapshot", "changelog") for hint in ("EARLIEST", "LATEST")]
        schemas = (own / "schema").glob("schema-*")
        consumers = (own / "consumer").glob("consumer-*")
        kept = {str(path) for path in [*hints, *schemas, *consumers] if path.exists()}
        found.append(Root(f"table{of_branch}", None, frozenset(kept)))
    return found


def _of_commit(root: Path, kind: str, file: Path) -> frozenset[str]:
    """The files that the snapshot in a file keeps: those that are live, and what its changelog has. Of a
    changelog alone: those of its own list, or without one those that the snapshot added.
    """
    snapshot: Record = json.loads(file.read_text("utf-8"))
    base, delta, changes = (
        [snapshot[key]] if snapshot.get(key) else []
        for key in ("baseManifestList", "deltaManifestList", "changelogManifestList")
    )
    if kind == "changelog":
        lists = [changes or delta]
    elif kind == "tag":
        lists = [base + delta]
    else:
        lists = [base + delta, changes]
    kept: set[str] = set()
    for names in lists:
        kept |= set(_of_lists(root, names))
    if kind == "changelog":
        return frozenset(kept)
    if index := snapshot.get("indexManifest"):
        path = f"{root}/manifest/{index}"
        kept.add(path)
        kept |= {_index_file(root, entry) for entry in _records(path)}
    if statistics := snapshot.get("statistics"):
        kept.add(f"{root}/statistics/{statistics}")
    return frozenset(kept)


def _of_lists(root: Path, lists: list[str]) -> Iterator[str]:
    """The lists themselves, their manifests, and the files that these add and do not delete again."""
    live: dict[tuple[object, ...], set[str]] = {}
    for name in lists:
        path = f"{root}/manifest/{name}"
        yield path
        for row in _records(path):
            manifest = f"{root}/manifest/{row['_FILE_NAME']}"
            yield manifest
            for entry in _records(manifest):
                file = entry["_FILE"]
                where = (entry["_PARTITION"], entry["_BUCKET"], file["_LEVEL"])
                identity = (*where, file["_FILE_NAME"], file.get("_EXTERNAL_PATH"))
                if entry["_KIND"] == 0:
                    live[identity] = set(_data_files(root, entry))
                else:
                    live.pop(identity, None)
    for paths in live.values():
        yield from paths


def _data_files(root: Path, entry: Record) -> Iterator[str]:
    file = entry["_FILE"]
    key = entry["_PARTITION"]
    # A BinaryRow: the number of fields, 8 bytes of header, then 8 bytes a field; keys here are one INT.
    parts = [f"k={int.from_bytes(key[12:16], 'little')}"] if int.from_bytes(key[:4], "big") else []
    folder = "/".join([str(root), *parts, f"bucket-{entry['_BUCKET']}"])
    if external := file.get("_EXTERNAL_PATH"):
        yield real(external)
        folder = real(external).rpartition("/")[0]
    else:
        yield real(f"{folder}/{file['_FILE_NAME']}")
    for extra in file["_EXTRA_FILES"] or []:
        yield real(f"{folder}/{extra}")


def _index_file(root: Path, entry: Record) -> str:
    external = entry.get("_EXTERNAL_PATH")
    return real(external) if external else f"{root}/index/{entry['_FILE_NAME']}"
