//! The changes that atomic transactions make: balances and nonces of accounts, and shared memory.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256};
use esker_evm_execution::executor::StateOverlay;
use esker_evm_state::state::StateError;
use esker_primitives::NanoNative;
use esker_primitives::codec::Encode;
use esker_primitives::ids::{AssetId, ChainId};
use esker_shared_memory::{Element, Requests};
use esker_transactions::money::Wei;
use esker_transactions::nat::{AtomicTx, EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport};

use crate::verify::VerifyError;

/// A rule is broken, or state can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] VerifyError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// The native asset's other unit, another asset's own.
fn evm_amount(amount: u64, asset_id: &AssetId, native: &AssetId) -> U256 {
    if asset_id == native { Wei::from(NanoNative(amount)).0 } else { U256::from(amount) }
}

fn balance(
    state: &mut StateOverlay<'_>,
    address: alloy_primitives::Address,
    asset_id: &AssetId,
    native: &AssetId,
) -> Result<U256, StateError> {
    if asset_id == native {
        state.balance(address)
    } else {
        state.asset_balance(address, B256::new(*asset_id.as_bytes()))
    }
}

fn set_balance(
    state: &mut StateOverlay<'_>,
    address: alloy_primitives::Address,
    asset_id: &AssetId,
    native: &AssetId,
    amount: U256,
) -> Result<(), StateError> {
    if asset_id == native {
        state.set_balance(address, amount)
    } else {
        state.set_asset_balance(address, B256::new(*asset_id.as_bytes()), amount)
    }
}

/// Moves the amounts of a transaction into or out of accounts. After an error the state is as it was.
pub fn transfer(
    tx: &UnsignedAtomicTx,
    state: &mut StateOverlay<'_>,
    native: &AssetId,
) -> Result<(), TransferError> {
    match tx {
        UnsignedAtomicTx::Import(tx) => {
            for EvmOutput { address, amount, asset_id } in &tx.outputs {
                let held = balance(state, *address, asset_id, native)?;
                let amount = evm_amount(*amount, asset_id, native);
                let sum = held.saturating_add(amount);
                set_balance(state, *address, asset_id, native, sum)?;
                if asset_id == native {
                    let lost = amount.saturating_sub(sum.saturating_sub(held));
                    state.add_lost(lost);
                }
            }
            Ok(())
        }
        UnsignedAtomicTx::Export(tx) => {
            let before = state.checkpoint();
            let taken = take(tx, state, native);
            if taken.is_err() {
                state.revert_to(before);
            }
            taken
        }
    }
}

fn take(
    tx: &UnsignedExport,
    state: &mut StateOverlay<'_>,
    native: &AssetId,
) -> Result<(), TransferError> {
    for EvmInput { address, amount, asset_id, nonce } in &tx.inputs {
        let held = balance(state, *address, asset_id, native)?;
        let rest = held
            .checked_sub(evm_amount(*amount, asset_id, native))
            .ok_or(VerifyError::InsufficientFunds)?;
        set_balance(state, *address, asset_id, native, rest)?;
        if state.nonce(*address)? != *nonce {
            return Err(VerifyError::InvalidNonce.into());
        }
    }
    // Once an account, however many assets it gave.
    for EvmInput { address, nonce, .. } in &tx.inputs {
        state.set_nonce(*address, nonce.saturating_add(1))?;
    }
    Ok(())
}

/// Adds what a transaction does in shared memory, by peer chain.
pub(crate) fn add_requests(tx: &AtomicTx, requests: &mut BTreeMap<ChainId, Requests>) {
    match tx.unsigned() {
        UnsignedAtomicTx::Import(unsigned) => {
            let ids = unsigned.imported_inputs.iter().map(|input| input.utxo_id.input_id());
            let removes = ids.map(|id| id.as_bytes().to_vec());
            requests.entry(unsigned.source_chain).or_default().removes.extend(removes);
        }
        UnsignedAtomicTx::Export(unsigned) => {
            let puts = unsigned.exported_utxos(tx.id()).map(|utxo| {
                let owners = &utxo.output.owners().addresses;
                let id = utxo.utxo_id.input_id();
                Element::for_owners(&id, utxo.to_versioned_bytes(), owners)
            });
            requests.entry(unsigned.destination_chain).or_default().puts.extend(puts);
        }
    }
}
