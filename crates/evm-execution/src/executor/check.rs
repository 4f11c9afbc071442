//! Checks of a message before its execution, in the reference's order.

use std::cmp::Ordering;

use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, U256, address};
use alloy_trie::KECCAK_EMPTY;
use esker_evm_state::state::AccountParts;

use super::intrinsic::{floor_gas, intrinsic_gas};
use super::{BlockContext, Message, Origin, StateOverlay, TxError, is_prohibited};
use crate::rules::{ExecutionRules, Revision};

/// The warp precompile.
pub const WARP: Address = address!("0x0200000000000000000000000000000000000005");

const GAS_PER_BLOB: u64 = 131_072;
const BLOB_HASH_VERSION: u8 = 1;

/// The costs of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Wei a gas.
    pub(super) price: U256,
    /// Wei taken in advance, without the value.
    pub(super) prepaid: U256,
    /// Gas used before the first instruction.
    pub(super) intrinsic_gas: u64,
    /// Least gas of the message.
    pub(super) floor_gas: u64,
}

/// Whether an access list requires a warp message (docs/decisions.md, "Warp and snowman").
pub fn has_warp_predicate(rules: &ExecutionRules, access_list: &AccessList) -> bool {
    rules.warp && access_list.iter().any(|item| item.address == WARP)
}

/// Checks a message against the state before its execution.
pub(super) fn check(
    block: &BlockContext,
    message: &Message,
    state: &mut StateOverlay<'_>,
) -> Result<Costs, TxError> {
    let sender = state.account(message.from)?;
    if !message.is_call() {
        check_nonce(message, sender.map_or(0, |sender| sender.nonce))?;
    }
    if message.origin == Origin::Signed {
        check_sender(&block.rules, message, sender, state)?;
    }
    check_fees(block, message)?;
    let blob_gas = check_blobs(block, message)?;
    check_authorizations(message)?;
    let price = message.effective_price(block.base_fee);
    let have = sender.map(|sender| sender.balance).unwrap_or_default();
    let prepaid = check_funds(block, message, price, blob_gas, have)?;
    if has_warp_predicate(&block.rules, &message.access_list) {
        return Err(TxError::WarpPredicate);
    }
    let (intrinsic_gas, floor_gas) = check_gas(&block.rules, message)?;
    Ok(Costs { price, prepaid, intrinsic_gas, floor_gas })
}

fn check_nonce(message: &Message, state: u64) -> Result<(), TxError> {
    let Message { from: address, nonce: tx, .. } = *message;
    match tx.cmp(&state) {
        Ordering::Greater => Err(TxError::NonceTooHigh { address, tx, state }),
        Ordering::Less => Err(TxError::NonceTooLow { address, tx, state }),
        Ordering::Equal if tx == u64::MAX => Err(TxError::NonceMax { address, nonce: tx }),
        Ordering::Equal => Ok(()),
    }
}

/// Checks what only signed transactions are refused for: the highest gas limit, and senders that are contracts.
fn check_sender(
    rules: &ExecutionRules,
    message: &Message,
    sender: Option<AccountParts>,
    state: &mut StateOverlay<'_>,
) -> Result<(), TxError> {
    let Message { from: address, gas_limit: gas, .. } = *message;
    if let Some(cap) = rules.max_tx_gas().filter(|cap| gas > *cap) {
        return Err(TxError::GasLimitTooHigh { cap, gas });
    }
    if let Some(code_hash) = sender.map(|sender| sender.code_hash)
        && code_hash != KECCAK_EMPTY
    {
        if rules.revision < Revision::Prague {
            return Err(TxError::SenderNotEoa { address, code_hash });
        }
        let length = state.contract_length(code_hash)?;
        if length > 0 {
            return Err(TxError::SenderHasCode { address, length });
        }
    }
    if rules.reserves_addresses && is_prohibited(&address) {
        return Err(TxError::Prohibited(address));
    }
    Ok(())
}

/// Checks the gas limit and the length of init code. Returns the intrinsic gas and the least gas.
fn check_gas(rules: &ExecutionRules, message: &Message) -> Result<(u64, u64), TxError> {
    let Message { input, access_list, gas_limit: have, .. } = message;
    let (have, creates) = (*have, message.to.is_none());
    let authorizations = message.authorization_list.as_ref().map_or(0, Vec::len);
    let intrinsic = intrinsic_gas(rules, input, creates, access_list, authorizations);
    if have < intrinsic {
        return Err(TxError::IntrinsicGas { have, want: intrinsic });
    }
    let floor = floor_gas(rules, input);
    if have < floor {
        return Err(TxError::FloorGas { have, want: floor });
    }
    let (size, limit) = (input.len(), rules.max_init_code());
    if creates && rules.revision >= Revision::Shanghai && size > limit {
        return Err(TxError::InitCodeSize { size, limit });
    }
    Ok((intrinsic, floor))
}

fn check_fees(block: &BlockContext, message: &Message) -> Result<(), TxError> {
    let Message { from: address, fee_cap, tip_cap, .. } = *message;
    if message.is_free_call() {
        return Ok(());
    }
    if fee_cap < tip_cap {
        return Err(TxError::TipAboveFeeCap { address, tip_cap, fee_cap });
    }
    if fee_cap < block.base_fee {
        return Err(TxError::FeeCapTooLow { address, fee_cap, base_fee: block.base_fee });
    }
    Ok(())
}

/// Checks blobs and returns their gas.
fn check_blobs(block: &BlockContext, message: &Message) -> Result<u64, TxError> {
    let Some(hashes) = &message.blob_hashes else { return Ok(0) };
    if message.to.is_none() {
        return Err(TxError::BlobCreate);
    }
    if hashes.is_empty() {
        return Err(TxError::MissingBlobHashes);
    }
    if block.rules.blobs.is_some_and(|limits| hashes.len() as u64 > limits.most_of_a_transaction())
    {
        return Err(TxError::TooManyBlobs);
    }
    if let Some(index) = hashes.iter().position(|hash| hash[0] != BLOB_HASH_VERSION) {
        return Err(TxError::BlobVersion(index));
    }
    if block.rules.revision < Revision::Cancun {
        return Ok(0);
    }
    let (fee_cap, base_fee) = (message.blob_fee_cap, block.blob_base_fee);
    if !(message.is_call() && fee_cap.is_zero()) && fee_cap < base_fee {
        return Err(TxError::BlobFeeCapTooLow { address: message.from, fee_cap, base_fee });
    }
    Ok(GAS_PER_BLOB * hashes.len() as u64)
}

fn check_authorizations(message: &Message) -> Result<(), TxError> {
    match &message.authorization_list {
        Some(_) if message.to.is_none() => Err(TxError::SetCodeCreate(message.from)),
        Some(list) if list.is_empty() => Err(TxError::EmptyAuthorizationList(message.from)),
        Some(_) | None => Ok(()),
    }
}

/// Checks that the sender can pay the highest cost of the message. Returns the amount that it pays in advance.
fn check_funds(
    block: &BlockContext,
    message: &Message,
    price: U256,
    blob_gas: u64,
    have: U256,
) -> Result<U256, TxError> {
    let (gas, blob_gas) = (U256::from(message.gas_limit), U256::from(blob_gas));
    let most = || {
        let fee = gas.checked_mul(message.fee_cap)?;
        let blob_fee = blob_gas.checked_mul(message.blob_fee_cap)?;
        fee.checked_add(message.value)?.checked_add(blob_fee)
    };
    let want = most().ok_or(TxError::CostOverflow(message.from))?;
    if have < want {
        return Err(TxError::InsufficientFunds { address: message.from, have, want });
    }
    Ok((gas * price).saturating_add(blob_fee(block, message)))
}

/// The blob fee of a message, wei.
pub(crate) fn blob_fee(block: &BlockContext, message: &Message) -> U256 {
    let is_free = message.is_call() && message.blob_fee_cap.is_zero();
    let count = message.blob_hashes.as_ref().map_or(0, Vec::len);
    if is_free || count == 0 || block.rules.revision < Revision::Cancun {
        return U256::ZERO;
    }
    U256::from(GAS_PER_BLOB * count as u64).saturating_mul(block.blob_base_fee)
}
