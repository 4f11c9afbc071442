//! The part of verifying a block that needs no state.

use std::sync::{Arc, OnceLock};

use alloy_primitives::{Address, B256};
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::Rules;
use esker_evm_state::types::Block;

/// A block with values that follow from its bytes and are expensive: the senders of its transactions and their root.
/// The first thread that needs a value computes it once.
#[derive(Debug)]
pub struct PreparedBlock {
    block: Block,
    rules: Arc<dyn Rules>,
    transactions_root: OnceLock<B256>,
    /// Senders by the index of the transaction; `None` for an invalid signature.
    senders: Box<[OnceLock<Option<Address>>]>,
}

impl PreparedBlock {
    /// A block of a chain with these rules; nothing is computed yet.
    pub fn new(block: Block, rules: Arc<dyn Rules>) -> Self {
        let senders = block.transactions.iter().map(|_| OnceLock::new()).collect();
        Self { block, rules, transactions_root: OnceLock::new(), senders }
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Returns the block.
    pub fn into_block(self) -> Block {
        self.block
    }

    /// Computes all values. `known_sender` returns a known sender by the transaction's hash.
    pub fn compute_all(&self, known_sender: &dyn Fn(&B256) -> Option<Address>) {
        self.transactions_root();
        for index in 0..self.senders.len() {
            self.sender(index, known_sender);
        }
    }

    /// Root of the transactions.
    pub fn transactions_root(&self) -> B256 {
        *self.transactions_root.get_or_init(|| self.block.transactions_root())
    }

    /// The sender of the transaction with this index; `None` for an invalid signature.
    ///
    /// # Panics
    /// The block has fewer transactions.
    pub fn sender(
        &self,
        index: usize,
        known_sender: &dyn Fn(&B256) -> Option<Address>,
    ) -> Option<Address> {
        *self.senders[index].get_or_init(|| {
            let tx = &self.block.transactions[index];
            known_sender(tx.hash()).or_else(|| sender_of(tx, self.rules.as_ref()).ok())
        })
    }
}
