//! What the compiler of Vyper writes after init code: a CBOR list, and its length with that of the length.

/// Most bytes of immutables: a contract has no more code.
const MAX_IMMUTABLES: usize = 24_576;

/// The bytes of immutables, which init code of Vyper 0.3.10 and later puts after the runtime code. `None`: the code has no
/// such list.
pub(crate) fn immutables(code: &[u8]) -> Option<usize> {
    let (code, length) = code.split_last_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length)).checked_sub(2)?;
    let mut list = Cbor(&code[code.len().checked_sub(length)?..]);
    // Its members: perhaps a hash, the lengths of the runtime code and of data, that of immutables, the compiler.
    let (LIST, members @ 4..=5) = list.head()? else { return None };
    for _ in 0..members - 2 {
        list.skip()?;
    }
    let (NUMBER, immutables) = list.head()? else { return None };
    let (MAP, 1) = list.head()? else { return None };
    let is_vyper = list.0.starts_with(b"\x65vyper");
    immutables.try_into().ok().filter(|bytes| is_vyper && *bytes <= MAX_IMMUTABLES)
}

/// Major types.
const NUMBER: u8 = 0;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;

/// Bytes that are read.
struct Cbor<'a>(&'a [u8]);

impl Cbor<'_> {
    /// The major type and the number of the next value: a value, a length.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.0.split_first()?;
        let size = match first & 0x1f {
            small @ 0..24 => {
                self.0 = rest;
                return Some((first >> 5, small.into()));
            }
            24 => 1,
            25 => 2,
            26 => 4,
            _ => return None,
        };
        let (number, rest) = rest.split_at_checked(size)?;
        self.0 = rest;
        let number = number.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
        Some((first >> 5, number))
    }

    /// Skips a number, bytes, a text or a list of numbers.
    fn skip(&mut self) -> Option<()> {
        match self.head()? {
            (NUMBER, _) => {}
            (BYTES | TEXT, length) => self.0 = self.0.get(usize::try_from(length).ok()?..)?,
            (LIST, members) => {
                for _ in 0..members {
                    let (NUMBER, _) = self.head()? else { return None };
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    fn with_list(list: &str) -> Vec<u8> {
        let list = hex::decode(list).unwrap();
        let length = u16::try_from(list.len() + 2).unwrap().to_be_bytes();
        [&[0x60; 9][..], &list, &length].concat()
    }

    const VYPER: &str = "a1657679706572830003 0a";

    #[test]
    fn lists_name_the_bytes_of_immutables() {
        let vyper = VYPER.replace(' ', "");
        for (members, immutables) in [
            (format!("84 190a00 80 1840 {vyper}"), Some(64)),
            (format!("84 18ff 82 01 1900ff 00 {vyper}"), Some(0)),
            (format!("85 5820{} 190a00 81 14 1820 {vyper}", "ab".repeat(32)), Some(32)),
            (format!("84 190a00 80 40 {vyper}"), None),
            (format!("84 190a00 80 196001 {vyper}"), None),
            (format!("83 190a00 1840 {vyper}"), None),
            (format!("84 190a00 8140 1840 {vyper}"), None),
            (format!("84 190a00 5aff000000 1840 {vyper}"), None),
            (format!("84 190a00 9affffffff 1840 {vyper}"), None),
            ("84 190a00 80 1840 a165766963746f72 01".to_owned(), None),
            ("84 190a00 80 1840".to_owned(), None),
            (String::new(), None),
        ] {
            let code = with_list(&members.replace(' ', ""));
            assert_eq!(super::immutables(&code), immutables, "{members}");
        }
        for code in [&[][..], &[0], &[0, 1], &[0xff, 0xff], &[0x84, 0, 0, 3]] {
            assert_eq!(super::immutables(code), None, "{code:?}");
        }
    }
}
