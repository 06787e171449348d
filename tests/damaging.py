"""Golden tables damaged in one place: a field of a manifest, of a list, or of a JSON file has another value.

What is written is well formed, and sizes that other files record of it are right: a reader gets as far as the
value. So are the malformed files, each in the place of a file of its kind.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
from malformed_files import MALFORMED

Place = tuple[Any, ...]
NUMBERS = (-1, 0, 1, 2, 3, 7, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63))
TEXTS = ("", "x", "/", "../x", "a/b", "PUFFIN", "\0")
_NAMING = ("snap-", "manifest-list-", "snapshot-", "tag-")
"""How the names of files begin that record sizes of others."""
_GONE = object()


@dataclass
class DamagedTable:
    """A copy of a table, of which one file at a time is damaged."""

    root: Path
    saved: dict[Path, bytes] = field(default_factory=dict)
    """What files were; the first is the damaged one."""

    @staticmethod
    def of(table: Path, folder: Path) -> DamagedTable:
        """A copy without the engine's answers."""
        shutil.copytree(table, folder, ignore=shutil.ignore_patterns("expected"))
        return DamagedTable(folder)

    def files(self) -> list[Path]:
        """The files of metadata that can be damaged."""
        return sorted(
            path for path in self.root.rglob("*") if path.is_file() and (_is_avro(path) or _is_json(path))
        )

    def damage(self, path: Path, chance: random.Random) -> str:
        """Changes one value of a file, to another that its schema has; what was changed, in words."""
        if _is_json(path):
            document = json.loads(path.read_text("utf-8"))
            done = _changed(document, chance)
            self.write(path, json.dumps(document, default=bytes.hex).encode())
            return f"{path.relative_to(self.root)}: {done}"
        while True:
            reader = fastavro.reader(io.BytesIO(path.read_bytes()))
            try:
                rows: list[Any] = list(reader)
            except IndexError:
                # Of Iceberg's, one whose values of a fixed length are not as its schema has them.
                return self.damage(chance.choice(self.files()), chance)
            done = _changed(rows, chance)
            try:
                content = _avro(reader, rows)
            except (ValueError, TypeError, AttributeError, KeyError, OverflowError):
                continue
            self.write(path, content)
            return f"{path.relative_to(self.root)}: {done}"

    def write(self, path: Path, content: bytes) -> None:
        """Replaces a file, and what others record of its size."""
        self.saved.setdefault(path, path.read_bytes())
        path.write_bytes(content)
        damaged = next(iter(self.saved))
        lists = [one for one in self.files() if one not in (path, damaged) and one.name.startswith(_NAMING)]
        for one in lists if not path.name.startswith("snapshot-") else ():
            self._resize(one, path.name, len(content))

    def _resize(self, path: Path, name: str, size: int) -> None:
        if _is_json(path):
            document = json.loads(path.read_text("utf-8"))
            names = [key for key, value in document.items() if value == name and f"{key}Size" in document]
            changed = {f"{key}Size": size for key in names}
            if changed:
                self.write(path, json.dumps(document | changed).encode())
            return
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        rows: list[Any] = list(reader)
        for row in rows:
            if row.get("_FILE_NAME") == name:
                row["_FILE_SIZE"] = size
            elif str(row.get("manifest_path")).endswith(f"/{name}"):
                row["manifest_length"] = size
            else:
                continue
            self.write(path, _avro(reader, rows))
            return

    def restore(self) -> None:
        """The table as it was."""
        for path, content in self.saved.items():
            path.write_bytes(content)
        self.saved.clear()


def malformed(kind: str) -> list[Path]:
    """The malformed files of a kind."""
    return sorted((MALFORMED / kind).iterdir())


def _is_avro(path: Path) -> bool:
    with path.open("rb") as content:
        return content.read(4) == b"Obj\x01" and path.parent.name in ("manifest", "metadata")


def _is_json(path: Path) -> bool:
    if ".gz" in path.name:
        return False
    named = path.name.startswith(("snapshot-", "schema-", "tag-", "consumer-", "changelog-"))
    return path.name.endswith(".metadata.json") or (named and path.suffix == "")


def _avro(reader: Any, rows: list[Any]) -> bytes:
    sink = io.BytesIO()
    own = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    schema = json.loads(reader.metadata["avro.schema"])
    fastavro.writer(sink, schema, rows, codec=reader.codec, metadata=own)
    return sink.getvalue()


def _changed(whole: Any, chance: random.Random) -> str:
    """Changes a value somewhere in a document; says where, and what it is now."""
    places = list(_places(whole))
    if not places:
        return "nothing"
    # Long lists have many alike: a name is chosen first.
    names = sorted({str(place[-1]) for place in places if isinstance(place[-1], str)})
    name = chance.choice(names) if names else None
    chosen = [place for place in places if name is None or place[-1] == name or isinstance(place[-1], int)]
    place = chance.choice(chosen)
    holder = whole
    for step in place[:-1]:
        holder = holder[step]
    old = holder[place[-1]]
    # A record within a record can be absent, but not be there twice.
    within = isinstance(old, dict) and isinstance(holder, dict)
    value = _GONE if within else _other(old, chance)
    if value is _GONE:
        del holder[place[-1]]
    elif isinstance(value, Twice):
        holder.insert(place[-1], value.value)
    else:
        holder[place[-1]] = value
    return f"{place} is {value!r:.60}"


@dataclass
class Twice:
    """The value once more."""

    value: Any


def _places(value: Any, before: Place = ()) -> Iterator[Place]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield (*before, step)
        yield from _places(part, (*before, step))


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([number for number in (*NUMBERS, value + 1, value - 1) if number != value])
    if isinstance(value, str):
        return chance.choice([text for text in (*TEXTS, value + "x", value[:-1]) if text != value])
    if isinstance(value, bytes):
        return chance.choice([b"", value[:-1], value + b"x", bytes(len(value)), b"\xff" * len(value)])
    if isinstance(value, list) and value:
        return chance.choice([[], value[:-1], [*value, value[0]]])
    if isinstance(value, dict):
        return chance.choice([_GONE, Twice(value)])
    return chance.choice([None, 0, 1, -1, "x", b"x"])
