//! An engine that keeps proposals undecided until a test releases them.

use std::sync::Arc;

use async_trait::async_trait;
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};
use tokio::sync::{Semaphore, watch};

use crate::next::{finalize, next_bundle};

/// Proposes like [`Solo`](crate::Solo), but keeps each bundle undecided until its [`Gate`] releases it.
#[derive(Debug)]
pub struct GatedSolo {
    passes: Arc<Semaphore>,
    held: watch::Sender<u64>,
}

/// Releases waiting bundles, one at a time.
#[derive(Clone, Debug)]
pub struct Gate {
    passes: Arc<Semaphore>,
    held: watch::Receiver<u64>,
}

impl GatedSolo {
    /// The engine and its gate, which is closed.
    pub fn new() -> (Self, Gate) {
        let passes = Arc::new(Semaphore::new(0));
        let (sender, receiver) = watch::channel(0);
        (Self { passes: Arc::clone(&passes), held: sender }, Gate { passes, held: receiver })
    }
}

impl Gate {
    /// Releases one bundle, now or as soon as it is proposed.
    pub fn open_once(&self) {
        self.passes.add_permits(1);
    }

    /// Resolves when the bundle of this height waits at the gate.
    pub async fn wait_until_held(&mut self, height: u64) {
        // An error means that the engine has ended. The test detects this elsewhere.
        let _ended = self.held.wait_for(|held| *held >= height).await;
    }
}

#[async_trait]
impl Engine for GatedSolo {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        while let Some(bundle) = next_bundle(machine.as_ref(), &mut stop, |_| ()).await? {
            machine.notarized(&bundle.id()).await?;
            self.held.send_replace(bundle.height);
            tokio::select! {
                pass = self.passes.acquire() => pass
                    .map_err(|_| EngineError::Protocol("the gate is gone".into()))?
                    .forget(),
                () = stop.wait() => return Ok(()),
            }
            finalize(machine.as_ref(), &bundle).await?;
        }
        Ok(())
    }

    fn status(&self) -> EngineStatus {
        let held = *self.held.borrow();
        EngineStatus { role: Role::Solo, tip_final: held, tip_seen: held, peers: 0, syncing: false }
    }
}
