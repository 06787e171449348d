//! Changes of a table's schema (Iceberg specification, "Schema Evolution"; Iceberg's `SchemaUpdate.java`).

mod apply;
mod check;
mod properties;
mod schema_update;
mod types;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use self::check::{check_identifiers, check_sources, check_version};
use self::schema_update::SchemaUpdate;
use super::attempt::{Outcome, StateChange};
use super::base::Base;
use super::uncommitted::UncommittedFiles;
use super::update::Update;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::types::Schema;

/// Changes of a table's schema: all of them, or none.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaChange {
    /// The changes, in order.
    pub changes: Vec<ColumnChange>,
    /// Whether columns may become required, or be added as required, without a default: existing files may
    /// have nulls.
    pub allow_incompatible_changes: bool,
}

/// One change. Columns are given by their full name before the changes; new columns by their new name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnChange {
    /// Adds a column as the last of its struct.
    AddColumn {
        /// The struct for the column, or a list or map of structs.
        parent: Option<String>,
        /// Its name.
        name: String,
        /// Its type, as schemas have it; new ids are assigned.
        field_type: Value,
        /// Whether it is required.
        required: bool,
        /// Its comment.
        doc: Option<String>,
        /// The value in existing rows, and in new rows where none is given (version 3).
        default_value: Option<Value>,
    },
    /// Drops a column; files keep its values.
    DeleteColumn(String),
    /// Renames a column.
    RenameColumn(String, String),
    /// Changes the type of a column, to one as which its values can be read.
    UpdateColumn(String, Value),
    /// Changes or removes the comment of a column.
    UpdateColumnDoc(String, Option<String>),
    /// Changes the value in new rows where none is given (version 3).
    UpdateColumnDefault(String, Option<Value>),
    /// Makes a column optional.
    MakeColumnOptional(String),
    /// Makes a column required.
    RequireColumn(String),
    /// Moves a column before all others of its struct.
    MoveFirst(String),
    /// Moves a column before another.
    MoveBefore(String, String),
    /// Moves a column after another.
    MoveAfter(String, String),
    /// Sets the identifier fields.
    SetIdentifierFields(Vec<String>),
}

impl StateChange for SchemaChange {
    fn apply(&self, base: &Base, _: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let current = base.current_schema()?;
        let mut update = SchemaUpdate::new(current, base, self.allow_incompatible_changes);
        self.changes.iter().try_for_each(|change| update.take(change))?;
        update.check_deletes()?;
        let fields = update.fields()?;
        let ids = update.identifiers(&fields)?;
        let schema = Schema::new(0, fields, ids)?;
        check_identifiers(&schema)?;
        check_version(&schema, base.version)?;
        check_sources(base, &schema)?;
        let mut updates = updates(base, schema, update.last_column_id())?;
        if !updates.is_empty() {
            updates.extend(properties::updates(base, &update)?);
        }
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}

/// The updates that make a schema the current one; a schema that the table has keeps its id (Iceberg's
/// `TableMetadata.java`).
///
/// # Errors
/// `Mismatch` where there is no id after those of the table.
fn updates(base: &Base, mut schema: Schema, last_column_id: i32) -> Result<Vec<Update>> {
    let sorted = |schema: &Schema| {
        let mut ids = schema.identifier_field_ids.clone();
        ids.sort_unstable();
        ids
    };
    let same = |known: &&Arc<Schema>| known.fields == schema.fields && sorted(known) == sorted(&schema);
    let known = base.metadata.schemas.iter().find(same).map(|known| known.schema_id);
    let current = base.metadata.current_schema_id;
    let highest = base.metadata.schemas.iter().map(|known| known.schema_id).fold(current, i32::max);
    let id = match known {
        Some(id) => id,
        None => fitting(highest.checked_add(1), "the next schema id")?,
    };
    let is_new = known.is_none() || last_column_id != base.metadata.last_column_id;
    let mut updates = Vec::new();
    if is_new {
        schema.schema_id = id;
        updates.push(Update::AddSchema { schema: schema.to_json(), last_column_id });
    }
    if id != current {
        updates.push(Update::SetCurrentSchema { id, is_new });
    }
    Ok(updates)
}

/// The error for a change that does not fit, with the column.
#[cold]
fn refused(message: impl Into<String>, column: &str) -> Error {
    Error::new(ErrorKind::Argument, message).in_field(column)
}
