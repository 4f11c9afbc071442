//! A pool with very many transactions: what shows all of them has a limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Signature, TxKind, U256, address};
use esker_chain::Dropped;
use esker_evm::pool::{AccountContent, Content, PooledTx, ReplacementPrice};
use esker_evm::view::{PoolReader, ViewError};
use esker_evm_rpc::evm::TransactConfig;
use esker_evm_state::types::Transaction;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const CROWD: u64 = 200_000;
/// The largest answer, with room for its envelope.
const MAX_ANSWER: usize = 26_000_000;
/// In a build that is not optimized, on a machine under load.
const LONGEST: Duration = Duration::from_secs(60);

/// Transactions of [`HELD`] alone.
#[derive(Debug)]
struct Crowd(BTreeMap<u64, PooledTx>);

impl Crowd {
    fn new(count: u64, tx: &TxEip1559) -> Arc<Self> {
        let max = U256::MAX >> 1;
        // One for all: nobody looks at its nonce, nor at its signature.
        let tx = tx.clone().into_signed(Signature::new(max, max, true));
        let pooled = PooledTx::new(Transaction::Eip1559(tx), HELD, 0, 0);
        let nonces = u64::MAX - count..u64::MAX;
        Arc::new(Self(nonces.map(|nonce| (nonce, pooled.clone())).collect()))
    }
}

impl PoolReader for Crowd {
    fn transaction(&self, _: B256) -> Option<PooledTx> {
        None
    }

    fn transaction_of(&self, _: Address, nonce: u64) -> Option<PooledTx> {
        self.0.get(&nonce).cloned()
    }

    fn replacement_price(&self, _: Address, _: u64) -> Option<ReplacementPrice> {
        None
    }

    fn next_nonce(&self, _: Address) -> Option<u64> {
        None
    }

    fn counts(&self) -> (usize, usize) {
        (self.0.len(), 0)
    }

    fn dropped(&self, _: B256) -> Result<Option<Dropped>, ViewError> {
        Ok(None)
    }

    fn content(&self) -> Content {
        Content { pending: [(HELD, self.0.clone())].into(), queued: BTreeMap::new() }
    }

    fn content_of(&self, _: Address) -> AccountContent {
        AccountContent { pending: self.0.clone(), queued: BTreeMap::new() }
    }

    fn pending_of(&self, accounts: &[Address]) -> Vec<PooledTx> {
        assert_eq!(accounts, [HELD]);
        self.0.values().cloned().collect()
    }
}

fn transfer() -> TxEip1559 {
    TxEip1559 {
        chain_id: 43112,
        nonce: u64::MAX - 1,
        gas_limit: 21_000,
        max_fee_per_gas: 50_000_000_000,
        max_priority_fee_per_gas: 1,
        to: TxKind::Call(HELD),
        value: U256::from(1),
        ..TxEip1559::default()
    }
}

fn world(pool: Arc<Crowd>) -> World {
    World::with_pool(TransactConfig::default(), false, Some(pool))
}

/// The answer to each method that shows the whole pool, with its bytes.
async fn views(world: &World) -> [(&'static str, Value, usize); 4] {
    let own = json!([HELD]).to_string();
    let mut views = [
        ("txpool_content", "[]"),
        ("txpool_contentFrom", own.as_str()),
        ("txpool_inspect", "[]"),
        ("eth_pendingTransactions", "[]"),
    ]
    .map(|(method, params)| (method, params, Value::Null, 0));
    for (method, params, answer, bytes) in &mut views {
        let begun = Instant::now();
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let text = world.ask(&body).await;
        assert!(begun.elapsed() < LONGEST, "{method}: {:?}", begun.elapsed());
        *bytes = text.len();
        *answer = serde_json::from_str(&text).unwrap();
    }
    views.map(|(method, _, answer, bytes)| (method, answer, bytes))
}

#[tokio::test]
async fn what_shows_a_pool_of_very_many_is_refused() {
    let world = world(Crowd::new(CROWD, &transfer()));
    let status = world.call("txpool_status", "[]").await;
    assert_eq!(status["result"]["pending"], "0x30d40");
    for (method, answer, _) in views(&world).await {
        let refused = json!({"code": -32003, "message": "response too large"});
        assert_eq!(answer["error"], refused, "{method}");
    }
}

#[tokio::test]
async fn what_is_shown_has_no_more_bytes_than_the_limit() {
    for (count, shown) in [(27_000, 4), (60_000, 1)] {
        let world = world(Crowd::new(count, &transfer()));
        let mut answered = 0;
        for (method, answer, bytes) in views(&world).await {
            assert!(bytes < MAX_ANSWER, "{method}: {bytes}");
            let is_shown = answer.get("error").is_none();
            answered += usize::from(is_shown);
            assert!(is_shown || count > 27_000, "{count} {method}: {answer}");
        }
        assert_eq!(answered, shown, "{count}");
    }
}

#[tokio::test]
async fn what_is_shown_is_counted_with_all_that_it_has() {
    let item = |keys: usize| AccessListItem {
        address: HELD,
        storage_keys: vec![B256::repeat_byte(0xff); keys],
    };
    let dear = TxEip1559 {
        chain_id: u64::MAX,
        gas_limit: u64::MAX,
        max_fee_per_gas: u128::MAX,
        max_priority_fee_per_gas: u128::MAX,
        value: U256::MAX,
        ..transfer()
    };
    for (what, tx, count) in [
        ("large numbers", dear, 27_700),
        ("input", TxEip1559 { input: vec![0xff; 100_000].into(), ..transfer() }, 124),
        ("entries", TxEip1559 { access_list: AccessList(vec![item(0); 4000]), ..transfer() }, 77),
        ("keys", TxEip1559 { access_list: AccessList(vec![item(3000)]), ..transfer() }, 118),
    ] {
        let world = world(Crowd::new(count, &tx));
        for (method, answer, bytes) in views(&world).await {
            assert!(answer.get("error").is_none(), "{what}: {method}");
            assert!(bytes < MAX_ANSWER, "{what}: {method}: {bytes}");
        }
        let world = self::world(Crowd::new(count + count / 50 + 2, &tx));
        for (method, answer, _) in views(&world).await {
            let is_refused = answer["error"]["message"] == "response too large";
            assert_eq!(is_refused, method != "txpool_inspect", "{what}: {method}");
        }
    }
}
