//! Delivers final bundles to the machine, in a task of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use commonware_actor::Feedback;
use commonware_codec::Encode;
use commonware_consensus::marshal::Update;
use commonware_consensus::marshal::core::Mailbox;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::{Heightable, Reporter};
use commonware_cryptography::Digested;
use commonware_runtime::Clock;
use commonware_utils::Acknowledgement;
use commonware_utils::acknowledgement::Exact;
use esker_chain::{ChainMachine, FinalizeError};
use tokio::sync::mpsc;
use tracing::warn;

use crate::block::BundleBlock;
use crate::log_limit::LogLimit;
use crate::shared::Shared;

/// Most bundles that marshal delivers before the first of them is acknowledged. It also bounds the finalizer's queue.
pub(crate) const MAX_PENDING: usize = 16;

/// Delay between two attempts while a final bundle is ahead of this node's clock, or its store can't be read.
const RETRY: Duration = Duration::from_secs(1);

type Delivery = (Digested<BundleBlock>, Exact);

/// Takes marshal's updates, without waiting.
#[derive(Clone)]
pub(crate) struct DeliveryQueue {
    // Not bounded: marshal has at most MAX_PENDING deliveries under way.
    queue: mpsc::UnboundedSender<Delivery>,
    shared: Arc<Shared>,
}

impl fmt::Debug for DeliveryQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeliveryQueue")
    }
}

impl Reporter for DeliveryQueue {
    type Activity = Update<BundleBlock>;

    fn report(&mut self, update: Update<BundleBlock>) -> Feedback {
        match update {
            Update::Tip(_, height, _) => self.shared.set_seen(height.get()),
            Update::Block(block, acknowledgement) => {
                if self.queue.send((block, acknowledgement)).is_err() {
                    return Feedback::Closed;
                }
            }
        }
        Feedback::Ok
    }
}

/// Makes delivered bundles final at the machine, then acknowledges them.
pub(crate) struct Finalizer {
    deliveries: mpsc::UnboundedReceiver<Delivery>,
    machine: Arc<dyn ChainMachine>,
    shared: Arc<Shared>,
}

impl Finalizer {
    pub(crate) fn new(
        machine: Arc<dyn ChainMachine>,
        shared: Arc<Shared>,
    ) -> (DeliveryQueue, Self) {
        let (queue, deliveries) = mpsc::unbounded_channel();
        let queue = DeliveryQueue { queue, shared: Arc::clone(&shared) };
        (queue, Self { deliveries, machine, shared })
    }

    /// Runs until marshal is gone. After an error it ends the engine and acknowledges nothing more.
    pub(crate) async fn run(
        mut self,
        clock: impl Clock,
        marshal: Mailbox<Scheme, Standard<BundleBlock>>,
    ) {
        let mut batch = Vec::new();
        let lines = LogLimit::new();
        while self.deliveries.recv_many(&mut batch, MAX_PENDING).await > 0 {
            let mut bundles = Vec::with_capacity(batch.len());
            for (block, _) in &batch {
                // A bundle that became final through a later one may have no certificate of its own.
                let certificate = marshal.get_finalization(block.height()).await;
                let proof = certificate.map(|certificate| certificate.encode());
                bundles.push((block.inner().bundle().clone(), proof));
            }
            loop {
                match self.machine.finalize_all(bundles.clone()).await {
                    Ok(()) => break,
                    Err(FinalizeError::NotYet { reason, .. }) => {
                        if let Some(omitted) = lines.next(&"clock") {
                            warn!(
                                reason,
                                omitted, "a final bundle is ahead of this node's clock; waiting"
                            );
                        }
                        clock.sleep(RETRY).await;
                    }
                    Err(FinalizeError::Chain(error)) if error.is_temporary() => {
                        if let Some(omitted) = lines.next(&"store") {
                            warn!(%error, omitted, "a bundle can't be made final; trying again");
                        }
                        clock.sleep(RETRY).await;
                    }
                    Err(error) => {
                        self.shared.fail(error.into());
                        // Marshal would stop at once if the acknowledgements were dropped.
                        std::future::pending::<()>().await;
                    }
                }
            }
            for (block, acknowledgement) in batch.drain(..) {
                self.shared.set_final(block.height().get());
                acknowledgement.acknowledge();
            }
        }
    }
}
