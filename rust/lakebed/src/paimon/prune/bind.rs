//! What the names of a filter stand for.

use std::collections::HashMap;

use arrow_schema::DataType as ArrowType;

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, DataType, TypeKind};
use crate::predicate::{BoundLeaf, Column, Logic, Node, Predicate, Term, unknown_column};

/// The pseudo column that filters can name besides the table's own, which hide it.
const BUCKET: &str = "bucket";

/// What a column of a filter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A column of the table.
    Field(DataField),
    /// A field nested in one, of which nothing is known before rows are read.
    Nested,
    /// The bucket of the row.
    Bucket,
}

/// A filter on the columns of one table.
#[derive(Debug)]
pub(super) struct Bound {
    /// The filter, by the numbers of `sources`.
    pub(super) node: Node,
    /// What its columns are, each once.
    pub(super) sources: Vec<Source>,
}

impl Bound {
    /// Resolves names: a column of that exact name, else the field of a ROW that the dots lead to, else
    /// `bucket`.
    ///
    /// # Errors
    /// `Predicate` for a name that is none of these, a transform, and what binding gives.
    pub(super) fn new(predicate: &Predicate, schema: &TableSchema) -> Result<Bound> {
        let mut sources = Vec::new();
        let mut numbers: HashMap<String, (usize, ArrowType)> = HashMap::new();
        let bound = predicate.bind_with(Logic::ThreeValued, &mut |term: &Term| {
            if term.transform.is_some() {
                let message = format!("filter: {term}: transforms only apply to columns of Iceberg tables");
                return Err(Error::new(ErrorKind::Predicate, message));
            }
            if let Some((number, data_type)) = numbers.get(&term.column) {
                return Ok(Column::new(*number, data_type.clone()));
            }
            let (source, data_type) = resolve(&term.column, schema)?;
            let number = sources.len();
            sources.push(source);
            numbers.insert(term.column.clone(), (number, data_type.clone()));
            Ok(Column::new(number, data_type))
        })?;
        Ok(Bound { node: bound.node, sources })
    }
}

fn resolve(name: &str, schema: &TableSchema) -> Result<(Source, ArrowType)> {
    if let Some(field) = schema.field_by_name(name) {
        return Ok((Source::Field(field.clone()), field.ty.view_type()));
    }
    if let Some(ty) = nested(&schema.fields, name) {
        return Ok((Source::Nested, ty.view_type()));
    }
    if name == BUCKET {
        return Ok((Source::Bucket, ArrowType::Int32));
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

/// What `node` implies of the columns that `number` numbers anew: nothing is asked of the others, so that
/// only a part of an `AND` may be left, and of an `OR` only what all its terms have something of.
pub(super) fn projected(node: &Node, number: &dyn Fn(usize) -> Option<usize>) -> Result<Node> {
    node.map_leaves(&mut |leaf| {
        let number = number(leaf.column.index);
        Ok(number.map_or(Node::Constant(true), |number| Node::Leaf(numbered(leaf, number))))
    })
}

/// The same on the same column, by another number.
pub(super) fn numbered(leaf: &BoundLeaf, index: usize) -> BoundLeaf {
    leaf.on(Column { index, ..leaf.column.clone() })
}

/// The terms that all must hold.
pub(super) fn conjuncts(node: &Node) -> &[Node] {
    match node {
        Node::And(terms) => terms,
        other => std::slice::from_ref(other),
    }
}
