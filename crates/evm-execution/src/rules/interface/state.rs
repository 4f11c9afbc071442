//! What a chain changes in its state besides transactions.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, Bytes};
use esker_evm_state::state::{StateChanges, StateError};
use esker_evm_state::types::{Block, Header, Receipt};

use crate::executor::StateOverlay;
use crate::rules::block_point::BlockPoint;
use crate::rules::error::BlockStepError;
use crate::rules::execution::ExecutionRules;
use crate::rules::new_block::{BlockEnd, BlockRewards, BlockSupply};

/// A block that is executed.
#[derive(Clone, Debug)]
pub struct RunningBlock<'a> {
    /// Its height, and what else selects its rules.
    pub point: BlockPoint,
    /// Hash of the parent.
    pub parent_hash: B256,
    /// Recipient of the fees.
    pub coinbase: Address,
    /// The parent's beacon root (EIP-4788).
    pub beacon_root: Option<B256>,
    /// Headers of its uncles.
    pub uncles: &'a [Header],
    /// Withdrawals of validators (EIP-4895).
    pub withdrawals: Option<&'a [Withdrawal]>,
    /// How code runs in it.
    pub rules: ExecutionRules,
}

/// The outcome of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemCallOutcome {
    /// Whether the code succeeded. If not, its changes are discarded.
    pub success: bool,
    /// Returned data.
    pub output: Bytes,
}

/// Gas of a call by the system. It costs nobody anything and does not count as the block's.
pub const SYSTEM_CALL_GAS: u64 = 30_000_000;

/// The state of a block, and calls by the system.
pub trait SystemCalls<'a> {
    /// The state after the steps so far.
    fn state(&mut self) -> &mut StateOverlay<'a>;

    /// Makes a call that costs nothing and is not checked.
    fn system_call(
        &mut self,
        caller: Address,
        to: Address,
        input: Bytes,
        gas_limit: u64,
    ) -> Result<SystemCallOutcome, StateError>;
}

/// Changes of the state that no transaction makes. What is not needed has no effect by default.
pub trait StateRules {
    /// Accounts of the first block besides those of its definition.
    fn genesis_accounts(&self, at: &BlockPoint) -> StateChanges {
        let _ = at;
        StateChanges::new()
    }

    /// Changes the state for the forks that begin after the block `from`, up to the block `to`. Calls see these
    /// changes too.
    fn apply_forks(
        &self,
        from: &BlockPoint,
        to: &BlockPoint,
        state: &mut StateOverlay<'_>,
    ) -> Result<(), StateError> {
        let (_, _, _) = (from, to, state);
        Ok(())
    }

    /// The work before a block's first transaction, after [`Self::apply_forks`].
    fn begin_block(
        &self,
        block: &RunningBlock<'_>,
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<(), BlockStepError> {
        let (_, _) = (block, calls);
        Ok(())
    }

    /// The work after a block's last transaction and its ext data.
    fn end_block(
        &self,
        block: &RunningBlock<'_>,
        receipts: &[Receipt],
        calls: &mut dyn SystemCalls<'_>,
    ) -> Result<BlockEnd, BlockStepError> {
        let (_, _, _) = (block, receipts, calls);
        Ok(BlockEnd::default())
    }

    /// What an accepted block pays for its making.
    fn rewards(&self, block: &Block) -> BlockRewards {
        let _ = block;
        BlockRewards::default()
    }

    /// The change of the supply by an accepted block, for an audit.
    fn supply(&self, block: &Block) -> BlockSupply {
        let _ = block;
        BlockSupply::default()
    }
}
