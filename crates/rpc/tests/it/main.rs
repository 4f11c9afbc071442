//! What clients see of JSON-RPC, from bytes to bytes.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod calls;
mod decoding;
mod evm;
mod properties;
mod recorded;
mod syntax;
mod toy;
mod wire;
mod work;
