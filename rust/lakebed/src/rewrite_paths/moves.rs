//! The files to copy, as rows.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::SchemaRef;

use super::{Lengths, Prefixes};
use crate::distributed::Distributed;
use crate::error::Result;
use crate::notes::Notes;
use crate::reach::{Kind, Kinds, Partitioner, Reach, Root, VisitedSet, WalkOptions, count, found_files};
use crate::record::column;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, selected, threads};
use crate::view::{select, whole};

/// Whether a root existed when the table was copied before.
pub(crate) type RootFilter = Arc<dyn Fn(&Root) -> bool + Send + Sync>;

/// Rewritten files, to be copied from where they were written to their future paths, and all other files that
/// a table reaches.
pub(crate) struct Moves<R> {
    reach: R,
    shared: Arc<MoveContext>,
    /// Which roots existed when the table was copied before; `None` where it was not copied.
    is_old: Option<RootFilter>,
    options: ScanOptions,
    schema: SchemaRef,
}

struct MoveContext {
    prefixes: Arc<Prefixes>,
    copied: Arc<Lengths>,
}

/// Kinds of files that hold no paths and are copied unchanged.
const AS_THEY_ARE: [Kind; 7] = [
    Kind::Data,
    Kind::EqualityDeletes,
    Kind::Statistics,
    Kind::PartitionStatistics,
    Kind::Index,
    Kind::ChangelogData,
    Kind::Extra,
];

impl<R: Reach> Moves<R> {
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`.
    pub(crate) fn new(
        reach: R,
        prefixes: Arc<Prefixes>,
        copied: Arc<Lengths>,
        is_old: Option<RootFilter>,
        options: ScanOptions,
    ) -> Result<Moves<R>> {
        let schema = schema(&options)?;
        Ok(Moves { reach, shared: Arc::new(MoveContext { prefixes, copied }), is_old, options, schema })
    }

    fn rows(&self) -> Result<Batches> {
        let threads = threads(self.options.threads);
        let (kinds, partitioner) = (Kinds::ALL, Arc::new(Partitioner::new()));
        let options = WalkOptions { retention: None, kinds, partitioner, threads };
        let mut walk = self.reach.walk(&options, &mut VisitedSet::default())?;
        if let Some(is_old) = &self.is_old {
            walk.roots.iter_mut().for_each(|root| root.is_removed = !is_old(root));
        }
        let storage = Arc::clone(self.reach.storage());
        let shared = Arc::clone(&self.shared);
        let found = found_files(walk, self.is_old.is_some(), &storage, threads).found;
        let written = std::iter::once(self.shared.written());
        Ok(Box::new(written.chain(found.map(move |found| shared.rows(&found?, &|path| storage.place(path))))))
    }
}

/// The schema of the requested rows.
///
/// # Errors
/// `UnknownColumn`, `FilterColumn`, `Predicate`.
pub(crate) fn schema(options: &ScanOptions) -> Result<SchemaRef> {
    let none = MoveRows::default().finish()?;
    Ok(select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema())
}

impl<R: Reach> Scan for Moves<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || Ok(selected(self.rows()?, &self.options)))
    }

    fn notes(&self) -> Notes {
        self.reach.notes()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let files = count(self.rows()?)?;
        let written = self.shared.copied.values().filter(|copied| copied.is_new);
        let (new, all) = (written.count() as u64, self.shared.copied.len() as u64);
        Ok(vec![
            Step::rows("written anew", new, all, "files that hold paths, or the lengths of such files"),
            Step::rows("files", files, files, "to be copied to their new place"),
        ])
    }
}

impl<R: Reach> Distributed for Moves<R> {}

impl MoveContext {
    /// The rows of rewritten files, sorted by their future paths.
    fn written(&self) -> Result<RecordBatch> {
        let mut files: Vec<_> = self.copied.values().filter(|copied| copied.is_new).collect();
        files.sort_unstable_by_key(|copied| &copied.target);
        let mut rows = MoveRows::default();
        for file in files {
            rows.push(&file.staged, &file.target, file.kind.name(), i64::try_from(file.length).ok());
        }
        rows.finish()
    }

    /// The rows of reached files that are copied unchanged.
    fn rows(&self, found: &RecordBatch, place: &dyn Fn(&str) -> Result<String>) -> Result<RecordBatch> {
        let [paths, kinds] = ["file_path", "kind"].map(|name| column::<StringArray>(found, name));
        let (paths, kinds, sizes) = (paths?, kinds?, column::<Int64Array>(found, "file_size_in_bytes")?);
        let mut rows = MoveRows::default();
        for row in 0..found.num_rows() {
            let (path, kind) = (paths.value(row), kinds.value(row));
            if AS_THEY_ARE.iter().any(|known| known.name() == kind) {
                let size = sizes.is_valid(row).then(|| sizes.value(row));
                rows.push(&place(path)?, &self.prefixes.moved(path)?, kind, size);
            }
        }
        rows.finish()
    }
}

/// Rows under construction.
#[derive(Default)]
struct MoveRows {
    sources: StringBuilder,
    targets: StringBuilder,
    kinds: StringBuilder,
    sizes: Int64Builder,
    count: usize,
}

impl MoveRows {
    /// Adds a file, unless its path does not change.
    fn push(&mut self, source: &str, target: &str, kind: &str, size: Option<i64>) {
        if source == target {
            return;
        }
        self.sources.append_value(source);
        self.targets.append_value(target);
        self.kinds.append_value(kind);
        self.sizes.append_option(size);
        self.count += 1;
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("source", Arc::new(self.sources.finish())),
            ("target", Arc::new(self.targets.finish())),
            ("kind", Arc::new(self.kinds.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
        ];
        whole(columns, self.count)
    }
}
