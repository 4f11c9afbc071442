//! The engine of a single validator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use esker_chain::{ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown};

use crate::next::{finalize, next_bundle};

/// Proposes on the last final bundle as soon as a chain has work, and makes the proposal final. While one bundle is
/// written, transactions collect for the next. A single transaction is accepted within milliseconds; under load,
/// blocks are full.
#[derive(Debug, Default)]
pub struct Solo {
    tip: AtomicU64,
}

impl Solo {
    /// A new engine.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Engine for Solo {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        let on_last = |height| self.tip.store(height, Ordering::Relaxed);
        while let Some(bundle) = next_bundle(machine.as_ref(), &mut stop, on_last).await? {
            // A stop request does not interrupt a write.
            finalize(machine.as_ref(), &bundle).await?;
        }
        Ok(())
    }

    fn status(&self) -> EngineStatus {
        let tip = self.tip.load(Ordering::Relaxed);
        EngineStatus { role: Role::Solo, tip_final: tip, tip_seen: tip, peers: 0, syncing: false }
    }
}
