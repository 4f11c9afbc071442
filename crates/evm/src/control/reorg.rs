//! Other blocks in place of the last ones.

use std::sync::Arc;

use alloy_primitives::B256;
use bytes::Bytes;
use esker_chain::{Bundle, ChainMachine as _, ChainVm as _, FinalizeError, Machine};
use esker_evm_state::types::Transaction;
use esker_primitives::clock::Clock as _;
use esker_storage::WriteSet;

use super::saved::Snapshot;
use super::snapshots::{bundle_before, not_kept, refused};
use super::{ControlError, Controls, Snapshots};
use crate::chain::Evm;
use crate::view::{ChainReader, PoolReader as _};

/// Bytes of the bundles that are replaced at once.
const MAX_BYTES: usize = 256 << 20;

/// How often the old bundles are tried while others become final.
const MAX_TRIES: usize = 16;

impl Snapshots {
    /// Puts as many other blocks in place of the last ones of a chain as there are lists of transactions, each with those
    /// of its list and nothing else. The blocks of the other chains since are gone, as are the snapshots of all these
    /// blocks; pools, clock and settings stay. To be polled to its end.
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
        let mut pause = machine.pause_building();
        let (head, depth) = (evm.head().header.number, blocks.len() as u64);
        let common = head.checked_sub(depth).ok_or_else(|| {
            ControlError::Refused(format!(
                "Reorg depth must not exceed current chain height: current height {head}, depth {depth}"
            ))
        })?;
        if depth == 0 {
            return Ok(());
        }
        let to = bundle_before(&machine, &evm.context().chain_id, common + 1)?;
        let old_time_s = evm.header_at(common + 1).map_err(refused)?.map(|old| old.header.time);
        let old = bundles_above(&machine, to)?;
        let mut saved = self.snapshot(&machine, machine.last_final());
        machine.rewind_with(to, WriteSet::new()).await.map_err(not_kept)?;
        saved.add_waiting(machine.chains());
        machine.chains().iter().for_each(|vm| vm.drop_waiting_txs());
        controls.set_interval(None)?;
        controls.set_automine(false);
        let clock = self.clock();
        if let Some(old_s) = old_time_s.filter(|old_s| clock.now_s() <= *old_s)
            && clock.stopped_ms().is_none()
        {
            // So that the first block is another one, and with it all of them.
            clock.set(old_s.saturating_add(1).saturating_mul(1000));
        }
        drop(pause);
        let given: Vec<B256> = blocks.iter().flatten().map(|tx| *tx.tx_hash()).collect();
        let made = make_blocks(evm, controls, common, blocks).await;
        pause = machine.pause_building();
        let mut come_meanwhile = Vec::new();
        let ended = match &made {
            Ok(()) => {
                saved.keep_next_header(evm);
                self.forget_above(&machine, to).await;
                Ok(())
            }
            Err(_) => {
                come_meanwhile = txs_above(evm, common);
                come_meanwhile.retain(|tx| !given.contains(tx.tx_hash()));
                let ended = self.put_back(&machine, to, old, &saved).await;
                for hash in &given {
                    evm.drop_transaction(hash);
                }
                ended
            }
        };
        // The pools were empty: what waits has come meanwhile, too.
        saved.add_waiting(machine.chains());
        saved.restore(machine.chains(), &self.evms());
        for tx in come_meanwhile {
            // The old blocks may have made it invalid.
            let _refused = evm.submit(tx);
        }
        drop(pause);
        ended?;
        made
    }

    /// Makes the old bundles final again.
    async fn put_back(
        &self,
        machine: &Machine,
        to: u64,
        old: Vec<(Bundle, Option<Bytes>)>,
        saved: &Snapshot,
    ) -> Result<(), ControlError> {
        self.clock().restore(saved.clock);
        let mut tries = 0;
        loop {
            machine.rewind_with(to, WriteSet::new()).await.map_err(refused)?;
            tries += 1;
            match machine.finalize_all(old.clone()).await {
                // A bundle that was built before the pause became final just now.
                Err(FinalizeError::Conflict { .. }) if tries < MAX_TRIES => {}
                outcome => return outcome.map_err(refused),
            }
        }
    }
}

/// The transactions of a chain's blocks above a height.
fn txs_above(evm: &Arc<Evm>, height: u64) -> Vec<Transaction> {
    let blocks = (height + 1..=evm.head().header.number)
        .filter_map(|at| ChainReader::block_at(&**evm, at).ok()?);
    blocks.flat_map(|block| block.block.transactions.clone()).collect()
}

/// The final bundles above a height.
fn bundles_above(
    machine: &Machine,
    height: u64,
) -> Result<Vec<(Bundle, Option<Bytes>)>, ControlError> {
    let (mut found, mut bytes) = (Vec::new(), 0_usize);
    for height in height + 1..=machine.last_final().0 {
        let missing =
            || ControlError::Refused(format!("the bundle of height {height} is not stored"));
        let bundle = machine.bundle_at(height).map_err(refused)?.ok_or_else(missing)?;
        bytes = bytes.saturating_add(bundle.0.encoded_len());
        if bytes > MAX_BYTES {
            return Err(ControlError::Refused(format!(
                "the blocks to replace have more than {MAX_BYTES} bytes"
            )));
        }
        found.push(bundle);
    }
    Ok(found)
}

/// Makes blocks with these transactions after a height.
async fn make_blocks(
    evm: &Arc<Evm>,
    controls: &Arc<Controls>,
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
        controls.mine(1, 0).await?;
        for hash in hashes {
            if evm.location(hash).map_err(refused)?.is_some_and(|at| at.height == number) {
                continue;
            }
            let dropped = evm.dropped(hash).map_err(refused)?;
            let why = dropped.map_or_else(|| "it waits".to_owned(), |dropped| dropped.reason);
            return Err(not_in(number, &hash, &why));
        }
    }
    Ok(())
}

fn not_in(number: u64, hash: &B256, why: &str) -> ControlError {
    ControlError::Refused(format!("transaction {hash} cannot be in block {number}: {why}"))
}
