//! Access to contract storage by key.
//!
//! A storage key is mapped to a slot before it is read, so two keys may have the same slot. Whether an access is warm
//! depends on the original key. So an access through a key that differs from its slot touches two entries of the
//! journal: that of the key, which only says whether it is warm, and that of the slot, which holds the value and is
//! not warmed.

use std::collections::hash_map::Entry;

use alloy_primitives::{Address, U256};
use revm::Database;
use revm::context::JournalEntry;
use revm::context_interface::JournalTr;
use revm::context_interface::cfg::gas_params::GasId;
use revm::context_interface::context::{ContextError, SStoreResult, StateLoad};
use revm::context_interface::host::LoadError;
use revm::context_interface::journaled_state::entry::JournalEntryTr;
use revm::interpreter::instructions::host as standard;
use revm::interpreter::interpreter_types::{InputsTr, RuntimeFlag};
use revm::interpreter::{Host, InstructionContext, InstructionExecResult, InstructionResult};
use revm::state::EvmStorageSlot;

use super::database::DatabaseError;
use super::env::{EvmContext, Ictx};
use crate::rules::NativeAsset;

/// The key on top of the stack and its slot, if they differ.
fn aliased(context: &Ictx<'_, '_>) -> Option<(U256, U256)> {
    let key = *context.interpreter.stack.data().last()?;
    let slot = context.host.chain.storage_slot(key);
    (slot != key).then_some((key, slot))
}

pub(super) fn sload(context: Ictx<'_, '_>) -> InstructionExecResult {
    let Some((key, slot)) = aliased(&context) else { return standard::sload(context) };
    let InstructionContext { interpreter, host } = context;
    let target = interpreter.input.target_address();
    let cold_cost = host.gas_params().cold_storage_additional_cost();
    let skip_cold = interpreter.gas.remaining() < cold_cost;
    if warm(host, target, key, skip_cold)? && !interpreter.gas.record_regular_cost(cold_cost) {
        return Err(InstructionResult::OutOfGas);
    }
    let value = keep_error(host, |host| peek(host, target, slot))?;
    *interpreter.stack.top().expect("the key is on the stack") = value;
    Ok(())
}

pub(super) fn sstore(mut context: Ictx<'_, '_>) -> InstructionExecResult {
    if context.interpreter.runtime_flag.is_static() {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let Some((key, slot)) = aliased(&context) else { return standard::sstore(context) };
    let Some([_, new]) = context.interpreter.stack.popn::<2>() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let target = context.interpreter.input.target_address();
    let (gas, host) = (&mut context.interpreter.gas, &mut *context.host);
    if gas.remaining() <= host.gas_params().call_stipend() {
        return Err(InstructionResult::ReentrancySentryOOG);
    }
    if !gas.record_regular_cost(host.gas_params().sstore_static_gas()) {
        return Err(InstructionResult::OutOfGas);
    }
    let skip_cold = gas.remaining() < host.gas_params().cold_storage_cost();
    let is_cold = warm(host, target, key, skip_cold)?;
    let present_value = keep_error(host, |host| peek(host, target, slot))?;
    let original_value = host.journaled_state.inner.state[&target].storage[&slot].original_value();
    keep_error(host, |host| poke(host, target, slot, new))?;
    let result = SStoreResult { original_value, present_value, new_value: new };
    let load = StateLoad::new(result, is_cold);
    standard::sstore_default_gas_accounting(&mut context, target, &load)
}

/// SSTORE of Constantinople, which has net gas metering (EIP-1283).
pub(super) fn sstore_of_constantinople(context: Ictx<'_, '_>) -> InstructionExecResult {
    standard::sstore_with_gas_accounting(context, |context, _, load| {
        let params = context.host.gas_params();
        let (cost, refund) =
            (params.sstore_dynamic_gas(true, load, false), params.sstore_refund(true, load));
        let gas = &mut context.interpreter.gas;
        if !gas.record_regular_cost(cost) {
            return Err(InstructionResult::OutOfGas);
        }
        gas.record_refund(refund);
        Ok(())
    })
}

/// Gas of Constantinople where it differs from that of Petersburg.
pub(super) fn constantinople_gas() -> [(GasId, u64); 5] {
    [
        (GasId::sstore_static(), NOOP),
        (GasId::sstore_set_without_load_cost(), SET - NOOP),
        (GasId::sstore_reset_without_cold_load_cost(), RESET - NOOP),
        (GasId::sstore_set_refund(), SET - NOOP),
        (GasId::sstore_reset_refund(), RESET - NOOP),
    ]
}

/// Gas of a slot's change (EIP-1283).
const SET: u64 = 20_000;
const RESET: u64 = 5_000;
/// Gas if the slot does not change or has changed before.
const NOOP: u64 = 200;

/// Records the access of a key. Returns whether it was cold.
fn warm(
    host: &mut EvmContext<'_>,
    address: Address,
    key: U256,
    skip_cold: bool,
) -> Result<bool, LoadError> {
    let listed = host.journaled_state.inner.warm_addresses.is_storage_warm(&address, &key);
    // If the account has other assets, a slot of that number can be a balance.
    let value = match host.chain.rules.native_asset {
        NativeAsset::On => match host.journaled_state.inner.state.get(&address) {
            Some(account) if account.storage.contains_key(&key) => U256::ZERO,
            Some(account) if account.is_created() => U256::ZERO,
            _ => keep_error(host, |host| host.journaled_state.database.storage(address, key))
                .map_err(|_| LoadError::DBError)?,
        },
        NativeAsset::Reverts | NativeAsset::Absent => U256::ZERO,
    };
    let inner = &mut host.journaled_state.inner;
    let transaction = inner.transaction_id;
    let account = inner.state.get_mut(&address).expect("the running contract is loaded");
    let is_cold = match account.storage.entry(key) {
        Entry::Occupied(entry) => {
            let is_cold = entry.get().is_cold_transaction_id(transaction) && !listed;
            if is_cold && skip_cold {
                return Err(LoadError::ColdLoadSkipped);
            }
            entry.into_mut().mark_warm_with_transaction_id(transaction);
            is_cold
        }
        Entry::Vacant(entry) => {
            if !listed && skip_cold {
                return Err(LoadError::ColdLoadSkipped);
            }
            entry.insert(EvmStorageSlot::new(value, transaction));
            !listed
        }
    };
    if is_cold {
        inner.journal.push(JournalEntry::storage_warmed(address, key));
    }
    Ok(is_cold)
}

/// Runs a read of the state. An error is kept until the end, as revm does.
fn keep_error<'a, T>(
    host: &mut EvmContext<'a>,
    load: impl FnOnce(&mut EvmContext<'a>) -> Result<T, DatabaseError>,
) -> Result<T, InstructionResult> {
    load(host).map_err(|error| {
        host.error = Err(ContextError::Db(error));
        InstructionResult::FatalExternalError
    })
}

/// The value of a slot of a loaded account. The slot stays warm or cold as it is.
pub(super) fn peek(
    host: &mut EvmContext<'_>,
    address: Address,
    slot: U256,
) -> Result<U256, DatabaseError> {
    let account = host.journaled_state.load_account(address)?;
    if let Some(found) = account.storage.get(&slot) {
        return Ok(found.present_value());
    }
    let value = match account.is_created() {
        true => U256::ZERO,
        false => host.journaled_state.database.storage(address, slot)?,
    };
    let inner = &mut host.journaled_state.inner;
    let mut entry = EvmStorageSlot::new(value, inner.transaction_id);
    entry.mark_cold();
    let account = inner.state.get_mut(&address).expect("just loaded");
    account.storage.insert(slot, entry);
    Ok(value)
}

/// Sets a slot that was read with [`peek`]. The slot stays warm or cold as it is.
pub(super) fn poke(
    host: &mut EvmContext<'_>,
    address: Address,
    slot: U256,
    value: U256,
) -> Result<(), DatabaseError> {
    peek(host, address, slot)?;
    let inner = &mut host.journaled_state.inner;
    inner.touch(address);
    let account = inner.state.get_mut(&address).expect("just loaded");
    let entry = account.storage.get_mut(&slot).expect("just loaded");
    let before = std::mem::replace(&mut entry.present_value, value);
    if before != value {
        inner.journal.push(JournalEntry::storage_changed(address, slot, before));
    }
    Ok(())
}
