//! The partition, bucket and path of files.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, RecordBatch, StringArray, StructArray};
use arrow_schema::Fields;

use super::fit::fit_stored;
use crate::error::{Error, ErrorKind, Result};
use crate::local_path::without_file_scheme;
use crate::location::is_scheme;
use crate::paimon::binary_row::{decode_rows, encode_rows};
use crate::paimon::partition::{PartitionType, distinct};
use crate::paimon::paths::{DataPaths, is_file_name};
use crate::paimon::schema::TableSchema;

/// The buckets that files of a table may be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Buckets {
    /// A fixed number, chosen by a key.
    Fixed(i32),
    /// Bucket 0 for all rows.
    Unaware,
    /// A growing number; an index has the bucket of each key.
    Dynamic,
    /// None until a compaction assigns one; then as many as the partition has.
    Postponed,
}

impl Buckets {
    /// The buckets of a table to which files are added, or in which `compacted` ones replace others.
    ///
    /// # Errors
    /// `Unsupported` where the keys of new files must be hashed into an index.
    pub(super) fn of(schema: &TableSchema, compacted: bool) -> Result<Buckets> {
        let refused =
            |why: &str| Err(Error::new(ErrorKind::Unsupported, format!("files cannot be added to {why}")));
        match (schema.bucket(), schema.primary_keys.is_empty()) {
            (count @ 1.., _) => Ok(Buckets::Fixed(count)),
            (-1, true) => Ok(Buckets::Unaware),
            (-1, false) if compacted => Ok(Buckets::Dynamic),
            (-1, false) => refused(
                "tables with dynamic buckets, whose index must know every key: write them with Paimon",
            ),
            (-2, false) => Ok(Buckets::Postponed),
            (count, _) => refused(&format!("a table of {count} buckets")),
        }
    }
}

/// The stored partition rows of files, from their column `partition`.
///
/// # Errors
/// `UnknownColumn` for fields that the table is not partitioned by, `Required` for a file without a
/// partition, `Argument` for values that do not fit, all with field and row.
pub(super) fn partitions(
    given: Option<&ArrayRef>,
    partition: &PartitionType,
    rows: usize,
) -> Result<BinaryArray> {
    let Some(given) = given else {
        if partition.fields.is_empty() {
            let none = StructArray::new_empty_fields(rows, None);
            return encode_rows(&none, &partition.stored);
        }
        let names: Vec<&str> = partition.fields.iter().map(|field| field.name.as_str()).collect();
        let message = format!("files of a table partitioned by {} need a partition", names.join(", "));
        return Err(Error::new(ErrorKind::UnknownColumn, message));
    };
    let structs = given.as_struct_opt().ok_or_else(|| {
        Error::new(ErrorKind::Argument, format!("a partition is a struct, not {}", given.data_type()))
    })?;
    if let Some(row) = (0..rows).find(|row| structs.is_null(*row)) {
        return Err(Error::new(ErrorKind::Required, "the partition is null").in_row(row));
    }
    encode_rows(&fitted(structs, partition)?, &partition.stored)
}

/// Values of all partition columns, as they are stored.
fn fitted(structs: &StructArray, partition: &PartitionType) -> Result<StructArray> {
    let known = |name: &str| partition.fields.iter().any(|field| field.name == name);
    if let Some(field) = structs.fields().iter().find(|field| !known(field.name())) {
        let message = format!("the table is not partitioned by {:?}", field.name());
        return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(field.name()));
    }
    let columns = partition.fields.iter().map(|field| match structs.column_by_name(&field.name) {
        Some(column) => fit_stored(column, &field.ty).map_err(|error| error.in_field(&field.name)),
        None => {
            let message = format!("the partition has no {:?}", field.name);
            Err(Error::new(ErrorKind::UnknownColumn, message).in_field(&field.name))
        }
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let fitted = StructArray::try_new_with_length(partition.stored.clone(), columns, None, structs.len());
    fitted.map_err(Into::into)
}

/// Values of some partition columns; they select the partitions that have them.
pub(super) struct PartialPartition {
    partition: PartitionType,
    /// The places of the given columns.
    given: Vec<usize>,
    /// Their values, as a row.
    row: Vec<u8>,
}

/// The partitions with the values of `given`, which is one row of partition columns.
///
/// # Errors
/// `UnknownColumn` for a column that the table is not partitioned by, `Argument` for a value that does not fit.
pub(super) fn partition_of(given: &StructArray, schema: &TableSchema) -> Result<PartialPartition> {
    let partition = PartitionType::new(schema);
    let places = given.fields().iter().map(|field| {
        let place = partition.fields.iter().position(|known| known.name == *field.name());
        place.ok_or_else(|| {
            let message = format!("the table is not partitioned by {:?}", field.name());
            Error::new(ErrorKind::UnknownColumn, message).in_field(field.name())
        })
    });
    let places = places.collect::<Result<Vec<_>>>()?;
    let fields: Fields = places.iter().map(|place| Arc::clone(&partition.stored[*place])).collect();
    let types = places.iter().map(|place| &partition.fields[*place]);
    let columns =
        given.columns().iter().zip(types).map(|(column, field)| {
            fit_stored(column, &field.ty).map_err(|error| error.in_field(&field.name))
        });
    let rows =
        StructArray::try_new_with_length(fields.clone(), columns.collect::<Result<_>>()?, None, given.len());
    let rows = encode_rows(&rows?, &fields)?;
    let row = rows
        .iter()
        .next()
        .flatten()
        .map(<[u8]>::to_vec)
        .ok_or_else(|| Error::new(ErrorKind::Argument, "a partition is one row"))?;
    Ok(PartialPartition { partition, given: places, row })
}

impl PartialPartition {
    /// Which of these partitions have the values.
    pub(super) fn holds(&self, partitions: &BinaryArray) -> Result<BooleanArray> {
        let (numbers, distinct) = distinct(partitions);
        let values = decode_rows(&distinct, &self.partition.stored)?;
        let fields: Fields =
            self.given.iter().map(|place| Arc::clone(&self.partition.stored[*place])).collect();
        let columns = self.given.iter().map(|place| Arc::clone(values.column(*place))).collect();
        let rows = StructArray::try_new_with_length(fields.clone(), columns, None, distinct.len());
        let rows = encode_rows(&rows?, &fields)?;
        let same: Vec<bool> = rows.iter().map(|row| row == Some(self.row.as_slice())).collect();
        Ok(numbers.into_iter().map(|number| same.get(number).copied()).collect())
    }
}

/// A path as metadata has it, absolute: a relative path is below the table.
pub(super) fn absolute(path: &str, location: &str) -> String {
    match path.starts_with('/') || path.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) {
        true => path.to_owned(),
        false => format!("{location}/{path}"),
    }
}

/// A path by which files are compared: without the scheme of the local file system, and absolute, however the
/// table was opened.
pub(super) fn rooted(path: &str) -> Cow<'_, str> {
    let plain = without_file_scheme(path);
    if plain.starts_with('/') || absolute(plain, "/") == plain {
        return Cow::Borrowed(plain);
    }
    match std::path::absolute(plain) {
        Ok(absolute) => Cow::Owned(absolute.to_string_lossy().into_owned()),
        // Without a current directory, paths are compared as they are.
        Err(_) => Cow::Borrowed(plain),
    }
}

/// The names of files, and the full paths of those that are not where the table's layout has them; these must
/// be outside of the table.
///
/// `rows` has the columns `partition` and `bucket`.
///
/// # Errors
/// `Argument` with the row, for a path in the table that is not the file's, and for an invalid file name.
pub(super) fn names(
    paths: &StringArray,
    location: &str,
    schema: &TableSchema,
    rows: &RecordBatch,
) -> Result<(StringArray, StringArray)> {
    let given: Vec<String> = paths.iter().flatten().map(|path| absolute(path, location)).collect();
    let named = given.iter().map(|path| path.rsplit('/').next().unwrap_or_default());
    let names = StringArray::from_iter_values(named);
    if let Some(row) = names.iter().position(|name| !name.is_some_and(is_file_name)) {
        let message = format!("{:?} does not end in a file's name", paths.value(row));
        return Err(Error::new(ErrorKind::Argument, message).in_row(row));
    }
    let columns = ["partition", "bucket"].map(|name| (name, rows.column_by_name(name).cloned()));
    let columns = columns.into_iter().filter_map(|(name, column)| Some((name, column?)));
    let named: ArrayRef = Arc::new(names.clone());
    let files = RecordBatch::try_from_iter(columns.chain([("file_name", named)]));
    let files = files?;
    let expected = DataPaths::new(location, schema).of(&files, &StringArray::new_null(given.len()))?;
    let inside = format!("{}/", rooted(location));
    let external = given.iter().zip(&expected).enumerate().map(|(row, (path, expected))| {
        let (path_of_file, expected) = (rooted(path), rooted(expected.unwrap_or_default()));
        if path_of_file == expected {
            return Ok(None);
        }
        if path_of_file.starts_with(&inside) {
            let message = format!("a file of this partition and bucket is at {expected:?}, not {path:?}");
            return Err(Error::new(ErrorKind::Argument, message).in_row(row));
        }
        Ok(Some(path.clone()))
    });
    Ok((names, external.collect::<Result<_>>()?))
}
