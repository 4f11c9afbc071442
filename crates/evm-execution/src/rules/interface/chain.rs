//! The rules of a chain as a whole.

use alloy_primitives::{Address, U256};
use esker_evm_state::types::{Header, SealedHeader};
use serde_json::value::RawValue;

use super::{BlockCodec, HeaderRules, StateRules};
use crate::rules::block_point::BlockPoint;
use crate::rules::dialect::Dialect;
use crate::rules::error::RuleError;
use crate::rules::execution::{ExecutionRules, StorageKeys};
use crate::rules::published::ForkConfigs;

/// Everything that a chain decides for itself. Code that uses it does not depend on which chain it is.
///
/// How transactions and code run is described by values, [`ExecutionRules`]; the supertraits have the bytes of blocks,
/// their headers and checks, and the changes of the state besides those of transactions.
pub trait Rules: BlockCodec + HeaderRules + StateRules {
    /// The chain's EIP-155 number.
    fn chain_id(&self) -> u64;

    /// The forms and texts that clients of the chain expect.
    fn dialect(&self) -> Dialect {
        Dialect::Standard
    }

    /// Whether logs show the time of their block.
    fn has_log_timestamps(&self) -> bool {
        self.dialect().is_standard()
    }

    /// Whether transactions without a key's signature are valid: on development networks
    /// (docs/protocol/c-chain-blocks.md, "Impersonated senders").
    fn allows_impersonation(&self) -> bool {
        false
    }

    /// Whether clients may set the chain ID and signers of signatures: on development networks
    /// (docs/protocol/c-chain-blocks.md, "Control values").
    fn has_control_values(&self) -> bool {
        self.allows_impersonation()
    }

    /// How transactions and code run in a block.
    ///
    /// # Errors
    /// The block belongs to a history that is not executed.
    fn execution_rules(&self, at: &BlockPoint) -> Result<ExecutionRules, RuleError>;

    /// As [`Self::execution_rules`], for calls. In a block of a history that is not executed the oldest known rules
    /// apply.
    fn call_rules(&self, at: &BlockPoint) -> ExecutionRules;

    /// The slots of storage keys, the same in every block.
    fn storage_keys(&self) -> StorageKeys;

    /// The usual recipient of fees.
    fn fee_recipient(&self) -> Address;

    /// Base fee of the first block after genesis, wei. A genesis without a base fee also shows it, since wallets use
    /// the last block.
    fn initial_base_fee(&self) -> U256;

    /// The usual time between two blocks, s.
    fn block_interval_s(&self) -> u64;

    /// How far ahead of the clock a block may be, s.
    fn max_future_s(&self) -> u64;

    /// The forks that the chain publishes, in its own form: the result of `getChainConfig`.
    fn chain_config(&self) -> Box<RawValue>;

    /// The forks around the last block, and what they bring (EIP-7910).
    fn forks(&self, genesis: &SealedHeader, head: &Header) -> ForkConfigs;
}
