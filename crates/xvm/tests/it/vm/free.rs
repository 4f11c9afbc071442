//! A chain without fees: transactions may consume nothing there, and then only their ID shows that they were
//! accepted before.

use esker_chain::{BlockError, BuildContext, ChainVm};
use esker_transactions::xvm::{Block, CreateAssetTx, InitialState, Tx, UnsignedTx};
use esker_utxo::{Output, OutputOwners, TransferOutput};
use esker_xvm::{TxStatus, XvmConfig};

use super::world::{FEE, START_MS, Setup, World, address, balance, base, sign, spend, status};

const AGAIN: &str =
    "transaction without inputs was accepted before; change its memo to issue it again";

#[tokio::test]
async fn a_transaction_without_inputs_is_accepted_once() {
    let config = XvmConfig { tx_fee: 0, create_asset_tx_fee: 0, ..XvmConfig::default() };
    let mut world = World::with(Setup { config, ..Setup::default() });
    let vm = world.x.clone();
    let holding = TransferOutput { amount: 50 + FEE, owners: OutputOwners::single(address(1)) };
    let states = vec![InitialState { fx_index: 0, outputs: vec![Output::SecpTransfer(holding)] }];
    let (name, symbol) = (b"thing".to_vec(), b"THG".to_vec());
    let create = |memo: &[u8]| {
        let mut base = base(&vm, vec![], vec![]);
        base.memo = memo.to_vec();
        let (name, symbol, states) = (name.clone(), symbol.clone(), states.clone());
        let unsigned = CreateAssetTx { base, name, symbol, denomination: 0, states };
        sign(UnsignedTx::CreateAsset(unsigned), 1)
    };
    let verify = |txs: Vec<Tx>| {
        let tip = vm.view().unwrap().tip().unwrap();
        let block = Block::new(tip.id, tip.height + 1, START_MS / 1000, txs);
        let reader = vm.context().store.snapshot().unwrap();
        let at = BuildContext { now_ms: START_MS, ..BuildContext::default() };
        match vm.verify(reader.as_ref(), block.bytes(), &at) {
            Ok(_) => Ok(()),
            Err(BlockError::Invalid(reason)) => Err(reason),
            Err(other) => panic!("{other:?}"),
        }
    };
    let asset = create(b"");
    assert_eq!(verify(vec![asset.clone(), create(b"another")]), Ok(()));
    assert_eq!(verify(vec![asset.clone(), asset.clone()]), Err(AGAIN.to_owned()));

    vm.issue(asset.bytes()).unwrap();
    world.settle().await;
    assert_eq!(balance(&vm, 1, asset.id()), 50 + FEE);
    let moved = spend(&vm, &asset.produced_utxos().next().unwrap(), 1, 50, 2);
    vm.issue(moved.bytes()).unwrap();
    world.settle().await;
    // Its output would come back.
    assert_eq!(vm.issue(asset.bytes()).unwrap_err().to_string(), AGAIN);
    assert_eq!(verify(vec![asset.clone()]), Err(AGAIN.to_owned()));
    vm.issue_unverified(asset.bytes()).unwrap();
    world.settle().await;
    assert_eq!(status(&vm, asset.id()), TxStatus::Accepted);
    assert_eq!((balance(&vm, 1, asset.id()), balance(&vm, 2, asset.id())), (0, 50));
}
