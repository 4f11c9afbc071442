//! Transactions that the rules refuse, with the reference's texts, and uses of other assets before Banff.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm_execution::rules::{FeeOverrides, ForkSchedule, Phase, UNSCHEDULED};
use esker_nat::{AtomicStatus, MAX_BUILT_BYTES};
use esker_primitives::Id;
use esker_primitives::codec::Encode;
use esker_primitives::keys::Signature;
use esker_shared_memory::{Element, Requests};
use esker_storage::{MemoryStore, PendingWrites};
use esker_testkit::chains::world::{
    NOW_MS, ONE, World, account, evm_transfer, key, output, well_known,
};
use esker_transactions::nat::{
    AtomicCredential, AtomicTx, EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport,
    UnsignedImport,
};
use esker_utxo::{CredentialSlot, FxKind, Output, OutputOwners, Utxo, UtxoId};

/// The text with which a transaction is refused; it leaves no trace.
fn refused(world: &World, tx: AtomicTx) -> String {
    let id = tx.id();
    let text = world.nat.submit(tx).unwrap_err().to_string();
    assert_eq!(world.nat.find(&id).unwrap(), None, "{text}");
    text
}

#[tokio::test]
async fn imports_by_themselves() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE, 3 * ONE]).await;
    let good = world.import(&utxos, &owner, account(&owner), ONE / 100);
    let UnsignedAtomicTx::Import(good) = good.unsigned().clone() else { panic!("an import") };
    let check = |change: &dyn Fn(&mut UnsignedImport), expected: &str| {
        let mut unsigned = good.clone();
        change(&mut unsigned);
        let keys = vec![vec![&owner]; unsigned.imported_inputs.len()];
        let tx = AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &keys);
        assert_eq!(refused(&world, tx), expected);
    };
    let another = Id::new([7; 32]);
    check(&|tx| tx.imported_inputs.clear(), "tx has no imported inputs");
    check(&|tx| tx.network_id = 1, "tx was issued with a different network ID");
    check(&|tx| tx.blockchain_id = another, "wrong blockchain ID provided");
    check(&|tx| tx.outputs.clear(), "tx has no EVM outputs");
    check(&|tx| tx.source_chain = another, "tx has wrong chain ID");
    check(&|tx| tx.source_chain = world.c_id(), "tx has wrong chain ID");
    check(&|tx| tx.outputs[0].amount = 0, "EVM Output failed verification: output has no value");
    check(
        &|tx| tx.outputs[0].asset_id = Id::ZERO,
        "EVM Output failed verification: empty asset ID is not valid",
    );
    check(&|tx| tx.outputs[0].asset_id = another, "import output cannot contain non-AVAX in Banff");
    check(
        &|tx| tx.imported_inputs[0].asset_id = Id::ZERO,
        "atomic input failed verification: empty asset ID is not valid",
    );
    check(
        &|tx| tx.imported_inputs[0].input.amount = 0,
        "atomic input failed verification: input has no value",
    );
    check(
        &|tx| tx.imported_inputs[0].input.sig_indices = vec![0, 0],
        "atomic input failed verification: address indices not sorted and unique",
    );
    check(
        &|tx| tx.imported_inputs[0].asset_id = another,
        "import input cannot contain non-AVAX in Banff",
    );
    check(&|tx| tx.imported_inputs.reverse(), "inputs not sorted and unique");
    check(&|tx| tx.outputs.push(tx.outputs[0]), "outputs not sorted and unique");
    let flow = "import tx flow check failed due to: ";
    check(&|tx| tx.outputs[0].amount += ONE / 100, &format!("{flow}insufficient funds"));
    check(
        &|tx| {
            tx.outputs[0].amount = u64::MAX;
            let address = Address::repeat_byte(0xff);
            tx.outputs.push(EvmOutput { address, ..tx.outputs[0] });
        },
        &format!("{flow}overflow"),
    );
    let not_found = format!("failed to fetch import UTXOs from {} due to: not found", world.x_id());
    check(&|tx| tx.imported_inputs[1].utxo_id.output_index += 9, &not_found);
    let transfer = "import tx transfer failed verification: ";
    check(
        &|tx| tx.imported_inputs[0].input.amount += 1,
        &format!(
            "{transfer}utxo amount and input amount are not equal: {} != {}",
            good.imported_inputs[0].input.amount,
            good.imported_inputs[0].input.amount + 1
        ),
    );
    let count = "input expected a different number of signers than provided in the credential";
    let signed = |keys: &[Vec<&_>]| AtomicTx::sign(UnsignedAtomicTx::Import(good.clone()), keys);
    assert_eq!(
        refused(&world, signed(&[vec![&owner]])),
        "import tx contained mismatched number of inputs/credentials (2 vs. 1)"
    );
    assert_eq!(refused(&world, signed(&[vec![], vec![&owner]])), format!("{transfer}{count}"));
    let stranger = key(2);
    assert_eq!(
        refused(&world, signed(&[vec![&owner], vec![&stranger]])),
        format!(
            "{transfer}wrong signature: expected signature from {} but got from {}",
            owner.address(),
            stranger.address()
        )
    );
    let with = |slot: AtomicCredential| {
        let slots = vec![slot.clone(), slot];
        refused(&world, AtomicTx::new(UnsignedAtomicTx::Import(good.clone()), slots))
    };
    assert_eq!(with(AtomicCredential::Input(vec![0])), format!("{transfer}wrong credential type"));
    let signature = |bytes| {
        let signatures = vec![Signature::new(bytes)];
        AtomicCredential::Shared(CredentialSlot::new(FxKind::Secp256k1, signatures))
    };
    assert_eq!(with(signature([0; 65])), format!("{transfer}invalid signature"));
    let mut mutated = [0x7f; 65];
    mutated[32] = 0xf0;
    assert_eq!(
        with(signature(mutated)),
        format!("{transfer}signature was mutated from its original format")
    );
    // As it was meant it is taken.
    world.nat.submit(signed(&[vec![&owner], vec![&owner]])).unwrap();
}

#[tokio::test]
async fn owners_and_locktimes() {
    let world = World::easy();
    let (a, b) = (key(1), key(2));
    let mut addresses = vec![a.address(), b.address()];
    addresses.sort();
    let [first, second] = if addresses[0] == a.address() { [&a, &b] } else { [&b, &a] };
    let now_s = world.nat.context().clock.now_s();
    let owners =
        |locktime, threshold| OutputOwners { locktime, threshold, addresses: addresses.clone() };
    let mut outputs = vec![
        output(world.native(), ONE, owners(0, 2)),
        output(world.native(), 2 * ONE, owners(now_s + 60, 1)),
    ];
    outputs.sort_by(|a, b| a.cmp_encoded(b));
    let export = world.x_export(outputs);
    world.x.issue(export.bytes()).unwrap();
    world.settle().await;
    let utxos: Vec<_> = export.exported_utxos().collect();
    let import = |utxo: &Utxo, indices: Vec<u32>, keys: Vec<&_>| {
        let mut unsigned = world.unsigned_import(std::slice::from_ref(utxo));
        unsigned.imported_inputs[0].input.sig_indices = indices;
        unsigned.outputs =
            vec![EvmOutput { address: account(&a), amount: ONE / 2, asset_id: world.native() }];
        AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &[keys])
    };
    let transfer = "import tx transfer failed verification: ";
    let check = |tx, text: &str| assert_eq!(refused(&world, tx), format!("{transfer}{text}"));
    check(import(&utxos[0], vec![0], vec![first]), "input has less signers than expected");
    check(
        import(&utxos[0], vec![0, 1, 2], vec![first, second, first]),
        "input has more signers than expected",
    );
    check(
        import(&utxos[0], vec![0, 2], vec![first, second]),
        "input referenced a nonexistent address in the output",
    );
    check(import(&utxos[1], vec![1], vec![second]), "output is time locked");
    let multi = import(&utxos[0], vec![0, 1], vec![first, second]);
    world.nat.submit(multi).unwrap();
    world.settle().await;
    assert!(world.balance(account(&a)) > U256::ZERO);
    world.wait_s(60);
    world.nat.submit(import(&utxos[1], vec![1], vec![second])).unwrap();
    world.settle().await;
    assert!(world.exported_to_c(&a).is_empty());
}

#[tokio::test]
async fn exports_by_themselves() {
    let world = World::easy();
    let owner = well_known();
    let good = world.export(&owner, 0, 5 * ONE, ONE / 10, key(2).address());
    let UnsignedAtomicTx::Export(good) = good.unsigned().clone() else { panic!("an export") };
    let check = |change: &dyn Fn(&mut UnsignedExport), expected: &str| {
        let mut unsigned = good.clone();
        change(&mut unsigned);
        let keys = vec![vec![&owner]; unsigned.inputs.len()];
        let tx = AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &keys);
        assert_eq!(refused(&world, tx), expected);
    };
    let another = Id::new([7; 32]);
    check(&|tx| tx.exported_outputs.clear(), "tx has no export outputs");
    check(&|tx| tx.network_id = 1, "tx was issued with a different network ID");
    check(&|tx| tx.blockchain_id = another, "wrong blockchain ID provided");
    check(&|tx| tx.destination_chain = another, "tx has wrong chain ID");
    check(&|tx| tx.destination_chain = world.c_id(), "tx has wrong chain ID");
    check(&|tx| tx.inputs[0].amount = 0, "input has no value");
    check(&|tx| tx.inputs[0].asset_id = Id::ZERO, "empty asset ID is not valid");
    check(&|tx| tx.inputs[0].asset_id = another, "export input cannot contain non-AVAX in Banff");
    check(&|tx| tx.exported_outputs[0].asset_id = Id::ZERO, "empty asset ID is not valid");
    check(&|tx| tx.exported_outputs[0].output.amount = 0, "output has no value");
    let owners = |change: &dyn Fn(&mut OutputOwners), expected: &str| {
        check(&|tx| change(&mut tx.exported_outputs[0].output.owners), expected);
    };
    owners(&|owners| owners.threshold = 2, "output is unspendable");
    owners(&|owners| owners.threshold = 0, "output representation should be optimized");
    owners(&|owners| owners.addresses.push(owners.addresses[0]), "addresses not sorted and unique");
    check(
        &|tx| tx.exported_outputs[0].asset_id = another,
        "export output cannot contain non-AVAX in Banff",
    );
    check(
        &|tx| {
            tx.exported_outputs[0].asset_id = another;
            tx.destination_chain = Id::ZERO;
        },
        "tx has wrong chain ID",
    );
    check(
        &|tx| {
            tx.exported_outputs[0].output.amount = 2;
            tx.exported_outputs.push(tx.exported_outputs[0].clone());
            tx.exported_outputs[1].output.amount = 1;
        },
        "tx outputs not sorted",
    );
    check(&|tx| tx.inputs.push(tx.inputs[0]), "inputs not sorted and unique");
    check(
        &|tx| tx.inputs[0].amount = 5 * ONE,
        "export tx flow check failed due to: insufficient funds",
    );
    check(&|tx| tx.inputs[0].nonce = 1, "invalid nonce");
    let amount = u64::MAX / 2;
    check(&|tx| tx.inputs[0].amount = amount, "insufficient funds");
    let signed = |keys: &[Vec<&_>]| AtomicTx::sign(UnsignedAtomicTx::Export(good.clone()), keys);
    assert_eq!(
        refused(&world, signed(&[])),
        "export tx contained mismatched number of inputs/credentials (1 vs. 0)"
    );
    assert_eq!(
        refused(&world, signed(&[vec![&owner, &owner]])),
        "expected one signature for EVM Input Credential, but found: 2"
    );
    assert_eq!(refused(&world, signed(&[vec![&key(2)]])), "signature doesn't match public key");
    let slot = AtomicCredential::Input(vec![0]);
    assert_eq!(
        refused(&world, AtomicTx::new(UnsignedAtomicTx::Export(good.clone()), vec![slot])),
        "expected *secp256k1fx.Credential but got *secp256k1fx.Credential"
    );
    // An output that anybody may spend is one.
    let mut open = good.clone();
    open.exported_outputs[0].output.owners = OutputOwners::default();
    let open = AtomicTx::sign(UnsignedAtomicTx::Export(open), &[vec![&owner]]);
    world.nat.submit(open).unwrap();
}

#[tokio::test]
async fn what_no_block_could_carry() {
    let world = World::easy();
    let owner = well_known();
    let to = OutputOwners::single(key(2).address());
    let export = |outputs: usize| {
        let input =
            EvmInput { address: account(&owner), amount: ONE, asset_id: world.native(), nonce: 0 };
        let outputs = vec![output(world.native(), 1, to.clone()); outputs];
        let unsigned = world.unsigned_export(vec![input], outputs);
        AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &[vec![&owner]])
    };
    let long = export(511);
    assert!(long.bytes().len() > MAX_BUILT_BYTES);
    assert_eq!(
        refused(&world, long.clone()),
        format!("tx size ({}) exceeds total atomic txs size target (40960)", long.bytes().len())
    );
    let fee = export(400).fee(U256::from(ONE)).unwrap().0;
    assert!(fee < ONE / 10);
    world.nat.submit(export(400)).unwrap();
    // Each signature that an input calls for is a thousand gas.
    let utxos = world.fund(&key(1), &[ONE]).await;
    let mut unsigned = world.unsigned_import(&utxos);
    unsigned.imported_inputs[0].input.sig_indices = (0..90).collect();
    let greedy = AtomicTx::new(UnsignedAtomicTx::Import(unsigned), Vec::new());
    let gas = greedy.gas();
    assert!(gas > 100_000);
    assert_eq!(
        refused(&world, greedy),
        format!("tx gas usage ({gas}) exceeds atomic gas limit (100000)")
    );
}

/// A network whose phases from `first` on begin at that Unix time in s.
pub(crate) fn before(first: Phase, begins_s: u64) -> World {
    let mut schedule = ForkSchedule::LOCAL;
    for phase in Phase::ALL.into_iter().filter(|phase| *phase >= first) {
        schedule.phases[phase as usize] = begins_s;
    }
    let overrides = FeeOverrides {
        min_base_fee: Some(25 * ONE),
        target_gas: Some(u64::MAX),
        block_gas_cost_step: Some(0),
        gas_limit: None,
    };
    World::with(Arc::new(MemoryStore::new()), schedule, overrides)
}

/// Leaves an amount of any asset on C, as if X had exported it.
pub(crate) async fn leave(world: &World, asset_id: Id, amount: u64, owner: OutputOwners) -> Utxo {
    let utxo = Utxo {
        utxo_id: UtxoId { tx_id: Id::sha256(&amount.to_be_bytes()), output_index: 0 },
        asset_id,
        output: Output::SecpTransfer(output(asset_id, amount, owner.clone()).output),
    };
    let element =
        Element::for_owners(&utxo.utxo_id.input_id(), utxo.to_versioned_bytes(), &owner.addresses);
    let requests =
        BTreeMap::from([(world.c_id(), Requests { puts: vec![element], removes: Vec::new() })]);
    let reader = world.store.snapshot().unwrap();
    let mut pending = PendingWrites::new(&*reader);
    esker_shared_memory::apply(&mut pending, &world.x_id(), &requests).unwrap();
    let writes = pending.into_writes();
    drop(reader);
    world.store.writer.commit(writes).await.unwrap();
    utxo
}

pub(crate) fn asset_balance(world: &World, address: Address, asset: Id) -> U256 {
    use esker_evm_execution::executor::{NoHashes, StateOverlay};
    let reader = world.store.snapshot().unwrap();
    let view = world.evm().view(&*reader).latest_state();
    let codes = world.evm().params().machine.codes.clone();
    let mut state = StateOverlay::new(view, &NoHashes, codes);
    state.asset_balance(address, asset.as_bytes().into()).unwrap()
}

#[tokio::test]
async fn before_banff_other_assets_cross_too() {
    let world = before(Phase::Banff, UNSCHEDULED);
    let (owner, asset) = (well_known(), Id::new([7; 32]));
    let single = OutputOwners::single(owner.address());
    let coins = leave(&world, asset, 1000, single.clone()).await;
    let native = leave(&world, world.native(), ONE, single.clone()).await;
    let mut unsigned = world.unsigned_import(&[coins, native]);
    let pay = |asset_id, amount| EvmOutput { address: account(&owner), amount, asset_id };
    unsigned.outputs = vec![pay(asset, 1000), pay(world.native(), ONE / 2)];
    unsigned.outputs.sort_by_key(EvmOutput::order);
    let keys = [vec![&owner], vec![&owner]];
    // Not more than was exported.
    let mut greedy = unsigned.clone();
    greedy.outputs.iter_mut().filter(|o| o.asset_id == asset).for_each(|o| o.amount += 1);
    assert_eq!(
        refused(&world, AtomicTx::sign(UnsignedAtomicTx::Import(greedy), &keys)),
        "import tx flow check failed due to: insufficient funds"
    );
    let import = AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &keys);
    world.nat.submit(import.clone()).unwrap();
    world.settle().await;
    let found = world.nat.find(&import.id()).unwrap().unwrap();
    assert_eq!(found.1, AtomicStatus::Accepted(1));
    assert_eq!(asset_balance(&world, account(&owner), asset), U256::from(1000));

    let take = |asset_id, amount| EvmInput { address: account(&owner), amount, asset_id, nonce: 0 };
    let export = |amount: u64, to: Id| {
        let mut inputs = vec![take(asset, amount), take(world.native(), ONE / 10)];
        inputs.sort_by_key(EvmInput::order);
        let mut unsigned =
            world.unsigned_export(inputs, vec![output(asset, amount, single.clone())]);
        unsigned.destination_chain = to;
        AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &keys)
    };
    assert_eq!(refused(&world, export(1001, world.x_id())), "insufficient funds");
    // The P-Chain holds the native asset alone.
    assert_eq!(refused(&world, export(600, Id::ZERO)), "tx has wrong chain ID");
    world.nat.submit(export(600, world.x_id())).unwrap();
    world.settle().await;
    assert_eq!(asset_balance(&world, account(&owner), asset), U256::from(400));
    // One nonce, for both assets.
    assert_eq!(world.nonce(account(&owner)), 1);
    let on_x = world.shared(world.x_id(), world.c_id(), &owner);
    assert_eq!(on_x.len(), 1);
    assert_eq!((on_x[0].asset_id, on_x[0].output.as_transfer().unwrap().amount), (asset, 600));
}

/// A block is built and verified by the rules of its own time.
#[tokio::test]
async fn from_banff_on_they_do_not() {
    let begins_s = NOW_MS / 1000 + 100;
    let world = before(Phase::Banff, begins_s);
    let (owner, asset) = (well_known(), Id::new([7; 32]));
    let single = OutputOwners::single(owner.address());
    let coins = leave(&world, asset, 1000, single.clone()).await;
    let native = leave(&world, world.native(), ONE, single).await;
    let mut unsigned = world.unsigned_import(&[coins, native]);
    unsigned.outputs = vec![EvmOutput { address: account(&owner), amount: 1000, asset_id: asset }];
    let keys = [vec![&owner], vec![&owner]];
    let import = AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &keys);
    world.nat.submit(import.clone()).unwrap();
    world.wait_s(100);
    assert!(!world.step().await);
    let reason = "import output cannot contain non-AVAX in Banff".to_owned();
    let found = world.nat.find(&import.id()).unwrap().unwrap();
    assert_eq!(found.1, AtomicStatus::Dropped(reason.clone()));
    // A block of EVM transactions alone brings the tip into Banff, whose rules then hold at issue too.
    let (to, nonce) = (Address::repeat_byte(7), 0);
    world.evm().submit(evm_transfer(&owner, nonce, to)).unwrap();
    assert!(world.step().await);
    assert_eq!(world.nat.submit(import).unwrap_err().to_string(), reason);
}
