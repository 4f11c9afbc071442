//! What the chain keeps of a block that it executed.

use alloy_primitives::{Address, B256};
use bytes::Bytes;
use esker_chain::ExecutedBlock;
use esker_evm_state::types::{Block, Receipt};

use crate::pool::AccountState;

/// A block that was executed, with what reading it again would cost.
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
    /// Accounts that it changed, as they are after it.
    pub touched: Vec<(Address, AccountState)>,
}

impl AcceptedBlock {
    /// What the chain keeps of an executed block; `None` of one that is not an EVM chain's.
    pub(super) fn of(block: &ExecutedBlock) -> Option<&Self> {
        block.payload.downcast_ref()
    }
}
