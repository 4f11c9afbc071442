//! Blob transactions in the pool of a chain with blobs.

use std::sync::Arc;

use alloy_consensus::{SignableTransaction, TxEip4844, TxEip4844Variant};
use alloy_eips::eip4844::Blob;
use alloy_primitives::{Address, U256};
use esker_chain::{ChainVm, Machine, MachineConfig};
use esker_evm::accounts::{AccountManager as _, KeyRing};
use esker_evm::chain::{Evm, EvmConfig};
use esker_evm::extension::NoExtension;
use esker_evm::pool::{Sidecar, sidecar_of};
use esker_evm_execution::executor::ChainParams;
use esker_evm_state::types::Transaction;
use esker_primitives::Id;
use esker_primitives::clock::ManualClock;
use esker_storage::{Scope, Store};
use esker_testkit::context::chain_context;

use super::rules::{CHAIN_ID, OtherRules};
use super::{GENESIS_TIME, KEY, genesis};

/// A chain under a machine.
fn open() -> (Arc<Evm>, Arc<Machine>) {
    let clock = Arc::new(ManualClock::new((GENESIS_TIME + 100) * 1000));
    let store = Store::memory().unwrap();
    let context = chain_context(Id::sha256(b"other"), Scope(2), clock.clone(), store.clone());
    let work = Arc::clone(&context.work);
    let params = ChainParams::new(Arc::new(OtherRules), 1, context.chain_id);
    let config = EvmConfig::default();
    let evm = Evm::new(context, params, config, genesis(), Arc::new(NoExtension), None).unwrap();
    let chains = vec![Arc::clone(&evm) as Arc<dyn ChainVm>];
    let machine = Machine::open(chains, store, clock, work, MachineConfig::default()).unwrap();
    (evm, machine)
}

/// A transaction with a blob, of the account with this key.
fn blob_tx(key: &[u8; 32], change: impl Fn(&mut Sidecar)) -> Transaction {
    let mut sidecar = sidecar_of(vec![Blob::repeat_byte(1)]).unwrap();
    let tx = TxEip4844 {
        chain_id: CHAIN_ID,
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        max_fee_per_blob_gas: 1,
        to: Address::repeat_byte(0x22),
        blob_versioned_hashes: sidecar.versioned_hashes().collect(),
        ..TxEip4844::default()
    };
    change(&mut sidecar);
    let tx = TxEip4844Variant::TxEip4844WithSidecar(tx.with_sidecar(sidecar));
    let ring = KeyRing::new([key.as_slice()]).unwrap();
    let signature = ring.sign_hash(&ring.accounts()[0], &tx.signature_hash()).unwrap();
    tx.into_signed(signature).into()
}

fn without_proof(sidecar: &mut Sidecar) {
    if let Sidecar::Eip4844(sidecar) = sidecar {
        sidecar.proofs[0] = [0; 48].into();
    }
}

#[test]
fn the_sender_s_funds_come_before_the_proofs() {
    let (evm, _machine) = open();
    let text = |tx: Transaction| evm.submit(tx).unwrap_err().to_string();
    let refused = text(blob_tx(&[7; 32], without_proof));
    assert!(refused.starts_with("insufficient funds for gas * price + value: "), "{refused}");
    let refused = text(blob_tx(&KEY.0, without_proof));
    assert!(refused.starts_with("KZG verification error: invalid blob proof: "), "{refused}");
    let missing = blob_tx(&KEY.0, |_| ());
    let missing = esker_evm::pool::without_sidecar(missing);
    assert_eq!(text(missing), "missing sidecar in blob transaction");
    assert_eq!(evm.pool().counts(), (0, 0));
    evm.submit(blob_tx(&KEY.0, |_| ())).unwrap();
    let pooled = evm.pool().waiting().remove(0);
    assert_eq!((pooled.blobs(), pooled.sidecar().is_some()), (1, true));
    assert_eq!(pooled.cost(), U256::from(21_000_u64 * 10_000_000_000 + 131_072));
}
