//! A forwarder for tests.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use esker_primitives::Id;
use esker_primitives::sync::Mutex;
use tokio::sync::watch;

use super::{ForwardError, ForwardedTx, TxForwarder};

/// Records the transactions it gets, and answers as configured, `Ok` by default. Answers can be held back.
#[derive(Debug)]
pub struct ScriptedForwarder {
    answers: Mutex<Answers>,
    calls: watch::Sender<Vec<ForwardedTx>>,
    is_open: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Answers {
    of_all: Option<ForwardError>,
    of_one: HashMap<Id, ForwardError>,
}

impl ScriptedForwarder {
    /// A forwarder that accepts everything.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(Answers::default()),
            calls: watch::channel(Vec::new()).0,
            is_open: watch::channel(true).0,
        })
    }

    /// From now on all transactions get this error, or are accepted.
    pub fn answer_all(&self, error: Option<ForwardError>) {
        self.answers.lock().of_all = error;
    }

    /// From now on one transaction gets this error.
    pub fn refuse(&self, id: Id, error: ForwardError) {
        self.answers.lock().of_one.insert(id, error);
    }

    /// Holds answers back, or releases them.
    pub fn hold(&self, is_held: bool) {
        self.is_open.send_replace(!is_held);
    }

    /// The transactions that it has got so far.
    pub fn calls(&self) -> Vec<ForwardedTx> {
        self.calls.borrow().clone()
    }

    /// Waits until it has got so many transactions.
    pub async fn wait_for_calls(&self, count: usize) {
        let mut calls = self.calls.subscribe();
        drop(calls.wait_for(|calls| calls.len() >= count).await);
    }
}

#[async_trait]
impl TxForwarder for ScriptedForwarder {
    async fn forward(&self, tx: ForwardedTx) -> Result<(), ForwardError> {
        let id = tx.id;
        self.calls.send_modify(|calls| calls.push(tx));
        let mut gate = self.is_open.subscribe();
        // The sender is here as long as this is.
        drop(gate.wait_for(|is_open| *is_open).await);
        let answers = self.answers.lock();
        let refusal = answers.of_one.get(&id).or(answers.of_all.as_ref());
        refusal.map_or(Ok(()), |error| Err(error.clone()))
    }
}
