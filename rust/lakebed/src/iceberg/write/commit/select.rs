//! Selects the live files that a commit removes (Iceberg's `ManifestFilterManager.java`).

use std::collections::{HashMap, HashSet};

use arrow_array::{Array, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;

use super::base::Base;
use super::entries::{CommitEntries, rows_where};
use super::files::FileName;
use super::filter::FileFilter;
use super::head::HeadList;
use super::input_files::written_path;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::deletes::{DELETE_INPUT, DeleteIndex};
use crate::iceberg::manifest_list::{DELETES, ManifestFile};
use crate::iceberg::table::TableTypes;
use crate::iceberg::write::FormatVersion;
use crate::record::column;

/// Paths that a caller gives, each once, with their rows.
pub(super) struct Paths<'c>(HashMap<&'c str, usize>);

impl Paths<'_> {
    /// Takes paths in the given order.
    ///
    /// # Errors
    /// `Argument` for a path that appears twice.
    pub(super) fn new(paths: &[String]) -> Result<Paths<'_>> {
        let mut known = HashMap::with_capacity(paths.len());
        for (row, path) in paths.iter().enumerate() {
            if let Some(first) = known.insert(path.as_str(), row) {
                let message = format!("{path:?} appears twice, first in row {first}");
                return Err(Error::new(ErrorKind::Argument, message).in_field("file_path").in_row(row));
            }
        }
        Ok(Paths(known))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths in the form in which the table writes them.
    fn written(&self, base: &Base) -> HashMap<String, usize> {
        self.0.iter().map(|(path, row)| (written_path(base, path), *row)).collect()
    }
}

/// The data files that added delete files apply to: the row of the delete file, and how many rows a new
/// deletion vector marks; `None` for position deletes.
pub(super) type Targets = HashMap<String, (usize, Option<i64>)>;

/// What a commit removes from a table.
pub(super) struct Removals<'c> {
    pub(super) data: &'c Paths<'c>,
    pub(super) deletes: &'c Paths<'c>,
    /// Vectors of data files that are not live.
    pub(super) vectors: &'c [(String, i64)],
    /// Whether they may be of live ones.
    pub(super) restores_rows: bool,
    /// Manifests that are not read.
    pub(super) left_out: &'c Paths<'c>,
    /// Files of whose entries only one stays.
    pub(super) duplicates: &'c [FileName],
    pub(super) filter: Option<&'c FileFilter>,
    /// The data files that added delete files apply to: they must exist, and their old vectors are removed.
    pub(super) targets: &'c Targets,
    /// Whether [`ManifestSelection::files`] is needed.
    pub(super) with_files: bool,
}

/// The manifests of a table, and which of them have removed files.
pub(super) struct ManifestSelection {
    pub(super) list: HeadList,
    pub(super) manifests: Vec<ManifestFile>,
    pub(super) hit: Vec<bool>,
    /// The rows of manifests that are left out of the list.
    left_out: HashSet<usize>,
    /// The live entries of manifests that are dropped, since another one is of the same file.
    dropped: HashMap<usize, HashSet<usize>>,
    /// Removed data files, by path.
    data: HashSet<String>,
    /// Removed delete files, by path.
    deletes: HashSet<String>,
    /// Data files whose vectors are removed.
    pub(super) unmarked: HashSet<String>,
    /// Removed vectors that are named themselves, by path and offset.
    vectors: HashMap<(String, i64), usize>,
    /// The entries of the removed data files, with the columns by which deletes are looked up.
    pub(super) files: Vec<RecordBatch>,
}

impl Removals<'_> {
    fn removes_data(&self) -> bool {
        !self.data.is_empty() || self.filter.is_some()
    }

    /// Selects the files to remove.
    ///
    /// # Errors
    /// `Argument` for a path that is not a live file of the table, with its row; those of
    /// [`FileFilter::matches`].
    pub(super) fn select(&self, base: &Base, types: &TableTypes) -> Result<ManifestSelection> {
        let mut selected = ManifestSelection::none(base)?;
        if self.filter.is_some() {
            // With partition summaries.
            selected.manifests = ManifestFile::all(&selected.list.rows()?)?;
        }
        let left_out = self.left_out.written(base);
        let places = selected.manifests.iter().enumerate();
        let places = places.filter(|(_, manifest)| left_out.contains_key(&manifest.path));
        selected.left_out = places.map(|(place, _)| place).collect();
        let is_left_out = |path: &str| selected.left_out().any(|manifest| manifest.path == path);
        check_found(&left_out, is_left_out, "left_out")?;
        if let Some(manifest) = selected.left_out().find(|manifest| manifest.content == DELETES) {
            let message = "which rows its deletes have taken out is not known";
            return Err(Error::new(ErrorKind::Unsupported, message).in_file(&manifest.path));
        }
        if !self.duplicates.is_empty() {
            self.select_duplicates(base, &mut selected)?;
        }
        if self.removes_data() || !self.targets.is_empty() {
            self.select_data(base, types, &mut selected)?;
        }
        let vectors = self.targets.iter().filter(|(_, (_, rows))| rows.is_some());
        selected.unmarked =
            vectors.map(|(path, _)| path.clone()).chain(selected.data.iter().cloned()).collect();
        let has_vectors = base.version == FormatVersion::V3 && !selected.unmarked.is_empty();
        if has_vectors || !self.deletes.is_empty() || !self.vectors.is_empty() {
            self.select_deletes(base, &mut selected)?;
        }
        Ok(selected)
    }

    /// Refuses to remove vectors of live data files: their rows would be read again.
    fn check_dangling(
        base: &Base,
        selected: &ManifestSelection,
        targets: &HashMap<String, usize>,
    ) -> Result<()> {
        let entries = CommitEntries::of(base, &["file_path"])?;
        for (_, manifest) in selected.live() {
            if targets.is_empty() || manifest.content == DELETES {
                continue;
            }
            let batch = entries.live(manifest)?;
            let paths = column::<StringArray>(&batch, "file_path")?;
            let live = paths.iter().flatten().filter(|path| !selected.data.contains(*path));
            if let Some((path, row)) = live.filter_map(|path| targets.get_key_value(path)).next() {
                let message =
                    format!("the vector is of {path:?}, which is live: its rows would be read again");
                return Err(Error::new(ErrorKind::Argument, message).in_field("content_offset").in_row(*row));
            }
        }
        Ok(())
    }

    fn select_duplicates(&self, base: &Base, selected: &mut ManifestSelection) -> Result<()> {
        let rows: HashMap<&FileName, usize> = self.duplicates.iter().zip(0..).collect();
        let entries = CommitEntries::of(base, &["file_path", "content_offset", "sequence_number"])?;
        // What sorts first stays.
        let mut found: HashMap<usize, Vec<(i64, usize, usize)>> = HashMap::new();
        for (place, manifest) in selected.live() {
            let batch = entries.live(manifest)?;
            let paths = column::<StringArray>(&batch, "file_path")?;
            let numbers = |name| column::<Int64Array>(&batch, name);
            let (offsets, sequences) = (numbers("content_offset")?, numbers("sequence_number")?);
            for row in 0..batch.num_rows() {
                let offset = offsets.is_valid(row).then(|| offsets.value(row));
                if let Some(given) = rows.get(&(paths.value(row).to_owned(), offset)) {
                    found.entry(*given).or_default().push((sequences.value(row), place, row));
                }
            }
        }
        for (row, (path, _)) in self.duplicates.iter().enumerate() {
            let mut entries = found.remove(&row).unwrap_or_default();
            if entries.len() < 2 {
                let message = format!("{path:?} is not listed more than once");
                return Err(Error::new(ErrorKind::Argument, message).in_field("duplicates").in_row(row));
            }
            entries.sort_unstable();
            entries.into_iter().skip(1).for_each(|(_, place, row)| selected.drop_entry(place, row));
        }
        Ok(())
    }

    fn select_data(&self, base: &Base, types: &TableTypes, selected: &mut ManifestSelection) -> Result<()> {
        let gone = self.data.written(base);
        let mut columns = vec!["file_path", "content"];
        columns.extend(self.filter.iter().flat_map(|filter| filter.input()));
        if self.with_files {
            columns.extend(DELETE_INPUT);
        }
        let entries = CommitEntries::shown(base, &columns, types)?;
        let may_hold = match self.filter {
            Some(filter) if gone.is_empty() && self.targets.is_empty() => {
                filter.may_hold(&selected.manifests)?
            }
            _ => vec![true; selected.manifests.len()].into(),
        };
        let mut found = HashSet::new();
        let mut hits = Vec::new();
        let (mut data, mut files) = (HashSet::new(), Vec::new());
        for (place, manifest) in selected.live() {
            if manifest.content == DELETES || (may_hold.is_valid(place) && !may_hold.value(place)) {
                continue;
            }
            let batch = entries.live(manifest)?;
            let paths = column::<StringArray>(&batch, "file_path")?;
            found.extend(
                paths.iter().flatten().filter(|path| self.targets.contains_key(*path)).map(str::to_owned),
            );
            let mut removed =
                BooleanBuffer::collect_bool(paths.len(), |row| gone.contains_key(paths.value(row)));
            if let Some(filter) = self.filter {
                let spec = base.spec(manifest.spec_id)?;
                removed = &removed | filter.matches(spec, &batch)?.values();
            }
            let of_these =
                (0..paths.len()).filter(|row| removed.value(*row)).map(|row| paths.value(row).to_owned());
            data.extend(of_these);
            if removed.count_set_bits() == 0 {
                continue;
            }
            hits.push(place);
            if self.with_files {
                files.push(rows_where(&batch, &BooleanArray::new(removed, None))?);
            }
        }
        selected.hit(hits);
        (selected.data, selected.files) = (data, files);
        check_found(&gone, |path| selected.data.contains(path), "file_path")?;
        let targets = self.targets.iter().map(|(path, (row, _))| (path.clone(), *row)).collect();
        check_found(&targets, |path| found.contains(path), "referenced_data_file")?;
        let both = self.targets.iter().filter(|(path, _)| selected.data.contains(*path));
        match both.min_by_key(|(_, (row, _))| *row) {
            Some((path, (row, _))) => {
                let message = format!("{path:?} is removed, and cannot have new deletes");
                Err(Error::new(ErrorKind::Argument, message).in_field("referenced_data_file").in_row(*row))
            }
            None => Ok(()),
        }
    }

    fn select_deletes(&self, base: &Base, selected: &mut ManifestSelection) -> Result<()> {
        let gone = self.deletes.written(base);
        selected.deletes = gone.keys().cloned().collect();
        let named = self.vectors.iter().enumerate();
        selected.vectors =
            named.map(|(row, (path, offset))| ((written_path(base, path), *offset), row)).collect();
        let columns =
            ["file_path", "content", "referenced_data_file", "content_offset", "record_count", "file_format"];
        let entries = CommitEntries::of(base, &columns)?;
        let mut found = HashSet::new();
        let (mut found_vectors, mut targets) = (HashSet::new(), HashMap::new());
        let mut hits = Vec::new();
        for (place, manifest) in selected.live() {
            if manifest.content != DELETES {
                continue;
            }
            let batch = entries.live(manifest)?;
            let removed = selected.removed(&batch)?;
            let paths = column::<StringArray>(&batch, "file_path")?;
            let offsets = column::<Int64Array>(&batch, "content_offset")?;
            for path in (0..paths.len()).filter(|row| removed.value(*row)).map(|row| paths.value(row)) {
                found.insert(path.to_owned());
            }
            let of_vectors = column::<StringArray>(&batch, "referenced_data_file")?;
            for row in (0..paths.len()).filter(|row| offsets.is_valid(*row)) {
                if let Some(given) = gone.get(paths.value(row)) {
                    let message = "a deletion vector is removed with its data file, for a new vector of that \
                        file, or by its offset";
                    let error = Error::new(ErrorKind::Unsupported, message);
                    return Err(error.in_field("file_path").in_row(*given));
                }
                if selected.vectors.is_empty() {
                    continue;
                }
                let key = (paths.value(row).to_owned(), offsets.value(row));
                if let Some(given) = selected.vectors.get(&key) {
                    targets.insert(of_vectors.value(row).to_owned(), *given);
                    found_vectors.insert(key);
                }
            }
            self.check_vectors(&batch)?;
            hits.extend((removed.true_count() > 0).then_some(place));
        }
        selected.hit(hits);
        let absent = selected.vectors.iter().filter(|(key, _)| !found_vectors.contains(*key));
        if let Some(((path, offset), row)) = absent.min_by_key(|(_, row)| **row) {
            let message = format!("there is no live deletion vector at {offset} of {path:?}");
            return Err(Error::new(ErrorKind::Argument, message).in_field("content_offset").in_row(*row));
        }
        if !self.restores_rows {
            Self::check_dangling(base, selected, &targets)?;
        }
        check_found(&gone, |path| found.contains(path), "file_path")
    }

    /// Refuses vectors that mark fewer rows than those they replace: they were not merged with them.
    fn check_vectors(&self, live: &RecordBatch) -> Result<()> {
        let targets = column::<StringArray>(live, "referenced_data_file")?;
        let offsets = column::<Int64Array>(live, "content_offset")?;
        let counts = column::<Int64Array>(live, "record_count")?;
        for row in (0..live.num_rows()).filter(|row| offsets.is_valid(*row) && targets.is_valid(*row)) {
            let Some((given, Some(marked))) = self.targets.get(targets.value(row)) else { continue };
            if *marked < counts.value(row) {
                let message = format!(
                    "the vector marks {marked} rows, the one of {:?} that it replaces {}: a new vector must \
                    have all rows of the old one",
                    targets.value(row),
                    counts.value(row)
                );
                return Err(Error::new(ErrorKind::Argument, message).in_field("record_count").in_row(*given));
            }
        }
        Ok(())
    }
}

impl ManifestSelection {
    /// The manifests of the branch's head, none of whose files is removed.
    pub(super) fn none(base: &Base) -> Result<ManifestSelection> {
        ManifestSelection::of(HeadList::read(base)?)
    }

    /// The same of a list.
    ///
    /// # Errors
    /// Those of decoding it.
    pub(super) fn of(list: HeadList) -> Result<ManifestSelection> {
        let manifests = list.manifests()?;
        let hit = vec![false; manifests.len()];
        Ok(ManifestSelection {
            list,
            manifests,
            hit,
            left_out: HashSet::new(),
            dropped: HashMap::new(),
            data: HashSet::new(),
            deletes: HashSet::new(),
            unmarked: HashSet::new(),
            vectors: HashMap::new(),
            files: Vec::new(),
        })
    }

    /// The manifests that may have live files, with their rows in the list, but for those that are left out.
    pub(super) fn live(&self) -> impl Iterator<Item = (usize, &ManifestFile)> {
        let all = self.manifests.iter().enumerate();
        all.filter(|(row, manifest)| manifest.may_be_live() && !self.left_out.contains(row))
    }

    /// Those that are left out.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &ManifestFile> {
        self.manifests.iter().enumerate().filter(|(row, _)| self.left_out.contains(row)).map(|(_, one)| one)
    }

    /// Drops a live entry of the manifest in this row of the list.
    pub(super) fn drop_entry(&mut self, place: usize, row: usize) {
        self.dropped.entry(place).or_default().insert(row);
        self.hit(vec![place]);
    }

    /// Which of the `count` live entries of the manifest in this row of the list are dropped.
    pub(super) fn dropped(&self, place: usize, count: usize) -> BooleanBuffer {
        let dropped = self.dropped.get(&place);
        BooleanBuffer::collect_bool(count, |row| dropped.is_some_and(|dropped| dropped.contains(&row)))
    }

    pub(super) fn hit(&mut self, rows: Vec<usize>) {
        for row in rows {
            self.hit.iter_mut().skip(row).take(1).for_each(|hit| *hit = true);
        }
    }

    /// Whether data files are removed.
    pub(super) fn removes_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Which live entries are removed: data files and delete files by path, vectors by their data file or themselves.
    pub(super) fn removed(&self, entries: &RecordBatch) -> Result<BooleanArray> {
        let content = column::<Int32Array>(entries, "content")?;
        let paths = column::<StringArray>(entries, "file_path")?;
        let targets = column::<StringArray>(entries, "referenced_data_file")?;
        let offsets = column::<Int64Array>(entries, "content_offset")?;
        let removed = |row: usize| match content.value(row) {
            0 => self.data.contains(paths.value(row)),
            1 if offsets.is_valid(row) => {
                let of_file = targets.is_valid(row) && self.unmarked.contains(targets.value(row));
                of_file || self.is_named(paths.value(row), offsets.value(row))
            }
            _ => self.deletes.contains(paths.value(row)),
        };
        Ok((0..entries.num_rows()).map(|row| Some(removed(row))).collect())
    }

    fn is_named(&self, path: &str, offset: i64) -> bool {
        !self.vectors.is_empty() && self.vectors.contains_key(&(path.to_owned(), offset))
    }

    /// The path of the first removed data file to which a delete of `index` applies.
    ///
    /// # Errors
    /// Those of [`DeleteIndex::append`].
    pub(super) fn first_deleted(&self, index: &DeleteIndex) -> Result<Option<String>> {
        for files in &self.files {
            let (data, paths) = (index.files(files)?, column::<StringArray>(files, "file_path")?);
            let mut found = Vec::new();
            for row in 0..files.num_rows() {
                index.append(&data, row, &mut found)?;
                if !found.is_empty() {
                    return Ok(Some(paths.value(row).to_owned()));
                }
            }
        }
        Ok(None)
    }
}

/// Refuses the first path that was not found.
fn check_found(paths: &HashMap<String, usize>, is_found: impl Fn(&str) -> bool, field: &str) -> Result<()> {
    let absent = paths.iter().filter(|(path, _)| !is_found(path)).min_by_key(|(_, row)| **row);
    let Some((path, row)) = absent else { return Ok(()) };
    let message = format!("{path:?} is not a live file of the table");
    Err(Error::new(ErrorKind::Argument, message).in_field(field).in_row(*row))
}
