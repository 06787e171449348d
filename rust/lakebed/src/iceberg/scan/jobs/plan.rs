//! Plans as a job: data files, and the deletes that they may have. Few deletes are read while the job is planned, and
//! every process gets them; of many, deletes and the data files that they may apply to are moved to the same part.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch};
use arrow_schema::SchemaRef;
use lakebed_avro::Limits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::matched::{PLACE, PlanReduce, PlanSide};
use super::partitioner::EntryPartitioner;
use crate::columnar::Decoding;
use crate::distributed::{
    Bounds, Distributed, Job, JobPlan, LocatedManifests, ManifestMap, Piece, Process, Reduce, Shuffle,
};
use crate::error::Result;
use crate::iceberg::deletes::file_input;
use crate::iceberg::manifest_list::{DATA, ManifestFile};
use crate::iceberg::scan::Scan;
use crate::iceberg::scan::deletes::{DeletesBuilder, delete_program, equality_fields};
use crate::iceberg::scan::plan::Plan;
use crate::iceberg::scan::planned::shown;
use crate::iceberg::scan::program::EntryProgram;
use crate::iceberg::scan::residual::Residuals;
use crate::iceberg::table::{StoredTypes, Table, TableTypes};
use crate::iceberg::types::Schema;
use crate::iceberg::view::Role;
use crate::record::{column, typed};
use crate::scan::{Batches, DeletesAs, EntryJob, EntrySource, OpenManifest, ScanOptions, each};
use crate::storage::total_size;
use crate::view::{View, with_columns};

/// The column by which equality deletes compare rows.
const EQUALITY_IDS: &str = "equality_ids";

impl Scan {
    /// The job of a plan, or the question that it needs answered: which columns equality deletes compare. Deletes with
    /// numbers are always read here, since these count all of them.
    pub(in crate::iceberg::scan) fn plan_job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let (table, options) = (&self.table, &self.options);
        let (types, mut plan) = (table.types()?, Plan::new(table, options.table_filter.as_deref())?);
        let shows_deletes = self.schema.column_with_name(options.deletes.column()).is_some();
        let deletes = if shows_deletes { plan.take(Role::LiveDeletes) } else { Vec::new() };
        let files = plan.of_role(Role::LiveData);
        let sizes = |manifests: &[ManifestFile]| -> Vec<u64> {
            manifests.iter().map(|manifest| manifest.length.unwrap_or(0)).collect()
        };
        if bounds.are_small(sizes(&deletes).into_iter().chain(sizes(&files))) {
            return Ok(None);
        }
        let are_few = total_size(sizes(&deletes)) <= bounds.delete_bytes;
        let is_shuffled = !(deletes.is_empty() || are_few || options.deletes == DeletesAs::Ids);
        let (entries, manifests) = match (is_shuffled, &bounds.answer) {
            (true, None) => return self.question(),
            (true, Some(answer)) => (answer.clone(), deletes.into_iter().chain(files).collect()),
            (false, _) => (read_deletes(table, &types, deletes, options)?, files),
        };
        let (manifests, planned) = LocatedManifests::planned(table, manifests, |one| one)?;
        let older = if shows_deletes { table.schemas()? } else { BTreeMap::new() };
        let schemas = shows_deletes.then(|| Arc::clone(&types.schema)).into_iter();
        let plan = PlanJob {
            types: StoredTypes::from(&types),
            schemas: schemas.chain(older.into_values().rev()).map(|schema| schema.to_json()).collect(),
            equality_ids: equality_ids(&entries)?,
            options: options.clone(),
            shown_as: options.deletes,
            is_shuffled,
            are_several: bounds.parts != Some(1),
            manifests,
        };
        let known = entries.into_iter().filter(|_| !is_shuffled);
        let known = known.map(|entries| (0, Piece::alone(PlanSide::Deletes, entries))).collect();
        let job = EntryJob::<Table>::Own(plan);
        Ok(Some(JobPlan { known, ..JobPlan::new(job, planned, bounds).whole() }))
    }

    /// Which columns equality deletes compare.
    fn question(&self) -> Result<Option<JobPlan>> {
        let columns = Some(vec![EQUALITY_IDS.to_owned()]);
        let table_filter = self.options.table_filter.clone();
        let options = ScanOptions { columns, table_filter, ..ScanOptions::default() };
        let asked = Scan::new(self.table.clone(), View::Deletes, options)?.job(&Bounds::default())?;
        Ok(asked.map(|asked| JobPlan { is_question: true, ..asked }))
    }
}

/// The deletes in manifests that this process reads, in the order of the snapshot.
fn read_deletes(
    table: &Table,
    types: &TableTypes,
    manifests: Vec<ManifestFile>,
    options: &ScanOptions,
) -> Result<Vec<RecordBatch>> {
    let filter = options.table_filter.as_deref();
    let program = delete_program(types.clone(), filter, table.decoding().clone())?;
    let source = EntrySource::new(Arc::new(program), table.clone());
    let source = source.opening(|program, manifest| program.entries(manifest));
    placed(source.stream(manifests, options), 0).collect()
}

/// Deletes with their positions, which are counted from `next` on.
fn placed(deletes: Batches, mut next: i64) -> Batches {
    Box::new(deletes.map(move |deletes| {
        let deletes = deletes?;
        let places = Int64Array::from_iter_values((next..).take(deletes.num_rows()));
        next += deletes.num_rows() as i64;
        with_columns(&deletes, vec![(PLACE, Arc::new(places) as ArrayRef)])
    }))
}

/// The columns that some deletes compare.
fn equality_ids(deletes: &[RecordBatch]) -> Result<Vec<i32>> {
    let mut ids = Vec::new();
    for deletes in deletes {
        for list in column::<ListArray>(deletes, EQUALITY_IDS)?.iter().flatten() {
            ids.extend(typed::<Int32Array>(&list, EQUALITY_IDS)?.iter().flatten());
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The data files of a plan, and their deletes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlanJob {
    types: StoredTypes,
    /// All schemas of the table, the newest first; empty where deletes are not requested.
    schemas: Vec<Value>,
    /// The columns that equality deletes compare.
    equality_ids: Vec<i32>,
    options: ScanOptions,
    shown_as: DeletesAs,
    /// Whether deletes and data files are moved to parts; if not, every process gets all deletes.
    is_shuffled: bool,
    /// Whether they are moved to several parts.
    are_several: bool,
    /// Delete manifests in the order of the list, where they are not read already; then data manifests.
    manifests: LocatedManifests<ManifestFile>,
}

impl PlanJob {
    /// The program that reads data files, with the columns by which deletes are looked up, and the residuals
    /// of the filter.
    fn file_program(&self, types: TableTypes, decoding: Decoding) -> Result<(Arc<EntryProgram>, Residuals)> {
        let mut program = self.data_program(types.clone(), decoding)?;
        let fields = equality_fields(&self.schemas()?, &self.equality_ids);
        let ids: Vec<i32> = fields.iter().map(|field| field.id).collect();
        program = program.needing(file_input(&fields), &ids)?;
        let residuals = Residuals::of(&program, self.options.table_filter.as_deref(), types)?;
        Ok((Arc::new(program), residuals))
    }

    fn data_program(&self, types: TableTypes, decoding: Decoding) -> Result<EntryProgram> {
        EntryProgram::new(Role::Plan(self.shown_as), types, &self.options, decoding)
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

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let (plan, types) = (self.clone(), TableTypes::try_from(&self.types)?);
        let partitioner = match self.is_shuffled {
            true => Some(Arc::new(EntryPartitioner::new(types.clone(), self.are_several)?)),
            false => None,
        };
        let deletes =
            delete_program(types.clone(), self.options.table_filter.as_deref(), process.decoding.clone())?;
        let deletes = Arc::new(deletes);
        let (files, residuals) = self.file_program(types, process.decoding.clone())?;
        ManifestMap::of_content(move |path, content| {
            let (number, manifest) = plan.manifests.at(path)?;
            let (path, partitioner) = (manifest.path.clone(), partitioner.clone());
            let open = OpenManifest::whole(&path, manifest, content.undivided()?);
            let (side, entries) = match manifest.content {
                DATA => (PlanSide::Data, residuals.beside(files.entries(open)?, manifest)?),
                _ => {
                    let first = i64::try_from(number).unwrap_or_default() << 32;
                    (PlanSide::Deletes, placed(deletes.entries(open)?, first))
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
        Ok(Box::new(PlanReduce::new(program, deletes, types, self.shown_as)?))
    }
}
