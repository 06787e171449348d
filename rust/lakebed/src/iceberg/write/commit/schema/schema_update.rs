//! Collects the changes of a schema one by one, and refuses those that do not fit the schema or each other.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::super::base::Base;
use super::super::columns::NEXT_COLUMN_ID;
use super::types::is_promotion;
use super::{ColumnChange, refused};
use crate::error::{Error, ErrorKind, Result, fitting};
use crate::iceberg::types::{FieldRef, NestedField, Schema, Type};
use crate::iceberg::write::FormatVersion;

/// The parent of the table's columns.
pub(super) const ROOT: i32 = -1;

/// The new position of a field in its struct.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldPosition {
    First,
    Before(i32),
    After(i32),
}

/// The changes so far.
pub(super) struct SchemaUpdate<'s> {
    pub(super) schema: &'s Schema,
    pub(super) version: FormatVersion,
    allow_incompatible: bool,
    /// The parent of each field.
    parents: HashMap<i32, i32>,
    pub(super) deletes: Vec<i32>,
    /// Changed fields, including new ones.
    pub(super) updates: BTreeMap<i32, NestedField>,
    /// New fields, by their parent.
    pub(super) added: HashMap<i32, Vec<i32>>,
    added_by_name: HashMap<String, i32>,
    pub(super) moves: HashMap<i32, Vec<(i32, FieldPosition)>>,
    last_column_id: i32,
    /// The identifier fields: those of the schema, unless others are set.
    identifiers: Identifiers,
}

enum Identifiers {
    AsBefore(Vec<i32>),
    Named(Vec<String>),
}

impl<'s> SchemaUpdate<'s> {
    pub(super) fn new(schema: &'s Schema, base: &Base, allow_incompatible: bool) -> SchemaUpdate<'s> {
        let mut parents = HashMap::new();
        schema.fields.iter().for_each(|field| note_parents(&mut parents, field));
        SchemaUpdate {
            schema,
            version: base.version,
            allow_incompatible,
            parents,
            deletes: Vec::new(),
            updates: BTreeMap::new(),
            added: HashMap::new(),
            added_by_name: HashMap::new(),
            moves: HashMap::new(),
            last_column_id: base.metadata.last_column_id,
            identifiers: Identifiers::AsBefore(schema.identifier_field_ids.clone()),
        }
    }

    /// The highest id ever assigned.
    pub(super) fn last_column_id(&self) -> i32 {
        self.last_column_id
    }

    /// Adds a change.
    ///
    /// # Errors
    /// `UnknownColumn` for a column that does not exist, `Argument` for a change that does not fit the
    /// column, both with its name; `Type` for an invalid type; `Unsupported` for defaults before version 3.
    pub(super) fn take(&mut self, change: &ColumnChange) -> Result<()> {
        match change {
            ColumnChange::AddColumn { parent, name, field_type, required, doc, default_value } => {
                let ty = Type::from_json(field_type).map_err(|error| error.within(name))?;
                let mut field = NestedField::new(0, name.as_str(), *required, ty);
                field.doc.clone_from(doc);
                self.add(parent.as_deref(), field, default_value.as_ref())
            }
            ColumnChange::DeleteColumn(name) => self.delete(name),
            ColumnChange::RenameColumn(name, to) => self.rename(name, to),
            ColumnChange::UpdateColumn(name, ty) => self.retype(name, ty),
            ColumnChange::UpdateColumnDoc(name, doc) => {
                let field = self.to_update(name)?;
                self.update(NestedField { doc: doc.clone(), ..field });
                Ok(())
            }
            ColumnChange::UpdateColumnDefault(name, value) => {
                let field = self.to_update(name)?;
                let write_default = value.as_ref().map(|value| self.default_of(&field, value)).transpose()?;
                self.update(NestedField { write_default, ..field });
                Ok(())
            }
            ColumnChange::MakeColumnOptional(name) => self.require(name, false),
            ColumnChange::RequireColumn(name) => self.require(name, true),
            ColumnChange::MoveFirst(name) => self.shift(name, |_| Ok(FieldPosition::First)),
            ColumnChange::MoveBefore(name, other) => {
                self.shift(name, |update| update.to_move(other).map(FieldPosition::Before))
            }
            ColumnChange::MoveAfter(name, other) => {
                self.shift(name, |update| update.to_move(other).map(FieldPosition::After))
            }
            ColumnChange::SetIdentifierFields(names) => {
                self.identifiers = Identifiers::Named(names.clone());
                Ok(())
            }
        }
    }

    fn add(&mut self, parent: Option<&str>, field: NestedField, default: Option<&Value>) -> Result<()> {
        let (parent_id, full) = match parent {
            None => (ROOT, field.name.clone()),
            Some(parent) => {
                let id = self.inner_struct(parent)?;
                // For lists and maps of structs, the struct is the parent.
                (id, format!("{}.{}", self.schema.name_of(id).unwrap_or(parent), field.name))
            }
        };
        if field.name.is_empty() {
            return Err(refused("a column needs a name", &full));
        }
        let is_there = |name: &str| {
            self.schema.field_by_name(name).is_some_and(|known| !self.deletes.contains(&known.id))
        };
        if is_there(&full) || self.added_by_name.contains_key(&full) {
            return Err(refused(format!("a column {full:?} exists already"), &full));
        }
        if field.required && field.ty == Type::Unknown {
            return Err(refused("what is always null cannot be required", &full));
        }
        let default = default.map(|value| self.default_of(&field, value)).transpose();
        let default = default.map_err(|error| error.in_field(&full))?;
        if field.required && default.is_none() && !self.allow_incompatible {
            let message = "a required column needs a default: existing rows have no value in it";
            return Err(refused(message, &full));
        }
        let id = self.next_id()?;
        let ty = self.with_fresh_ids(&field.ty)?;
        let (initial_default, write_default) = (default.clone(), default);
        self.updates.insert(id, NestedField { id, ty, initial_default, write_default, ..field });
        self.added.entry(parent_id).or_default().push(id);
        self.added_by_name.insert(full, id);
        if parent_id != ROOT {
            self.parents.insert(id, parent_id);
        }
        Ok(())
    }

    /// The struct of a column, or the one in its list or map.
    fn inner_struct(&self, name: &str) -> Result<i32> {
        let parent = self.known(name)?;
        let inner = match &parent.ty {
            Type::List(element) => element,
            Type::Map(_, value) => value,
            _ => parent,
        };
        if self.deletes.contains(&inner.id) || self.deletes.contains(&parent.id) {
            return Err(refused(format!("column {name:?} is dropped: nothing can be added to it"), name));
        }
        if !matches!(inner.ty, Type::Struct(_)) {
            return Err(refused(format!("column {name:?} of {} is not a struct", parent.ty), name));
        }
        Ok(inner.id)
    }

    fn delete(&mut self, name: &str) -> Result<()> {
        let field = self.known(name)?;
        let id = field.id;
        if self.added.contains_key(&id) || self.updates.contains_key(&id) {
            return Err(refused(format!("column {name:?} is changed: it cannot be dropped too"), name));
        }
        if !self.deletes.contains(&id) {
            self.deletes.push(id);
        }
        Ok(())
    }

    fn rename(&mut self, name: &str, to: &str) -> Result<()> {
        // New columns have their final names.
        let id = self.known(name)?.id;
        let field = self.to_update(name)?;
        let parent = self.parents.get(&id).and_then(|parent| self.schema.field_by_id(*parent));
        if parent.is_some_and(|parent| !matches!(parent.ty, Type::Struct(_))) {
            return Err(refused("elements, keys and values have no names of their own", name));
        }
        if to.is_empty() {
            return Err(refused("a column needs a name", name));
        }
        self.update(NestedField { name: to.to_owned(), ..field });
        if let Identifiers::Named(names) = &mut self.identifiers {
            let of_parent = name.rsplit_once('.').map_or(String::new(), |(parent, _)| format!("{parent}."));
            names
                .iter_mut()
                .filter(|known| *known == name)
                .for_each(|known| *known = format!("{of_parent}{to}"));
        }
        Ok(())
    }

    fn retype(&mut self, name: &str, json: &Value) -> Result<()> {
        let field = self.to_update(name)?;
        let ty = Type::from_json(json).map_err(|error| error.within(name))?;
        if field.ty == ty {
            return Ok(());
        }
        if !is_promotion(&field.ty, &ty) {
            let message = format!("column {name:?} of {} cannot become one of {ty}", field.ty);
            return Err(refused(message, name));
        }
        self.update(NestedField { ty, ..field });
        Ok(())
    }

    fn require(&mut self, name: &str, required: bool) -> Result<()> {
        let field = self.to_update(name)?;
        if field.required == required {
            return Ok(());
        }
        let is_filled = self.added_by_name.contains_key(name) && field.initial_default.is_some();
        if required && !is_filled && !self.allow_incompatible {
            let message = format!("column {name:?} may have nulls in existing files: it must stay optional");
            return Err(refused(message, name));
        }
        if required && field.ty == Type::Unknown {
            return Err(refused("what is always null cannot be required", name));
        }
        self.update(NestedField { required, ..field });
        Ok(())
    }

    fn shift(&mut self, name: &str, place: impl FnOnce(&Self) -> Result<FieldPosition>) -> Result<()> {
        let id = self.to_move(name)?;
        let place = place(self)?;
        let parent = self.parents.get(&id).copied();
        let is_struct =
            |id: i32| self.schema.field_by_id(id).is_some_and(|field| matches!(field.ty, Type::Struct(_)));
        if parent.is_some_and(|parent| !is_struct(parent)) {
            return Err(refused(format!("{name:?} is not a field of a struct: it cannot move"), name));
        }
        if let FieldPosition::Before(other) | FieldPosition::After(other) = place {
            if other == id {
                return Err(refused(format!("column {name:?} cannot move beside itself"), name));
            }
            if self.parents.get(&other).copied() != parent {
                return Err(refused(format!("column {name:?} cannot move to another struct"), name));
            }
        }
        self.moves.entry(parent.unwrap_or(ROOT)).or_default().push((id, place));
        Ok(())
    }

    /// The column with that name in the schema before the changes.
    fn known(&self, name: &str) -> Result<&'s FieldRef> {
        self.schema.field_by_name(name).ok_or_else(|| self.unknown(name))
    }

    /// A column to be changed, with the changes so far.
    fn to_update(&self, name: &str) -> Result<NestedField> {
        let known = self.schema.field_by_name(name).map(|field| self.updates.get(&field.id).unwrap_or(field));
        let added = || self.added_by_name.get(name).and_then(|id| self.updates.get(id));
        let field = known.or_else(added).ok_or_else(|| self.unknown(name))?;
        if self.deletes.contains(&field.id) {
            return Err(refused(format!("column {name:?} is dropped: it cannot be changed too"), name));
        }
        Ok(field.clone())
    }

    fn to_move(&self, name: &str) -> Result<i32> {
        let known = || self.schema.field_by_name(name).map(|field| field.id);
        let id = self.added_by_name.get(name).copied().or_else(known).ok_or_else(|| self.unknown(name))?;
        if self.deletes.contains(&id) {
            return Err(refused(format!("column {name:?} is dropped: nothing can move beside it"), name));
        }
        Ok(id)
    }

    fn update(&mut self, field: NestedField) {
        self.updates.insert(field.id, field);
    }

    /// # Errors
    /// `Mismatch` where there is no id after the last.
    pub(super) fn next_id(&mut self) -> Result<i32> {
        self.last_column_id = fitting(self.last_column_id.checked_add(1), NEXT_COLUMN_ID)?;
        Ok(self.last_column_id)
    }

    /// Refuses to drop identifier fields, and fields that contain them.
    pub(super) fn check_deletes(&self) -> Result<()> {
        let ids = match &self.identifiers {
            Identifiers::AsBefore(ids) => ids.clone(),
            Identifiers::Named(names) => names
                .iter()
                .filter_map(|name| self.schema.field_by_name(name))
                .map(|field| field.id)
                .collect(),
        };
        for id in ids {
            let mut next = Some(id);
            while let Some(here) = next {
                if self.deletes.contains(&here) {
                    let name = self.schema.name_of(id).unwrap_or_default();
                    let message =
                        format!("column {name:?} is an identifier field: set other identifier fields first");
                    return Err(refused(message, name));
                }
                next = self.parents.get(&here).copied();
            }
        }
        Ok(())
    }

    /// The ids of the identifier fields, by their names after the changes.
    ///
    /// # Errors
    /// `UnknownColumn` for an unknown name.
    pub(super) fn identifiers(&self, fields: &[FieldRef]) -> Result<Vec<i32>> {
        let names = match &self.identifiers {
            Identifiers::AsBefore(ids) => return Ok(ids.clone()),
            Identifiers::Named(names) => names,
        };
        let schema = Schema::new(0, fields.to_vec(), Vec::new())?;
        let mut seen = HashSet::new();
        let id = |name: &String| match schema.field_by_name(name) {
            Some(field) => Ok(field.id),
            None => Err(self.unknown(name)),
        };
        let ids = names.iter().map(id).collect::<Result<Vec<i32>>>()?;
        Ok(ids.into_iter().filter(|id| seen.insert(*id)).collect())
    }

    #[cold]
    fn unknown(&self, name: &str) -> Error {
        let names: Vec<&str> = self.schema.fields.iter().map(|field| field.name.as_str()).collect();
        let message = format!("no column {name:?}; there are {}", names.join(", "));
        Error::new(ErrorKind::UnknownColumn, message).in_field(name)
    }
}

fn note_parents(parents: &mut HashMap<i32, i32>, field: &NestedField) {
    for child in field.ty.children() {
        parents.insert(child.id, field.id);
        note_parents(parents, child);
    }
}
