//! The comparison of listed files with those that are reached, part by part.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use foldhash::fast::RandomState;

use super::listed::misspelled;
use super::other_tables::is_below_any;
use super::plan_columns::PlanColumns;
use super::prefixes::{LastPath, Prefixes};
use super::record::{Fact, NOT_ASKED, Record, records};
use super::spelling::Spellings;
use crate::error::{Error, ErrorKind, Result};
use crate::scan::ScanOptions;
use crate::storage::Storage;
use crate::view::whole;

/// What the records of a part state, besides the listed files.
#[derive(Default)]
struct PartRecords<'r> {
    /// The keys of reached files, each with all its prefixes, of which there is mostly one.
    reached: HashMap<&'r str, (u16, Vec<u16>), RandomState>,
    /// The paths of files that are too new.
    new: HashSet<&'r str>,
    folders: HashSet<&'r str>,
    tables: HashSet<&'r str>,
    /// Whether the listing is known to have the table, by a file in another part or by where it is from.
    is_own: bool,
}

impl<'r> PartRecords<'r> {
    fn of(pieces: &'r [RecordBatch]) -> Result<PartRecords<'r>> {
        let mut part = PartRecords::default();
        for piece in pieces {
            records(piece)?.try_for_each(|record| record.map(|record| part.take(&record)))?;
        }
        Ok(part)
    }

    fn take(&mut self, Record { fact, prefix, path, key, .. }: &Record<'r>) {
        match fact {
            Fact::Reached => {
                let (first, others) = self.reached.entry(key).or_insert((*prefix, Vec::new()));
                if prefix != first && !others.contains(prefix) {
                    others.push(*prefix);
                }
            }
            Fact::New => _ = self.new.insert(path),
            Fact::Folder => _ = self.folders.insert(key),
            Fact::Table => _ = self.tables.insert(key),
            Fact::Own => self.is_own = true,
            Fact::Listed | Fact::Deleted => {}
        }
    }

    /// The reached files that are not listed.
    fn unlisted(&self, pieces: &'r [RecordBatch]) -> Spellings<'r> {
        let listed = pieces.iter().flat_map(records).flatten().flatten();
        let listed = listed.filter(|record| matches!(record.fact, Fact::Listed | Fact::New));
        let listed: HashSet<&str> = listed.map(|record| record.key).collect();
        Spellings::of(self.reached.keys().copied().filter(|key| !listed.contains(key)))
    }

    /// Whether the file is also listed as too new, as where a listing has older versions of files.
    fn has_newer(&self, record: &Record<'_>) -> bool {
        self.new.contains(record.path)
    }

    /// The prefixes with which a key is reached.
    fn prefixes(&self, key: &str) -> impl Iterator<Item = u16> + Clone {
        let reached = self.reached.get(key).into_iter();
        reached.flat_map(|(first, others)| std::iter::once(first).chain(others)).copied()
    }
}

/// Whether one of the listed files of a part is reached.
pub(super) fn has_reached(pieces: &[RecordBatch]) -> Result<bool> {
    let part = PartRecords::of(pieces)?;
    for piece in pieces {
        for record in records(piece)? {
            let record = record?;
            if matches!(record.fact, Fact::Listed | Fact::New) && part.prefixes(record.key).next().is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The orphans of a part. `ages` checks those whose details were not asked for.
///
/// # Errors
/// `Location` for a part whose listing is not known to have the table, and has none of the files that it reaches.
pub(super) fn orphans(
    pieces: &[RecordBatch],
    prefixes: &Prefixes,
    ages: Option<&Ages>,
) -> Result<RecordBatch> {
    let part = PartRecords::of(pieces)?;
    let (mut rows, mut has_reached) = (OrphanRows::default(), false);
    let (mut spellings, mut taken, mut last) = (None, HashSet::new(), LastPath::default());
    for piece in pieces {
        for record in records(piece)? {
            let record = record?;
            if !matches!(record.fact, Fact::Listed | Fact::New) {
                continue;
            }
            let named = part.prefixes(record.key);
            let is_reached = named.clone().next().is_some();
            has_reached |= is_reached;
            if !part.tables.is_empty()
                && is_below_any(&prefixes.split(record.path, &mut last)?.1, &part.tables)
            {
                continue;
            }
            if is_reached {
                prefixes.check(named, record.prefix, record.path, record.key)?;
                continue;
            }
            if record.fact == Fact::New || part.has_newer(&record) || part.folders.contains(record.key) {
                continue;
            }
            let Some(record) = ages.map_or(Ok(Some(record)), |ages| ages.checked(record))? else { continue };
            let unlisted = spellings.get_or_insert_with(|| part.unlisted(pieces));
            if let Some(reached) = unlisted.find(record.key) {
                return Err(misspelled(record.path, reached));
            }
            if taken.insert(record.path) {
                rows.push(&record)?;
            }
        }
    }
    // Where no process sent records, there is only what the table names.
    if has_reached || part.is_own || pieces.len() < 2 { rows.finish() } else { Err(of_no_table()) }
}

/// The error for a listing without any file of the table.
#[cold]
pub(super) fn of_no_table() -> Error {
    let message = "the listing has none of the files that the table reaches: it may be of another bucket or folder, \
                   older than the table, or URL-encoded. Sink one of all of the table's folder, with its metadata, and \
                   with decoded paths (urllib.parse.unquote_plus)";
    Error::new(ErrorKind::Location, message)
}

/// Checks the age of orphans that were listed without it. Most files of a table are reached, so few are asked for.
pub(super) struct Ages {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) before_ms: Option<i64>,
}

impl Ages {
    /// The record with the details of its file; `None` for a file that was removed or modified since it was
    /// listed, or is too new.
    fn checked<'r>(&self, record: Record<'r>) -> Result<Option<Record<'r>>> {
        if record.size != NOT_ASKED {
            return Ok(Some(record));
        }
        // The path is the real one already, so whatever maps paths is left out.
        let mut storage: &dyn Storage = self.storage.as_ref();
        while let Some(inner) = storage.inner() {
            storage = inner;
        }
        let Some(details) = storage.details(record.path)? else { return Ok(None) };
        let is_old = |before| details.modified.is_some_and(|modified| modified < before);
        let (size, value) = (details.recorded_size(), details.modified.unwrap_or(i64::MIN));
        Ok(self.before_ms.is_none_or(is_old).then_some(Record { size, value, ..record }))
    }
}

/// The schema of the rows that `options` ask for.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(super) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    Ok(PlanColumns::unread().selected(&OrphanRows::default().finish()?, options)?.schema())
}

/// A builder of rows.
#[derive(Default)]
struct OrphanRows {
    paths: StringBuilder,
    sizes: Int64Builder,
    times: TimestampMicrosecondBuilder,
    count: usize,
}

impl OrphanRows {
    fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let time = (record.value != i64::MIN).then(|| record.value.checked_mul(1000));
        let out_of_range = || {
            let message = format!("modified {} ms since 1970", record.value);
            Error::new(ErrorKind::Timestamp, message).in_file(record.path)
        };
        self.times.append_option(time.map(|time| time.ok_or_else(out_of_range)).transpose()?);
        self.paths.append_value(record.path);
        self.sizes.append_option((record.size >= 0).then_some(record.size));
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
            ("modified_at", Arc::new(self.times.finish().with_timezone("UTC"))),
        ];
        whole(columns, self.count)
    }
}
