//! Manifests written anew, their entries together by partition (Iceberg's `BaseRewriteManifests.java`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_select::take::take_record_batch;

use super::attempt::{Change, Outcome, Snapshot};
use super::base::Base;
use super::entries::{Entries, is_of, rows_where, with_status};
use super::scratch::Scratch;
use super::store::{joined, write_entries};
use super::summary::Summary;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::EXISTING;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::write::{ManifestContent, ManifestLayout};
use crate::record::carried;

/// Writes all manifests of data files anew: live entries alone, sorted by partition, in manifests of about so
/// many bytes. Manifests of delete files stay.
pub(super) struct Rewrite {
    /// Bytes of a manifest, compressed, as those that are replaced let expect.
    pub(super) target_bytes: u64,
}

impl Change for Rewrite {
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>> {
        let list = base.manifests()?;
        let is_data = is_of(&list, DATA)?;
        let replaced = ManifestFile::all(&rows_where(&list, &is_data)?)?;
        if replaced.is_empty() {
            return Ok(None);
        }
        let kept = is_data.iter().map(|is_data| is_data.map(|is_data| !is_data)).collect::<BooleanArray>();
        let kept = rows_where(&list, &kept)?;
        let mut by_spec: BTreeMap<i32, Vec<&ManifestFile>> = BTreeMap::new();
        replaced.iter().for_each(|manifest| by_spec.entry(manifest.spec_id).or_default().push(manifest));
        let (mut new, mut processed) = (Vec::new(), 0);
        for (spec_id, manifests) in by_spec {
            let spec = base.spec(spec_id)?;
            let entries = sorted(base, spec, &self.live(base, &manifests)?)?;
            processed += entries.num_rows();
            for part in self.parts(&entries, &manifests) {
                new.push(write_entries(base, scratch, spec, ManifestContent::Data, &part)?);
            }
        }
        let counts = [new.len(), kept.num_rows(), replaced.len()];
        let mut summary = Summary::default();
        (summary.manifests, summary.entries_processed) = (counts, Some(processed));
        let manifests = joined(&new, &kept)?;
        Ok(Some(Outcome::Snapshot(Box::new(Snapshot { operation: "replace", manifests, summary }))))
    }
}

impl Rewrite {
    /// The live entries of some manifests of one spec, all of them EXISTING.
    fn live(&self, base: &Base, manifests: &[&ManifestFile]) -> Result<RecordBatch> {
        let entries = Entries::all(base)?;
        let live = manifests.iter().filter(|manifest| manifest.may_be_live());
        let batches = live.map(|manifest| entries.live(manifest)).collect::<Result<Vec<_>>>()?;
        if batches.is_empty() {
            return Ok(RecordBatch::new_empty(empty_schema()));
        }
        let all = carried::joined(&batches)?;
        // None of them is new, so that no snapshot id changes.
        with_status(&all, &Int32Array::from_value(EXISTING, all.num_rows()), 0)
    }

    /// As many parts as those bytes make that the entries took before.
    fn parts(&self, entries: &RecordBatch, manifests: &[&ManifestFile]) -> Vec<RecordBatch> {
        let bytes: u64 = manifests.iter().filter_map(|manifest| manifest.length).sum();
        let parts = usize::try_from(bytes.div_ceil(self.target_bytes.max(1))).unwrap_or(usize::MAX).max(1);
        let rows = entries.num_rows().div_ceil(parts).max(1);
        let starts = (0..entries.num_rows()).step_by(rows);
        starts.map(|start| entries.slice(start, rows.min(entries.num_rows() - start))).collect()
    }
}

fn empty_schema() -> arrow_schema::SchemaRef {
    Arc::new(arrow_schema::Schema::empty())
}

/// Entries in the order of their partitions; those of one stay in theirs.
fn sorted(base: &Base, spec: &PartitionSpec, entries: &RecordBatch) -> Result<RecordBatch> {
    if spec.fields.is_empty() || entries.num_rows() == 0 {
        return Ok(entries.clone());
    }
    let (version, schema) = (base.version, base.schema_of(spec)?);
    let layout = ManifestLayout::new(version, ManifestContent::Data, &schema, spec, &entries.schema())?;
    let tuples: Vec<ArrayRef> = layout.tuples().values(entries)?;
    let fields = tuples.iter().map(|values| SortField::new(values.data_type().clone())).collect();
    let keys = RowConverter::new(fields).and_then(|order| order.convert_columns(&tuples));
    let keys =
        keys.map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()).in_field("partition"))?;
    let mut order: Vec<u32> = (0..u32::try_from(entries.num_rows()).unwrap_or(u32::MAX)).collect();
    order.sort_by(|left, right| keys.row(*left as usize).cmp(&keys.row(*right as usize)));
    take_record_batch(entries, &UInt32Array::from(order)).map_err(Into::into)
}
