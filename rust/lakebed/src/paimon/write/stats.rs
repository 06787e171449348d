//! Converts typed statistics to SimpleStats (Paimon's `SimpleStatsConverter.java`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, ListArray, StructArray, UInt32Array,
    new_null_array,
};
use arrow_schema::{DataType, Field, Fields};
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use super::fit::{fit, fit_stored};
use super::options::{StatsMode, is_on};
use super::truncate::truncated;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::binary_row::encode_rows;
use crate::paimon::fields::{simple_stats, texts_at};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::DataField;
use crate::record::typed;

/// Statistics of keys are cut to this many code points or bytes.
const KEY_LENGTH: usize = 128;

/// The columns of a file unless it has all, and for each column whether its statistics are stored.
type StoredColumns = (Option<Vec<String>>, Vec<bool>);

/// A caller's statistics of one column, one row per file.
struct ColumnStats {
    id: i32,
    mode: StatsMode,
    null_counts: Int64Array,
    lower: ArrayRef,
    upper: ArrayRef,
}

/// A caller's statistics of the columns of files.
pub(super) struct TypedStats {
    columns: Vec<ColumnStats>,
    rows: usize,
}

impl TypedStats {
    /// Takes the column `stats` of files, a struct of a struct for each of some columns of `schema`, as views
    /// have it; `None` if nothing is known.
    ///
    /// # Errors
    /// `UnknownColumn` for an unknown column, `Argument` for an unknown statistic and for bounds that do not
    /// fit their column, all with the field.
    pub(super) fn new(given: Option<&ArrayRef>, schema: &TableSchema, rows: usize) -> Result<TypedStats> {
        let Some(given) = given else { return Ok(TypedStats { columns: Vec::new(), rows }) };
        let structs = given.as_struct_opt().ok_or_else(|| no_struct(given))?;
        let columns = structs.fields().iter().zip(structs.columns()).map(|(field, column)| {
            let known = schema.field_by_name(field.name()).ok_or_else(|| {
                let message = format!("the table has no column {:?}", field.name());
                Error::new(ErrorKind::UnknownColumn, message)
            });
            let mode = StatsMode::of(schema, field.name());
            known
                .and_then(|known| ColumnStats::new(column, known, mode?))
                .map_err(|error| error.within(field.name()))
        });
        Ok(TypedStats { columns: columns.collect::<Result<_>>()?, rows })
    }

    fn of(&self, id: i32) -> Option<&ColumnStats> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// The columns `value_stats` and `value_stats_cols` of files that have all columns of `schema`, or those
    /// of `write_cols`. Columns without statistics are left out where the table stores statistics densely,
    /// else they are null.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that the file does not have; those of encoding rows.
    pub(super) fn values(
        &self,
        schema: &TableSchema,
        write_cols: &ListArray,
    ) -> Result<(ArrayRef, ArrayRef)> {
        let dense = is_on(schema, "metadata.stats-dense-store", true);
        let mut groups: BTreeMap<StoredColumns, Vec<u32>> = BTreeMap::new();
        for (row, number) in numbers(self.rows)?.into_iter().enumerate() {
            let names = texts_at(write_cols, row)?;
            let names: Option<Vec<String>> =
                names.map(|names| names.iter().map(|name| name.unwrap_or_default().to_owned()).collect());
            let written = written(schema, names.as_deref()).map_err(|error| error.in_row(row))?;
            let kept = written.iter().map(|(_, field)| {
                !dense || field.and_then(|field| self.of(field.id)).is_some_and(|column| column.knows(row))
            });
            let key = (names.clone(), kept.collect());
            groups.entry(key).or_default().push(number);
        }
        let mut made = RowStats::new(self.rows);
        for ((names, kept), rows) in groups {
            let written = written(schema, names.as_deref())?;
            let whole = kept.iter().all(|kept| *kept);
            let columns = || written.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(column, _)| column);
            let named = (!whole).then(|| columns().map(|(name, _)| (*name).to_owned()).collect());
            let fields: Vec<_> = columns().map(|(name, field)| (*name, *field)).collect();
            made.put(&rows, &self.rows_of(&fields, &rows)?, named);
        }
        made.finish()
    }

    /// The column `key_stats` of files whose keys are the columns `keys`; keys are never null.
    pub(super) fn keys(&self, keys: &[&DataField]) -> Result<ArrayRef> {
        let rows = numbers(self.rows)?;
        let cut = |key: &&DataField| {
            let (lower, upper) = match self.of(key.id) {
                Some(column) => truncated(&column.lower, &column.upper, KEY_LENGTH),
                None => {
                    let none = new_null_array(&key.ty.exact_type(), self.rows);
                    (Arc::clone(&none), none)
                }
            };
            let null_counts = Int64Array::from_value(0, self.rows);
            ColumnStats { id: key.id, mode: StatsMode::Full, null_counts, lower, upper }
        };
        let cut = TypedStats { columns: keys.iter().map(cut).collect(), rows: self.rows };
        let fields: Vec<_> = keys.iter().map(|key| (key.name.as_str(), Some(*key))).collect();
        let mut made = RowStats::new(self.rows);
        made.put(&rows, &cut.rows_of(&fields, &rows)?, None);
        Ok(made.finish()?.0)
    }

    /// The statistics of some rows: two structs of bounds, and null counts.
    fn rows_of(&self, fields: &[(&str, Option<&DataField>)], rows: &[u32]) -> Result<StatsRows> {
        let picked = UInt32Array::from(rows.to_vec());
        let mut stored = Vec::with_capacity(fields.len());
        let mut bounds: [Vec<ArrayRef>; 2] = [Vec::new(), Vec::new()];
        let mut null_counts = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            let ty = field.map_or(DataType::Int64, |field| field.ty.exact_type());
            let column = field.and_then(|field| self.of(field.id));
            let counts = match column {
                Some(column) => take(&column.null_counts, &picked, None)?,
                None => new_null_array(&DataType::Int64, rows.len()),
            };
            null_counts.push(typed::<Int64Array>(&counts, "null_count")?.clone());
            for (side, bounds) in bounds.iter_mut().enumerate() {
                bounds.push(match column {
                    Some(column) => take([&column.lower, &column.upper][side], &picked, None)?,
                    None => new_null_array(&ty, rows.len()),
                });
            }
            stored.push(field.map_or_else(
                || Field::new(*name, DataType::Int64, true),
                |field| field.ty.exact_field(name),
            ));
        }
        let stored = Fields::from(stored);
        let encode = |columns: Vec<ArrayRef>| {
            let rows = StructArray::try_new_with_length(stored.clone(), columns, None, rows.len());
            encode_rows(&rows?, &stored)
        };
        let [lower, upper] = bounds;
        Ok(StatsRows { lower: encode(lower)?, upper: encode(upper)?, null_counts })
    }
}

impl ColumnStats {
    fn new(given: &ArrayRef, column: &DataField, mode: StatsMode) -> Result<ColumnStats> {
        const KNOWN: [&str; 6] =
            ["value_count", "null_count", "nan_count", "column_size", "lower_bound", "upper_bound"];
        let structs = given.as_struct_opt().ok_or_else(|| no_struct(given))?;
        if let Some(field) = structs.fields().iter().find(|field| !KNOWN.contains(&field.name().as_str())) {
            let message = format!("{:?} is not a statistic; there are {}", field.name(), KNOWN.join(", "));
            return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(field.name()));
        }
        let part = |name: &str| structs.column_by_name(name).map(|part| masked(part, structs)).transpose();
        let ty = column.ty.exact_type();
        let bounded = !matches!(mode, StatsMode::None | StatsMode::Counts) && !ty.is_nested();
        let bound = |name| match part(name)?.filter(|_| bounded) {
            Some(part) => fit_stored(&part, &column.ty).map_err(|error| error.in_field(name)),
            None => Ok(new_null_array(&ty, structs.len())),
        };
        let (mut lower, mut upper) = (bound("lower_bound")?, bound("upper_bound")?);
        if let StatsMode::Truncate(length) = mode {
            (lower, upper) = truncated(&lower, &upper, length);
        }
        let counts = match part("null_count")?.filter(|_| mode != StatsMode::None) {
            Some(counts) => fit(&counts, &DataType::Int64).map_err(|error| error.in_field("null_count"))?,
            None => new_null_array(&DataType::Int64, structs.len()),
        };
        let null_counts = typed::<Int64Array>(&counts, "null_count")?.clone();
        Ok(ColumnStats { id: column.id, mode, null_counts, lower, upper })
    }

    /// Whether any statistic of the column is known for a file.
    fn knows(&self, row: usize) -> bool {
        self.mode != StatsMode::None
            && (self.null_counts.is_valid(row) || self.lower.is_valid(row) || self.upper.is_valid(row))
    }
}

/// A member of structs; null where the struct is null.
fn masked(part: &ArrayRef, structs: &StructArray) -> Result<ArrayRef> {
    match structs.nulls() {
        Some(nulls) => {
            let null = BooleanArray::new(!nulls.inner(), None);
            nullif(part, &null).map_err(Into::into)
        }
        None => Ok(Arc::clone(part)),
    }
}

/// The columns of a file: the named ones, or all of its schema; `None` for columns that the engine adds
/// itself.
fn written<'s>(
    schema: &'s TableSchema,
    names: Option<&'s [String]>,
) -> Result<Vec<(&'s str, Option<&'s DataField>)>> {
    let Some(names) = names else {
        return Ok(schema.fields.iter().map(|field| (field.name.as_str(), Some(field))).collect());
    };
    let column = |name: &'s String| match schema.field_by_name(name) {
        None if !["_ROW_ID", "_SEQUENCE_NUMBER"].contains(&name.as_str()) => {
            let message = format!("the table has no column {name:?}");
            Err(Error::new(ErrorKind::UnknownColumn, message).in_field("write_cols"))
        }
        field => Ok((name.as_str(), field)),
    };
    names.iter().map(column).collect()
}

/// The numbers of so many files.
fn numbers(files: usize) -> Result<Vec<u32>> {
    Ok((0..fitting(u32::try_from(files).ok(), "the number of files")?).collect())
}

/// Statistics of some files.
struct StatsRows {
    lower: BinaryArray,
    upper: BinaryArray,
    /// One array per column.
    null_counts: Vec<Int64Array>,
}

/// Statistics that are made group by group and put back at their rows.
struct RowStats {
    lower: Vec<Vec<u8>>,
    upper: Vec<Vec<u8>>,
    null_counts: Vec<Vec<Option<i64>>>,
    named: Vec<Option<Vec<String>>>,
}

impl RowStats {
    fn new(rows: usize) -> RowStats {
        let rows_of = || vec![Vec::new(); rows];
        RowStats {
            lower: rows_of(),
            upper: rows_of(),
            null_counts: vec![Vec::new(); rows],
            named: vec![None; rows],
        }
    }

    fn put(&mut self, rows: &[u32], stats: &StatsRows, named: Option<Vec<String>>) {
        for (from, to) in rows.iter().map(|row| *row as usize).enumerate() {
            self.lower[to] = stats.lower.value(from).to_vec();
            self.upper[to] = stats.upper.value(from).to_vec();
            let counts = stats.null_counts.iter();
            self.null_counts[to] =
                counts.map(|counts| counts.is_valid(from).then(|| counts.value(from))).collect();
            self.named[to].clone_from(&named);
        }
    }

    /// The columns `value_stats` and `value_stats_cols`.
    fn finish(self) -> Result<(ArrayRef, ArrayRef)> {
        let mut counts = ListBuilder::new(Int64Builder::new());
        self.null_counts.into_iter().for_each(|row| counts.append_value(row));
        let mut named = ListBuilder::new(StringBuilder::new());
        for names in self.named {
            named.append_option(names.map(|names| names.into_iter().map(Some)));
        }
        let DataType::Struct(fields) = simple_stats() else {
            return Err(Error::new(ErrorKind::Argument, "statistics are a struct"));
        };
        let rows = |rows: &[Vec<u8>]| Arc::new(BinaryArray::from_iter_values(rows)) as ArrayRef;
        let columns = vec![rows(&self.lower), rows(&self.upper), Arc::new(counts.finish()) as ArrayRef];
        let stats = StructArray::try_new(fields, columns, None)?;
        Ok((Arc::new(stats), Arc::new(named.finish())))
    }
}

/// The columns `value_stats` and `value_stats_cols` of files whose statistics were dropped.
pub(super) fn dropped(files: usize) -> Result<(ArrayRef, ArrayRef)> {
    let none = TypedStats { columns: Vec::new(), rows: files };
    let rows = numbers(files)?;
    let mut made = RowStats::new(files);
    made.put(&rows, &none.rows_of(&[], &rows)?, Some(Vec::new()));
    made.finish()
}

#[cold]
fn no_struct(given: &ArrayRef) -> Error {
    Error::new(ErrorKind::Argument, format!("statistics are a struct, not {}", given.data_type()))
}
