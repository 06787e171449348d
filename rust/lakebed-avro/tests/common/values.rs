//! Random values of a schema.

use std::collections::HashMap;

use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, Name, UuidSchema};
use apache_avro::types::Value;
use apache_avro::{Days, Decimal, Duration, Millis, Months, Schema};
use arrow_buffer::i256;

use super::rng::Rng;

/// Strings with one to four bytes per character.
const ALPHABET: [&str; 8] = ["a", "b", "Z", "0", " ", "é", "語", "🦆"];

/// Makes values of one schema; knows its named types.
pub struct Generator<'s> {
    names: HashMap<Name, &'s Schema>,
}

impl<'s> Generator<'s> {
    /// A generator for values of `schema` and of the types in it.
    pub fn new(schema: &'s Schema) -> Generator<'s> {
        let mut generator = Generator { names: HashMap::new() };
        generator.collect(schema);
        generator
    }

    fn collect(&mut self, schema: &'s Schema) {
        if let (Some(name), false) = (schema.name(), matches!(schema, Schema::Ref { .. })) {
            self.names.insert(name.clone(), schema);
        }
        match schema {
            Schema::Array(array) => self.collect(&array.items),
            Schema::Map(map) => self.collect(&map.types),
            Schema::Union(union) => union.variants().iter().for_each(|branch| self.collect(branch)),
            Schema::Record(record) => record.fields.iter().for_each(|field| self.collect(&field.schema)),
            _ => {}
        }
    }

    /// A random row: a value of `schema`, but not a null instead of a record, which is not a row.
    pub fn row(&self, rng: &mut Rng, schema: &Schema) -> Value {
        let Schema::Union(union) = schema else { return self.value(rng, schema) };
        let branch = match union.variants() {
            [Schema::Null, Schema::Record(_)] => 1,
            [Schema::Record(_), Schema::Null] => 0,
            _ => return self.value(rng, schema),
        };
        Value::Union(branch, Box::new(self.value(rng, &union.variants()[branch as usize])))
    }

    /// A random value of `schema`.
    pub fn value(&self, rng: &mut Rng, schema: &Schema) -> Value {
        match schema {
            Schema::Ref { name } => self.value(rng, self.names[name]),
            Schema::Array(array) => Value::Array(self.run(rng, |rng| self.value(rng, &array.items))),
            Schema::Map(map) => {
                let entries = self.run(rng, |rng| (text(rng), self.value(rng, &map.types)));
                Value::Map(entries.into_iter().collect::<HashMap<_, _>>())
            }
            Schema::Union(union) => {
                let branch = rng.below(union.variants().len() as u64) as usize;
                Value::Union(branch as u32, Box::new(self.value(rng, &union.variants()[branch])))
            }
            Schema::Record(record) => {
                let field = |field: &apache_avro::schema::RecordField| field.name.clone();
                let values = record.fields.iter().map(|f| (field(f), self.value(rng, &f.schema)));
                Value::Record(values.collect())
            }
            leaf => scalar(rng, leaf),
        }
    }

    fn run<T>(&self, rng: &mut Rng, mut make: impl FnMut(&mut Rng) -> T) -> Vec<T> {
        // Sometimes more than the tight loops decode at a time.
        let most = if rng.once_in(30) { 40 } else { 5 };
        (0..rng.below(most)).map(|_| make(rng)).collect()
    }
}

fn scalar(rng: &mut Rng, schema: &Schema) -> Value {
    match schema {
        Schema::Null => Value::Null,
        Schema::Boolean => Value::Boolean(rng.once_in(2)),
        Schema::Int => Value::Int((rng.long() >> rng.below(2).wrapping_mul(32)) as i32),
        Schema::Long => Value::Long(rng.long()),
        Schema::Float => Value::Float(f32::from_bits(rng.next() as u32)),
        Schema::Double => Value::Double(f64::from_bits(rng.next())),
        Schema::Bytes => Value::Bytes(blob(rng)),
        Schema::String => Value::String(text(rng)),
        Schema::Date => Value::Date(rng.long() as i32),
        Schema::TimeMillis => Value::TimeMillis(rng.below(86_400_000) as i32),
        Schema::TimeMicros => Value::TimeMicros(rng.below(86_400_000_000) as i64),
        Schema::TimestampMillis => Value::TimestampMillis(rng.long() / 1000),
        Schema::TimestampMicros => Value::TimestampMicros(rng.long()),
        Schema::TimestampNanos => Value::TimestampNanos(rng.long()),
        Schema::LocalTimestampMillis => Value::LocalTimestampMillis(rng.long() / 1000),
        Schema::LocalTimestampMicros => Value::LocalTimestampMicros(rng.long()),
        Schema::LocalTimestampNanos => Value::LocalTimestampNanos(rng.long()),
        Schema::Uuid(UuidSchema::String) => Value::String(uuid(rng)),
        Schema::Fixed(fixed) => Value::Fixed(fixed.size, rng.bytes(fixed.size)),
        Schema::Enum(symbols) => {
            let index = rng.below(symbols.symbols.len() as u64) as usize;
            Value::Enum(index as u32, symbols.symbols[index].clone())
        }
        Schema::Duration(_) => {
            let mut half = || (rng.next() as u32) >> 1;
            Value::Duration(Duration::new(Months::new(half()), Days::new(half()), Millis::new(half() << 1)))
        }
        Schema::Decimal(decimal) => Value::Decimal(decimal_value(rng, decimal)),
        other => panic!("the generator makes no {other:?}"),
    }
}

/// A length that is sometimes beyond the 16 or 32 bytes that the decoder copies at once.
fn length(rng: &mut Rng) -> u64 {
    let most = *rng.pick(&[0, 4, 20, 40, 100]);
    rng.below(most + 1)
}

fn blob(rng: &mut Rng) -> Vec<u8> {
    let length = length(rng);
    rng.bytes(length as usize)
}

fn text(rng: &mut Rng) -> String {
    (0..length(rng)).map(|_| *rng.pick(&ALPHABET)).collect()
}

fn uuid(rng: &mut Rng) -> String {
    let hex: String = rng.bytes(16).iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// An unscaled number of at most the declared digits, sometimes with more sign bytes than it needs.
fn decimal_value(rng: &mut Rng, schema: &DecimalSchema) -> Decimal {
    let digits = rng.below(schema.precision.min(76) as u64 + 1);
    let ten = i256::from_i128(10);
    let mut number = i256::ZERO;
    for _ in 0..digits {
        number = number * ten + i256::from_i128(i128::from(rng.below(10)));
    }
    if rng.once_in(2) {
        number = -number;
    }
    let bytes = number.to_be_bytes();
    let sign = if number.is_negative() { 0xff } else { 0 };
    let spare = |pair: &[u8]| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0;
    let least = 32 - bytes.windows(2).take_while(|pair| spare(pair)).count();
    let size = match &schema.inner {
        InnerDecimalSchema::Fixed(fixed) => fixed.size,
        InnerDecimalSchema::Bytes => least + rng.below(3) as usize * rng.below(20) as usize,
    };
    let mut padded = vec![sign; size.saturating_sub(32)];
    padded.extend(&bytes[32 - size.min(32)..]);
    Decimal::from(padded)
}
