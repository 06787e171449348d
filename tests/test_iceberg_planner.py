"""Plans in parts as a REST catalog gives them, against the plans of Iceberg's Java and against the whole."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iceberg_commits import files
from planned_parts import CONTENTS, SECRET, agreed, answers, in_parts, paths, tasks, tasks_of, whole
from test_iceberg_plans import engines_plan
from trust import long_or, some

import lakebed
from iceberg_golden import GoldenTable, each_golden_iceberg_table, golden_iceberg_tables
from lakebed.errors import (
    PlanNotFoundError,
    PlanRequestError,
    PlanTaskNotFoundError,
    PredicateError,
    SchemaError,
    SnapshotNotFoundError,
    UnsupportedError,
)
from lakebed.iceberg import Planner

SCHEMA = pa.schema([("id", pa.int64()), ("Name", pa.string())])


def planned(answers: list[dict[str, Any]]) -> Counter[Any]:
    """Paths of data files, each with what identifies its deletes."""

    def delete(file: dict[str, Any]) -> tuple[Any, ...]:
        place = (file.get("content-offset"), file.get("content-size-in-bytes"))
        return (CONTENTS[file["content"]], file["file-path"], *place)

    of_answers = [task for answer in answers for task in tasks_of(answer)]
    return Counter(
        (task["data-file"]["file-path"], frozenset(map(delete, task["deletes"]))) for task in of_answers
    )


def engines(table: GoldenTable, line: dict[str, Any]) -> Counter[Any]:
    of_engine = engines_plan(table, line).elements()
    return Counter((path, frozenset(delete[:4] for delete in deletes)) for path, deletes in of_engine)


@each_golden_iceberg_table()
def test_all_parts_together_are_the_engines_plan(table: GoldenTable) -> None:
    now = table.open()
    lines = [line for line in table.rows("plans") if "error" not in line and line["filter"] is not None]
    unfiltered = [line for line in lines if line["filter"] is True][:1]
    lines = [*unfiltered, *some(lines, table.name)[:: long_or(12, 1, 24)]]
    compared = agreed(table, lines)
    for line in compared:
        request = {"snapshot-id": line["snapshot_id"], "use-snapshot-schema": True, "filter": line["filter"]}
        few = max(1, len(line["files"]) // 10)
        assert planned(answers(in_parts(few), now, request)) == engines(table, line), line["sql"]
        assert tasks(in_parts(2 * few, 2), now, request) == tasks(whole(), now, request)
    assert compared or not lines or "float" in table.name


@each_golden_iceberg_table()
def test_increments_are_the_engines_appends(table: GoldenTable) -> None:
    now = table.open()
    for row in table.rows("incremental"):
        # A request without a start is none for appends.
        if row["kind"] != "append" or row["from_exclusive"] is None:
            continue
        request = {"start-snapshot-id": row["from_exclusive"], "end-snapshot-id": row["to_inclusive"]}
        if "error" in row:
            with pytest.raises(SnapshotNotFoundError, match="not a descendant of"):
                in_parts().plan(now, request)
            continue
        expected: Counter[Any] = Counter((task["file_path"], frozenset()) for task in row["tasks"])
        try:
            found = planned(answers(in_parts(), now, request))
        except UnsupportedError as error:
            if "JSON cannot hold" not in str(error):
                raise
            continue
        assert found == expected
        assert tasks(in_parts(), now, request) == tasks(whole(), now, request)


@each_golden_iceberg_table()
def test_files_have_the_metrics_that_manifests_record(table: GoldenTable) -> None:
    now = table.open()
    names = [field.name for field in pa.schema(now.core.data_schema)][:3]
    maps = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
    bounds = ("lower_bounds", "upper_bounds")
    rows = now.entries(columns=["file_path", "status", "content", *maps, *bounds]).to_arrow().to_pylist()
    try:
        found = answers(in_parts(max(1, len(rows) // 5)), now, {"stats-fields": names})
    except UnsupportedError:
        pytest.skip("JSON has no NaN")
    ids = lakebed._native.ScanTasks.field_ids(now.core, names, True)
    recorded = {row["file_path"]: row for row in rows if row["status"] != 2 and row["content"] == 0}
    for task in (task for answer in found for task in tasks_of(answer)):
        row = recorded[task["data-file"]["file-path"]]
        for name in (*maps, *bounds):
            stored = row[name]
            key = name.replace("_", "-")
            if stored is None:
                assert key not in task["data-file"]
                continue
            shown = {
                number: value.hex() if isinstance(value, bytes) else value
                for number, value in stored
                if number in ids
            }
            told = task["data-file"][key]
            assert dict(zip(told["keys"], told["values"], strict=True)) == shown, (row["file_path"], name)


PLANNED = [
    table
    for table in golden_iceberg_tables()
    if any(word in table.name for word in ("dv_v3", "eq_deletes_v2", "part_identity_v2", "planning", "tiny"))
]


@given(st.data())
@settings(max_examples=long_or(60, 2000, 20), deadline=None, suppress_health_check=list(HealthCheck))
def test_however_a_plan_is_divided_its_parts_are_the_whole(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(PLANNED))
    now = table.open()
    line = data.draw(st.sampled_from([line for line in table.rows("plans") if "error" not in line]))
    request = {"snapshot-id": line["snapshot_id"], "use-snapshot-schema": True, "filter": line["filter"]}
    planner = in_parts(
        data.draw(st.integers(1, 12)), data.draw(st.integers(2, 5)), form=data.draw(st.sampled_from(FORMS))
    )
    assert tasks(planner, now, request) == tasks(whole(form=planner.form), now, request)


FORMS = ("term", "operand")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lakebed.Table:
    """One manifest of 40 files, then five of one."""
    made = lakebed.create_table(tmp_path_factory.mktemp("planner") / "t", SCHEMA, "iceberg")
    names = [f"{number:02}" for number in range(40)]
    bounds = {"id": [{"lower_bound": number, "upper_bound": number} for number in range(40)]}
    stats = pa.array([{"id": one} for one in bounds["id"]])
    made = made.append_files(files(*names).append_column("stats", stats), merge=False)
    for number in range(5):
        made = made.append_files(files(f"n{number}"), merge=False)
    return made


def test_files_of_one_manifest_are_divided(table: lakebed.Table) -> None:
    planner = in_parts(10, 3)
    found = answers(planner, table, {})
    sizes = [len(answer["file-scan-tasks"]) for answer in found]
    assert sum(sizes) == 45
    assert len(sizes) == 5
    assert max(sizes) < 20
    first = planner.plan(table, {})
    assert len(first["plan-tasks"]) == 3
    assert "file-scan-tasks" not in first


def test_another_process_answers_the_parts(table: lakebed.Table) -> None:
    token = in_parts().plan(table, {})["plan-tasks"][0]
    opened = lakebed.open_table(table.location)
    # Whatever its own bounds are: the token has those of its planner.
    other = Planner(SECRET, tasks_per_part=7, parts_per_answer=2)
    assert len(other.fetch(opened, {"plan-task": token})["file-scan-tasks"]) <= 10


@given(st.data())
@settings(max_examples=long_or(300, 20_000, 50), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_changed_plan_task_is_none(table: lakebed.Table, data: st.DataObject) -> None:
    # Without a time in it a token is always as long.
    planner = in_parts(10, max_age=None)
    token = planner.plan(table, {})["plan-tasks"][data.draw(st.integers(0, 4))]
    place = data.draw(st.integers(0, len(token) - 1))
    letters = st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ é\0")
    changed = data.draw(
        st.one_of(
            letters.map(lambda letter: token[:place] + letter + token[place + 1 :]),
            letters.map(lambda letter: token[:place] + letter + token[place:]),
            st.just(token[:place]),
            st.just(token + token),
            st.text(),
        ).filter(lambda changed: changed != token)
    )
    with pytest.raises(PlanTaskNotFoundError) as caught:
        planner.fetch(table, {"plan-task": changed})
    assert caught.value.kind == "plan-task"
    with pytest.raises(PlanNotFoundError):
        planner.check_plan_id(table, changed)


def test_plan_tasks_of_others_are_none(
    table: lakebed.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = in_parts().plan(table, {})
    token = answer["plan-tasks"][0]
    another = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    with pytest.raises(PlanTaskNotFoundError, match="none of the table's"):
        in_parts().fetch(another, {"plan-task": token})
    with pytest.raises(PlanNotFoundError, match="none of the table's"):
        in_parts().check_plan_id(another, answer["plan-id"])
    with pytest.raises(PlanTaskNotFoundError, match="none of the table's"):
        Planner(b"another secret of tests").fetch(table, {"plan-task": token})
    with pytest.raises(PlanTaskNotFoundError, match="none of the table's"):
        in_parts().fetch(table, {"plan-task": answer["plan-id"]})
    now = time.time()
    monkeypatch.setattr("lakebed.iceberg.planning.time.time", lambda: now + 86_402)
    with pytest.raises(PlanTaskNotFoundError, match="too old"):
        in_parts().fetch(table, {"plan-task": token})
    monkeypatch.undo()
    forever = in_parts(max_age=None)
    monkeypatch.setattr("lakebed.iceberg.planning.time.time", lambda: now + 1e9)
    assert forever.fetch(table, {"plan-task": forever.plan(table, {})["plan-tasks"][0]})


def test_a_plan_stays_what_it_was_while_the_table_changes(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    for name in "abc":
        made = made.append_files(files(name), merge=False)
    planner = in_parts()
    parts = planner.plan(made, {"filter": {"type": "not-null", "term": "id"}})["plan-tasks"]
    later = made.update_schema(lakebed.SchemaChange.rename_column("id", "key")).append_files(files("d"))
    found = [planner.fetch(later, {"plan-task": part}) for part in parts]
    assert sum(len(one["file-scan-tasks"]) for one in found) == 3
    residuals = {json.dumps(task["residual-filter"]) for one in found for task in one["file-scan-tasks"]}
    assert residuals == {json.dumps({"type": "not-null", "term": "id"})}
    expired = later.expire_snapshots(timedelta(0), retain_last=1).table
    with pytest.raises(PlanTaskNotFoundError, match="is gone: no snapshot"):
        planner.fetch(expired, {"plan-task": parts[0]})


def test_which_schema_names_are_of(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg").append_files(files("a"))
    before = made.snapshot_id
    made = made.update_schema(lakebed.SchemaChange.rename_column("id", "key")).append_files(files("b"))
    old, new = ({"type": "not-null", "term": name} for name in ("id", "key"))
    for request, filter, wrong in (
        ({"snapshot-id": before, "use-snapshot-schema": True}, old, new),
        ({"snapshot-id": before}, new, old),
        ({"use-snapshot-schema": True}, new, old),
        ({}, new, old),
    ):
        assert len(paths(whole(), made, {**request, "filter": filter})) >= 1
        with pytest.raises(PredicateError):
            whole().plan(made, {**request, "filter": wrong})


def test_case_is_ignored_where_that_is_asked_for(table: lakebed.Table) -> None:
    test = {"type": "eq", "term": "ID", "value": 7}
    lax = {"filter": test, "stats-fields": ["NAME", "iD"], "case-sensitive": False, "select": ["nAmE"]}
    (answer,) = answers(whole(), table, lax)
    assert "7.parquet" in " ".join(task["data-file"]["file-path"] for task in answer["file-scan-tasks"])
    assert all(task["residual-filter"] != test for task in answer["file-scan-tasks"])
    with pytest.raises(PredicateError, match="ID"):
        whole().plan(table, {"filter": test})
    with pytest.raises(SchemaError, match="NAME") as caught:
        whole().plan(table, {"stats-fields": ["NAME"]})
    assert caught.value.kind == "unknown-column"


@pytest.mark.parametrize("filter", [True, {"type": "eq", "left": {"type": "reference", "id": 1}, "right": 7}])
def test_filters_are_of_both_forms(table: lakebed.Table, filter: Any) -> None:
    found = paths(whole(), table, {"filter": filter})
    assert len(found) == (45 if filter is True else 6)
    assert tasks(in_parts(), table, {"filter": filter}) == tasks(whole(), table, {"filter": filter})


def test_times_are_numbers_too_as_javas_clients_send_them(tmp_path: Path) -> None:
    times = {
        "d": pa.date32(),
        "t": pa.time64("us"),
        "ts": pa.timestamp("us"),
        "tz": pa.timestamp("us", "UTC"),
    }
    made = lakebed.create_table(tmp_path / "t", pa.schema(list(times.items())), "iceberg")
    for name, number, text in (
        ("d", -1, "1969-12-31"),
        ("t", 86_399_999_999, "23:59:59.999999"),
        ("ts", -1, "1969-12-31T23:59:59.999999"),
        ("tz", 1_704_067_200_000_000, "2024-01-01T00:00:00+00:00"),
    ):
        read = [
            lakebed.iceberg.decode_expression({"type": "lt", "term": name, "value": value}, made)
            for value in (number, text)
        ]
        assert str(read[0]) == str(read[1])
        assert whole().plan(made, {"filter": {"type": "lt", "term": name, "value": number}})
    for name, wrong in (("t", 86_400_000_000), ("t", -1), ("ts", 1.5), ("d", 1 << 62)):
        with pytest.raises(PredicateError):
            whole().plan(made, {"filter": {"type": "lt", "term": name, "value": wrong}})


def test_few_rows_need_few_files(table: lakebed.Table) -> None:
    assert len(paths(whole(), table, {"min-rows-requested": 10})) == 2
    assert len(paths(whole(), table, {"min-rows-requested": 0})) == 0
    # Each part has as many.
    assert len(answers(in_parts(5), table, {"min-rows-requested": 1})) == len(
        paths(in_parts(5), table, {"min-rows-requested": 1})
    )


def test_a_filter_that_no_token_has_is_answered_at_once(table: lakebed.Table) -> None:
    values = [random.Random(number).getrandbits(62) for number in range(2000)]
    request = {"filter": {"type": "not-in", "term": "id", "values": values}}
    answer = in_parts().plan(table, request)
    assert "plan-tasks" not in answer
    assert len(answer["file-scan-tasks"]) == 45
    longer = in_parts(max_token_chars=1 << 20)
    assert len(longer.plan(table, request)["plan-tasks"]) == 45


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ([], "a request is an object"),
        ({"snapshot-id": "1"}, "snapshot-id is a number"),
        ({"snapshot-id": True}, "snapshot-id is a number"),
        ({"snapshot-id": 1 << 63}, "snapshot-id is a number"),
        ({"snapshot-id": 1, "start-snapshot-id": 1, "end-snapshot-id": 2}, "exclude each other"),
        ({"snapshot-id": 1, "end-snapshot-id": 2}, "exclude each other"),
        ({"start-snapshot-id": 1}, "need each other"),
        ({"end-snapshot-id": 1}, "need each other"),
        ({"select": "id"}, "select is a list of names"),
        ({"stats-fields": [1]}, "stats-fields is a list of names"),
        ({"case-sensitive": 1}, "case-sensitive is true or false"),
        ({"use-snapshot-schema": "true"}, "use-snapshot-schema is true or false"),
        ({"min-rows-requested": -1}, "min-rows-requested is a number"),
        ({"filter": {"type": "eq", "term": "id", "value": float("nan")}}, "filter is no expression"),
    ],
)
def test_what_is_no_request_is_refused(table: lakebed.Table, request_: Any, message: str) -> None:
    with pytest.raises(PlanRequestError, match=message) as caught:
        whole().plan(table, request_)
    assert caught.value.kind == "argument"


def test_requests_that_do_not_fit_the_table_are_refused(table: lakebed.Table, tmp_path: Path) -> None:
    for filter in (3, "id = 1", {"type": "eq"}, {"type": "eq", "term": "id", "value": "x"}):
        with pytest.raises(PredicateError):
            whole().plan(table, {"filter": filter})
    with pytest.raises(SnapshotNotFoundError):
        whole().plan(table, {"snapshot-id": 1})
    with pytest.raises(SnapshotNotFoundError):
        whole().plan(table, {"start-snapshot-id": 1, "end-snapshot-id": table.snapshot_id})
    wrong: tuple[Any, ...] = ({}, {"plan-task": 1}, [])
    for request in wrong:
        with pytest.raises(PlanRequestError, match="plan-task"):
            whole().fetch(table, request)
    paimon = lakebed.create_table(tmp_path / "p", SCHEMA, "paimon")
    with pytest.raises(UnsupportedError, match="not those of paimon"):
        whole().plan(paimon, {})


def test_a_table_without_a_snapshot_has_no_tasks(tmp_path: Path) -> None:
    empty = lakebed.create_table(tmp_path / "t", SCHEMA, "iceberg")
    for request in ({}, {"use-snapshot-schema": True}, {"filter": False}):
        answer = in_parts().plan(empty, request)
        assert (answer["file-scan-tasks"], answer["delete-files"]) == ([], [])


def test_planners_are_checked() -> None:
    with pytest.raises(ValueError, match="16 bytes or more"):
        Planner(b"short")
    with pytest.raises(TypeError, match="secret takes bytes"):
        Planner("a secret of texts")  # type: ignore[arg-type]
    for options in ({"tasks_per_part": 0}, {"parts_per_answer": 1}, {"threads": 0}, {"form": "new"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Planner(SECRET, **options)
    assert "secret" not in repr(Planner(SECRET))
