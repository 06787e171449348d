//! Values of values to Arrow columns: rows, arrays, maps, vectors, variants.
//!
//! Each gathers the inner slots of all rows, and decodes them as columns in turn. The depth is that
//! of the type, whatever the input is.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeListArray, ListArray, MapArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrow_select::concat::concat;

use super::decode::{Cells, column, nulls, offset};
use super::frame::{Cell, Elements, Row, required, split_length};
use super::layout;
use crate::error::{Error, ErrorKind, Result};

/// The most elements that the nulls of one VECTOR column may take. They take memory without any bytes in the
/// input: their number follows from the length of the type.
const MAX_NULL_ELEMENTS: usize = 1 << 26;

/// Decodes rows as `fields`; `path` is the place of the rows in the schema, `None` at its top.
pub(super) fn fields(
    rows: &[Option<Row<'_>>],
    fields: &Fields,
    path: Option<&str>,
    nulls: Option<NullBuffer>,
    room: &mut u64,
) -> Result<StructArray> {
    let mut cells = Vec::with_capacity(rows.len());
    let mut columns = Vec::with_capacity(fields.len());
    for (position, field) in fields.iter().enumerate() {
        let path = path.map_or_else(|| field.name().clone(), |outer| child(outer, field));
        cells.clear();
        for row in rows {
            let Some(row) = row else {
                cells.push(None);
                continue;
            };
            let cell = row.cell(position)?;
            if cell.is_none() && !field.is_nullable() {
                return Err(required().in_record(row.record().into()).in_field(&path));
            }
            cells.push(cell);
        }
        columns.push(column(&cells, field, &path, room)?);
    }
    StructArray::try_new_with_length(fields.clone(), columns, nulls, rows.len()).map_err(Into::into)
}

/// Decodes rows within rows.
pub(super) fn rows(cells: &Cells<'_>, members: &Fields, path: &str, room: &mut u64) -> Result<StructArray> {
    let (rows, mut inner) =
        regions(cells, room, |bytes, cell| Row::nested(bytes, members.len(), cell.record()))?;
    fields(&rows, members, Some(path), nulls(cells), &mut inner)
}

/// Decodes arrays.
pub(super) fn lists(cells: &Cells<'_>, element: &FieldRef, path: &str, room: &mut u64) -> Result<ListArray> {
    let width = layout::element_bytes(element.data_type());
    let (arrays, mut inner) =
        regions(cells, room, |bytes, cell| Elements::array(bytes, width, cell.record()))?;
    let offsets = offsets(&arrays)?;
    let values = elements(arrays.into_iter().flatten(), element, path, &mut inner)?;
    ListArray::try_new(element.clone(), offsets, values, nulls(cells)).map_err(Into::into)
}

/// Decodes maps: the length of the key array, the key array, the value array.
pub(super) fn maps(
    cells: &Cells<'_>,
    entries: &FieldRef,
    sorted: bool,
    path: &str,
    room: &mut u64,
) -> Result<MapArray> {
    let DataType::Struct(members) = entries.data_type() else { return Err(not_a_map()) };
    let [key, value] = members.as_ref() else { return Err(not_a_map()) };
    let (pairs, mut inner) = regions(cells, room, |bytes, cell| entry_arrays(bytes, key, value, cell))?;
    let keys: Vec<_> = pairs.iter().map(|pair| pair.map(|(keys, _)| keys)).collect();
    let offsets = offsets(&keys)?;
    let columns = vec![
        elements(keys.into_iter().flatten(), key, path, &mut inner)?,
        elements(pairs.into_iter().flatten().map(|(_, values)| values), value, path, &mut inner)?,
    ];
    let pairs = StructArray::try_new(members.clone(), columns, None)?;
    MapArray::try_new(entries.clone(), offsets, pairs, nulls(cells), sorted).map_err(Into::into)
}

fn entry_arrays<'a>(
    bytes: &'a [u8],
    key: &Field,
    value: &Field,
    cell: &Cell<'_>,
) -> Result<(Elements<'a>, Elements<'a>)> {
    let (length, rest) = split_length(bytes, cell.record())?;
    let Some((keys, values)) = rest.split_at_checked(length as usize) else {
        return Err(cell.fault(ErrorKind::Length, "a map's keys are longer than the map"));
    };
    let keys = Elements::array(keys, layout::element_bytes(key.data_type()), cell.record())?;
    let values = Elements::array(values, layout::element_bytes(value.data_type()), cell.record())?;
    if keys.len() != values.len() {
        return Err(cell.fault(ErrorKind::Length, "a map does not have as many values as keys"));
    }
    Ok((keys, values))
}

/// Decodes vectors of `size` elements.
pub(super) fn vectors(
    cells: &Cells<'_>,
    element: &FieldRef,
    size: i32,
    path: &str,
    room: &mut u64,
) -> Result<FixedSizeListArray> {
    let length = usize::try_from(size).unwrap_or_default();
    let width = layout::element_bytes(element.data_type());
    let (vectors, _) = regions(cells, room, |bytes, cell| {
        let vector = Elements::vector(bytes, width, cell.record())?;
        let right = vector.len() == length;
        if right { Ok(vector) } else { Err(cell.fault(ErrorKind::Length, "a vector of another length")) }
    })?;
    let values: Vec<_> = vectors.iter().flatten().flat_map(|vector| vector.cells()).collect();
    let values = column(&values, element, &child(path, element), &mut 0)?;
    let nulls = nulls(cells);
    let values = match &nulls {
        Some(nulls) => spread(&values, length, nulls)?,
        None => values,
    };
    FixedSizeListArray::try_new_with_length(element.clone(), size, values, nulls, cells.len())
        .map_err(Into::into)
}

/// The elements of vectors with room for those of null vectors, which Arrow requires.
fn spread(values: &ArrayRef, length: usize, nulls: &NullBuffer) -> Result<ArrayRef> {
    if length.saturating_mul(nulls.null_count()) > MAX_NULL_ELEMENTS {
        return Err(Error::new(ErrorKind::Length, "the nulls among vectors this long take too much memory"));
    }
    let hole = new_null_array(values.data_type(), length);
    let mut next = 0;
    let pieces = nulls.iter().map(|present| {
        let start = next;
        next += if present { length } else { 0 };
        if present { values.slice(start, length) } else { hole.clone() }
    });
    let pieces: Vec<_> = pieces.collect();
    let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
    concat(&pieces).map_err(Into::into)
}

/// Decodes variants: the length of the value, the value, the metadata.
pub(super) fn variants(cells: &Cells<'_>, members: &Fields, room: &mut u64) -> Result<StructArray> {
    let (parts, _) = regions(cells, room, |bytes, cell| {
        let (length, rest) = split_length(bytes, cell.record())?;
        rest.split_at_checked(length as usize)
            .ok_or_else(|| cell.fault(ErrorKind::Length, "a variant's value is longer than the variant"))
    })?;
    let columns = variant_members(members)?.map(|is_value| -> ArrayRef {
        let part = |part: &Option<(_, _)>| {
            part.map_or(&[][..], |(value, metadata)| if is_value { value } else { metadata })
        };
        Arc::new(BinaryArray::from_iter_values(parts.iter().map(part)))
    });
    StructArray::try_new(members.clone(), columns.into(), nulls(cells)).map_err(Into::into)
}

/// For each of a variant's two members, whether it is the value (`true`) or the metadata.
pub(super) fn variant_members(members: &Fields) -> Result<[bool; 2]> {
    let binary = members.iter().all(|member| *member.data_type() == DataType::Binary);
    let names: Vec<&str> = members.iter().map(|member| member.name().as_str()).collect();
    match names[..] {
        ["value", "metadata"] if binary => Ok([true, false]),
        ["metadata", "value"] if binary => Ok([false, true]),
        _ => Err(Error::new(ErrorKind::Argument, "a variant is binary fields `value` and `metadata`")),
    }
}

/// What each cell points to, read by `read`, and the total size in bytes.
fn regions<'a, T>(
    cells: &Cells<'a>,
    room: &mut u64,
    read: impl Fn(&'a [u8], &Cell<'a>) -> Result<T>,
) -> Result<(Vec<Option<T>>, u64)> {
    let before = *room;
    let mut regions = Vec::with_capacity(cells.len());
    for cell in cells {
        regions.push(match cell {
            Some(cell) => Some(read(cell.variable(room)?, cell)?),
            None => None,
        });
    }
    Ok((regions, before - *room))
}

/// The offset of each array's elements among all elements.
fn offsets(arrays: &[Option<Elements<'_>>]) -> Result<OffsetBuffer<i32>> {
    let mut offsets = Vec::with_capacity(arrays.len() + 1);
    let mut end = 0;
    offsets.push(0);
    for array in arrays {
        end += array.map_or(0, |array| array.len());
        offsets.push(offset(end)?);
    }
    Ok(OffsetBuffer::new(offsets.into()))
}

/// Decodes the elements of all arrays as one column.
fn elements<'a>(
    arrays: impl Iterator<Item = Elements<'a>>,
    element: &Field,
    path: &str,
    room: &mut u64,
) -> Result<ArrayRef> {
    let path = child(path, element);
    let mut cells = Vec::new();
    for array in arrays {
        let before = cells.len();
        cells.extend(array.cells());
        if !element.is_nullable() && cells[before..].iter().any(Option::is_none) {
            return Err(required().in_record(array.record().into()).in_field(&path));
        }
    }
    column(&cells, element, &path, room)
}

/// The place of a field within the one at `path`.
pub(super) fn child(path: &str, field: &Field) -> String {
    format!("{path}.{}", field.name())
}

#[cold]
fn not_a_map() -> Error {
    Error::new(ErrorKind::Argument, "a map is keys and values")
}
