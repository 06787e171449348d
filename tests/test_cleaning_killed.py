"""A process that is killed at any of its requests: its log says what may have happened, and another run ends
it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import object_store
import pyarrow as pa
import pytest
from object_store import Answer, Asked
from test_cleaning_stores import NOW, OnStore
from trust import THOROUGH, not_in_check

import lakebed

pytest.importorskip("obstore")

_RUN = """
import sys
sys.path.insert(0, {tests!r})
import lakebed, object_store
from datetime import timedelta
table = lakebed.open_table({uri!r}, storage=object_store.client("obstore", {address!r}))
lakebed.apply({rows!r}, table, {quarantine!r}, log={log!r}, younger=timedelta(0))
"""


def killed_at(
    request: int, made: OnStore, server: str, rows: Path, log: Path, quarantine: str | None
) -> bool:
    """Runs `apply` in a process of its own, which is killed once the server has done what a request asks,
    before the answer is there. Returns: whether it was; not where there are fewer requests.
    """
    seen = [0]
    with object_store.proxy(server) as (address, proxy):
        given = {"uri": made.uri, "rows": str(rows), "log": str(log), "quarantine": quarantine}
        script = _RUN.format(tests=str(Path(__file__).parent), address=address, **given)

        def breaks(_asked: Asked, answer: Answer, _headers: dict[str, str]) -> Answer:
            seen[0] += 1
            if seen[0] == request:
                process.kill()
            return answer

        process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
        proxy.breaks = breaks
        _, error = process.communicate(timeout=120)
    assert process.returncode in (0, -signal.SIGKILL), error.decode()
    return process.returncode != 0


def of_log(log: Path) -> dict[str, list[str]]:
    """The outcomes of each file, in order."""
    found: dict[str, list[str]] = {}
    for line in log.read_text().splitlines()[1:] if log.exists() else []:
        one: dict[str, Any] = json.loads(line)
        found.setdefault(Path(one["path"]).name, []).append(one["outcome"])
    return found


@not_in_check
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("does", ["remove", "move"])
def test_kills_at_requests(does: str, tmp_path: Path) -> None:
    with object_store.server() as server:
        made = OnStore(server, "obstore", does)
        whole = made.names("t")
        lost = {
            f"{made.bucket}/{Path(name).name}" for name in whole if _content(made, f"t/{name}") == b"lost"
        }
        request, kills = 1, 0
        while True:
            table = made.opened(server)
            planned, log = tmp_path / f"{request}.arrow", tmp_path / f"{request}.log"
            rows = table.orphans(NOW).to_arrow()
            assert rows.num_rows == len(lost)
            with pa.OSFile(str(planned), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
            quarantine = f"{made.uri.removesuffix('/t')}/q{request}" if does == "move" else None
            was_killed = killed_at(request, made, server, planned, log, quarantine)
            kills += was_killed
            gone, said = whole - made.names("t"), of_log(log)
            assert gone <= lost
            # Nothing is gone of which the log does not say that it may be, and what it says is gone, is.
            assert {Path(name).name for name in gone} <= said.keys()
            done = {name for name, outcomes in said.items() if outcomes[-1] in ("removed", "moved")}
            assert done <= {Path(name).name for name in gone}
            lakebed.apply(rows, table, quarantine, log=log, younger=NOW)
            assert whole - made.names("t") == lost
            if quarantine is not None:
                assert made.names(f"q{request}") == lost
                assert lakebed.restore(log, table).counts == {"restored": len(lost)}
                assert made.names(f"q{request}") == set()
            else:
                for name in lost:
                    made.store.put(f"{made.prefix}/t/{name}", b"lost")
            assert made.names("t") == whole
            if not was_killed:
                break
            request += 1 if THOROUGH else 16
    assert kills >= (50 if THOROUGH else 2)


def _content(made: OnStore, name: str) -> bytes:
    return bytes(made.store.get(f"{made.prefix}/{name}").bytes())
