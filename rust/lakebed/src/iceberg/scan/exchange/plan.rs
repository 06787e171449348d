//! Plans: deletes and the data files that they may apply to are shuffled to the same part.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::by_path::ByPath;
use super::matched::{DATA, DELETES, PLACE, PlanGather};
use super::partitioner::EntryPartitioner;
use crate::columnar::Decoding;
use crate::distributed::{
    Exchange, Exchanged, Gather, ManifestPartitioner, NamedWork, PlannedManifest, StoredOptions,
    match_manifest_path,
};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::file_input;
use crate::iceberg::manifest_list;
use crate::iceberg::scan::Scan;
use crate::iceberg::scan::deletes::{DeletesBuilder, delete_program, equality_fields};
use crate::iceberg::scan::plan::{Plan, planned};
use crate::iceberg::scan::planned::shown;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::scan::residual::Residuals;
use crate::iceberg::scan::task::LocatedManifestFile;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::types::Schema;
use crate::iceberg::view::Role;
use crate::notes::Notes;
use crate::scan::{Batches, DeletesAs, ManifestSource, ManifestStream, ScanOptions, threads};
use crate::storage::Storage;
use crate::view::with_columns;

impl Scan {
    /// The work of a plan on manifests.
    pub(in crate::iceberg::scan) fn plan_exchange(&self, equality_ids: &[i32]) -> Result<Exchanged> {
        let plan = PlanExchange::new(self, equality_ids)?;
        let storage = self.table.storage().as_ref();
        let of_side = |side: i32| {
            let located = plan.manifests.iter().filter(move |located| side_of(located) == side);
            planned(located.map(|located| &located.manifest), storage)
        };
        let sides: Vec<Vec<PlannedManifest>> = vec![of_side(DELETES)?, of_side(DATA)?];
        let together = sides.first().is_some_and(|deletes| !deletes.is_empty());
        Ok(Exchanged { exchange: Box::new(plan), sides, together, made: Vec::new(), seen: None })
    }

    /// The deletes of a plan, in the order of the snapshot.
    pub(in crate::iceberg::scan) fn plan_side(&self, side: i32) -> Result<Batches> {
        if side != DELETES {
            return Err(Error::new(
                ErrorKind::Argument,
                "only the deletes of a plan are read in this process",
            ));
        }
        let mut plan = PlanExchange::new(self, &[])?;
        plan.manifests.retain(|located| side_of(located) == DELETES);
        let (table, manifests) = (self.table.clone(), plan.manifests.clone());
        let program = plan.delete_program(table.types()?, table.decoding().clone())?;
        let source = DeleteSource { program, table, plan };
        Ok(Box::new(ManifestStream::new(source, manifests, threads(self.options.threads))))
    }
}

/// Delete manifests that this process reads.
struct DeleteSource {
    plan: PlanExchange,
    program: Arc<EntryProgram>,
    table: Table,
}

impl ManifestSource for DeleteSource {
    type Manifest = LocatedManifestFile;

    fn storage(&self) -> &dyn Storage {
        self.table.storage().as_ref()
    }

    fn size(&self, located: &LocatedManifestFile) -> u64 {
        located.manifest.length.unwrap_or(0)
    }

    fn read(&self, located: &LocatedManifestFile) -> Result<Buffer> {
        self.table.read_recorded(&located.manifest.path, located.manifest.length)
    }

    fn open(&self, located: &LocatedManifestFile, bytes: Buffer, _threads: usize) -> Result<Batches> {
        self.plan.deletes(located, bytes, &self.program)
    }
}

/// The side that the entries of a manifest belong to.
fn side_of(located: &LocatedManifestFile) -> i32 {
    if located.manifest.content == manifest_list::DATA { DATA } else { DELETES }
}

/// The work of a plan on manifests, independent of the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::iceberg::scan) struct PlanExchange {
    types: StoredTypes,
    /// All schemas of the table, the newest first; empty where deletes are not requested.
    schemas: Vec<Value>,
    /// The columns that equality deletes compare.
    equality_ids: Vec<i32>,
    options: StoredOptions,
    shown_as: DeletesAs,
    /// Delete manifests in the order of the list, where deletes are requested; then data manifests.
    manifests: Vec<LocatedManifestFile>,
}

impl PlanExchange {
    /// The work of a plan. Reads the manifest list and, where deletes are requested, the table's schemas.
    fn new(scan: &Scan, equality_ids: &[i32]) -> Result<PlanExchange> {
        let (table, options) = (&scan.table, &scan.options);
        let (mut schemas, mut manifests) = (Vec::new(), Vec::new());
        let types = table.types()?;
        let list = table.manifest_list()?;
        let of_role = |role| {
            let plan = Plan::of_list(table, list.clone(), options.table_filter.as_deref())?;
            LocatedManifestFile::all(plan.of_role(role), table.storage().as_ref())
        };
        if scan.schema.column_with_name(options.deletes.column()).is_some() {
            let older = table.schemas()?.into_values().rev();
            schemas
                .extend([Arc::clone(&types.schema)].into_iter().chain(older).map(|schema| schema.to_json()));
            manifests.extend(of_role(Role::LiveDeletes)?);
        }
        manifests.extend(of_role(Role::LiveData)?);
        Ok(PlanExchange {
            types: StoredTypes::from(&types),
            schemas,
            equality_ids: equality_ids.to_vec(),
            options: StoredOptions::from(options),
            shown_as: options.deletes,
            manifests,
        })
    }
}

impl NamedWork for PlanExchange {
    const NAME: &'static str = "iceberg.plan";
}

impl Exchange for PlanExchange {
    fn schema(&self) -> Result<SchemaRef> {
        let program = self.data_program(TableTypes::try_from(&self.types)?, Limits::DEFAULT.into())?;
        Ok(shown(program.view.schema(), self.shown_as))
    }

    fn partitioner(&self, decoding: Decoding, parts: u32) -> Result<ManifestPartitioner> {
        let (plan, types) = (self.clone(), TableTypes::try_from(&self.types)?);
        let with_deletes = self.manifests.iter().any(|located| side_of(located) == DELETES);
        let partitioner = Arc::new(EntryPartitioner::new(types.clone(), parts, with_deletes)?);
        let deletes = self.delete_program(types.clone(), decoding.clone())?;
        let (files, residuals) = self.file_program(types, decoding)?;
        Ok(Box::new(move |path, bytes| {
            let located = match_manifest_path(&plan.manifests, |one| &one.location, path)?;
            let (side, path, partitioner) =
                (side_of(located), located.manifest.path.clone(), Arc::clone(&partitioner));
            let entries = match side {
                DELETES => plan.deletes(located, bytes, &deletes)?,
                _ => {
                    let entries = files.entries(bytes, &located.manifest, 1, &Notes::default())?;
                    residuals.beside(entries, &located.manifest)?
                }
            };
            Ok(Box::new(entries.flat_map(move |entries| {
                let pieces = entries.and_then(|entries| {
                    partitioner.pieces(side, &entries).map_err(|error| error.in_file(&path))
                });
                let (pieces, error) =
                    pieces.map_or_else(|error| (Vec::new(), Some(Err(error))), |all| (all, None));
                pieces.into_iter().map(Ok).chain(error)
            })))
        }))
    }

    fn gather(&self) -> Result<Box<dyn Gather>> {
        let types = TableTypes::try_from(&self.types)?;
        let program = self.data_program(types.clone(), Limits::DEFAULT.into())?;
        let show = self.shown_as == DeletesAs::Files;
        let deletes = match program.view.has(self.shown_as.column()) {
            true => Some((DeletesBuilder::new(types.clone(), show)?, self.schemas()?)),
            false => None,
        };
        let by_path = ByPath::new(types)?;
        Ok(Box::new(PlanGather::new(program, deletes, by_path, self.shown_as)))
    }
}

impl PlanExchange {
    fn delete_program(&self, types: TableTypes, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        Ok(Arc::new(delete_program(types, self.options.table_filter(), decoding)?))
    }

    /// The deletes of a manifest, with their positions.
    fn deletes(
        &self,
        located: &LocatedManifestFile,
        bytes: Buffer,
        program: &Arc<EntryProgram>,
    ) -> Result<Batches> {
        let number = self.manifests.iter().position(|one| one.manifest.path == located.manifest.path);
        let entries = program.entries(bytes, &located.manifest, 1, &Notes::default())?;
        let mut next = i64::try_from(number.unwrap_or_default()).unwrap_or_default() << 32;
        Ok(Box::new(entries.map(move |entries| {
            let entries = entries?;
            let places = Int64Array::from_iter_values((next..).take(entries.num_rows()));
            next += entries.num_rows() as i64;
            with_columns(&entries, vec![(PLACE, Arc::new(places) as ArrayRef)])
        })))
    }

    /// The program that reads data files, with the columns by which deletes are looked up, and the residuals
    /// of the filter.
    fn file_program(&self, types: TableTypes, decoding: Decoding) -> Result<(Arc<EntryProgram>, Residuals)> {
        let mut program = self.data_program(types.clone(), decoding)?;
        let fields = equality_fields(&self.schemas()?, &self.equality_ids);
        let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
        program = program.needing(file_input(&fields), &ids)?;
        let residuals = Residuals::of(&program, self.options.table_filter(), types)?;
        Ok((Arc::new(program), residuals))
    }

    fn data_program(&self, types: TableTypes, decoding: Decoding) -> Result<EntryProgram> {
        EntryProgram::new(Role::Plan(self.shown_as), types, &ScanOptions::from(&self.options), decoding)
    }

    fn schemas(&self) -> Result<Vec<Arc<Schema>>> {
        self.schemas.iter().map(|json| Schema::from_json(json).map(Arc::new)).collect()
    }
}
