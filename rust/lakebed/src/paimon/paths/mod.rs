//! Where the files of a table are, relative to its root, and the names of files (Paimon's
//! `FileStorePathFactory.java`, `SnapshotManager.java`).
//!
//! A branch has snapshot, schema and tag folders of its own below [`branch_root`]; manifests,
//! index files, statistics and data files of all branches are in the folders of the table.

mod data;
#[cfg(test)]
mod tests;

pub(crate) use data::DataPaths;

/// The bucket number of files that are not assigned to a bucket yet.
pub(crate) const POSTPONE_BUCKET: i32 = -2;

pub use crate::table::MAIN;

/// The name of the hint at the earliest snapshot or changelog.
pub(crate) const EARLIEST: &str = "EARLIEST";

/// The names of hint files, in the folders of snapshots and changelogs.
pub(crate) const HINTS: [&str; 2] = [EARLIEST, "LATEST"];

/// The folder of a branch, with a trailing slash; empty for `main`.
pub fn branch_root(branch: &str) -> String {
    if branch == MAIN { String::new() } else { format!("branch/branch-{branch}/") }
}

/// Hints at the latest and the earliest snapshot and changelog, below the root of their branch.
pub(crate) const LATEST_SNAPSHOT: &str = "snapshot/LATEST";
pub(crate) const EARLIEST_SNAPSHOT: &str = "snapshot/EARLIEST";
pub(crate) const LATEST_CHANGELOG: &str = "changelog/LATEST";
pub(crate) const EARLIEST_CHANGELOG: &str = "changelog/EARLIEST";

/// A snapshot file, below the root of its branch.
pub fn snapshot_file(id: i64) -> String {
    format!("snapshot/snapshot-{id}")
}

/// The folder of schema files, below the root of each branch.
pub const SCHEMA_FOLDER: &str = "schema";

/// A schema file, below the root of its branch.
pub fn schema_file(id: i64) -> String {
    format!("{SCHEMA_FOLDER}/schema-{id}")
}

/// A tag file, below the root of its branch.
pub fn tag_file(name: &str) -> String {
    format!("tag/tag-{name}")
}

/// A long-lived changelog file, below the root of its branch.
pub fn changelog_file(id: i64) -> String {
    format!("changelog/changelog-{id}")
}

/// A consumer file, below the root of its branch.
pub fn consumer_file(id: &str) -> String {
    format!("consumer/consumer-{id}")
}

/// A manifest, manifest list or index manifest, below the root of the table.
pub fn manifest_file(name: &str) -> String {
    format!("manifest/{name}")
}

/// A statistics file, below the root of the table.
pub fn statistics_file(name: &str) -> String {
    format!("statistics/{name}")
}

/// An index file that has no external path and is not beside its data, below the root of the table.
pub fn index_file(name: &str) -> String {
    format!("index/{name}")
}

/// Whether metadata may name a file this way: one path segment, without control characters.
///
/// Names in metadata are plain; a name with a separator could lead out of the table.
pub fn is_file_name(name: &str) -> bool {
    let bad = |c: char| c == '/' || c == '\\' || c.is_control();
    !name.is_empty() && name != "." && name != ".." && !name.contains(bad)
}

/// The folder that holds the folders of partitions: `root` and the folder of option
/// `data-file.path-directory` below it; with a trailing slash.
pub fn data_root(root: &str, directory: Option<&str>) -> String {
    let root = root.trim_end_matches('/');
    match directory.map(|name| name.trim_matches('/')).filter(|name| !name.is_empty()) {
        Some(directory) => format!("{root}/{directory}/"),
        None => format!("{root}/"),
    }
}

/// What the names of the folders of buckets begin with.
const BUCKET_FOLDER: &str = "bucket-";

/// Appends the folder of a bucket, with a trailing slash: `bucket-0/`, or `bucket-postpone/` for -2.
pub fn push_bucket_folder(path: &mut String, bucket: i32) {
    path.push_str(BUCKET_FOLDER);
    if bucket == POSTPONE_BUCKET {
        path.push_str("postpone");
    } else {
        path.push_str(&bucket.to_string());
    }
    path.push('/');
}

/// The snapshot ids among the file names of a snapshot folder, ascending.
///
/// Names may have a folder before them. Names other than `snapshot-` and a number (hints, temporary files)
/// are skipped, as in Paimon's `HintFileUtils.java`.
pub fn snapshot_ids<S: AsRef<str>>(names: &[S]) -> Vec<i64> {
    ids(names, "snapshot-")
}

/// The schema ids among the file names of a schema folder, ascending; see [`snapshot_ids`].
pub fn schema_ids<S: AsRef<str>>(names: &[S]) -> Vec<i64> {
    ids(names, "schema-")
}

/// The changelog ids among the file names of a changelog folder, ascending; see [`snapshot_ids`].
pub fn changelog_ids<S: AsRef<str>>(names: &[S]) -> Vec<i64> {
    ids(names, "changelog-")
}

/// The tag names among the file names of a tag folder, sorted.
///
/// Names may have a folder before them. Unfinished files are skipped.
pub fn tag_names<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    suffixes(names, "tag-")
}

/// The branch names among the names in the folder of branches, sorted; see [`tag_names`].
pub fn branch_names<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    suffixes(names, "branch-")
}

/// The consumer ids among the file names of a consumer folder, sorted; see [`tag_names`].
pub fn consumer_ids<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    suffixes(names, "consumer-")
}

fn suffixes<S: AsRef<str>>(names: &[S], prefix: &str) -> Vec<String> {
    let base = |name: &S| name.as_ref().rsplit('/').next()?.strip_prefix(prefix).map(str::to_owned);
    let mut suffixes: Vec<String> = names.iter().filter_map(base).collect();
    suffixes.retain(|name| is_file_name(name) && !is_temporary(name));
    suffixes.sort_unstable();
    suffixes
}

/// Whether a name ends like pypaimon's unfinished files: in a UUID and `.tmp`.
fn is_temporary(name: &str) -> bool {
    let uuid = name.strip_suffix(".tmp").and_then(|name| name.as_bytes().last_chunk::<36>());
    uuid.is_some_and(|uuid| {
        let fits = |(at, byte): (usize, &u8)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        };
        uuid.iter().enumerate().all(fits)
    })
}

fn ids<S: AsRef<str>>(names: &[S], prefix: &str) -> Vec<i64> {
    let mut ids: Vec<i64> = names.iter().filter_map(|name| id(name.as_ref(), prefix)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The number after `prefix`, if it is written as Paimon writes it, so that the name can be rebuilt from it.
fn id(name: &str, prefix: &str) -> Option<i64> {
    let base = name.rsplit('/').next()?;
    let digits = base.strip_prefix(prefix)?;
    let canonical = digits == "0" || !digits.starts_with(['0', '+', '-']);
    if canonical { digits.parse().ok() } else { None }
}
