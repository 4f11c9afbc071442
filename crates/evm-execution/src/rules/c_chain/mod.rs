//! The C-Chain's rules from Apricot 5 on (docs/protocol/c-chain-forks.md, "Fork times"), one file for each phase.
//!
//! [`CChainRules`] implement [`super::Rules`]; each part of that interface has a file. [`Phase`] and [`PhaseRules`] are
//! the C-Chain's own: nothing outside of this folder and of its atomic transactions uses them.

mod addresses;
mod apricot5;
mod banff;
mod block_gas_cost;
mod bytes;
mod checks;
mod config;
mod constants;
mod cortina;
mod durango;
mod error;
mod etna;
mod extra;
mod fee_error;
mod fees;
pub mod fortuna;
mod header_form;
mod header_rules;
mod phase;
mod published;
mod rules;
mod schedule;
mod seal;
mod state_rules;
mod syntactic;
mod syntactic_error;
pub mod window;

pub use addresses::BLACKHOLE;
pub use apricot5::MAX_ATOMIC_GAS;
pub use block_gas_cost::{BlockGasCost, MAX_BLOCK_GAS_COST, TARGET_BLOCK_RATE_S, block_gas_cost};
pub use config::{ChainConfig, check_schedule};
pub use error::BlockRuleError;
pub use fee_error::FeeRuleError;
pub use header_form::HeaderFormError;
pub use phase::{Phase, PhaseRules};
pub use rules::{CChainRules, FeeOverrides};
pub use schedule::{ForkSchedule, INITIALLY_ACTIVE, UNSCHEDULED};
pub use syntactic::MAX_FUTURE_S;
pub use syntactic_error::SyntacticError;
