//! Runtime code with the places that differ from contract to contract: immutables, libraries, metadata.

use std::ops::Range;

use alloy_primitives::{B256, keccak256};

use crate::error::ArtifactError;

const PUSH1: u8 = 0x60;
const PUSH20: u8 = 0x73;
const PUSH32: u8 = 0x7f;
/// What the code of a library begins with, after its own address: ADDRESS and EQ.
const IS_LIBRARY: [u8; 2] = [0x30, 0x14];

/// The runtime code of an artifact, without its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytecode {
    key: B256,
    /// Zero where it is masked.
    code: Box<[u8]>,
    /// Places that may have any bytes, in order.
    masked: Vec<Range<usize>>,
    /// The number of bytes after it that may be any: immutables of Vyper.
    appended: usize,
}

impl Bytecode {
    /// The code of an artifact's hex digits. `immutables` are the places of immutables, if the artifact has them. So many
    /// bytes of further ones are `appended`.
    pub(crate) fn parse(
        text: &str,
        immutables: Option<Vec<Range<usize>>>,
        appended: usize,
    ) -> Result<Self, ArtifactError> {
        let (mut code, mut masked) = parse_hex(text)?;
        code.truncate(executable_length(&code));
        masked.extend(immutables.unwrap_or_else(|| zero_words(&code)));
        if code.starts_with(&[[PUSH20].as_slice(), &[0; 20], &IS_LIBRARY].concat()) {
            masked.push(1..21);
        }
        masked.retain(|range| range.start < range.end && range.end <= code.len());
        masked.sort_by_key(|range| range.start);
        for range in &masked {
            code[range.clone()].fill(0);
        }
        Ok(Self { key: key_of_executable(&code), code: code.into(), masked, appended })
    }

    /// Whether there is no code, as of an interface.
    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Bytes of the code.
    pub(crate) fn len(&self) -> usize {
        self.code.len()
    }

    /// The key of the code in an index: equal for all codes that match.
    pub(crate) const fn key(&self) -> B256 {
        self.key
    }

    /// The number of bytes that a contract's code has after this code.
    pub(crate) const fn appended(&self) -> usize {
        self.appended
    }

    /// Whether a contract's code is this code.
    pub(crate) fn matches(&self, code: &[u8]) -> bool {
        let Some(length) = code.len().checked_sub(self.appended) else { return false };
        let code = &code[..executable_length(&code[..length])];
        if code.len() != self.code.len() {
            return false;
        }
        let mut at = 0;
        for Range { start, end } in &self.masked {
            if at < *start && self.code[at..*start] != code[at..*start] {
                return false;
            }
            at = at.max(*end);
        }
        self.code[at..] == code[at..]
    }
}

/// The key of a contract's code in an index, without what is appended.
pub(crate) fn key(code: &[u8]) -> B256 {
    key_of_executable(&code[..executable_length(code)])
}

/// The hash of code without the operands that hold immutables and addresses of libraries.
fn key_of_executable(code: &[u8]) -> B256 {
    let mut skeleton = code.to_vec();
    for (opcode, operand) in Operands::of(code) {
        if opcode == PUSH20 || opcode == PUSH32 {
            skeleton[operand].fill(0);
        }
    }
    keccak256(skeleton)
}

/// The words of zeros that are pushed: the places of immutables.
fn zero_words(code: &[u8]) -> Vec<Range<usize>> {
    let words = Operands::of(code).filter(|(opcode, _)| *opcode == PUSH32).map(|(_, place)| place);
    words.filter(|place| code[place.clone()].iter().all(|byte| *byte == 0)).collect()
}

/// The instructions that push a constant, and the places of their operands.
struct Operands<'a> {
    code: &'a [u8],
    at: usize,
}

impl<'a> Operands<'a> {
    const fn of(code: &'a [u8]) -> Self {
        Self { code, at: 0 }
    }
}

impl Iterator for Operands<'_> {
    type Item = (u8, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let opcode = *self.code.get(self.at)?;
            self.at += 1;
            if (PUSH1..=PUSH32).contains(&opcode) {
                let start = self.at;
                self.at = (start + usize::from(opcode - PUSH1) + 1).min(self.code.len());
                return Some((opcode, start..self.at));
            }
        }
    }
}

/// The length of code without the CBOR map at its end, which holds the hash of the metadata and the compiler's version.
fn executable_length(code: &[u8]) -> usize {
    let all = code.len();
    let Some([high, low]) = code.last_chunk::<2>() else { return all };
    let map = usize::from(u16::from_be_bytes([*high, *low]));
    let Some(start) = (all - 2).checked_sub(map) else { return all };
    match code[start..] {
        // A map of one to four entries whose first key is a short text.
        [0xa1..=0xa4, 0x61..=0x77, ..] if map > 2 => start,
        _ => all,
    }
}

/// Bytes of hex digits, and the places of libraries: `__$..$__`.
pub(crate) fn parse_hex(text: &str) -> Result<(Vec<u8>, Vec<Range<usize>>), ArtifactError> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let (mut code, mut masked, mut at) = (Vec::with_capacity(digits.len() / 2), Vec::new(), 0);
    while at < digits.len() {
        if digits[at] == b'_' {
            masked.push(code.len()..code.len() + 20);
            code.extend([0; 20]);
            at += 40;
            continue;
        }
        let digit = |at: usize| digits.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (high, low) = digit(at).zip(digit(at + 1)).ok_or(ArtifactError::Code)?;
        code.push(u8::try_from(high * 16 + low).unwrap_or_default());
        at += 2;
    }
    Ok((code, masked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a2 64 "ipfs" ..` and its length.
    fn with_metadata(code: &str, hash: u8) -> String {
        let map = format!("a164{}{}", "69706673", format!("{hash:02x}").repeat(8));
        format!("{code}{map}{:04x}", map.len() / 2)
    }

    fn bytes(text: &str) -> Vec<u8> {
        parse_hex(text).unwrap().0
    }

    #[test]
    fn immutables_libraries_and_metadata_are_masked() {
        let zeros = "00".repeat(32);
        let library = format!("__${}$__", "ab".repeat(17));
        let other = format!("7f{}", "22".repeat(32));
        let artifact = with_metadata(&format!("0x7f{zeros}73{library}01{other}"), 1);
        let code = Bytecode::parse(&artifact, None, 0).unwrap();
        let chain = |immutable: &str, constant: &str, hash| {
            let code = format!(
                "7f{}73{}017f{}",
                immutable.repeat(32),
                "cd".repeat(20),
                constant.repeat(32)
            );
            bytes(&with_metadata(&code, hash))
        };
        for (immutable, constant, matches) in
            [("00", "22", true), ("77", "22", true), ("77", "23", false)]
        {
            let found = chain(immutable, constant, 9);
            assert_eq!(key(&found), code.key());
            assert_eq!(code.matches(&found), matches, "{immutable} {constant}");
        }
        let longer = [chain("00", "22", 1), vec![0]].concat();
        assert!(!code.matches(&longer) && !code.matches(&[]));
        // With exact places a word of zeros is no immutable.
        let exact = Bytecode::parse(&artifact, Some(vec![]), 0).unwrap();
        assert!(exact.matches(&chain("00", "22", 9)) && !exact.matches(&chain("77", "22", 9)));
        let exact = Bytecode::parse(&artifact, Some(vec![1..33, 5000..5032]), 0).unwrap();
        assert!(exact.matches(&chain("77", "22", 9)));
    }

    #[test]
    fn a_library_has_its_own_address() {
        let of = |address: &str| format!("73{}30146080", address.repeat(20));
        let code = Bytecode::parse(&of("00"), Some(vec![]), 0).unwrap();
        assert!(code.matches(&bytes(&of("ee"))) && code.key() == key(&bytes(&of("ee"))));
    }

    #[test]
    fn metadata_is_only_what_looks_like_it() {
        for code in ["", "00", "0000", "a164000001", "6001ffff", "a100000003", "00a264610003"] {
            assert_eq!(
                executable_length(&bytes(code)),
                if code == "00a264610003" { 1 } else { bytes(code).len() },
                "{code}"
            );
        }
        for text in ["0", "0xzz", "__", "6_"] {
            let parsed = parse_hex(text);
            assert_eq!(parsed.is_ok(), text == "__", "{text}");
        }
    }
}
