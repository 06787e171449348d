//! The texts of primitive types.

use super::{EdgeAlgorithm, MAX_PRECISION, Type};
use crate::error::{Error, ErrorKind};

/// The default coordinate reference system of geometry and geography.
pub(super) const DEFAULT_CRS: &str = "OGC:CRS84";

/// The types without parameters, with their keywords.
const PLAIN: [(&str, Type); 18] = [
    ("boolean", Type::Boolean),
    ("int", Type::Int),
    ("long", Type::Long),
    ("float", Type::Float),
    ("double", Type::Double),
    ("date", Type::Date),
    ("time", Type::Time),
    ("timestamp", Type::Timestamp),
    ("timestamptz", Type::Timestamptz),
    ("timestamp_ns", Type::TimestampNs),
    ("timestamptz_ns", Type::TimestamptzNs),
    ("string", Type::String),
    ("uuid", Type::Uuid),
    ("binary", Type::Binary),
    ("unknown", Type::Unknown),
    ("variant", Type::Variant),
    ("geometry", Type::Geometry { crs: None }),
    ("geography", Type::Geography { crs: None, algorithm: None }),
];

/// The keyword of a type that prints without parameters.
pub(super) fn keyword(ty: &Type) -> &'static str {
    PLAIN.iter().find(|(_, plain)| plain == ty).map_or("", |(keyword, _)| keyword)
}

impl std::str::FromStr for Type {
    type Err = Error;

    /// The primitive type with the text `text`, in any case and with any whitespace around names and numbers,
    /// as `Types.fromPrimitiveString` reads it.
    ///
    /// # Errors
    /// [`ErrorKind::Type`] for a text that is not in the grammar, for a decimal of more than 38 digits, and
    /// for a fixed of more than 2³¹ - 1 bytes.
    fn from_str(text: &str) -> Result<Type, Error> {
        let trimmed = text.trim();
        if let Some((_, ty)) = PLAIN.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(trimmed)) {
            return Ok(ty.clone());
        }
        parametrised(trimmed).map_err(|why| error(text, why))
    }
}

fn parametrised(text: &str) -> Result<Type, &'static str> {
    const UNKNOWN: &str = "no such type";
    let open = text.find(['(', '[']).ok_or(UNKNOWN)?;
    let (keyword, rest) = text.split_at(open);
    let inner = |open: char, close: char| rest.strip_prefix(open)?.strip_suffix(close).map(str::trim);
    let parameters = inner('(', ')');
    match keyword.trim_end().to_ascii_lowercase().as_str() {
        "fixed" => fixed(inner('[', ']').ok_or("a fixed is fixed[length]")?),
        "decimal" => decimal(parameters.ok_or("a decimal is decimal(precision, scale)")?),
        "geometry" => Ok(Type::Geometry { crs: crs(parameters.ok_or("a geometry is geometry(crs)")?) }),
        "geography" => geography(parameters.ok_or("a geography is geography(crs, algorithm)")?),
        _ => Err(UNKNOWN),
    }
}

fn fixed(length: &str) -> Result<Type, &'static str> {
    let length = digits(length).and_then(|length| length.parse().ok());
    let length = length.filter(|length| *length <= i32::MAX.unsigned_abs());
    length.map(Type::Fixed).ok_or("the length must fit 31 bits")
}

fn decimal(parameters: &str) -> Result<Type, &'static str> {
    const FORM: &str = "a decimal is decimal(precision, scale)";
    let (precision, scale) = parameters.split_once(',').ok_or(FORM)?;
    let precision: u8 = digits(precision.trim()).and_then(|digits| digits.parse().ok()).ok_or(FORM)?;
    let scale = scale.trim();
    digits(scale.strip_prefix('-').unwrap_or(scale)).ok_or(FORM)?;
    let scale: i8 = scale.parse().map_err(|_| FORM)?;
    if !(1..=MAX_PRECISION).contains(&precision) {
        return Err("the precision of a decimal must be 1 to 38");
    }
    if i16::from(scale) > i16::from(precision) {
        return Err("the scale of a decimal must be at most its precision");
    }
    Ok(Type::Decimal { precision, scale })
}

fn geography(parameters: &str) -> Result<Type, &'static str> {
    let (name, algorithm) = match parameters.split_once(',') {
        None => (parameters, None),
        Some((name, algorithm)) => (name.trim_end(), Some(algorithm.trim_start())),
    };
    let algorithm = algorithm.map(|name| EdgeAlgorithm::from_name(name).ok_or("unknown edge algorithm"));
    Ok(Type::Geography { crs: crs(name), algorithm: algorithm.transpose()? })
}

/// The system of that name; `None` for the default one.
fn crs(name: &str) -> Option<String> {
    let is_default = name.is_empty() || name.eq_ignore_ascii_case(DEFAULT_CRS);
    (!is_default).then(|| name.to_owned())
}

fn digits(text: &str) -> Option<&str> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(text)
}

/// An error of kind [`ErrorKind::Type`] about `text`, which is truncated.
#[cold]
fn error(text: &str, why: &str) -> Error {
    let shown: String = text.chars().take(80).collect();
    let cut = if shown.len() < text.len() { "…" } else { "" };
    Error::new(ErrorKind::Type, format!("{shown:?}{cut} is not a type: {why}"))
}
