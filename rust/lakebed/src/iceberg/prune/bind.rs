//! Binds filters to a table: resolves names to field ids and partition fields (Iceberg's
//! `NamedReference.java`, `UnboundTransform.java`).

use arrow_array::new_empty_array;

use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::PartitionType;
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{FieldRef, Schema, Type};
use crate::predicate::{
    BoundLeaf, BoundPredicate, Call, Column, Logic, Node, Predicate, Term, unknown_column,
};

/// How names in filters are compared with names of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// Case-sensitively.
    Exact,
    /// Case-insensitively, if only one column matches; an exact match is preferred.
    AnyCase,
}

/// A filter on a table's rows, bound to columns by their ids.
///
/// It may also name partition fields whose name no column has: these refer to the table's partition tuples,
/// in which fields that a spec does not have are null.
#[derive(Debug, Clone)]
pub struct RowFilter {
    /// Bound to the numbers of `terms`.
    pub(super) predicate: BoundPredicate,
    pub(super) terms: Vec<FilterTerm>,
}

/// What a term of a filter refers to.
#[derive(Debug, Clone)]
pub(super) struct FilterTerm {
    term: Term,
    pub(super) source: ColumnSource,
    /// Whether the column is nested in a struct.
    pub(super) nested: bool,
    column: Column,
}

#[derive(Debug, Clone)]
pub(super) enum ColumnSource {
    /// A column with a transform; `identity` where the filter calls none.
    Column(FieldRef, Transform),
    /// The partition field at that position of the table's partition type.
    Partition(usize),
}

impl RowFilter {
    /// Binds `predicate`. Columns nested in structs are named by their path, joined by dots; literals are
    /// cast to the type that they are compared with, without rounding.
    ///
    /// For scans, logic is two-valued as in Iceberg's `Evaluator.java`: `<>`, `NOT IN` and the like match
    /// null. Results of transforms are compared like partition values: days are dates, the other periods are
    /// counted from 1970 (`month(ts) = 575`).
    ///
    /// # Errors
    /// `FilterColumn` for names that are neither a column nor a partition field; `Predicate` for fields in a list
    /// or a map, for transforms that do not apply to a column, and for literals and operators that do not fit.
    pub fn new(
        predicate: &Predicate,
        schema: &Schema,
        partition: &PartitionType,
        names: Names,
        logic: Logic,
    ) -> Result<RowFilter> {
        let binder = Binder { schema, partition, names };
        let mut terms: Vec<FilterTerm> = Vec::new();
        let predicate = predicate.bind_with(logic, &mut |term| {
            if let Some(known) = terms.iter().find(|known| known.term == *term) {
                return Ok(known.column.clone());
            }
            let bound = binder.bind(term, terms.len())?;
            let column = bound.column.clone();
            terms.push(bound);
            Ok(column)
        })?;
        Ok(RowFilter { predicate, terms })
    }

    /// The filter that consists of one of its leaves.
    pub(super) fn only(&self, leaf: &BoundLeaf) -> RowFilter {
        RowFilter { predicate: BoundPredicate::new(Node::Leaf(leaf.clone())), terms: self.terms.clone() }
    }

    /// The term with the number to which the predicate is bound.
    pub(super) fn source(&self, index: usize) -> Option<&ColumnSource> {
        self.terms.get(index).map(|term| &term.source)
    }
}

struct Binder<'a> {
    schema: &'a Schema,
    partition: &'a PartitionType,
    names: Names,
}

impl Binder<'_> {
    fn bind(&self, term: &Term, index: usize) -> Result<FilterTerm> {
        let (source, column) = match named(self.schema, self.names, &term.column, ErrorKind::Predicate)? {
            Some(field) => self.of_column(term, field, index)?,
            None => self.of_partition(term, index)?,
        };
        let top = |field: &FieldRef| self.schema.fields.iter().any(|top| top.id == field.id);
        let nested = matches!(&source, ColumnSource::Column(field, _) if !top(field));
        Ok(FilterTerm { term: term.clone(), source, nested, column })
    }

    fn of_column(&self, term: &Term, field: &FieldRef, index: usize) -> Result<(ColumnSource, Column)> {
        if !self.schema.is_single(field.id) {
            return Err(refused(&term.column, "a row has many values of a field in a list or a map"));
        }
        let transform = term.transform.as_ref().map_or(Transform::Identity, transform);
        let ty = transform.result_type(&field.ty);
        if term.transform.is_some() {
            // Applied to no values, to find out whether it accepts their type.
            transform.apply(&new_empty_array(&field.ty.arrow()), &field.ty).map_err(|_| {
                refused(&term.column, &format!("{transform} does not take columns of type {}", field.ty))
            })?;
        }
        let required = transform != Transform::Void && self.schema.is_always_there(field.id);
        let source = ColumnSource::Column(field.clone(), transform);
        Ok((source, Column { required, ..column(index, &ty) }))
    }

    fn of_partition(&self, term: &Term, index: usize) -> Result<(ColumnSource, Column)> {
        let fields = &self.partition.fields;
        let position = fields.iter().position(|unified| unified.field.name == term.column);
        let Some((position, unified)) = position.and_then(|at| Some((at, fields.get(at)?))) else {
            let columns = || self.schema.primitives().map(|(name, _)| name);
            let names = fields.iter().map(|unified| unified.field.name.as_str());
            // Identity fields have the names of their columns.
            let others = names.filter(|name| !columns().any(|column| column == *name));
            return Err(unknown_column(&term.column, columns().chain(others)));
        };
        if term.transform.is_some() {
            return Err(refused(&term.column, "transforms apply to columns, this is a partition field"));
        }
        Ok((ColumnSource::Partition(position), column(index, &unified.ty)))
    }
}

/// The field of a column's name, if there is one.
///
/// # Errors
/// `several` for several that only differ in case, where that is ignored.
pub(in crate::iceberg) fn named<'s>(
    schema: &'s Schema,
    names: Names,
    name: &str,
    several: ErrorKind,
) -> Result<Option<&'s FieldRef>> {
    let exact = schema.field_by_name(name);
    if exact.is_some() || names == Names::Exact {
        return Ok(exact);
    }
    let mut like = schema.fields_like(name);
    match (like.next(), like.next()) {
        (Some(_), Some(_)) => {
            let message = format!("column {name:?}: several columns have this name when case is ignored");
            Err(Error::new(several, message).in_field(name))
        }
        (found, _) => Ok(found),
    }
}

/// A column of that type, which may be null.
pub(super) fn column(index: usize, ty: &Type) -> Column {
    Column { is_uuid: *ty == Type::Uuid, ..Column::new(index, ty.arrow()) }
}

fn transform(call: &Call) -> Transform {
    let text = match call.parameter {
        Some(parameter) => format!("{}[{parameter}]", call.name),
        None => call.name.clone(),
    };
    Transform::parse(&text)
}

#[cold]
fn refused(column: &str, reason: &str) -> Error {
    Error::new(ErrorKind::Predicate, format!("column {column:?}: {reason}")).in_field(column)
}
