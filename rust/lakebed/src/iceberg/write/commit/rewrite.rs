//! Rewrites manifests, with entries sorted by partition (Iceberg's `BaseRewriteManifests.java`).

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, BooleanArray, Int32Array, RecordBatch};
use lakebed_avro::Codec;

use super::attempt::{Outcome, PendingSnapshot, StateChange};
use super::base::Base;
use super::entries::{CommitEntries, is_of, rows_where, with_status};
use super::head::ListContent;
use super::store::{joined, write_entries};
use super::summary::Summary;
use super::uncommitted::{ManifestEncoding, UncommittedFiles};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::fields::ENTRY;
use crate::iceberg::manifest::EXISTING;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::prune::{Pruner, Summaries};
use crate::iceberg::write::{ManifestContent, ManifestLayout};
use crate::storage::total_size;
use crate::write::sorter::{KeyMaker, Sorter};

/// Which manifests of data files are rewritten, and how. Only live entries are kept. Manifests of delete
/// files are not changed.
#[derive(Debug, Clone, Default)]
pub struct Rewrite {
    /// The size of a manifest \[bytes, compressed\], estimated from the replaced ones.
    pub target_bytes: u64,
    /// The partition fields and columns of entries to sort by; `None` for the partition.
    pub by: Option<Vec<String>>,
    /// Only manifests that may have matching files are rewritten; `None` for all.
    pub filter: Option<String>,
    /// How many bytes of entries are sorted in memory, the others on disk; `None` for 256 MiB.
    pub memory_bytes: Option<usize>,
    /// The codec of the manifests that are written; `None` for that of the table.
    pub codec: Option<Codec>,
    /// Bytes of entries, not compressed, at which a block of those manifests ends; `None` for 64 kB.
    pub block_bytes: Option<usize>,
    /// Additional keys of the snapshot's summary.
    pub properties: Vec<(String, String)>,
}

impl StateChange for Rewrite {
    fn apply(&self, base: &Base, uncommitted: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        self.check(base)?;
        uncommitted.encode_as(ManifestEncoding { codec: self.codec, block_bytes: self.block_bytes });
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
        let (mut new, mut processed) = (Vec::new(), 0_usize);
        for (spec_id, manifests) in by_spec {
            let spec = base.spec(spec_id)?;
            let entries = self.live(base, spec, &manifests)?;
            processed = fitting(processed.checked_add(entries.rows()), "the number of entries")?;
            let rows = self.rows_of_a_part(entries.rows(), &manifests);
            for part in entries.sorted(rows)? {
                new.push(write_entries(base, uncommitted, spec, ManifestContent::Data, &part?)?);
            }
        }
        let counts = [new.len(), kept.num_rows(), replaced.len()];
        let mut summary = Summary::new(&self.properties);
        (summary.manifests, summary.entries_processed) = (counts, Some(processed));
        let manifests = ListContent::Rows(joined(&new, &kept)?);
        Ok(Some(Outcome::Snapshot(Box::new(PendingSnapshot { operation: "replace", manifests, summary }))))
    }
}

impl Rewrite {
    /// Whether each manifest of the list is rewritten.
    fn chosen(&self, base: &Base, list: &RecordBatch) -> Result<BooleanArray> {
        let is_data = is_of(list, DATA)?;
        let Some(text) = &self.filter else { return Ok(is_data) };
        let (manifests, types) = (ManifestFile::all(list)?, base.table.types()?);
        let summaries = Summaries::new(&manifests, &types.specs, &types.partition);
        let may_match = Pruner::new(text, &types)?.may_match(&manifests, &summaries)?;
        let both = is_data.iter().zip(&may_match).map(|(data, matches)| Some(data? && matches?));
        Ok(both.collect())
    }

    /// The live entries of some manifests of one spec, as EXISTING.
    fn live<'r>(
        &'r self,
        base: &'r Base,
        spec: &'r PartitionSpec,
        manifests: &[&ManifestFile],
    ) -> Result<Sorter<impl KeyMaker + use<'r>>> {
        let entries = CommitEntries::all(base)?.of_spec(spec);
        let mut sorter = Sorter::new(self.sort_keys(base, spec), self.memory_bytes);
        let live = manifests.iter().filter(|manifest| manifest.may_be_live());
        for live in entries.live(live.map(|manifest| (*manifest).clone()).collect()) {
            let live = live?;
            // No entry is ADDED, so no snapshot id is set.
            sorter.push(with_status(&live, &Int32Array::from_value(EXISTING, live.num_rows()), 0)?)?;
        }
        Ok(sorter)
    }

    /// The sort keys of entries of one spec; a partition field of other specs is ignored.
    fn sort_keys<'r>(&'r self, base: &'r Base, spec: &'r PartitionSpec) -> impl KeyMaker + use<'r> {
        move |entries: &RecordBatch| {
            let tuples = tuples(base, spec, entries)?;
            let Some(names) = &self.by else { return Ok(tuples) };
            let mut columns = Vec::with_capacity(names.len());
            for name in names {
                let place = spec.fields.iter().position(|field| field.name == *name);
                let values = match place {
                    Some(place) => tuples.get(place),
                    None if is_partition_field(base, name) => None,
                    None => entries.column_by_name(name),
                };
                columns.extend(values.cloned());
            }
            Ok(columns)
        }
    }

    /// The number of rows per manifest that gives the target size, by the size of the replaced manifests.
    fn rows_of_a_part(&self, rows: usize, manifests: &[&ManifestFile]) -> usize {
        let lengths = manifests.iter().filter_map(|manifest| manifest.length);
        let bytes = total_size(lengths);
        let parts = usize::try_from(bytes.div_ceil(self.target_bytes.max(1))).unwrap_or(usize::MAX).max(1);
        rows.div_ceil(parts)
    }

    /// Refuses names that cannot be sorted by.
    fn check(&self, base: &Base) -> Result<()> {
        for name in self.by.iter().flatten() {
            if !is_partition_field(base, name) && !sorts(name) {
                let message =
                    format!("{name:?} is neither a partition field nor a column of entries to sort by");
                return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name));
            }
        }
        Ok(())
    }
}

/// The values of the partition fields of entries of one spec.
fn tuples(base: &Base, spec: &PartitionSpec, entries: &RecordBatch) -> Result<Vec<ArrayRef>> {
    if spec.fields.is_empty() {
        return Ok(Vec::new());
    }
    let schema = base.schema_of(spec)?;
    let layout = ManifestLayout::new(base.version, ManifestContent::Data, &schema, spec, &entries.schema())?;
    layout.tuples().values(entries)
}

/// Whether any spec of the table has a field with that name.
fn is_partition_field(base: &Base, name: &str) -> bool {
    base.metadata.partition_specs.iter().flat_map(|spec| &spec.fields).any(|field| field.name == name)
}

/// Whether this is a column of entries with single values that have an order.
fn sorts(name: &str) -> bool {
    ENTRY.iter().any(|spec| spec.column == name && !(spec.data_type)().is_nested())
}
