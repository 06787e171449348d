//! Creates tables (Paimon's `SchemaManager.java`, `SchemaValidation.java`).

use std::sync::Arc;

use arrow_schema::Schema as ArrowSchema;
use serde_json::{Map, Value, json};

use crate::columnar::Decoding;
use crate::error::Result;
use crate::json::parse;
use crate::location::check_new_table;
use crate::paimon::paths::schema_file;
use crate::paimon::schema::TableSchema;
use crate::paimon::table::Table;
use crate::paimon::types::{DataField, FieldParser, TypeKind, from_arrow};
use crate::paimon::write::alter::{VERSION, check_schema};
use crate::paimon::write::json;
use crate::paimon::write::options::{Container, ManifestFormat};
use crate::storage::Storage;
use crate::write::commit::check_committable;
use crate::write::{NewFolders, now_millis, publish_new};

/// The definition of a new table.
#[derive(Debug, Clone, Default)]
pub struct TableDefinition {
    /// The columns, as `fields` of a schema file has them; those without an id get one.
    pub fields: Vec<Value>,
    /// Names of the partition columns.
    pub partition_keys: Vec<String>,
    /// Names of the primary key columns, which are never null.
    pub primary_keys: Vec<String>,
    /// The options.
    pub options: Vec<(String, String)>,
    /// The comment.
    pub comment: Option<String>,
}

impl TableDefinition {
    /// Columns from the JSON array of a schema file's `fields`.
    ///
    /// # Errors
    /// `Json`.
    pub fn fields_from_json(json: &str) -> Result<Vec<Value>> {
        parse(json.as_bytes())
    }

    /// Columns of the Paimon types of Arrow columns; the metadata `paimon.type` of a field can name another
    /// type.
    ///
    /// # Errors
    /// `Type` for a type that Paimon does not have, with the column.
    pub fn fields_from_arrow(schema: &ArrowSchema) -> Result<Vec<Value>> {
        let field = |field: &Arc<arrow_schema::Field>| {
            let ty = from_arrow(field).map_err(|error| error.in_field(field.name()))?;
            let mut ty = ty.to_json();
            drop_ids(&mut ty);
            Ok(json!({"name": field.name(), "type": ty}))
        };
        schema.fields().iter().map(field).collect()
    }
}

/// Removes the ids of fields in a type, so that new ones are given.
fn drop_ids(ty: &mut Value) {
    match ty {
        Value::Object(object) => {
            object.remove("id");
            object.values_mut().for_each(drop_ids);
        }
        Value::Array(values) => values.iter_mut().for_each(drop_ids),
        _ => {}
    }
}

/// Creates a table without snapshots: its folder, and `schema/schema-0` in it.
///
/// # Errors
/// `Unsupported` for a storage without commits, and for a format or codec of manifests that is not written;
/// `Location` for a location that has control characters, or `..`; `Argument`, `Json` and `Type` for invalid
/// columns, keys and buckets; `Io`, also where there is a table already; those of opening the table. Nothing is
/// left behind then, but an empty file where the storage fails on the way, and what was written where it does not
/// report whether it has.
pub fn create_table(
    location: &str,
    storage: Arc<dyn Storage>,
    definition: &TableDefinition,
    decoding: impl Into<Decoding>,
) -> Result<Table> {
    let location = location.trim_end_matches('/');
    check_new_table(location)?;
    check_committable(storage.as_ref(), location)?;
    let text = json::schema_file(schema(definition)?.as_bytes())?;
    let schema = TableSchema::from_json(text.as_bytes())?;
    let format = ManifestFormat::of_option(&schema)?.unwrap_or(ManifestFormat::Avro);
    Container::of(&schema, format, [0; 16])?;
    check_schema(&schema)?;
    let path = format!("{location}/{}", schema_file(0));
    let folders = NewFolders::of(storage.as_ref(), &path)?;
    publish_new(storage.as_ref(), &path, text.as_bytes())?;
    let table = Table::open(location, Arc::clone(&storage), decoding);
    match table {
        Ok(_) => folders.keep(),
        // A table that its maker cannot open is none.
        Err(_) => _ = storage.remove(&path),
    }
    table
}

/// The schema file, with keys in any order.
fn schema(definition: &TableDefinition) -> Result<String> {
    let mut fields = FieldParser::new(0).fields(&definition.fields, 0)?;
    for field in &mut fields {
        field.ty.nullable &= !definition.primary_keys.contains(&field.name);
    }
    let options: Map<String, Value> =
        definition.options.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    let schema = json!({
        "version": VERSION,
        "id": 0,
        "fields": fields.iter().map(DataField::to_json).collect::<Vec<_>>(),
        "highestFieldId": fields.iter().map(highest_id).max().unwrap_or(-1),
        "partitionKeys": definition.partition_keys,
        "primaryKeys": definition.primary_keys,
        "options": options,
        "comment": definition.comment,
        "timeMillis": now_millis(),
    });
    Ok(schema.to_string())
}

/// The largest id of a column and its nested fields.
fn highest_id(field: &DataField) -> i32 {
    let mut highest = field.id;
    let mut types = vec![&field.ty];
    while let Some(ty) = types.pop() {
        match &ty.kind {
            TypeKind::Array(element) | TypeKind::Multiset(element) => types.push(element),
            TypeKind::Map(key, value) => types.extend([key.as_ref(), value]),
            TypeKind::Row(fields) => highest = fields.iter().map(highest_id).fold(highest, i32::max),
            _ => {}
        }
    }
    highest
}
