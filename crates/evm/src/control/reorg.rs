//! Replaces the last blocks of a chain.

use std::sync::Arc;

use alloy_primitives::B256;
use esker_chain::{ChainMachine as _, ChainVm as _, FinalizeError, Machine, RewindError};
use esker_evm_state::types::Transaction;
use esker_primitives::ChainId;
use esker_primitives::clock::Clock as _;
use esker_storage::WriteSet;

use super::error::refusal;
use super::replaced::{self, ReplacedBundles};
use super::saved::Snapshot;
use super::snapshots::{bundle_before, delete, not_kept, without};
use super::{ControlError, Snapshots, Turn};
use crate::chain::Evm;
use crate::view::{ChainReader as _, PoolReader as _};

/// Most tries to take bundles back while other bundles become final.
const MAX_TRIES: usize = 16;

/// Why bundles can't be taken back. `Moved`: other bundles have become final meanwhile.
enum TakeBackError {
    Moved,
    Refused(ControlError),
}

impl From<ControlError> for TakeBackError {
    fn from(error: ControlError) -> Self {
        Self::Refused(error)
    }
}

impl Snapshots {
    /// Replaces as many blocks at the end of a chain as there are lists of transactions. Each new block holds the
    /// transactions of its list and nothing else. The later blocks of the other chains are removed, and the snapshots
    /// of all removed blocks. Pools, clock and settings stay. The future must be polled to its end. If the node is
    /// killed before, the next start puts the old blocks back ([`Self::load`]).
    ///
    /// # Errors
    /// There are not so many blocks, they can't be taken back, or a transaction is not valid in its place; the chains are
    /// as before.
    pub async fn reorg(
        &self,
        evm: &Arc<Evm>,
        blocks: Vec<Vec<Transaction>>,
    ) -> Result<(), ControlError> {
        let _turn = self.turn().await?;
        let machine = self.machine()?;
        let controls = evm.controls().ok_or(ControlError::Stopped)?;
        let mut turn = controls.turn().await?;
        let mut pause = machine.pause_building();
        let (head, depth) = (evm.head().header.number, blocks.len() as u64);
        let common = head.checked_sub(depth).filter(|common| *common >= evm.first_block());
        let common = common.ok_or_else(|| {
            ControlError::Refused(format!(
                "Reorg depth must not exceed current chain height: current height {head}, depth {depth}"
            ))
        })?;
        if depth == 0 {
            return Ok(());
        }
        let chain = evm.context().chain_id;
        let old_time_s = evm.header_at(common + 1).map_err(refusal)?.map(|old| old.header.time);
        let (old, mut saved) = self.take_back(&machine, (&chain, common + 1)).await?;
        saved.add_waiting(machine.chains());
        evm.drop_transactions_of(blocks.iter().flatten());
        let clock = self.clock();
        if let Some(old_s) = old_time_s.filter(|old_s| clock.now_s() <= *old_s)
            && clock.stopped_ms().is_none()
        {
            // The first new block gets another time, so that it and all later blocks differ from the old ones.
            clock.set(old_s.saturating_add(1).saturating_mul(1000));
        }
        // Work of the other chains waits meanwhile.
        let only = machine.build_only(chain);
        drop(pause);
        let given: Vec<B256> = blocks.iter().flatten().map(|tx| *tx.tx_hash()).collect();
        let made = make_blocks(evm, &mut turn, common, blocks).await;
        pause = machine.pause_building();
        let ended = match &made {
            Ok(()) => self.end_reorg(&machine, old.to).await,
            Err(_) => {
                let ended = self.put_back(&machine, &old).await;
                self.clock().restore(saved.clock);
                controls.set_next_header(saved.next_header(evm));
                for hash in &given {
                    evm.drop_transaction(hash);
                }
                ended
            }
        };
        saved.restore_pools(machine.chains());
        drop((only, pause));
        ended?;
        made
    }

    /// Takes back a block of a chain and all later bundles, and stores these bundles. The snapshot has the state
    /// before.
    async fn take_back(
        &self,
        machine: &Arc<Machine>,
        (chain, block): (&ChainId, u64),
    ) -> Result<(ReplacedBundles, Snapshot), ControlError> {
        for _ in 0..MAX_TRIES {
            match self.try_to_take_back(machine, (chain, block)).await {
                Ok(taken) => return Ok(taken),
                Err(TakeBackError::Moved) => {}
                Err(TakeBackError::Refused(error)) => {
                    delete(machine, replaced::forget(machine.store())?).await;
                    return Err(error);
                }
            }
        }
        delete(machine, replaced::forget(machine.store())?).await;
        Err(ControlError::Refused("blocks are made while others are replaced".to_owned()))
    }

    async fn try_to_take_back(
        &self,
        machine: &Arc<Machine>,
        (chain, block): (&ChainId, u64),
    ) -> Result<(ReplacedBundles, Snapshot), TakeBackError> {
        let last = machine.last_final();
        let read = tokio::task::spawn_blocking({
            let (machine, chain) = (Arc::clone(machine), *chain);
            move || ReplacedBundles::above(&machine, bundle_before(&machine, &chain, block)?, last)
        });
        let old = read.await.map_err(refusal)??;
        let lowest = machine.lowest_rewind().await.map_err(refusal)?;
        if lowest.is_none_or(|lowest| old.to < lowest) {
            return Err(TakeBackError::Refused(ControlError::NotKept));
        }
        let saved = self.snapshot(machine, last);
        old.store(machine.store()).await?;
        match machine.rewind_from(old.last, old.to).await {
            Ok(_) => Ok((old, saved)),
            // A bundle that was built before the pause has become final.
            Err(RewindError::NotLast { .. }) => Err(TakeBackError::Moved),
            Err(error) => Err(TakeBackError::Refused(not_kept(error))),
        }
    }

    /// Deletes the old bundles, and the snapshots of bundles above a height.
    async fn end_reorg(&self, machine: &Machine, to: u64) -> Result<(), ControlError> {
        let gone = self.above(to);
        let mut writes = replaced::forget(machine.store())?;
        writes.merge(&without(&gone));
        machine.store().commit(writes).await.map_err(refusal)?;
        self.forget(&gone);
        self.move_beginning(machine);
        Ok(())
    }

    /// Makes the old bundles final again.
    async fn put_back(&self, machine: &Machine, old: &ReplacedBundles) -> Result<(), ControlError> {
        // An old block must not set the clock back to before the next one.
        let evms = self.evms();
        let controls: Vec<_> = evms.iter().filter_map(|evm| evm.controls()).collect();
        let intervals: Vec<_> =
            controls.iter().map(|controls| controls.replace_timestamp_interval(None)).collect();
        let outcome = self.finalize_again(machine, old).await;
        for (controls, interval_s) in controls.iter().zip(intervals) {
            controls.replace_timestamp_interval(interval_s);
        }
        outcome
    }

    async fn finalize_again(
        &self,
        machine: &Machine,
        old: &ReplacedBundles,
    ) -> Result<(), ControlError> {
        let mut tries = 0;
        if let Some(last) = old.bundles.last() {
            // None of them is ahead of the clock.
            self.clock().advance_to(last.timestamp_ms);
        }
        loop {
            machine.rewind_with(old.to, WriteSet::new()).await.map_err(refusal)?;
            tries += 1;
            let bundles = old.bundles.iter().map(|bundle| (bundle.clone(), None)).collect();
            match machine.finalize_all(bundles).await {
                // A bundle that was built before the pause has become final.
                Err(FinalizeError::Conflict { .. }) if tries < MAX_TRIES => {}
                Err(error @ (FinalizeError::Invalid(_) | FinalizeError::NotYet { .. })) => {
                    // From here on, the next start must not take new blocks back for the old ones.
                    delete(machine, replaced::forget(machine.store())?).await;
                    return Err(refusal(error));
                }
                outcome => {
                    outcome.map_err(refusal)?;
                    break;
                }
            }
        }
        delete(machine, replaced::forget(machine.store())?).await;
        Ok(())
    }

    /// Puts the blocks back that a reorg had taken when the node was killed.
    pub(super) async fn recover(&self, machine: &Machine) -> Result<(), ControlError> {
        let Some(old) = ReplacedBundles::stored(machine.store())? else { return Ok(()) };
        let (height, last) = machine.last_final();
        let before = match old.to == height {
            true => Some(last),
            false => machine.bundle_at(old.to).map_err(refusal)?.map(|(bundle, _)| bundle.id()),
        };
        if last == old.last || before != old.parent() || before.is_none() {
            // Nothing was taken back yet, or the store has got other blocks since.
            delete(machine, replaced::forget(machine.store())?).await;
            return Ok(());
        }
        tracing::info!(from = old.to, blocks = old.bundles.len(), "putting back replaced blocks");
        let _pause = machine.pause_building();
        self.put_back(machine, &old).await
    }
}

/// Makes blocks with these transactions after a height.
async fn make_blocks(
    evm: &Arc<Evm>,
    turn: &mut Turn,
    common: u64,
    blocks: Vec<Vec<Transaction>>,
) -> Result<(), ControlError> {
    for (number, txs) in (common + 1..).zip(blocks) {
        let mut hashes = Vec::with_capacity(txs.len());
        for tx in txs {
            let hash = *tx.tx_hash();
            let submitted = evm.submit(tx);
            hashes.push(submitted.map_err(|error| not_in(number, &hash, &error.to_string()))?);
        }
        turn.mine_only(hashes.iter().copied().collect()).await?;
        for hash in hashes {
            if evm.location(hash).map_err(refusal)?.is_some_and(|at| at.height == number) {
                continue;
            }
            let dropped = evm.dropped(hash).map_err(refusal)?;
            let why = dropped.map_or_else(|| "it waits".to_owned(), |dropped| dropped.reason);
            return Err(not_in(number, &hash, &why));
        }
    }
    Ok(())
}

fn not_in(number: u64, hash: &B256, why: &str) -> ControlError {
    ControlError::Refused(format!("transaction {hash} cannot be in block {number}: {why}"))
}
