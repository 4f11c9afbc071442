//! Code as anvil has it in the states of earlier blocks: with what the interpreter derives from it.

use alloy_primitives::{Address, Bytes, hex};
use serde::Deserialize;

use super::form::Text;

/// The first bytes of a delegation (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

const STOP: u8 = 0x00;
const JUMPDEST: u8 = 0x5b;
const PUSH1: u8 = 0x60;
const PUSH32: u8 = 0x7f;

/// Code in one of its forms. What follows from the bytes is not read.
#[derive(Debug, Deserialize)]
pub(super) enum RawCode {
    /// The bytes alone.
    LegacyRaw(Text<Bytes>),
    /// The bytes with zeros after them.
    LegacyAnalyzed(RawAnalyzed),
    /// The account to which another one delegates.
    Eip7702(RawDelegation),
}

/// Code with zeros after it.
#[derive(Debug, Deserialize)]
pub(super) struct RawAnalyzed {
    bytecode: Text<Bytes>,
    original_len: usize,
}

/// A delegation.
#[derive(Debug, Deserialize)]
pub(super) struct RawDelegation {
    delegated_address: Text<Address>,
}

impl RawCode {
    /// The code; `None` if it is shorter than it says.
    pub(super) fn into_bytes(self) -> Option<Bytes> {
        match self {
            Self::LegacyRaw(Text(code)) => Some(code),
            Self::LegacyAnalyzed(RawAnalyzed { bytecode: Text(code), original_len }) => {
                (original_len <= code.len()).then(|| code.slice(..original_len))
            }
            Self::Eip7702(RawDelegation { delegated_address: Text(address) }) => {
                Some([&DELEGATION[..], address.as_slice()].concat().into())
            }
        }
    }
}

/// The JSON of a code: its bytes, with zeros up to the end of the last instruction and a STOP after it, and a bit for each
/// place to which it may jump, the lowest bit first.
pub(super) fn code_json(code: &[u8]) -> String {
    if let Some(to) = code.strip_prefix(&DELEGATION).filter(|to| to.len() == Address::len_bytes()) {
        return format!(
            "{{\"Eip7702\":{{\"delegated_address\":\"{}\"}}}}",
            hex::encode_prefixed(to)
        );
    }
    let (jumps, padding) = analyze(code);
    let (bytes, zeros, bits) = (hex::encode_prefixed(code), "00".repeat(padding), code.len());
    let jumps = jumps.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    format!(
        "{{\"LegacyAnalyzed\":{{\"bytecode\":\"{bytes}{zeros}\",\"original_len\":{bits},\"jump_table\":\
         {{\"order\":\"bitvec::order::Lsb0\",\"head\":{{\"width\":8,\"index\":0}},\"bits\":{bits},\
         \"data\":[{jumps}]}}}}}}"
    )
}

/// The places to which a code may jump, and the zeros that it lacks.
fn analyze(code: &[u8]) -> (Vec<u8>, usize) {
    let mut jumps = vec![0_u8; code.len().div_ceil(8)];
    let (mut at, mut last) = (0, JUMPDEST);
    while let Some(&instruction) = code.get(at) {
        if instruction == JUMPDEST
            && let Some(jumps) = jumps.get_mut(at / 8)
        {
            *jumps |= 1 << (at % 8);
        }
        at += match instruction {
            PUSH1..=PUSH32 => usize::from(instruction - PUSH1) + 2,
            _ => 1,
        };
        last = instruction;
    }
    (jumps, at - code.len() + usize::from(last != STOP))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What anvil 1.7.1 writes for a code.
    #[test]
    fn code_has_the_form_of_anvil() {
        let analyzed = |bytecode: &str, length: usize, data: Value| {
            let head = json!({"width": 8, "index": 0});
            let order = "bitvec::order::Lsb0";
            let jumps = json!({"order": order, "head": head, "bits": length, "data": data});
            json!({"LegacyAnalyzed": {"bytecode": bytecode, "original_len": length, "jump_table": jumps}})
        };
        let push_32 = format!("0x7f{}", "00".repeat(33));
        let delegated = "0x000000000000000000000000000000000000aaaa";
        for (code, expected) in [
            ("", analyzed("0x00", 0, json!([]))),
            ("00", analyzed("0x00", 1, json!([0]))),
            ("60", analyzed("0x600000", 1, json!([0]))),
            ("5b5b00", analyzed("0x5b5b00", 3, json!([3]))),
            ("7f", analyzed(&push_32, 1, json!([0]))),
            ("6001", analyzed("0x600100", 2, json!([0]))),
            ("ef00", analyzed("0xef00", 2, json!([0]))),
            ("005b6300", analyzed("0x005b630000000000", 4, json!([2]))),
            ("615b5b5be65b5b", analyzed("0x615b5b5be65b5b00", 7, json!([104]))),
            (
                "ef0100000000000000000000000000000000000000aaaa",
                json!({"Eip7702": {"delegated_address": delegated}}),
            ),
        ] {
            let bytes = hex::decode(code).unwrap();
            let json: Value = serde_json::from_str(&code_json(&bytes)).unwrap();
            assert_eq!(json, expected, "{code}");
            let read: RawCode = serde_json::from_value(json).unwrap();
            assert_eq!(read.into_bytes().unwrap(), bytes, "{code}");
        }
    }

    #[test]
    fn code_of_another_form_is_read_or_refused() {
        let read = |json: &str| serde_json::from_str::<RawCode>(json).map(RawCode::into_bytes);
        assert_eq!(read(r#"{"LegacyRaw":"0x6001"}"#).unwrap().unwrap()[..], [0x60, 1]);
        let long = r#"{"LegacyAnalyzed":{"bytecode":"0x00","original_len":2,"jump_table":"0x"}}"#;
        assert_eq!(read(long).unwrap(), None);
        for bad in [r#"{"Eof":"0x"}"#, r#""0x""#, "{}", "[]", r#"{"LegacyRaw":"0"}"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
