//! `sendRawTransactionConditional`: sends a transaction if the chain is as its sender expects (ERC-7796).

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use alloy_trie::EMPTY_ROOT_HASH;
use esker_evm_state::state::StateView;
use esker_rpc::{CallContext, ReplyAfter, RpcError};

use super::send_raw::send_raw;
use crate::error::read_error;
use crate::evm::running::LATEST;
use crate::evm::transact::TransactApi;
use crate::wire::call::{ConditionsArgs, KnownAccount, KnownParts};
use crate::wire::{Data, Hash, HexOrDecimal};

/// Code of the standard: a condition does not hold.
const REJECTED: i64 = -32003;
/// Code of the standard: the conditions are too many.
const LIMIT_EXCEEDED: i64 = -32005;

/// Most values that are compared, as on other chains.
const MAX_COST: usize = 1000;

/// Takes a transaction in, if the conditions hold for the next block and on the last state.
pub(super) fn send_raw_transaction_conditional(
    transact: &Arc<TransactApi>,
    (Data(bytes), conditions): (Data, ConditionsArgs),
    context: &CallContext,
) -> Result<ReplyAfter<Hash>, RpcError> {
    check_form(&conditions)?;
    transact.check_conditions(&conditions)?;
    let sent = send_raw(transact, &bytes)?.map(Hash);
    Ok(transact.or_failure(sent.with_shared_delay(), context))
}

/// Checks what does not depend on the chain.
fn check_form(conditions: &ConditionsArgs) -> Result<(), RpcError> {
    if conditions.pays_coinbase.is_some() {
        let text = "paysCoinbase is not supported: state a condition on the balance of an account";
        return Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
    }
    let cost = cost(conditions);
    if cost > MAX_COST {
        let text = format!("conditional cost, {cost}, exceeded max: {MAX_COST}");
        return Err(RpcError::with_code(LIMIT_EXCEEDED, text));
    }
    let ConditionsArgs { block_number_min, block_number_max, .. } = conditions;
    let ConditionsArgs { timestamp_min, timestamp_max, .. } = conditions;
    for (name, min, max) in [
        ("block number", block_number_min, block_number_max),
        ("timestamp", timestamp_min, timestamp_max),
    ] {
        if let (Some(HexOrDecimal(min)), Some(HexOrDecimal(max))) = (min, max)
            && min > max
        {
            let text = format!("{name} minimum {min} is above the maximum {max}");
            return Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
        }
    }
    Ok(())
}

/// How many values are compared.
fn cost(conditions: &ConditionsArgs) -> usize {
    let of_account = |account: &KnownAccount| match account {
        KnownAccount::Root(_) => 1,
        KnownAccount::Parts(KnownParts { slots, .. }) => 1 + slots.len(),
    };
    conditions.known_accounts.0.values().map(of_account).sum()
}

/// The error of a condition that does not hold.
fn rejected(text: String) -> RpcError {
    RpcError::with_code(REJECTED, text)
}

/// Compares what was found with what must be there.
fn must_be<T: PartialEq>(
    found: &T,
    wanted: &T,
    differs: impl FnOnce() -> String,
) -> Result<(), RpcError> {
    if found == wanted { Ok(()) } else { Err(rejected(differs())) }
}

impl TransactApi {
    /// Checks the conditions for the next block, on the state of the last one.
    fn check_conditions(&self, conditions: &ConditionsArgs) -> Result<(), RpcError> {
        let (state, header) = self.reads.state(LATEST)?;
        let number = header.header.number.saturating_add(1);
        let time = self.chain.rules.child_time(&header.header, self.clock.now_s());
        let ConditionsArgs { block_number_min, block_number_max, .. } = conditions;
        let ConditionsArgs { timestamp_min, timestamp_max, known_accounts, .. } = conditions;
        check_range("block number", number, *block_number_min, *block_number_max)?;
        check_range("timestamp", time, *timestamp_min, *timestamp_max)?;
        let view = state.view();
        known_accounts.0.iter().try_for_each(|(address, known)| match known {
            KnownAccount::Root(root) => check_root(&view, address, root),
            KnownAccount::Parts(parts) => self.check_parts(&view, address, parts),
        })
    }

    fn check_parts(
        &self,
        view: &StateView<'_>,
        address: &Address,
        parts: &KnownParts,
    ) -> Result<(), RpcError> {
        let account = view.account(address).map_err(read_error)?.unwrap_or_default();
        if let Some(wanted) = parts.balance {
            let found = account.balance;
            must_be(&found, &wanted, || differs(address, "balance", found, wanted))?;
        }
        if let Some(wanted) = parts.nonce {
            let found = account.nonce;
            must_be(&found, &wanted, || differs(address, "nonce", found, wanted))?;
        }
        if let Some(wanted) = &parts.code {
            let found = view.code(account.code_hash).map_err(read_error)?;
            let text = || format!("failed account condition: the code of {address} is another one");
            must_be(&found, wanted, text)?;
        }
        for (key, wanted) in &parts.slots {
            let slot = self.chain.rules.storage_keys().slot(U256::from_be_bytes(key.0));
            let found = B256::from(view.storage(address, slot).map_err(read_error)?);
            must_be(&found, wanted, || differs(address, &format!("slot {key}"), found, wanted))?;
        }
        Ok(())
    }
}

fn differs(
    address: &Address,
    what: &str,
    found: impl std::fmt::Display,
    wanted: impl std::fmt::Display,
) -> String {
    format!("failed account condition: {what} of {address}: got {found}, want {wanted}")
}

fn check_root(view: &StateView<'_>, address: &Address, wanted: &B256) -> Result<(), RpcError> {
    let account = view.account(address).map_err(read_error)?;
    let found = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
    must_be(&found, wanted, || differs(address, "storage root", found, wanted))
}

/// Checks a property of the next block.
fn check_range(
    name: &str,
    next: u64,
    min: Option<HexOrDecimal>,
    max: Option<HexOrDecimal>,
) -> Result<(), RpcError> {
    match (min, max) {
        (Some(HexOrDecimal(min)), _) if next < min => Err(rejected(format!(
            "failed {name} condition: the next block has {next}, want at least {min}"
        ))),
        (_, Some(HexOrDecimal(max))) if next > max => Err(rejected(format!(
            "failed {name} condition: the next block has {next}, want at most {max}"
        ))),
        _ => Ok(()),
    }
}
