//! Partition specs (Iceberg specification, "Partitioning" and appendix C).

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::json::Object;
use crate::iceberg::transform::Transform;
use crate::json::invalid;

/// The id of a table's first partition field, also where specs have no ids (format version 1).
pub(in crate::iceberg) const FIRST_FIELD_ID: i32 = 1000;
/// The highest partition field id of a table without partition fields.
pub(in crate::iceberg) const NO_PARTITION_ID: i32 = FIRST_FIELD_ID - 1;

/// One partition spec of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSpec {
    /// The id, unique in the table.
    pub spec_id: i32,
    /// The fields of the partition tuple, in order.
    pub fields: Vec<PartitionField>,
}

/// A field of the partition tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionField {
    /// The ids of the source columns: one, unless the transform is unknown.
    pub source_ids: Vec<i32>,
    /// The id, by which tuples of different specs are matched.
    pub field_id: i32,
    /// The name.
    pub name: String,
    /// The transform of the source.
    pub transform: Transform,
}

impl PartitionSpec {
    /// The spec that `json` describes: an object with `spec-id` and `fields`.
    ///
    /// # Errors
    /// `ErrorKind::Required` for a missing key, `ErrorKind::Json` for one of the wrong JSON type, and for a
    /// field id that appears twice.
    pub fn from_json(json: &Value) -> Result<PartitionSpec> {
        let object = Object::new(json, "a partition spec")?;
        PartitionSpec::new(object.int("spec-id")?, object.array("fields")?)
    }

    /// The spec of a plain array of fields, as in the `partition-spec` of format version 1 and of manifest
    /// headers.
    ///
    /// # Errors
    /// Those of [`PartitionSpec::from_json`].
    pub fn from_fields(spec_id: i32, json: &Value) -> Result<PartitionSpec> {
        match json {
            Value::Array(fields) => PartitionSpec::new(spec_id, fields),
            _ => Err(invalid("`partition-spec` is not an array")),
        }
    }

    /// The JSON of the spec, which [`PartitionSpec::from_json`] reads.
    pub fn to_json(&self) -> Value {
        json!({ "spec-id": self.spec_id, "fields": self.fields_json() })
    }

    /// The JSON of the fields alone, which [`PartitionSpec::from_fields`] reads.
    pub fn fields_json(&self) -> Value {
        let field = |field: &PartitionField| {
            let mut json = json!({ "name": field.name, "transform": field.transform.to_string() });
            match field.source_ids.as_slice() {
                [source_id] => json["source-id"] = (*source_id).into(),
                source_ids => json["source-ids"] = source_ids.to_vec().into(),
            }
            json["field-id"] = field.field_id.into();
            json
        };
        self.fields.iter().map(field).collect()
    }

    fn new(spec_id: i32, json: &[Value]) -> Result<PartitionSpec> {
        let fields = json.iter().zip(FIRST_FIELD_ID..).map(|(json, id)| field(json, id));
        let (fields, has_id): (Vec<_>, HashSet<bool>) =
            fields.collect::<Result<Vec<(PartitionField, bool)>>>()?.into_iter().unzip();
        if has_id.len() > 1 {
            let message =
                format!("some fields of partition spec {spec_id} have a `field-id`, some have none");
            return Err(Error::new(ErrorKind::Required, message));
        }
        let mut ids = HashSet::with_capacity(fields.len());
        match fields.iter().find(|field| !ids.insert(field.field_id)) {
            Some(twice) => Err(invalid(format!("the partition field id {} appears twice", twice.field_id))),
            None => Ok(PartitionSpec { spec_id, fields }),
        }
    }

    /// Whether the table is unpartitioned by this spec: it has no fields, or all are `void`.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|field| field.transform == Transform::Void)
    }
}

/// A field, with `id` unless the JSON has an id, and whether it has one.
fn field(json: &Value, id: i32) -> Result<(PartitionField, bool)> {
    let object = Object::new(json, "a partition field")?;
    let name = object.text("name")?;
    let read = || {
        let source_ids = match object.get("source-ids") {
            Some(_) => object.ints("source-ids")?,
            None => vec![object.int("source-id")?],
        };
        let transform = object.text("transform")?;
        // The specification has no transform of several columns.
        let transform = match source_ids.len() {
            1 => Transform::parse(transform),
            _ => Transform::Unknown(transform.to_owned()),
        };
        let field_id = object.optional_int("field-id")?;
        let name = name.to_owned();
        Ok((
            PartitionField { source_ids, field_id: field_id.unwrap_or(id), name, transform },
            field_id.is_some(),
        ))
    };
    read().map_err(|error: Error| error.in_field(name))
}
