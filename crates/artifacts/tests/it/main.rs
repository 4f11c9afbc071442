//! Artifacts of real compilers, hostile ones, and decoding of any bytes.
#![expect(clippy::unwrap_used, reason = "a test's panic is its message")]

mod decoding;
mod folders;
mod matching;
mod support;
