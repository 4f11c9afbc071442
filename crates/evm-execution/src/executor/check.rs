//! Checks of a message before its execution, in the reference's order.

use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, U256, address};
use alloy_trie::KECCAK_EMPTY;

use super::{BlockContext, Message, Origin, StateOverlay, TxError, is_prohibited};
use crate::rules::{ExecutionRules, Revision};

/// The warp precompile.
pub const WARP: Address = address!("0x0200000000000000000000000000000000000005");

/// Longest init code (EIP-3860).
pub const MAX_INIT_CODE: usize = 49_152;

const TX_GAS: u64 = 21_000;
const CREATION_GAS: u64 = 32_000;
const ZERO_BYTE_GAS: u64 = 4;
const BYTE_GAS: u64 = 16;
const INIT_CODE_WORD_GAS: u64 = 2;
const ACCESS_LIST_ADDRESS_GAS: u64 = 2400;
const ACCESS_LIST_KEY_GAS: u64 = 1900;
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
}

/// Gas that a transaction uses before its first instruction.
pub fn intrinsic_gas(
    rules: &ExecutionRules,
    input: &[u8],
    creates: bool,
    access_list: &AccessList,
) -> u64 {
    let mut gas = TX_GAS;
    if creates {
        gas += CREATION_GAS;
        if rules.revision >= Revision::Shanghai {
            gas += INIT_CODE_WORD_GAS * input.len().div_ceil(32) as u64;
        }
    }
    let zeros = input.iter().filter(|byte| **byte == 0).count() as u64;
    gas += zeros * ZERO_BYTE_GAS + (input.len() as u64 - zeros) * BYTE_GAS;
    let keys = access_list.iter().map(|item| item.storage_keys.len() as u64).sum::<u64>();
    gas + access_list.len() as u64 * ACCESS_LIST_ADDRESS_GAS + keys * ACCESS_LIST_KEY_GAS
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
    let address = message.from;
    if !message.is_call() {
        let nonce = sender.map_or(0, |sender| sender.nonce);
        if nonce < message.nonce {
            return Err(TxError::NonceTooHigh { address, tx: message.nonce, state: nonce });
        }
        if nonce > message.nonce {
            return Err(TxError::NonceTooLow { address, tx: message.nonce, state: nonce });
        }
        if nonce == u64::MAX {
            return Err(TxError::NonceMax { address, nonce });
        }
    }
    if message.origin == Origin::Signed {
        if let Some(code_hash) = sender.map(|sender| sender.code_hash)
            && code_hash != KECCAK_EMPTY
        {
            return Err(TxError::SenderNotEoa { address, code_hash });
        }
        if block.rules.reserves_addresses && is_prohibited(&address) {
            return Err(TxError::Prohibited(address));
        }
    }
    check_fees(block, message)?;
    let blob_gas = check_blobs(block, message)?;
    let price = message.effective_price(block.base_fee);
    let have = sender.map(|sender| sender.balance).unwrap_or_default();
    let prepaid = check_funds(block, message, price, blob_gas, have)?;
    if has_warp_predicate(&block.rules, &message.access_list) {
        return Err(TxError::WarpPredicate);
    }
    let creates = message.to.is_none();
    let want = intrinsic_gas(&block.rules, &message.input, creates, &message.access_list);
    if message.gas_limit < want {
        return Err(TxError::IntrinsicGas { have: message.gas_limit, want });
    }
    let limited = creates && block.rules.revision >= Revision::Shanghai;
    if limited && message.input.len() > MAX_INIT_CODE {
        return Err(TxError::InitCodeSize { size: message.input.len(), limit: MAX_INIT_CODE });
    }
    Ok(Costs { price, prepaid, intrinsic_gas: want })
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

/// Checks blobs and returns their gas. Only calls can have blobs: no block holds blob transactions.
fn check_blobs(block: &BlockContext, message: &Message) -> Result<u64, TxError> {
    let Some(hashes) = &message.blob_hashes else { return Ok(0) };
    if message.to.is_none() {
        return Err(TxError::BlobCreate);
    }
    if hashes.is_empty() {
        return Err(TxError::MissingBlobHashes);
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
