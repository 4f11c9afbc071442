//! Code that the JSON-RPC services of all kinds of chains share: pages of UTXOs, and replies to sends.
//!
//! Services stand above chains: a chain knows no method, and these know no chain but through [`esker_chain`].

pub mod listing;
pub mod sending;
