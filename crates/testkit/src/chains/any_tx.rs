//! Transactions of both chains, and the things that each consumes.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use esker_chain::Bundle;
use esker_evm_state::types::{Block as EvmBlock, Transaction};
use esker_nat::AtomicStatus;
use esker_primitives::ids::Id;
use esker_transactions::nat::{AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data};
use esker_transactions::xvm::Block as XBlock;
use esker_transactions::xvm::Tx;
use esker_utxo::Utxo;
use esker_xvm::TxStatus;

use super::funded::{OWNERS, exported_to_x, x_export, x_import, x_transfer};
use super::world::{ONE, World, account, evm_transfer, key};

/// The amount that all imports and exports of C burn, so that none replaces another.
const BURNED: u64 = ONE / 50;

/// A kind of transaction.
#[derive(Clone, Copy, Debug)]
pub enum What {
    Transfer,
    ExportFromX,
    ImportOnX,
    ImportOnC,
    ExportFromC,
    Send,
}

/// A thing that only one transaction can consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consumed {
    Utxo(Id),
    Nonce(Address, u64),
}

#[derive(Clone, Debug)]
enum Form {
    X(Tx),
    Atomic(AtomicTx),
    Evm(Box<Transaction>),
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct AnyTx {
    form: Form,
    pub consumes: BTreeSet<Consumed>,
}

/// The status that a node reports for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Accepted,
    Processing,
    /// Rejected, or dropped.
    Lost,
    Unknown,
}

impl AnyTx {
    /// Makes a transaction that is possible in the accepted state of a world.
    pub fn make(world: &World, what: What, by: u8, choice: u8) -> Option<Self> {
        let owner = key(by);
        let to = key(OWNERS.start() + choice % OWNERS.end());
        let pick = |utxos: Vec<Utxo>| utxos.get(usize::from(choice) % utxos.len().max(1)).cloned();
        let on_x = || {
            let mut utxos = world.x_utxos(&owner.address());
            utxos.retain(|utxo| utxo.output.as_transfer().is_some_and(|out| out.amount > ONE / 2));
            pick(utxos)
        };
        let nonce = world.nonce(account(&owner));
        let form = match what {
            What::Transfer => Form::X(x_transfer(world, &on_x()?, &owner, &to)),
            What::ExportFromX => Form::X(x_export(world, &on_x()?, &owner, &to)),
            What::ImportOnX => {
                let mut utxos = exported_to_x(world, &owner);
                utxos.retain(|utxo| utxo.asset_id == world.native());
                Form::X(x_import(world, &pick(utxos)?, &owner))
            }
            What::ImportOnC => {
                let utxo = pick(world.exported_to_c(&owner))?;
                Form::Atomic(world.import(&[utxo], &owner, account(&to), BURNED))
            }
            What::ExportFromC => {
                Form::Atomic(world.export(&owner, nonce, ONE / 10, BURNED, to.address()))
            }
            What::Send => {
                let pool = world.evm().pool();
                let mut free = nonce..;
                let nonce = free.find(|n| pool.get_by_nonce(&account(&owner), *n).is_none())?;
                Form::Evm(Box::new(evm_transfer(&owner, nonce, account(&to))))
            }
        };
        let consumes = match &form {
            Form::X(tx) => tx.unsigned().consumed_utxo_ids().map(|id| id.input_id()).collect(),
            Form::Atomic(tx) => match tx.unsigned() {
                UnsignedAtomicTx::Import(tx) => {
                    tx.imported_inputs.iter().map(|input| input.utxo_id.input_id()).collect()
                }
                UnsignedAtomicTx::Export(_) => Vec::new(),
            },
            Form::Evm(_) => Vec::new(),
        };
        let mut consumes: BTreeSet<_> = consumes.into_iter().map(Consumed::Utxo).collect();
        match &form {
            Form::Atomic(tx) if matches!(tx.unsigned(), UnsignedAtomicTx::Export(_)) => {
                consumes.insert(Consumed::Nonce(account(&owner), nonce));
            }
            Form::Evm(tx) => {
                use alloy_consensus::Transaction as _;
                consumes.insert(Consumed::Nonce(account(&owner), tx.nonce()));
            }
            Form::X(_) | Form::Atomic(_) => {}
        }
        assert!(!consumes.is_empty());
        Some(Self { form, consumes })
    }

    pub fn id(&self) -> Id {
        match &self.form {
            Form::X(tx) => tx.id(),
            Form::Atomic(tx) => tx.id(),
            Form::Evm(tx) => Id::new(tx.tx_hash().0),
        }
    }

    /// For these a node that does not know a transaction can't say whether it was lost.
    pub fn is_evm(&self) -> bool {
        matches!(self.form, Form::Evm(_))
    }

    /// Submits it; whether the world accepts it.
    pub fn submit(&self, world: &World) -> bool {
        match &self.form {
            Form::X(tx) => world.x.issue(tx.bytes()).is_ok(),
            Form::Atomic(tx) => world.nat.submit(tx.clone()).is_ok(),
            Form::Evm(tx) => world.evm().submit(Transaction::clone(tx)).is_ok(),
        }
    }

    pub fn status(&self, world: &World) -> Status {
        match &self.form {
            Form::X(tx) => match world.x.view().unwrap().tx_status(&tx.id()).unwrap() {
                TxStatus::Accepted => Status::Accepted,
                TxStatus::Processing => Status::Processing,
                TxStatus::Rejected { .. } => Status::Lost,
                TxStatus::Unknown => Status::Unknown,
            },
            Form::Atomic(tx) => match world.nat.status(&tx.id()).unwrap() {
                Some(AtomicStatus::Accepted(_)) => Status::Accepted,
                Some(AtomicStatus::Processing) => Status::Processing,
                Some(AtomicStatus::Dropped(_)) => Status::Lost,
                None => Status::Unknown,
            },
            Form::Evm(tx) => {
                let reader = world.store.snapshot().unwrap();
                let mined = world.evm().view(reader.as_ref()).location(tx.tx_hash()).unwrap();
                match (mined.is_some(), world.evm().pool().contains(tx.tx_hash())) {
                    (true, false) => Status::Accepted,
                    (false, true) => Status::Processing,
                    (false, false) => Status::Lost,
                    (true, true) => panic!("{} is mined, and waits", tx.tx_hash()),
                }
            }
        }
    }
}

/// IDs of all transactions in a bundle.
pub fn ids_in(world: &World, bundle: &Bundle) -> Vec<Id> {
    let mut ids = Vec::new();
    for (chain, bytes) in &bundle.blocks {
        if *chain == world.x_id() {
            ids.extend(XBlock::parse(bytes).unwrap().txs().iter().map(Tx::id));
        } else {
            let block = EvmBlock::parse(bytes).unwrap();
            ids.extend(block.transactions.iter().map(|tx| Id::new(tx.tx_hash().0)));
            let atomic = decode_ext_data(&block.ext_data, ExtDataForm::Batch).unwrap();
            ids.extend(atomic.iter().map(AtomicTx::id));
        }
    }
    ids
}
