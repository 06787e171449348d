//! Random Avro schemas that have an Arrow type.

use serde_json::{Value as Json, json};

use super::rng::Rng;

/// Plain types by name.
pub const PLAIN: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];

/// Logical types by the type below.
const LOGICAL: [(&str, &str); 10] = [
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "time-micros"),
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "timestamp-nanos"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("long", "local-timestamp-nanos"),
    ("string", "uuid"),
];

/// A record of one to five fields; sometimes in a union with null, or not a record at all.
pub fn row(rng: &mut Rng) -> Json {
    let mut maker = Maker { rng, named: 0, seen: Vec::new() };
    match maker.rng.below(20) {
        0 => maker.schema(3),
        1 => json!(["null", maker.record(3, 5)]),
        _ => maker.record(3, 5),
    }
}

struct Maker<'r> {
    rng: &'r mut Rng,
    named: u32,
    /// Named types that are complete and may be referred to.
    seen: Vec<String>,
}

impl Maker<'_> {
    fn name(&mut self, kind: &str) -> String {
        self.named += 1;
        format!("{kind}{}", self.named)
    }

    fn record(&mut self, depth: u32, most: u64) -> Json {
        let name = self.name("r");
        let count = self.rng.below(most) + u64::from(!self.rng.once_in(10));
        let fields: Vec<Json> =
            (0..count).map(|i| json!({"name": format!("f{i}"), "type": self.schema(depth)})).collect();
        self.seen.push(name.clone());
        json!({"type": "record", "name": name, "fields": fields})
    }

    fn schema(&mut self, depth: u32) -> Json {
        match self.rng.below(if depth == 0 { 9 } else { 21 }) {
            0..=3 => json!(self.rng.pick(&PLAIN)),
            4 | 5 => {
                let (wire, logical) = self.rng.pick(&LOGICAL);
                json!({"type": wire, "logicalType": logical})
            }
            6..=8 => self.named(),
            9..=12 => self.nullable(depth - 1),
            13 => self.union(depth - 1),
            14 => self.record(depth - 1, 4),
            15 | 16 => json!({"type": "array", "items": self.schema(depth - 1)}),
            17 => json!({"type": "map", "values": self.schema(depth - 1)}),
            18 => self.pairs(depth - 1),
            _ => self.by_column(),
        }
    }

    /// Enums, fixed, decimals, durations, and references to types that were named before.
    fn named(&mut self) -> Json {
        match self.rng.below(8) {
            0 | 1 => {
                let symbols: Vec<String> = (0..=self.rng.below(70)).map(|i| format!("S{i}")).collect();
                let name = self.name("e");
                self.seen.push(name.clone());
                json!({"type": "enum", "name": name, "symbols": symbols})
            }
            2 => {
                let name = self.name("x");
                self.seen.push(name.clone());
                json!({"type": "fixed", "name": name, "size": self.rng.below(20)})
            }
            3 => {
                let name = self.name("d");
                json!({"type": "fixed", "name": name, "size": 12, "logicalType": "duration"})
            }
            4 => {
                let precision = self.rng.below(80) + 1;
                let scale = self.rng.below(precision + 1);
                json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
            }
            5 => {
                let (name, size) = (self.name("c"), self.rng.below(40) + 1);
                // The most digits that this number of bytes can hold.
                let most = ((8 * size - 1) as f64 * 2f64.log10()) as u64;
                let precision = self.rng.below(most) + 1;
                let scale = self.rng.below(precision + 1);
                json!({"type": "fixed", "name": name, "size": size,
                       "logicalType": "decimal", "precision": precision, "scale": scale})
            }
            _ if self.seen.is_empty() => json!("long"),
            _ => json!(self.rng.pick(&self.seen).clone()),
        }
    }

    fn nullable(&mut self, depth: u32) -> Json {
        let known = self.seen.len();
        let mut value = self.schema(depth);
        while value == "null" || value.is_array() {
            // Names of a rejected type cannot be referred to.
            self.seen.truncate(known);
            value = self.schema(depth);
        }
        if self.rng.once_in(2) { json!(["null", value]) } else { json!([value, "null"]) }
    }

    /// A union of branches that the specification allows together.
    fn union(&mut self, depth: u32) -> Json {
        let mut plain: Vec<Json> = PLAIN.iter().map(|name| json!(name)).collect();
        plain.retain(|_| self.rng.once_in(4));
        let mut nested: Vec<Json> = (0..self.rng.below(3)).map(|_| self.record(depth, 3)).collect();
        if self.rng.once_in(3) {
            nested.push(json!({"type": "array", "items": self.schema(depth)}));
        }
        if self.rng.once_in(3) {
            nested.push(json!({"type": "map", "values": self.schema(depth)}));
        }
        if plain.is_empty() {
            plain.push(json!("string"));
        }
        json!(if self.rng.once_in(2) { [plain, nested] } else { [nested, plain] }.concat())
    }

    /// A map whose keys are not strings, as table formats write it.
    fn pairs(&mut self, depth: u32) -> Json {
        let name = self.name("kv");
        let key = self.rng.pick(&["int", "long", "string", "bytes", "boolean"]);
        let fields = json!([{"name": "key", "type": key}, {"name": "value", "type": self.schema(depth)}]);
        let items = json!({"type": "record", "name": name, "fields": fields});
        json!({"type": "array", "logicalType": "map", "items": items})
    }

    /// A map from column ids as manifests hold it, nullable in either order.
    fn by_column(&mut self) -> Json {
        let name = self.name("k");
        let value = self.rng.pick(&["long", "bytes", "string"]);
        let fields = json!([{"name": "key", "type": "int"}, {"name": "value", "type": value}]);
        let items = json!({"type": "record", "name": name, "fields": fields});
        let map = json!({"type": "array", "logicalType": "map", "items": items});
        if self.rng.once_in(2) { json!(["null", map]) } else { json!([map, "null"]) }
    }
}
