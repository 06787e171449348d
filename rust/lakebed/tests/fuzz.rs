//! Runs the kept inputs of the fuzz targets once each: what the fuzzer found before is tested again.

#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;

use std::path::Path;

use targets::TARGETS;

#[test]
fn every_kept_input_holds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for (name, run) in TARGETS {
        let mut inputs = 0;
        for folder in ["corpus", "crashers"] {
            let Ok(files) = fuzz.join(folder).join(name).read_dir() else { continue };
            for file in files {
                let path = file.unwrap().path();
                let input = std::fs::read(&path).unwrap();
                let held = std::panic::catch_unwind(|| run(&input));
                assert!(held.is_ok(), "{} does not hold", path.display());
                inputs += 1;
            }
        }
        assert!(inputs >= 10, "{inputs} inputs of {name}");
    }
}
