//! Reads expressions, each test in its own form.

use serde_json::Value;

use super::{FUNCTIONS, OPERATORS};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::json::Object;
use crate::iceberg::prune::Names;
use crate::iceberg::prune::bind::named;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{FieldRef, Schema, Type};
use crate::iceberg::value::text::{Unit, parse_hex, write_timestamp};
use crate::json::{depth_of, parse, roomy};
use crate::predicate::{Call, Literal, Operator, Predicate, Term};
use crate::text::{WallClock, write_date};

impl Predicate {
    /// The filter of an expression in Iceberg's JSON, of [`Logic::TwoValued`](crate::predicate::Logic::TwoValued), on
    /// columns of `schema`. Values are read as those of the columns' types: bytes are in hex, dates may be numbers of
    /// days, other times of microseconds.
    ///
    /// Of tests of a `term`, a negated order does not match null, as in Iceberg's `RewriteNot.java`; of tests of
    /// operands it does, and NaN, as the specification has it.
    ///
    /// # Errors
    /// `Predicate` for JSON that is no expression, and for values that are null, NaN or not of their type;
    /// `FilterColumn` for an id that no column has (names that no column has are left to binding);
    /// `Unsupported` for comparisons of two columns and for functions other than transforms.
    pub fn of_expression(text: &str, schema: &Schema, names: Names) -> Result<Predicate> {
        let json: Value = parse(text.as_bytes()).map_err(as_filter)?;
        let reader = ExpressionReader { schema, names };
        roomy(depth_of([&json]), || reader.predicate(&json, false)).map_err(as_filter)
    }
}

/// The same error; what is wrong with the JSON is wrong with the filter.
fn as_filter(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Json | ErrorKind::Required | ErrorKind::Type => refused(error.message()),
        _ => error,
    }
}

#[cold]
fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Predicate, message)
}

#[cold]
fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

struct ExpressionReader<'s> {
    schema: &'s Schema,
    names: Names,
}

/// A column or what a transform makes of it, with the type of its values; unknown for a name that no column has.
#[derive(Clone)]
struct TestedTerm {
    term: Term,
    ty: Type,
}

/// A side of a comparison.
enum Operand<'j> {
    Term(TestedTerm),
    Constant(&'j Value),
}

/// A test as it is written, with the column on its left.
struct Test {
    target: TestedTerm,
    operator: Operator,
    literals: Vec<Literal>,
    is_of_term: bool,
}

impl ExpressionReader<'_> {
    /// `negated`: within an odd number of `not`.
    fn predicate(&self, json: &Value, negated: bool) -> Result<Predicate> {
        if let Some(value) = json.as_bool() {
            return Ok(Predicate::Constant(value != negated));
        }
        let object = Object::new(json, "an expression")?;
        // Java's parser takes any case, and underscores.
        let kind = object.text("type")?.to_ascii_lowercase().replace('_', "-");
        let side = |key| self.predicate(object.required(key)?, negated);
        match kind.as_str() {
            "literal" => Ok(Predicate::Constant(object.bool("value")? != negated)),
            "not" => self.predicate(object.required("child")?, !negated),
            "and" | "or" => {
                let is_and = (kind == "and") != negated;
                let mut sides = vec![side("left")?, side("right")?];
                if sides.contains(&Predicate::Constant(!is_and)) {
                    return Ok(Predicate::Constant(!is_and));
                }
                sides.retain(|side| *side != Predicate::Constant(is_and));
                Ok(if is_and { Predicate::and(sides) } else { Predicate::or(sides) })
            }
            _ => {
                let known = OPERATORS.iter().find(|(name, _)| *name == kind);
                let (_, operator) =
                    known.ok_or_else(|| refused(format!("there is no expression of type {kind:?}")))?;
                self.test(object, *operator, negated)
            }
        }
    }

    fn test(&self, object: Object<'_>, operator: Operator, negated: bool) -> Result<Predicate> {
        let Test { target, operator, literals, is_of_term } = self.parts(object, operator)?;
        if literals.is_empty() && !is_unary(operator) {
            return Ok(Predicate::Constant((operator == Operator::NotIn) != negated));
        }
        Ok(match (negated, is_of_term) {
            (false, _) => Predicate::leaf(target.term, operator, literals),
            (true, true) => Predicate::leaf(target.term, operator.negation(), literals),
            (true, false) => complement(target, operator, literals),
        })
    }

    /// The parts of a test, and whether it is of a term.
    fn parts(&self, object: Object<'_>, operator: Operator) -> Result<Test> {
        if let Some(term) = object.get("term") {
            let target = self.target(term, true)?;
            let literals = match operator {
                Operator::In | Operator::NotIn => target.literals(object.array("values")?)?,
                operator if is_unary(operator) => no_values(object)?,
                _ => vec![target.literal(object.required("value")?)?],
            };
            return Ok(Test { target, operator, literals, is_of_term: true });
        }
        match operator {
            Operator::In | Operator::NotIn => {
                let target = self.child(object)?;
                let values = object.required("values")?;
                let literals = match values.as_array() {
                    Some(values) => target.literals(values)?,
                    None => literals_of(values)?,
                };
                Ok(Test { target, operator, literals, is_of_term: false })
            }
            operator if is_unary(operator) => {
                let (target, literals) = (self.child(object)?, no_values(object)?);
                Ok(Test { target, operator, literals, is_of_term: false })
            }
            _ => self.comparison(object, operator),
        }
    }

    fn child(&self, object: Object<'_>) -> Result<TestedTerm> {
        match self.operand(object.required("child")?)? {
            Operand::Term(target) => Ok(target),
            Operand::Constant(_) => Err(unsupported("a test of a constant is not read".to_owned())),
        }
    }

    fn comparison(&self, object: Object<'_>, operator: Operator) -> Result<Test> {
        let starts = matches!(operator, Operator::StartsWith | Operator::NotStartsWith);
        match (self.operand(object.required("left")?)?, self.operand(object.required("right")?)?) {
            (Operand::Term(target), Operand::Constant(value)) => {
                let literals = vec![target.literal(value)?];
                Ok(Test { target, operator, literals, is_of_term: false })
            }
            (Operand::Constant(value), Operand::Term(target)) if !starts => {
                let literals = vec![target.literal(value)?];
                Ok(Test { target, operator: operator.flipped(), literals, is_of_term: false })
            }
            _ => Err(unsupported("only comparisons of a column with a constant are read".to_owned())),
        }
    }

    fn operand<'j>(&self, json: &'j Value) -> Result<Operand<'j>> {
        let is_constant = json.as_object().is_none_or(|object| object.get("type") == Some(&"literal".into()));
        if is_constant { Ok(Operand::Constant(json)) } else { self.target(json, false).map(Operand::Term) }
    }

    /// `is_term`: a text is a name.
    fn target(&self, json: &Value, is_term: bool) -> Result<TestedTerm> {
        if let Some(name) = json.as_str().filter(|_| is_term) {
            return self.column(name);
        }
        let object = Object::new(json, "a column")?;
        match object.text("type")? {
            "reference" => match (object.optional_text("name")?, object.optional_int("id")?) {
                (Some(name), _) => self.column(name),
                (None, Some(id)) => self.column_of_id(id),
                (None, None) => self.column(object.text("term")?),
            },
            "transform" => {
                let transform = Transform::parse(object.text("transform")?);
                self.transformed(&transform, object.required("term")?, true)
            }
            "apply" => self.applied(object),
            other => Err(refused(format!("there is no column of type {other:?}"))),
        }
    }

    fn column(&self, name: &str) -> Result<TestedTerm> {
        Ok(match named(self.schema, self.names, name, ErrorKind::Predicate)? {
            Some(field) => self.target_of(field, name),
            None => TestedTerm { term: Term::from(name), ty: Type::Unknown },
        })
    }

    fn column_of_id(&self, id: i32) -> Result<TestedTerm> {
        let field = self.schema.field_by_id(id);
        let missing = || Error::new(ErrorKind::FilterColumn, format!("no column has the id {id}"));
        Ok(self.target_of(field.ok_or_else(missing)?, ""))
    }

    fn target_of(&self, field: &FieldRef, name: &str) -> TestedTerm {
        TestedTerm { term: Term::from(self.schema.name_of(field.id).unwrap_or(name)), ty: field.ty.clone() }
    }

    /// A call of one of the specification's functions.
    fn applied(&self, object: Object<'_>) -> Result<TestedTerm> {
        let function = object.required("function")?;
        let no_function =
            || unsupported(format!("the function {function} is not read: partition transforms are"));
        let identifier = match function {
            Value::Object(parts) => {
                let catalog = parts.get("catalog").and_then(Value::as_str);
                parts.get("identifier").filter(|_| catalog.is_none_or(|catalog| catalog == FUNCTIONS))
            }
            name => Some(name),
        };
        let name = match identifier.ok_or_else(no_function)? {
            Value::Array(names) if names.len() == 1 => names.first().and_then(Value::as_str),
            name => name.as_str(),
        };
        let (text, argument) = match (name.ok_or_else(no_function)?, object.array("arguments")?) {
            (name @ ("bucket" | "truncate"), [parameter, argument]) => {
                (format!("{name}[{}]", constant(parameter)?.0), argument)
            }
            (name @ ("identity" | "year" | "month" | "day" | "hour"), [argument]) => {
                (name.to_owned(), argument)
            }
            _ => return Err(no_function()),
        };
        self.transformed(&Transform::parse(&text), argument, false)
    }

    fn transformed(&self, transform: &Transform, of: &Value, is_term: bool) -> Result<TestedTerm> {
        let TestedTerm { term, ty } = self.target(of, is_term)?;
        if term.transform.is_some() {
            return Err(unsupported("a transform of a transform is not read".to_owned()));
        }
        let (name, parameter) = match transform {
            Transform::Identity => return Ok(TestedTerm { term, ty }),
            Transform::Bucket(count) => ("bucket", Some(*count)),
            Transform::Truncate(width) => ("truncate", Some(*width)),
            Transform::Year => ("year", None),
            Transform::Month => ("month", None),
            Transform::Day => ("day", None),
            Transform::Hour => ("hour", None),
            Transform::Void => ("void", None),
            Transform::Unknown(text) => return Err(refused(format!("there is no transform {text:?}"))),
        };
        let call = Call { name: name.to_owned(), parameter };
        let ty = if ty == Type::Unknown { ty } else { transform.result_type(&ty) };
        Ok(TestedTerm { term: Term { transform: Some(call), ..term }, ty })
    }
}

impl TestedTerm {
    fn literals(&self, values: &[Value]) -> Result<Vec<Literal>> {
        values.iter().map(|value| self.literal(value)).collect()
    }

    fn literal(&self, json: &Value) -> Result<Literal> {
        let (value, declared) = constant(json)?;
        literal(value, declared.as_ref().unwrap_or(&self.ty))
            .map_err(|error| error.in_field(&self.term.column))
    }
}

fn is_unary(operator: Operator) -> bool {
    use Operator::{IsNan, IsNotNan, IsNotNull, IsNull};
    matches!(operator, IsNull | IsNotNull | IsNan | IsNotNan)
}

fn no_values(object: Object<'_>) -> Result<Vec<Literal>> {
    match object.get("value").or_else(|| object.get("values")) {
        Some(_) => Err(refused("a test for null or NaN has no value")),
        None => Ok(Vec::new()),
    }
}

/// What a test of operands does not match: where it orders values, null and NaN among it.
fn complement(target: TestedTerm, operator: Operator, literals: Vec<Literal>) -> Predicate {
    let others = match operator {
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
            let is_float = matches!(target.ty, Type::Float | Type::Double | Type::Unknown);
            [Operator::IsNull, Operator::IsNan].get(..if is_float { 2 } else { 1 }).unwrap_or_default()
        }
        _ => &[],
    };
    let others = others.iter().map(|test| Predicate::leaf(target.term.clone(), *test, Vec::new()));
    let negated = Predicate::leaf(target.term.clone(), operator.negation(), literals);
    Predicate::or(std::iter::once(negated).chain(others).collect())
}

/// The values of one type.
fn literals_of(json: &Value) -> Result<Vec<Literal>> {
    let object = Object::new(json, "a list of values")?;
    let ty = Type::from_json(object.required("data-type")?)?;
    object.array("values")?.iter().map(|value| literal(value, &ty)).collect()
}

/// A constant's value, and its type where it has one.
fn constant(json: &Value) -> Result<(&Value, Option<Type>)> {
    if !json.is_object() {
        return Ok((json, None));
    }
    let object = Object::new(json, "a constant")?;
    let ty = object.get("data-type").map(Type::from_json).transpose()?;
    Ok((object.required("value")?, ty))
}

fn literal(json: &Value, ty: &Type) -> Result<Literal> {
    Ok(match (json, ty) {
        (Value::Bool(value), _) => Literal::Boolean(*value),
        (Value::Number(number), Type::Date) => {
            let mut text = String::new();
            let days = number.as_i64().ok_or_else(|| refused("a date is a text, or a number of days"))?;
            write_date(&mut text, days).map_err(|_| refused("a date out of range"))?;
            Literal::Date(text)
        }
        (
            Value::Number(number),
            Type::Time | Type::Timestamp | Type::Timestamptz | Type::TimestampNs | Type::TimestamptzNs,
        ) => {
            let micros =
                number.as_i64().ok_or_else(|| refused("a time is a text, or a number of microseconds"))?;
            time_of(micros, ty).ok_or_else(|| refused("a time out of range"))?
        }
        (Value::Number(number), _) => Literal::Number(number.to_string()),
        (Value::String(text), Type::Binary | Type::Fixed(_)) => {
            Literal::Binary(parse_hex(text).ok_or_else(|| refused("bytes are pairs of hexadecimal digits"))?)
        }
        (Value::String(text), Type::Float | Type::Double) if text.eq_ignore_ascii_case("nan") => {
            return Err(refused("nothing is compared with NaN: is-nan tests for it"));
        }
        (Value::String(text), Type::Date) => Literal::Date(text.clone()),
        (Value::String(text), Type::Time) => Literal::Time(text.clone()),
        (
            Value::String(text),
            Type::Timestamp | Type::Timestamptz | Type::TimestampNs | Type::TimestamptzNs,
        ) => Literal::Timestamp(text.clone()),
        (Value::String(text), Type::Uuid) => Literal::Uuid(text.clone()),
        (Value::String(text), _) => Literal::String(text.clone()),
        (Value::Null, _) => return Err(refused("nothing is compared with null: is-null tests for it")),
        (Value::Array(_) | Value::Object(_), _) => return Err(refused("a list or an object is no constant")),
    })
}

/// A time of that type, which Java's clients write as a number of microseconds, also where it has nanoseconds
/// (`Literals.LongLiteral`). `None` beyond the calendar.
fn time_of(micros: i64, ty: &Type) -> Option<Literal> {
    let mut text = String::new();
    if *ty == Type::Time {
        (0..86_400_000_000).contains(&micros).then_some(())?;
        WallClock::from_epoch(micros, Unit::Micros.per_second()).write_clock(&mut text, 0).ok()?;
        return Some(Literal::Time(text));
    }
    let is_zoned = matches!(ty, Type::Timestamptz | Type::TimestamptzNs);
    write_timestamp(&mut text, micros, Unit::Micros, is_zoned).ok()?;
    Some(Literal::Timestamp(text))
}
