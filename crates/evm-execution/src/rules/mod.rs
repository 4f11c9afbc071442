//! What holds in a block of a given time.
//!
//! [`Rules`] is the seam: how headers, bodies and account leaves are written, which slot a storage key
//! means, what gas costs, who gets the fees, what happens before the first transaction. Everything else in
//! this crate asks it, and never which chain it is on, so that a second set of rules can join.
//!
//! [`CChainRules`] are the C-Chain's, from Apricot 5 on: one file a phase, in the order of their coming.

mod apricot5;
mod banff;
mod block_gas_cost;
mod c_chain;
mod constants;
mod cortina;
mod durango;
mod etna;
pub mod fortuna;
mod header_terms;
mod phase;
mod schedule;
pub mod window;

pub use apricot5::MAX_ATOMIC_GAS;
pub use block_gas_cost::{BlockGasCost, MAX_BLOCK_GAS_COST, TARGET_BLOCK_RATE_S, block_gas_cost};
pub use c_chain::{BLACKHOLE, CChainRules, ChildTerms, FeeOverrides, FeeRuleError, Rules};
pub use header_terms::{HeaderTerms, NextHeader};
pub use phase::{Instructions, NativeAsset, Phase, PhaseRules};
pub use schedule::{ForkSchedule, INITIALLY_ACTIVE, UNSCHEDULED};
