//! The tables that tests read, from beside the project.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of shared data, if it is there: `LAKEBED_SHARED`, or `shared` beside the project.
pub(crate) fn shared() -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let root = std::env::var_os("LAKEBED_SHARED").map_or_else(default, PathBuf::from);
    root.is_dir().then_some(root)
}

/// The cases of a table of them.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    match case_table(name)["cases"].take() {
        Value::Array(cases) => cases,
        other => panic!("{name}: cases are {other}"),
    }
}

/// A table of cases, with what they share: the shared one, else that of the project.
pub(crate) fn case_table(name: &str) -> Value {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cases");
    let folders = [shared().map(|root| root.join("data/cases")), Some(own)];
    let mut files = folders.into_iter().flatten().map(|folder| folder.join(name));
    let file = files.find(|file| file.is_file()).unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON")
}

/// All metadata files of Paimon tables whose name starts with `prefix` and a digit, or anything
/// for tags, with their bytes.
pub(crate) fn files(prefix: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let kept = |rest: &str| prefix == "tag-" || rest.starts_with(|c: char| c.is_ascii_digit());
    let paths = paths("paimon", &|name| name.strip_prefix(prefix).is_some_and(kept));
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("a readable file");
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// The files of a format's tables and samples that `keep` keeps by their names.
pub(crate) fn paths(format: &str, keep: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["data/golden", "data"] {
        shared().into_iter().for_each(|root| walk(&root.join(folder).join(format), keep, &mut found));
    }
    found
}

fn walk(folder: &Path, keep: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, keep, found);
        } else if keep(&entry.file_name().to_string_lossy()) {
            found.push(path);
        }
    }
}

/// Bytes from their hexadecimal digits; other characters between them are ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16);
    digits.chunks(2).map(|pair| byte(pair).expect("hex")).collect()
}

/// A fixed sequence of numbers, for tests that change bytes at random.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % bound.max(1)
    }

    /// `bytes` with up to four bytes changed, put in or taken out, or the end cut off.
    pub(crate) fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        const INTERESTING: &[u8] = b"\"{}[]:,0-9.eE\\nul<>()'` \xff";
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let byte = INTERESTING[self.below(INTERESTING.len())];
            match self.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
        }
        bytes
    }
}
