//! The files that roots reach, as rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::kind::Kind;
use super::names::each_named;
use super::partitions::{Fact, PARTS, Partitions, Record, records};
use super::sets::{RootSets, SetId};
use super::walk::{Removed, Root, Walk};
use super::{Reach, Retention};
use crate::error::Result;
use crate::notes::Notes;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, threads};
use crate::view::{select, whole};

/// Every file that a root reaches.
pub(crate) struct Reachable<R> {
    reach: R,
    options: ScanOptions,
    schema: SchemaRef,
}

impl<R: Reach> Reachable<R> {
    /// Those of a table; columns and filter are checked, nothing is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(reach: R, options: ScanOptions) -> Result<Reachable<R>> {
        let schema = schema(&options)?;
        Ok(Reachable { reach, options, schema })
    }
}

impl<R: Reach> Scan for Reachable<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || found(&self.reach, None, &self.options))
    }

    fn notes(&self) -> Notes {
        self.reach.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let walk = self.reach.walk(None, threads(self.options.threads))?;
        let manifests = walk.manifests.clone();
        let (files, roots) = (count(Found::new(walk, false))?, "each is a row, whatever reaches it");
        Ok(vec![manifests, Step::rows("files", files, files, roots)])
    }
}

/// The rows that `options` ask for of the files that are reached, or with `retention` of those that no root reaches
/// that stays.
pub(super) fn found<R: Reach>(
    reach: &R,
    retention: Option<&Retention>,
    options: &ScanOptions,
) -> Result<Batches> {
    let walk = reach.walk(retention, threads(options.threads))?;
    let options = options.clone();
    let selected = move |rows: Result<RecordBatch>| {
        select(&rows?, options.columns.as_deref(), options.filter.as_deref())
    };
    Ok(Box::new(Found::new(walk, retention.is_some()).map(selected)))
}

/// No rows.
///
/// # Errors
/// None that input can bring about.
pub(super) fn nothing() -> Result<RecordBatch> {
    Rows::default().finish()
}

/// The schema of the rows that `options` ask for.
pub(super) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    Ok(select(&nothing()?, options.columns.as_deref(), options.filter.as_deref())?.schema())
}

/// How many rows there are.
pub(super) fn count(rows: impl Iterator<Item = Result<RecordBatch>>) -> Result<u64> {
    rows.map(|batch| Ok(batch?.num_rows() as u64)).sum()
}

/// The rows of a walk: what goes and is no file, files that are named without manifests, then the others, part by part.
pub(super) struct Found {
    roots: Vec<Root>,
    sets: RootSets,
    /// The roots that stay.
    staying: SetId,
    /// Whether only those files are wanted that no staying root reaches.
    going: bool,
    stage: Stage,
}

enum Stage {
    Named(Box<Walk>),
    Entries(Batches),
    Part(Partitions, usize),
    Ended,
}

impl Found {
    pub(super) fn new(mut walk: Walk, going: bool) -> Found {
        let (roots, mut sets) =
            (std::mem::take(&mut walk.roots), std::mem::replace(&mut walk.sets, RootSets::new()));
        let stays = |(place, root): (usize, &Root)| (!root.goes).then_some(place);
        let staying = sets.of(roots.iter().enumerate().filter_map(stays));
        Found { roots, sets, staying, going, stage: Stage::Named(Box::new(walk)) }
    }

    /// Adds a file that these roots reach, if it is wanted.
    fn add(&mut self, rows: &mut Rows, path: &str, kind: Kind, size: Option<i64>, set: SetId) {
        let gone = self.sets.difference(set, self.staying);
        let wanted = !self.going || gone == set;
        let Some((first, last)) = self.sets.ends(set).filter(|_| wanted) else { return };
        let root = |place: usize| self.roots.get(place);
        rows.push(Some(path), kind, size, root(first), root(last));
    }

    /// Those that no manifest names.
    fn named(&mut self, walk: &Walk) -> Result<RecordBatch> {
        let mut rows = Rows::default();
        for Removed { kind, snapshot_id, name } in &walk.removed {
            let root = Root::new(Some(*snapshot_id), name.clone());
            rows.push(None, *kind, None, Some(&root), Some(&root));
        }
        for file in walk.files.reached() {
            let size = file.size.and_then(|size| i64::try_from(size).ok());
            self.add(&mut rows, &file.path, file.kind, size, file.set);
        }
        rows.finish()
    }

    /// Those of a part.
    fn part(&mut self, bytes: &[u8]) -> Result<RecordBatch> {
        let mut files = Merged::default();
        for record in records(bytes) {
            files.take(&record?, &mut self.sets);
        }
        let mut rows = Rows::default();
        for (path, kind, size, set) in files.reached(&mut self.sets) {
            self.add(&mut rows, path, kind, size, set);
        }
        rows.finish()
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Named(walk) => {
                    let rows = self.named(&walk)?;
                    self.stage = Stage::Entries(walk.entries);
                    if rows.num_rows() > 0 {
                        return Ok(Some(rows));
                    }
                }
                Stage::Entries(entries) => {
                    let mut partitions = Partitions::new();
                    for batch in entries {
                        each_named(&batch?, |record| partitions.push(&record))?;
                    }
                    self.stage = Stage::Part(partitions, 0);
                }
                Stage::Part(mut partitions, part) if part < PARTS => {
                    let bytes = partitions.take(part)?;
                    self.stage = Stage::Part(partitions, part + 1);
                    let rows = self.part(&bytes)?;
                    if rows.num_rows() > 0 {
                        return Ok(Some(rows));
                    }
                }
                Stage::Part(..) | Stage::Ended => return Ok(None),
            }
        }
    }
}

impl Iterator for Found {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.advance().transpose()
    }
}

/// What is said of the files of a part, brought together.
#[derive(Default)]
struct Merged<'r> {
    places: HashMap<&'r str, usize>,
    files: Vec<Claims<'r>>,
}

/// What is said of the files at one path.
struct Claims<'r> {
    path: &'r str,
    kind: Kind,
    size: i64,
    /// The roots that reach each of them, and those that say that it is deleted; mostly there is one.
    claims: Vec<(i64, SetId, SetId)>,
}

impl<'r> Merged<'r> {
    fn take(&mut self, record: &Record<'r>, sets: &mut RootSets) {
        let place = *self.places.entry(record.path).or_insert(self.files.len());
        if place == self.files.len() {
            let (path, kind, size) = (record.path, record.kind, record.size);
            self.files.push(Claims { path, kind, size, claims: Vec::with_capacity(1) });
        }
        let Some(file) = self.files.get_mut(place) else { return };
        if file.size < 0 {
            file.size = record.size;
        }
        let known = file.claims.iter().position(|(identity, ..)| *identity == record.value);
        let known = known.unwrap_or_else(|| {
            file.claims.push((record.value, SetId::NONE, SetId::NONE));
            file.claims.len() - 1
        });
        if let Some((_, reached, deleted)) = file.claims.get_mut(known) {
            let said = if record.fact == Fact::Deleted { deleted } else { reached };
            *said = sets.union(*said, record.set);
        }
    }

    /// Path, kind, size and roots of each file that some root reaches.
    fn reached(self, sets: &mut RootSets) -> Vec<(&'r str, Kind, Option<i64>, SetId)> {
        let mut found = Vec::with_capacity(self.files.len());
        for file in self.files {
            let mut all = SetId::NONE;
            for (_, reached, deleted) in file.claims {
                let left = sets.difference(reached, deleted);
                all = sets.union(all, left);
            }
            if all != SetId::NONE {
                found.push((file.path, file.kind, Some(file.size).filter(|size| *size >= 0), all));
            }
        }
        found
    }
}

/// Rows that are being made.
#[derive(Default)]
struct Rows {
    paths: StringBuilder,
    kinds: StringBuilder,
    sizes: Int64Builder,
    first_ids: Int64Builder,
    last_ids: Int64Builder,
    first: StringBuilder,
    last: StringBuilder,
    count: usize,
}

impl Rows {
    fn push(
        &mut self,
        path: Option<&str>,
        kind: Kind,
        size: Option<i64>,
        first: Option<&Root>,
        last: Option<&Root>,
    ) {
        self.paths.append_option(path);
        self.kinds.append_value(kind.name());
        self.sizes.append_option(size);
        self.first_ids.append_option(first.and_then(|root| root.snapshot_id));
        self.last_ids.append_option(last.and_then(|root| root.snapshot_id));
        self.first.append_option(first.map(|root| root.name.as_str()));
        self.last.append_option(last.map(|root| root.name.as_str()));
        self.count += 1;
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.finish())),
            ("kind", Arc::new(self.kinds.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
            ("first_snapshot_id", Arc::new(self.first_ids.finish())),
            ("last_snapshot_id", Arc::new(self.last_ids.finish())),
            ("first_reached_by", Arc::new(self.first.finish())),
            ("last_reached_by", Arc::new(self.last.finish())),
        ];
        whole(columns, self.count)
    }
}
