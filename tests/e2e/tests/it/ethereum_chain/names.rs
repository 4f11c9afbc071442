//! The chain's names, its own transactions, and what it refuses.

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::{
    ETH, VALUE, assert_times, balance, builder, call, eth, height, number, pay_on_x, receipt,
    receiver, send, send_each_kind, txs, waiting,
};
use crate::legacy_tx::LegacyTx;

/// Transfers that are sent at once.
const BURST: u64 = 40;

#[test]
fn it_is_reached_by_all_its_names_and_takes_its_own_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let node = builder(folder.path()).start().unwrap();
    let id: Value =
        node.rpc().call("/ext/info", "info.getBlockchainID", json!({"alias": ETH})).unwrap();
    let id = id["blockchainID"].as_str().unwrap();
    assert_eq!(node.ready()["chains"][ETH], id);
    for name in [ETH, "ethereum", id] {
        assert_eq!(call(&node, name, "eth_chainId", json!([])).unwrap(), "0xa8c2", "{name}");
        let known: Value =
            node.rpc().call("/ext/info", "info.isBootstrapped", json!({"chain": name})).unwrap();
        assert_eq!(known["isBootstrapped"], true, "{name}");
    }
    for path in ["/ext/bc/ETH/nat", "/ext/bc/Ether/rpc"] {
        let reply = node.rpc().http().request("POST", path, &[], b"{}").unwrap();
        assert_eq!(reply.status, 404, "{path}");
    }
    send_each_kind(&node);
    pay_on_x(&node);
    assert_eq!(number(&call(&node, "C", "eth_blockNumber", json!([])).unwrap()), 0);
    let config = eth(&node, "eth_config", json!([]));
    assert_eq!(config["current"]["chainId"], "0xa8c2");
    let metrics = node.rpc().http().request("GET", "/ext/metrics", &[], b"").unwrap().text();
    assert!(metrics.contains(&format!("esker_chain_height{{chain=\"{ETH}\"}} {}", height(&node))));
}

#[test]
fn blocks_in_quick_succession_are_not_ahead_of_the_clock() {
    let folder = tempfile::tempdir().unwrap();
    let node = builder(folder.path()).start().unwrap();
    // One after the other, so that each could be in a block of its own; then all at once.
    for nonce in 0..3 {
        receipt(&node, &send(&node, &txs::transfer(nonce, VALUE)));
    }
    let sent: Vec<_> = (3..BURST).map(|nonce| send(&node, &txs::transfer(nonce, VALUE))).collect();
    receipt(&node, sent.last().unwrap());
    assert_eq!(balance(&node, receiver()).to::<u64>(), BURST * VALUE);
    assert_times(&node);
}

#[test]
fn transactions_that_are_not_its_own_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let node = builder(folder.path()).start().unwrap();
    let to = receiver();
    let of_c =
        LegacyTx { nonce: 0, gas: 21_000, to: to.as_slice(), value: U256::from(VALUE), data: &[] };
    let refused = |chain: &str, raw: &str| {
        call(&node, chain, "eth_sendRawTransaction", json!([raw])).unwrap_err()
    };
    assert_eq!(refused(ETH, &of_c.signed(43_112)), "invalid sender");
    // The C-Chain takes neither its transfers, nor transactions of types that it does not have.
    assert_eq!(refused("C", &txs::transfer(0, VALUE)), "invalid sender");
    for raw in [&txs::blob(0).pooled, &txs::set_code(0, 0)] {
        refused("C", raw);
    }
    let blob = txs::blob(0);
    let without_sidecar = refused(ETH, &blob.in_block);
    assert!(without_sidecar.contains("sidecar"), "{without_sidecar}");
    // A byte of its last proof.
    let wrong = format!("{}{}", &blob.pooled[..blob.pooled.len() - 2], "01");
    refused(ETH, &wrong);
    assert_eq!((waiting(&node), height(&node)), (0, 0));
    let of_c = json!([super::payer(), "pending"]);
    assert_eq!(call(&node, "C", "eth_getTransactionCount", of_c).unwrap(), "0x0");
}
