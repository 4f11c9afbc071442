//! Reads that are under way, so that many callers share them.

use std::collections::HashMap;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use tokio::sync::watch;

use crate::error::ForkError;
use crate::misses::Want;

type Outcome = Option<Result<(), ForkError>>;

/// Waits for the end of a read.
#[derive(Clone, Debug)]
pub(super) struct Wait(watch::Receiver<Outcome>);

impl Wait {
    /// The outcome of the read.
    pub(super) async fn outcome(mut self) -> Result<(), ForkError> {
        match self.0.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Err(ForkError::Cancelled)),
            Err(_) => Err(ForkError::Cancelled),
        }
    }
}

/// The parts that are being read.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Want, Wait>>);

/// What a caller waits for, and what it has to begin.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    pub(super) joined: Vec<Wait>,
    pub(super) begun: Vec<Flight>,
}

/// A group of parts that this caller begins to read. Dropping it ends the read for all who wait.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) wants: Vec<Want>,
    flights: Arc<Flights>,
    sender: watch::Sender<Outcome>,
}

impl Flights {
    /// Joins reads of the parts that are under way, and claims the others, in groups. Parts that are known by now are
    /// neither: what is read becomes known before its read ends.
    pub(super) fn claim(
        self: &Arc<Self>,
        wants: impl IntoIterator<Item = Want>,
        is_known: impl Fn(&Want) -> bool,
        group: impl FnOnce(Vec<Want>) -> Vec<Vec<Want>>,
    ) -> Claimed {
        let mut claimed = Claimed::default();
        let mut fresh = Vec::new();
        let mut table = self.0.lock();
        for want in wants {
            if is_known(&want) {
                continue;
            }
            match table.get(&want) {
                Some(wait) => claimed.joined.push(wait.clone()),
                None => fresh.push(want),
            }
        }
        for wants in group(fresh) {
            let (sender, receiver) = watch::channel(None);
            for want in &wants {
                table.insert(want.clone(), Wait(receiver.clone()));
            }
            claimed.joined.push(Wait(receiver));
            claimed.begun.push(Flight { wants, flights: Arc::clone(self), sender });
        }
        claimed
    }
}

impl Flight {
    /// Ends the read.
    pub(super) fn finish(self, outcome: Result<(), ForkError>) {
        self.forget();
        self.sender.send_replace(Some(outcome));
    }

    fn forget(&self) {
        let mut table = self.flights.0.lock();
        for want in &self.wants {
            // Another read of the part may have begun after this one was forgotten.
            let is_own = |wait: &Wait| wait.0.same_channel(&self.sender.subscribe());
            if table.get(want).is_some_and(is_own) {
                table.remove(want);
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.forget();
    }
}
