//! Blocks with atomic transactions, made and verified.

use alloy_primitives::{Address, U256};
use esker_chain::{BuildContext, Built, Bundle, ChainMachine, ChainVm as _, Verdict};
use esker_evm_execution::rules::fortuna::GasState;
use esker_evm_execution::rules::{INITIALLY_ACTIVE, Phase};
use esker_evm_state::types::{Block, ext_data_hash};
use esker_nat::pool::PoolStatus;
use esker_nat::{AtomicStatus, MAX_BUILT_BYTES};
use esker_primitives::clock::Clock as _;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{Id, NanoNative};
use esker_testkit::chains::world::{
    ONE, World, account, evm_burn, evm_transfer, key, output, well_known,
};
use esker_transactions::money::Wei;
use esker_transactions::nat::{
    AtomicTx, EvmInput, ExtDataForm, UnsignedAtomicTx, decode_ext_data, encode_ext_data,
};
use esker_utxo::{OutputOwners, Utxo};

use crate::rules::before;

/// Atomic transactions of the C block in a bundle; none of a bundle without one.
fn carried(world: &World, bundle: &Bundle) -> Vec<AtomicTx> {
    if !bundle.blocks.iter().any(|(chain, _)| *chain == world.c_id()) {
        return Vec::new();
    }
    decode_ext_data(&c_block(world, bundle).ext_data, ExtDataForm::Batch).unwrap()
}

/// The C block in a bundle.
fn c_block(world: &World, bundle: &Bundle) -> Block {
    let block = bundle.blocks.iter().find(|(chain, _)| *chain == world.c_id());
    Block::parse(&block.unwrap().1).unwrap()
}

fn status(world: &World, tx: &AtomicTx) -> Option<AtomicStatus> {
    world.nat.find(&tx.id()).unwrap().map(|(_, status)| status)
}

#[tokio::test]
async fn an_amount_goes_there_and_back() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE, 2 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    let id = world.nat.submit(import.clone()).unwrap();
    assert_eq!(id, import.id());
    assert_eq!(world.nat.find(&id).unwrap(), Some((import.clone(), AtomicStatus::Processing)));
    world.settle().await;
    let (_, status) = world.nat.find(&id).unwrap().unwrap();
    assert_eq!(status, AtomicStatus::Accepted(1));
    let imported = NanoNative(7 * ONE - ONE / 100);
    assert_eq!(world.balance(account(&owner)), Wei::from(imported).0);
    assert_eq!(world.nonce(account(&owner)), 0);
    assert!(world.exported_to_c(&owner).is_empty());

    world.wait_s(2);
    let export = world.export(&owner, 0, 3 * ONE, ONE / 50, key(2).address());
    world.nat.submit(export.clone()).unwrap();
    world.settle().await;
    let (_, status) = world.nat.find(&export.id()).unwrap().unwrap();
    assert_eq!(status, AtomicStatus::Accepted(2));
    let left = NanoNative(imported.0 - 3 * ONE - ONE / 50);
    assert_eq!(world.balance(account(&owner)), Wei::from(left).0);
    assert_eq!(world.nonce(account(&owner)), 1);
    let on_x = world.shared(world.x_id(), world.c_id(), &key(2));
    assert_eq!(on_x.len(), 1);
    assert_eq!(on_x[0].output.as_transfer().unwrap().amount, 3 * ONE);
    assert!(world.balance(account(&well_known())) > U256::ZERO);
}

/// A rival that pays more does not replace what is in a block under construction: it would be Dropped, and then Accepted.
/// Between the commit of a block and the pool's update the pool still has what the block holds.
#[tokio::test]
async fn an_accepted_transaction_that_the_pool_still_has_is_refused() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    world.nat.submit(import.clone()).unwrap();
    world.nat.submit(import.clone()).expect("one that waits may be sent again");
    world.settle().await;
    let later = world.nat.submit(import.clone()).unwrap_err();
    world.nat.pool().add(import.clone()).unwrap();
    let refused = world.nat.submit(import.clone()).unwrap_err();
    assert_eq!(refused.to_string(), later.to_string());
    assert!(world.nat.pool().contains(&import.id()));
}

#[tokio::test]
async fn a_rival_comes_while_a_block_is_built() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    let rival = world.import(&utxos, &owner, account(&owner), ONE / 50);
    world.nat.submit(import.clone()).unwrap();
    let at = BuildContext { now_ms: world.clock.now_ms(), ..BuildContext::default() };
    let reader = world.store.snapshot().unwrap();
    let built = world.evm().build(reader.as_ref(), &at).unwrap();
    assert!(matches!(built, Built::Block(_)));
    let refused = world.nat.submit(rival.clone()).unwrap_err().to_string();
    assert_eq!(refused, "invalid block due to conflicting atomic inputs");
    assert_eq!(status(&world, &import), Some(AtomicStatus::Processing));
    // The block comes to nothing: what it had taken may be replaced.
    world.evm().extension().not_built();
    world.nat.submit(rival.clone()).unwrap();
    assert!(matches!(status(&world, &import), Some(AtomicStatus::Dropped(_))));
    world.settle().await;
    assert_eq!(status(&world, &rival), Some(AtomicStatus::Accepted(1)));
}

#[tokio::test]
async fn a_bundle_that_is_being_decided_on() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    world.nat.submit(import.clone()).unwrap();
    assert_eq!(world.nat.pool().get(&import.id()).unwrap().1, PoolStatus::Pending);
    let base = world.last();
    let held = world.propose_on(&base).await.unwrap();
    assert_eq!(carried(&world, &held), std::slice::from_ref(&import));
    assert_eq!(world.nat.pool().get(&import.id()).unwrap().1, PoolStatus::Issued);
    assert_eq!(status(&world, &import), Some(AtomicStatus::Processing));
    assert_eq!(world.balance(account(&owner)), U256::ZERO);
    // Another import of the same pays more, and comes too late.
    let rival = world.import(&utxos, &owner, account(&key(2)), ONE);
    let refused = world.nat.submit(rival.clone()).unwrap_err().to_string();
    assert_eq!(refused, "invalid block due to conflicting atomic inputs");
    assert_eq!(status(&world, &rival), None);
    // Nothing is left for a block on it, but one beside it may hold the same.
    assert!(world.propose_on(&held).await.is_none());
    world.wait_s(1);
    let beside = world.propose_on(&base).await.unwrap();
    assert_ne!(beside.id(), held.id());
    assert_eq!(carried(&world, &beside), std::slice::from_ref(&import));
    world.machine.finalize(&beside, None).await.unwrap();
    assert_eq!(status(&world, &import), Some(AtomicStatus::Accepted(1)));
    assert!(world.nat.pool().is_empty());
    assert!(!world.step().await);
}

#[tokio::test]
async fn an_abandoned_block_gives_its_transactions_back() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let base = world.last();
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    world.nat.submit(import.clone()).unwrap();
    let held = world.propose_on(&base).await.unwrap();
    assert_eq!(carried(&world, &held).len(), 1);
    // A bundle of X alone becomes final in its place.
    let on_x =
        world.x_export(vec![output(world.native(), ONE, OutputOwners::single(key(3).address()))]);
    world.x.issue(on_x.bytes()).unwrap();
    let both = world.propose_on(&base).await.unwrap();
    let x_blocks = both.blocks.iter().filter(|(id, _)| *id == world.x_id()).cloned().collect();
    let only_x = world.compose(&base, x_blocks).await;
    world.machine.finalize(&only_x, None).await.unwrap();
    assert_eq!(world.nat.pool().get(&import.id()).unwrap().1, PoolStatus::Pending);
    world.settle().await;
    assert_eq!(status(&world, &import), Some(AtomicStatus::Accepted(1)));
}

/// Each block sees shared memory as the parent bundle left it, final or not.
#[tokio::test]
async fn an_import_of_what_an_undecided_bundle_exports() {
    let world = World::easy();
    let owner = key(1);
    let owners = OutputOwners::single(owner.address());
    let export = world.x_export(vec![output(world.native(), 5 * ONE, owners)]);
    let utxos: Vec<_> = export.exported_utxos().collect();
    let import = world.import(&utxos, &owner, account(&owner), ONE / 100);
    world.x.issue(export.bytes()).unwrap();
    let refused = world.nat.submit(import.clone()).unwrap_err().to_string();
    let from = world.x_id();
    assert_eq!(refused, format!("failed to fetch import UTXOs from {from} due to: not found"));
    let exporting = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(exporting.blocks.len(), 1);
    // As one that came back from an abandoned block.
    world.nat.pool().add(import.clone()).unwrap();
    let importing = world.propose_on(&exporting).await.unwrap();
    assert_eq!(carried(&world, &importing), std::slice::from_ref(&import));
    assert!(world.propose_on(&importing).await.is_none());
    // In one bundle with the export, the block that imports is invalid.
    let mut joined = exporting.clone();
    joined.blocks.extend(importing.blocks.clone());
    let verdict = world.machine.verify(&[], &joined).await.unwrap();
    let Verdict::Invalid(reason) = verdict else { panic!("{verdict:?}") };
    assert_eq!(reason, "missing UTXOs: not found");
    world.machine.finalize(&exporting, None).await.unwrap();
    world.machine.finalize(&importing, None).await.unwrap();
    assert_eq!(status(&world, &import), Some(AtomicStatus::Accepted(1)));
    assert!(world.exported_to_c(&owner).is_empty());
}

/// Puts other ext data into the C block of a bundle.
fn altered(world: &World, bundle: &Bundle, ext_data: Vec<u8>, gas: u64) -> Bundle {
    let mut block = Block::parse(&bundle.blocks[0].1).unwrap();
    block.header.ext_data_hash = ext_data_hash(&ext_data);
    block.header.ext_data_gas_used = Some(U256::from(gas));
    block.ext_data = ext_data.into();
    let bytes = world.evm().params().rules.encode_block(&block);
    Bundle { blocks: vec![(world.c_id(), bytes.into())], ..bundle.clone() }
}

async fn refused(world: &World, bundle: &Bundle) -> String {
    match world.machine.verify(&[], bundle).await.unwrap() {
        Verdict::Invalid(reason) => reason,
        other => panic!("{other:?}"),
    }
}

/// Transactions that blocks can't carry, each in the place of a valid one.
#[tokio::test]
async fn blocks_that_carry_what_they_must_not() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE, 3 * ONE, 2 * ONE]).await;
    let import = |utxos: &[Utxo], burned| world.import(utxos, &owner, account(&owner), burned);
    let (first, next) = (import(&utxos[..1], ONE / 100), import(&utxos[2..], ONE / 100));
    let both = import(&utxos[..2], ONE / 50);
    world.nat.submit(first.clone()).unwrap();
    let parent = world.propose_on(&world.last()).await.unwrap();
    world.nat.submit(next.clone()).unwrap();
    let child = world.propose_on(&parent).await.unwrap();
    assert_eq!(carried(&world, &child), std::slice::from_ref(&next));
    let of = |txs: &[AtomicTx]| {
        let gas = txs.iter().map(AtomicTx::gas).sum();
        altered(&world, &child, encode_ext_data(txs).to_vec(), gas)
    };
    let fault = "engine finalization check failed: ";
    // A UTXO that the undecided parent has imported is reported as a conflict.
    assert_eq!(
        refused(&world, &of(&[both])).await,
        format!(
            "{fault}invalid block due to failed semanatic verify: invalid block due to conflicting \
             atomic inputs at height 2"
        )
    );
    assert_eq!(
        refused(&world, &of(&[next.clone(), next.clone()])).await,
        format!("{fault}invalid block due to conflicting atomic inputs")
    );
    let unknown = World::easy().x_export(vec![output(
        world.native(),
        7 * ONE,
        OutputOwners::single(owner.address()),
    )]);
    let missing = import(&unknown.exported_utxos().collect::<Vec<_>>(), ONE);
    assert_eq!(refused(&world, &of(&[missing])).await, "missing UTXOs: not found");
    let export = world.export(&well_known(), 1, ONE, ONE / 10, key(2).address());
    assert_eq!(refused(&world, &of(&[export])).await, format!("{fault}invalid nonce"));
    let export = world.export(&key(3), 0, ONE, ONE / 10, key(2).address());
    assert_eq!(refused(&world, &of(&[export])).await, format!("{fault}insufficient funds"));
    assert_eq!(
        refused(&world, &altered(&world, &child, vec![0; 6], 0)).await,
        "cannot build a block with non-empty extra data and zero atomic transactions"
    );
    let wrong_gas = altered(&world, &child, encode_ext_data(&[next]).to_vec(), 11_231);
    assert_eq!(
        refused(&world, &wrong_gas).await,
        "syntactic block verification failed: invalid extDataGasUsed: have 11231, want 11230"
    );
    let reason = refused(&world, &altered(&world, &child, vec![0, 0, 0, 0, 0, 1], 0)).await;
    assert!(reason.starts_with("failed to unmarshal atomic tx (AP5) due to "), "{reason}");
    // All the while what was proposed is valid.
    world.machine.finalize(&parent, None).await.unwrap();
    world.machine.finalize(&child, None).await.unwrap();
    assert_eq!(status(&world, &first), Some(AtomicStatus::Accepted(1)));
}

#[tokio::test]
async fn of_two_that_race_the_loser_is_dropped_with_the_reason() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[5 * ONE]).await;
    let first = world.import(&utxos, &owner, account(&owner), ONE / 100);
    let better = world.import(&utxos, &owner, account(&owner), ONE / 10);
    world.nat.submit(first.clone()).unwrap();
    // Known: its ID again.
    assert_eq!(world.nat.submit(first.clone()).unwrap(), first.id());
    world.nat.submit(better.clone()).unwrap();
    let refused = world.nat.submit(first.clone()).unwrap_err().to_string();
    assert!(refused.starts_with("conflicting atomic tx present: issued tx ("), "{refused}");
    world.settle().await;
    assert_eq!(status(&world, &better), Some(AtomicStatus::Accepted(1)));
    let reason = format!("replaced by {}, which pays more", better.id());
    assert_eq!(status(&world, &first), Some(AtomicStatus::Dropped(reason)));
    // An accepted transaction can't be accepted again.
    let refused = world.nat.submit(better).unwrap_err().to_string();
    let from = world.x_id();
    assert_eq!(refused, format!("failed to fetch import UTXOs from {from} due to: not found"));
}

#[tokio::test]
async fn blocks_hold_the_best_paying_up_to_the_gas_limit() {
    let world = World::easy();
    let owner = key(1);
    let utxos = world.fund(&owner, &[ONE; 11]).await;
    let mut imports: Vec<AtomicTx> = (1u64..)
        .zip(&utxos)
        .map(|(n, utxo)| {
            world.import(std::slice::from_ref(utxo), &owner, account(&owner), n * ONE / 50)
        })
        .collect();
    for tx in &imports {
        world.nat.submit(tx.clone()).unwrap();
    }
    imports.reverse();
    let first = world.propose_on(&world.last()).await.unwrap();
    // 11,230 gas each.
    assert_eq!(carried(&world, &first), imports[..8]);
    world.machine.finalize(&first, None).await.unwrap();
    let second = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(carried(&world, &second), imports[8..]);
    let block = Block::parse(&first.blocks[0].1).unwrap();
    assert_eq!(block.header.ext_data_gas_used, Some(U256::from(8 * 11_230)));
    assert_eq!(block.header.gas_used, 0);
}

/// A network of Fortuna from the start on.
fn fortuna() -> World {
    before(Phase::Fortuna, INITIALLY_ACTIVE)
}

/// As many as a block before Fortuna may not hold: their gas counts in the block's own.
#[tokio::test]
async fn under_fortuna_blocks_hold_more_atomic_gas() {
    let world = fortuna();
    let owner = key(1);
    let utxos = world.fund(&owner, &[ONE; 11]).await;
    for utxo in &utxos {
        let import = world.import(std::slice::from_ref(utxo), &owner, account(&owner), ONE / 50);
        world.nat.submit(import).unwrap();
    }
    let bundle = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(carried(&world, &bundle).len(), 11);
    let block = c_block(&world, &bundle);
    assert_eq!(block.header.ext_data_gas_used, Some(U256::from(11 * 11_230)));
    world.machine.finalize(&bundle, None).await.unwrap();
    let capacity = GasState::parse(&block.header.extra).unwrap().capacity;
    assert_eq!(capacity, 10_000_000 - 11 * 11_230);
    // The limit of one that waits is the same as before.
    let mut unsigned = world.unsigned_import(&utxos[..1]);
    unsigned.imported_inputs[0].input.sig_indices = (0..90).collect();
    let greedy = AtomicTx::new(UnsignedAtomicTx::Import(unsigned), Vec::new());
    let refused = world.nat.submit(greedy).unwrap_err().to_string();
    assert!(refused.ends_with("exceeds atomic gas limit (100000)"), "{refused}");
}

/// The capacity that the EVM's transactions leave bounds atomic ones. They wait until more is left.
#[tokio::test]
async fn under_fortuna_atomic_transactions_wait_for_capacity() {
    let world = fortuna();
    let (owner, rich) = (key(1), well_known());
    let utxos = world.fund(&owner, &[ONE]).await;
    // All but 11,229 gas: one less than the import uses.
    world.evm().submit(evm_burn(&rich, 0, 10_000_000 - 11_229)).unwrap();
    let import = world.import(&utxos, &owner, account(&owner), ONE / 50);
    assert_eq!(import.gas(), 11_230);
    world.nat.submit(import.clone()).unwrap();
    let bundle = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(carried(&world, &bundle), []);
    let block = c_block(&world, &bundle);
    assert_eq!(block.header.gas_used, 10_000_000 - 11_229);
    assert_eq!(GasState::parse(&block.header.extra).unwrap().capacity, 11_229);
    world.machine.finalize(&bundle, None).await.unwrap();
    // In the same second there is no more, and the builder says when.
    assert!(!world.step().await);
    let now_ms = world.clock.now_ms();
    let at = BuildContext { now_ms, ancestors: Vec::new(), has_undecided: false };
    let built = world.evm().build(world.store.snapshot().unwrap().as_ref(), &at).unwrap();
    let Built::Later(later_ms) = built else { panic!("{built:?}") };
    assert_eq!(later_ms, (now_ms / 1000 + 1) * 1000);
    world.wait_s(1);
    assert!(world.step().await);
    assert_eq!(status(&world, &import), Some(AtomicStatus::Accepted(2)));
}

#[tokio::test]
async fn blocks_hold_forty_kibibytes_of_them() {
    let world = World::easy();
    let mut txs = Vec::new();
    for number in 1..=3 {
        let owner = key(number);
        let utxos = world.fund(&owner, &[ONE]).await;
        world.nat.submit(world.import(&utxos, &owner, account(&owner), ONE / 100)).unwrap();
        let to = OutputOwners::single(key(9).address());
        let unsigned = world.unsigned_export(
            vec![EvmInput {
                address: account(&owner),
                amount: ONE / 2,
                asset_id: world.native(),
                nonce: 0,
            }],
            vec![output(world.native(), 1000, to); 220],
        );
        txs.push(AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &[vec![&owner]]));
    }
    world.settle().await;
    for tx in &txs {
        world.nat.submit(tx.clone()).unwrap();
    }
    assert!(
        2 * txs[0].bytes().len() < MAX_BUILT_BYTES && 3 * txs[0].bytes().len() > MAX_BUILT_BYTES
    );
    assert!(3 * txs[0].gas() < 100_000);
    let first = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(carried(&world, &first).len(), 2);
    world.settle().await;
    assert!(txs.iter().all(|tx| matches!(status(&world, tx), Some(AtomicStatus::Accepted(_)))));
}

/// By the exact fee rules a block that comes at once costs, and one that only pays its fee waits.
#[tokio::test]
async fn one_that_pays_only_its_fee_waits_until_the_block_costs_nothing() {
    let world = World::local();
    let owner = key(1);
    let utxos = world.fund(&owner, &[ONE, ONE, ONE]).await;
    let base_fee = world.nat.next_base_fee().unwrap();
    assert_eq!(base_fee, U256::from(225 * ONE));
    let fee = world.import(&utxos[..1], &owner, account(&owner), 1).fee(base_fee).unwrap().0;
    let exact = |n: usize, burned| world.import(&utxos[n..=n], &owner, account(&owner), burned);
    world.nat.submit(exact(0, fee)).unwrap();
    assert!(world.step().await);
    let second = exact(1, fee);
    world.nat.submit(second.clone()).unwrap();
    assert!(!world.step().await);
    world.wait_s(1);
    assert!(!world.step().await);
    assert_eq!(status(&world, &second), Some(AtomicStatus::Processing));
    world.wait_s(1);
    assert!(world.step().await);
    assert_eq!(status(&world, &second), Some(AtomicStatus::Accepted(2)));
    // 400,000 gas at once, which a tip of that much pays.
    let base_fee = world.nat.next_base_fee().unwrap();
    let cost = Wei(base_fee * U256::from(400_000)).nanos_rounded_up().unwrap().0;
    let third = exact(2, fee + cost);
    world.nat.submit(third.clone()).unwrap();
    assert!(world.step().await);
    assert_eq!(status(&world, &third), Some(AtomicStatus::Accepted(3)));
    // One billionth less than the fee is refused at once.
    let utxos = world.fund(&owner, &[ONE]).await;
    world.wait_s(60);
    let base_fee = world.nat.next_base_fee().unwrap();
    let least = world.import(&utxos, &owner, account(&owner), 1).fee(base_fee).unwrap().0;
    let refused = world.nat.submit(world.import(&utxos, &owner, account(&owner), least - 1));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "import tx flow check failed due to: insufficient funds"
    );
}

/// One whose price the base fee has outgrown waits for it to fall.
#[tokio::test]
async fn one_that_does_not_pay_the_base_fee_yet_waits() {
    let world = World::local();
    let owner = key(1);
    let utxos = world.fund(&owner, &[ONE, ONE]).await;
    world.nat.submit(world.import(&utxos[..1], &owner, account(&owner), ONE / 10)).unwrap();
    assert!(world.step().await);
    let fee = |gwei: u64| {
        let tx = world.import(&utxos[1..], &owner, account(&owner), 1);
        tx.fee(U256::from(gwei * ONE)).unwrap().0
    };
    let cheap = world.import(&utxos[1..], &owner, account(&owner), fee(100));
    world.nat.pool().add(cheap.clone()).unwrap();
    world.wait_s(10);
    assert!(!world.step().await);
    assert_eq!(status(&world, &cheap), Some(AtomicStatus::Processing));
    world.wait_s(300);
    assert!(world.step().await);
    assert_eq!(status(&world, &cheap), Some(AtomicStatus::Accepted(2)));
}

/// Transactions of the EVM run first: an export of the same account needs the later nonce.
#[tokio::test]
async fn exports_come_after_the_evms_own_transactions() {
    let world = World::easy();
    let from = well_known();
    let stale = world.export(&from, 0, ONE, ONE / 10, key(2).address());
    world.nat.submit(stale.clone()).unwrap();
    world.evm().submit(evm_transfer(&from, 0, Address::repeat_byte(7))).unwrap();
    let bundle = world.propose_on(&world.last()).await.unwrap();
    assert!(carried(&world, &bundle).is_empty());
    let account = account(&from);
    // The block may yet be abandoned.
    assert_eq!(status(&world, &stale), Some(AtomicStatus::Processing));
    world.machine.finalize(&bundle, None).await.unwrap();
    let reason = format!("invalid nonce: nonce 0 of {account} was used by another transaction");
    assert_eq!(status(&world, &stale), Some(AtomicStatus::Dropped(reason)));
    // With the later nonce both are in one block; the atomic pool asks for the state's nonce, not the pool's.
    let early = world.export(&from, 2, ONE, ONE / 10, key(2).address());
    assert_eq!(world.nat.submit(early.clone()).unwrap_err().to_string(), "invalid nonce");
    world.nat.pool().add(early.clone()).unwrap();
    world.evm().submit(evm_transfer(&from, 1, Address::repeat_byte(7))).unwrap();
    let bundle = world.propose_on(&world.last()).await.unwrap();
    assert_eq!(carried(&world, &bundle), [early]);
    world.machine.finalize(&bundle, None).await.unwrap();
    assert_eq!(world.nonce(account), 3);
}

#[tokio::test]
async fn several_accounts_export_to_p_in_one_transaction() {
    let world = World::easy();
    let (a, b) = (key(1), key(2));
    for owner in [&a, &b] {
        let utxos = world.fund(owner, &[2 * ONE]).await;
        world.nat.submit(world.import(&utxos, owner, account(owner), ONE / 100)).unwrap();
        world.settle().await;
    }
    let input = |key: &PrivateKey| EvmInput {
        address: account(key),
        amount: ONE,
        asset_id: world.native(),
        nonce: 0,
    };
    let mut signers = [&a, &b];
    signers.sort_by_key(|key| account(key));
    let owners = OutputOwners {
        locktime: 0,
        threshold: 2,
        addresses: {
            let mut owners = [key(3), key(4), key(5)].map(|key| key.address()).to_vec();
            owners.sort();
            owners
        },
    };
    let mut unsigned = world.unsigned_export(
        signers.iter().map(|key| input(key)).collect(),
        vec![output(world.native(), 2 * ONE - ONE / 10, owners)],
    );
    unsigned.destination_chain = Id::ZERO;
    let slots: Vec<_> = signers.iter().map(|key| vec![*key]).collect();
    let export = AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &slots);
    world.nat.submit(export.clone()).unwrap();
    world.settle().await;
    assert!(matches!(status(&world, &export), Some(AtomicStatus::Accepted(_))));
    for owner in [3, 4, 5] {
        assert_eq!(world.shared(Id::ZERO, world.c_id(), &key(owner)).len(), 1);
    }
    assert_eq!((world.nonce(account(&a)), world.nonce(account(&b))), (1, 1));
}
