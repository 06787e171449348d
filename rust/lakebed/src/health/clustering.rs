//! How well manifests are clustered by partition: how many manifests a plan of one partition reads.

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StructArray};
use arrow_row::{RowConverter, SortField};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::field::DATA;
use crate::record::column;
use crate::scan::ScanOptions;
use crate::table::LakeTable;
use crate::view::View;
use crate::write::MANIFEST_TARGET_BYTES;

const TARGET_BYTES: i64 = MANIFEST_TARGET_BYTES as i64;

const INPUT: [&str; 5] = ["content", "length", "spec_id", "partition_lower", "partition_upper"];

/// The partition bounds of each manifest of data files, from the manifest lists.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ManifestBounds {
    manifests: Vec<PartitionRange>,
    bytes: i64,
}

/// The lowest and highest value of each partition field in one manifest, as bytes that compare like the
/// values; `None` where the list has no bounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PartitionRange {
    spec_id: Option<i32>,
    fields: Vec<Option<(Vec<u8>, Vec<u8>)>>,
}

/// How many manifests plans read: summed over all partitions, and the maximum of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ManifestReads {
    pub(super) manifests: Option<i64>,
    pub(super) average: Option<f64>,
    pub(super) most: Option<i64>,
}

impl ManifestBounds {
    /// Reads the manifest lists.
    ///
    /// # Errors
    /// Those of the view `manifests`.
    pub(super) fn read(table: &dyn LakeTable, options: &ScanOptions) -> Result<ManifestBounds> {
        let columns = Some(INPUT.map(str::to_owned).to_vec());
        let options =
            ScanOptions { columns, table_filter: options.table_filter.clone(), ..ScanOptions::default() };
        let mut bounds = ManifestBounds::default();
        for batch in table.scan(View::Manifests, options)?.stream()? {
            bounds.add(&batch?)?;
        }
        Ok(bounds)
    }

    fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        let [content, length, spec_id, lower, upper] = INPUT;
        let (contents, specs) = (column::<Int32Array>(rows, content)?, column::<Int32Array>(rows, spec_id)?);
        let lengths = column::<Int64Array>(rows, length)?;
        let [lower, upper] = [lower, upper].map(|name| column::<StructArray>(rows, name));
        let (lower, upper) = (lower?, upper?);
        let fields = lower.columns().iter().zip(upper.columns()).map(|(lower, upper)| {
            let converter = converter(lower)?;
            Ok((bytes_of(&converter, lower)?, bytes_of(&converter, upper)?))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        for row in 0..rows.num_rows() {
            if contents.is_valid(row) && contents.value(row) != DATA {
                continue;
            }
            let bounds = fields.iter().map(|(lower, upper)| {
                let at = |bytes: &[Option<Vec<u8>>]| bytes.get(row).cloned().flatten();
                at(lower).zip(at(upper))
            });
            let spec_id = specs.is_valid(row).then(|| specs.value(row));
            self.manifests.push(PartitionRange { spec_id, fields: bounds.collect() });
            let length = if lengths.is_valid(row) { lengths.value(row) } else { 0 };
            self.bytes = self.bytes.saturating_add(length.max(0));
        }
        Ok(())
    }

    /// For each partition, how many manifests may have files of it; `None` for a partition with a null value,
    /// which bounds do not cover.
    ///
    /// # Errors
    /// `Unsupported` for partition values that cannot be compared.
    pub(crate) fn counts(&self, tuples: &StructArray, specs: &[Option<i32>]) -> Result<Vec<Option<i64>>> {
        let values = tuples.columns().iter().map(|column| bytes_of(&converter(column)?, column));
        let values = values.collect::<Result<Vec<_>>>()?;
        let known = |spec: Option<i32>, field: usize| {
            let of_spec = self.manifests.iter().filter(|manifest| manifest.spec_id == spec);
            of_spec.clone().any(|manifest| manifest.fields.get(field).is_some_and(Option::is_some))
        };
        let mut fields_of = std::collections::HashMap::new();
        for spec in specs {
            let all = || (0..values.len()).filter(|field| known(*spec, *field)).collect::<Vec<_>>();
            fields_of.entry(*spec).or_insert_with(all);
        }
        let value = |field: usize, row: usize| values.get(field)?.get(row)?.as_deref();
        let mut counts: Vec<Option<i64>> = vec![None; specs.len()];
        for (spec, fields) in fields_of {
            let is_whole = |row: &usize| fields.iter().all(|field| value(*field, *row).is_some());
            let of_spec = specs.iter().enumerate().filter(|(_, of)| **of == spec).map(|(row, _)| row);
            let mut rows: Vec<usize> = of_spec.filter(is_whole).collect();
            let first = fields.first().copied();
            let key = |row: &usize| first.and_then(|field| value(field, *row)).unwrap_or_default();
            rows.sort_by(|left, right| key(left).cmp(key(right)));
            for row in &rows {
                if let Some(count) = counts.get_mut(*row) {
                    *count = Some(0);
                }
            }
            for manifest in self.manifests.iter().filter(|manifest| manifest.spec_id == spec) {
                let bound = |field: usize| manifest.fields.get(field).and_then(Option::as_ref);
                let (mut from, mut to) = (0, rows.len());
                if let Some((lower, upper)) = first.and_then(bound) {
                    from = rows.partition_point(|row| key(row) < lower.as_slice());
                    to = rows.partition_point(|row| key(row) <= upper.as_slice());
                }
                for row in rows.get(from..to.max(from)).unwrap_or_default() {
                    let has = |field: &usize| match (bound(*field), value(*field, *row)) {
                        (Some((lower, upper)), Some(value)) => {
                            lower.as_slice() <= value && value <= upper.as_slice()
                        }
                        _ => true,
                    };
                    if fields.iter().skip(1).all(has)
                        && let Some(Some(count)) = counts.get_mut(*row)
                    {
                        *count += 1;
                    }
                }
            }
        }
        Ok(counts)
    }

    /// The estimate after manifests are rewritten by partition: as many manifests as their total size gives,
    /// with files spread evenly. The files of a partition are then next to each other, and start anywhere in
    /// a manifest.
    pub(super) fn rewritten(
        &self,
        files: Option<i64>,
        partitions: Option<i64>,
        most: Option<i64>,
    ) -> ManifestReads {
        let (Some(files), Some(partitions)) = (files, partitions.filter(|count| *count > 0)) else {
            return ManifestReads::default();
        };
        if files <= 0 || self.manifests.is_empty() {
            return ManifestReads::default();
        }
        let manifests = self.bytes.saturating_add(TARGET_BYTES - 1).max(TARGET_BYTES) / TARGET_BYTES;
        let manifests = manifests.min(files);
        let each = files.saturating_add(manifests - 1) / manifests;
        let average = 1.0 + (files as f64 / partitions as f64 - 1.0).max(0.0) / each as f64;
        let spanned = |files: i64| match files {
            ..=1 => 1,
            files => (2 + (files - 2) / each).min(manifests),
        };
        let average = Some(average.min(manifests as f64));
        ManifestReads { manifests: Some(manifests), average, most: most.map(spanned) }
    }
}

fn converter(column: &ArrayRef) -> Result<RowConverter> {
    RowConverter::new(vec![SortField::new(column.data_type().clone())])
        .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()).in_field("partition"))
}

/// Values as bytes that compare like the values; `None` for null.
fn bytes_of(converter: &RowConverter, column: &ArrayRef) -> Result<Vec<Option<Vec<u8>>>> {
    let rows = converter.convert_columns(std::slice::from_ref(column))?;
    let bytes = rows.iter().enumerate();
    Ok(bytes.map(|(row, bytes)| column.is_valid(row).then(|| bytes.as_ref().to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;
    use arrow_schema::{DataType, Field};

    use super::*;

    fn tuples(days: &[Option<i32>], regions: &[&str]) -> StructArray {
        let days: ArrayRef = Arc::new(Int32Array::from(days.to_vec()));
        let regions: ArrayRef = Arc::new(StringArray::from(regions.to_vec()));
        StructArray::from(vec![
            (Arc::new(Field::new("day", DataType::Int32, true)), days),
            (Arc::new(Field::new("region", DataType::Utf8, true)), regions),
        ])
    }

    #[test]
    fn every_field_of_a_manifest_must_have_room_for_a_partition() {
        let lower = tuples(&[Some(1), Some(1), Some(3)], &["a", "c", "a"]);
        let upper = tuples(&[Some(2), Some(3), Some(4)], &["b", "d", "z"]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("content", Arc::new(Int32Array::from(vec![0, 0, 0]))),
            ("length", Arc::new(Int64Array::from(vec![10, 10, 10]))),
            ("spec_id", Arc::new(Int32Array::from(vec![0, 0, 0]))),
            ("partition_lower", Arc::new(lower)),
            ("partition_upper", Arc::new(upper)),
        ];
        let mut bounds = ManifestBounds::default();
        bounds.add(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        let asked = tuples(&[Some(1), Some(2), Some(3), None, Some(9)], &["a", "c", "d", "a", "a"]);
        let counts = bounds.counts(&asked, &[Some(0); 5]).unwrap();
        assert_eq!(counts, [Some(1), Some(1), Some(2), None, Some(0)]);
        assert_eq!(bounds.counts(&asked, &[Some(7); 5]).unwrap(), [Some(0); 5], "another spec");
    }

    #[test]
    fn rewritten_manifests_keep_their_total_size() {
        let manifests = vec![PartitionRange { spec_id: None, fields: Vec::new() }; 40];
        let bounds = ManifestBounds { manifests, bytes: 4 * TARGET_BYTES };
        let after = bounds.rewritten(Some(4000), Some(1000), Some(1500));
        assert_eq!((after.manifests, after.most), (Some(4), Some(3)));
        assert!((after.average.unwrap() - 1.003).abs() < 1e-9);
        assert_eq!(bounds.rewritten(Some(0), Some(0), None), ManifestReads::default());
    }
}
