//! Unscaled values of decimals as bytes.

/// `value`, big-endian two's complement, without leading bytes that only repeat the sign.
pub(crate) fn minimal(value: &[u8; 16]) -> &[u8] {
    let sign = if value[0] & 0x80 == 0 { 0x00 } else { 0xff };
    let padding = value.iter().take_while(|byte| **byte == sign).count();
    // The first byte kept must have the sign bit, so a padding byte stays if the next one has not.
    let first = value.get(padding).is_some_and(|byte| (byte ^ sign) & 0x80 == 0);
    let start = if first { padding } else { padding - 1 };
    value.get(start..).unwrap_or(value)
}

/// The value of big-endian two's complement of any length except 0, if it fits 128 bits.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0x00 } else { 0xff };
    let (padding, value) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut whole = [sign; 16];
    whole.get_mut(16 - value.len()..)?.copy_from_slice(value);
    let is_padded = padding.iter().all(|byte| *byte == sign);
    (is_padded && (padding.is_empty() || (whole[0] ^ sign) & 0x80 == 0)).then(|| i128::from_be_bytes(whole))
}

/// Whether `value` has at most `precision` digits.
pub(crate) fn fits(value: i128, precision: u8) -> bool {
    10_u128.checked_pow(u32::from(precision)).is_none_or(|bound| value.unsigned_abs() < bound)
}
