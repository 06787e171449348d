"""`lakebed.col` renders exactly the SQL that `where=` reads. Needs no native module."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import operator
import pickle
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from lakebed.predicates import Predicate, Value, col, to_sql

c = col("c")


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):
    HI = "h'i"


@pytest.mark.parametrize(
    ("predicate", "sql"),
    [
        (c == 1, '"c" = 1'),
        (c != 1, '"c" <> 1'),
        (c < 1, '"c" < 1'),
        (c <= 1, '"c" <= 1'),
        (c > 1, '"c" > 1'),
        (c >= 1, '"c" >= 1'),
        (5 < c, '"c" > 5'),  # noqa: SIM300
        (c.eq_null_safe(None), '"c" <=> NULL'),
        (c.isin([1, None, "x"]), "\"c\" IN (1, NULL, 'x')"),
        (c.isin(value for value in (1, 2)), '"c" IN (1, 2)'),
        (c.isin([]), "FALSE"),
        (~c.isin([]), "NOT (FALSE)"),
        (c.is_null(), '"c" IS NULL'),
        (c.is_not_null(), '"c" IS NOT NULL'),
        (c.is_nan(), 'is_nan("c")'),
        (c.starts_with("a%"), "starts_with(\"c\", 'a%')"),
        (c.like("a%"), "\"c\" LIKE 'a%'"),
        (c.like("a!%", escape="!"), "\"c\" LIKE 'a!%' ESCAPE '!'"),
        (c.between(1, 2), '"c" BETWEEN 1 AND 2'),
        ((c == 1) & (c == 2) & (c == 3), '"c" = 1 AND "c" = 2 AND "c" = 3'),
        ((c == 1) | (c == 2) & (c == 3), '"c" = 1 OR ("c" = 2 AND "c" = 3)'),
        (((c == 1) | (c == 2)) & (c == 3), '("c" = 1 OR "c" = 2) AND "c" = 3'),
        (~((c == 1) | (c == 2)) | c.is_null(), 'NOT ("c" = 1 OR "c" = 2) OR "c" IS NULL'),
        (c.bucket(16) == 3, 'bucket(16, "c") = 3'),
        (c.truncate(2).starts_with("a"), "starts_with(truncate(2, \"c\"), 'a')"),
        (c.day() >= dt.date(2026, 1, 1), "day(\"c\") >= DATE '2026-01-01'"),
        (col("a.ts").hour().isin([1, 2]), 'hour("a.ts") IN (1, 2)'),
        (c.month().is_null() | (c.year() == 1), 'month("c") IS NULL OR year("c") = 1'),
        (col('a "b".c') == 1, '"a ""b"".c" = 1'),
        (c["it's"] == "x", "\"c\"['it''s'] = 'x'"),
        (c["k"].is_null(), "\"c\"['k'] IS NULL"),
    ],
)
def test_every_form_is_rendered(predicate: Predicate, sql: str) -> None:
    assert predicate.sql == sql
    assert to_sql(predicate) == sql
    assert repr(predicate) == f"<Predicate {sql}>"


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (False, "FALSE"),
        (-5, "-5"),
        (10**30, "1" + "0" * 30),
        (Level.LOW, "1"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (float("nan"), "'NaN'"),
        (float("inf"), "'Infinity'"),
        (float("-inf"), "'-Infinity'"),
        (Decimal("-1.50"), "-1.50"),
        (Decimal("1E+3"), "1E+3"),
        ("it's", "'it''s'"),
        ("back\\slash", "'back\\slash'"),
        (Word.HI, "'h''i'"),
        (dt.date(26, 1, 2), "DATE '0026-01-02'"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "TIMESTAMP '2026-01-02 03:04:05'"),
        (
            dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.timezone.utc),
            "TIMESTAMP '2026-01-02 03:04:05.000006+00:00'",
        ),
        (
            dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(seconds=-90))),
            "TIMESTAMP '2026-01-02 03:05:35+00:00'",
        ),
        (dt.time(3, 4), "TIME '03:04:00'"),
        (b"\x00\xff", "X'00ff'"),
        (bytearray(b"a"), "X'61'"),
        (memoryview(b"a"), "X'61'"),
        (UUID(int=1), "UUID '00000000-0000-0000-0000-000000000001'"),
    ],
)
def test_literals_are_rendered_exactly(value: Value, sql: str) -> None:
    assert (c == value).sql == f'"c" = {sql}'


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (object(), TypeError),
        ([1], TypeError),
        (1j, TypeError),
        (c, TypeError),
        (c == 1, TypeError),
        (Decimal("NaN"), ValueError),
        (dt.time(3, tzinfo=dt.timezone.utc), ValueError),
    ],
)
def test_other_values_are_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        c.eq_null_safe(value)


def test_filters_have_no_truth_value() -> None:
    with pytest.raises(TypeError, match="join filters"):
        bool(c == 1)
    with pytest.raises(TypeError, match="between"):
        _ = 1 < c < 5
    with pytest.raises(TypeError, match="compare it"):
        bool(c)


def test_many_terms_do_not_nest() -> None:
    joined = functools.reduce(operator.or_, [c == number for number in range(1000)])
    assert "(" not in joined.sql


def test_filters_are_values() -> None:
    predicate = (c == 1) & c.is_null()
    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert hash(predicate) == hash((c == 1) & c.is_null())
    with pytest.raises(AttributeError):
        predicate.sql = "TRUE"  # type: ignore[misc]


def test_where_takes_text_or_a_predicate() -> None:
    assert to_sql(None) is None
    assert to_sql("dt = 'x'") == "dt = 'x'"
    wrong: list[Any] = [5, c, True]
    for value in wrong:
        with pytest.raises(TypeError):
            to_sql(value)


def test_wrong_use_is_refused() -> None:
    strings: Any = "abc"
    with pytest.raises(TypeError, match="collection"):
        c.isin(strings)
    with pytest.raises(TypeError):
        (c == 1) & strings
    with pytest.raises(TypeError):
        hash(c)
    with pytest.raises(ValueError, match="empty"):
        col("")
