//! A diff as a scan.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::columns::ChangeColumns;
use super::stream::{count, differences};
use super::{Change, DiffInput, DiffInputs, DiffJob, Difference, Reader, apart};
use crate::distributed::{Bounds, Distributed, JobPlan};
use crate::error::Result;
use crate::notes::Notes;
use crate::pipeline::{ReadCache, both};
use crate::scan::{Batches, EntryJob, EntrySource, Format, RowsJob, Scan, ScanOptions, Step, limited};

/// Manifests, and the number of what their entries say among [`Format::DIFFERENCE`].
type NumberedManifests<F> = (usize, Arc<[<F as Format>::Manifest]>);

/// The difference of two snapshots, resolved: the schema is known, no manifest list is read.
pub(crate) struct DiffScan<F: Format> {
    /// The table at either snapshot, which gives the types of the rows.
    table: F,
    before: F,
    after: F,
    /// Which rows of the view `files` are read.
    options: ScanOptions,
    /// The columns that are requested.
    requested: Option<Vec<String>>,
    columns: ChangeColumns,
    /// One for each role of [`Format::DIFFERENCE`].
    programs: Vec<Programs<F>>,
}

/// How entries of a role become files with their identity, or identities alone.
struct Programs<F: Format> {
    role: F::Role,
    rows: Arc<F::Program>,
    identities: Arc<F::Program>,
}

impl<F: Format> DiffScan<F> {
    /// The difference of the files of two snapshots, `before` and `after`, in the types of `table`.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; those of reading the schemas for statistics.
    pub(crate) fn new(table: F, before: F, after: F, options: &ScanOptions) -> Result<DiffScan<F>> {
        let table = table.noting();
        // Entries that add a file and those that say that it is gone cancel only if a filter leaves both.
        let table_filter = table.filter_of_removed(options.table_filter.as_deref())?;
        let wanted = ScanOptions { table_filter, ..ChangeColumns::of_files(options) };
        let columns = ChangeColumns::new(options, F::columns(&table.program(F::FILES, &wanted)?));
        let alone = ScanOptions { columns: Some(Vec::new()), stats: None, ..wanted.clone() };
        let mut programs: Vec<Programs<F>> = Vec::new();
        for role in F::DIFFERENCE.iter().map(|difference| difference.role) {
            if !programs.iter().any(|known| known.role == role) {
                let program = |options: &ScanOptions| table.program(role, options).map(Arc::new);
                programs.push(Programs { role, rows: program(&wanted)?, identities: program(&alone)? });
            }
        }
        let requested = options.columns.clone();
        Ok(DiffScan { table, before, after, options: wanted, requested, columns, programs })
    }

    /// The manifests for each of [`Format::DIFFERENCE`], with its number, and how many manifests these are of all.
    /// Reads the manifest lists.
    fn manifests(&self) -> Result<(Vec<NumberedManifests<F>>, Step)> {
        let (table, after, filter) =
            (self.table.clone(), self.after.clone(), self.options.table_filter.clone());
        let before = || self.table.manifests_at(&self.before, self.options.table_filter.as_deref());
        let after = move || table.manifests_at(&after, filter.as_deref());
        let (before, after) = both(self.table.core().storage().as_ref(), before, after)?;
        let (before, after, step) = apart::<F>(before, after?);
        let inputs = F::DIFFERENCE.iter().enumerate().map(|(number, Difference { of, has, .. })| {
            let side = if *of == Change::Removed { &before } else { &after };
            (number, side.iter().filter(|manifest| has(manifest)).cloned().collect::<Arc<[_]>>())
        });
        Ok((inputs.filter(|(_, manifests)| !manifests.is_empty()).collect(), step))
    }

    fn inputs(&self) -> Result<DiffInputs> {
        let (inputs, manifests) = self.manifests()?;
        let table = self.table.clone().keeping();
        // Where there are several inputs, the identities of all are read before the first row.
        if inputs.len() > 1 {
            let files = inputs.iter().flat_map(|(_, manifests)| manifests.iter());
            let files = files.map(|manifest| (table.path_of(manifest), F::size_of(manifest)));
            ReadCache::fetch(table.core().storage(), files, table.core().decoding().limits)?;
        }
        let input = |(number, manifests): NumberedManifests<F>| {
            let Difference { change, role, .. } = F::DIFFERENCE.get(number)?;
            let Programs { rows, identities, .. } =
                self.programs.iter().find(|programs| programs.role == *role)?;
            let reader = |program: &Arc<F::Program>| -> Reader {
                let (program, table, manifests) =
                    (Arc::clone(program), table.clone(), Arc::clone(&manifests));
                let options = self.options.clone();
                Box::new(move || {
                    let source = EntrySource::new(Arc::clone(&program), table.clone());
                    source.stream(manifests.to_vec(), &options)
                })
            };
            Some(DiffInput { change: *change, identities: reader(identities), rows: reader(rows) })
        };
        Ok(DiffInputs { inputs: inputs.into_iter().filter_map(input).collect(), manifests })
    }
}

impl<F: Format> Scan for DiffScan<F> {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let DiffInputs { inputs, .. } = self.inputs()?;
            Ok(differences(&inputs, self.columns.clone()))
        })
    }

    fn notes(&self) -> Notes {
        self.table.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let DiffInputs { inputs, manifests } = self.inputs()?;
        let (net, entries) = count(&inputs)?;
        let files = net.left(Change::Removed) + net.left(Change::Added);
        Ok(vec![manifests, Step::rows("files", files, entries, "live in one snapshot only")])
    }
}

impl<F: Format> Distributed for DiffScan<F> {
    fn job(&self, bounds: &Bounds) -> Result<Option<JobPlan>> {
        let inputs = self.manifests()?.0.into_iter().filter_map(|(number, manifests)| {
            let Difference { change, role, .. } = F::DIFFERENCE.get(number)?;
            Some(((*change, *role), manifests))
        });
        let (inputs, manifests): (Vec<_>, Vec<_>) = inputs.unzip();
        let files = RowsJob::of(F::FILES, &self.table, &self.options)?;
        let (job, all) = DiffJob::planned(&self.table, self.requested.clone(), files, inputs, &manifests)?;
        Ok(bounds.unless_small(JobPlan::new(EntryJob::Diff(job), all, bounds).whole()))
    }

    fn is_light(&self) -> bool {
        true
    }
}
