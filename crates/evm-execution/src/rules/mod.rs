//! The rules of blocks.
//!
//! [`Rules`] is the interface: everything that a chain decides for itself. The rest of this crate and the crates above
//! use it and do not depend on which chain it is; another crate can implement it. An implementation fills:
//!
//! - [`AccountCodec`], [`BlockCodec`]: the bytes of accounts, headers and blocks;
//! - [`HeaderRules`]: fees and limits of a child ([`ChildTerms`]), the header of a new block and of the first one,
//!   the checks of a block, whose errors have the chain's texts ([`RuleError`]);
//! - [`StateRules`]: what changes in the state besides transactions, with [`SystemCalls`];
//! - [`Rules`]: chain ID, the [`ExecutionRules`] of each block, what the chain publishes of its forks.
//!
//! [`c_chain`] has the C-Chain's.

mod block_point;
pub mod c_chain;
mod child_terms;
mod dialect;
mod error;
mod execution;
mod header_terms;
mod interface;
mod new_block;
mod published;
mod results;

pub use block_point::BlockPoint;
pub use c_chain::{
    BLACKHOLE, BlockGasCost, BlockRuleError, CChainRules, ChainConfig, FeeOverrides, FeeRuleError,
    ForkSchedule, HeaderFormError, INITIALLY_ACTIVE, MAX_ATOMIC_GAS, MAX_BLOCK_GAS_COST, Phase,
    PhaseRules, SyntacticError, TARGET_BLOCK_RATE_S, UNSCHEDULED, block_gas_cost, check_schedule,
    fortuna, window,
};
pub use child_terms::ChildTerms;
pub use dialect::Dialect;
pub use error::{BlockStepError, RuleError};
pub use execution::{
    BaseFeeUse, BlobLimits, ExecutionLimits, ExecutionRules, NativeAsset, Revision, StorageKeys,
};
pub use header_terms::{HeaderTerms, NextHeader};
pub use interface::{
    AncestorBlocks, BlockCodec, HeaderRules, Rules, RunningBlock, SYSTEM_CALL_GAS, StateRules,
    SystemCallOutcome, SystemCalls,
};
pub use new_block::{
    BlockAttributes, BlockCheck, BlockEnd, BlockResults, BlockRewards, BlockSupply, ExtSummary,
    GenesisTerms, NewBlock,
};
pub use published::{ForkConfig, ForkConfigs};
pub use results::{ResultError, check_common_results};

#[cfg(doc)]
use esker_evm_state::types::AccountCodec;
