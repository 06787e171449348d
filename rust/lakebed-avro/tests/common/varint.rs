//! Avro's integers, encoded without the library.

/// A zigzag varint.
pub fn long(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)) as u64)
}

/// A varint.
pub fn varint(value: u64) -> Vec<u8> {
    let mut rest = value;
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}
