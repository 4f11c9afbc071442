//! Submits waiting transactions to the source again.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::service::{Forwarding, InFlight, OnNoAnswer};
use super::{ForwardError, ForwardPool, ForwardedTx};
use crate::engine::Shutdown;

/// Pause after a round that submitted a full batch, ms.
const BATCH_PAUSE_MS: u64 = 1000;

/// A transaction that is due, with its pool.
type DueTx = (Arc<dyn ForwardPool>, ForwardedTx);

/// Periodically submits transactions that wait in this node's pools to the source again: it may have restarted, dropped
/// them for others, or never have had them.
#[derive(Debug)]
pub struct ResubmitTask {
    forwarding: Arc<Forwarding>,
}

/// Result of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResubmitRound {
    /// Transactions that the source has.
    pub acknowledged: usize,
    /// Transactions that were removed from their pools because the source refused them.
    pub refused: usize,
    /// Whether more transactions are due than fit into a batch.
    pub has_more: bool,
    /// Whether the round ended early because no source answered.
    pub is_aborted: bool,
}

impl ResubmitTask {
    /// A task over the pools that are registered.
    pub const fn new(forwarding: Arc<Forwarding>) -> Self {
        Self { forwarding }
    }

    /// Runs rounds until the shutdown. The first begins at once: it submits what the node kept over its restart.
    pub async fn run(self, mut shutdown: Shutdown) {
        loop {
            let round = tokio::select! {
                () = shutdown.wait() => return,
                round = self.round() => round,
            };
            if round.acknowledged > 0 || round.refused > 0 || round.is_aborted {
                let ResubmitRound { acknowledged, refused, is_aborted, .. } = round;
                tracing::debug!(
                    acknowledged,
                    refused,
                    is_aborted,
                    "submitted waiting transactions again"
                );
            }
            let pause_ms = match round.has_more && !round.is_aborted {
                true => BATCH_PAUSE_MS,
                false => self.forwarding.limits.resubmit_interval_ms,
            };
            let next_ms = self.forwarding.now_ms().saturating_add(pause_ms);
            let pause = self.forwarding.clock().sleep_until(next_ms);
            tokio::select! {
                () = shutdown.wait() => return,
                () = pause => {}
            }
        }
    }

    /// Submits the transactions that are due, one after the other, up to the limit of a batch. Those that are refused
    /// are removed from their pools, unless a block brings them within [`ForwardLimits::block_delay`]. If no source
    /// answers, all stay.
    ///
    /// [`ForwardLimits::block_delay`]: super::ForwardLimits::block_delay
    pub async fn round(&self) -> ResubmitRound {
        self.forwarding.prune_acknowledged();
        let (due, has_more) = self.due();
        let mut round = ResubmitRound { has_more, ..ResubmitRound::default() };
        let mut refused: Vec<(InFlight, ForwardError)> = Vec::new();
        for (pool, tx) in due {
            if pool.has_pending_dependencies(&tx.id) {
                continue;
            }
            let (Some(in_flight), _) = self.forwarding.start(&tx) else { continue };
            match in_flight.send().await {
                Err(error) if error.is_permanent() && !error.is_already_known() => {
                    refused.push((in_flight, error));
                }
                Err(
                    error @ (ForwardError::Unreachable(_)
                    | ForwardError::TimedOut(_)
                    | ForwardError::Lost(_)),
                ) => {
                    in_flight.complete(Err(error), OnNoAnswer::Keep);
                    round.is_aborted = true;
                    break;
                }
                outcome => {
                    round.acknowledged += 1;
                    in_flight.complete(outcome, OnNoAnswer::Keep);
                }
            }
        }
        if !refused.is_empty() {
            // The source may have accepted them, and its blocks be on their way.
            tokio::time::sleep(self.forwarding.limits.block_delay).await;
        }
        for (in_flight, error) in refused {
            let ForwardedTx { chain, id, .. } = in_flight.tx().clone();
            let reason = error.to_string();
            match in_flight.complete(Err(error), OnNoAnswer::Keep) {
                true => {
                    tracing::info!(%chain, %id, reason, "the source refused a waiting transaction");
                    round.refused += 1;
                }
                false => round.acknowledged += 1,
            }
        }
        round
    }

    /// The transactions that are due, pool by pool, and whether there are more of them.
    fn due(&self) -> (Vec<DueTx>, bool) {
        let limit = self.forwarding.limits.resubmit_batch;
        let (mut due, mut has_more) = (Vec::new(), false);
        for pool in self.forwarding.pools() {
            pool.visit_waiting(&mut |tx| {
                if !self.forwarding.is_due(&tx) {
                    return ControlFlow::Continue(());
                }
                has_more = due.len() >= limit;
                if has_more {
                    return ControlFlow::Break(());
                }
                due.push((Arc::clone(&pool), tx));
                ControlFlow::Continue(())
            });
        }
        (due, has_more)
    }
}
