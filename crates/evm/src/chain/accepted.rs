//! The data that the chain keeps of an executed block.

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use esker_chain::ExecutedBlock;
use esker_evm_execution::executor::{TxConsole, TxFailure};
use esker_evm_state::types::{Block, Receipt};

use crate::pool::AccountState;

/// An executed block with data that would be expensive to read again.
#[derive(Clone, Debug)]
pub struct AcceptedBlock {
    /// The block.
    pub block: Block,
    /// Its hash.
    pub hash: B256,
    /// Its bytes.
    pub bytes: Bytes,
    /// One receipt for each transaction.
    pub receipts: Vec<Receipt>,
    /// Transactions whose code failed, and why.
    pub failures: Vec<TxFailure>,
    /// Transactions whose code printed, on chains that keep it.
    pub printed: Vec<TxConsole>,
    /// Changed accounts with their state after the block.
    pub touched: Vec<(Address, AccountState)>,
}

impl AcceptedBlock {
    /// The data of an executed block; `None` if the block belongs to another kind of chain.
    pub(super) fn from_executed(block: &ExecutedBlock) -> Option<&Self> {
        block.payload.downcast_ref()
    }
}
