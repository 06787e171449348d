//! Plans as a job: data files, and the deletes that they may have. Few deletes are read while the job is planned, and
//! every process gets them; of many, deletes and the data files that they may apply to are moved to the same part.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::by_path::ByPath;
use super::matched::{PLACE, PlanReduce, PlanSide};
use super::partitioner::EntryPartitioner;
use crate::columnar::Decoding;
use crate::distributed::{
    Bounds, Distributed, Job, JobPlan, LocatedManifest, ManifestMap, Piece, Process, Reduce, Shuffle,
    StoredOptions, match_manifest_path,
};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::file_input;
use crate::iceberg::manifest_list::{self, ManifestFile};
use crate::iceberg::scan::Scan;
use crate::iceberg::scan::deletes::{DeletesBuilder, delete_program, equality_fields};
use crate::iceberg::scan::plan::Plan;
use crate::iceberg::scan::planned::shown;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::scan::residual::Residuals;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::types::Schema;
use crate::iceberg::view::Role;
use crate::record::find;
use crate::scan::{
    self, Batches, DeletesAs, EntryJob, ManifestSource, ManifestStream, OpenManifest, ScanOptions, each,
    located, planned, threads,
};
use crate::storage::{Storage, total_size};
use crate::view::{View, with_columns};

/// The column by which equality deletes compare rows.
const EQUALITY_IDS: &str = "equality_ids";

impl Scan {
    /// The job of a plan, or the question that it needs answered: which columns equality deletes compare. Deletes with
    /// numbers are always read here, since these count all of them.
    pub(in crate::iceberg::scan) fn plan_job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let mut plan = PlanJob::new(self)?;
        let deletes = plan.planned(PlanSide::Deletes, self)?;
        let files = plan.planned(PlanSide::Data, self)?;
        if bounds.are_small(deletes.iter().chain(&files).map(|manifest| manifest.size)) {
            return Ok(None);
        }
        let are_few = total_size(deletes.iter().map(|manifest| manifest.size)) <= bounds.delete_bytes;
        if deletes.is_empty() || are_few || self.options.deletes == DeletesAs::Ids {
            let entries = plan.read_deletes(self)?.collect::<Result<Vec<_>>>()?;
            plan.equality_ids = equality_ids(&entries)?;
            plan.manifests.retain(|located| side_of(located) == PlanSide::Data);
            let known = entries.into_iter().map(|entries| (0, Piece::alone(PlanSide::Deletes, entries)));
            let known = known.collect();
            return Ok(Some(JobPlan {
                known,
                ..JobPlan::new(EntryJob::<Table>::Own(plan), files, bounds).whole()
            }));
        }
        let Some(answer) = &bounds.answer else {
            let columns = Some(vec![EQUALITY_IDS.to_owned()]);
            let table_filter = self.options.table_filter.clone();
            let options = ScanOptions { columns, table_filter, ..ScanOptions::default() };
            let asked = Scan::new(self.table.clone(), View::Deletes, options)?.job(&Bounds::default())?;
            return Ok(asked.map(|asked| JobPlan { is_question: true, ..asked }));
        };
        plan.equality_ids = equality_ids(answer)?;
        plan.is_shuffled = true;
        Ok(Some(
            JobPlan::new(EntryJob::<Table>::Own(plan), deletes.into_iter().chain(files).collect(), bounds)
                .whole(),
        ))
    }
}

/// The columns that some deletes compare.
fn equality_ids(deletes: &[RecordBatch]) -> Result<Vec<i32>> {
    let mut ids = Vec::new();
    for deletes in deletes {
        let lists = find(deletes, EQUALITY_IDS)?;
        let wrong = || Error::new(ErrorKind::Argument, "equality ids are lists of int32");
        let lists = lists.as_list_opt::<i32>().ok_or_else(wrong)?;
        for list in lists.iter().flatten() {
            ids.extend(list.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?.iter().flatten());
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Delete manifests that this process reads.
struct DeleteSource {
    plan: PlanJob,
    program: Arc<EntryProgram>,
    table: Table,
}

impl ManifestSource for DeleteSource {
    type Manifest = LocatedManifest<ManifestFile>;

    fn storage(&self) -> &dyn Storage {
        self.table.storage().as_ref()
    }

    fn size(&self, located: &LocatedManifest<ManifestFile>) -> u64 {
        located.manifest.length.unwrap_or(0)
    }

    fn read(&self, located: &LocatedManifest<ManifestFile>) -> Result<scan::Content> {
        self.table.read_recorded(&located.manifest.path, located.manifest.length).map(scan::Content::from)
    }

    fn open(
        &self,
        located: &LocatedManifest<ManifestFile>,
        scan::Content { bytes, .. }: scan::Content,
        _threads: usize,
    ) -> Result<Batches> {
        self.plan.deletes(located, bytes, &self.program)
    }
}

/// The side that the entries of a manifest belong to.
fn side_of(located: &LocatedManifest<ManifestFile>) -> PlanSide {
    if located.manifest.content == manifest_list::DATA { PlanSide::Data } else { PlanSide::Deletes }
}

/// The data files of a plan, and their deletes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanJob {
    types: StoredTypes,
    /// All schemas of the table, the newest first; empty where deletes are not requested.
    schemas: Vec<Value>,
    /// The columns that equality deletes compare.
    equality_ids: Vec<i32>,
    options: StoredOptions,
    shown_as: DeletesAs,
    /// Whether deletes and data files are moved to parts; if not, every process gets all deletes.
    is_shuffled: bool,
    /// Delete manifests in the order of the list, where deletes are requested; then data manifests.
    manifests: Vec<LocatedManifest<ManifestFile>>,
}

impl PlanJob {
    /// Reads the manifest list and, where deletes are requested, the table's schemas.
    fn new(scan: &Scan) -> Result<PlanJob> {
        let (table, options) = (&scan.table, &scan.options);
        let (mut schemas, mut manifests) = (Vec::new(), Vec::new());
        let types = table.types()?;
        let list = table.manifest_list()?;
        let of_role = |role| {
            let plan = Plan::of_list(table, list.clone(), options.table_filter.as_deref())?;
            located(table, plan.of_role(role))
        };
        if scan.schema.column_with_name(options.deletes.column()).is_some() {
            let older = table.schemas()?.into_values().rev();
            schemas
                .extend([Arc::clone(&types.schema)].into_iter().chain(older).map(|schema| schema.to_json()));
            manifests.extend(of_role(Role::LiveDeletes)?);
        }
        manifests.extend(of_role(Role::LiveData)?);
        Ok(PlanJob {
            types: StoredTypes::from(&types),
            schemas,
            equality_ids: Vec::new(),
            options: StoredOptions::from(options),
            shown_as: options.deletes,
            is_shuffled: false,
            manifests,
        })
    }

    /// The manifests with entries of a side, in the form that engines get.
    fn planned(&self, side: PlanSide, scan: &Scan) -> Result<Vec<crate::distributed::PlannedManifest>> {
        let located = self.manifests.iter().filter(|located| side_of(located) == side);
        planned(&scan.table, located.map(|located| &located.manifest))
    }

    /// The deletes of the plan, in the order of the snapshot, read here.
    fn read_deletes(&self, scan: &Scan) -> Result<Batches> {
        let (table, plan) = (scan.table.clone(), self.clone());
        let manifests = self.manifests.iter().filter(|located| side_of(located) == PlanSide::Deletes);
        let manifests = manifests.cloned().collect();
        let program = self.delete_program(table.types()?, table.decoding().clone())?;
        let source = DeleteSource { program, table, plan };
        Ok(Box::new(ManifestStream::new(source, manifests, threads(scan.options.threads))))
    }

    fn delete_program(&self, types: TableTypes, decoding: Decoding) -> Result<Arc<EntryProgram>> {
        Ok(Arc::new(delete_program(types, self.options.table_filter(), decoding)?))
    }

    /// The deletes of a manifest, with their positions.
    fn deletes(
        &self,
        located: &LocatedManifest<ManifestFile>,
        bytes: Buffer,
        program: &Arc<EntryProgram>,
    ) -> Result<Batches> {
        let number = self.manifests.iter().position(|one| one.manifest.path == located.manifest.path);
        let manifest = OpenManifest::whole(&located.manifest.path, &located.manifest, bytes);
        let entries = program.entries(manifest)?;
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

impl Job for PlanJob {
    fn schema(&self) -> Result<SchemaRef> {
        let program = self.data_program(TableTypes::try_from(&self.types)?, Limits::DEFAULT.into())?;
        Ok(shown(program.view.schema(), self.shown_as))
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![if self.is_shuffled { Shuffle::ByKey } else { Shuffle::Here }]
    }

    fn map(&self, process: &Process, parts: u32) -> Result<ManifestMap> {
        let (plan, types) = (self.clone(), TableTypes::try_from(&self.types)?);
        let partitioner = match self.is_shuffled {
            true => Some(Arc::new(EntryPartitioner::new(types.clone(), parts)?)),
            false => None,
        };
        let deletes = self.delete_program(types.clone(), process.decoding.clone())?;
        let (files, residuals) = self.file_program(types, process.decoding.clone())?;
        ManifestMap::of_content(move |path, bytes, _| {
            let located = match_manifest_path(&plan.manifests, |one| &one.location, path)?;
            let (side, path, partitioner) =
                (side_of(located), located.manifest.path.clone(), partitioner.clone());
            let entries = match side {
                PlanSide::Deletes => plan.deletes(located, bytes, &deletes)?,
                _ => {
                    let entries = files.entries(OpenManifest::whole(&path, &located.manifest, bytes))?;
                    residuals.beside(entries, &located.manifest)?
                }
            };
            Ok(Box::new(entries.flat_map(move |entries| {
                each(entries.and_then(|entries| match &partitioner {
                    Some(partitioner) => {
                        partitioner.pieces(side, entries).map_err(|error| error.in_file(&path))
                    }
                    None => Ok(vec![Piece::alone(side, entries)]),
                }))
            })))
        })
    }

    fn reduce(&self, _step: usize, _process: &Process) -> Result<Box<dyn Reduce>> {
        let types = TableTypes::try_from(&self.types)?;
        let program = self.data_program(types.clone(), Limits::DEFAULT.into())?;
        let show = self.shown_as == DeletesAs::Files;
        let deletes = match program.view.has(self.shown_as.column()) {
            true => Some((DeletesBuilder::new(types.clone(), show)?, self.schemas()?)),
            false => None,
        };
        Ok(Box::new(PlanReduce::new(program, deletes, ByPath::new(types)?, self.shown_as)))
    }
}
