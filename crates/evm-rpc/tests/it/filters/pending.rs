//! Filters for transactions that can run.

use std::sync::Arc;

use esker_evm::pool::{DroppedTx, PooledTx};
use esker_evm::view::{ChainEvent, ChainEvents};
use esker_evm_execution::executor::recover_sender;
use esker_evm_rpc::evm::FilterConfig;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::world::{World, blocks};
use crate::world::Setup;

/// A pool that remembers four transactions.
#[derive(Debug)]
struct Forgetful(broadcast::Sender<PooledTx>);

impl ChainEvents for Forgetful {
    fn blocks(&self) -> broadcast::Receiver<ChainEvent> {
        broadcast::channel(1).1
    }

    fn pending_transactions(&self) -> broadcast::Receiver<PooledTx> {
        self.0.subscribe()
    }

    fn dropped_transactions(&self) -> broadcast::Receiver<DroppedTx> {
        broadcast::channel(1).1
    }
}

#[tokio::test]
async fn hashes_or_whole_transactions_in_the_order_in_which_they_can_run() {
    let world = World::new(FilterConfig::default());
    let hashes = world.install("eth_newPendingTransactionFilter", "[]").await;
    let no = world.install("eth_newPendingTransactionFilter", "[null]").await;
    let whole = world.install("eth_newPendingTransactionFilter", "[true]").await;
    let mut sent = Vec::new();
    for transactions in blocks().into_iter().take(6) {
        // Sent in the order of falling nonces.
        sent.extend(transactions.iter().rev().map(|tx| tx.tx_hash().to_string()));
        world.block(transactions).await;
    }
    let changes = world.call("eth_getFilterChanges", &hashes).await;
    assert_eq!(changes, json!(sent));
    assert_eq!(world.call("eth_getFilterChanges", &no).await, changes);
    let whole_txs = world.call("eth_getFilterChanges", &whole).await;
    let members: Vec<_> = whole_txs.as_array().unwrap().iter().map(|tx| &tx["hash"]).collect();
    assert_eq!(members, changes.as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(whole_txs[0]["blockHash"], Value::Null);
    for filter in [&hashes, &no, &whole] {
        assert_eq!(world.call("eth_getFilterChanges", filter).await, json!([]));
        let error = world.error("eth_getFilterLogs", filter).await;
        assert_eq!(error["message"], "filter not found");
    }
}

#[tokio::test]
async fn forgotten_transactions_are_reported_once() {
    let events = Arc::new(Forgetful(broadcast::channel(4).0));
    let world = World::with(Setup::ARCHIVE, FilterConfig::default(), Some(events.clone()));
    let filter = world.install("eth_newPendingTransactionFilter", "[]").await;
    let transactions: Vec<_> = blocks().into_iter().flatten().collect();
    for (arrival, tx) in (0..).zip(transactions.iter().take(7)) {
        let sender = recover_sender(tx, 43112).unwrap();
        events.0.send(PooledTx::new(tx.clone(), sender, arrival, 0)).unwrap();
    }
    let error = world.error("eth_getFilterChanges", &filter).await;
    let text = "3 pending transactions were not asked for in time and are lost; ask again for those that came after \
                them";
    assert_eq!(error, json!({"code": -32000, "message": text}));
    let rest: Vec<_> = transactions[3..7].iter().map(|tx| tx.tx_hash().to_string()).collect();
    assert_eq!(world.call("eth_getFilterChanges", &filter).await, json!(rest));
    assert_eq!(world.call("eth_getFilterChanges", &filter).await, json!([]));
}
