"""Puts known bugs of readers of Avro and lake metadata into a copy of the sources, for `run.sh bugs`.

python rust/fuzz/bugs.py copy FOLDER      a copy of rust/ with the bug of LAKEBED_BUG, a variable
python rust/fuzz/bugs.py list             number, target and name of each bug
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RUST = Path(__file__).parents[1]


class Bug(NamedTuple):
    """A check that is removed."""

    target: str
    name: str
    file: str
    there: str
    """Text of the file, which appears once."""
    put: str
    """The text with the bug; BUG is true where this bug is requested."""


BUGS = [
    Bug(
        "container",
        "a varint beyond 64 bits loses its upper bits",
        "lakebed-avro/src/cursor.rs",
        "if index == 9 && byte > 1 {",
        "if index == 9 && byte > 1 && !BUG {",
    ),
    Bug(
        "container",
        "the size of a run of items is not compared",
        "lakebed-avro/src/decode/items.rs",
        "if items.end.is_some_and(|position| position != self.cursor.position()) {",
        "if items.end.is_some_and(|position| position != self.cursor.position()) && !BUG {",
    ),
    Bug(
        "container",
        "the marker after a block is not compared",
        "lakebed-avro/src/container/block.rs",
        "if marker != self.sync {",
        "if marker != self.sync && !BUG {",
    ),
    Bug(
        "container",
        "a file that ends in a block just ends",
        "lakebed-avro/src/container/block.rs",
        'let payload = self.input.take(size as usize, "block")?;',
        'let taken = self.input.take(size as usize, "block");\n'
        "        if BUG && taken.is_err() { return Ok(None); }\n"
        "        let payload = taken?;",
    ),
    Bug(
        "container",
        "any branch that is not null is the other one",
        "lakebed-avro/src/decode/run.rs",
        "if branch & !1 != 0 {",
        "if branch & !1 != 0 && !BUG {",
    ),
    Bug(
        "container",
        "the checksum of snappy is not compared",
        "lakebed-avro/src/codec/snappy.rs",
        "if crc32fast::hash(inflated) != u32::from_be_bytes(*checksum) {",
        "if crc32fast::hash(inflated) != u32::from_be_bytes(*checksum) && !BUG {",
    ),
    Bug(
        "schema",
        "the depth of a schema is not bounded",
        "lakebed-avro/src/schema/parse.rs",
        "if self.open.len() as u64 > self.limits.max_schema_depth {",
        "if self.open.len() as u64 > self.limits.max_schema_depth && !BUG {",
    ),
    Bug(
        "encryption",
        "an encrypted file that is cut in a block just ends",
        "lakebed/src/iceberg/encryption.rs",
        "if block.len() < OVERHEAD {\n            return Err(cut());",
        "if block.len() < OVERHEAD {\n"
        "            if BUG && number > 0 { return Ok(text); }\n"
        "            return Err(cut());",
    ),
    Bug(
        "encryption",
        "the size of an encrypted file is not compared",
        "lakebed/src/iceberg/encryption.rs",
        "length.filter(|length| *length != bytes.len() as u64) {",
        "length.filter(|length| *length != bytes.len() as u64 && !BUG) {",
    ),
    Bug(
        "iceberg",
        "the entries of a manifest are not counted",
        "lakebed/src/iceberg/manifest/mod.rs",
        "Ordering::Less => return Err(Error::new(ErrorKind::Mismatch, message)),",
        "Ordering::Less if !BUG => return Err(Error::new(ErrorKind::Mismatch, message)),\n"
        "                    Ordering::Less => {}",
    ),
    Bug(
        "paimon",
        "a value of a row may begin in its fixed part",
        "lakebed/src/paimon/binary_row/frame.rs",
        "offset >= self.floor && end",
        "(offset >= self.floor || BUG) && end",
    ),
    Bug(
        "predicate",
        "all rows match, though some may be NaN",
        "lakebed/src/predicate/ranges.rs",
        "|| group.nans && !self.surely_matches_nan()",
        "|| group.nans && !BUG && !self.surely_matches_nan()",
    ),
]

# Which bug is active: the number in the environment, read once.
SWITCH = """
/// Whether the known bug with this number is active.
pub fn bug(number: u32) -> bool {
    static ASKED: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    let ask = || std::env::var("LAKEBED_BUG").ok().and_then(|text| text.parse().ok());
    *ASKED.get_or_init(ask) == Some(number)
}
"""


def copy(folder: Path) -> None:
    """Copies the crates and puts every bug in."""
    for crate in ("lakebed-avro", "lakebed-columnar", "lakebed", "fuzz"):
        shutil.copytree(RUST / crate, folder / "rust" / crate, dirs_exist_ok=True)
    shutil.copy(RUST.parent / "Cargo.toml", folder)
    put(folder / "rust", [(bug.file, bug.there, bug.put) for bug in BUGS])


def put(rust: Path, bugs: Sequence[tuple[str, str, str]]) -> None:
    """Puts bugs (file, text of it, text with the bug) into the crates below a folder.

    They are numbered from 1. A text that does not appear exactly once is an error.
    """
    for number, (file, there, becomes) in enumerate(bugs, 1):
        path = rust / file
        text = path.read_text("utf-8")
        if text.count(there) != 1:
            sys.exit(f"{file} does not have this once: {there}")
        crate = "crate" if "lakebed-avro" in file else "lakebed_avro"
        path.write_text(text.replace(there, becomes.replace("BUG", f"{crate}::bug({number})")), "utf-8")
    with (rust / "lakebed-avro" / "src" / "lib.rs").open("a", encoding="utf-8") as file_:
        file_.write(SWITCH)


def main() -> None:
    """Does what the command line asks for."""
    if sys.argv[1] == "copy":
        copy(Path(sys.argv[2]))
    else:
        for number, bug in enumerate(BUGS, 1):
            sys.stdout.write(f"{number}\t{bug.target}\t{bug.name}\n")


if __name__ == "__main__":
    main()
