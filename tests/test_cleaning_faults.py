"""Actions whose requests a server refuses, and two at once: what is no row stays, and all ends with a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import object_store
import pytest
import small_tables
from object_store import Answer, Asked
from test_cleaning_killed import of_log
from test_cleaning_repair import orders, planned
from test_cleaning_stores import NOW, OnStore
from trust import THOROUGH, not_in_check

import lakebed
from lakebed.cleaning import repairing

pytest.importorskip("obstore")

__all__ = ["orders"]

STEP = 1 if THOROUGH else 30
"""Every so many requests one is refused."""


def lost_of(made: OnStore) -> set[str]:
    """The files that nothing names, by their paths below the table."""
    return {name for name in made.names("t") if made.bucket in name and _content(made, name) == b"lost"}


def _content(made: OnStore, name: str) -> bytes:
    return bytes(made.store.get(f"{made.prefix}/t/{name}").bytes())


def is_refused(action: Callable[[], Any]) -> bool:
    """Whether it ends with an error of the storage, which says no secret."""
    try:
        action()
    except (OSError, lakebed.LakebedError) as error:
        message = str(error)
    else:
        return False
    assert "c4n4ry" not in message
    return True


@not_in_check
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("does", ["remove", "move"])
def test_a_server_that_refuses_a_request(does: str, lasts: bool, status: int, tmp_path: Path) -> None:
    """One request of an action, or all from it on."""
    with object_store.server() as server:
        made = OnStore(server, "obstore", f"{does}-{lasts}-{status}")
        whole, lost, number, broken = made.names("t"), lost_of(made), 1, 0
        while True:
            rows = made.opened(server).orphans(NOW).to_arrow()
            seen, log = [0], tmp_path / f"{number}.log"

            def breaks(
                _asked: Asked,
                answer: Answer,
                _headers: dict[str, str],
                seen: list[int] = seen,
                number: int = number,
            ) -> Answer:
                seen[0] += 1
                if seen[0] == number or (lasts and seen[0] > number):
                    code = "AccessDenied" if status == 403 else "SlowDown"
                    body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
                    return Answer(status, {"Content-Type": "application/xml"}, body)
                return answer

            quarantine = f"{made.uri.removesuffix('/t')}/q{number}" if does == "move" else None
            with object_store.proxy(server) as (address, proxy):
                table = made.opened(address)
                proxy.breaks = breaks
                broken += is_refused(partial(lakebed.apply, rows, table, quarantine, log=log, younger=NOW))
            gone, said = whole - made.names("t"), of_log(log)
            assert gone <= lost
            assert {Path(name).name for name in gone} <= said.keys()
            done = {name for name, outcomes in said.items() if outcomes[-1] in ("removed", "moved")}
            assert done <= {Path(name).name for name in gone}
            lakebed.apply(rows, made.opened(server), quarantine, log=log, younger=NOW)
            assert whole - made.names("t") == lost
            if quarantine is not None:
                assert lakebed.restore(log, made.opened(server)).counts == {"restored": len(lost)}
            else:
                for name in lost:
                    made.store.put(f"{made.prefix}/t/{name}", b"lost")
            assert made.names("t") == whole
            if seen[0] < number:
                break
            number += STEP
        # One refusal of 503 is tried again.
        assert broken > 0 or not lasts


def at_once(*tasks: Callable[[], Any]) -> list[Any]:
    """What tasks give that begin at the same time."""
    barrier = Barrier(len(tasks))

    def run(task: Callable[[], Any]) -> Any:
        barrier.wait(60)
        return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


@pytest.mark.parametrize("quarantine", [None, "one", "each"])
@pytest.mark.parametrize("turn", range(3))
def test_two_clean_ups_at_once(turn: int, quarantine: str | None, tmp_path: Path) -> None:
    table = small_tables.iceberg(tmp_path / "t", "a.parquet")
    lost = small_tables.lost(*(tmp_path / "t" / f"{number}" / "lost.parquet" for number in range(40)))
    whole = set(small_tables.lying(tmp_path / "t"))
    rows = table.orphans(NOW).to_arrow()
    folders = [
        None if quarantine is None else str(tmp_path / f"q{n if quarantine == 'each' else 0}") for n in (0, 1)
    ]
    done = at_once(
        *(
            partial(lakebed.apply, rows, table, folder, log=tmp_path / f"log{n}", younger=NOW)
            for n, folder in enumerate(folders)
        )
    )
    # None is left, each is said to be gone by one of them, and nothing else is.
    assert whole - set(small_tables.lying(tmp_path / "t")) == set(lost)
    gone = [
        row["file_path"]
        for one in done
        for row in one.rows.to_pylist()
        if row["outcome"] in ("removed", "moved")
    ]
    assert set(gone) == set(lost)
    if quarantine is not None:
        kept = [Path(path) for folder in {*folders} for path in small_tables.lying(Path(str(folder)))]
        assert {path.parent.name for path in kept} == {Path(path).parent.name for path in lost}
        assert {path.read_bytes() for path in kept} == {b"lost"}


def test_two_repairs_at_once(orders: tuple[Any, lakebed.Table], tmp_path: Path) -> None:
    """Both say what became of each row: it was repaired, or is not broken any more."""
    catalog, table = orders
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    catalog.load_table("db.orders").add_files(paths[:3], check_duplicate_files=False)
    table = table.refresh()
    rows = planned(table, "duplicates")
    done = at_once(*(partial(lakebed.apply, rows, table, log=tmp_path / f"log{n}") for n in (0, 1)))
    outcomes = [row["outcome"] for one in done for row in one.rows.to_pylist()]
    assert sorted(outcomes) == ["kept"] * 3 + ["repaired"] * 3
    assert catalog.load_table("db.orders").scan().to_arrow().num_rows == 40


def test_a_commit_between_the_look_and_the_repair(
    orders: tuple[Any, lakebed.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at again, and what another has repaired is kept."""
    catalog, table = orders
    paths = table.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    catalog.load_table("db.orders").add_files(paths[:2], check_duplicate_files=False)
    table = table.refresh()
    rows, own, calls = planned(table, "duplicates"), repairing._repair, [0]

    def raced(table: lakebed.Table, kind: str, found: list[Any], *described: Any) -> lakebed.Table:
        calls[0] += 1
        if calls[0] == 1:
            own(table.refresh(), kind, found[:1])
        return own(table, kind, found, *described)

    monkeypatch.setattr(repairing, "_repair", raced)
    done = lakebed.apply(rows, table, log=tmp_path / "log")
    assert sorted(row["outcome"] for row in done.rows.to_pylist()) == ["kept", "repaired"]
    assert calls == [2]
    assert catalog.load_table("db.orders").scan().to_arrow().num_rows == 40
    lines = [json.loads(line)["outcome"] for line in (tmp_path / "log").read_text().splitlines()[1:]]
    assert lines == ["repairing"] * 3 + ["repaired"]
