//! Names the peers that broke the protocol in the log. The library's own lines about them are not shown.

use std::sync::Arc;

use commonware_actor::Feedback;
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{BlockedSubscription, Blocker};
use esker_validators::ValidatorPublicKey;
use tracing::warn;

use crate::library;
use crate::log_limit::LogLimit;

/// Blocks peers as another blocker does, and logs each at most once a minute.
#[derive(Clone, Debug)]
pub(crate) struct LoggingBlocker<B> {
    blocker: B,
    lines: Arc<LogLimit<ValidatorPublicKey>>,
}

impl<B> LoggingBlocker<B> {
    pub(crate) fn new(blocker: B) -> Self {
        Self { blocker, lines: Arc::new(LogLimit::new()) }
    }
}

impl<B: Blocker<PublicKey = PublicKey>> Blocker for LoggingBlocker<B> {
    type PublicKey = PublicKey;

    fn block(&mut self, peer: PublicKey) -> Feedback {
        let key = library::from_library(&peer);
        if self.lines.next(&key).is_some() {
            warn!(peer = %key, "a peer broke the protocol: it is disconnected for a while");
        }
        self.blocker.block(peer)
    }

    fn blocked(&mut self) -> BlockedSubscription<PublicKey> {
        self.blocker.blocked()
    }
}
