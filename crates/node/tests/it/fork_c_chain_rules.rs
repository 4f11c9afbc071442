//! The rules of C-Chains that begin on a block of another node, and sources that lie about it.

use alloy_primitives::{B256, U256};
use esker_evm_execution::rules::{ChainConfig, ForkSchedule, INITIALLY_ACTIVE, Phase};
use esker_evm_state::types::{EMPTY_EXT_DATA_HASH, EMPTY_OMMERS_HASH, Header};
use esker_settings::config::Mode;
use serde_json::{Value, json};

use crate::fork::{Chain, c_chain_url, refusal_as, source_as, start_as, url};
use crate::fork_rules::{OldNode, block_json, mined};
use crate::proxy::{Lie, Proxy};

const MAIN_ID: u64 = 43_114;
/// The chain ID of the recorded network.
const CUSTOM_ID: u64 = 43_112;
const GWEI: u64 = 1_000_000_000;

/// A header of the main network's C-Chain in a phase: nobody has used it for a while.
fn header(phase: Phase) -> Header {
    let is_etna = phase >= Phase::Etna;
    let extra = match phase {
        Phase::Fortuna => 30,
        Phase::Durango | Phase::Etna => 86,
        _ => 80,
    };
    Header {
        number: 40_000_000,
        time: ForkSchedule::MAIN.begins(phase) + 1000,
        extra: vec![0; extra].into(),
        ommers_hash: EMPTY_OMMERS_HASH,
        ext_data_hash: EMPTY_EXT_DATA_HASH,
        difficulty: U256::from(1),
        gas_limit: 15_000_000,
        base_fee: Some(U256::from(100 * GWEI)),
        ext_data_gas_used: Some(U256::ZERO),
        block_gas_cost: Some(U256::ZERO),
        blob_gas_used: is_etna.then_some(0),
        excess_blob_gas: is_etna.then_some(0),
        parent_beacon_root: is_etna.then_some(B256::ZERO),
        ..Header::default()
    }
}

fn json_of(header: &Header) -> Value {
    let mut block = block_json(header);
    block["hash"] = json!(header.hash());
    block["extDataHash"] = json!(header.ext_data_hash);
    for (field, value) in [
        ("extDataGasUsed", header.ext_data_gas_used),
        ("blockGasCost", header.block_gas_cost),
        ("blobGasUsed", header.blob_gas_used.map(U256::from)),
        ("excessBlobGas", header.excess_blob_gas.map(U256::from)),
    ] {
        if let Some(value) = value {
            block[field] = json!(value);
        }
    }
    if let Some(root) = header.parent_beacon_root {
        block["parentBeaconBlockRoot"] = json!(root);
    }
    block
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_the_main_network_have_the_rules_and_fees_of_their_time() {
    for (phase, base_fee, gas_limit, extra) in [
        (Phase::Cortina, 25 * GWEI, 15_000_000_u64, 80),
        (Phase::Durango, 25 * GWEI, 15_000_000, 86),
        (Phase::Etna, GWEI, 15_000_000, 86),
        (Phase::Fortuna, 1, 10_000_000, 30),
    ] {
        let header = header(phase);
        let node = OldNode::with_block(MAIN_ID, json_of(&header)).await;
        let forked = start_as(Mode::Dev, &[("fork-url", &node.url)]).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        assert_eq!(fork.ask("eth_chainId", json!([])).await, "0xa86a");
        // After so long the base fee is the least one.
        fork.ask("evm_setNextBlockTimestamp", json!([header.time + 3600])).await;
        let block = mined(&mut fork).await;
        assert_eq!(block["number"], format!("{:#x}", header.number + 1));
        assert_eq!(block["parentHash"], json!(header.hash()));
        assert_eq!(block["baseFeePerGas"], format!("{base_fee:#x}"), "{phase:?}");
        assert_eq!(block["gasLimit"], format!("{gas_limit:#x}"), "{phase:?}");
        assert_eq!(block["extraData"].as_str().unwrap().len(), 2 + 2 * extra, "{phase:?}");
        assert_eq!(block["blobGasUsed"].is_string(), phase >= Phase::Etna, "{phase:?}");
        let config = fork.ask("eth_getChainConfig", json!([])).await;
        assert_eq!(config["fortunaTimestamp"], ForkSchedule::MAIN.begins(Phase::Fortuna));
        forked.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_block_of_avalanchego_begins_a_fork_with_the_forks_that_its_node_names() {
    let block: Value = serde_json::from_str(include_str!("data/fortuna-block.json")).unwrap();
    let mut schedule = ForkSchedule::LOCAL;
    schedule.phases[Phase::Fortuna as usize] = INITIALLY_ACTIVE;
    let config = serde_json::to_value(ChainConfig::new(CUSTOM_ID, &schedule)).unwrap();
    let node = OldNode::with_config(CUSTOM_ID, block.clone(), config).await;
    let flags = [("fork-url", node.url.as_str()), ("real-fees", "true")];
    let forked = start_as(Mode::Dev, &flags).await.unwrap();
    let mut fork = Chain::of(&forked).await;
    assert_eq!(fork.newest().await["hash"], block["hash"]);
    let time = u64::from_str_radix(&block["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    fork.ask("evm_setNextBlockTimestamp", json!([time + 30])).await;
    fork.ask("evm_mine", json!([])).await;
    let own = fork.newest().await;
    assert_eq!(own["parentHash"], block["hash"]);
    assert_eq!((&own["baseFeePerGas"], &own["gasLimit"]), (&json!("0x1"), &json!("0x989680")));
    // The full capacity, no excess, and no vote.
    assert_eq!(own["extraData"], format!("0x{:016x}{}", 10_000_000, "0".repeat(32 + 12)));
    let shown = fork.ask("eth_getChainConfig", json!([])).await;
    assert_eq!(shown["fortunaTimestamp"], INITIALLY_ACTIVE);
    forked.stop().await.unwrap();
    // AvalancheGo does not have that method: the header has the form of Fortuna's.
    let node = OldNode::with_block(CUSTOM_ID, block).await;
    let forked = start_as(Mode::Dev, &[("fork-url", &node.url), ("real-fees", "true")]).await;
    let forked = forked.unwrap();
    let mut fork = Chain::of(&forked).await;
    fork.ask("evm_setNextBlockTimestamp", json!([time + 30])).await;
    fork.ask("evm_mine", json!([])).await;
    let same = fork.newest().await;
    assert_eq!((&same["extraData"], &same["hash"]), (&own["extraData"], &own["hash"]));
    forked.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_base_fee_follows_from_the_block() {
    let header = header(Phase::Etna);
    let node = OldNode::with_block(MAIN_ID, json_of(&header)).await;
    for (flags, expected) in [
        // A second after an empty window: down by a part of 36, at no use of the target.
        (&[][..], 97_222_222_223),
        (&[("real-fees", "false")], 100 * GWEI),
        (&[("real-fees", "false"), ("base-fee", "5000000000")], 97_222_222_223),
    ] {
        let flags = [&[("fork-url", node.url.as_str())], flags].concat();
        let forked = start_as(Mode::Dev, &flags).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        fork.ask("evm_setNextBlockTimestamp", json!([header.time + 9])).await;
        fork.ask("evm_mine", json!([])).await;
        let block = fork.newest().await;
        assert_eq!(block["baseFeePerGas"], format!("{expected:#x}"), "{flags:?}");
        forked.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_can_not_be_forked_are_named() {
    let old = Header { time: 1_600_000_000, ..header(Phase::Apricot5) };
    // The times of the main network come before the form.
    let private = Header { time: 1_740_000_000, ..header(Phase::Fortuna) };
    let small = Header { extra: vec![0; 5].into(), ..header(Phase::Etna) };
    for (chain_id, header, reason) in [
        (MAIN_ID, old, "is before Apricot 5"),
        (MAIN_ID, private, "the rules are those of Etna, whose fees are in another form"),
        (MAIN_ID, small, "extraData of 5 bytes"),
    ] {
        let node = OldNode::with_block(chain_id, json_of(&header)).await;
        let error = refusal_as(Mode::Dev, &[("fork-url", &node.url)]).await;
        assert!(error.contains("can't be forked") && error.contains(reason), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_later_releases_are_named() {
    let mut block = json_of(&header(Phase::Fortuna));
    block["timestampMilliseconds"] = json!("0x18b7f3e2c00");
    block["minDelayExcess"] = json!("0x799d4c");
    block["hash"] = json!(B256::repeat_byte(7));
    let node = OldNode::with_block(MAIN_ID, block).await;
    let error = refusal_as(Mode::Dev, &[("fork-url", &node.url)]).await;
    assert!(error.contains("Granite") && error.contains("block before"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_forks_its_kind_of_chain() {
    let (ethereum, _, _) = source_as(Mode::Evm, &[]).await;
    let error = refusal_as(Mode::Dev, &[("fork-url", &url(&ethereum))]).await;
    assert!(error.contains("esker evm --fork-url"), "{error}");
    ethereum.stop().await.unwrap();
    let (c_chain, _, _) = source_as(Mode::Dev, &[]).await;
    let address = c_chain_url(&c_chain, Mode::Dev);
    let error = refusal_as(Mode::Evm, &[("fork-url", &address)]).await;
    assert!(error.contains("esker dev --fork-url"), "{error}");
    c_chain.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_about_the_block_are_noticed() {
    let (node, _, _) = source_as(Mode::Dev, &[]).await;
    let proxy = Proxy::start(node.evm_addr().unwrap()).await;
    let lies: [(Lie, &str); 9] = [
        (|block| block["extDataHash"] = json!(B256::ZERO), "hash"),
        (|block| block["extDataGasUsed"] = json!("0x1"), "hash"),
        (|block| block["blockGasCost"] = json!("0x5"), "hash"),
        (|block| block["extraData"] = json!("0x00"), "hash"),
        (|block| block["stateRoot"] = json!(B256::ZERO), "hash"),
        (|block| drop(block.as_object_mut().unwrap().remove("parentBeaconBlockRoot")), "hash"),
        (|block| block["blockGasCost"] = json!("twelve"), "blockGasCost"),
        (|block| block["extDataHash"] = json!(7), "extDataHash"),
        (|block| *block = Value::Null, "there is no block"),
    ];
    for (lie, reason) in lies {
        proxy.lie("eth_getBlockByNumber", Some(lie));
        let flags = [("fork-url", proxy.url.as_str()), ("fork-retries", "0")];
        let error = refusal_as(Mode::Dev, &flags).await;
        assert!(error.contains(reason), "{reason}: {error}");
    }
    node.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_lies_about_its_forks_changes_no_rules_that_the_block_contradicts() {
    let (node, _, _) = source_as(Mode::Dev, &[]).await;
    let proxy = Proxy::start(node.evm_addr().unwrap()).await;
    let lies: [Lie; 5] = [
        |config| *config = Value::Null,
        |config| *config = json!("forks"),
        |config| config["etnaTimestamp"] = json!("soon"),
        |config| config["etnaTimestamp"] = json!(u64::MAX),
        |config| config["fortunaTimestamp"] = config["etnaTimestamp"].clone(),
    ];
    for lie in lies {
        proxy.lie("eth_getChainConfig", Some(lie));
        let forked = start_as(Mode::Dev, &[("fork-url", &proxy.url)]).await.unwrap();
        let mut fork = Chain::of(&forked).await;
        let block = mined(&mut fork).await;
        assert_eq!(block["extraData"].as_str().unwrap().len(), 2 + 2 * 86);
        forked.stop().await.unwrap();
    }
    node.stop().await.unwrap();
}
