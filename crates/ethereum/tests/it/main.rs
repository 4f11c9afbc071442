//! The rules against a recorded chain that crosses all forks.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod chain;
mod files;
mod genesis;
mod rules;

/// A file of the recorded chain.
fn file(name: &str) -> Vec<u8> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/execution-apis/");
    std::fs::read(format!("{dir}{name}")).unwrap()
}

/// The bytes of each block of the recorded chain.
fn block_bytes() -> Vec<Vec<u8>> {
    let bytes = file("chain.rlp");
    let mut rest = &bytes[..];
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let mut after = rest;
        alloy_rlp::Header::decode_bytes(&mut after, true).unwrap();
        let (block, next) = rest.split_at(rest.len() - after.len());
        blocks.push(block.to_vec());
        rest = next;
    }
    blocks
}
