//! Converts a caller's files to entries of manifests.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    new_null_array,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};

use super::base::Base;
use super::entries::rows_where;
use super::stats::{METRICS, metric_maps};
use super::store::check_tuples;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{ENTRY, PARTITION, PUFFIN};
use crate::iceberg::manifest::ADDED;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::Schema;
use crate::iceberg::write::ManifestContent;
use crate::location::check_file;
use crate::record::typed;

/// Required columns.
const REQUIRED: [&str; 3] = ["file_path", "record_count", "file_size_in_bytes"];

/// Columns that the commit assigns; a caller's values are ignored.
const ASSIGNED: [&str; 5] =
    ["status", "snapshot_id", "sequence_number", "file_sequence_number", "first_row_id"];

/// Columns of delete files.
const OF_DELETES: [&str; 4] =
    ["equality_ids", "referenced_data_file", "content_offset", "content_size_in_bytes"];

/// Columns of the view `files` that Iceberg does not have.
const OF_VIEWS: [&str; 4] = ["bucket", "level", "schema_id", "created_at"];

/// The column of typed metrics.
const STATS: &str = "stats";

/// Files that a change adds, in columns of the view `files`, with types checked.
#[derive(Debug, Clone)]
pub struct InputFiles {
    files: RecordBatch,
    content: ManifestContent,
}

impl InputFiles {
    /// Takes files in one batch; checks what does not depend on the table.
    ///
    /// # Errors
    /// `UnknownColumn` for a missing column, or one that files do not have; `Argument` for a column of
    /// another type, a null or an invalid value; each with field and row.
    pub fn new(files: RecordBatch, content: ManifestContent) -> Result<InputFiles> {
        check_names(&files)?;
        for name in REQUIRED {
            let column = column(&files, name)?;
            let missing = files.column_by_name(name).is_none();
            if missing || column.null_count() > 0 {
                let row = (0..column.len()).find(|row| column.is_null(*row)).filter(|_| !missing);
                let kind = if missing { ErrorKind::UnknownColumn } else { ErrorKind::Required };
                let error = Error::new(kind, format!("each file needs its {name}")).in_field(name);
                return Err(row.map_or(error, |row| {
                    Error::new(kind, format!("{name} is null")).in_field(name).in_row(row)
                }));
            }
        }
        check_numbers(&files)?;
        match content {
            ManifestContent::Data => check_data(&files)?,
            ManifestContent::Deletes => check_deletes(&files)?,
        }
        check_twice(&files)?;
        Ok(InputFiles { files, content })
    }

    /// The number of files.
    pub(super) fn len(&self) -> usize {
        self.files.num_rows()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The maps made of the files' metrics, by column of entries.
    ///
    /// # Errors
    /// Those of [`metric_maps`].
    pub(super) fn metrics(&self, schema: &Schema) -> Result<HashMap<&'static str, ArrayRef>> {
        self.files.column_by_name(STATS).map_or(Ok(HashMap::new()), |stats| metric_maps(stats, schema))
    }

    /// A column in the type of entries, which is `A`'s; null where it is missing.
    pub(super) fn column<A: Array + Clone + 'static>(&self, name: &str) -> Result<A> {
        column_of(&self.files, name)
    }
}

fn check_names(files: &RecordBatch) -> Result<()> {
    let known = |name: &str| {
        ENTRY.iter().any(|spec| spec.column == name) || name == STATS || OF_VIEWS.contains(&name)
    };
    let schema = files.schema();
    for (place, field) in schema.fields().iter().enumerate() {
        let name = field.name();
        let twice = schema.fields().iter().take(place).any(|known| known.name() == name);
        if twice || !known(name) {
            let what = if twice { "appears twice" } else { "is not a field of a data file" };
            let message = format!("column {name:?} {what}");
            return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name));
        }
    }
    Ok(())
}

/// A column in the type of entries; null where it is missing.
fn column(files: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let Some(spec) = ENTRY.iter().find(|spec| spec.column == name) else {
        return Err(Error::new(ErrorKind::UnknownColumn, format!("no column {name:?}")).in_field(name));
    };
    let to = (spec.data_type)();
    match files.column_by_name(name) {
        None => Ok(new_null_array(&to, files.num_rows())),
        Some(column) => conform(column, &to).map_err(|_| {
            let message = format!("a column of type {} cannot be read as {to}", column.data_type());
            Error::new(ErrorKind::Argument, message).in_field(name)
        }),
    }
}

/// The same, as an array of that type.
fn column_of<A: Array + Clone + 'static>(files: &RecordBatch, name: &str) -> Result<A> {
    typed(&column(files, name)?, name).cloned()
}

fn check_numbers(files: &RecordBatch) -> Result<()> {
    for name in ["record_count", "file_size_in_bytes"] {
        let numbers: Int64Array = column_of(files, name)?;
        let negative = numbers.values().iter().position(|number| *number < 0);
        if let Some(row) = negative {
            let message = format!("{name} is below 0");
            return Err(Error::new(ErrorKind::Argument, message).in_field(name).in_row(row));
        }
    }
    Ok(())
}

/// Refuses delete files, and values that only these have.
fn check_data(files: &RecordBatch) -> Result<()> {
    let content: Int32Array = column_of(files, "content")?;
    let deletes = content.iter().position(|content| content.unwrap_or(0) != 0);
    if let Some(row) = deletes {
        let message = "a delete file among data files: content is not 0";
        return Err(Error::new(ErrorKind::Argument, message).in_field("content").in_row(row));
    }
    for name in OF_DELETES {
        let Some(column) = files.column_by_name(name) else { continue };
        if let Some(row) = (0..column.len()).find(|row| column.is_valid(*row)) {
            let message = format!("{name} is for delete files only: it must be null");
            return Err(Error::new(ErrorKind::Argument, message).in_field(name).in_row(row));
        }
    }
    Ok(())
}

/// Refuses delete files with missing or excess values.
fn check_deletes(files: &RecordBatch) -> Result<()> {
    let (contents, ids): (Int32Array, ListArray) =
        (column_of(files, "content")?, column_of(files, "equality_ids")?);
    let [target, offset, size] =
        ["referenced_data_file", "content_offset", "content_size_in_bytes"].map(|name| column(files, name));
    let (target, offset, size, formats) =
        (target?, offset?, size?, formats(files, ManifestContent::Deletes)?);
    for row in 0..files.num_rows() {
        let wrong = |name: &str, message: &str| {
            Err(Error::new(ErrorKind::Argument, message).in_field(name).in_row(row))
        };
        let is_equality = match contents.is_valid(row).then(|| contents.value(row)) {
            Some(1) => false,
            Some(2) => true,
            _ => {
                return wrong(
                    "content",
                    "a delete file has content 1 (position deletes) or 2 (equality deletes)",
                );
            }
        };
        let compares = ids.is_valid(row) && !ids.value(row).is_empty() && ids.value(row).null_count() == 0;
        if compares != is_equality {
            let message = "equality deletes need the ids of the columns that they compare, other files must \
                have none";
            return wrong("equality_ids", message);
        }
        let is_vector = formats.value(row) == PUFFIN;
        if is_vector && is_equality {
            return wrong("file_format", "a Puffin file cannot hold equality deletes");
        }
        for (name, column) in [("content_offset", &offset), ("content_size_in_bytes", &size)] {
            if column.is_valid(row) != is_vector {
                return wrong(
                    name,
                    "a deletion vector needs the offset and size of its bytes, other deletes must have none",
                );
            }
        }
        if is_vector && target.is_null(row) || is_equality && target.is_valid(row) {
            return wrong(
                "referenced_data_file",
                "a deletion vector must refer to one data file, equality deletes to none",
            );
        }
    }
    Ok(())
}

fn check_twice(files: &RecordBatch) -> Result<()> {
    let (paths, offsets): (StringArray, Int64Array) =
        (column_of(files, "file_path")?, column_of(files, "content_offset")?);
    let mut known = HashMap::with_capacity(paths.len());
    for (row, path) in paths.iter().enumerate() {
        let offset = offsets.is_valid(row).then(|| offsets.value(row));
        if let Some(first) = known.insert((path, offset), row) {
            let message = format!("{:?} appears twice, first in row {first}", path.unwrap_or_default());
            return Err(Error::new(ErrorKind::Argument, message).in_field("file_path").in_row(row));
        }
    }
    Ok(())
}

/// A path as the table writes it; a relative path is below the table's location.
pub(super) fn written_path(base: &Base, path: &str) -> String {
    if path.starts_with('/') || path.contains(":/") {
        return path.to_owned();
    }
    format!("{}/{path}", base.metadata.location)
}

/// The ADDED entries of the files in a snapshot, by spec.
///
/// # Errors
/// `Location` for a path that readers of the table would refuse; `Argument` for a spec that the table does not
/// have, or one with unknown transforms; for an unknown file format; those of [`metric_maps`]; each with field and
/// row.
pub(super) fn entries_of(
    given: &InputFiles,
    base: &Base,
    snapshot_id: i64,
    data_sequence_number: Option<i64>,
) -> Result<Vec<(i32, RecordBatch)>> {
    let files = &given.files;
    let rows = files.num_rows();
    let schema = base.current_schema()?;
    let maps = given.metrics(schema)?;
    let specs = spec_ids(files, base)?;
    let (mut fields, mut columns) = (Vec::with_capacity(ENTRY.len()), Vec::with_capacity(ENTRY.len()));
    for spec in &ENTRY {
        if spec.column == PARTITION && files.column_by_name(PARTITION).is_none() {
            continue;
        }
        let column: ArrayRef = match spec.column {
            "status" => Arc::new(Int32Array::from_value(ADDED, rows)),
            // Entries could inherit it, but Java and PyIceberg write it, and PyIceberg before 0.12 needs it.
            "snapshot_id" => Arc::new(Int64Array::from_value(snapshot_id, rows)),
            "content" if given.content == ManifestContent::Data => Arc::new(Int32Array::from_value(0, rows)),
            "sequence_number" if given.content == ManifestContent::Data => {
                Arc::new(Int64Array::from(vec![data_sequence_number; rows]))
            }
            "spec_id" => Arc::new(specs.clone()),
            "file_path" | "referenced_data_file" => paths(files, base, spec.column)?,
            "file_format" => Arc::new(formats(files, given.content)?),
            PARTITION => partition(files),
            name if ASSIGNED.contains(&name) => new_null_array(&(spec.data_type)(), rows),
            name if METRICS.contains(&name) => match maps.get(name) {
                Some(map) => Arc::clone(map),
                None => column(files, name)?,
            },
            name => column(files, name)?,
        };
        fields.push(Field::new(spec.column, column.data_type().clone(), true));
        columns.push(column);
    }
    let entries = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns)?;
    by_spec(&entries, &specs, base)
}

/// The spec of each file, by default the table's default spec.
fn spec_ids(files: &RecordBatch, base: &Base) -> Result<Int32Array> {
    let given: Int32Array = column_of(files, "spec_id")?;
    let default = base.metadata.default_spec_id;
    for (row, id) in given.iter().enumerate() {
        let spec = base.spec(id.unwrap_or(default)).map_err(|error| error.in_row(row))?;
        let unknown = spec.fields.iter().find(|field| matches!(field.transform, Transform::Unknown(_)));
        if let Some(field) = unknown {
            let message = format!("values of the transform {} cannot be checked", field.transform);
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(&field.name));
        }
    }
    Ok(given.iter().map(|id| Some(id.unwrap_or(default))).collect())
}

fn paths(files: &RecordBatch, base: &Base, name: &str) -> Result<ArrayRef> {
    let given: StringArray = column_of(files, name)?;
    let checked = |(row, path): (usize, Option<&str>)| {
        let Some(path) = path.map(|path| written_path(base, path)) else { return Ok(None) };
        match check_file(base.table.storage().as_ref(), &path) {
            Ok(()) => Ok(Some(path)),
            Err(error) => Err(error.in_row(row).in_field(name)),
        }
    };
    let paths = given.iter().enumerate().map(checked);
    Ok(Arc::new(paths.collect::<Result<StringArray>>()?))
}

/// The formats as Java's writer names them; by default from the endings of the paths.
fn formats(files: &RecordBatch, content: ManifestContent) -> Result<StringArray> {
    let (given, paths): (StringArray, StringArray) =
        (column_of(files, "file_format")?, column_of(files, "file_path")?);
    let known: &[&str] = match content {
        ManifestContent::Data => &["PARQUET", "ORC", "AVRO"],
        ManifestContent::Deletes => &["PARQUET", "ORC", "AVRO", PUFFIN],
    };
    let format = |(row, (format, path)): (usize, (Option<&str>, Option<&str>))| {
        let path = path.unwrap_or_default();
        let name = format.or_else(|| path.rsplit_once('.').map(|(_, ending)| ending)).unwrap_or_default();
        let upper = name.to_ascii_uppercase();
        match known.contains(&upper.as_str()) {
            true => Ok(Some(upper)),
            false => {
                let message =
                    format!("the format of {path:?} is not one of {}", known.join(", ").to_lowercase());
                Err(Error::new(ErrorKind::Argument, message).in_field("file_format").in_row(row))
            }
        }
    };
    given.iter().zip(&paths).enumerate().map(format).collect()
}

/// The caller's tuples; the manifest's layout checks them.
fn partition(files: &RecordBatch) -> ArrayRef {
    match files.column_by_name(PARTITION) {
        Some(column) if *column.data_type() != DataType::Null => Arc::clone(column),
        _ => Arc::new(StructArray::new_empty_fields(files.num_rows(), None)),
    }
}

/// The entries of each spec. Invalid tuples are found here, before anything is written.
fn by_spec(entries: &RecordBatch, specs: &Int32Array, base: &Base) -> Result<Vec<(i32, RecordBatch)>> {
    let mut rows: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    for (row, id) in specs.values().iter().enumerate() {
        rows.entry(*id).or_default().push(row);
    }
    let several = rows.len() > 1;
    let unified = base.table.types()?.partition;
    let part = |(id, rows): (i32, Vec<usize>)| -> Result<(i32, RecordBatch)> {
        let part = match several {
            false => entries.clone(),
            true => {
                let is_of: BooleanArray = specs.values().iter().map(|spec| Some(*spec == id)).collect();
                rows_where(entries, &is_of)?
            }
        };
        let spec = base.spec(id)?;
        let part = called_as_in_spec(&part, spec, &unified)?;
        check_tuples(base, spec, &part).map_err(|error| error.at_rows(&rows))?;
        Ok((id, part))
    };
    rows.into_iter().map(part).collect()
}

/// Renames partition fields as the spec has them, where views of the table use other names: they make the
/// names of several specs unique.
fn called_as_in_spec(
    entries: &RecordBatch,
    spec: &PartitionSpec,
    unified: &PartitionType,
) -> Result<RecordBatch> {
    let Ok(place) = entries.schema_ref().index_of(PARTITION) else { return Ok(entries.clone()) };
    let Some(tuples) = entries.column(place).as_struct_opt() else { return Ok(entries.clone()) };
    let named = tuples.fields().iter().map(|field| {
        let of_view = unified.fields.iter().position(|known| known.field.name == *field.name());
        let of_spec = of_view.and_then(|position| unified.position_in(position, spec));
        let of_spec = of_spec.and_then(|place| spec.fields.get(place));
        of_spec.map(|known| known.name.clone())
    });
    let named: Vec<Option<String>> = named.collect();
    let taken = |field: &Field| named.iter().flatten().any(|name| name == field.name());
    let renamed = tuples.fields().iter().zip(&named).map(|(field, name)| match name {
        Some(name) => field.as_ref().clone().with_name(name),
        // In the view this name belongs to another spec.
        None if taken(field) => field.as_ref().clone().with_name(format!("{} of another spec", field.name())),
        None => field.as_ref().clone(),
    });
    let (columns, nulls) = (tuples.columns().to_vec(), tuples.nulls().cloned());
    let tuples = StructArray::try_new_with_length(renamed.collect(), columns, nulls, tuples.len());
    let tuples: ArrayRef = Arc::new(tuples?);
    let mut fields: Vec<Field> =
        entries.schema_ref().fields().iter().map(|field| field.as_ref().clone()).collect();
    let mut columns = entries.columns().to_vec();
    if let (Some(field), Some(column)) = (fields.get_mut(place), columns.get_mut(place)) {
        (*field, *column) = (Field::new(PARTITION, tuples.data_type().clone(), true), tuples);
    }
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::mistyped;

    #[test]
    fn columns_of_another_type_are_refused_by_name() {
        let number = |number: i64| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
        let files = RecordBatch::try_from_iter([
            ("file_path", Arc::new(StringArray::from(vec!["data/a.parquet"])) as ArrayRef),
            ("record_count", number(1)),
            ("file_size_in_bytes", number(100)),
            ("content", Arc::new(Int32Array::from(vec![0]))),
            ("content_offset", new_null_array(&DataType::Int64, 1)),
        ]);
        let files = files.unwrap();
        assert_eq!(InputFiles::new(files.clone(), ManifestContent::Data).unwrap().len(), 1);
        for (name, files) in mistyped(&files) {
            let error = InputFiles::new(files, ManifestContent::Data).unwrap_err();
            let found = (error.kind(), error.location().field.as_deref());
            assert_eq!(found, (ErrorKind::Argument, Some(name.as_str())));
        }
    }
}
