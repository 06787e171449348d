//! The files that one attempt at a commit writes; they are removed if the attempt fails.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::FieldRef;
use arrow_select::concat::concat_batches;

use super::base::{Base, has_values};
use super::relisted::joined;
use crate::error::Result;
use crate::paimon::fields::LIST;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::manifest_file;
use crate::paimon::table::Table;
use crate::paimon::write::options::{file_options, manifest_target};
use crate::paimon::write::summary::Summary;
use crate::paimon::write::{FileKind, FileOptions, Layout, RecordWriter};
use crate::record::{carried, find, record_schema};
use crate::write::commit::Written;
use crate::write::make_folder;

/// The size of a manifest is checked after so many entries, as in Paimon's `RollingFileWriterImpl.java`.
pub(super) const CHECKED_EVERY: usize = 1000;

/// Writes records; the cell has the number of bytes written so far.
type Writing<'a> = dyn FnMut(&mut RecordWriter<Counted<'_>>, &Cell<u64>) -> Result<()> + 'a;

/// Writes the files of one attempt.
pub(super) struct Made<'t> {
    table: &'t Table,
    uuid: u128,
    /// The number of the next file, across all attempts of a commit.
    number: &'t Cell<u64>,
    written: Written,
    target_bytes: u64,
}

impl<'t> Made<'t> {
    /// Nothing yet.
    ///
    /// # Errors
    /// `Unsupported` for options that this writer does not support.
    pub(super) fn new(
        table: &'t Table,
        uuid: u128,
        number: &'t Cell<u64>,
        target_bytes: Option<u64>,
    ) -> Result<Made<'t>> {
        file_options(table.schema(), [0; 16])?;
        let target_bytes = target_bytes.map_or_else(|| manifest_target(table.schema()), Ok)?;
        let written = Written::on(Arc::clone(table.storage()));
        Ok(Made { table, uuid, number, written, target_bytes })
    }

    /// Writes entries into as many manifests as their size requires. Returns the records of a list.
    pub(super) fn manifests(
        &mut self,
        entries: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<RecordBatch> {
        let mut entries = Pieces { batches: entries, rest: None };
        let partition = PartitionType::new(self.table.schema());
        let mut records = Vec::new();
        while let Some(first) = entries.next().transpose()? {
            records.push(self.manifest(first, &mut entries, &partition)?);
        }
        let schema = record_schema(&LIST.iter().collect::<Vec<_>>());
        concat_batches(&schema, &records).map_err(Into::into)
    }

    /// Writes one manifest: `first`, and what follows until it is full.
    fn manifest(
        &mut self,
        first: RecordBatch,
        entries: &mut Pieces<'_>,
        partition: &PartitionType,
    ) -> Result<RecordBatch> {
        let newer = has_values(&first, "write_cols_sequences")?;
        let layout = if newer { Layout::V2_1 } else { Layout::Current };
        let carried = carried::fields(first.schema_ref());
        let mut summary = Summary::new();
        let target = self.target_bytes;
        let (name, size) =
            self.file("manifest-", FileKind::Manifest, layout, &carried, &mut |writer, bytes| {
                let mut next = Some(first.clone());
                while let Some(piece) = next {
                    writer.write(&piece)?;
                    summary.extend(&piece)?;
                    next = if bytes.get() < target { entries.next_fitting(layout, &carried)? } else { None };
                }
                Ok(())
            })?;
        summary.finish(&name, size, partition)
    }

    /// Writes a manifest list. Returns its name and size.
    pub(super) fn list(&mut self, records: &RecordBatch) -> Result<(String, u64)> {
        let newer = has_values(records, "total_buckets")? || has_values(records, "extra_files")?;
        let layout = if newer { Layout::V2_1 } else { Layout::Current };
        let carried = carried::fields(records.schema_ref());
        self.file("manifest-list-", FileKind::List, layout, &carried, &mut |writer, _| writer.write(records))
    }

    /// Writes the records of both lists of `base` into one, in their order. Returns its name and size.
    pub(super) fn list_again(&mut self, base: &Base) -> Result<(String, u64)> {
        base.check_lists()?;
        let (name, options) = self.next_file("manifest-list-")?;
        match joined(&base.lists, &options, base.table.decoding())? {
            Some(bytes) => self.put(name, &bytes),
            None => self.list(base.list()?),
        }
    }

    /// Writes an index manifest. Returns its name.
    pub(super) fn index(&mut self, records: &RecordBatch) -> Result<String> {
        let global = find(records, "global_index")?;
        let source = global.as_struct_opt().and_then(|global| global.column_by_name("source_meta").cloned());
        let newer = source.is_some_and(|source| source.null_count() < source.len());
        let layout = if newer { Layout::V2_1 } else { Layout::Current };
        let carried = carried::fields(records.schema_ref());
        self.file("index-manifest-", FileKind::Index, layout, &carried, &mut |writer, _| {
            writer.write(records)
        })
        .map(|(name, _)| name)
    }

    fn file(
        &mut self,
        prefix: &str,
        kind: FileKind,
        layout: Layout,
        carried: &[FieldRef],
        write: &mut Writing<'_>,
    ) -> Result<(String, u64)> {
        let (name, mut options) = self.next_file(prefix)?;
        options.layout = layout;
        options.carried = carried.to_vec();
        let length = Cell::new(0);
        let mut writer = RecordWriter::new(Counted { bytes: Vec::new(), length: &length }, kind, options)?;
        write(&mut writer, &length)?;
        let sink = writer.finish()?;
        self.put(name, &sink.bytes)
    }

    /// The name of the next file, and the options to write it with.
    fn next_file(&self, prefix: &str) -> Result<(String, FileOptions)> {
        let number = self.number.replace(self.number.get() + 1);
        let name = format!("{prefix}{}-{number}", uuid_text(self.uuid));
        // Sync markers differ between files.
        let sync = self.uuid.wrapping_add(u128::from(number)).to_be_bytes();
        Ok((name, file_options(self.table.schema(), sync)?))
    }

    /// Writes a file. Returns its name and size.
    fn put(&mut self, name: String, bytes: &[u8]) -> Result<(String, u64)> {
        let path = self.table.files().shared(&manifest_file(&name));
        make_folder(self.table.storage().as_ref(), &path)?;
        self.written.create(&path, bytes)?;
        Ok((name, bytes.len() as u64))
    }

    /// The files.
    pub(super) fn written(self) -> Written {
        self.written
    }
}

/// A UUID as Java prints it.
pub(super) fn uuid_text(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default().to_owned();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

/// Batches in pieces, so that the size of a file can be checked between them.
struct Pieces<'a> {
    batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    rest: Option<RecordBatch>,
}

impl Pieces<'_> {
    /// The next piece, unless it has columns that the layout lacks, or unknown fields that are not among
    /// `carried`.
    fn next_fitting(&mut self, layout: Layout, carried: &[FieldRef]) -> Result<Option<RecordBatch>> {
        let Some(piece) = self.next().transpose()? else { return Ok(None) };
        let fitting = carried::padded(&piece, carried)?;
        let newer = layout == Layout::Current && has_values(&piece, "write_cols_sequences")?;
        if newer || fitting.is_none() {
            self.rest = Some(match self.rest.take() {
                Some(rest) => concat_batches(&piece.schema(), [&piece, &rest])?,
                None => piece,
            });
            return Ok(None);
        }
        Ok(fitting)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let batch = match self.rest.take() {
                Some(rest) => rest,
                None => match self.batches.next()? {
                    Ok(batch) => batch,
                    Err(error) => return Some(Err(error)),
                },
            };
            if batch.num_rows() > CHECKED_EVERY {
                self.rest = Some(batch.slice(CHECKED_EVERY, batch.num_rows() - CHECKED_EVERY));
                return Some(Ok(batch.slice(0, CHECKED_EVERY)));
            }
            if batch.num_rows() > 0 {
                return Some(Ok(batch));
            }
        }
    }
}

/// A file's bytes, with their number readable while it is written.
struct Counted<'a> {
    bytes: Vec<u8>,
    length: &'a Cell<u64>,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        self.length.set(self.bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
