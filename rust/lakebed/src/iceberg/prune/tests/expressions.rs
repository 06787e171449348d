//! Expressions in the JSON of Iceberg's REST catalogues (`ExpressionParser.java`).

use serde_json::Value;

use crate::iceberg::transform::Transform;
use crate::iceberg::types::{Schema, Type};
use crate::iceberg::value::text::parse_hex;
use crate::predicate::{Call, Literal, Operator, Predicate, Term};
use crate::text::civil_from_days;

const OPERATORS: [(&str, Operator); 14] = [
    ("is-null", Operator::IsNull),
    ("not-null", Operator::IsNotNull),
    ("is-nan", Operator::IsNan),
    ("not-nan", Operator::IsNotNan),
    ("lt", Operator::Lt),
    ("lt-eq", Operator::LtEq),
    ("gt", Operator::Gt),
    ("gt-eq", Operator::GtEq),
    ("eq", Operator::Eq),
    ("not-eq", Operator::NotEq),
    ("in", Operator::In),
    ("not-in", Operator::NotIn),
    ("starts-with", Operator::StartsWith),
    ("not-starts-with", Operator::NotStartsWith),
];

/// An expression on columns of `schema`, or on partition fields, whose names differ from theirs.
pub(super) fn predicate(json: &Value, schema: &Schema) -> Predicate {
    let of = |json: &Value| predicate(json, schema);
    if let Some(value) = json.as_bool() {
        return Predicate::Constant(value);
    }
    match json["type"].as_str().expect("a type") {
        "true" => Predicate::Constant(true),
        "false" => Predicate::Constant(false),
        "not" => of(&json["child"]).negate(),
        "and" => Predicate::and(vec![of(&json["left"]), of(&json["right"])]),
        "or" => Predicate::or(vec![of(&json["left"]), of(&json["right"])]),
        name => {
            let known = OPERATORS.iter().find(|(known, _)| *known == name);
            let (_, operator) = known.unwrap_or_else(|| panic!("unknown operator {name}"));
            let (term, ty) = term(&json["term"], schema);
            let one = json.get("value").into_iter();
            let values = one.chain(json["values"].as_array().into_iter().flatten());
            Predicate::leaf(term, *operator, values.map(|value| literal(value, &ty)).collect())
        }
    }
}

/// A term, and the type of what it is compared with.
fn term(json: &Value, schema: &Schema) -> (Term, Type) {
    let name = json.as_str().or(json["term"].as_str()).expect("a name");
    let field = schema.field_by_name(name).or_else(|| schema.fields_like(name).next());
    let ty = field.map_or(Type::Unknown, |field| field.ty.clone());
    let Some(transform) = json["transform"].as_str() else { return (Term::from(name), ty) };
    let (call, parameter) = match transform.trim_end_matches(']').split_once('[') {
        Some((call, parameter)) => (call, Some(parameter.parse().expect("a number"))),
        None => (transform, None),
    };
    let call = Call { name: call.to_owned(), parameter };
    let result = Transform::parse(transform).result_type(&ty);
    (Term { column: name.to_owned(), transform: Some(call) }, result)
}

/// Days may be numbers; bytes are in hex.
fn literal(json: &Value, ty: &Type) -> Literal {
    match (json, ty) {
        (Value::Number(days), Type::Date) => {
            let (year, month, day) = civil_from_days(days.as_i64().expect("a day"));
            Literal::Date(format!("{year:04}-{month:02}-{day:02}"))
        }
        (Value::Number(number), _) => Literal::Number(number.to_string()),
        (Value::String(text), Type::Binary | Type::Fixed(_)) => {
            Literal::Binary(parse_hex(text).expect("hex"))
        }
        (Value::String(text), _) => Literal::String(text.clone()),
        (Value::Bool(value), _) => Literal::Boolean(*value),
        _ => panic!("no literal: {json}"),
    }
}
