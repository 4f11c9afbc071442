//! Exports and imports between two chains of the node, and from the P-Chain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use esker_chain::{BlockError, BuildContext, ChainMachine, ChainVm, ExecutedBlock};
use esker_primitives::{AssetId, ChainId, Id, ShortId};
use esker_shared_memory::Requests;
use esker_storage::{Overlay, PendingWrites};
use esker_transactions::xvm::{Block, ExportTx, ImportTx, Tx, UnsignedTx};
use esker_utxo::{TransferableInput, Utxo, UtxoId};
use esker_xvm::state::{PageEnd, PageStart};
use esker_xvm::{TxStatus, Xvm, exported_element};

use super::world::{
    FEE, START_MS, World, address, balance, base, fund, input, native_id, output, sign, some_id,
    status, transfer,
};

pub(super) fn export(vm: &Xvm, from: u8, asset: AssetId, amount: u64, to: (ChainId, u8)) -> Tx {
    let (inputs, change) = fund(vm, from, &[(asset, amount), (native_id(vm), FEE)]);
    let unsigned = UnsignedTx::Export(ExportTx {
        base: base(vm, inputs, change),
        destination_chain: to.0,
        exported_outputs: vec![output(asset, amount, address(to.1))],
    });
    sign(unsigned, from)
}

/// The UTXOs that another chain exported to an address, in the order of their IDs.
pub(super) fn exported_to(vm: &Xvm, source: ChainId, number: u8) -> Vec<Utxo> {
    use esker_primitives::codec::Decode;
    let mut found = Vec::new();
    let addresses = BTreeSet::from([address(number)]);
    let view = vm.view().unwrap();
    view.visit_atomic_utxos(&source, &addresses, None, 0, &mut |id, bytes| {
        let utxo = Utxo::from_versioned_bytes(bytes, usize::MAX).unwrap();
        assert_eq!(*id, utxo.utxo_id.input_id());
        found.push(utxo);
    })
    .unwrap();
    found
}

/// Imports UTXOs of the native asset, which pay the fee.
pub(super) fn import(vm: &Xvm, source: ChainId, utxos: &[Utxo], by: u8, to: u8) -> Tx {
    let amount: u64 = utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum();
    let mut imported: Vec<TransferableInput> = utxos.iter().map(input).collect();
    imported.sort_by_key(|input| input.utxo_id);
    let unsigned = UnsignedTx::Import(ImportTx {
        base: base(vm, vec![], vec![output(native_id(vm), amount - FEE, address(to))]),
        source_chain: source,
        imported_inputs: imported,
    });
    sign(unsigned, by)
}

fn refused(vm: &Xvm, tx: &Tx) -> String {
    vm.issue(tx.bytes()).unwrap_err().to_string()
}

#[tokio::test]
async fn an_asset_moves_from_one_chain_to_the_other() {
    let mut world = World::new();
    let (x, y) = (world.x.clone(), world.y.clone());
    let (x_id, y_id) = (x.context().chain_id, y.context().chain_id);
    let native = native_id(&x);
    let out = export(&x, 1, native, 50_000, (y_id, 9));
    // Its index continues that of the outputs that stay.
    let exported = out.exported_utxos().next().unwrap();
    assert_eq!(exported.utxo_id, UtxoId { tx_id: out.id(), output_index: 1 });
    x.issue(out.bytes()).unwrap();
    assert!(exported_to(&y, x_id, 9).is_empty(), "visible once accepted");
    let back = import(&y, x_id, std::slice::from_ref(&exported), 9, 8);
    assert_eq!(refused(&y, &back), "not found");
    world.settle().await;
    assert_eq!(exported_to(&y, x_id, 9), [exported]);
    assert!(exported_to(&x, y_id, 9).is_empty());
    assert_eq!(balance(&x, 9, native), 0);
    // The other chain's refusal before the export is not remembered for ever.
    y.issue(back.bytes()).unwrap();
    world.settle().await;
    assert_eq!(status(&y, back.id()), TxStatus::Accepted);
    assert_eq!(balance(&y, 8, native), 49_000);
    assert!(exported_to(&y, x_id, 9).is_empty());
    assert_eq!(refused(&y, &back), "not found");
    assert_eq!((x.accepted_height(), y.accepted_height()), (1, 1));
}

#[tokio::test]
async fn both_chains_have_blocks_in_one_bundle() {
    let mut world = World::new();
    let (x, y) = (world.x.clone(), world.y.clone());
    let native = native_id(&x);
    let there = export(&x, 1, native, 50_000, (y.context().chain_id, 9));
    let here = export(&y, 1, native, 60_000, (x.context().chain_id, 9));
    x.issue(there.bytes()).unwrap();
    y.issue(here.bytes()).unwrap();
    assert!(world.step().await);
    assert_eq!(world.last().blocks.len(), 2);
    let utxos = exported_to(&x, y.context().chain_id, 9);
    let tx = import(&x, y.context().chain_id, &utxos, 9, 9);
    x.issue(tx.bytes()).unwrap();
    let utxos = exported_to(&y, x.context().chain_id, 9);
    let tx = import(&y, x.context().chain_id, &utxos, 9, 9);
    y.issue(tx.bytes()).unwrap();
    world.settle().await;
    assert_eq!((balance(&x, 9, native), balance(&y, 9, native)), (59_000, 49_000));
}

#[tokio::test]
async fn the_other_chain_must_be_another_one_of_the_network() {
    let world = World::new();
    let x = &world.x;
    let x_id = x.context().chain_id;
    let native = native_id(x);
    let nowhere = some_id("chain");
    let unknown = format!(
        "failed to get subnet of \"{nowhere}\": problem retrieving blockchain \"{nowhere}\": not found"
    );
    assert_eq!(refused(x, &export(x, 1, native, 5, (x_id, 9))), "same chainID");
    assert_eq!(refused(x, &export(x, 1, native, 5, (nowhere, 9))), unknown);
    let gone = transfer(x, 1, native, 5000, 9).produced_utxos().next().unwrap();
    let of = |source| import(x, source, std::slice::from_ref(&gone), 9, 9);
    assert_eq!(refused(x, &of(x_id)), "same chainID");
    assert_eq!(refused(x, &of(nowhere)), unknown);
    assert_eq!(refused(x, &of(ChainId::ZERO)), "not found");
    // To the P-Chain anything can be exported.
    x.issue(export(x, 2, native, 5, (ChainId::ZERO, 9)).bytes()).unwrap();
}

/// The UTXOs that the P-Chain exported, declared by the node's network file.
async fn from_p(world: &World, asset: AssetId, amounts: &[u64]) -> Vec<Utxo> {
    let utxos: Vec<Utxo> = (0u32..)
        .zip(amounts)
        .map(|(output_index, amount)| Utxo {
            utxo_id: UtxoId { tx_id: some_id("P"), output_index },
            asset_id: asset,
            output: esker_utxo::Output::SecpTransfer(output(asset, *amount, address(9)).output),
        })
        .collect();
    let puts = utxos.iter().map(exported_element).collect();
    let x = world.x.context().chain_id;
    let requests = BTreeMap::from([(x, Requests { puts, removes: vec![] })]);
    let reader = world.store.snapshot().unwrap();
    let mut pending = PendingWrites::new(reader.as_ref());
    esker_shared_memory::apply(&mut pending, &ChainId::ZERO, &requests).unwrap();
    let writes = pending.into_writes();
    world.store.commit(writes).await.unwrap();
    utxos
}

#[tokio::test]
async fn imports_from_p() {
    let mut world = World::new();
    let x = world.x.clone();
    let native = native_id(&x);
    let utxos = from_p(&world, native, &[10_000, 20_000, 30_000]).await;
    let signed_by_another = import(&x, ChainId::ZERO, &utxos[..1], 8, 8);
    assert!(refused(&x, &signed_by_another).starts_with("wrong signature: "));
    let tx = import(&x, ChainId::ZERO, &utxos[..2], 9, 8);
    x.issue(tx.bytes()).unwrap();
    let rival = import(&x, ChainId::ZERO, &utxos[1..], 9, 7);
    assert_eq!(refused(&x, &rival), format!("tx conflicts with other tx: {}", rival.id()));
    world.settle().await;
    assert_eq!(balance(&x, 8, native), 29_000);
    assert_eq!(exported_to(&x, ChainId::ZERO, 9), utxos[2..]);
    assert_eq!(refused(&x, &rival), "not found");
}

#[tokio::test]
async fn an_imported_asset_must_be_known_here() {
    let world = World::new();
    let x = &world.x;
    let utxos = from_p(&world, some_id("asset"), &[5]).await;
    let (inputs, change) = fund(x, 1, &[(native_id(x), FEE)]);
    let unsigned = UnsignedTx::Import(ImportTx {
        base: base(x, inputs, change),
        source_chain: ChainId::ZERO,
        imported_inputs: utxos.iter().map(input).collect(),
    });
    // Whoever signs: the asset is looked up first.
    assert_eq!(refused(x, &sign(unsigned, 1)), "not found");
}

fn execute(
    vm: &Xvm,
    block: &Block,
    ancestors: &[Arc<ExecutedBlock>],
) -> Result<ExecutedBlock, String> {
    let base = vm.context().store.snapshot().unwrap();
    let layers = ancestors.iter().map(|block| Arc::clone(&block.writes)).collect();
    let at = BuildContext { now_ms: START_MS, ancestors: ancestors.to_vec(), has_undecided: true };
    vm.verify(&Overlay::new(base, layers), block.bytes(), &at).map_err(|error| match error {
        BlockError::Invalid(reason) => reason,
        other => panic!("{other}"),
    })
}

#[tokio::test]
async fn double_imports_give_the_references_error() {
    let world = World::new();
    let x = &world.x;
    let utxos = from_p(&world, native_id(x), &[10_000]).await;
    let first = import(x, ChainId::ZERO, &utxos, 9, 8);
    let second = import(x, ChainId::ZERO, &utxos, 9, 7);
    let tip = x.view().unwrap().tip().unwrap();
    let block = |parent, height, txs| Block::new(parent, height, START_MS / 1000, txs);
    let both = block(tip.id, 1, vec![first.clone(), second.clone()]);
    assert_eq!(execute(x, &both, &[]).unwrap_err(), "block contains conflicting transactions");
    let parent = Arc::new(execute(x, &block(tip.id, 1, vec![first]), &[]).unwrap());
    let child = block(parent.id, 2, vec![second]);
    assert_eq!(
        execute(x, &child, &[parent]).unwrap_err(),
        "block contains a transaction that conflicts with a transaction in a parent block"
    );
}

#[tokio::test]
async fn imports_stand_on_undecided_exports() {
    let mut world = World::new();
    let (x, y) = (world.x.clone(), world.y.clone());
    let native = native_id(&x);
    let out = export(&x, 1, native, 50_000, (y.context().chain_id, 9));
    x.issue(out.bytes()).unwrap();
    let first = world.propose_on(&world.last()).await.unwrap();
    let utxos: Vec<Utxo> = out.exported_utxos().collect();
    let back = import(&y, x.context().chain_id, &utxos, 9, 8);
    y.issue_unverified(back.bytes()).unwrap();
    let second = world.propose_on(&first).await.unwrap();
    for bundle in [&first, &second] {
        world.machine.finalize(bundle, None).await.unwrap();
    }
    world.settle().await;
    assert_eq!(balance(&y, 8, native), 49_000);
}

#[tokio::test]
async fn an_empty_page_of_shared_memory_names_the_greatest_address() {
    let world = World::new();
    let view = world.x.view().unwrap();
    let (low, high) = (ShortId::new([1; 20]), ShortId::new([2; 20]));
    let utxo_id = some_id("start");
    let end = |addresses: &[ShortId], address| {
        let addresses = addresses.iter().copied().collect();
        let start = Some(PageStart { address, utxo_id });
        let end = view.visit_atomic_utxos(&ChainId::ZERO, &addresses, start, 5, &mut |_, _| {});
        let PageEnd { count, address, utxo_id } = end.unwrap();
        assert_eq!(count, 0);
        (address, utxo_id)
    };
    assert_eq!(end(&[low, high], high), (high, utxo_id));
    assert_eq!(end(&[low], high), (high, utxo_id));
    // No entry of that address was looked at, so there is no last one.
    assert_eq!(end(&[low, high], low), (high, Id::ZERO));
}
