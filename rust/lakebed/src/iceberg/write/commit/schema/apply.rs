//! Applies changes to a schema.

use std::collections::HashSet;
use std::sync::Arc;

use super::refused;
use super::schema_update::{FieldPosition, ROOT, SchemaUpdate};
use crate::error::Result;
use crate::iceberg::types::{FieldRef, NestedField, Type};

impl SchemaUpdate<'_> {
    /// The columns after the changes.
    ///
    /// # Errors
    /// `Argument` for changes of the keys or elements themselves of maps and lists, and for names that appear
    /// twice.
    pub(super) fn fields(&self) -> Result<Vec<FieldRef>> {
        let fields = self.of_struct(ROOT, &self.schema.fields)?;
        check_names(&fields, "", &mut HashSet::new())?;
        if fields.is_empty() {
            return Err(refused("a schema needs at least one column", ""));
        }
        Ok(fields)
    }

    /// The fields of the struct of the field `owner`.
    fn of_struct(&self, owner: i32, before: &[FieldRef]) -> Result<Vec<FieldRef>> {
        let mut fields = Vec::with_capacity(before.len());
        for field in before.iter().filter(|field| !self.deletes.contains(&field.id)) {
            let ty = self.of_type(field)?;
            let now = self.updates.get(&field.id).unwrap_or(field);
            fields.push(Arc::new(NestedField { ty, ..now.clone() }));
        }
        let new = self.added.get(&owner).into_iter().flatten().filter_map(|id| self.updates.get(id));
        fields.extend(new.map(|field| Arc::new(field.clone())));
        for (id, place) in self.moves.get(&owner).into_iter().flatten() {
            shift(&mut fields, *id, *place);
        }
        Ok(fields)
    }

    /// The type of a field.
    fn of_type(&self, field: &NestedField) -> Result<Type> {
        if let Some(update) = self.updates.get(&field.id).filter(|update| update.ty != field.ty) {
            return Ok(update.ty.clone());
        }
        Ok(match &field.ty {
            Type::Struct(fields) => Type::Struct(self.of_struct(field.id, fields)?),
            Type::List(element) => Type::List(self.held(element)?),
            Type::Map(key, value) => {
                if self.is_touched(key) {
                    let name = self.schema.name_of(key.id).unwrap_or_default();
                    return Err(refused("the keys of a map cannot be changed", name));
                }
                Type::Map(Arc::clone(key), self.held(value)?)
            }
            plain => plain.clone(),
        })
    }

    /// The key, value or element of a map or list.
    fn held(&self, field: &NestedField) -> Result<FieldRef> {
        if self.deletes.contains(&field.id) {
            let name = self.schema.name_of(field.id).unwrap_or_default();
            return Err(refused("elements and values are only dropped with their list or map", name));
        }
        let required = self.updates.get(&field.id).map_or(field.required, |update| update.required);
        Ok(Arc::new(NestedField { required, ty: self.of_type(field)?, ..field.clone() }))
    }

    /// Whether a field, or one nested in it, is changed.
    fn is_touched(&self, field: &NestedField) -> bool {
        self.deletes.contains(&field.id)
            || self.updates.contains_key(&field.id)
            || self.added.contains_key(&field.id)
            || self.moves.contains_key(&field.id)
            || field.ty.children().into_iter().any(|child| self.is_touched(child))
    }
}

fn shift(fields: &mut Vec<FieldRef>, id: i32, place: FieldPosition) {
    let find = |fields: &[FieldRef], id: i32| fields.iter().position(|field| field.id == id);
    let Some(from) = find(fields, id) else { return };
    let field = fields.remove(from);
    let to = match place {
        FieldPosition::First => 0,
        FieldPosition::Before(other) => find(fields, other).unwrap_or(0),
        FieldPosition::After(other) => {
            find(fields, other).and_then(|other| other.checked_add(1)).unwrap_or(fields.len())
        }
    };
    fields.insert(to, field);
}

/// Refuses full names of two fields, which would be ambiguous (Iceberg's `IndexByName.java`).
fn check_names(fields: &[FieldRef], parent: &str, known: &mut HashSet<String>) -> Result<()> {
    for field in fields {
        let full = format!("{parent}{}", field.name);
        if !known.insert(full.clone()) {
            return Err(refused(format!("two columns would have the name {full:?}"), &full));
        }
        let children: Vec<FieldRef> = field.ty.children().into_iter().cloned().collect();
        check_names(&children, &format!("{full}."), known)?;
    }
    Ok(())
}
