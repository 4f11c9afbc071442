//! A chain of the EVM as the wiring of a node sees it.

use std::sync::Arc;

use esker_evm::chain::Evm;
use esker_evm::control::split_record;
use esker_nat::Nat;
use esker_transactions::nat::{ExtDataForm, decode_ext_data};

/// A chain of the EVM, with its atomic transactions if it has any.
#[derive(Clone, Debug)]
pub struct EvmChain {
    evm: Arc<Evm>,
    nat: Option<Nat>,
}

impl EvmChain {
    /// A chain with atomic transactions.
    pub(super) fn with_atomic(nat: Nat) -> Self {
        Self { evm: Arc::clone(nat.evm()), nat: Some(nat) }
    }

    /// A chain without atomic transactions.
    pub(super) const fn new(evm: Arc<Evm>) -> Self {
        Self { evm, nat: None }
    }

    /// The chain itself.
    pub const fn evm(&self) -> &Arc<Evm> {
        &self.evm
    }

    /// Its atomic transactions.
    pub const fn nat(&self) -> Option<&Nat> {
        self.nat.as_ref()
    }

    /// Number of transactions in a block: the chain's own and its atomic ones. `None` if the block can't be decoded.
    pub(super) fn count_txs(&self, block: &[u8]) -> Option<(usize, usize)> {
        let block = self.evm.params().rules.decode_block(block).ok()?;
        let atomic = match self.nat {
            Some(_) => {
                let (_, ext_data) = split_record(&block.ext_data).ok()?;
                decode_ext_data(ext_data, ExtDataForm::Batch).ok()?.len()
            }
            None => 0,
        };
        Some((block.transactions.len(), atomic))
    }
}
