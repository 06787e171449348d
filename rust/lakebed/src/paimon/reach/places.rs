//! Where an engine looks for orphan files (Paimon's `OrphanFilesClean.java`): in the folders of manifests,
//! indexes and statistics, in the folders of buckets at the depth of the partition, and for files other than
//! snapshots and changelogs in the folders of these. Files that lakebed itself has left while it was writing are
//! looked for wherever it writes; folders that other tables may share are not looked into.

use std::sync::Arc;

use crate::credentials::without_credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::paths::HINTS;
use crate::paimon::table::{BranchFiles, Table};
use crate::reach::ListedFolder;
use crate::relocate::below;
use crate::write::publish::is_left_over;

/// The folders that hold files of one kind only.
const OWN: [&str; 3] = ["manifest", "index", "statistics"];

/// The folders of a branch that have files which are written under another name first.
const PUBLISHED: [&str; 5] = ["snapshot", "changelog", "schema", "tag", "consumer"];

/// The suffix of files that engines leave to a clean-up of their own.
const MANAGED_BLOB: &str = ".managed.blob";

/// # Errors
/// `Required` for a branch that has files but no schema: what it reaches is unknown.
pub(in crate::paimon) fn places(table: &Table) -> Result<Vec<ListedFolder>> {
    let files = table.files();
    let branches = files.branch_names()?;
    for branch in &branches {
        let own = files.of_branch(branch);
        let has_no_schema = || Ok::<_, Error>(own.schema_ids()?.is_empty());
        // Looked for again, since a branch that is being made gets its schema first.
        if has_no_schema()? && !is_unfinished(&own)? && has_no_schema()? {
            let message = format!("branch {branch:?} has no schema, so what it reaches is unknown");
            return Err(Error::new(ErrorKind::Required, message).in_file(table.location()));
        }
    }
    let schema = table.schema();
    let depth = schema.partition_keys.len();
    let data = schema.option("data-file.path-directory").unwrap_or_default().trim_matches('/').to_owned();
    let rule =
        Arc::new(move |path: &str, is_folder: bool| is_looked_at(path, is_folder, depth, &data, &branches));
    let location = table.location().to_owned();
    let place = |location, rule| ListedFolder {
        location,
        rule,
        is_whole: false,
        format: "paimon",
        is_own: Arc::new(|folder| folder.starts_with("branch/branch-") && folder.matches('/').count() == 1),
        is_optional: true,
    };
    let mut places = vec![ListedFolder { is_optional: false, ..place(location, rule) }];
    for location in external(table) {
        if below(&location, table.location()).is_some() {
            places.push(place(location, Arc::new(move |path, is_folder| is_of_data(path, is_folder, depth))));
        } else {
            let location = without_credentials(&location);
            table.noted().add(format!(
                "{location:?}, where the table has files outside its own folder, is not looked into: other tables may \
                 have files there too, under names that do not say so"
            ));
        }
    }
    Ok(places)
}

/// Whether a branch without a schema has no file at all: one whose making or removal was broken off, since its latest
/// schema is written first and removed last.
fn is_unfinished(branch: &BranchFiles<'_>) -> Result<bool> {
    for folder in PUBLISHED {
        if !branch.storage.list(&branch.own(folder))?.iter().all(|name| is_left_over(name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The folders outside the table's own in which it writes data.
pub(super) fn external(table: &Table) -> Vec<String> {
    let folders = table.schema().option("data-file.external-paths").unwrap_or_default().split(',');
    let folders =
        folders.map(|folder| folder.trim().trim_end_matches('/')).filter(|folder| !folder.is_empty());
    folders.map(str::to_owned).collect()
}

/// Whether a path below the table's folder is looked at.
fn is_looked_at(path: &str, is_folder: bool, depth: usize, data: &str, branches: &[String]) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let own = match names.as_slice() {
        ["branch"] => return is_folder,
        ["branch", branch, rest @ ..] => {
            let known =
                branch.strip_prefix("branch-").is_some_and(|name| branches.iter().any(|one| one == name));
            return known && (rest.is_empty() && is_folder || is_of_branch(rest, is_folder));
        }
        [folder] => is_folder && OWN.contains(folder),
        [folder, _] => !is_folder && OWN.contains(folder),
        _ => false,
    };
    let of_data = match data {
        "" => is_of_data(path, is_folder, depth),
        data if path == data => is_folder,
        // Folders on the way to the data.
        data if is_folder && data.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')) => true,
        data => path
            .strip_prefix(data)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| is_of_data(rest, is_folder, depth)),
    };
    (own || of_data || is_of_branch(&names, is_folder)) && !path.ends_with(MANAGED_BLOB)
}

/// Whether it is a file in one of the folders that each branch has: other than a snapshot or changelog in their
/// folders, and in all of them one that lakebed has left.
fn is_of_branch(names: &[&str], is_folder: bool) -> bool {
    match names {
        [folder] if PUBLISHED.contains(folder) => is_folder,
        [folder, name] if PUBLISHED.contains(folder) && is_left_over(name) => !is_folder,
        [folder @ ("snapshot" | "changelog"), name] => {
            let own = name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('-'));
            !is_folder && !own && !HINTS.contains(name)
        }
        _ => false,
    }
}

/// Whether it is a file in the folder of a bucket, below as many partition folders as there are partition
/// keys, or a folder on the way there.
fn is_of_data(path: &str, is_folder: bool, depth: usize) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let fits = |(at, name): (usize, &&str)| match at {
        at if at < depth => name.contains('='),
        at if at == depth => name.starts_with("bucket-"),
        _ => !is_folder,
    };
    let length = depth + if is_folder { 1 } else { 2 };
    let whole = if is_folder { names.len() <= length } else { names.len() == length };
    whole && names.iter().enumerate().all(fits) && !path.ends_with(MANAGED_BLOB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_the_engine_looks_into_are() {
        let branches = ["b".to_owned()];
        let looked = |path: &str, is_folder| is_looked_at(path, is_folder, 1, "", &branches);
        for folder in [
            "manifest",
            "index",
            "statistics",
            "snapshot",
            "changelog",
            "schema",
            "tag",
            "consumer",
            "branch",
            "branch/branch-b",
            "branch/branch-b/tag",
        ] {
            assert!(looked(folder, true), "{folder}");
        }
        for folder in ["bucket-0", "dt=1/x", "other", "branch/branch-c", "manifest/x", "schema/x"] {
            assert!(!looked(folder, true), "{folder}");
        }
        assert!(
            looked("dt=1", true) && looked("dt=1/bucket-0", true) && looked("dt=1/bucket-postpone", true)
        );
        for file in [
            "manifest/m",
            "index/i",
            "statistics/s",
            "dt=1/bucket-0/f",
            "snapshot/x",
            "changelog/x.tmp",
            "schema/.schema-1.7.0.lakebed-tmp",
            "branch/branch-b/tag/.tag-x.7.0.lakebed-tmp",
        ] {
            assert!(looked(file, false), "{file}");
        }
        assert!(looked("branch/branch-b/snapshot/x", false) && !looked("branch/branch-b/manifest/x", false));
        for file in [
            "snapshot/snapshot-1",
            "snapshot/snapshot-1a.tmp",
            "snapshot/LATEST",
            "changelog/EARLIEST",
            "schema/schema-0",
            "schema/x",
            "tag/.x",
            "dt=1/f",
            "bucket-0/f",
            "dt=1/bucket-0/x/f",
            "dt=1/bucket-0/f.managed.blob",
            "readme",
        ] {
            assert!(!looked(file, false), "{file}");
        }
    }

    #[test]
    fn data_may_have_a_folder_of_its_own() {
        let looked = |path: &str, is_folder| is_looked_at(path, is_folder, 0, "a/b", &[]);
        assert!(looked("a", true) && looked("a/b", true) && looked("a/b/bucket-0", true));
        assert!(looked("a/b/bucket-0/f", false));
        assert!(!looked("bucket-0", true) && !looked("a/c", true) && !looked("a/b/f", false));
    }
}
