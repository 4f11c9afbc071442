//! Whatever is moved between the chains, in whatever order: the native asset is conserved to the last unit, and
//! all rows are those that follow from the blocks.

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256};
use esker_chain::ChainMachine as _;
use esker_chain::audit::Ledger;
use esker_evm_state::types::Transaction;
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_testkit::chains::audit::audit;
use esker_testkit::chains::world::{ONE, World, X_FEE, account, input, key, output, well_known};
use esker_transactions::xvm::{BaseTx, ImportTx, Tx, UnsignedTx};
use esker_utxo::{FxKind, OutputOwners};
use proptest::prelude::*;

/// Keys that take part: these numbers.
const KEYS: u8 = 3;
/// Creates a contract that destroys itself: ADDRESS SELFDESTRUCT.
const DESTROYS_ITSELF: &[u8] = &[0x30, 0xff];

/// Something that a user may try; what is not possible is refused.
#[derive(Clone, Debug)]
enum Action {
    ExportFromX { to: u8, amounts: Vec<u64> },
    ImportOnC { by: u8, to: u8, burned: u64 },
    ExportFromC { by: u8, to: u8, amount: u64, burned: u64 },
    ImportOnX { by: u8 },
    Send { by: u8, to: u8, wei: u64, tip_gwei: u64 },
    Destroy { by: u8, wei: u64 },
    Block,
    Wait(u64),
}

fn actions() -> impl Strategy<Value = Action> {
    let who = || 1..=KEYS;
    let some = || prop_oneof![1..1000u64, ONE / 10..2 * ONE];
    prop_oneof![
        2 => (who(), prop::collection::vec(some(), 1..4))
            .prop_map(|(to, amounts)| Action::ExportFromX { to, amounts }),
        3 => (who(), who(), some()).prop_map(|(by, to, burned)| Action::ImportOnC { by, to, burned }),
        2 => (who(), who(), some(), some())
            .prop_map(|(by, to, amount, burned)| Action::ExportFromC { by, to, amount, burned }),
        2 => who().prop_map(|by| Action::ImportOnX { by }),
        2 => (who(), who(), any::<u64>(), 0..100u64)
            .prop_map(|(by, to, wei, tip_gwei)| Action::Send { by, to, wei, tip_gwei }),
        1 => (who(), any::<u64>()).prop_map(|(by, wei)| Action::Destroy { by, wei }),
        4 => Just(Action::Block),
        1 => (1..5u64).prop_map(Action::Wait),
    ]
}

async fn try_out(world: &World, action: Action) {
    let owner = |number: u8| OutputOwners::single(key(number).address());
    match action {
        Action::ExportFromX { to, amounts } => {
            let outputs = amounts.iter().map(|n| output(world.native(), *n, owner(to)));
            let mut outputs: Vec<_> = outputs.collect();
            esker_utxo::TransferableOutput::sort(&mut outputs);
            let _refused = world.x.issue(world.x_export(outputs).bytes());
        }
        Action::ImportOnC { by, to, burned } => {
            let utxos = world.exported_to_c(&key(by));
            let total: u64 =
                utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum();
            if total > burned {
                let tx = world.import(&utxos, &key(by), account(&key(to)), burned);
                let _refused = world.nat.submit(tx);
            }
        }
        Action::ExportFromC { by, to, amount, burned } => {
            let nonce = world.nonce(account(&key(by)));
            let tx = world.export(&key(by), nonce, amount, burned, key(to).address());
            let _refused = world.nat.submit(tx);
        }
        Action::ImportOnX { by } => {
            if let Some(tx) = import_on_x(world, &key(by)) {
                let _refused = world.x.issue(tx.bytes());
            }
        }
        Action::Send { by, to, wei, tip_gwei } => {
            let to = TxKind::Call(account(&key(to)));
            let _refused = world.evm().submit(signed(world, &key(by), to, wei, tip_gwei, &[]));
        }
        Action::Destroy { by, wei } => {
            let tx = signed(world, &key(by), TxKind::Create, wei, 1, DESTROYS_ITSELF);
            let _refused = world.evm().submit(tx);
        }
        Action::Block => {
            world.step().await;
        }
        Action::Wait(seconds) => world.wait_s(seconds),
    }
}

/// All that the C-Chain left for an owner on X.
fn import_on_x(world: &World, owner: &PrivateKey) -> Option<Tx> {
    let mut utxos = world.shared(world.x_id(), world.c_id(), owner);
    utxos.sort_by_key(|utxo| utxo.utxo_id);
    let total: u64 = utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum();
    let amount = total.checked_sub(X_FEE).filter(|amount| *amount > 0)?;
    let base = BaseTx {
        network_id: LOCAL_ID,
        blockchain_id: world.x_id(),
        outputs: vec![output(world.native(), amount, OutputOwners::single(owner.address()))],
        inputs: Vec::new(),
        memo: Vec::new(),
    };
    let imported_inputs = utxos.iter().map(|utxo| input(utxo, vec![0])).collect();
    let import = ImportTx { base, source_chain: world.c_id(), imported_inputs };
    let signers = vec![(FxKind::Secp256k1, vec![owner]); utxos.len()];
    Some(Tx::sign(UnsignedTx::Import(import), &signers))
}

pub(crate) fn signed(
    world: &World,
    by: &PrivateKey,
    to: TxKind,
    wei: u64,
    tip_gwei: u64,
    data: &'static [u8],
) -> Transaction {
    let tx = TxEip1559 {
        chain_id: 43112,
        nonce: world.nonce(account(by)),
        gas_limit: 100_000,
        max_fee_per_gas: 500_000_000_000,
        max_priority_fee_per_gas: u128::from(tip_gwei) * 1_000_000_000,
        to,
        value: U256::from(wei),
        input: Bytes::from_static(data),
        ..Default::default()
    };
    let signature = by.sign_hash(&tx.signature_hash().0);
    let bytes = signature.as_bytes();
    let signature = Signature::from_bytes_and_parity(&bytes[..64], bytes[64] == 1);
    tx.into_signed(signature).into()
}

fn run<F: Future<Output = ()>>(test: F) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_supply_is_conserved(actions in prop::collection::vec(actions(), 1..60)) {
        run(async {
            let world = World::easy();
            for action in actions {
                let is_block = matches!(action, Action::Block);
                try_out(&world, action).await;
                if is_block {
                    audit(&world);
                }
            }
            world.wait_s(10);
            world.settle().await;
            audit(&world);
        });
    }
}

/// A schedule in which all of it happens, so that the property is not held by refusals.
#[test]
fn each_way_of_moving_and_burning_is_counted() {
    run(async {
        let world = World::easy();
        let next = async |action| {
            try_out(&world, action).await;
            world.wait_s(2);
            world.settle().await;
            audit(&world)
        };
        let start = audit(&world);
        next(Action::ExportFromX { to: 1, amounts: vec![5 * ONE, 3] }).await;
        let [_, c] = next(Action::ImportOnC { by: 1, to: 2, burned: ONE / 100 }).await;
        assert_eq!(c.imported, u128::from(5 * ONE + 3) * Ledger::PER_NANO);
        next(Action::Send { by: 2, to: 3, wei: 1_000_000_000_000_001, tip_gwei: 3 }).await;
        let [_, before] = next(Action::Block).await;
        let [_, c] = next(Action::Destroy { by: 2, wei: 77 }).await;
        assert_eq!(c.burnt, before.burnt + 77, "the fee goes to an account");
        next(Action::ExportFromC { by: 2, to: 1, amount: ONE, burned: ONE / 50 }).await;
        let [x, c] = next(Action::ImportOnX { by: 1 }).await;
        assert_eq!(x.imported, u128::from(ONE) * Ledger::PER_NANO);
        assert_eq!(x.burnt, 2 * u128::from(X_FEE) * Ledger::PER_NANO);
        assert_eq!(c.burnt, u128::from(ONE / 100 + ONE / 50) * Ledger::PER_NANO + 77);
        assert!(world.balance(account(&key(3))) > U256::ZERO);
        assert!(world.balance(account(&well_known())) > U256::ZERO);
        assert_eq!(start[0].genesis + start[1].genesis, x.genesis + c.genesis);
        assert_eq!(world.machine.last_final().0, 6);
        assert_ne!(world.balance(Address::from_slice(&[&[1], &[0; 19][..]].concat())), U256::ZERO);
    });
}
