//! The columns for a schema's fields: the pool of each, and how they are assembled to arrays.

use super::layout::{Layout, Leaf, leaf_type};
use super::wanted::FieldSelection;
use crate::decode::Pools;
use crate::error::Result;
use crate::schema::{Field, Logical, Node, Wire};

/// Allocates columns in `pools` for the requested parts of a value of `node`.
pub(super) fn allocate(pools: &mut Pools, node: &Node, wanted: &FieldSelection<'_>) -> Result<Layout> {
    if let Some((_, value)) = node.nullable() {
        let valid = pools.add_valid();
        return Ok(Layout::Nullable { valid, value: Box::new(allocate(pools, value, wanted)?) });
    }
    // Arrays, maps and unions are taken completely or not at all: paths do not reach into them.
    let everything = FieldSelection::everything();
    match &node.wire {
        Wire::Record(fields) => allocate_record(pools, fields, wanted),
        Wire::Union(branches) => {
            let types = pools.add_union(branches.len());
            let branches = branches.iter().map(|branch| allocate(pools, branch, &everything));
            Layout::union(types, branches.collect::<Result<_>>()?)
        }
        Wire::Array(items) => {
            let list = pools.add_list(wanted.keys());
            let items = allocate(pools, items, &everything)?;
            Ok(list_or_map(list, node.logical, items))
        }
        Wire::Map(value) => {
            let list = pools.add_list(None);
            let key = allocate(pools, &Node::plain(Wire::String, None), &everything)?;
            Ok(Layout::map(list, key, allocate(pools, value, &everything)?))
        }
        Wire::Enum { symbols, .. } => {
            Ok(Layout::Enum { column: pools.add(Leaf::Int), symbols: symbols.clone().into() })
        }
        _ => Ok(allocate_leaf(pools, node)),
    }
}

fn allocate_record(pools: &mut Pools, fields: &[Field], wanted: &FieldSelection<'_>) -> Result<Layout> {
    let mut children = Vec::new();
    for field in fields {
        if let Some(below) = wanted.below(&field.name) {
            children.push((field.name.clone(), allocate(pools, &field.node, &below)?));
        }
    }
    Ok(Layout::record(children))
}

fn allocate_leaf(pools: &mut Pools, node: &Node) -> Layout {
    let (leaf, data_type) = leaf_type(node);
    let column = match node.wire {
        Wire::Fixed(size) => pools.add_fixed(u32::try_from(size).unwrap_or(u32::MAX)),
        _ => pools.add(leaf),
    };
    Layout::Leaf { leaf, column, data_type }
}

fn list_or_map(list: u32, logical: Option<Logical>, items: Layout) -> Layout {
    match (logical, items) {
        (Some(Logical::Map), Layout::Struct { fields, children }) => {
            match <[Layout; 2]>::try_from(children) {
                Ok([key, value]) => Layout::map(list, key, value),
                Err(children) => Layout::list(list, Layout::Struct { fields, children }),
            }
        }
        (_, items) => Layout::list(list, items),
    }
}
