//! The roots of a walk that have a snapshot: the snapshots, tags and changelogs of every branch.

use std::collections::BTreeSet;

use super::BranchRoots;
use crate::error::Result;
use crate::paimon::paths::{
    EARLIEST, HINTS, MAIN, changelog_file, changelog_ids, consumer_file, schema_file, snapshot_file,
    snapshot_ids, tag_file,
};
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::table::{BranchFiles, Hint, Table};
use crate::pipeline::read_each;
use crate::reach::{Kind, Root};
use crate::storage::{Storage, present};

/// The kinds of roots that have a snapshot, in the order used for one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::paimon) enum RootKind {
    Snapshot,
    Tag,
    Changelog,
}

/// A snapshot, tag or changelog, with the snapshot that its file records.
#[derive(Debug, Clone)]
pub(in crate::paimon) struct SnapshotRoot {
    pub(in crate::paimon) kind: RootKind,
    /// Empty for the main branch, which is first.
    pub(super) branch: String,
    pub(in crate::paimon) root: Root,
    pub(in crate::paimon) snapshot: Snapshot,
    /// The file with the snapshot; `None` for a changelog that an expiry would make.
    pub(in crate::paimon) path: Option<String>,
    pub(super) size: u64,
}

impl SnapshotRoot {
    fn new(
        kind: RootKind,
        branch: &str,
        name: &str,
        snapshot: Snapshot,
        file: Option<(String, u64)>,
    ) -> SnapshotRoot {
        let branch = if branch == MAIN { "" } else { branch };
        let of_branch = if branch.is_empty() { String::new() } else { format!(" of branch {branch}") };
        let word = kind.file_kind().name();
        let root = Root::new(Some(snapshot.id), format!("{word} {name}{of_branch}"));
        let (path, size) = file.map_or((None, 0), |(path, size)| (Some(path), size));
        SnapshotRoot { kind, branch: branch.to_owned(), root, snapshot, path, size }
    }

    /// The roots of every branch of a table, the main branch first. `hint` is that of the table's own branch, if
    /// it was read just now.
    ///
    /// # Errors
    /// Those of [`snapshot_roots`].
    pub(super) fn of_table(table: &Table, hint: Option<Hint>) -> Result<BranchRoots> {
        let own = table.files();
        let branches = std::iter::once(MAIN.to_owned()).chain(own.branch_names()?);
        let of_branch = |branch: String| {
            let hint = hint.filter(|_| branch == table.branch());
            let (roots, others) = snapshot_roots(&own.of_branch(&branch), hint)?;
            Ok((branch, roots, others))
        };
        branches.map(of_branch).collect()
    }

    /// The changelog that an expiry makes of a snapshot.
    pub(super) fn changelog_of(&self) -> SnapshotRoot {
        let branch = if self.branch.is_empty() { MAIN } else { &self.branch };
        let (id, snapshot) = (self.snapshot.id.to_string(), self.snapshot.clone());
        SnapshotRoot::new(RootKind::Changelog, branch, &id, snapshot, None)
    }

    /// What it keeps: the files that its snapshot names, apart from changes if it is a tag, from live files if it
    /// is a changelog.
    pub(super) fn contents(&self) -> impl Iterator<Item = String> + use<> {
        let Snapshot { base_manifest_list: base, delta_manifest_list: delta, .. } = &self.snapshot;
        let changes = self.snapshot.changelog_manifest_list.as_ref().unwrap_or(delta);
        let index = self.snapshot.index_manifest.as_deref().unwrap_or_default();
        let statistics = self.snapshot.statistics.as_deref().unwrap_or_default();
        let live = format!("live\n{base}\n{delta}\n{index}\n{statistics}");
        let live = (self.kind != RootKind::Changelog).then_some(live);
        let changes = (self.kind != RootKind::Tag).then(|| format!("changes\n{changes}"));
        live.into_iter().chain(changes)
    }

    /// Whether it is the snapshot before another one on the same branch.
    pub(super) fn precedes(&self, other: &SnapshotRoot) -> bool {
        (self.kind, other.kind) == (RootKind::Snapshot, RootKind::Snapshot)
            && self.branch == other.branch
            && self.snapshot.id.checked_add(1) == Some(other.snapshot.id)
    }

    pub(in crate::paimon) fn is_of(&self, branch: &str) -> bool {
        self.branch == if branch == MAIN { "" } else { branch }
    }

    /// The order of roots: by snapshot.
    pub(super) fn order(&self) -> (i64, RootKind, String) {
        (self.snapshot.id, self.kind, self.branch.clone())
    }
}

impl RootKind {
    pub(super) fn file_kind(self) -> Kind {
        match self {
            RootKind::Snapshot => Kind::Snapshot,
            RootKind::Tag => Kind::Tag,
            RootKind::Changelog => Kind::Changelog,
        }
    }
}

/// The files of a branch that no snapshot names.
#[derive(Debug, Clone, Default)]
pub(in crate::paimon) struct OtherFiles {
    pub(super) files: Vec<(Kind, String)>,
}

/// The roots of a branch, and its other files. Lists five folders; reads the snapshots, tags and
/// changelogs, also those that a listing lacks although they are there. `hint` is the one at the latest snapshot, if it
/// was read just now.
pub(super) fn snapshot_roots(
    files: &BranchFiles<'_>,
    hint: Option<Hint>,
) -> Result<(Vec<SnapshotRoot>, OtherFiles)> {
    let mut all = Vec::new();
    let mut own = OtherFiles::default();
    let snapshots = files.storage.list(&files.own("snapshot"))?;
    let changelogs = files.storage.list(&files.own("changelog"))?;
    for (folder, names) in [("snapshot", &snapshots), ("changelog", &changelogs)] {
        let hints = names.iter().filter(|name| HINTS.contains(&name.as_str()));
        own.files.extend(hints.map(|name| (Kind::Hint, files.own(&format!("{folder}/{name}")))));
    }
    let numbered = [
        (RootKind::Snapshot, "snapshot", snapshot_ids(&snapshots), snapshot_file as fn(i64) -> String, hint),
        (RootKind::Changelog, "changelog", changelog_ids(&changelogs), changelog_file, None),
    ];
    for (kind, folder, ids, path, hint) in numbered {
        let ids = with_unlisted(files, folder, ids, path, hint)?;
        let read = files.each(ids, |id| path(*id), |bytes| sized(bytes, Snapshot::from_json))?;
        all.extend(read.into_iter().map(|(id, (snapshot, size))| {
            let file = Some((files.own(&path(id)), size));
            SnapshotRoot::new(kind, files.branch, &id.to_string(), snapshot, file)
        }));
    }
    let tags = files.each(files.tag_names()?, |name| tag_file(name), |bytes| sized(bytes, Tag::from_json))?;
    all.extend(tags.into_iter().map(|(name, (tag, size))| {
        let file = Some((files.own(&tag_file(&name)), size));
        SnapshotRoot::new(RootKind::Tag, files.branch, &name, tag.snapshot, file)
    }));
    let schemas = files.schema_ids()?.into_iter().map(|id| (Kind::Schema, files.own(&schema_file(id))));
    own.files.extend(schemas);
    let consumers = files.consumer_ids()?.into_iter();
    own.files.extend(consumers.map(|id| (Kind::Consumer, files.own(&consumer_file(&id)))));
    Ok((all, own))
}

/// The ids of a listing, and those that it lacks although they are there: a stale listing must not hide what is
/// live. Ids have no gaps, so what a hint names and what is beside a known id is looked for, and a `latest` hint that
/// was read before the listing leads to later snapshots too.
fn with_unlisted(
    files: &BranchFiles<'_>,
    folder: &str,
    ids: Vec<i64>,
    path: fn(i64) -> String,
    latest: Option<Hint>,
) -> Result<Vec<i64>> {
    let mut known: BTreeSet<i64> = ids.into_iter().collect();
    let unread = if latest.is_some() { &[EARLIEST][..] } else { &HINTS };
    let read = files.hints(folder, unread)?.into_iter().map(|(_, hint)| hint);
    let hinted = read.chain(latest).filter_map(|Hint(id)| id);
    let beside = |id: i64| [id.checked_sub(1), id.checked_add(1)].into_iter().flatten();
    let mut asked: BTreeSet<i64> = hinted.chain(known.iter().copied().flat_map(beside)).collect();
    let mut absent = BTreeSet::new();
    loop {
        asked.retain(|id| *id > 0 && !known.contains(id) && !absent.contains(id));
        if asked.is_empty() {
            return Ok(known.into_iter().collect());
        }
        let ids: Vec<i64> = std::mem::take(&mut asked).into_iter().collect();
        let paths = ids.iter().map(|id| files.own(&path(*id))).collect();
        let is_there =
            |storage: &dyn Storage, path: &String| Ok(present(storage.read_range(path, 0, 1))?.is_some());
        for (id, is_there) in ids.into_iter().zip(read_each(files.storage, paths, 1, is_there)?) {
            if is_there {
                known.insert(id);
                asked.extend(beside(id));
            } else {
                absent.insert(id);
            }
        }
    }
}

/// The parsed content of a file, and its size in bytes.
fn sized<T>(bytes: &[u8], parse: fn(&[u8]) -> Result<T>) -> Result<(T, u64)> {
    Ok((parse(bytes)?, bytes.len() as u64))
}
