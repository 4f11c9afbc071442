//! The rules of a block at a given time.
//!
//! [`Rules`] is the interface: the encoding of headers, bodies and account leaves, the slots of storage keys, prices
//! and recipient of fees, and the work before the first transaction. Everything else in this crate uses it and does
//! not depend on which chain it is, so that a second set of rules can be added.
//!
//! [`CChainRules`] are the C-Chain's rules from Apricot 5 on, one file for each phase, in chronological order.

mod apricot5;
mod banff;
mod block_gas_cost;
mod c_chain;
mod constants;
mod cortina;
mod durango;
mod etna;
mod execution;
pub mod fortuna;
mod header_terms;
mod phase;
mod schedule;
pub mod window;

pub use apricot5::MAX_ATOMIC_GAS;
pub use block_gas_cost::{BlockGasCost, MAX_BLOCK_GAS_COST, TARGET_BLOCK_RATE_S, block_gas_cost};
pub use c_chain::{BLACKHOLE, CChainRules, ChildTerms, FeeOverrides, FeeRuleError, Rules};
pub use execution::{BaseFeeUse, BlobLimits, ExecutionRules, NativeAsset, Revision, StorageKeys};
pub use header_terms::{HeaderTerms, NextHeader};
pub use phase::{Phase, PhaseRules};
pub use schedule::{ForkSchedule, INITIALLY_ACTIVE, UNSCHEDULED};
