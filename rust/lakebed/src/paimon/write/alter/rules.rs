//! Rules for the schema of a table beyond the file format (Paimon's `SchemaValidation.java`).

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::reach::{RETAIN_MAX, RETAIN_MIN, duration};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, TypeKind};
use crate::paimon::write::options::is_on;

/// The names that Paimon reserves for columns of its own.
const RESERVED: [&str; 5] = ["_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID", "rowkind"];

/// Refuses a schema that no table can have.
///
/// # Errors
/// `Argument`, with the column or option.
pub(in crate::paimon::write) fn check_schema(schema: &TableSchema) -> Result<()> {
    check_columns(schema)?;
    check_buckets(schema)?;
    check_named_columns(schema)?;
    check_row_ids(schema)?;
    check_options(schema)
}

fn check_columns(schema: &TableSchema) -> Result<()> {
    if schema.fields.is_empty() {
        return Err(refused("a table has columns"));
    }
    let reserved = |name: &str| RESERVED.contains(&name) || name.starts_with("_KEY_");
    if let Some(field) = schema.fields.iter().find(|field| reserved(&field.name)) {
        return Err(refused(format!("{:?} is a name that Paimon reserves", field.name)).in_field(&field.name));
    }
    let is_flat = |field: &DataField| !field.ty.storage_type().is_nested();
    for field in schema.partition_fields() {
        if !is_flat(field) || matches!(field.ty.kind, TypeKind::Blob) {
            let message = format!("a table cannot be partitioned by {}", field.ty);
            return Err(refused(message).in_field(&field.name));
        }
    }
    let key = schema.trimmed_primary_keys().into_iter().find(|field| !is_flat(field));
    match key {
        Some(field) => Err(refused(format!("a primary key cannot have {}", field.ty)).in_field(&field.name)),
        None => Ok(()),
    }
}

fn check_buckets(schema: &TableSchema) -> Result<()> {
    let keyed = !schema.primary_keys.is_empty();
    match schema.bucket() {
        1.. if !keyed && schema.bucket_keys().is_empty() => {
            return Err(refused("fixed buckets without primary keys need option \"bucket-key\""));
        }
        -1 if schema.option("bucket-key").is_some() => {
            let message = "option \"bucket-key\" is for fixed buckets: remove it, or set option \"bucket\"";
            return Err(refused(message).in_field("bucket-key"));
        }
        -1 | 1.. => {}
        -2 if keyed => {}
        count => return Err(refused(format!("a table cannot have {count} buckets")).in_field("bucket")),
    }
    let nested = schema.bucket_keys().into_iter().find(|field| field.ty.storage_type().is_nested());
    match nested {
        Some(field) => {
            let message = format!("values of {} cannot be a bucket key", field.ty);
            Err(refused(message).in_field(&field.name))
        }
        None => Ok(()),
    }
}

/// Checks that columns named by options exist.
fn check_named_columns(schema: &TableSchema) -> Result<()> {
    let check = |key: &str, name: &str| match schema.field_by_name(name) {
        Some(_) => Ok(()),
        None => {
            let message = format!("option {key:?} names {name:?}, which is not a column");
            Err(refused(message).in_field(key))
        }
    };
    for (key, value) in &schema.options {
        match key.as_str() {
            "sequence.field" => value.split(',').try_for_each(|name| check(key, name.trim()))?,
            "record-level.time-field" | "rowkind.field" => check(key, value)?,
            _ => {
                let columns = key.strip_prefix("fields.").and_then(|rest| rest.split('.').next());
                let columns = columns.into_iter().flat_map(|columns| columns.split(','));
                let mut columns = columns.filter(|name| *name != "default-aggregate-function");
                columns.try_for_each(|name| check(key, name))?;
            }
        }
    }
    Ok(())
}

fn check_row_ids(schema: &TableSchema) -> Result<()> {
    let on = |key: &str| is_on(schema, key, false);
    let rules = [
        (
            on("row-tracking.enabled") && (schema.bucket() != -1 || !schema.primary_keys.is_empty()),
            "row-tracking.enabled",
            "row tracking needs a table without primary keys whose option \"bucket\" is -1",
        ),
        (
            on("data-evolution.enabled") && !on("row-tracking.enabled"),
            "data-evolution.enabled",
            "data evolution needs option \"row-tracking.enabled\"",
        ),
        (
            on("data-evolution.enabled") && on("deletion-vectors.enabled"),
            "deletion-vectors.enabled",
            "tables with data evolution have no deletion vectors",
        ),
        (
            !on("data-evolution.enabled")
                && schema.fields.iter().any(|field| matches!(field.ty.kind, TypeKind::Blob)),
            "data-evolution.enabled",
            "a table with a BLOB column needs option \"data-evolution.enabled\"",
        ),
        (
            schema.fields.iter().all(|field| matches!(field.ty.kind, TypeKind::Blob)),
            "data-evolution.enabled",
            "a table has columns besides those of BLOB",
        ),
    ];
    first_of(&rules)
}

fn check_options(schema: &TableSchema) -> Result<()> {
    let option = |key: &str| schema.option(key).map(str::trim).unwrap_or_default();
    let is = |key: &str, value: &str| option(key).eq_ignore_ascii_case(value);
    let keyed = !schema.primary_keys.is_empty();
    let first_row = is("merge-engine", "first-row");
    let rules = [
        (
            !keyed && !["", "none"].iter().any(|none| is("changelog-producer", none)),
            "changelog-producer",
            "only tables with primary keys produce changelogs",
        ),
        (
            first_row && ["input", "full-compaction"].iter().any(|kind| is("changelog-producer", kind)),
            "changelog-producer",
            "tables that keep the first row produce no changelog or one by lookup",
        ),
        (
            first_row && schema.option("sequence.field").is_some(),
            "sequence.field",
            "tables that keep the first row have no sequence field",
        ),
        (
            is_on(schema, "deletion-vectors.enabled", false) && is("changelog-producer", "full-compaction"),
            "changelog-producer",
            "tables with deletion vectors produce no changelog by full compaction",
        ),
        (
            is_on(schema, "deletion-vectors.enabled", false)
                && first_row
                && !is_on(schema, "pk-clustering-override", false),
            "deletion-vectors.enabled",
            "tables that keep the first row need no deletion vectors",
        ),
        (
            schema.partition_keys.is_empty() && schema.option("partition.expiration-time").is_some(),
            "partition.expiration-time",
            "there are no partitions that could expire",
        ),
    ];
    first_of(&rules)?;
    for key in ["snapshot.time-retained", "changelog.time-retained", "tag.default-time-retained"] {
        duration(schema, key).map_err(|error| refused(error.message()).in_field(key))?;
    }
    for what in ["snapshot", "changelog"] {
        let [min, max] = ["min", "max"].map(|end| format!("{what}.num-retained.{end}"));
        let number = |key: &str| schema.option(key).map(|value| value.trim().parse::<i32>());
        let (least, most) = (number(&min).transpose(), number(&max).transpose());
        let (Ok(least), Ok(most)) = (least, most) else {
            return Err(refused(format!("options {min:?} and {max:?} are numbers")).in_field(&min));
        };
        // Without the option, engines keep as many.
        let least = least.or_else(|| number("snapshot.num-retained.min")?.ok()).map_or(RETAIN_MIN, i64::from);
        let most = most.or_else(|| number("snapshot.num-retained.max")?.ok()).map_or(RETAIN_MAX, i64::from);
        if least < 1 || least > most {
            let message =
                format!("{least} are kept at least and {most} at most: the first is from 1 to the second");
            return Err(refused(message).in_field(&min));
        }
    }
    Ok(())
}

fn first_of(rules: &[(bool, &str, &str)]) -> Result<()> {
    match rules.iter().find(|(broken, ..)| *broken) {
        Some((_, option, message)) => Err(refused(*message).in_field(option)),
        None => Ok(()),
    }
}

#[cold]
fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}
