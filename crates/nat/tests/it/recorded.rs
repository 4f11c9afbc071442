//! Both chains recorded on the reference, under one machine: every block is valid, in the order in which they were
//! accepted, and leaves what the reference's left; each altered block is refused and changes nothing.

use esker_chain::ChainVm;
use esker_evm_state::types::Block;
use esker_nat::AtomicStatus;
use esker_testkit::chains::world::{World, test_file};
use esker_transactions::nat::{AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data};
use serde_json::Value;

struct Recorded {
    chain: String,
    height: u64,
    bytes: Vec<u8>,
}

fn parse(line: &Value) -> Recorded {
    Recorded {
        chain: line["chain"].as_str().unwrap().into(),
        height: line["height"].as_u64().unwrap(),
        bytes: crate::vectors::bytes(&line["bytes"]),
    }
}

fn recorded() -> Vec<Recorded> {
    let text = String::from_utf8(test_file("vectors/chain/local-1.jsonl")).unwrap();
    text.lines().map(|line| parse(&serde_json::from_str(line).unwrap())).collect()
}

/// The transactions of a block of the C-Chain.
fn atomic(block: &Recorded) -> Vec<AtomicTx> {
    let block = Block::parse(&block.bytes).unwrap();
    decode_ext_data(&block.ext_data, ExtDataForm::Batch).unwrap()
}

async fn accept(world: &World, block: &Recorded) {
    let chain = if block.chain == "C" { world.c_id() } else { world.x_id() };
    let accepted = world.offer(chain, &block.bytes).await;
    accepted.unwrap_or_else(|e| panic!("{} block {}: {e}", block.chain, block.height));
}

#[tokio::test]
async fn every_recorded_block_is_valid() {
    let world = World::local();
    let (mut imports, mut exports) = (0, 0);
    for block in &recorded() {
        accept(&world, block).await;
        if block.chain == "X" {
            continue;
        }
        let header = Block::parse(&block.bytes).unwrap().header;
        let reader = world.store.snapshot().unwrap();
        let root = world.evm().view(&*reader).latest_state().root().unwrap();
        assert_eq!(root, header.state_root, "block {}", block.height);
        drop(reader);
        for tx in atomic(block) {
            let status = AtomicStatus::Accepted(block.height);
            assert_eq!(world.nat.find(&tx.id()).unwrap(), Some((tx.clone(), status)));
            let there = |destination, source, id: &esker_primitives::Id| {
                let reader = world.store.snapshot().unwrap();
                let key = [id.as_bytes().to_vec()];
                esker_shared_memory::get(&*reader, &destination, &source, &key).is_ok()
            };
            match tx.unsigned() {
                UnsignedAtomicTx::Import(import) => {
                    imports += 1;
                    for input in &import.imported_inputs {
                        let id = input.utxo_id.input_id();
                        assert!(!there(world.c_id(), import.source_chain, &id));
                    }
                }
                UnsignedAtomicTx::Export(export) => {
                    exports += 1;
                    for utxo in export.exported_utxos(tx.id()) {
                        let id = utxo.utxo_id.input_id();
                        assert!(there(export.destination_chain, world.c_id(), &id));
                    }
                }
            }
        }
    }
    assert!(imports > 2 && exports > 2, "{imports} imports, {exports} exports");
    assert_eq!(world.evm().head().header.number, 101);
}

#[tokio::test]
async fn every_altered_block_is_refused() {
    let altered: Vec<Value> =
        serde_json::from_slice(&test_file("vectors/chain/local-1-altered.json")).unwrap();
    let world = World::local();
    let mut refused = 0;
    for block in &recorded() {
        let here =
            |line: &&Value| line["chain"] == block.chain.as_str() && line["height"] == block.height;
        for line in altered.iter().filter(here) {
            let (rule, text) = (line["rule"].as_str().unwrap(), line["text"].as_str());
            let before = world.rows();
            let chain = if block.chain == "C" { world.c_id() } else { world.x_id() };
            let error = world.offer(chain, &parse(line).bytes).await.unwrap_err();
            assert!(error.contains(text.unwrap_or_default()), "{rule}: {error}, not {text:?}");
            assert!(world.rows() == before, "{rule} changed something");
            refused += 1;
            if rule == "signature of the atomic transaction" {
                assert!(error.contains("failed semanatic verify: "), "{error}");
            }
        }
        accept(&world, block).await;
    }
    assert_eq!(refused, altered.len());
    assert!(world.evm().health().is_ok());
}
