//! Values in the form in which predicates compare them: a few ordered domains, regardless of the Arrow type.

use std::borrow::Cow;
use std::cmp::Ordering;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, TimeUnit};

/// A non-null value of a column, or a literal cast to that column's type.
///
/// Dates, times and timestamps are integers in their column's unit, decimals unscaled in their column's
/// scale; so two values compare only when they belong to columns of one type.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Boolean(bool),
    Int(i64),
    /// A time of an exact column, in nanoseconds since 1970.
    Nanos(i128),
    Decimal(i128),
    Float(f64),
    Bytes(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The value with its own copy of borrowed data.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Boolean(value) => Value::Boolean(value),
            Value::Int(value) => Value::Int(value),
            Value::Nanos(value) => Value::Nanos(value),
            Value::Decimal(value) => Value::Decimal(value),
            Value::Float(value) => Value::Float(value),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }

    /// The bytes of a string or binary value.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Whether this is a string or binary value that begins with the bytes of `prefix`.
    pub(super) fn starts_with(&self, prefix: &Value<'_>) -> bool {
        matches!((self, prefix), (Value::Bytes(value), Value::Bytes(prefix)) if value.starts_with(prefix))
    }

    /// Whether this is a floating point NaN.
    pub(crate) fn is_nan(&self) -> bool {
        matches!(self, Value::Float(value) if value.is_nan())
    }

    /// The value with a single zero, for logics in which -0.0 and 0.0 are equal.
    pub(super) fn with_one_zero(self) -> Self {
        match self {
            Value::Float(0.0) => Value::Float(0.0),
            other => other,
        }
    }

    /// The rank of the domain, which makes the order total.
    fn domain(&self) -> u8 {
        match self {
            Value::Boolean(_) => 0,
            Value::Int(_) => 1,
            Value::Decimal(_) => 2,
            Value::Float(_) => 3,
            Value::Bytes(_) => 4,
            Value::Nanos(_) => 5,
        }
    }
}

/// False before true, numbers by value, bytes unsigned; floats as Java's `Double.compare`: −0.0 before 0.0,
/// every NaN equal to every other and after all numbers.
impl Ord for Value<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Nanos(a), Value::Nanos(b)) => a.cmp(b),
            (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => match (a.is_nan(), b.is_nan()) {
                (false, false) => a.total_cmp(b),
                (a_is_nan, b_is_nan) => a_is_nan.cmp(&b_is_nan),
            },
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => self.domain().cmp(&other.domain()),
        }
    }
}

impl PartialOrd for Value<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value<'_> {}

/// Reads the value of a row that is not null.
type ReadValue = for<'a> fn(&'a dyn Array, usize) -> Value<'a>;

/// An Arrow array read as [`Value`]s.
pub(crate) struct Reader<'a> {
    array: &'a dyn Array,
    read: ReadValue,
}

impl<'a> Reader<'a> {
    /// Reads `array`; values of types that are not compared are all equal.
    pub(crate) fn new(array: &'a dyn Array) -> Reader<'a> {
        Reader { array, read: read_of(array.data_type()).unwrap_or(|_, _| Value::Boolean(true)) }
    }

    /// Reads `array` of an exact column; `None` for one that is not of such a type.
    pub(super) fn exact(array: &'a dyn Array) -> Option<Reader<'a>> {
        let read: ReadValue = match array.data_type() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                |array, row| Value::Nanos(i128::from(at::<TimestampMillisecondType>(array, row)) * 1_000_000)
            }
            DataType::Decimal256(_, 9) => {
                |array, row| Value::Nanos(at::<Decimal256Type>(array, row).as_i128())
            }
            _ => return None,
        };
        Some(Reader { array, read })
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.array.len()
    }

    /// The value of `row`; `None` where it is null. Panics past the end, like every array.
    pub(crate) fn get(&self, row: usize) -> Option<Value<'a>> {
        self.array.is_valid(row).then(|| (self.read)(self.array, row))
    }
}

/// Whether predicates compare values of this type.
pub(super) fn is_comparable(data_type: &DataType) -> bool {
    read_of(data_type).is_some()
}

fn read_of(data_type: &DataType) -> Option<ReadValue> {
    Some(match data_type {
        DataType::Boolean => |array, row| Value::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => int::<Int8Type>,
        DataType::Int16 => int::<Int16Type>,
        DataType::Int32 => int::<Int32Type>,
        DataType::Int64 => int::<Int64Type>,
        DataType::Date32 => int::<Date32Type>,
        DataType::Time32(TimeUnit::Millisecond) => int::<Time32MillisecondType>,
        DataType::Time64(TimeUnit::Microsecond) => int::<Time64MicrosecondType>,
        DataType::Timestamp(TimeUnit::Second, _) => int::<TimestampSecondType>,
        DataType::Timestamp(TimeUnit::Millisecond, _) => int::<TimestampMillisecondType>,
        DataType::Timestamp(TimeUnit::Microsecond, _) => int::<TimestampMicrosecondType>,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => int::<TimestampNanosecondType>,
        DataType::Float32 => float::<Float32Type>,
        DataType::Float64 => float::<Float64Type>,
        DataType::Decimal128(_, _) => |array, row| Value::Decimal(at::<Decimal128Type>(array, row)),
        DataType::Utf8 => {
            |array, row| Value::Bytes(Cow::Borrowed(array.as_string::<i32>().value(row).as_bytes()))
        }
        DataType::Binary => |array, row| Value::Bytes(Cow::Borrowed(array.as_binary::<i32>().value(row))),
        _ => return None,
    })
}

/// The value of a row, of an array whose type was matched.
fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn int<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array, row: usize) -> Value<'_> {
    Value::Int(at::<T>(array, row).into())
}

fn float<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array, row: usize) -> Value<'_> {
    Value::Float(at::<T>(array, row).into())
}
