//! Adds, drops and changes columns and nested fields.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};

use super::cast::may_become;
use super::change::{Move, MoveType, forbidden};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::cast::cast;
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, DataType, MAX_LENGTH, TypeKind};
use crate::paimon::write::options::is_on;

/// In a path, the elements of an array; `value` for the values of a map.
const ELEMENT: &str = "element";
const VALUE: &str = "value";

/// A column of a type; its nested fields get ids above `highest`.
///
/// # Errors
/// `Argument` for a type that is not nullable: existing rows have no value in it.
pub(super) fn add(
    names: &[String],
    ty: DataType,
    comment: Option<String>,
    highest: &mut i32,
) -> Result<DataField> {
    let Some(name) = names.last() else { return Err(forbidden("a column needs a name", "")) };
    if !ty.nullable {
        return Err(forbidden(
            "an added column must be nullable, since existing rows have no value in it",
            &names.join("."),
        ));
    }
    let mut column = DataField { id: 0, name: name.clone(), ty, description: comment, default_value: None };
    column.id = next_id(highest)?;
    number(&mut column.ty, highest)?;
    Ok(column)
}

fn next_id(highest: &mut i32) -> Result<i32> {
    let next =
        highest.checked_add(1).ok_or_else(|| Error::new(ErrorKind::Argument, "no field id is left"))?;
    *highest = next;
    Ok(next)
}

/// Numbers the fields in a type, each after its own nested fields (Paimon's `ReassignFieldId.java`).
fn number(ty: &mut DataType, highest: &mut i32) -> Result<()> {
    match &mut ty.kind {
        TypeKind::Array(element) | TypeKind::Multiset(element) | TypeKind::Vector { element, .. } => {
            number(element, highest)
        }
        TypeKind::Map(key, value) => {
            number(key, highest)?;
            number(value, highest)
        }
        TypeKind::Row(fields) => fields.iter_mut().try_for_each(|field| {
            number(&mut field.ty, highest)?;
            field.id = next_id(highest)?;
            Ok(())
        }),
        _ => Ok(()),
    }
}

/// The columns of a schema, by whose keys some changes are forbidden.
pub(super) struct Columns<'s> {
    pub(super) schema: &'s TableSchema,
}

impl Columns<'_> {
    /// Inserts a column where it is moved to, else last.
    pub(super) fn insert(
        &self,
        fields: &mut Vec<DataField>,
        names: &[String],
        column: DataField,
        to: Option<&Move>,
    ) -> Result<()> {
        let keys = &self.schema.partition_keys;
        let before_partition = names.len() == 1 && is_on(self.schema, "add-column-before-partition", false);
        let fields = siblings(fields, names)?;
        refuse_taken(fields, &column.name, names)?;
        let beside = |to: &Move| {
            let other = to.reference_field_name.as_deref().unwrap_or_default();
            place_of(fields, other).ok_or_else(|| unknown(other))
        };
        let place = match to.map(|to| (to.kind, to)) {
            Some((MoveType::First, _)) => 0,
            Some((MoveType::After, to)) => beside(to)? + 1,
            Some((MoveType::Before, to)) => beside(to)?,
            Some((MoveType::Last, _)) => fields.len(),
            None => match fields.iter().position(|field| keys.contains(&field.name)) {
                Some(place) if before_partition => place,
                _ => fields.len(),
            },
        };
        fields.insert(place, column);
        Ok(())
    }

    pub(super) fn rename(&self, fields: &mut Vec<DataField>, names: &[String], new: &str) -> Result<()> {
        self.refuse_partition(names, "renamed")?;
        let siblings = siblings(fields, names)?;
        let place = last_of(siblings, names)?;
        refuse_taken(siblings, new, names)?;
        let Some(field) = siblings.get_mut(place) else { return Err(unknown(&names.join("."))) };
        if names.len() == 1 && matches!(field.ty.kind, TypeKind::Blob) {
            return Err(forbidden(
                "a BLOB column cannot be renamed: its files are named after it",
                &field.name,
            ));
        }
        new.clone_into(&mut field.name);
        Ok(())
    }

    pub(super) fn remove(&self, fields: &mut Vec<DataField>, names: &[String]) -> Result<()> {
        self.refuse_partition(names, "dropped")?;
        self.refuse_key(names, "dropped")?;
        let siblings = siblings(fields, names)?;
        let place = last_of(siblings, names)?;
        if siblings.len() == 1 {
            return Err(forbidden("the last column cannot be dropped", &names.join(".")));
        }
        siblings.remove(place);
        Ok(())
    }

    /// Changes the type of a column or of its elements.
    pub(super) fn retype(
        &self,
        fields: &mut Vec<DataField>,
        names: &[String],
        mut new: DataType,
        keep_nullability: bool,
    ) -> Result<()> {
        self.refuse_partition(names, "of another type")?;
        self.refuse_key(names, "of another type")?;
        let whole = names.join(".");
        let ty = type_at(fields, names)?;
        if keep_nullability {
            new.nullable = ty.nullable;
        } else {
            self.check_nullability(ty.nullable, new.nullable, &whole)?;
        }
        let explicit = !is_on(self.schema, "disable-explicit-type-casting", false);
        let of_blobs = [&*ty, &new].iter().any(|ty| matches!(ty.kind, TypeKind::Blob)) && ty.kind != new.kind;
        if of_blobs || !may_become(ty, &new, explicit) {
            return Err(forbidden(format!("{ty} cannot become {new}"), &whole));
        }
        // Ids of nested fields are kept: only a type without nested fields can become another type.
        if ty.kind != new.kind {
            ty.kind = new.kind;
        }
        ty.nullable = new.nullable;
        self.recheck_default(fields, names)
    }

    pub(super) fn set_nullability(
        &self,
        fields: &mut [DataField],
        names: &[String],
        nullable: bool,
    ) -> Result<()> {
        if nullable {
            self.refuse_key(names, "null")?;
        }
        let ty = type_at(fields, names)?;
        self.check_nullability(ty.nullable, nullable, &names.join("."))?;
        ty.nullable = nullable;
        Ok(())
    }

    pub(super) fn redefault(
        &self,
        fields: &mut Vec<DataField>,
        names: &[String],
        value: Option<String>,
    ) -> Result<()> {
        self.field(fields, names)?.default_value = value;
        self.recheck_default(fields, names)
    }

    /// The column or nested field at a path.
    pub(super) fn field<'f>(
        &self,
        fields: &'f mut Vec<DataField>,
        names: &[String],
    ) -> Result<&'f mut DataField> {
        let siblings = siblings(fields, names)?;
        let place = last_of(siblings, names)?;
        siblings.get_mut(place).ok_or_else(|| unknown(&names.join(".")))
    }

    /// Refuses a default that cannot be read as its column's type.
    fn recheck_default(&self, fields: &mut Vec<DataField>, names: &[String]) -> Result<()> {
        // The elements of an array have no default.
        let Ok(field) = self.field(fields, names) else { return Ok(()) };
        let Some(value) = &field.default_value else { return Ok(()) };
        let text = DataType::nullable(TypeKind::VarChar(MAX_LENGTH));
        let array: ArrayRef = Arc::new(StringArray::from(vec![value.as_str()]));
        if cast(&array, &text, &field.ty)?.is_valid(0) {
            return Ok(());
        }
        Err(forbidden(format!("the default of the column cannot be read as {}", field.ty), &names.join(".")))
    }

    fn check_nullability(&self, old: bool, new: bool, field: &str) -> Result<()> {
        if old && !new && is_on(self.schema, "alter-column-null-to-not-null.disabled", true) {
            let message = "the column may be null, and rows may have nulls: option \
                           \"alter-column-null-to-not-null.disabled\" set to \"false\" allows it all the same";
            return Err(forbidden(message, field));
        }
        Ok(())
    }

    fn refuse_partition(&self, names: &[String], what: &str) -> Result<()> {
        match names {
            [name] if self.schema.partition_keys.contains(name) => {
                Err(forbidden(format!("a partition column cannot be {what}"), name))
            }
            _ => Ok(()),
        }
    }

    fn refuse_key(&self, names: &[String], what: &str) -> Result<()> {
        match names {
            [name] if self.schema.primary_keys.contains(name) => {
                Err(forbidden(format!("a column of the primary key cannot be {what}"), name))
            }
            _ => Ok(()),
        }
    }
}

/// Moves a column among the others.
pub(super) fn move_column(fields: &mut Vec<DataField>, to: &Move) -> Result<()> {
    let name = to.field_name.as_deref().unwrap_or_default();
    let from = place_of(fields, name).ok_or_else(|| unknown(name))?;
    let other = || {
        let other = to.reference_field_name.as_deref().unwrap_or_default();
        place_of(fields, other).ok_or_else(|| unknown(other))
    };
    let (other, place) = match to.kind {
        MoveType::First => (0, 0),
        MoveType::Last => (fields.len() - 1, fields.len() - 1),
        MoveType::After => other().map(|other| (other, if from > other { other + 1 } else { other }))?,
        MoveType::Before => other().map(|other| (other, if from < other { other - 1 } else { other }))?,
    };
    if other == from {
        return Err(forbidden("the column exists already", name));
    }
    let column = fields.remove(from);
    fields.insert(place.min(fields.len()), column);
    Ok(())
}

/// The fields next to the one at the path `names`.
fn siblings<'f>(fields: &'f mut Vec<DataField>, names: &[String]) -> Result<&'f mut Vec<DataField>> {
    let (first, rest) = match names {
        [] => return Err(forbidden("a column needs a name", "")),
        [_] => return Ok(fields),
        [first, rest @ ..] => (first, rest),
    };
    let place = place_of(fields, first).ok_or_else(|| unknown(&names.join(".")))?;
    let field = fields.get_mut(place).ok_or_else(|| unknown(first))?;
    let (inner, rest) = within(&mut field.ty, rest).ok_or_else(|| unknown(&names.join(".")))?;
    match &mut inner.kind {
        TypeKind::Row(nested) if !rest.is_empty() => {
            siblings(nested, rest).map_err(|error| error.within(first))
        }
        _ => Err(unknown(&names.join("."))),
    }
}

/// The type of a column or nested field, or of its elements.
fn type_at<'f>(fields: &'f mut [DataField], names: &[String]) -> Result<&'f mut DataType> {
    let [first, rest @ ..] = names else { return Err(forbidden("a column needs a name", "")) };
    let field = fields.iter_mut().find(|field| field.name == *first);
    let field = field.ok_or_else(|| unknown(&names.join(".")))?;
    let (inner, rest) = within(&mut field.ty, rest).ok_or_else(|| unknown(&names.join(".")))?;
    if rest.is_empty() {
        return Ok(inner);
    }
    match &mut inner.kind {
        TypeKind::Row(nested) => type_at(nested, rest).map_err(|error| error.within(first)),
        _ => Err(unknown(&names.join("."))),
    }
}

/// The type of the elements that a path leads to, and the rest of the path.
fn within<'t, 'n>(ty: &'t mut DataType, names: &'n [String]) -> Option<(&'t mut DataType, &'n [String])> {
    let of_array = matches!(ty.kind, TypeKind::Array(_)) && names.first().is_some_and(|name| name == ELEMENT);
    let of_map = matches!(ty.kind, TypeKind::Map(..)) && names.first().is_some_and(|name| name == VALUE);
    if !of_array && !of_map {
        return Some((ty, names));
    }
    let rest = names.get(1..).unwrap_or_default();
    match &mut ty.kind {
        TypeKind::Array(inner) | TypeKind::Map(_, inner) => within(inner, rest),
        _ => None,
    }
}

fn place_of(fields: &[DataField], name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name == name)
}

fn last_of(fields: &[DataField], names: &[String]) -> Result<usize> {
    let name = names.last().map(String::as_str).unwrap_or_default();
    place_of(fields, name).ok_or_else(|| unknown(&names.join(".")))
}

fn refuse_taken(fields: &[DataField], name: &str, names: &[String]) -> Result<()> {
    match place_of(fields, name) {
        Some(_) => Err(forbidden(format!("a column {name:?} exists already"), &names.join("."))),
        None => Ok(()),
    }
}

#[cold]
fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::UnknownColumn, format!("there is no column {name:?}")).in_field(name)
}
