//! A plan as the answer of a REST catalog (Iceberg's REST specification, `CompletedPlanningResult`;
//! `TableScanResponseParser.java`, `ContentFileParser.java`).

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray};
use serde_json::{Map, Value, json};

use super::Scan;
use crate::distributed::Distributed;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{EQUALITY_DELETES, PARTITION, POSITION_DELETES};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::prune::Pruner;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::Type;
use crate::iceberg::value::to_json;
use crate::record::{column, find, typed};
use crate::scan::{self, DELETE_ID, DeletesAs, ExpressionForm, RESIDUAL, ScanOptions};
use crate::view::View;

/// A key of a file in the answer, the column that it is read from, and the type of its values or items.
type Key = (&'static str, &'static str, Type);

const OF_BOTH: [Key; 4] = [
    ("file-path", "file_path", Type::String),
    ("spec-id", "spec_id", Type::Int),
    ("record-count", "record_count", Type::Long),
    ("file-size-in-bytes", "file_size_in_bytes", Type::Long),
];
const OF_DATA: [Key; 4] = [
    ("key-metadata", "key_metadata", Type::Binary),
    ("split-offsets", "split_offsets", Type::Long),
    ("sort-order-id", "sort_order_id", Type::Int),
    ("first-row-id", "first_row_id", Type::Long),
];
const OF_DELETES: [Key; 4] = [
    ("referenced-data-file", "referenced_data_file", Type::String),
    ("content-offset", "content_offset", Type::Long),
    ("content-size-in-bytes", "content_size_in_bytes", Type::Long),
    ("equality-ids", "equality_ids", Type::Int),
];
const FILE_FORMAT: &str = "file_format";
const CONTENT: &str = "content";

impl Scan {
    /// The plan as the JSON object of a completed planning result.
    ///
    /// # Errors
    /// Those of its rows; `Argument` where the scan is not a plan; `Unsupported` for a filter that Iceberg's
    /// expressions cannot express.
    ///
    /// Cost: the plan and its deletes, and the object in memory.
    pub(super) fn answer(&self, form: ExpressionForm) -> Result<Value> {
        let types = self.table.types()?;
        let mut numbers = Numbers::default();
        let mut tasks: Vec<Value> = Vec::new();
        let mut residuals = Residuals { types: &types, form, known: HashMap::new() };
        for rows in scan::Scan::stream(&self.shown_in_answer()?)? {
            let rows = rows?;
            let files = files(&rows, &types, &OF_DATA)?;
            let ids = column::<ListArray>(&rows, DeletesAs::Ids.column())?;
            let texts = column::<StringArray>(&rows, RESIDUAL)?;
            for (row, file) in files.into_iter().enumerate() {
                let deletes = ids.value(row);
                let deletes = numbers.of(typed::<Int32Array>(&deletes, DeletesAs::Ids.column())?.values());
                let residual = residuals.of(texts.is_valid(row).then(|| texts.value(row)))?;
                tasks.push(task(file, deletes, residual));
            }
        }
        Ok(json!({
            "status": "completed",
            "delete-files": self.delete_files(&numbers, &types)?,
            "file-scan-tasks": tasks,
        }))
    }

    /// The same plan with the columns that the answer needs.
    fn shown_in_answer(&self) -> Result<Scan> {
        if !matches!(self.view, View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "only plans can be answers of a REST catalog"));
        }
        let own = [FILE_FORMAT, PARTITION, DeletesAs::Ids.column(), RESIDUAL];
        let keys = OF_BOTH.iter().chain(&OF_DATA).map(|(_, column, _)| *column);
        let options = ScanOptions {
            columns: Some(keys.chain(own).map(str::to_owned).collect()),
            stats: None,
            deletes: DeletesAs::Ids,
            ..self.options.clone()
        };
        // Its notes are those of this scan.
        Ok(Scan { table: self.table.clone(), ..Scan::new(self.table.clone(), View::Plan, options)? })
    }

    /// The deletes that files refer to, in the order of their numbers.
    fn delete_files(&self, numbers: &Numbers, types: &TableTypes) -> Result<Vec<Value>> {
        let mut found = vec![Value::Null; numbers.0.len()];
        if found.is_empty() {
            return Ok(found);
        }
        for rows in self.deletes()?.stream()? {
            let rows = rows?;
            let ids = column::<Int32Array>(&rows, DELETE_ID)?.values();
            for (id, file) in ids.iter().zip(files(&rows, types, &OF_DELETES)?) {
                if let Some(place) = numbers.0.get(id).and_then(|number| found.get_mut(*number)) {
                    *place = Value::Object(file);
                }
            }
        }
        Ok(found)
    }
}

/// The number in the answer of each delete that files refer to, by its number in the plan.
#[derive(Default)]
struct Numbers(HashMap<i32, usize>);

impl Numbers {
    fn of(&mut self, ids: &[i32]) -> Vec<usize> {
        ids.iter()
            .map(|id| {
                let next = self.0.len();
                *self.0.entry(*id).or_insert(next)
            })
            .collect()
    }
}

/// Residuals as expressions; equal residuals are converted once.
struct Residuals<'a> {
    types: &'a TableTypes,
    form: ExpressionForm,
    known: HashMap<String, Value>,
}

impl Residuals<'_> {
    fn of(&mut self, text: Option<&str>) -> Result<Value> {
        let Some(text) = text else { return Ok(Value::Bool(true)) };
        if let Some(known) = self.known.get(text) {
            return Ok(known.clone());
        }
        let expression = Pruner::new(text, self.types)?.filter.expression(&self.types.schema, self.form)?;
        self.known.insert(text.to_owned(), expression.clone());
        Ok(expression)
    }
}

fn task(file: Map<String, Value>, deletes: Vec<usize>, residual: Value) -> Value {
    let mut task = Map::from_iter([("data-file".to_owned(), Value::Object(file))]);
    if !deletes.is_empty() {
        task.insert("delete-file-references".to_owned(), json!(deletes));
    }
    task.insert("residual-filter".to_owned(), residual);
    Value::Object(task)
}

/// Files in the form of the answer; null values of the keys `own` are left out.
fn files(rows: &RecordBatch, types: &TableTypes, own: &[Key]) -> Result<Vec<Map<String, Value>>> {
    let mut files = vec![Map::new(); rows.num_rows()];
    let mut put = |key: &str, values: Vec<Value>| {
        for (file, value) in files.iter_mut().zip(values) {
            if !value.is_null() {
                file.insert(key.to_owned(), value);
            }
        }
    };
    put("content", contents(rows)?);
    let formats = to_json(&find(rows, FILE_FORMAT)?, &Type::String)?;
    let lower = |format: Value| format.as_str().map_or(Value::Null, |text| json!(text.to_lowercase()));
    put("file-format", formats.into_iter().map(lower).collect());
    put("partition", tuples(rows, types)?);
    for (key, column, ty) in OF_BOTH.iter().chain(own) {
        put(key, values(&find(rows, column)?, ty)?);
    }
    Ok(files)
}

fn contents(rows: &RecordBatch) -> Result<Vec<Value>> {
    // A plan has only data files, and no column of contents.
    let Some(column) = rows.column_by_name(CONTENT) else { return Ok(vec![json!("data"); rows.num_rows()]) };
    let word = |content: Option<i32>| match content {
        Some(POSITION_DELETES) => json!("position-deletes"),
        Some(EQUALITY_DELETES) => json!("equality-deletes"),
        _ => json!("data"),
    };
    Ok(typed::<Int32Array>(column, CONTENT)?.iter().map(word).collect())
}

fn values(array: &ArrayRef, ty: &Type) -> Result<Vec<Value>> {
    let Some(lists) = array.as_list_opt::<i32>() else { return to_json(array, ty) };
    let list = |row| match lists.is_valid(row) {
        true => to_json(&lists.value(row), ty).map(Value::Array),
        false => Ok(Value::Null),
    };
    (0..lists.len()).map(list).collect()
}

/// The partition of each file: the values of its spec's fields, in order.
fn tuples(rows: &RecordBatch, types: &TableTypes) -> Result<Vec<Value>> {
    let spec_ids = column::<Int32Array>(rows, "spec_id")?.values();
    let columns = types.partition.fields.iter().zip(column::<StructArray>(rows, PARTITION)?.columns());
    let columns = columns.map(|(unified, column)| {
        // JSON has no NaN and no infinities.
        let unsupported = |error| {
            let message = format!("a REST catalog's answer cannot hold a partition: {error}");
            Error::new(ErrorKind::Unsupported, message).in_field(&unified.field.name)
        };
        to_json(column, &unified.ty).map_err(unsupported)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let tuple = |(row, spec_id): (usize, &i32)| {
        let spec =
            types.specs.iter().find(|spec| spec.spec_id == *spec_id).ok_or_else(|| unknown(*spec_id))?;
        Ok(tuple(row, spec, types, &columns))
    };
    spec_ids.iter().enumerate().map(tuple).collect()
}

fn tuple(row: usize, spec: &PartitionSpec, types: &TableTypes, columns: &[Vec<Value>]) -> Value {
    let mut tuple = vec![Value::Null; spec.fields.len()];
    for (position, values) in columns.iter().enumerate() {
        let place = types.partition.position_in(position, spec).and_then(|at| tuple.get_mut(at));
        if let (Some(place), Some(value)) = (place, values.get(row)) {
            *place = value.clone();
        }
    }
    Value::Array(tuple)
}

#[cold]
fn unknown(spec_id: i32) -> Error {
    let message = format!("the table's metadata has no partition spec {spec_id}, which files have");
    Error::new(ErrorKind::Unsupported, message)
}
