//! The honest floor: every value of every record is stepped over, and nothing is kept.
//!
//! Avro has no index inside a block, so a reader of any column has to do at least this. A schema becomes one
//! flat list of ops with jumps; the loop over it neither recurses nor looks up a name.

use apache_avro::Schema;
use apache_avro::schema::{Name, ResolvedSchema, UuidSchema};

use crate::Result;

/// One step over the bytes of a record. Positions are indices into the program.
enum Op {
    /// That many `int`, `long` or `enum` values in a row.
    Varints(u32),
    /// That many bytes: `float`, `double`, `boolean`, `fixed`.
    Fixed(usize),
    /// A length, then that many bytes: `bytes` and `string`.
    Bytes,
    /// The branch number of a union; each branch has its own start.
    Union(Box<[usize]>),
    /// On from another position: the end of a union's branch.
    Jump(usize),
    /// The first block count of an array or map; on at `end` when it is empty.
    Loop { end: usize },
    /// The end of an item: back to `start` for the next one, of this block or of the next.
    Next { start: usize },
    /// A whole array of varints, or of records of that many varints, which is what counts by column are.
    VarintArray { each: u64 },
    /// A union of null and a varint; the branch byte of null.
    OptionalVarint { null: u8 },
    /// A whole array of such unions, which is what null counts are.
    OptionalVarintArray { null: u8 },
}

/// A writer schema, compiled to the ops that step over one record.
pub struct Program(Vec<Op>);

impl Program {
    /// Compiles a writer schema. A recursive schema is refused: no manifest has one.
    pub fn compile(schema_json: &str) -> Result<Self> {
        let schema = Schema::parse_str(schema_json)?;
        let names = ResolvedSchema::try_from(&schema)?;
        let mut compiler = Compiler { ops: Vec::new(), names: &names, depth: 0 };
        compiler.emit(&schema)?;
        Ok(Self(compiler.ops))
    }

    /// Steps over one record that starts at `pos` and returns the position after it.
    ///
    /// `bytes` must be readable for eight bytes beyond the payload.
    pub fn walk(&self, bytes: &[u8], mut pos: usize, left: &mut Vec<u64>) -> usize {
        let ops = &self.0[..];
        let mut at = 0;
        while at < ops.len() {
            match &ops[at] {
                Op::Varints(n) => skip_varints(bytes, &mut pos, u64::from(*n)),
                Op::Fixed(n) => pos += n,
                Op::Bytes => pos += read_varint(bytes, &mut pos) as usize,
                Op::Union(branches) => {
                    at = branches[read_varint(bytes, &mut pos) as usize];
                    continue;
                }
                Op::Jump(to) => {
                    at = *to;
                    continue;
                }
                Op::Loop { end } => match block_count(bytes, &mut pos) {
                    0 => {
                        at = *end;
                        continue;
                    }
                    count => left.push(count),
                },
                Op::Next { start } => {
                    let mut items = left.pop().unwrap_or(1) - 1;
                    if items == 0 {
                        items = block_count(bytes, &mut pos);
                    }
                    if items > 0 {
                        left.push(items);
                        at = *start;
                        continue;
                    }
                }
                Op::VarintArray { each } => each_block(bytes, &mut pos, |bytes, pos, count| {
                    skip_varints(bytes, pos, count.saturating_mul(*each));
                }),
                Op::OptionalVarint { null } => skip_optional_varint(bytes, &mut pos, *null),
                Op::OptionalVarintArray { null } => each_block(bytes, &mut pos, |bytes, pos, count| {
                    skip_optional_varints(bytes, pos, count, *null)
                }),
            }
            at += 1;
        }
        pos
    }
}

fn each_block(bytes: &[u8], pos: &mut usize, mut items: impl FnMut(&[u8], &mut usize, u64)) {
    loop {
        match block_count(bytes, pos) {
            0 => return,
            count => items(bytes, pos, count),
        }
    }
}

/// The item count of an array's or map's next block; the optional byte size after it is stepped over.
fn block_count(bytes: &[u8], pos: &mut usize) -> u64 {
    let count = read_varint(bytes, pos);
    if count < 0 {
        skip_varints(bytes, pos, 1);
    }
    count.unsigned_abs()
}

#[inline(always)]
fn read_varint(bytes: &[u8], pos: &mut usize) -> i64 {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = bytes[*pos];
        *pos += 1;
        value |= u64::from(byte & 0x7f) << (shift & 63);
        shift += 7;
        if byte < 0x80 {
            return (value >> 1) as i64 ^ -((value & 1) as i64);
        }
    }
}

/// Steps over `count` varints, eight bytes at a time: a byte without its high bit ends one.
#[inline(always)]
fn skip_varints(bytes: &[u8], pos: &mut usize, mut count: u64) {
    while count > 0 {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[*pos..*pos + 8]);
        let mut ends = !u64::from_le_bytes(word) & 0x8080_8080_8080_8080;
        let found = u64::from(ends.count_ones());
        if found < count {
            count -= found;
            *pos += 8;
            continue;
        }
        for _ in 1..count {
            ends &= ends - 1;
        }
        *pos += ends.trailing_zeros() as usize / 8 + 1;
        return;
    }
}

#[inline(always)]
fn skip_optional_varint(bytes: &[u8], pos: &mut usize, null: u8) {
    let branch = bytes[*pos];
    *pos += 1;
    if branch != null {
        skip_varints(bytes, pos, 1);
    }
}

/// Four items at a time where all are present and below 64, which is to say of two bytes each.
#[inline(always)]
fn skip_optional_varints(bytes: &[u8], pos: &mut usize, mut count: u64, null: u8) {
    let present = u64::from(null ^ 2) * 0x0001_0001_0001_0001;
    while count > 0 {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[*pos..*pos + 8]);
        if count >= 4 && (u64::from_le_bytes(word) ^ present) & 0x80ff_80ff_80ff_80ff == 0 {
            *pos += 8;
            count -= 4;
        } else {
            skip_optional_varint(bytes, pos, null);
            count -= 1;
        }
    }
}

struct Compiler<'a> {
    ops: Vec<Op>,
    names: &'a ResolvedSchema<'a>,
    depth: u32,
}

impl Compiler<'_> {
    fn emit(&mut self, schema: &Schema) -> Result<()> {
        match schema {
            Schema::Null => {}
            Schema::Boolean => self.fixed(1),
            Schema::Float => self.fixed(4),
            Schema::Double => self.fixed(8),
            Schema::Fixed(fixed) | Schema::Duration(fixed) => self.fixed(fixed.size),
            Schema::Uuid(UuidSchema::Fixed(fixed)) => self.fixed(fixed.size),
            Schema::Bytes | Schema::String | Schema::BigDecimal | Schema::Uuid(_) => self.ops.push(Op::Bytes),
            Schema::Decimal(decimal) => match &decimal.inner {
                apache_avro::schema::InnerDecimalSchema::Bytes => self.ops.push(Op::Bytes),
                apache_avro::schema::InnerDecimalSchema::Fixed(fixed) => self.fixed(fixed.size),
            },
            Schema::Record(record) => {
                for field in &record.fields {
                    self.emit(&field.schema)?;
                }
            }
            Schema::Ref { name } => self.reference(name)?,
            Schema::Array(array) => self.array(&array.items)?,
            Schema::Map(map) => self.repeat(|compiler| {
                compiler.ops.push(Op::Bytes);
                compiler.emit(&map.types)
            })?,
            Schema::Union(union) => match optional_varint(schema) {
                Some(null) => self.ops.push(Op::OptionalVarint { null }),
                None => self.union(union.variants())?,
            },
            varint if is_varint(varint) => self.varint(),
            other => return Err(format!("the floor does not know {other:?}").into()),
        }
        Ok(())
    }

    fn fixed(&mut self, size: usize) {
        self.ops.push(Op::Fixed(size));
    }

    /// Adds a varint to the run before it. A run never continues over a jump's target: every union, array
    /// and map ends with an op of its own.
    fn varint(&mut self) {
        match self.ops.last_mut() {
            Some(Op::Varints(n)) => *n += 1,
            _ => self.ops.push(Op::Varints(1)),
        }
    }

    fn reference(&mut self, name: &Name) -> Result<()> {
        let schema = *self.names.get_names().get(name).ok_or_else(|| format!("no schema named {name}"))?;
        self.depth += 1;
        if self.depth > 64 {
            return Err(format!("{name} is recursive").into());
        }
        self.emit(schema)?;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, items: &Schema) -> Result<()> {
        match (varints(items), optional_varint(items)) {
            (Some(each), _) => self.ops.push(Op::VarintArray { each }),
            (_, Some(null)) => self.ops.push(Op::OptionalVarintArray { null }),
            _ => self.repeat(|compiler| compiler.emit(items))?,
        }
        Ok(())
    }

    fn repeat(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let head = self.ops.len();
        self.ops.push(Op::Loop { end: 0 });
        body(self)?;
        self.ops.push(Op::Next { start: head + 1 });
        self.ops[head] = Op::Loop { end: self.ops.len() };
        Ok(())
    }

    fn union(&mut self, variants: &[Schema]) -> Result<()> {
        let head = self.ops.len();
        self.ops.push(Op::Union(Box::default()));
        let (mut starts, mut jumps) = (Vec::new(), Vec::new());
        for variant in variants {
            starts.push(self.ops.len());
            self.emit(variant)?;
            jumps.push(self.ops.len());
            self.ops.push(Op::Jump(0));
        }
        let end = self.ops.len();
        for jump in jumps {
            self.ops[jump] = Op::Jump(end);
        }
        // An empty branch needs no op of its own: its jump is taken at once.
        for start in &mut starts {
            if let Op::Jump(to) = self.ops[*start] {
                *start = to;
            }
        }
        self.ops[head] = Op::Union(starts.into());
        Ok(())
    }
}

/// The branch byte of null if the schema is a union of null and a varint.
fn optional_varint(schema: &Schema) -> Option<u8> {
    let Schema::Union(union) = schema else { return None };
    match union.variants() {
        [Schema::Null, item] if is_varint(item) => Some(0),
        [item, Schema::Null] if is_varint(item) => Some(2),
        _ => None,
    }
}

/// How many varints a value is, if it is nothing else.
fn varints(schema: &Schema) -> Option<u64> {
    match schema {
        Schema::Record(record) if !record.fields.is_empty() => {
            record.fields.iter().map(|field| varints(&field.schema)).sum()
        }
        item => is_varint(item).then_some(1),
    }
}

fn is_varint(schema: &Schema) -> bool {
    matches!(
        schema,
        Schema::Int
            | Schema::Long
            | Schema::Enum(_)
            | Schema::Date
            | Schema::TimeMillis
            | Schema::TimeMicros
            | Schema::TimestampMillis
            | Schema::TimestampMicros
            | Schema::TimestampNanos
            | Schema::LocalTimestampMillis
            | Schema::LocalTimestampMicros
            | Schema::LocalTimestampNanos
    )
}
