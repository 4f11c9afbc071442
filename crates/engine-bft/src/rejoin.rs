//! When a validator whose votes are lost may vote again.

use std::sync::Arc;
use std::time::Duration;

use commonware_consensus::{Epochable, Viewable};
use commonware_runtime::Clock;
use esker_chain::{ChainMachine, EngineError};

use crate::settings::{Committee, MAX_VALIDATORS, quorum};
use crate::shared::Shared;
use crate::store::newest_proof;

/// Rounds between the newest result that the others know when this validator joins them, and the first final one
/// after which it votes. It can have voted at most one or two rounds beyond what a quorum knew.
const MARGIN: u64 = 8;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// Waits until the others are past the rounds in which a validator may have voted.
pub(crate) struct Rejoin {
    pub(crate) machine: Arc<dyn ChainMachine>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) committee: Committee,
    /// Rounds count anew in each epoch.
    pub(crate) epoch: u64,
    /// How long the others have to say which round they are in; their votes of a round are sent again meanwhile.
    pub(crate) settle: Duration,
}

impl Rejoin {
    /// Waits, first for enough connected peers in the same epoch and what they know, then for a bundle that is final in a later round.
    pub(crate) async fn wait(self, clock: impl Clock) -> Result<(), EngineError> {
        // With this one they would decide.
        let needed = quorum(self.committee.len()).saturating_sub(1);
        let mut connected = Duration::ZERO;
        while connected < self.settle {
            clock.sleep(LOOK).await;
            match self.shared.peers_in_epoch() >= needed {
                true => connected = connected.saturating_add(LOOK),
                false => connected = Duration::ZERO,
            }
        }
        let [known, ..] = self.shared.counts();
        let from = known.max(self.final_round()?).saturating_add(MARGIN);
        tracing::info!(round = from, "votes are given after this round");
        while self.final_round()? < from {
            clock.sleep(LOOK).await;
        }
        Ok(())
    }

    /// The round of the newest certificate at the machine.
    fn final_round(&self) -> Result<u64, EngineError> {
        let newest = newest_proof(self.machine.as_ref(), &MAX_VALIDATORS)?;
        let newest = newest.filter(|(_, certificate)| certificate.epoch().get() == self.epoch);
        Ok(newest.map_or(0, |(_, certificate)| certificate.view().get()))
    }
}
