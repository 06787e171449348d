//! Fuzz targets over the public interface of `lakebed-avro` and `lakebed`: README.md says how they are run.

pub mod memory;
pub mod mutate;
pub mod targets;

/// The most bytes that a run may allocate: 16 MiB, an inflated block, and the columns that the limits of
/// the targets allow.
const MOST_BYTES: usize = 32 << 20;

/// Runs one input within the bound on memory.
///
/// # Panics
/// Where a property of every input does not hold: that is what the fuzzer looks for.
pub fn run(target: fn(&[u8]), input: &[u8]) {
    let peak = memory::peak(|| target(input));
    assert!(peak <= MOST_BYTES, "{peak} bytes at peak for {} of input", input.len());
}

/// The entry point of one target's binary.
#[macro_export]
macro_rules! fuzz {
    ($target:literal) => {
        libfuzzer_sys::fuzz_target!(|input: &[u8]| {
            let target = $crate::targets::TARGETS.iter().find(|(name, _)| *name == $target);
            $crate::run(target.expect("a target of that name").1, input);
        });
    };
}
