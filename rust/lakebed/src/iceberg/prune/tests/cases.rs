//! The case tables: no answer is wrong, and none is less precise than the original's.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray, new_null_array};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::manifest_list::FieldSummary;
use crate::iceberg::test_values::array;
use crate::iceberg::types::FieldRef;
use crate::predicate::{Logic, Operator};
use crate::scan::ExpressionForm;
use crate::test_data::case_table;

/// A table of cases: each with its schema, its spec and the case sensitivity of names.
pub(super) struct Suite(Value);

pub(super) struct Setting {
    pub(super) schema: Schema,
    spec: PartitionSpec,
    pub(super) partition: PartitionType,
    pub(super) names: Names,
}

impl Suite {
    pub(super) fn new(name: &str) -> Suite {
        Suite(case_table(&format!("iceberg_{name}.json")))
    }

    pub(super) fn cases(&self) -> impl Iterator<Item = (&Value, Setting)> {
        self.0["cases"].as_array().expect("cases").iter().map(|case| (case, self.setting(case)))
    }

    pub(super) fn shared<'s>(&'s self, case: &'s Value, key: &str, section: &str) -> &'s Value {
        let name = &case[key];
        name.as_str().map_or(name, |name| &self.0[section][name])
    }

    fn setting(&self, case: &Value) -> Setting {
        let schema = Schema::from_json(self.shared(case, "schema", "schemas")).expect("a schema");
        let spec = match self.shared(case, "spec", "specs") {
            Value::Null => PartitionSpec { spec_id: 0, fields: Vec::new() },
            spec => PartitionSpec::from_json(spec).expect("a spec"),
        };
        let partition = PartitionType::unify(std::slice::from_ref(&spec), &[&schema]);
        let exact = case["case_sensitive"].as_bool().unwrap_or(true);
        Setting { schema, spec, partition, names: if exact { Names::Exact } else { Names::AnyCase } }
    }
}

/// Binds the filter of a case. An error is returned as whether the case expects it.
fn bound(case: &Value, setting: &Setting) -> Result<RowFilter, bool> {
    bind(&case["filter"], &setting.schema, &setting.partition, setting.names).map_err(|error| {
        assert!(matches!(error.kind(), ErrorKind::Predicate | ErrorKind::FilterColumn), "{case}: {error}");
        case["expect"] == json!({"error": error.kind().name()})
    })
}

/// Runs a suite whose answers are yes or no.
///
/// For filters on floats above a value the engine ignores that there may be NaN, which is larger than any other
/// value: here files that may hold NaN are kept, and not all of their rows are certain to match.
fn yes_or_no(name: &str, answer: impl Fn(&Suite, &Value, &Setting, &RowFilter) -> bool) {
    let suite = Suite::new(name);
    let mut differ = Vec::new();
    for (case, setting) in suite.cases() {
        let found = match bound(case, &setting) {
            Ok(filter) => json!(answer(&suite, case, &setting, &filter)),
            Err(expected) => {
                assert!(expected, "{case}");
                continue;
            }
        };
        // Files whose NaN are not counted may hold some.
        let is_nans = name != "row" && found == json!(name != "strict_metrics");
        if is_nans && is_of_floats_above(&setting, &case["filter"]) {
            continue;
        }
        let also_valid = case["also_valid"].as_array().is_some_and(|valid| valid.contains(&found));
        if found != case["expect"] && !also_valid {
            let kind = if found == suite.0["safe_answer"] { "imprecise" } else { "wrong" };
            differ.push(format!("{kind}: {case}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Whether a filter compares a column of floats with a value by `>` or `>=`.
fn is_of_floats_above(setting: &Setting, filter: &Value) -> bool {
    let filter = bind(filter, &setting.schema, &setting.partition, setting.names).expect("a filter");
    let mut is = false;
    filter.predicate.node.for_each_leaf(&mut |leaf| {
        is |= leaf.column.data_type.is_floating() && matches!(leaf.operator, Operator::Gt | Operator::GtEq);
    });
    is
}

#[test]
fn inclusive_metrics() {
    yes_or_no("inclusive_metrics", |suite, case, _, filter| {
        let file = entry(suite.shared(case, "file", "files"));
        MetricsEvaluator::new(filter).may_match(&file).expect("an answer").value(0)
    });
}

#[test]
fn strict_metrics() {
    yes_or_no("strict_metrics", |suite, case, _, filter| {
        let file = entry(suite.shared(case, "file", "files"));
        MetricsEvaluator::new(filter).must_match(&file).expect("an answer").value(0)
    });
}

#[test]
fn manifest_summaries() {
    let bytes = |bound: &Value| bound.as_str().map(|hex| parse_hex(hex).expect("hex"));
    let summary = |json: &Value| FieldSummary {
        contains_null: json["contains_null"].as_bool().unwrap_or(true),
        contains_nan: json["contains_nan"].as_bool(),
        lower_bound: bytes(&json["lower_bound"]),
        upper_bound: bytes(&json["upper_bound"]),
    };
    yes_or_no("manifest", |suite, case, setting, filter| {
        let manifest = suite.shared(case, "manifest", "manifests");
        let partitions = manifest["partitions"].as_array();
        let manifest = ManifestFile {
            partitions: partitions.map(|summaries| summaries.iter().map(summary).collect()),
            spec_id: setting.spec.spec_id,
            ..ManifestFile::default()
        };
        let specs = std::slice::from_ref(&setting.spec);
        let summaries = Summaries::new(std::slice::from_ref(&manifest), specs, &setting.partition);
        let projection = project(filter, &setting.spec, &setting.partition, Mode::Inclusive).expect("one");
        summaries.may_match(&projection).expect("an answer").value(0)
    });
}

#[test]
fn rows() {
    yes_or_no("row", |_, case, setting, filter| {
        let columns: Vec<ArrayRef> = filter
            .terms
            .iter()
            .map(|term| match &term.source {
                bind::ColumnSource::Column(field, _) => {
                    let value = cell(&setting.schema.fields, &case["row"], field.id).expect("a place");
                    match value {
                        Value::Null => new_null_array(&field.ty.arrow(), 1),
                        value => array(&field.ty, &value),
                    }
                }
                bind::ColumnSource::Partition(_) => panic!("rows have no partition"),
            })
            .collect();
        filter.predicate.evaluate(&columns, 1).expect("an answer").value(0)
    });
}

/// The value of a field in a row, whose structs are arrays; values missing at the end are null.
fn cell(fields: &[FieldRef], row: &Value, id: i32) -> Option<Value> {
    fields.iter().enumerate().find_map(|(place, field)| {
        let value = row.get(place).cloned().unwrap_or_default();
        if field.id == id { Some(value) } else { cell(children(field), &value, id) }
    })
}

fn children(field: &FieldRef) -> &[FieldRef] {
    match &field.ty {
        crate::iceberg::types::Type::Struct(fields) => fields,
        _ => &[],
    }
}

#[test]
fn projections() {
    let suite = Suite::new("projection");
    let mut differ = Vec::new();
    for (case, setting) in suite.cases() {
        let mode = match case["mode"].as_str() {
            Some("inclusive") => Mode::Inclusive,
            Some("strict") => Mode::Strict,
            other => panic!("unknown mode {other:?}"),
        };
        let filter = match bound(case, &setting) {
            Ok(filter) => filter,
            Err(expected) => {
                assert!(expected, "{case}");
                continue;
            }
        };
        let found = project(&filter, &setting.spec, &setting.partition, mode).expect("a projection");
        // The expected expression is one on a table whose columns are the partition fields.
        let column = |(place, unified): (usize, &crate::iceberg::partition::UnifiedField)| {
            let (id, name) = (i32::try_from(place).expect("32 bits"), unified.field.name.clone());
            Arc::new(crate::iceberg::types::NestedField::new(id, name, false, unified.ty.clone()))
        };
        let columns = setting.partition.fields.iter().enumerate().map(column).collect();
        let tuples = Schema::new(0, columns, Vec::new()).expect("a schema");
        let none = PartitionType { fields: Vec::new() };
        let expected = bind(&case["expect"], &tuples, &none, Names::Exact).expect("an expectation");
        let spelled_out = spelled(&found.node);
        let engines = [&expected.predicate.node, &lowered(&expected.predicate.node)].map(spelled);
        // The engine's projections ignore that it writes times before 1970 one period too low.
        if spelled_out != engines[0] && !(is_of_times(&setting) && spelled_out == engines[1]) {
            let (found, expected) = (spelled_out, &engines[0]);
            differ.push(format!("{found}, not {expected}: {case}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Whether a spec has periods of timestamps.
fn is_of_times(setting: &Setting) -> bool {
    use crate::iceberg::transform::Transform::{Day, Hour, Month, Year};
    let is_timestamp =
        |id| {
            setting.schema.fields.iter().any(|field| {
                field.id == id && matches!(field.ty.arrow(), arrow_schema::DataType::Timestamp(..))
            })
        };
    setting.spec.fields.iter().all(|field| {
        matches!(field.transform, Year | Month | Day | Hour)
            && field.source_ids.iter().all(|id| is_timestamp(*id))
    })
}

/// The expectation with values before 1970 one period lower.
fn lowered(node: &Node) -> Node {
    let lower = |leaf: &BoundLeaf| {
        let values = leaf.operands.values.iter().map(|value| match value {
            crate::predicate::Value::Int(period @ ..0) => crate::predicate::Value::Int(period - 1),
            other => other.clone(),
        });
        Ok(Node::Leaf(match leaf.operator {
            Operator::Lt | Operator::GtEq => leaf.with(leaf.operator, leaf.column.clone(), values.collect()),
            _ => leaf.clone(),
        }))
    };
    node.map_leaves(&mut { lower }).expect("the same leaves")
}

#[test]
fn residuals() {
    let suite = Suite::new("residual");
    let mut differ = Vec::new();
    for (case, setting) in suite.cases() {
        let Ok(filter) = bound(case, &setting) else {
            // Without partitions the engine does not bind the filter, and returns it as it is.
            assert!(setting.spec.is_unpartitioned() && case["expect"] == case["filter"], "{case}");
            continue;
        };
        let filter = Arc::new(filter);
        let values = setting.partition.fields.iter().zip(case["partition"].as_array().expect("a tuple"));
        let values = values.map(|(unified, value)| match value {
            Value::Null => new_null_array(&unified.ty.arrow(), 1),
            value => array(&unified.ty, value),
        });
        let fields = setting.partition.arrow_fields();
        let tuple = StructArray::try_new_with_length(fields, values.collect(), None, 1).expect("a tuple");
        let residual = Residual::new(filter, &setting.spec, &setting.partition).expect("a residual");
        let found = residual.texts(&tuple).expect("texts");
        let found = found.iter().flatten().next().unwrap_or("TRUE").to_owned();
        let expected = bind(&case["expect"], &setting.schema, &setting.partition, setting.names);
        let expected = expected.expect("an expectation").predicate.node.written().to_string();
        if found.to_lowercase() != expected.to_lowercase() {
            differ.push(format!("{found}, not {expected}: {case}"));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Whatever a batch holds, each of its tuples has its own answer.
#[test]
fn residuals_of_a_batch() {
    let schema = json!({"type": "struct", "fields": [
        {"id": 1, "name": "a", "required": false, "type": "int"},
        {"id": 2, "name": "b", "required": false, "type": "int"}]});
    let schema = Schema::from_json(&schema).expect("a schema");
    let spec = json!({"spec-id": 0, "fields": [
        {"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"}]});
    let spec = PartitionSpec::from_json(&spec).expect("a spec");
    let partition = PartitionType::unify(std::slice::from_ref(&spec), &[&schema]);
    let predicate = Predicate::parse("a < 3 AND b = 1 OR a = 7").expect("a filter");
    let filter =
        RowFilter::new(&predicate, &schema, &partition, Names::Exact, Logic::TwoValued).expect("a filter");
    let values: ArrayRef =
        Arc::new(arrow_array::Int32Array::from(vec![Some(1), Some(7), Some(3), None, Some(2)]));
    let tuples = StructArray::try_new(partition.arrow_fields(), vec![values], None).expect("tuples");
    let residual = Residual::new(Arc::new(filter), &spec, &partition).expect("a residual");
    let texts = residual.texts(&tuples).expect("texts");
    let left = Some("\"b\" = 1");
    assert_eq!(texts.iter().collect::<Vec<_>>(), [left, None, Some("FALSE"), Some("FALSE"), left]);
    assert_eq!(tuples.column(0).as_primitive::<arrow_array::types::Int32Type>().len(), 5);
}

/// The expression of a filter, bound again, is the same filter.
#[test]
fn expressions_bind_to_the_same_filter() {
    let (mut expressed, mut unsupported) = (0, 0);
    for name in ["inclusive_metrics", "strict_metrics", "row", "projection", "residual"] {
        for (case, setting) in Suite::new(name).cases() {
            if setting.names == Names::AnyCase {
                // A column that is spelled in two ways is bound as two columns.
                continue;
            }
            let Ok(filter) = bound(case, &setting) else { continue };
            match filter.expression(&setting.schema, ExpressionForm::Term) {
                Ok(expression) => {
                    let operands = filter.expression(&setting.schema, ExpressionForm::Operand);
                    for expression in [expression, operands.expect("the other form")] {
                        let again = bind(&expression, &setting.schema, &setting.partition, Names::Exact);
                        let [found, expected] = [&again.expect("a filter"), &filter];
                        assert_eq!(
                            spelled(&found.predicate.node),
                            spelled(&expected.predicate.node),
                            "{case}"
                        );
                    }
                    expressed += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{case}");
                    // JSON does not have these floats.
                    assert!(case["filter"].to_string().contains("NaN"), "{case}");
                    unsupported += 1;
                }
            }
        }
    }
    assert!(
        expressed > 500 && unsupported * 20 < expressed,
        "{expressed} expressions, {unsupported} not supported"
    );
}

#[test]
fn words_of_sql_have_expressions_or_are_refused() {
    let schema = Schema::parse(
        br#"{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": false, "type": "long"},
            {"id": 2, "name": "s", "required": false, "type": "string"},
            {"id": 3, "name": "day", "required": true, "type": "date"},
            {"id": 4, "name": "price", "required": false, "type": "decimal(9, 2)"},
            {"id": 5, "name": "f", "required": false, "type": "float"}]}"#,
    )
    .expect("a schema");
    let partition = PartitionType::unify(&[], &[&schema]);
    let expression = |sql: &str| {
        let predicate = crate::predicate::Predicate::parse(sql).expect("a filter");
        RowFilter::new(&predicate, &schema, &partition, Names::Exact, Logic::TwoValued)
            .expect("a filter")
            .expression(&schema, ExpressionForm::Term)
    };
    let one = |kind: &str, term: &str, value: Value| json!({"type": kind, "term": term, "value": value});
    let two = |kind: &str, left: Value, right: Value| json!({"type": kind, "left": left, "right": right});
    let is = |sql: &str, expected: Value| assert_eq!(expression(sql).expect(sql), expected, "{sql}");
    is("TRUE", json!(true));
    is("day IS NULL", json!(false));
    is("id BETWEEN 1 AND 2", two("and", one("gt-eq", "id", json!(1)), one("lt-eq", "id", json!(2))));
    is("id NOT BETWEEN 1 AND 2", two("or", one("lt", "id", json!(1)), one("gt", "id", json!(2))));
    is("id <=> NULL", json!({"type": "is-null", "term": "id"}));
    is("id <=> 1", one("eq", "id", json!(1)));
    is("s LIKE 'a%'", one("starts-with", "s", json!("a")));
    is("s NOT LIKE 'a%'", one("not-starts-with", "s", json!("a")));
    is("day >= '2026-01-02'", one("gt-eq", "day", json!("2026-01-02")));
    is("price = 1.5", one("eq", "price", json!("1.50")));
    is("f < 0.1", one("lt", "f", json!(0.1)));
    is("id IN (2, 1)", json!({"type": "in", "term": "id", "values": [1, 2]}));
    let bucket = json!({"type": "transform", "transform": "bucket[16]", "term": "id"});
    is("bucket(16, id) = 3", json!({"type": "eq", "term": bucket, "value": 3}));
    let [a, b, c] = ["a", "b", "c"].map(|text| one("eq", "s", json!(text)));
    is("s = 'a' OR s = 'b' OR s = 'c'", two("or", a, two("or", b, c)));
    for sql in ["s LIKE '%a'", "s NOT LIKE 'a_'", "f = 'NaN'", "id = 1 AND s LIKE 'a'"] {
        assert_eq!(expression(sql).expect_err(sql).kind(), ErrorKind::Unsupported, "{sql}");
    }
}
