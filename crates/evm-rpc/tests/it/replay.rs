//! The recorded exchanges, as far as they read: the chain of each file is made anew, block by block.

use alloy_primitives::hex;
use esker_evm::chain::PRUNED_WINDOW;
use esker_evm_rpc::ProofWindow;
use esker_evm_state::blocks::History;
use serde_json::Value;

use crate::golden::{self, Bindings, Exchange};
use crate::world::{Setup, World};

/// Replays a file; gives how many of its answers were compared.
async fn replay(file: &str, setup: Setup) -> usize {
    let world = World::new(setup);
    let mut bindings = Bindings::new();
    let mut compared = 0;
    for exchange in golden::exchanges(file) {
        let context = format!("{file}:{}", exchange.line);
        if let Some(raw) = submitted(&exchange.body) {
            send(&world, &raw, &exchange, &context);
            continue;
        }
        world.settle().await;
        let body = golden::fill(&exchange.body, &bindings);
        let unknown =
            exchange.expected.as_ref().is_some_and(|text| text.contains("is not available"));
        if !unknown && !is_served(&world, &body) {
            continue;
        }
        let answer = world.ask(&body).await;
        check(&exchange, &answer, &mut bindings, &context);
        compared += 1;
    }
    compared
}

/// The transaction of a request that sends one.
fn submitted(body: &str) -> Option<Vec<u8>> {
    let request: Value = serde_json::from_str(body).ok()?;
    let sends = request["method"] == "eth_sendRawTransaction";
    sends.then(|| hex::decode(request["params"][0].as_str().unwrap()).unwrap_or_default())
}

/// Sends it if the reference took it.
fn send(world: &World, raw: &[u8], exchange: &Exchange, context: &str) {
    let expected: Value = serde_json::from_str(exchange.expected.as_ref().unwrap()).unwrap();
    if let Some(hash) = expected["result"].as_str() {
        let sent = world.submit(raw).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(sent.to_string(), hash, "{context}");
    }
}

/// Does the request only name methods that are served here? Other services join later.
fn is_served(world: &World, body: &str) -> bool {
    let Ok(request) = serde_json::from_str::<Value>(body) else { return true };
    let served = |request: &Value| {
        let Some(method) = request["method"].as_str() else { return true };
        let known = world.server.service().methods().any(|info| {
            let names = [info.namespace].into_iter().chain(info.namespace_aliases.iter().copied());
            names.map(|namespace| format!("{namespace}_{}", info.name)).any(|name| name == method)
        });
        known || method.is_empty() || method.ends_with("_nope") || method.ends_with("_subscribe")
    };
    match request.as_array() {
        Some(batch) => batch.iter().all(served),
        None => served(&request),
    }
}

fn check(exchange: &Exchange, answer: &str, bindings: &mut Bindings, context: &str) {
    let expected = exchange.expected.as_ref().unwrap();
    if expected.is_empty() {
        assert_eq!(answer, "", "{context}");
        return;
    }
    let got: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("{context}: {answer}"));
    for (name, path) in &exchange.lets {
        bindings.insert(name.clone(), golden::member(&got, path).clone());
    }
    let want: Value = serde_json::from_str(&golden::fill(expected, bindings)).unwrap();
    if let Some(difference) = golden::differs(&want, &got, bindings, "$") {
        panic!("{context}: {} {difference}", exchange.body);
    }
    // Members stand in the reference's order, but in the one reply that has members of several releases.
    if !expected.contains("\"...\"") && !expected.contains("eip150Hash") {
        assert_eq!(golden::names(answer), golden::names(expected), "{context}: order");
    }
}

#[tokio::test]
async fn constants_and_the_untouched_chain() {
    let setup = Setup::ARCHIVE;
    assert_eq!(replay("golden/c/net-web3.io", setup).await, 23);
    assert_eq!(replay("golden/c/genesis.io", setup).await, 28);
    assert_eq!(replay("golden/c/envelope-messages.io", setup).await, 65);
}

#[tokio::test]
async fn blocks_and_transactions() {
    let setup = Setup::ARCHIVE;
    assert_eq!(replay("golden/c/blocks-1.io", setup).await, 87);
    assert_eq!(replay("golden/c/transactions.io", setup).await, 54);
    assert_eq!(replay("golden/c/precise-requests.io", setup).await, 9);
}

#[tokio::test]
async fn state() {
    let setup = Setup::ARCHIVE;
    assert_eq!(replay("golden/c/state-1.io", setup).await, 87);
    assert_eq!(replay("golden/c/contracts-1.io", setup).await, 59);
    assert_eq!(replay("golden/c/contracts-2.io", setup).await, 59);
}

#[tokio::test]
async fn proofs_and_their_windows() {
    let archive = Setup::ARCHIVE;
    assert_eq!(replay("golden/c/proof-1.io", archive).await, 47);
    assert_eq!(replay("golden/c/proof-archive.io", archive).await, 10);
    let any = Setup { window: ProofWindow::new(true, 0), ..archive };
    assert_eq!(replay("golden/c/proof-any.io", any).await, 10);
    let two = Setup { window: ProofWindow::new(true, 2), ..archive };
    assert_eq!(replay("golden/c/proof-window-1.io", two).await, 37);
    let history = History::Window(PRUNED_WINDOW);
    let pruning = Setup { window: ProofWindow::new(false, 43_200), history, ..archive };
    assert_eq!(replay("golden/c/proof-pruning-1.io", pruning).await, 51);
    assert_eq!(replay("golden/c/plain-1.io", pruning).await, 24);
}

#[tokio::test]
async fn unfinalized_queries() {
    let setup =
        Setup { allow_unfinalized_queries: true, allow_unprotected: true, ..Setup::ARCHIVE };
    assert_eq!(replay("golden/c/limits.io", setup).await, 15);
}
