//! The chains of a node, built by [`factory`].

pub(crate) mod development;
mod endpoints;
mod evm;
pub mod factory;
pub mod followed;
mod import;
mod parts;

pub use endpoints::endpoints;
pub(crate) use evm::{ADMIN as EVM_ADMIN, RPC as EVM_RPC};
pub use factory::Chain;
pub use import::MachineSlot;
pub use parts::{Development, ServiceParts, SharedParts, TxRelays};
