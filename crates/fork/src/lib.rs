//! The state of one block of another node, read over JSON-RPC: verified, shared, cached and bounded.
//!
//! - [`source`]: URLs with their headers; batches, limits, retries, fail-over, counters.
//! - [`pin`]: the block, resolved once; its hash is recomputed from its header.
//! - [`state`]: the known part of the block's state. [`BaseView`] looks accounts, slots, code and trie nodes up, and
//!   never waits: what is not known is `Missing`, and among the [`Misses`].
//! - [`Fork`] fetches misses: grouped by account, in batches, each part once however many callers want it. With
//!   `eth_getProof`, values are those of the proofs, and nodes are kept by their path; without, they are the source's
//!   word, and [`Trust`] says so.
//! - [`cache`]: the file of a block, which later forks begin with, and packs, on which forks run without a source.
//! - [`history`] checks transactions and receipts by the roots in their block's header.
//! - [`verify_proof`] checks a Merkle proof.
//!
//! Nothing here executes code, writes to the node's store, or waits in a look-up. Start with [`Fork::open`].
//!
//! [`ForkBase`] is put under the chain's `StateView`, which looks up there what has no row and no undo row, trie nodes
//! included. A run that lacks something ends with an error that knows how to fetch it; the run gives up its reader and
//! its worker, waits for the fetch, and begins again. Roots are computed as ever; a sibling that a deletion needs is
//! fetched like any other node.

mod base;
pub mod cache;
mod error;
mod fetch;
pub mod history;
mod json;
mod misses;
pub mod pin;
mod proof;
pub mod source;
pub mod state;

pub use base::ForkBase;
pub use error::{Contradiction, FileError, ForkError, HeaderHashError, Lacking, OtherBlock};
pub use esker_evm_state::not_fetched::LackingCall;
pub use fetch::{
    Fork, ForkCounts, ForkOptions, KeptBlock, OpenedFork, OtherSource, ProofMode, Trust, WeakFork,
};
pub use json::FieldError;
pub use misses::{Misses, Want};
pub use proof::{ProofFault, ProvenPath, verify_proof};
pub use state::BaseView;
