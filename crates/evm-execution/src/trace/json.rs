//! Appends parts of JSON to a buffer.

use alloy_primitives::{Address, B256, U256};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A decimal number.
pub fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A list of decimal numbers.
pub fn decimals(out: &mut Vec<u8>, values: &[u64]) {
    out.push(b'[');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        decimal(out, *value);
    }
    out.push(b']');
}

/// Hexadecimal digits, two for each byte, without prefix and quotes.
pub fn hex_digits(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(HEX[usize::from(byte >> 4)]);
        out.push(HEX[usize::from(byte & 15)]);
    }
}

/// `"0x.."` with two digits for each byte.
pub fn data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\"0x");
    hex_digits(out, bytes);
    out.push(b'"');
}

/// `"0x.."` of an address.
pub fn address(out: &mut Vec<u8>, address: &Address) {
    data(out, address.as_slice());
}

/// `"0x.."` of a hash.
pub fn hash(out: &mut Vec<u8>, hash: &B256) {
    data(out, hash.as_slice());
}

/// `"0x.."` of a hash, or `null`.
pub fn optional_hash(out: &mut Vec<u8>, found: Option<&B256>) {
    match found {
        Some(found) => hash(out, found),
        None => out.extend_from_slice(b"null"),
    }
}

/// `"0x1f"`, without leading zeros.
pub fn quantity(out: &mut Vec<u8>, value: u64) {
    big(out, &U256::from(value));
}

/// `"0x1f"`, without leading zeros.
pub fn big(out: &mut Vec<u8>, value: &U256) {
    out.extend_from_slice(b"\"0x");
    big_digits(out, value);
    out.push(b'"');
}

/// Hexadecimal digits without leading zeros, prefix and quotes.
pub fn big_digits(out: &mut Vec<u8>, value: &U256) {
    let bits = value.bit_len();
    if bits == 0 {
        out.push(b'0');
        return;
    }
    let limbs = value.as_limbs();
    for digit in (0..bits.div_ceil(4)).rev() {
        let nibble = limbs[digit / 16] >> (digit % 16 * 4) & 15;
        out.push(HEX[nibble as usize]);
    }
}

/// A string with Go's escapes.
pub fn string(out: &mut Vec<u8>, text: &str) {
    esker_go_json::write_str(text, out);
}
