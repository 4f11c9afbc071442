//! The receipt of an executed transaction.

use esker_evm_state::types::{Receipt, Transaction};

use super::Message;
use super::runner::ExecutionEnd;

impl ExecutionEnd {
    /// The receipt of `tx`, which `message` executed. `cumulative_gas_used` is the gas of the block's transactions up to
    /// this one.
    pub(crate) fn into_receipt(
        self,
        tx: &Transaction,
        message: &Message,
        cumulative_gas_used: u64,
    ) -> Receipt {
        Receipt {
            tx_type: tx.tx_type() as u8,
            success: self.error.is_none(),
            cumulative_gas_used,
            gas_used: self.gas_used,
            from: message.from,
            contract_address: message.to.is_none().then(|| message.from.create(message.nonce)),
            logs: self.logs,
            state_root: None,
        }
    }
}
