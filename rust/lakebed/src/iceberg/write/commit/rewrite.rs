//! Manifests written anew, their entries together by partition (Iceberg's `BaseRewriteManifests.java`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::take::take_record_batch;

use super::attempt::{Change, Outcome, Snapshot};
use super::base::Base;
use super::entries::{Entries, is_of, rows_where, with_status};
use super::head::Listing;
use super::scratch::Scratch;
use super::store::{joined, write_entries};
use super::summary::Summary;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::ENTRY;
use crate::iceberg::manifest::EXISTING;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::prune::{Pruner, Summaries};
use crate::iceberg::write::{ManifestContent, ManifestLayout};
use crate::record::carried;

/// Which manifests of data files are written anew, and how: live entries alone. Manifests of delete files stay.
#[derive(Debug, Clone, Default)]
pub struct Rewrite {
    /// Bytes of a manifest, compressed, as those that are replaced let expect.
    pub target_bytes: u64,
    /// What entries are sorted by: partition fields and columns of entries; `None` for the partition.
    pub by: Option<Vec<String>>,
    /// Those manifests alone that may hold files which match; `None` for all.
    pub filter: Option<String>,
}

impl Change for Rewrite {
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>> {
        let list = base.manifests()?;
        let is_data = self.chosen(base, &list)?;
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
            let entries = self.sorted(base, spec, &self.live(base, &manifests)?)?;
            processed += entries.num_rows();
            for part in self.parts(&entries, &manifests) {
                new.push(write_entries(base, scratch, spec, ManifestContent::Data, &part)?);
            }
        }
        let counts = [new.len(), kept.num_rows(), replaced.len()];
        let mut summary = Summary::default();
        (summary.manifests, summary.entries_processed) = (counts, Some(processed));
        let manifests = Listing::Rows(joined(&new, &kept)?);
        Ok(Some(Outcome::Snapshot(Box::new(Snapshot { operation: "replace", manifests, summary }))))
    }
}

impl Rewrite {
    /// Whether each manifest of the list is written anew.
    fn chosen(&self, base: &Base, list: &RecordBatch) -> Result<BooleanArray> {
        let is_data = is_of(list, DATA)?;
        let Some(text) = &self.filter else { return Ok(is_data) };
        let (manifests, types) = (ManifestFile::all(list)?, base.table.types()?);
        let summaries = Summaries::new(&manifests, &types.specs, &types.partition);
        let may_match = Pruner::new(text, &types)?.may_match(&manifests, &summaries)?;
        let both = is_data.iter().zip(&may_match).map(|(data, matches)| Some(data? && matches?));
        Ok(both.collect())
    }

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

impl Rewrite {
    /// Entries in the order asked for; those that are equal there stay in theirs.
    fn sorted(&self, base: &Base, spec: &PartitionSpec, entries: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.keys(base, spec, entries)?;
        if columns.is_empty() || entries.num_rows() == 0 {
            return Ok(entries.clone());
        }
        let fields = columns.iter().map(|values| SortField::new(values.data_type().clone())).collect();
        let keys = RowConverter::new(fields).and_then(|order| order.convert_columns(&columns));
        let keys =
            keys.map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()).in_field("by"))?;
        let mut order: Vec<u32> = (0..u32::try_from(entries.num_rows()).unwrap_or(u32::MAX)).collect();
        order.sort_by(|left, right| keys.row(*left as usize).cmp(&keys.row(*right as usize)));
        take_record_batch(entries, &UInt32Array::from(order)).map_err(Into::into)
    }

    /// The columns that entries are sorted by. A partition field that another spec has sorts nothing here.
    fn keys(&self, base: &Base, spec: &PartitionSpec, entries: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let tuples = || -> Result<Vec<ArrayRef>> {
            if spec.fields.is_empty() || entries.num_rows() == 0 {
                return Ok(Vec::new());
            }
            let (version, schema) = (base.version, base.schema_of(spec)?);
            let layout =
                ManifestLayout::new(version, ManifestContent::Data, &schema, spec, &entries.schema())?;
            layout.tuples().values(entries)
        };
        let Some(names) = &self.by else { return tuples() };
        let tuples = tuples()?;
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let place = spec.fields.iter().position(|field| field.name == *name);
            let is_field = base.metadata.partition_specs.iter().any(|spec| has_field(spec, name));
            if is_field {
                columns.extend(place.and_then(|place| tuples.get(place)).cloned());
            } else if ENTRY.iter().any(|spec| spec.column == name && sorts(&(spec.data_type)())) {
                columns.extend(entries.column_by_name(name).cloned());
            } else {
                let message =
                    format!("{name:?} is neither a partition field nor a column of entries to sort by");
                return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name));
            }
        }
        Ok(columns)
    }
}

fn has_field(spec: &PartitionSpec, name: &str) -> bool {
    spec.fields.iter().any(|field| field.name == name)
}

/// Whether values are single ones, in an order.
fn sorts(data_type: &DataType) -> bool {
    !data_type.is_nested()
}
