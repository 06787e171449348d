//! Arrow columns in the form that the encoder reads: types are resolved once, before the first row.

use arrow_array::types::{
    ArrowPrimitiveType, BinaryType, ByteArrayType, Date32Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, LargeBinaryType, LargeUtf8Type,
    Time32MillisecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, Utf8Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    GenericByteArray, ListArray, MapArray, PrimitiveArray, StringViewArray, StructArray,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::layout;
use super::layout::unsupported;
use super::nested::{child, variant_members};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::types::EXACT_TIME;
use crate::record::typed;

/// One column: its values, and the properties of its field.
pub(super) struct SourceColumn<'a> {
    /// Place in the schema.
    pub(super) path: String,
    /// Which rows are null.
    pub(super) nulls: Option<&'a NullBuffer>,
    /// Whether rows may be null.
    pub(super) nullable: bool,
    /// Bytes of one value in an array.
    pub(super) element_bytes: usize,
    /// Bytes that a null takes outside of its slot in a row.
    pub(super) reserved_bytes: usize,
    /// The values.
    pub(super) values: Values<'a>,
}

/// The values of a column, by how they are stored.
pub(super) enum Values<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Seconds(&'a [i64]),
    /// Ticks of this many nanoseconds, for units finer than milliseconds.
    Ticks(&'a [i64], i64),
    /// Nanoseconds since 1970.
    Exact(&'a [i256]),
    /// Unscaled values, the smallest magnitude out of range, and whether values are stored in their slots.
    Decimal(&'a [i128], u128, bool),
    Bytes(Bytes<'a>),
    Row(Vec<SourceColumn<'a>>),
    Array(&'a [i32], Box<SourceColumn<'a>>),
    /// Keys and values.
    Map(&'a [i32], Box<[SourceColumn<'a>; 2]>),
    Vector(usize, Box<SourceColumn<'a>>),
    Variant {
        value: Bytes<'a>,
        metadata: Bytes<'a>,
        /// Rows where one of the two is null, which is only allowed in a null variant.
        nulls: Option<NullBuffer>,
    },
}

/// Strings or byte strings in any of their Arrow forms.
pub(super) enum Bytes<'a> {
    Small((&'a [i32], &'a [u8])),
    Large((&'a [i64], &'a [u8])),
    Fixed(&'a FixedSizeBinaryArray),
    StringView(&'a StringViewArray),
    BinaryView(&'a BinaryViewArray),
}

impl<'a> SourceColumn<'a> {
    /// The column `array` as `field`, whose place in the schema is `path`.
    fn new(array: &'a ArrayRef, field: &Field, path: String) -> Result<SourceColumn<'a>> {
        let values = Values::new(array, field, &path).map_err(|error| error.in_field(&path))?;
        Ok(SourceColumn {
            path,
            nulls: array.nulls(),
            nullable: field.is_nullable(),
            element_bytes: layout::element_bytes(field.data_type()),
            reserved_bytes: layout::reserved_bytes(field.data_type()),
            values,
        })
    }

    /// The columns of `array` as `fields`; `path` is its place in the schema, `None` at the top.
    pub(super) fn all(
        array: &'a StructArray,
        fields: &Fields,
        path: Option<&str>,
    ) -> Result<Vec<SourceColumn<'a>>> {
        if array.num_columns() != fields.len() {
            let message = format!("{} columns for {} fields", array.num_columns(), fields.len());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let pairs = array.columns().iter().zip(fields);
        let columns = pairs.map(|(column, field)| {
            let path = path.map_or_else(|| field.name().clone(), |outer| child(outer, field));
            SourceColumn::new(column, field, path)
        });
        columns.collect()
    }

    /// The column as the elements of one at `path`.
    fn element(array: &'a ArrayRef, field: &Field, path: &str) -> Result<Box<SourceColumn<'a>>> {
        SourceColumn::new(array, field, child(path, field)).map(Box::new)
    }
}

impl<'a> Values<'a> {
    fn new(array: &'a ArrayRef, field: &Field, path: &str) -> Result<Values<'a>> {
        use DataType as T;
        let (wanted, given) = (field.data_type(), array.data_type());
        Ok(match (wanted, given) {
            (T::Boolean, T::Boolean) => Values::Boolean(typed(array, path)?),
            (T::Int8, T::Int8) => Values::Int8(primitives::<Int8Type>(array, path)?),
            (T::Int16, T::Int16) => Values::Int16(primitives::<Int16Type>(array, path)?),
            (T::Int32, T::Int32) => Values::Int32(primitives::<Int32Type>(array, path)?),
            (T::Int64, T::Int64) => Values::Int64(primitives::<Int64Type>(array, path)?),
            (T::Float32, T::Float32) => Values::Float32(primitives::<Float32Type>(array, path)?),
            (T::Float64, T::Float64) => Values::Float64(primitives::<Float64Type>(array, path)?),
            (T::Date32, T::Date32) => Values::Int32(primitives::<Date32Type>(array, path)?),
            (T::Time32(TimeUnit::Millisecond), T::Time32(TimeUnit::Millisecond)) => {
                Values::Int32(primitives::<Time32MillisecondType>(array, path)?)
            }
            (T::Timestamp(unit, zone), T::Timestamp(given, other))
                if unit == given && zone.is_some() == other.is_some() =>
            {
                Values::timestamps(array, *unit, path)?
            }
            (exact, given) if *exact == EXACT_TIME && given == exact => {
                Values::Exact(primitives::<Decimal256Type>(array, path)?)
            }
            (T::Decimal128(precision, scale), given) if given == wanted => {
                let bound = layout::decimal_bound(*precision, *scale)?;
                let values = primitives::<Decimal128Type>(array, path)?;
                Values::Decimal(values, bound, layout::is_compact(*precision))
            }
            (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8 | T::Utf8View)
            | (
                T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_),
                T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_),
            ) => Values::Bytes(Bytes::new(array, path)?),
            _ => Values::nested(array, field, path)?,
        })
    }

    fn timestamps(array: &'a ArrayRef, unit: TimeUnit, path: &str) -> Result<Values<'a>> {
        Ok(match unit {
            TimeUnit::Second => Values::Seconds(primitives::<TimestampSecondType>(array, path)?),
            TimeUnit::Millisecond => Values::Int64(primitives::<TimestampMillisecondType>(array, path)?),
            TimeUnit::Microsecond => {
                Values::Ticks(primitives::<TimestampMicrosecondType>(array, path)?, 1000)
            }
            TimeUnit::Nanosecond => Values::Ticks(primitives::<TimestampNanosecondType>(array, path)?, 1),
        })
    }

    fn nested(array: &'a ArrayRef, field: &Field, path: &str) -> Result<Values<'a>> {
        use DataType as T;
        Ok(match (field.data_type(), array.data_type()) {
            (T::Struct(members), T::Struct(_)) if layout::is_variant(field) => {
                Values::variant(typed(array, path)?, members)?
            }
            (T::Struct(members), T::Struct(_)) => {
                Values::Row(SourceColumn::all(typed(array, path)?, members, Some(path))?)
            }
            (T::List(element), T::List(_)) => {
                let list: &ListArray = typed(array, path)?;
                Values::Array(list.value_offsets(), SourceColumn::element(list.values(), element, path)?)
            }
            (T::Map(entries, _), T::Map(..)) => {
                let map: &MapArray = typed(array, path)?;
                let T::Struct(members) = entries.data_type() else { return Err(unsupported(field)) };
                let columns = SourceColumn::all(map.entries(), members, Some(path))?;
                let columns = <[SourceColumn<'_>; 2]>::try_from(columns).map_err(|_| unsupported(field))?;
                Values::Map(map.value_offsets(), Box::new(columns))
            }
            (T::FixedSizeList(element, size), T::FixedSizeList(_, given))
                if size == given && layout::is_vector_element(element.data_type()) =>
            {
                let list: &FixedSizeListArray = typed(array, path)?;
                let length = usize::try_from(*size).unwrap_or_default();
                Values::Vector(length, SourceColumn::element(list.values(), element, path)?)
            }
            (_, given) => return Err(unexpected_type(field, given)),
        })
    }

    fn variant(array: &'a StructArray, members: &Fields) -> Result<Values<'a>> {
        let roles = variant_members(members)?;
        let ([first, second], [left, right]) = (array.columns(), members.as_ref()) else {
            return Err(Error::new(ErrorKind::Argument, "a variant is two columns"));
        };
        let parts = (Values::part(first, left)?, Values::part(second, right)?);
        let (value, metadata) = if roles == [true, false] { parts } else { (parts.1, parts.0) };
        Ok(Values::Variant { value, metadata, nulls: NullBuffer::union(first.nulls(), second.nulls()) })
    }

    /// One of the two byte strings of a variant.
    fn part(array: &'a ArrayRef, member: &Field) -> Result<Bytes<'a>> {
        match Values::new(array, member, member.name())? {
            Values::Bytes(bytes) => Ok(bytes),
            _ => Err(unexpected_type(member, array.data_type())),
        }
    }
}

impl<'a> Bytes<'a> {
    fn new(array: &'a ArrayRef, path: &str) -> Result<Bytes<'a>> {
        Ok(match array.data_type() {
            DataType::Utf8 => Bytes::Small(parts::<Utf8Type>(array, path)?),
            DataType::Binary => Bytes::Small(parts::<BinaryType>(array, path)?),
            DataType::LargeUtf8 => Bytes::Large(parts::<LargeUtf8Type>(array, path)?),
            DataType::LargeBinary => Bytes::Large(parts::<LargeBinaryType>(array, path)?),
            DataType::FixedSizeBinary(_) => Bytes::Fixed(typed(array, path)?),
            DataType::Utf8View => Bytes::StringView(typed(array, path)?),
            DataType::BinaryView => Bytes::BinaryView(typed(array, path)?),
            given => {
                let message = format!("{given} where strings or bytes are expected");
                return Err(Error::new(ErrorKind::Argument, message));
            }
        })
    }

    /// The bytes of row `row`.
    #[inline]
    pub(super) fn value(&self, row: usize) -> &'a [u8] {
        match self {
            Bytes::Small((offsets, values)) => &values[offsets[row] as usize..offsets[row + 1] as usize],
            Bytes::Large((offsets, values)) => &values[offsets[row] as usize..offsets[row + 1] as usize],
            Bytes::Fixed(array) => array.value(row),
            Bytes::StringView(array) => array.value(row).as_bytes(),
            Bytes::BinaryView(array) => array.value(row),
        }
    }
}

fn primitives<'a, T: ArrowPrimitiveType>(array: &'a ArrayRef, path: &str) -> Result<&'a [T::Native]> {
    Ok(typed::<PrimitiveArray<T>>(array, path)?.values())
}

/// Offsets and bytes of strings or byte strings.
fn parts<'a, T: ByteArrayType>(array: &'a ArrayRef, path: &str) -> Result<(&'a [T::Offset], &'a [u8])> {
    let array: &GenericByteArray<T> = typed(array, path)?;
    Ok((array.value_offsets(), array.value_data()))
}

/// The error for a column of another type than its field's.
#[cold]
fn unexpected_type(field: &Field, given: &DataType) -> Error {
    if field.data_type() == given {
        return unsupported(field);
    }
    Error::new(ErrorKind::Argument, format!("{given} where {} is expected", field.data_type()))
}
