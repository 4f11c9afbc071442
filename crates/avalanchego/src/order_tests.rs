//! Orders of made blocks.

use bytes::Bytes;
use esker_primitives::{ChainId, Id, TxId};
use esker_utxo::UtxoId;
use proptest::prelude::*;

use super::*;
use crate::Export;

const IDS: ChainIds = ChainIds { x: Id::new([1; 32]), c: Id::new([2; 32]) };

/// The UTXOs in accepted shared memory.
#[derive(Default)]
struct Memory(BTreeSet<Shared>);

impl SharedMemory for Memory {
    fn contains(&self, utxo: &Shared) -> Result<bool, PortError> {
        Ok(self.0.contains(utxo))
    }
}

fn utxo(name: u8) -> UtxoId {
    UtxoId { tx_id: TxId::new([name; 32]), output_index: 1 }
}

fn block(chain: Chain, height: u64) -> Block {
    let bytes = Bytes::from_static(b"block");
    Block { chain, height, bytes, imports: Vec::new(), exports: Vec::new() }
}

fn export(mut block: Block, destination: Chain, name: u8) -> Block {
    let key = utxo(name).input_id();
    block.exports.push(Export { destination: IDS.id_of(destination), key });
    block
}

fn import(mut block: Block, source: Chain, name: u8) -> Block {
    block.imports.push(Import { source: IDS.id_of(source), utxo: utxo(name) });
    block
}

fn take(order: &mut Order) -> String {
    match order.next(&Memory::default()) {
        Ok(Next::Block(block)) => format!("{}{}", block.chain.alias(), block.height),
        Ok(Next::Blocked(blocked)) => {
            blocked.iter().map(|b| format!("{} for {} ", b.chain.alias(), b.source)).collect()
        }
        Ok(Next::Full) => "full".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_import_waits_for_its_export() {
    let mut order = Order::new(IDS);
    order.push(import(block(Chain::X, 1), Chain::P, 7));
    order.push(block(Chain::X, 2));
    order.push(import(block(Chain::C, 1), Chain::X, 8));
    assert_eq!(take(&mut order), "X for P-Chain C for X-Chain ");
    order.push(export(block(Chain::P, 1), Chain::C, 7));
    assert_eq!(take(&mut order), "P1");
    // Exported, but to another chain.
    assert_eq!(take(&mut order), "X for P-Chain C for X-Chain ");
    order.push(export(block(Chain::P, 2), Chain::X, 7));
    assert_eq!(["P2", "X1", "X2"], [0; 3].map(|_| take(&mut order)));
    order.push(export(block(Chain::X, 3), Chain::C, 8));
    assert_eq!(["X3", "C1", ""], [0; 3].map(|_| take(&mut order)));
}

#[test]
fn an_import_finds_what_is_accepted() {
    let mut order = Order::new(IDS);
    order.push(export(block(Chain::P, 1), Chain::X, 7));
    assert_eq!(take(&mut order), "P1");
    order.accepted(Chain::P, 1);
    order.push(import(block(Chain::X, 1), Chain::P, 7));
    assert_eq!(take(&mut order), "X for P-Chain ", "the store does not have it");
    let shared =
        Shared { source: IDS.id_of(Chain::P), destination: IDS.x, key: utxo(7).input_id() };
    let memory = Memory(BTreeSet::from([shared]));
    assert!(matches!(order.next(&memory), Ok(Next::Block(_))));
}

#[test]
fn chains_that_wait_for_each_other_are_an_error() {
    let mut order = Order::new(IDS);
    order.push(import(block(Chain::X, 1), Chain::C, 7));
    order.push(export(block(Chain::X, 2), Chain::C, 8));
    assert_eq!(take(&mut order), "X for C-Chain ");
    order.push(import(block(Chain::C, 1), Chain::X, 8));
    assert!(take(&mut order).contains("the chains wait for each other"));
    let mut order = Order::new(IDS);
    let source = ChainId::new([9; 32]);
    let mut strange = block(Chain::X, 1);
    strange.imports.push(Import { source, utxo: utxo(1) });
    order.push(strange);
    assert!(take(&mut order).contains("which is not followed"));
}

#[test]
fn what_waits_is_bounded() {
    let mut order = Order::new(IDS);
    order.push(import(block(Chain::X, 0), Chain::P, 1));
    for height in 1..MAX_WAITING_BLOCKS as u64 {
        assert!(order.has_room(Chain::X));
        order.push(block(Chain::X, height));
    }
    assert!(!order.has_room(Chain::X) && order.has_room(Chain::C));
    let mut large = block(Chain::C, 1);
    large.bytes = vec![0; MAX_WAITING_BYTES].into();
    order.push(large);
    assert!(!order.has_room(Chain::C));
    assert_eq!(take(&mut order), "C1");
    assert!(order.has_room(Chain::C));

    let mut order = Order::new(IDS);
    for height in 1..=MAX_HANDED_OUT as u64 {
        order.push(block(Chain::C, height));
        assert_ne!(take(&mut order), "full");
    }
    order.push(block(Chain::C, 5000));
    assert_eq!(take(&mut order), "full");
    order.accepted(Chain::C, 1);
    assert_eq!(take(&mut order), "C5000");
}

proptest! {
    /// A true order of blocks, fed chain by chain in lumps of any size, comes out whole and in an order that works.
    #[test]
    fn any_interleaving_comes_out_in_order(
        chains in prop::collection::vec((0usize..3, any::<prop::sample::Index>(), any::<bool>()), 1..60),
        lumps in prop::collection::vec(0usize..3, 0..200),
    ) {
        let mut all: [VecDeque<Block>; 3] = Default::default();
        let mut open: Vec<(Chain, Chain, u8)> = Vec::new();
        let mut heights = [0u64; 3];
        for (name, (chain, which, exports)) in (0u8..).zip(&chains) {
            let chain = Chain::ALL[*chain];
            let height = &mut heights[chain.position()];
            *height = height.saturating_add(1);
            let mut made = block(chain, *height);
            let to_here: Vec<_> = open.iter().copied().filter(|(_, to, _)| *to == chain).collect();
            if !to_here.is_empty() {
                let taken = to_here[which.index(to_here.len())];
                made = import(made, taken.0, taken.2);
                open.retain(|at| *at != taken);
            }
            if *exports {
                let others: Vec<_> = Chain::ALL.into_iter().filter(|c| *c != chain).collect();
                let to = others[which.index(2)];
                made = export(made, to, name);
                open.push((chain, to, name));
            }
            all[chain.position()].push_back(made);
        }
        let mut order = Order::new(IDS);
        let mut there = BTreeSet::new();
        let mut heights = [0u64; 3];
        let mut rest = lumps.into_iter();
        loop {
            match order.next(&Memory::default()).unwrap() {
                Next::Block(block) => {
                    let height = &mut heights[block.chain.position()];
                    *height = height.saturating_add(1);
                    prop_assert_eq!(block.height, *height);
                    for import in &block.imports {
                        let destination = IDS.id_of(block.chain);
                        let key = import.utxo.input_id();
                        let shared = Shared { source: import.source, destination, key };
                        prop_assert!(there.contains(&shared));
                    }
                    for export in &block.exports {
                        let source = IDS.id_of(block.chain);
                        let (destination, key) = (export.destination, export.key);
                        there.insert(Shared { source, destination, key });
                    }
                }
                Next::Blocked(_) => {
                    let next = rest.next().and_then(|chain| all[chain].pop_front());
                    match next.or_else(|| all.iter_mut().find_map(VecDeque::pop_front)) {
                        Some(block) => order.push(block),
                        None => break,
                    }
                }
                Next::Full => unreachable!("fewer blocks"),
            }
        }
        let out = heights.iter().sum::<u64>();
        prop_assert_eq!(out, chains.len() as u64);
    }
}
