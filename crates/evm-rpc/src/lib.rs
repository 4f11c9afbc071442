//! The EVM's JSON-RPC: the methods with which wallets and tools read, call and send
//! (docs/protocol/c-chain-rpc.md, "C-Chain JSON-RPC").
//!
//! - [`wire`]: forms of arguments and replies, with the reference's texts and order of members.
//! - One folder a namespace: [`evm`] (which clients call `eth`), [`net`], `personal`, [`txpool`], [`web3`], [`debug`], `trace`, `admin`. A
//!   service is a table of methods over what it reads; [`Apis`] lists the services that a node serves. What tools ask a
//!   development node stands in `development`.
//! - [`ReadApi`] is what reading methods share: the ports [`esker_evm::view::ChainReader`] and
//!   [`esker_evm::view::PoolReader`], and how a block parameter becomes a block.
//! - [`subscriptions`]: notifications to websocket connections.
//! - [`evm::TransactApi`] is what methods share that run code, send, or sign.
//!
//! This crate never knows HTTP, takes a lock of the chain, or writes to a store. Every call reads one block that it
//! resolved first.

mod admin;
mod apis;
mod config;
pub mod debug;
mod development;
mod error;
pub mod evm;
mod files;
mod loaded_blocks;
pub mod net;
mod otterscan;
mod personal;
mod reads;
pub mod subscriptions;
mod testing;
mod trace;
pub mod txpool;
pub mod web3;
pub mod wire;

pub use admin::{BlockFile, BlockFileError, BlockImporter, ChainFiles, ImportError, admin_methods};
pub use apis::{Api, Apis, UnknownApi};
pub use config::{PRUNED_BLOCKS, ProofWindow, ReadConfig};
pub use debug::{ChainTraces, TraceFiles, file_tracing_methods, tracing_methods, witness_methods};
pub use development::{
    DevelopmentNode, ForkSource, ResetPort, ResetRequest, ResetTarget, StateFileError, StateLoads,
    check_dump_file, development_methods,
};
pub use error::{PRUNED_HISTORY, read_error};
pub use loaded_blocks::{LoadedBlock, LoadedBlocks};
pub use otterscan::otterscan_methods;
pub use reads::ReadApi;
pub use testing::{BlockBuilder, testing_methods};
pub use trace::trace_methods;
