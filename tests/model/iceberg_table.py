"""An Iceberg table of a history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import lakebed
from model.alive import Root, catalog_metadata, iceberg_metadata, of_iceberg
from model.written import SCHEMA, Operation, Written, files, picked

NOW = timedelta(0)


class IcebergTable(Written):
    """A table in a folder, or in a catalog of PyIceberg."""

    def __init__(
        self,
        name: str,
        folder: Path,
        version: int = 2,
        catalog: Any = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(name, folder)
        self.version, self.catalog = version, catalog
        self.moved: dict[str, str] = {}
        """Folders that the metadata names, and where they are now."""
        self.order: list[int] = []
        if catalog is None:
            lakebed.create_table(folder, SCHEMA, "iceberg", format_version=version, properties=properties)
        else:
            catalog.create_table(
                f"db.{name}", SCHEMA, location=f"file://{folder}", properties=properties or {}
            )
        self.places = [(folder / "data", "data")]

    def now(self) -> lakebed.Table:
        if self.catalog is None:
            return lakebed.open_table(self.folder)
        return lakebed.open_table(self.catalog.load_table(f"db.{self.name}"))

    def newest(self) -> Path:
        """The metadata file that counts."""
        if self.catalog is None:
            return iceberg_metadata(self.folder)
        return catalog_metadata(self.folder.parent / "catalog.db", self.name)

    def roots(self) -> list[Root]:
        return of_iceberg(self.newest(), self.moved)

    def snapshots(self) -> list[int]:
        metadata = json.loads(self.newest().read_text("utf-8"))
        return [snapshot["snapshot-id"] for snapshot in metadata["snapshots"]]

    def operations(self) -> list[Operation]:
        return [
            *(self.append, self.append, self.delete, self.delete, self.forget, self.tag, self.drop_tag),
            *(self.leave, self.branch, self.commit_on_branch, self.drop_branch, self.fast_forward),
            *(self.expire, self.expire, self.delete, self.set_current, self.set_current, self.roll_back),
            *(self.undelete, self.undelete, self.overwrite, self.compact, self.delete_rows, self.cherry_pick),
            *(self.statistics, self.forget_statistics, self.properties, self.abort, self.retain),
            *(self.hold, self.hold, self.together, self.together),
        ]

    def racing(self) -> list[Operation]:
        return [
            *(self.append, self.leave, self.leave, self.leave, self.renew, self.renew, self.set_current),
            *(self.expire, self.forget, self.hold),
            *(self.tag, self.branch, self.fast_forward, self.cherry_pick, self.drop_tag, self.roll_back),
            *(
                self.compact,
                self.overwrite,
                self.delete_rows,
                self.statistics,
                self.properties,
                self.together,
            ),
        ]

    def said(self, snapshot: int | None) -> str:
        """A snapshot by the order in which they were met: ids are random."""
        if snapshot is None:
            return "no snapshot"
        if snapshot not in self.order:
            self.order += [one for one in self.snapshots() if one not in self.order]
        return f"snapshot {self.order.index(snapshot) + 1}"

    # What adds, and takes away.

    def append(self, a: int, b: int) -> str:
        path = self.data_file(a)
        table = self.now().append_files(files(path), merge=bool(b % 2))
        return f"{path} as {self.said(table.snapshot_id)}"

    def together(self, a: int, b: int) -> str:
        """Several changes in one commit: files come and go, and a branch keeps what was before them."""
        table, paths = self.now(), [self.data_file(a), self.data_file(b)]
        with table.transaction() as changes:
            if table.snapshot_id is not None and not a % 3:
                changes.create_branch("b0", replace="b0" in self.branches(table))
            changes.append_files(files(paths[0]), merge=bool(b % 2))
            if live := self.live(table):
                changes.delete_files([picked(live, a)])
            changes.append_files(files(paths[1]), merge=bool(b % 2))
            if table.snapshot_id is not None and a % 3:
                changes.create_branch("b0", replace="b0" in self.branches(table))
        return f"{', '.join(paths)} as {self.said(changes.table.snapshot_id)}"

    def forget(self, a: int, b: int) -> str:
        """A file is deleted, and all snapshots before go."""
        return f"{self.delete(a, b)}, and expire {self.expire(0, 1)}"

    def overwrite(self, a: int, b: int) -> str:
        old, new = picked(self.live(table := self.now()), b), self.data_file(a)
        table.overwrite_files(files(new), removed=[old])
        return f"{old} by {new}"

    def delete_rows(self, a: int, b: int) -> str:
        """A position delete file, or a deletion vector, of one data file."""
        old = picked(self.live(table := self.now()), b)
        columns: dict[str, object] = {"content": 1}
        if self.version > 2:
            own = {"content_offset": 4, "content_size_in_bytes": 8, "file_format": "PUFFIN"}
            columns |= {"referenced_data_file": old, **own}
        new = self.data_file(a)
        table.add_deletes(deletes=files(new, **columns))
        return f"of {old} by {new}"

    def abort(self, a: int, b: int) -> str:
        before = self.lying()
        if a % 2:
            self.write(self.places[0][0], f"stray-{next(self.numbers)}.parquet")
        elif a % 4:
            self.write(self.folder / "metadata", f"stray-{next(self.numbers)}.avro")
        else:
            self.now().stage().append_files(files(self.data_file(b)))
        self.stray(added := self.lying() - before)
        return f"leaves {len(added)} files"

    def lying(self) -> set[str]:
        """All files in the folders that the table writes to."""
        folders = {self.folder, *(folder for folder, _ in self.places)}
        return {str(path) for folder in folders for path in folder.rglob("*") if path.is_file()}

    # What keeps.

    def tag(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        name = f"v{b % 3}"
        age = timedelta(milliseconds=1) if b % 7 == 6 else None
        table = self.now()
        replace = name in self.branches(table, "tag")
        table.create_tag(name, at=snapshot, replace=replace, max_age=age)
        return f"{name} of {self.said(snapshot)}" + (" for a millisecond" if age else "")

    def branch(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        table = self.now()
        replace = f"b{b % 3}" in self.branches(table)
        table.create_branch(f"b{b % 3}", at=snapshot, replace=replace)
        return f"b{b % 3} of {self.said(snapshot)}"

    def leave(self, a: int, b: int) -> str:
        """A branch is made of a tag, which goes."""
        name = picked(self.branches(table := self.now(), "tag"), a)
        snapshot = table.at(tag=name).snapshot_id
        replace = f"b{b % 3}" in self.branches(table)
        table.create_branch(f"b{b % 3}", at=snapshot, replace=replace)
        self.now().delete_tag(name)
        return f"{name} for branch b{b % 3}"

    def set_current(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        self.now().set_current_snapshot(snapshot)
        return self.said(snapshot)

    def roll_back(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        self.now().rollback_to(snapshot)
        return f"to {self.said(snapshot)}"

    def cherry_pick(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        return f"{self.said(snapshot)} as {self.said(self.now().cherry_pick(snapshot).snapshot_id)}"

    def expire(self, a: int, b: int) -> str:
        freed = self.now().expire_snapshots(NOW, retain_last=1 + a % 3).files
        if freed.to_arrow().num_rows == 0:
            return "nothing"
        return f"all but {1 + a % 3}, {self.freed(freed, b)}"

    def retain(self, a: int, b: int) -> str:
        branches = ["main", *self.branches(table := self.now())]
        table.set_retention(picked(branches, b), min_snapshots_to_keep=1 + a % 3)
        return f"{1 + a % 3} snapshots of {picked(branches, b)}"

    def statistics(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        path = self.write(self.folder / "metadata", f"stats-{next(self.numbers)}.puffin")
        given: dict[str, Any] = {"snapshot-id": snapshot, "statistics-path": str(path)}
        given |= {"file-size-in-bytes": 15}
        if of_table := not b % 2:
            given |= {"file-footer-size-in-bytes": 4, "blob-metadata": []}
        self.now().set_statistics(given, of_partitions=not of_table)
        return f"of {self.said(snapshot)}"

    def forget_statistics(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        self.now().remove_statistics(snapshot, of_partitions=bool(b % 2))
        return f"of {self.said(snapshot)}"

    def properties(self, a: int, b: int) -> str:
        """What says where files are written, and how much of the metadata is kept."""
        given: Mapping[str, str] = [
            {"write.data.path": f"{self.folder}/elsewhere"},
            {"write.metadata.delete-after-commit.enabled": "true"},
            {"write.metadata.previous-versions-max": "1"},
            {"history.expire.min-snapshots-to-keep": f"{1 + b % 3}"},
        ][a % 4]
        self.now().update_properties(given)
        if path := given.get("write.data.path"):
            self.places = [(Path(path), path), *self.places]
        return str(dict(given))

    def bend(self, a: int) -> str | None:
        """Puts `main` at another snapshot than the current one, as no writer may."""
        metadata = json.loads(self.newest().read_text("utf-8"))
        known = [one["snapshot-id"] for one in metadata["snapshots"]]
        if "main" not in metadata.get("refs", {}) or len(known) < 2:
            return None
        metadata["refs"]["main"]["snapshot-id"] = known[a % (len(known) - 1)]
        self.newest().write_text(json.dumps(metadata), "utf-8")
        return f"main is put at {self.said(known[a % (len(known) - 1)])}"
