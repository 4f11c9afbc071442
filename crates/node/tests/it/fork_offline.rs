//! Forks without their source: kept folders, and packs.

use std::fs;
use std::path::{Path, PathBuf};

use alloy_primitives::U256;
use esker_fork::cache::{cache_files, pack_cache, verify_pack};
use esker_node::RunningNode;
use esker_settings::config::Mode;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::fork::{
    Chain, ELEVEN_ACCOUNTS, FROM, OTHER, UNREAD, refusal, source_as, start, start_when_free, url,
};

/// Nothing listens there.
const NOBODY: &str = "http://127.0.0.1:1";
const MAX_PACK: u64 = 1 << 30;

type Setting<'a> = (&'static str, &'a str);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A start that failed before in this process may hold the folder for a moment.
async fn chain(flags: &[Setting<'_>]) -> (RunningNode, Chain) {
    let node = start_when_free(Mode::Evm, flags).await.unwrap();
    let chain = Chain::of(&node).await;
    (node, chain)
}

async fn stop(node: RunningNode) {
    node.stop().await.unwrap();
}

/// What a run on the fork does: reads, a call, and a block.
async fn journey(chain: &mut Chain, [counter, hashes]: &[Value; 2]) -> Vec<Value> {
    let mut seen = vec![
        chain.ask("eth_getBalance", json!([OTHER, "latest"])).await,
        chain.ask("eth_getCode", json!([counter, "latest"])).await,
        chain.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await,
        chain
            .ask("eth_call", json!([{"to": hashes, "data": format!("{:#066x}", 2)}, "latest"]))
            .await,
    ];
    let tx = json!({"from": FROM, "to": counter, "gas": "0x30000"});
    let receipt = chain.send(tx).await;
    seen.push(receipt["gasUsed"].clone());
    seen.push(chain.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await);
    seen
}

/// A source that has ended, the folder of a fork of it after the journey, and what the journey saw.
struct Kept {
    folder: tempfile::TempDir,
    contracts: [Value; 2],
    seen: Vec<Value>,
    /// What the first account for development has after it.
    balance: Value,
    block: Value,
}

impl Kept {
    fn make<'a>(flags: &'a [Setting<'a>]) -> BoxFuture<'a, Self> {
        Box::pin(Self::make_here(flags))
    }

    async fn make_here(flags: &[Setting<'_>]) -> Self {
        let (source, mut at_source, contracts) = source_as(Mode::Evm, &ELEVEN_ACCOUNTS).await;
        let number = flags.iter().find(|(name, _)| *name == "fork-block");
        let number = number.map_or("latest", |(_, number)| number);
        let block = at_source.ask("eth_getBlockByNumber", json!([number, false])).await;
        let folder = tempfile::tempdir().unwrap();
        let source_url = url(&source);
        let own = [("fork-url", source_url.as_str()), ("data-dir", text(folder.path()))];
        let (node, mut fork) = chain(&[&own, flags].concat()).await;
        let seen = journey(&mut fork, &contracts).await;
        let balance = fork.ask("eth_getBalance", json!([FROM, "latest"])).await;
        stop(node).await;
        stop(source).await;
        Self { folder, contracts, seen, balance, block }
    }

    fn cache(&self) -> PathBuf {
        cache_files(&self.folder.path().join("fork")).unwrap().remove(0).path
    }

    fn pack(&self) -> PathBuf {
        let pack = self.folder.path().join("run.pack");
        let (summary, cut) = pack_cache(&self.cache(), MAX_PACK, &pack).unwrap();
        assert!(cut.is_none(), "{cut:?}");
        assert_eq!(summary.pin.hash.to_string(), self.block["hash"]);
        pack
    }
}

async fn error(chain: &mut Chain, method: &str, params: Value) -> String {
    let reply = chain.reply(method, params).await;
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {reply}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_folder_needs_no_source() {
    let kept = Kept::make(&[]).await;
    let folder = ("data-dir", text(kept.folder.path()));
    let with_url = [folder, ("fork-url", NOBODY), ("fork-retries", "1")];
    for (sent, flags) in [&[folder][..], &with_url].into_iter().enumerate() {
        let (node, mut fork) = chain(flags).await;
        let counter = &kept.contracts[0];
        let count = fork.ask("eth_getStorageAt", json!([counter, "0x0", "latest"])).await;
        let value = |text: &Value| U256::from_str_radix(&text.as_str().unwrap()[2..], 16).unwrap();
        assert_eq!(value(&count), value(&kept.seen[5]) + U256::from(sent));
        assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, kept.seen[0]);
        let text = error(&mut fork, "eth_getBalance", json!([UNREAD, "latest"])).await;
        assert!(text.contains("start with --fork-url"), "{text}");
        assert!(text.to_lowercase().contains(UNREAD), "{text}");
        // Its blocks have other times than those that were made with the source.
        fork.send(json!({"from": FROM, "to": counter, "gas": "0x30000"})).await;
        let earlier = error(&mut fork, "eth_getBlockByNumber", json!(["0x1", false])).await;
        assert!(earlier.contains("eth_getBlockByNumber"), "{earlier}");
        stop(node).await;
    }
    // Another chain with the same ID, whose block is another one.
    let other = start(&[("timestamp", "4000")]).await.unwrap();
    Chain::of(&other).await.ask("anvil_mine", json!(["0x4"])).await;
    let of_other = refusal(&[folder, ("fork-url", &url(&other))]).await;
    let parts = ["made on top of block 4", "block 4 of http://127.0.0.1:", "leave fork-url out"];
    for part in parts {
        assert!(of_other.contains(part), "{of_other}");
    }
    stop(other).await;
    let another = start(&[("chain-id", "5")]).await.unwrap();
    let of_chain = refusal(&[folder, ("fork-url", &url(&another))]).await;
    assert!(of_chain.contains("is of chain 5"), "{of_chain}");
    stop(another).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_folder_stays_as_it_was_made() {
    let kept = Kept::make(&[("fork-proofs", "false"), ("fork-keep-balances", "true")]).await;
    let folder = ("data-dir", text(kept.folder.path()));
    let proofs = [folder, ("fork-url", NOBODY), ("fork-proofs", "true")];
    let refused = refusal(&proofs).await;
    assert!(refused.contains("fork-proofs: the data folder was made without proofs"), "{refused}");
    // The accounts for development keep what they have without the setting, too.
    let (node, mut fork) = chain(&[folder]).await;
    assert_eq!(fork.ask("eth_getBalance", json!([FROM, "latest"])).await, kept.balance);
    assert_eq!(fork.ask("eth_getBalance", json!([OTHER, "latest"])).await, kept.seen[0]);
    stop(node).await;
    // Without its file it needs the source.
    fs::remove_file(kept.cache()).unwrap();
    for flags in [&[folder][..], &[folder, ("fork-url", NOBODY), ("fork-retries", "1")]] {
        let refused = refusal(flags).await;
        assert!(refused.contains("give the URL of a node that has block 4"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_runs_without_a_network() {
    for proofs in ["true", "false"] {
        let kept = Kept::make(&[("fork-proofs", proofs)]).await;
        let elsewhere = tempfile::tempdir().unwrap();
        let pack = elsewhere.path().join("moved.pack");
        fs::rename(kept.pack(), &pack).unwrap();
        let summary = verify_pack(&pack, None, MAX_PACK).unwrap();
        assert_eq!(summary.is_verified(), proofs == "true");
        for _ in 0..2 {
            let (node, mut fork) = chain(&[("fork-from", text(&pack))]).await;
            assert_eq!(fork.ask("eth_blockNumber", json!([])).await, "0x4");
            assert_eq!(journey(&mut fork, &kept.contracts).await, kept.seen);
            let lacking = error(&mut fork, "eth_getBalance", json!([UNREAD, "latest"])).await;
            for part in ["of block 4 is not in", "moved.pack", "--fork-url", "esker fork pack"] {
                assert!(lacking.contains(part), "{lacking}");
            }
            assert!(lacking.to_lowercase().contains(UNREAD), "{lacking}");
            stop(node).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_pack_goes_on_without_it() {
    let kept = Kept::make(&[]).await;
    let pack = kept.pack();
    let folder = tempfile::tempdir().unwrap();
    let data = ("data-dir", text(folder.path()));
    let (node, mut fork) = chain(&[data, ("fork-from", text(&pack))]).await;
    journey(&mut fork, &kept.contracts).await;
    stop(node).await;
    let moved = kept.folder.path().join("gone.pack");
    fs::rename(&pack, &moved).unwrap();
    let (node, mut fork) = chain(&[data]).await;
    let count = fork.ask("eth_getStorageAt", json!([kept.contracts[0], "0x0", "latest"])).await;
    assert_eq!(count, kept.seen[5]);
    stop(node).await;
    // It is written again from there, with what was read.
    let again = folder.path().join("again.pack");
    let cache = cache_files(&folder.path().join("fork")).unwrap().remove(0).path;
    let (summary, _) = pack_cache(&cache, MAX_PACK, &again).unwrap();
    assert_eq!(fs::read(&again).unwrap(), fs::read(&moved).unwrap());
    assert!(summary.is_verified());
    // A pack of another block is refused.
    let other = Kept::make(&[("fork-block", "0x3")]).await;
    let refused = refusal(&[data, ("fork-from", text(&other.pack()))]).await;
    assert!(refused.contains("it is of block"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_without_a_source_is_refused_or_known() {
    let kept = Kept::make(&[]).await;
    let pack = kept.pack();
    let (node, mut fork) = chain(&[("fork-from", text(&pack)), ("no-mining", "true")]).await;
    let fees = fork.ask("eth_feeHistory", json!(["0xa", "latest", [20]])).await;
    let base_fees = |fees: &Value| fees["baseFeePerGas"].as_array().unwrap().clone();
    assert_eq!((&fees["oldestBlock"], fees.get("reward")), (&json!("0x4"), None));
    assert_eq!((base_fees(&fees).len(), &base_fees(&fees)[0]), (2, &kept.block["baseFeePerGas"]));
    for block in ["latest", "0x4"] {
        let found = fork.ask("eth_getBlockByNumber", json!([block, false])).await;
        assert_eq!(found, kept.block);
    }
    let hash = kept.block["hash"].clone();
    assert_eq!(fork.ask("eth_getBlockByHash", json!([hash, false])).await, kept.block);
    let count = fork.ask("eth_getBlockTransactionCountByHash", json!([hash])).await;
    assert_eq!(count, "0x1");
    let word = format!("{:#066x}", 7);
    for (method, params) in [
        ("eth_getBlockByNumber", json!(["0x1", false])),
        ("eth_getBlockByNumber", json!(["latest", true])),
        ("eth_getBlockByHash", json!([word, false])),
        ("eth_getBlockReceipts", json!(["0x2"])),
        ("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}])),
        ("eth_getTransactionByHash", json!([word])),
        ("eth_getTransactionReceipt", json!([word])),
        ("eth_getBalance", json!([OTHER, "0x1"])),
        ("eth_feeHistory", json!(["0x2", "0x3", []])),
    ] {
        let refused = error(&mut fork, method, params).await;
        let starts = format!("{method} is about the other chain up to block 4: ");
        assert!(refused.starts_with(&starts), "{refused}");
        assert!(refused.contains(text(&pack)), "{refused}");
    }
    // A transaction that waits has no receipt, and that is no error.
    let tx = json!({"from": FROM, "to": OTHER, "value": "0x1"});
    let sent = fork.ask("eth_sendTransaction", json!([tx])).await;
    assert_eq!(fork.ask("eth_getTransactionReceipt", json!([sent])).await, Value::Null);
    fork.ask("evm_mine", json!([])).await;
    fork.ask("evm_mine", json!([])).await;
    assert_eq!(fork.ask("eth_getTransactionReceipt", json!([sent])).await["blockNumber"], "0x5");
    let fees = fork.ask("eth_feeHistory", json!(["0xa", "latest", [20]])).await;
    assert_eq!((&fees["oldestBlock"], base_fees(&fees).len()), (&json!("0x5"), 3));
    assert_eq!(fees["reward"].as_array().unwrap().len(), 2);
    stop(node).await;
}
