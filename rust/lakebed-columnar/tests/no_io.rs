//! What decodes bytes opens no file and asks nothing of the system it is on: its answers are the same everywhere.

use std::path::Path;

/// Checks every source below `folder`, but for the tests in it; returns how many there are.
fn check(folder: &Path) -> usize {
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            checked += check(&path);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let shipped = text.split("#[cfg(test)]\nmod").next().unwrap();
        for used in ["std::fs", "std::net", "std::env", "std::process", "std::{"] {
            assert!(!shipped.contains(used), "{} names {used}", path.display());
        }
        checked += 1;
    }
    checked
}

#[test]
fn no_source_opens_files_or_asks_the_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["lakebed-avro", "lakebed-columnar"] {
        assert!(check(&crates.join(name).join("src")) > 10, "{name}");
    }
}
