//! Writers' schemas with the names of our field tables, so that fields are found by their ids.
//!
//! Iceberg's Avro files number fields by the attribute `field-id` (Iceberg specification, "Avro"), and
//! only that number counts. Some writers leave it out, on some fields or on all: those are found by their
//! names, then by names of older days.

use lakebed_avro::schema::{Field, Node, Schema, Wire};

use crate::error::{Error, ErrorKind, Result};
use crate::field::FieldSpec;
use crate::iceberg::fields::{ENTRY, FIELD_SUMMARY, HOLDERS, LIST, PARTITION_ON_DISK};

/// The schema of a manifest list in our names: how its bytes are laid out, and what they are read as.
pub(in crate::iceberg) fn canonical_list(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&LIST, &FIELD_SUMMARY])
}

/// The schema of a manifest in our names, as [`canonical_list`]; partition fields are called by their ids.
pub(in crate::iceberg) fn canonical_entry(writer: Schema) -> Result<(Schema, Schema)> {
    canonical(writer, &[&ENTRY])
}

/// As [`canonical_entry`], for manifests that hold `fixed` partition values with a length in front of
/// them, unlike their schema says.
pub(in crate::iceberg) fn canonical_prefixed_entry(writer: Schema) -> Result<(Schema, Schema)> {
    let (mut writer, mut reader) = canonical_entry(writer)?;
    for schema in [&mut writer, &mut reader] {
        let mut root = schema.root().clone();
        fixed_partition_fields(&mut root).into_iter().for_each(|(_, wire)| *wire = Wire::Bytes);
        *schema = Schema::new(root);
    }
    Ok((writer, reader))
}

/// The partition fields of a canonical schema that are `fixed` and no number: names and types.
pub(super) fn fixed_partition_fields(root: &mut Node) -> Vec<(String, &mut Wire)> {
    let partition = PARTITION_ON_DISK.split('.').try_fold(root, |node, name| {
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

fn canonical(writer: Schema, tables: &[&'static [FieldSpec]]) -> Result<(Schema, Schema)> {
    let specs = tables
        .iter()
        .flat_map(|table| table.iter())
        .filter_map(|spec| Some(Name { id: spec.id?, path: spec.disk, aliases: spec.aliases }));
    let holders = HOLDERS.iter().map(|(id, path)| Name { id: *id, path, aliases: &[] });
    let names: Vec<Name> = specs.chain(holders).collect();
    let mut root = writer.root().clone();
    if let Some(fields) = record_of(&mut root) {
        rename(fields, "", &names)?;
    }
    let writer = Schema::new(root.clone());
    unwrap_single_branches(&mut root);
    Ok((writer, Schema::new(root)))
}

/// What the field with an id is called.
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
                PARTITION_ON_DISK => rename_by_ids(fields)?,
                path => rename(fields, path, names)?,
            }
        }
    }
    Ok(())
}

/// For each field what the table has for it: by id, else by name, else by an older name.
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

/// Calls the fields of a partition tuple by their ids; those without one keep their names.
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

/// Renames a field that is not in the table where it has the name of one that is.
fn set_aside(field: &mut Field, position: usize, is_taken: impl Fn(&str) -> bool) {
    if is_taken(&field.name) {
        field.name = format!("{}#{position}", field.name);
    }
}

fn field_id(field: &Field) -> Option<i64> {
    field.attributes.get("field-id")?.as_i64()
}

/// The fields of the record that a type is, or holds behind unions and lists.
fn record_of(node: &mut Node) -> Option<&mut Vec<Field>> {
    match &mut node.wire {
        Wire::Record(fields) => Some(fields),
        Wire::Union(branches) => branches.iter_mut().find_map(record_of),
        Wire::Array(items) => record_of(items),
        _ => None,
    }
}

/// A type without the union around it: its first branch that is not null.
fn value_of(node: &mut Node) -> Option<&mut Node> {
    if matches!(node.wire, Wire::Union(_)) {
        let Wire::Union(branches) = &mut node.wire else { return None };
        return branches.iter_mut().find(|branch| branch.wire != Wire::Null);
    }
    Some(node)
}

/// A union of one type is that type to its readers.
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
fn twice(id: impl std::fmt::Display, name: &str) -> Error {
    let message = format!("the writer's schema has the field id {id} twice, the second time as {name}");
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Duplicate), message).in_field(name)
}
