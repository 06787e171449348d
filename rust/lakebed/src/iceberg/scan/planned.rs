//! The rows of `plan`: data files, each with the deletes that apply to it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;

use super::deletes::LiveDeletes;
use super::plan::Plan;
use super::program::EntryProgram;
use super::residual::Residuals;
use crate::error::Result;
use crate::iceberg::deletes::{DataFiles, DeleteIndex};
use crate::iceberg::manifest_list::{DATA, DELETES, ManifestFile};
use crate::iceberg::table::{Table, TableTypes};
use crate::iceberg::view::Role;
use crate::record::{find, typed};
use crate::scan::{Batches, DeletesAs, EntrySource, Format, ScanOptions, threads};
use crate::view::{batch, lists, planned_deletes, with_columns};

/// The most deletes that the files of a batch have together, unless the batch has a single file: 4 MB of
/// numbers.
const NUMBERS_PER_BATCH: usize = 1 << 20;
/// The same where each delete is shown in full, with some hundred bytes.
const SHOWN_PER_BATCH: usize = 1 << 16;

/// The schema of the rows.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(super) fn schema(table: &Table, options: &ScanOptions) -> Result<SchemaRef> {
    Ok(shown(table.program(Role::Plan(options.deletes), options)?.view.schema(), options.deletes))
}

/// The schema with deletes in full, where they are requested, in place of their numbers.
pub(super) fn shown(schema: &SchemaRef, deletes: DeletesAs) -> SchemaRef {
    let item = Arc::new(Field::new("item", DataType::Struct(planned_deletes()), true));
    let field = |field: &Arc<Field>| match field.name() == deletes.column() && deletes == DeletesAs::Files {
        true => Arc::new(Field::new(field.name(), DataType::List(Arc::clone(&item)), true)),
        false => Arc::clone(field),
    };
    Arc::new(ArrowSchema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Starts reading: all delete manifests are read before the first data manifest.
pub(super) fn stream(table: &Table, options: &ScanOptions) -> Result<Batches> {
    let (threads, filter) = (threads(options.threads), options.table_filter.as_deref());
    let (list, types) = (table.list_for(filter)?, table.types()?);
    let program = table.program(Role::Plan(options.deletes), options)?;
    let role = program.role;
    let builder = |manifests: Vec<ManifestFile>| -> Result<PlanRowBuilder> {
        let deletes = match program.view.has(options.deletes.column()) {
            true => {
                let in_full = options.deletes == DeletesAs::Files;
                Some(LiveDeletes::read(table, &types, manifests, filter, (threads, in_full))?)
            }
            false => None,
        };
        PlanRowBuilder::new(program, deletes, options.deletes)
    };
    if filter.is_some() || (options.limit.is_none() && options.row_limit.is_none()) {
        let mut plan = Plan::of_list(table, list, filter)?;
        let builder = builder(plan.take(Role::LiveDeletes))?;
        return builder.rows_of(table, types, plan.of_role(role), options, Ok);
    }
    let of_deletes = Plan::of_list(table, ManifestFile::rows_of(&list, DELETES)?, None)?;
    let builder = builder(of_deletes.of_role(Role::LiveDeletes))?;
    let (table, options, list) = (table.clone(), options.clone(), ManifestFile::rows_of(&list, DATA)?);
    let parts = growing(list.num_rows()).map(move |rows| {
        let part = Plan::of_list(&table, list.slice(rows.start, rows.len()), None)?;
        builder.clone().rows_of(&table, types.clone(), part.of_role(role), &options, Ok)
    });
    Ok(Box::new(parts.flat_map(each_of)))
}

/// Ranges of so many rows, each larger than the one before: few rows are wanted, and may be among the first.
fn growing(rows: usize) -> impl Iterator<Item = Range<usize>> {
    const FIRST: usize = 64;
    let mut next = 0..FIRST.min(rows);
    std::iter::from_fn(move || {
        let now = next.clone();
        next = now.end..now.end.saturating_mul(8).min(rows);
        (!now.is_empty()).then_some(now)
    })
}

/// The batches of a part, or its error.
fn each_of(part: Result<Batches>) -> Batches {
    part.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
}

/// Makes rows of the plan from data entries, once the deletes are known.
#[derive(Clone)]
pub(super) struct PlanRowBuilder {
    program: Arc<EntryProgram>,
    attach: Arc<Attach>,
    /// All deletes in full, where rows do not have their numbers.
    deletes: Option<StructArray>,
    schema: SchemaRef,
    /// Columns of entries that rows have besides.
    carried: Vec<&'static str>,
}

impl PlanRowBuilder {
    /// `program` decodes data entries; `deletes` is `None` where they are not requested.
    pub(super) fn new(
        program: EntryProgram,
        deletes: Option<LiveDeletes>,
        shown_as: DeletesAs,
    ) -> Result<PlanRowBuilder> {
        let (index, deletes) = deletes.map_or((None, None), |deletes| (Some(deletes.index), deletes.shown));
        let program = match &index {
            Some(index) => program.needing(index.input(), &index.field_ids())?,
            None => program,
        };
        let schema = shown(program.view.schema(), shown_as);
        let attach = Arc::new(Attach { index, column: shown_as.column() });
        Ok(PlanRowBuilder { program: Arc::new(program), attach, deletes, schema, carried: Vec::new() })
    }

    /// The same, whose rows also have these columns of entries, after their own; the program decodes them.
    pub(super) fn carrying(self, carried: Vec<&'static str>) -> PlanRowBuilder {
        PlanRowBuilder { carried, ..self }
    }

    /// The rows of data manifests, of whose entries those are left that `kept` leaves.
    ///
    /// # Errors
    /// Those of resolving the residuals; the batches add those of reading.
    pub(super) fn rows_of(
        self,
        table: &Table,
        types: TableTypes,
        manifests: Vec<ManifestFile>,
        options: &ScanOptions,
        kept: impl Fn(RecordBatch) -> Result<RecordBatch> + Clone + Send + Sync + 'static,
    ) -> Result<Batches> {
        let residuals = Residuals::of(&self.program, options.table_filter.as_deref(), types)?;
        let matching = Arc::new(self);
        let source = EntrySource::new(Arc::clone(&matching.program), table.clone());
        let own = Arc::clone(&matching);
        let source = source.opening(move |program, manifest| {
            let (own, path, recorded) = (Arc::clone(&own), manifest.path.to_owned(), manifest.recorded);
            let kept = kept.clone();
            let entries = Box::new(program.entries(manifest)?.map(move |entries| kept(entries?)));
            let entries = residuals.beside(entries, recorded)?;
            let rows = entries.flat_map(move |entries| own.numbered(entries));
            Ok(Box::new(rows.map(move |rows| rows.map_err(|error| error.in_file(&path)))))
        });
        Ok(matching.shown(source.stream(manifests, options)))
    }

    /// The rows of some entries with their residuals, in pieces, with deletes as numbers.
    fn numbered(&self, entries: Result<RecordBatch>) -> impl Iterator<Item = Result<RecordBatch>> + use<> {
        let cuts = entries.and_then(|entries| Cuts::new(Arc::clone(&self.attach), entries));
        let (cuts, error) = cuts.map_or_else(|error| (None, Some(Err(error))), |cuts| (Some(cuts), None));
        let (program, carried) = (Arc::clone(&self.program), self.carried.clone());
        cuts.into_iter().flatten().chain(error).map(move |entries| {
            let entries = entries?;
            let carried = carried.iter().map(|name| Ok((*name, find(&entries, name)?)));
            with_columns(&program.rows(&entries, "")?, carried.collect::<Result<_>>()?)
        })
    }

    /// Replaces the numbers of deletes by the form that is requested.
    fn shown(&self, rows: Batches) -> Batches {
        let schema = Arc::clone(&self.schema);
        match self.deletes.clone() {
            Some(deletes) => Box::new(FullDeletes { rows, schema, deletes, left: None }),
            None => rows,
        }
    }

    /// The rows of some entries with their residuals.
    pub(super) fn rows(&self, entries: RecordBatch) -> Batches {
        self.shown(Box::new(self.numbered(Ok(entries))))
    }
}

/// Adds the columns of a plan to entries.
struct Attach {
    /// `None` where deletes are not requested.
    index: Option<DeleteIndex>,
    /// The column of the deletes' numbers.
    column: &'static str,
}

impl Attach {
    /// Entries from row `first` on, as many as have few enough deletes together, with the added columns.
    fn cut(&self, entries: &RecordBatch, files: Option<&DataFiles>, first: usize) -> Result<RecordBatch> {
        let mut ids = Vec::new();
        let mut lengths = Vec::new();
        for row in first..entries.num_rows() {
            let before = ids.len();
            if let (Some(index), Some(files)) = (&self.index, files) {
                index.append(files, row, &mut ids).map_err(|error| error.in_field(self.column))?;
            }
            lengths.push(ids.len() - before);
            if ids.len() >= NUMBERS_PER_BATCH {
                break;
            }
        }
        let entries = entries.slice(first, lengths.len());
        let attached = lists(lengths.into_iter(), Arc::new(Int32Array::from(ids)))?;
        with_columns(&entries, vec![(self.column, attached)])
    }
}

/// The entries of one batch with the added columns, in pieces.
struct Cuts {
    attach: Arc<Attach>,
    entries: RecordBatch,
    files: Option<DataFiles>,
    next: usize,
}

impl Cuts {
    fn new(attach: Arc<Attach>, entries: RecordBatch) -> Result<Cuts> {
        let files = attach.index.as_ref().map(|index| index.files(&entries)).transpose()?;
        Ok(Cuts { attach, entries, files, next: 0 })
    }
}

impl Iterator for Cuts {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.next >= self.entries.num_rows() {
            return None;
        }
        let cut = self.attach.cut(&self.entries, self.files.as_ref(), self.next);
        self.next = cut.as_ref().map_or(usize::MAX, |cut| self.next + cut.num_rows());
        Some(cut)
    }
}

/// Rows with deletes in full in place of their numbers.
struct FullDeletes {
    rows: Batches,
    schema: SchemaRef,
    deletes: StructArray,
    /// Rows of the last batch that were not returned yet.
    left: Option<RecordBatch>,
}

impl FullDeletes {
    /// The first rows of what is left, as many as have few enough deletes together.
    fn show(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let name = DeletesAs::Files.column();
        let place = self.schema.index_of(name)?;
        let numbers = typed::<ListArray>(rows.column(place), name)?;
        let start = numbers.value_offsets().first().copied().unwrap_or_default();
        let ends = numbers.value_offsets().get(1..).unwrap_or_default();
        let most = start.saturating_add(SHOWN_PER_BATCH as i32);
        let count = ends.partition_point(|end| *end <= most).max(1).min(rows.num_rows());
        self.left = (count < rows.num_rows()).then(|| rows.slice(count, rows.num_rows() - count));
        let mut columns = rows.slice(0, count).columns().to_vec();
        if let Some(column) = columns.get_mut(place) {
            *column = self.in_full(&numbers.slice(0, count))?;
        }
        batch(&self.schema, columns, count)
    }

    fn in_full(&self, numbers: &ListArray) -> Result<ArrayRef> {
        let offsets = numbers.value_offsets();
        let start = offsets.first().and_then(|start| usize::try_from(*start).ok()).unwrap_or_default();
        let total = numbers.offsets().lengths().sum();
        let items = numbers.values().slice(start, total);
        let items = take(&self.deletes, typed::<Int32Array>(&items, "delete_ids")?, None)?;
        lists(numbers.offsets().lengths(), items)
    }
}

impl Iterator for FullDeletes {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let rows = match self.left.take() {
            Some(rows) => Ok(rows),
            None => self.rows.next()?,
        };
        Some(rows.and_then(|rows| self.show(&rows)))
    }
}
