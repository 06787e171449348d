//! What manifests name, as formats give it.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, UInt8Builder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch};

use super::kind::Kind;
use super::partitions::{Fact, Record};
use super::sets::SetId;
use crate::error::{Error, ErrorKind, Result};
use crate::record::find;

/// One thing that an entry says of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'p> {
    pub(crate) path: &'p str,
    pub(crate) kind: Kind,
    pub(crate) fact: Fact,
    /// The roots that say so.
    pub(crate) set: SetId,
    /// Bytes of the file, below 0 where nobody knows.
    pub(crate) size: i64,
    /// Tells several files at one path apart, of which some may be deleted.
    pub(crate) identity: i64,
}

/// What the entries of a batch say.
#[derive(Default)]
pub(crate) struct NamedBatch {
    paths: StringBuilder,
    kinds: UInt8Builder,
    facts: UInt8Builder,
    sets: UInt32Builder,
    sizes: Int64Builder,
    identities: Int64Builder,
}

impl NamedBatch {
    pub(crate) fn push(&mut self, named: Named<'_>) {
        self.paths.append_value(named.path);
        self.kinds.append_value(named.kind as u8);
        self.facts.append_value(named.fact as u8);
        self.sets.append_value(named.set.0);
        self.sizes.append_value(named.size);
        self.identities.append_value(named.identity);
    }

    /// The rows as a stream of manifests carries them.
    pub(crate) fn finish(mut self) -> Result<RecordBatch> {
        let columns: [(&str, ArrayRef); 6] = [
            ("path", Arc::new(self.paths.finish())),
            ("kind", Arc::new(self.kinds.finish())),
            ("fact", Arc::new(self.facts.finish())),
            ("set", Arc::new(self.sets.finish())),
            ("size", Arc::new(self.sizes.finish())),
            ("identity", Arc::new(self.identities.finish())),
        ];
        RecordBatch::try_from_iter(columns).map_err(Into::into)
    }
}

/// Calls `take` with what each row says, its key the whole path.
pub(crate) fn each_named(batch: &RecordBatch, mut take: impl FnMut(Record<'_>) -> Result<()>) -> Result<()> {
    let [paths, kinds, facts, sets, sizes, identities] =
        ["path", "kind", "fact", "set", "size", "identity"].map(|name| find(batch, name));
    let (paths, kinds, facts, sets) = (paths?, kinds?, facts?, sets?);
    let (sizes, identities) = (sizes?, identities?);
    let (kinds, facts) = (kinds.as_primitive::<UInt8Type>(), facts.as_primitive::<UInt8Type>());
    let (sizes, identities) = (sizes.as_primitive::<Int64Type>(), identities.as_primitive::<Int64Type>());
    let (paths, sets) = (paths.as_string::<i32>(), sets.as_primitive::<UInt32Type>());
    for row in 0..batch.num_rows() {
        let fact = if facts.value(row) == Fact::Deleted as u8 { Fact::Deleted } else { Fact::Reached };
        let kind = Kind::numbered(kinds.value(row));
        let kind = kind.ok_or_else(|| Error::new(ErrorKind::Internal, "a kind that there is not"))?;
        let path = paths.value(row);
        take(Record {
            fact,
            kind,
            prefix: 0,
            set: SetId(sets.value(row)),
            size: sizes.value(row),
            value: identities.value(row),
            path,
            key: path,
        })?;
    }
    Ok(())
}
