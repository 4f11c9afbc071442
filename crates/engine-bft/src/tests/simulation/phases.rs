//! A node that goes from epoch to epoch, as the engine does over real sockets.

use std::sync::Arc;

use commonware_runtime::deterministic::Context;
use commonware_runtime::{Spawner as _, Supervisor as _};
use esker_chain::forward::ExchangePools;
use esker_chain::{ChainMachine, EngineError};
use esker_validators::{Timings, ValidatorKey};

use super::network::Wires;
use crate::changes::ChangeState;
use crate::engine::end_of_epoch;
use crate::shared::Shared;
use crate::stack::{self, Validator};

/// The state that stays from epoch to epoch.
pub(super) struct Phases {
    pub(super) node: usize,
    pub(super) key: ValidatorKey,
    pub(super) changes: Arc<ChangeState>,
    pub(super) timings: Timings,
    pub(super) machine: Arc<dyn ChainMachine>,
    pub(super) pools: Arc<ExchangePools>,
    pub(super) wires: Wires,
}

impl Phases {
    /// Runs until the engine fails.
    pub(super) async fn run(self, context: Context) -> EngineError {
        loop {
            let last = self.machine.last_final().0;
            let epoch = self.changes.begin(last);
            let set = self.changes.with_history(|history| history.set(epoch).cloned()).unwrap();
            let votes = set.keys().contains(&self.key.public_key());
            self.changes.set_votes(votes);
            let (shared, failure) = Shared::new(last);
            let validator = Validator {
                key: self.key.clone(),
                votes,
                committee: set.committee,
                changes: Arc::clone(&self.changes),
                track: Box::new(|_| {}),
                timings: self.timings,
                machine: Arc::clone(&self.machine),
                shared: Arc::new(shared),
                pools: Arc::clone(&self.pools),
                partition: format!("node{}-", self.node),
            };
            let links = self.wires.connect(self.node).await;
            let phase = context.child("phase").with_attribute("epoch", epoch);
            let mut running =
                phase.spawn(move |context| stack::run(context, validator, failure, links));
            let (changes, machine) = (Arc::clone(&self.changes), Arc::clone(&self.machine));
            let end = end_of_epoch(context.child("end"), changes, machine, epoch);
            tokio::select! {
                biased;
                ended = &mut running => return ended.expect("nobody else ends it"),
                () = end => {}
            }
            running.abort();
            let _aborted = running.await;
        }
    }
}
