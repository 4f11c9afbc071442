//! Hostile clients, and their cost for the node and for others.
//!
//! [`Wire`] is a connection over which a test sends any bytes and reads late or never; [`requests`] has the most costly
//! requests; [`HonestClient`] measures how long its own calls take meanwhile; [`figures`] reads the memory of the node's
//! process. `tests/hostile` runs them and asserts limits; docs/security.md shows the figures.

pub mod figures;
mod honest;
pub mod requests;
mod wire;

pub use honest::{HonestClient, Latencies};
pub use wire::{RPC, Reply, Wire, frame, post};
