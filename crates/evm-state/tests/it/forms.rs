//! Blocks and headers: bytes in, the same bytes out.

use std::sync::LazyLock;

use alloy_primitives::{B256, keccak256};
use esker_evm_state::types::{Block, EMPTY_EXT_DATA_HASH, ext_data_hash};
use esker_testkit::vectors::{of_kind, recorded};
use proptest::prelude::*;

#[test]
fn blocks_of_the_reference_keep_their_bytes() {
    for (name, input, expected) in of_kind("block_rlp") {
        let bytes = hex::decode(&input.as_str().unwrap()[2..]).unwrap();
        let block = Block::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hex::encode(block.to_bytes()), hex::encode(&bytes), "{name}");
        if let Some(hash) = expected["hash"].as_str() {
            assert_eq!(block.hash(), hash.parse::<B256>().unwrap(), "{name}");
        }
    }
}

#[test]
fn a_recorded_chain_links_and_its_roots_are_those_of_its_transactions() {
    let blocks: Vec<_> =
        recorded("C").iter().map(|bytes| (bytes.clone(), Block::parse(bytes).unwrap())).collect();
    assert!(blocks.len() > 50, "{}", blocks.len());
    for (bytes, block) in &blocks {
        assert_eq!(&block.to_bytes(), bytes);
        assert_eq!(block.transactions_root(), block.header.transactions_root);
        assert_eq!(ext_data_hash(&block.ext_data), block.header.ext_data_hash);
    }
    for pair in blocks.windows(2) {
        assert_eq!(pair[1].1.header.parent_hash, pair[0].1.hash());
    }
}

/// The length of a typed transaction's wrapper, written with a needless byte or as a list, changes neither
/// the transaction nor the block's hash.
#[test]
fn another_wrapper_of_the_same_transaction_is_refused() {
    let mut bytes = recorded("C").swap_remove(0);
    let at = bytes.windows(3).position(|w| w[0] == 0xb8 && w[2] == 2).unwrap();
    Block::parse(&bytes).unwrap();
    for bit in 0..8 {
        bytes[at] ^= 1 << bit;
        assert!(Block::parse(&bytes).is_err(), "bit {bit}");
        bytes[at] ^= 1 << bit;
    }
}

#[test]
fn the_hash_of_no_ext_data_is_a_constant() {
    assert_eq!(ext_data_hash(&[]), EMPTY_EXT_DATA_HASH);
    assert_eq!(EMPTY_EXT_DATA_HASH, keccak256([0x80]));
}

proptest! {
    #[test]
    fn any_bytes_are_a_block_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _outcome = Block::parse(&bytes);
    }

    #[test]
    fn an_altered_block_is_another_or_refused(at in 0usize..1000, bit in 0u8..8) {
        static FIRST: LazyLock<Vec<u8>> = LazyLock::new(|| recorded("C").swap_remove(0));
        let bytes = FIRST.clone();
        prop_assume!(at < bytes.len());
        let mut altered = bytes.clone();
        altered[at] ^= 1 << bit;
        if let Ok(block) = Block::parse(&altered) {
            prop_assert_ne!(block, Block::parse(&bytes).unwrap());
        }
    }
}
