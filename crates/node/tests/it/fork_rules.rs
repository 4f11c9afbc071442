//! The rules of chains that begin on a block of another node.

use std::path::Path;

use alloy_primitives::{B256, U256, hex};
use axum::Router;
use axum::routing::post;
use esker_evm_state::types::{Header, from_state_header};
use serde_json::{Value, json};

use crate::fork::{COUNTER, Chain, FROM, OTHER, source, start, url};

/// Time of the blocks of a test.
const LATER: u64 = 4_000_000_000;

/// A block with a transaction on each of two chains; the newest block is the same.
async fn assert_same_block(source: &mut Chain, fork: &mut Chain, time: u64, what: &str) {
    let tx = json!({"from": FROM, "to": OTHER, "value": "0x7", "gas": "0x5208",
        "gasPrice": "0x77359400"});
    for chain in [&mut *source, &mut *fork] {
        chain.ask("evm_setNextBlockTimestamp", json!([time])).await;
        chain.ask("eth_sendTransaction", json!([tx])).await;
        chain.ask("evm_mine", json!([])).await;
    }
    let (at_source, at_fork) = (source.newest().await, fork.newest().await);
    assert_eq!(at_fork, at_source, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_says_its_rules() {
    for hardfork in [
        "spuriousDragon",
        "petersburg",
        "berlin",
        "london",
        "paris",
        "shanghai",
        "cancun",
        "prague",
        "osaka",
        "bpo1",
    ] {
        let node = start(&[("hardfork", hardfork)]).await.unwrap();
        let mut source = Chain::of(&node).await;
        source.ask("evm_setNextBlockTimestamp", json!([LATER])).await;
        source.ask("eth_sendTransaction", json!([{"from": FROM, "data": COUNTER}])).await;
        let flags = [("fork-url", &*url(&node)), ("fork-keep-balances", "true")];
        let forked = start(&flags).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        assert_same_block(&mut source, &mut fork, LATER + 20, hardfork).await;
        let config = |config: Value| config["current"]["blobSchedule"].clone();
        let at_source = config(source.ask("eth_config", json!([])).await);
        assert_eq!(config(fork.ask("eth_config", json!([])).await), at_source, "{hardfork}");
        forked.stop().await.unwrap();
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_rules_come_first() {
    let (node, _, _) = source().await;
    let forked = start(&[("fork-url", &*url(&node)), ("hardfork", "shanghai")]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.send(json!({"from": FROM, "to": OTHER, "value": "0x1"})).await;
    let block = fork.newest().await;
    assert!(block["withdrawalsRoot"].is_string() && block["blobGasUsed"].is_null(), "{block}");
    forked.stop().await.unwrap();
    node.stop().await.unwrap();
}

/// A node of a known chain that has one block, no proofs, empty accounts, and not `eth_config`.
pub(super) struct OldNode {
    pub(super) url: String,
    server: tokio::task::JoinHandle<()>,
}

impl OldNode {
    async fn new(chain_id: u64, header: Header) -> Self {
        Self::with_block(chain_id, block_json(&header)).await
    }

    pub(super) async fn with_block(chain_id: u64, block: Value) -> Self {
        Self::with_config(chain_id, block, Value::Null).await
    }

    /// The same with an answer to `eth_getChainConfig` and `eth_config`, if it is not null.
    pub(super) async fn with_config(chain_id: u64, block: Value, config: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = move |body: String| {
            let (block, config) = (block.clone(), config.clone());
            async move { answer(chain_id, (&block, &config), &body) }
        };
        let router = Router::new().route("/", post(answer));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, server }
    }
}

impl Drop for OldNode {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn answer(chain_id: u64, (block, config): (&Value, &Value), body: &str) -> String {
    let one = |request: &Value| {
        let result = match request["method"].as_str().unwrap() {
            "eth_chainId" => json!(format!("{chain_id:#x}")),
            "eth_getBlockByNumber" | "eth_getBlockByHash" => block.clone(),
            "eth_getBalance" | "eth_getTransactionCount" => json!("0x0"),
            "eth_getCode" => json!("0x"),
            "eth_getStorageAt" => json!(B256::ZERO),
            "eth_getChainConfig" | "eth_config" if !config.is_null() => config.clone(),
            _ => {
                let error = json!({"code": -32601, "message": "the method does not exist"});
                return json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
            }
        };
        json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
    };
    match serde_json::from_str(body).unwrap() {
        Value::Array(all) => Value::Array(all.iter().map(one).collect()).to_string(),
        request => one(&request).to_string(),
    }
}

pub(super) fn block_json(header: &Header) -> Value {
    let mut block = json!({
        "hash": from_state_header(header).hash_slow(),
        "parentHash": header.parent_hash,
        "sha3Uncles": header.ommers_hash,
        "miner": header.coinbase,
        "stateRoot": header.state_root,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "logsBloom": header.bloom,
        "difficulty": header.difficulty,
        "number": format!("{:#x}", header.number),
        "gasLimit": format!("{:#x}", header.gas_limit),
        "gasUsed": "0x0",
        "timestamp": format!("{:#x}", header.time),
        "extraData": hex::encode_prefixed(&header.extra),
        "mixHash": header.mix_digest,
        "nonce": "0x0000000000000000",
        "transactions": [],
        "uncles": [],
    });
    if let Some(base_fee) = header.base_fee {
        block["baseFeePerGas"] = json!(base_fee);
    }
    if let Some(root) = header.withdrawals_root {
        block["withdrawalsRoot"] = json!(root);
    }
    block
}

/// A header with proof of work.
fn work_header(number: u64, time: u64, base_fee: Option<u64>) -> Header {
    let difficulty = U256::from(7_500_000_000_000_000_u64);
    let base_fee = base_fee.map(U256::from);
    Header { number, time, base_fee, difficulty, gas_limit: 30_000_000, ..Header::default() }
}

pub(super) async fn mined(fork: &mut Chain) -> Value {
    fork.ask("eth_sendTransaction", json!([{"from": FROM, "to": OTHER, "value": "0x1"}])).await;
    let block = fork.newest().await;
    assert_eq!(block["transactions"].as_array().unwrap().len(), 1, "{block}");
    block
}

/// What shows the rules of a block: base fee, difficulty, withdrawals.
fn fields(block: &Value) -> [bool; 3] {
    [
        block["baseFeePerGas"].is_string(),
        block["difficulty"] != "0x0",
        block["withdrawalsRoot"].is_string(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn old_blocks_of_the_main_network_have_the_rules_of_their_time() {
    let london = Some(20_000_000_000);
    // Paris ends twelve seconds later.
    let paris = Header { difficulty: U256::ZERO, ..work_header(17_034_868, 1_681_338_443, london) };
    for (header, next, second) in [
        (work_header(12_964_998, 1_628_166_800, None), [false, true, false], [true, true, false]),
        (work_header(15_537_392, 1_663_224_100, london), [true, true, false], [true, false, false]),
        (paris, [true, false, false], [true, false, true]),
    ] {
        let node = OldNode::new(1, header.clone()).await;
        let forked = start(&[("fork-url", &node.url)]).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        assert_eq!(fork.ask("eth_chainId", json!([])).await, "0x1");
        fork.ask("evm_setNextBlockTimestamp", json!([header.time + 6])).await;
        let block = mined(&mut fork).await;
        assert_eq!(block["number"], format!("{:#x}", header.number + 1));
        assert_eq!(fields(&block), next, "{block}");
        fork.ask("evm_setNextBlockTimestamp", json!([header.time + 12])).await;
        let block = mined(&mut fork).await;
        assert_eq!(fields(&block), second, "{block}");
        forked.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_block_of_the_known_chain_has_the_newest_rules() {
    // The main network had no base fee then.
    let header = work_header(12, 1_700_000_000, Some(7));
    let node = OldNode::new(1, Header { difficulty: U256::ZERO, ..header }).await;
    let forked = start(&[("fork-url", &node.url)]).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let block = mined(&mut fork).await;
    assert!(block["requestsHash"].is_string(), "{block}");
    forked.stop().await.unwrap();
}

/// Starts a fork in a folder, and returns the fields of a new block.
async fn in_folder(folder: &Path, url: &str) -> [bool; 3] {
    let flags = [("fork-url", url), ("data-dir", folder.to_str().unwrap())];
    let forked = start(&flags).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    let block = mined(&mut fork).await;
    drop(fork);
    forked.stop().await.unwrap();
    fields(&block)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_fork_keeps_its_rules() {
    let folder = tempfile::tempdir().unwrap();
    let node = OldNode::new(1, work_header(9_000_000, 1_574_706_444, None)).await;
    for _ in 0..2 {
        assert_eq!(in_folder(folder.path(), &node.url).await, [false, true, false]);
    }
    let flags = [
        ("fork-url", &*node.url),
        ("data-dir", folder.path().to_str().unwrap()),
        ("hardfork", "osaka"),
    ];
    let error = start(&flags).await.unwrap_err().to_string();
    assert!(error.contains("other --hardfork"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_of_a_later_fork_than_the_known_ones_is_refused() {
    let header = Header { difficulty: U256::ZERO, ..work_header(12, 1_900_000_000, Some(7)) };
    let current = json!({
        "activationTime": 1_800_000_000,
        "blobSchedule": null,
        "precompiles": {"BLAKE2F": "0x09", "BN254_ADD": "0x06"},
        "systemContracts": {"BUILDER_DEPOSIT_CONTRACT_ADDRESS": "0x01"},
    });
    let config = json!({"current": current, "next": null, "last": null});
    let node = OldNode::with_config(1337, block_json(&header), config).await;
    let error = start(&[("fork-url", &node.url)]).await.unwrap_err().to_string();
    assert!(
        error.contains("BUILDER_DEPOSIT_CONTRACT_ADDRESS") && error.contains("--hardfork"),
        "{error}"
    );
    let forked = start(&[("fork-url", &node.url), ("hardfork", "paris")]).await.unwrap();
    let block = mined(&mut Chain::of(&forked).await).await;
    assert_eq!(block["number"], "0xd");
    forked.stop().await.unwrap();
}
