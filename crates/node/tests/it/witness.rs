//! Blocks are executed again from their witnesses alone (`debug_executionWitness`).

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, U256, hex, keccak256};
use esker_ethereum::block::{decode_block, parse_header, to_state_header};
use esker_ethereum::forks::{ChainConfig, Fork};
use esker_ethereum::rules::EthereumRules;
use esker_evm_execution::executor::{
    BlockBody, BlockContext, BlockExecutor, BlockHashes, ChainParams, ExtOutcome,
};
use esker_evm_state::state::{StateBase as _, StateError, StateTries, StateVersion, StateView};
use esker_evm_state::types::{Block, Header};
use esker_primitives::Id;
use esker_storage::{Scope, Store};
use serde_json::{Value, json};

use crate::fork::{Chain, FROM, OTHER, start};
use crate::witness_state::WitnessState;

/// Init code of a contract that sets the slots of its call's data, which are pairs of a slot and its value.
const SETTER: &str = "0x6015600c60003960156000f360005b806020013581355560400136811060025700";
/// Init code of a contract that destroys itself.
const DESTROYED: &str = "0x6002600c60003960026000f333ff";
/// Init code of a contract that keeps in slot 0 the hash of the block whose number it is given.
const HASHES: &str = "0x6008600c60003960086000f360003540600055";

fn bytes(value: &Value) -> Bytes {
    hex::decode(value.as_str().unwrap()).unwrap().into()
}

fn list(value: &Value) -> Vec<Bytes> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

/// A block with the state that its witness makes up.
struct Stateless {
    params: ChainParams,
    block: Block,
    parent: Header,
    state: WitnessState,
}

impl Stateless {
    async fn of(chain: &mut Chain, fork: Fork, number: u64) -> Self {
        let at = json!([format!("{number:#x}")]);
        let witness = chain.ask("debug_executionWitness", at.clone()).await;
        let raw = bytes(&chain.ask("debug_getRawBlock", at).await);
        let rules = EthereumRules::new(ChainConfig::development(31_337, fork)).for_development();
        let params = ChainParams::new(std::sync::Arc::new(rules), 1, Id::ZERO);
        let headers: Vec<Header> = list(&witness["headers"])
            .iter()
            .map(|rlp| to_state_header(parse_header(rlp).unwrap()))
            .collect();
        let parent = headers.last().unwrap().clone();
        let hashes: BTreeMap<u64, B256> =
            headers.iter().map(|header| (header.number, params.rules.block_hash(header))).collect();
        // The headers follow each other.
        for header in &headers[1..] {
            assert_eq!(hashes.get(&(header.number - 1)), Some(&header.parent_hash));
        }
        let by_hash = |list: Vec<Bytes>| list.into_iter().map(|one| (keccak256(&one), one));
        let state = WitnessState {
            root: parent.state_root,
            nodes: by_hash(list(&witness["state"]))
                .map(|(hash, one)| (hash, one.to_vec()))
                .collect(),
            codes: by_hash(list(&witness["codes"])).collect(),
            headers: hashes,
        };
        let block = decode_block(&raw).unwrap();
        assert_eq!(block.header.parent_hash, params.rules.block_hash(&parent));
        Self { params, block, parent, state }
    }

    /// The state root after the block.
    fn root(&self) -> Result<B256, String> {
        let empty = Store::memory().unwrap();
        let reader = empty.snapshot().unwrap();
        let view = StateView::new(reader.as_ref(), Scope::NODE, StateVersion::Latest);
        let view = view.with_base(Some(&self.state));
        let hashes = |number: u64| self.state.block_hash(number).map(Some);
        self.execute(view, &hashes).map_err(|error| error.to_string())
    }

    fn execute(
        &self,
        view: StateView<'_>,
        hashes: &dyn BlockHashes,
    ) -> Result<B256, Box<dyn std::error::Error>> {
        let header = &self.block.header;
        let context = BlockContext::for_header(&self.params, header)?;
        let body = (context, BlockBody::of(&self.block));
        let gas = header.gas_limit;
        let mut executor = BlockExecutor::new(&self.params, view, hashes, &self.parent, body, gas)?;
        for tx in &self.block.transactions {
            executor.execute(tx, None)?;
        }
        let changes = executor.finish(ExtOutcome::default())?.changes;
        let mut tries = StateTries::new(&*self.params.rules, view, self.parent.state_root)?;
        Ok(tries.apply(&changes).map_err(|error: StateError| error)?)
    }
}

/// Data that set slots to values.
fn slots(pairs: impl IntoIterator<Item = (u64, u64)>) -> String {
    let words = pairs.into_iter().flat_map(|(slot, value)| [slot, value]);
    let data: Vec<u8> = words.flat_map(|word| U256::from(word).to_be_bytes::<32>()).collect();
    hex::encode_prefixed(data)
}

/// A chain with changes of all kinds: new and removed slots, new and removed accounts, hashes of blocks.
async fn changed_chain(chain: &mut Chain) -> u64 {
    let setter = chain.deploy(SETTER).await;
    let hashes = chain.deploy(HASHES).await;
    let mut destroyed = Vec::new();
    for _ in 0..4 {
        destroyed.push(chain.deploy(DESTROYED).await);
    }
    let call =
        |to: &Value, data: &str| json!({"from": FROM, "to": to, "data": data, "gas": "0x300000"});
    chain.send(call(&setter, &slots((0..40).map(|slot| (slot, slot + 1))))).await;
    // Branches with one child left go, more of them each time.
    for step in [2, 3, 5, 7, 1] {
        let gone = (0..40).filter(|slot| slot % step == 0).map(|slot| (slot, 0));
        chain.send(call(&setter, &slots(gone))).await;
    }
    chain.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    for contract in &destroyed {
        chain.send(call(contract, "0x")).await;
    }
    let newest = chain.newest().await["number"].as_str().unwrap().to_owned();
    let newest = u64::from_str_radix(&newest[2..], 16).unwrap();
    chain.send(call(&hashes, &slots([(newest - 8, 0)]))).await;
    // A transaction that fails changes its sender.
    chain
        .ask("eth_sendTransaction", json!([{"from": FROM, "data": "0xfe", "gas": "0x20000"}]))
        .await;
    newest + 2
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_executed_from_their_witnesses() {
    for (name, fork) in [("shanghai", Fork::Shanghai), ("osaka", Fork::Osaka)] {
        let node = start(&[("hardfork", name)]).await.unwrap();
        let mut chain = Chain::of(&node).await;
        let newest = changed_chain(&mut chain).await;
        let mut needless = 0;
        for number in 1..=newest {
            let mut stateless = Stateless::of(&mut chain, fork, number).await;
            let expected = stateless.block.header.state_root;
            assert_eq!(stateless.root().as_ref(), Ok(&expected), "{name}: block {number}");
            // Without one of its nodes it is not enough.
            for hash in stateless.state.nodes.keys().copied().collect::<Vec<_>>() {
                let node = stateless.state.nodes.remove(&hash).unwrap();
                needless += usize::from(stateless.root().is_ok());
                stateless.state.nodes.insert(hash, node);
            }
        }
        assert_eq!(needless, 0, "{name}");
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hashes_of_blocks_have_their_headers() {
    let node = start(&[]).await.unwrap();
    let mut chain = Chain::of(&node).await;
    let newest = changed_chain(&mut chain).await;
    let at = format!("{:#x}", newest - 1);
    let witness = chain.ask("debug_executionWitness", json!([at])).await;
    assert_eq!(witness["headers"].as_array().unwrap().len(), 9, "{}", witness["headers"]);
    let hash = chain.ask("eth_getBlockByNumber", json!([at, false])).await["hash"].clone();
    assert_eq!(chain.ask("debug_executionWitnessByBlockHash", json!([hash])).await, witness);
    // The keys are addresses, and slots after their account.
    let keys = list(&witness["keys"]);
    assert!(keys.iter().all(|key| [20, 32].contains(&key.len())) && keys[0].len() == 20);
    let sender: Bytes = hex::decode(FROM).unwrap().into();
    assert!(keys.contains(&sender), "{keys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_witness_is_refused() {
    let node = start(&[]).await.unwrap();
    let mut chain = Chain::of(&node).await;
    chain.send(json!({"from": FROM, "to": OTHER, "value": "0x5"})).await;
    chain.ask("anvil_setBalance", json!([OTHER, "0x7"])).await;
    for (method, params, text) in [
        ("debug_executionWitness", json!(["0x0"]), "no transaction in genesis"),
        ("debug_executionWitness", json!(["pending"]), "a pending block has no witness"),
        ("debug_executionWitness", json!(["0x99"]), "cannot query unfinalized data"),
        ("debug_executionWitness", json!(["0x2"]), "controls of a development network"),
        ("debug_executionWitness", json!([]), "missing value for required argument 0"),
        ("debug_executionWitnessByBlockHash", json!([B256::ZERO]), "not found"),
    ] {
        let reply = chain.reply(method, params.clone()).await;
        let found = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
        assert!(found.contains(text), "{method} {params}: {found}");
    }
}
