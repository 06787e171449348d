//! Records in entries what data files say of themselves: their size, number of rows and metrics.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, MapArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use super::base::Base;
use super::entries::CommitEntries;
use super::input_files::InputFiles;
use super::misplaced::replaced;
use super::select::ManifestSelection;
use super::summary::Summary;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest_list::DATA;
use crate::iceberg::write::FormatVersion;
use crate::record::{column, find};

const RECORDS: &str = "record_count";
const SIZE: &str = "file_size_in_bytes";

/// What files say of themselves, a row each.
pub(super) struct DescribedFiles {
    rows: HashMap<String, usize>,
    records: Int64Array,
    sizes: Int64Array,
    /// Maps by field id, by column of entries.
    metrics: HashMap<&'static str, ArrayRef>,
}

impl DescribedFiles {
    /// Selects the manifests that list the files.
    ///
    /// # Errors
    /// `Argument` for a file that is not live; those of metrics, and of reading manifests.
    pub(super) fn select(
        given: &InputFiles,
        base: &Base,
        selected: &mut ManifestSelection,
    ) -> Result<DescribedFiles> {
        let paths: StringArray = given.column("file_path")?;
        let rows: HashMap<String, usize> = paths.iter().flatten().map(str::to_owned).zip(0..).collect();
        let entries = CommitEntries::of(base, &["file_path"])?;
        let (mut found, mut hit) = (HashSet::new(), Vec::new());
        for (place, manifest) in selected.live().filter(|(_, manifest)| manifest.content == DATA) {
            for path in column::<StringArray>(&entries.live(manifest)?, "file_path")?.iter().flatten() {
                if let Some(row) = rows.get(path) {
                    found.insert(*row);
                    hit.push(place);
                }
            }
        }
        if let Some(row) = (0..paths.len()).find(|row| !found.contains(row)) {
            let message = format!("{:?} is not a live file of the table", paths.value(row));
            return Err(Error::new(ErrorKind::Argument, message).in_field("described").in_row(row));
        }
        selected.hit(hit);
        Ok(DescribedFiles {
            rows,
            records: given.column(RECORDS)?,
            sizes: given.column(SIZE)?,
            metrics: given.metrics(base.current_schema()?)?,
        })
    }

    /// Live entries of a manifest, with what their files say of themselves. Metrics of which these say nothing stay.
    ///
    /// # Errors
    /// `Unsupported` where a file of a table with row ids has more rows than it has ids.
    pub(super) fn recorded(
        &self,
        base: &Base,
        live: &RecordBatch,
        summary: &mut Summary,
    ) -> Result<RecordBatch> {
        let paths = column::<StringArray>(live, "file_path")?;
        let rows: Vec<Option<usize>> =
            paths.iter().map(|path| path.and_then(|path| self.rows.get(path)).copied()).collect();
        if rows.iter().all(Option::is_none) {
            return Ok(live.clone());
        }
        let known = column::<Int64Array>(live, RECORDS)?;
        let records = in_place_of(known, &self.records, &rows);
        let grown = records.iter().zip(known).position(|(records, known)| records > known);
        if let Some(row) = grown.filter(|_| base.version == FormatVersion::V3) {
            let message = "it has more rows than row ids";
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(paths.value(row)));
        }
        let sizes = in_place_of(column(live, SIZE)?, &self.sizes, &rows);
        let mut columns: Vec<(&str, ArrayRef)> = vec![(RECORDS, Arc::new(records)), (SIZE, Arc::new(sizes))];
        for (name, given) in &self.metrics {
            columns.push((name, united(&find(live, name)?, given, &rows)?));
        }
        let recorded = replaced(live, &columns)?;
        summary.correct(live, &recorded)?;
        Ok(recorded)
    }
}

/// The numbers of entries, each but for that row of `given` which `rows` names for it.
fn in_place_of(known: &Int64Array, given: &Int64Array, rows: &[Option<usize>]) -> Int64Array {
    known.iter().zip(rows).map(|(known, row)| row.map_or(known, |row| Some(given.value(row)))).collect()
}

/// The maps of entries, each with the pairs of that row of `given` which `rows` names for it.
fn united(known: &ArrayRef, given: &ArrayRef, rows: &[Option<usize>]) -> Result<ArrayRef> {
    let not_maps = || Error::new(ErrorKind::Argument, "metrics are not maps");
    let [Some(known), Some(given)] = [known, given].map(|maps| maps.as_map_opt()) else {
        return Err(not_maps());
    };
    let (mut keys, mut places, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(rows.len()));
    let mut is_valid = Vec::with_capacity(rows.len());
    for (row, of_given) in rows.iter().enumerate() {
        // Of each key which of the two maps has its value, and where.
        let mut pairs: BTreeMap<i32, (usize, usize)> =
            places_in(known, row).map(|(key, place)| (key, (0, place))).collect();
        let of_given = of_given.iter().flat_map(|row| places_in(given, *row));
        pairs.extend(of_given.map(|(key, place)| (key, (1, place))));
        is_valid.push(known.is_valid(row) || !pairs.is_empty());
        lengths.push(pairs.len());
        keys.extend(pairs.keys().copied());
        places.extend(pairs.into_values());
    }
    let values = interleave(&[known.values().as_ref(), given.values().as_ref()], &places)?;
    let (DataType::Map(field, is_sorted), DataType::Struct(fields)) =
        (known.data_type(), known.entries().data_type())
    else {
        return Err(not_maps());
    };
    let pairs = StructArray::try_new(fields.clone(), vec![Arc::new(Int32Array::from(keys)), values], None)?;
    let (offsets, valid) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(is_valid));
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, pairs, Some(valid), *is_sorted)?))
}

/// The keys of a map, and where their values are.
fn places_in(maps: &MapArray, row: usize) -> impl Iterator<Item = (i32, usize)> {
    let keys = maps.keys().as_primitive::<Int32Type>().clone();
    let range = maps.offsets().windows(2).nth(row).map_or(0..0, |pair| match pair {
        [start, end] => *start as usize..*end as usize,
        _ => 0..0,
    });
    range.map(move |place| (keys.value(place), place))
}
