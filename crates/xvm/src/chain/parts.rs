//! The parts of a chain. Building, issuing, rewinding and reading share them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_chain::{ChainContext, DropLog, Wakeup};
use esker_keystore::{Keystore, UserQueues};
use esker_primitives::TxId;
use esker_storage::Scope;
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::Utxo;

use super::events::EventHub;
use super::undecided::Undecided;
use crate::assets::GenesisAssets;
use crate::execute::Rules;
use crate::genesis::Genesis;
use crate::pool::{Mempool, PoolCounters, RejectKind, WalletQueue};
use crate::state::IndexProgress;
use crate::state::index::AddressIndex;
use crate::takeover::Takeover;
use crate::verify::syntactic::Params;

/// One chain of the asset VM. Any number of them may run over one store.
#[derive(Debug)]
pub struct Xvm {
    pub(super) context: ChainContext,
    pub(super) params: Params,
    pub(super) genesis: Genesis,
    pub(super) genesis_txs: Vec<Tx>,
    pub(super) genesis_block: Block,
    pub(super) assets: GenesisAssets,
    pub(super) takeover: Option<Arc<Takeover>>,
    /// The transactions of another network's chain that made what was taken over.
    pub(super) foreign_txs: HashSet<TxId>,
    pub(super) accepted_height: AtomicU64,
    /// Height of the first stored block besides genesis, if the node joined from a snapshot.
    pub(super) first_block: AtomicU64,
    /// Time of the last accepted block, Unix s.
    pub(super) accepted_time: AtomicU64,
    pub(super) accepted_txs: AtomicU64,
    pub(crate) mempool: Mempool,
    pub(crate) counters: PoolCounters,
    pub(crate) undecided: Undecided,
    pub(crate) rejections: DropLog,
    pub(crate) wallet: WalletQueue,
    /// One call of a user at a time builds a transaction.
    pub(crate) user_queues: UserQueues,
    pub(crate) keystore: Arc<Keystore>,
    pub(crate) index: AddressIndex,
    pub(crate) events: Arc<EventHub>,
    pub(crate) maintenance: Arc<Wakeup>,
}

impl Xvm {
    /// The chain's context.
    pub fn context(&self) -> &ChainContext {
        &self.context
    }

    /// Identity, fees and extensions of the chain.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Names of assets.
    pub fn assets(&self) -> &GenesisAssets {
        &self.assets
    }

    /// What the chain took over from another network's chain.
    pub fn takeover(&self) -> Option<&Arc<Takeover>> {
        self.takeover.as_ref()
    }

    /// Open subscriptions of websockets by kind, for metrics. The list of kinds is constant.
    pub fn subscription_counts(&self) -> Vec<(&'static str, u64)> {
        self.events.slots().counts()
    }

    /// How far the address-transaction index is.
    pub fn index_progress(&self) -> IndexProgress {
        self.index.progress(self.accepted_height())
    }

    /// Height of the last accepted block.
    pub fn accepted_height(&self) -> u64 {
        self.accepted_height.load(Ordering::Acquire)
    }

    /// Height of the first stored block besides genesis, if the node joined from a snapshot; else 0.
    pub fn first_block(&self) -> u64 {
        self.first_block.load(Ordering::Relaxed)
    }

    /// Sets the height of the last accepted block, and its time (Unix s).
    pub(crate) fn set_accepted(&self, height: u64, time_s: u64) {
        self.accepted_height.store(height, Ordering::Release);
        self.accepted_time.store(time_s, Ordering::Relaxed);
    }

    pub(crate) fn scope(&self) -> Scope {
        self.context.scope
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        Rules {
            context: &self.context,
            params: &self.params,
            genesis_assets: self.assets.fx_bits(),
            foreign_txs: &self.foreign_txs,
        }
    }

    /// The transactions that create the assets of the genesis.
    pub(crate) fn genesis_txs(&self) -> &[Tx] {
        &self.genesis_txs
    }

    /// The outputs of the genesis, with those that were taken over.
    pub(crate) fn genesis_utxos(&self) -> impl Iterator<Item = Utxo> {
        let taken = self.takeover.iter().flat_map(|takeover| takeover.utxos.iter().cloned());
        self.genesis_txs.iter().flat_map(Tx::produced_utxos).chain(taken)
    }

    /// Whether a transaction waits for a block or for a decision.
    pub(crate) fn is_processing(&self, id: &TxId) -> bool {
        self.mempool.contains(id) || self.undecided.has_tx(id) || self.wallet.contains(id)
    }

    /// A transaction can't be accepted any more.
    pub(crate) fn reject(&self, id: TxId, kind: RejectKind, reason: String) {
        self.counters.count_rejected(kind);
        self.rejections.add(id, reason, self.context.clock.now_ms());
    }
}
