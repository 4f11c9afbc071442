//! Blocks from AvalancheGo, without a process of the node: the chains of a folder in this process, the recordings of
//! `tests/vectors/follow`, and a stand-in for AvalancheGo.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod ledger;
mod recorded;
mod source;
mod stand_in;
