//! Ethereum as a set of rules for the executor and the chain: the interface of `esker_evm_execution::rules`, filled with
//! the functions of this crate.

mod codec;
mod error;
mod ethereum;
mod header_rules;
mod published;
mod seal;
mod state_rules;
mod terms;

pub use error::StepError;
pub use ethereum::EthereumRules;
