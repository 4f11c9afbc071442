//! `txpool`: what waits (docs/protocol/c-chain-rpc.md, "Services"). The service `internal-tx-pool`, off unless it is
//! named.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use esker_evm::pool::{AccountContent, Content, Dropped, PooledTx};
use esker_rpc::{MethodTable, RpcError, Service};
use serde::Serialize;

use crate::Reads;
use crate::error::unreadable;
use crate::wire::{Addr, Hash, TransactionReply, Uint, Uint64};

/// Most bytes of transactions that one answer shows. The reference has no limit; a pool full of the longest
/// transactions would be an answer of several hundred megabytes.
const MAX_SHOWN_BYTES: usize = 12_000_000;

/// The methods of the service `internal-tx-pool`.
pub fn service(reads: &Arc<Reads>) -> Service {
    MethodTable::new("txpool")
        .on_list_blocking("content", content)
        .on_list_blocking("contentFrom", content_from)
        .on_list_blocking("inspect", inspect)
        .on_list("status", status)
        // Not one of the reference's: what became of a hash that is neither waiting nor mined.
        .on_list("dropReason", drop_reason)
        .bind(Arc::clone(reads))
}

/// What waits, by whether it can run.
#[derive(Debug, Serialize)]
struct Views<T> {
    pending: T,
    queued: T,
}

/// Objects whose members are sorted by their names, as Go writes maps.
type Members<T> = BTreeMap<String, T>;

fn content(reads: &Reads, (): ()) -> Result<Views<Members<Members<TransactionReply>>>, RpcError> {
    must_fit(reads.pool.bytes())?;
    let Content { pending, queued } = reads.pool.content();
    let show = |accounts: BTreeMap<Address, BTreeMap<u64, PooledTx>>| {
        by_account(accounts, TransactionReply::pooled)
    };
    Ok(Views { pending: show(pending), queued: show(queued) })
}

fn content_from(
    reads: &Reads,
    (Addr(account),): (Addr,),
) -> Result<Views<Members<TransactionReply>>, RpcError> {
    let AccountContent { pending, queued } = reads.pool.content_of(account);
    must_fit(pending.values().chain(queued.values()).map(PooledTx::size).sum())?;
    let show = |transactions| by_nonce(transactions, &TransactionReply::pooled);
    Ok(Views { pending: show(pending), queued: show(queued) })
}

fn inspect(reads: &Reads, (): ()) -> Result<Views<Members<Members<String>>>, RpcError> {
    let Content { pending, queued } = reads.pool.content();
    Ok(Views { pending: by_account(pending, summary), queued: by_account(queued, summary) })
}

fn status(reads: &Reads, (): ()) -> Result<Views<Uint>, RpcError> {
    let (pending, queued) = reads.pool.counts();
    Ok(Views { pending: Uint::of(pending), queued: Uint::of(queued) })
}

/// Why a transaction left the pool without being mined.
#[derive(Debug, Serialize)]
struct DropReply {
    reason: String,
    /// Unix s.
    time: Uint64,
}

fn drop_reason(reads: &Reads, (Hash(hash),): (Hash,)) -> Result<Option<DropReply>, RpcError> {
    let dropped = reads.pool.dropped(hash).map_err(unreadable)?;
    let reply = |Dropped { reason, at_ms }| DropReply { reason, time: Uint64(at_ms / 1000) };
    Ok(dropped.map(reply))
}

fn by_account<T>(
    accounts: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
    show: impl Fn(PooledTx) -> T,
) -> Members<Members<T>> {
    let shown = |(account, transactions): (Address, _)| {
        (account.to_checksum(None), by_nonce(transactions, &show))
    };
    accounts.into_iter().map(shown).collect()
}

fn by_nonce<T>(transactions: BTreeMap<u64, PooledTx>, show: &impl Fn(PooledTx) -> T) -> Members<T> {
    transactions.into_iter().map(|(nonce, tx)| (nonce.to_string(), show(tx))).collect()
}

/// A transaction in a line.
fn summary(pooled: PooledTx) -> String {
    let tx = pooled.tx();
    let (value, gas, price) = (tx.value(), tx.gas_limit(), pooled.fee_cap());
    match tx.to() {
        Some(to) => format!("{}: {value} wei + {gas} gas × {price} wei", to.to_checksum(None)),
        None => format!("contract creation: {value} wei + {gas} gas × {price} wei"),
    }
}

/// Refuses to show more than [`MAX_SHOWN_BYTES`].
pub(crate) fn must_fit(bytes: usize) -> Result<(), RpcError> {
    if bytes <= MAX_SHOWN_BYTES {
        return Ok(());
    }
    Err(RpcError::with_code(RpcError::TOO_LARGE, "response too large"))
}
