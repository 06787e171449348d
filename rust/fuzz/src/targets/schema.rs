//! The text of a schema: parsed, expanded, resolved.

use std::sync::Arc;

use lakebed_avro::{
    Blocks, Codec, Error, ErrorKind, Program, Projection, ReadOptions, Reader, Schema, WriteOptions, Writer,
};
use serde_json::Value;

use lakebed_avro::Limits;
use lakebed_avro::schema::{Node, Wire};

use super::assert_message;

/// Lower than for the other targets, so that small inputs exceed them.
const LIMITS: Limits = Limits { max_schema_depth: 6, max_schema_nodes: 400, ..super::LIMITS };

/// The errors that a schema may have.
const KINDS: [ErrorKind; 5] =
    [ErrorKind::Schema, ErrorKind::Unsupported, ErrorKind::Limit, ErrorKind::Depth, ErrorKind::Unresolvable];

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let parsed = Schema::parse(text, &LIMITS);
    respaced(text, &parsed);
    let Ok(schema) = parsed.map_err(|error| refused(&error)) else { return };
    let Ok(program) = Program::resolve(&schema, &Projection::All, &[]).map_err(|error| refused(&error))
    else {
        return;
    };
    let (depth, nodes) = extent(schema.root());
    assert!(
        depth <= LIMITS.max_schema_depth && nodes <= LIMITS.max_schema_nodes,
        "{depth} deep, {nodes} nodes"
    );
    projected(&schema, &program);
    let itself = Program::resolve_as(&schema, &schema, &Projection::All, &[]);
    let itself = itself.expect("a schema resolves to itself");
    assert_eq!(itself.schema(), program.schema());
    empty_file(text, &program);
}

/// The depth of a type, and the number of types in it.
fn extent(node: &Node) -> (u64, u64) {
    let below: Vec<&Node> = match &node.wire {
        Wire::Array(items) | Wire::Map(items) => vec![items],
        Wire::Union(branches) => branches.iter().collect(),
        Wire::Record(fields) => fields.iter().map(|field| &field.node).collect(),
        _ => return (0, 1),
    };
    let extents = below.into_iter().map(extent);
    extents.fold((1, 1), |(depth, nodes), (deep, more)| (depth.max(deep + 1), nodes + more))
}

fn refused(error: &Error) {
    assert!(KINDS.contains(&error.kind()), "{:?}: {error}", error.kind());
    assert_message(&error.to_string());
}

/// White space between the parts of a schema changes nothing.
fn respaced(text: &str, parsed: &Result<Schema, Error>) {
    let Ok(json) = serde_json::from_str::<Value>(text) else {
        assert!(parsed.is_err(), "text that is not JSON is not a schema");
        return;
    };
    let Ok(pretty) = serde_json::to_string_pretty(&json) else { return };
    match (Schema::parse(&pretty, &LIMITS), parsed) {
        (Ok(again), Ok(schema)) => assert_eq!(&again, schema),
        (again, first) => {
            assert_eq!(again.err().map(|error| error.kind()), first.as_ref().err().map(|error| error.kind()))
        }
    }
}

/// Each column resolved alone equals the same column among all.
fn projected(schema: &Schema, program: &Program) {
    for field in program.schema().fields().iter().take(8) {
        if !schema.has(field.name()) {
            continue;
        }
        let alone = Projection::Paths(vec![field.name().clone()]);
        let alone = Program::resolve(schema, &alone, &[]).expect("a column that is there");
        assert_eq!(alone.schema().fields().iter().collect::<Vec<_>>(), [field]);
    }
}

/// A file without rows can be written in the schema, and read.
fn empty_file(text: &str, program: &Program) {
    let options = WriteOptions { codec: Codec::Null, limits: LIMITS, ..WriteOptions::new([7; 16]) };
    let Ok(writer) = Writer::new(Vec::new(), text, program.schema(), options) else { return };
    let Ok(file) = writer.finish() else { return };
    let (header, blocks) =
        Blocks::open(arrow_buffer::Buffer::from_vec(file).into(), LIMITS).expect("a header");
    let schema = Schema::parse(header.schema().expect("a schema"), &LIMITS).expect("the same schema");
    let program = Program::resolve(&schema, &Projection::All, &[]).expect("the same program");
    let options = ReadOptions { limits: LIMITS, ..ReadOptions::default() };
    assert_eq!(Reader::new(&header, blocks, Arc::new(program), None, options).count(), 0);
}
