//! Rewrites the paths in manifest lists and manifests.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    UInt32Array,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::take::take;
use lakebed_avro::Limits;
use lakebed_avro::schema::Schema;

use super::super::fields::{FILE_PATH_ID, POSITION_DELETES};
use super::super::manifest::canonical::{canonical_entry, canonical_list, canonical_prefixed_entry};
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite_paths::avro::{Edit, column_at, place_of, rewritten, rewritten_as, with_column};
use crate::rewrite_paths::{Lengths, Prefixes};

/// A manifest list with its paths rewritten, and with the lengths of the copied manifests.
///
/// # Errors
/// Those of [`rewritten`]; `Location` for a path that no prefix covers.
pub(super) fn list(bytes: &Buffer, limits: Limits, prefixes: &Prefixes, copied: &Lengths) -> Result<Vec<u8>> {
    rewritten(bytes, limits, |schema| {
        let (schema, _) = canonical_list(schema.clone())?;
        let path = needed(&schema, &["manifest_path"])?;
        let length = place_of(&schema, &["manifest_length"]);
        Ok(Box::new(move |rows| {
            let paths = column_at(rows, &path)?;
            let mut edited = with_column(rows, &path, prefixes.moved_column(&paths)?)?;
            if let Some(length) = &length {
                let known = |path: &str| copied.get(path).map(|copied| copied.length);
                let lengths = lengths(&column_at(rows, length)?, texts(&paths)?, |_| true, known)?;
                edited = with_column(&edited, length, lengths)?;
            }
            Ok(edited)
        }))
    })
}

/// A manifest with its paths rewritten, and with the lengths of the copied delete files. `fixed` partition
/// values keep the length before them that Iceberg's Java library writes in contradiction to its own schema.
///
/// # Errors
/// As [`list`].
pub(super) fn manifest(
    bytes: &Buffer,
    limits: Limits,
    prefixes: &Prefixes,
    copied: &Lengths,
) -> Result<Vec<u8>> {
    let edit = |schema: &Schema| {
        let places = Places::of(schema)?;
        let edit: Edit<'_> = Box::new(move |entries| places.edited(entries, prefixes, copied));
        Ok(edit)
    };
    let prefixed = |schema| canonical_prefixed_entry(schema).map(|(stored, _)| stored);
    rewritten(bytes, limits, edit).or_else(|error| {
        // If that fails too, the first error is returned.
        rewritten_as(bytes, limits, prefixed, edit).map_err(|_| error)
    })
}

/// The positions of the fields of entries.
struct Places {
    path: Vec<usize>,
    content: Option<Vec<usize>>,
    size: Option<Vec<usize>>,
    referenced: Option<Vec<usize>>,
    bounds: [Option<Vec<usize>>; 2],
}

impl Places {
    fn of(schema: &Schema) -> Result<Places> {
        let (schema, _) = canonical_entry(schema.clone())?;
        let at = |name: &str| place_of(&schema, &["data_file", name]);
        Ok(Places {
            path: needed(&schema, &["data_file", "file_path"])?,
            content: at("content"),
            size: at("file_size_in_bytes"),
            referenced: at("referenced_data_file"),
            bounds: ["lower_bounds", "upper_bounds"].map(at),
        })
    }

    fn edited(&self, entries: &RecordBatch, prefixes: &Prefixes, copied: &Lengths) -> Result<RecordBatch> {
        let paths = column_at(entries, &self.path)?;
        let mut edited = with_column(entries, &self.path, prefixes.moved_column(&paths)?)?;
        if let Some(place) = &self.referenced {
            let referenced = column_at(entries, place)?;
            edited = with_column(&edited, place, prefixes.moved_column(&referenced)?)?;
        }
        let Some(content) = &self.content else { return Ok(edited) };
        let content = column_at(entries, content)?;
        let content = content.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong("content"))?;
        let deletes = |row: usize| content.is_valid(row) && content.value(row) == POSITION_DELETES;
        if !(0..entries.num_rows()).any(deletes) {
            return Ok(edited);
        }
        if let Some(place) = &self.size {
            let known = |path: &str| copied.get(path).map(|copied| copied.length);
            let sizes = lengths(&column_at(entries, place)?, texts(&paths)?, deletes, known)?;
            edited = with_column(&edited, place, sizes)?;
        }
        self.with_bounds(entries, edited, &deletes, prefixes)
    }

    /// Rewrites the path bounds of position delete files that are of a single data file. Other files lose
    /// these bounds, since the new paths may be in another order (`ContentFileUtil.java`).
    fn with_bounds(
        &self,
        entries: &RecordBatch,
        mut edited: RecordBatch,
        deletes: &dyn Fn(usize) -> bool,
        prefixes: &Prefixes,
    ) -> Result<RecordBatch> {
        let [Some(lower), Some(upper)] = &self.bounds else { return Ok(edited) };
        let columns = [column_at(entries, lower)?, column_at(entries, upper)?];
        let maps = [BoundsColumn::of(&columns[0])?, BoundsColumn::of(&columns[1])?];
        let referenced = self.referenced.as_ref().map(|place| column_at(entries, place)).transpose()?;
        let referenced = referenced.as_ref().map(texts).transpose()?;
        let mut paths = Vec::with_capacity(entries.num_rows());
        for row in 0..entries.num_rows() {
            let named = referenced.filter(|paths| paths.is_valid(row)).map(|paths| paths.value(row));
            let [lower, upper] = maps.each_ref().map(|map| map.value(row, FILE_PATH_ID));
            let both = lower.filter(|lower| Some(*lower) == upper);
            let path = named.or_else(|| both.and_then(|path| std::str::from_utf8(path).ok()));
            paths.push(if deletes(row) { path.map(|path| prefixes.moved(path)).transpose()? } else { None });
        }
        for (place, map) in [lower, upper].into_iter().zip(maps) {
            edited = with_column(&edited, place, map.exchanged(deletes, &paths)?)?;
        }
        Ok(edited)
    }
}

/// A column of binary values by field id: a map, or a list of keys and values.
struct BoundsColumn<'c> {
    column: &'c ArrayRef,
    offsets: &'c OffsetBuffer<i32>,
    entries: &'c StructArray,
    keys: &'c Int32Array,
    values: &'c BinaryArray,
}

impl<'c> BoundsColumn<'c> {
    fn of(column: &'c ArrayRef) -> Result<BoundsColumn<'c>> {
        let (offsets, entries) = match (column.as_map_opt(), column.as_list_opt::<i32>()) {
            (Some(maps), _) => (maps.offsets(), Some(maps.entries())),
            (_, Some(lists)) => (lists.offsets(), lists.values().as_struct_opt()),
            _ => return Err(wrong("bounds")),
        };
        let entries = entries.ok_or_else(|| wrong("bounds"))?;
        let [keys, values] = entries.columns() else { return Err(wrong("bounds")) };
        let keys = keys.as_primitive_opt::<Int32Type>().ok_or_else(|| wrong("bounds"))?;
        let values = values.as_binary_opt::<i32>().ok_or_else(|| wrong("bounds"))?;
        Ok(BoundsColumn { column, offsets, entries, keys, values })
    }

    /// The range of a row's entries.
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let at = |place: usize| self.offsets.get(place).and_then(|at| usize::try_from(*at).ok()).unwrap_or(0);
        if self.column.is_null(row) { 0..0 } else { at(row)..at(row + 1) }
    }

    fn value(&self, row: usize, id: i32) -> Option<&'c [u8]> {
        let place = self.range(row).find(|place| self.keys.value(*place) == id)?;
        self.values.is_valid(place).then(|| self.values.value(place))
    }

    /// The column with the bound of the paths replaced by the row's path, or removed where the row has none.
    fn exchanged(&self, deletes: &dyn Fn(usize) -> bool, paths: &[Option<String>]) -> Result<ArrayRef> {
        let (mut taken, mut lengths, mut values) = (Vec::new(), Vec::new(), BinaryBuilder::new());
        for (row, path) in paths.iter().enumerate() {
            let before = taken.len();
            for place in self.range(row) {
                let is_path = deletes(row) && self.keys.value(place) == FILE_PATH_ID;
                match path {
                    None if is_path => continue,
                    Some(path) if is_path => values.append_value(path),
                    _ if self.values.is_null(place) => values.append_null(),
                    _ => values.append_value(self.values.value(place)),
                }
                taken.push(u32::try_from(place).map_err(|_| wrong("bounds"))?);
            }
            lengths.push(taken.len() - before);
        }
        let keys = take(self.keys, &UInt32Array::from(taken), None)?;
        let columns: Vec<ArrayRef> = vec![keys, Arc::new(values.finish())];
        let entries = StructArray::try_new(self.entries.fields().clone(), columns, None)?;
        let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), self.column.nulls().cloned());
        Ok(match self.column.data_type() {
            DataType::Map(field, sorted) => {
                Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
            }
            DataType::List(field) => {
                Arc::new(ListArray::try_new(Arc::clone(field), offsets, Arc::new(entries), nulls)?)
            }
            _ => return Err(wrong("bounds")),
        })
    }
}

/// The lengths of files whose new length is known by path.
fn lengths(
    column: &ArrayRef,
    paths: &StringArray,
    is_meant: impl Fn(usize) -> bool,
    known: impl Fn(&str) -> Option<u64>,
) -> Result<ArrayRef> {
    let stored = column.as_primitive_opt::<Int64Type>().ok_or_else(|| wrong("lengths"))?;
    let mut lengths = Int64Builder::with_capacity(stored.len());
    for (row, length) in stored.iter().enumerate() {
        let now = if is_meant(row) && paths.is_valid(row) { known(paths.value(row)) } else { None };
        lengths.append_option(now.and_then(|now| i64::try_from(now).ok()).or(length));
    }
    Ok(Arc::new(lengths.finish()))
}

fn texts(column: &ArrayRef) -> Result<&StringArray> {
    column.as_string_opt::<i32>().ok_or_else(|| wrong("paths"))
}

fn needed(schema: &Schema, path: &[&str]) -> Result<Vec<usize>> {
    place_of(schema, path).ok_or_else(|| {
        let field = path.join(".");
        Error::new(ErrorKind::Required, format!("the file has no field {field}")).in_field(&field)
    })
}

#[cold]
fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Type, format!("{what} are stored in a type that the format does not allow"))
}
