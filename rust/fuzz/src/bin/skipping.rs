#![no_main]

lakebed_fuzz::fuzz!("skipping");
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    lakebed_fuzz::mutate::file(data, size, max_size, seed)
});
