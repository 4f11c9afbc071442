//! Passes changes of the validators on, and follows them.
//!
//! Each node says in which epoch it is, which changes it knows, and which signatures of the next one. A peer that knows fewer
//! changes gets the next ones. Nothing depends on one message: all is sent again at intervals.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use commonware_consensus::Heightable as _;
use commonware_consensus::marshal::core::Mailbox;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::types::Height;
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::{Blocker, Receiver, Recipients, Sender};
use commonware_runtime::Clock;
use commonware_utils::vec::NonEmptyVec;
use esker_chain::ChainMachine;
use esker_validators::ChangeError;
use thiserror::Error;
use tracing::{debug, warn};

use super::message::{MAX_CHANGES, Message};
use super::promise::CommitmentsError;
use super::state::AppendError;
use super::{ChangeHistory, ChangeState};
use crate::block::BundleBlock;
use crate::log_limit::LogLimit;
use crate::shared::Shared;

/// Time between two looks at what is due.
const LOOK: Duration = Duration::from_millis(200);

/// When a node says again what it knows.
const SAY_AGAIN: Duration = Duration::from_secs(2);

/// Time for which a peer's last state counts.
const FORGET: Duration = Duration::from_secs(10);

/// Follows a new set of validators in the network: whom to connect to.
pub(crate) type Track = Box<dyn FnMut(&ChangeHistory) + Send>;

/// The parts that the task uses.
pub(crate) struct Gossip {
    pub(crate) state: Arc<ChangeState>,
    pub(crate) machine: Arc<dyn ChainMachine>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) marshal: Mailbox<Scheme, Standard<BundleBlock>>,
    pub(crate) track: Track,
    pub(crate) lines: LogLimit<()>,
}

impl fmt::Debug for Gossip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gossip").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The last state that a peer sent.
struct PeerReport {
    epoch: u64,
    known: u64,
    at: SystemTime,
}

/// Runs until the network is gone. A peer whose bytes are no message, or whose signatures are wrong, is blocked.
pub(crate) async fn run<E: Clock, B, S, R>(
    clock: E,
    mut gossip: Gossip,
    mut blocker: B,
    (mut sender, mut receiver): (S, R),
) where
    B: Blocker<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let mut peers: BTreeMap<PublicKey, PeerReport> = BTreeMap::new();
    let mut tracked = gossip.state.with_history(ChangeHistory::newest_epoch);
    let (mut said, mut say_at) = (None, clock.current());
    let mut next = clock.current();
    loop {
        tokio::select! {
            biased;
            () = clock.sleep_until(next) => {
                let now = clock.current();
                next = now + LOOK;
                if let Err(error) = gossip.look().await {
                    gossip.log_failure(&error.to_string());
                }
                peers.retain(|_, said| said.at + FORGET > now);
                let (epoch, known, votes) = gossip.state.to_send();
                gossip.shared.set_peers_in_epoch(
                    peers.values().filter(|said| said.epoch == epoch).count(),
                );
                if known != tracked {
                    gossip.state.with_history(|history| (gossip.track)(history));
                    tracked = known;
                }
                gossip.hint(&peers);
                let version = gossip.state.version();
                if said != Some(version) || now >= say_at {
                    (said, say_at) = (Some(version), now + SAY_AGAIN);
                    let message = Message::State { epoch, known, votes }.encode();
                    let _sent = sender.send(Recipients::All, message, false);
                }
            }
            received = receiver.recv() => {
                let Ok((peer, bytes)) = received else { return };
                let taken = match Message::decode(bytes.as_ref()) {
                    Err(error) => Err(error.to_string()),
                    Ok(Message::Changes(documents)) => {
                        gossip.take(&documents).await.map_err(|error| error.to_string())
                    }
                    Ok(Message::State { epoch, known, votes }) => {
                        let own = gossip.state.with_history(ChangeHistory::newest_epoch);
                        let is_new = peers
                            .insert(peer.clone(), PeerReport { epoch, known, at: clock.current() })
                            .is_none_or(|said| said.known != known);
                        let missing = gossip.state.documents_from(known.saturating_add(1), MAX_CHANGES);
                        if !missing.is_empty() {
                            let message = Message::Changes(missing).encode();
                            let _sent = sender.send(Recipients::One(peer.clone()), message, false);
                        }
                        if is_new && known > own {
                            // Say soon what is known here, so that the peer sends the rest.
                            said = None;
                        }
                        let received = votes.map_or(Ok(()), |votes| gossip.state.receive(votes));
                        received.map_err(|error| error.to_string())
                    }
                };
                if let Err(reason) = taken {
                    commonware_p2p::block!(
                        blocker, peer, reason, "a peer's message about changes of the validators is refused"
                    );
                }
            }
        }
    }
}

/// What is due can't be done now.
#[derive(Debug, Error)]
enum LookError {
    #[error(transparent)]
    Commitments(#[from] CommitmentsError),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Gossip {
    /// Does what is due. What fails is tried again at the next look.
    async fn look(&mut self) -> Result<(), LookError> {
        for (round, bundle) in self.state.unresolved() {
            if let Some(block) = self.marshal.get_block(&bundle).await {
                self.state.resolve(round, block.height().get());
            }
        }
        let (last_final, _) = self.machine.last_final();
        if let Some(agreed) = self.state.advance(last_final)? {
            self.state.append(&agreed.to_bytes()).await?;
        }
        Ok(())
    }

    /// The disk is full: the node continues, and a change that is not stored has no effect.
    fn log_failure(&self, error: &str) {
        if let Some(omitted) = self.lines.next(&()) {
            warn!(error, omitted, "changes of the validators can't be stored here; trying again");
        }
    }

    /// Takes changes that a peer sent.
    ///
    /// # Errors
    /// They are refused; the peer is to be blocked.
    async fn take(&mut self, documents: &[Bytes]) -> Result<(), ChangeError> {
        for document in documents {
            match self.state.append(document).await {
                Ok(_) => {}
                Err(AppendError::Change(ChangeError::Epoch { .. })) => {
                    debug!("a change of a later epoch is not taken yet");
                    return Ok(());
                }
                Err(AppendError::Change(error)) => return Err(error),
                // The peer sends it again.
                Err(error @ AppendError::Log(_)) => {
                    self.log_failure(&error.to_string());
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Asks peers of later epochs for the last bundle before theirs: nobody votes in this node's epoch any more.
    fn hint(&self, peers: &BTreeMap<PublicKey, PeerReport>) {
        let epoch = self.state.epoch();
        let known = self.state.with_history(ChangeHistory::newest_epoch);
        let Some(ahead) = peers.values().map(|said| said.epoch.min(known)).max() else { return };
        if ahead <= epoch {
            return;
        }
        let first = self.state.with_history(|history| history.set(ahead).map(|set| set.first));
        let Some(last) = first.and_then(|first| first.checked_sub(1)) else { return };
        let targets = peers.iter().filter(|(_, said)| said.epoch >= ahead);
        let targets: Vec<_> = targets.map(|(peer, _)| peer.clone()).collect();
        if !targets.is_empty() && self.machine.last_final().0 < last {
            self.marshal.hint_finalized(Height::new(last), NonEmptyVec::from_unchecked(targets));
        }
    }
}
