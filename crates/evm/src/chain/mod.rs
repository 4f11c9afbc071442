//! The chain: stored blocks, building, accepting.
//!
//! [`Evm`] is the chain as the machine's [`ChainVm`](esker_chain::ChainVm); [`ChainView`] reads blocks, receipts and
//! state through any reader.

mod accepted;
mod begin;
mod build_failures;
mod builder;
mod cache;
mod call_lines;
mod code_since;
mod config;
mod controlled;
mod error;
mod execute;
mod forward;
mod genesis_source;
mod journal;
mod maintenance;
mod names;
mod nonces;
mod pending;
mod pending_build;
mod prepared;
mod reader;
mod removed;
mod removed_logs;
mod report;
mod requested_block;
mod rewind;
mod rewinds;
mod settle;
mod snapshot;
mod submit;
mod view;
mod vm;

pub use accepted::AcceptedBlock;
pub use config::{BuildMode, EvmConfig, PRUNED_WINDOW};
pub use error::{ChainReadError, SubmitError};
pub use forward::SubmittedTx;
pub use genesis_source::{GenesisSource, ParseGenesis};
pub use requested_block::{BlockRequest, RequestedBlock, RequestedBlockError};
pub use view::{Ancestors, ChainView};
pub use vm::Evm;
