//! MurmurHash3, the 32-bit variant for x86, by which both formats choose buckets.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// The hash of `bytes` from `seed` on: 0 in Iceberg, 42 in Paimon.
pub(crate) fn hash(bytes: &[u8], seed: u32) -> i32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(seed, |hash, word| {
        (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !tail.is_empty() {
        hash ^= mix(tail.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
    }
    // The length counts modulo 2^32, as in the reference implementation.
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    (hash ^ hash >> 16).cast_signed()
}

fn mix(word: u32) -> u32 {
    word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}
