//! Reading and writing, compared with Go.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod decoding;
mod syntax;
