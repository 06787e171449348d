//! The order of keys in metadata, as Iceberg's Java library writes them: `TableMetadataParser.java`,
//! `SchemaParser.java`, `PartitionSpecParser.java`, `SortOrderParser.java`, `SnapshotParser.java`,
//! `SnapshotRefParser.java`, `StatisticsFileParser.java`.

use serde_json::{Map, Value};

/// The keys of an object, in order, with the kinds of their values.
pub(super) struct Order(&'static [(&'static str, Shape)]);

/// The kind of a key's value.
#[derive(Clone, Copy)]
enum Shape {
    /// Values that are not ordered.
    Plain,
    /// An object, or a list of them.
    Of(&'static Order),
    /// An object of objects.
    Named(&'static Order),
}

use Shape::{Named, Of, Plain};

/// Table metadata.
pub(super) static METADATA: Order = Order(&[
    ("format-version", Plain),
    ("table-uuid", Plain),
    ("location", Plain),
    ("last-sequence-number", Plain),
    ("last-updated-ms", Plain),
    ("last-column-id", Plain),
    ("schema", Of(&TYPE)),
    ("current-schema-id", Plain),
    ("schemas", Of(&TYPE)),
    ("partition-spec", Of(&PARTITION_FIELD)),
    ("default-spec-id", Plain),
    ("partition-specs", Of(&SPEC)),
    ("last-partition-id", Plain),
    ("default-sort-order-id", Plain),
    ("sort-orders", Of(&SORT_ORDER)),
    ("properties", Plain),
    ("current-snapshot-id", Plain),
    ("next-row-id", Plain),
    ("encryption-keys", Of(&ENCRYPTION_KEY)),
    ("refs", Named(&REF)),
    ("snapshots", Of(&SNAPSHOT)),
    ("statistics", Of(&STATISTICS)),
    ("partition-statistics", Of(&STATISTICS)),
    ("snapshot-log", Of(&LOG)),
    ("metadata-log", Of(&LOG)),
]);

/// Schemas and nested types.
static TYPE: Order = Order(&[
    ("type", Plain),
    ("schema-id", Plain),
    ("identifier-field-ids", Plain),
    ("fields", Of(&FIELD)),
    ("element-id", Plain),
    ("element", Of(&TYPE)),
    ("element-required", Plain),
    ("key-id", Plain),
    ("key", Of(&TYPE)),
    ("value-id", Plain),
    ("value", Of(&TYPE)),
    ("value-required", Plain),
]);

static FIELD: Order = Order(&[
    ("id", Plain),
    ("name", Plain),
    ("required", Plain),
    ("type", Of(&TYPE)),
    ("doc", Plain),
    ("initial-default", Plain),
    ("write-default", Plain),
]);

static SPEC: Order = Order(&[("spec-id", Plain), ("fields", Of(&PARTITION_FIELD))]);

static PARTITION_FIELD: Order = Order(&[
    ("name", Plain),
    ("transform", Plain),
    ("source-id", Plain),
    ("source-ids", Plain),
    ("field-id", Plain),
]);

static SORT_ORDER: Order = Order(&[("order-id", Plain), ("fields", Of(&SORT_FIELD))]);

static SORT_FIELD: Order =
    Order(&[("transform", Plain), ("source-id", Plain), ("direction", Plain), ("null-order", Plain)]);

static ENCRYPTION_KEY: Order = Order(&[
    ("key-id", Plain),
    ("encrypted-key-metadata", Plain),
    ("encrypted-by-id", Plain),
    ("properties", Plain),
]);

static REF: Order = Order(&[
    ("snapshot-id", Plain),
    ("type", Plain),
    ("min-snapshots-to-keep", Plain),
    ("max-snapshot-age-ms", Plain),
    ("max-ref-age-ms", Plain),
]);

static SNAPSHOT: Order = Order(&[
    ("sequence-number", Plain),
    ("snapshot-id", Plain),
    ("parent-snapshot-id", Plain),
    ("timestamp-ms", Plain),
    ("summary", Of(&SUMMARY)),
    ("manifest-list", Plain),
    ("manifests", Plain),
    ("schema-id", Plain),
    ("first-row-id", Plain),
    ("added-rows", Plain),
    ("key-id", Plain),
]);

/// Other keys keep the order of the writer.
static SUMMARY: Order = Order(&[("operation", Plain)]);

static STATISTICS: Order = Order(&[
    ("snapshot-id", Plain),
    ("statistics-path", Plain),
    ("file-size-in-bytes", Plain),
    ("file-footer-size-in-bytes", Plain),
    ("key-metadata", Plain),
    ("blob-metadata", Of(&BLOB)),
]);

static BLOB: Order = Order(&[
    ("type", Plain),
    ("snapshot-id", Plain),
    ("sequence-number", Plain),
    ("fields", Plain),
    ("properties", Plain),
]);

static LOG: Order = Order(&[("timestamp-ms", Plain), ("snapshot-id", Plain), ("metadata-file", Plain)]);

/// An object with its keys in order; keys that the order does not have follow in their own order.
pub(super) fn ordered(mut object: Map<String, Value>, order: &Order) -> Map<String, Value> {
    let mut out = Map::with_capacity(object.len());
    for (key, shape) in order.0 {
        if let Some(value) = object.shift_remove(*key) {
            out.insert((*key).to_owned(), shaped(value, *shape));
        }
    }
    out.extend(object);
    out
}

fn shaped(value: Value, shape: Shape) -> Value {
    match (value, shape) {
        (Value::Object(object), Of(order)) => Value::Object(ordered(object, order)),
        (Value::Array(items), Of(_)) => items.into_iter().map(|item| shaped(item, shape)).collect(),
        (Value::Object(object), Named(order)) => {
            let named = object.into_iter().map(|(name, value)| (name, shaped(value, Of(order))));
            Value::Object(named.collect())
        }
        (value, _) => value,
    }
}
