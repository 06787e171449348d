//! Statistics of partitions: their files in Avro, ORC or Parquet (Iceberg specification, "Partition
//! Statistics File"), and what the next file of a table would have (`PartitionStatsHandler.java`).

mod computed;

pub(super) use computed::computed;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StructArray};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use lakebed_avro::ErrorKind as AvroKind;

use super::delete_file::conform_row;
use super::fields::{DV_COUNT, LAST_UPDATED_AT, PARTITION, PARTITION_STATS};
use super::groups::{Count, PartitionSums};
use super::manifest::canonical::{canonical_partition_stats, canonical_prefixed_partition_stats};
use super::metadata::{PartitionStatisticsFile, WantedElements};
use super::partition::PartitionType;
use super::table::Table;
use super::types::{FieldRef, NestedField, Type};
use crate::columnar::Decoding;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::grouping::sums::sum;
use crate::record::{RecordReader, RecordResolver, Rewrite, column, find, typed};

/// Some rows of a file.
pub(super) struct PartitionStats {
    /// The columns of [`PARTITION_STATS`] without the partition.
    pub(super) counts: RecordBatch,
    /// The partition of each row, in the table's partition type.
    pub(super) partitions: StructArray,
}

/// The files of partition statistics that the table's metadata has.
///
/// # Errors
/// Those of [`Table::read`].
pub(super) fn files(table: &Table) -> Result<Vec<PartitionStatisticsFile>> {
    Ok(table.read(&WantedElements { statistics: true, ..WantedElements::CURRENT })?.partition_statistics)
}

/// The rows of a file, in file order, with their partitions in the type `partition`.
///
/// Columns are found by their ids in Avro and by their names in ORC and Parquet, partition fields by their
/// ids, where the file has them.
///
/// # Errors
/// Those of reading the file and of the container's layer; `Truncated` for a file that is shorter than recorded;
/// `Required` for a column that is missing and for a null in one; those of reading partitions of another type.
/// With the path.
pub(super) fn read(
    table: &Table,
    file: &PartitionStatisticsFile,
    partition: &PartitionType,
) -> Result<impl Iterator<Item = Result<PartitionStats>> + Send + use<>> {
    let path = file.statistics_path.clone();
    let recorded = u64::try_from(file.file_size_in_bytes).ok();
    let bytes = table.read_recorded(&path, recorded)?;
    // Between two blocks of Avro nothing else shows that the file was cut.
    if let Some(recorded) = recorded.filter(|recorded| (bytes.len() as u64) < *recorded) {
        let message = format!("the file has {} bytes, and file_size_in_bytes is {recorded}", bytes.len());
        return Err(Error::new(ErrorKind::Avro(AvroKind::Truncated), message).in_file(&path));
    }
    let fields = fields(partition);
    let open = || {
        let mut rows = rows_of(bytes.clone(), fields.clone(), table.decoding(), canonical_partition_stats)?;
        let first = rows.next();
        if !matches!(first, Some(Err(_))) || !fields.iter().any(|field| matches!(field.ty, Type::Fixed(_))) {
            return Ok((first, rows));
        }
        // Iceberg's Java writes values of `fixed` as bytes.
        let mut prefixed =
            rows_of(bytes.clone(), fields, table.decoding(), canonical_prefixed_partition_stats)?;
        match prefixed.next() {
            Some(Ok(first)) => Ok((Some(Ok(first)), prefixed)),
            _ => Ok((first, rows)),
        }
    };
    let (first, rows) = open().map_err(|error: Error| error.in_file(&path))?;
    Ok(first.into_iter().chain(rows).map(move |rows| rows.map_err(|error| error.in_file(&path))))
}

/// The rows of a file whose schema in Avro is renamed by `rewrite`.
fn rows_of(
    bytes: Buffer,
    fields: Vec<FieldRef>,
    decoding: &Decoding,
    rewrite: Rewrite,
) -> Result<impl Iterator<Item = Result<PartitionStats>> + Send + use<>> {
    let names: Vec<String> = counts().map(str::to_owned).collect();
    let resolver = RecordResolver::new(&PARTITION_STATS, Some(&names), &[], &[PARTITION])?;
    let mut reader = RecordReader::open(bytes, &resolver.rewriting(rewrite), None, decoding, 1)?;
    let mut first = 0;
    Ok(std::iter::from_fn(move || {
        Some(reader.next()?.and_then(|batch| {
            let start = first;
            first += batch.num_rows() as u64;
            let partitions = tuples(&batch, &fields)?;
            Ok(PartitionStats { counts: reader.conform(&batch, Some(start))?, partitions })
        }))
    }))
}

/// The columns besides the partition.
fn counts() -> impl Iterator<Item = &'static str> {
    PARTITION_STATS.iter().map(|spec| spec.column).filter(|name| *name != PARTITION)
}

/// The fields of partitions as those of rows, which are found by id.
fn fields(partition: &PartitionType) -> Vec<FieldRef> {
    let fields = partition.fields.iter().map(|unified| {
        let field = &unified.field;
        Arc::new(NestedField::new(field.field_id, &field.name, false, unified.ty.clone()))
    });
    fields.collect()
}

fn tuples(batch: &RecordBatch, fields: &[FieldRef]) -> Result<StructArray> {
    if fields.is_empty() {
        return Ok(StructArray::new_empty_fields(batch.num_rows(), None));
    }
    let required = |what: &str| Error::new(ErrorKind::Required, what.to_owned()).in_field(PARTITION);
    let stored =
        batch.column_by_name(PARTITION).ok_or_else(|| required("the file has no partition (id 1)"))?;
    let tuples = conform_row(stored, fields).map_err(|error| error.within(PARTITION))?;
    match (0..tuples.len()).find(|row| tuples.is_null(*row)) {
        Some(row) => Err(required("partition (id 1) is null").in_row(row)),
        None => Ok(tuples.as_struct().clone()),
    }
}

impl PartitionStats {
    /// The deletion vectors of each row: none where the file has no such column, as before version 3.
    pub(super) fn dv_counts(&self) -> Result<ArrayRef> {
        let counts = column::<Int32Array>(&self.counts, DV_COUNT)?;
        Ok(Arc::new(Int32Array::from_iter_values(counts.iter().map(Option::unwrap_or_default))))
    }

    /// The sums of each row.
    ///
    /// # Errors
    /// `Required` for a count that is null, since it cannot be told what it would be with other files;
    /// `Mismatch` for one below zero.
    fn sums(&self) -> Result<Vec<PartitionSums>> {
        let count = |files: &str, records: &str| {
            let (files, records) = (self.known(files)?, self.known(records)?);
            let counts = files.into_iter().zip(records);
            Ok::<_, Error>(counts.map(|(files, records)| Count { files, records }).collect::<Vec<_>>())
        };
        let data = count("data_file_count", "data_record_count")?;
        let bytes = self.known("total_data_file_size_in_bytes")?;
        let positions = count("position_delete_file_count", "position_delete_record_count")?;
        let equality = count("equality_delete_file_count", "equality_delete_record_count")?;
        let vectors = known(&self.dv_counts()?, DV_COUNT)?;
        let specs = column::<Int32Array>(&self.counts, "spec_id")?;
        let times = column::<Int64Array>(&self.counts, LAST_UPDATED_AT)?.iter();
        let updates = times.zip(column::<Int64Array>(&self.counts, "last_updated_snapshot_id")?);
        let of_data = data.into_iter().zip(bytes).zip(specs.values());
        let of_deletes = positions.into_iter().zip(vectors).zip(equality);
        let sums = of_data.zip(of_deletes).zip(updates);
        let sums =
            sums.map(|((((data, data_bytes), spec_id), ((positions, vectors), equality)), (at, by))| {
                Ok(PartitionSums {
                    spec_id: *spec_id,
                    data,
                    data_bytes,
                    position_deletes: Count { files: sum(DV_COUNT, positions.files, vectors)?, ..positions },
                    vectors: Count { files: vectors, records: 0 },
                    equality_deletes: equality,
                    last_updated: at.zip(by).unzip(),
                    ..PartitionSums::default()
                })
            });
        sums.collect()
    }

    fn known(&self, name: &str) -> Result<Vec<i64>> {
        known(&find(&self.counts, name)?, name)
    }
}

/// Counts that are all known.
fn known(counts: &ArrayRef, name: &str) -> Result<Vec<i64>> {
    let counts = conform(counts, &DataType::Int64)?;
    let counts = typed::<Int64Array>(&counts, name)?.iter().enumerate().map(|(row, count)| match count {
        Some(count) if count >= 0 => Ok(count),
        Some(count) => {
            let message = format!("{name} is {count}");
            Err(Error::new(ErrorKind::Mismatch, message).in_field(name).in_row(row))
        }
        None => Err(Error::new(ErrorKind::Required, format!("{name} is null")).in_field(name).in_row(row)),
    });
    counts.collect()
}
