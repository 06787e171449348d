//! Creates and deletes branches (Paimon's `FileSystemBranchManager.java`).

use super::{CommitOutcome, LONGEST_NAME, after, remove, snapshot_text, tag_of};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::{MAIN, SCHEMA_FOLDER, is_file_name, schema_file, snapshot_file, tag_file};
use crate::paimon::reach::BranchRemoval;
use crate::paimon::table::{BranchFiles, Table};
use crate::write::commit::WrittenFiles;
use crate::write::{ExistingFile, make_folder, publish_new, remove_folders};

/// The folders of a branch.
const FOLDERS: [&str; 5] = ["snapshot", "tag", "changelog", "consumer", SCHEMA_FOLDER];

/// The state that a new branch starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStart {
    /// The latest schema, without snapshots.
    Empty,
    /// The snapshot and schema of a tag, which the branch gets as well.
    Tag(String),
    /// A snapshot of which the table has a tag. Without one the branch would lose its files when the snapshot
    /// expires: Paimon's expiry only looks at the branch's own snapshots and tags.
    Snapshot(i64),
}

/// Creates a branch of the table. Written files are removed after an error.
pub(super) fn create_branch(table: &Table, name: &str, start: &BranchStart) -> Result<Table> {
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if name.trim().is_empty() || name == MAIN || is_number || !is_file_name(name) || name.len() > LONGEST_NAME
    {
        let message = format!(
            "not the name of a branch, which is neither {MAIN:?} nor digits alone, and a file's of at most {LONGEST_NAME} bytes: {name:?}"
        );
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let tag = match start {
        BranchStart::Empty => None,
        BranchStart::Tag(tag) => Some(tag.clone()),
        BranchStart::Snapshot(id) => Some(tag_of_snapshot(table, *id)?),
    };
    let from = match &tag {
        Some(tag) => table.at_tag(tag)?,
        None => table.latest()?,
    };
    let (own, branch) = (table.files(), table.files().of_branch(name));
    let latest = from.schema().id;
    let ids: Vec<i64> = own.schema_ids()?.into_iter().filter(|id| *id <= latest).rev().collect();
    let mut written = WrittenFiles::on(std::sync::Arc::clone(table.storage()));
    for (number, id) in ids.into_iter().enumerate() {
        let path = branch.own(&schema_file(id));
        let text = table.schema_text(id)?;
        // The latest schema is written first: the writer that succeeds has made the branch.
        if number == 0 {
            publish_new(branch.storage.as_ref(), &path, text.as_bytes())?;
        } else {
            put(&branch, &path, text.as_bytes())?;
        }
        written.push(path);
    }
    if let (Some(tag), Some(snapshot)) = (&tag, from.snapshot()) {
        let text = table.read_recorded(&own.own(&tag_file(tag)), None)?;
        let path = branch.own(&tag_file(tag));
        put(&branch, &path, &text)?;
        written.push(path);
        let path = branch.own(&snapshot_file(snapshot.id));
        put(&branch, &path, snapshot_text(&from)?.as_bytes())?;
        written.push(path);
    }
    written.keep();
    table.at_branch(name)
}

/// A tag of a snapshot that a branch may start from.
fn tag_of_snapshot(table: &Table, id: i64) -> Result<String> {
    if let Some(tag) = tag_of(table, id)? {
        return Ok(tag);
    }
    table.at_snapshot(id)?;
    let message = format!(
        "a branch starts from a tag, which keeps its files: snapshot {id} has none, create one first"
    );
    Err(Error::new(ErrorKind::Unsupported, message).in_file(table.location()))
}

fn put(branch: &BranchFiles<'_>, path: &str, bytes: &[u8]) -> Result<()> {
    make_folder(branch.storage.as_ref(), path)?;
    branch.storage.publish(path, ExistingFile::Replace, bytes).map(drop)
}

pub(super) fn delete_branch(table: &Table, name: &str) -> Result<CommitOutcome> {
    let branch = table.files().of_branch(name);
    if name == MAIN || name == table.branch() {
        let message = format!(
            "the branch {name:?} cannot be deleted: it is the main branch, or the table is opened on it"
        );
        return Err(Error::new(ErrorKind::Argument, message));
    }
    if !table.files().branch_names()?.iter().any(|known| known == name) {
        table.at_branch(name)?;
    }
    let schema = table.latest_schema()?;
    for key in ["scan.fallback-branch", "scan.primary-branch"] {
        if schema.option(key).is_some_and(|of| of == name) {
            let message = format!("the branch {name:?} is that of option {key:?}: remove the option first");
            return Err(Error::new(ErrorKind::Argument, message).in_field(key));
        }
    }
    let removal = BranchRemoval::branch(&branch)?;
    let freed = removal.freed(table)?;
    let storage = branch.storage.as_ref();
    for folder in FOLDERS {
        let mut names = storage.list(&branch.own(folder))?;
        // The latest schema and snapshot are removed first.
        names.sort_by_key(|name| std::cmp::Reverse((name.len(), name.clone())));
        for name in names {
            remove(storage, &branch.own(&format!("{folder}/{name}")))?;
        }
    }
    let folders = FOLDERS.iter().map(|folder| branch.own(folder));
    let root = branch.own("");
    let folders: Vec<String> = folders.chain([root.trim_end_matches('/').to_owned()]).collect();
    remove_folders(storage, &folders);
    after(table, freed.rows()?)
}
