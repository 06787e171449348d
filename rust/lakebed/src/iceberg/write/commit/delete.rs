//! Data files that leave a table (Iceberg's `StreamingDelete.java`, `ManifestFilterManager.java`).

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, Int32Array, RecordBatch};

use super::attempt::{Change, Outcome, Snapshot};
use super::base::Base;
use super::entries::{Entries, rows_where, with_status};
use super::given::written_path;
use super::scratch::Scratch;
use super::store::{count_files, joined, write_entries};
use super::summary::Summary;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::manifest::{DELETED, EXISTING};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::write::{FormatVersion, ManifestContent};
use crate::record::find;

/// Removes data files by their paths: the manifests that hold them are written again, with entries that say
/// DELETED. Of version 3, the deletion vectors of those files go too; other deletes stay, as Java has it.
pub(super) struct Delete {
    /// The paths as given, and the row each stands in.
    paths: HashMap<String, usize>,
}

impl Delete {
    /// Of the paths, in the order given.
    ///
    /// # Errors
    /// `Argument` for a path that is there twice.
    pub(super) fn new(paths: Vec<String>) -> Result<Delete> {
        let mut known = HashMap::with_capacity(paths.len());
        for (row, path) in paths.into_iter().enumerate() {
            if let Some(first) = known.insert(path.clone(), row) {
                let message = format!("{path:?} is there twice, first in row {first}");
                return Err(Error::new(ErrorKind::Argument, message).in_field("file_path").in_row(row));
            }
        }
        Ok(Delete { paths: known })
    }

    /// What each manifest that stays, or is written again, holds of what goes.
    fn find(&self, base: &Base) -> Result<Found> {
        let list = base.manifests()?;
        let manifests = ManifestFile::all(&list)?;
        let paths: HashMap<String, usize> =
            self.paths.iter().map(|(path, row)| (written_path(base, path), *row)).collect();
        let gone: HashSet<&str> = paths.keys().map(String::as_str).collect();
        let entries = Entries::of(base, &["file_path", "content", "referenced_data_file", "content_offset"])?;
        let mut met = HashSet::new();
        let mut hit = Vec::with_capacity(manifests.len());
        for manifest in &manifests {
            let has_some = match manifest.content {
                _ if !manifest.may_be_live() => false,
                DELETES if base.version < FormatVersion::V3 => false,
                _ => {
                    let batch = entries.live(manifest)?;
                    let goes = goes(&batch, &gone)?;
                    if manifest.content != DELETES {
                        let found = find(&rows_where(&batch, &goes)?, "file_path")?;
                        met.extend(found.as_string::<i32>().iter().flatten().map(str::to_owned));
                    }
                    goes.true_count() > 0
                }
            };
            hit.push(has_some);
        }
        let absent = paths.iter().filter(|(path, _)| !met.contains(*path)).min_by_key(|(_, row)| **row);
        if let Some((path, row)) = absent {
            let message = format!("{path:?} is no live data file of the table");
            return Err(Error::new(ErrorKind::Argument, message).in_field("file_path").in_row(*row));
        }
        Ok(Found { list, manifests, hit, gone: paths.into_keys().collect() })
    }
}

/// The manifests of a table, and which of them hold files that go.
struct Found {
    list: RecordBatch,
    manifests: Vec<ManifestFile>,
    hit: Vec<bool>,
    gone: HashSet<String>,
}

/// Which live entries go: data files by their paths, deletion vectors by those that they are of.
fn goes(entries: &RecordBatch, gone: &HashSet<&str>) -> Result<BooleanArray> {
    let (content, paths) = (find(entries, "content")?, find(entries, "file_path")?);
    let (targets, offsets) = (find(entries, "referenced_data_file")?, find(entries, "content_offset")?);
    let (paths, targets) = (paths.as_string::<i32>(), targets.as_string::<i32>());
    let content = content.as_primitive::<Int32Type>();
    let goes = |row: usize| match content.value(row) {
        0 => gone.contains(paths.value(row)),
        1 => offsets.is_valid(row) && targets.is_valid(row) && gone.contains(targets.value(row)),
        _ => false,
    };
    Ok((0..entries.num_rows()).map(|row| Some(goes(row))).collect())
}

impl Change for Delete {
    fn apply(&self, base: &Base, scratch: &mut Scratch) -> Result<Option<Outcome>> {
        let found = self.find(base)?;
        let gone: HashSet<&str> = found.gone.iter().map(String::as_str).collect();
        let entries = Entries::all(base)?;
        let (mut summary, mut new) = (Summary::default(), Vec::new());
        for (manifest, _) in found.manifests.iter().zip(&found.hit).filter(|(_, hit)| **hit) {
            let live = entries.live(manifest)?;
            let goes = goes(&live, &gone)?;
            let spec = base.spec(manifest.spec_id)?;
            count_files(base, &mut summary, spec, &rows_where(&live, &goes)?, false)?;
            let status = goes.iter().map(|goes| if goes == Some(true) { DELETED } else { EXISTING });
            let status: Int32Array = status.collect::<Vec<_>>().into();
            let written = with_status(&live, &status, scratch.identity().snapshot_id())?;
            let content =
                if manifest.content == DELETES { ManifestContent::Deletes } else { ManifestContent::Data };
            new.push(write_entries(base, scratch, spec, content, &written)?);
        }
        // What held nothing that is live says nothing any more, once its snapshot is not this one.
        let stays =
            found.manifests.iter().zip(&found.hit).map(|(manifest, hit)| !hit && manifest.may_be_live());
        let kept = rows_where(&found.list, &stays.map(Some).collect())?;
        let replaced = new.len();
        summary.manifests = [new.len(), kept.num_rows(), replaced];
        let manifests = joined(&new, &kept)?;
        Ok(Some(Outcome::Snapshot(Snapshot { operation: "delete", manifests, summary })))
    }
}
