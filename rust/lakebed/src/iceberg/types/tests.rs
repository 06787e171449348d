use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorKind;
use crate::json::MAX_TYPE_DEPTH;
use crate::test_data::Random;

fn parse(text: &str) -> crate::Result<Type> {
    Type::from_json(&Value::String(text.to_owned()))
}

fn schema(fields: Value) -> crate::Result<Schema> {
    Schema::from_json(&json!({"type": "struct", "schema-id": 3, "fields": fields}))
}

fn nested() -> Schema {
    schema(json!([
        {"id": 1, "name": "id", "required": true, "type": "long", "doc": "the key"},
        {"id": 2, "name": "point.x", "required": false, "type": "int"},
        {"id": 3, "name": "point", "required": true, "type": {"type": "struct", "fields": [
            {"id": 5, "name": "x", "required": true, "type": "double", "initial-default": 1.0},
            {"id": 6, "name": "y.z", "required": false, "type": "decimal(9,2)"}]}},
        {"id": 4, "name": "tags", "required": false, "type": {
            "type": "map", "key-id": 7, "key": "string", "value-id": 8, "value-required": false,
            "value": {"type": "list", "element-id": 9, "element": "uuid", "element-required": true}}},
        {"id": 10, "name": "v", "required": false, "type": "variant"},
    ]))
    .expect("a schema")
}

#[test]
fn texts_print_canonically() {
    for (input, printed) in [
        ("boolean", "boolean"),
        ("INT", "int"),
        (" Long ", "long"),
        ("timestamptz_NS", "timestamptz_ns"),
        ("decimal(9,2)", "decimal(9, 2)"),
        ("Decimal ( 38 ,\t0 )", "decimal(38, 0)"),
        ("decimal(9, -20)", "decimal(9, -20)"),
        ("fixed[ 16 ]", "fixed[16]"),
        ("fixed[0]", "fixed[0]"),
        ("unknown", "unknown"),
        ("variant", "variant"),
        ("geometry", "geometry"),
        ("geometry(ogc:crs84)", "geometry"),
        ("geometry( srid:4326 )", "geometry(srid:4326)"),
        ("geography", "geography"),
        ("GEOGRAPHY(srid:4326)", "geography(srid:4326)"),
        ("geography(OGC:CRS84, KARNEY)", "geography(OGC:CRS84, karney)"),
        ("geography(x,andoyer)", "geography(x, andoyer)"),
    ] {
        let ty = parse(input).unwrap_or_else(|error| panic!("{input}: {error}"));
        assert_eq!(ty.to_string(), printed, "{input}");
        assert_eq!(parse(printed).unwrap(), ty, "{input}");
    }
}

#[test]
fn texts_outside_the_grammar_are_refused() {
    for text in [
        "",
        "integer",
        "decimal",
        "decimal(9)",
        "decimal(0, 0)",
        "decimal(39, 2)",
        "decimal(5, 6)",
        "decimal(9, 2",
        "decimal(+9, 2)",
        "fixed",
        "fixed(16)",
        "fixed[-1]",
        "fixed[2147483648]",
        "geography(x, flat)",
        "int[3]",
        "list",
    ] {
        assert_eq!(parse(text).expect_err(text).kind(), ErrorKind::Type, "{text}");
    }
    for long in [format!("decimal({}", "(".repeat(100_000)), "ü".repeat(100_000)] {
        assert!(parse(&long).expect_err("not a type").message().len() < 300);
    }
}

#[test]
fn nested_types_print_as_in_java() {
    let printed: Vec<String> = nested().fields.iter().map(|field| field.to_string()).collect();
    assert_eq!(
        printed,
        [
            "1: id: required long (the key)",
            "2: point.x: optional int",
            "3: point: required struct<5: x: required double, 6: y.z: optional decimal(9, 2)>",
            "4: tags: optional map<string, list<uuid>>",
            "10: v: optional variant",
        ]
    );
}

#[test]
fn fields_are_found_by_id_and_by_full_name() {
    let schema = nested();
    assert_eq!(schema.schema_id, 3);
    for (id, name) in [
        (1, "id"),
        (5, "point.x"),
        (6, "point.y.z"),
        (7, "tags.key"),
        (8, "tags.value"),
        (9, "tags.value.element"),
    ] {
        assert_eq!(schema.name_of(id), Some(name));
        assert_eq!(schema.field_by_id(id).unwrap().id, id);
        assert_eq!(schema.field_by_name(name).unwrap().id, id);
    }
    assert_eq!(schema.name_of(2), Some("point.x"), "hidden by the nested field of the same name");
    assert!(schema.field_by_name("ID").is_none());
    assert!(schema.field_by_id(11).is_none());
    assert_eq!(schema.field_by_id(5).unwrap().initial_default, Some(json!(1.0)));
    let primitives: Vec<&str> = schema.primitives().map(|(name, _)| name).collect();
    assert_eq!(primitives, ["id", "point.x", "point.x", "point.y.z", "tags.key", "tags.value.element"]);
}

#[test]
fn arrow_types() {
    let utc = || Some("UTC".into());
    for (text, arrow) in [
        ("int", DataType::Int32),
        ("time", DataType::Time64(TimeUnit::Microsecond)),
        ("timestamp", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("timestamptz", DataType::Timestamp(TimeUnit::Microsecond, utc())),
        ("timestamptz_ns", DataType::Timestamp(TimeUnit::Nanosecond, utc())),
        ("uuid", DataType::Utf8),
        ("fixed[3]", DataType::Binary),
        ("geometry", DataType::Binary),
        ("unknown", DataType::Null),
        ("decimal(9, -20)", DataType::Decimal128(9, -20)),
    ] {
        assert_eq!(parse(text).unwrap().arrow(), arrow, "{text}");
    }
    let fields = nested().arrow();
    let uuids = DataType::new_list(DataType::Utf8, false);
    let entries = vec![Field::new("key", DataType::Utf8, false), Field::new("value", uuids, true)];
    let entries = Field::new("entries", DataType::Struct(entries.into()), false);
    assert_eq!(fields[3].data_type(), &DataType::Map(Arc::new(entries), false));
    assert!(!fields[0].is_nullable());
}

#[test]
fn json_errors_name_what_is_wrong() {
    let field = |key: &str, value: Value| {
        let mut field = json!({"id": 1, "name": "a", "required": true, "type": "int"});
        field[key] = value;
        schema(json!([field])).expect_err("refused")
    };
    for (key, kind) in [
        ("id", ErrorKind::Required),
        ("name", ErrorKind::Required),
        ("required", ErrorKind::Required),
        ("type", ErrorKind::Required),
    ] {
        let error = field(key, Value::Null);
        assert_eq!(error.kind(), kind, "{key}");
        assert!(error.message().contains(&format!("`{key}`")), "{error}");
        assert_eq!(field(key, json!({"type": [1]})).kind(), ErrorKind::Json, "{key}");
    }
    assert_eq!(field("id", json!(1u64 << 40)).kind(), ErrorKind::Json);
    assert_eq!(field("type", json!(7)).kind(), ErrorKind::Type);
    assert_eq!(field("type", json!("int4")).location().field.as_deref(), Some("a"));
    assert_eq!(field("type", json!({"type": "array"})).kind(), ErrorKind::Type);
    let no_struct = Schema::from_json(&json!({"fields": []})).expect_err("no type");
    assert_eq!(no_struct.kind(), ErrorKind::Required);
    assert_eq!(Schema::parse(b"{").expect_err("cut").kind(), ErrorKind::Json);
}

#[test]
fn ids_and_names_are_unique() {
    let int = |id: i32, name: &str| json!({"id": id, "name": name, "required": false, "type": "int"});
    let list = json!({"type": "list", "element-id": 1, "element": "int", "element-required": true});
    let list = json!({"id": 2, "name": "l", "required": true, "type": list});
    for fields in [json!([int(1, "a"), int(1, "b")]), json!([int(1, "a"), list])] {
        assert!(schema(fields).expect_err("refused").message().contains("field id 1 appears twice"));
    }
    assert!(schema(json!([int(1, "a"), int(2, "a")])).is_err());
    assert!(schema(json!([int(1, "a"), int(2, "A")])).is_ok());
}

#[test]
fn nesting_is_bounded() {
    let wrap =
        |json: Value| json!({"type": "list", "element-id": 1, "element": json, "element-required": true});
    let mut json = json!("int");
    for _ in 0..MAX_TYPE_DEPTH {
        json = wrap(json);
        assert!(Type::from_json(&json).is_ok());
    }
    assert_eq!(Type::from_json(&wrap(json)).expect_err("deep").kind(), ErrorKind::Type);
    let hostile = r#"{"type":"struct","fields":["#.repeat(100_000);
    assert_eq!(Schema::parse(hostile.as_bytes()).expect_err("deep").kind(), ErrorKind::Json);
}

#[test]
fn schemas_are_written_as_they_are_read() {
    let written = json!({
        "type": "struct",
        "schema-id": 3,
        "identifier-field-ids": [1],
        "fields": [
            {"id": 1, "name": "a.b", "required": true, "type": "decimal(9, 2)", "doc": "money"},
            {"id": 2, "name": "m", "required": false, "type": {
                "type": "map", "key-id": 3, "key": "string", "value-id": 4,
                "value": {"type": "list", "element-id": 5, "element": "uuid", "element-required": false},
                "value-required": true}},
            {"id": 6, "name": "s", "required": false, "initial-default": {}, "write-default": {"7": 1},
             "type": {"type": "struct", "fields": [
                {"id": 7, "name": "n", "required": false, "type": "geography(OGC:CRS84, karney)"}]}},
        ],
    });
    assert_eq!(Schema::from_json(&written).expect("a schema").to_json(), written);
}

#[test]
fn changed_schemas_never_panic() {
    let fields: Vec<Value> = vec![
        json!({"id": 1, "name": "a.b", "required": true, "type": "decimal(9, 2)", "doc": "x"}),
        json!({"id": 2, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 3, "name": "g", "required": false, "type": "geography(OGC:CRS84, karney)"}]}}),
        json!({"id": 4, "name": "m", "required": false, "type": {"type": "map", "key-id": 5, "key": "string",
            "value-id": 6, "value": "fixed[16]", "value-required": false}}),
    ];
    let json = json!({"type": "struct", "schema-id": 0, "identifier-field-ids": [1], "fields": fields});
    let bytes = serde_json::to_vec(&json).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..5000 {
        if let Ok(schema) = Schema::parse(&random.mutate(&bytes)) {
            schema.fields.iter().for_each(|field| drop((field.to_string(), field.arrow())));
        }
    }
}
