//! Calls that also send another asset, from Apricot 2 until Banff: the precompiled contract `0x0100..02`, which makes
//! a call itself (docs/protocol/c-chain-execution.md, "Native-asset precompiles").
//!
//! A call of the contract is replaced by the call that it makes, before its frame begins. A tracer sees both. The
//! called address counts as accessed afterwards; in the reference it does not.

use alloy_primitives::{Address, B256, Bytes, U256, address};
use esker_evm_state::state::asset_slot;
use revm::context::journaled_state::account::JournaledAccountTr;
use revm::context_interface::JournalTr;
use revm::context_interface::journaled_state::JournalCheckpoint;
use revm::handler::FrameResult;
use revm::interpreter::{
    CallInput, CallInputs, CallOutcome, CallScheme, CallValue, Gas, InstructionResult,
    InterpreterResult,
};
use revm::primitives::constants::CALL_STACK_LIMIT;
use revm::state::AccountExtension;

use super::VmError;
use super::database::DatabaseError;
use super::database::MULTI_COIN;
use super::env::EvmContext;
use super::storage::{peek, poke};
use crate::rules::NativeAsset;

/// Returns the balance of an asset of an account.
pub(super) const NATIVE_ASSET_BALANCE: Address =
    address!("0x0100000000000000000000000000000000000001");
/// Makes a call that also sends an asset.
pub(super) const NATIVE_ASSET_CALL: Address =
    address!("0x0100000000000000000000000000000000000002");

const CALL_GAS: u64 = 20_000;
const NEW_ACCOUNT_GAS: u64 = 25_000;

/// A call with assets whose frame runs: its frame, and the checkpoint to revert to if it fails.
pub(super) struct OpenAssetCall {
    pub(super) frame: usize,
    pub(super) checkpoint: JournalCheckpoint,
    /// The input of the call, for an inspector.
    pub(super) inputs: Option<Box<CallInputs>>,
}

/// The beginning of a call with assets.
pub(super) enum AssetCallStart {
    /// The call has ended.
    Ended(CallOutcome),
    /// The call that the contract makes can begin.
    Open(JournalCheckpoint),
}

/// Whether it is a call with assets, in a phase that has such calls.
pub(super) fn is_call(context: &EvmContext<'_>, inputs: &CallInputs) -> bool {
    inputs.bytecode_address == NATIVE_ASSET_CALL
        && context.chain.rules.native_asset == NativeAsset::On
}

/// Moves the assets, and replaces the call by the one that the contract makes.
pub(super) fn begin(
    context: &mut EvmContext<'_>,
    inputs: &mut CallInputs,
    depth: &mut usize,
) -> Result<AssetCallStart, DatabaseError> {
    if *depth > CALL_STACK_LIMIT as usize {
        return Ok(AssetCallStart::Ended(outcome(
            inputs,
            InstructionResult::CallTooDeep,
            inputs.gas_limit,
        )));
    }
    let checkpoint = context.journaled_state.checkpoint();
    let begun = transfer(context, inputs)?;
    if let Err((result, gas)) = begun {
        context.journaled_state.checkpoint_revert(checkpoint);
        return Ok(AssetCallStart::Ended(outcome(inputs, result, gas)));
    }
    *depth += 1;
    Ok(AssetCallStart::Open(checkpoint))
}

type CallRefusal = (InstructionResult, u64);

fn transfer(
    context: &mut EvmContext<'_>,
    inputs: &mut CallInputs,
) -> Result<Result<(), CallRefusal>, DatabaseError> {
    let input = inputs.input.bytes(&*context);
    let journal = &mut context.journaled_state;
    if let CallValue::Transfer(value) = inputs.value {
        journal.load_account(inputs.target_address)?;
        if journal.transfer_loaded(inputs.caller, inputs.target_address, value).is_some() {
            return Ok(Err((InstructionResult::OutOfFunds, inputs.gas_limit)));
        }
    }
    let Some(gas) = inputs.gas_limit.checked_sub(CALL_GAS) else {
        return Ok(Err((InstructionResult::PrecompileOOG, 0)));
    };
    let Some((to, asset, amount)) = parse(&input).filter(|_| !inputs.is_static) else {
        return Ok(Err((InstructionResult::Revert, gas)));
    };
    // The contract in whose name the code runs, even if the code belongs to another contract.
    let caller = match inputs.scheme {
        CallScheme::DelegateCall => inputs.target_address,
        CallScheme::Call | CallScheme::CallCode | CallScheme::StaticCall => inputs.caller,
    };
    let slot = asset_slot(asset);
    let have = peek(context, caller, slot)?;
    if have < amount {
        context.chain.failure = Some(VmError::InsufficientBalance);
        return Ok(Err((InstructionResult::PrecompileError, 0)));
    }
    let account = context.journaled_state.load_account_with_code(to)?;
    let is_new = account.is_loaded_as_not_existing_not_touched();
    inputs.known_bytecode = (account.info.code_hash, account.info.code.clone().unwrap_or_default());
    let Some(gas) = gas.checked_sub(if is_new { NEW_ACCOUNT_GAS } else { 0 }) else {
        return Ok(Err((InstructionResult::PrecompileOOG, 0)));
    };
    if !amount.is_zero() {
        set_asset(context, caller, slot, have - amount)?;
        let had = peek(context, to, slot)?;
        set_asset(context, to, slot, had.wrapping_add(amount))?;
    }
    inputs.input = CallInput::Bytes(input.slice(84..));
    inputs.gas_limit = gas;
    inputs.target_address = to;
    inputs.bytecode_address = to;
    inputs.caller = caller;
    inputs.value = CallValue::Transfer(U256::ZERO);
    inputs.scheme = CallScheme::Call;
    Ok(Ok(()))
}

/// `address 20 | asset 32 | amount 32 | call data`
fn parse(input: &Bytes) -> Option<(Address, B256, U256)> {
    let (to, rest) = input.split_first_chunk::<20>()?;
    let (asset, rest) = rest.split_first_chunk::<32>()?;
    let (amount, _) = rest.split_first_chunk::<32>()?;
    Some((Address::from(*to), B256::from(*asset), U256::from_be_bytes(*amount)))
}

fn set_asset(
    context: &mut EvmContext<'_>,
    address: Address,
    slot: U256,
    amount: U256,
) -> Result<(), DatabaseError> {
    let mut account = context.journaled_state.load_account_mut(address)?;
    account.data.set_extension(AccountExtension::copy_from_slice(MULTI_COIN));
    poke(context, address, slot, amount)
}

/// Ends a call with assets.
pub(super) fn settle(
    context: &mut EvmContext<'_>,
    checkpoint: JournalCheckpoint,
    mut result: FrameResult,
) -> FrameResult {
    if result.instruction_result().is_ok() {
        context.journaled_state.checkpoint_commit();
        return result;
    }
    context.journaled_state.checkpoint_revert(checkpoint);
    if !matches!(result.instruction_result(), InstructionResult::Revert) {
        // Any error but a revert costs all gas here, even if the gas is returned elsewhere.
        result.gas_mut().spend_all();
    }
    result
}

fn outcome(inputs: &CallInputs, result: InstructionResult, remaining: u64) -> CallOutcome {
    let mut gas = Gas::new(inputs.gas_limit);
    gas.set_spent(inputs.gas_limit - remaining);
    let result = InterpreterResult { result, output: Bytes::new(), gas };
    CallOutcome::new(result, inputs.return_memory_offset.clone())
}
