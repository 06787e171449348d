//! Changes of a table's partition spec (Iceberg specification, "Partition Evolution"; Iceberg's
//! `BaseUpdatePartitionSpec.java`, `TableMetadata.java`).

use std::collections::HashMap;

use super::attempt::{Outcome, StateChange};
use super::base::Base;
use super::partition_by::term_of;
use super::uncommitted::UncommittedFiles;
use super::update::Update;
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::partition::{PartitionField, PartitionSpec};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::Schema;
use crate::iceberg::write::FormatVersion;

/// Changes of a table's partition spec: fields are removed, renamed and added, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecChange {
    /// Fields to remove, by name.
    pub remove: Vec<String>,
    /// Fields to rename, with their new names.
    pub rename: Vec<(String, String)>,
    /// Fields to add, such as `bucket(16, id)`, with their names, if given.
    pub add: Vec<(String, Option<String>)>,
}

impl StateChange for SpecChange {
    fn apply(&self, base: &Base, _: &mut UncommittedFiles) -> Result<Option<Outcome>> {
        let schema = base.current_schema()?;
        let mut update = SpecUpdate::new(base)?;
        self.remove.iter().try_for_each(|name| update.remove(name))?;
        self.rename.iter().try_for_each(|(name, to)| update.rename(name, to))?;
        let add = |(text, name): &(String, Option<String>)| update.add(schema, text, name.as_deref());
        self.add.iter().try_for_each(add)?;
        let fields = update.fields(base.version);
        check(schema, &fields)?;
        let updates = updates(base, fields)?;
        Ok((!updates.is_empty()).then_some(Outcome::Updates(updates)))
    }
}

/// The updates that make a spec of these fields the default one; a spec that the table has keeps its id.
///
/// # Errors
/// `Mismatch` where there is no id after those of the table.
fn updates(base: &Base, fields: Vec<PartitionField>) -> Result<Vec<Update>> {
    let specs = &base.metadata.partition_specs;
    let key =
        |field: &PartitionField| (field.source_ids.clone(), field.transform.clone(), field.name.clone());
    let same = |spec: &&PartitionSpec| spec.fields.iter().map(key).eq(fields.iter().map(key));
    let known = specs.iter().find(same).map(|spec| spec.spec_id);
    let highest = specs.iter().map(|spec| spec.spec_id).max();
    let id = match known {
        Some(id) => id,
        None => fitting(highest.map_or(Some(0), |id| id.checked_add(1)), "the next spec id")?,
    };
    let mut updates = Vec::new();
    if known.is_none() {
        updates.push(Update::AddSpec(PartitionSpec { spec_id: id, fields }));
    }
    if id != base.metadata.default_spec_id {
        updates.push(Update::SetDefaultSpec { id, is_new: known.is_none() });
    }
    Ok(updates)
}

/// The changes so far.
struct SpecUpdate<'b> {
    base: &'b Base,
    before: &'b [PartitionField],
    removed: Vec<i32>,
    renamed: HashMap<i32, String>,
    added: Vec<PartitionField>,
    last_id: i32,
}

impl<'b> SpecUpdate<'b> {
    /// # Errors
    /// `Unsupported` for a spec with unknown transforms.
    fn new(base: &'b Base) -> Result<SpecUpdate<'b>> {
        let before = base.spec(base.metadata.default_spec_id)?.fields.as_slice();
        if let Some(field) = before.iter().find(|field| matches!(field.transform, Transform::Unknown(_))) {
            let message = format!("the spec has the unknown transform {}", field.transform);
            return Err(Error::new(ErrorKind::Unsupported, message).in_field(&field.name));
        }
        let last_id = base.metadata.last_partition_id;
        Ok(SpecUpdate {
            base,
            before,
            removed: Vec::new(),
            renamed: HashMap::new(),
            added: Vec::new(),
            last_id,
        })
    }

    fn named(&self, name: &str) -> Result<&'b PartitionField> {
        let found = self.before.iter().find(|field| field.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.before.iter().map(|field| field.name.as_str()).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("no partition field {name:?}; of the default spec there are {there}");
            Error::new(ErrorKind::UnknownColumn, message).in_field(name)
        })
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        let field = self.named(name)?;
        if !self.removed.contains(&field.field_id) {
            self.removed.push(field.field_id);
        }
        Ok(())
    }

    fn rename(&mut self, name: &str, to: &str) -> Result<()> {
        let field = self.named(name)?;
        if self.removed.contains(&field.field_id) {
            return Err(refused(
                format!("partition field {name:?} is removed: it cannot be renamed too"),
                name,
            ));
        }
        if to.is_empty() {
            return Err(refused("a partition field needs a name".to_owned(), name));
        }
        self.free_name(to);
        self.renamed.insert(field.field_id, to.to_owned());
        Ok(())
    }

    /// Renames a field that is void or removed, if it has the name of a new one.
    fn free_name(&mut self, name: &str) {
        let gone = self.before.iter().find(|field| {
            let is_gone = field.transform == Transform::Void || self.removed.contains(&field.field_id);
            is_gone && field.name == name && !self.renamed.contains_key(&field.field_id)
        });
        if let Some(field) = gone {
            self.renamed.insert(field.field_id, format!("{}_{}", field.name, field.field_id));
        }
    }

    fn add(&mut self, schema: &Schema, text: &str, name: Option<&str>) -> Result<()> {
        let (transform, source) = term_of(text, schema).map_err(|error| error.in_field(text))?;
        let same = |field: &PartitionField| field.source_ids == [source.id] && field.transform == transform;
        if let Some(known) = self.before.iter().find(|field| same(field)) {
            let Some(place) = self.removed.iter().position(|id| *id == known.field_id) else {
                return Err(refused(format!("{text:?} is partition field {:?} already", known.name), text));
            };
            // A field that is removed and added again is kept.
            self.removed.remove(place);
            return match name.filter(|name| *name != known.name) {
                Some(name) => self.rename(&known.name, name),
                None => Ok(()),
            };
        }
        if self.added.iter().any(same) {
            return Err(refused(format!("{text:?} appears twice"), text));
        }
        let is_time = |transform: &Transform| {
            matches!(transform, Transform::Year | Transform::Month | Transform::Day | Transform::Hour)
        };
        let redundant =
            |field: &&PartitionField| field.source_ids == [source.id] && is_time(&field.transform);
        if let Some(other) = self.added.iter().find(redundant).filter(|_| is_time(&transform)) {
            return Err(refused(format!("{text:?} and {:?} are periods of one column", other.name), text));
        }
        let field = match self.recycled(source.id, &transform, name) {
            Some(known) => known,
            None => {
                self.last_id = fitting(self.last_id.checked_add(1), "the next partition field id")?;
                let column = schema.name_of(source.id).unwrap_or_default();
                let name = name.map_or_else(|| default_name(&transform, column), str::to_owned);
                PartitionField { source_ids: vec![source.id], field_id: self.last_id, name, transform }
            }
        };
        self.free_name(&field.name);
        self.added.push(field);
        Ok(())
    }

    /// The same field in any spec of the table: from version 2 on it keeps its id.
    fn recycled(&self, source_id: i32, transform: &Transform, name: Option<&str>) -> Option<PartitionField> {
        if self.base.version == FormatVersion::V1 {
            return None;
        }
        let mut fields = self.base.metadata.partition_specs.iter().flat_map(|spec| &spec.fields);
        let found = fields.find(|field| {
            field.source_ids == [source_id]
                && field.transform == *transform
                && name.is_none_or(|name| field.name == name)
        });
        found.cloned()
    }

    /// The fields after the changes. In version 1 removed fields are replaced by fields that are always null,
    /// since ids follow from positions.
    fn fields(self, version: FormatVersion) -> Vec<PartitionField> {
        let mut fields = Vec::with_capacity(self.before.len());
        for field in self.before {
            let name = self.renamed.get(&field.field_id).unwrap_or(&field.name).clone();
            let is_removed = self.removed.contains(&field.field_id);
            let transform = if is_removed { Transform::Void } else { field.transform.clone() };
            if !is_removed || version == FormatVersion::V1 {
                fields.push(PartitionField { name, transform, ..field.clone() });
            }
        }
        fields.extend(self.added);
        fields
    }
}

/// The default name of a field.
fn default_name(transform: &Transform, column: &str) -> String {
    match transform {
        Transform::Identity => column.to_owned(),
        Transform::Bucket(buckets) => format!("{column}_bucket_{buckets}"),
        Transform::Truncate(width) => format!("{column}_trunc_{width}"),
        Transform::Void => format!("{column}_null"),
        other => format!("{column}_{other}"),
    }
}

/// Refuses names that appear twice, and names of other columns.
fn check(schema: &Schema, fields: &[PartitionField]) -> Result<()> {
    for (place, field) in fields.iter().enumerate() {
        let name = &field.name;
        if fields.iter().take(place).any(|known| known.name == *name) {
            return Err(refused(format!("two partition fields would have the name {name:?}"), name));
        }
        let column = schema.field_by_name(name);
        if column.is_some_and(|column| !field.source_ids.contains(&column.id)) {
            return Err(refused(
                format!("{name:?} is a column other than the source of the partition field"),
                name,
            ));
        }
        for id in field.source_ids.iter().filter(|_| field.transform != Transform::Void) {
            if schema.field_by_id(*id).is_none() {
                return Err(refused(format!("the column of partition field {name:?} was dropped"), name));
            }
        }
    }
    Ok(())
}

#[cold]
fn refused(message: String, field: &str) -> Error {
    Error::new(ErrorKind::Argument, message).in_field(field)
}
