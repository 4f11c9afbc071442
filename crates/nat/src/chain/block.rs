//! A block as the extension sees it.

use alloy_primitives::Bytes;
use esker_chain::ChainContext;
use esker_evm::extension::{ChangedAccount, ExtBlock, ExtError};
use esker_evm_execution::rules::{CChainRules, PhaseRules};
use esker_evm_state::state::StateError;
use esker_storage::{KvRead, StorageError};
use esker_transactions::nat::{AccountNonce, AtomicTx, ExtDataForm, decode_ext_data};

use crate::execute::TransferError;
use crate::verify::semantic::VerifyContext;

/// Where the transactions of a block are verified; `shared` shows what was exported to the chain.
pub(super) fn verify_context<'a>(
    context: &'a ChainContext,
    phase: &'a PhaseRules,
    block: &ExtBlock<'a>,
    shared: &'a dyn KvRead,
) -> VerifyContext<'a> {
    VerifyContext {
        context,
        phase,
        base_fee: block.base_fee,
        time_s: block.time,
        shared,
        undecided: block.undecided,
    }
}

/// The rules of a block.
pub(super) fn phase_of(rules: &CChainRules, block: &ExtBlock<'_>) -> Result<PhaseRules, ExtError> {
    rules.phase_at(block.time).map_err(|error| ExtError::Invalid(error.to_string()))
}

/// The transactions that a block carries.
pub(super) fn decode(block: &ExtBlock<'_>) -> Result<Vec<AtomicTx>, ExtError> {
    decode_ext_data(block.ext_data, ExtDataForm::Batch)
        .map_err(|error| ExtError::Invalid(error.to_string()))
}

/// The transactions of a block that was executed.
pub(super) fn decode_executed(ext_data: &Bytes) -> Vec<AtomicTx> {
    // Ext data that was executed decodes.
    decode_ext_data(ext_data, ExtDataForm::Batch).unwrap_or_default()
}

/// The nonces that a block leaves.
pub(super) fn nonces(accounts: &[ChangedAccount]) -> Vec<AccountNonce> {
    let nonce =
        |(account, state): &ChangedAccount| AccountNonce { account: *account, nonce: state.nonce };
    accounts.iter().map(nonce).collect()
}

pub(super) fn internal(error: StorageError) -> ExtError {
    StateError::from(error).into()
}

impl From<TransferError> for ExtError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rule(error) => Self::Invalid(error.to_string()),
            TransferError::State(error) => Self::State(error),
        }
    }
}
