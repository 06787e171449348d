"""Writes the first inputs of the fuzzers: small real files and cases of tests/data, a folder for each target.

python rust/fuzz/seeds.py FOLDER
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).parents[2] / "tests" / "data"
CODECS = [b"null", b"deflate", b"snappy", b"zstandard", b"bzip2", b"xz"]
MOST_BYTES = 12 << 10
# Footers and indexes alone take nine kilobytes.
MOST_BYTES_PARQUET = 15 << 10

# Every form of a filter on the columns of the target, each of another type.
FILTERS = [
    "c0 = 1 AND c1 < 7 OR NOT c3 LIKE 'a%b_'",
    "c0 IN (1, NULL, 5) OR c1 NOT IN (0, -5)",
    "c2 IS NAN OR c2 > 1.5 AND c2 <= -0.0",
    "c3 BETWEEN 'a' AND 'b' OR c3 NOT BETWEEN '' AND 'x'",
    "c4 = TRUE AND c4 IS NOT NULL OR c7 IS NULL",
    "c5 >= DATE '1970-01-02' AND c5 <> '1969-12-31'",
    "c6 < 1.50 AND c6 > -1.5 OR FALSE",
    "c7 <= TIMESTAMP '1970-01-01 00:00:01' AND c0 <=> NULL",
    "starts_with(c3, 'ab') OR contains(c3, 'b') OR ends_with(c3, 'é')",
    "c3 LIKE 'a!%' ESCAPE '!' AND c3 NOT LIKE '%b'",
    "bucket(16, c0) = 3 OR day(c7) > '1970-01-01'",
    *(f"c{column} {test}" for column in range(8) for test in ("IS NULL", "IS NOT NULL", "<=> NULL")),
    *(
        f"c2 {test}"
        for test in ("<= 1.5", "> 0", "= -0.0", "<> 1.5", "NOT IN (0, 1.5)", "BETWEEN -1.5 AND 1.5")
    ),
    *(f"c0 {test}" for test in ("<= 1", "> -1", "= 2", "<> 0", "NOT IN (0, 1)", "NOT BETWEEN 0 AND 1")),
    "NOT (c0 != 2 AND (c1 = 1099511627776 OR c0 > 2147483648))",
]

# Types of one field each, and the smallest row that has it.
ROWS = ["INT", "STRING NOT NULL", "DECIMAL(20, 2)", "TIMESTAMP(6)", "BOOLEAN\nDOUBLE", "BYTES\nTIME\nDATE"]

MAGIC_32 = bytes.fromhex("5e43f2d0")
MAGIC_64 = bytes.fromhex("d1d33964")
# {1, 5}, serialised: one container of an array of two.
BITMAP = bytes.fromhex("3a30000001000000000001001000000001000500")


def containers() -> Iterator[tuple[str, bytes]]:
    """The Avro files of the table of hostile ones that are short enough."""
    cases = json.loads((DATA / "cases" / "avro_hostile.json").read_text("utf-8"))["cases"]
    for case in cases:
        if "file_b64" in case:
            yield case["id"].replace("/", "-"), base64.b64decode(case["file_b64"])


def files(format_name: str) -> Iterator[tuple[str, bytes]]:
    """The smallest real file of a format for each schema and codec."""
    smallest: dict[tuple[bytes, ...], tuple[str, bytes]] = {}
    for path in sorted((DATA / "golden" / format_name).rglob("*")):
        if not path.is_file() or path.stat().st_size > MOST_BYTES or "expected" in path.parts:
            continue
        content = path.read_bytes()
        if content.startswith(b"Obj\x01"):
            codec = next(
                (name for name in CODECS if b"avro.codec" + varint(len(name)) + name in content), b""
            )
            key = (schema_of(content), codec)
        elif content.startswith(b"{") and len(content) < 6 << 10:
            key = (b"json", "\n".join(sorted(json.loads(content))).encode())
        else:
            continue
        if key not in smallest or len(content) < len(smallest[key][1]):
            smallest[key] = (path.name, content)
    yield from smallest.values()


def columnar() -> Iterator[tuple[str, bytes]]:
    """ORC and Parquet files of all of tests/data that are short enough."""
    for path in sorted(DATA.rglob("*")):
        if path.is_file() and path.stat().st_size <= MOST_BYTES and "malformed" not in path.parts:
            content = path.read_bytes()
            if content.startswith((b"ORC", b"PAR1")):
                yield path.name, content


def manifests() -> Iterator[tuple[str, bytes]]:
    """The real Parquet manifests of Iceberg that are short enough for a run."""
    for path in sorted((DATA / "golden" / "iceberg_next").rglob("*.parquet")):
        content = path.read_bytes()
        if content.startswith(b"PAR1") and len(content) <= MOST_BYTES_PARQUET:
            yield path.name, content


def secrets() -> Iterator[tuple[str, bytes]]:
    """Key metadata, and an encrypted file, whose bytes another implementation made."""
    yield (
        "key-metadata",
        bytes.fromhex("0120000102030405060708090a0b0c0d0e0f0220101112131415161718191a1b1c1d1e1f025e"),
    )
    yield (
        "stream",
        bytes.fromhex(
            "4147533100001000202122232425262728292a2b8f9778a5ea91126cd92debd16f37e5e2fa953b8fa4ad201928e8c7"
        ),
    )


def content_entries() -> Iterator[tuple[str, bytes]]:
    """Iceberg's manifests of content entries that are short enough or in Avro, and bitmaps."""
    folder = DATA / "golden" / "iceberg_next" / "experimental_content_entry"
    for path in sorted((folder / "metadata").iterdir()):
        if path.suffix == ".avro" or path.stat().st_size <= MOST_BYTES:
            yield path.name, path.read_bytes()
    with gzip.open(folder / "mumbling.jsonl.gz", "rt", encoding="utf-8") as lines:
        vectors = [json.loads(line) for line in lines]
    for number, vector in enumerate(vectors):
        if vector["kind"] == "bitmap" and len(vector["hex"]) < 1000:
            yield f"bitmap-{number}", bytes.fromhex(vector["hex"])


def skipping() -> Iterator[tuple[str, bytes]]:
    """A sidecar without its checksum, what of it is behind the manifest header; partition statistics."""
    folder = DATA / "paimon_sidecar" / "manifest"
    manifest = (folder / "manifest-0").read_bytes()
    sidecar = (folder / "manifest-0.avro.sidecar").read_bytes()[:-4]
    yield "sidecar", sidecar
    # The header ends with the marker that is also behind the last block.
    yield "blocks", b"#" + sidecar.partition(manifest[-16:])[2]
    for path in sorted((DATA / "iceberg_partition_stats").rglob("partition-stats-*")):
        yield path.name, path.read_bytes()


def varint(number: int) -> bytes:
    """A zigzag varint of a number from 0."""
    rest, out = number << 1, bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def schema_of(content: bytes) -> bytes:
    """The text of an Avro file's schema; empty where the header has none."""
    _, key, rest = content.partition(b"avro.schema")
    if not key:
        return b""
    length = shift = at = 0
    while True:
        byte = rest[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return rest[at : at + (length >> 1)]


def rows() -> Iterator[tuple[str, bytes]]:
    """Rows of the tables of cases after their types, and bitmaps."""
    for name in ("paimon_binary_row", "paimon_binary_row_hostile"):
        cases = json.loads((DATA / "cases" / f"{name}.json").read_text("utf-8"))["cases"]
        for case in cases:
            if all(isinstance(field, str) for field in case["fields"]):
                types = "\n".join(case["fields"]).encode()
                yield case["id"].replace("/", "-"), types + b"\0" + bytes.fromhex(case["bytes"])
    for number, of in enumerate(ROWS):
        fields = of.count("\n") + 1
        row = fields.to_bytes(4, "big") + bytes(8 + 8 * fields)
        yield f"row-{number}", of.encode() + b"\0" + row
    yield "bitmap-32", b"#" + MAGIC_32 + BITMAP
    yield "bitmap-64", b"#" + MAGIC_64 + (1).to_bytes(8, "little") + bytes(4) + BITMAP


def filters() -> Iterator[tuple[str, bytes]]:
    """Filters, with some bytes from which rows are made, and single values."""
    for number, text in enumerate(FILTERS):
        yield f"filter-{number}", text.encode() + bytes([0, *range(number, number + 40)])
    cases = json.loads((DATA / "cases" / "iceberg_single_value_binary.json").read_text("utf-8"))["cases"]
    for case in cases:
        if isinstance(case.get("bytes"), str):
            yield case["id"].replace("/", "-"), b"TRUE\0" + bytes.fromhex(case["bytes"])


def seeds() -> dict[str, list[tuple[str, bytes]]]:
    """The first inputs of each target: names and contents."""
    of_formats = {name: list(files(name)) for name in ("iceberg", "paimon")}
    avro = list(containers())
    real = [file for found in of_formats.values() for file in found]
    parquet = list(manifests())
    iceberg = [*(file for file in of_formats["iceberg"] if file[1].startswith(b"Obj")), *parquet]
    schemas = [(f"schema-{name}", schema_of(content)) for name, content in [*avro, *real]]
    return {
        "schema": [(name, text) for name, text in schemas if 0 < len(text) < 6 << 10],
        "columnar": list(columnar()),
        "container": avro,
        "content_entry": list(content_entries()),
        "encryption": [*iceberg, *secrets()],
        "iceberg": [*of_formats["iceberg"], *parquet],
        "paimon": [*of_formats["paimon"], *rows()],
        "predicate": list(filters()),
        "skipping": list(skipping()),
    }


def main() -> None:
    """Writes the seeds below the folder of the command line."""
    for target, contents in seeds().items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, (name, content) in enumerate(contents):
            (folder / f"{number:03}-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
