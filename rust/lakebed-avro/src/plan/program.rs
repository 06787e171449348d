//! Resolving: from a schema and a projection to a flat program and its Arrow schema.

use std::sync::Arc;

use arrow_schema::{Schema as ArrowSchema, SchemaRef};

use super::layout::{Layout, Leaf, leaf_type};
use super::op::{Col, Op};
use crate::decode::{Pools, only_scalars};
use crate::error::{Error, ErrorKind, Location, Result};
use crate::schema::{Logical, Node, Schema, Wire};

/// Which columns of a file are decoded; the others are walked over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Projection {
    /// Every column, in the writer's order.
    #[default]
    All,
    /// These dotted paths, each with all that is below it. Top-level columns come in the order in
    /// which they are first named.
    Paths(Vec<String>),
}

/// A column a [`crate::Guard`] reads in mid-record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(crate) leaf: Leaf,
    pub(crate) column: u32,
}

/// A schema resolved against a projection: made once per schema text, run once per record.
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
    /// it is given; they are decoded whether projected or not. Unknown paths are
    /// [`ErrorKind::UnknownColumn`].
    pub fn resolve(schema: &Schema, projection: &Projection, guard: &[&str]) -> Result<Program> {
        let (fields, null_record) = schema.row();
        let mut compiler = Compiler::default();
        let wanted = Wanted::new(projection);
        wanted.check(schema)?;
        let mut columns: Vec<(usize, String, Layout)> = Vec::new();
        let mut slots = vec![None; guard.len()];
        let mut guard_at = None;
        for (name, node) in &fields {
            let below = wanted.below(name);
            let slot = guard.iter().position(|field| field == name);
            let layout = if slot.is_some() && below.is_none() {
                compiler.compile(node, name, Some(&Wanted::everything()))?
            } else {
                compiler.compile(node, name, below.as_ref())?
            };
            if let Some(index) = slot {
                guard_at = Some(compiler.ops.len());
                if let (Some(Layout::Leaf { leaf, column, .. }), Some(entry)) =
                    (&layout, slots.get_mut(index))
                {
                    *entry = Some(Slot { leaf: *leaf, column: *column });
                }
            }
            if let (Some(layout), true) = (layout, below.is_some()) {
                columns.push((wanted.rank(name), (*name).to_owned(), layout));
            }
        }
        columns.sort_by_key(|(rank, _, _)| *rank);
        let slots: Option<Vec<Slot>> = slots.into_iter().collect();
        let slots = slots.ok_or_else(|| {
            Error::new(ErrorKind::UnknownColumn, format!("a guard needs the top-level scalars {guard:?}"))
        })?;
        let arrow = columns.iter().map(|(_, name, layout)| layout.field(name)).collect::<Vec<_>>();
        let ops = compiler.ops;
        Ok(Program {
            skip: ops.iter().map(|op| op.skipping()).collect(),

            paths: compiler.paths,
            null_record,
            guard_at: guard_at.filter(|at| only_scalars(&ops[..*at])),
            slots,
            ops,
            columns: columns.into_iter().map(|(_, _, layout)| layout).collect(),
            pools: compiler.pools,
            least_bytes: fields.iter().fold(0, |sum, (_, node)| sum.saturating_add(node.least_bytes())),
            schema: Arc::new(ArrowSchema::new(arrow)),
        })
    }

    /// The Arrow schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether a guard works in mid-record here: the fields before its decision are all scalars.
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

/// The part of a projection below one field.
struct Wanted<'p> {
    all: bool,
    paths: Vec<&'p str>,
}

impl<'p> Wanted<'p> {
    fn new(projection: &'p Projection) -> Wanted<'p> {
        match projection {
            Projection::All => Wanted::everything(),
            Projection::Paths(paths) => {
                Wanted { all: false, paths: paths.iter().map(String::as_str).collect() }
            }
        }
    }

    fn everything() -> Wanted<'p> {
        Wanted { all: true, paths: Vec::new() }
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let Some(missing) = self.paths.iter().find(|path| !schema.has(path)) else { return Ok(()) };
        let known: Vec<&str> = schema.row().0.iter().map(|(name, _)| *name).collect();
        let message = format!("no column {missing:?}; there are {}", known.join(", "));
        let place = Location { field: Some((*missing).to_owned()), ..Location::default() };
        Err(Error::new(ErrorKind::UnknownColumn, message).at(place))
    }

    /// What is wanted of the field `name`: `None` for nothing.
    fn below(&self, name: &str) -> Option<Wanted<'p>> {
        if self.all {
            return Some(Wanted::everything());
        }
        let rests = self.paths.iter().filter_map(|path| path.strip_prefix(name));
        let mut below = Wanted { all: false, paths: Vec::new() };
        for rest in rests {
            match rest.strip_prefix('.') {
                None if rest.is_empty() => return Some(Wanted::everything()),
                None => {}
                Some(path) => below.paths.push(path),
            }
        }
        (!below.paths.is_empty()).then_some(below)
    }

    /// The place of a top-level field in the order of first mention.
    fn rank(&self, name: &str) -> usize {
        let head = |path: &&str| path.split('.').next() == Some(name);
        self.paths.iter().position(head).unwrap_or(0)
    }
}

#[derive(Default)]
struct Compiler {
    ops: Vec<Op>,
    paths: Vec<String>,
    pools: Pools,
}

impl Compiler {
    /// Appends the instructions for `node`; gives its layout where anything of it is wanted.
    fn compile(&mut self, node: &Node, path: &str, wanted: Option<&Wanted<'_>>) -> Result<Option<Layout>> {
        if let Some((null, value)) = node.nullable() {
            return self.compile_nullable(null, value, path, wanted);
        }
        match &node.wire {
            Wire::Record(fields) => self.compile_record(fields, path, wanted),
            Wire::Union(branches) => self.compile_union(branches, path, wanted),
            Wire::Array(items) => self.compile_array(items, node.logical, path, wanted),
            Wire::Map(value) => self.compile_map(value, path, wanted),
            Wire::Enum(symbols) => {
                let column = wanted.map(|_| self.pools.add(Leaf::Int));
                self.push(Op::Enum(u32::try_from(symbols.len()).unwrap_or(u32::MAX), column), path);
                Ok(column.map(|column| Layout::Enum { column, symbols: symbols.clone().into() }))
            }
            _ => Ok(self.compile_leaf(node, path, wanted.is_some())),
        }
    }

    fn push(&mut self, op: Op, path: &str) -> usize {
        self.ops.push(op);
        self.paths.push(path.to_owned());
        self.ops.len() - 1
    }

    /// The number of the instruction that comes next.
    fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    fn compile_leaf(&mut self, node: &Node, path: &str, wanted: bool) -> Option<Layout> {
        let (leaf, data_type) = leaf_type(node)?;
        let size = match node.wire {
            Wire::Fixed(size) => u32::try_from(size).unwrap_or(u32::MAX),
            _ => 0,
        };
        let column: Col = wanted.then(|| match leaf {
            Leaf::Fixed => self.pools.add_fixed(size),
            _ => self.pools.add(leaf),
        });
        let op = match leaf {
            Leaf::Null => return column.map(|column| Layout::Leaf { leaf, column, data_type }),
            Leaf::Boolean => Op::Boolean(column),
            Leaf::Int => Op::Int(column),
            Leaf::Long | Leaf::Millis => Op::Long(column),
            Leaf::Float => Op::Float(column),
            Leaf::Double => Op::Double(column),
            Leaf::Bytes => Op::Bytes(column),
            Leaf::Fixed => Op::Fixed(size, column),
        };
        self.push(op, path);
        column.map(|column| Layout::Leaf { leaf, column, data_type })
    }

    fn compile_nullable(
        &mut self,
        null: u8,
        value: &Node,
        path: &str,
        wanted: Option<&Wanted<'_>>,
    ) -> Result<Option<Layout>> {
        let valid = wanted.map(|_| self.pools.add_valid());
        let at = self.push(Op::Nullable { null, valid, end: 0 }, path);
        let layout = self.compile(value, path, wanted)?;
        self.ops[at] = Op::Nullable { null, valid, end: self.here() };
        Ok(layout.zip(valid).map(|(value, valid)| Layout::Nullable { valid, value: Box::new(value) }))
    }

    fn compile_record(
        &mut self,
        fields: &[(String, Node)],
        path: &str,
        wanted: Option<&Wanted<'_>>,
    ) -> Result<Option<Layout>> {
        let mut children = Vec::new();
        for (name, node) in fields {
            let below = wanted.and_then(|wanted| wanted.below(name));
            if let Some(layout) = self.compile(node, &format!("{path}.{name}"), below.as_ref())? {
                children.push((name.clone(), layout));
            }
        }
        Ok(wanted.map(|_| Layout::record(children)))
    }

    fn compile_union(
        &mut self,
        branches: &[Node],
        path: &str,
        wanted: Option<&Wanted<'_>>,
    ) -> Result<Option<Layout>> {
        let count = u32::try_from(branches.len()).unwrap_or(u32::MAX);
        let types = wanted.map(|_| self.pools.add_union(branches.len()));
        let at = self.push(Op::Union { branches: count, types, end: 0 }, path);
        let mut layouts = Vec::new();
        for branch in branches {
            let head = self.push(Op::Branch { end: 0 }, path);
            // A union is taken whole or not at all: paths do not reach into branches.
            let everything = wanted.map(|_| Wanted::everything());
            layouts.extend(self.compile(branch, path, everything.as_ref())?);
            self.ops[head] = Op::Branch { end: self.here() };
        }
        self.ops[at] = Op::Union { branches: count, types, end: self.here() };
        types.map(|types| Layout::union(types, layouts)).transpose()
    }

    fn compile_array(
        &mut self,
        items: &Node,
        logical: Option<Logical>,
        path: &str,
        wanted: Option<&Wanted<'_>>,
    ) -> Result<Option<Layout>> {
        let list = wanted.map(|_| self.pools.add_list());
        let at = self.push(Op::Array { least: least(items), list, end: 0 }, path);
        // An array is taken whole: a path into its items would need a list of pruned structs.
        let everything = wanted.map(|_| Wanted::everything());
        let layout = self.compile(items, path, everything.as_ref())?;
        self.ops[at] = Op::Array { least: least(items), list, end: self.here() };
        self.fuse(at, items);
        Ok(layout.zip(list).map(|(layout, list)| match (logical, layout) {
            (Some(Logical::Map), Layout::Struct { fields, children }) => {
                match <[Layout; 2]>::try_from(children) {
                    Ok([key, value]) => Layout::map(list, key, value),
                    Err(children) => Layout::list(list, Layout::Struct { fields, children }),
                }
            }
            (_, layout) => Layout::list(list, layout),
        }))
    }

    /// Replaces an array of nullable longs by its fused instruction.
    fn fuse(&mut self, at: usize, items: &Node) {
        let plain_long = matches!(items.nullable(), Some((_, Node { wire: Wire::Long, .. })));
        if let (true, [Op::Array { list, .. }, Op::Nullable { null, valid, .. }, Op::Long(long)]) =
            (plain_long, &self.ops[at..])
        {
            let fused = Op::NullableLongs { null: *null, list: *list, valid: *valid, long: *long };
            self.ops.truncate(at);
            self.paths.truncate(at + 1);
            self.ops.push(fused);
        }
    }

    fn compile_map(
        &mut self,
        value: &Node,
        path: &str,
        wanted: Option<&Wanted<'_>>,
    ) -> Result<Option<Layout>> {
        let list = wanted.map(|_| self.pools.add_list());
        let at = self.push(Op::Array { least: 0, list, end: 0 }, path);
        let key = Node { wire: Wire::String, logical: None };
        let key = self.compile_leaf(&key, &format!("{path}.key"), wanted.is_some());
        let everything = wanted.map(|_| Wanted::everything());
        let least = least(value).saturating_add(1);
        let value = self.compile(value, &format!("{path}.value"), everything.as_ref())?;
        self.ops[at] = Op::Array { least, list, end: self.here() };
        Ok(match (list, key, value) {
            (Some(list), Some(key), Some(value)) => Some(Layout::map(list, key, value)),
            _ => None,
        })
    }
}

fn least(node: &Node) -> u32 {
    u32::try_from(node.least_bytes()).unwrap_or(u32::MAX)
}
