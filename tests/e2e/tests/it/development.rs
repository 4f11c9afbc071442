//! Features that `esker dev` has for tools made for anvil and Hardhat Network, and `esker node` does not have.

use alloy_primitives::{Address, hex, keccak256};
use esker_e2e::{Node, Socket, until};
use serde_json::{Value, json};

use crate::controls::{FIRST, error, result};
use crate::support::local;

const OWN_VERSION: &str = concat!("esker/v", env!("CARGO_PKG_VERSION"));
const CREATE2_DEPLOYER: &str = "0x4e59b44847b379578588920ca78fbf26c0b4956c";
const MULTICALL3: &str = "0xca11bde05977b3631167028862be2a173976ca11";
const METHODS: [&str; 5] = [
    "hardhat_getAutomine",
    "hardhat_metadata",
    "anvil_getAutomine",
    "anvil_metadata",
    "anvil_nodeInfo",
];
/// 1 wei to 0x..c0ffee, signed by [`FIRST`] with nonce 0 and without a chain ID, as web3j's `Transfer.sendFunds` does;
/// 2 gwei a gas.
const UNPROTECTED: &str = "0xf863808477359400825208940000000000000000000000000000000000c0ffee01801ca00787bcd37bf2ede567a6088d2713727904f2100fdefadcbea874d61e234be553a03ab995a629f3acf0b789adcea55cf8122b7713dafbfb14ed40b1b04f15213199";

/// Sends from the first account; the receipt.
fn send(node: &Node, mut tx: Value) -> Value {
    tx["from"] = json!(FIRST);
    let hash = result(node, "eth_sendTransaction", json!([tx]));
    until("the transaction is in a block", || {
        Some(result(node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    })
}

#[test]
fn a_development_node_identifies_itself() {
    let node = local().dev().start().unwrap();
    let version = format!("anvil/{OWN_VERSION}");
    assert_eq!(result(&node, "web3_clientVersion", json!([])), json!(version));
    for namespace in ["hardhat", "anvil"] {
        assert_eq!(result(&node, &format!("{namespace}_getAutomine"), json!([])), json!(true));
    }
    let receipt = send(&node, json!({"to": FIRST}));
    let head = result(&node, "eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!(head["hash"], receipt["blockHash"]);

    let hardhat = result(&node, "hardhat_metadata", json!([]));
    let instance = hardhat["instanceId"].clone();
    let mut expected = json!({
        "clientVersion": version,
        "chainId": 43112,
        "instanceId": instance,
        "latestBlockNumber": 1,
        "latestBlockHash": head["hash"],
    });
    assert_eq!(hardhat, expected);
    for (member, value) in [
        ("clientSemver", json!(env!("CARGO_PKG_VERSION"))),
        ("clientCommitSha", Value::Null),
        ("forkedNetwork", Value::Null),
        ("snapshots", json!({})),
    ] {
        expected[member] = value;
    }
    assert_eq!(result(&node, "anvil_metadata", json!([])), expected);
    let timestamp = head["timestamp"].as_str().unwrap().trim_start_matches("0x");
    assert_eq!(
        result(&node, "anvil_nodeInfo", json!([])),
        json!({
            "currentBlockNumber": "0x1",
            "currentBlockTimestamp": u64::from_str_radix(timestamp, 16).unwrap(),
            "currentBlockHash": head["hash"],
            "hardFork": "Cancun",
            "transactionOrder": "fees",
            "environment": {
                "baseFee": head["baseFeePerGas"],
                "chainId": 43112,
                "gasLimit": head["gasLimit"],
                "gasPrice": result(&node, "eth_gasPrice", json!([])),
            },
            "forkConfig": {"forkUrl": null, "forkBlockNumber": null, "forkRetryBackoff": null},
        })
    );
    // Each run is an instance of its own.
    let other = local().dev().start().unwrap();
    assert_ne!(result(&other, "hardhat_metadata", json!([]))["instanceId"], instance);
}

#[test]
fn other_nodes_have_no_development_methods() {
    for node in [local(), local().network("dev")] {
        let node = node.start().unwrap();
        assert_eq!(result(&node, "web3_clientVersion", json!([])), json!(OWN_VERSION));
        for method in METHODS.into_iter().chain(["personal_sign", "eth_requestAccounts"]) {
            let text = format!("the method {method} does not exist/is not available");
            assert_eq!(error(&node, method, json!([])), text);
        }
        let text = "only replay-protected (EIP-155) transactions allowed over RPC";
        for method in ["eth_sendRawTransaction", "eth_sendRawTransactionSync"] {
            assert_eq!(error(&node, method, json!([UNPROTECTED])), text);
        }
    }
}

#[test]
fn the_version_can_be_chosen() {
    for node in [local().dev(), local()] {
        let node = node.arg("--client-version").arg("HardhatNetwork/2.29.1").start().unwrap();
        let version = result(&node, "web3_clientVersion", json!([]));
        assert_eq!(version, "HardhatNetwork/2.29.1");
    }
}

#[test]
fn blocks_that_keep_a_distance_are_made_by_themselves_too() {
    let node = local().dev().arg("--block-time").arg("1s").start().unwrap();
    assert_eq!(result(&node, "hardhat_getAutomine", json!([])), json!(true));
    for nonce in ["0x0", "0x1"] {
        let receipt = send(&node, json!({"to": FIRST}));
        let found = result(&node, "eth_getTransactionBySenderAndNonce", json!([FIRST, nonce]));
        assert_eq!(found["hash"], receipt["transactionHash"]);
    }
}

#[test]
fn transactions_of_no_chain_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "[chains.C]\nallow-unprotected-txs = false\n").unwrap();
    let strict = local().dev().config(&config).start().unwrap();
    let text = "only replay-protected (EIP-155) transactions allowed over RPC";
    assert_eq!(error(&strict, "eth_sendRawTransaction", json!([UNPROTECTED])), text);

    let node = local().dev().start().unwrap();
    let hash = result(&node, "eth_sendRawTransaction", json!([UNPROTECTED]));
    let receipt = until("the transaction is in a block", || {
        Some(result(&node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    });
    assert_eq!((&receipt["status"], &receipt["from"]), (&json!("0x1"), &json!(FIRST)));
    let tx = result(&node, "eth_getTransactionByHash", json!([hash]));
    assert_eq!((&tx["type"], tx.get("chainId")), (&json!("0x0"), None));
    let to = result(&node, "eth_getBalance", json!([tx["to"], "latest"]));
    assert_eq!(to, "0x1");
}

#[test]
fn contracts_that_tools_expect_are_there() {
    let node = local().dev().start().unwrap();
    // The deployer takes a salt and code, and makes a contract where both say.
    let salt = [7; 32];
    // Gives 42 of 32 bytes to whoever calls it.
    let init = hex!("69602a60005260206000f3600052600a6016f3");
    let data = hex::encode_prefixed([&salt[..], &init].concat());
    let receipt = send(&node, json!({"to": CREATE2_DEPLOYER, "data": data}));
    assert_eq!(receipt["status"], "0x1");
    let deployer: Address = CREATE2_DEPLOYER.parse().unwrap();
    let contract = deployer.create2(salt, keccak256(init));
    let answer = format!("0x{:064x}", 42);
    assert_eq!(result(&node, "eth_call", json!([{"to": contract}, "latest"])), json!(answer));

    // getChainId() and getBlockNumber().
    for (data, value) in [("0x3408e470", 43112), ("0x42cbb15c", 1)] {
        let call = json!({"to": MULTICALL3, "data": data});
        let answer = format!("0x{value:064x}");
        assert_eq!(result(&node, "eth_call", json!([call, "0x1"])), json!(answer), "{data}");
    }
    for contract in [CREATE2_DEPLOYER, MULTICALL3] {
        let genesis = result(&node, "eth_getAccountInfo", json!([contract, "0x0"]));
        assert_eq!((&genesis["balance"], &genesis["nonce"]), (&json!("0x0"), &json!("0x1")));
        assert_ne!(genesis["code"], "0x");
    }
}

/// Creates a contract that logs. Returns the times that its log has wherever logs are shown.
fn log_times(node: &Node) -> [Value; 4] {
    let mut socket = Socket::open(node.address(), "/ext/bc/C/ws").unwrap();
    let filter = result(node, "eth_newFilter", json!([{}]));
    socket
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["logs",{}]}"#)
        .unwrap();
    socket.read().unwrap();
    // LOG0 of nothing.
    let receipt = send(node, json!({"data": "0x60006000a0", "gas": "0x186a0"}));
    let hash = &receipt["blockHash"];
    let block = result(node, "eth_getBlockByHash", json!([hash, false]));
    let pushed: Value = serde_json::from_str(&socket.read().unwrap()).unwrap();
    let found = result(node, "eth_getLogs", json!([{"blockHash": hash}]));
    let changes = result(node, "eth_getFilterChanges", json!([filter]));
    let shown = [&receipt["logs"][0], &pushed["params"]["result"], &found[0], &changes[0]];
    assert!(shown.iter().all(|log| log["logIndex"] == "0x0"), "{shown:?}");
    shown.map(|log| match log.get("blockTimestamp") {
        Some(time) if *time == block["timestamp"] => json!("the block's"),
        other => json!(other),
    })
}

#[test]
fn logs_show_the_time_of_their_block() {
    let of_block = [(); 4].map(|()| json!("the block's"));
    assert_eq!(log_times(&local().dev().start().unwrap()), of_block);
    // The reference's logs have no such member.
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("esker.toml");
    std::fs::write(&config, "[chains.C]\nlog-timestamps = false\n").unwrap();
    let node = local().dev().config(&config).start().unwrap();
    assert_eq!(log_times(&node), [(); 4].map(|()| Value::Null));
}
