//! What holds snapshots of a table: the snapshots, tags and changelogs of every branch.

use crate::error::Result;
use crate::paimon::paths::{
    MAIN, changelog_file, changelog_ids, consumer_file, schema_file, snapshot_file, snapshot_ids, tag_file,
};
use crate::paimon::snapshot::{Snapshot, Tag};
use crate::paimon::table::{Files, Table};
use crate::reach::{Kind, Root};

/// Names of hint files, in the folders of snapshots and changelogs.
pub(super) const HINTS: [&str; 2] = ["EARLIEST", "LATEST"];

/// The kinds of holders of a snapshot, in the order used for one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::paimon) enum Holder {
    Snapshot,
    Tag,
    Changelog,
}

/// A snapshot that something holds.
#[derive(Debug, Clone)]
pub(in crate::paimon) struct Held {
    pub(in crate::paimon) holder: Holder,
    /// Empty for the main branch, which comes first.
    branch: String,
    pub(in crate::paimon) root: Root,
    pub(in crate::paimon) snapshot: Snapshot,
    /// The file that holds it; `None` for a changelog that an expiry would make.
    pub(in crate::paimon) path: Option<String>,
    pub(super) size: u64,
}

impl Held {
    fn new(
        holder: Holder,
        branch: &str,
        name: &str,
        snapshot: Snapshot,
        file: Option<(String, u64)>,
    ) -> Held {
        let branch = if branch == MAIN { "" } else { branch };
        let of_branch = if branch.is_empty() { String::new() } else { format!(" of branch {branch}") };
        let word = holder.kind().name();
        let root = Root::new(Some(snapshot.id), format!("{word} {name}{of_branch}"));
        let (path, size) = file.map_or((None, 0), |(path, size)| (Some(path), size));
        Held { holder, branch: branch.to_owned(), root, snapshot, path, size }
    }

    /// The holders of every branch of a table, the main branch first.
    ///
    /// # Errors
    /// Those of [`held`].
    pub(super) fn of_table(table: &Table) -> Result<Vec<(String, Vec<Held>, Own)>> {
        let own = table.files();
        let branches = std::iter::once(MAIN.to_owned()).chain(own.branch_names()?);
        let of_branch = |branch: String| {
            let (held, besides) = held(&own.of_branch(&branch))?;
            Ok((branch, held, besides))
        };
        branches.map(of_branch).collect()
    }

    /// The changelog that an expiry makes of a snapshot.
    pub(super) fn changelog_of(&self) -> Held {
        let branch = if self.branch.is_empty() { MAIN } else { &self.branch };
        let (id, snapshot) = (self.snapshot.id.to_string(), self.snapshot.clone());
        Held::new(Holder::Changelog, branch, &id, snapshot, None)
    }

    pub(in crate::paimon) fn is_of(&self, branch: &str) -> bool {
        self.branch == if branch == MAIN { "" } else { branch }
    }

    /// The order of holders: by snapshot.
    pub(super) fn order(&self) -> (i64, Holder, String) {
        (self.snapshot.id, self.holder, self.branch.clone())
    }
}

impl Holder {
    pub(super) fn kind(self) -> Kind {
        match self {
            Holder::Snapshot => Kind::Snapshot,
            Holder::Tag => Kind::Tag,
            Holder::Changelog => Kind::Changelog,
        }
    }
}

/// The files of a branch that no snapshot names.
#[derive(Debug, Clone, Default)]
pub(in crate::paimon) struct Own {
    pub(super) files: Vec<(Kind, String)>,
}

/// The holders of a branch, and its other files. Lists five folders; reads the snapshots, tags and
/// changelogs.
pub(super) fn held(files: &Files<'_>) -> Result<(Vec<Held>, Own)> {
    let mut all = Vec::new();
    let mut own = Own::default();
    let snapshots = files.storage.list(&files.own("snapshot"))?;
    let changelogs = files.storage.list(&files.own("changelog"))?;
    for (folder, names) in [("snapshot", &snapshots), ("changelog", &changelogs)] {
        let hints = names.iter().filter(|name| HINTS.contains(&name.as_str()));
        own.files.extend(hints.map(|name| (Kind::Hint, files.own(&format!("{folder}/{name}")))));
    }
    let numbered = [
        (Holder::Snapshot, snapshot_ids(&snapshots), snapshot_file as fn(i64) -> String),
        (Holder::Changelog, changelog_ids(&changelogs), changelog_file),
    ];
    for (holder, ids, path) in numbered {
        let read = files.each(ids, |id| path(*id), |bytes| sized(bytes, Snapshot::from_json))?;
        all.extend(read.into_iter().map(|(id, (snapshot, size))| {
            let file = Some((files.own(&path(id)), size));
            Held::new(holder, files.branch, &id.to_string(), snapshot, file)
        }));
    }
    let tags = files.each(files.tag_names()?, |name| tag_file(name), |bytes| sized(bytes, Tag::from_json))?;
    all.extend(tags.into_iter().map(|(name, (tag, size))| {
        let file = Some((files.own(&tag_file(&name)), size));
        Held::new(Holder::Tag, files.branch, &name, tag.snapshot, file)
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
