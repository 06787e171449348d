//! The commits that led to a table's snapshot, and where the changes of each are recorded.

use std::sync::Arc;

use super::columns::HistoryColumns;
use super::{Commit, CommittedManifest, Counts, compared, opened, written_by};
use crate::diff::CHANGE;
use crate::error::Result;
use crate::pipeline::each;
use crate::scan::{Batches, Content, EntrySource, Format, ManifestSource, ManifestStream, ScanOptions, Step};
use crate::storage::Storage;

/// The commits, the oldest first.
pub(super) struct Line<F: Format> {
    pub(super) commits: Vec<Link<F>>,
    /// How many of the manifests that they wrote the filter excludes.
    pruned: u64,
}

/// A commit, with what its lists record.
pub(super) struct Link<F: Format> {
    pub(super) commit: Arc<Commit>,
    pub(super) snapshot: F::Snapshot,
    /// Whether the commit before it in the line is its parent.
    pub(super) follows: bool,
    /// Whether nothing was live before it, by the counts in the lists.
    pub(super) is_first: bool,
    /// Whether the manifests that it wrote record all that it changed.
    pub(super) is_complete: bool,
    /// Those manifests, until they are read.
    own: Vec<F::Manifest>,
    /// The sums of its changes by the counts in its lists, where they have them.
    pub(super) changed: Option<Counts>,
}

/// Commits whose changes are read together.
pub(super) enum CommitGroup<F: Format> {
    /// From the manifests that they wrote.
    Written(Vec<CommittedManifest<F::Manifest>>),
    /// By comparing two snapshots.
    Compared(F::Snapshot, F::Snapshot, Arc<Commit>),
}

impl<F: Format> Line<F> {
    /// Reads the snapshots, and the lists of all of them in parallel.
    ///
    /// # Errors
    /// Those of reading them.
    pub(super) fn read(history: &F, filter: Option<&str>, threads: usize) -> Result<Line<F>> {
        let found = history.line()?;
        let snapshots = found.iter().map(|(_, snapshot)| snapshot.clone()).collect();
        let (reads, filter) = (history.clone(), filter.map(str::to_owned));
        let read = move |_: &dyn Storage, snapshot: &F::Snapshot| reads.listed(snapshot, filter.as_deref());
        let mut line = Line { commits: Vec::with_capacity(found.len()), pruned: 0 };
        let mut before: Option<(i64, Option<Counts>)> = None;
        let lists = each(history.core().storage(), snapshots, threads, read);
        for ((commit, snapshot), listed) in found.into_iter().zip(lists) {
            let listed = listed?;
            let follows = before.is_some_and(|(id, _)| commit.parent_id == Some(id));
            let lived = before.filter(|_| follows).and_then(|(_, live)| live);
            let is_complete = !follows || counts_add_up::<F>(lived, listed.changed, listed.live);
            let is_first = !follows && counts_add_up::<F>(Some([0; 4]), listed.changed, listed.live);
            before = Some((commit.snapshot_id, listed.live));
            line.pruned += listed.pruned;
            let (commit, own, changed) = (Arc::new(commit), listed.own, listed.changed);
            line.commits.push(Link { commit, snapshot, follows, is_first, is_complete, own, changed });
        }
        Ok(line)
    }

    /// The changes of all commits, the oldest first: the columns of `columns`, filtered.
    ///
    /// # Errors
    /// `UnknownColumn`, `FilterColumn`, `Predicate`; later those of reading the manifests.
    pub(super) fn changes(
        &mut self,
        history: &F,
        options: &ScanOptions,
        columns: &HistoryColumns,
    ) -> Result<Batches> {
        let (history, options, columns) = (history.clone(), options.clone(), columns.clone());
        let groups = self.groups().into_iter();
        Ok(Box::new(groups.flat_map(move |group| {
            rows_of(&history, group, &options, &columns)
                .unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        })))
    }

    /// How the changes are read; takes the manifests out.
    pub(super) fn groups(&mut self) -> Vec<CommitGroup<F>> {
        let mut groups = Vec::new();
        let mut before: Option<&F::Snapshot> = None;
        for Link { commit, snapshot, is_complete, own, .. } in &mut self.commits {
            let own = std::mem::take(own);
            match (before, groups.last_mut()) {
                (Some(before), _) if !*is_complete => {
                    groups.push(CommitGroup::Compared(before.clone(), snapshot.clone(), Arc::clone(commit)));
                }
                (_, Some(CommitGroup::Written(known))) => known.extend(written::<F>(commit, own)),
                _ => groups.push(CommitGroup::Written(written::<F>(commit, own).collect())),
            }
            before = Some(snapshot);
        }
        groups
    }

    /// The steps of a scan of these commits.
    pub(super) fn steps(&self) -> Vec<Step> {
        let complete = self.commits.iter().filter(|link| link.is_complete);
        let (complete, read) =
            complete.fold((0, 0), |(complete, read), link| (complete + 1, read + link.own.len() as u64));
        let why = "their own manifests record all that they changed; the others are compared with the snapshot before";
        vec![
            Step::rows("snapshots", complete, self.commits.len() as u64, why),
            Step::rows(
                "manifests",
                read,
                read + self.pruned,
                "bounds of the partition in the manifest lists",
            ),
        ]
    }
}

fn written<F: Format>(
    commit: &Arc<Commit>,
    manifests: Vec<F::Manifest>,
) -> impl Iterator<Item = CommittedManifest<F::Manifest>> {
    manifests.into_iter().map(|manifest| CommittedManifest { commit: Arc::clone(commit), manifest })
}

/// Whether the recorded changes of a commit lead from the state before to the state after, by the counts in
/// the lists.
fn counts_add_up<F: Format>(before: Option<Counts>, changed: Option<Counts>, after: Option<Counts>) -> bool {
    let (Some(before), Some(changed), Some(after)) = (before, changed, after) else { return false };
    let states = before.into_iter().zip(changed).zip(after).take(F::COUNTED);
    states.into_iter().all(|((before, changed), after)| before.checked_add(changed) == Some(after))
}

fn rows_of<F: Format>(
    history: &F,
    group: CommitGroup<F>,
    options: &ScanOptions,
    columns: &HistoryColumns,
) -> Result<Batches> {
    let columns = columns.clone();
    match group {
        CommitGroup::Written(manifests) => {
            let source = CommitRows { source: written_by(history, options)?, columns };
            Ok(Box::new(ManifestStream::new(source, manifests, options.threads)))
        }
        CommitGroup::Compared(before, after, commit) => {
            let options = ScanOptions { columns: options.columns_and(&[CHANGE]), ..options.clone() };
            let files = compared(history, &before, &after, &options)?;
            Ok(Box::new(files.map(move |files| columns.build(&files?, &commit))))
        }
    }
}

/// Changes, with the columns of their commits.
struct CommitRows<F: Format> {
    source: EntrySource<F>,
    columns: HistoryColumns,
}

impl<F: Format> ManifestSource for CommitRows<F> {
    type Manifest = CommittedManifest<F::Manifest>;

    fn storage(&self) -> &dyn Storage {
        self.source.storage()
    }

    fn size(&self, written: &CommittedManifest<F::Manifest>) -> u64 {
        self.source.size(&written.manifest)
    }

    fn read(&self, written: &CommittedManifest<F::Manifest>) -> Result<Content> {
        self.source.read(&written.manifest)
    }

    fn open(
        &self,
        written: &CommittedManifest<F::Manifest>,
        content: Content,
        threads: usize,
    ) -> Result<Batches> {
        let (columns, commit) = (self.columns.clone(), Arc::clone(&written.commit));
        let files = opened(&self.source, written, content, threads)?;
        Ok(Box::new(files.map(move |files| columns.build(&files?, &commit))))
    }
}
