//! Whole files of recorded exchanges; what needs accounts with passwords is left out.

use esker_evm_rpc::evm::TransactConfig;
use serde_json::Value;

use super::matching::{Bindings, matches};
use super::world::World;
use crate::golden;

/// Replays a file; gives how many of its answers were compared.
async fn replay(file: &str) -> usize {
    replay_on(&World::new(TransactConfig::default(), false), file).await
}

async fn replay_on(world: &World, file: &str) -> usize {
    let mut bindings = Bindings::new();
    let mut compared = 0;
    for exchange in golden::exchanges(&format!("golden/c/{file}.io")) {
        let body = golden::fill(&exchange.body, &bindings);
        let request: Value = serde_json::from_str(&body).unwrap();
        let method = request["method"].as_str().unwrap();
        if !world.serves(method) || method.starts_with("personal_") {
            continue;
        }
        // A transaction waits for those that are sent after it: the recordings send the lowest nonce last.
        if method != "eth_sendRawTransaction" {
            world.settle().await;
        }
        let got: Value = serde_json::from_str(&world.ask(&body).await).unwrap();
        for (name, path) in &exchange.lets {
            bindings.insert(name.clone(), golden::member(&got, path).clone());
        }
        let want = golden::fill(exchange.expected.as_ref().unwrap(), &bindings);
        let want: Value = serde_json::from_str(&want).unwrap();
        assert!(
            matches(&want, &got, &mut bindings),
            "{file}:{}: {body}\nwant {want}\ngot  {got}",
            exchange.line
        );
        compared += 1;
    }
    compared
}

#[tokio::test]
async fn calls() {
    assert_eq!(replay("call-1").await, 69);
    assert_eq!(replay("call-detailed").await, 26);
}

#[tokio::test]
async fn estimates_and_access_lists() {
    assert_eq!(replay("estimate-1").await, 60);
}

#[tokio::test]
async fn fees() {
    assert_eq!(replay("fees-1").await, 51);
    assert_eq!(replay("fees-gas-used").await, 16);
}

#[tokio::test]
async fn what_sending_refuses() {
    assert_eq!(replay("send-errors-1").await, 75);
}

#[tokio::test]
async fn views_of_the_pool() {
    assert_eq!(replay("txpool-1").await, 42);
}

#[tokio::test]
async fn transactions_made_by_the_node() {
    assert_eq!(replay("accounts-1").await, 56);
    assert_eq!(replay("accounts-2").await, 52);
}

#[tokio::test]
async fn configured_limits() {
    let config = TransactConfig {
        gas_cap: 100_000,
        tx_fee_cap: 1.0,
        allow_unprotected_txs: true,
        ..TransactConfig::default()
    };
    assert_eq!(replay_on(&World::new(config, true), "limits").await, 29);
}

#[tokio::test]
async fn contracts() {
    assert_eq!(replay("contracts-1").await, 80);
    assert_eq!(replay("transactions").await, 69);
}
