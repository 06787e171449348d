//! A decode program and the Arrow schema of what it makes.

use std::sync::Arc;

use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::columns::allocate;
use super::layout::{Layout, Leaf};
use super::matching::matches;
use super::op::Op;
use super::resolve::{Resolver, Target};
use super::wanted::{Projection, Wanted};
use crate::decode::{Pools, only_scalars};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Node, Schema};

/// A column a [`crate::Guard`] reads in mid-record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(crate) leaf: Leaf,
    pub(crate) column: u32,
}

/// A value that is in no file: its bytes, and how many it may put into columns.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) bytes: Vec<u8>,
    pub(crate) cost: u64,
}

/// Schemas resolved against a projection: made once per schema text, run once per record.
#[derive(Debug)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// The same instructions without columns, at the same positions.
    pub(crate) skip: Vec<Op>,
    /// The dotted path of each instruction's field.
    pub(crate) paths: Vec<String>,
    /// The null's branch where the top is a union of null and a record.
    pub(crate) null_record: Option<u8>,
    /// Where a guard decides: the first instruction behind the fields it reads.
    pub(crate) guard_at: Option<usize>,
    pub(crate) slots: Vec<Slot>,
    /// The defaults of fields that only the reader has.
    pub(crate) constants: Vec<Constant>,
    /// For enums of the reader's: the number of its symbol for each of the writer's, or -1.
    pub(crate) tables: Vec<Vec<i32>>,
    pub(crate) columns: Vec<Layout>,
    pub(crate) pools: Pools,
    /// The fewest bytes of a record; 0 if records can be empty.
    pub(crate) least_bytes: usize,
    schema: SchemaRef,
}

impl Program {
    /// Resolves `schema` against `projection`.
    ///
    /// `guard` names the top-level scalar fields a [`crate::Guard`] reads, in the order of the slots
    /// it is given; they are decoded whether projected or not. Where one is not a plain scalar, the guard is
    /// not asked. Unknown paths are [`ErrorKind::UnknownColumn`].
    pub fn resolve(schema: &Schema, projection: &Projection, guard: &[&str]) -> Result<Program> {
        Program::resolve_as(schema, schema, projection, guard)
    }

    /// Resolves a file of `writer` to be read as `reader`, whose paths `projection` and `guard` name.
    ///
    /// Follows "Schema Resolution" of Avro specification 1.12. Of the reader's schema only what is
    /// wanted is resolved. What does not resolve is [`ErrorKind::Unresolvable`]: here, or for the branch
    /// of a writer's union and for an enum's symbol, where a record has it.
    pub fn resolve_as(
        writer: &Schema,
        reader: &Schema,
        projection: &Projection,
        guard: &[&str],
    ) -> Result<Program> {
        let wanted = Wanted::new(projection);
        wanted.check(reader)?;
        let mut resolver = Resolver::default();
        let row = Row::of(reader, &wanted, guard, &mut resolver.pools)?;
        let (behind, null_record) = row.resolve(writer, &mut resolver)?;
        let (slots, guard_at) = row.slots(guard, &behind)?;
        let ops = resolver.ops;
        let columns = row.columns(&wanted);
        let arrow = columns.iter().map(|(name, layout)| layout.field(name)).collect::<Vec<_>>();
        let least = writer.row().iter().fold(0usize, |sum, (_, node)| sum.saturating_add(node.least_bytes()));
        Ok(Program {
            skip: ops.iter().map(|op| op.skipping()).collect(),
            paths: resolver.paths,
            null_record,
            guard_at: guard_at.filter(|at| ops.get(..*at).is_some_and(only_scalars)),
            slots,
            constants: resolver.constants,
            tables: resolver.tables,
            ops,
            columns: columns.into_iter().map(|(_, layout)| layout).collect(),
            pools: resolver.pools,
            least_bytes: least,
            schema: Arc::new(ArrowSchema::new(arrow)),
        })
    }

    /// The Arrow schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether a guard works in mid-record here: the fields it reads and those before them are all scalars.
    ///
    /// Where it does not, the guard is not asked and its caller filters the rows afterwards.
    pub fn guards(&self) -> bool {
        self.guard_at.is_some()
    }

    /// What a guard reads, in the order in which its fields were named.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }
}

/// The columns of a reader's row: of its record, or of the one value that stands in its place.
struct Row<'r> {
    root: &'r Node,
    fields: Option<&'r [Field]>,
    layout: Layout,
}

impl<'r> Row<'r> {
    fn of(reader: &'r Schema, wanted: &Wanted<'_>, guard: &[&str], pools: &mut Pools) -> Result<Row<'r>> {
        let mut children = Vec::new();
        for (name, node) in reader.row() {
            let everything = guard.contains(&name).then(Wanted::everything);
            if let Some(below) = wanted.below(name).or(everything) {
                children.push((name.to_owned(), allocate(pools, node, &below)?));
            }
        }
        let fields = reader.record().map(|(fields, _)| fields);
        Ok(Row { root: reader.root(), fields, layout: Layout::record(children) })
    }

    fn children(&self) -> impl Iterator<Item = (&String, &Layout)> {
        let (fields, children) = match &self.layout {
            Layout::Struct { fields, children } => (fields.as_ref(), children.as_slice()),
            _ => (Default::default(), Default::default()),
        };
        fields.iter().map(|field| field.name()).zip(children)
    }

    /// Appends the instructions of a record of `writer`. Gives for each of the reader's fields the
    /// instruction behind it, and the null's branch where the writer's record may be null.
    fn resolve(&self, writer: &Schema, resolver: &mut Resolver) -> Result<(Vec<usize>, Option<u8>)> {
        let Some(wanted) = self.fields else {
            let value = self.children().next();
            let target = value.map(|(_, layout)| Target { node: self.root, layout, path: "value" });
            let path = if writer.record().is_some() { "" } else { "value" };
            resolver.resolve(writer.root(), path, target)?;
            return Ok((vec![resolver.ops.len()], None));
        };
        let record = self.root.nullable().map_or(self.root, |(_, record)| record);
        let target = Target { node: record, layout: &self.layout, path: "" };
        let whole = writer.root().nullable().map_or(writer.root(), |(_, whole)| whole);
        match writer.record() {
            Some((fields, null)) if matches(whole, record) => {
                Ok((resolver.resolve_fields(fields, "", wanted, target)?, null))
            }
            _ => {
                resolver.resolve(writer.root(), "", Some(target))?;
                Ok((vec![resolver.ops.len(); wanted.len()], None))
            }
        }
    }

    /// What the guard reads, and the instruction behind the last of it.
    fn slots(&self, guard: &[&str], behind: &[usize]) -> Result<(Vec<Slot>, Option<usize>)> {
        let layouts = guard.iter().map(|name| {
            let child = self.children().find(|(field, _)| field == name);
            child.map(|(_, layout)| layout).ok_or_else(|| {
                Error::new(ErrorKind::UnknownColumn, format!("a guard needs the top-level fields {guard:?}"))
            })
        });
        let layouts = layouts.collect::<Result<Vec<_>>>()?;
        let slot = |layout: &&Layout| match layout {
            Layout::Leaf { leaf, column, .. } => Some(Slot { leaf: *leaf, column: *column }),
            _ => None,
        };
        let Some(slots) = layouts.iter().map(slot).collect() else { return Ok((Vec::new(), None)) };
        let fields = self.fields.unwrap_or_default().iter().zip(behind);
        let at = fields.filter(|(field, _)| guard.contains(&field.name.as_str())).map(|(_, at)| *at).max();
        Ok((slots, at))
    }

    /// The projected columns in the order of the batch.
    fn columns(&self, wanted: &Wanted<'_>) -> Vec<(String, Layout)> {
        let projected = self.children().filter(|(name, _)| wanted.below(name).is_some());
        let mut columns: Vec<_> = projected.map(|(name, layout)| (name.clone(), layout.clone())).collect();
        columns.sort_by_key(|(name, _)| wanted.rank(name));
        columns
    }
}
