//! Offers transactions again that still wait.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::desk::{Forwarding, IfUnanswered, Offer};
use super::{ForwardError, ForwardPool, ForwardedTx};
use crate::Shutdown;

/// Between two rounds of which the first offered as many as it may, ms.
const NEXT_BATCH_MS: u64 = 1000;

/// A transaction that is due, with its pool.
type DueTx = (Arc<dyn ForwardPool>, ForwardedTx);

/// Offers transactions that wait in this node's pools to the source again: it may have restarted, dropped them for
/// others, or never have had them.
#[derive(Debug)]
pub struct ReofferTask {
    forwarding: Arc<Forwarding>,
}

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReofferRound {
    /// Transactions that the source has.
    pub taken: usize,
    /// Those that left their pools because it refused them.
    pub refused: usize,
    /// Whether there were more than one round offers.
    pub has_more: bool,
    /// Whether the round ended early because no source answered.
    pub is_cut_short: bool,
}

impl ReofferTask {
    /// A task over the pools that are registered.
    pub const fn new(forwarding: Arc<Forwarding>) -> Self {
        Self { forwarding }
    }

    /// Runs rounds until the shutdown. The first follows at once: it offers what the node kept over its restart.
    pub async fn run(self, mut shutdown: Shutdown) {
        loop {
            let round = tokio::select! {
                () = shutdown.wait() => return,
                round = self.round() => round,
            };
            if round.taken > 0 || round.refused > 0 || round.is_cut_short {
                let ReofferRound { taken, refused, is_cut_short, .. } = round;
                tracing::debug!(taken, refused, is_cut_short, "offered waiting transactions again");
            }
            let pause_ms = match round.has_more && !round.is_cut_short {
                true => NEXT_BATCH_MS,
                false => self.forwarding.limits.reoffer_after_ms,
            };
            let next_ms = self.forwarding.now_ms().saturating_add(pause_ms);
            let pause = self.forwarding.clock().sleep_until(next_ms);
            tokio::select! {
                () = shutdown.wait() => return,
                () = pause => {}
            }
        }
    }

    /// Offers the transactions that are due, one after the other, up to the limit of a round. Those that are refused
    /// leave their pools, unless a block brings them a moment later. Where no source answers all stay.
    pub async fn round(&self) -> ReofferRound {
        self.forwarding.forget_old_offers();
        let (due, has_more) = self.due();
        let mut round = ReofferRound { has_more, ..ReofferRound::default() };
        let mut refused: Vec<(Offer, ForwardError)> = Vec::new();
        for (pool, tx) in due {
            if pool.must_wait(&tx.id) {
                continue;
            }
            let (Some(offer), _) = self.forwarding.begin(&tx) else { continue };
            match offer.ask().await {
                Err(error) if error.is_final() && !error.is_known() => refused.push((offer, error)),
                Err(
                    error @ (ForwardError::Unreachable(_)
                    | ForwardError::TimedOut(_)
                    | ForwardError::Lost(_)),
                ) => {
                    offer.settle(Err(error), IfUnanswered::Keep);
                    round.is_cut_short = true;
                    break;
                }
                outcome => {
                    round.taken += 1;
                    offer.settle(outcome, IfUnanswered::Keep);
                }
            }
        }
        if !refused.is_empty() {
            // The source may have accepted them, and its blocks be on their way.
            tokio::time::sleep(self.forwarding.limits.block_delay).await;
        }
        for (offer, error) in refused {
            let ForwardedTx { chain, id, .. } = offer.tx().clone();
            let reason = error.to_string();
            match offer.settle(Err(error), IfUnanswered::Keep) {
                true => {
                    tracing::info!(%chain, %id, reason, "the source refused a waiting transaction");
                    round.refused += 1;
                }
                false => round.taken += 1,
            }
        }
        round
    }

    /// The transactions that are due, pool by pool, and whether there are more of them.
    fn due(&self) -> (Vec<DueTx>, bool) {
        let limit = self.forwarding.limits.reoffer_batch;
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
