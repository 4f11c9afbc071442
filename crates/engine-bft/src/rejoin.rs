//! When a validator whose votes are lost may vote again.

use std::sync::Arc;
use std::time::Duration;

use commonware_consensus::{Epochable, Viewable};
use commonware_runtime::Clock;
use esker_chain::{ChainMachine, EngineError};
use esker_validators::quorum;

use crate::committee::Committee;
use crate::shared::Shared;
use crate::store::FinalBundles;

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
    /// Time that the others have to say which round they are in; their votes of a round are sent again meanwhile.
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
        let finals = FinalBundles::new(self.machine, clock);
        let mut searched = finals.last();
        let mut round = final_round(&finals, self.epoch).await?;
        let from = known.max(round).saturating_add(MARGIN);
        tracing::info!(round = from, "votes are given after this round");
        while round < from {
            finals.clock().sleep(LOOK).await;
            let last = finals.last();
            if last != searched {
                round = final_round(&finals, self.epoch).await?;
                searched = last;
            }
        }
        Ok(())
    }
}

/// The round of the newest certificate at the machine; 0 if it is of another epoch.
async fn final_round(finals: &FinalBundles<impl Clock>, epoch: u64) -> Result<u64, EngineError> {
    let newest = finals.newest_proof().await?;
    let newest = newest.filter(|(_, certificate)| certificate.epoch().get() == epoch);
    Ok(newest.map_or(0, |(_, certificate)| certificate.view().get()))
}
