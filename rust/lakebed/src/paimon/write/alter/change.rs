//! Changes of a schema (Paimon's `SchemaChange.java`).

use serde::Deserialize;
use serde_json::Value;

use super::NextSchema;
use super::columns::{Columns, add, move_column};
use super::options::{check_removed, check_set, renamed};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::DataType;

/// One change, in the JSON form of Paimon's REST catalogs. Columns are named by their path: a nested one by
/// the names of all its parents, with `element` for an array and `value` for a map.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[allow(missing_docs)] // The names are the format's.
pub enum SchemaChange {
    SetOption {
        key: String,
        value: String,
    },
    RemoveOption {
        key: String,
    },
    UpdateComment {
        comment: Option<String>,
    },
    AddColumn {
        field_names: Vec<String>,
        data_type: Value,
        comment: Option<String>,
        #[serde(rename = "move")]
        to: Option<Move>,
    },
    RenameColumn {
        field_names: Vec<String>,
        new_name: String,
    },
    DropColumn {
        field_names: Vec<String>,
    },
    UpdateColumnType {
        field_names: Vec<String>,
        new_data_type: Value,
        #[serde(default)]
        keep_nullability: bool,
    },
    UpdateColumnNullability {
        field_names: Vec<String>,
        new_nullability: bool,
    },
    UpdateColumnComment {
        field_names: Vec<String>,
        new_comment: Option<String>,
    },
    UpdateColumnDefaultValue {
        field_names: Vec<String>,
        new_default_value: Option<String>,
    },
    UpdateColumnPosition {
        #[serde(rename = "move")]
        to: Move,
    },
}

/// The new place of a column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Move {
    /// The column that is moved.
    pub field_name: Option<String>,
    /// The column that it is moved beside.
    pub reference_field_name: Option<String>,
    /// The kind of place.
    #[serde(rename = "type")]
    pub kind: MoveType,
}

/// The kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)]
pub enum MoveType {
    First,
    After,
    Before,
    Last,
}

impl SchemaChange {
    /// Parses changes from a JSON array.
    ///
    /// # Errors
    /// `Json`.
    pub fn from_json(json: &str) -> Result<Vec<SchemaChange>> {
        crate::json::parse(json.as_bytes())
    }
}

/// The schema after `changes`; `None` where it is the same.
pub(super) fn changed(
    schema: &TableSchema,
    changes: &[SchemaChange],
    has_snapshots: bool,
) -> Result<Option<NextSchema>> {
    let mut next = NextSchema {
        fields: schema.fields.clone(),
        highest_field_id: schema.highest_field_id,
        primary_keys: schema.primary_keys.clone(),
        options: schema.options.clone(),
        comment: schema.comment.clone(),
    };
    for change in changes {
        apply(&mut next, schema, change, has_snapshots)?;
    }
    let renames: Vec<(&str, &str)> = changes.iter().filter_map(top_level_rename).collect();
    for key in &mut next.primary_keys {
        if let Some((_, new)) = renames.iter().find(|(old, _)| old == key) {
            *key = (*new).to_owned();
        }
    }
    next.options = renamed(next.options, &renames);
    let same = next.fields == schema.fields
        && next.options == schema.options
        && next.primary_keys == schema.primary_keys
        && next.comment == schema.comment;
    Ok((!same).then_some(next))
}

fn top_level_rename(change: &SchemaChange) -> Option<(&str, &str)> {
    match change {
        SchemaChange::RenameColumn { field_names, new_name } => match field_names.as_slice() {
            [name] => Some((name, new_name)),
            _ => None,
        },
        _ => None,
    }
}

fn apply(
    next: &mut NextSchema,
    schema: &TableSchema,
    change: &SchemaChange,
    has_snapshots: bool,
) -> Result<()> {
    let columns = Columns { schema };
    match change {
        SchemaChange::SetOption { key, value } => {
            check_set(&schema.options, key, value, has_snapshots)?;
            match next.options.iter_mut().find(|(known, _)| known == key) {
                Some((_, old)) => old.clone_from(value),
                None => next.options.push((key.clone(), value.clone())),
            }
        }
        SchemaChange::RemoveOption { key } => {
            check_removed(&schema.options, key, has_snapshots)?;
            next.options.retain(|(known, _)| known != key);
        }
        SchemaChange::UpdateComment { comment } => next.comment.clone_from(comment),
        SchemaChange::AddColumn { field_names, data_type, comment, to } => {
            let ty =
                DataType::from_json(data_type).map_err(|error| error.in_field(&field_names.join(".")))?;
            let ids = &mut next.highest_field_id;
            let column = add(field_names, ty, comment.clone(), ids)?;
            columns.insert(&mut next.fields, field_names, column, to.as_ref())?;
        }
        SchemaChange::RenameColumn { field_names, new_name } => {
            columns.rename(&mut next.fields, field_names, new_name)?;
        }
        SchemaChange::DropColumn { field_names } => columns.remove(&mut next.fields, field_names)?,
        SchemaChange::UpdateColumnType { field_names, new_data_type, keep_nullability } => {
            let ty = DataType::from_json(new_data_type);
            let ty = ty.map_err(|error| error.in_field(&field_names.join(".")))?;
            columns.retype(&mut next.fields, field_names, ty, *keep_nullability)?;
        }
        SchemaChange::UpdateColumnNullability { field_names, new_nullability } => {
            columns.set_nullability(&mut next.fields, field_names, *new_nullability)?;
        }
        SchemaChange::UpdateColumnComment { field_names, new_comment } => {
            columns.field(&mut next.fields, field_names)?.description.clone_from(new_comment);
        }
        SchemaChange::UpdateColumnDefaultValue { field_names, new_default_value } => {
            columns.redefault(&mut next.fields, field_names, new_default_value.clone())?;
        }
        SchemaChange::UpdateColumnPosition { to } => move_column(&mut next.fields, to)?,
    }
    Ok(())
}

/// The error for a change that Paimon's rules forbid.
#[cold]
pub(super) fn forbidden(message: impl Into<String>, field: &str) -> Error {
    Error::new(ErrorKind::Argument, message).in_field(field)
}
