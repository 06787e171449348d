//! Checks Arrow types against the schema's types.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, IntervalMonthDayNanoType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::{ArrowNativeType, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, IntervalUnit, Schema as ArrowSchema};

use super::column::{Column, DecimalForm, Slices};
use super::number::longs;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::{Field, Logical, Node, Schema, Wire};

/// Whether batches of `arrow` can be written as `schema`.
///
/// # Errors
/// [`ErrorKind::UnknownColumn`] for a field without a column and a column without a field;
/// [`ErrorKind::Type`] for a column with a type that its field does not accept. Both with the field's path.
pub(crate) fn check(schema: &Schema, arrow: &ArrowSchema) -> Result<()> {
    bind_row(schema, &RecordBatch::new_empty(arrow.clone().into())).map(|_| ())
}

/// The columns of a batch in the form in which a row of `schema` is encoded; a top-level null is never
/// written.
///
/// # Errors
/// Those of [`check`]; [`ErrorKind::Enum`] and [`ErrorKind::Timestamp`] for values that the schema cannot
/// hold, with their row.
pub(crate) fn bind_row(schema: &Schema, batch: &RecordBatch) -> Result<Column> {
    let arrow = batch.schema();
    let Some((fields, null)) = schema.record() else {
        let [column] = batch.columns() else {
            return Err(Error::new(
                ErrorKind::Type,
                "a schema that is not a record takes the one column `value`",
            ));
        };
        return bind(schema.root(), column).map_err(|error| error.within("value"));
    };
    let names: Vec<&str> = arrow.fields().iter().map(|field| field.name().as_str()).collect();
    let value = record(fields, &names, batch.columns())?;
    Ok(match null {
        Some(null) => Column::Nullable { null, nulls: None, value: Box::new(value) },
        None => value,
    })
}

fn record(fields: &[Field], names: &[&str], columns: &[ArrayRef]) -> Result<Column> {
    if let Some(name) = names.iter().find(|name| !fields.iter().any(|field| field.name == **name)) {
        return Err(no_column(&format!("column {name:?} is not a field of the schema"), name));
    }
    let bound = fields.iter().map(|field| {
        let mut found = names.iter().zip(columns).filter(|(name, _)| **name == field.name);
        let (Some((_, column)), None) = (found.next(), found.next()) else {
            let message = format!("the schema's field {:?} needs one column of its name", field.name);
            return Err(no_column(&message, &field.name));
        };
        let column = bind(&field.node, column).map_err(|error| error.within(&field.name))?;
        Ok((field.name.clone(), column))
    });
    Ok(Column::Record(bound.collect::<Result<_>>()?))
}

/// `array` as values of `node`, which need not be nullable if the array has no nulls.
fn bind(node: &Node, array: &ArrayRef) -> Result<Column> {
    if let Some((null, value)) = node.nullable() {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let value = if *array.data_type() == DataType::Null { Column::Null } else { values(value, array)? };
        return Ok(Column::Nullable { null, nulls, value: Box::new(value) });
    }
    let value = values(node, array)?;
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    Ok(match nulls {
        Some(nulls) if !matches!(node.wire, Wire::Null | Wire::Union(_)) => {
            Column::Required { nulls, value: Box::new(value) }
        }
        _ => value,
    })
}

/// `array` as values of `node`, ignoring nulls.
fn values(node: &Node, array: &ArrayRef) -> Result<Column> {
    let column = match &node.wire {
        Wire::Null if *array.data_type() == DataType::Null => Some(Column::Null),
        Wire::Boolean => array.as_boolean_opt().map(|array| Column::Boolean(array.values().clone())),
        Wire::Int => longs(array, false, node.logical)?.map(Column::Long),
        Wire::Long => longs(array, true, node.logical)?.map(Column::Long),
        Wire::Float => {
            array.as_primitive_opt::<Float32Type>().map(|array| Column::Float(array.values().clone()))
        }
        Wire::Double => double(array),
        Wire::Bytes => match node.logical {
            Some(Logical::Decimal { precision, scale }) if is_decimal(array) => {
                decimals(array, precision, scale, DecimalForm::Bytes)
            }
            _ => slices(array).map(Column::Bytes),
        },
        Wire::String => texts(array).map(Column::Bytes),
        Wire::Fixed(size) => match node.logical {
            Some(Logical::Decimal { precision, scale }) if is_decimal(array) => {
                decimals(array, precision, scale, DecimalForm::Fixed(*size))
            }
            Some(Logical::Duration)
                if *array.data_type() == DataType::Interval(IntervalUnit::MonthDayNano) =>
            {
                let values = array.as_primitive::<IntervalMonthDayNanoType>().values().clone();
                Some(Column::Duration(values))
            }
            _ => slices(array).map(|bytes| Column::Fixed { size: *size, bytes }),
        },
        Wire::Enum { symbols, .. } => numbers(array, symbols)?.map(Column::Long),
        Wire::Array(items) => list(items, array)?,
        Wire::Map(value) => map(value, array)?,
        Wire::Record(fields) => match array.as_struct_opt() {
            Some(structs) => Some(record(fields, &names(structs), structs.columns())?),
            None => None,
        },
        Wire::Union(branches) => union(branches, array)?,
        Wire::Null => None,
    };
    column.ok_or_else(|| {
        let message = format!("a column of type {} cannot be written as {node}", array.data_type());
        Error::new(ErrorKind::Type, message)
    })
}

fn names(structs: &StructArray) -> Vec<&str> {
    structs.fields().iter().map(|field| field.name().as_str()).collect()
}

fn double(array: &ArrayRef) -> Option<Column> {
    let values = match array.data_type() {
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().values().iter().map(|value| f64::from(*value)).collect()
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().values().clone(),
        _ => return None,
    };
    Some(Column::Double(values))
}

fn is_decimal(array: &ArrayRef) -> bool {
    matches!(array.data_type(), DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// Decimals of the schema's scale, with at most as many digits as it allows.
fn decimals(array: &ArrayRef, precision: usize, scale: usize, form: DecimalForm) -> Option<Column> {
    let fits =
        |digits: u8, found: i8| usize::from(digits) <= precision && usize::try_from(found) == Ok(scale);
    let (width, unscaled) = match array.data_type() {
        DataType::Decimal128(digits, found) if fits(*digits, *found) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            (16, values.iter().flat_map(|value| value.to_be_bytes()).collect())
        }
        DataType::Decimal256(digits, found) if fits(*digits, *found) => {
            let values = array.as_primitive::<Decimal256Type>().values();
            (32, values.iter().flat_map(|value| value.to_be_bytes()).collect())
        }
        _ => return None,
    };
    Some(Column::Decimal { width, unscaled, form })
}

fn texts(array: &ArrayRef) -> Option<Slices> {
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => slices(array),
        _ => None,
    }
}

/// The bytes of texts and binaries.
fn slices(array: &ArrayRef) -> Option<Slices> {
    Some(match array.data_type() {
        DataType::Utf8 => offsets(array.as_string::<i32>().offsets(), array.as_string::<i32>().values()),
        DataType::LargeUtf8 => offsets(array.as_string::<i64>().offsets(), array.as_string::<i64>().values()),
        DataType::Binary => offsets(array.as_binary::<i32>().offsets(), array.as_binary::<i32>().values()),
        DataType::LargeBinary => {
            offsets(array.as_binary::<i64>().offsets(), array.as_binary::<i64>().values())
        }
        DataType::FixedSizeBinary(width) => {
            let width = usize::try_from(*width).ok()?;
            Slices::Width(width, array.as_fixed_size_binary().values().clone())
        }
        _ => return None,
    })
}

fn offsets<O: ArrowNativeType + Into<i64>>(
    offsets: &OffsetBuffer<O>,
    bytes: &arrow_buffer::Buffer,
) -> Slices {
    Slices::Offsets(widened(offsets), bytes.clone())
}

fn widened<O: ArrowNativeType + Into<i64>>(offsets: &OffsetBuffer<O>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|offset| (*offset).into()).collect())
}

/// The numbers of an enum's symbols; 0 under nulls.
fn numbers(array: &ArrayRef, symbols: &[String]) -> Result<Option<ScalarBuffer<i64>>> {
    let Some(texts) = texts(array) else { return Ok(None) };
    let bytes = |row| match &texts {
        Slices::Offsets(offsets, bytes) => bytes.get(offsets[row] as usize..offsets[row + 1] as usize),
        Slices::Width(..) => None,
    };
    let number = |row: usize| {
        if array.is_null(row) {
            return Ok(0);
        }
        let found = symbols.iter().position(|symbol| Some(symbol.as_bytes()) == bytes(row));
        found.and_then(|number| i64::try_from(number).ok()).ok_or_else(|| {
            let text = String::from_utf8_lossy(bytes(row).unwrap_or_default()).into_owned();
            let place = Location { record: Some(row as u64), ..Location::default() };
            Error::new(ErrorKind::Enum, format!("{text:?} is not one of the schema's symbols")).at(place)
        })
    };
    (0..array.len()).map(number).collect::<Result<_>>().map(Some)
}

fn list(items: &Node, array: &ArrayRef) -> Result<Option<Column>> {
    let (offsets, values) = match array.data_type() {
        DataType::List(_) => (widened(array.as_list::<i32>().offsets()), array.as_list::<i32>().values()),
        DataType::LargeList(_) => {
            (widened(array.as_list::<i64>().offsets()), array.as_list::<i64>().values())
        }
        // Maps without string keys are arrays of records.
        DataType::Map(..) => {
            let Wire::Record(fields) = &items.wire else { return Ok(None) };
            let [key, value] = fields.as_slice() else { return Ok(None) };
            let map = array.as_map();
            let bound = [(key, map.keys()), (value, map.values())].map(|(field, column)| {
                let column = bind(&field.node, column).map_err(|error| error.within(&field.name))?;
                Ok((field.name.clone(), column))
            });
            let entries = Box::new(Column::Record(bound.into_iter().collect::<Result<_>>()?));
            let (offsets, least_bytes) = (widened(map.offsets()), items.least_bytes());
            return Ok(Some(Column::List { offsets, items: entries, least_bytes }));
        }
        _ => return Ok(None),
    };
    let least_bytes = items.least_bytes();
    Ok(Some(Column::List { offsets, items: Box::new(bind(items, values)?), least_bytes }))
}

fn map(value: &Node, array: &ArrayRef) -> Result<Option<Column>> {
    let Some(map) = array.as_map_opt() else { return Ok(None) };
    let Some(keys) = texts(map.keys()) else { return Ok(None) };
    let value = bind(value, map.values()).map_err(|error| error.within("value"))?;
    let entries = vec![("key".to_owned(), Column::Bytes(keys)), ("value".to_owned(), value)];
    let (offsets, items) = (widened(map.offsets()), Box::new(Column::Record(entries)));
    // A key takes at least the bytes of its length.
    Ok(Some(Column::List { offsets, items, least_bytes: 1 }))
}

/// A union has a child for every branch, in the same order.
fn union(branches: &[Node], array: &ArrayRef) -> Result<Option<Column>> {
    let Some(union) = array.as_union_opt() else { return Ok(None) };
    let DataType::Union(fields, _) = array.data_type() else { return Ok(None) };
    let in_order = fields.iter().enumerate().all(|(number, (id, _))| usize::try_from(id) == Ok(number));
    if !in_order || fields.len() != branches.len() {
        return Ok(None);
    }
    let bound = branches.iter().zip(0_i8..).map(|(branch, id)| {
        bind(branch, union.child(id)).map_err(|error| error.within(&format!("member{id}")))
    });
    let branches = bound.collect::<Result<_>>()?;
    let (types, offsets) = (union.type_ids().clone(), union.offsets().cloned());
    Ok(Some(Column::Union { types, offsets, branches }))
}

#[cold]
fn no_column(message: &str, name: &str) -> Error {
    let place = Location { field: Some(name.to_owned()), ..Location::default() };
    Error::new(ErrorKind::UnknownColumn, message).at(place)
}
