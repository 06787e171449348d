//! A decode program and the Arrow schema of its batches.

use std::sync::Arc;

use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::columns::allocate;
use super::layout::{Layout, Leaf};
use super::matching::matches;
use super::op::Op;
use super::resolve::{Resolver, Target};
use super::wanted::{FieldSelection, Projection};
use crate::decode::{Pools, only_scalars};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{Field, Node, Schema};

/// A column that a [`crate::Guard`] reads in the middle of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(crate) leaf: Leaf,
    pub(crate) column: u32,
    /// Where the value may be null.
    pub(crate) valid: Option<u32>,
}

impl Slot {
    fn of(layout: &Layout) -> Option<Slot> {
        match layout {
            Layout::Leaf { leaf, column, .. } => Some(Slot { leaf: *leaf, column: *column, valid: None }),
            Layout::Nullable { valid, value } => match Slot::of(value)? {
                Slot { valid: None, leaf, column } => Some(Slot { leaf, column, valid: Some(*valid) }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A default: its bytes, and how many bytes it may put into columns.
#[derive(Debug)]
pub(crate) struct Constant {
    pub(crate) bytes: Vec<u8>,
    pub(crate) cost: u64,
}

/// Schemas resolved against a projection: once for each schema, then run for each record.
#[derive(Debug)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// The same instructions without columns, at the same positions.
    pub(crate) skip: Vec<Op>,
    /// The dotted path of each instruction's field.
    pub(crate) paths: Vec<String>,
    /// The branch of null where the top is a union of null and a record.
    pub(crate) null_record: Option<u8>,
    /// Where a guard runs: the first instruction after the fields that it reads.
    pub(crate) guard_at: Option<usize>,
    pub(crate) slots: Vec<Slot>,
    /// The defaults of fields that only the reader has.
    pub(crate) constants: Vec<Constant>,
    /// For the reader's enums: the number of the reader's symbol for each of the writer's, or -1.
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
    /// `guard` names the fields that a [`crate::Guard`] reads. Top-level fields must be scalars; they are
    /// decoded even if they are not projected, and have [`Program::slots`] in their order. A dotted path
    /// means that the guard runs after that field, if the writer has it; its projected parts are found with
    /// [`Program::slot`]. If anything but scalars and nullable scalars precedes the last of these fields, the
    /// guard is not run. Unknown projected paths and top-level fields are [`ErrorKind::UnknownColumn`].
    pub fn resolve(schema: &Schema, projection: &Projection, guard: &[&str]) -> Result<Program> {
        Program::resolve_as(schema, schema, projection, guard)
    }

    /// Resolves a file with the schema `writer`, to be read as `reader`, whose paths `projection` and `guard`
    /// use.
    ///
    /// Follows "Schema Resolution" of Avro specification 1.12. Only the requested part of the reader's schema
    /// is resolved. Parts that do not resolve are [`ErrorKind::Unresolvable`]: here, or for the branch of a
    /// writer's union and for an enum's symbol when a record has it.
    pub fn resolve_as(
        writer: &Schema,
        reader: &Schema,
        projection: &Projection,
        guard: &[&str],
    ) -> Result<Program> {
        let wanted = FieldSelection::new(projection);
        wanted.check(reader)?;
        let mut resolver = Resolver::default();
        let row = Row::of(reader, &wanted, guard, &mut resolver.pools)?;
        let (behind, null_record) = row.resolve(writer, &mut resolver)?;
        let slots = row.slots(guard)?;
        let fields = row.fields.unwrap_or_default().iter().zip(&behind);
        let fields = fields.filter(|(field, _)| guard.contains(&field.name.as_str())).map(|(_, at)| *at);
        let nested = guard.iter().filter(|path| path.contains('.')).filter_map(|path| resolver.behind(path));
        let guard_at = slots.as_ref().and_then(|_| fields.chain(nested).max());
        let ops = resolver.ops;
        let columns = row.columns(&wanted);
        let arrow = columns.iter().map(|(name, layout)| layout.field(name)).collect::<Vec<_>>();
        let least = writer.row().iter().fold(0usize, |sum, (_, node)| sum.saturating_add(node.least_bytes()));
        Ok(Program {
            skip: ops.iter().map(|op| op.skipping()).collect(),
            paths: resolver.paths,
            null_record,
            guard_at: guard_at.filter(|at| ops.get(..*at).is_some_and(only_scalars)),
            slots: slots.unwrap_or_default(),
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

    /// Whether a guard can run in the middle of records: the fields that it reads, and all before them, are
    /// scalars.
    ///
    /// Where it cannot, the guard is not run and its caller filters the rows afterwards.
    pub fn guards(&self) -> bool {
        self.guard_at.is_some()
    }

    /// The fields that a guard reads, in the order of its top-level fields.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A further field that a guard may read: a projected scalar, nullable or not, by the names on its path.
    /// `None` for a field that does not exist, is not such a scalar, or is decoded after the guard has run.
    pub fn slot(&self, path: &[&str]) -> Option<Slot> {
        let (first, below) = path.split_first()?;
        let mut layout = self.columns.get(self.schema.index_of(first).ok()?)?;
        for name in below {
            let Layout::Struct { fields, children } = layout else { return None };
            layout = children.get(fields.find(name)?.0)?;
        }
        let path = path.join(".");
        let before = self.paths.get(..self.guard_at?)?;
        before.contains(&path).then(|| Slot::of(layout)).flatten()
    }
}

/// The columns of a reader's row: of its record, or of the single value instead.
struct Row<'r> {
    root: &'r Node,
    fields: Option<&'r [Field]>,
    layout: Layout,
}

impl<'r> Row<'r> {
    fn of(
        reader: &'r Schema,
        wanted: &FieldSelection<'_>,
        guard: &[&str],
        pools: &mut Pools,
    ) -> Result<Row<'r>> {
        let mut children = Vec::new();
        for (name, node) in reader.row() {
            let everything = guard.contains(&name).then(FieldSelection::everything);
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

    /// Appends the instructions of a record of `writer`. Returns for each of the reader's fields the
    /// instruction after it, and the branch of null where the writer's record may be null.
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

    /// The slots of the top-level fields that the guard reads; `None` where these are not all plain scalars.
    fn slots(&self, guard: &[&str]) -> Result<Option<Vec<Slot>>> {
        let fields = guard.iter().filter(|name| !name.contains('.'));
        let layouts = fields.map(|name| {
            let child = self.children().find(|(field, _)| field == name);
            child.map(|(_, layout)| layout).ok_or_else(|| {
                Error::new(ErrorKind::UnknownColumn, format!("a guard needs the top-level fields {guard:?}"))
            })
        });
        let layouts = layouts.collect::<Result<Vec<_>>>()?;
        let plain = |layout: &&Layout| Slot::of(layout).filter(|slot| slot.valid.is_none());
        Ok(layouts.iter().map(plain).collect())
    }

    /// The projected columns in the order of the batch.
    fn columns(&self, wanted: &FieldSelection<'_>) -> Vec<(String, Layout)> {
        let projected = self.children().filter(|(name, _)| wanted.below(name).is_some());
        let mut columns: Vec<_> = projected.map(|(name, layout)| (name.clone(), layout.clone())).collect();
        columns.sort_by_key(|(name, _)| wanted.rank(name));
        columns
    }
}
