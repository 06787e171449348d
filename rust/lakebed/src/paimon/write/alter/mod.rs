//! Changes schemas of existing tables (Paimon's `SchemaManager.java`).
//!
//! A change writes a new `schema-<N>` after the latest: the second of two writers reads the schema of the
//! first and changes that.

mod cast;
mod change;
mod columns;
mod options;
mod rules;

use std::sync::Arc;

use arrow_buffer::Buffer;
use serde_json::{Map, Value};

use self::change::changed;
pub use self::change::{Move, MoveType, SchemaChange};
pub(super) use self::rules::check_schema;
use super::json;
use crate::error::{Result, fitting};
use crate::json::parse;
use crate::paimon::paths::schema_file;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::types::DataField;
use crate::paimon::write::{ATTEMPTS, LONGEST_WAIT};
use crate::write::commit::{
    self as engine, Commit, Preparation, RetryLimits, WrittenFiles, check_committable,
};
use crate::write::now_millis;

/// The version of schemas since Paimon 0.9.
pub(super) const VERSION: i32 = 3;

/// Changes the latest schema of the table's branch, all changes at once. Returns the table at the latest
/// snapshot with the new schema. No data file is read or written.
///
/// # Errors
/// Before anything is written: `UnknownColumn` for a column that does not exist, `Argument` for a change that
/// Paimon's compatibility rules forbid, each with its field; `Type` and `Json` for an invalid type;
/// `Unsupported` for a storage without commits and for options that only Paimon's own writers check. `Io`,
/// and `Conflict` after too many lost races.
pub(super) fn alter_table(table: &Table, changes: &[SchemaChange]) -> Result<Table> {
    engine::commit(SchemaCommit { table, changes })
}

/// The changes to a schema.
struct SchemaCommit<'a> {
    table: &'a Table,
    changes: &'a [SchemaChange],
}

/// The latest schema.
struct LatestSchema {
    schema: TableSchema,
    /// Its file.
    path: String,
    text: String,
    /// Whether the branch has a snapshot.
    has_snapshots: bool,
}

impl Commit for SchemaCommit<'_> {
    type Base = LatestSchema;
    type Next = ();
    type Outcome = Table;

    fn base(&mut self) -> Result<LatestSchema> {
        check_committable(self.table.storage().as_ref(), self.table.location())?;
        let latest = self.table.latest()?;
        let id = latest.schema().id;
        let text = latest.schema_text(id)?;
        let path = latest.files().own(&schema_file(id));
        let has_snapshots = latest.snapshot().is_some();
        Ok(LatestSchema { schema: latest.schema().clone(), path, text, has_snapshots })
    }

    fn prepare(&mut self, base: &LatestSchema, _attempt: u32) -> Result<Preparation<(), Table>> {
        let Some(next) = changed(&base.schema, self.changes, base.has_snapshots)? else {
            return Ok(Preparation::Done(self.table.latest()?));
        };
        let bytes = Buffer::from_vec(next_file(base, &next)?.into_bytes());
        let path = self.table.files().own(&schema_file(next_id(base)?));
        let probe = (base.path.clone(), base.text.clone().into_bytes());
        let written = WrittenFiles::probing(Arc::clone(self.table.storage()), probe);
        Ok(Preparation::Next { written, path, bytes, next: () })
    }

    fn made(&mut self, _base: LatestSchema, (): ()) -> Result<Table> {
        self.table.latest()
    }

    fn retry_limits(&self, _base: &LatestSchema) -> RetryLimits {
        RetryLimits { attempts: ATTEMPTS, longest_wait: LONGEST_WAIT, path: self.table.location().to_owned() }
    }
}

/// The changed parts of a schema.
struct NextSchema {
    fields: Vec<DataField>,
    highest_field_id: i32,
    primary_keys: Vec<String>,
    options: Vec<(String, String)>,
    comment: Option<String>,
}

/// The id of the schema after `base`.
///
/// # Errors
/// `Mismatch` where there is none.
fn next_id(base: &LatestSchema) -> Result<i64> {
    let next = fitting(base.schema.id.checked_add(1), "the id of the next schema");
    next.map_err(|error| error.in_file(&base.path))
}

/// The schema file after `base`, with unknown keys of other writers.
///
/// # Errors
/// Those of a schema that no table can have.
fn next_file(base: &LatestSchema, next: &NextSchema) -> Result<String> {
    let mut object: Map<String, Value> = parse(base.text.as_bytes())?;
    let fields: Vec<Value> = next.fields.iter().map(DataField::to_json).collect();
    let options = next.options.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
    let changed: [(&str, Value); 8] = [
        ("version", VERSION.max(base.schema.version).into()),
        ("id", next_id(base)?.into()),
        ("fields", fields.into()),
        ("highestFieldId", next.highest_field_id.into()),
        ("primaryKeys", next.primary_keys.clone().into()),
        ("options", options.collect::<Map<_, _>>().into()),
        ("comment", next.comment.clone().into()),
        // Times ascend with the ids, even if clocks of writers differ.
        ("timeMillis", base.schema.time_millis.max(now_millis()).into()),
    ];
    object.extend(changed.map(|(key, value)| (key.to_owned(), value)));
    let text = json::schema_file(Value::Object(object).to_string().as_bytes())?;
    check_schema(&TableSchema::from_json(text.as_bytes())?)?;
    Ok(text)
}
