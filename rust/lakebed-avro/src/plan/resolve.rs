//! Resolves a writer's type and a reader's request to instructions.
//!
//! Instructions are in the writer's order, which is that of the bytes; columns are the reader's. Without a
//! reader's schema the writer's is used, and every type matches itself.
//!
//! The instructions for one value fill each of its columns exactly once, and so does appending their
//! defaults: the values under nulls rely on it.

use super::Constant;
use super::default::encode;
use super::layout::{Layout, Leaf};
use super::matching::{matches, pair_fields, widened};
use super::op::{Col, Number, Op};
use crate::decode::Pools;
use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::{Field, Node, Wire};

/// What a reader requests of a value: its type there, the columns, and its path.
#[derive(Clone, Copy)]
pub(super) struct Target<'t> {
    pub(super) node: &'t Node,
    pub(super) layout: &'t Layout,
    pub(super) path: &'t str,
}

/// Instructions, in order, and what they refer to by number.
#[derive(Default)]
pub(super) struct Resolver {
    pub(super) ops: Vec<Op>,
    pub(super) paths: Vec<String>,
    pub(super) pools: Pools,
    pub(super) constants: Vec<Constant>,
    pub(super) tables: Vec<Vec<i32>>,
}

impl Resolver {
    /// Appends the instructions for a value of `writer` at `path` of the writer's schema; without a target
    /// they skip it.
    pub(super) fn resolve(&mut self, writer: &Node, path: &str, target: Option<Target<'_>>) -> Result<()> {
        let Some(target) = target else {
            self.skip(writer, path);
            return Ok(());
        };
        match (&writer.wire, &target.node.wire) {
            (Wire::Union(branches), _) => self.resolve_union(writer, branches, path, target),
            (_, Wire::Union(branches)) => self.resolve_member(writer, branches, path, target),
            _ if !matches(writer, target.node) => Err(unresolvable(writer, path, target)),
            (Wire::Record(fields), Wire::Record(wanted)) => {
                self.resolve_fields(fields, path, wanted, target).map(drop)
            }
            (Wire::Array(items), Wire::Array(wanted)) => self.resolve_array(items, path, wanted, target),
            (Wire::Map(values), Wire::Map(wanted)) => self.resolve_map(values, path, wanted, target),
            (Wire::Enum { symbols, .. }, Wire::Enum { symbols: wanted, default }) => {
                self.resolve_enum(symbols, wanted, default.as_deref(), target);
                Ok(())
            }
            _ => {
                self.resolve_leaf(writer, target);
                Ok(())
            }
        }
    }

    pub(super) fn push(&mut self, op: Op, path: &str) -> usize {
        self.ops.push(op);
        self.paths.push(path.to_owned());
        self.ops.len() - 1
    }

    /// The number of the instruction after the field at `path`; `None` where it has no instruction.
    pub(super) fn behind(&self, path: &str) -> Option<usize> {
        let is_its = |own: &String| {
            own.strip_prefix(path).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'.', ..]))
        };
        self.paths.iter().rposition(is_its).map(|at| at + 1)
    }

    /// The number of the next instruction.
    pub(super) fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    /// Appends the instructions that skip a value.
    pub(super) fn skip(&mut self, writer: &Node, path: &str) {
        if let Some((null, value)) = writer.nullable() {
            let at = self.push(Op::Nullable { null, valid: None, end: 0 }, path);
            self.skip(value, path);
            self.ops[at] = Op::Nullable { null, valid: None, end: self.here() };
            return;
        }
        match &writer.wire {
            Wire::Record(fields) => {
                fields.iter().for_each(|field| self.skip(&field.node, &join(path, &field.name)));
            }
            Wire::Union(branches) => {
                let at = self.push(Op::Union { branches: 0, types: None, end: 0 }, path);
                for branch in branches {
                    let head = self.push(Op::Branch { end: 0 }, path);
                    self.skip(branch, path);
                    self.ops[head] = Op::Branch { end: self.here() };
                }
                self.ops[at] = Op::Union { branches: count(branches), types: None, end: self.here() };
            }
            Wire::Array(items) => {
                let at = self.push(Op::Array { least: 0, list: None, end: 0 }, path);
                self.skip(items, path);
                self.ops[at] = Op::Array { least: least(items), list: None, end: self.here() };
            }
            Wire::Map(values) => {
                let at = self.push(Op::Array { least: 0, list: None, end: 0 }, path);
                self.push(Op::Bytes(None), &join(path, "key"));
                self.skip(values, &join(path, "value"));
                self.ops[at] =
                    Op::Array { least: least(values).saturating_add(1), list: None, end: self.here() };
            }
            Wire::Enum { symbols, .. } => drop(self.push(Op::Enum(count(symbols), None), path)),
            wire => {
                if let Some(op) = plain_op(wire, None) {
                    self.push(op, path);
                }
            }
        }
    }

    fn resolve_leaf(&mut self, writer: &Node, target: Target<'_>) {
        let Layout::Leaf { leaf, column, .. } = target.layout else { return };
        let from = match writer.wire {
            Wire::Int => Number::Int,
            Wire::Long => Number::Long,
            _ => Number::Float,
        };
        let op = if widened(&writer.wire, *leaf) {
            let to = if *leaf == Leaf::Millis { Leaf::Long } else { *leaf };
            Some(Op::Widen { from, to, column: Some(*column) })
        } else {
            plain_op(&writer.wire, Some(*column))
        };
        if let Some(op) = op {
            self.push(op, target.path);
        }
    }

    fn resolve_enum(
        &mut self,
        symbols: &[String],
        wanted: &[String],
        default: Option<&str>,
        target: Target<'_>,
    ) {
        let Layout::Enum { column, .. } = target.layout else { return };
        let column = Some(*column);
        let number = |symbol: &str| wanted.iter().position(|other| other == symbol);
        let default = default.and_then(number);
        let table: Vec<i32> = symbols
            .iter()
            .map(|symbol| number(symbol).or(default).and_then(|at| i32::try_from(at).ok()).unwrap_or(-1))
            .collect();
        let symbols = count(symbols);
        let op = if table.iter().copied().eq(0..i32::try_from(table.len()).unwrap_or(i32::MAX)) {
            Op::Enum(symbols, column)
        } else {
            self.tables.push(table);
            Op::EnumAs { symbols, table: count(&self.tables) - 1, column }
        };
        self.push(op, target.path);
    }

    /// Resolves the fields of a record. Returns for each of the reader's fields the instruction after it.
    pub(super) fn resolve_fields(
        &mut self,
        fields: &[Field],
        path: &str,
        wanted: &[Field],
        target: Target<'_>,
    ) -> Result<Vec<usize>> {
        let Layout::Struct { fields: names, children } = target.layout else { return Ok(Vec::new()) };
        // The columns are those of the reader's fields in order, without those that are not requested.
        let mut columns = names.iter().zip(children).peekable();
        let columns: Vec<Option<&Layout>> = wanted
            .iter()
            .map(|field| columns.next_if(|(name, _)| *name.name() == field.name).map(|(_, layout)| layout))
            .collect();
        let mut behind = vec![None; wanted.len()];
        for (field, index) in fields.iter().zip(pair_fields(fields, wanted)) {
            let below = join(path, &field.name);
            let pair = index.and_then(|index| Some((wanted.get(index)?, (*columns.get(index)?)?)));
            match pair {
                Some((Field { name, node, .. }, layout)) => {
                    let target = Target { node, layout, path: &join(target.path, name) };
                    self.resolve(&field.node, &below, Some(target))?;
                }
                None => self.skip(&field.node, &below),
            }
            if let Some(behind) = index.and_then(|index| behind.get_mut(index)) {
                *behind = Some(self.ops.len());
            }
        }
        for ((field, layout), behind) in wanted.iter().zip(&columns).zip(&behind) {
            if let (Some(layout), None) = (layout, behind) {
                let target = Target { node: &field.node, layout, path: &join(target.path, &field.name) };
                self.push_default(field, path, target)?;
            }
        }
        Ok(behind.into_iter().map(|behind| behind.unwrap_or(self.ops.len())).collect())
    }

    /// A field that only the reader has: its default is decoded like a value of the file.
    fn push_default(&mut self, field: &Field, path: &str, target: Target<'_>) -> Result<()> {
        let Some(default) = &field.default else {
            let record = if path.is_empty() { "the writer's record" } else { path };
            let message = format!("{record} has no {}, and the reader's field has no default", field.name);
            return Err(Error::new(ErrorKind::Unresolvable, message).at(field_at(target.path)));
        };
        let mut bytes = Vec::new();
        encode(&field.node, default, &mut bytes).map_err(|error| error.at(field_at(target.path)))?;
        let constant = Some(count(&self.constants));
        let at = self.push(Op::Constant { constant, end: 0 }, target.path);
        self.constants.push(Constant { bytes, cost: 0 });
        self.resolve(&field.node, target.path, Some(target))?;
        self.ops[at] = Op::Constant { constant, end: self.here() };
        if let Some(constant) = constant.and_then(|at| self.constants.get_mut(at as usize)) {
            // Each instruction puts a few bytes into a column; variable-length data is all in the bytes.
            constant.cost = 8 * (self.ops.len() - at) as u64 + 8 * constant.bytes.len() as u64;
        }
        Ok(())
    }

    fn resolve_array(&mut self, items: &Node, path: &str, wanted: &Node, target: Target<'_>) -> Result<()> {
        let (list, layout) = match target.layout {
            Layout::List { list, items, .. } => (Some(*list), items),
            Layout::Map { list, entries, .. } => (Some(*list), entries),
            _ => return Ok(()),
        };
        let at = self.push(Op::Array { least: 0, list, end: 0 }, target.path);
        self.resolve(items, path, Some(Target { node: wanted, layout, path: target.path }))?;
        let keyed = list.is_some_and(|list| self.pools.keys(list).is_some());
        let (least, end) = (least(items), self.here());
        self.ops[at] = match self.ops.get(at + 1) {
            _ if !keyed => Op::Array { least, list, end },
            Some(Op::Int(Some(_))) => Op::Keyed { least, list, end },
            _ => return Err(not_int_keyed(target.path)),
        };
        Ok(())
    }

    fn resolve_map(&mut self, values: &Node, path: &str, wanted: &Node, target: Target<'_>) -> Result<()> {
        let Layout::Map { list, entries, .. } = target.layout else { return Ok(()) };
        let Layout::Struct { children, .. } = entries.as_ref() else { return Ok(()) };
        let [Layout::Leaf { column, .. }, layout] = children.as_slice() else { return Ok(()) };
        let list = Some(*list);
        let at = self.push(Op::Array { least: 0, list, end: 0 }, target.path);
        self.push(Op::Bytes(Some(*column)), &join(target.path, "key"));
        let there = join(target.path, "value");
        self.resolve(values, &join(path, "value"), Some(Target { node: wanted, layout, path: &there }))?;
        self.ops[at] = Op::Array { least: least(values).saturating_add(1), list, end: self.here() };
        Ok(())
    }
}

fn plain_op(wire: &Wire, column: Col) -> Option<Op> {
    Some(match wire {
        Wire::Boolean => Op::Boolean(column),
        Wire::Int => Op::Int(column),
        Wire::Long => Op::Long(column),
        Wire::Float => Op::Float(column),
        Wire::Double => Op::Double(column),
        Wire::Bytes | Wire::String => Op::Bytes(column),
        Wire::Fixed(size) => Op::Fixed(u32::try_from(*size).unwrap_or(u32::MAX), column),
        _ => return None,
    })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

pub(super) fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

fn least(node: &Node) -> u32 {
    u32::try_from(node.least_bytes()).unwrap_or(u32::MAX)
}

fn field_at(path: &str) -> Location {
    Location { field: (!path.is_empty()).then(|| path.to_owned()), ..Location::default() }
}

#[cold]
fn not_int_keyed(path: &str) -> Error {
    let message = format!("the writer's values of {path} do not each follow an int key");
    Error::new(ErrorKind::Unresolvable, message).at(field_at(path))
}

#[cold]
pub(super) fn unresolvable(writer: &Node, path: &str, target: Target<'_>) -> Error {
    let place = |path: &str| if path.is_empty() { String::new() } else { format!(" {path}") };
    let (written, wanted) = (place(path), place(target.path));
    let message = format!(
        "the writer's{written} ({writer}) does not resolve to the reader's{wanted} ({})",
        target.node
    );
    Error::new(ErrorKind::Unresolvable, message).at(field_at(target.path))
}
