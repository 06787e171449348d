//! Full paths of the files in the folders of partitions and buckets.

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, BinaryArray, Int32Array, RecordBatch, StringArray};

use super::{BUCKET_FOLDER, data_root, push_bucket_folder};
use crate::error::Result;
use crate::paimon::partition::{DEFAULT_PARTITION, DistinctPartitions, PartitionType, partition_folders};
use crate::paimon::schema::TableSchema;
use crate::record::column;

/// Room for `/bucket-`, a number and slashes.
const BUCKET_FOLDER_BYTES: usize = 16;

/// The rules of one table for the paths of its data files.
#[derive(Debug, Clone)]
pub(crate) struct DataPaths {
    /// The folder that holds the folders of partitions, with a trailing slash.
    root: String,
    partition: PartitionType,
    default_name: String,
    legacy_names: bool,
}

impl DataPaths {
    /// The rules of the table at `location`.
    pub(crate) fn new(location: &str, schema: &TableSchema) -> DataPaths {
        let option = |key| schema.option(key).map(str::to_owned);
        DataPaths {
            root: data_root(location, schema.option("data-file.path-directory")),
            partition: PartitionType::new(schema),
            default_name: option("partition.default-name").unwrap_or_else(|| DEFAULT_PARTITION.to_owned()),
            legacy_names: option("partition.legacy-name")
                .is_none_or(|value| !value.eq_ignore_ascii_case("false")),
        }
    }

    /// The full path of the file of each row: `external` where it is not null, else its `file_name` in the
    /// folder of its `partition` and `bucket`, which are columns of `rows`.
    ///
    /// The folders of a partition are computed once per batch.
    pub(crate) fn of(&self, rows: &RecordBatch, external: &StringArray) -> Result<StringArray> {
        let partitions = self.partition.partitions_of(column::<BinaryArray>(rows, "partition")?)?;
        self.below(&partitions, rows, external)
    }

    /// An error text for each external path that does not end in the name of its file, or is in the folder of a bucket
    /// and does not end in the file's partition and bucket (Paimon's `ExternalPathProvider.java`); `None` where no file
    /// has an external path. Files that were added may be in any other folder.
    pub(crate) fn misplaced(
        &self,
        rows: &RecordBatch,
        external: &StringArray,
    ) -> Result<Option<StringArray>> {
        if external.null_count() == external.len() {
            return Ok(None);
        }
        let own = self.of(rows, &StringArray::new_null(external.len()))?;
        let wrong = |(external, own): (Option<&str>, Option<&str>)| {
            let own = own?.strip_prefix(self.root.as_str())?;
            let external = external?;
            let folder = external.rsplit('/').nth(1).unwrap_or_default();
            let own = if folder.starts_with(BUCKET_FOLDER) { own } else { own.rsplit('/').next()? };
            let is_it = external.strip_suffix(own).is_some_and(|before| before.ends_with('/'));
            (!is_it).then(|| format!("its external path does not end in {own:?}"))
        };
        Ok(Some(external.iter().zip(&own).map(wrong).collect()))
    }

    /// As [`DataPaths::of`], for rows whose partitions are known already.
    pub(crate) fn below(
        &self,
        DistinctPartitions { numbers, stored }: &DistinctPartitions,
        rows: &RecordBatch,
        external: &StringArray,
    ) -> Result<StringArray> {
        let fields = &self.partition.fields;
        let folders = partition_folders(stored, fields, &self.default_name, self.legacy_names)?;
        let buckets = column::<Int32Array>(rows, "bucket")?;
        let names = column::<StringArray>(rows, "file_name")?;
        let longest = folders.iter().map(String::len).max().unwrap_or_default();
        let above = self.root.len() + longest + BUCKET_FOLDER_BYTES;
        let room = rows.num_rows().saturating_mul(above).saturating_add(names.value_data().len());
        let mut paths = StringBuilder::with_capacity(rows.num_rows(), room);
        // Files of one bucket mostly follow each other: all but the name of the last path is reused.
        let (mut path, mut above, mut bucket_of_path) = (String::new(), 0, None);
        for (row, &number) in numbers.iter().enumerate() {
            if external.is_valid(row) {
                paths.append_value(external.value(row));
                continue;
            }
            let bucket = (number, buckets.value(row));
            if bucket_of_path != Some(bucket) {
                path.clear();
                path.push_str(&self.root);
                path.push_str(folders.get(number).map_or("", String::as_str));
                push_bucket_folder(&mut path, bucket.1);
                (above, bucket_of_path) = (path.len(), Some(bucket));
            }
            path.truncate(above);
            path.push_str(names.value(row));
            paths.append_value(&path);
        }
        Ok(paths.finish())
    }
}
