"""Expressions in Iceberg's JSON: what Java reads of lakebed's, and what lakebed makes of Java's and of the
form that Iceberg 1.12 does not have yet.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_commits import metadata
from java_engine import JavaEngine, each_iceberg_release
from trust import long_or

import lakebed
from iceberg_golden import golden
from lakebed import iceberg
from lakebed.errors import PredicateError, UnsupportedError
from lakebed.predicates import ExpressionForm

Json = Any

TYPES: dict[str, Any] = {
    "id": "long",
    "n": "int",
    "yes": "boolean",
    "s": "string",
    "city": "string",
    "d": "date",
    "t": "time",
    "ts": "timestamp",
    "tz": "timestamptz",
    "dec": "decimal(9, 2)",
    "u": "uuid",
    "b": "binary",
    "fx": "fixed[2]",
    "f": "double",
    "g": "float",
    "st.x": "int",
}
VALUES: dict[str, list[Json]] = {
    "long": [0, -5, 2**40, 2**63 - 1],
    "int": [0, -5, 2**31 - 1],
    "boolean": [True, False],
    "string": ["", "a", "it's", 'ü"\\', "01FF"],
    "date": ["2024-01-31", "1969-12-31", "0001-01-01"],
    "time": ["00:00:00", "23:59:59.999999"],
    "timestamp": ["2024-01-31T12:00:00", "1969-12-31T23:59:59.999999"],
    "timestamptz": ["2024-01-31T12:00:00+00:00", "1969-12-31T23:59:59.999999+00:00"],
    "decimal(9, 2)": ["1.50", "-9999999.99", "0.00"],
    "uuid": ["f79c3e09-677c-4bbd-a479-3f349cb785e7", "00000000-0000-0000-0000-000000000001"],
    "binary": ["", "01FF", "ab"],
    "fixed[2]": ["01FF", "0000"],
    "double": [0.0, -1.5, 1e300, 0.1],
    "float": [0.0, -1.5, 0.25],
}
TRANSFORMS: dict[str, tuple[list[str], list[Json]]] = {
    "bucket[16]": (["id", "n", "s", "d", "ts", "dec", "u", "b", "fx"], [0, 15]),
    "truncate[2]": (["s"], ["", "ab"]),
    "year": (["d", "ts", "tz"], [54, -1]),
    "month": (["d", "ts"], [648]),
    "day": (["d", "tz"], ["2024-01-31", "1969-12-31"]),
    "hour": (["ts"], [473_000]),
}
ORDERS = {"lt": "gt", "lt-eq": "gt-eq", "gt": "lt", "gt-eq": "lt-eq", "eq": "eq", "not-eq": "not-eq"}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lakebed.Table:
    struct = {"type": "struct", "fields": [{"id": 20, "name": "x", "required": False, "type": "int"}]}
    fields = [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(TYPES.items(), 1)
        if "." not in name
    ]
    fields.append({"id": 19, "name": "st", "required": False, "type": struct})
    folder = tmp_path_factory.mktemp("expressions") / "t"
    lakebed.create_table(folder, pa.schema([("id", pa.int64())]), "iceberg")
    file = next((folder / "metadata").glob("*.json"))
    document = json.loads(file.read_text())
    document["schemas"][0]["fields"] = fields
    file.write_text(json.dumps(document))
    return lakebed.open_table(folder)


def as_reference(name: str) -> Json:
    return {"type": "reference", "term": name}


class Maker:
    """Random expressions, of a term."""

    def __init__(self, seed: int, depth: int) -> None:
        self.random, self.depth = random.Random(seed), depth

    def expression(self, depth: int | None = None) -> Json:
        left = self.depth if depth is None else depth
        kind = self.random.choice(["and", "or", "not", "test"]) if left else "test"
        if kind == "test":
            return self.test()
        if kind == "not":
            return {"type": "not", "child": self.expression(left - 1)}
        return {"type": kind, "left": self.expression(left - 1), "right": self.expression(left - 1)}

    def test(self) -> Json:
        term, values, kinds = self.term()
        kind = self.random.choice(kinds)
        if kind in ("in", "not-in"):
            some = self.random.sample(values, self.random.randint(1, len(values)))
            return {"type": kind, "term": term, "values": some}
        if kind in ("is-null", "not-null", "is-nan", "not-nan"):
            return {"type": kind, "term": term}
        return {"type": kind, "term": term, "value": self.random.choice(values)}

    def term(self) -> tuple[Json, list[Json], list[str]]:
        kinds = [*ORDERS, "in", "not-in", "is-null", "not-null"]
        if self.random.random() < 0.3:
            transform, (columns, values) = self.random.choice(list(TRANSFORMS.items()))
            term: Json = {"type": "transform", "transform": transform, "term": self.random.choice(columns)}
            return term, values, kinds
        name, kind = self.random.choice(list(TYPES.items()))
        if kind == "string":
            kinds += ["starts-with", "not-starts-with"] * 2
        if kind in ("double", "float"):
            kinds += ["is-nan", "not-nan"] * 2
        term = self.random.choice([name, as_reference(name)])
        return term, VALUES[kind], ["eq", "not-eq", "in", "is-null"] if kind == "boolean" else kinds

    def operands(self, expression: Json, ids: dict[str, int]) -> Json:
        """The same expression, its tests of operands now and then."""
        if "term" not in expression:
            return {
                key: self.operands(value, ids) if isinstance(value, dict) else value
                for key, value in expression.items()
            }
        if self.random.random() < 0.2:
            return expression
        kind, operand = expression["type"], self.operand(expression["term"], ids)
        if "values" in expression:
            return {
                "type": kind,
                "child": operand,
                "values": [self.literal(one) for one in expression["values"]],
            }
        if "value" not in expression:
            return {"type": kind, "child": operand}
        value = self.literal(expression["value"])
        if kind in ORDERS and self.random.random() < 0.3:
            return {"type": ORDERS[kind], "left": value, "right": operand}
        return {"type": kind, "left": operand, "right": value}

    def operand(self, term: Json, ids: dict[str, int]) -> Json:
        if isinstance(term, str):
            by_id = {"type": "reference", "id": ids[term]}
            return self.random.choice([by_id, {"type": "reference", "name": term}])
        if term["type"] == "reference":
            return self.operand(term["term"], ids)
        name, _, number = term["transform"].rstrip("]").partition("[")
        whole = {"catalog": "iceberg_functions", "identifier": [name]}
        function = self.random.choice([name, [name], {"identifier": [name]}, whole])
        arguments = [*([int(number)] if number else []), self.operand(term["term"], ids)]
        return {"type": "apply", "function": function, "arguments": arguments}

    def literal(self, value: Json) -> Json:
        return self.random.choice([value, {"type": "literal", "value": value}])


def normal(expression: Json) -> Json:
    """The same for expressions that differ only in the order and the nesting of their terms and values."""
    if isinstance(expression, bool):
        return expression
    kind = expression["type"]
    if kind in ("and", "or"):
        terms: set[str] = set()
        for side in (normal(expression["left"]), normal(expression["right"])):
            same = not isinstance(side, bool) and side["type"] == kind
            terms |= set(side["terms"]) if same else {json.dumps(side, sort_keys=True)}
        return {"type": kind, "terms": sorted(terms)} if len(terms) > 1 else json.loads(terms.pop())
    if "values" in expression:
        values = sorted({json.dumps(value) for value in expression["values"]})
        if len(values) == 1:
            one = {"type": {"in": "eq", "not-in": "not-eq"}[kind], "value": json.loads(values[0])}
            return {"term": expression["term"], **one}
        return {**expression, "values": values}
    return expression


def ids_of(table: lakebed.Table) -> dict[str, int]:
    fields = metadata(table)["schemas"][0]["fields"]
    return {**{field["name"]: field["id"] for field in fields}, "st.x": 20}


def orders_are_negated(expression: Json, negated: bool = False) -> bool:
    """Whether `not` is around a test that orders values, of which the forms differ for null."""
    if isinstance(expression, bool):
        return False
    kind = expression["type"]
    if kind in ("not", "and", "or"):
        sides = [expression[key] for key in ("child", "left", "right") if key in expression]
        return any(orders_are_negated(side, negated != (kind == "not")) for side in sides)
    return negated and kind in ("lt", "lt-eq", "gt", "gt-eq")


@pytest.mark.jvm
@each_iceberg_release
def test_java_reads_what_lakebed_writes_of_random_expressions(table: lakebed.Table, iceberg_java: JavaEngine):
    schema = metadata(table)["schemas"][0]
    given = [Maker(seed, seed % 4).expression() for seed in range(long_or(400, 20_000))]
    written = [iceberg.encode_expression(iceberg.decode_expression(one, table), table) for one in given]
    asked = {"expressions": [*given, *written], "schema": schema}
    read = iceberg_java.ask("expressions", **asked)
    for one, own, theirs, again in zip(given, written, read[: len(given)], read[len(given) :], strict=True):
        assert normal(again) == normal(theirs), (one, own)


@pytest.mark.jvm
@each_iceberg_release
def test_java_reads_no_operands_yet(table: lakebed.Table, iceberg_java: JavaEngine):
    given = [one for seed in range(50) if "term" in (one := Maker(seed, 0).expression())]
    written = [
        iceberg.encode_expression(iceberg.decode_expression(one, table), table, form="operand")
        for one in given
    ]
    tests = [one for one in written if isinstance(one, dict) and one["type"] not in ("and", "or")]
    answers = iceberg_java.ask("expressions", expressions=tests)
    assert len(answers) > 20
    assert all("Cannot parse missing field: term" in answer["error"] for answer in answers)


@pytest.mark.jvm
@each_iceberg_release
def test_infinite_numbers_are_read_and_not_written(table: lakebed.Table, iceberg_java: JavaEngine):
    schema = metadata(table)["schemas"][0]
    given = [{"type": kind, "term": "f", "value": "-Infinity"} for kind in ("gt", "eq")]
    for answer in iceberg_java.ask("expressions", expressions=given, schema=schema):
        assert "Cannot parse" in answer["error"]
    for one in given:
        where = iceberg.decode_expression(one, table)
        assert table.plan(where=where).schema
        with pytest.raises(UnsupportedError, match="has no expression for"):
            iceberg.encode_expression(where, table)


def test_both_forms_are_the_same_filter(table: lakebed.Table):
    ids = ids_of(table)
    for seed in range(long_or(400, 20_000)):
        maker = Maker(seed, seed % 4)
        given = maker.expression()
        if orders_are_negated(given):
            continue
        filter_ = iceberg.decode_expression(given, table)
        assert iceberg.decode_expression(maker.operands(given, ids), table) == filter_, given
        forms: list[ExpressionForm] = ["term", "operand"]
        encoded = [iceberg.encode_expression(filter_, table, form=form) for form in forms]
        decoded = {iceberg.decode_expression(json.dumps(one), table).sql for one in encoded}
        assert len(decoded) == 1, given
        assert '"term"' not in json.dumps(encoded[1])


def test_what_java_reads_is_read_and_what_it_refuses_refused(table: lakebed.Table):
    with gzip.open(golden("vectors").path / "expressions.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    for row in (row for row in rows if row["way"].startswith("write")):
        # What Java writes of a filter that it has bound.
        assert iceberg.decode_expression(json.dumps(row["json"]), table).sql
    rows = [row for row in rows if row["way"] == "parse with schema"]
    assert len(rows) > 30
    for row in rows:
        text = json.dumps(row["json"])
        if "error" not in row:
            found = iceberg.decode_expression(text, table)
            assert iceberg.decode_expression(json.dumps(row["again"]), table) == found
            assert table.plan(where=found).schema
        elif "left" in text or "child" in text or '"name"' in text:
            # What Java does not read yet.
            assert table.plan(where=iceberg.decode_expression(text, table)).schema
        else:
            with pytest.raises(PredicateError):
                table.plan(where=iceberg.decode_expression(text, table))


REFERENCE = {"type": "reference", "name": "id"}
COMPARED = {"type": "eq", "left": REFERENCE, "right": 1}


def applied(function: Json, *arguments: Json) -> Json:
    return {**COMPARED, "left": {"type": "apply", "function": function, "arguments": list(arguments)}}


REFUSED: list[tuple[Json, type[Exception], str]] = [
    ("", PredicateError, "EOF"),
    ("[1]", PredicateError, "not a JSON object"),
    ({"type": "like", "term": "s", "value": "a"}, PredicateError, "no expression of type"),
    ({"type": "eq", "term": "b", "value": "0"}, PredicateError, "hexadecimal"),
    ({"type": "eq", "term": "f", "value": "NaN"}, PredicateError, "is-nan tests for it"),
    ({**COMPARED, "right": None}, PredicateError, "has no `right`"),
    ({"type": "in", "term": "id", "values": [None]}, PredicateError, "is-null tests for it"),
    ({**COMPARED, "right": [1]}, PredicateError, "no constant"),
    ({**COMPARED, "right": REFERENCE}, UnsupportedError, "a column with a constant"),
    ({**COMPARED, "left": 2}, UnsupportedError, "a column with a constant"),
    ({**COMPARED, "type": "starts-with", "left": "a", "right": REFERENCE}, UnsupportedError, "constant"),
    ({"type": "is-null", "child": 1}, UnsupportedError, "a test of a constant"),
    ({"type": "is-null", "child": REFERENCE, "value": 1}, PredicateError, "has no value"),
    ({**COMPARED, "left": {"type": "reference", "id": 99}}, PredicateError, "no column has the id 99"),
    (applied("upper", REFERENCE), UnsupportedError, "upper"),
    (
        applied({"catalog": "sql_functions", "identifier": ["year"]}, REFERENCE),
        UnsupportedError,
        "transforms are",
    ),
    (applied(["a", "year"], REFERENCE), UnsupportedError, "transforms are"),
    (applied("bucket", 0, REFERENCE), PredicateError, "no transform"),
    (applied("year", applied("year", REFERENCE)["left"]), UnsupportedError, "a transform of a transform"),
    ({**COMPARED, "right": {"type": "literal", "value": 1, "data-type": "now"}}, PredicateError, "now"),
]


@pytest.mark.parametrize(("expression", "raised", "words"), REFUSED)
def test_what_is_no_expression_is_refused(
    expression: Json, raised: type[Exception], words: str, table: lakebed.Table
):
    with pytest.raises(raised, match=words):
        iceberg.decode_expression(expression, table)


def test_deep_expressions_are_read_or_refused(table: lakebed.Table):
    """Clients join many conditions one by one."""
    text = json.dumps(COMPARED)
    for _ in range(200):
        text = f'{{"type":"or","left":{text},"right":{{"type":"is-null","term":"s"}}}}'
    assert table.plan(where=iceberg.decode_expression(text, table)).schema
    for _ in range(10_000):
        text = f'{{"type":"not","child":{text}}}'
    with pytest.raises(PredicateError, match="nests deeper"):
        iceberg.decode_expression(text, table)


def test_negated_orders_of_operands_match_null_and_nan(table: lakebed.Table):
    def negated(term: Json) -> str:
        return iceberg.decode_expression({"type": "not", "child": term}, table).sql

    assert negated({"type": "lt", "term": "f", "value": 1}) == '("f" >= 1)'
    of_f = {"type": "lt", "left": {"type": "reference", "name": "f"}, "right": 1}
    assert negated(of_f) == '("f" >= 1 OR "f" IS NULL OR is_nan("f"))'
    assert negated({**COMPARED, "type": "gt", "left": 5, "right": REFERENCE}) == '("id" >= 5 OR "id" IS NULL)'
    assert negated(COMPARED) == '("id" <> 1)'
    assert negated({"type": "in", "term": "id", "values": []}) == "(TRUE)"


def test_names_in_any_case(table: lakebed.Table):
    expression = {"type": "eq", "term": "CITY", "value": "a"}
    assert iceberg.decode_expression(expression, table).sql == "(\"CITY\" = 'a')"
    assert iceberg.decode_expression(expression, table, case_sensitive=False).sql == "(\"city\" = 'a')"


def test_residuals_are_of_the_form_that_is_asked_for(tmp_path: Path):
    made = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    made = made.append_files(
        pa.table({"file_path": ["data/a.parquet"], "record_count": [1], "file_size_in_bytes": [1]})
    )
    plan = made.plan(where="id = 1")
    (term,) = plan.to_rest()["file-scan-tasks"]
    (operands,) = plan.to_rest(form="operand")["file-scan-tasks"]
    assert term["residual-filter"] == {"type": "eq", "term": "id", "value": 1}
    assert operands["residual-filter"] == COMPARED
    with pytest.raises(ValueError, match='form is "term" or "operand"'):
        plan.to_rest(form="new")  # type: ignore[arg-type]
