//! The view that services read: one snapshot of the state, and what the chain holds in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use bytes::Bytes;
use esker_primitives::{AssetId, BlockId, ChainId, Id, ShortId, TxId};
use esker_storage::{KvRead, StorageResult};
use esker_transactions::xvm::Tx;
use esker_utxo::{Utxo, UtxoId};
use thiserror::Error;

use super::address_txs::{self, AddressTxsError, MAX_ADDRESS_TXS_PAGE};
use super::chain_state::ChainState;
use super::index::IndexProgress;
use super::page::{self, MAX_UTXO_PAGE, PageEnd, PageStart};
use super::raw::RawUtxo;
use super::tables::{ACCEPTED_AT, AssetRecord, Tip};
use super::tx_status::TxStatus;
use crate::chain::Xvm;
use crate::pool::Mempool;

/// The chain at one moment. Keep it short-lived: while it lives, the store keeps what is overwritten.
pub struct View<'a> {
    vm: &'a Xvm,
    reader: Box<dyn KvRead>,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("vm", &self.vm).finish_non_exhaustive()
    }
}

/// The sum of an address's UTXOs of one asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// In the asset's smallest unit.
    pub amount: u64,
    /// The UTXOs that were counted, in the order of their UTXO IDs.
    pub utxo_ids: Vec<UtxoId>,
}

/// Sums by asset, in the order of the assets' IDs; at most 2^64-1 each.
pub type AssetBalances = BTreeMap<AssetId, u64>;

/// The reason why there is no balance.
#[derive(Debug, Error)]
pub enum BalanceError {
    /// The sum exceeds 64 bits.
    #[error("overflow")]
    Overflow,
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] esker_storage::StorageError),
}

impl Xvm {
    /// One snapshot to read from.
    pub fn view(&self) -> StorageResult<View<'_>> {
        Ok(View { vm: self, reader: self.context().store.snapshot()? })
    }
}

impl View<'_> {
    /// The chain's waiting transactions, as they are now.
    pub(crate) fn mempool(&self) -> &Mempool {
        &self.vm.mempool
    }

    /// Typed reads of the same snapshot.
    pub fn state(&self) -> ChainState<'_> {
        ChainState::new(self.reader.as_ref(), self.vm.context().scope)
    }

    /// The state with what the rows of its address index leave out.
    fn listing(&self) -> (ChainState<'_>, &AssetId) {
        (self.state(), &self.vm.params().fee_asset_id)
    }

    /// The last accepted block.
    pub fn tip(&self) -> StorageResult<Tip> {
        self.state().tip()
    }

    /// Height of the last accepted block.
    pub fn height(&self) -> StorageResult<u64> {
        Ok(self.tip()?.height)
    }

    /// ID of the last accepted block.
    pub fn last_accepted(&self) -> StorageResult<BlockId> {
        Ok(self.tip()?.id)
    }

    /// Bytes of the accepted block at a height.
    pub fn block_by_height(&self, height: u64) -> StorageResult<Option<Bytes>> {
        self.state().block(height)
    }

    /// Bytes of a block, accepted or being decided on.
    pub fn block_by_id(&self, id: &BlockId) -> StorageResult<Option<Bytes>> {
        let undecided = self.vm.undecided.block(id);
        match self.state().block_height(id)? {
            Some(height) => self.state().block(height),
            None => Ok(undecided.map(|block| block.bytes.clone())),
        }
    }

    /// When this node accepted the block at a height, Unix ms; not known of the genesis block.
    pub fn accepted_at(&self, height: u64) -> StorageResult<Option<u64>> {
        ACCEPTED_AT.get(self.reader.as_ref(), self.vm.context().scope, &height)
    }

    /// Bytes of an accepted transaction, version prefix included; genesis assets too.
    pub fn tx_bytes(&self, id: &TxId) -> StorageResult<Option<Vec<u8>>> {
        self.state().tx_bytes(id)
    }

    /// An accepted transaction; genesis assets too.
    pub fn tx(&self, id: &TxId) -> StorageResult<Option<Tx>> {
        self.state().tx(id)
    }

    /// The status of a transaction.
    pub fn tx_status(&self, id: &TxId) -> StorageResult<TxStatus> {
        // Memory is read first, and then the store as it is now: a transaction that is accepted in between is seen in
        // one or the other.
        let processing = self.vm.is_processing(id);
        let scope = self.vm.context().scope;
        if self.state().has_tx(id)? {
            return Ok(TxStatus::Accepted);
        }
        if processing {
            return Ok(TxStatus::Processing);
        }
        let now = self.vm.context().store.snapshot()?;
        if ChainState::new(now.as_ref(), scope).has_tx(id)? {
            return Ok(TxStatus::Accepted);
        }
        let rejected = self.vm.rejections.get(now.as_ref(), scope, id)?;
        Ok(rejected
            .map_or(TxStatus::Unknown, |rejected| TxStatus::Rejected { reason: rejected.reason }))
    }

    /// An unspent output.
    pub fn utxo(&self, id: &UtxoId) -> StorageResult<Option<Utxo>> {
        self.state().utxo(id)
    }

    /// Visits a page of the UTXOs of `addresses`: after `start`, at most `limit`, itself at most
    /// [`MAX_UTXO_PAGE`] and that if 0. `visit` gets the UTXO ID and the UTXO's bytes, version prefix included, in
    /// the order of docs/decisions.md, "Order and pages of UTXOs".
    pub fn visit_utxos(
        &self,
        addresses: &BTreeSet<ShortId>,
        start: Option<PageStart>,
        limit: usize,
        visit: &mut dyn FnMut(&Id, &[u8]),
    ) -> StorageResult<PageEnd> {
        page::visit_page(self.listing(), addresses, start, page_limit(limit), visit)
    }

    /// Like [`Self::visit_utxos`], for what another chain exported to this one.
    pub fn visit_atomic_utxos(
        &self,
        source_chain: &ChainId,
        addresses: &BTreeSet<ShortId>,
        start: Option<PageStart>,
        limit: usize,
        visit: &mut dyn FnMut(&Id, &[u8]),
    ) -> StorageResult<PageEnd> {
        let this = &self.vm.context().chain_id;
        esker_shared_memory::visit_page(
            self.reader.as_ref(),
            (this, source_chain),
            addresses,
            start,
            page_limit(limit),
            visit,
        )
    }

    /// Visits all UTXOs of an address, in ascending order of their IDs, until `visit` breaks.
    pub fn visit_utxos_of(
        &self,
        address: &ShortId,
        mut visit: impl FnMut(&Id, RawUtxo<'_>) -> ControlFlow<()>,
    ) -> StorageResult<()> {
        page::visit_address(self.listing(), address, None, &mut visit)
    }

    /// The sum of an address's UTXOs of an asset: those that hold an amount and that the address owns alone and
    /// without a locktime in the future of `now_s`; all that hold an amount with `include_partial`.
    pub fn balance(
        &self,
        address: &ShortId,
        asset_id: &AssetId,
        include_partial: bool,
        now_s: u64,
    ) -> Result<Balance, BalanceError> {
        let mut balance = Some(Balance::default());
        self.visit_utxos_of(address, |_, utxo| {
            if utxo.asset_id() == *asset_id
                && let Some(amount) = counted(utxo, include_partial, now_s)
                && let Some(sum) = &mut balance
            {
                match sum.amount.checked_add(amount) {
                    Some(total) => {
                        sum.amount = total;
                        sum.utxo_ids.push(utxo.utxo_id());
                    }
                    None => balance = None,
                }
            }
            if balance.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        balance.ok_or(BalanceError::Overflow)
    }

    /// Whether an address has more UTXOs than `limit`; reads no more than that.
    pub fn has_more_utxos(&self, address: &ShortId, than: usize) -> Result<bool, BalanceError> {
        let mut seen = 0;
        self.visit_utxos_of(address, |_, _| {
            seen = usize::saturating_add(seen, 1);
            if seen > than { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(seen > than)
    }

    /// The sums of an address's UTXOs by asset, counted as in [`Self::balance`]. Assets of which nothing is counted
    /// are left out.
    pub fn all_balances(
        &self,
        address: &ShortId,
        include_partial: bool,
        now_s: u64,
    ) -> StorageResult<AssetBalances> {
        let mut balances = AssetBalances::new();
        self.visit_utxos_of(address, |_, utxo| {
            if let Some(amount) = counted(utxo, include_partial, now_s) {
                let sum = balances.entry(utxo.asset_id()).or_default();
                *sum = sum.saturating_add(amount);
            }
            ControlFlow::Continue(())
        })?;
        Ok(balances)
    }

    /// Description of an asset; `None` if no accepted transaction created it.
    pub fn asset(&self, id: &AssetId) -> StorageResult<Option<AssetRecord>> {
        self.state().asset(id)
    }

    /// Transactions that changed an address's holdings of an asset, from position `cursor` on, at most `limit`,
    /// itself at most [`MAX_ADDRESS_TXS_PAGE`]; in the order of acceptance.
    pub fn address_txs(
        &self,
        address: &ShortId,
        asset_id: &AssetId,
        cursor: u64,
        limit: usize,
    ) -> Result<Vec<TxId>, AddressTxsError> {
        match self.vm.index.progress(self.height()?) {
            IndexProgress::Complete => {}
            IndexProgress::Off => return Err(AddressTxsError::Disabled),
            IndexProgress::Building { indexed, height } => {
                return Err(AddressTxsError::Building { indexed, height });
            }
            IndexProgress::Unfillable { first_block } => {
                return Err(AddressTxsError::Unfillable(first_block));
            }
        }
        let limit = limit.min(MAX_ADDRESS_TXS_PAGE);
        Ok(address_txs::page(self.state(), address, asset_id, cursor, limit)?)
    }
}

/// The amount that a UTXO adds to a balance.
fn counted(utxo: RawUtxo<'_>, include_partial: bool, now_s: u64) -> Option<u64> {
    let whole = || utxo.addresses().len() == 1 && utxo.locktime() <= now_s;
    utxo.amount().filter(|_| include_partial || whole())
}

/// 0 and everything above the limit are the limit.
fn page_limit(limit: usize) -> usize {
    if limit == 0 { MAX_UTXO_PAGE } else { limit.min(MAX_UTXO_PAGE) }
}
