//! The roots of a walk that have a snapshot: the snapshots, tags and changelogs of every branch.

use crate::error::Result;
use crate::paimon::paths::{
    MAIN, changelog_file, changelog_ids, consumer_file, schema_file, snapshot_file, snapshot_ids, tag_file,
};
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::table::{Files, Table};
use crate::reach::{Kind, Root};

/// Names of hint files, in the folders of snapshots and changelogs.
pub(super) const HINTS: [&str; 2] = ["EARLIEST", "LATEST"];

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
    /// Empty for the main branch, which comes first.
    branch: String,
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

    /// The roots of every branch of a table, the main branch first.
    ///
    /// # Errors
    /// Those of [`snapshot_roots`].
    pub(super) fn of_table(table: &Table) -> Result<Vec<(String, Vec<SnapshotRoot>, OtherFiles)>> {
        let own = table.files();
        let branches = std::iter::once(MAIN.to_owned()).chain(own.branch_names()?);
        let of_branch = |branch: String| {
            let (roots, others) = snapshot_roots(&own.of_branch(&branch))?;
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
/// changelogs.
pub(super) fn snapshot_roots(files: &Files<'_>) -> Result<(Vec<SnapshotRoot>, OtherFiles)> {
    let mut all = Vec::new();
    let mut own = OtherFiles::default();
    let snapshots = files.storage.list(&files.own("snapshot"))?;
    let changelogs = files.storage.list(&files.own("changelog"))?;
    for (folder, names) in [("snapshot", &snapshots), ("changelog", &changelogs)] {
        let hints = names.iter().filter(|name| HINTS.contains(&name.as_str()));
        own.files.extend(hints.map(|name| (Kind::Hint, files.own(&format!("{folder}/{name}")))));
    }
    let numbered = [
        (RootKind::Snapshot, snapshot_ids(&snapshots), snapshot_file as fn(i64) -> String),
        (RootKind::Changelog, changelog_ids(&changelogs), changelog_file),
    ];
    for (kind, ids, path) in numbered {
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

/// The parsed content of a file, and its size in bytes.
fn sized<T>(bytes: &[u8], parse: fn(&[u8]) -> Result<T>) -> Result<(T, u64)> {
    Ok((parse(bytes)?, bytes.len() as u64))
}
