//! The chains of a node, built by [`factory`].

pub(crate) mod development;
mod endpoints;
mod evm;
mod evm_chain;
pub mod factory;
pub mod followed;
mod import;
mod parts;
mod rules;

pub use endpoints::endpoints;
pub(crate) use evm::{ADMIN as EVM_ADMIN, RPC as EVM_RPC};
pub use evm_chain::EvmChain;
pub use factory::Chain;
pub use import::MachineSlot;
pub use parts::{Development, ServiceParts, SharedParts, TxRelays};
