//! Renames the fields of writers' schemas as in the field tables, so that fields are matched by id.
//!
//! Iceberg's Avro files give each field an id in the attribute `field-id` (Iceberg specification, "Avro"),
//! and only the id counts. Some writers leave it out on some or all fields: these are matched by name, then
//! by older names.

use lakebed_avro::schema::{Field, Node, Schema, Wire};

use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::iceberg::fields::{
    ENTRY, FIELD_SUMMARY, HOLDERS, LIST, PARTITION, PARTITION_ON_DISK, PARTITION_STATS, POSITION_DELETE, ROW,
};

/// The schema of a manifest list with our names: first with the layout of the bytes, then with the types to
/// read them as.
pub(in crate::iceberg) fn canonical_list(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&LIST, &FIELD_SUMMARY], &[])
}

/// The schema of a manifest with our names, as [`canonical_list`]; the names of partition fields are their
/// ids.
pub(in crate::iceberg) fn canonical_entry(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&ENTRY], &HOLDERS)
}

/// As [`canonical_entry`], for manifests whose `fixed` partition values have a length before them, in
/// contradiction to their schema.
pub(in crate::iceberg) fn canonical_prefixed_entry(writer: Schema) -> Result<(Schema, Schema)> {
    canonical_entry(writer).map(|schemas| prefixed(schemas, PARTITION_ON_DISK))
}

/// Schemas with a length before the `fixed` values of the partition at `path`.
fn prefixed((writer, reader): (Schema, Schema), path: &str) -> (Schema, Schema) {
    let prefixed = |schema: Schema| {
        let mut root = schema.root().clone();
        fixed_fields(&mut root, path).into_iter().for_each(|(_, wire)| *wire = Wire::Bytes);
        Schema::new(root)
    };
    (prefixed(writer), prefixed(reader))
}

/// The schema of a position delete file with our names, as [`canonical_list`]; the names of the fields of
/// deleted rows, nested ones included, are their ids.
pub(in crate::iceberg) fn canonical_position_delete(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&POSITION_DELETE], &[])
}

/// The schema of a partition statistics file with our names, as [`canonical_list`]; the names of partition
/// fields are their ids.
pub(in crate::iceberg) fn canonical_partition_stats(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&PARTITION_STATS], &[])
}

/// As [`canonical_partition_stats`], for files whose `fixed` partition values have a length before them, in
/// contradiction to their schema.
pub(in crate::iceberg) fn canonical_prefixed_partition_stats(writer: Schema) -> Result<(Schema, Schema)> {
    canonical_partition_stats(writer).map(|schemas| prefixed(schemas, PARTITION))
}

/// A schema whose fields of all levels have their ids as names, as [`canonical_list`].
pub(in crate::iceberg) fn canonical_by_ids(writer: Schema) -> Result<(Schema, Schema)> {
    let mut root = writer.root().clone();
    if let Some(fields) = record_of(&mut root) {
        rename_all_by_ids(fields)?;
    }
    let writer = Schema::new(root.clone());
    unwrap_single_branches(&mut root);
    Ok((writer, Schema::new(root)))
}

/// The partition fields of a canonical schema that are `fixed` without being decimals: names and types.
pub(super) fn fixed_partition_fields(root: &mut Node) -> Vec<(String, &mut Wire)> {
    fixed_fields(root, PARTITION_ON_DISK)
}

/// The fields of the record at `path` that are `fixed` without being decimals.
fn fixed_fields<'n>(root: &'n mut Node, path: &str) -> Vec<(String, &'n mut Wire)> {
    let partition = path.split('.').try_fold(root, |node, name| {
        let field = record_of(node)?.iter_mut().find(|field| field.name == name)?;
        Some(&mut field.node)
    });
    let fields = partition.and_then(record_of).into_iter().flatten();
    let fixed = fields.filter_map(|field| {
        let value = value_of(&mut field.node)?;
        let is_fixed = matches!(value.wire, Wire::Fixed(_)) && value.logical.is_none();
        is_fixed.then(|| (field.name.clone(), &mut value.wire))
    });
    fixed.collect()
}

fn canonical(
    writer: Schema,
    tables: &[&'static [FieldSpec]],
    holders: &[(i32, &'static str)],
) -> Result<(Schema, Schema)> {
    let specs = tables
        .iter()
        .flat_map(|table| table.iter())
        .filter_map(|spec| Some(Name { id: spec.id?, path: spec.disk, aliases: spec.aliases }));
    let holders = holders.iter().map(|(id, path)| Name { id: *id, path, aliases: &[] });
    let names: Vec<Name> = specs.chain(holders).collect();
    let mut root = writer.root().clone();
    if let Some(fields) = record_of(&mut root) {
        rename(fields, "", &names)?;
    }
    let writer = Schema::new(root.clone());
    unwrap_single_branches(&mut root);
    Ok((writer, Schema::new(root)))
}

/// The name of the field with an id.
struct Name {
    id: i32,
    path: &'static str,
    aliases: &'static [&'static str],
}

impl Name {
    fn parent(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }

    fn last(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

/// Gives the fields of the record at `path` their names in the table.
fn rename(fields: &mut [Field], path: &str, names: &[Name]) -> Result<()> {
    let here: Vec<&Name> = names.iter().filter(|name| name.parent() == path).collect();
    let found = pair(fields, &here)?;
    for (position, (field, name)) in fields.iter_mut().zip(&found).enumerate() {
        field.aliases.clear();
        let Some(name) = name else {
            set_aside(field, position, |known| here.iter().any(|name| name.last() == known));
            continue;
        };
        field.name = name.last().to_owned();
        if let Some(fields) = record_of(&mut field.node) {
            match name.path {
                PARTITION_ON_DISK | PARTITION => rename_by_ids(fields)?,
                ROW => rename_all_by_ids(fields)?,
                path => rename(fields, path, names)?,
            }
        }
    }
    Ok(())
}

/// For each field the matching name of the table: by id, else by name, else by an older name.
fn pair<'n>(fields: &[Field], here: &[&'n Name]) -> Result<Vec<Option<&'n Name>>> {
    let mut found: Vec<Option<&'n Name>> = vec![None; fields.len()];
    let by_id = |field: &Field, name: &Name| field_id(field) == Some(i64::from(name.id));
    let by_name = |field: &Field, name: &Name| field_id(field).is_none() && field.name == name.last();
    let by_alias =
        |field: &Field, name: &Name| field_id(field).is_none() && name.aliases.contains(&field.name.as_str());
    for name in here {
        let mut numbered = fields.iter().enumerate().filter(|(_, field)| by_id(field, name));
        let position = match (numbered.next(), numbered.next()) {
            (Some(_), Some((_, field))) => return Err(twice(name.id, &field.name)),
            (Some((position, _)), None) => Some(position),
            (None, _) => {
                let named = fields.iter().position(|field| by_name(field, name));
                named.or_else(|| fields.iter().position(|field| by_alias(field, name)))
            }
        };
        if let Some(found) = position.and_then(|position| found.get_mut(position)) {
            *found = Some(name);
        }
    }
    Ok(found)
}

/// Renames the fields of a partition tuple to their ids; those without an id keep their names.
fn rename_by_ids(fields: &mut [Field]) -> Result<()> {
    let ids: Vec<Option<i64>> = fields.iter().map(field_id).collect();
    for (position, (field, id)) in fields.iter_mut().zip(&ids).enumerate() {
        field.aliases.clear();
        match id {
            Some(id) if ids.iter().take(position).any(|known| known == &Some(*id)) => {
                return Err(twice(*id, &field.name));
            }
            Some(id) => field.name = id.to_string(),
            None => {
                set_aside(field, position, |known| ids.iter().flatten().any(|id| id.to_string() == known))
            }
        }
    }
    Ok(())
}

/// As [`rename_by_ids`], also in nested records.
fn rename_all_by_ids(fields: &mut [Field]) -> Result<()> {
    rename_by_ids(fields)?;
    let mut nested = fields.iter_mut().filter_map(|field| record_of(&mut field.node));
    nested.try_for_each(|fields| rename_all_by_ids(fields))
}

/// Renames an unknown field that has the name of a known one.
fn set_aside(field: &mut Field, position: usize, is_taken: impl Fn(&str) -> bool) {
    if is_taken(&field.name) {
        field.name = format!("{}#{position}", field.name);
    }
}

fn field_id(field: &Field) -> Option<i64> {
    field.attributes.get("field-id")?.as_i64()
}

/// The fields of the record that a type is, or that it holds in unions and lists.
fn record_of(node: &mut Node) -> Option<&mut Vec<Field>> {
    match &mut node.wire {
        Wire::Record(fields) => Some(fields),
        Wire::Union(branches) => branches.iter_mut().find_map(record_of),
        Wire::Array(items) => record_of(items),
        _ => None,
    }
}

/// A type without its union: the first branch that is not null.
fn value_of(node: &mut Node) -> Option<&mut Node> {
    if matches!(node.wire, Wire::Union(_)) {
        let Wire::Union(branches) = &mut node.wire else { return None };
        return branches.iter_mut().find(|branch| branch.wire != Wire::Null);
    }
    Some(node)
}

/// For readers, a union of a single type is that type.
fn unwrap_single_branches(node: &mut Node) {
    while let Wire::Union(branches) = &mut node.wire
        && branches.len() == 1
        && let Some(branch) = branches.pop()
    {
        *node = branch;
    }
    match &mut node.wire {
        Wire::Record(fields) => fields.iter_mut().for_each(|field| unwrap_single_branches(&mut field.node)),
        Wire::Union(branches) => branches.iter_mut().for_each(unwrap_single_branches),
        Wire::Array(items) | Wire::Map(items) => unwrap_single_branches(items),
        _ => {}
    }
}

#[cold]
pub(in crate::iceberg) fn twice(id: impl std::fmt::Display, name: &str) -> Error {
    let message = format!("the writer's schema has the field id {id} twice, the second time as {name}");
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Duplicate), message).in_field(name)
}

#[cfg(test)]
mod tests {
    use lakebed_avro::Limits;
    use serde_json::{Value, json};

    use super::*;

    fn schema(fields: Value) -> Schema {
        let record = json!({"type": "record", "name": "r", "fields": fields});
        Schema::parse(&record.to_string(), &Limits::DEFAULT).unwrap()
    }

    fn field(id: Option<i32>, name: &str, node: Value) -> Value {
        let mut field = json!({"name": name, "type": node});
        if let Some(id) = id {
            field["field-id"] = json!(id);
        }
        field
    }

    fn record(name: &str, fields: Vec<Value>) -> Value {
        json!({"type": "record", "name": name, "fields": fields})
    }

    /// The names of a record's fields; nested fields in parentheses.
    fn names(fields: &[Field]) -> String {
        let name = |field: &Field| match record_of(&mut field.node.clone()) {
            Some(inner) => format!("{}({})", field.name, names(inner)),
            None => field.name.clone(),
        };
        fields.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn renamed(schema: &Schema) -> String {
        names(record_of(&mut schema.root().clone()).unwrap())
    }

    #[test]
    fn ids_count_before_names_and_names_before_older_names() {
        let partition =
            record("p", vec![field(Some(1001), "b", json!("int")), field(None, "a.b", json!("int"))]);
        let file = record(
            "f",
            vec![
                field(Some(102), "p", partition),
                field(None, "file_path", json!("string")),
                field(Some(103), "x", json!("long")),
            ],
        );
        let fields = json!([
            field(Some(2), "d", json!(["null", file])),
            field(Some(999), "status", json!("int")),
            field(Some(0), "s", json!("int")),
            field(None, "sequence_number", json!(["long", "null"])),
        ]);
        let (writer, reader) = canonical_entry(schema(fields)).unwrap();
        let expected =
            "data_file(partition(1001 a.b) file_path record_count) status#1 status sequence_number";
        assert_eq!(renamed(&writer), expected);
        assert_eq!(writer, reader);
        let list =
            json!([field(None, "added_data_files_count", json!("int")), field(Some(505), "n", json!("int"))]);
        let (list, _) = canonical_list(schema(list)).unwrap();
        assert_eq!(renamed(&list), "added_files_count existing_files_count");
    }

    #[test]
    fn summaries_are_found_inside_their_list() {
        let summary = record(
            "s",
            vec![field(Some(518), "a", json!("boolean")), field(None, "lower_bound", json!("bytes"))],
        );
        let list =
            json!([field(Some(507), "p", json!(["null", {"type": "array", "items": ["null", summary]}]))]);
        let (list, _) = canonical_list(schema(list)).unwrap();
        assert_eq!(renamed(&list), "partitions(contains_nan lower_bound)");
    }

    #[test]
    fn an_id_that_is_there_twice_is_refused_by_number_and_name() {
        let twice = [
            json!([field(Some(0), "a", json!("int")), field(Some(0), "b", json!("int"))]),
            json!([field(
                Some(2),
                "f",
                record(
                    "f",
                    vec![field(
                        Some(102),
                        "p",
                        record(
                            "p",
                            vec![field(Some(1000), "a", json!("int")), field(Some(1000), "b", json!("int"))]
                        )
                    )]
                )
            )]),
        ];
        for fields in twice {
            let error = canonical_entry(schema(fields)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Avro(lakebed_avro::ErrorKind::Duplicate));
            assert!(error.message().ends_with("twice, the second time as b"), "{error}");
        }
    }

    #[test]
    fn a_union_of_one_type_is_read_as_that_type() {
        let (writer, reader) =
            canonical_entry(schema(json!([field(Some(0), "status", json!(["int"]))]))).unwrap();
        let types = [&writer, &reader]
            .map(|schema| record_of(&mut schema.root().clone()).unwrap()[0].node.to_string());
        assert_eq!(types, ["union of int", "int"]);
    }

    #[test]
    fn fixed_partition_values_may_have_a_length_in_front() {
        let fixed = json!({"type": "fixed", "name": "f3", "size": 3});
        let decimal = json!({"type": "fixed", "name": "d", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2});
        let tuple = vec![field(Some(1000), "a", json!(["null", fixed])), field(Some(1001), "b", decimal)];
        let file = record("f", vec![field(Some(102), "partition", record("p", tuple))]);
        let writer = schema(json!([field(Some(2), "data_file", file)]));
        let (as_written, _) = canonical_entry(writer.clone()).unwrap();
        let mut root = as_written.root().clone();
        let fixed = fixed_partition_fields(&mut root);
        let fixed: Vec<_> = fixed.iter().map(|(name, wire)| (name.as_str(), &**wire)).collect();
        assert_eq!(fixed, [("1000", &Wire::Fixed(3))]);
        let (prefixed, _) = canonical_prefixed_entry(writer).unwrap();
        assert!(fixed_partition_fields(&mut prefixed.root().clone()).is_empty());
    }
}
