//! The part of verifying a block that needs no state.

use std::sync::{Arc, OnceLock};

use alloy_primitives::{Address, B256};
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::Rules;
use esker_evm_state::types::Block;

/// A block with what follows from its bytes and costs much: the senders of its transactions and their root. Each part is
/// computed once, by the first thread that asks for it.
#[derive(Debug)]
pub struct PreparedBlock {
    block: Block,
    rules: Arc<dyn Rules>,
    transactions_root: OnceLock<B256>,
    /// By the index of the transaction; `None` for a signature that is none.
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

    /// The block by itself.
    pub fn into_block(self) -> Block {
        self.block
    }

    /// Computes everything. `known_sender` knows senders of transactions by the transaction's hash.
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

    /// The sender of the transaction with this index; `None` for a signature that is none.
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
