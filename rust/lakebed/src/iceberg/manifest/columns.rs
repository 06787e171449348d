//! The requested columns of entries, and what must be decoded for them.

use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::canonical::{canonical_entry, canonical_prefixed_entry};
use crate::error::Result;
use crate::field::FieldSpec;
use crate::iceberg::fields::{ENTRY, PARTITION, PARTITION_ON_DISK, RECORD_COUNT_ON_DISK};
use crate::record::{RecordResolver, select};

/// Always decoded: status and row counts are compared with the manifest list, and row ids are counted from
/// both.
const ALWAYS: [&str; 2] = ["status", "record_count"];

/// Columns of entries, resolved once for each writer's schema in a table's manifests.
pub struct EntryColumns {
    wanted: Vec<&'static FieldSpec>,
    decoded: Vec<String>,
    /// The ids of the columns whose metrics are needed; `None` for all.
    metrics_of: Option<Vec<i32>>,
    resolver: RecordResolver,
    /// For manifests with a length before `fixed` partition values; made for the first such manifest.
    prefixed: OnceLock<RecordResolver>,
}

impl EntryColumns {
    /// The named columns of [`ENTRY`], in that order; all of them for `None`.
    ///
    /// # Errors
    /// `UnknownColumn`, with the known names.
    pub fn new(names: Option<&[String]>) -> Result<EntryColumns> {
        let wanted = select(&ENTRY, names)?;
        let stored = wanted.iter().map(|spec| spec.column).filter(|name| *name != PARTITION);
        let mut decoded: Vec<String> = stored.map(str::to_owned).collect();
        for name in ALWAYS {
            if !decoded.iter().any(|known| known == name) {
                decoded.push(name.to_owned());
            }
        }
        let columns = EntryColumns {
            resolver: resolver(&wanted, &decoded)?.rewriting(canonical_entry),
            wanted,
            decoded,
            metrics_of: None,
            prefixed: OnceLock::new(),
        };
        Ok(columns)
    }

    /// The same columns, with the metrics of these columns of the table only: maps by field id may lack
    /// others.
    #[must_use]
    pub fn with_metrics_of(self, field_ids: Option<Vec<i32>>) -> EntryColumns {
        EntryColumns { resolver: self.resolver.keeping(field_ids.clone()), metrics_of: field_ids, ..self }
    }

    /// The requested columns, in order.
    pub(super) fn wanted(&self) -> &[&'static FieldSpec] {
        &self.wanted
    }

    /// The schema of the batches, with this type of partition tuples.
    pub(super) fn schema(&self, partition: &DataType) -> SchemaRef {
        let field = |spec: &&FieldSpec| match spec.column {
            PARTITION => Field::new(PARTITION, partition.clone(), true),
            _ => spec.arrow(),
        };
        Arc::new(Schema::new(self.wanted.iter().map(field).collect::<Vec<_>>()))
    }

    /// Decodes the columns; partition tuples are decoded separately, as stored.
    pub(in crate::iceberg) fn resolver(&self) -> &RecordResolver {
        &self.resolver
    }

    /// As [`EntryColumns::resolver`], for `fixed` partition values with a length before them.
    pub(super) fn prefixed(&self) -> Result<&RecordResolver> {
        if let Some(resolver) = self.prefixed.get() {
            return Ok(resolver);
        }
        let made = resolver(&self.wanted, &self.decoded)?
            .rewriting(canonical_prefixed_entry)
            .keeping(self.metrics_of.clone());
        Ok(self.prefixed.get_or_init(|| made))
    }
}

fn resolver(wanted: &[&'static FieldSpec], decoded: &[String]) -> Result<RecordResolver> {
    let (guard, besides): (&[&str], &[&str]) = match wanted.iter().any(|spec| spec.column == PARTITION) {
        true => (&["status", PARTITION_ON_DISK, RECORD_COUNT_ON_DISK], &[PARTITION_ON_DISK]),
        false => (&["status"], &[]),
    };
    RecordResolver::new(&ENTRY, Some(decoded), guard, besides)
}
