//! What is read and written, compared with what Go does.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod decoding;
mod syntax;
