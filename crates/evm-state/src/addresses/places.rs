//! The value of a row: places of transactions in a block.

use esker_storage::ValueCodec;

/// Bits of a number in a byte; the highest bit says that further bytes follow.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

/// Places of transactions in a block, from 0, ascending; at least one.
///
/// A row has the differences between neighbours (the first place as it is) in bytes of seven bits, lowest first: one
/// byte for nearly every transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxPlaces(pub Vec<u32>);

impl TxPlaces {
    /// Appends the encoding of ascending places.
    pub(super) fn encode(places: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
        let mut last = 0;
        for place in places {
            let mut rest = place - last;
            while rest >= u32::from(MORE) {
                out.push(rest as u8 | MORE);
                rest >>= BITS;
            }
            out.push(rest as u8);
            last = place;
        }
    }
}

impl ValueCodec for TxPlaces {
    fn encode_value(&self, out: &mut Vec<u8>) {
        Self::encode(self.0.iter().copied(), out);
    }

    fn decode_value(mut bytes: &[u8]) -> Option<Self> {
        let mut places = Vec::new();
        let mut last = 0_u32;
        while !bytes.is_empty() {
            let step = number(&mut bytes)?;
            // Only the first place may be 0 above the one before.
            if step == 0 && !places.is_empty() {
                return None;
            }
            last = last.checked_add(step)?;
            places.push(last);
        }
        (!places.is_empty()).then_some(Self(places))
    }
}

/// Takes a number in its shortest form.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u32;
    for shift in (0..u32::BITS).step_by(BITS as usize) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u32::from(byte & !MORE);
        if part.checked_shl(shift)? >> shift != part {
            return None;
        }
        value |= part << shift;
        if byte & MORE == 0 {
            return (byte != 0 || shift == 0).then_some(value);
        }
    }
    None
}
