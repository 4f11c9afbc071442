//! End-to-end tests: each starts nodes of its own on free ports and temporary folders.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod assets;
mod atomic;
mod calls;
mod clients;
mod corpus;
mod crash;
mod crash_atomic;
mod crash_evm;
mod docs;
mod evm_methods;
mod golden;
mod keystore;
mod methods;
mod nat;
mod paging;
mod replay;
mod support;
mod two_chains;
mod verify;
