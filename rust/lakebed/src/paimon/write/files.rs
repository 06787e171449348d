//! Files that callers add, as manifest entries.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int8Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::DataType;
use arrow_select::zip::zip;

use super::fit::fit;
use super::place::{Buckets, names, partitions};
use super::stats::TypedStats;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::field::{DATA, longs, texts};
use crate::paimon::binary_row::decode_rows;
use crate::paimon::fields::{ENTRY, texts_at};
use crate::paimon::manifest::ADD;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::{POSTPONE_BUCKET, is_file_name};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::DataField;
use crate::paimon::view::files_columns;
use crate::record::{record_schema, typed};

/// The row without fields, which files without primary keys have as keys.
const NO_KEY: [u8; 12] = [0; 12];

/// How files were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By writing rows.
    Written,
    /// By compacting others.
    Compacted,
    /// As a changelog.
    Changelog,
}

impl Origin {
    /// The value of `file_source` in entries.
    fn source(self) -> i32 {
        i32::from(self == Origin::Compacted)
    }
}

/// The entries that add `files` to a table, in their order.
///
/// `files` has columns of the view `files`, and `stats`; `now` is the wall-clock time [µs since 1970].
/// Sequence numbers and row ids of tables that track rows are not assigned yet.
///
/// # Errors
/// `UnknownColumn` and `Argument` for columns that the view does not have or of other types, `Required` for a
/// required column that is missing or null, `Unsupported` for tables that need more than entries; each with
/// column and row.
pub(super) fn entries(
    files: &RecordBatch,
    location: &str,
    schema: &TableSchema,
    now: i64,
    origin: Origin,
) -> Result<RecordBatch> {
    let given = InputFiles { files, rows: files.num_rows() };
    given.check_names(&files_columns().chain(["stats"]).collect::<Vec<_>>())?;
    given.check_contents()?;
    let partition = PartitionType::new(schema);
    let partitions = partitions(files.column_by_name("partition"), &partition, given.rows);
    let partitions: ArrayRef = Arc::new(partitions.map_err(|error| error.within("partition"))?);
    let (buckets, totals) = given.buckets(Buckets::of(schema, origin == Origin::Compacted)?)?;
    let places = [("partition", Arc::clone(&partitions)), ("bucket", Arc::clone(&buckets))];
    let places = RecordBatch::try_from_iter(places)?;
    let paths = given.required("file_path", &DataType::Utf8)?;
    let (names, external) = names(typed(&paths, "file_path")?, location, schema, &places)
        .map_err(|error| error.in_field("file_path"))?;
    check_postponed(&names, &buckets)?;
    let keys = schema.trimmed_primary_keys();
    let (min_keys, max_keys) = (given.keys("min_key", &keys)?, given.keys("max_key", &keys)?);
    let write_cols = given.optional("write_cols", &texts())?;
    let stats = TypedStats::new(files.column_by_name("stats"), schema, given.rows);
    let stats = stats.map_err(|error| error.within("stats"))?;
    let (value_stats, value_stats_cols) = stats.values(schema, typed(&write_cols, "write_cols")?)?;
    let record_counts = given.counts("record_count")?;
    let (min_sequences, max_sequences) = given.sequences(&record_counts, !keys.is_empty())?;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int8Array::from_value(ADD, given.rows)),
        partitions,
        buckets,
        totals,
        Arc::new(names),
        given.counts("file_size_in_bytes")?,
        record_counts,
        min_keys,
        max_keys,
        stats.keys(&keys)?,
        value_stats,
        min_sequences,
        max_sequences,
        given.schema_ids(schema)?,
        given.levels(!keys.is_empty() && origin != Origin::Changelog)?,
        given.extra_files()?,
        given
            .filled("created_at", || TimestampMicrosecondArray::from_value(now / 1000 * 1000, given.rows))?,
        given.delete_counts(!keys.is_empty())?,
        given.optional("embedded_file_index", &DataType::Binary)?,
        given.filled("file_source", || Int32Array::from_value(origin.source(), given.rows))?,
        value_stats_cols,
        Arc::new(external),
        given.row_ids(origin)?,
        write_cols,
        new_null_array(&longs(), given.rows),
    ];
    RecordBatch::try_new(record_schema(&ENTRY.iter().collect::<Vec<_>>()), columns).map_err(Into::into)
}

/// The files of a caller.
pub(super) struct InputFiles<'a> {
    pub(super) files: &'a RecordBatch,
    pub(super) rows: usize,
}

impl InputFiles<'_> {
    /// Refuses columns other than these.
    pub(super) fn check_names(&self, known: &[&str]) -> Result<()> {
        let schema = self.files.schema();
        if let Some(field) = schema.fields().iter().find(|field| !known.contains(&field.name().as_str())) {
            let message = format!("files have no column {:?}; there are {}", field.name(), known.join(", "));
            return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(field.name()));
        }
        Ok(())
    }

    /// Refuses delete files.
    fn check_contents(&self) -> Result<()> {
        let contents = self.optional("content", &DataType::Int32)?;
        let contents: &Int32Array = typed(&contents, "content")?;
        match contents.iter().position(|content| content.is_some_and(|content| content != DATA)) {
            Some(row) => Err(wrong("Paimon's tables have data files only", "content", row)),
            None => Ok(()),
        }
    }

    /// A column; all null where it is missing.
    pub(super) fn optional(&self, name: &str, ty: &DataType) -> Result<ArrayRef> {
        match self.files.column_by_name(name) {
            Some(column) => fit(column, ty).map_err(|error| error.in_field(name)),
            None => Ok(new_null_array(ty, self.rows)),
        }
    }

    /// A column without nulls.
    pub(super) fn required(&self, name: &str, ty: &DataType) -> Result<ArrayRef> {
        if self.files.column_by_name(name).is_none() {
            let message = format!("files need a column {name:?}");
            return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name));
        }
        let column = self.optional(name, ty)?;
        match (0..self.rows).find(|row| column.is_null(*row)) {
            Some(row) => {
                Err(Error::new(ErrorKind::Required, format!("{name} is null")).in_row(row).in_field(name))
            }
            None => Ok(column),
        }
    }

    /// A column, with nulls replaced by `default`.
    pub(super) fn filled<A: Array + 'static>(
        &self,
        name: &str,
        default: impl FnOnce() -> A,
    ) -> Result<ArrayRef> {
        let default: ArrayRef = Arc::new(default());
        let column = self.optional(name, default.data_type())?;
        let valid = BooleanArray::from_iter((0..self.rows).map(|row| Some(column.is_valid(row))));
        zip(&valid, &column, &default).map_err(Into::into)
    }

    /// Numbers that are not negative.
    pub(super) fn counts(&self, name: &str) -> Result<ArrayRef> {
        let column = self.required(name, &DataType::Int64)?;
        match typed::<Int64Array>(&column, name)?.values().iter().position(|count| *count < 0) {
            Some(row) => Err(wrong(&format!("{name} is negative"), name, row)),
            None => Ok(column),
        }
    }

    /// Buckets and total numbers of buckets.
    fn buckets(&self, buckets: Buckets) -> Result<(ArrayRef, ArrayRef)> {
        let (bucket, total) = match buckets {
            Buckets::Fixed(count) => (
                self.required("bucket", &DataType::Int32)?,
                self.filled("total_buckets", || Int32Array::from_value(count, self.rows))?,
            ),
            Buckets::Unaware => (
                self.filled("bucket", || Int32Array::from_value(0, self.rows))?,
                self.filled("total_buckets", || Int32Array::from_value(-1, self.rows))?,
            ),
            Buckets::Dynamic => (
                self.required("bucket", &DataType::Int32)?,
                self.filled("total_buckets", || Int32Array::from_value(-1, self.rows))?,
            ),
            Buckets::Postponed => (
                self.filled("bucket", || Int32Array::from_value(POSTPONE_BUCKET, self.rows))?,
                self.filled("total_buckets", || Int32Array::from_value(POSTPONE_BUCKET, self.rows))?,
            ),
        };
        let totals: &Int32Array = typed(&total, "total_buckets")?;
        let pairs = typed::<Int32Array>(&bucket, "bucket")?.values().iter().zip(totals.values());
        for (row, (bucket, total)) in pairs.enumerate() {
            let fits = match buckets {
                Buckets::Fixed(_) => (0..*total).contains(bucket),
                Buckets::Unaware => (*bucket, *total) == (0, -1),
                Buckets::Dynamic => *bucket >= 0 && *total == -1,
                Buckets::Postponed => {
                    (*bucket, *total) == (POSTPONE_BUCKET, POSTPONE_BUCKET) || (0..*total).contains(bucket)
                }
            };
            if !fits {
                let message = match buckets {
                    Buckets::Fixed(_) => format!("bucket {bucket} is not one of the {total} there are"),
                    Buckets::Dynamic | Buckets::Postponed => {
                        format!("bucket {bucket} does not exist where total_buckets is {total}")
                    }
                    Buckets::Unaware => {
                        format!("files of this table have bucket 0 of -1, not {bucket} of {total}")
                    }
                };
                return Err(wrong(&message, "bucket", row));
            }
        }
        Ok((bucket, total))
    }

    /// First or last keys, rows of `keys`.
    fn keys(&self, name: &str, keys: &[&DataField]) -> Result<ArrayRef> {
        if keys.is_empty() {
            let none = self.filled(name, || BinaryArray::from_iter_values(vec![NO_KEY; self.rows]))?;
            return match typed::<BinaryArray>(&none, name)?.iter().position(|key| key != Some(&NO_KEY[..])) {
                Some(row) => Err(wrong("the table has no keys", name, row)),
                None => Ok(none),
            };
        }
        let column = self.required(name, &DataType::Binary)?;
        let types = keys.iter().map(|key| key.ty.exact_field(&key.name).with_nullable(key.ty.nullable));
        let types = types.collect();
        decode_rows(typed(&column, name)?, &types).map_err(|error| error.within(name))?;
        Ok(column)
    }

    /// Smallest and largest sequence numbers. By default rows are numbered from 0, except in tables with
    /// primary keys.
    fn sequences(&self, record_counts: &ArrayRef, keyed: bool) -> Result<(ArrayRef, ArrayRef)> {
        let latest = if self.files.column_by_name("sequence_number").is_some() {
            self.optional("sequence_number", &DataType::Int64)?
        } else {
            new_null_array(&DataType::Int64, self.rows)
        };
        if keyed {
            let least = self.required("min_sequence_number", &DataType::Int64)?;
            let latest = self.required("sequence_number", &DataType::Int64)?;
            return Ok((least, latest));
        }
        let least = self.filled("min_sequence_number", || Int64Array::from_value(0, self.rows))?;
        let first: &Int64Array = typed(&least, "min_sequence_number")?;
        let counts: &Int64Array = typed(record_counts, "record_count")?;
        let latest: &Int64Array = typed(&latest, "sequence_number")?;
        let latest = latest.iter().enumerate().map(|(row, latest)| match latest {
            Some(latest) => Ok(latest),
            None => {
                // Counts are not negative; a file without rows has the number that its first row would have.
                let rows = (counts.value(row) - 1).max(0);
                let latest = fitting(first.value(row).checked_add(rows), "the last sequence number");
                latest.map_err(|error| error.in_row(row).in_field("min_sequence_number"))
            }
        });
        Ok((Arc::clone(&least), Arc::new(latest.collect::<Result<Int64Array>>()?)))
    }

    fn schema_ids(&self, schema: &TableSchema) -> Result<ArrayRef> {
        let ids = self.filled("schema_id", || Int64Array::from_value(schema.id, self.rows))?;
        match typed::<Int64Array>(&ids, "schema_id")?.values().iter().position(|id| *id != schema.id) {
            Some(row) => {
                let message = format!("files must have schema {}, the table's latest", schema.id);
                Err(wrong(&message, "schema_id", row))
            }
            None => Ok(ids),
        }
    }

    /// Levels: other than 0 only in tables with primary keys.
    fn levels(&self, leveled: bool) -> Result<ArrayRef> {
        let levels = self.filled("level", || Int32Array::from_value(0, self.rows))?;
        let most = if leveled { i32::MAX } else { 0 };
        let wrong_level = |level: &i32| !(0..=most).contains(level);
        match typed::<Int32Array>(&levels, "level")?.values().iter().position(wrong_level) {
            Some(row) => Err(wrong("files without keys, and changelogs, must be at level 0", "level", row)),
            None => Ok(levels),
        }
    }

    /// First row ids: compacted files may keep those of the replaced files; others are assigned by the
    /// commit.
    fn row_ids(&self, origin: Origin) -> Result<ArrayRef> {
        match origin {
            Origin::Compacted => self.optional("first_row_id", &DataType::Int64),
            Origin::Written | Origin::Changelog => Ok(new_null_array(&DataType::Int64, self.rows)),
        }
    }

    fn extra_files(&self) -> Result<ArrayRef> {
        let given = self.optional("extra_files", &texts())?;
        let given: &ListArray = typed(&given, "extra_files")?;
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..self.rows {
            for name in texts_at(given, row)?.iter().flatten() {
                let name = name.filter(|name| is_file_name(name));
                lists
                    .values()
                    .append_value(name.ok_or_else(|| wrong("not a file name", "extra_files", row))?);
            }
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }

    /// Rows that delete: 0 without primary keys, else unknown.
    fn delete_counts(&self, keyed: bool) -> Result<ArrayRef> {
        match keyed {
            true => self.optional("delete_row_count", &DataType::Int64),
            false => self.filled("delete_row_count", || Int64Array::from_value(0, self.rows)),
        }
    }
}

/// Refuses files of postponed buckets whose names do not record who wrote them and in which order (Paimon's
/// `PostponeBucketFileStoreWrite.java`).
fn check_postponed(names: &StringArray, buckets: &ArrayRef) -> Result<()> {
    let tells = |name: &str| {
        let writer = name.split_once("-u-").and_then(|(_, rest)| rest.split_once("-s-"));
        let number = writer.and_then(|(_, rest)| rest.split_once('-')).map(|(number, _)| number);
        number.is_some_and(|number| number.parse::<u32>().is_ok()) && name.matches("-s-").count() == 1
    };
    let waiting =
        typed::<Int32Array>(buckets, "bucket")?.iter().map(|bucket| bucket == Some(POSTPONE_BUCKET));
    match names.iter().zip(waiting).position(|(name, waits)| waits && !name.is_some_and(tells)) {
        Some(row) => {
            let message = "a file that waits for its bucket is named data-u-<user>-s-<number>-w-…, by which \
                its rows are ordered";
            Err(wrong(message, "file_path", row))
        }
        None => Ok(()),
    }
}

#[cold]
fn wrong(message: &str, field: &str, row: usize) -> Error {
    Error::new(ErrorKind::Argument, message).in_row(row).in_field(field)
}
