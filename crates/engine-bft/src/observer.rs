//! Tells the machine which bundles a quorum voted for, and which belong to skipped rounds.

use std::sync::Arc;

use commonware_actor::Feedback;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::{Activity, Attributable as _};
use commonware_consensus::{Reporter, Viewable};
use commonware_utils::Participant;
use esker_chain::{BundleId, ChainMachine};
use tokio::sync::mpsc;
use tracing::debug;

use crate::block::{Digest, id_of};
use crate::shared::{Shared, VoteKind};

/// Notes that may wait for the machine. More are dropped: nothing depends on them.
const QUEUE_LEN: usize = 1024;

/// A note for the machine.
#[derive(Debug)]
enum Note {
    Notarized(BundleId),
    Skipped(u64),
}

/// Takes the protocol's events, without waiting.
#[derive(Clone, Debug)]
pub(crate) struct Observer {
    notes: mpsc::Sender<Note>,
    shared: Arc<Shared>,
}

impl Observer {
    pub(crate) fn new(machine: Arc<dyn ChainMachine>, shared: Arc<Shared>) -> (Self, Notifier) {
        let (sender, notes) = mpsc::channel(QUEUE_LEN);
        let observer = Self { notes: sender, shared: Arc::clone(&shared) };
        (observer, Notifier { notes, machine, shared })
    }

    fn voted(&self, validator: Participant, kind: VoteKind) {
        self.shared.voted(validator.into(), kind);
    }

    fn note(&self, note: Note) {
        if let Err(error) = self.notes.try_send(note) {
            debug!(%error, "a note to the machine is dropped");
        }
    }
}

impl Reporter for Observer {
    type Activity = Activity<Scheme, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        let view = activity.view().get();
        match activity {
            Activity::Notarization(notarization) => {
                self.shared.notarized(view);
                self.note(Note::Notarized(id_of(&notarization.proposal.payload)));
            }
            Activity::Nullification(_) => {
                self.shared.skip(view);
                self.note(Note::Skipped(view));
            }
            Activity::Finalization(_) => self.shared.finalized(view),
            Activity::Notarize(vote) => self.voted(vote.signer(), VoteKind::Notarize),
            Activity::Finalize(vote) => self.voted(vote.signer(), VoteKind::Finalize),
            Activity::Nullify(vote) => self.voted(vote.signer(), VoteKind::Skip),
            Activity::ConflictingNotarize(_)
            | Activity::ConflictingFinalize(_)
            | Activity::NullifyFinalize(_) => self.shared.contradicted(),
            Activity::Certification(_) => {}
        }
        Feedback::Ok
    }
}

/// Passes the notes on.
pub(crate) struct Notifier {
    notes: mpsc::Receiver<Note>,
    machine: Arc<dyn ChainMachine>,
    shared: Arc<Shared>,
}

impl Notifier {
    /// Runs until the observer is gone.
    pub(crate) async fn run(mut self) {
        while let Some(note) = self.notes.recv().await {
            let told = match note {
                Note::Notarized(id) => self.machine.notarized(&id).await,
                Note::Skipped(round) => self.abandon_round(round).await,
            };
            if let Err(error) = told {
                debug!(%error, "the machine did not take a note");
            }
        }
    }

    /// Bundles of a skipped round are not built upon. If one is needed after all, it is executed again.
    async fn abandon_round(&self, round: u64) -> Result<(), esker_chain::ChainError> {
        for id in self.shared.skipped(round) {
            self.machine.abandon(&id).await?;
        }
        Ok(())
    }
}
