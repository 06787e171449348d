//! The commits that led to a table's snapshot, and where the changes of each are recorded.

use std::sync::Arc;

use super::columns::HistoryColumns;
use super::{Commit, Counts, History, Written};
use crate::diff::CHANGE;
use crate::error::Result;
use crate::pipeline::each;
use crate::scan::{Batches, ManifestSource, ManifestStream, ScanOptions, Step};
use crate::storage::Storage;

/// The commits, the oldest first.
pub(super) struct Line<H: History> {
    pub(super) commits: Vec<Link<H>>,
    /// How many of the manifests that they wrote the filter excludes.
    pruned: u64,
}

/// A commit, with what its lists record.
pub(super) struct Link<H: History> {
    pub(super) commit: Arc<Commit>,
    pub(super) snapshot: H::Snapshot,
    /// Whether the commit before it in the line is its parent.
    pub(super) follows: bool,
    /// Whether nothing was live before it, by the counts in the lists.
    pub(super) is_first: bool,
    /// Whether the manifests that it wrote record all that it changed.
    pub(super) is_complete: bool,
    /// Those manifests, until they are read.
    own: Vec<H::Manifest>,
    /// The sums of its changes by the counts in its lists, where they have them.
    pub(super) changed: Option<Counts>,
}

/// Commits whose changes are read together.
pub(super) enum CommitGroup<H: History> {
    /// From the manifests that they wrote.
    Written(Vec<Written<H::Manifest>>),
    /// By comparing two snapshots.
    Compared(H::Snapshot, H::Snapshot, Arc<Commit>),
}

impl<H: History> Line<H> {
    /// Reads the snapshots, and the lists of all of them in parallel.
    ///
    /// # Errors
    /// Those of reading them.
    pub(super) fn read(history: &H, filter: Option<&str>, threads: usize) -> Result<Line<H>> {
        let found = history.line()?;
        let snapshots = found.iter().map(|(_, snapshot)| snapshot.clone()).collect();
        let (reads, filter) = (history.clone(), filter.map(str::to_owned));
        let read = move |_: &dyn Storage, snapshot: &H::Snapshot| reads.listed(snapshot, filter.as_deref());
        let mut line = Line { commits: Vec::with_capacity(found.len()), pruned: 0 };
        let mut before: Option<(i64, Option<Counts>)> = None;
        let lists = each(history.files_storage(), snapshots, threads, read);
        for ((commit, snapshot), listed) in found.into_iter().zip(lists) {
            let listed = listed?;
            let follows = before.is_some_and(|(id, _)| commit.parent_id == Some(id));
            let lived = before.filter(|_| follows).and_then(|(_, live)| live);
            let is_complete = !follows || counts_add_up::<H>(lived, listed.changed, listed.live);
            let is_first = !follows && counts_add_up::<H>(Some([0; 4]), listed.changed, listed.live);
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
        history: &H,
        options: &ScanOptions,
        columns: &HistoryColumns,
    ) -> Result<Batches> {
        let (history, options, columns) = (history.clone(), options.clone(), columns.clone());
        let groups = self.groups().into_iter();
        Ok(Box::new(groups.flat_map(move |group| {
            opened(&history, group, &options, &columns)
                .unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
        })))
    }

    /// How the changes are read; takes the manifests out.
    pub(super) fn groups(&mut self) -> Vec<CommitGroup<H>> {
        let mut groups = Vec::new();
        let mut before: Option<&H::Snapshot> = None;
        for Link { commit, snapshot, is_complete, own, .. } in &mut self.commits {
            let own = std::mem::take(own);
            match (before, groups.last_mut()) {
                (Some(before), _) if !*is_complete => {
                    groups.push(CommitGroup::Compared(before.clone(), snapshot.clone(), Arc::clone(commit)));
                }
                (_, Some(CommitGroup::Written(known))) => known.extend(written::<H>(commit, own)),
                _ => groups.push(CommitGroup::Written(written::<H>(commit, own).collect())),
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

fn written<H: History>(
    commit: &Arc<Commit>,
    manifests: Vec<H::Manifest>,
) -> impl Iterator<Item = Written<H::Manifest>> {
    manifests.into_iter().map(|manifest| Written { commit: Arc::clone(commit), manifest })
}

/// Whether the recorded changes of a commit lead from the state before to the state after, by the counts in
/// the lists.
fn counts_add_up<H: History>(before: Option<Counts>, changed: Option<Counts>, after: Option<Counts>) -> bool {
    let (Some(before), Some(changed), Some(after)) = (before, changed, after) else { return false };
    let states = before.into_iter().zip(changed).zip(after).take(H::COUNTED);
    states.into_iter().all(|((before, changed), after)| before.checked_add(changed) == Some(after))
}

fn opened<H: History>(
    history: &H,
    group: CommitGroup<H>,
    options: &ScanOptions,
    columns: &HistoryColumns,
) -> Result<Batches> {
    let columns = columns.clone();
    match group {
        CommitGroup::Written(manifests) => {
            let (_, changes) = history.changes(options)?;
            let source = Dated { changes, columns };
            Ok(Box::new(ManifestStream::new(source, manifests, options.threads)))
        }
        CommitGroup::Compared(before, after, commit) => {
            let options = ScanOptions { columns: options.columns_and(&[CHANGE]), ..options.clone() };
            let files = history.compared(&before, &after, options)?;
            Ok(Box::new(files.map(move |files| columns.build(&files?, &commit))))
        }
    }
}

/// Changes, with the columns of their commits.
struct Dated<C> {
    changes: C,
    columns: HistoryColumns,
}

impl<M, C> ManifestSource for Dated<C>
where
    M: Send + Sync + 'static,
    C: ManifestSource<Manifest = Written<M>>,
{
    type Manifest = Written<M>;

    fn storage(&self) -> &dyn Storage {
        self.changes.storage()
    }

    fn size(&self, written: &Written<M>) -> u64 {
        self.changes.size(written)
    }

    fn read(&self, written: &Written<M>) -> Result<arrow_buffer::Buffer> {
        self.changes.read(written)
    }

    fn open(&self, written: &Written<M>, bytes: arrow_buffer::Buffer, threads: usize) -> Result<Batches> {
        let (columns, commit) = (self.columns.clone(), Arc::clone(&written.commit));
        let files = self.changes.open(written, bytes, threads)?;
        Ok(Box::new(files.map(move |files| columns.build(&files?, &commit))))
    }
}
