//! Changes of a table's schema (Iceberg specification, "Schema Evolution"; Iceberg's `SchemaUpdate.java`).

mod apply;
mod check;
mod draft;
mod properties;
mod types;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use self::check::{check_identifiers, check_sources, check_version};
use self::draft::Draft;
use super::attempt::{Change, Outcome};
use super::base::Base;
use super::scratch::Scratch;
use super::update::Update;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::types::Schema;

/// What becomes of a table's schema: all changes, or none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SchemaChange {
    /// The changes, one after the other.
    pub changes: Vec<ColumnChange>,
    /// Whether columns may become required, or come so, without a default: files that are there may have nulls.
    pub allow_incompatible_changes: bool,
}

/// One change. Columns are named in full, as the schema had them before the changes; those that come, as they come.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnChange {
    /// A column comes, after the others of its struct.
    AddColumn {
        /// The struct that it comes into, or the list or map of such.
        parent: Option<String>,
        /// Its name.
        name: String,
        /// Its type, as schemas have it; ids are given out anew.
        field_type: Value,
        /// Whether it has no nulls.
        required: bool,
        /// Its comment.
        doc: Option<String>,
        /// What rows that are there have, and rows to come where nothing is said (version 3).
        default_value: Option<Value>,
    },
    /// A column goes; files keep its values.
    DeleteColumn(String),
    /// A column is called otherwise.
    RenameColumn(String, String),
    /// A column becomes of another type, as which its values can be read.
    UpdateColumn(String, Value),
    /// A column has another comment, or none.
    UpdateColumnDoc(String, Option<String>),
    /// Rows to come have another value where nothing is said (version 3).
    UpdateColumnDefault(String, Option<Value>),
    /// A column may be null.
    MakeColumnOptional(String),
    /// A column may not be null.
    RequireColumn(String),
    /// A column moves before all others of its struct.
    MoveFirst(String),
    /// A column moves before another.
    MoveBefore(String, String),
    /// A column moves behind another.
    MoveAfter(String, String),
    /// The columns that tell rows apart.
    SetIdentifierFields(Vec<String>),
}

impl Change for SchemaChange {
    fn apply(&self, base: &Base, _: &mut Scratch) -> Result<Option<Outcome>> {
        let current = base.current_schema()?;
        let mut draft = Draft::new(current, base, self.allow_incompatible_changes);
        self.changes.iter().try_for_each(|change| draft.take(change))?;
        draft.check_deletes()?;
        let fields = draft.fields()?;
        let ids = draft.identifiers(&fields)?;
        let schema = Schema::new(0, fields, ids)?;
        check_identifiers(&schema)?;
        check_version(&schema, base.version)?;
        check_sources(base, &schema)?;
        let mut updates = updates(base, schema, draft.last_column_id());
        if !updates.is_empty() {
            updates.extend(properties::updates(base, &draft)?);
        }
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}

/// What makes a schema the current one: one that the table has keeps its id (Iceberg's `TableMetadata.java`).
fn updates(base: &Base, mut schema: Schema, last_column_id: i32) -> Vec<Update> {
    let sorted = |schema: &Schema| {
        let mut ids = schema.identifier_field_ids.clone();
        ids.sort_unstable();
        ids
    };
    let same = |known: &&Arc<Schema>| known.fields == schema.fields && sorted(known) == sorted(&schema);
    let known = base.metadata.schemas.iter().find(same).map(|known| known.schema_id);
    let current = base.metadata.current_schema_id;
    let fresh =
        base.metadata.schemas.iter().map(|known| known.schema_id).fold(current, i32::max).saturating_add(1);
    let id = known.unwrap_or(fresh);
    let is_new = known.is_none() || last_column_id != base.metadata.last_column_id;
    let mut updates = Vec::new();
    if is_new {
        schema.schema_id = id;
        updates.push(Update::AddSchema { schema: schema.to_json(), last_column_id });
    }
    if id != current {
        updates.push(Update::SetCurrentSchema { id, is_new });
    }
    updates
}

/// What does not fit, with the column that it is about.
#[cold]
fn refused(message: impl Into<String>, column: &str) -> Error {
    Error::new(ErrorKind::Argument, message).in_field(column)
}
