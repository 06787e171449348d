//! Differences: files of manifests that only one of two snapshots has, compared by their identity.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};

use crate::columnar::Decoding;
use crate::diff::{Change, ChangeColumns, DiffGather, diff_pieces};
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, StoredOptions, match_manifest_path,
};
use crate::error::Result;
use crate::iceberg::manifest_list::ManifestFile;
use crate::iceberg::scan::diff::{beside_identity, identified, with_identity};
use crate::iceberg::scan::plan::planned;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::scan::task::LocatedManifestFile;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::scan::ScanOptions;

/// The work of a difference on manifests, independent of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::iceberg::scan) struct DiffExchange {
    types: StoredTypes,
    options: StoredOptions,
    /// The manifests that only one of the snapshots has, and whether their files were added or removed.
    inputs: Vec<(Change, Vec<LocatedManifestFile>)>,
}

/// The rows that `options` ask for of the difference between `inputs`, in the types of `table`.
pub(in crate::iceberg::scan) fn exchanged(
    table: &Table,
    options: &ScanOptions,
    inputs: &[(Change, Vec<ManifestFile>)],
) -> Result<Exchanged> {
    let storage = table.storage().as_ref();
    let inputs = inputs.iter().filter(|(_, manifests)| !manifests.is_empty());
    let sides: Vec<Vec<_>> =
        inputs.clone().map(|(_, manifests)| planned(manifests, storage)).collect::<Result<_>>()?;
    let located = inputs.map(|(change, manifests)| {
        Ok((*change, LocatedManifestFile::all(manifests.iter().cloned(), storage)?))
    });
    let diff = DiffExchange {
        types: StoredTypes::from(&table.types()?),
        options: StoredOptions::from(options),
        inputs: located.collect::<Result<_>>()?,
    };
    let together = sides.len() > 1;
    Ok(Exchanged { exchange: Box::new(diff), sides, together, made: Vec::new(), seen: None })
}

impl NamedWork for DiffExchange {
    const NAME: &'static str = "iceberg.diff";
}

impl Exchange for DiffExchange {
    fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.columns()?.schema()))
    }

    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let all = self.inputs.iter().enumerate();
        let all: Vec<(usize, LocatedManifestFile)> = all
            .flat_map(|(input, (_, located))| located.iter().map(move |one| (input, one.clone())))
            .collect();
        let options = ChangeColumns::of_files(&ScanOptions::from(&self.options));
        let types = TableTypes::try_from(&self.types)?;
        let shown = files(&types, &options, Limits::DEFAULT.into())?;
        let schema = with_identity(shown.view.schema());
        let program = Arc::new(files(&types, &beside_identity(&options), decoding)?);
        let changes = self.changes();
        Ok(Box::new(move |path, bytes| {
            let (input, located) = match_manifest_path(&all, |(_, one)| &one.location, path)?;
            let rows = program.open(bytes, &located.manifest, 1, &Notes::default())?;
            let schema = Arc::clone(&schema);
            let rows = Box::new(rows.map(move |rows| identified(&rows?, &schema)));
            Ok(diff_pieces(rows, *input, &changes, parts))
        }))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        Ok(Box::new(DiffGather::new(self.changes(), self.columns()?)))
    }
}

impl DiffExchange {
    fn changes(&self) -> Vec<Change> {
        self.inputs.iter().map(|(change, _)| *change).collect()
    }

    fn columns(&self) -> Result<ChangeColumns> {
        let options = ScanOptions::from(&self.options);
        let types = TableTypes::try_from(&self.types)?;
        let shown = files(&types, &ChangeColumns::of_files(&options), Limits::DEFAULT.into())?;
        Ok(ChangeColumns::new(&options, shown.view.schema()))
    }
}

fn files(types: &TableTypes, options: &ScanOptions, decoding: Decoding) -> Result<EntryProgram> {
    EntryProgram::new(Role::Files, types.clone(), options, decoding)
}
