//! Imports of a chain of which one field of a header is altered.

use std::fs;
use std::path::PathBuf;

use crate::harness::run;

/// Fields that a block may choose within limits. A change may only show in its hash: its child does not follow it.
const FREE: [&str; 5] = ["gas limit", "time", "extra data", "mix digest", "nonce"];

/// Names of a header's fields, in their order.
const FIELDS: [&str; 21] = [
    "parent",
    "ommers",
    "coinbase",
    "state root",
    "transactions",
    "receipts",
    "bloom",
    "difficulty",
    "number",
    "gas limit",
    "gas used",
    "time",
    "extra data",
    "mix digest",
    "nonce",
    "base fee",
    "withdrawals",
    "blob gas used",
    "excess blob gas",
    "beacon root",
    "requests",
];

fn vector(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/execution-apis"))
        .join(name)
}

/// Where the payload of an RLP item begins and ends.
fn payload(bytes: &[u8], at: usize) -> (usize, usize) {
    let long = |at: usize, length_of_length: usize| {
        let length = bytes[at + 1..=at + length_of_length].iter();
        let length = length.fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        (at + 1 + length_of_length, at + 1 + length_of_length + length)
    };
    match usize::from(bytes[at]) {
        0..=0x7f => (at, at + 1),
        first @ 0x80..=0xb7 => (at + 1, at + 1 + first - 0x80),
        first @ 0xb8..=0xbf => long(at, first - 0xb7),
        first @ 0xc0..=0xf7 => (at + 1, at + 1 + first - 0xc0),
        first => long(at, first - 0xf7),
    }
}

/// Where each item of a list begins.
fn items(bytes: &[u8], (mut at, end): (usize, usize)) -> Vec<usize> {
    let mut items = Vec::new();
    while at < end {
        items.push(at);
        at = payload(bytes, at).1;
    }
    items
}

/// The chain with another last byte of a field of the header of a block, and where the block begins; `None` if the
/// field is empty: a change would move all that follows.
fn altered(chain: &[u8], block: usize, field: usize) -> Option<(Vec<u8>, usize)> {
    let begin = items(chain, (0, chain.len()))[block];
    let header = payload(chain, begin).0;
    let place = *items(chain, payload(chain, header)).get(field)?;
    let (from, to) = payload(chain, place);
    let mut bytes = chain.to_vec();
    // A single byte stays a single byte of the same form.
    *bytes[from..to].last_mut()? ^= 2;
    Some((bytes, begin))
}

#[test]
fn a_block_with_another_field_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (file, chain) = (dir.path().join("chain.rlp"), fs::read(vector("chain.rlp")).unwrap());
    let (file, genesis) = (file.to_str().unwrap(), vector("genesis.json"));
    let mut tried = 0;
    // Proof of work; the first block after the merge; one before the last.
    for block in [0, 36, 52] {
        for (field, name) in FIELDS.into_iter().enumerate() {
            let Some((bytes, begin)) = altered(&chain, block, field) else { continue };
            fs::write(file, bytes).unwrap();
            let ended = run(&[
                "evm",
                "--port",
                "0",
                "--no-build",
                "--genesis",
                genesis.to_str().unwrap(),
                "--import",
                file,
            ]);
            assert_eq!(ended.code(), Some(3), "{block} {name}: {}", ended.stderr);
            let place = match FREE.contains(&name) {
                true => "chain.rlp: block ".to_owned(),
                false => format!(" at byte {begin}: "),
            };
            assert!(ended.stderr.contains(&place), "{block} {name}: {}", ended.stderr);
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried}");
}
