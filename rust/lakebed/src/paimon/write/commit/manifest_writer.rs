//! The files that one attempt at a commit writes; they are removed if the attempt fails.

use std::cell::Cell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::FieldRef;
use arrow_select::concat::concat_batches;

use super::base::{Base, has_values};
use super::file_writer::FileWriter;
use super::options::CommitOptions;
use super::relisted::joined;
use crate::columnar::Encoder;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::paimon::fields::LIST;
use crate::paimon::partition::PartitionType;
use crate::paimon::paths::manifest_file;
use crate::paimon::sidecar;
use crate::paimon::table::Table;
use crate::paimon::write::options::{Container, ManifestFormat, manifest_target};
use crate::paimon::write::summary::Summary;
use crate::paimon::write::{FileKind, Layout};
use crate::record::{carried, find, record_schema};
use crate::write::commit::WrittenFiles;
use crate::write::make_folder;

/// The size of a manifest is checked after this many entries, as in Paimon's `RollingFileWriterImpl.java`.
pub(super) const CHECKED_EVERY: usize = 1000;

/// Writes the records of a file.
type Writing<'a> = dyn FnMut(&mut FileWriter<'_>) -> Result<()> + 'a;

/// Writes the files of one attempt.
pub(super) struct ManifestWriter<'t> {
    table: &'t Table,
    format: ManifestFormat,
    encoder: Option<&'t dyn Encoder>,
    uuid: u128,
    /// The number of the next file, across all attempts of a commit.
    number: &'t Cell<u64>,
    written: WrittenFiles,
    target_bytes: u64,
}

impl<'t> ManifestWriter<'t> {
    /// Nothing yet.
    ///
    /// # Errors
    /// `Unsupported` for options that this writer does not support, and for ORC and Parquet without an
    /// encoder.
    pub(super) fn new(
        base: &'t Base,
        options: &'t CommitOptions,
        number: &'t Cell<u64>,
        target_bytes: Option<u64>,
    ) -> Result<ManifestWriter<'t>> {
        let (table, format) = (&base.table, base.format()?);
        Container::of(table.schema(), format, [0; 16])?;
        let encoder = options.encoder.as_deref();
        if format != ManifestFormat::Avro && encoder.is_none() {
            let message =
                format!("manifests in {} are written only where an encoder is given", format.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let target_bytes = target_bytes.map_or_else(|| manifest_target(table.schema()), Ok)?;
        let written = WrittenFiles::on(Arc::clone(table.storage()));
        Ok(ManifestWriter { table, format, encoder, uuid: options.uuid, number, written, target_bytes })
    }

    /// Writes entries into as many manifests as their size requires. Returns the records of a list.
    pub(super) fn manifests(
        &mut self,
        entries: &mut dyn Iterator<Item = Result<RecordBatch>>,
    ) -> Result<RecordBatch> {
        let mut entries = BatchPieces { batches: entries, rest: None };
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
        entries: &mut BatchPieces<'_>,
        partition: &PartitionType,
    ) -> Result<RecordBatch> {
        let newer = has_values(&first, "write_cols_sequences")?;
        let layout = if newer { Layout::V2_1 } else { Layout::Current };
        let carried = carried::fields(first.schema_ref());
        let mut summary = Summary::new();
        let target = self.target_bytes;
        let (name, bytes) =
            self.encoded("manifest-", FileKind::Manifest, layout, &carried, &mut |writer| {
                let mut next = Some(first.clone());
                while let Some(piece) = next {
                    writer.write(&piece)?;
                    summary.extend(&piece)?;
                    let full = writer.has(target)?;
                    next = if full { None } else { entries.next_fitting(layout, &carried)? };
                }
                Ok(())
            })?;
        let sidecar = self.sidecar(&name, &bytes)?;
        let (name, size) = self.put(name, &bytes)?;
        let sidecar = sidecar.map(|(name, bytes)| self.put(name, &bytes)).transpose()?;
        summary.finish(&name, size, sidecar.as_ref().map(|(name, _)| name.as_str()), partition)
    }

    /// The name and bytes of a manifest's sidecar, where the table's options ask for one. It is built
    /// from the finished file, as in Paimon's `ManifestFile.java`.
    fn sidecar(&self, manifest: &str, bytes: &Buffer) -> Result<Option<(String, Vec<u8>)>> {
        let schema = self.table.schema();
        if self.format != ManifestFormat::Avro || !sidecar::is_enabled(schema) {
            return Ok(None);
        }
        let built = sidecar::build(bytes, schema, self.table.decoding())?;
        Ok(built.map(|built| (format!("{manifest}{}", sidecar::SUFFIX), built)))
    }

    /// Writes a manifest list. Returns its name and size.
    pub(super) fn list(&mut self, records: &RecordBatch) -> Result<(String, u64)> {
        let newer = has_values(records, "total_buckets")? || has_values(records, "extra_files")?;
        let layout = if newer { Layout::V2_1 } else { Layout::Current };
        let carried = carried::fields(records.schema_ref());
        self.file("manifest-list-", FileKind::List, layout, &carried, &mut |writer| writer.write(records))
    }

    /// Writes the records of both lists of `base` into one, in their order. Returns its name and size.
    pub(super) fn list_again(&mut self, base: &Base) -> Result<(String, u64)> {
        base.check_lists()?;
        let (name, container) = self.next_file("manifest-list-")?;
        let joined = match container {
            Container::Avro(options) => joined(&base.lists, &options, base.table.decoding())?,
            Container::Columnar(_) => None,
        };
        match joined {
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
        self.file("index-manifest-", FileKind::Index, layout, &carried, &mut |writer| writer.write(records))
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
        let (name, bytes) = self.encoded(prefix, kind, layout, carried, write)?;
        self.put(name, &bytes)
    }

    /// The name and bytes of a file, which is not written yet.
    fn encoded(
        &self,
        prefix: &str,
        kind: FileKind,
        layout: Layout,
        carried: &[FieldRef],
        write: &mut Writing<'_>,
    ) -> Result<(String, Buffer)> {
        let (name, container) = self.next_file(prefix)?;
        let mut writer =
            FileWriter::new(kind, layout, carried, container, self.encoder, self.table.decoding())?;
        write(&mut writer)?;
        Ok((name, writer.finish()?))
    }

    /// The name of the next file, and how it is written.
    fn next_file(&self, prefix: &str) -> Result<(String, Container)> {
        let number = self.number.get();
        self.number.set(fitting(number.checked_add(1), "the number of the next file")?);
        let name = format!("{prefix}{}-{number}", uuid_text(self.uuid));
        // Sync markers differ between files.
        let sync = self.uuid.wrapping_add(u128::from(number)).to_be_bytes();
        Ok((name, Container::of(self.table.schema(), self.format, sync)?))
    }

    /// Writes a file. Returns its name and size.
    fn put(&mut self, name: String, bytes: &[u8]) -> Result<(String, u64)> {
        let path = self.table.files().shared(&manifest_file(&name));
        make_folder(self.table.storage().as_ref(), &path)?;
        self.written.create(&path, bytes)?;
        Ok((name, bytes.len() as u64))
    }

    /// The files.
    pub(super) fn written(self) -> WrittenFiles {
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
struct BatchPieces<'a> {
    batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    rest: Option<RecordBatch>,
}

impl BatchPieces<'_> {
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

impl Iterator for BatchPieces<'_> {
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
            if let Some(more @ 1..) = batch.num_rows().checked_sub(CHECKED_EVERY) {
                self.rest = Some(batch.slice(CHECKED_EVERY, more));
                return Some(Ok(batch.slice(0, CHECKED_EVERY)));
            }
            if batch.num_rows() > 0 {
                return Some(Ok(batch));
            }
        }
    }
}
