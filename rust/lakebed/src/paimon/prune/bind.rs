//! Resolves the names of a filter.

use std::collections::HashMap;

use arrow_schema::DataType as ArrowType;

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, DataType, TypeKind};
use crate::predicate::{BoundLeaf, Column, Logic, Node, Predicate, Term, unknown_column};

/// The pseudo column of filters; a column of the table with this name hides it.
const BUCKET: &str = "bucket";

/// What the name of a column in a filter refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ColumnSource {
    /// A column of the table.
    Field(DataField),
    /// A field nested in a column: nothing is known of it before rows are read.
    Nested,
    /// The bucket of the row.
    Bucket,
}

/// A filter on the columns of one table.
#[derive(Debug)]
pub(super) struct BoundFilter {
    /// The filter, by the numbers of `sources`.
    pub(super) node: Node,
    /// What its columns are, each once.
    pub(super) sources: Vec<ColumnSource>,
}

impl BoundFilter {
    /// Resolves names: to the column of exactly that name, else to the field of a ROW that the dotted name
    /// leads to, else to `bucket`.
    ///
    /// # Errors
    /// `FilterColumn` for a name that is none of these; `Predicate` for a transform, and from binding the filter.
    pub(super) fn new(predicate: &Predicate, schema: &TableSchema) -> Result<BoundFilter> {
        let mut sources = Vec::new();
        let mut numbers: HashMap<String, (usize, ArrowType)> = HashMap::new();
        let bound = predicate.bind_with(Logic::ThreeValued, &mut |term: &Term| {
            if term.transform.is_some() {
                let message = format!("{term}: transforms only apply to columns of Iceberg tables");
                return Err(Error::new(ErrorKind::Predicate, message));
            }
            if let Some((number, data_type)) = numbers.get(&term.column) {
                return Ok(column(*number, data_type));
            }
            let (source, data_type) = resolve(&term.column, schema)?;
            let number = sources.len();
            sources.push(source);
            let column = column(number, &data_type);
            numbers.insert(term.column.clone(), (number, data_type));
            Ok(column)
        })?;
        Ok(BoundFilter { node: bound.node, sources })
    }
}

/// A column whose values are compared as they are stored.
fn column(number: usize, data_type: &ArrowType) -> Column {
    let is_exact = matches!(data_type, ArrowType::Timestamp(..));
    Column { is_exact, ..Column::new(number, data_type.clone()) }
}

fn resolve(name: &str, schema: &TableSchema) -> Result<(ColumnSource, ArrowType)> {
    if let Some(field) = schema.field_by_name(name) {
        return Ok((ColumnSource::Field(field.clone()), field.ty.view_type()));
    }
    if let Some(ty) = nested(&schema.fields, name) {
        return Ok((ColumnSource::Nested, ty.view_type()));
    }
    if name == BUCKET {
        return Ok((ColumnSource::Bucket, ArrowType::Int32));
    }
    let known = schema.fields.iter().map(|field| field.name.as_str());
    Err(unknown_column(name, known.chain([BUCKET])))
}

/// The type of the field that a path of names leads to, through rows only.
fn nested<'f>(fields: &'f [DataField], path: &str) -> Option<&'f DataType> {
    fields.iter().find_map(|field| {
        let rest = path.strip_prefix(field.name.as_str())?;
        match (&field.ty.kind, rest.strip_prefix('.')) {
            _ if rest.is_empty() => Some(&field.ty),
            (TypeKind::Row(fields), Some(rest)) => nested(fields, rest),
            _ => None,
        }
    })
}

/// The part of `node` that tests only columns which `number` gives a number. Tests of other columns are taken
/// as true: some terms of an `AND` may be left, and an `OR` is left only where each of its terms has such a
/// part.
pub(super) fn projected(node: &Node, number: &dyn Fn(usize) -> Option<usize>) -> Result<Node> {
    node.map_leaves(&mut |leaf| {
        let number = number(leaf.column.index);
        Ok(number.map_or(Node::Constant(true), |number| Node::Leaf(numbered(leaf, number))))
    })
}

/// The same test of the same column, with the column's number replaced.
pub(super) fn numbered(leaf: &BoundLeaf, index: usize) -> BoundLeaf {
    leaf.on(Column { index, ..leaf.column.clone() })
}

/// The terms of an `AND`.
pub(super) fn conjuncts(node: &Node) -> &[Node] {
    match node {
        Node::And(terms) => terms,
        other => std::slice::from_ref(other),
    }
}
