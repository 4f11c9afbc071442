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
