//! The engine of a node that makes no blocks.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};

/// Proposes nothing: blocks are final when somebody imports them.
#[derive(Debug, Default)]
pub struct Idle {
    machine: OnceLock<Weak<dyn ChainMachine>>,
}

impl Idle {
    /// A new engine.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Engine for Idle {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        // It runs once.
        let _first = self.machine.set(Arc::downgrade(&machine));
        stop.wait().await;
        Ok(())
    }

    fn status(&self) -> EngineStatus {
        let machine = self.machine.get().and_then(Weak::upgrade);
        let tip = machine.map_or(0, |machine| machine.last_final().0);
        EngineStatus { role: Role::Solo, tip_final: tip, tip_seen: tip, peers: 0, syncing: false }
    }
}
