//! The key ranges of files above level 0, which must not overlap within a bucket and level (Paimon's
//! `ConflictDetection.checkKeyRange`).

use std::cmp::Ordering;

use arrow_array::{BinaryArray, Int32Array, RecordBatch, StringArray};
use arrow_row::OwnedRow;

use super::added::AddedFiles;
use super::base::Base;
use crate::error::{ErrorKind, Result};
use crate::paimon::binary_row::KeyOrder;
use crate::paimon::schema::TableSchema;
use crate::paimon::write::options::is_on;
use crate::record::column;

/// The columns of keys.
pub(super) const KEYS: [&str; 2] = ["min_key", "max_key"];

/// Whether any of these files is above level 0 of a table with primary keys.
pub(super) fn is_leveled(schema: &TableSchema, entries: &RecordBatch) -> Result<bool> {
    if schema.primary_keys.is_empty() || is_on(schema, "pk-clustering-override", false) {
        return Ok(false);
    }
    let levels = column::<Int32Array>(entries, "level")?;
    Ok(levels.values().iter().any(|level| *level > 0))
}

/// A file above level 0.
struct KeyedFile {
    partition: Vec<u8>,
    bucket: i32,
    level: i32,
    min: OwnedRow,
    max: OwnedRow,
    name: String,
    /// Its row among the added files, if it is one.
    added: Option<usize>,
}

impl KeyedFile {
    fn order(&self, other: &KeyedFile) -> Ordering {
        let place = |one: &KeyedFile| (one.bucket, one.level);
        let by_place = self.partition.cmp(&other.partition).then(place(self).cmp(&place(other)));
        by_place.then_with(|| self.min.cmp(&other.min))
    }

    fn overlaps(&self, next: &KeyedFile) -> bool {
        let same = (&self.partition, self.bucket, self.level) == (&next.partition, next.bucket, next.level);
        same && self.max >= next.min
    }
}

/// Refuses files whose keys overlap those of other files of their bucket and level, live ones or added ones.
///
/// # Errors
/// `Conflict` where the other is live, `Argument` where both are added, with the row.
pub(super) fn check(base: &Base, live: &RecordBatch, added: &AddedFiles) -> Result<()> {
    let order = KeyOrder::of(&base.schema().trimmed_primary_keys())?;
    let mut files = keyed(live, &order, false)?;
    files.extend(keyed(&added.entries, &order, true)?);
    files.sort_by(KeyedFile::order);
    for pair in files.windows(2) {
        let [one, next] = pair else { continue };
        if !one.overlaps(next) {
            continue;
        }
        let (own, other) = if next.added.is_some() { (next, one) } else { (one, next) };
        let Some(at) = own.added else { continue };
        if other.added.is_some() {
            let why = format!("has keys in the range of {:?}, in the same bucket and level", other.name);
            return Err(added.refused(at, &why));
        }
        let why = format!(
            "has keys in the range of {:?}, which another commit has added to the same bucket and level",
            other.name
        );
        return Err(added.paths.refused(at, ErrorKind::Conflict, &why));
    }
    Ok(())
}

/// The files above level 0 of some entries.
fn keyed(entries: &RecordBatch, order: &KeyOrder, is_added: bool) -> Result<Vec<KeyedFile>> {
    let partitions = column::<BinaryArray>(entries, "partition")?;
    let names = column::<StringArray>(entries, "file_name")?;
    let buckets = column::<Int32Array>(entries, "bucket")?;
    let levels = column::<Int32Array>(entries, "level")?.values();
    let [min, max] = KEYS.map(|key| order.rows(column(entries, key)?));
    let (min, max) = (min?, max?);
    let rows = (0..entries.num_rows()).filter(|row| levels.get(*row).is_some_and(|level| *level > 0));
    let file = |row: usize| KeyedFile {
        partition: partitions.value(row).to_vec(),
        bucket: buckets.value(row),
        level: levels.get(row).copied().unwrap_or_default(),
        min: min.row(row).owned(),
        max: max.row(row).owned(),
        name: names.value(row).to_owned(),
        added: is_added.then_some(row),
    };
    Ok(rows.map(file).collect())
}
