//! The chains of a node: their names ([`AliasTable`]) and how each kind is made ([`factory`]).

mod aliases;
mod endpoints;
mod evm;
pub mod factory;
mod index;

pub use aliases::{AliasError, AliasTable, MAX_ALIAS_BYTES, MAX_ALIASES};
pub use endpoints::endpoints;
pub(crate) use evm::RPC as EVM_RPC;
pub use factory::Chain;
pub use index::{EvmIndex, XvmIndex};
