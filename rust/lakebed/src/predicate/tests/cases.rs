//! Case tables beside the project: `$LAKEBED_SHARED/data/cases/paimon_{like,predicate_*}.json`.

use std::path::PathBuf;

use serde_json::Value;

use super::super::Operator;
use super::super::like::LikePattern;
use super::*;

/// The cases of a suite; none, with a message, where the folder is absent.
pub(crate) fn cases(suite: &str) -> Vec<Value> {
    let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into();
    let root = PathBuf::from(std::env::var_os("LAKEBED_SHARED").unwrap_or_else(beside));
    let folder = root.join("data/cases");
    if !folder.is_dir() {
        eprintln!("skipped: no case tables in {}", folder.display());
        return Vec::new();
    }
    let text = std::fs::read_to_string(folder.join(format!("{suite}.json"))).unwrap();
    let mut envelope: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(envelope["format"], "lakebed-cases/1");
    let cases: Vec<Value> = serde_json::from_value(envelope["cases"].take()).unwrap();
    assert!(!cases.is_empty());
    cases
}

/// Columns by number: name and Paimon type of each field a predicate refers to.
pub(crate) type Columns = Vec<Option<(String, String)>>;

/// A predicate in the JSON form of Paimon's REST catalogue.
pub(crate) fn predicate(json: &Value, columns: &mut Columns) -> Predicate {
    let function = json["function"].as_str().unwrap();
    if json["kind"] == "COMPOUND" {
        let children = json["children"].as_array().unwrap();
        let terms = children.iter().map(|child| predicate(child, columns)).collect();
        return match function {
            "AND" => Predicate::and(terms),
            "OR" => Predicate::or(terms),
            other => panic!("unknown function {other}"),
        };
    }
    let operator = match function {
        "TRUE" | "FALSE" => return Predicate::Constant(function == "TRUE"),
        "EQUAL" => Operator::Eq,
        "NOT_EQUAL" => Operator::NotEq,
        "LESS_THAN" => Operator::Lt,
        "LESS_OR_EQUAL" => Operator::LtEq,
        "GREATER_THAN" => Operator::Gt,
        "GREATER_OR_EQUAL" => Operator::GtEq,
        "IN" => Operator::In,
        "NOT_IN" => Operator::NotIn,
        "IS_NULL" => Operator::IsNull,
        "IS_NOT_NULL" => Operator::IsNotNull,
        "IS_NAN" => Operator::IsNan,
        "BETWEEN" => Operator::Between,
        "NOT_BETWEEN" => Operator::NotBetween,
        "STARTS_WITH" => Operator::StartsWith,
        "LIKE" | "ENDS_WITH" | "CONTAINS" => Operator::Like,
        other => panic!("unknown function {other}"),
    };
    let field = &json["transform"]["fieldRef"];
    let text = |key: &str| field[key].as_str().unwrap().to_owned();
    let index = field["index"].as_u64().unwrap() as usize;
    columns.resize(columns.len().max(index + 1), None);
    columns[index] = Some((text("name"), text("type")));
    let literals = json["literals"].as_array().unwrap();
    let literals = literals.iter().map(|value| literal(value, &text("type"), function)).collect();
    Predicate::leaf(text("name"), operator, literals)
}

fn literal(value: &Value, paimon_type: &str, function: &str) -> Literal {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    match value {
        Value::Null => Literal::Null,
        Value::Bool(value) => Literal::Boolean(*value),
        Value::Number(number) => Literal::Number(number.to_string()),
        Value::String(text) => match function {
            "ENDS_WITH" => Literal::String(format!("%{}", escaped(text))),
            "CONTAINS" => Literal::String(format!("%{}%", escaped(text))),
            _ if paimon_type == "BYTES" => match parse(&format!("c = X'{text}'")) {
                Predicate::Leaf(mut leaf) => leaf.literals.remove(0),
                other => panic!("{other}"),
            },
            _ => Literal::String(text.clone()),
        },
        other => panic!("unknown literal {other}"),
    }
}

/// One value as an array, parsed as the binder parses literals.
fn one(value: &Value, paimon_type: &str) -> ArrayRef {
    let float = || value.as_f64().or_else(|| value.as_str()?.parse().ok());
    let known = |found: bool| assert!(found || value.is_null(), "{value} of {paimon_type}");
    match paimon_type.split('(').next().unwrap() {
        "INT" => {
            known(value.is_i64());
            array::<Int32Array, _>(vec![value.as_i64().map(|value| i32::try_from(value).unwrap())])
        }
        "BIGINT" => {
            known(value.is_i64());
            array::<Int64Array, _>(vec![value.as_i64()])
        }
        "DOUBLE" => {
            known(float().is_some());
            array::<Float64Array, _>(vec![float()])
        }
        "FLOAT" => {
            known(float().is_some());
            array::<Float32Array, _>(vec![float().map(|value| value as f32)])
        }
        "CHAR" | "VARCHAR" | "STRING" => {
            known(value.is_string());
            array::<StringArray, _>(vec![value.as_str()])
        }
        "BYTES" => match literal(value, paimon_type, "") {
            Literal::Binary(bytes) => array::<BinaryArray, _>(vec![bytes.as_slice()]),
            _ => arrow_array::new_null_array(&DataType::Binary, 1),
        },
        other => panic!("unknown type {other}"),
    }
}

/// The columns of one row and their schema; a column to which no predicate refers is an integer.
fn row(values: &[&Value], columns: &Columns) -> (Schema, Vec<ArrayRef>) {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let unnamed = (format!("unnamed{index}"), "INT".to_owned());
        let (name, paimon_type) = columns.get(index).cloned().flatten().unwrap_or(unnamed);
        let array = one(value, &paimon_type);
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    (Schema::new(fields), arrays)
}

fn accepted(case: &Value, answer: bool) -> bool {
    let also = case["also_valid"].as_array().is_some_and(|answers| answers.contains(&Value::Bool(answer)));
    case["expect"].as_bool().expect("a boolean answer") == answer || also
}

#[test]
fn like() {
    for case in cases("paimon_like") {
        let pattern = LikePattern::compile(case["pattern"].as_str().unwrap(), '\\').unwrap();
        let answer = case["value"].as_str().is_some_and(|text| pattern.matches(text.as_bytes()));
        assert!(accepted(&case, answer), "{case}");
    }
}

#[test]
fn rows() {
    for case in cases("paimon_predicate_row") {
        let mut columns = Columns::new();
        let predicate = predicate(&case["predicate"], &mut columns);
        let values: Vec<_> = case["row"].as_array().unwrap().iter().collect();
        let (schema, arrays) = row(&values, &columns);
        let answer = predicate.bind(&schema).unwrap().evaluate(&arrays, 1).unwrap().value(0);
        assert!(accepted(&case, answer), "{case}");
    }
}

#[test]
fn ranges() {
    for case in cases("paimon_predicate_stats") {
        let mut columns = Columns::new();
        let predicate = predicate(&case["predicate"], &mut columns);
        let stats = case["stats"].as_array().unwrap();
        let bounds = |key: &str| row(&stats.iter().map(|stat| &stat[key]).collect::<Vec<_>>(), &columns);
        let ((schema, lower), (_, upper)) = (bounds("min"), bounds("max"));
        let counts = |value: &Value| Int64Array::from(vec![value.as_i64()]);
        let row_counts = counts(&case["row_count"]);
        let contents = |nulls: &Value| {
            let nulls = counts(nulls);
            Contents::from_counts(1, Counts { values: Some(&row_counts), nulls: Some(&nulls), nans: None })
        };
        let ranges: Vec<_> = (stats.iter().zip(lower).zip(upper))
            .map(|((stat, lower), upper)| {
                Some(ColumnRanges { lower, upper, contents: contents(&stat["null_count"]) })
            })
            .collect();
        let answer = predicate.bind(&schema).unwrap().may_match(&ranges, 1).unwrap().value(0);
        assert!(accepted(&case, answer), "{case}");
    }
}

#[test]
fn negations() {
    for case in cases("paimon_predicate_negate") {
        // Null: Paimon has no such negation; here every operator has one.
        if !case["expect"].is_null() {
            let negated = predicate(&case["predicate"], &mut Columns::new()).negate();
            assert_eq!(negated, predicate(&case["expect"], &mut Columns::new()), "{case}");
        }
    }
}
