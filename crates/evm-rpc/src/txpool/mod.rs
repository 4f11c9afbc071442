//! `txpool`: what waits (docs/protocol/c-chain-rpc.md, "Services"). The service `internal-tx-pool`, off unless it is
//! named.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use esker_evm::pool::{AccountContent, Content, Dropped, PooledTx};
use esker_rpc::handler::{blocking, quick};
use esker_rpc::{MethodTable, RpcError, Service, cost};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{Addr, Hash, TransactionReply, Uint, Uint64, size_of_transaction};

/// Most bytes of an answer. The reference has no limit; a full pool would be an answer of several hundred megabytes.
const MAX_SHOWN_BYTES: usize = 25_000_000;
/// Fewest bytes of a transaction as JSON.
const MIN_SHOWN_TX: usize = 500;
/// Bytes of a usual transaction in a line.
const SHOWN_LINE: usize = 128;

/// The methods of the service `internal-tx-pool`.
pub fn service(reads: &Arc<ReadApi>) -> Service {
    MethodTable::new("txpool")
        .on_list("content", blocking(content))
        .cost(cost::HEAVY)
        .on_list("contentFrom", blocking(content_from))
        .params(&["address"])
        .cost(cost::HEAVY)
        .on_list("inspect", blocking(inspect))
        .cost(cost::HEAVY)
        .on_list("status", quick(status))
        // An extension of the reference: the fate of a transaction that is neither waiting nor mined.
        .on_list("dropReason", quick(drop_reason))
        .params(&["hash"])
        .bind(Arc::clone(reads))
}

/// Waiting transactions, executable or not.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Pool_{T}")]
struct Views<T> {
    pending: T,
    queued: T,
}

/// Objects whose members are sorted by their names, as Go writes maps.
type Members<T> = BTreeMap<String, T>;

fn content(reads: &ReadApi, (): ()) -> Result<Views<Members<Members<TransactionReply>>>, RpcError> {
    // Before all of them are copied.
    check_bytes(transactions(reads).saturating_mul(MIN_SHOWN_TX))?;
    let Content { pending, queued } = reads.pool.content();
    check_shown_size(pending.values().chain(queued.values()).flat_map(BTreeMap::values))?;
    let show = |accounts: BTreeMap<Address, BTreeMap<u64, PooledTx>>| {
        by_account(reads, accounts, |tx| reads.waiting(tx))
    };
    Ok(Views { pending: show(pending), queued: show(queued) })
}

fn content_from(
    reads: &ReadApi,
    (Addr(account),): (Addr,),
) -> Result<Views<Members<TransactionReply>>, RpcError> {
    let AccountContent { pending, queued } = reads.pool.content_of(account);
    check_shown_size(pending.values().chain(queued.values()))?;
    let pooled = |tx| reads.waiting(tx);
    let show = |transactions| by_nonce(transactions, &pooled);
    Ok(Views { pending: show(pending), queued: show(queued) })
}

fn inspect(reads: &ReadApi, (): ()) -> Result<Views<Members<Members<Line>>>, RpcError> {
    check_bytes(transactions(reads).saturating_mul(SHOWN_LINE))?;
    let Content { pending, queued } = reads.pool.content();
    let is_checksummed = is_checksummed(reads);
    let show = |accounts| by_account(reads, accounts, |tx| Line { tx, is_checksummed });
    Ok(Views { pending: show(pending), queued: show(queued) })
}

fn status(reads: &ReadApi, (): ()) -> Result<Views<Uint>, RpcError> {
    let (pending, queued) = reads.pool.counts();
    Ok(Views { pending: Uint::from_count(pending), queued: Uint::from_count(queued) })
}

/// The reason why a transaction left the pool without being mined.
#[derive(Debug, Serialize, JsonSchema)]
struct DropReply {
    reason: String,
    /// Unix s.
    time: Uint64,
}

fn drop_reason(reads: &ReadApi, (Hash(hash),): (Hash,)) -> Result<Option<DropReply>, RpcError> {
    let dropped = reads.pool.dropped(hash).map_err(read_error)?;
    let reply = |Dropped { reason, at_ms }| DropReply { reason, time: Uint64(at_ms / 1000) };
    Ok(dropped.map(reply))
}

/// Whether addresses have a checksum, as geth's: anvil's have none.
fn is_checksummed(reads: &ReadApi) -> bool {
    !reads.config.anvil_answers
}

fn address_text(address: Address, is_checksummed: bool) -> String {
    match is_checksummed {
        true => address.to_checksum(None),
        false => format!("{address:#x}"),
    }
}

fn by_account<T>(
    reads: &ReadApi,
    accounts: BTreeMap<Address, BTreeMap<u64, PooledTx>>,
    show: impl Fn(PooledTx) -> T,
) -> Members<Members<T>> {
    let shown = |(account, transactions): (Address, _)| {
        (address_text(account, is_checksummed(reads)), by_nonce(transactions, &show))
    };
    accounts.into_iter().map(shown).collect()
}

fn by_nonce<T>(transactions: BTreeMap<u64, PooledTx>, show: &impl Fn(PooledTx) -> T) -> Members<T> {
    transactions.into_iter().map(|(nonce, tx)| (nonce.to_string(), show(tx))).collect()
}

/// A transaction in a line. Written out where it is shown, so that the lines of a full pool are in memory once.
#[derive(Debug)]
struct Line {
    tx: PooledTx,
    is_checksummed: bool,
}

esker_rpc::text_schema!(
    Line,
    "TransactionLine",
    "text",
    "^.+: [0-9]+ wei \\+ [0-9]+ gas × [0-9]+ wei$",
    "A transaction in a line."
);

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tx = self.tx.tx();
        let (value, gas, price) = (tx.value(), tx.gas_limit(), self.tx.fee_cap());
        let to = tx.to().map(|to| address_text(to, self.is_checksummed));
        let to = to.as_deref().unwrap_or("contract creation");
        serializer.collect_str(&format_args!("{to}: {value} wei + {gas} gas × {price} wei"))
    }
}

/// How many transactions wait.
fn transactions(reads: &ReadApi) -> usize {
    let (pending, queued) = reads.pool.counts();
    pending + queued
}

/// Refuses to show transactions that are more than [`MAX_SHOWN_BYTES`] as JSON.
pub(crate) fn check_shown_size<'a>(
    transactions: impl Iterator<Item = &'a PooledTx>,
) -> Result<(), RpcError> {
    check_bytes(transactions.map(|pooled| size_of_transaction(pooled.tx())).sum())
}

/// Refuses to show more than [`MAX_SHOWN_BYTES`].
fn check_bytes(bytes: usize) -> Result<(), RpcError> {
    if bytes <= MAX_SHOWN_BYTES {
        return Ok(());
    }
    Err(RpcError::with_code(RpcError::TOO_LARGE, "response too large"))
}
