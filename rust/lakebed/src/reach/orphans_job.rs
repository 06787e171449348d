//! Orphans as a job. Records of files that manifests name and those of listed files are moved by a key that both have,
//! and each part is compared where all its records are.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt16Array};
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

use super::Reach;
use super::entries::SentManifests;
use super::job::{RecordReduce, newest_of};
use super::kind::Kinds;
use super::listed::OrphanOptions;
use super::looks::{LookAgain, Looks, VisitedSet};
use super::moved::MovedTable;
use super::orphan_rows::{orphans, schema};
use super::partitioner::{Keys, Partitioner, seed};
use super::partitions::MakeRows;
use super::plan_columns::PlanColumns;
use super::prefixes::{LastPath, Prefixes};
use super::record::records;
use super::walk::WalkOptions;
use crate::distributed::{Bounds, Job, JobPlan, ManifestMap, Process, Reduce, Shuffle, placed};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{EntryJob, ScanOptions, threads};
use crate::storage::{Local, PlacingRules, Storage};

/// The listed files that are not reached.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct OrphansJob<R: Reach> {
    manifests: SentManifests<R>,
    /// The files that are named without a manifest.
    named: Vec<String>,
    placing: PlacingRules,
    /// Where the table's files are.
    location: String,
    equal_schemes: Vec<(String, String)>,
    equal_authorities: Vec<(String, String)>,
    moved: Option<MovedTable>,
    options: ScanOptions,
    plan: PlanColumns,
    seen: VisitedSet,
}

/// The job on the newest version of a table.
///
/// # Errors
/// Those of reading what names manifests.
pub(super) fn planned<R: Reach>(
    newest: &R,
    which: &OrphanOptions,
    options: &ScanOptions,
    bounds: &Bounds,
) -> Result<JobPlan> {
    let (kinds, partitioner, threads) = (Kinds::ALL, Arc::new(Partitioner::new()), threads(options.threads));
    let mut seen = VisitedSet::default();
    let (walk, manifests) =
        newest.begun(&WalkOptions { retention: None, kinds, partitioner, threads }, &mut seen)?;
    let (manifests, planned) = SentManifests::of(newest, manifests, true)?;
    let reached = walk.files.reached().iter().map(|file| file.path.clone());
    let job = OrphansJob::<R> {
        manifests,
        named: reached.chain(walk.files.named().iter().cloned()).collect(),
        placing: newest.storage().placing(),
        location: newest.storage().place(newest.location())?,
        equal_schemes: which.equal_schemes.clone(),
        equal_authorities: which.equal_authorities.clone(),
        moved: newest.moved().filter(|_| !R::BY_NAME),
        options: options.clone(),
        plan: PlanColumns::of_orphans(newest.table(), which)?,
        seen,
    };
    let planned = JobPlan::new(EntryJob::<R::Table>::Orphans(job), planned, bounds).whole();
    // Nobody knows how many files are listed.
    Ok(JobPlan { tasks: planned.tasks.max(bounds.at_once), ..planned })
}

impl<R: Reach> OrphansJob<R> {
    /// A partitioner for the files that the table names, with the prefixes of this process.
    fn record_partitioner(&self) -> (Arc<Partitioner>, Arc<Prefixes>) {
        let prefixes = self.prefixes();
        let keys = Keys::Places {
            prefixes: Arc::clone(&prefixes),
            storage: self.storage(),
            by_name: R::BY_NAME,
            whole: true,
        };
        let partitioner = Partitioner::keyed(seed()).by(keys).of_moved(self.moved.clone());
        (Arc::new(partitioner), prefixes)
    }

    fn prefixes(&self) -> Arc<Prefixes> {
        Arc::new(Prefixes::new(&self.location, &self.equal_schemes, &self.equal_authorities))
    }

    /// What places paths; it reads nothing.
    fn storage(&self) -> Arc<dyn Storage> {
        placed(&self.placing, Arc::new(Local))
    }
}

impl<R: Reach> Job for OrphansJob<R> {
    fn schema(&self) -> Result<SchemaRef> {
        schema(&self.options)
    }

    fn shuffles(&self) -> Vec<Shuffle> {
        vec![Shuffle::ByKey, Shuffle::ToOne]
    }

    fn map(&self, process: &Process) -> Result<ManifestMap> {
        let (partitioner, _) = self.record_partitioner();
        self.manifests.map(&partitioner, process.decoding.clone())
    }

    fn looks_again(&self) -> bool {
        true
    }

    /// Every part has all files that are named without a manifest: manifests, lists and the table's other
    /// metadata.
    fn reduce(&self, step: usize, process: &Process) -> Result<Box<dyn Reduce>> {
        let options = self.options.clone();
        if step > 0 {
            let (newest, prefixes) = (newest_of::<R>(process)?, self.prefixes());
            let looks = Looks::at_places(newest, prefixes, self.storage(), &options);
            let (seen, columns) = (self.seen.clone(), options.columns);
            return Ok(Box::new(LookAgain::new(looks, seen, Notes::default(), columns)));
        }
        // The look needs columns that nobody asked for.
        let (options, plan) = (ScanOptions { columns: None, ..options }, self.plan.clone());
        let (partitioner, prefixes) = self.record_partitioner();
        let mut records = partitioner.new_records();
        records.push_reached(self.named.iter().map(String::as_str))?;
        let making: MakeRows = Box::new(move |pieces| {
            let pieces =
                pieces.iter().map(|piece| renumbered(piece, &prefixes)).collect::<Result<Vec<_>>>()?;
            plan.selected(&orphans(&pieces, &prefixes, None)?, &options)
        });
        Ok(Box::new(RecordReduce { pieces: vec![records.finish()?], making }))
    }
}

/// The records with the prefix numbers of this process.
fn renumbered(rows: &RecordBatch, prefixes: &Prefixes) -> Result<RecordBatch> {
    let mut last = LastPath::default();
    let numbers = records(rows)?.map(|record| prefixes.prefix(record?.path, &mut last));
    let numbers: ArrayRef =
        Arc::new(numbers.map(|number| number.map(Some)).collect::<Result<UInt16Array>>()?);
    let columns = rows.schema_ref().fields().iter().zip(rows.columns());
    let columns = columns.map(|(field, column)| if field.name() == "prefix" { &numbers } else { column });
    Ok(RecordBatch::try_new(rows.schema(), columns.cloned().collect())?)
}
