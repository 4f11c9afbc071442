//! Putting a chain together, its first rows, and the checks of a start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_chain::tables::HistoryStart;
use esker_chain::{ChainContext, ChainError, DropLog};
use esker_keystore::UserQueues;
use esker_primitives::Id;
use esker_storage::{KvRead, WriteSet};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::FxKind;

use super::config::XvmConfig;
use super::events::EventHub;
use super::parts::Xvm;
use super::undecided::Undecided;
use super::waiting;
use crate::assets::GenesisAssets;
use crate::execute::{add_utxo, asset_record, write_block};
use crate::genesis::{Genesis, GenesisError};
use crate::pool::{Mempool, PoolCounters, WalletQueue};
use crate::state::ChainState;
use crate::state::index::AddressIndex;
use crate::state::tables::{ASSETS, GENESIS, GenesisRecord, REJECTED, TXS, TxRecord};
use crate::verify::syntactic::Params;

impl Xvm {
    /// The chain of that genesis and first block. It becomes usable when the machine has opened it
    /// ([`ChainVm::genesis`](esker_chain::ChainVm::genesis), [`ChainVm::check`](esker_chain::ChainVm::check)).
    ///
    /// # Errors
    /// The genesis has no asset to pay fees in.
    pub fn new(
        context: ChainContext,
        config: XvmConfig,
        genesis: Genesis,
        genesis_block: Block,
    ) -> Result<Arc<Self>, GenesisError> {
        let genesis_txs: Vec<Tx> = genesis.assets.iter().map(|asset| asset.to_tx()).collect();
        let fee_asset_id = genesis_txs.first().map(Tx::id).ok_or(GenesisError::NoAssets)?;
        let assets = GenesisAssets::new(
            &genesis,
            &genesis_txs,
            &context.native_aliases,
            context.native_asset_id,
        );
        let params = Params {
            network_id: context.network_id,
            chain_id: context.chain_id,
            fee_asset_id,
            tx_fee: config.tx_fee,
            create_asset_tx_fee: config.create_asset_tx_fee,
            fx_count: u32::try_from(FxKind::ALL.len()).unwrap_or(u32::MAX),
        };
        let vm = Arc::new(Self {
            context,
            params,
            genesis,
            genesis_txs,
            genesis_block,
            assets,
            accepted_height: AtomicU64::new(0),
            first_block: AtomicU64::new(0),
            accepted_time: AtomicU64::new(0),
            accepted_txs: AtomicU64::new(0),
            mempool: Mempool::new(config.mempool),
            counters: PoolCounters::new(),
            undecided: Undecided::new(),
            rejections: DropLog::new(&REJECTED, "xvm.rejections"),
            wallet: WalletQueue::new(),
            user_queues: UserQueues::default(),
            keystore: config.keystore,
            foreign_txs: config.takeover.as_ref().map(|t| t.tx_ids()).unwrap_or_default(),
            takeover: config.takeover,
            index: AddressIndex::new(config.index_transactions),
            events: EventHub::new(),
            maintenance: Arc::default(),
        });
        waiting::register(&vm);
        Ok(vm)
    }
}

/// Writes the rows of height 0.
pub(super) fn write_genesis(vm: &Xvm, out: &mut WriteSet) -> Result<(), ChainError> {
    let scope = vm.scope();
    for (asset, tx) in vm.genesis.assets.iter().zip(&vm.genesis_txs) {
        TXS.put(out, scope, &tx.id(), &TxRecord::Inline(tx.bytes().to_vec()));
        ASSETS.put(out, scope, &tx.id(), &asset_record(&asset.tx));
        for utxo in tx.produced_utxos() {
            add_utxo(out, scope, &vm.params.fee_asset_id, &utxo);
        }
    }
    if let Some(takeover) = &vm.takeover {
        takeover.write(out, scope, &vm.params);
    }
    write_block(out, scope, &vm.genesis_block)?;
    vm.index.genesis(out, scope);
    GENESIS.put(out, scope, &(), &genesis_record(vm));
    Ok(())
}

/// Checks that the stored state belongs to this genesis and agrees with its tip, and reads what memory holds of it.
pub(super) fn check(vm: &Xvm, reader: &dyn KvRead) -> Result<(), ChainError> {
    let scope = vm.scope();
    let name = vm.context.primary_alias();
    match GENESIS.get(reader, scope, &())? {
        Some(record) if record == genesis_record(vm) => {}
        Some(_) => {
            return Err(ChainError::Mismatch(format!(
                "the data of chain {name} belongs to another genesis"
            )));
        }
        None => {
            return Err(ChainError::Corrupted(format!("chain {name} has no genesis record")));
        }
    }
    let state = ChainState::new(reader, scope);
    let tip = state.tip()?;
    let stored = state.block(tip.height)?.map(|bytes| Id::sha256(&bytes));
    if stored != Some(tip.id) {
        return Err(ChainError::Corrupted(format!(
            "block {} of chain {name} is missing or damaged",
            tip.height
        )));
    }
    vm.set_accepted(tip.height, tip.time_s);
    vm.events.open(tip.height);
    vm.rejections.open(reader, scope)?;
    let first_block = HistoryStart::read(reader)?.first_block(&vm.context.chain_id);
    vm.first_block.store(first_block, Ordering::Relaxed);
    vm.index.open(state, first_block)?;
    Ok(())
}

fn genesis_record(vm: &Xvm) -> GenesisRecord {
    GenesisRecord { block_id: vm.genesis_block.id(), digest: Id::sha256(&vm.genesis.to_bytes()) }
}
