//! Passes imported blocks to the machine of a running node.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{AdjustableClock, ChainMachine as _, FinalizeError, Machine};
use esker_evm::control::MAX_TIME_S;
use esker_evm_execution::rules::Rules;
use esker_evm_rpc::{BlockImporter, ImportError};
use esker_primitives::{ChainId, Clock as _};

/// Imports blocks of one chain.
#[derive(Debug)]
pub(super) struct Importer {
    pub(super) chain: ChainId,
    /// The machine of a node that decides alone; dangling where other nodes decide too.
    pub(super) machine: Weak<Machine>,
    /// The clock of a development network, whose blocks may be ahead of the node's.
    pub(super) development: Option<AdjustableClock>,
    pub(super) rules: Arc<dyn Rules>,
    /// The chain begins on a block of another node.
    pub(super) is_fork: bool,
}

impl Importer {
    /// Moves the clock of a development network to the last time of these blocks. Returns false on other networks.
    fn follow_time(&self, blocks: &[(ChainId, Bytes)]) -> bool {
        let Some(clock) = &self.development else { return false };
        let blocks = blocks.iter().filter_map(|(_, block)| self.rules.decode_block(block).ok());
        advance_to_last(clock, blocks.map(|block| block.header.time))
    }
}

/// Moves the clock of a development network to the last of these times (Unix s) of imported blocks. Returns whether it
/// moved.
pub(crate) fn advance_to_last(clock: &AdjustableClock, times_s: impl Iterator<Item = u64>) -> bool {
    let last_s = times_s.filter(|time| *time <= MAX_TIME_S).max();
    let last_ms = last_s.unwrap_or_default().saturating_mul(1000);
    let moves = clock.now_ms() < last_ms;
    clock.advance_to(last_ms);
    moves
}

#[async_trait]
impl BlockImporter for Importer {
    async fn import(&self, blocks: Vec<Bytes>) -> Result<(), ImportError> {
        if self.is_fork {
            let reason = "a forked chain takes no blocks: their state may not be here";
            return Err(ImportError::Refused(reason.to_owned()));
        }
        let machine = self.machine.upgrade().ok_or(ImportError::NotAlone)?;
        let refused = |error: &dyn std::fmt::Display| ImportError::Refused(error.to_string());
        let (_, last) = machine.last_final();
        let blocks: Vec<_> = blocks.into_iter().map(|block| (self.chain, block)).collect();
        // One call is one step: the engine's bundles come before or after.
        let done = machine.finalize_blocks(&last, blocks.clone()).await;
        match done {
            Ok(()) => Ok(()),
            Err(FinalizeError::NotYet { .. }) if self.follow_time(&blocks) => {
                Err(ImportError::Overtaken)
            }
            // The engine was faster, or some of the blocks are final already.
            Err(_) if machine.last_final().1 != last => Err(ImportError::Overtaken),
            Err(FinalizeError::Invalid(reason) | FinalizeError::NotYet { reason, .. }) => {
                Err(ImportError::Refused(reason))
            }
            Err(error) => Err(refused(&error)),
        }
    }
}
