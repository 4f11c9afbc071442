//! The chains of a node, built by [`factory`], and the services over them, built by [`services`].

pub(crate) mod development;
mod endpoints;
mod evm;
mod evm_chain;
mod evm_services;
mod evm_settings;
pub mod factory;
pub mod followed;
mod fork_history;
mod fork_source;
mod impersonation;
mod import;
mod parts;
pub(crate) mod rules;
pub mod services;

pub use endpoints::endpoints;
pub use evm_chain::EvmChain;
pub(crate) use evm_services::{ADMIN as EVM_ADMIN, RPC as EVM_RPC};
pub use factory::Chain;
pub(crate) use fork_source::source_limits;
pub(crate) use import::advance_to_last;
pub use parts::{ChainInputs, Development, ServiceParts, TxRelays};
pub use services::{ChainRoutes, ChainServices};
