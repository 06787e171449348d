//! The program that `benches/instructions.py` runs in callgrind: one case, decoded or encoded once.
//!
//! ```text
//! instructions               the names of all cases
//! instructions decode CASE   with blocks that are not compressed, to count only the decode loop
//! instructions encode CASE
//! ```
#![allow(clippy::print_stdout)] // the output of a program

mod inputs;

use std::hint::black_box;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use inputs::cases::{CASES, Case};
use inputs::work;
use lakebed_avro::Codec;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let [way, name] = arguments.as_slice() else {
        for case in &CASES {
            println!("decode {}", case.name);
            if case.paths.is_none() && case.guard.is_none() {
                println!("encode {}", case.name);
            }
        }
        return;
    };
    let case = CASES.iter().find(|case| case.name == name).expect("one of the cases that are listed");
    let file = case.shape.file(case.rows, Codec::Null);
    match way.as_str() {
        "decode" => drop(black_box(counted_decode(&file.bytes, case))),
        _ => {
            let batches = work::decode(&file.bytes, None, None);
            drop(black_box(counted_encode(&file.bytes, &batches)));
        }
    }
}

/// Callgrind counts the instructions in this function, by its name.
#[inline(never)]
fn counted_decode(file: &Buffer, case: &Case) -> Vec<RecordBatch> {
    work::decode(file, case.paths, case.guard)
}

/// Callgrind counts the instructions in this function, by its name.
#[inline(never)]
fn counted_encode(file: &Buffer, batches: &[RecordBatch]) -> Vec<u8> {
    work::encode(file, batches)
}
