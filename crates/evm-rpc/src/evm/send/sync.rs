//! `sendRawTransactionSync` and `sendTransactionSync`: send a transaction and wait for its receipt (EIP-7966).

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use esker_evm::view::ChainEvent;
use esker_evm_execution::call::go_duration;
use esker_rpc::{CallContext, Caller, RpcError, off_thread, off_thread_long};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::refused::refused;
use super::send_raw::send_raw;
use crate::evm::receipt_waits::{DEFAULT_RECEIPT_WAIT, MAX_RECEIPT_WAIT};
use crate::evm::transact::TransactApi;
use crate::evm::transactions::get_transaction_receipt;
use crate::wire::call::TransactionArgs;
use crate::wire::{Data, Hash, HexOrDecimal, ReceiptReply};

/// Code of EIP-7966: the transaction waits in the pool.
const TIMED_OUT: i64 = 4;

pub(super) async fn send_raw_transaction_sync(
    transact: Arc<TransactApi>,
    (Data(bytes), wanted): (Data, Option<HexOrDecimal>),
) -> Result<ReceiptReply, RpcError> {
    let sender = Arc::clone(&transact);
    let send = async move {
        let sent = off_thread(move || send_raw(&sender, &bytes)).await.map_err(refused)??;
        // The receipt is waited for, in its own time.
        sent.decided().await
    };
    receipt_after(&transact, wanted, "sendRawTransaction", send).await
}

/// Like [`send_raw_transaction_sync`], for a transaction that the node completes and signs.
pub(super) async fn send_transaction_sync(
    transact: Arc<TransactApi>,
    (args, wanted): (TransactionArgs, Option<HexOrDecimal>),
    caller: Caller,
) -> Result<ReceiptReply, RpcError> {
    let sender = Arc::clone(&transact);
    let send = async move {
        let preparer = Arc::clone(&sender);
        let prepare = move |context: &CallContext| preparer.prepare(args, &caller, context);
        let prepared = off_thread_long(prepare).await.map_err(refused)??;
        let submit = move || sender.submit_prepared(prepared);
        let Hash(hash) = off_thread(submit).await.map_err(refused)??.decided().await?;
        Ok(hash)
    };
    receipt_after(&transact, wanted, "sendTransaction", send).await
}

/// Sends a transaction and waits for its receipt. `instead` is the method that doesn't wait.
async fn receipt_after(
    transact: &TransactApi,
    wanted: Option<HexOrDecimal>,
    instead: &str,
    send: impl Future<Output = Result<B256, RpcError>>,
) -> Result<ReceiptReply, RpcError> {
    let wait = receipt_wait(wanted, transact.config.max_duration);
    let places = &transact.receipt_waits.0;
    let too_many = |_| refused(format!("too many calls wait for a receipt: use {instead}"));
    let _place = places.try_acquire().map_err(too_many)?;
    // Subscribed before the send, so that its block can't be missed.
    let blocks = transact.events.blocks();
    let hash = send.await?;
    match timeout(wait, receipt_of(transact, hash, blocks)).await {
        Ok(receipt) => receipt,
        Err(_) => Err(timed_out(hash, wait)),
    }
}

/// Time to wait: at least 1 ms, at most as long as a call may take.
fn receipt_wait(wanted: Option<HexOrDecimal>, max_duration: Duration) -> Duration {
    let most = match max_duration {
        Duration::ZERO => MAX_RECEIPT_WAIT,
        // Some time is left to answer.
        limit => MAX_RECEIPT_WAIT.min(limit * 9 / 10),
    };
    let wanted = wanted.filter(|HexOrDecimal(ms)| *ms > 0);
    wanted.map_or(DEFAULT_RECEIPT_WAIT, |HexOrDecimal(ms)| Duration::from_millis(ms)).min(most)
}

/// Waits for the block that has the transaction.
async fn receipt_of(
    transact: &TransactApi,
    hash: B256,
    mut blocks: Receiver<ChainEvent>,
) -> Result<ReceiptReply, RpcError> {
    loop {
        let is_due = match blocks.recv().await {
            Ok(ChainEvent::Accepted(accepted)) => {
                accepted.block.block.transactions.iter().any(|tx| *tx.tx_hash() == hash)
            }
            Ok(ChainEvent::Removed(_)) => false,
            // It may have been in any block that was missed.
            Err(RecvError::Lagged(_)) => true,
            Err(RecvError::Closed) => return Err(refused("the node is shutting down")),
        };
        if is_due && let Some(receipt) = get_transaction_receipt(&transact.reads, (Hash(hash),))? {
            return Ok(receipt);
        }
    }
}

fn timed_out(hash: B256, wait: Duration) -> RpcError {
    let text = format!(
        "The transaction was added to the transaction pool but wasn't processed in {}",
        go_duration(wait)
    );
    RpcError::with_code(TIMED_OUT, text).with_data(&Hash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_a_default_and_an_end() {
        let check = |wanted: Option<u64>, limit_ms: u64, expected_ms: u64| {
            let wait = receipt_wait(wanted.map(HexOrDecimal), Duration::from_millis(limit_ms));
            assert_eq!(wait, Duration::from_millis(expected_ms), "{wanted:?} {limit_ms}");
        };
        check(None, 0, 20_000);
        check(Some(0), 0, 20_000);
        check(Some(1), 0, 1);
        check(Some(60_000), 0, 25_000);
        check(Some(u64::MAX), 0, 25_000);
        check(None, 5_000, 4_500);
        check(Some(300), 5_000, 300);
    }
}
