//! `schema-<N>` files: columns, keys and options of a table (Paimon's `TableSchema.java`).

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use super::types::{DataField, FieldParser, TypeKind};
use crate::error::Result;
use crate::json::{self, invalid};

/// One version of a table's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// Version of the file format: 1 where the file has none, 3 since Paimon 0.9.
    pub version: i32,
    /// The number in the file's name, from 0.
    pub id: i64,
    /// The columns, in order.
    pub fields: Vec<DataField>,
    /// The largest field id ever used in the table, nested fields included.
    pub highest_field_id: i32,
    /// Names of the partition columns, in the order of partition folders and rows.
    pub partition_keys: Vec<String>,
    /// Names of the primary key columns, partition columns included.
    pub primary_keys: Vec<String>,
    /// The options, in file order, followed by those that old versions imply.
    pub options: Vec<(String, String)>,
    /// The table's comment.
    pub comment: Option<String>,
    /// When the schema was made, milliseconds since 1970 UTC; 0 where the file does not record it.
    pub time_millis: i64,
    by_name: HashMap<String, usize>,
    by_id: HashMap<i32, usize>,
    bucket: i32,
    bucket_keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SchemaFile {
    version: Option<i32>,
    id: i64,
    fields: Vec<Value>,
    highest_field_id: i32,
    partition_keys: Vec<String>,
    primary_keys: Vec<String>,
    #[serde(deserialize_with = "json::strings")]
    options: Vec<(String, String)>,
    comment: Option<String>,
    time_millis: Option<i64>,
}

impl TableSchema {
    /// Reads a schema file.
    ///
    /// In version 1 (or none) option `bucket` defaults to `1`; in versions below 3 option `file.format`
    /// defaults to `orc`. As in Java, unknown keys are ignored, and newer versions are read like version 3.
    ///
    /// # Errors
    /// `ErrorKind::Json` for JSON that does not parse or lacks a key (named in the message), for
    /// a field id or name that appears twice, a key column that does not exist, a primary key of
    /// partition columns only, and an option `bucket` that is not a number; `ErrorKind::Type` for
    /// a type that is not in the grammar.
    pub fn from_json(json: &[u8]) -> Result<TableSchema> {
        json::roomy(json::depth(json), || TableSchema::parse(json))
    }

    fn parse(json: &[u8]) -> Result<TableSchema> {
        let mut file: SchemaFile = json::parse(json)?;
        let version = file.version.unwrap_or(1);
        imply_options(version, &mut file.options);
        let mut schema = TableSchema {
            version,
            id: file.id,
            fields: parse_fields(&file.fields, file.highest_field_id)?,
            highest_field_id: file.highest_field_id,
            partition_keys: file.partition_keys,
            primary_keys: file.primary_keys,
            options: file.options,
            comment: file.comment,
            time_millis: file.time_millis.unwrap_or(0),
            by_name: HashMap::new(),
            by_id: HashMap::new(),
            bucket: -1,
            bucket_keys: Vec::new(),
        };
        for (position, field) in schema.fields.iter().enumerate() {
            schema.by_name.insert(field.name.clone(), position);
            schema.by_id.insert(field.id, position);
        }
        schema.check_keys("partitionKeys", &schema.partition_keys)?;
        schema.check_keys("primaryKeys", &schema.primary_keys)?;
        schema.resolve_buckets()?;
        Ok(schema)
    }

    /// The column of that name.
    pub fn field_by_name(&self, name: &str) -> Option<&DataField> {
        self.fields.get(*self.by_name.get(name)?)
    }

    /// The column of that id; nested fields are not searched.
    pub fn field_by_id(&self, id: i32) -> Option<&DataField> {
        self.fields.get(*self.by_id.get(&id)?)
    }

    /// The value of an option.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The partition columns, in key order: the row type of `_PARTITION`.
    pub fn partition_fields(&self) -> Vec<&DataField> {
        self.named(&self.partition_keys)
    }

    /// The primary key without the partition columns, in key order: the row type of `_MIN_KEY`,
    /// `_MAX_KEY` and `_KEY_STATS`; empty for a table without primary key.
    pub fn trimmed_primary_keys(&self) -> Vec<&DataField> {
        self.named(&trimmed(&self.primary_keys, &self.partition_keys))
    }

    /// The columns whose hash chooses the bucket: option `bucket-key`, else the trimmed primary key; empty
    /// where there is neither.
    pub fn bucket_keys(&self) -> Vec<&DataField> {
        self.named(&self.bucket_keys)
    }

    /// Option `bucket`: the number of buckets, -1 for dynamic or unaware ones (the default), -2 for
    /// postponed ones.
    pub fn bucket(&self) -> i32 {
        self.bucket
    }

    fn named(&self, names: &[String]) -> Vec<&DataField> {
        names.iter().filter_map(|name| self.field_by_name(name)).collect()
    }

    fn check_keys(&self, what: &str, names: &[String]) -> Result<()> {
        let mut seen = HashSet::with_capacity(names.len());
        for name in names {
            if !self.by_name.contains_key(name) {
                return Err(invalid(format!("`{what}` names {name:?}, which is not a column")));
            }
            if !seen.insert(name) {
                return Err(invalid(format!("`{what}` names {name:?} twice")));
            }
        }
        Ok(())
    }

    fn resolve_buckets(&mut self) -> Result<()> {
        let trimmed = trimmed(&self.primary_keys, &self.partition_keys);
        if trimmed.is_empty() && !self.primary_keys.is_empty() {
            return Err(invalid("`primaryKeys` has only partition columns"));
        }
        self.bucket_keys = match self.option("bucket-key") {
            Some(keys) if !keys.trim().is_empty() => keys.split(',').map(str::to_owned).collect(),
            _ => trimmed,
        };
        // Values of options are kept out of messages; the schema itself shows which name is wrong.
        let known = self.check_keys("bucket-key", &self.bucket_keys);
        known.map_err(|_| invalid("option `bucket-key` names a column twice, or one that does not exist"))?;
        if let Some(bucket) = self.option("bucket") {
            let number = bucket.trim().parse();
            self.bucket = number.map_err(|_| invalid("option `bucket` is not a number"))?;
        }
        Ok(())
    }
}

/// Adds the defaults that options had in schemas of `version` and that have changed since.
fn imply_options(version: i32, options: &mut Vec<(String, String)>) {
    let mut imply = |key: &str, value: &str| {
        if !options.iter().any(|(name, _)| name == key) {
            options.push((key.to_owned(), value.to_owned()));
        }
    };
    if version <= 1 {
        imply("bucket", "1");
    }
    if version <= 2 {
        imply("file.format", "orc");
    }
}

/// The columns; nested fields without id get ids above those of all columns. Behind the last id the parser has none left.
fn parse_fields(columns: &[Value], highest_field_id: i32) -> Result<Vec<DataField>> {
    let ids = columns.iter().filter_map(|column| column.get("id")?.as_i64());
    if ids.clone().count() < columns.len() {
        return Err(invalid("a column of `fields` has no `id`"));
    }
    let highest = ids.filter_map(|id| i32::try_from(id).ok()).fold(highest_field_id, i32::max);
    let fields = FieldParser::new(highest.saturating_add(1)).fields(columns, 0)?;
    let mut seen = HashSet::new();
    for field in &fields {
        check_ids(field, &mut seen)?;
    }
    Ok(fields)
}

/// Refuses an id that appears twice. Recursion is at most as deep as types may nest.
fn check_ids(field: &DataField, seen: &mut HashSet<i32>) -> Result<()> {
    if !seen.insert(field.id) {
        return Err(invalid(format!("the field id {} appears twice", field.id)));
    }
    let mut types = vec![&field.ty];
    while let Some(ty) = types.pop() {
        match &ty.kind {
            TypeKind::Array(element) | TypeKind::Multiset(element) => types.push(element),
            TypeKind::Map(key, value) => types.extend([key.as_ref(), value]),
            TypeKind::Row(fields) => fields.iter().try_for_each(|field| check_ids(field, seen))?,
            _ => {}
        }
    }
    Ok(())
}

fn trimmed(primary_keys: &[String], partition_keys: &[String]) -> Vec<String> {
    let partition: HashSet<&String> = partition_keys.iter().collect();
    primary_keys.iter().filter(|key| !partition.contains(key)).cloned().collect()
}
