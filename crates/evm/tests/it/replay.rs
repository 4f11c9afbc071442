//! A whole chain that was recorded on the reference: every block is valid here, and every altered block is refused.

use esker_evm::verify::VerifyError;
use esker_evm_state::types::Block;
use esker_testkit::recorded_atomic::RecordedOwners;
use esker_testkit::vectors::recorded;
use serde_json::Value;

use crate::ledger::Ledger;

fn blocks() -> Vec<Block> {
    recorded("C").iter().map(|bytes| Block::parse(bytes).unwrap()).collect()
}

#[test]
fn every_recorded_block_is_valid() {
    let mut chain = Ledger::local();
    let blocks = blocks();
    let extension = RecordedOwners::new(blocks.iter().map(|block| &block.ext_data));
    let (mut transactions, mut failed, mut logs) = (0, 0, 0);
    for block in &blocks {
        let number = block.header.number;
        let (processed, writes) = chain
            .verify(block, &extension)
            .unwrap_or_else(|error| panic!("block {number}: {error}"));
        assert_eq!(processed.gas_used, block.header.gas_used, "block {number}");
        assert_eq!(processed.bloom, block.header.bloom, "block {number}");
        assert_eq!(processed.receipts_root, block.header.receipts_root, "block {number}");
        assert_eq!(processed.receipts.len(), block.transactions.len(), "block {number}");
        transactions += processed.receipts.len();
        failed += processed.receipts.iter().filter(|receipt| !receipt.success).count();
        logs += processed.receipts.iter().map(|receipt| receipt.logs.len()).sum::<usize>();
        chain.accept(block, &writes);
        let root = chain.with_view(|view| view.root().unwrap());
        assert_eq!(root, block.header.state_root, "block {number}");
    }
    assert_eq!(chain.tip.number, 101);
    // The recording has the expected content.
    assert!(transactions > 80 && failed > 0 && logs > 0, "{transactions} {failed} {logs}");
}

#[test]
fn every_altered_block_is_refused() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/chain/local-1-altered.json");
    let altered: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let altered: Vec<_> =
        altered.as_array().unwrap().iter().filter(|block| block["chain"] == "C").collect();
    assert_eq!(altered.len(), 23);
    let mut chain = Ledger::local();
    let blocks = blocks();
    let extension = RecordedOwners::new(blocks.iter().map(|block| &block.ext_data));
    for block in &blocks {
        let number = block.header.number;
        // The recording is from the past: the clock is set to its time.
        chain.now_s = block.header.time;
        for altered in altered.iter().filter(|altered| altered["height"] == number) {
            let (rule, text) = (altered["rule"].as_str().unwrap(), altered["text"].as_str());
            let bytes = hex::decode(&altered["bytes"].as_str().unwrap()[2..]).unwrap();
            let error = match Block::parse(&bytes) {
                Ok(block) => chain.verify(&block, &extension).unwrap_err(),
                Err(error) => panic!("{rule}: {error}"),
            };
            assert!(!matches!(error, VerifyError::State(_)), "{rule}: {error}");
            let error = error.to_string();
            assert!(error.contains(text.unwrap_or_default()), "{rule}: {error}, not {text:?}");
            println!("{rule}: {error}");
        }
        let (_, writes) = chain.verify(block, &extension).unwrap();
        chain.accept(block, &writes);
    }
}
