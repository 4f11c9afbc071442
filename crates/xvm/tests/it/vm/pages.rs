//! Pages of UTXOs by address (docs/decisions.md, "Order and pages of UTXOs").

use std::collections::{BTreeMap, BTreeSet};

use esker_primitives::codec::Decode;
use esker_primitives::{Id, ShortId};
use esker_transactions::xvm::UnsignedTx;
use esker_utxo::{Output, OutputOwners, Utxo};
use esker_xvm::Xvm;
use esker_xvm::state::{PageEnd, PageStart};
use proptest::prelude::*;

use super::world::{
    FEE, World, address, balance, base, fund, native_id, output, sign, transfer, utxos_of,
};

fn page(
    vm: &Xvm,
    addresses: &BTreeSet<ShortId>,
    start: Option<PageStart>,
    limit: usize,
) -> (Vec<Id>, PageEnd) {
    let mut ids = Vec::new();
    let view = vm.view().unwrap();
    let end = view.visit_utxos(addresses, start, limit, &mut |id, bytes| {
        // The bytes of the UTXO itself, whether they lay in the index or not.
        let utxo = Utxo::from_versioned_bytes(bytes, usize::MAX).unwrap();
        assert_eq!(utxo.utxo_id.input_id(), *id);
        assert_eq!(view.utxo(&utxo.utxo_id).unwrap(), Some(utxo));
        ids.push(*id);
    });
    let end = end.unwrap();
    assert_eq!(end.count, ids.len());
    (ids, end)
}

fn walk(vm: &Xvm, addresses: &BTreeSet<ShortId>, limit: usize) -> Vec<(ShortId, Id)> {
    let (mut found, mut start) = (Vec::new(), None);
    loop {
        let (ids, end) = page(vm, addresses, start, limit);
        if ids.is_empty() {
            return found;
        }
        assert!(ids.len() <= limit);
        assert_eq!(ids.last(), Some(&end.utxo_id));
        // Which address each is listed under shows at the page's end only.
        found.extend(ids.iter().map(|id| (end.address, *id)));
        start = Some(PageStart { address: end.address, utxo_id: end.utxo_id });
    }
}

/// The result that a walk must have: addresses ascending, IDs ascending, each under its lowest queried owner.
fn expected(utxos: &[Utxo], addresses: &BTreeSet<ShortId>) -> Vec<Id> {
    let mut listed: Vec<(ShortId, Id)> = utxos
        .iter()
        .filter_map(|utxo| {
            let owners = &utxo.output.owners().addresses;
            let lowest = owners.iter().filter(|owner| addresses.contains(owner)).min()?;
            Some((*lowest, utxo.utxo_id.input_id()))
        })
        .collect();
    listed.sort_unstable();
    listed.into_iter().map(|(_, id)| id).collect()
}

/// Outputs for the given sets of owners; more than eight owners are too long to lie in the index.
async fn fan_out(world: &mut World, owners: &[Vec<u8>]) -> Vec<Utxo> {
    let vm = world.x.clone();
    let native = native_id(&vm);
    let amount = u64::try_from(owners.len()).unwrap();
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, amount + FEE)]);
    for set in owners {
        let addresses: BTreeSet<ShortId> = set.iter().map(|number| address(*number)).collect();
        let mut out = output(native, 1, address(0x50));
        out.output.owners = OutputOwners {
            locktime: 0,
            threshold: u32::from(!addresses.is_empty()),
            addresses: addresses.into_iter().collect(),
        };
        outputs.push(out);
    }
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    vm.issue(tx.bytes()).unwrap();
    world.settle().await;
    tx.produced_utxos().collect()
}

#[tokio::test]
async fn pages_follow_each_other_in_order() {
    let mut world = World::new();
    let owners: Vec<Vec<u8>> = (0..40)
        .map(|n| match n % 5 {
            0 => vec![10],
            1 => vec![11],
            2 => vec![10, 11],
            3 => (10..22).collect(),
            _ => vec![12, 10],
        })
        .collect();
    let utxos = fan_out(&mut world, &owners).await;
    let vm = world.x.clone();
    for queried in [vec![10], vec![10, 11], vec![11, 12], vec![10, 11, 12, 13, 60], vec![60]] {
        let addresses: BTreeSet<ShortId> = queried.iter().map(|n| address(*n)).collect();
        let want = expected(&utxos, &addresses);
        for limit in [1, 2, 3, 7, 40, 0, 5000] {
            let limit = if limit == 0 { 1024 } else { limit };
            let got: Vec<Id> = walk(&vm, &addresses, limit).into_iter().map(|(_, id)| id).collect();
            assert_eq!(got, want, "{queried:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn the_end_of_an_empty_page() {
    let world = World::new();
    let (low, high) = (address(60).min(address(61)), address(60).max(address(61)));
    let both = BTreeSet::from([low, high]);
    let (ids, end) = page(&world.x, &both, None, 0);
    assert!(ids.is_empty());
    assert_eq!((end.address, end.utxo_id), (high, Id::ZERO));
    let utxo_id = Id::sha256(b"start");
    let start = |address| Some(PageStart { address, utxo_id });
    let (_, end) = page(&world.x, &both, start(low), 0);
    assert_eq!((end.address, end.utxo_id), (high, utxo_id));
    let (_, end) = page(&world.x, &BTreeSet::from([low]), start(high), 0);
    assert_eq!((end.address, end.utxo_id), (high, utxo_id));
}

#[tokio::test]
async fn a_page_has_at_most_1024() {
    let mut world = World::new();
    for count in [600, 500] {
        fan_out(&mut world, &vec![vec![10]; count]).await;
    }
    let addresses = BTreeSet::from([address(10)]);
    for limit in [0, 1024, 1025, usize::MAX] {
        assert_eq!(page(&world.x, &addresses, None, limit).0.len(), 1024);
    }
    assert_eq!(walk(&world.x, &addresses, 1024).len(), 1100);
    assert_eq!(balance(&world.x, 10, native_id(&world.x)), 1100);
}

/// A UTXO that exists from the first page to the last is never skipped and never listed twice, whatever happens
/// between the pages.
#[tokio::test]
async fn a_walk_under_traffic_finds_what_stays() {
    let mut world = World::new();
    let owners: Vec<Vec<u8>> =
        (0..60).map(|n| if n % 3 == 0 { vec![10, 1] } else { vec![10] }).collect();
    fan_out(&mut world, &owners).await;
    let vm = world.x.clone();
    let native = native_id(&vm);
    let addresses = BTreeSet::from([address(10), address(1)]);
    let before: BTreeMap<Id, Utxo> = addresses
        .iter()
        .flat_map(|address| utxos_of(&vm, address))
        .map(|utxo| (utxo.utxo_id.input_id(), utxo))
        .collect();
    let (mut seen, mut start) = (Vec::new(), None);
    for round in 0.. {
        let (ids, end) = page(&vm, &addresses, start, 7);
        if ids.is_empty() {
            break;
        }
        seen.extend(ids);
        start = Some(PageStart { address: end.address, utxo_id: end.utxo_id });
        let tx = transfer(&vm, 1, native, 5 + round, 10);
        vm.issue(tx.bytes()).unwrap();
        world.settle().await;
    }
    let after: BTreeSet<Id> = addresses
        .iter()
        .flat_map(|address| utxos_of(&vm, address))
        .map(|utxo| utxo.utxo_id.input_id())
        .collect();
    let stayed: BTreeSet<Id> = before.keys().filter(|id| after.contains(id)).copied().collect();
    let mut unique = BTreeSet::new();
    for id in &seen {
        assert!(unique.insert(*id), "{id} twice");
    }
    assert!(stayed.is_subset(&unique), "skipped: {:?}", stayed.difference(&unique));
}

#[tokio::test]
async fn balances_count_whole_and_partial_holdings() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let now_s = world.now_s();
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, 111 + FEE)]);
    outputs.push(output(native, 1, address(9)));
    let mut locked = output(native, 10, address(9));
    locked.output.owners.locktime = now_s + 1;
    let mut shared = output(native, 100, address(9));
    shared.output.owners.addresses.push(address(8));
    shared.output.owners.addresses.sort_unstable();
    outputs.extend([locked, shared]);
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    vm.issue(tx.bytes()).unwrap();
    world.settle().await;
    let view = vm.view().unwrap();
    let of = |partial, now_s| view.balance(&address(9), &native, partial, now_s).unwrap();
    assert_eq!(of(false, now_s).amount, 1);
    assert_eq!(of(false, now_s + 1).amount, 11);
    assert_eq!(of(true, now_s).amount, 111);
    let mut ids = of(true, now_s).utxo_ids;
    assert_eq!(ids.len(), 3);
    ids.sort_unstable();
    let mut held: Vec<_> = tx
        .produced_utxos()
        .filter(|utxo| match &utxo.output {
            Output::SecpTransfer(out) => out.owners.addresses.contains(&address(9)),
            _ => false,
        })
        .map(|utxo| utxo.utxo_id)
        .collect();
    held.sort_unstable();
    assert_eq!(ids, held);
    let all = view.all_balances(&address(9), true, now_s).unwrap();
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [(native, 111)]);
    assert!(view.all_balances(&address(77), true, now_s).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A full walk over a quiet chain returns each UTXO exactly once.
    #[test]
    fn any_walk_is_complete_and_ordered(
        owners in prop::collection::vec(prop::collection::vec(10u8..20, 0..12), 1..40),
        queried in prop::collection::btree_set(10u8..22, 1..8),
        limit in 1usize..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            let utxos = fan_out(&mut world, &owners).await;
            let addresses: BTreeSet<ShortId> = queried.iter().map(|n| address(*n)).collect();
            let got: Vec<Id> =
                walk(&world.x, &addresses, limit).into_iter().map(|(_, id)| id).collect();
            assert_eq!(got, expected(&utxos, &addresses));
        });
    }
}
