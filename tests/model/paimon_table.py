"""A Paimon table of a history."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import fastavro
import pyarrow as pa
from file_rows import index_row

import lakebed
from lakebed import paimon
from model.alive import Root, of_paimon
from model.written import SCHEMA, Operation, Written, files, picked

NOW = timedelta(0)
LATER_CHANGELOGS = {
    "snapshot.num-retained.min": "1",
    "snapshot.time-retained": "1 ms",
    "changelog.num-retained.min": "3",
    "changelog.num-retained.max": "30",
    "changelog.time-retained": "100 d",
}
"""Expired snapshots become changelogs."""


class PaimonTable(Written):
    """A table in a folder."""

    finds_freed = False

    def __init__(self, name: str, folder: Path, kind: str = "", external: Path | None = None) -> None:
        """Args: kind, `partitioned` by the column `k`, with `keys` and files of changes, with `changelogs`
        that outlive their snapshots, or with deletion `vectors`; external, a folder for data files.
        """
        super().__init__(name, folder)
        self.kind = kind
        columns = pa.schema([*SCHEMA, ("k", pa.int32())]) if kind == "partitioned" else SCHEMA
        options = {"bucket": "1" if kind == "keys" else "-1"}
        if kind in ("keys", "changelogs"):
            options |= LATER_CHANGELOGS
        if kind == "keys":
            options["changelog-producer"] = "input"
        if kind == "vectors":
            options["deletion-vectors.enabled"] = "true"
        if external is not None:
            options["data-file.external-paths"] = f"file://{external}"
            options["data-file.external-paths.strategy"] = "round-robin"
        partitions = ["k"] if kind == "partitioned" else []
        keys = ["id"] if kind == "keys" else []
        lakebed.create_table(
            folder, columns, "paimon", partition_by=partitions, primary_key=keys, properties=options
        )
        self.bucket = "k=1/bucket-0" if kind == "partitioned" else "bucket-0"
        self.places = [(folder / self.bucket, self.bucket)]
        if external is not None:
            self.places.insert(0, (external / self.bucket, str(external / self.bucket)))

    def now(self) -> lakebed.Table:
        return lakebed.open_table(self.folder, format="paimon")

    def roots(self) -> list[Root]:
        return of_paimon(self.folder)

    def snapshots(self) -> list[int]:
        return sorted(int(file.name[9:]) for file in (self.folder / "snapshot").glob("snapshot-*"))

    def operations(self) -> list[Operation]:
        return [
            *(self.append, self.append, self.delete, self.delete, self.forget, self.tag, self.drop_tag),
            *(self.leave, self.leave, self.branch, self.commit_on_branch, self.drop_branch),
            *(self.fast_forward, self.expire, self.expire, self.roll_back, self.roll_back, self.undelete),
            *(self.delete, self.overwrite, self.compact, self.delete_rows, self.statistics, self.consumer),
            *(
                self.forget_consumer,
                self.abort,
                self.tag_on_branch,
                self.leave_consumer,
                self.hold,
                self.hold,
            ),
        ]

    def racing(self) -> list[Operation]:
        return [
            *(self.append, *(self.leave,) * 4, *(self.renew,) * 4),
            *(self.expire, self.forget, self.hold, self.tag),
            *(self.branch, self.fast_forward, self.drop_tag, self.roll_back, self.drop_branch, self.compact),
            *(self.commit_on_branch, self.overwrite, self.delete_rows, self.statistics, self.tag_on_branch),
            *(self.leave_consumer, self.consumer),
        ]

    def rows(self, *paths: str, **columns: object) -> pa.Table:
        columns |= {"bucket": 0}
        if self.kind == "keys":
            key = paimon.encode_rows(pa.array([{"id": 1}], pa.struct(SCHEMA)))[0].as_py()
            columns |= {"min_key": key, "max_key": key, "min_sequence_number": 0, "sequence_number": 9}
        table = files(*paths, **columns)
        if self.kind == "partitioned":
            values = pa.array([{"k": 1}] * len(paths), pa.struct([("k", pa.int32())]))
            table = table.append_column("partition", values)
        return table

    def short(self, path: str) -> str:
        return path.removeprefix(f"{self.folder}/")

    # What adds, and takes away.

    def append(self, a: int, b: int) -> str:
        path, changes = self.data_file(a), None
        if self.kind == "keys" and b % 2:
            changes = f"{self.bucket}/changelog-{next(self.numbers)}.parquet"
            self.write(self.folder / self.bucket, changes.rpartition("/")[2])
        rows = None if changes is None else self.rows(changes)
        table = self.now().append_files(self.rows(path), changelog=rows)
        return f"{path}{f' with {changes}' if changes else ''} as snapshot {table.snapshot_id}"

    def forget(self, a: int, b: int) -> str:
        """A file is deleted for good, and all snapshots before go."""
        said = self.delete(a, b)
        self.now().rewrite_manifests()
        return f"{said}, compacts manifests, and expire {self.expire(0, 1)}"

    def overwrite(self, a: int, b: int) -> str:
        table, new = self.now(), self.data_file(a)
        if b % 3 == 0:
            table.overwrite_partitions(self.rows(new), {})
        elif b % 3 == 1:
            table.overwrite_files(self.rows(new), where="TRUE")
        else:
            table.overwrite_files(self.rows(new), removed=self.live(table))
        return f"all by {new}"

    def delete_rows(self, a: int, b: int) -> str | None:
        """An index file with a deletion vector of one data file, in the place of all that were."""
        if self.kind != "vectors" or not (live := self.live(table := self.now())):
            return None
        before = sorted(set(table.indexes(columns=["file_name"]).to_arrow()["file_name"].to_pylist()))
        known = {
            Path(row).name
            for row in table.deletes(columns=["referenced_data_file"]).to_arrow()[0].to_pylist()
        }
        names = sorted(known | {Path(picked(live, a)).name})
        new = f"index-{next(self.numbers)}"
        self.write(self.folder / "index", new)
        own = {"index_type": "DELETION_VECTORS", "file_size": 15, "row_count": 1}
        row = index_row(new, *((name, 1, 2, 1) for name in names), **own)
        table.add_deletes(row, removed_deletes=before)
        return f"of {', '.join(names)} by {new}"

    def abort(self, a: int, b: int) -> str:
        places = [
            self.places[0][0],
            *(self.folder / folder for folder in ("manifest", "index", "statistics")),
        ]
        path = self.write(places[a % 4], f"stray-{next(self.numbers)}.parquet")
        self.stray([str(path)])
        return f"leaves {self.short(str(path))}"

    def statistics(self, a: int, b: int) -> str | None:
        """A commit of statistics alone, as an analysis makes it."""
        table = self.now()
        if (number := table.snapshot_id) is None:
            return None
        file = self.folder / "snapshot" / f"snapshot-{number}"
        snapshot = json.loads(file.read_text("utf-8"))
        name = f"stat-{next(self.numbers)}"
        counts = {"snapshotId": number, "schemaId": 0, "mergedRecordCount": 1, "mergedRecordSize": 1}
        statistics = self.write(self.folder / "statistics", name)
        statistics.write_text(json.dumps(counts | {"colStats": {}}), "utf-8")
        lists = [
            self.folder / "manifest" / snapshot[key] for key in ("baseManifestList", "deltaManifestList")
        ]
        rows, new = [], [f"manifest-list-{name}-{end}" for end in (0, 1)]
        for path in lists:
            with path.open("rb") as source:
                reader = fastavro.reader(source)
                rows += list(reader)
                written = reader.writer_schema
        for path, content in zip(new, (rows, []), strict=True):
            with (self.folder / "manifest" / path).open("wb") as target:
                fastavro.writer(target, written, content)
        sizes = [(self.folder / "manifest" / path).stat().st_size for path in new]
        snapshot |= {"id": number + 1, "commitKind": "ANALYZE", "statistics": name, "deltaRecordCount": 0}
        snapshot |= {"baseManifestList": new[0], "baseManifestListSize": sizes[0]}
        snapshot |= {"deltaManifestList": new[1], "deltaManifestListSize": sizes[1]}
        snapshot = {key: value for key, value in snapshot.items() if not key.startswith("changelog")}
        file.with_name(f"snapshot-{number + 1}").write_text(json.dumps(snapshot), "utf-8")
        file.with_name("LATEST").write_text(f"{number + 1}", "utf-8")
        return f"{name} as snapshot {number + 1}"

    # What keeps.

    def tag(self, a: int, b: int) -> str:
        snapshot = picked(self.snapshots(), a)
        self.now().create_tag(f"v{b % 3}", at=snapshot)
        return f"v{b % 3} of snapshot {snapshot}"

    def branch(self, a: int, b: int) -> str:
        tags = self.branches(table := self.now(), "tag")
        tag = picked([*tags, ""], a) or None
        table.create_branch(f"b{b % 3}", at=tag)
        return f"b{b % 3} of {tag or 'nothing'}"

    def leave(self, a: int, b: int) -> str:
        """A branch is made of a tag, which goes."""
        name = picked(self.branches(table := self.now(), "tag"), a)
        table.create_branch(f"b{b % 3}", at=name)
        self.now().delete_tag(name)
        return f"{name} for branch b{b % 3}"

    def tag_on_branch(self, a: int, b: int) -> str:
        name = picked(self.branches(table := self.now()), a)
        table.at(branch=name).create_tag(f"v{b % 3}")
        return f"v{b % 3} on {name}"

    def roll_back(self, a: int, b: int) -> str | None:
        table = self.now()
        if b % 2 and (tags := self.branches(table, "tag")):
            freed, to = table.rollback_to(picked(tags, a)), picked(tags, a)
        elif known := self.snapshots():
            freed = table.rollback_to(known[a % len(known)])
            to = f"snapshot {known[a % len(known)]}"
        else:
            return None
        return f"to {to}, {self.freed(freed.files, b)}"

    def expire(self, a: int, b: int) -> str:
        freed = self.now().expire_snapshots(NOW, 1 + a % 3).files
        return f"all but {1 + a % 3}, {self.freed(freed, b)}"

    def consumer(self, a: int, b: int) -> str:
        following = picked(self.snapshots(), a)
        path = self.write(self.folder / "consumer", f"consumer-c{b % 2}")
        path.write_text(json.dumps({"nextSnapshot": following}), "utf-8")
        return f"c{b % 2} is before snapshot {following}"

    def forget_consumer(self, a: int, b: int) -> str | None:
        path = self.folder / "consumer" / f"consumer-c{b % 2}"
        if not path.exists():
            return None
        path.unlink()
        return f"c{b % 2}"

    def leave_consumer(self, a: int, b: int) -> str:
        """A tag takes the place of a consumer."""
        return f"{self.tag(a, b)}, {self.forget_consumer(a, b)}"
