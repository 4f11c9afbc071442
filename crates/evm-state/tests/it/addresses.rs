//! The index of addresses, compared with a list of all pairs.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use esker_evm_state::addresses::tables::{ADDRESS_START, ADDRESS_TXS};
use esker_evm_state::addresses::{AddressQuery, BlockPlaces, TxPlaces, find, write_addresses};
use esker_storage::{Scope, Store, ValueCodec, WriteSet};
use proptest::prelude::*;

const SCOPE: Scope = Scope(2);

fn account(number: u8) -> Address {
    Address::with_last_byte(number)
}

/// Pairs of accounts and places, by block.
type Blocks = Vec<BTreeSet<(u8, u32)>>;

fn blocks() -> impl Strategy<Value = Blocks> {
    let place = prop_oneof![0..4_u32, 120..140_u32, 16_380..16_390_u32, Just(u32::MAX)];
    prop::collection::vec(prop::collection::btree_set((0..3_u8, place), 0..6), 0..20)
}

/// A store with these blocks from height 1 on.
fn store_of(blocks: &[BTreeSet<(u8, u32)>]) -> Store {
    let store = Store::memory().unwrap();
    for (height, block) in (1..).zip(blocks) {
        let touched: Vec<_> = block.iter().map(|(of, at)| (account(*of), *at)).collect();
        write(&store, height, Some(&touched));
    }
    store
}

fn write(store: &Store, height: u64, touched: Option<&[(Address, u32)]>) {
    let mut out = WriteSet::new();
    let below = store.snapshot().unwrap();
    write_addresses(below.as_ref(), SCOPE, height, touched, &mut out).unwrap();
    drop(below);
    store.writer.commit_blocking(out).unwrap();
}

fn start(store: &Store) -> Option<u64> {
    ADDRESS_START.get(store.snapshot().unwrap().as_ref(), SCOPE, &()).unwrap()
}

proptest! {
    #[test]
    fn pages_have_all_transactions_in_whole_blocks(
        blocks in blocks(),
        of in 0..4_u8,
        (from, to) in (0..22_u64, 0..22_u64),
        count in 1..9_usize,
        is_backward: bool,
    ) {
        let store = store_of(&blocks);
        let in_block = |height: u64| -> Vec<u32> {
            let block = &blocks[usize::try_from(height).unwrap() - 1];
            block.iter().filter(|(account, _)| *account == of).map(|(_, at)| *at).collect()
        };
        let heights = (1..=blocks.len() as u64).filter(|height| (from..=to).contains(height));
        let mut expected: Vec<_> = heights
            .map(|height| BlockPlaces { height, places: in_block(height) })
            .filter(|block| !block.places.is_empty())
            .collect();
        if is_backward {
            expected.reverse();
        }
        let (mut from, mut to, mut found) = (from, to, Vec::new());
        loop {
            let query = AddressQuery { address: account(of), from, to, is_backward, count };
            let page = find(store.snapshot().unwrap().as_ref(), SCOPE, &query).unwrap();
            let sizes: Vec<_> = page.blocks.iter().map(|block| block.places.len()).collect();
            let before_last = sizes.iter().rev().skip(1).sum::<usize>();
            prop_assert!(before_last < count, "{sizes:?}");
            prop_assert!(!page.has_more || sizes.iter().sum::<usize>() >= count);
            found.extend(page.blocks);
            let Some(last) = found.last().filter(|_| page.has_more) else { break };
            if is_backward { to = last.height - 1 } else { from = last.height + 1 }
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_row_reads_back_and_no_other_bytes_are_one(
        places in prop::collection::btree_set(any::<u32>(), 1..20),
        bytes in prop::collection::vec(any::<u8>(), 0..12),
    ) {
        let places = TxPlaces(places.into_iter().collect());
        let mut encoded = Vec::new();
        places.encode_value(&mut encoded);
        prop_assert_eq!(TxPlaces::decode_value(&encoded), Some(places));
        if let Some(read) = TxPlaces::decode_value(&bytes) {
            let mut again = Vec::new();
            read.encode_value(&mut again);
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn damaged_rows_are_no_places() {
    for bytes in [
        &[][..],
        &[0x80],
        &[1, 0],
        &[0x80, 0],
        &[0xff, 0xff, 0xff, 0xff, 0x1f],
        &[0xff, 0xff, 0xff, 0xff, 0x0f, 1],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 1],
    ] {
        assert_eq!(TxPlaces::decode_value(bytes), None, "{bytes:x?}");
    }
    assert_eq!(
        TxPlaces::decode_value(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
        Some(TxPlaces(vec![u32::MAX]))
    );
    assert_eq!(TxPlaces::decode_value(&[0, 1]), Some(TxPlaces(vec![0, 1])));
}

#[test]
fn a_damaged_row_is_an_error_in_both_directions() {
    let store = store_of(&[BTreeSet::from([(0, 0)]), BTreeSet::from([(0, 0)])]);
    let mut out = WriteSet::new();
    ADDRESS_TXS.put_bytes(&mut out, SCOPE, &(account(0).into_array(), 2), &[0x80]);
    store.writer.commit_blocking(out).unwrap();
    for is_backward in [false, true] {
        let query = AddressQuery { address: account(0), from: 0, to: 9, is_backward, count: 5 };
        let read = find(store.snapshot().unwrap().as_ref(), SCOPE, &query);
        assert!(read.unwrap_err().is_corruption());
    }
}

#[test]
fn the_start_is_the_first_block_since_the_index_is_on() {
    let store = Store::memory().unwrap();
    write(&store, 1, None);
    assert_eq!(start(&store), None);
    write(&store, 2, Some(&[]));
    write(&store, 3, Some(&[(account(1), 0)]));
    assert_eq!(start(&store), Some(2));
    write(&store, 4, None);
    assert_eq!(start(&store), None);
    write(&store, 5, Some(&[]));
    assert_eq!(start(&store), Some(5));
}
