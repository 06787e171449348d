//! Typed statistics of the requested columns, read from SimpleStats (Paimon's `SimpleStatsEvolution.java`).

mod retyped;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Fields};
use arrow_select::nullif::nullif;

pub use self::retyped::BoundsConversion;
use self::retyped::WrittenTypes;
use super::binary_row::arity;
use super::fields::{SimpleStats, texts_at};
use super::schema::TableSchema;
use super::types::{DataField, show};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::column;

/// The columns of [`ENTRY`](super::fields::ENTRY) that typed statistics are made of.
pub const STATS_INPUT: [&str; 5] =
    ["row_count", "value_stats", "schema_id", "value_stats_cols", "write_cols"];

/// The columns that statistics of keys are made of.
pub(crate) const KEY_STATS_INPUT: [&str; 3] = ["row_count", "key_stats", "schema_id"];

/// Which statistics of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatsSource {
    /// Those of the file's columns, or of the columns that it names.
    Values,
    /// Those of the trimmed primary key.
    Keys,
}

/// The names of a file's columns.
type Names = Vec<Option<String>>;

/// The statistics of some columns, in the types of the current schema.
#[derive(Debug)]
pub struct StatsView {
    of: StatsSource,
    columns: Vec<DataField>,
    schemas: BTreeMap<i64, TableSchema>,
    fields: Fields,
    retyped: BoundsConversion,
    /// Receives notes on bounds that views cannot show.
    notes: Notes,
}

/// The Arrow type of one column's statistics, with bounds of the type `bound`.
fn stats_type(bound: DataType) -> DataType {
    let count = |name| Field::new(name, DataType::Int64, true);
    DataType::Struct(Fields::from(vec![
        count("value_count"),
        count("null_count"),
        count("nan_count"),
        count("column_size"),
        Field::new("lower_bound", bound.clone(), true),
        Field::new("upper_bound", bound, true),
    ]))
}

/// Where a file's statistics have a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatsPlace {
    /// At this position of the bound rows and null counts, in the type that this schema has for it.
    At { position: usize, schema_id: i64 },
    /// The file has the column, its statistics do not: nothing is known.
    NotCollected,
    /// The file does not have the column: it is null in all of its rows.
    NotThere,
}

impl StatsView {
    /// Resolves column names against `schema`; `schemas` are all versions that files may have.
    pub fn new(
        names: &[String],
        schema: &TableSchema,
        schemas: BTreeMap<i64, TableSchema>,
        retyped: BoundsConversion,
    ) -> Result<StatsView> {
        let find = |name: &String| {
            schema.field_by_name(name).cloned().ok_or_else(|| {
                let known: Vec<&str> = schema.fields.iter().map(|field| field.name.as_str()).collect();
                let message = format!("no column {name:?}; the table has {}", known.join(", "));
                Error::new(ErrorKind::UnknownColumn, message).in_field(name)
            })
        };
        let columns = names.iter().map(find).collect::<Result<Vec<_>>>()?;
        let field = |column: &DataField| Field::new(&column.name, stats_type(column.ty.view_type()), true);
        let fields = columns.iter().map(field).collect();
        Ok(StatsView { of: StatsSource::Values, columns, schemas, fields, retyped, notes: Notes::default() })
    }

    /// The same with bounds as they are stored, for pruning and for texts.
    #[must_use]
    pub(crate) fn with_stored_bounds(self) -> StatsView {
        let field = |column: &DataField| Field::new(&column.name, stats_type(column.ty.exact_type()), true);
        StatsView { fields: self.columns.iter().map(field).collect(), ..self }
    }

    /// The same, which adds to `notes` what views cannot show.
    #[must_use]
    pub(crate) fn noting(self, notes: &Notes) -> StatsView {
        StatsView { notes: notes.clone(), ..self }
    }

    /// The same columns, which must be keys, read from the statistics of keys.
    #[must_use]
    pub(crate) fn of_keys(self) -> StatsView {
        StatsView { of: StatsSource::Keys, ..self }
    }

    /// The columns of [`ENTRY`](super::fields::ENTRY) that it is made of.
    pub(crate) fn input(&self) -> &'static [&'static str] {
        match self.of {
            StatsSource::Values => &STATS_INPUT,
            StatsSource::Keys => &KEY_STATS_INPUT,
        }
    }

    /// The bound rows and the null counts.
    fn stored<'e>(&self, entries: &'e RecordBatch) -> Result<SimpleStats<'e>> {
        SimpleStats::of(entries, if self.of == StatsSource::Keys { "key_stats" } else { "value_stats" })
    }

    /// For each row the names of the columns with statistics, where it names them.
    fn named<'e>(
        &self,
        entries: &'e RecordBatch,
    ) -> Result<impl Fn(usize) -> Result<Option<Names>> + use<'e>> {
        let lists = match self.of {
            StatsSource::Values => vec![column(entries, "value_stats_cols")?, column(entries, "write_cols")?],
            StatsSource::Keys => Vec::new(),
        };
        Ok(move |row| {
            let names = lists.iter().find_map(|list| texts_at(list, row).transpose()).transpose()?;
            Ok(names.map(|names| names.iter().map(|name| name.map(str::to_owned)).collect()))
        })
    }

    /// The type of the `stats` column.
    pub fn data_type(&self) -> DataType {
        DataType::Struct(self.fields.clone())
    }

    /// The statistics of each row of `entries`, which have the columns of [`STATS_INPUT`].
    ///
    /// Bounds that were written in another type are cast to the type of the column, or null where the cast
    /// values need not be within them; a null count is null where the cast may have made more nulls.
    pub fn build(&self, entries: &RecordBatch) -> Result<ArrayRef> {
        let places = self.places(entries)?;
        let columns = self.columns.iter().zip(&self.fields).enumerate().map(|(number, (column, field))| {
            let places = places.iter().map(|row| row[number]).collect::<Vec<_>>();
            self.build_column(column, field, entries, &places).map_err(|error| error.in_field(&column.name))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        built(StructArray::try_new_with_length(self.fields.clone(), columns, None, entries.num_rows()))
    }

    /// Where the statistics have each requested column, row by row; rows with the same layout share the
    /// answer.
    fn places(&self, entries: &RecordBatch) -> Result<Vec<Arc<[StatsPlace]>>> {
        let schema_ids = column::<Int64Array>(entries, "schema_id")?;
        let named = self.named(entries)?;
        let stats = self.stored(entries)?;
        let mut places: Vec<Arc<[StatsPlace]>> = Vec::with_capacity(entries.num_rows());
        let mut layouts: BTreeMap<_, Arc<[StatsPlace]>> = BTreeMap::new();
        for row in 0..entries.num_rows() {
            let names = named(row)?;
            let bounds = stats.lower.value(row);
            // Some writers store an empty value instead of a row without columns.
            let width = if bounds.is_empty() { 0 } else { arity(bounds)? };
            let key = (schema_ids.value(row), width, names);
            let known = match layouts.get(&key) {
                Some(known) => Arc::clone(known),
                None => {
                    let made = self.layout(key.0, key.1, key.2.as_deref())?;
                    layouts.insert(key, Arc::clone(&made));
                    made
                }
            };
            places.push(known);
        }
        Ok(places)
    }

    fn layout(
        &self,
        schema_id: i64,
        width: usize,
        names: Option<&[Option<String>]>,
    ) -> Result<Arc<[StatsPlace]>> {
        let schema = self.schemas.get(&schema_id).ok_or_else(|| {
            Error::new(
                ErrorKind::Missing,
                format!("files were written with schema {schema_id}, which does not exist"),
            )
        })?;
        let all: Vec<i32> = match self.of {
            StatsSource::Values => schema.fields.iter().map(|field| field.id).collect(),
            StatsSource::Keys => schema.trimmed_primary_keys().iter().map(|field| field.id).collect(),
        };
        let place = |column: &DataField| {
            let Some(written) = schema.field_by_id(column.id) else { return StatsPlace::NotThere };
            let position = match names {
                Some(names) => names.iter().position(|name| name.as_deref() == Some(&written.name)),
                None => all.iter().position(|id| *id == column.id),
            };
            let count = names.map_or(all.len(), <[_]>::len);
            match position {
                // Without as many names as columns, they cannot be matched.
                Some(position) if width == count => StatsPlace::At { position, schema_id },
                _ => StatsPlace::NotCollected,
            }
        };
        Ok(self.columns.iter().map(place).collect())
    }

    fn build_column(
        &self,
        column: &DataField,
        field: &Field,
        entries: &RecordBatch,
        places: &[StatsPlace],
    ) -> Result<ArrayRef> {
        let DataType::Struct(fields) = field.data_type() else {
            return Err(Error::new(ErrorKind::Argument, "statistics are a struct"));
        };
        let stats = self.stored(entries)?;
        let row_counts = crate::record::column::<Int64Array>(entries, "row_count")?;
        let written = WrittenTypes::new(places, |schema_id| {
            self.schemas
                .get(&schema_id)
                .and_then(|schema| schema.field_by_id(column.id))
                .map(|field| &field.ty)
        });
        let bounds = written.bounds([stats.lower, stats.upper], places, column, self.retyped)?;
        let bound_type = fields.find("lower_bound").map_or(&DataType::Null, |(_, field)| field.data_type());
        let [lower, upper] = bounds.map(|bound| show(&bound, bound_type, &column.name, &self.notes));
        let (lower, upper) = (lower?, upper?);
        let counts = null_counts(&stats, row_counts, places);
        let null_counts: ArrayRef = match self.retyped {
            BoundsConversion::Sound => {
                let bounds = [&lower, &upper];
                let more = written.may_have_more_nulls(&column.ty, row_counts, &counts, bounds);
                nullif(&counts, &more).map_err(of_stats)?
            }
            BoundsConversion::Engine => Arc::new(counts),
        };
        let unknown = new_null_array(&DataType::Int64, entries.num_rows());
        let nan_counts: ArrayRef = match self.retyped {
            BoundsConversion::Sound => Arc::new(written.nan_counts(&column.ty)),
            BoundsConversion::Engine => Arc::clone(&unknown),
        };
        let arrays =
            vec![Arc::new(row_counts.clone()) as ArrayRef, null_counts, nan_counts, unknown, lower, upper];
        built(StructArray::try_new(fields.clone(), arrays, None))
    }
}

fn null_counts(stats: &SimpleStats<'_>, row_counts: &Int64Array, places: &[StatsPlace]) -> Int64Array {
    let counts = places.iter().enumerate().map(|(row, place)| match place {
        StatsPlace::NotThere => Some(row_counts.value(row)),
        StatsPlace::At { position, .. } => stats.null_count(row, *position),
        StatsPlace::NotCollected => None,
    });
    counts.collect()
}

fn built(array: Result<StructArray, impl Into<Error>>) -> Result<ArrayRef> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(of_stats)
}

fn of_stats(error: impl Into<Error>) -> Error {
    error.into().in_field("stats")
}
