//! Rows of one table as bytes: `u16 length of the key | u32 length of the value | key | value`, one after the other.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Bytes at which a page is full. A larger row is a page by itself.
const FULL: usize = 512 << 10;
/// Bytes before a row.
const HEAD_LEN: usize = 6;

/// A page under construction.
#[derive(Debug, Default)]
pub struct PageBuilder {
    bytes: BytesMut,
    rows: u64,
}

impl PageBuilder {
    /// Adds a row. True if the page is full.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        if self.bytes.is_empty() {
            self.bytes.reserve(FULL + 1024);
        }
        // Longer keys and values can't be stored.
        self.bytes.put_u16(u16::try_from(key.len()).unwrap_or(u16::MAX));
        self.bytes.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        self.bytes.put_slice(key);
        self.bytes.put_slice(value);
        self.rows += 1;
        self.bytes.len() >= FULL
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The page.
    pub fn finish(self) -> Bytes {
        self.bytes.freeze()
    }
}

/// The rows of a page. An item is `None`, and the last one, where the bytes are no row.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a>(pub &'a [u8]);

impl<'a> Iterator for Page<'a> {
    type Item = Option<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let row = split(self.0);
        self.0 = row.map_or(&[], |(_, rest)| rest);
        Some(row.map(|(row, _)| row))
    }
}

type Row<'a> = (&'a [u8], &'a [u8]);

fn split(bytes: &[u8]) -> Option<(Row<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD_LEN>()?;
    let [a, b, c, d, e, f] = *head;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes([a, b])))?;
    let value_len = usize::try_from(u32::from_be_bytes([c, d, e, f])).ok()?;
    let (value, rest) = rest.split_at_checked(value_len)?;
    Some(((key, value), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_round_trip_and_any_bytes_are_rows_or_none(
            rows in prop::collection::vec(
                (prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 0..40)),
                0..20,
            ),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut page = PageBuilder::default();
            for (key, value) in &rows {
                page.push(key, value);
            }
            let bytes = page.finish();
            let read: Vec<_> = Page(&bytes).map(Option::unwrap).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
            prop_assert_eq!(&read, &rows);
            let kept = cut.index(bytes.len() + 1);
            let whole = Page(&bytes[..kept]).take_while(Option::is_some).count();
            prop_assert!(whole <= rows.len());
        }
    }
}
